"""The estimators on a GPU beside the CPU: models that agree, data of any device refused by name, several ranks of one device."""
from __future__ import annotations

import os

import numpy as np
import pytest

scipy_sparse = pytest.importorskip("scipy.sparse")

import tamis  # noqa: E402
from tamis import ml  # noqa: E402

DEVICE = os.environ.get("TAMIS_TEST_DEVICE") or "cuda:0"
PRESENT = {device.name for device in tamis.devices() if device.present}
pytestmark = pytest.mark.skipif(DEVICE not in PRESENT, reason=f"there is no {DEVICE}")
RATINGS, COUNTS = (ml.ALS, ml.CCD, ml.SFA), (ml.ImplicitALS, ml.LDA, ml.GaP)


def data(counts, rows=300, cols=120, seed=2):
    random = np.random.default_rng(seed)
    full = random.random((rows, cols)) < 0.1
    numbers = random.poisson(2, (rows, cols)) + 1 if counts else np.clip(random.standard_normal((rows, 3)) @ random.standard_normal((3, cols)) + 3, 1, 5)
    return scipy_sparse.csr_array(np.where(full, numbers, 0).astype("float64"))


@pytest.mark.parametrize("method", RATINGS + COUNTS)
def test_agrees_with_the_processor(method):
    """Sums in another order: after a few iterations in double what is learnt is near that of one thread of the CPU."""
    X = data(method in COUNTS)
    fitted = [method(factors=4, iterations=3, dtype="float64", device=device, threads=1).fit(X) for device in ("cpu", DEVICE)]
    assert fitted[1].device == DEVICE
    first, second = (np.asarray(model.components_) for model in fitted)
    np.testing.assert_allclose(second, first, rtol=1e-6, atol=1e-9 * np.abs(first).max())
    W = [model.transform(X[:20]) for model in fitted]
    np.testing.assert_allclose(W[1], W[0], rtol=1e-5, atol=1e-8 * np.abs(W[0]).max())


@pytest.mark.parametrize("method", [ml.ALS, ml.ImplicitALS])
def test_ranks_of_one_device(method):
    X = data(method in COUNTS)
    alone = method(factors=4, iterations=3, dtype="float64", device="cpu", threads=1).fit(X)
    together = method(factors=4, iterations=3, dtype="float64", devices=[DEVICE, DEVICE]).fit(X)
    first, second = (np.asarray(model.components_) for model in (alone, together))
    np.testing.assert_allclose(second, first, rtol=1e-6, atol=1e-9 * np.abs(first).max())


def test_a_model_goes_from_device_to_device(tmp_path):
    X = data(False)
    model = ml.ALS(factors=4, iterations=2, device=DEVICE).fit(X)
    model.save(tmp_path / "a.model")
    np.testing.assert_allclose(ml.ALS.load(tmp_path / "a.model", device="cpu").transform(X[:5]), model.transform(X[:5]), rtol=2e-3, atol=1e-4)
