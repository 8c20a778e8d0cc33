"""How good rankings are: precision, recall, NDCG and MAP of the first k, where items that were seen are left out; coverage; errors of predictions; and
baselines, popularity and biases.

Each function takes a ranking, columns (rows, n) with the best first, as `recommend` returns them (-1: none is left), and the entries that were held out, a sparse
matrix of as many rows. Relevant are its entries of at least `threshold`, or above 0 if that is None. Columns in `seen` are left out of the ranking, and are
not relevant; what follows moves up, so that a ranking needs k columns besides. The result is the mean over the rows with any that is relevant.
Examples assume `from tamis.ml import *` and `from tamis.ml.metrics import *`.
"""
from __future__ import annotations

from typing import Any, Callable, Optional

import numpy

from .. import _errors
from . import _held
from ._conventions import samples


def _whole(k: Any) -> int:
    if not isinstance(k, (int, numpy.integer)) or isinstance(k, bool) or k < 1:
        raise _errors.ArgumentError(f"k = {k!r}: expected a whole number of 1 or more")
    return int(k)


def _rows_of(matrix: Any, name: str, count: Optional[int] = None, columns: Optional[int] = None) -> tuple[numpy.ndarray, ...]:
    s = samples(matrix, name)
    if (count is not None and s.shape[0] != count) or (columns is not None and s.shape[1] != columns):
        raise _errors.ArgumentError(f"{name} has shape {tuple(s.shape)}: expected {count} rows{'' if columns is None else f' and {columns} columns'}")
    rows, places, values = _held.summed(*_held.entries(s, name))
    return rows, places, values, numpy.array(s.shape)


def _among(numbers: numpy.ndarray, asked: numpy.ndarray) -> numpy.ndarray:
    """Return for each number asked for whether it is among sorted ones. numpy.isin would sort them for each row."""
    if len(numbers) == 0:
        return numpy.zeros(len(asked), bool)
    return numbers[numpy.minimum(numpy.searchsorted(numbers, asked), len(numbers) - 1)] == asked


def _hits(ranking: Any, held_out: Any, k: Any, seen: Any, threshold: Optional[float]) -> tuple[numpy.ndarray, list[numpy.ndarray], numpy.ndarray]:
    """Return for each row with relevant columns: the values of the first k (0: not relevant), all relevant values in falling order, and its number."""
    k = _whole(k)
    ranks = numpy.asarray(ranking)
    if ranks.ndim != 2 or ranks.dtype.kind not in "iu":
        raise _errors.ArgumentError(f"ranking has shape {ranks.shape} and elements of {ranks.dtype}: expected numbers of columns, "
                                    f"(rows, n), as `recommend` and `rank` return them")
    rows, columns, values, (_, width) = _rows_of(held_out, "held_out", len(ranks))
    if ranks.size and ranks.max() >= width:
        raise _errors.ArgumentError(f"ranking has the column {ranks.max()}, and held_out {width} columns")
    out = numpy.zeros(0, "int64")
    if seen is not None:
        seen_rows, seen_columns, _, _ = _rows_of(seen, "seen", len(ranks), int(width))
        out = numpy.sort(seen_rows * width + seen_columns)
    keys = rows * width + columns
    relevant = (values > 0 if threshold is None else values >= threshold) & ~_among(out, keys)
    keys, values, rows = keys[relevant], values[relevant], rows[relevant]
    ends = numpy.searchsorted(rows, numpy.arange(len(ranks) + 1))
    found, all_of, numbers = [], [], []
    for row in numpy.flatnonzero(numpy.diff(ends)):
        places = ranks[row][ranks[row] >= 0].astype("int64")
        if len(numpy.unique(places)) != len(places):
            raise _errors.ArgumentError(f"ranking has a column twice in row {row}")
        given = places + row * width
        given = given[~_among(out, given)][:k]
        mine, worth = keys[ends[row]:ends[row + 1]], values[ends[row]:ends[row + 1]]
        at = numpy.minimum(numpy.searchsorted(mine, given), len(mine) - 1)
        line = numpy.zeros(k)
        line[:len(given)] = numpy.where(mine[at] == given, worth[at], 0)
        hit = numpy.zeros(k, bool)
        hit[:len(given)] = mine[at] == given
        found.append(numpy.stack([hit.astype("float64"), line]))
        all_of.append(numpy.sort(worth)[::-1])
        numbers.append(row)
    if not found:
        raise _errors.ArgumentError("held_out has no relevant entry that is not in seen: nothing can be measured")
    return numpy.stack(found), all_of, numpy.array(numbers)


def _precisions(found: numpy.ndarray, all_of: list[numpy.ndarray]) -> numpy.ndarray:
    return found[:, 0].mean(1)


def _recalls(found: numpy.ndarray, all_of: list[numpy.ndarray]) -> numpy.ndarray:
    return found[:, 0].sum(1) / numpy.array([len(worth) for worth in all_of])


def _gains(found: numpy.ndarray, all_of: list[numpy.ndarray], graded: bool = False) -> numpy.ndarray:
    discount = 1 / numpy.log2(numpy.arange(2, found.shape[2] + 2))
    best = [(worth[:len(discount)] if graded else numpy.ones(min(len(worth), len(discount)))) @ discount[:len(worth)] for worth in all_of]
    return found[:, int(graded)] @ discount / numpy.array(best)


def _average_precisions(found: numpy.ndarray, all_of: list[numpy.ndarray]) -> numpy.ndarray:
    hits = found[:, 0]
    precision = numpy.cumsum(hits, 1) / numpy.arange(1, hits.shape[1] + 1)
    return (precision * hits).sum(1) / numpy.array([min(len(worth), hits.shape[1]) for worth in all_of])


def precision_at_k(ranking: Any, held_out: Any, k: int = 10, *, seen: Any = None, threshold: Optional[float] = None) -> float:
    """The share of the first k that is relevant; places that are empty count as misses.

    >>> precision_at_k([[0, 1, 2, 3]], [[1, 0, 1, 0]], k=2)
    0.5
    """
    return float(_precisions(*_hits(ranking, held_out, k, seen, threshold)[:2]).mean())


def recall_at_k(ranking: Any, held_out: Any, k: int = 10, *, seen: Any = None, threshold: Optional[float] = None) -> float:
    """The share of the relevant columns that is among the first k.

    >>> recall_at_k([[1, 0, 2, 3]], [[1, 0, 1, 0]], k=3, seen=[[0, 1, 0, 0]])
    1.0
    """
    return float(_recalls(*_hits(ranking, held_out, k, seen, threshold)[:2]).mean())


def ndcg_at_k(ranking: Any, held_out: Any, k: int = 10, *, seen: Any = None, threshold: Optional[float] = None, graded: bool = False) -> float:
    """The discounted gain, 1 / log2(place + 1) of each relevant column, over the best that a ranking could have. graded: times the entry's value.

    >>> ndcg_at_k([[0, 2, 1, 3]], [[1, 0, 1, 0]], k=2)
    1.0
    """
    found, all_of, _ = _hits(ranking, held_out, k, seen, threshold)
    if graded and any(worth[-1] < 0 or worth[0] == 0 for worth in all_of):
        raise _errors.ArgumentError("held_out has relevant values that are not above 0: expected graded=False, or a threshold above 0")
    return float(_gains(found, all_of, graded).mean())


def map_at_k(ranking: Any, held_out: Any, k: int = 10, *, seen: Any = None, threshold: Optional[float] = None) -> float:
    """The mean average precision: the precision at the place of each hit among the first k, summed, over the most hits that there could be.

    >>> map_at_k([[0, 1, 3, 2]], [[1, 0, 1, 0]], k=4)
    0.75
    """
    return float(_average_precisions(*_hits(ranking, held_out, k, seen, threshold)[:2]).mean())


def rank(scores: Any, k: int = 10, *, seen: Any = None) -> numpy.ndarray:
    """The ranking of dense scores (rows, columns): the k largest of each row that are not in `seen`; of equal ones the lower column; -1 where none is left.

    >>> rank([[0.5, 0.9, 0.7]], k=2)
    array([[1, 2]])
    """
    k, numbers = _whole(k), numpy.array(scores, "float64")
    if numbers.ndim != 2:
        raise _errors.ArgumentError(f"scores has shape {numbers.shape}: expected (rows, columns)")
    if numpy.isnan(numbers).any():
        raise _errors.ArgumentError("scores has the value nan: expected numbers")
    left = numpy.ones(numbers.shape, bool)
    if seen is not None:
        rows, columns, _, _ = _rows_of(seen, "seen", *numbers.shape)
        left[rows, columns] = False
    order = numpy.lexsort((-numbers, ~left), axis=1)[:, :k]
    ranking = numpy.full((len(numbers), k), -1)
    ranking[:, :order.shape[1]] = numpy.where(numpy.take_along_axis(left, order, 1), order, -1)
    return ranking


def coverage(ranking: Any, columns: int) -> float:
    """The share of all columns that is in any row's ranking.

    >>> coverage([[0, 1], [1, -1]], 4)
    0.5
    """
    ranks = numpy.asarray(ranking)
    return len(numpy.unique(ranks[ranks >= 0])) / columns


def rmse(predictions: Any, values: Any) -> float:
    """The root of the mean squared error of predictions.

    >>> rmse([1, 2], [1, 4]) ** 2
    2.0000000000000004
    """
    return float(numpy.sqrt(numpy.mean((numpy.asarray(predictions, "float64") - numpy.asarray(values, "float64")) ** 2)))


def mae(predictions: Any, values: Any) -> float:
    """The mean absolute error of predictions.

    >>> mae([1, 2], [1, 4])
    1.0
    """
    return float(numpy.mean(numpy.abs(numpy.asarray(predictions, "float64") - numpy.asarray(values, "float64"))))


def popular(train: Any, k: int = 10) -> numpy.ndarray:
    """The ranking of what most rows have, without what a row has already: what a model has to be better than.

    >>> popular([[1, 0, 0], [1, 0, 1], [0, 1, 1]], k=1)
    array([[2],
           [1],
           [0]])
    """
    k, (rows, columns, values, shape) = _whole(k), _rows_of(train, "train")
    order = numpy.argsort(-numpy.bincount(columns[values > 0], minlength=int(shape[1])), kind="stable")
    ends = numpy.searchsorted(rows, numpy.arange(shape[0] + 1))
    ranking = numpy.full((int(shape[0]), k), -1)
    for row in range(int(shape[0])):
        mine = columns[ends[row]:ends[row + 1]]
        left = order[:k + len(mine)]
        left = left[~numpy.isin(left, mine)][:k]
        ranking[row, :len(left)] = left
    return ranking


def biases(train: Any, held_out: Any) -> numpy.ndarray:
    """Predictions of the entries of held_out, row by row, by the mean of train and damped biases of its rows and columns: what a model of ratings has to be
    better than. It is the program's baseline.

    >>> biases([[5, 4, 0], [4, 0, 1]], [[0, 0, 2], [0, 3, 0]]).round(2)
    array([3.44, 3.37])
    """
    rows, columns, values, (height, width) = _rows_of(train, "train")
    mean = values.mean()
    of_rows, of_columns = numpy.zeros(height), numpy.zeros(width)
    for _ in range(5):
        of_columns = numpy.bincount(columns, values - mean - of_rows[rows], width) / (numpy.bincount(columns, minlength=width) + 10)
        of_rows = numpy.bincount(rows, values - mean - of_columns[columns], height) / (numpy.bincount(rows, minlength=height) + 10)
    rows, columns, _, _ = _rows_of(held_out, "held_out", int(height), int(width))
    return mean + of_rows[rows] + of_columns[columns]


_ALL: dict[str, Callable[..., numpy.ndarray]] = {"precision": _precisions, "recall": _recalls, "ndcg": _gains, "map": _average_precisions}


def ranking_scores(ranking: Any, held_out: Any, k: int = 10, *, seen: Any = None, threshold: Optional[float] = None,
                   by_row: bool = False) -> dict[str, Any]:
    """All four of a ranking. by_row: arrays with a number for each row that has relevant entries, and "row", which rows these are.

    >>> held_out = [[1, 0, 1, 0], [0, 0, 0, 0]]
    >>> scores = ranking_scores([[0, 1], [0, 1]], held_out, k=2, by_row=True)
    >>> scores["row"], scores["recall"]
    (array([0]), array([0.5]))
    """
    found, all_of, numbers = _hits(ranking, held_out, k, seen, threshold)
    scores = {name: function(found, all_of) for name, function in _ALL.items()}
    return {"row": numbers, **scores} if by_row else {name: float(one.mean()) for name, one in scores.items()}


def evaluate(model: Any, held_out: Any, k: int = 10, *, seen: Any = None, factors: Optional[numpy.ndarray] = None,
             threshold: Optional[float] = None) -> dict[str, float]:
    """All four for the recommendations of a fitted estimator: {"precision": ..., "recall": ..., "ndcg": ..., "map": ...}.

    seen: what the rows are known to have, for instance what was fitted to. factors: of the rows, by `transform`. None: the rows are the rows of the fit; if the
    model keeps none, their factors are computed from `seen`.

    >>> plays = [[9, 4, 0, 0], [7, 0, 0, 1], [0, 5, 2, 0]]
    >>> held_out = [[0, 0, 0, 1], [0, 2, 0, 0], [1, 0, 0, 0]]
    >>> sorted(evaluate(ImplicitALS(factors=2).fit(plays), held_out, k=2, seen=plays).items())[3]
    ('recall', 1.0)
    """
    k = _whole(k)
    rows = model._fitted().about.rows
    held = samples(held_out, "held_out")
    if factors is None and rows == 0:
        if seen is None:
            raise _errors.ArgumentError(f"this {type(model).__name__} keeps no factors of rows: give what is known of them as seen=, or their factors as factors=")
        factors = None if model._pairs else model.transform(seen)
    if factors is not None:
        whose, count = "factors", len(factors)
    else:
        whose, count = ("seen", samples(seen, "seen").shape[0]) if model._pairs else ("the model", rows)
    if held.shape[0] != count:
        raise _errors.ArgumentError(f"held_out has {held.shape[0]} rows, and {whose} {count}: for other rows than those of "
                                    f"the fit give factors=model.transform(seen)")
    ranking, _ = model.recommend(n=k, seen=seen, factors=factors)
    return ranking_scores(ranking, held_out, k, seen=seen, threshold=threshold)


__all__ = ["biases", "coverage", "evaluate", "mae", "map_at_k", "ndcg_at_k", "popular", "precision_at_k", "rank", "ranking_scores", "recall_at_k", "rmse"]
