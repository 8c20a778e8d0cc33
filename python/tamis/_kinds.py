"""Results are arrays of the operands' library, on their device, in its current stream, from its allocator.

An array by __cuda_array_interface__ may name another stream in which its library uses it. A call computes in one stream, which waits for those that the
arrays name; afterwards these wait for it, so that what they do later sees the results, and changes no operand that is still read. The host waits for neither.
"""
from __future__ import annotations

import ctypes
import functools
import sys
from ctypes import byref
from typing import Any, Iterable, Optional

import numpy

from . import _declarations as c
from . import _errors, _interrupts, _types
from ._device import opened
from ._library import Owned, lib, must
from ._views import View, _current_stream, torch_device

_NUMPY_DTYPES = {number: numpy.dtype(name) for number, name in _types.NUMPY_NAMES.items() if name != "bfloat16"}


class NumPy:
    """Results in host memory."""

    name = "numpy"

    @staticmethod
    def empty(shape: tuple[int, ...], kind: int, like: Any) -> Any:
        dtype = _NUMPY_DTYPES.get(kind)
        if dtype is None:
            dtype = like.dtype if getattr(getattr(like, "dtype", None), "name", "") == "bfloat16" else _ml_dtypes_bfloat16()
        return numpy.empty(shape, dtype)

    @staticmethod
    def stream(like: Any) -> int | None:
        return None

    @staticmethod
    def allocator(like: Any) -> Any:
        return None


def _ml_dtypes_bfloat16() -> Any:
    try:
        import ml_dtypes
    except ImportError:
        raise _errors.ArgumentError("the result is bf16, which NumPy has only with ml_dtypes: pip install ml_dtypes, or pass out=") from None
    return numpy.dtype(ml_dtypes.bfloat16)


class Torch:
    """Results are tensors of PyTorch."""

    name = "torch"
    _dtypes: dict[int, Any] = {}
    _allocators: dict[str, Any] = {}

    @classmethod
    def empty(cls, shape: tuple[int, ...], kind: int, like: Any) -> Any:
        dtype = cls._dtypes.get(kind)
        if dtype is None:
            torch = sys.modules["torch"]
            cls._dtypes.update({number: getattr(torch, name) for number, name in _types.NUMPY_NAMES.items()})
            dtype = cls._dtypes[kind]
        return like.new_empty(shape) if like.dtype is dtype else like.new_empty(shape, dtype=dtype)

    @staticmethod
    def stream(like: Any) -> int | None:
        if not like.is_cuda:
            return None
        torch = sys.modules["torch"]
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # without a stream object, whose creation takes as long as the rest of a small call
        return raw(like.get_device()) if raw is not None else torch.cuda.current_stream(like.device).cuda_stream

    @classmethod
    def allocator(cls, like: Any) -> Any:
        """The caching allocator of PyTorch, for memory on a GPU."""
        if not like.is_cuda:
            return None
        torch = sys.modules["torch"]
        device = torch_device(like.device)
        if device not in cls._allocators:
            number = like.device.index or 0
            cls._allocators[device] = _table(
                lambda size, stream: torch.cuda.caching_allocator_alloc(size, number, stream or 0), torch.cuda.caching_allocator_delete)
        return cls._allocators[device]


class _Stream:
    """A stream for other libraries, by CUDA's stream protocol. It is borrowed: its maker owns it."""

    def __init__(self, number: int):
        self.number = number

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.number


def _cupy_stream(number: int) -> Any:
    """CuPy's object for a stream that another one owns. CuPy deprecates ExternalStream from 14.0 on; older ones have nothing else."""
    cuda = sys.modules["cupy"].cuda
    if hasattr(cuda.Stream, "from_external"):
        return cuda.Stream.from_external(_Stream(number))
    return cuda.ExternalStream(number)


class CuPy:
    """Results are arrays of CuPy."""

    name = "cupy"
    _allocators: dict[str, Any] = {}

    @staticmethod
    def empty(shape: tuple[int, ...], kind: int, like: Any) -> Any:
        with like.device:
            return sys.modules["cupy"].empty(shape, _types.NUMPY_NAMES[kind])

    @staticmethod
    def stream(like: Any) -> int | None:
        return _current_stream(like)

    @classmethod
    def allocator(cls, like: Any) -> Any:
        """CuPy's current pool."""
        cupy, device = sys.modules["cupy"], like.device
        if device.id not in cls._allocators:
            lent: dict[int, Any] = {}

            def allocate(size: int, stream: int | None) -> int:
                with device, _cupy_stream(stream or 0):
                    memory = cupy.cuda.alloc(size)
                lent[memory.ptr] = memory
                return memory.ptr

            cls._allocators[device.id] = _table(allocate, lent.pop)
        return cls._allocators[device.id]


def _table(allocate: Any, release: Any) -> Any:
    """Make the library's allocator table of two functions. It lives as long as the process, as plans that use it may."""
    fields: dict[str, Any] = {name: kind for name, kind, *_ in c.tamis_allocator._fields_}

    def allocated(_: Any, size: int, stream: int | None) -> int | None:
        return _interrupts.memory.asked(allocate, size, stream)

    def released(_: Any, memory: int, size: int, stream: int | None) -> None:
        release(memory)

    table = c.tamis_allocator(None, fields["allocate"](allocated), fields["release"](released))
    return ctypes.pointer(table)


def kind_of(array: Any) -> Any:
    """Return the kind of results for this operand."""
    if isinstance(array, numpy.ndarray):
        return NumPy
    library = type(array).__module__.partition(".")[0]
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return Torch
    if library == "cupy":
        return CuPy
    return NumPy


# ------------------------------------------------------------------------------ the order of work in foreign streams

_LEGACY = (None, 0, 1)  # CUDA's default stream, in the library's numbers and in CUDA's


def others(views: Iterable[Optional[View]], stream: Optional[int]) -> list[int]:
    """Return the streams that arrays name, except the call's own."""
    named = {v.stream for v in views if v is not None and v.stream is not None}
    return sorted(named - ({1} if stream in _LEGACY else {stream}))


def wait(device: str, waiting: Optional[int], for_stream: Optional[int]) -> None:
    """Make later work in one stream wait for the work submitted to another so far."""
    handle = opened(device).handle
    event = Owned(functools.partial(lib.tamis_event_destroy, handle))
    must(lib.tamis_event_record(handle, for_stream, byref(event.value)))
    must(lib.tamis_stream_wait(handle, waiting, event.value))


def settle(view: View) -> View:
    """Wait for the work submitted to an array's stream: for index arrays and factors, which are read once and kept."""
    if view.stream is not None:
        must(lib.tamis_stream_synchronize(opened(view.device).handle, view.stream))
    return view
