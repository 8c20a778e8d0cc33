"""CuPy's arrays and sparse matrices: results of CuPy on its device, stream and pool, against dense CuPy in double."""
from __future__ import annotations

import gc

import numpy as np
import pytest

import tamis

cupy = pytest.importorskip("cupy")
sparse = pytest.importorskip("cupyx.scipy.sparse")
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError as error:
    pytest.skip(f"there is no CUDA device: {error}", allow_module_level=True)

ROWS, COLS, INNER, WIDTH = 70, 50, 33, 17
BOUNDS = {"float16": 5e-3, "float32": 1e-5, "float64": 1e-13}


def matrix(dtype, form="csr", seed=5):
    """A matrix and what it is in double; CuPy has none of float16, so it is three arrays."""
    random = np.random.default_rng(seed)
    full = np.where(random.random((ROWS, COLS)) < 0.2, random.random((ROWS, COLS)) + 0.5, 0)
    full[3] = 0
    rows, columns = full.nonzero()
    offsets = cupy.asarray(np.concatenate([[0], np.bincount(rows, minlength=ROWS).cumsum()]), "int32")
    S = (offsets, cupy.asarray(columns, "int32"), cupy.asarray(full[rows, columns], dtype))
    full = cupy.asarray(full.astype(dtype).astype("float64"))
    return (S if dtype == "float16" else sparse.csr_matrix((S[2], S[1], S[0]), shape=full.shape).asformat(form)), full


def operand(*shape, dtype="float32", seed=1):
    return cupy.asarray(np.random.default_rng(seed).random(shape) - 0.5, dtype)


def close(got, want, dtype):
    assert isinstance(got, cupy.ndarray) and got.shape == want.shape
    error = float(cupy.linalg.norm((got.astype("float64") - want).ravel()) / cupy.linalg.norm(want.astype("float64").ravel()))
    assert error <= BOUNDS[dtype]


@pytest.mark.parametrize("dtype", BOUNDS)
def test_operations(dtype):
    S, s = matrix(dtype)
    A, B, D = operand(ROWS, INNER, dtype=dtype), operand(COLS, INNER, dtype=dtype, seed=2), operand(COLS, WIDTH, dtype=dtype, seed=3)
    a, b, d = (x.astype("float64") for x in (A, B, D))
    S = tamis.Pattern(S, shape=s.shape) if dtype == "float16" else S
    P = tamis.sddmm(S, A, B)
    samples = P if isinstance(P, cupy.ndarray) else P.data
    assert samples.dtype == A.dtype
    close(samples, (s * (a @ b.T))[s != 0], dtype)
    close(tamis.spmm(S, D), s @ d, dtype)
    close(tamis.spmm(S, A, transpose=True), s.T @ a, dtype)
    close(tamis.fused(S, A, B, D), (s * (a @ b.T)) @ d, dtype)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("planned", [False, True])
def test_sparse_matrices(form, planned):
    S, full = matrix("float64", form)
    A, B = operand(ROWS, INNER, dtype="float64"), operand(COLS, INNER, dtype="float64", seed=2)
    P = tamis.sddmm(tamis.Pattern(S) if planned else S, A, B, edge="mask")
    if planned:
        assert isinstance(P, cupy.ndarray) and P.shape == (S.nnz,)
        P = type(S)((P, (S.row, S.col)) if form == "coo" else (P, S.indices, S.indptr), shape=S.shape)
    assert type(P) is type(S)
    close(P.toarray(), cupy.where(full != 0, A @ B.T, 0), "float64")


def test_views_are_not_copied():
    """Column-major and strided operands, and an output that is a part of another array."""
    S, full = matrix("float32")
    wide = operand(ROWS, 2 * INNER)
    A, B = wide[:, :INNER], cupy.asfortranarray(operand(COLS, INNER, seed=2))
    close(tamis.sddmm(S, A, B).data, (full * (A.astype("float64") @ B.astype("float64").T))[full != 0], "float32")
    D, out = operand(COLS, WIDTH, seed=3), cupy.full((ROWS, WIDTH + 5), cupy.nan, "float32")
    C = tamis.spmm(S, D, out=out[:, :WIDTH])
    assert C.data.ptr == out.data.ptr and bool(cupy.isnan(out[:, WIDTH:]).all())
    close(out[:, :WIDTH], full.astype("float32").astype("float64") @ D.astype("float64"), "float32")
    with pytest.raises(ValueError, match="cupy.ascontiguousarray"):
        tamis.spmm(S, operand(2 * COLS, 2 * WIDTH)[::2, ::2])
    with pytest.raises(ValueError, match="A is on cpu and S on cuda:0: move one"):
        tamis.sddmm(S, cupy.asnumpy(A), B)


def test_attention():
    S, full = matrix("float32")
    Q, K, V = operand(2, ROWS, 16), operand(2, COLS, 16, seed=2), operand(2, COLS, WIDTH, seed=3)
    E, lse = tamis.attention(S, Q, K, V, return_lse=True)
    q, k, v = (x.astype("float64") for x in (Q, K, V))
    scores = cupy.where(full != 0, q @ k.transpose(0, 2, 1) / 4, -cupy.inf)
    weights = cupy.where(full != 0, cupy.exp(scores), 0)
    total = weights.sum(-1)
    close(E, weights @ v / cupy.where(total > 0, total, 1)[..., None], "float32")
    assert bool((E[:, 3] == 0).all()) and bool((lse[:, 3] == -cupy.inf).all())
    some = cupy.arange(ROWS) != 3
    close(lse[:, some], cupy.log(total[:, some]), "float32")


def test_a_stream():
    """Operands that a stream makes late are read on that stream, and what it has not yet written is not waited for."""
    S, full = matrix("float64")
    plan = tamis.plan("spmm", S, width=WIDTH, type="float64")
    D = operand(COLS, WIDTH, dtype="float64", seed=3)
    busy = cupy.zeros((3000, 3000))
    cupy.cuda.Device().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream, plan:
        for _ in range(20):
            busy = busy @ busy
        late = D * 2
        C = plan(late)
        again = tamis.spmm(S, late)
    stream.synchronize()
    close(C, full @ (2 * D), "float64")
    close(again, full @ (2 * D), "float64")


def test_the_pool():
    """What calls and patterns need comes from CuPy's pool, and goes back."""
    S, _ = matrix("float64", "csc")
    A, B, D = operand(ROWS, INNER, dtype="float64"), operand(COLS, INNER, dtype="float64", seed=2), operand(COLS, WIDTH, dtype="float64", seed=3)
    pool = cupy.get_default_memory_pool()
    cupy.cuda.Device().synchronize()
    used = []
    for _ in range(3):
        pattern = tamis.Pattern(S)
        tamis.fused(pattern, A, B, D, edge="softmax")
        tamis.fused(S, A, B, D)
        del pattern
        gc.collect()
        cupy.cuda.Device().synchronize()
        used.append(pool.used_bytes())
    assert used[2] == used[1] > 0
