"""`tamis tune METHOD DATA`: options of a model by successive halving on cross-validated error; `tune` does it with estimators.

All candidates of a grid are fitted with few iterations on one fold; the best of them go on with a third and then with two thirds of all, as
many as a tenth of the full grid's cost allows; then steps refine the best one, or what the method's defaults choose, whichever is better. Last, the
candidates found and the defaults are fitted to the end on all folds, and the best of these is the result. The defaults stay if the gain is less than its standard
error, on the folds that the rounds have not used if there are two or more. What has been measured is kept in a state file, so that an interrupted search goes on.
"""
from __future__ import annotations

import argparse
import bisect
import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import sys
import time
from typing import Any, Callable, Iterable, Optional

import numpy

from . import _command, ml
from ._command import ResultsError
from ._errors import ArgumentError
from .ml import metrics
from .ml._fitting import WEIGHTS

METHODS: dict[str, Any] = {"als": ml.ALS, "implicit-als": ml.ImplicitALS, "bpr": ml.BPR, "item-knn": ml.ItemKNN, "ease": ml.EASE,
                           "rating-knn": ml.RatingKNN, "ccd": ml.CCD, "lda": ml.LDA, "sfa": ml.SFA, "gap": ml.GaP}
_LAMBDAS = [0.02, 0.05, 0.1, 0.2]
_TOPICS = {"factors": [10, 20, 50, 100]}
SPACES: dict[str, dict[str, list[Any]]] = {
    "als": {"factors": [8, 32], "regularization": _LAMBDAS, "biases": [True, False]},
    "ccd": {"factors": [8, 32], "regularization": _LAMBDAS, "biases": [True, False]},
    "sfa": {"factors": [8, 32], "regularization": _LAMBDAS, "column_regularization": _LAMBDAS},
    "implicit-als": {"factors": [16, 64], "regularization": [1.0, 10.0, 30.0, 100.0], "confidence": [1.0, 10.0, 40.0], "weights": ["log", "bm25"]},
    "bpr": {"factors": [16, 64], "regularization": [0.003, 0.01, 0.03, 0.1]},
    "item-knn": {"neighbours": [10, 20, 50, 100, 200], "weights": ["bm25", "ones", "log", "rp3beta"]},
    "ease": {"regularization": [3.0, 10.0, 30.0, 100.0, 300.0, 1000.0]},
    "rating-knn": {"neighbours": [20, 50, 100, 200, 500]},
    "lda": {**_TOPICS, "row_prior": [0.01, 0.1, 0.5], "column_prior": [0.01, 0.1, 0.5]},
    "gap": {**_TOPICS, "row_prior": [1.05, 1.1, 1.3], "column_prior": [0.3, 1.0, 10.0]},
}
TOP = 10
FACTORS_LEAST, FACTORS_MOST = 2, 512  # limits of the steps; lists may go beyond


def criteria(method: Any) -> tuple[str, ...]:
    """The names of the numbers that a method can be judged by; the first is the default."""
    return ("perplexity",) if method._counts else ("recall", "ndcg") if method._uses else ("rmse",)


# -------------------------------------------------------------------- folds and errors

def _entries(X: Any, keep: numpy.ndarray) -> Any:
    import scipy.sparse
    coo = X.tocoo()
    return scipy.sparse.csr_matrix((coo.data[keep], (coo.row[keep], coo.col[keep])), shape=X.shape)


def split(X: Any, counts: bool, folds: int, fold: int, seed: int) -> tuple[Any, Any, Any]:
    """The entries that are fitted, those that are held out, and those that are known of their rows (None: the fitted ones)."""
    draw = numpy.random.default_rng(seed)
    if not counts:
        of = draw.integers(folds, size=X.nnz)
        return _entries(X, of != fold), _entries(X, of == fold), None
    of = draw.integers(folds, size=X.shape[0])
    test = X[of == fold].tocsr()
    away = draw.binomial(numpy.round(test.data).astype("int64"), 0.5).astype(X.dtype)
    held, known = test.copy(), test.copy()
    held.data, known.data = away, test.data - away
    held.eliminate_zeros()
    known.eliminate_zeros()
    return X[of != fold].tocsr(), held, known


def error(model: Any, fitted: Any, held: Any, known: Any, by: str = "recall") -> float:
    """Return the error (smaller is better): RMSE of ratings, perplexity of words, for uses 1 - recall or 1 - NDCG of the first ten."""
    if known is not None:
        return float(numpy.exp(-model.score(held, observed=known)))
    if not model._uses:
        return -float(model.score(held, observed=fitted if model._fitted().about.rows == 0 else None))
    top, _ = model.recommend(None, min(TOP, held.shape[1]), seen=fitted, factors=model.transform(fitted) if model._fitted().about.rows == 0 and not model._pairs else None)
    if by == "ndcg":
        return 1 - metrics.ndcg_at_k(top, held, top.shape[1])
    hits = [numpy.isin(held.indices[a:b], top[row]).mean() for row, (a, b) in enumerate(zip(held.indptr, held.indptr[1:])) if b > a]
    return 1 - float(numpy.mean(hits))


# -------------------------------------------------------------------- the search

def candidates(space: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(space, values)) for values in itertools.product(*space.values())]


SHARE = 0.075  # the share of a full grid's cost that the rounds may take; cost is iterations times factors over all fits
FEW = 8  # number of candidates that are fitted to the end, on all folds


def rungs(weights: list[float], iterations: int, folds: int) -> list[tuple[int, float]]:
    """Return (iterations, cost) of each round on one fold. weights: the cost of each candidate's iteration. The first round has all
    candidates.

    The caller skips a round whose cost does not suffice for the best candidate. With less than some 20 iterations over all folds, the first round
    alone costs more than the share.
    """
    few = max(min(2, iterations), iterations // 7)
    first = few * sum(weights)
    left = max(0.0, SHARE * iterations * folds * sum(weights) - first)
    return [(few, first), (max(few, iterations // 3), 0.6 * left), (max(few, 2 * iterations // 3), 0.4 * left)]


def affordable(weights: list[float], steps: int, cost: float) -> list[int]:
    """Return the candidates that can be fitted for that cost: in order, those that still fit the budget."""
    taken: list[int] = []
    for number, weight in enumerate(weights):
        if steps * weight <= cost:
            taken.append(number)
            cost -= steps * weight
    return taken


def tune(method: Any, X: Any, space: dict[str, list[Any]], *, folds: int = 3, seed: int = 1, fixed: Optional[dict[str, Any]] = None,
         devices: Iterable[str] = ("cpu",), state: Optional[str] = None, grid: bool = False, by: Optional[str] = None,
         report: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Searches the product of `space`, lists of values of the estimator's parameters; `fixed` are the others. The method's defaults are always a
    candidate, also where they are on no list; a list of one value stays as it is.

    Returns the best parameters, their error (smaller is better; `by`: what it is of, "recall" or "ndcg" of the first ten for uses, "rmse" of ratings,
    "perplexity" of words) and its deviation between the folds, the row of the defaults, all results, those first that were fitted to the end on all
    folds, and the cost of the search: iterations times factors, over all fits but those last ones and the defaults'. state: a file in which results
    are kept, and from which a search with the same data and arguments goes on. grid: fit everything to the end instead.
    """
    X = X.tocsr()
    fixed, devices = dict(fixed or {}), list(devices)
    by = by or criteria(method)[0]
    if by not in criteria(method):
        raise ArgumentError(f"by = {by!r}: {method.__name__} is judged by {' or '.join(criteria(method))}")
    steady = "iterations" not in method._names()  # its fits have no iterations: each is complete
    iterations = fixed.pop("iterations", 1 if steady else method().iterations)
    iterations = 1 if steady else iterations
    key = hashlib.sha256(repr((method.__name__, X.shape, space, fixed, iterations, folds, seed, grid, by)).encode())
    for part in (X.indptr, X.indices, X.data):
        key.update(numpy.ascontiguousarray(part).tobytes())
    results = _State(state, key.hexdigest())
    parts = {fold: split(X, method._counts, folds, fold, seed) for fold in range(folds)}
    if any(part.nnz == 0 for fitted, held, _ in parts.values() for part in (fitted, held)):
        raise ArgumentError(f"X has {X.shape[0]} rows and {X.nnz} entries: too few for {folds} folds")

    def fit(job: tuple[dict[str, Any], int, int, str]) -> dict[str, Any]:
        values, steps, fold, device = job
        start = time.perf_counter()
        whole = {} if steady else {"iterations": steps}
        model = method(**fixed, **values, **whole, device=device, seed=seed).fit(parts[fold][0])
        found = error(model, *parts[fold], by)
        chosen = {name: getattr(model, name + "_", value) for name, value in values.items()}
        return {"error": found, "seconds": time.perf_counter() - start, "cost": steps * weight(values), "chosen": chosen}

    def weight(values: dict[str, Any]) -> float:
        return float(values.get("factors", fixed.get("factors", getattr(method(), "factors", 1))) or 32)  # 0: chosen, from 32 on

    def weights() -> list[float]:
        return [max(1.0, weight(values)) for values in alive]

    costs: dict[str, float] = {}

    def measured(values: dict[str, Any], steps: int, folds: int, searched: bool = True) -> dict[str, Any]:
        """Return a row of results; fit what is missing."""
        found = []
        for fold in range(folds):
            name = (values, steps, fold)
            if results.get(name) is None:
                results.put(name, fit((*name, devices[0])))
            found.append(results.get(name)["error"])
            if searched:
                costs[json.dumps(name)] = results.get(name)["cost"]
        mean = float(numpy.mean(found))
        finite = bool(numpy.isfinite(mean))
        return {"values": values, "iterations": steps, "folds": folds, "error": mean if finite else float("inf"), "errors": found,
                "deviation": float(numpy.std(found, ddof=1)) if folds > 1 and finite else None}

    alive = candidates(space)
    grid = grid or steady or len(alive) <= FEW
    used = folds if grid else 1
    plan = [(iterations, iterations * sum(weights()))] if grid else rungs(weights(), iterations, folds)
    rows: list[dict[str, Any]] = []
    spare = 0.0
    with concurrent.futures.ThreadPoolExecutor(len(devices)) as pool:
        for steps, cost in plan:
            kept = [alive[number] for number in affordable(weights(), steps, cost + spare)]
            if not kept:
                continue  # the previous round decides
            alive = kept
            spare = max(0.0, spare + cost - steps * sum(weights()))
            names = [(values, steps, fold) for values in alive for fold in range(used)]
            missing = [name for name in names if results.get(name) is None]
            for first in range(0, len(missing), len(devices)):
                some = missing[first:first + len(devices)]
                for name, found in zip(some, pool.map(fit, [(*name, devices[i]) for i, name in enumerate(some)])):
                    results.put(name, found)
            rows = [measured(values, steps, used) for values in alive]
            rows.sort(key=lambda row: row["error"])
            alive = [row["values"] for row in rows]
            report(f"{len(rows)} candidates, {steps} iterations, {used} fold{'' if used == 1 else 's'}: best {rows[0]['error']:.6g} with {_words(alive[0])}")
        usual, steps = defaults(method, space), rows[0]["iterations"]
        chosen = results.get((measured(usual, steps, used, False)["values"], steps, 0))["chosen"]
        known = {**_numbers_of(chosen), **{name: values[0] for name, values in space.items() if len(values) == 1}}  # 0 may mean "choose", on each fold
        if known not in alive:
            rows.append(measured(known, steps, used, False))
            rows.sort(key=lambda row: row["error"])
        rows = _refined(rows, space, not method._counts, lambda values: measured(values, steps, used), report)
        last = [rows[0]["values"], alive[0], usual]
        compared = [measured(values, iterations, folds, False) for number, values in enumerate(last) if values not in last[:number]]
        compared.sort(key=lambda row: (row["error"], row["values"] != usual))
        of_defaults = next(row for row in compared if row["values"] == usual)
        searched = used if used < folds - 1 else 0  # a standard error needs two folds
        if not _is_ahead(compared[0]["errors"], of_defaults["errors"], searched):
            compared.remove(of_defaults)
            compared.insert(0, of_defaults)
    rest = [row for row in rows if row["values"] not in [one["values"] for one in compared]]
    report(f"{len(compared)} candidates, {iterations} iterations, {folds} folds: best {compared[0]['error']:.6g} with {_words(compared[0]['values'])}")
    return {"best": compared[0]["values"], "error": compared[0]["error"], "deviation": compared[0]["deviation"], "by": by,
            "defaults": of_defaults, "rows": compared + rest, "cost": sum(costs.values()), "seconds": results.total("seconds")}


def _is_ahead(errors: list[float], others: list[float], searched: int = 0) -> bool:
    """Return true if the gain on the same folds, without the first ones, which the search has used, is more than its own standard error: what is less may be
    chance. Errors that are finite are ahead of others."""
    finite, of_others = (bool(numpy.isfinite(some).all()) for some in (errors, others))
    if not (finite and of_others):
        return finite and not of_others
    gains = numpy.array(others[searched:]) - numpy.array(errors[searched:])
    return bool(gains.mean() > gains.std(ddof=1) / len(gains) ** 0.5)


def defaults(method: Any, space: dict[str, list[Any]]) -> dict[str, Any]:
    """The method's own values of the parameters of a space; the single value of a list that has one."""
    own = method().get_params()
    return {name: values[0] if len(values) == 1 else own[name] for name, values in space.items()}


def _numbers_of(chosen: dict[str, Any]) -> dict[str, Any]:
    """The choices of the defaults on a fold, from which steps can begin; lambda with as many digits as steps have."""
    return {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in chosen.items()}


REFINED = ("regularization", "column_regularization", "confidence")
GAIN, NEAR = 5e-4, 1.3  # least relative decrease of the error; least factor of a step


def _step(numbers: list[float], value: float) -> Optional[float]:
    """Half of the way, as a factor, from a value to its neighbours on a list; None where the list has no others."""
    numbers = sorted(number for number in numbers if not isinstance(number, (bool, str)) and number > 0)
    if len(numbers) < 2 or isinstance(value, (bool, str)) or value <= 0:
        return None
    at = min(max(bisect.bisect_left(numbers, value), 1), len(numbers) - 1)
    near = [numbers[k + 1] / numbers[k] for k in (at - 1, at) if k + 1 < len(numbers) and (k == at - 1 or numbers[at] == value)]
    return max(near) ** 0.5


def _refined(rows: list[dict[str, Any]], space: dict[str, list[Any]], sizes: bool, measured: Callable[[dict[str, Any]], dict[str, Any]],
             report: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the rows and those found by steps from the best one: to the other words of a list, up and down with each number, and with all at once,
    since the best lambda rises with the confidence; also (sizes) with the number of factors, doubled and halved. A step that helps is made again, also
    beyond the end of a list; when none helps any more, they get half as long, from half the way to the neighbours on the list. A list of
    one value stays as it is."""
    rows, start = list(rows), rows[0]["values"]
    steps = {name: step for name in REFINED if name in space and (step := _step(space[name], start[name]))}
    doubled = sizes and len(space.get("factors", ())) > 1
    tried = [row["values"] for row in rows]

    def moved(move: dict[str, Any]) -> dict[str, Any]:
        best = rows[0]["values"]
        return {**best, **{name: by if isinstance(by, str) else float(f"{best[name] * by:.4g}") for name, by in move.items() if name != "factors"},
                **({"factors": int(best["factors"] * move["factors"])} if "factors" in move else {})}

    def helps(move: dict[str, Any]) -> bool:
        values, listed = moved(move), space.get("factors", ())
        if "factors" in move and values["factors"] in listed and rows[0]["values"]["factors"] in listed:
            return False  # the rounds have compared them
        if values in tried or ("factors" in move and not FACTORS_LEAST <= values["factors"] <= FACTORS_MOST):
            return False
        tried.append(values)
        row = measured(values)
        better = row["error"] < (1 - GAIN) * rows[0]["error"]
        rows.append(row)
        rows.sort(key=lambda one: one["error"])
        return better

    def round_of(moves: list[dict[str, Any]]) -> bool:
        any_helped = False
        for move in moves:
            while helps(move):
                any_helped = True
        return any_helped

    words = [{name: word} for name, values in space.items() if len(values) > 1 for word in values if isinstance(word, str)]
    while round_of(words + ([{"factors": 2}, {"factors": 0.5}] if doubled and rows[0]["values"]["factors"] > 0 else []) + _moves(steps)):
        pass
    while any(step >= NEAR for step in steps.values()):
        if not round_of(_moves(steps)):
            steps = {name: step ** 0.5 for name, step in steps.items()}
    if rows[0]["values"] != start:
        report(f"refined: best {rows[0]['error']:.6g} with {_words(rows[0]['values'])}")
    return rows


def _moves(steps: dict[str, float]) -> list[dict[str, Any]]:
    moves = [{name: step} for name, step in steps.items()] + ([steps] if len(steps) > 1 else [])
    return [{name: step ** way for name, step in move.items()} for move in moves for way in (1, -1)]


class _State:
    """Results by name, optionally kept in a file of JSON lines, whose first line identifies the search."""

    def __init__(self, path: Optional[str], key: str):
        self.path, self.found = path, {}
        if path is None:
            return
        if not os.path.exists(path):
            _command.write(path, json.dumps({"tamis_tune": key}) + "\n")
            return
        lines = pathlib.Path(path).read_text().splitlines(keepends=True)
        try:
            whole = [json.loads(line) for line in lines if line.endswith("\n")]  # a killed search leaves an incomplete line
            of = whole[0]["tamis_tune"]
            self.found = {json.dumps(one["name"]): one for one in whole[1:]}
        except (ValueError, KeyError, TypeError, IndexError):
            raise ResultsError(f"{path}: no state of tamis tune") from None
        if of != key:
            raise ResultsError(f"{path}: a search of other data or options: choose another --state, or remove it")
        if not lines[-1].endswith("\n"):
            _command.write(path, "".join(lines[:-1]))

    def get(self, name: tuple) -> Any:
        return self.found.get(json.dumps(name))

    def put(self, name: tuple, result: dict[str, Any]) -> None:
        self.found[json.dumps(name)] = result
        if self.path is not None:
            with open(self.path, "a") as file:
                file.write(json.dumps({"name": name, **result}) + "\n")

    def total(self, what: str) -> float:
        return sum(one[what] for one in self.found.values())


# -------------------------------------------------------------------- the command

_TITLES = {"recall": f"recall of the first {TOP}, larger is better", "ndcg": f"NDCG of the first {TOP}, larger is better",
           "rmse": "RMSE, smaller is better", "perplexity": "perplexity of held-out words, smaller is better"}


def _words(values: dict[str, Any]) -> str:
    return " ".join(("--" if value is not False else "--no-") + name.replace("_", "-") + ("" if isinstance(value, bool) else f" {value}" if isinstance(value, str) else f" {value:g}")
                    for name, value in values.items() if value is not None)  # which the library chooses


def _numbers(text: str) -> tuple[str, list[Any]]:
    name, _, values = text.partition("=")
    words: dict[str, Any] = {"yes": True, "no": False, **{one: one for one in WEIGHTS}}
    try:
        found = [words[one] if one in words else int(one) if one.lstrip("-").isdigit() else float(one) for one in values.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}': expected NAME=VALUE,VALUE,...") from None
    return name.replace("-", "_"), found


def data_of(name: str, method: Any, path: str, columns: Optional[str]) -> ml.Data:
    """Read a file of data for a method. Refuses pairs without ratings for a model of ratings, which would learn nothing."""
    data = ml.read(path, method, columns=columns)
    why = unsuited(name, method, data.X)
    if why:
        raise ResultsError(f"{path}: {why}")
    return data


def unsuited(name: str, method: Any, X: Any) -> Optional[str]:
    """Return why a method would learn nothing from these entries, None if it may."""
    if method._uses or method._counts or X.nnz < 2 or (X.data != 1).any():
        return None
    return f"all ratings are 1: {name} models ratings that differ; implicit-als models uses, purchases and clicks"


def add_data(arguments: argparse.ArgumentParser, methods: Iterable[str], data: str) -> None:
    arguments.add_argument("method", metavar="METHOD", choices=methods, help=", ".join(methods))
    arguments.add_argument("data", metavar="DATA", help=f"{data}, as for training")
    arguments.add_argument("--columns", metavar="user=NAME,item=NAME,...", help="columns of a file of ratings, as for training")


def parser() -> argparse.ArgumentParser:
    arguments = _command.parser("tune", "find the options of a model by cross-validation")
    add_data(arguments, METHODS, "ratings, uses or bags of words")
    arguments.add_argument("--values", metavar="NAME=V,V,...", type=_numbers, action="append", default=[],
                           help="values of an option to try, such as factors=16,32 or biases=yes,no; others keep their list")
    arguments.add_argument("--folds", metavar="N", type=int, default=3, help="parts into which the data are split, one of which is held out [3]")
    arguments.add_argument("--seed", metavar="SEED", type=int, default=1, help="of folds and models [1]")
    arguments.add_argument("--iterations", metavar="N", type=int, help="of a whole fit [the method's]")
    arguments.add_argument("--by", choices=("recall", "ndcg"), help="for uses: judge by this number of the first ten [recall]")
    arguments.add_argument("--state", metavar="FILE", help="keep results here, and go on from them")
    arguments.add_argument("--devices", metavar="LIST", default="cpu", help="devices for fits side by side, separated by commas [cpu]")
    arguments.add_argument("--grid", action="store_true", help="fit all candidates to the end")
    arguments.add_argument("--json", action="store_true", help="print the result as JSON")
    return arguments


def _strict(found: Any) -> Any:
    """Return what JSON can say: null in place of a number that is not finite."""
    if isinstance(found, dict):
        return {name: _strict(one) for name, one in found.items()}
    if isinstance(found, list):
        return [_strict(one) for one in found]
    return None if isinstance(found, float) and not numpy.isfinite(found) else found


def main(given: argparse.Namespace) -> int:
    method = METHODS[given.method]
    space = {**SPACES[given.method], **dict(given.values)}
    unknown = [name for name in space if name not in method._names()]
    if unknown or given.folds < 2:
        _command.error(f"--values {unknown[0]}: {given.method} has no such option" if unknown else f"--folds {given.folds}: expected 2 or more")
        return _command.USAGE
    if given.by and given.by not in criteria(method):
        _command.error(f"--by {given.by}: {given.method} is judged by {criteria(method)[0]}")
        return _command.USAGE
    fixed = {} if given.iterations is None else {"iterations": given.iterations}
    X = data_of(given.method, method, given.data, given.columns).X
    found = tune(method, X, space, folds=given.folds, seed=given.seed, fixed=fixed, devices=given.devices.split(","),
                 state=given.state, grid=given.grid, by=given.by, report=lambda line: print(line, file=sys.stderr))
    if given.json:
        print(json.dumps(_strict(found), allow_nan=False))
        return _command.OK
    print(f"{_TITLES[found['by']]}; mean of the folds that were held out, deviation between them")
    print(f"{found['by'].upper() if found['by'] in ('rmse', 'ndcg') else found['by']:>12}{'deviation':>12}{'folds':>7}{'iterations':>12}  options")
    for row in found["rows"][:10]:
        shown = 1 - row["error"] if method._uses else row["error"]
        spread = "" if row["deviation"] is None else f"{row['deviation']:.2g}"
        of = " (defaults)" if row["values"] == found["defaults"]["values"] else ""
        print(f"{shown:12.6g}{spread:>12}{row['folds']:>7}{row['iterations']:>12}  {_words(row['values'])}{of}")
    columns = f" --columns {_command.visible(given.columns)}" if given.columns else ""
    print(f"tamis train {given.method} {_command.visible(given.data)} -o MODEL{columns} {_words(found['best'])}")
    return _command.OK


if __name__ == "__main__":
    sys.exit(_command.run(main, parser()))
