"""convert=True: matrices, values and operands as users have them; without it the messages stay, and nothing is copied."""
from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tamis

sparse = pytest.importorskip("scipy.sparse")
DENSE = np.array([[1., 0, 2, 0], [0, 0, 0, 0], [3, 4, 0, 5]])
A = np.arange(6.).reshape(3, 2) + 1
B = np.arange(8.).reshape(4, 2) - 2


def wanted(S=DENSE):
    return {"sddmm": S * (A @ B.T), "spmm": S @ B, "fused": S * (A @ B.T) @ B}


def frame():
    return pytest.importorskip("pandas").DataFrame(DENSE)


def graph():
    networkx = pytest.importorskip("networkx")
    made = networkx.DiGraph()
    made.add_nodes_from(range(4))
    made.add_weighted_edges_from([(0, 0, 1), (0, 2, 2), (2, 0, 3), (2, 1, 4), (2, 3, 5)])
    return made


MATRICES = {
    **{name: lambda name=name: getattr(sparse, f"{name}_array")(DENSE) for name in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")},
    "matrix": lambda: sparse.lil_matrix(DENSE),
    "int64": lambda: sparse.csr_array(DENSE.astype("int64")),
    "int8": lambda: sparse.csr_array(DENSE.astype("int8")),
    "dense": lambda: DENSE, "list": lambda: DENSE.tolist(), "fortran": lambda: np.asfortranarray(DENSE),
    "frame": frame, "sparse frame": lambda: frame().astype(pytest.importorskip("pandas").SparseDtype(float, 0)),
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_matrix(name, dtype):
    S, want = MATRICES[name](), wanted()
    a, b = A.astype(dtype), B.astype(dtype)
    found = tamis.spmm(S, b, convert=True)
    np.testing.assert_allclose(found, want["spmm"], rtol=1e-6)
    np.testing.assert_allclose(tamis.sddmm(S, a, b, convert=True).toarray(), want["sddmm"], rtol=1e-6)
    np.testing.assert_allclose(tamis.fused(S, a, b, b, convert=True), want["fused"], rtol=1e-6)
    np.testing.assert_allclose(tamis.sddmm(S, a, b, convert=True, edge="mask").toarray(), (DENSE != 0) * (A @ B.T), rtol=1e-6)


def test_a_graph_and_bools():
    square = np.vstack([DENSE, np.zeros((1, 4))])
    np.testing.assert_allclose(tamis.spmm(graph(), B, convert=True), square @ B)
    kept = sparse.csr_array(DENSE != 0)
    np.testing.assert_allclose(tamis.spmm(kept, B, convert=True), (DENSE != 0) @ B)


OPERANDS = {
    "integers": lambda: B.astype(int), "bools": lambda: B > 0, "list": lambda: B.tolist(), "backwards": lambda: np.ascontiguousarray(B[::-1])[::-1],
    "broadcast": lambda: np.broadcast_to(B[:1], B.shape), "frame": lambda: pytest.importorskip("pandas").DataFrame(B),
    "every other": lambda: np.repeat(B, 2, axis=1)[:, ::2], "big endian": lambda: B.astype(">f8"), "mixed": lambda: B.astype("float32"),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_every_operand(name):
    given, S = OPERANDS[name](), sparse.csr_array(DENSE)
    b = np.asarray(given).astype(float)
    np.testing.assert_allclose(tamis.spmm(S, given, convert=True), DENSE @ b)
    np.testing.assert_allclose(tamis.fused(S, A, given, b, convert=True), DENSE * (A @ b.T) @ b)
    np.testing.assert_allclose(tamis.spmm(tamis.Pattern(S), given, convert=True), DENSE @ b)
    if name not in ("mixed",):
        with pytest.raises((ValueError, TypeError)):
            tamis.spmm(S.astype("float64"), given)  # without it the message stays


def test_types_of_results():
    S = sparse.csr_array(DENSE)
    assert tamis.spmm(S, B.astype("float32"), convert=True).dtype == np.float64  # the widest, as in NumPy
    assert tamis.spmm(S.astype("float32"), B.astype("float32"), convert=True).dtype == np.float32
    assert tamis.spmm(S.astype("int32"), B.astype("float32"), convert=True).dtype == np.float32
    assert tamis.spmm(S.astype("int32"), B.astype(int), convert=True).dtype == np.float64
    with pytest.raises(tamis.ArgumentError, match="S is complex128"):
        tamis.spmm(S.astype(complex), B, convert=True)
    with pytest.raises(tamis.ArgumentError, match="B has elements that are not numbers"):
        tamis.spmm(S, [["a", "b"]] * 4, convert=True)


def test_a_matrix_is_not_changed():
    data, rows, cols = np.array([1, 2, 3]), np.array([0, 0, 0]), np.array([2, 1, 2])
    S = sparse.coo_array((data, (rows, cols)), shape=(1, 3))
    assert tamis.sddmm(S, np.ones((1, 1)), np.ones((3, 1)), convert=True).data.tolist() == [1, 2, 3]  # in its order, twice where it is twice
    assert S.data is data and S.dtype == int and S.nnz == 3
    right = sparse.csr_array(DENSE)
    p = tamis.spmm(right, B, convert=True)
    assert right.data.dtype == np.float64 and np.array_equal(p, tamis.spmm(right, B))


def test_attention_converts():
    mask = DENSE != 0
    q, k, v = A, B, np.arange(4.).reshape(4, 1)
    out = tamis.attention(mask.tolist(), q.astype(int), k.astype("float32"), v, convert=True)
    assert out.dtype == np.float64
    np.testing.assert_allclose(out, tamis.attention(sparse.csr_array(mask), q, k, v), rtol=1e-6)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "arrays"])
def test_patterns_transpose_copy_and_pickle(form):
    S = sparse.csr_array(DENSE).asformat(form) if form != "arrays" else sparse.csr_array(DENSE)
    pattern = tamis.Pattern((S.indptr, S.indices, S.data), shape=S.shape) if form == "arrays" else tamis.Pattern(S)
    for other in (copy.copy(pattern), copy.deepcopy(pattern), pickle.loads(pickle.dumps(pattern))):
        assert other.shape == pattern.shape and other.nnz == 5
        np.testing.assert_array_equal(tamis.spmm(other, B), DENSE @ B)
        np.testing.assert_array_equal(tamis.sddmm(other, A, B), tamis.sddmm(pattern, A, B))
    S.data[:] = 0  # those have values of their own; the transpose has the same
    np.testing.assert_array_equal(tamis.spmm(other, B), DENSE @ B)
    assert not tamis.spmm(pattern.T, A).any()
    values = np.arange(5.)
    assert pattern.T.shape == (4, 3) and pattern.T.T.shape == (3, 4)
    np.testing.assert_array_equal(tamis.spmm(pattern.T, A, values=values), tamis.spmm(pattern, A, values=values, transpose=True))
    np.testing.assert_array_equal(tamis.sddmm(pattern.T, B, A, edge="mask"), tamis.sddmm(pattern, A, B, edge="mask"))
    assert tamis.Pattern(sparse.lil_array(DENSE), convert=True).nnz == 5


def test_asking_for_torch_where_it_is_missing():
    program = "import sys; sys.modules['torch'] = None; import tamis; print(hasattr(tamis, 'torch'))\ntry: tamis.torch\nexcept AttributeError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "False" and "tamis.torch needs torch, which is not installed" in done.stdout
