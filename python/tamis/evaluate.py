"""`tamis evaluate METHOD DATA`: how good a method is on data, beside what needs no model: popularity, and biases. `evaluate` does it with an estimator.
METHOD may be several, separated by commas, or `all` that apply: `compare` does it with estimators, `over_folds` on several splits."""
from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from typing import Any, Callable, Iterable, NamedTuple, Optional

import numpy

from . import _command, ml, tune
from ._command import ResultsError
from ._errors import ArgumentError, OutOfMemoryError, UnsupportedError
from .ml import metrics

METHODS: dict[str, Any] = {**{name: method for name, method in tune.METHODS.items() if not method._counts}, "transitions": ml.Transitions}
SPLITS = ("time", "random", "leave-one-out", "last", "date")
_COLUMNS = ("rmse", "mae", "precision", "recall", "ndcg", "map", "coverage")
_CHOICES: dict[str, tuple[Any, ...]] = {"factors": (0,), "regularization": (0, None), "column_regularization": (0, None), "confidence": (None,), "weights": ("auto",),
                                        "neighbours": (None,)}  # options that a fit may choose, with what asks for it


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
    test = _in_order(test)
    found = {"model": _measured(model, train, test, k, threshold), "popularity": _popularity(train, test, k, threshold)}
    return found if model._uses else {**found, "biases": _biases(train, test)}


def _in_order(test: Any) -> Any:
    """A copy with sorted rows and no entry twice, as `biases` has them."""
    made = test.tocsr(copy=True)
    made.sum_duplicates()
    return made


def _scores(ranking: Any, train: Any, test: Any, k: int, threshold: Optional[float]) -> dict[str, Any]:
    return {**metrics.ranking_scores(ranking, test, k, seen=train, threshold=threshold), "coverage": metrics.coverage(ranking, train.shape[1])}


def _errors_of(predictions: Any, test: Any) -> dict[str, Any]:
    return {"rmse": metrics.rmse(predictions, test.data), "mae": metrics.mae(predictions, test.data)}


def _popularity(train: Any, test: Any, k: int, threshold: Optional[float]) -> dict[str, Any]:
    return _scores(metrics.popular(train, min(k, train.shape[1])), train, test, k, threshold)


def _biases(train: Any, test: Any) -> dict[str, Any]:
    return _errors_of(metrics.biases(train, test), test)


def _measured(model: Any, train: Any, test: Any, k: int, threshold: Optional[float]) -> dict[str, Any]:
    before = _memory(fresh=True)
    start = time.perf_counter()
    model.fit(train)
    seconds, after = time.perf_counter() - start, _memory()
    keeps_none = model._fitted().about.rows == 0
    factors = model.transform(train) if keeps_none and not model._pairs else None
    found = {} if model._uses else _errors_of(model.predict(test, observed=train if keeps_none else None), test)
    ranking = model.recommend(n=min(k, train.shape[1]), seen=train, factors=factors)[0]
    found.update(_scores(ranking, train, test, k, threshold), seconds=seconds, chosen=_chosen(model))
    if before is not None and after is not None:
        found["memory"] = max(after - before, 0)
    return found


def _memory(fresh: bool = False) -> Optional[int]:
    """The most bytes that the process had in memory; fresh: what it has now, from where the most is counted anew. None where the system does not tell."""
    try:
        if fresh:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
        with open("/proc/self/status") as file:
            return 1024 * next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return None


def _chosen(model: Any) -> dict[str, Any]:
    """The options that the fit chose by the data: those whose parameter leaves it open."""
    return {name: getattr(model, name + "_") for name, left_open in _CHOICES.items() if getattr(model, name, 1) in left_open and hasattr(model, name + "_")}


def compare(models: dict[str, Any], train: Any, test: Any, k: int = 10, *, threshold: Optional[float] = None, uses: Any = None, order: Any = None,
            refused: Optional[dict[str, str]] = None) -> dict[str, Any]:
    """Fits each of the models to train and measures it on test, as `evaluate` does: {"methods": numbers by name, "popularity": ..., "biases": ..., "refused": reasons by
    name, "winner": ...}. What does not apply to the data is refused. winner: the name of the largest NDCG among what ranks, and of the least RMSE among what predicts
    ratings, {"ndcg": ..., "rmse": ...}; popularity and biases may be it. uses, order: what models of uses, and of transitions, are fitted to, if that is not train:
    the same entries with other values. refused: reasons that are known before.

    >>> import numpy as np, scipy.sparse
    >>> from tamis.evaluate import compare
    >>> from tamis.ml import ALS, ItemKNN, split_entries
    >>> random = np.random.default_rng(1)
    >>> X = scipy.sparse.csr_array(np.float32(np.ceil(5 * random.random((40, 2)) @ random.random((2, 20))) * (random.random((40, 20)) < 0.5)))
    >>> found = compare({"als": ALS(factors=2), "item-knn": ItemKNN()}, *split_entries(X))
    >>> found["winner"]["rmse"], sorted(found["methods"])
    ('als', ['als', 'item-knn'])
    """
    test = _in_order(test)
    # fails without a relevant entry, before anything is fitted
    found: dict[str, Any] = {"methods": {}, "refused": dict(refused or {}), "popularity": _popularity(train, test, k, threshold)}
    for name, model in models.items():
        try:
            data = next((other for other in ((order if model._ordered else None), (uses if model._uses else None)) if other is not None), train)
            found["methods"][name] = _measured(model, data, test, k, threshold)
        except (UnsupportedError, ArgumentError, OutOfMemoryError) as problem:
            if len(models) + len(refused or {}) == 1:
                raise
            found["refused"][name] = str(problem)
    if not found["methods"]:
        raise ResultsError("no method applies to the data: " + "; ".join(f"{name}: {why}" for name, why in found["refused"].items()))
    if any("rmse" in numbers for numbers in found["methods"].values()):
        found["biases"] = _biases(train, test)
    return _with_winner(found)


def _beside(found: dict[str, Any]) -> dict[str, Any]:
    """The numbers of the methods, and of what stands beside them, by name."""
    return {**found["methods"], **{name: found[name] for name in ("popularity", "biases") if name in found}}


def _with_winner(found: dict[str, Any]) -> dict[str, Any]:
    found["winner"] = {}
    for number, best in (("ndcg", max), ("rmse", min)):
        having = {name: numbers[number] for name, numbers in _beside(found).items() if number in numbers}
        if having:
            found["winner"][number] = best(having, key=lambda name: having[name])
    return found


def _shared(options: list[dict[str, Any]]) -> dict[str, Any]:
    """The options that folds chose: lists, one number a fold, where they differ."""
    return {name: value if all(one.get(name) == value for one in options) else [one.get(name) for one in options] for name, value in options[0].items()}


def over_folds(results: list[dict[str, Any]]) -> dict[str, Any]:
    """One result of several of `compare`, from as many splits of the same data: means, and in "spread" the standard deviation of each number.

    >>> from tamis.evaluate import over_folds
    >>> found = over_folds([{"methods": {"als": {"rmse": error}}, "refused": {}} for error in (1.0, 1.5)])
    >>> found["methods"]["als"]["rmse"], round(found["methods"]["als"]["spread"]["rmse"], 3)
    (1.25, 0.354)
    """
    if len(results) == 1:
        return results[0]
    refused = {name: why for one in results for name, why in one["refused"].items()}

    def whole(of: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        numbers = [of(one) for one in results]
        joined = {name: numpy.array([one[name] for one in numbers], float) for name, value in numbers[0].items() if isinstance(value, (int, float))}
        of_folds = {what: _shared([one[what] for one in numbers]) for what in ("chosen", "tuned") if what in numbers[0]}
        return {**numbers[0], **of_folds, **{name: float(values.mean()) for name, values in joined.items()},
                "spread": {name: float(values.std(ddof=1)) for name, values in joined.items()}}

    names = [name for name in results[0]["methods"] if name not in refused]
    found: dict[str, Any] = {"methods": {name: whole(lambda one, name=name: one["methods"][name]) for name in names}, "refused": refused}
    for beside in ("popularity", "biases"):
        if all(beside in one for one in results):
            found[beside] = whole(lambda one, beside=beside: one[beside])
    return _with_winner(found)


def applying(ratings: Any, uses: Any, timed: bool) -> list[str]:
    """The methods that apply to data without options: of ratings where these differ, of uses where no value is negative, of transitions where there are times."""
    plain = bool((ratings.data == ratings.data[0]).all()) if ratings.nnz else True
    return [name for name, method in METHODS.items() if (timed if method._ordered else not (uses.data < 0).any() if method._uses else not plain)]


def _keep_standard_input() -> None:
    """Puts a file in the place of standard input, so that it can be read twice."""
    with tempfile.TemporaryFile() as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        os.dup2(file.fileno(), sys.stdin.fileno())


class _Sources(NamedTuple):
    """The methods to run, the reasons of those that were asked for and do not apply, and the data: those that are split and measured on, those that methods of uses
    are fitted to if they are others (of a repeated pair ratings have the last value, and uses the sum), and positions in time, which `transitions` is fitted to."""
    runs: list[str]
    refused: dict[str, str]
    data: ml.Data
    uses: Optional[ml.Data]
    order: Any
    reader: Any  # the class that read the data


_TIMELESS = "the data have no time for each entry"


def _read(asked: list[str], path: str, columns: Optional[str]) -> _Sources:
    whole = list(METHODS) if asked == ["all"] else [name for name in METHODS if name in asked]
    of_ratings, of_uses, ordered = ([name for name in whole if (METHODS[name]._uses, METHODS[name]._ordered) == kind] for kind in ((False, False), (True, False), (True, True)))
    first = METHODS[(of_ratings or of_uses or ["als"])[0]]
    if path == "-":
        _keep_standard_input()
    alone = len(whole) == 1 and not ordered
    data = tune.data_of(whole[0], first, path, columns) if alone else ml.read(path, first, columns=columns)
    uses = ml.read(path, METHODS[of_uses[0]], columns=columns) if of_uses and of_ratings else None
    refused = {}
    if asked == ["all"]:
        runs = applying(data.X, data.X if uses is None else uses.X, data.times is not None)
    else:
        late = data.times is None and len(whole) > 1
        refused = {name: why for name in whole if (why := _TIMELESS if late and METHODS[name]._ordered else tune.unsuited(name, METHODS[name], data.X))}
        runs = [name for name in whole if name not in refused]
    order = ml.read(path, ml.Transitions, columns=columns).X if data.times is not None or "transitions" in runs else None
    if uses is not None and not any(name in of_ratings for name in runs):
        return _Sources(runs, refused, uses, None, order, METHODS[of_uses[0]])
    return _Sources(runs, refused, data, uses, order, first)


def _without(options: list[tuple[str, Any]], methods: Iterable[str]) -> Optional[str]:
    """Returns the first option that none of the methods has."""
    return next((option for option, _ in options if not any(option in METHODS[name]._names() for name in methods)), None)


# -------------------------------------------------------------------- what is held out

def _usual_split(data: ml.Data) -> str:
    """By time where the data have times that differ: what is recommended comes later than what is known."""
    return "time" if data.times is not None and data.times.nnz and data.times.data.min() < data.times.data.max() else "random"


def _time_from(times: Any, share: float) -> float:
    """Return the time from which the share of the entries is that, as near as entries of equal times allow; never the first time."""
    found, counts = numpy.unique(times.data, return_counts=True)
    if len(found) < 2:
        raise ResultsError(f"--split time: all entries have the time {found[0]:g}" if len(found) else "--split time: the data have no entries")
    later = counts[::-1].cumsum()[::-1][1:] / times.nnz
    return float(found[1:][numpy.abs(later - share).argmin()])


def divide(data: ml.Data, split: str, share: float, start: Optional[str], seed: int) -> tuple[Any, Any]:
    """Split the data; returns the part to fit to and the held-out part."""
    if split in ("last", "date", "time") and data.times is None:
        raise ResultsError(f"--split {split}: the data have no time for each entry; a file of ratings has them in the fourth column, or in --columns ...,time=NAME")
    if split == "last":
        return ml.last_out(data.X, data.times)
    if split == "time":
        return ml.split_time(data.X, data.times, _time_from(data.times, share))
    if split == "date":
        return ml.split_time(data.X, data.times, float(start) if start and start.lstrip("-").isdigit() and len(start) > 4 else start)
    return ml.leave_one_out(data.X, random_state=seed) if split == "leave-one-out" else ml.split_entries(data.X, share, random_state=seed)


def _joined(one: ml.Data, other: ml.Data) -> tuple[Any, Any]:
    """Both matrices with the rows and columns of either, by their names or, without, their numbers."""
    import scipy.sparse
    places, sizes = [], []
    for names, others, counts in ((one.rows, other.rows, (one.X.shape[0], other.X.shape[0])), (one.columns, other.columns, (one.X.shape[1], other.X.shape[1]))):
        if (names is None) != (others is None):
            raise ResultsError("--test: one of the files has names and the other has numbers: nothing tells which are the same")
        known = {name: number for number, name in enumerate(names or [])}
        places.append(numpy.arange(counts[1]) if others is None else numpy.array([known.setdefault(name, len(known)) for name in others], "int64"))
        sizes.append(max(counts) if others is None else len(known))
    coo = other.X.tocoo()
    train = one.X.tocsr(copy=True)
    train.resize(sizes)
    return train, scipy.sparse.csr_matrix((coo.data, (places[0][coo.row], places[1][coo.col])), shape=sizes)


class _Part(NamedTuple):
    """The parts of a split: what is fitted, as ratings, as sums of uses and as positions in time, and what is held out."""
    train: Any
    uses: Any
    order: Any
    test: Any


def _of(matrix: Any, pattern: Any) -> Any:
    """The entries of a matrix without zeros at the places of another matrix."""
    import scipy.sparse
    ones = scipy.sparse.csr_matrix((numpy.ones(pattern.nnz, "float32"), pattern.indices, pattern.indptr), shape=pattern.shape)
    return scipy.sparse.csr_matrix(matrix.multiply(ones))


def _without_common(test: Any, train: Any, given: argparse.Namespace) -> Any:
    """The entries of a test file that the data do not have; it says how many are left out."""
    import scipy.sparse
    coo, width = test.tocoo(), test.shape[1]
    known = train.tocoo()
    new = ~numpy.isin(coo.row.astype("int64") * width + coo.col, known.row.astype("int64") * width + known.col)
    if not new.all():
        print(f"tamis evaluate: {_command.visible(given.test)}: {(~new).sum()} of {len(new)} pairs are in {_command.visible(given.data)}, too: they are left out", file=sys.stderr)
    return scipy.sparse.csr_matrix((coo.data[new], (coo.row[new], coo.col[new])), shape=test.shape)


def _part(sources: _Sources, given: argparse.Namespace, split: str, seed: int) -> _Part:
    data, uses, order = sources.data, sources.uses, sources.order
    if given.test:
        other = ml.read(given.test, sources.reader, columns=given.columns)
        train, test = _joined(data, other)
        uses, order = (None if one is None else _joined(data._replace(X=one), other)[0] for one in (None if uses is None else uses.X, order))
        return _Part(train, uses, order, _without_common(test, train, given))
    times = data.times if split != "last" or order is None else order  # of equal times the last line is the last
    how = (split, given.hold_out, given.test_from, seed)
    train, test = divide(data._replace(times=times), *how)
    uses = None if uses is None else divide(uses._replace(times=times), *how)[0]
    return _Part(train, uses, None if order is None else _of(order, train), test)


def _models(runs: list[str], given: argparse.Namespace, part: _Part) -> dict[str, Any]:
    """An estimator for each method, with the options that were given and, with --tuned, those that are best on folds of what is fitted."""
    models = {}
    for name in runs:
        method = METHODS[name]
        options = {option: value for option, value in given.set if option in method._names()}
        if given.tuned and name in tune.SPACES:
            space = {option: values for option, values in tune.SPACES[name].items() if option not in options}
            X = part.train if part.uses is None or not method._uses else part.uses
            found = tune.tune(method, X, space, fixed=options, seed=given.seed, devices=[given.device], report=lambda line, name=name: print(f"{name}: {line}", file=sys.stderr))
            options.update(found["best"])
        models[name] = method(**options, device=given.device)
    return models


# -------------------------------------------------------------------- the command

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
    arguments.add_argument("--tuned", action="store_true", help="first find each method's options on folds of what is fitted")
    arguments.add_argument("--split", choices=SPLITS, help="what is held out [time where the data have times, else random]")
    arguments.add_argument("--hold-out", metavar="SHARE", type=float, default=0.2, help="of each row's entries, for random; of all, the latest, for time [0.2]")
    arguments.add_argument("--test-from", metavar="DATE", help="hold out the entries from this date or time on")
    arguments.add_argument("--test", metavar="FILE", help="measure on the entries of this file")
    arguments.add_argument("--folds", metavar="N", type=int, default=1, help="number of random splits; the mean and the deviation are told [1]")
    arguments.add_argument("--top", metavar="N", type=int, default=10, help="number of recommendations [10]")
    arguments.add_argument("--relevant", metavar="X", type=float, help="held-out entries of at least this value are the relevant ones")
    arguments.add_argument("--seed", metavar="SEED", type=int, default=1, help="of the split [1]")
    arguments.add_argument("--device", metavar="DEVICE", default="cpu", help="the device to use [cpu]")
    arguments.add_argument("--json", action="store_true", help="an object instead of a table")
    return arguments


def _told(value: Any) -> str:
    if isinstance(value, list):  # of folds that chose differently
        return " or ".join(sorted({_told(one) for one in value}))
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _print(given: argparse.Namespace, found: dict[str, Any], split: str, part: _Part) -> None:
    rows = _beside(found)
    shown = [name for name in _COLUMNS if any(name in numbers for numbers in rows.values())]
    several = len(found["methods"]) + len(found["refused"]) > 1
    titles = [{"rmse": "RMSE", "mae": "MAE", "ndcg": "NDCG", "map": "MAP"}.get(name, name) for name in shown]
    folds = f", {given.folds} folds" if given.folds > 1 else ""
    print(f"{_command.visible(given.data)}: {part.train.nnz} entries fitted, {part.test.nnz} held out ({_command.visible(split)}{folds}); "
          f"rankings of the first {given.top}")
    print(f"{'':<14}" + "".join(f"{title:>11}" for title in titles) + (f"{'seconds':>11}{'memory':>11}" if several else ""))
    for name, numbers in rows.items():
        line = "".join(f"{numbers[one]:>11.4f}" if one in numbers else f"{'':>11}" for one in shown)
        seconds = f"{numbers['seconds']:>11.3g}" if several and "seconds" in numbers else ""
        memory = f"{numbers['memory'] / 2**20:>8.0f} MB" if several and "memory" in numbers else ""
        print(f"{name:<14}{line}{seconds}{memory}".rstrip())
        if "spread" in numbers:
            print(f"{'  deviation':<14}" + "".join(f"{numbers['spread'][one]:>11.4f}" if one in numbers else f"{'':>11}" for one in shown).rstrip())
    for name, numbers in found["methods"].items():
        for what in ("tuned", "chosen"):
            if numbers.get(what):
                told = ", ".join(f"{option.replace('_', ' ')} {_told(value)}" for option, value in numbers[what].items())
                print(f"{name}: {'chosen by the data' if what == 'chosen' else 'tuned'}: {told}")
    for name, why in found["refused"].items():
        print(f"{name}: left out: {_command.visible(why)}")
    if several:
        print("best: " + ", ".join(f"{name} by {number.upper()}" for number, name in found["winner"].items()))


def _wrong(given: argparse.Namespace, asked: list[str]) -> Optional[str]:
    """Return the first fault of the options, before the data are read."""
    unknown = [name for name in asked if name not in METHODS and asked != ["all"]]
    repeats = given.split in (None, "random", "leave-one-out") and not given.test_from and not given.test
    fixed = given.test and (given.split or given.test_from)
    return next((text for wrong, text in (
        (bool(unknown), f"METHOD {(unknown or [''])[0]}: expected all, or of {', '.join(METHODS)}, separated by commas"),
        (given.split == "date" and not given.test_from, "--split date: needs --test-from DATE"),
        (bool(given.test_from) and given.split not in (None, "date"), f"--test-from: excludes --split {given.split}"),
        (given.top < 1, f"--top {given.top}: expected 1 or more"),
        (given.tuned and not any(name in tune.SPACES for name in asked) and asked != ["all"], f"--tuned: {given.method} has no options that are tuned"),
        (bool(fixed), f"--test {given.test}: excludes --split and --test-from"),
        (given.folds < 1, f"--folds {given.folds}: expected 1 or more"),
        (not 0 < given.hold_out < 1, f"--hold-out {given.hold_out:g}: expected more than 0 and less than 1"),
        (given.folds > 1 and not repeats, f"--folds {given.folds}: needs splits that are drawn: --split random or leave-one-out")) if wrong), None)


def main(given: argparse.Namespace) -> int:
    asked = given.method.split(",")
    wrong = _wrong(given, asked)
    if wrong is None and (option := _without(given.set, [name for name in METHODS if name in asked or asked == ["all"]])):
        wrong = f"--set {option}: " + ("no method that applies has that option" if asked == ["all"] else f"{given.method} has no such option")
    if wrong is None:
        sources = _read(asked, given.data, given.columns)
        if asked == ["all"] and sources.runs and (option := _without(given.set, sources.runs)):
            wrong = f"--set {option}: no method that applies has that option"
    if wrong is not None:
        _command.error(wrong)
        return _command.USAGE
    usual = "random" if given.folds > 1 else _usual_split(sources.data)
    split = "date" if given.test_from else given.split or usual
    results = []
    for fold in range(given.folds):
        part = _part(sources, given, split, given.seed + fold)
        if part.train.nnz == 0 or part.test.nnz == 0:
            raise ResultsError(f"{given.data}: {part.train.nnz} entries to fit and {part.test.nnz} held out: nothing can be measured")
        models = _models(sources.runs, given, part)
        results.append(compare(models, part.train, part.test, given.top, threshold=given.relevant, uses=part.uses, order=part.order, refused=sources.refused))
        for name, numbers in results[-1]["methods"].items():
            if given.tuned and name in tune.SPACES:
                numbers["tuned"] = {option: getattr(models[name], option) for option in tune.SPACES[name]}
    found = over_folds(results)
    if given.json:
        said = {"data": given.data, "split": given.test or split, "top": given.top, "fitted": int(part.train.nnz), "held_out": int(part.test.nnz)}
        if len(set(asked)) == 1 and asked != ["all"]:
            whole = {name: found[name] for name in ("popularity", "biases") if name in found}
            print(json.dumps({"method": asked[0], **said, "model": found["methods"][asked[0]], **whole}))
        else:
            print(json.dumps({**said, **found}))
        return _command.OK
    _print(given, found, given.test or split, part)
    return _command.OK


if __name__ == "__main__":
    sys.exit(_command.run(main, parser()))
