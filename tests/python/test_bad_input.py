"""What callers get wrong, with the sentence that they get. Each kind has its tests; those of the first column are in other files.

    wrong device pairs           here
    mixed types                  test_arrays.py: test_refused; here for what it does not have
    read-only outputs            test_arrays.py: test_read_only_operands_are_fine, test_buffers
    a freed plan                 test_plans.py: test_a_closed_plan_is_refused, test_a_plan_closed_by_another_thread
    an array resized meanwhile   here
    NaN as an id                 here
    integers that are too large  test_arrays.py: test_refused for ids; here for sizes
    a fork after CUDA            test_process.py: test_a_fork_computes, test_a_fork_has_no_gpu
    two pools                    test_process.py: test_beside_pytorch
    a tensor that requires grad  here
    anything else                test_fuzz.py
"""
from __future__ import annotations

import array
import ctypes
import importlib.util
import threading
import time

import numpy as np
import pytest

import tamis

scipy_sparse = pytest.importorskip("scipy.sparse")
from tamis import ml  # noqa: E402

OFFSETS, COLUMNS = np.array([0, 2, 3]), np.array([0, 2, 1])
VALUES = np.float32([1, 2, 3])
A, B = np.float32([[1, 1], [2, 0]]), np.float32([[1, 0], [0, 1], [1, 1]])
NO_TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")


def pattern():
    return tamis.Pattern((OFFSETS, COLUMNS, VALUES), shape=(2, 3))


def model(**more):
    return ml.ALS(factors=2, iterations=1, **more)


def ratings():
    return scipy_sparse.csr_array((VALUES, COLUMNS, OFFSETS), shape=(2, 3))


# ------------------------------------------------------------------------------ wrong device pairs


class OnGpu:
    """An array that says that it is on a GPU; nobody may look at its memory."""

    def __init__(self, like, device=0):
        self.__cuda_array_interface__ = {"shape": like.shape, "typestr": like.dtype.str, "data": (4096, False), "version": 3, "strides": None}
        self.device = type("Device", (), {"id": device})()


@pytest.mark.parametrize("call, words", [
    (lambda S: tamis.sddmm(S, OnGpu(A), B), "A is on cuda:0 and S on cpu: move one"),
    (lambda S: tamis.sddmm(S, A, OnGpu(B, 1)), "B is on cuda:1 and S on cpu: move one"),
    (lambda S: tamis.spmm(S, OnGpu(B)), "B is on cuda:0 and S on cpu: move one"),
    (lambda S: tamis.fused(S, A, B, OnGpu(B)), "D is on cuda:0 and S on cpu: move one"),
    (lambda S: tamis.attention(S, A, B, OnGpu(B)), "is on cuda:0 and .* on cpu: move one"),
    (lambda S: tamis.sddmm(S, A, B, out=OnGpu(VALUES)), "out is on cuda:0 and S on cpu: move one"),
    (lambda S: tamis.sddmm(S, A, B, values=OnGpu(VALUES)), "values are on cuda:0 and S on cpu: move one")])
@pytest.mark.parametrize("checked", [False, True])
def test_devices_of_operands(call, words, checked):
    with pytest.raises(ValueError, match=words):
        call(pattern() if checked else scipy_sparse.csr_array((VALUES, COLUMNS, OFFSETS), shape=(2, 3)))


def test_devices_of_the_arrays_of_a_matrix():
    with pytest.raises(ValueError, match="the arrays of S are on cpu and cuda:0: move them to one"):
        tamis.sddmm((OFFSETS, OnGpu(COLUMNS)), A, B)
    with pytest.raises(ValueError, match="A is on cpu and S on cuda:0: move one"):
        tamis.sddmm((OnGpu(OFFSETS), OnGpu(COLUMNS)), A, B)
    with tamis.plan("sddmm", pattern(), inner=2) as plan, pytest.raises(ValueError, match="cuda:0.*cpu|cpu.*cuda:0"):
        plan(A, OnGpu(B))
    with pytest.raises(ValueError, match="X is on cuda:0: .*host memory|cuda:0|location"):
        model(devices=["cpu", "cpu"]).fit(_gpu_matrix())


def _gpu_matrix():
    """A matrix of SciPy's attributes with arrays on a GPU, as CuPy's are."""
    return type("Matrix", (), {"format": "csr", "nnz": 3, "shape": (2, 3), "dtype": VALUES.dtype, "indptr": OnGpu(OFFSETS),
                               "indices": OnGpu(COLUMNS), "data": OnGpu(VALUES)})()


# ------------------------------------------------------------------------------ mixed types; NaN as an id; integers that are too large, of which ctypes takes the low bits

NAN = float("nan")
LARGE = r"expected a whole number from -?[0-9*]+ to 2\*\*\d+ - 1"


@pytest.mark.parametrize("call, words", [
    (lambda: tamis.fused(pattern(), A, B, B.astype("float64")), r"D is fp64 and the other operands fp32: .*D.astype\('float32'\)"),
    (lambda: tamis.spmm(pattern(), B.astype("float64")), r"S's values are fp32, the operands fp64: .*S.astype\('float64'\)"),
    (lambda: tamis.sddmm(pattern(), A, B, values=VALUES.astype("float64")), r"values are fp64, the operands fp32: .*values.astype"),
    (lambda: tamis.attention(pattern(), A, B, B, bias=VALUES.astype("float16")), "fp16.*fp32"),
    (lambda: model().fit(ratings()).predict(ratings(), np.ones((2, 3))), "W.type = fp64: expected fp32"),
    (lambda: tamis.sddmm((OFFSETS, np.array([0, NAN, 1])), A, B), "column indices are fp64: expected int32 or int64"),
    (lambda: tamis.sddmm((np.array([0, NAN, 3]), COLUMNS), A, B), "row offsets are fp64: expected int32 or int64"),
    (lambda: tamis.Pattern.window(4, 1, 1, global_tokens=[NAN]), "global_tokens .* fp64: expected a list of whole numbers"),
    (lambda: tamis.Pattern.window(4, 1, 1, lengths=[NAN]), "lengths .* fp64: expected a list of whole numbers"),
    (lambda: model().fit(ratings()).recommend([NAN], 1), "rows has shape .* float64: expected a list of whole numbers"),
    (lambda: model().fit(ratings()).recommend([1.7], 1), "rows has shape .* float64: expected a list of whole numbers"),
    (lambda: model().fit(ratings()).similar([NAN], 1), "which has shape .* float64: expected a list of whole numbers"),
    (lambda: model().fit(ratings()).similar([[0]], 1), r"which has shape \(1, 1\)"),
    (lambda: model().fit(ratings() * NAN), "X has the value nan at row 0, column 0"),
    (lambda: model().fit(ratings()).transform(ratings() * np.float32(np.inf)), "inf at row 0, column 0"),
    (lambda: tamis.Pattern((OFFSETS, COLUMNS), shape=(2, 2**64 + 3)), f"S's number of columns = 18446744073709551619: {LARGE}"),
    (lambda: tamis.Pattern((OFFSETS, COLUMNS), shape=(2, 3 - 2**64)), f"S's number of columns = -18446744073709551613: {LARGE}"),
    (lambda: tamis.Pattern((OFFSETS, COLUMNS), shape=(2**64 + 2, 3)), f"S's number of rows = 18446744073709551618: {LARGE}"),
    (lambda: tamis.plan("sddmm", pattern(), inner=2**64 + 2), f"inner = 18446744073709551618: {LARGE}"),
    (lambda: tamis.plan("spmm", pattern(), width=2**64 + 2), f"width = 18446744073709551618: {LARGE}"),
    (lambda: tamis.plan("sddmm", pattern(), inner=2, batch=2**64 + 1), f"batch = 18446744073709551617: {LARGE}"),
    (lambda: tamis.plan("sddmm", pattern(), inner=2, expected_calls=2**64 + 1), f"expected_calls = 18446744073709551617: {LARGE}"),
    (lambda: tamis.set_threads(2**32 + 1), f"threads = 4294967297: {LARGE}"),
    (lambda: tamis.Pattern.mask(2**64 + 4, 4), f"rows = 18446744073709551620: {LARGE}"),
    (lambda: tamis.Pattern.mask(4, 4, window=(2**64, 0)), f"left = 18446744073709551616: {LARGE}"),
    (lambda: tamis.Pattern.mask(4, 4, every=2**64 + 1), f"every = 18446744073709551617: {LARGE}"),
    (lambda: tamis.Pattern.mask(4, 4, causal=True, offset=2**64), f"offset = 18446744073709551616: {LARGE}"),
    (lambda: tamis.Pattern.mask(4, 4, window=1, global_tokens=2**64 + 1), f"global_tokens = 18446744073709551617: {LARGE}"),
    (lambda: ml.ALS(factors=2**64 + 3).fit(ratings()), f"factors = 18446744073709551619: {LARGE}"),
    (lambda: ml.ALS(iterations=2**32 + 1).fit(ratings()), f"iterations = 4294967297: {LARGE}"),
    (lambda: ml.ALS(threads=np.int64(2**33)).fit(ratings()), f"threads = 8589934592: {LARGE}"),
    (lambda: ml.ALS(seed=-1).fit(ratings()), r"seed = -1: expected a whole number from 0 to 2\*\*64 - 1"),
    (lambda: ml.ALS(weighted="no").fit(ratings()), "weighted = 'no': expected True or False"),
    (lambda: ml.ALS(regularization="much").fit(ratings()), "regularization = 'much': expected a number"),
    (lambda: model().fit(ratings()).recommend([2**40], 1), "rows.0. = 1099511627776, the model has 2 rows")])
def test_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_values_that_are_no_array():
    for values in ([1, 2, 3], object(), "abc"):
        with pytest.raises(TypeError, match="values is a .*: expected an array"):
            tamis.sddmm(pattern(), A, B, values=values)


# ------------------------------------------------------------------------------ arrays resized by others


def test_an_array_of_a_pattern_is_not_resized():
    """The owners of the memory refuse, since the pattern looks at it."""
    columns, numbers = COLUMNS.copy(), array.array("q", COLUMNS.tolist())
    kept = [tamis.Pattern((OFFSETS, columns, VALUES), shape=(2, 3)), tamis.Pattern((OFFSETS, numbers, VALUES), shape=(2, 3))]
    with pytest.raises(ValueError, match="cannot resize"):
        columns.resize(1000)
    with pytest.raises(BufferError, match="exporting buffers"):
        numbers.append(3)
    assert all(tamis.sddmm(one, A, B).tolist() == [1, 4, 0] for one in kept)
    del kept
    numbers.append(3)
    columns.resize(1000)


@NO_TORCH
def test_a_tensor_of_a_pattern_that_is_resized():
    """PyTorch resizes memory at which others look: the next call says so. A tensor that takes other memory leaves the pattern its own."""
    import torch

    def tensors():
        return [torch.from_numpy(x).clone() for x in (OFFSETS, COLUMNS, VALUES)]

    for place in range(3):
        three = tensors()
        checked = tamis.Pattern(tuple(three), shape=(2, 3))
        plan = tamis.plan("sddmm", checked, inner=2)
        call = torch.from_numpy(A), torch.from_numpy(B)
        for use in (lambda: tamis.sddmm(checked, *call), lambda: plan(*call)):
            assert use().tolist() == [1, 4, 0]
        three[place].resize_(100000)
        for use in (lambda: tamis.sddmm(checked, *call), lambda: plan(*call), lambda: checked.explain(), lambda: tamis.plan("sddmm", checked, inner=2)):
            with pytest.raises(ValueError, match="a tensor of this pattern was resized: make a new tamis.Pattern"):
                use()
        three = tensors()
        checked = tamis.Pattern(tuple(three), shape=(2, 3))
        three[place].data = three[place].new_zeros(0)
        assert tamis.sddmm(checked, *call).tolist() == [1, 4, 0]


@pytest.mark.parametrize("planned", [False, True])
def test_an_operand_is_not_resized_while_it_is_used(planned):
    """While a call runs in one thread, another one that resizes its operand gets an error, and the result is right."""
    rows, each = 2000, 50
    S = (np.arange(0, rows * each + 1, each), np.tile(np.arange(each), rows))
    S = tamis.Pattern(S, shape=(rows, rows)) if planned else scipy_sparse.csr_array((np.ones(rows * each, "float32"), S[1], S[0]), shape=(rows, rows))
    operands = {"a": np.ones((rows, 16), "float32"), "b": np.ones((rows, 16), "float32")}
    begun, seen, results, refused = threading.Event(), threading.Event(), [], 0
    deadline = time.monotonic() + 120

    def work(a, b):
        while len(results) < 40 or not (seen.is_set() or time.monotonic() > deadline):
            begun.set()
            results.append(float(tamis.sddmm(S, a, b, edge="mask").sum()))

    thread = threading.Thread(target=work, args=(operands["a"], operands["b"]))
    thread.start()
    begun.wait()
    while thread.is_alive():
        try:
            operands["b"].resize((4, 4))
        except ValueError:
            refused += 1
            seen.set()
        else:
            break  # after the last call
    thread.join()
    assert refused > 0 and len(results) >= 40 and set(results) == {16.0 * rows * each}


def test_integers_at_their_limit():
    assert tamis.Pattern((OFFSETS, COLUMNS), shape=(2, 2**55 - 1)).shape == (2, 2**55 - 1)
    for shape, what in (((2**62, 4), "rows = 4611686018427387904"), ((4, 2**55), "cols = 36028797018963968")):
        empty = scipy_sparse.coo_array((np.zeros(0, "float32"), (np.zeros(0, "int64"), np.zeros(0, "int64"))), shape=shape)
        for call in (tamis.Pattern, lambda S: tamis.plan("spmm", S, width=1), lambda S: tamis.plan("sddmm", S, inner=1)):
            with pytest.raises(ValueError, match=f"S.{what}: expected at most 36028797018963967"):
                call(empty)
    with pytest.raises(ValueError, match="too big|at most"):  # NumPy's words for the result, or ours for S
        tamis.spmm(scipy_sparse.coo_array((2**62, 4), dtype="float32"), np.ones((4, 1), "float32"))
    with pytest.raises(ValueError, match="batch = 4611686018427387904: expected at most 36028797018963967"):
        tamis.plan("sddmm", pattern(), inner=2, batch=2**62)
    assert model(seed=2**64 - 1).fit(ratings()).n_iter_ == 1
    assert model(weighted=np.bool_(True)).fit(ratings()).n_iter_ == 1


# ------------------------------------------------------------------------------ a tensor that requires grad


@NO_TORCH
@pytest.mark.filterwarnings("ignore:Sparse")
def test_tensors_that_require_grad():
    """Functions without autograd refuse them in each place, and say which has it; without recording they take them."""
    import torch

    a, b, values = torch.from_numpy(A.copy()), torch.from_numpy(B.copy()), torch.from_numpy(VALUES.copy())
    S = (torch.from_numpy(OFFSETS), torch.from_numpy(COLUMNS))
    checked = tamis.Pattern(S, shape=(2, 3))
    matrix = torch.sparse_csr_tensor(*S, values, (2, 3))

    def recorded(x):
        return x.detach().clone().requires_grad_()

    calls = {"A": lambda x, s: tamis.sddmm(s, recorded(a), b, edge="mask"), "B": lambda x, s: tamis.sddmm(s, a, recorded(b), edge="mask"),
             "D": lambda x, s: tamis.fused(s, a, b, recorded(b), edge="mask"), "values": lambda x, s: tamis.sddmm(s, a, b, values=recorded(values)),
             "out": lambda x, s: tamis.sddmm(s, a, b, edge="mask", out=recorded(values))}
    for name, call in calls.items():
        for s in (S, checked):
            with pytest.raises(ValueError, match=rf"{name} requires grad, which this function does not record: use tamis.torch, or pass {name}\.detach\(\)"):
                call(None, s)
    with pytest.raises(ValueError, match="S requires grad.*tamis.torch"):
        tamis.sddmm(recorded(matrix), a, b)
    with pytest.raises(ValueError, match="X requires grad"):
        model().fit(recorded(matrix))
    with tamis.plan("sddmm", checked, inner=2, edge="mask") as plan, pytest.raises(ValueError, match="A requires grad"):
        plan(recorded(a), b)
    with torch.no_grad():
        assert tamis.sddmm(checked, recorded(a), b, edge="mask").tolist() == [1, 2, 0]


def test_sizes_of_ctypes_are_what_the_limits_say():
    """What the checks above rest on."""
    from tamis import _errors
    assert _errors.fits("x", 2**31 - 1, ctypes.c_int) == 2**31 - 1 and _errors.fits("x", -2**63, ctypes.c_int64) == -2**63
    for value, kind in ((2**31, ctypes.c_int), (-2**31 - 1, ctypes.c_int), (2**63, ctypes.c_int64), (2**64, ctypes.c_uint64), (-1, ctypes.c_uint64)):
        with pytest.raises(ValueError, match=f"x = {value}: {LARGE}"):
            _errors.fits("x", value, kind)
