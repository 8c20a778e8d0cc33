"""tamis.tune: the search finds what a grid finds at a tenth of its cost, goes on from its state, refuses others' states."""
import json
import subprocess
import sys

import numpy as np
import pytest

scipy_sparse = pytest.importorskip("scipy.sparse")
from tamis import ml, tune  # noqa: E402
from tamis._command import ResultsError  # noqa: E402


def ratings(rows=120, cols=60):
    random = np.random.default_rng(3)
    exact = random.normal(size=(rows, 3)) @ random.normal(size=(3, cols)) + 0.5 * random.normal(size=(rows, cols))
    return scipy_sparse.csr_matrix(np.where(random.random((rows, cols)) < 0.4, exact, 0).astype("float32"))


SPACE = {"factors": [2, 4, 8, 16], "regularization": [0.005, 0.02, 0.1, 0.5], "biases": [True, False]}


def test_halving_is_near_the_grid():
    X = ratings()
    grid = tune.tune(ml.ALS, X, SPACE, grid=True, fixed={"threads": 1})
    found = tune.tune(ml.ALS, X, SPACE, fixed={"threads": 1})
    chosen = tune.tune(ml.ALS, X, {name: [value] for name, value in found["best"].items()}, fixed={"threads": 1})  # on all folds, to the end
    assert chosen["error"] <= 1.005 * grid["error"]
    assert found["cost"] <= 0.1 * grid["cost"]


def test_cost_is_below_a_tenth():
    """Of every method's own grid, with its own number of iterations, whichever candidates are the best."""
    random = np.random.default_rng(5)
    for name, space in tune.SPACES.items():
        estimator = tune.METHODS[name]()
        if not hasattr(estimator, "iterations"):
            continue  # each fit is a whole one
        all_of_them = np.array([float(one["factors"]) for one in tune.candidates(space)])
        full = 3 * estimator.iterations * all_of_them.sum()
        for order in [np.argsort(all_of_them), np.argsort(-all_of_them)] + [random.permutation(len(all_of_them)) for _ in range(20)]:
            weights, cost, spare = list(all_of_them[order]), 0.0, 0.0
            for steps, allowed in tune.rungs(weights, estimator.iterations, 3):
                weights = [weights[number] for number in tune.affordable(weights, steps, allowed + spare)]
                spent = steps * sum(weights)
                spare, cost = max(0.0, spare + allowed - spent), cost + spent
            assert 0.05 * full <= cost <= 0.1 * full, (name, cost / full)


def test_state(tmp_path):
    X, path = ratings(), str(tmp_path / "state")
    space = {"factors": [2, 3], "regularization": [0.02, 0.1]}
    whole = tune.tune(ml.ALS, X, space, state=path, fixed={"iterations": 4, "threads": 1})
    lines = open(path).read().splitlines(keepends=True)
    with open(path, "w") as file:
        file.writelines(lines[:4] + [lines[4][:9]])  # killed while it wrote
    again = tune.tune(ml.ALS, X, space, state=path, fixed={"iterations": 4, "threads": 1})
    assert again["best"] == whole["best"] and again["error"] == whole["error"] and again["cost"] == whole["cost"]
    assert len(open(path).read().splitlines()) == len(lines)
    with pytest.raises(ResultsError, match="other data or options"):
        tune.tune(ml.ALS, 2 * X, space, state=path)


@pytest.mark.parametrize("name", tune.METHODS)
def test_methods(name):
    X = abs(ratings(40, 20)).ceil()
    space = {key: values[:2] if key != "factors" else [2, 3] for key, values in tune.SPACES[name].items()}
    found = tune.tune(tune.METHODS[name], X, space, folds=2, fixed={"iterations": 2, "threads": 1})
    assert np.isfinite(found["error"]) and set(found["best"]) == set(space)


def uses(rows=400, cols=150, groups=6):
    random = np.random.default_rng(7)
    same = random.integers(groups, size=rows)[:, None] == random.integers(groups, size=cols)[None, :]
    return scipy_sparse.csr_matrix((random.random((rows, cols)) < np.where(same, 0.25, 0.02)).astype("float32"))


def test_the_defaults_are_a_candidate():
    """Also where they are on no list: with lists that hold nothing good, they are the result."""
    found = tune.tune(ml.ItemKNN, uses(), {"neighbours": [1, 2], "weights": ["ones"]}, fixed={"threads": 1})
    assert found["best"] == {"neighbours": 20, "weights": "ones"} and found["defaults"] == found["rows"][0]
    alone = tune.tune(ml.ItemKNN, uses(), {"neighbours": [1], "weights": ["ones"]}, fixed={"threads": 1})
    assert alone["best"] == {"neighbours": 1, "weights": "ones"} and alone["error"] > found["error"]
    bad = {"factors": [2], "regularization": [3000.0, 6000.0], "confidence": [1.0, 2.0], "weights": ["log", "bm25", "linear"]}
    found = tune.tune(ml.ImplicitALS, uses(), bad, fixed={"threads": 1})
    assert found["defaults"]["folds"] == 3 and found["defaults"]["iterations"] == 15
    errors = {}
    for of, values in (("best", found["best"]), *((word, {"factors": 2, "regularization": 3000.0, "confidence": 1.0, "weights": word}) for word in bad["weights"])):
        parts = [tune.split(uses(), False, 3, fold, 1) for fold in range(3)]
        errors[of] = np.mean([tune.error(ml.ImplicitALS(**values, iterations=15, seed=1, threads=1).fit(part[0]), *part) for part in parts])
    assert found["error"] == pytest.approx(errors["best"], abs=1e-9) and errors["best"] < min(errors[word] for word in bad["weights"])
    assert found["defaults"]["values"] == {"factors": 2, "regularization": 0.0, "confidence": None, "weights": "auto"}
    assert found["best"]["regularization"] < 2000


def test_a_gain_by_chance_is_none():
    """The defaults stay unless the gain on the folds is more than its standard error."""
    assert tune._is_ahead([0.5, 0.6, 0.7], [0.51, 0.61, 0.71]) and not tune._is_ahead([0.5, 0.6, 0.7], [0.5, 0.6, 0.7])
    assert not tune._is_ahead([0.5, 0.6, 0.7], [0.56, 0.58, 0.69]) and not tune._is_ahead([0.5, 0.6], [0.4, 0.5])
    errors, others = [0.3, 0.6, 0.71, 0.8], [0.6, 0.65, 0.7, 0.8]
    assert tune._is_ahead(errors, others) and not tune._is_ahead(errors, others, 1)  # the gain is on the fold that was searched


@pytest.mark.parametrize("folds, grid, searched", [(3, False, 1), (4, False, 1), (2, False, 0), (3, True, 0)])
def test_a_gain_is_judged_on_other_folds(monkeypatch, folds, grid, searched):
    """On those that the rounds have not used, if there are two."""
    given, judge = [], tune._is_ahead
    monkeypatch.setattr(tune, "_is_ahead", lambda *args: given.append(args) or judge(*args))
    tune.tune(ml.ALS, ratings(40, 20), {"factors": [1, 2, 3], "regularization": [0.02, 0.1, 0.5]}, folds=folds, grid=grid, fixed={"iterations": 2, "threads": 1})
    assert [(len(errors), len(others), rest) for errors, others, *rest in given] == [(folds, folds, [searched])]


def test_errors_that_are_not_finite(monkeypatch, tmp_path, capsys):
    """A finite one is ahead of them, and JSON has null in their place."""
    infinite = float("inf")
    for bad in ([infinite, 0.1, 0.1], [infinite] * 3, [0.1, float("nan"), 0.1]):
        for searched in (0, 1):
            assert tune._is_ahead([0.5, 0.6, 0.7], bad, searched) and not tune._is_ahead(bad, [0.5, 0.6, 0.7], searched) and not tune._is_ahead(bad, bad, searched)
    (tmp_path / "u.txt").write_text("".join(f"u{u} i{i}\n" for u, i in zip(*uses(40, 20).nonzero())))
    monkeypatch.setattr(tune, "error", lambda model, *_: infinite if model.regularization == 0 else 0.5)
    given = ["implicit-als", str(tmp_path / "u.txt"), "--values", "factors=2", "--values", "confidence=1", "--values", "weights=log",
             "--values", "regularization=1.0,10.0", "--iterations", "2", "--json"]
    assert tune.main(tune.parser().parse_args(given)) == 0

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert found["best"]["regularization"] > 0 and found["error"] == 0.5
    assert found["defaults"]["values"]["regularization"] == 0 and found["defaults"]["error"] is None and found["defaults"]["errors"] == [None] * 3


def test_lists_of_one_value_stay():
    """Also where the value means that the library chooses; a value beyond the limits of the steps leaves the other options theirs."""
    for space in ({"factors": [0], "regularization": [0.0]}, {"factors": [0], "regularization": [0.02, 0.1]}):
        found = tune.tune(ml.ALS, ratings(), space, fixed={"iterations": 3, "threads": 1})
        for name in [name for name, values in space.items() if len(values) == 1]:
            assert {row["values"][name] for row in found["rows"]} == set(space[name])
    found = tune.tune(ml.ALS, ratings(), {"factors": [1], "regularization": [3.0, 6.0]}, fixed={"iterations": 3, "threads": 1})
    assert {row["values"]["factors"] for row in found["rows"]} == {1}
    tried = [row["values"]["regularization"] for row in found["rows"]]
    assert len(tried) > 5 and len({one for one in tried if one not in (0.0, 3.0, 6.0)}) > 3


def test_steps_leave_the_lists():
    """Factors double, from a list that ends too early."""
    random = np.random.default_rng(3)
    exact = random.normal(size=(200, 8)) @ random.normal(size=(8, 100))
    X = scipy_sparse.csr_matrix(np.where(random.random((200, 100)) < 0.6, exact, 0).astype("float32"))
    found = tune.tune(ml.ALS, X, {"factors": [1, 2], "regularization": [0.001, 0.01], "biases": [True, False]}, folds=2, fixed={"threads": 1})
    errors = {listed: min(row["error"] for row in found["rows"] if row["values"]["factors"] in (1, 2) and listed or row["values"]["factors"] >= 8 and not listed)
              for listed in (True, False)}
    assert errors[False] < 0.1 * errors[True] and found["error"] < 0.1 * errors[True]


def test_what_it_is_judged_by():
    from tamis._errors import ArgumentError
    X, space = uses(), {"neighbours": [5, 20], "weights": ["ones"]}
    found = {by: tune.tune(ml.ItemKNN, X, space, by=by, folds=2) for by in ("recall", "ndcg")}
    for by, measure in (("recall", ml.metrics.recall_at_k), ("ndcg", ml.metrics.ndcg_at_k)):
        errors = []
        for fold in range(2):
            fitted, held, _ = tune.split(X, False, 2, fold, 1)
            model = ml.ItemKNN(**found[by]["best"]).fit(fitted)
            errors.append(1 - measure(model.recommend(None, 10, seen=fitted)[0], held, 10, seen=fitted))
        assert found[by]["error"] == pytest.approx(np.mean(errors), abs=1e-9) and found[by]["by"] == by
        assert found[by]["deviation"] == pytest.approx(np.std(errors, ddof=1), abs=1e-9)
    with pytest.raises(ArgumentError, match="judged by recall or ndcg"):
        tune.tune(ml.ItemKNN, X, space, by="rmse")


def test_command(tmp_path):
    import scipy.io
    scipy.io.mmwrite(tmp_path / "r.mtx", ratings())
    command = [sys.executable, "-m", "tamis.tune", "als", str(tmp_path / "r.mtx"), "--values", "factors=2,4", "--values", "biases=yes",
               "--iterations", "3"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith(f"tamis train als {tmp_path / 'r.mtx'} -o MODEL --factors ")
    assert done.stdout.splitlines()[0].startswith("RMSE, smaller is better") and "(defaults)" in done.stdout
    assert subprocess.run([*command, "--values", "topics=3"], capture_output=True, text=True).returncode == 2
    assert subprocess.run([*command, "--by", "ndcg"], capture_output=True, text=True).returncode == 2
    scipy.io.mmwrite(tmp_path / "u.mtx", uses())
    command = [sys.executable, "-m", "tamis.tune", "item-knn", str(tmp_path / "u.mtx"), "--values", "weights=ones", "--by", "ndcg"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("NDCG of the first 10, larger is better"), done.stderr
    assert 0 < float(done.stdout.splitlines()[2].split()[0]) < 1


def test_data_are_those_of_training(tmp_path):
    """Repeated uses are counts, names in any file of names are no graph, and packed files are read."""
    import gzip
    uses = tmp_path / "uses.txt"
    uses.write_text("".join(f"u{i % 7} i{i % 5}\n" for i in range(60)))
    X, users, items, times = ml.read(uses, ml.ImplicitALS)
    assert X.shape == (7, 5) and X.sum() == 60 and X.max() > 1 and users[:2] == ["u0", "u1"] and items[1] == "i1"
    assert ml.read(uses, ml.ALS).X.max() == 1
    packed = tmp_path / "stars.csv.gz"
    with gzip.open(packed, "wt") as file:
        file.write("stars;film;user\n" + "".join(f"{i % 5},5;f{i % 11};w{i % 13}\n" for i in range(143)))
    X, users, items, times = ml.read(packed, ml.ALS)
    assert X.shape == (13, 11) and X.max() == 4.5 and users[0] == "w0"
    columns = "user=user,item=film"
    assert ml.read(packed, ml.ALS, columns=columns).X.max() == 1
    assert ml.read(packed, ml.ALS).found == "ratings: user = column 3 'user', item = column 2 'film', rating = column 1 'stars'; 1 line of titles"
    assert ml.read(packed, ml.ALS, columns=columns).found == "ratings: user = column 3 'user', item = column 2 'film'; 1 line of titles"
    (tmp_path / "r.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 5\n")
    assert ml.read(tmp_path / "r.mtx", ml.ALS).found == ""
    with pytest.raises(ValueError, match="expected a line of titles with 'when'"):
        ml.read(packed, ml.ALS, columns=columns + ",time=when")
    done = subprocess.run([sys.executable, "-m", "tamis.tune", "als", str(packed), "--columns", columns + ",rating=stars", "--iterations", "2",
                           "--values", "factors=2", "--values", "biases=yes"], capture_output=True, text=True)
    assert done.returncode == 0 and f"--columns {columns},rating=stars" in done.stdout, done.stderr
