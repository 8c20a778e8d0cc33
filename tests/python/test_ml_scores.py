"""Scores of estimators are those of entries that their rows' factors have not seen; searches find the better setting; metrics of rankings."""
from __future__ import annotations

import pickle

import numpy as np
import pytest

scipy_sparse = pytest.importorskip("scipy.sparse")

from tamis import ml  # noqa: E402
from tamis.ml._conventions import samples  # noqa: E402
from tamis.ml import _held, metrics  # noqa: E402

METHODS = [ml.ALS, ml.ImplicitALS, ml.CCD, ml.LDA, ml.SFA, ml.GaP]


def planted(rows=90, cols=40, rank=2, share=0.4, noise=0.1, seed=0, dtype="float64"):
    """Ratings of few tastes with noise, and what they would be without."""
    random = np.random.default_rng(seed)
    full = 3 + random.standard_normal((rows, rank)) @ random.standard_normal((rank, cols))
    known = random.random((rows, cols)) < share
    return scipy_sparse.csr_array(np.where(known, full + noise * random.standard_normal(full.shape), 0).astype(dtype)), full


def counts(rows=80, cols=40, seed=1):
    """Uses by two kinds of users, who use two kinds of items."""
    random = np.random.default_rng(seed)
    rate = np.where((np.arange(rows) % 2)[:, None] == np.arange(cols) % 2, 1.5, 0.05)
    return scipy_sparse.csr_array(random.poisson(rate).astype("float64"))


def suited(method):
    return counts() if method in (ml.ImplicitALS, ml.LDA, ml.GaP) else planted()[0]


@pytest.mark.parametrize("method", METHODS)
def test_a_score_is_of_entries_that_the_factors_have_not_seen(method):
    """Of other rows: as if a fifth of each row had been held out by the caller."""
    X = suited(method)
    model = method(factors=3, iterations=4, dtype="float64", threads=1).fit(X[:50])
    rest = X[50:].tocoo()
    held, known = _held.divided(samples(rest), method._counts or method._uses)
    parts = [scipy_sparse.csr_array(tuple(view.array for view in (part._views[2], part._views[0], part._views[1])), part.shape) for part in (held, known)]
    assert abs(parts[0] + parts[1] - rest).sum() == 0 and (parts[0] * parts[1]).nnz == 0
    for row, all_of in enumerate(np.diff(X[50:].indptr)):
        assert parts[0].indptr[row + 1] - parts[0].indptr[row] == (max(1, np.rint(0.2 * all_of)) if all_of > 1 else 0)
    want = model.score(parts[0], observed=parts[1])
    assert np.isfinite(want) and model.score(X[50:]) == pytest.approx(want, rel=1e-9) and model.score(rest) == model.score(X[50:])
    if method in (ml.ALS, ml.CCD, ml.SFA):
        errors = model.predict(parts[0], model.transform(parts[1])) - parts[0].data
        assert want == pytest.approx(-np.sqrt(np.mean(errors**2)), rel=1e-9)
    if method is ml.ImplicitALS:
        ranking, _ = model.recommend(n=10, seen=parts[1], factors=model.transform(parts[1]))
        assert want == pytest.approx(metrics.recall_at_k(ranking, parts[0], 10, seen=parts[1]), rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("folds", [2, 3, 5])
def test_every_estimator_has_scores_by_entry_split(method, folds):
    search = pytest.importorskip("sklearn.model_selection")
    scores = search.cross_val_score(method(factors=2, iterations=3), suited(method), cv=ml.EntrySplit(folds), error_score="raise")
    assert scores.shape == (folds,) and np.isfinite(scores).all()


SEARCHES = [(ml.ALS, {"regularization": [1e-4, 0.02, 3.0]}), (ml.ALS, {"factors": [1, 2]}), (ml.CCD, {"factors": [1, 2]}),
            (ml.SFA, {"regularization": [1e-5, 0.05, 10.0]}), (ml.SFA, {"rate": [1e-4, 0.1]})]


@pytest.mark.parametrize("method, grid", SEARCHES)
@pytest.mark.parametrize("folds", [2, 4])
def test_a_search_finds_the_setting_that_is_better_in_truth(method, grid, folds):
    search = pytest.importorskip("sklearn.model_selection")
    X, full = planted(noise=0.3)
    more = {"iterations": 15, "dtype": "float64", "threads": 1, **({} if "factors" in grid else {"factors": 6})}
    found = search.GridSearchCV(method(**more), grid, cv=ml.EntrySplit(folds), error_score="raise").fit(X)
    (name, values), = grid.items()
    unknown = scipy_sparse.csr_array((X.toarray() == 0) * full)  # of which the estimator has learnt nothing

    def truth(value):
        model = method(**more, **{name: value}).fit(X)
        return -np.sqrt(np.mean((model.predict(unknown, model.transform(X)) - unknown.data)**2))

    truths = [truth(value) for value in values]
    assert truths[values.index(found.best_params_[name])] > max(truths) - 0.05 * abs(max(truths)), (truths, found.cv_results_["mean_test_score"])
    assert np.ptp(truths) > 0.2 * abs(max(truths))  # so that it could have been wrong


@pytest.mark.parametrize("method", [ml.ImplicitALS, ml.LDA, ml.GaP])
def test_a_search_of_counts(method):
    search = pytest.importorskip("sklearn.model_selection")
    grid = {"factors": [1, 2]} if method is not ml.ImplicitALS else {"iterations": [0, 10]}
    more = {"iterations": 10} if method is not ml.ImplicitALS else {"factors": 2}
    found = search.GridSearchCV(method(**more), grid, cv=ml.EntrySplit(3), error_score="raise").fit(counts())
    assert found.best_index_ == 1 and np.ptp(found.cv_results_["mean_test_score"]) > 0.01


@pytest.mark.parametrize("method", [ml.ALS, ml.CCD])
@pytest.mark.parametrize("stars", ["none", "five", "nearly one"])
def test_the_rows_of_others_are_refused(method, stars):
    """Two halves have as many rows: the factors of the one are not those of the other."""
    search = pytest.importorskip("sklearn.model_selection")
    X, _ = planted()
    if stars != "none":
        X.data = np.clip(np.rint(X.data), 1, 5) if stars == "five" else np.where(np.arange(X.nnz) % 40, 5.0, 1.0)
    with pytest.raises(ValueError, match=r"its rows are not those of the fit.*EntrySplit.*observed="):
        search.cross_val_score(method(factors=2, iterations=2), X, cv=2, error_score="raise")
    model = method(factors=2, iterations=3).fit(X[:45])
    for other in (model, pickle.loads(pickle.dumps(model))):
        with pytest.raises(ValueError, match="EntrySplit"):
            other.score(X[45:])
    assert np.isfinite(model.score(X[45:], observed=X[45:])) and np.isfinite(model.score(X[:45]))
    train, test = next(ml.EntrySplit(4).entries(X))
    model = method(factors=2, iterations=3, dtype="float64").fit(train)
    assert model.score(test) == pytest.approx(-np.sqrt(np.mean((model.predict(test) - test.data)**2)))
    assert np.isfinite(model.score(X)) and np.isfinite(model.score(train))  # what was fitted to and more
    part = train.copy()
    part.data[::3] = 0
    part.eliminate_zeros()
    assert np.isfinite(model.score(part))


@pytest.mark.parametrize("method", [ml.ALS, ml.ImplicitALS, ml.SFA])
def test_what_cannot_be_scored(method):
    X = suited(method)
    model = method(factors=2, iterations=2).fit(X)
    single = scipy_sparse.csr_array((np.ones(3), (np.arange(3), np.arange(3))), (3, 40))
    for call, words in ((lambda: model.score(single), "no row with two entries"), (lambda: model.score(single, observed=X), "observed has"),
                        (lambda: model.score(scipy_sparse.csr_array((3, 40)), observed=single), "X has no entries"),
                        (lambda: model.score(X[:, :5]), "X has 5 features")):
        with pytest.raises(ValueError, match=words):
            call()


def test_entry_split():
    X, _ = planted(rows=31)
    for folds in (2, 3, 7):
        split = ml.EntrySplit(folds)
        parts = list(split.split(X))
        assert len(parts) == split.get_n_splits() == folds
        assert sorted(np.concatenate([test for _, test in parts])) == list(range(31))
        for train, test in parts:
            assert sorted([*train, *test]) == list(range(31))
        whole = sum(test for _, test in split.entries(X))
        assert abs(whole - X).sum() == 0
        for train, test in split.entries(X):
            assert abs(train + test - X).sum() == 0 and (train * test).nnz == 0 and test.nnz > 0
            per_row, of = np.diff(test.indptr), np.diff(X.indptr)
            assert (per_row >= of // folds).all() and (per_row <= -(-of // folds)).all()
    for rows in (4, 5, 30):
        assert all(len(train) != len(test) for train, test in ml.EntrySplit(2).split(X[:rows]))
    first, second = (next(ml.EntrySplit(3, random_state=seed).split(X))[1] for seed in (0, 1))
    assert list(first) != list(second) and list(first) == list(next(ml.EntrySplit(3).split(X))[1])
    for wrong in (1, 0, "three", True, 2.5):
        with pytest.raises(ValueError, match="n_splits = "):
            list(ml.EntrySplit(wrong).split(X))
    with pytest.raises(ValueError, match="X has 2 rows: expected 3 or more"):
        list(ml.EntrySplit(2).split(X[:2]))
    assert repr(ml.EntrySplit(3)) == "EntrySplit(n_splits=3, random_state=0)"


# ------------------------------------------------------------------------------ rankings

def restated(ranking, held, seen, k, threshold):
    """The four by their definitions, one row after another, on dense arrays."""
    rows = []
    for places, values, out in zip(ranking, held, seen):
        relevant = [j for j in range(len(values)) if (values[j] > 0 if threshold is None else values[j] >= threshold) and values[j] != 0 and not out[j]]
        if not relevant:
            continue
        first = [j for j in places if j >= 0 and not out[j]][:k]
        hits = [place for place, j in enumerate(first, 1) if j in relevant]
        best = sum(1 / np.log2(place + 1) for place in range(1, min(k, len(relevant)) + 1))
        gains = sum(1 / np.log2(place + 1) for place in hits)
        precisions = sum(sum(other <= place for other in hits) / place for place in hits)
        rows.append((len(hits) / k, len(hits) / len(relevant), gains / best, precisions / min(k, len(relevant))))
    return np.mean(rows, axis=0)


@pytest.mark.parametrize("k", [1, 3, 10, 40])
@pytest.mark.parametrize("threshold", [None, 3])
@pytest.mark.parametrize("form", ["csr", "coo", "csc"])
def test_metrics_against_their_definitions(k, threshold, form):
    random = np.random.default_rng(k)
    held = random.integers(1, 6, (25, 18)) * (random.random((25, 18)) < 0.2)
    seen = random.random((25, 18)) < 0.3  # some of it held out too
    held[4] = 0
    ranking = np.argsort(random.random((25, 18)), axis=1)
    ranking[7, 5:] = -1
    given = scipy_sparse.csr_array(held.astype("float32")).asformat(form)
    want = restated(ranking, held, seen, k, threshold)
    functions = (metrics.precision_at_k, metrics.recall_at_k, metrics.ndcg_at_k, metrics.map_at_k)
    got = [function(ranking, given, k, seen=scipy_sparse.csr_array(seen.astype("float32")), threshold=threshold) for function in functions]
    assert np.allclose(got, want, rtol=1e-12)
    assert np.allclose([function(ranking, given, k, threshold=threshold) for function in functions], restated(ranking, held, 0 * held, k, threshold))


@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("k", [2, 5, 30])
def test_ndcg_is_scikit_learns(graded, k):
    sklearn_metrics = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(2)
    held = random.integers(1, 6, (30, 12)) * (random.random((30, 12)) < 0.3)
    held[:, 0] = 2  # each row has one
    scores = random.random((30, 12))
    want = sklearn_metrics.ndcg_score(held if graded else held > 0, scores, k=k)
    got = metrics.ndcg_at_k(metrics.rank(scores, k), scipy_sparse.csr_array(held.astype("float64")), k, graded=graded)
    assert got == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_evaluate(method):
    """Of a fitted estimator; recall is the library's own metric of uses."""
    X = suited(method)
    train, test = next(ml.EntrySplit(4).entries(X))
    model = method(factors=3, iterations=3, dtype="float64").fit(train)
    got = metrics.evaluate(model, test, 5, seen=train)
    assert set(got) == {"precision", "recall", "ndcg", "map"} and all(0 <= value <= 1 for value in got.values())
    W = model.transform(train) if model._model.about.rows == 0 else None
    ranking, _ = model.recommend(n=5, seen=train, factors=W)
    assert np.allclose(list(got.values()), restated(ranking, test.toarray(), train.toarray() != 0, 5, None))
    everything = metrics.rank(model.predict(scipy_sparse.csr_array(np.ones(X.shape)), model.transform(train)).reshape(X.shape), 5, seen=train)
    if method in (ml.LDA, ml.GaP):  # whose predictions are not clamped
        assert np.mean(everything == model.recommend(n=5, seen=train, factors=model.transform(train))[0]) > 0.99
    if method is ml.ImplicitALS:
        fitted = method(factors=3, iterations=3, dtype="float64").fit(train, held_out=test, observed=train)
        assert metrics.evaluate(fitted, test, 10, seen=train)["recall"] == pytest.approx(fitted.history_[-1]["metric"], rel=1e-6)


def test_metrics_refuse():
    held = scipy_sparse.csr_array(np.eye(3))
    good = np.array([[0, 1], [1, 2], [2, 0]])
    assert metrics.recall_at_k(good, held, 1) == 1
    for call, words in ((lambda: metrics.recall_at_k(good[:2], held), "held_out has shape .3, 3.: expected 2 rows"),
                        (lambda: metrics.recall_at_k(good, held, seen=held[:, :2]), "seen has shape"),
                        (lambda: metrics.recall_at_k(good / 2, held), "ranking has shape"), (lambda: metrics.map_at_k(good + 3, held), "the column 5"),
                        (lambda: metrics.ndcg_at_k(good, held, 0), "k = 0"), (lambda: metrics.ndcg_at_k(good, held, 2.5), "k = 2.5"),
                        (lambda: metrics.precision_at_k([[1, 1]] * 3, held), "a column twice in row 0"),
                        (lambda: metrics.precision_at_k(good, held, seen=held), "nothing can be measured"),
                        (lambda: metrics.ndcg_at_k(good, -held, threshold=-1, graded=True), "graded=False"),
                        (lambda: metrics.rank([[np.nan, 1]]), "nan"), (lambda: metrics.rank([1.0]), "expected .rows, columns."),
                        (lambda: metrics.evaluate(ml.ALS(), held), "not fitted"),
                        (lambda: metrics.evaluate(ml.LDA(factors=2, iterations=1).fit(held), held), "as seen="),
                        (lambda: metrics.evaluate(ml.ALS(factors=2, iterations=1).fit(held), held[:2]), "factors=model.transform")):
        with pytest.raises(ValueError, match=words):
            call()


@pytest.mark.parametrize("model", [ml.ItemKNN(neighbours=4, dtype="float64"), ml.EASE(dtype="float64"), ml.RatingKNN(dtype="float64")])
def test_uses_stand_for_scores(model):
    """Models of pairs recommend from what is seen as from its scores, also to rows that are chosen."""
    X = counts()
    model.fit(X)
    expected, scores = model.recommend(n=5, seen=X, factors=model.transform(X))
    found, best = model.recommend(n=5, seen=X)
    assert np.allclose(best, scores, rtol=1e-12, atol=1e-12) and (found == expected).mean() > 0.99
    chosen, _ = model.recommend([7, 2], n=5, seen=X.tocoo())
    assert np.array_equal(chosen, found[[7, 2]])
    assert not set(model.recommend(n=5, seen=X, without=[1, 3])[0].ravel()) & {1, 3}
    known, held = ml.split_entries(X)
    by_scores = metrics.evaluate(model, held, seen=known, factors=model.transform(known))
    assert metrics.evaluate(model, held, seen=known) == pytest.approx(by_scores, abs=0.02)
    for wrong, said in (({}, "give their uses as seen"), ({"seen": X[:, :3]}, "features"), ({"rows": [80], "seen": X}, r"rows\[0\] = 80, seen has 80 rows")):
        with pytest.raises(ValueError, match=said):
            model.recommend(**wrong)
