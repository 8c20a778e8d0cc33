"""tamis.evaluate and its command, the splits, and the metrics beside plain definitions."""
import json
import subprocess
import sys

import numpy as np
import pytest

sparse = pytest.importorskip("scipy.sparse")
from tamis import evaluate, ml  # noqa: E402
from tamis.ml import metrics  # noqa: E402


def data(rows=150, cols=60, seed=3, density=0.4):
    random = np.random.default_rng(seed)
    exact = random.normal(size=(rows, 2)) @ random.normal(size=(2, cols)) + 0.3 * random.normal(size=(rows, cols))
    kept = random.random((rows, cols)) < density * np.linspace(1.5, 0.3, cols)
    return sparse.csr_matrix(np.where(kept, np.clip(np.round(3 + exact), 1, 5), 0).astype("float32"))


def test_splits_are_parts():
    X = data()
    times = X.copy()
    times.data = np.random.default_rng(1).permutation(X.nnz).astype("float64")
    for train, test in (ml.split_entries(X), ml.leave_one_out(X), ml.last_out(X, times), ml.split_time(X, times, X.nnz // 2)):
        assert abs(train + test - X).nnz == 0 and train.nnz + test.nnz == X.nnz and test.nnz > 0
    train, test = ml.split_entries(X, 0.2)
    assert abs(test.nnz / X.nnz - 0.2) < 0.02 and (np.diff(train.indptr)[np.diff(X.indptr) > 0] > 0).all()
    assert abs(test - ml.split_entries(X, 0.2)[1]).nnz == 0 and abs(test - ml.split_entries(X, 0.2, random_state=2)[1]).nnz > 0
    assert (np.diff(ml.leave_one_out(X)[1].indptr) == (np.diff(X.indptr) > 1)).all()
    _, last = ml.last_out(X, times)
    for row in range(X.shape[0]):
        if X.indptr[row + 1] - X.indptr[row] > 1:
            part = slice(X.indptr[row], X.indptr[row + 1])
            assert last.indices[last.indptr[row]] == X.indices[part][np.argmax(times.data[part])]
    day = times.copy()
    day.data = np.where(times.data < 100, 86400.0 * 364, 86400.0 * 366)
    assert ml.split_time(X, day, "1971-01-01")[0].nnz == 100
    with pytest.raises(ValueError, match="expected a date"):
        ml.split_time(X, times, "soon")
    with pytest.raises(ValueError, match="times has other entries"):
        ml.last_out(X, times[:, ::-1])


def test_baselines_are_the_program_s():
    """Popularity and biases are those that training prints."""
    import ctypes
    from tamis import _declarations as c
    from tamis._library import models, must
    from tamis.ml._conventions import samples
    train, test = ml.split_entries(data())
    baseline = ctypes.c_double()
    for method in (c.TAMIS_ALS, c.TAMIS_IMPLICIT_ALS):
        must(models().tamis_baseline(method, ctypes.byref(samples(train).struct), ctypes.byref(samples(test).struct), baseline))
        if method == c.TAMIS_ALS:
            assert metrics.rmse(metrics.biases(train, test), test.data) == pytest.approx(baseline.value, rel=1e-9)
        else:
            ranking = metrics.popular(train, 10)
            held = [set(test.indices[begin:end][test.data[begin:end] > 0]) for begin, end in zip(test.indptr, test.indptr[1:])]
            recalls = [len(set(ranking[row]) & wanted) / len(wanted) for row, wanted in enumerate(held) if wanted]
            assert np.mean(recalls) == pytest.approx(baseline.value, rel=1e-12)


@pytest.mark.parametrize("method", list(evaluate.METHODS.values()))
def test_evaluate(method):
    train, test = ml.split_entries(data())
    found = evaluate.evaluate(method(threads=1), train, test, 5)
    ranking = metrics.popular(train, 5)
    assert found["popularity"]["recall"] == metrics.recall_at_k(ranking, test, 5, seen=train)
    assert found["popularity"]["ndcg"] == metrics.ndcg_at_k(ranking, test, 5, seen=train)
    assert ("rmse" in found["model"]) == ("biases" in found)
    by_row = metrics.ranking_scores(ranking, test, 5, seen=train, by_row=True)
    assert by_row["map"].mean() == pytest.approx(metrics.map_at_k(ranking, test, 5, seen=train)) and len(by_row["row"]) == len(by_row["map"])
    if "biases" in found:
        assert found["model"]["rmse"] < found["biases"]["rmse"]


def test_command(tmp_path):
    path = tmp_path / "events.csv"
    X = data().tocoo()
    path.write_text("when,who,what,stars\n" + "".join(f"20{20 + n % 5}-0{1 + n % 9}-11,u{u},i{i},{r:g}\n" for n, (u, i, r) in enumerate(zip(X.row, X.col, X.data))))
    command = [sys.executable, "-m", "tamis.evaluate", "als", str(path), "--columns", "user=who,item=what,rating=stars,time=when", "--set", "factors=4"]
    done = subprocess.run([*command, "--test-from", "2024-01-01", "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["split"] == "date" and found["held_out"] == pytest.approx(X.nnz / 5, abs=1) and found["model"]["rmse"] < 2
    done = subprocess.run([*command, "--split", "last"], capture_output=True, text=True)
    assert done.returncode == 0 and [line.split()[0] for line in done.stdout.splitlines()[2:]] == ["als", "popularity", "biases"], done.stderr
    assert subprocess.run([*command, "--split", "date"], capture_output=True, text=True).returncode == 2
    assert subprocess.run([*command, "--set", "topics=3"], capture_output=True, text=True).returncode == 2
    timeless = command[:5] + ["--columns", "user=who,item=what,rating=stars"]
    done = subprocess.run([*timeless, "--split", "last"], capture_output=True, text=True)
    assert done.returncode == 3 and "no time for each entry" in done.stderr


def test_several_methods(tmp_path):
    """Methods by name, and all that apply: the numbers are those of each alone, and the winner has the best of them."""
    path = tmp_path / "ratings.csv"
    X = data().tocoo()
    path.write_text("".join(f"u{u},i{i},{r:g}\n" for u, i, r in zip(X.row, X.col, X.data)))

    def run(*words):
        done = subprocess.run([sys.executable, "-m", "tamis.evaluate", *words], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    code, out, err = run("als,item-knn", str(path), "--set", "factors=3", "--json")
    assert code == 0, err
    found, alone = json.loads(out), json.loads(run("als", str(path), "--set", "factors=3", "--json")[1])
    for number in ("rmse", "recall", "ndcg"):
        assert found["methods"]["als"][number] == pytest.approx(alone["model"][number], rel=1e-5)
    assert found["popularity"] == alone["popularity"] and found["biases"] == alone["biases"] and "rmse" not in found["methods"]["item-knn"]
    ndcg = {**{name: numbers["ndcg"] for name, numbers in found["methods"].items()}, "popularity": found["popularity"]["ndcg"]}
    assert found["winner"] == {"ndcg": max(ndcg, key=ndcg.get), "rmse": "als"}
    code, out, err = run("all", str(path))
    assert code == 0, err
    lines = [line.split()[0] for line in out.splitlines()[2:]]
    assert lines == [*evaluate.METHODS, "popularity", "biases", "best:"] and "seconds" in out.splitlines()[1]
    uses = tmp_path / "uses.txt"
    uses.write_text("".join(f"u{u} i{i}\n" for u, i in zip(X.row, X.col)))
    code, out, err = run("all", str(uses), "--json")
    assert code == 0, err
    assert set(json.loads(out)["methods"]) == {"implicit-als", "bpr", "item-knn", "ease"} and list(json.loads(out)["winner"]) == ["ndcg"]
    for words, part in ((("als,nothing", str(path)), "METHOD nothing"), (("als,ccd", str(path), "--set", "neighbours=3"), "--set neighbours")):
        code, out, err = run(*words)
        assert code == 2 and part in err
    code, out, err = run("als,item-knn", str(uses), "--json")
    assert code == 0, err
    assert list(json.loads(out)["methods"]) == ["item-knn"] and "all ratings are 1: als models" in json.loads(out)["refused"]["als"]
    code, out, err = run("als,ccd", str(uses))
    assert code == 3 and "no method applies to the data: als: all ratings are 1" in err and "; ccd: all" in err
    code, out, err = run("als,als", str(path), "--set", "factors=3", "--json")
    assert code == 0, err
    assert {**json.loads(out), "model": None} == {**alone, "model": None} and json.loads(out)["model"]["rmse"] == pytest.approx(alone["model"]["rmse"], rel=1e-5)
    for name, where in (("nonsense", path), ("column_regularization", uses)):  # which only a method of ratings has
        code, out, err = run("all", str(where), "--set", f"{name}=1")
        assert code == 2 and f"--set {name}: no method that applies has that option" in err
    assert run("all", str(uses), "--set", "neighbours=5")[0] == 0


def test_repeated_pairs(tmp_path):
    """A log of events is uses, whose pairs are summed; of ratings the last counts, and methods of uses still get the sums, as each does alone."""
    X = data().tocoo()
    pairs = [(u, i, r) for n, (u, i, r) in enumerate(zip(X.row, X.col, X.data)) for _ in range(1 + n % 3)]
    log, stars = tmp_path / "log.csv", tmp_path / "stars.csv"
    log.write_text("".join(f"u{u},i{i}\n" for u, i, _ in pairs))
    stars.write_text("".join(f"u{u},i{i},{1 + (r + n) % 5:g}\n" for n, (u, i, r) in enumerate(pairs)))

    def run(method, path, input=None):
        done = subprocess.run([sys.executable, "-m", "tamis.evaluate", method, str(path), "--json"], capture_output=True, input=input)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    of_uses = {"implicit-als", "bpr", "item-knn", "ease"}
    for path, expected in ((log, of_uses), (stars, set(evaluate.METHODS))):
        alone = {name: run(name, path)["model"] for name in ("implicit-als", "item-knn")}
        for found in (run("all", path), run("als,item-knn,implicit-als", path), run("all", "-", path.read_bytes())):
            if "bpr" in found["methods"]:
                assert set(found["methods"]) == expected and not found["refused"]
            for name, numbers in alone.items():
                assert found["methods"][name]["ndcg"] == pytest.approx(numbers["ndcg"], rel=1e-3)
            assert ("als" in found["methods"]) == (path == stars)
    train, test = ml.split_entries(ml.read(stars, ml.ALS).X)
    assert evaluate.evaluate(ml.ImplicitALS(), train, test)["model"]["ndcg"] != pytest.approx(alone["implicit-als"]["ndcg"], rel=2e-3)  # of last values


def test_without_a_relevant_entry_nothing_is_fitted(tmp_path):
    class Unfit:
        def fit(self, train):
            raise AssertionError("it was fitted")

    train, test = ml.split_entries(data())
    with pytest.raises(ValueError, match="no relevant entry"):
        evaluate.compare({"one": Unfit(), "other": Unfit()}, train, test, threshold=100)
    path, X = tmp_path / "ratings.csv", data().tocoo()
    path.write_text("".join(f"u{u},i{i},{r:g}\n" for u, i, r in zip(X.row, X.col, X.data)))
    for methods in ("item-knn", "item-knn,ease", "all"):
        done = subprocess.run([sys.executable, "-m", "tamis.evaluate", methods, str(path), "--relevant", "100"], capture_output=True, text=True)
        assert done.returncode == 2 and "no relevant entry" in done.stderr and "applies" not in done.stderr


def test_what_does_not_apply_is_left_out():
    """Beside others a method may refuse the data, for instance too many items for ease."""
    train, test = ml.split_entries(data())
    wide = [sparse.csr_matrix((part.data, part.indices, part.indptr), shape=(part.shape[0], 40000)) for part in (train, test)]
    found = evaluate.compare({"item-knn": ml.ItemKNN(), "ease": ml.EASE()}, *wide)
    assert list(found["methods"]) == ["item-knn"] and "at most 32768" in found["refused"]["ease"]


@pytest.mark.parametrize("command", ["evaluate", "tune"])
def test_what_is_wrong_is_told_without_a_traceback(command, tmp_path):
    def told(content, *options):
        path = tmp_path / "ratings.csv"
        if content is None:
            path.unlink()
        else:
            path.write_text(content)
        done = subprocess.run([sys.executable, "-m", f"tamis.{command}", "als", str(path), *options], capture_output=True, text=True)
        assert "Traceback" not in done.stderr and done.stderr.startswith(f"tamis {command}: "), done.stderr
        return done.returncode, done.stderr

    some = "".join(f"u{i % 9},i{i % 7},{1 + i % 5}\n" for i in range(63))
    number = {"evaluate": "--set", "tune": "--values"}[command]
    for content, options, code, words in (
            ("a,x,4\nb,y,much\n", [], 3, "ratings.csv:2: found 'much', expected a rating"),
            ("a,x\nb,y\nb,x\n", [], 3, "all ratings are 1: als models ratings that differ"),
            (some, [number, "factors=-1"], 2, "factors = -1"),
            (some, [{"evaluate": "--device", "tune": "--devices"}[command], "no-such-device"], 4, "no-such-device"),
            (None, [], 3, "cannot open")):
        found = told(content, *options)
        assert found[0] == code and words in found[1]
    code, words = told("a,x,4\nb,y,3\n", *(["--folds", "9"] if command == "tune" else []))
    assert (code, words.split(": ", 1)[1]) in ((2, "X has 2 rows and 2 entries: too few for 9 folds\n"), (3, f"{tmp_path}/ratings.csv: 2 entries to fit and 0 held out: nothing can be measured\n"))
