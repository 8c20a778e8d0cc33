"""Arrays by __cuda_array_interface__ that name a stream: the call waits for it, and it waits for the call. No GPU is needed: the library's
functions are replaced by ones that write down who waits for whom (test_torch.py looks at results on a GPU)."""
from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import tamis
from tamis import _call, _kinds

OFFSETS, COLUMNS = np.array([0, 1, 2], "int32"), np.array([1, 0], "int32")
SIDE, OTHER = 0x7000, 0x9000


class OnGpu:
    """An array that says that it is on a GPU, at a place of its own; nobody looks at its memory."""

    places = itertools.count(4096, 4096)

    def __init__(self, like, stream=None):
        self.__cuda_array_interface__ = {"shape": like.shape, "typestr": like.dtype.str, "data": (next(self.places), False), "version": 3, "strides": None,
                                         "stream": stream}


@pytest.fixture
def log(monkeypatch):
    """What the library was asked for, in order: (waiting stream, stream waited for), "computed", ("synchronized", stream)."""
    found, recorded = [], []

    def record(_, stream, event):
        recorded.append(stream)
        return 0

    def wait(_, stream, event):
        found.append((stream, recorded[-1]))
        return 0

    def compute(*arguments):
        found.append("computed")
        return 0

    device = SimpleNamespace(handle=None, on_gpu=True)
    monkeypatch.setattr(_kinds, "opened", lambda name: device)
    monkeypatch.setattr(_call, "opened", lambda name: device)
    monkeypatch.setattr(_kinds, "lib", SimpleNamespace(
        tamis_event_record=record, tamis_stream_wait=wait, tamis_event_destroy=lambda *_: None,
        tamis_stream_synchronize=lambda _, stream: found.append(("synchronized", stream)) or 0))
    monkeypatch.setattr(_call, "ONCE", {operation: compute for operation in _call.ONCE})
    return found


def sddmm(a=None, b=None, out=None, s=None):
    A = np.zeros((2, 3), "float32")
    return tamis.sddmm((OnGpu(OFFSETS, s), OnGpu(COLUMNS, s)), OnGpu(A, a), OnGpu(A, b), edge="mask", out=OnGpu(A[0, :2], out))


def test_default_streams_need_no_order(log):
    sddmm()
    sddmm(a=1, b=1, out=1)
    assert log == ["computed", "computed"]


def test_a_stream_of_an_operand(log):
    sddmm(a=SIDE, b=SIDE)
    assert log == [(None, SIDE), "computed", (SIDE, None)]


def test_a_stream_of_the_result(log):
    sddmm(out=SIDE)
    assert log == [(None, SIDE), "computed", (SIDE, None)]


def test_several_streams(log):
    sddmm(a=SIDE, b=OTHER, out=1)
    assert log == [(None, SIDE), (None, OTHER), "computed", (SIDE, None), (OTHER, None)]


def test_a_vector_keeps_its_stream(log):
    tamis.spmm((OnGpu(OFFSETS), OnGpu(COLUMNS)), OnGpu(np.zeros(2, "float32"), SIDE), out=OnGpu(np.zeros(2, "float32")))
    assert log == [(None, SIDE), "computed", (SIDE, None)]


def test_index_arrays_are_waited_for(log):
    sddmm(s=SIDE)
    assert set(log[:-1]) == {("synchronized", SIDE)} and log[-1] == "computed"


def test_stream_zero_is_refused(log):
    with pytest.raises(ValueError, match="A.__cuda_array_interface__ has stream 0, which does not say which stream it is"):
        sddmm(a=0)
    assert log == []


def test_statistics_need_a_library_that_makes_arrays(log):
    A = np.zeros((1, 2, 3), "float32")
    with pytest.raises(ValueError, match="on cuda:0: return_lse makes an array for NumPy, PyTorch and CuPy alone"):
        tamis.attention((OnGpu(OFFSETS), OnGpu(COLUMNS)), OnGpu(A), OnGpu(A), OnGpu(A), return_lse=True, out=OnGpu(A))
