"""tamis.ml: the conventions of scikit-learn, and results that are those of the library's own files."""
from __future__ import annotations

import ctypes
import pickle

import numpy as np
import pytest

scipy_sparse = pytest.importorskip("scipy.sparse")

from tamis import _declarations as c  # noqa: E402
from tamis import ml  # noqa: E402
from tamis._library import models, must  # noqa: E402

METHODS = [ml.ALS, ml.ImplicitALS, ml.CCD, ml.LDA, ml.SFA, ml.GaP]
KEEP_ROWS = [ml.ALS, ml.ImplicitALS, ml.CCD]


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
        elif name != "device":
            assert getattr(options, name) == pytest.approx(value), name


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fit_transform_predict(method, dtype):
    X = data(dtype=dtype)
    model = method(factors=4, iterations=6, dtype=dtype)
    assert model.fit(X) is model
    assert model.n_features_in_ == 25 and model.n_iter_ == 6 and len(model.history_) == 6
    losses = [step["loss"] for step in model.history_]
    assert losses[-1] <= losses[0]
    W = model.transform(X)
    assert W.shape == (40, 4) and W.dtype == dtype and model.components_.shape == (4, 25)
    P = model.predict(X, W)
    assert P.shape == (X.nnz,) and np.isfinite(P).all()
    columns, scores = model.recommend([0, 3], 5, seen=X, factors=None if method in KEEP_ROWS else W)
    assert columns.shape == scores.shape == (2, 5)
    again = method(factors=4, iterations=6, dtype=dtype).fit(scipy_sparse.csr_matrix(X))
    assert np.array_equal(again.components_, model.components_)


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
    with pytest.raises(ValueError, match="is a model of"):
        METHODS[METHODS.index(method) - 1].load(tmp_path / "a.model")


def test_parameters():
    model = ml.ALS(factors=8)
    assert repr(model) == "ALS(factors=8)"
    assert model.set_params(biases=True) is model and model.get_params()["biases"] is True
    with pytest.raises(ValueError, match="topics is no parameter of ALS"):
        model.set_params(topics=3)
    for wrong, words in (({"factors": 0}, "factors = 0"), ({"regularization": -1}, "regularization"), ({"factors": "many"}, "expected a number"),
                         ({"dtype": "float16"}, "float16"), ({"iterations": -1}, "iterations")):
        with pytest.raises(ValueError, match=words):
            ml.ALS(**wrong).fit(data())


def test_conventions_of_scikit_learn():
    base = pytest.importorskip("sklearn.base")
    pipeline = pytest.importorskip("sklearn.pipeline")
    model = ml.LDA(factors=3, iterations=2)
    copy = base.clone(model)
    assert copy is not model and copy.get_params() == model.get_params()
    assert pipeline.make_pipeline(model).fit_transform(data()).shape == (40, 3)


def test_partial_fit():
    X = data()
    model = ml.LDA(factors=3)
    for start in range(0, 40, 10):
        model.partial_fit(X[start:start + 10])
    assert model.transform(X).shape == (40, 3)
    with pytest.raises(NotImplementedError):
        ml.ALS().partial_fit(X)


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
    for call, words in ((lambda: ml.ALS().fit(X.tocsc()), "tocsr"), (lambda: ml.ALS().fit(X.astype("int32")), "astype"),
                        (lambda: ml.ALS().transform(X), "is not fitted"), (lambda: ml.LDA(factors=2).fit(-X), "-"),
                        (lambda: ml.ALS(factors=2, iterations=1).fit(X).transform(X[:, :3]), "cols")):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(TypeError, match="csr_array"):
        ml.ALS().fit(X.toarray())


def test_an_interrupt_stops_the_fit():
    model = ml.ALS(factors=3, iterations=50)

    class Stops(list):
        def append(self, step):
            super().append(step)
            if len(self) == 2:
                raise KeyboardInterrupt

    start = model._start
    model._start = lambda: (start(), setattr(model, "history_", Stops()))
    with pytest.raises(KeyboardInterrupt):
        model.fit(data())
    assert len(model.history_) == 2 and ctypes.sizeof(c.tamis_iteration) > 0
