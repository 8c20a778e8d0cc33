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


def test_the_order_of_test_entries_does_not_matter():
    train, test = ml.split_entries(data())
    backwards = test.copy()
    for row in range(test.shape[0]):
        place = slice(test.indptr[row], test.indptr[row + 1])
        backwards.indices[place], backwards.data[place] = test.indices[place][::-1], test.data[place][::-1]
    backwards.has_sorted_indices = False
    found = [evaluate.evaluate(ml.ALS(factors=2, iterations=2), train, part) for part in (test, backwards, test.tocoo())]
    for other in found[1:]:
        assert other["biases"] == found[0]["biases"] and other["model"]["rmse"] == found[0]["model"]["rmse"]


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
    assert done.returncode == 0 and [line.split()[0] for line in done.stdout.splitlines()[2:]] == ["als", "popularity", "biases", "als:"], done.stderr
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
    methods = [name for name in evaluate.METHODS if name != "transitions"]  # there are no times
    chose = [name + ":" for name in methods if name != "rating-knn"]
    assert lines == [*methods, "popularity", "biases", *chose, "best:"] and "seconds" in out.splitlines()[1]
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
    for path, expected in ((log, of_uses), (stars, set(evaluate.METHODS) - {"transitions"})):
        alone = {name: run(name, path)["model"] for name in ("implicit-als", "item-knn")}
        for found in (run("all", path), run("als,item-knn,implicit-als", path), run("all", "-", path.read_bytes())):
            if "bpr" in found["methods"]:
                assert set(found["methods"]) == expected and not found["refused"]
            for name, numbers in alone.items():
                assert found["methods"][name]["ndcg"] == pytest.approx(numbers["ndcg"], rel=1e-3)
            assert ("als" in found["methods"]) == (path == stars)
    train, test = ml.split_entries(ml.read(stars, ml.ALS).X)
    assert evaluate.evaluate(ml.ImplicitALS(), train, test)["model"]["ndcg"] != pytest.approx(alone["implicit-als"]["ndcg"], rel=2e-3)  # of last values


def events(path, users=60, items=40, seed=5):
    """Each user goes through the items from an own start, in steps of one or two: what comes next follows from what was last."""
    random = np.random.default_rng(seed)
    lines = []
    for user in range(users):
        at = random.integers(items)
        for step in range(12):
            lines.append((user, at % items, 1 + random.integers(5), 1000 * step + user))
            at += random.integers(1, 3)
    order = random.permutation(len(lines))
    path.write_text("user,item,rating,time\n" + "".join("u{},i{},{},{}\n".format(*lines[n]) for n in order))
    return len(lines)


def run(*words):
    done = subprocess.run([sys.executable, "-m", "tamis.evaluate", *map(str, words)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_what_comes_next(tmp_path):
    """Where the data have times, all has transitions, and what is held out comes last."""
    path = tmp_path / "events.csv"
    count = events(path)
    code, out, err = run("all", path, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["split"] == "time" and found["held_out"] == pytest.approx(count / 5, abs=60) and "transitions" in found["methods"]
    found = json.loads(run("all", path, "--split", "last", "--top", 3, "--json")[1])
    assert found["winner"]["ndcg"] == "transitions" and found["methods"]["transitions"]["recall"] > 0.6
    alone = json.loads(run("transitions", path, "--split", "last", "--top", 3, "--json")[1])
    for number in ("recall", "ndcg", "map", "coverage"):
        assert alone["model"][number] == found["methods"]["transitions"][number]
    data, direct = ml.read(path, ml.ALS), ml.read(path, ml.Transitions)
    assert abs(ml.positions(data.times) - direct.X).nnz == 0
    timeless = tmp_path / "timeless.csv"
    timeless.write_text("".join(line.rsplit(",", 1)[0] + "\n" for line in path.read_text().splitlines()))
    code, out, err = run("item-knn,transitions", timeless)
    assert code == 0 and "transitions: left out: the data have no time for each entry" in out, err
    assert "(random)" in out
    code, out, err = run("als,transitions", timeless)
    assert code == 0 and "transitions: left out: the data have no time for each entry" in out, err


def test_what_stands_beside_methods_is_of_the_data(tmp_path):
    """Popularity, and what is relevant, are of the ratings, whichever methods run; of equal times the order of lines is the order."""
    path, dates = tmp_path / "exact.csv", tmp_path / "dates.csv"
    random = np.random.default_rng(7)
    lines = [(user, (user + step * (1 + user % 2)) % 30, int(random.integers(-2, 3)), 10 * step + user % 7) for user in range(80) for step in range(9)]
    for where, per in ((path, 1), (dates, 1000)):
        where.write_text("".join(f"u{u},i{i},{r},{t // per}\n" for u, i, r, t in lines))
    options = ("--split", "last", "--top", 3, "--json", "--relevant", 1, "--set", "factors=2")
    found = {methods: json.loads(run(methods, path, *options)[1]) for methods in ("als,transitions", "als,item-knn", "als,item-knn,transitions")}
    assert len({json.dumps(one["popularity"]) for one in found.values()}) == 1
    alone = json.loads(run("transitions", path, *options[:-2])[1])
    assert alone["model"]["ndcg"] == found["als,transitions"]["methods"]["transitions"]["ndcg"] and alone["popularity"] == found["als,item-knn"]["popularity"]
    assert json.loads(run("transitions", dates, *options[:-2])[1])["model"]["ndcg"] == alone["model"]["ndcg"]
    code, out, err = run("als", dates)
    assert code == 0 and "(random)" in out, err  # they have one time


def test_matrices_stay_as_they_are():
    shared = np.array([2, 0, 1], "int32")
    X = sparse.csr_matrix((np.float32([20, 30, 10]), shared, [0, 3]), shape=(1, 3))
    times = sparse.csr_matrix((np.array([5.0, 9.0, 7.0]), shared, [0, 3]), shape=(1, 3))
    assert ml.positions(times).toarray().tolist() == [[3, 2, 1]] and ml.last_out(X, times)[1].indices.tolist() == [0]
    assert ml.split_entries(X, 0.4)[0].nnz < 3
    assert X.toarray().tolist() == [[30, 10, 20]] and shared.tolist() == [2, 0, 1]


def test_times_that_tie():
    """The part that is held out begins at a time, never at the first."""
    for counts, share, expected in (([95, 5], 0.2, 5), ([40, 60], 0.2, 60), ([50, 30, 20], 0.2, 20), ([50, 30, 20], 0.4, 50), ([10, 80, 10], 0.9, 90)):
        X = sparse.csr_matrix(np.ones((10, 10), "float32"))
        times = X.astype("float64")
        times.data = np.repeat(np.arange(1.0, len(counts) + 1), counts)
        assert evaluate.divide(ml.Data(X, None, None, times), "time", share, None, 1)[1].nnz == expected


def test_a_test_file(tmp_path):
    """A file to measure on, with the names of the other, and some that only it has."""
    path, later = tmp_path / "events.csv", tmp_path / "later.csv"
    events(path)
    data = ml.read(path, ml.ALS)
    train, test = ml.split_time(data.X, data.times, 9000)
    for part, where in ((train, path), (test, later)):
        coo, times = part.tocoo(), sparse.csr_array(data.times)
        where.write_text("".join(f"{data.rows[u]},{data.columns[i]},{r:g},{times[u, i]:.0f}\n" for u, i, r in zip(coo.row, coo.col, coo.data)))
    expected = evaluate.evaluate(ml.ALS(factors=2), train, test)
    code, out, err = run("als", path, "--test", later, "--set", "factors=2", "--json")
    assert code == 0, err
    found = json.loads(out)  # the files have another order of users and items, from which als has other first values
    assert found["biases"] == pytest.approx(expected["biases"], rel=1e-6) and found["split"] == str(later)
    assert found["model"]["rmse"] == pytest.approx(expected["model"]["rmse"], rel=0.01)
    with open(later, "a") as file:
        file.write("u1,nowhere,3,99000\nnobody,i1,3,99000\n")
        file.write("".join(line + "\n" for line in path.read_text().splitlines()[:7]))  # which the data have, too
    code, out, err = run("als,item-knn,transitions", path, "--test", later, "--json")
    assert code == 0 and json.loads(out)["held_out"] == test.nnz + 2 and "later.csv: 7 of" in err and "are left out" in err, err
    for words, told in ((("--test", later, "--split", "last"), "excludes --split"), (("--test", later, "--folds", 2), "--folds 2: needs splits"),
                        (("--folds", 0), "--folds 0"), (("--top", 0), "--top 0"), (("--split", "random", "--test-from", "2020-01-01"), "--test-from: excludes --split random"), (("--hold-out", 1), "--hold-out 1"), (("--split", "time", "--folds", 3), "--folds 3: needs splits")):
        code, out, err = run("als", path, *words)
        assert code == 2 and told in err
    code, out, err = run("als", path, "--test", tmp_path / "missing.csv")
    assert code == 3 and "missing.csv" in err


def test_folds_and_tuned(tmp_path):
    """Means and deviations over splits are those of the splits; tuned options are told, and are no worse than those that lie."""
    path, X = tmp_path / "ratings.csv", data().tocoo()
    path.write_text("".join(f"u{u},i{i},{r:g}\n" for u, i, r in zip(X.row, X.col, X.data)))
    single = [json.loads(run("als", path, "--set", "factors=2", "--seed", seed, "--json")[1]) for seed in (4, 5, 6)]
    code, out, err = run("als", path, "--set", "factors=2", "--seed", 4, "--folds", 3, "--json")
    assert code == 0, err
    found = json.loads(out)["model"]
    for number in ("rmse", "mae", "ndcg", "coverage"):
        of = [one["model"][number] for one in single]
        assert found[number] == pytest.approx(np.mean(of), rel=1e-6) and found["spread"][number] == pytest.approx(np.std(of, ddof=1), rel=1e-4, abs=1e-9)
    code, out, err = run("als,item-knn", path, "--folds", 2)
    assert code == 0 and out.count("deviation") == 4, err
    code, out, err = run("als", path, "--tuned", "--set", "factors=2", "--set", "iterations=5", "--json")
    assert code == 0 and "als: " in err, err
    tuned = json.loads(out)["model"]
    assert set(tuned["tuned"]) == {"factors", "regularization", "biases"} and tuned["tuned"]["factors"] == 2
    bad = json.loads(run("als", path, "--set", "factors=2", "--set", "regularization=3", "--json")[1])["model"]
    assert tuned["rmse"] < bad["rmse"]


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
    found = evaluate.compare({"item-knn": ml.ItemKNN(), "ease": ml.EASE(neighbours=0)}, *wide)
    assert list(found["methods"]) == ["item-knn"] and "at most 32768 columns" in found["refused"]["ease"]


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
