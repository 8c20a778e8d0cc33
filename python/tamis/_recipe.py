"""A call that was made before, with operands of the same types, shapes and strides: all that is left are addresses.

The first such call checks its operands and makes their views; a recipe keeps what does not depend on addresses. It takes a third of
the time. Only arrays of NumPy and tensors of PyTorch themselves have recipes.
"""
from __future__ import annotations

import ctypes
import sys
from ctypes import byref
from typing import Any, Optional

import numpy

from . import _declarations as c
from ._library import must

MOST = 256  # recipes of a pattern or plan
_ndarray = numpy.ndarray
_byte_of, _address = ctypes.c_char.from_buffer, ctypes.addressof
_dense_of = c.tamis_dense.from_buffer_copy
_tensors: tuple[type, ...] = ()


def form(x: Any) -> Optional[tuple]:
    """What of an array decides how it is passed, besides its address; None: it has no recipe."""
    kind = type(x)
    if kind is _ndarray:
        return x.dtype, x.shape, x.strides
    if kind in _tensor_types():
        torch = sys.modules["torch"]
        if (x.requires_grad and torch.is_grad_enabled()) or x.layout is not torch.strided or x.is_neg():
            return None
        return x.dtype, x.shape, x.stride(), x.device
    return None


def _tensor_types() -> tuple[type, ...]:
    global _tensors
    if not _tensors and "torch" in sys.modules:
        torch = sys.modules["torch"]
        if hasattr(torch, "nn"):  # it is imported completely
            _tensors = (torch.Tensor, torch.nn.Parameter)
    return _tensors


def pointer(x: Any) -> int:
    """The address of an array that has a form."""
    if type(x) is _ndarray:
        try:
            return _address(_byte_of(x))  # type: ignore[arg-type]
        except (TypeError, ValueError, BufferError):  # read-only, or not packed
            return x.__array_interface__["data"][0]
    return x.data_ptr()


def key_of(operation: int, how: tuple, operands: tuple, values: Any, out: Any) -> Optional[tuple]:
    """The name of a recipe; None: there is none for such operands."""
    forms: list[Any] = [operation, how]
    for x in operands:
        of = form(x)
        if of is None:
            return None
        forms.append(of)
    if values is not None:
        of = form(values)
        if of is None:
            return None
        forms.append(("values", of))
    if out is not None:
        of = form(out)
        if of is None or (type(out) is _ndarray and not out.flags.writeable):
            return None
        forms.append(("out", of))
    return tuple(forms)


class Recipe:
    """What a call passes besides addresses: views of operands and of the result, the plan, the values of S."""

    __slots__ = ("handle", "function", "operands", "result", "shape", "type", "kind", "values", "apart")

    def __init__(self, handle: Any, function: Any, operands: list, result: Any, shape: tuple[int, ...], type: int, kind: Any,
                 values: Optional[int], apart: int):
        self.handle, self.function, self.shape, self.type, self.kind = handle, function, shape, type, kind
        self.operands = [(place, bytes(view)) for place, view in operands]
        self.result, self.values, self.apart = bytes(result), values, apart

    def run(self, operands: tuple, values: Any, out: Any, alpha: float, beta: float, statistics: Optional[int]) -> Any:
        """Makes the call and returns its array."""
        handle = self.handle
        like = operands[0]
        if out is None:
            out = self.kind.empty(self.shape, self.type, like)
        views = []
        for place, view in self.operands:
            matrix = _dense_of(view)
            matrix.data = pointer(operands[place])
            views.append(byref(matrix))
        result = _dense_of(self.result)
        result.data = pointer(out)
        execution = c.tamis_execution(self.kind.stream(like), alpha, beta, self.values if values is None else pointer(values), self.apart)
        if statistics is not None:
            execution.softmax_rows = statistics
        memory = handle.bring_workspace(execution, like) if handle.workspace else None
        status = self.function(handle.value, *views, byref(result), byref(execution))
        if status:
            must(status)
        del memory
        return out
