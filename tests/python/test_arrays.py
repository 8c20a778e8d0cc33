"""Arrays by each way of lending memory, and what is refused: each with a sentence that says what to do."""
from __future__ import annotations

import array
import ctypes
import gc
import sys
import weakref

import numpy as np
import pytest
import scipy.sparse

import tamis

scipy_sparse = pytest.importorskip("scipy.sparse")
OFFSETS, COLUMNS = np.array([0, 2, 3]), np.array([0, 2, 1])
VALUES = np.float32([1, 2, 3])
A, B = np.float32([[1, 1], [2, 0]]), np.float32([[1, 0], [0, 1], [1, 1]])
PRODUCTS = [1, 2, 0]


def csr(dtype="float32"):
    return scipy_sparse.csr_array((VALUES.astype(dtype), COLUMNS, OFFSETS), shape=(2, 3))


class Lends:
    """An array that has one way alone of lending its memory."""

    def __init__(self, of, way):
        self.of = of
        if way == "dlpack":
            self.__class__ = type("Dlpack", (Lends,), {"__dlpack__": lambda self, **k: of.__dlpack__(**k),
                                                       "__dlpack_device__": lambda self: of.__dlpack_device__(), "__setitem__": None})


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x.T.copy().T, lambda x: np.repeat(x, 2, 0)[::2]])
def test_dlpack(view):
    a, b = view(A), view(B)
    P = tamis.sddmm((OFFSETS, COLUMNS), Lends(a, "dlpack"), Lends(b, "dlpack"))
    assert isinstance(P, np.ndarray) and P.tolist() == PRODUCTS
    three = tuple(Lends(x, "dlpack") for x in (OFFSETS, COLUMNS, VALUES))
    assert tamis.sddmm(three, a, b).tolist() == [1, 4, 0]


def test_read_only_by_dlpack():
    """DLPack lends an array that may not be written from its version 1.0 on: fine as an operand, refused as an output."""
    a, out = A.copy(), np.zeros(3, "float32")
    a.flags.writeable = out.flags.writeable = False
    try:
        a.__dlpack__(max_version=(1, 0))
    except TypeError:
        pytest.skip("NumPy has DLPack 1.0 from 2.1")
    assert tamis.sddmm((OFFSETS, COLUMNS), Lends(a, "dlpack"), B).tolist() == PRODUCTS
    with pytest.raises(ValueError, match="out is read-only"):
        tamis.sddmm(csr(), A, B, out=Lends(out, "dlpack"))
    assert (out == 0).all()


def test_arrays_of_jax_are_not_written():
    """Nobody may change an array of JAX, which neither its methods nor DLPack say."""
    jnp = pytest.importorskip("jax.numpy")
    a, b, out = jnp.asarray(A), jnp.asarray(B), jnp.zeros(3)
    assert tamis.sddmm(csr(), a, b).data.tolist() == [1, 4, 0]
    with pytest.raises(ValueError, match="out is read-only"):
        tamis.sddmm(csr(), A, B, out=out)
    assert out.tolist() == [0, 0, 0]


def test_masked_arrays_are_refused():
    """Their masks would be lost."""
    with pytest.raises(ValueError, match=r"B is a masked array, .*B\.filled\(0\)"):
        tamis.spmm(csr(), np.ma.masked_array(B, mask=B > 0))


@pytest.mark.parametrize("writable", [True, False])
def test_dlpack_capsules_are_freed(writable):
    a = A.copy()
    a.flags.writeable = writable
    gone = weakref.ref(a)
    if not writable and not hasattr(np, "unstack"):
        pytest.skip("NumPy has DLPack 1.0 from 2.1")
    tamis.sddmm((OFFSETS, COLUMNS), Lends(a, "dlpack"), B)
    del a
    gc.collect()
    assert gone() is None


def test_buffers():
    x = array.array("f", [1, 1, 1])
    assert tamis.spmm(csr(), x).tolist() == [3, 3]
    assert tamis.spmm(csr(), memoryview(x)).tolist() == [3, 3]
    out = (ctypes.c_float * 2)()
    tamis.spmm(csr(), x, out=out)
    assert list(out) == [3, 3]
    with pytest.raises(ValueError, match="out is read-only"):
        tamis.spmm(csr(), x, out=memoryview(bytes(8)).cast("f"))


@pytest.mark.parametrize("call, error, words", [
    (lambda: tamis.sddmm(csr(), A.astype("float64"), B), ValueError, r"B is fp32 and the other operands fp64: .*B.astype\('float64'\)"),
    (lambda: tamis.sddmm(csr("float64"), A, B), ValueError, r"S's values are fp64, the operands fp32: .*S.astype\('float32'\)"),
    (lambda: tamis.sddmm(csr("int64"), A, B), ValueError, r"S's values are int64.*astype.*edge='mask'"),
    (lambda: tamis.sddmm(csr(), A.astype(int), B), ValueError, r"A has elements of type int64|A is int64|A has elements"),
    (lambda: tamis.sddmm(csr(), A.astype(complex), B), ValueError, "A has elements of type complex128"),
    (lambda: tamis.sddmm(csr(), A.astype(">f4"), B), ValueError, "A has elements of type >f4"),
    (lambda: tamis.sddmm(csr(), A[0], B), ValueError, "A has 1 dimension"),
    (lambda: tamis.sddmm(csr(), A, B[:2]), ValueError, r"B has shape \(2, 2\): expected 3 rows, since the sparse matrix is 2 x 3$"),
        (lambda: tamis.sddmm(csr(), A, B.T), ValueError, r"B has shape \(2, 3\): expected 3 rows, .*; is it transposed\?$"),
        (lambda: tamis.sddmm(csr().tocsc(), B, B), ValueError, r"A has shape \(3, 2\): expected 2 rows, since the sparse matrix is 2 x 3; is it transposed\?$"),
        (lambda: tamis.spmm(csr(), B, transpose=True), ValueError, r"B has shape \(3, 2\): expected 2 rows"),
        (lambda: tamis.fused(csr(), A, B, A), ValueError, r"D has shape \(2, 2\): expected 3 rows"),
    (lambda: tamis.sddmm(csr(), A, B[:, :1]), ValueError, r"A has shape \(2, 2\) and B \(3, 1\): expected the same number of columns"),
    (lambda: tamis.sddmm(csr(), [[1, 2]], B), TypeError, "A is a list: expected an array"),
    (lambda: tamis.sddmm(csr(), None, B), TypeError, "A is a NoneType"),
    (lambda: tamis.sddmm(A, A, B), TypeError, "S is a ndarray: .*csr_array"),
    (lambda: tamis.spmm(B, csr()), TypeError, r"B is a csr_\w+: expected a dense array, and the sparse matrix first"),
    (lambda: tamis.sddmm(csr().tolil(), A, B), ValueError, r"format lil: .*S.tocsr\(\)"),
    (lambda: tamis.sddmm(csr(), A, B, edge="twice"), ValueError, "^edge = \"twice\".*scale"),
    (lambda: tamis.sddmm(csr(), A, B, edge=3), TypeError, "edge = 3"),
    (lambda: tamis.sddmm(csr(), A, B, math="fast"), ValueError, "math = 'fast': expected 'exact' or 'tf32'"),
    (lambda: tamis.sddmm(csr(), A, B, beta=1), ValueError, "beta = 1: expected out="),
    (lambda: tamis.sddmm(csr(), A, B, out=np.zeros(4, "float32")), ValueError, r"out has shape \(4,\): expected \(3,\)"),
    (lambda: tamis.sddmm(csr(), A, B, out=np.zeros(3)), ValueError, "out is fp64, the operands fp32: expected fp32$"),
        (lambda: tamis.sddmm(csr(), A, B, alpha="2"), TypeError, "alpha = '2', beta = 0.0: expected numbers"),
        (lambda: tamis.spmm(scipy.sparse.csr_array(np.eye(3, dtype="float32")), B, out=B), ValueError, "out is B: expected an array of its own"),
    (lambda: tamis.sddmm(csr(), A, B, values=VALUES[:2]), ValueError, "values has 2 elements: expected 3|values have 2"),
    (lambda: tamis.sddmm(csr(), A, B, values=np.repeat(VALUES, 2)[::2]), ValueError, "values.* not contiguous: .*ascontiguousarray"),
    (lambda: tamis.sddmm(csr(), A[::-1], B), ValueError, "A has shape .* strides .*ascontiguousarray"),
    (lambda: tamis.sddmm(csr(), np.broadcast_to(A[0], (2, 2)), B), ValueError, "A has shape .* strides"),
    (lambda: tamis.sddmm(csr(), np.lib.stride_tricks.as_strided(A, (2, 2), (3, 4)), B), ValueError, "not multiples of its element size"),
    (lambda: tamis.sddmm(csr().tocsc(), A, B, edge="softmax"), ValueError, "softmax.*tocsr"),
    (lambda: tamis.spmm(csr(), B, transpose=True), ValueError, "B"),
    (lambda: tamis.spmm((OFFSETS, COLUMNS), B, transpose=True), ValueError, "tamis.Pattern"),
    (lambda: tamis.sddmm((OFFSETS,), A, B), ValueError, "S has 1 parts"),
    (lambda: tamis.sddmm((OFFSETS.astype(float), COLUMNS), A, B), ValueError, "row offsets are fp64: expected int32 or int64"),
    (lambda: tamis.sddmm((OFFSETS, COLUMNS * np.nan), A, B), ValueError, "column indices are fp64"),
    (lambda: tamis.sddmm((OFFSETS, COLUMNS.astype("uint32")), A, B), ValueError, "column indices are uint32: expected int32 or int64"),
        (lambda: tamis.sddmm(([0, 2, 3], COLUMNS), A, B), TypeError, "row offsets are a list: expected an array of int32 or int64"),
    (lambda: tamis.sddmm((OFFSETS, COLUMNS[::-1]), A, B), ValueError, "not contiguous|strides"),
    (lambda: tamis.sddmm((OFFSETS, np.array([0, 3, 1])), A, B), tamis.PatternError, "3"),
    (lambda: tamis.sddmm((OFFSETS, np.array([0, -1, 1])), A, B), tamis.PatternError, "-1"),
    (lambda: tamis.sddmm((np.array([0, 9, 3]), COLUMNS), A, B), tamis.PatternError, "9"),
    (lambda: tamis.sddmm((np.array([0, 2, 2**40]), COLUMNS), A, B), ValueError, "1099511627776"),
    (lambda: tamis.Pattern((OFFSETS, COLUMNS), shape=(3, 3)), ValueError, "row offsets has 3 elements: expected 4|row offsets have"),
    (lambda: tamis.Pattern((OFFSETS, COLUMNS)), ValueError, "shape"),
    (lambda: tamis.Pattern((OFFSETS, np.array([0, 2**31, 1])), shape=(2, 3)), tamis.PatternError, "2147483648"),
    (lambda: tamis.Pattern(csr(), shape=(2, 3)), ValueError, "has one of its own"),
    (lambda: tamis.plan("sddm", csr(), inner=2), ValueError, "operation = 'sddm': expected 'sddmm' or 'spmm' or 'fused'"),
    (lambda: tamis.plan("sddmm", csr()), ValueError, "inner = None"),
    (lambda: tamis.plan("spmm", csr()), ValueError, "width = None"),
    (lambda: tamis.plan("sddmm", csr(), inner=2, algorithm="fastest"), ValueError, "fastest"),
    (lambda: tamis.plan("sddmm", csr(), inner=-5), ValueError, "-5"),
    (lambda: tamis.plan("sddmm", csr(), inner=2, type="int8"), ValueError, "^type = \"int8\""),
    (lambda: tamis.plan("sddmm", csr(), inner=2)(A), ValueError, "1 operands: a plan of sddmm takes A, B"),
    (lambda: tamis.plan("sddmm", csr(), inner=2)(A.astype("float64"), B.astype("float64"), values=VALUES.astype("float64")), ValueError,
     "operands are fp64.* the plan is for fp32"),
    (lambda: tamis.plan("sddmm", csr(), inner=3)(A, B), ValueError, "2.*3|3.*2"),
    (lambda: tamis.plan("sddmm", csr(), inner=2)(np.asfortranarray(A), B), ValueError, "layout"),
    (lambda: tamis.attention(csr(), A, B, B, bias=VALUES[:1]), ValueError, "bias has 1 elements: expected 3"),
        (lambda: tamis.attention(np.eye(3), A, B, B), TypeError, r"mask is a ndarray: .*csr_array\(mask\)"),
        (lambda: tamis.attention(csr(), B, B, B), ValueError, r"Q has shape \(3, 2\): expected 2 rows"),
        (lambda: tamis.attention(csr(), np.stack([A] * 2), B, B, bias=np.ones((3, 3), "float32")), ValueError,
         r"bias has shape \(3, 3\): expected \(3,\), or 2 of these"),
    (lambda: tamis.sddmm(csr(), A, B, edge="exp", scale=float("nan")), ValueError, "^scale = nan is not finite"),
    (lambda: tamis.sddmm(csr(), A, B, edge="leaky_relu", slope=float("inf")), ValueError, "^slope = inf is not finite"),
    (lambda: tamis.sddmm(csr(), A, B, edge="quotient", epsilon=-1), ValueError, "^epsilon = -1 is not positive"),
    (lambda: tamis.sddmm(csr(), A, B, alpha=float("nan")), ValueError, "^alpha is not a number"),
    (lambda: tamis.sddmm(csr(), A, B, scale="x"), TypeError, "^scale = 'x': expected a number"),
    (lambda: tamis.plan("sddmm", csr(), inner=2, slope=None), TypeError, "^slope = None: expected a number"),
    (lambda: tamis.plan("sddmm", csr(), inner=2, algorithm=5), TypeError, "^algorithm = 5: expected a string"),
        (lambda: tamis.set_threads("two"), TypeError, "threads = 'two': expected an integer"),
    (lambda: tamis.set_threads(-1), ValueError, "-1"),
])
def test_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_read_only_operands_are_fine():
    a, out = A.copy(), np.zeros(3, "float32")
    a.flags.writeable = out.flags.writeable = False
    assert tamis.sddmm((OFFSETS, COLUMNS), a, B).tolist() == PRODUCTS
    with pytest.raises(ValueError, match="out is read-only"):
        tamis.sddmm(csr(), a, B, out=out)


def test_exceptions_are_of_python():
    assert issubclass(tamis.PatternError, ValueError) and issubclass(tamis.ArgumentError, ValueError)
    assert issubclass(tamis.UnsupportedError, RuntimeError) and issubclass(tamis.DeviceError, RuntimeError)
    assert issubclass(tamis.OutOfMemoryError, MemoryError)
    with pytest.raises(tamis.Error) as caught:
        tamis.sddmm((OFFSETS, COLUMNS + 9), A, B)
    assert caught.value.status == 2


def test_arrays_live_as_long_as_the_pattern():
    columns = COLUMNS.copy()
    kept = weakref.ref(columns)
    pattern = tamis.Pattern((OFFSETS.copy(), columns), shape=(2, 3))
    del columns
    gc.collect()
    assert kept() is not None and tamis.sddmm(pattern, A, B).tolist() == PRODUCTS
    del pattern
    gc.collect()
    assert kept() is None


# ------------------------------------------------------------------------------ CuPy's streams, without CuPy


@pytest.mark.parametrize("newer", [True, False])
def test_memory_is_taken_on_the_stream_of_the_call(monkeypatch, newer):
    """From CuPy 14 by CUDA's stream protocol, before that by ExternalStream, which newer ones have too, with a warning."""
    from tamis import _kinds

    taken, given_back, current = [], [], []

    class Context:
        def __init__(self, number):
            self.number = number

        def __enter__(self):
            current.append(self.number)

        def __exit__(self, *_):
            current.pop()

    class External(Context):
        def __init__(self, number):
            assert not newer, "deprecated"
            super().__init__(number)

    class Memory:
        def __init__(self, size):
            taken.append((size, tuple(current)))
            self.ptr = 4096

        def __del__(self):
            given_back.append(self.ptr)

    def from_external(stream):
        version, number = stream.__cuda_stream__()
        assert version == 0
        return Context(number)

    stream = type("Stream", (), {"from_external": staticmethod(from_external)} if newer else {})
    cuda = type("cuda", (), {"Stream": stream, "ExternalStream": External, "alloc": staticmethod(Memory)})
    monkeypatch.setitem(sys.modules, "cupy", type("cupy", (), {"cuda": cuda}))
    monkeypatch.setattr(_kinds.CuPy, "_allocators", {})
    device = Context("device")
    device.id = 0
    table = _kinds.CuPy.allocator(type("Array", (), {"device": device})())
    for number in (77, None):
        assert table.contents.allocate(None, 100, number) == 4096
        table.contents.release(None, 4096, 100, number)
    assert taken == [(100, ("device", 77)), (100, ("device", 0))] and given_back == [4096, 4096] and not current
