#!/usr/bin/env python3
"""Models of uses beside those of the `implicit` package on the same split: one use of each row held out, recall and NDCG of the first ten
recommendations, computed here for both; settings found as in ratings.py, with the same weights of entries.
  uses.py PROGRAM OUT.jsonl [--data msweb=anonymous-msweb.data.xz | kos=docword.kos.txt.gz | NAME=FILE.mtx] [--seeds 1,2,3]"""
import time

import numpy
import scipy.sparse

from common import Program, Results, arguments, chosen, compare, docword, matrix_market, opened, ranking


def visits(path):
    """Read UCI's format: a line C begins a user; each line V is a page visited."""
    rows, columns, pages, users = [], [], {}, -1
    with opened(path) as file:
        for line in file:
            if line[0] == "C":
                users += 1
            elif line[0] == "V":
                rows.append(users)
                columns.append(pages.setdefault(line.split(",")[1], len(pages)))
    return scipy.sparse.csr_matrix((numpy.ones(len(rows)), (rows, columns)), shape=(users + 1, len(pages)))


def clusters(rows, columns, groups, seed):
    """Generate a stand-in: users use items of their own group four times as often as others."""
    draw = numpy.random.default_rng(seed)
    group, of = draw.integers(groups, size=rows), draw.integers(groups, size=columns)
    chance = numpy.where(group[:, None] == of[None, :], 0.12, 0.03) * draw.beta(1, 3, size=columns)[None, :] * 4
    return scipy.sparse.csr_matrix((draw.random((rows, columns)) < chance).astype(float))


def communities(rows, columns, groups, uses, seed):
    """Generate a stand-in of a sparse catalogue: three fifths of a row's uses fall into its own community, the others anywhere."""
    draw = numpy.random.default_rng(seed)
    group, of = draw.integers(groups, size=rows), draw.integers(groups, size=columns)
    members = [numpy.flatnonzero(of == k) for k in range(groups)]
    counts = numpy.maximum(2, draw.poisson(uses, size=rows))
    i = numpy.repeat(numpy.arange(rows), counts)
    j = numpy.array([draw.choice(members[group[user]]) if draw.random() < 0.6 else draw.integers(columns) for user in i])
    return (scipy.sparse.csr_matrix((numpy.ones(len(i)), (i, j)), shape=(rows, columns)) > 0).astype(float)


def leave_one_out(matrix, seed):
    draw = numpy.random.default_rng(seed)
    held = numpy.zeros(matrix.nnz, dtype=bool)
    for i in range(matrix.shape[0]):
        begin, end = matrix.indptr[i], matrix.indptr[i + 1]
        if end - begin >= 2:
            held[begin + draw.integers(end - begin)] = True
    rows = numpy.repeat(numpy.arange(matrix.shape[0]), numpy.diff(matrix.indptr))
    pick = lambda keep: scipy.sparse.csr_matrix((matrix.data[keep], (rows[keep], matrix.indices[keep])), shape=matrix.shape)
    return pick(~held), pick(held)


def of_program(method, *fixed, pairs=False):
    def fit(program, train, setting, seed):
        model, data = program.file("model"), program.write("train", train)
        words = [word for name, value in setting.items() for word in (f"--{name}", value)]
        _, seconds = program.run("train", method, data, "-o", model, "--seed", seed, "--quiet", "--device", program.device, *fixed, *words)
        text, _ = program.run("recommend", model, "--top", 10, "--new" if pairs else "--seen", data)  # models of pairs keep no rows
        recommended = numpy.full((train.shape[0], 10), -1)
        for line in text.splitlines():
            fields = line.split("\t")
            if fields[0].isdigit():
                recommended[int(fields[0]), int(fields[1]) - 1] = int(fields[2])
        return recommended, seconds
    return fit


def of_implicit(make, weigh=None):
    """Arguments: make(setting, seed) makes a model of `implicit`; weigh(train, setting) makes the matrix to fit."""
    def fit(program, train, setting, seed):
        model = make(setting, seed)
        given = train.copy() if weigh is None else weigh(train.copy(), setting)
        start = time.perf_counter()
        model.fit(given.astype(numpy.float32), show_progress=False)
        seconds = time.perf_counter() - start
        return model.recommend(numpy.arange(train.shape[0]), train.tocsr().astype(numpy.float32), N=10, filter_already_liked_items=True)[0], seconds
    return fit


def most_popular(program, train, setting, seed):
    scores = numpy.broadcast_to(train.getnnz(axis=0).astype(float), train.shape).copy()
    scores[train.nonzero()] = -numpy.inf
    return numpy.argsort(-scores, axis=1, kind="stable")[:, :10], 0.0


def their_als(setting, seed):
    from implicit.als import AlternatingLeastSquares
    return AlternatingLeastSquares(factors=setting.get("factors", 100), regularization=setting.get("regularization", 0.01), alpha=1.0,
                                   iterations=15, random_state=seed, use_gpu=False)


def their_weights(train, setting):
    """Return our weights 1 + confidence |r| as the matrix's values: `implicit` takes a value as the weight."""
    if setting:
        train.data = 1 + setting["confidence"] * train.data
    return train


def their_bpr(setting, seed):
    from implicit.bpr import BayesianPersonalizedRanking
    return BayesianPersonalizedRanking(**setting, random_state=seed, use_gpu=False, num_threads=1)


def of_lightfm(loss):
    def fit(program, train, setting, seed):
        from lightfm import LightFM
        options = {name: value for name, value in setting.items() if name != "epochs"}
        model = LightFM(loss=loss, random_state=seed, **options)
        start = time.perf_counter()
        model.fit(train.tocoo().astype(numpy.float32), epochs=setting.get("epochs", 30), num_threads=1)
        seconds = time.perf_counter() - start
        (_, users), (biases, items) = model.get_user_representations(), model.get_item_representations()
        scores = users @ items.T + biases[None, :]
        scores[train.nonzero()] = -numpy.inf
        return numpy.argsort(-scores, axis=1, kind="stable")[:, :10], seconds
    return fit


def their_neighbours(name):
    def make(setting, _):
        import implicit.nearest_neighbours
        return getattr(implicit.nearest_neighbours, name)(**setting, num_threads=1)
    return make


LADDERS = {"factors": [4, 8, 16, 32, 64, 128], "regularization": [0.01, 0.1, 1, 3, 10, 30, 100, 300, 1000],
           "confidence": [0.1, 0.3, 1, 3, 10, 30, 100]}
# start with both lambda and weight small, and with both large: a valley lies between
STARTS = [{"factors": 2, "regularization": 4, "confidence": 2}, {"factors": 2, "regularization": 6, "confidence": 4}]
PAIRWISE = {"factors": [8, 16, 32, 64, 128], "regularization": [0.001, 0.003, 0.01, 0.03, 0.1]}
RATES = [0.005, 0.01, 0.02, 0.05, 0.1]
EPOCHS = {"no_components": [8, 16, 32, 64, 128], "learning_rate": [0.005, 0.01, 0.02, 0.05, 0.1], "epochs": [10, 20, 40, 80]}
MIDDLE = {"factors": 2, "regularization": 2}
NEAR = [5, 10, 20, 50, 100, 200]
CONTESTANTS = {
    "the most popular": (most_popular, {}, ()),
    "tamis implicit-als, defaults": (of_program("implicit-als"), {}, ()),
    "implicit AlternatingLeastSquares, defaults": (of_implicit(their_als, their_weights), {}, ()),
    "tamis implicit-als": (of_program("implicit-als"), LADDERS, STARTS),
    "implicit AlternatingLeastSquares": (of_implicit(their_als, their_weights), LADDERS, STARTS),
    "tamis bpr, defaults": (of_program("bpr"), {}, ()),
    "implicit BayesianPersonalizedRanking, defaults": (of_implicit(their_bpr), {}, ()),
    "tamis bpr": (of_program("bpr"), {**PAIRWISE, "rate": RATES}, [{**MIDDLE, "rate": 3}]),
    "implicit BayesianPersonalizedRanking": (of_implicit(their_bpr), {**PAIRWISE, "learning_rate": RATES}, [{**MIDDLE, "learning_rate": 1}]),
    "LightFM WARP, defaults": (of_lightfm("warp"), {}, ()),
    "LightFM WARP": (of_lightfm("warp"), EPOCHS, [{"no_components": 2, "learning_rate": 3, "epochs": 1}]),
    "LightFM BPR": (of_lightfm("bpr"), EPOCHS, [{"no_components": 2, "learning_rate": 3, "epochs": 1}]),
    "tamis item-knn, defaults": (of_program("item-knn", pairs=True), {}, ()),
    "implicit BM25Recommender, defaults": (of_implicit(their_neighbours("BM25Recommender")), {}, ()),
    "tamis item-knn": (of_program("item-knn", pairs=True), {"neighbours": NEAR, "weights": ["bm25", "ones"]}, [{"neighbours": 2, "weights": 0}]),
    "implicit BM25Recommender": (of_implicit(their_neighbours("BM25Recommender")), {"K": NEAR}, [{"K": 2}]),
    "implicit CosineRecommender": (of_implicit(their_neighbours("CosineRecommender")), {"K": NEAR}, [{"K": 2}]),
    "tamis ease, defaults": (of_program("ease", pairs=True), {}, ()),
    "tamis ease": (of_program("ease", pairs=True), {"regularization": [3, 10, 30, 100, 300, 1000, 3000]}, [{"regularization": 3}]),
}


def uses(program, results, name, matrix, seeds, only):
    def measure(fit, train, held, setting, seed):
        recommended, seconds = fit(program, train, setting, seed)
        return dict(zip(("recall", "ndcg"), ranking(recommended, held)), seconds=seconds)

    inner = leave_one_out(leave_one_out(matrix, seeds[0])[0], seeds[0] + 1000)
    compare(results, dict(record="uses", data=name, rows=matrix.shape[0], cols=matrix.shape[1], nnz=int(matrix.nnz)),
            chosen(CONTESTANTS, only), seeds, lambda fit, setting: -measure(fit, *inner, setting, seeds[0])["ndcg"],
            lambda fit, setting, seed: measure(fit, *leave_one_out(matrix, seed), setting, seed))


def main():
    given = arguments(__doc__).parse_args()
    program = Program(given.program, given.device)
    results = Results(given.out, program)
    uses(program, results, "clusters (a stand-in)", clusters(1500, 600, 8, 7), given.seeds, given.only)
    uses(program, results, "communities (a stand-in)", communities(3000, 3000, 100, 20, 5), given.seeds, given.only)
    for name, path in (data.split("=", 1) for data in given.data):
        uses(program, results, name, visits(path) if ".data" in path else docword(path) if "docword" in path else matrix_market(path),
             given.seeds, given.only)


if __name__ == "__main__":
    main()
