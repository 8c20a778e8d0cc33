"""Generated sets. Those of the shapes of well-known ones, which cannot be shipped, have as many rows, columns and entries, tails as heavy, and a structure
that is made up. Stand-ins: what is measured on them says how defaults fare on such shapes, and nothing of the sets themselves."""
import math

import numpy
import scipy.sparse

from common import uses_of


def known_rank(rows, columns, rank, share, noise, seed):
    """Generate ratings from known factors and noise. A model that recovers the factors has the noise as its RMSE."""
    draw = numpy.random.default_rng(seed)
    left, right = draw.normal(size=(rows, rank)), draw.normal(size=(columns, rank)) / math.sqrt(rank)
    coo = scipy.sparse.random(rows, columns, density=share, random_state=numpy.random.RandomState(seed), format="csr").tocoo()
    values = 3 + (left[coo.row] * right[coo.col]).sum(axis=1) + noise * draw.normal(size=coo.nnz)
    return scipy.sparse.csr_matrix((values, (coo.row, coo.col)), shape=(rows, columns))


def drawn(chance, counts, draw):
    """Draw `counts` distinct columns for each row (Gumbel top-k), from log chances given row by row. Return (rows, columns)."""
    columns = [numpy.argpartition(-of_row - draw.gumbel(size=len(of_row)), count - 1)[:count] for of_row, count in zip(chance, counts)]
    return numpy.repeat(numpy.arange(len(counts)), counts), numpy.concatenate(columns)


def counts_of(rows, mean, spread, least, most, draw):
    """Draw log-normal numbers of entries."""
    return numpy.clip(numpy.round(mean * numpy.exp(spread * draw.normal(size=rows) - spread ** 2 / 2)), least, most).astype(int)


def stars(rows, columns, ratings, rank, signal, biases, noise, seed, tail=0.0, spread=0.0, rounded=True):
    """Ratings from 1 to 5: biases of users and items, a product of that rank, noise, of these deviations. `ratings` of a user in the
    mean, with a log-normal spread; item i is rated with a chance of 1 / i^tail."""
    draw = numpy.random.default_rng(seed)
    left, right = draw.normal(size=(rows, rank)), draw.normal(size=(columns, rank))
    of_rows, of_columns = draw.normal(size=rows), draw.normal(size=columns)
    chance = -tail * numpy.log(numpy.arange(1, columns + 1))
    i, j = drawn([chance] * rows, counts_of(rows, ratings, spread, 2, columns * 0.8, draw), draw)
    values = 3.4 + biases * (of_rows[i] + of_columns[j]) / numpy.sqrt(2) + noise * draw.normal(size=len(i))
    values += signal / numpy.sqrt(rank) * (left[i] * right[j]).sum(axis=1)
    return scipy.sparse.csr_matrix((numpy.clip(numpy.round(values), 1, 5) if rounded else values, (i, j)), shape=(rows, columns))


def films(rows, columns, mean, spread, least, tail, rank, signal, noise, seed, step=1.0, top=5.0):
    """Stars: biases, `rank` factors whose sizes fall as 1 / sqrt(k), noise; people rate more of what is popular and what they will like."""
    draw = numpy.random.default_rng(seed)
    sizes = 1 / numpy.sqrt(numpy.arange(1, rank + 1))
    sizes *= signal / numpy.sqrt((sizes ** 2).sum())
    left, right = draw.normal(size=(rows, rank)), draw.normal(size=(columns, rank)) * sizes
    of_rows, of_columns = 0.45 * draw.normal(size=rows), 0.5 * draw.normal(size=columns)
    popular = -tail * numpy.log(draw.permutation(columns) + 10) + 0.5 * of_columns
    i, j = drawn((popular + 0.5 * (left[u] * right).sum(axis=1) for u in range(rows)), counts_of(rows, mean, spread, least, columns // 2, draw), draw)
    values = 0.7 * top + of_rows[i] + of_columns[j] + (left[i] * right[j]).sum(axis=1) + noise * draw.normal(size=len(i))
    return scipy.sparse.csr_matrix((numpy.clip(numpy.round(values / step) * step, step, top), (i, j)), shape=(rows, columns))


def popular(rows, columns, uses, seed):
    """Uses by popularity alone: there is nothing to be found."""
    draw = numpy.random.default_rng(seed)
    chance = 1 / numpy.arange(1, columns + 1)
    i, j = numpy.repeat(numpy.arange(rows), uses), draw.choice(columns, rows * uses, p=chance / chance.sum())
    return (uses_of(i, j, (rows, columns)) > 0).astype(float)


def clusters(rows, columns, groups, seed):
    """Users use items of their own group four times as often as others."""
    draw = numpy.random.default_rng(seed)
    group, of = draw.integers(groups, size=rows), draw.integers(groups, size=columns)
    chance = numpy.where(group[:, None] == of[None, :], 0.12, 0.03) * draw.beta(1, 3, size=columns)[None, :] * 4
    return scipy.sparse.csr_matrix((draw.random((rows, columns)) < chance).astype(float))


def communities(rows, columns, groups, uses, seed):
    """A sparse catalogue: three fifths of a row's uses fall into its own community, the others anywhere."""
    draw = numpy.random.default_rng(seed)
    group, of = draw.integers(groups, size=rows), draw.integers(groups, size=columns)
    members = [numpy.flatnonzero(of == k) for k in range(groups)]
    counts = numpy.maximum(2, draw.poisson(uses, size=rows))
    i = numpy.repeat(numpy.arange(rows), counts)
    j = numpy.array([draw.choice(members[group[user]]) if draw.random() < 0.6 else draw.integers(columns) for user in i])
    return (uses_of(i, j, (rows, columns)) > 0).astype(float)


def tastes(rows, columns, mean, spread, least, topics, tail, common, seed, played=False):
    """Uses: an item is of one topic, a user of one to four; `common` of a user's uses go by popularity alone. played: counts with a heavy tail."""
    draw = numpy.random.default_rng(seed)
    size = 1 / (numpy.arange(topics) + 10) ** 0.7
    of = draw.choice(topics, columns, p=size / size.sum())
    popular = -tail * numpy.log(draw.permutation(columns) + 10)
    popular -= numpy.log(numpy.exp(popular).sum())
    within = popular - numpy.log(numpy.bincount(of, numpy.exp(popular), topics))[of]  # chances within the item's topic

    def chances():
        for _ in range(rows):
            mine = draw.choice(topics, draw.integers(1, 5), replace=False)
            share = numpy.zeros(topics)
            share[mine] = draw.dirichlet(numpy.ones(len(mine)))
            yield numpy.log(common * numpy.exp(popular) + (1 - common) * share[of] * numpy.exp(within))
    i, j = drawn(chances(), counts_of(rows, mean, spread, least, columns // 3, draw), draw)
    values = numpy.ceil(numpy.exp(draw.normal(4, 1.8, size=len(i)))) if played else numpy.ones(len(i))
    return scipy.sparse.csr_matrix((values, (i, j)), shape=(rows, columns))


# rows, columns and mean entries of the data sets that they replace
RATINGS = {
    "like MovieLens-100k": lambda: films(943, 1682, 106, 1.0, 20, 1.0, 12, 0.45, 0.85, 1),
    "like MovieLens latest-small": lambda: films(610, 9724, 165, 1.2, 20, 1.0, 12, 0.4, 0.8, 2, 0.5),
    "like FilmTrust": lambda: films(1508, 2071, 24, 0.9, 3, 1.2, 6, 0.25, 0.75, 3, 0.5, 4.0),
}
USES = {
    "like CiteULike": lambda: tastes(5551, 16980, 37, 0.9, 10, 200, 0.4, 0.3, 4),
    "like Last.fm": lambda: tastes(1892, 17632, 49, 0.1, 5, 60, 0.9, 0.3, 5, True),
    "like Gowalla, a third of the users": lambda: tastes(9953, 40981, 34, 1.0, 10, 300, 0.6, 0.2, 6),
    "like MovieLens-1M": lambda: tastes(6040, 3706, 165, 1.1, 20, 18, 0.9, 0.5, 7),
}
