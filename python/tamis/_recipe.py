"""Calls that repeat an earlier one with operands of the same types, shapes and strides: only addresses are new.

The first such call checks its operands and makes their views; a recipe keeps what does not depend on addresses. It takes a third of
the time. Only arrays of NumPy and tensors of PyTorch themselves have recipes.
"""
from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any, Optional

import numpy

from . import _declarations as c
from ._kinds import Torch
from ._library import lib, must

MOST = 256  # recipes per pattern or plan
_ndarray = numpy.ndarray
_byte_of, _address = ctypes.c_char.from_buffer, ctypes.addressof
_tensors: tuple[type, ...] = ()


def form(x: Any) -> Optional[tuple]:
    """Return the properties of an array that determine its view, except the address; None: it has no recipe."""
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
        if hasattr(torch, "nn"):  # PyTorch is completely imported
            _tensors = (torch.Tensor, torch.nn.Parameter)
    return _tensors


def pointer(x: Any) -> int:
    """Return the address of an array that has a form."""
    if type(x) is _ndarray:
        try:
            return _address(_byte_of(x))  # type: ignore[arg-type]
        except (TypeError, ValueError, BufferError):  # read-only, or not packed
            return x.__array_interface__["data"][0]
    return x.data_ptr()


def same_array(x: Any, y: Any) -> bool:
    """Return True if two operands are known to be one array: tensors of PyTorch by their addresses, others by identity."""
    return x is y or (type(x) in _tensor_types() and type(y) in _tensor_types() and x.data_ptr() == y.data_ptr())


def key_of(operation: int, how: tuple, operands: tuple, values: Any, out: Any) -> Optional[tuple]:
    """Return the key of a recipe; None if there is none for such operands."""
    forms: list[Any] = [operation, how, len(operands) == 3 and same_array(operands[1], operands[2])]
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


def keep_recipe(recipes: dict, key: tuple, recipe: Any) -> None:
    """Keep a recipe of a pattern or plan; if there are too many, drop all others."""
    if len(recipes) >= MOST:
        recipes.clear()
    recipes[key] = recipe


@functools.lru_cache(maxsize=None)
def frame_of(matrices: int) -> Any:
    """Return the execution and all views of a call as one structure, so that a call makes one object of ctypes, with the addresses, also of
    views, as fields."""
    assert c.tamis_dense._fields_[0][0] == "data"
    fields: list[tuple] = [(name, ctypes.c_void_p if issubclass(kind, ctypes._Pointer) else kind) for name, kind, *_ in c.tamis_execution._fields_]
    rest = ctypes.c_char * (ctypes.sizeof(c.tamis_dense) - ctypes.sizeof(ctypes.c_void_p))
    for number in range(matrices):
        fields += [(f"data{number}", ctypes.c_void_p), (f"view{number}", rest)]
    frame = type(f"Frame{matrices}", (ctypes.Structure,), {"_fields_": fields})
    assert ctypes.sizeof(frame) == ctypes.sizeof(c.tamis_execution) + matrices * ctypes.sizeof(c.tamis_dense)
    return frame


@functools.lru_cache(maxsize=None)
def of_addresses(function: str, arguments: int) -> Any:
    """Return a function of the library that takes plain addresses: conversions to typed pointers cost a microsecond."""
    return ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * arguments)((function, lib))


class Frame:
    """The arguments of a call besides addresses. views: the library's views in the order of its arguments, None for a null pointer; more: views to which
    the execution points."""

    __slots__ = ("handle", "function", "frame", "template", "places", "fields", "in_stream")

    def __init__(self, handle: Any, function: str, views: list, execution: Any, more: tuple = ()):
        present = [*(view for view in views if view is not None), *more]
        made = frame_of(len(present))
        self.handle, self.frame = handle, made.from_buffer_copy
        self.template = bytes(execution) + b"".join(map(bytes, present))
        self.fields = [f"data{number}" for number in range(len(present))]
        offsets = iter([getattr(made, field).offset for field in self.fields])
        self.places: list[Any] = [None if view is None else next(offsets) for view in views]
        self.function = of_addresses(function, len(views) + 2)
        self.in_stream = present[0].location == c.TAMIS_DEVICE


class Recipe(Frame):
    """A call. views: of the operands, then of the result. turned: the library takes the operands in reverse order."""

    __slots__ = ("turned", "shape", "type", "kind", "pointer", "own_values", "alike")

    def __init__(self, handle: Any, function: str, views: list, execution: Any, shape: tuple[int, ...], kind: Any, own_values: bool, turned: bool):
        super().__init__(handle, function, views, execution)
        self.shape, self.type, self.kind, self.own_values, self.turned = shape, views[-1].type, kind, own_values, turned
        self.pointer = sys.modules["torch"].Tensor.data_ptr if kind.name == "torch" else pointer
        self.alike = kind.name == "torch" and self.type == views[0].type  # the result is of the operands' type

    def run(self, operands: tuple, values: Any, out: Any, alpha: float, beta: float, statistics: Optional[int]) -> Any:
        """Make the call and return its array."""
        handle, address = self.handle, self.pointer
        like = operands[0]
        if out is None:
            out = like.new_empty(self.shape) if self.alike else self.kind.empty(self.shape, self.type, like)
        frame = self.frame(self.template)
        if self.in_stream:
            frame.stream = self.kind.stream(like)
        frame.alpha = alpha
        frame.beta = beta
        if not self.own_values:
            frame.values = None if values is None else pointer(values)  # of SciPy's matrix also beside tensors
        for field, x in zip(self.fields, (*(operands[::-1] if self.turned else operands), out)):
            setattr(frame, field, address(x))
        if statistics is not None:
            frame.softmax_rows = statistics
        memory = handle.bring_workspace(frame, like) if handle.workspace else None
        at = _address(frame)
        status = self.function(handle.value, *[at + place for place in self.places], at)
        if status:
            must(status)
        del memory
        return out


class RecipeOfGradient(Frame):
    """A call of a gradient, with tensors: the gradient that is given, the matrices, and the results, None where they are not wanted."""

    __slots__ = ("results", "reads")

    def __init__(self, handle: Any, function: str, views: list, results: list, execution: Any, read: Any):
        super().__init__(handle, function, views, execution, () if read is None else (read,))
        self.reads = None if read is None else ctypes.sizeof(execution) + ctypes.sizeof(read) * (len(self.fields) - 1)
        self.results = [None if x is None else (x.shape, x.stride() if not x.is_contiguous() else None) for x in results]

    def run(self, grad: Any, matrices: tuple, values: Any, statistics: Any, result: Any) -> list:
        """Make the call, and return the gradients of the matrices and of the values."""
        handle, like = self.handle, matrices[0]
        grad = grad.contiguous()
        frame = self.frame(self.template)
        if self.in_stream:
            frame.stream = Torch.stream(like)
        if values is not None:
            frame.values = values.data_ptr()
        made: list = []
        for of, x in zip(self.results, (*matrices, values)):
            if of is None or x is None:
                made.append(None)
            else:
                shape, strides = of
                made.append(x.new_empty(shape) if strides is None else x.new_empty_strided(shape, strides))
        for field, x in zip(self.fields, (grad, *matrices, *(x for x in made if x is not None))):
            setattr(frame, field, x.data_ptr())
        at = _address(frame)
        if statistics is not None:
            frame.softmax_rows = statistics.data_ptr()
        if self.reads is not None:
            result = result.contiguous()
            setattr(frame, self.fields[-1], result.data_ptr())
            frame.result = at + self.reads
        memory = handle.bring_workspace(frame, like) if handle.workspace else None
        status = self.function(handle.value, *[None if place is None else at + place for place in self.places], at)
        if status:
            must(status)
        del memory, handle, result  # keeps them alive until the library has returned
        return made
