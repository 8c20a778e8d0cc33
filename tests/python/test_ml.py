"""tamis.ml: the conventions of scikit-learn, and results that are those of the library's own files."""
from __future__ import annotations

import gc
import os
import pickle
import signal
import threading

import numpy as np
import pytest

scipy_sparse = pytest.importorskip("scipy.sparse")

from tamis import _declarations as c, _errors  # noqa: E402
from tamis import ml  # noqa: E402
from tamis._library import models, must  # noqa: E402
from tamis.ml._fitting import WEIGHTS  # noqa: E402

METHODS = [ml.ALS, ml.ImplicitALS, ml.BPR, ml.CCD, ml.LDA, ml.SFA, ml.GaP, ml.NMF, ml.LDAGibbs]
KEEP_ROWS = [ml.ALS, ml.ImplicitALS, ml.BPR, ml.CCD, ml.NMF]


def data(rows=40, cols=25, dtype="float32"):
    random = np.random.default_rng(5)
    counts = random.integers(1, 6, (rows, cols)) * (random.random((rows, cols)) < 0.4)
    counts[np.arange(rows), np.arange(rows) % cols] = 1
    return scipy_sparse.csr_array(counts.astype(dtype))


@pytest.mark.parametrize("method", METHODS)
def test_defaults_are_the_librarys(method):
    options = c.tamis_model_options()
    must(models().tamis_model_options_init(options, method._method))
    for name, value in method().get_params().items():
        if name == "dtype":
            assert value == "float32" and options.type == c.TAMIS_F32
        elif name == "weights":
            assert options.weights == WEIGHTS.index(value)
        elif value is None and name in ("row_prior", "column_prior", "confidence"):
            assert np.isnan(getattr(options, name)), name  # chosen by the data
        elif name not in ("device", "devices", "random_state", "seeds"):
            assert getattr(options, name) == pytest.approx(value), name


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fit_transform_predict(method, dtype):
    X = data(dtype=dtype)
    model = method(factors=4, iterations=6, dtype=dtype)
    assert model.fit(X) is model
    assert getattr(model, "regularization_", 1) > (-1 if method is ml.NMF else 0) and hasattr(model, "regularization_") == hasattr(model, "regularization")
    assert model.n_features_in_ == 25 and model.n_iter_ == 6 and len(model.history_) == 6
    losses = [step["loss"] for step in model.history_]
    assert losses[-1] <= losses[0]
    W = model.transform(X)
    width = 5 if getattr(model, "biases", False) else 4
    assert W.shape == (40, width) and W.dtype == dtype and model.components_.shape == (width, 25)
    P = model.predict(X, W)
    assert P.shape == (X.nnz,) and np.isfinite(P).all()
    columns, scores = model.recommend([0, 3], 5, seen=X, factors=None if method in KEEP_ROWS else W)
    assert columns.shape == scores.shape == (2, 5)
    again = method(factors=4, iterations=6, dtype=dtype).fit(scipy_sparse.csr_matrix(X))
    assert np.array_equal(again.components_, model.components_)


@pytest.mark.parametrize("method", [ml.ALS, ml.CCD, ml.SFA])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scale_of_ratings(method, dtype):
    X = data(dtype=dtype)
    predictions = [method(factors=4, iterations=6, dtype=dtype, threads=1).fit(X * size) for size in (1, 2.0**-14)]
    predictions = [model.predict(X, model.transform(X * size)) for model, size in zip(predictions, (1, 2.0**-14))]
    assert np.array_equal(predictions[1], predictions[0] * 2.0**-14)


@pytest.mark.parametrize("module, name", [("_recommenders", "ALS"), ("_topics", "LDA"), ("_split", "EntrySplit"), ("_read", "Data")])
def test_pickles_of_version_0_2_0(module, name):
    assert pickle.loads(f"ctamis.ml.{module}\n{name}\n.".encode()) is getattr(ml, name)


@pytest.mark.parametrize("method", METHODS)
def test_pickles_and_files(method, tmp_path):
    X = data()
    model = method(factors=3, iterations=2).fit(X)
    other = pickle.loads(pickle.dumps(model))
    assert other.get_params() == model.get_params() and np.array_equal(other.transform(X), model.transform(X))
    model.save(tmp_path / "a.model")
    loaded = method.load(tmp_path / "a.model")
    assert np.array_equal(loaded.components_, model.components_) and loaded.factors == 3
    assert pickle.loads(pickle.dumps(method(factors=7))).factors == 7
    older = method(factors=7)
    del older.iterations  # a pickle of a version that did not have it
    assert repr(pickle.loads(pickle.dumps(older))) == f"{method.__name__}(factors=7)"
    with pytest.raises(ValueError, match="is a model of"):
        METHODS[METHODS.index(method) - 1].load(tmp_path / "a.model")
    with pytest.raises(OSError, match="missing.model: cannot open") as raised:
        method.load(tmp_path / "missing.model")
    assert isinstance(raised.value, _errors.FileError) and isinstance(raised.value, _errors.LibraryError)


def test_parameters():
    model = ml.ALS(factors=8)
    assert repr(model) == "ALS(factors=8)"
    assert model.set_params(biases=False) is model and model.get_params()["biases"] is False
    with pytest.raises(ValueError, match="topics is not a parameter of ALS"):
        model.set_params(topics=3)
    for wrong, words in (({"factors": -1}, "factors = -1"), ({"regularization": -1}, "regularization"), ({"factors": "many"}, "expected a number"),
                         ({"dtype": "float16"}, "float16"), ({"iterations": -1}, "iterations")):
        with pytest.raises(ValueError, match=words):
            ml.ALS(**wrong).fit(data())


def test_conventions_of_scikit_learn():
    base = pytest.importorskip("sklearn.base")
    pipeline = pytest.importorskip("sklearn.pipeline")
    search = pytest.importorskip("sklearn.model_selection")
    model = ml.LDA(factors=3, iterations=2)
    copy = base.clone(model)
    assert copy is not model and copy.get_params() == model.get_params()
    through = pipeline.make_pipeline(model).fit(data())
    assert through.transform(data()).shape == (40, 3) and list(through.get_feature_names_out()) == ["lda0", "lda1", "lda2"]
    found = search.GridSearchCV(model, {"factors": [2, 3]}, cv=2).fit(data())
    assert found.best_params_["factors"] in (2, 3) and np.isfinite(found.cv_results_["mean_test_score"]).all()
    with pytest.raises(pytest.importorskip("sklearn.exceptions").NotFittedError, match="is not fitted: call fit"):
        copy.transform(data())


# what check_estimator asks that does not apply, with the reason
ENTRIES = "predict(X) has one number for each entry of X, not one for each row: a dense prediction of all pairs seldom fits"
ROWS = "predict(X) without factors= is for the rows of the fit, of which the model keeps the factors"
WORDS = "the message has the bad value as C prints it, and its row and column"
NEVER = {"check_estimators_nan_inf": WORDS}
COUNTS = {"check_positive_only_tag_during_fit": WORDS}
PREDICTS = {"check_estimator_sparse_array": ENTRIES, "check_estimator_sparse_matrix": ENTRIES, "check_methods_sample_order_invariance": ENTRIES}
DO_NOT_APPLY = {
    ml.ALS: {**NEVER, **PREDICTS, "check_methods_subset_invariance": ROWS, "check_fit_idempotent": ROWS},
    ml.ImplicitALS: {**NEVER, **PREDICTS, "check_methods_subset_invariance": ROWS, "check_fit_idempotent": ROWS},
    ml.BPR: {**NEVER, **PREDICTS, "check_methods_subset_invariance": ROWS, "check_fit_idempotent": ROWS},
    ml.CCD: {**NEVER, **PREDICTS, "check_methods_subset_invariance": ROWS, "check_fit_idempotent": ROWS},
    ml.LDAGibbs: {**NEVER, **COUNTS, **PREDICTS, "check_methods_subset_invariance": ENTRIES},
    ml.LDA: {**NEVER, **COUNTS, **PREDICTS, "check_methods_subset_invariance": ENTRIES},
    ml.SFA: {**NEVER, **PREDICTS},
    ml.GaP: {**NEVER, **COUNTS, **PREDICTS, "check_methods_subset_invariance": ROWS, "check_fit_idempotent": ROWS},
    ml.NMF: {**NEVER, **COUNTS, **PREDICTS, "check_methods_subset_invariance": ROWS, "check_fit_idempotent": ROWS},
}


class Hidden:
    """A method that is not there."""

    def __get__(self, *_):
        raise AttributeError("hidden")


def without_predict(method):
    """The estimator as a transformer alone, on which scikit-learn's checks of predict have nothing to say."""
    name = f"Transforming{method.__name__}"
    made = type(name, (method,), {"predict": Hidden(), "__module__": __name__})
    globals()[name] = made  # where pickle looks for it
    return made


TRANSFORMERS = {method: without_predict(method) for method in METHODS}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("predicts", [True, False])
@pytest.mark.filterwarnings("ignore")
def test_check_estimator(method, predicts):
    """scikit-learn's own checks, all of them; those that fail are those that do not apply, and no others."""
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    if not hasattr(checks, "estimator_checks_generator"):
        pytest.skip("check_estimator names what it has found from scikit-learn 1.6")
    reasons = DO_NOT_APPLY[method] if predicts else {**NEVER, **(COUNTS if method._counts else {})}
    model = (method if predicts else TRANSFORMERS[method])(factors=2, iterations=2, dtype="float64", threads=1)
    results = checks.check_estimator(model, expected_failed_checks=reasons, on_fail=None, on_skip=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert failed == {}
    assert {result["check_name"] for result in results if result["status"] == "xfail"} == set(reasons)
    assert sum(result["status"] == "passed" for result in results) >= 35


def test_data_of_every_kind():
    """What is not CSR or COO of floating-point numbers is converted: the same model."""
    X = data(dtype="float64")
    want = ml.LDA(factors=2, iterations=2).fit(X).components_
    kinds = [X.tocsc(), X.astype("int64"), X.tocoo(), X.toarray(), X.toarray().tolist(), X.tolil(), X.astype("float32"), scipy_sparse.csr_matrix(X)]
    for kind in kinds:
        model = ml.LDA(factors=2, iterations=2).fit(kind)
        assert np.array_equal(model.components_, want)
        assert np.array_equal(model.transform(kind), model.transform(X))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_predictions_come_in_the_order_of_the_entries(form, kind, dtype):
    X = data(dtype="float64")
    model = ml.ALS(factors=3, iterations=3, dtype="float64").fit(X)
    everywhere = model.predict(scipy_sparse.csr_array(np.ones(X.shape))).reshape(X.shape)
    given = getattr(scipy_sparse, f"{form}_{kind}")(X.astype(dtype))
    if form == "bsr":
        given = X.astype(dtype).tobsr((2, 5))
    if form == "coo":  # in no order, and with an entry twice
        order = np.append(np.random.default_rng(3).permutation(X.nnz), 4)
        given = type(given)((given.data[order], (given.row[order], given.col[order])), X.shape)
    if form in ("csr", "csc"):  # columns out of order
        for a, b in zip(given.indptr, given.indptr[1:]):
            given.indices[a:b] = given.indices[a:b][::-1].copy()
            given.data[a:b] = given.data[a:b][::-1].copy()
        given.has_sorted_indices = False
    places = given.tocoo() if form in ("csr", "csc", "coo", "bsr") else given.tocsr().tocoo()
    stored = None if form == "dok" else given.data.copy()
    assert np.allclose(model.predict(given), everywhere[places.row, places.col], rtol=1e-12)
    assert np.array_equal(given.data, stored) if form != "dok" else given.nnz == X.nnz
    W = model.transform(X)
    assert np.allclose(model.predict(given, W), model.predict(scipy_sparse.coo_array((places.data.astype("float64"), (places.row, places.col)), X.shape), W))


def test_partial_fit():
    X = data()
    model = ml.LDA(factors=3)
    for start in range(0, 40, 10):
        model.partial_fit(X[start:start + 10])
    assert model.transform(X).shape == (40, 3)
    model.fit(X)
    assert model.partial_fit(X[:5]) is model  # goes on from a fit
    with pytest.raises(ValueError, match="X has 24 features, but LDA is expecting 25"):
        model.partial_fit(X[:, :24])
    assert [method.__name__ for method in METHODS if hasattr(method, "partial_fit")] == ["ALS", "ImplicitALS", "BPR", "CCD", "LDA", "SFA", "GaP", "NMF"]


def test_partial_fit_of_what_was_loaded(tmp_path):
    X = data()
    model = ml.LDA(factors=3, iterations=1).fit(X)
    model.save(tmp_path / "a.model")
    for other in (pickle.loads(pickle.dumps(model)), ml.LDA.load(tmp_path / "a.model")):
        assert np.isfinite(other.partial_fit(X[:9]).components_).all()


def noted_by(model, history):
    """A fit of the model appends its iterations to `history`."""
    start = model._start

    def begin(warm=False):
        made = start(warm)
        model.history_ = history
        return made

    model._start = begin


def test_an_interrupted_fit_leaves_no_earlier_sizes():
    """A second fit, of another width, that is stopped after its first iteration, or its second."""
    X = data()
    model = ml.ALS(factors=2, iterations=2).fit(X)
    model.set_params(factors=5, iterations=50)

    class Stops(list):
        def append(self, step):
            super().append(step)
            if len(self) == last:
                raise KeyboardInterrupt

    for last in (1, 2):
        noted_by(model, Stops())
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[:, :20])
        assert model.n_features_in_ == 20 and model.n_iter_ == len(model.history_) == last and model.transform(X[:3, :20]).shape == (3, 6)


@pytest.mark.parametrize("more", [{}, {"devices": ["cpu", "cpu"]}])
def test_a_model_is_freed_with_its_estimator(monkeypatch, more):
    """At once, not when Python looks for cycles: it may have a GPU's memory."""
    freed, free = [], models().tamis_model_free
    monkeypatch.setattr(models(), "tamis_model_free", lambda value: (freed.append(value.value), free(value)))
    gc.disable()
    try:
        model = ml.ALS(factors=2, iterations=2, **more).fit(data())
        if not more:
            model.fit(data(), warm_start=True).partial_fit(data()[:3])
            with pytest.raises(ValueError, match="nan"):
                model.partial_fit(data() * np.float32("nan"))
        value = model._model.value.value
        freed.clear()  # a model may have the address of one before it
        assert model._fitted().value.value == value and not freed
        del model
        assert freed == [value] if not more else value in freed
    finally:
        gc.enable()


def test_an_interrupt_after_rows_were_put(monkeypatch):
    """The estimator keeps the model that it had, whole, if Ctrl-C comes as soon as the library's function has returned."""
    from tamis.ml import _estimator
    X = data()
    model, must = ml.ALS(factors=2, iterations=2).fit(X), _estimator.must
    with pytest.raises(ValueError, match="nan"):
        model.partial_fit(X[:2] * np.float32("nan"))
    assert model._model.remembered is not None

    def returned(status):
        must(status)
        raise KeyboardInterrupt

    monkeypatch.setattr(_estimator, "must", returned)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[:3])
    monkeypatch.setattr(_estimator, "must", must)
    assert len(model.recommend(n=2)[0]) == 40 and model._model.remembered is not None
    assert len(model.partial_fit(X[:3]).recommend(n=2)[0]) == 43 and model._model.remembered is None


def test_an_interrupt_after_a_warm_start(monkeypatch):
    """The same where columns are more than those of the model: masks of the columns have its length."""
    import scipy.sparse
    from tamis.ml import _fitting
    X = data()
    wider, apart = scipy.sparse.hstack([X, X], format="csr"), _fitting._interrupts.apart
    model = ml.ALS(factors=2, iterations=2).fit(X)

    def returned(*arguments):
        apart(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(_fitting._interrupts, "apart", returned)
        model.fit(wider, warm_start=True)
    assert model.n_features_in_ == 25 and model.recommend([0], n=1, without=range(24))[0] == 24
    model.fit(wider, warm_start=True)
    with pytest.raises(ValueError, match="nan"):
        model.fit(wider * np.float32("nan"), warm_start=True)
    assert model.n_features_in_ == model.components_.shape[1] == 50


def test_held_out_and_score():
    X = data()
    held = X.copy()
    held.data[::2] = 0
    held.eliminate_zeros()
    model = ml.ALS(factors=3, iterations=3).fit(X, held_out=held)
    assert np.isfinite([step["metric"] for step in model.history_]).all()
    assert model.score(held) == pytest.approx(-model.history_[-1]["metric"], rel=1e-5)


def test_refused():
    X = data()
    for call, words in ((lambda: ml.ALS().fit(X.astype("complex64")), "Complex data not supported"),
                        (lambda: ml.ALS().fit([1.0, 2.0]), r"got 1D array instead. Reshape"), (lambda: ml.ALS().fit([["a"]]), "<U1: expected numbers"),
                        (lambda: ml.ALS().fit(np.array([["a"]], object)), "X has elements that are not numbers"), (lambda: ml.ALS().fit(X[:0]), "0 sample"),
                        (lambda: ml.ALS().fit(X[:, :0]), "0 feature"), (lambda: ml.ALS().fit(X, held_out=X[:, :3]), "held_out has 3 features"),
                        (lambda: ml.ALS().transform(X), "is not fitted"), (lambda: ml.LDA(factors=2).fit(-X), "-"),
                        (lambda: ml.ALS().get_feature_names_out(), "is not fitted"),
                        (lambda: ml.ALS(factors=2, iterations=1).fit(X).transform(X[:, :3]), "X has 3 features, but ALS is expecting 25")):
        with pytest.raises(ValueError, match=words):
            call()


def test_similar():
    X = data()
    model = ml.ALS(factors=4, iterations=3).fit(X)
    found, cosines = model.similar([2, 5], 6)
    factors = model.components_[:4].T.astype("float64")
    units = factors / np.linalg.norm(factors, axis=1, keepdims=True)
    expected = units @ units.T
    for row, item in enumerate([2, 5]):
        assert item not in found[row] and np.allclose(cosines[row], expected[item, found[row]], atol=1e-6)
        assert np.allclose(cosines[row], np.sort(np.delete(expected[item], item))[::-1][:6], atol=1e-6)


# ------------------------------------------------------------------------------ several devices

TOGETHER = [ml.ALS, ml.ImplicitALS]


def learnt(model):
    """What a fit leaves behind: both factors; losses and metrics."""
    steps = [[step["loss"], step["metric"]] for step in model.history_]
    return [np.concatenate([model.row_factors_.ravel(), model.components_.ravel()]).astype("float64"), np.array(steps)]


def rounding(fit, X):
    """A fit and how far rounding takes it: eight times the most that it moves when each value is off by one, in three draws, since another
    order of sums rounds as much in other places, and some roundings of the largest number."""
    still = learnt(fit(X))
    unit = np.finfo(X.dtype).eps
    most = [16 * unit * np.abs(numbers).max() for numbers in still]
    for seed in (1, 2, 3):
        other = X.copy()
        other.data *= 1 + np.random.default_rng(seed).choice([-unit, unit], X.nnz).astype(X.dtype)
        most = [max(most_yet, 8 * np.abs(a - b).max()) for most_yet, a, b in zip(most, learnt(fit(other)), still)]
    return still, most


def near(model, still, most):
    return all(np.abs(a - b).max() <= allowed for a, b, allowed in zip(learnt(model), still, most))


@pytest.mark.parametrize("method", TOGETHER)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_several_devices(method, dtype, count):
    """The model of one device to rounding, from CSR and COO, with the metric of the whole."""
    X = data(dtype=dtype)
    held = X.copy()
    held.data[::3] = 0
    held.eliminate_zeros()

    def fit(given, **more):
        return method(factors=4, iterations=4, dtype=dtype, threads=1, **more).fit(given, held_out=held, observed=X)

    still, most = rounding(fit, X)
    model = fit(X, devices=["cpu"] * count)
    assert near(model, still, most)
    assert [step["iteration"] for step in model.history_] == [1, 2, 3, 4] and model.n_iter_ == 4
    coo = X.tocoo()
    order = np.random.default_rng(3).permutation(X.nnz)
    mixed = scipy_sparse.coo_array((coo.data[order], (coo.row[order], coo.col[order])), X.shape)
    assert near(fit(mixed, devices=("cpu",) * count), still, most)
    assert np.array_equal(coo.row[order], mixed.row)  # the caller's arrays are as they were
    assert not near(method(factors=4, iterations=4, dtype=dtype, regularization=0.1001).fit(X, held_out=held, observed=X), still, most)
    W = model.transform(X)
    assert W.shape[0] == 40 and model.recommend([0], 3)[0].shape == (1, 3)


def test_more_devices_than_rows():
    X = data(rows=2, dtype="float64")

    def fit(given, **more):
        return ml.ALS(factors=2, iterations=2, dtype="float64", **more).fit(given, held_out=X)

    assert near(fit(X, devices=["cpu"] * 4), *rounding(fit, X))


def test_devices_is_a_parameter(tmp_path):
    X = data()
    model = ml.ALS(factors=3, iterations=2, devices=["cpu", "cpu"], device="cuda:77")  # which is not looked at
    assert model.get_params()["devices"] == ["cpu", "cpu"] and "devices=['cpu', 'cpu']" in repr(model)
    other = pickle.loads(pickle.dumps(model.fit(X)))
    assert other.devices == ["cpu", "cpu"] and np.array_equal(other.transform(X), model.transform(X))
    model.save(tmp_path / "a.model")
    assert ml.ALS.load(tmp_path / "a.model").devices is None
    base = pytest.importorskip("sklearn.base")
    copy = base.clone(model)
    assert copy.devices == ["cpu", "cpu"] and not hasattr(copy, "n_iter_")
    assert copy.set_params(devices=None, device="cpu").fit(X).n_iter_ == 2


@pytest.mark.parametrize("method", [method for method in METHODS if method not in TOGETHER])
def test_other_methods_stay_on_one_device(method):
    model = method(factors=2, iterations=1, devices=["cpu", "cpu"])
    with pytest.raises(NotImplementedError, match="cannot be fitted on a group, only als and implicit-als can"):
        model.fit(data())
    assert not model.__sklearn_is_fitted__()
    if isinstance(model, ml.BatchEstimator):
        with pytest.raises(NotImplementedError, match="learns on one device: set device"):
            model.partial_fit(data())


def test_refused_by_several_devices():
    X = data(dtype="float64")
    bad = X.copy()
    bad.data[-1] = np.nan  # of the last rank
    broken = X.copy()
    broken.indices[3] = 99
    for devices, given, more, error, words in (
            (["cpu", "cpu"], bad, {}, ValueError, "rank 1: "), (["cpu", "cpu"], broken, {}, ValueError, "99"),
            ([], X, {}, ValueError, r"devices = \[\]: expected a list"), ("cpu,cpu", X, {}, ValueError, "devices = 'cpu,cpu': expected a list"),
            (7, X, {}, ValueError, "devices = 7"), (["cpu", 7], X, {}, ValueError, "devices = "), (["cpu", "abacus"], X, {}, RuntimeError, "abacus"),
            (["cpu", "cuda:77"], X, {}, RuntimeError, "cuda:77"),
            (["cpu", "cpu"], X, {"held_out": X[:5]}, ValueError, "held_out has 5 rows and X 40")):
        model = ml.ALS(factors=2, iterations=1, devices=devices)
        with pytest.raises(error, match=words):
            model.fit(given, **more)
        assert not model.__sklearn_is_fitted__(), devices
        assert model.set_params(devices=["cpu", "cpu"]).fit(X).n_iter_ == 1  # and goes on to work


def test_an_interrupt_stops_a_fit_on_several_devices():
    """Signals come to the first thread, which waits; the ranks end with the iteration that they are in."""
    model = ml.ALS(factors=3, iterations=10**6, devices=["cpu", "cpu"])

    class Interrupts(list):
        def append(self, step):
            super().append(step)
            if len(self) == 2:
                os.kill(os.getpid(), signal.SIGINT)

    noted_by(model, Interrupts())
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what it runs in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(data())
    finally:
        signal.signal(signal.SIGINT, before)
    assert 2 <= len(model.history_) < 10**5


@pytest.mark.parametrize("method", METHODS)
def test_estimators_are_scikit_learns(method):
    base = pytest.importorskip("sklearn.base")
    pandas = pytest.importorskip("pandas")
    model = method(factors=3, iterations=2)
    assert isinstance(model, base.BaseEstimator) and isinstance(model, base.TransformerMixin)
    frame = pandas.DataFrame(data().toarray(), columns=[f"item{number}" for number in range(25)], index=[f"user{number}" for number in range(40)])
    W = model.fit(frame).transform(frame)
    assert list(model.feature_names_in_) == list(frame.columns)
    made = base.clone(model).set_output(transform="pandas").fit(frame)
    out = made.transform(frame)
    assert list(out.columns) == list(made.get_feature_names_out()) and list(out.index) == list(frame.index) and np.array_equal(out, W)
    assert np.array_equal(base.clone(made).fit_transform(frame), W)
    assert np.isfinite(made.predict(frame)).all()
    with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
        model.transform(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- other\n.*now missing:\n- item0\n"):
        model.predict(frame.rename(columns={"item0": "other"}))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.transform(frame.to_numpy())
    with pytest.warns(UserWarning, match="X has feature names, but"):
        method(factors=3, iterations=1).fit(data()).transform(frame)
    assert not hasattr(model.fit(data()), "feature_names_in_")


def test_random_states():
    def factors(**given):
        return ml.ALS(factors=3, iterations=1, **given).fit(data()).components_

    assert np.array_equal(factors(random_state=5), factors(seed=5)) and not np.array_equal(factors(random_state=5), factors())
    for make in (np.random.RandomState, np.random.default_rng):
        assert np.array_equal(factors(random_state=make(1)), factors(random_state=make(1)))
        state = make(1)
        assert not np.array_equal(factors(random_state=state), factors(random_state=state))
    with pytest.raises(ValueError, match="random_state = 'x'"):
        factors(random_state="x")


@pytest.mark.parametrize("method", KEEP_ROWS)
def test_warm_starts_go_on_with_more_rows_and_columns(method):
    X, more = data(), data(46, 31)
    model = method(factors=3, iterations=5, dtype="float64").fit(X)
    same = method(factors=3, iterations=5, dtype="float64").fit(X)
    same.set_params(iterations=2).fit(X, warm_start=True)
    assert same.n_iter_ == 7 and np.array_equal(same.components_, method(factors=3, iterations=7, dtype="float64").fit(X).components_)
    before = model.components_
    model.set_params(iterations=0).fit(more, warm_start=True)
    assert model.n_features_in_ == 31 and model.row_factors_.shape[0] == 46 and np.array_equal(model.components_[:, :25], before)
    model.set_params(iterations=3).fit(more, warm_start=True)
    assert model.n_iter_ == 8 and len(model.history_) == 3
    with pytest.raises(ValueError, match="X has 40 rows, the model 46"):
        model.fit(X, warm_start=True)
    with pytest.raises(ValueError, match="factors = 4"):
        model.set_params(factors=4).fit(more, warm_start=True)
    assert method(factors=3, iterations=5, dtype="float64").fit(X, warm_start=True).n_iter_ == 5  # there was nothing to begin with


@pytest.mark.parametrize("method", KEEP_ROWS)
def test_partial_fit_puts_rows_in(method):
    X = data()
    model = method(factors=3, iterations=5).fit(X)
    W, before = model.transform(X[:2]), model.row_factors_
    model.partial_fit(X[:2])
    assert model.row_factors_.shape[0] == 42 and np.array_equal(model.row_factors_[40:], W) and np.array_equal(model.row_factors_[:40], before)
    model.partial_fit(X[:2], rows=[7, 42])
    assert np.array_equal(model.row_factors_[[7, 42]], W)
    assert model.recommend([42], n=2)[0].shape == (1, 2)
    with pytest.raises(ValueError, match="rows has 1 numbers, X 2 rows"):
        model.partial_fit(X[:2], rows=[3])
    with pytest.raises(ValueError, match="expected 0 to 43"):
        model.partial_fit(X[:1], rows=[44])
    assert method(factors=3, iterations=2).partial_fit(X).n_iter_ == 2


def test_recommendations_among_candidates():
    X = data()
    model = ml.ALS(factors=3, iterations=5).fit(X)
    some = [3, 5, 8, 13]
    assert set(model.recommend(n=10, among=some)[0].ravel()) == {-1, *some}
    assert not set(model.recommend(n=25, without=some)[0].ravel()) & set(some)
    assert set(model.recommend(n=10, among=some, without=[5])[0].ravel()) == {-1, 3, 8, 13}
    with pytest.raises(ValueError, match="among has 25"):
        model.recommend(among=[25])


@pytest.mark.parametrize("uses", [False, True])
@pytest.mark.parametrize("dense", [False, True])
def test_features_of_items_and_users(uses, dense):
    random = np.random.default_rng(2)
    users, items, kinds = 120, 150, 6
    of_item, of_user = np.arange(items) % kinds, np.arange(users) % kinds
    likes = of_user[:, None] == of_item[None, :]
    there = random.random((users, items)) < (np.where(likes, 0.7, 0.03) if uses else 0.3)
    there[::5], there[:, ::5] = False, False  # cold users and items
    X = scipy_sparse.csr_array(np.where(there, 1.0 if uses else np.where(likes, 5.0, 2.0) + 0.2 * random.normal(size=there.shape), 0))
    F, G = (scipy_sparse.csr_array(np.eye(kinds)[numbers]) for numbers in (of_item, of_user))
    if dense:
        F, G = F.toarray(), G.toarray()
    model = (ml.ImplicitALS(factors=6, confidence=10, weights="ones", regularization=1) if uses else ml.ALS(factors=6, by_prediction=True)).set_params(iterations=10)
    plain = pickle.loads(pickle.dumps(model)).fit(X)
    model.fit(X, item_features=F, user_features=G)
    assert (model.featured_items_, model.featured_users_) == (30, 24) and (plain.featured_items_, plain.featured_users_) == (0, 0)
    for mine, others in ((model.components_.T, plain.components_.T), (model.row_factors_, plain.row_factors_)):
        cold = np.arange(len(mine)) % 5 == 0
        assert np.array_equal(mine[~cold], others[~cold]) and (mine[cold] != 0).any(axis=1).all() and not others[cold].any()
    found = model.recommend(rows=[0, 5, 7], n=10)[0]  # of cold users, and a warm one
    assert (of_item[found] == of_user[[0, 5, 7], None]).mean() > 0.9
    noise = random.normal(size=(items, 3))
    assert model.fit(X, item_features=noise).featured_items_ == -1 and not model.components_[:, ::5].any()
    with pytest.raises(ValueError, match="item_features has 120 rows, and X 150 columns: give it a row for each"):
        model.fit(X, item_features=G)
    noise[3, 1] = np.inf
    with pytest.raises(ValueError, match="value inf at row 3, column 1: expected a finite number"):
        model.fit(X, item_features=noise)
    with pytest.raises(_errors.UnsupportedError, match="features are of use to fits on one device"):
        model.set_params(devices=["cpu", "cpu"]).fit(X, item_features=F)
    with pytest.raises(_errors.UnsupportedError, match="item-knn takes no features, only als and implicit-als do"):
        ml.ItemKNN().fit(abs(X), item_features=F)


@pytest.mark.parametrize("method", [ml.ImplicitALS, ml.ALS, ml.LDA])
def test_learning_beside_use(method):
    """Calls of other threads end with the model with which they began, while one thread fits, with other sizes too, and puts rows in."""
    X = data()
    X.data = np.ones_like(X.data)
    wide = scipy_sparse.csr_array(scipy_sparse.hstack([X, X]))
    model, wrong, ended = method(factors=3, iterations=1, threads=1).fit(X), [], threading.Event()

    def use():
        while not ended.is_set():
            try:
                W = model.transform(X if model._model.about.cols == X.shape[1] else wide)
                columns, scores = model.recommend([0, 1], n=3, factors=W)
                model.similar([3], n=3)
                assert columns.shape == (2, 3) and np.isfinite(scores).all() and columns.min() >= 0
            except ValueError as error:
                if "features" not in str(error):  # a model of other columns has come between two calls
                    wrong.append(error)
            except Exception as error:  # noqa: BLE001
                wrong.append(error)

    users = [threading.Thread(target=use, daemon=True) for _ in range(3)]
    for one in users:
        one.start()
    try:
        for turn in range(10):
            model.fit(wide).partial_fit(wide[:5])
            model.fit(X).partial_fit(X[:5]).partial_fit(X[:turn + 1])
    finally:
        ended.set()
        for one in users:
            one.join()
    assert wrong == []


@pytest.mark.parametrize("method", [ml.ALS, ml.ImplicitALS, ml.BPR, ml.CCD])
def test_rows_for_columns(method):
    """The rows of the largest predictions of all rows, without those that have the column; by name, too."""
    X = data()
    model = method(iterations=5, factors=3).fit(X)
    whole = scipy_sparse.csr_array(np.ones(X.shape, "float32"))
    expected = model.predict(whole).reshape(X.shape)
    seen = np.asarray(scipy_sparse.csr_array(X).todense()) != 0
    rows, scores = model.recommend_rows([2, 5], n=4, seen=X)
    for line, column in enumerate((2, 5)):
        free = np.sort(expected[~seen[:, column], column])[::-1]
        here = rows[line] >= 0
        assert not seen[rows[line][here], column].any() and here.sum() == min(4, free.size)
        assert np.allclose(scores[line][here], free[:4], atol=1e-4) and np.allclose(expected[rows[line][here], column], scores[line][here], atol=1e-4)
    with pytest.raises(ValueError, match="named = True: the model has no names of rows"):
        model.recommend_rows([2], named=True)
    model.set_names([f"u{row}" for row in range(X.shape[0])], [f"i{column}" for column in range(X.shape[1])])
    assert model.recommend_rows(["i2"], n=4, seen=X, named=True)[0].tolist() == [[None if row < 0 else f"u{row}" for row in rows[0]]]
    assert model.recommend(["u1"], n=3, named=True)[0].tolist() == [[f"i{column}" for column in model.recommend([1], n=3)[0][0]]]
    for wrong, told in (([-1], "columns"), ([10**6], "columns"), (["nobody"], "nobody")):
        with pytest.raises((ValueError, KeyError), match=told):
            model.recommend_rows(wrong)


def test_why_a_column_is_recommended():
    """The parts of a row's entries add up to the score of a model of uses."""
    X = scipy_sparse.csr_array(abs(data()))
    for model in (ml.ImplicitALS(factors=3, iterations=5, dtype="float64", weights="log"), ml.ItemKNN(dtype="float64"), ml.EASE(regularization=2.0, dtype="float64")):
        model.fit(X)
        row = X[[0]]
        score = model.recommend(n=1, seen=row, factors=model.transform(row))
        columns, parts = model.explain(row, int(score[0][0, 0]), n=row.nnz)
        assert sorted(columns.tolist()) == sorted(row.indices.tolist()) and (np.diff(parts) <= 0).all()
        assert parts.sum() == pytest.approx(score[1][0, 0], rel=1e-6)
    with pytest.raises(_errors.UnsupportedError, match="bpr has no sum over a row's entries"):
        ml.BPR(factors=2, iterations=2).fit(X).explain(X[[0]], 1)
    with pytest.raises(ValueError, match="known.rows = 2, expected 1"):
        model.explain(X[[0, 1]], 1)


def test_topics_and_their_coherence():
    random = np.random.default_rng(4)
    X = scipy_sparse.csr_array(np.vstack([random.poisson(2, (40, 12)) * (np.arange(12) // 6 == group) for group in (0, 1)]).astype("float32"))
    model = ml.LDA(factors=2, iterations=30, random_state=3).fit(X)
    words, weights = model.topics(n=6)
    assert sorted(sorted(line) for line in words.tolist()) == [[*range(6)], [*range(6, 12)]] and (np.diff(weights, axis=1) <= 0).all()
    mixed = scipy_sparse.csr_array(random.permuted(X.toarray(), axis=1))
    assert model.coherence(X, n=4) > 0.5 > model.coherence(mixed, n=4)
    with pytest.raises(_errors.UnsupportedError, match="ALS has no topics of words"):
        ml.ALS(factors=2, iterations=2).fit(data()).coherence(data())


def test_what_is_not_fitted_says_so_to_hasattr():
    """`hasattr` meets nothing but AttributeError, before a fit and after it."""
    for method in METHODS:
        model = method(iterations=1)
        assert not hasattr(model, "components_") and not hasattr(model, "row_factors_")
        for fitted in (model, model.fit(data())):
            for name in dir(fitted):
                hasattr(fitted, name)
        assert hasattr(model, "components_") and hasattr(model, "row_factors_") == (method in (ml.ALS, ml.ImplicitALS, ml.BPR, ml.CCD, ml.GaP, ml.NMF))


def test_an_interrupt_stops_one_long_iteration():
    """EASE and ItemKNN have one: Ctrl-C ends it between two blocks of columns, and there is no model."""
    random = np.random.default_rng(3)
    X = scipy_sparse.random(3000, 4000, 0.01, format="csr", dtype=np.float32, random_state=random)
    model = ml.EASE(threads=1)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert not hasattr(model, "components_")


@pytest.mark.parametrize("method", [ml.EASE, ml.LDAGibbs])
def test_a_warm_start_with_options_that_are_left_open(method):
    model = method(iterations=2) if method is ml.LDAGibbs else method()
    before = model.fit(data()).history_
    assert model.fit(data(), warm_start=True) is model and before
    if method is ml.LDAGibbs:
        model.set_params(row_prior=0.7)
        kept = model.history_
        with pytest.raises(ValueError, match="row_prior = 0.7 is not what the model was fitted with"):
            model.fit(data(), warm_start=True)
        assert model.history_ is kept


def test_topics_are_scored_by_all_of_their_documents():
    X = data()
    model = ml.NMF(factors=3, iterations=10).fit(X)
    assert model.score(X) == model.coherence(X) == model.score(X[:5], observed=X)
    for topic, weights in zip(*model.topics(25)):
        assert (weights[topic >= 0] > 0).all() and np.isnan(weights[topic < 0]).all()


def test_predictions_of_observed_rows():
    """Of rows that need not be those of the fit, in any order of the entries, for models that keep rows and those that keep none."""
    X = data()
    for model in (ml.ALS(factors=3, iterations=3).fit(X), ml.ItemKNN().fit(X)):
        want = model.predict(X[:7], model.transform(X[:7]))
        assert np.allclose(model.predict(X[:7], observed=X[:7]), want, rtol=1e-6)
        assert np.allclose(model.predict(X[:7].tocoo(), observed=X[:7]), want, rtol=1e-6)
        with pytest.raises(ValueError, match="factors and observed are both given"):
            model.predict(X[:7], model.transform(X[:7]), observed=X[:7])
