"""`tamis evaluate METHOD DATA`: how good a method is on data, beside what needs no model: popularity, and biases. `evaluate` does it with an estimator."""
from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any, Optional


from . import _command, ml, tune
from ._command import ResultsError
from .ml import metrics

METHODS = {name: method for name, method in tune.METHODS.items() if not method._counts}
SPLITS = ("random", "leave-one-out", "last", "date")
_COLUMNS = ("rmse", "mae", "precision", "recall", "ndcg", "map", "coverage")


def evaluate(model: Any, train: Any, test: Any, k: int = 10, *, threshold: Optional[float] = None) -> dict[str, dict[str, Any]]:
    """Fits `model` to train and measures it on test, entries of the same rows: {"model": ..., "popularity": ..., "biases": ...}, each with the numbers that it
    has of rmse, mae, precision, recall, ndcg, map and coverage. Entries of train are not recommended. threshold: what a relevant entry is at least.

    >>> import numpy as np, scipy.sparse
    >>> from tamis.evaluate import evaluate
    >>> from tamis.ml import ALS, split_entries
    >>> random = np.random.default_rng(1)
    >>> X = scipy.sparse.csr_array(np.float32(np.ceil(5 * random.random((40, 2)) @ random.random((2, 20))) * (random.random((40, 20)) < 0.5)))
    >>> found = evaluate(ALS(factors=2), *split_entries(X))
    >>> found["model"]["rmse"] < found["biases"]["rmse"], sorted(found["popularity"])
    (True, ['coverage', 'map', 'ndcg', 'precision', 'recall'])
    """
    start = time.perf_counter()
    model.fit(train)
    seconds = time.perf_counter() - start
    factors = model.transform(train) if model._fitted().about.rows == 0 and not model._pairs else None
    columns = train.shape[1]

    def errors(predictions: Any) -> dict[str, Any]:
        return {"rmse": metrics.rmse(predictions, test.data), "mae": metrics.mae(predictions, test.data)}

    def scores(ranking: Any) -> dict[str, Any]:
        return {**metrics.ranking_scores(ranking, test, k, seen=train, threshold=threshold), "coverage": metrics.coverage(ranking, columns)}

    of_model = {} if model._uses else errors(model.predict(test, factors=factors))
    of_model.update(scores(model.recommend(n=min(k, columns), seen=train, factors=factors)[0]), seconds=seconds)
    popular = scores(metrics.popular(train, min(k, columns)))
    return {"model": of_model, "popularity": popular, **({} if model._uses else {"biases": errors(metrics.biases(train, test))})}


def divide(data: ml.Data, split: str, share: float, start: Optional[str], seed: int) -> tuple[Any, Any]:
    """Split the data; returns the part to fit to and the held-out part."""
    if split in ("last", "date") and data.times is None:
        raise ResultsError(f"--split {split}: the data have no time for each entry; a file of ratings has them in the fourth column, or in --columns ...,time=NAME")
    if split == "last":
        return ml.last_out(data.X, data.times)
    if split == "date":
        return ml.split_time(data.X, data.times, float(start) if start and start.lstrip("-").isdigit() and len(start) > 4 else start)
    return ml.leave_one_out(data.X, random_state=seed) if split == "leave-one-out" else ml.split_entries(data.X, share, random_state=seed)


def _option(text: str) -> tuple[str, Any]:
    name, values = tune._numbers(text)
    if len(values) != 1:
        raise argparse.ArgumentTypeError(f"'{text}': expected NAME=VALUE")
    return name, values[0]


def parser() -> argparse.ArgumentParser:
    arguments = _command.parser("evaluate", "measure a method on held-out entries of data, beside popularity and biases")
    tune.add_data(arguments, METHODS, "ratings or uses")
    arguments.add_argument("--set", metavar="NAME=VALUE", type=_option, action="append", default=[], help="an option of the method, such as factors=64")
    arguments.add_argument("--split", choices=SPLITS, default="random", help="what is held out [random]")
    arguments.add_argument("--hold-out", metavar="SHARE", type=float, default=0.2, help="of each row's entries, for random [0.2]")
    arguments.add_argument("--test-from", metavar="DATE", help="hold out the entries from this date or time on")
    arguments.add_argument("--top", metavar="N", type=int, default=10, help="number of recommendations [10]")
    arguments.add_argument("--relevant", metavar="X", type=float, help="held-out entries of at least this value are the relevant ones")
    arguments.add_argument("--seed", metavar="SEED", type=int, default=1, help="of the split [1]")
    arguments.add_argument("--device", metavar="DEVICE", default="cpu", help="the device to use [cpu]")
    arguments.add_argument("--json", action="store_true", help="an object instead of a table")
    return arguments


def main(given: argparse.Namespace) -> int:
    method = METHODS[given.method]
    unknown = [name for name, _ in given.set if name not in method._names()]
    if unknown:
        _command.error(f"--set {unknown[0]}: {given.method} has no such option")
        return _command.USAGE
    split = "date" if given.test_from else given.split
    if split == "date" and not given.test_from:
        _command.error("--split date: needs --test-from DATE")
        return _command.USAGE
    train, test = divide(tune.data_of(given.method, given.data, given.columns), split, given.hold_out, given.test_from, given.seed)
    if train.nnz == 0 or test.nnz == 0:
        raise ResultsError(f"{given.data}: {train.nnz} entries to fit and {test.nnz} held out: nothing can be measured")
    found = evaluate(method(**dict(given.set), device=given.device), train, test, given.top, threshold=given.relevant)
    if given.json:
        print(json.dumps({"method": given.method, "data": given.data, "split": split, "top": given.top, "fitted": int(train.nnz), "held_out": int(test.nnz), **found}))
        return _command.OK
    shown = [name for name in _COLUMNS if name in found["model"]]
    titles = [{"rmse": "RMSE", "mae": "MAE", "ndcg": "NDCG", "map": "MAP"}.get(name, name) for name in shown]
    print(f"{_command.visible(given.data)}: {train.nnz} entries fitted, {test.nnz} held out ({split}); rankings of the first {given.top}")
    print(f"{'':<14}" + "".join(f"{title:>11}" for title in titles))
    for name, numbers in found.items():
        line = "".join(f"{numbers[one]:>11.4f}" if one in numbers else f"{'':>11}" for one in shown)
        print(f"{given.method if name == 'model' else name:<14}{line}".rstrip())
    return _command.OK


if __name__ == "__main__":
    sys.exit(_command.run(main, parser()))
