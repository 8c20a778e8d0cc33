"""`tamis evaluate METHOD DATA`: how good a method is on data, beside what needs no model: popularity, and biases. `evaluate` does it with an estimator.
METHOD may be several, separated by commas, or `all` that apply: `compare` does it with estimators."""
from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from typing import Any, Iterable, Optional


from . import _command, ml, tune
from ._command import ResultsError
from ._errors import ArgumentError, UnsupportedError
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


def compare(models: dict[str, Any], train: Any, test: Any, k: int = 10, *, threshold: Optional[float] = None, uses: Any = None,
            refused: Optional[dict[str, str]] = None) -> dict[str, Any]:
    """Fits each of the models to train and measures it on test, as `evaluate` does: {"methods": numbers by name, "popularity": ..., "biases": ..., "refused": reasons by
    name, "winner": ...}. What does not apply to the data is refused. winner: the name of the largest NDCG among what ranks, and of the least RMSE among what predicts
    ratings, {"ndcg": ..., "rmse": ...}; popularity and biases may be it. uses: what models of uses are fitted to, if that is not train: the same entries with other
    values. refused: reasons that are known before.

    >>> import numpy as np, scipy.sparse
    >>> from tamis.evaluate import compare
    >>> from tamis.ml import ALS, ItemKNN, split_entries
    >>> random = np.random.default_rng(1)
    >>> X = scipy.sparse.csr_array(np.float32(np.ceil(5 * random.random((40, 2)) @ random.random((2, 20))) * (random.random((40, 20)) < 0.5)))
    >>> found = compare({"als": ALS(factors=2), "item-knn": ItemKNN()}, *split_entries(X))
    >>> found["winner"]["rmse"], sorted(found["methods"])
    ('als', ['als', 'item-knn'])
    """
    found: dict[str, Any] = {"methods": {}, "refused": dict(refused or {})}
    metrics.ranking_scores(metrics.popular(train, 1), test, 1, seen=train, threshold=threshold)  # without a relevant entry nothing is fitted
    for name, model in models.items():
        try:
            numbers = evaluate(model, train if uses is None or not model._uses else uses, test, k, threshold=threshold)
        except (UnsupportedError, ArgumentError) as problem:
            if len(models) + len(refused or {}) == 1:
                raise
            found["refused"][name] = str(problem)
            continue
        found["methods"][name] = numbers.pop("model")
        found.update(numbers)
    if not found["methods"]:
        raise ResultsError("no method applies to the data: " + "; ".join(f"{name}: {why}" for name, why in found["refused"].items()))
    beside = {**found["methods"], **{name: found[name] for name in ("popularity", "biases") if name in found}}
    found["winner"] = {}
    for number, best in (("ndcg", max), ("rmse", min)):
        having = {name: numbers[number] for name, numbers in beside.items() if number in numbers}
        if having:
            found["winner"][number] = best(having, key=lambda name: having[name])
    return found


def applying(ratings: Any, uses: Any) -> list[str]:
    """The methods that apply to data without options: of ratings where these differ, of uses where no value is negative."""
    plain = bool((ratings.data == ratings.data[0]).all()) if ratings.nnz else True
    return [name for name, method in METHODS.items() if (not (uses.data < 0).any() if method._uses else not plain)]


def _keep_standard_input() -> None:
    """Puts a file in the place of standard input, so that it can be read twice."""
    with tempfile.TemporaryFile() as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        os.dup2(file.fileno(), sys.stdin.fileno())


def _read(asked: list[str], path: str, columns: Optional[str]) -> tuple[list[str], dict[str, str], ml.Data, Optional[ml.Data]]:
    """Returns the methods to run, the reasons of those that were asked for and do not apply, the data that are split and measured on, and those that methods of
    uses are fitted to if they are others: of a repeated pair ratings have the last value, and uses the sum."""
    whole = list(METHODS) if asked == ["all"] else [name for name in METHODS if name in asked]
    of_ratings, of_uses = ([name for name in whole if METHODS[name]._uses == uses] for uses in (False, True))
    if len(whole) == 1 or not of_ratings:
        return whole, {}, tune.data_of(whole[0], path, columns), None
    if path == "-" and of_uses:
        _keep_standard_input()
    ratings = ml.read(path, METHODS[of_ratings[0]], columns=columns)
    uses = ml.read(path, METHODS[of_uses[0]], columns=columns) if of_uses else ratings
    if asked == ["all"]:
        runs, refused = applying(ratings.X, uses.X), {}
    else:
        refused = {name: why for name in whole if (why := tune.unsuited(name, ratings.X))}
        runs = [name for name in whole if name not in refused]
    return (runs, refused, ratings, uses) if any(name in of_ratings for name in runs) else (runs, refused, uses, None)


def _without(options: list[tuple[str, Any]], methods: Iterable[str]) -> Optional[str]:
    """Returns the first option that none of the methods has."""
    return next((option for option, _ in options if not any(option in METHODS[name]._names() for name in methods)), None)


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
    arguments.add_argument("method", metavar="METHOD", help=f"{', '.join(METHODS)}; several of them, separated by commas; or all that apply")
    arguments.add_argument("data", metavar="DATA", help="ratings or uses, as for training")
    arguments.add_argument("--columns", metavar="user=NAME,item=NAME,...", help="columns of a file of ratings, as for training")
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


def _print(given: argparse.Namespace, found: dict[str, Any], split: str, entries: tuple[int, int]) -> None:
    rows = {**found["methods"], **{name: found[name] for name in ("popularity", "biases") if name in found}}
    shown = [name for name in _COLUMNS if any(name in numbers for numbers in rows.values())]
    several = len(found["methods"]) + len(found["refused"]) > 1
    titles = [{"rmse": "RMSE", "mae": "MAE", "ndcg": "NDCG", "map": "MAP"}.get(name, name) for name in shown]
    print(f"{_command.visible(given.data)}: {entries[0]} entries fitted, {entries[1]} held out ({split}); rankings of the first {given.top}")
    print(f"{'':<14}" + "".join(f"{title:>11}" for title in titles) + (f"{'seconds':>11}" if several else ""))
    for name, numbers in rows.items():
        line = "".join(f"{numbers[one]:>11.4f}" if one in numbers else f"{'':>11}" for one in shown)
        seconds = f"{numbers['seconds']:>11.3g}" if several and "seconds" in numbers else ""
        print(f"{name:<14}{line}{seconds}".rstrip())
    for name, why in found["refused"].items():
        print(f"{name}: left out: {_command.visible(why)}")
    if several:
        print("best: " + ", ".join(f"{name} by {number.upper()}" for number, name in found["winner"].items()))


def main(given: argparse.Namespace) -> int:
    asked = given.method.split(",")
    unknown = [name for name in asked if name not in METHODS and asked != ["all"]]
    if unknown:
        _command.error(f"METHOD {unknown[0]}: expected all, or of {', '.join(METHODS)}, separated by commas")
        return _command.USAGE
    split = "date" if given.test_from else given.split
    if split == "date" and not given.test_from:
        _command.error("--split date: needs --test-from DATE")
        return _command.USAGE
    runs, refused = [name for name in METHODS if name in asked or asked == ["all"]], {}
    wrong = _without(given.set, runs)
    if wrong is None:
        runs, refused, data, uses = _read(asked, given.data, given.columns)
        wrong = _without(given.set, runs) if asked == ["all"] and runs else None
    if wrong is not None:
        _command.error(f"--set {wrong}: {'no method that applies has that option' if asked == ['all'] else given.method + ' has no such option'}")
        return _command.USAGE
    train, test = divide(data, split, given.hold_out, given.test_from, given.seed)
    if train.nnz == 0 or test.nnz == 0:
        raise ResultsError(f"{given.data}: {train.nnz} entries to fit and {test.nnz} held out: nothing can be measured")
    models = {name: METHODS[name](**{option: value for option, value in given.set if option in METHODS[name]._names()}, device=given.device) for name in runs}
    of_uses = None if uses is None else divide(uses, split, given.hold_out, given.test_from, given.seed)[0]
    found = compare(models, train, test, given.top, threshold=given.relevant, uses=of_uses, refused=refused)
    if given.json:
        said = {"data": given.data, "split": split, "top": given.top, "fitted": int(train.nnz), "held_out": int(test.nnz)}
        if len(set(asked)) == 1 and asked != ["all"]:
            whole = {name: found[name] for name in ("popularity", "biases") if name in found}
            print(json.dumps({"method": asked[0], **said, "model": found["methods"][asked[0]], **whole}))
        else:
            print(json.dumps({**said, **found}))
        return _command.OK
    _print(given, found, split, (int(train.nnz), int(test.nnz)))
    return _command.OK


if __name__ == "__main__":
    sys.exit(_command.run(main, parser()))
