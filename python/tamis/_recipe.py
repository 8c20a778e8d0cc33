"""Calls that repeat an earlier one with operands of the same types, shapes and strides: only addresses are new.

The first such call checks its operands and makes their views; a recipe keeps what does not depend on addresses. Only arrays of NumPy and tensors of
PyTorch themselves have recipes. Their steps are written twice: in C (src/python), which takes a third of the time, and here, for Pythons and
versions of PyTorch that have no such interface of C.
"""
from __future__ import annotations

import ctypes
import functools
import importlib.machinery
import importlib.util
import struct
import sys
import sysconfig
from typing import Any, Iterable, Optional

import numpy

from . import _declarations as c
from ._library import _places, lib, must
from ._views import extent, view

INTERFACE = 2  # of the compiled module that this file knows
MOST = 256  # recipes per pattern or plan
CONSTANT, PLACE, ARRAY, STREAM, ALPHA, BETA, OWNER = range(7)  # what an argument, or a field of a structure, holds
_ndarray = numpy.ndarray
_byte_of, _address = ctypes.c_char.from_buffer, ctypes.addressof
_tensors: tuple[type, ...] = ()


def tensor_types() -> tuple[type, ...]:
    """Return PyTorch's own types, if it is imported by now; then the steps are chosen, since the compiled ones may not know this version."""
    global _tensors
    if not _tensors and "torch" in sys.modules:
        torch = sys.modules["torch"]
        if hasattr(torch, "nn"):  # PyTorch is completely imported
            _tensors = (torch.Tensor, torch.nn.Parameter)
            _use_torch(torch)
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
    return x is y or (type(x) in tensor_types() and type(y) in tensor_types() and x.data_ptr() == y.data_ptr())


# ------------------------------------------------------------------------------ recipes


class Structures:
    """The structures of a call, one after the other, and the fields that differ from call to call: (place, source, number)."""

    def __init__(self) -> None:
        self.bytes, self.fills = bytearray(), []  # type: ignore[var-annotated]

    def add(self, given: Any, *fields: tuple[str, int, int]) -> tuple[int, int]:
        """Add a structure, with the sources of some fields by name. Returns the argument that points to it."""
        place = len(self.bytes)
        self.bytes += bytes(given) + bytes(-ctypes.sizeof(given) % 16)
        self.fills += [(place + getattr(type(given), name).offset, source, number) for name, source, number in fields]
        return PLACE, place

    def view(self, given: Optional[c.tamis_dense], number: int) -> tuple[int, int]:
        """Add the view of an array; None: the argument is a null pointer."""
        return (CONSTANT, 0) if given is None else self.add(given, ("data", ARRAY, number))


class Recipe:
    """A call of a function. Its arrays are given, and may be None or addresses; the results, which it makes, come after them.

    results: for each None, or the place of an array, a name of its method and two or fewer arguments, or -1 and a function with its arguments. The first
    `shown` are returned. device: the CUDA device whose current stream is used, or -1. out: the number of the caller's output, or -1; a call is not made if it
    may share memory with another array, or with `ranges`, addresses in pairs. owner: has the plan's address as `value`, None once it is destroyed;
    None: the call has no plan. keep: what must live as long.
    """

    __slots__ = ("function", "frame", "structures", "arguments", "fills", "results", "shown", "device", "out", "ranges", "owner", "keep")

    def __init__(self, function: int, structures: bytes, arguments: Iterable, fills: Iterable, results: tuple, shown: int, device: int, out: int,
                 ranges: bytes, owner: Any, keep: Any):
        self.structures, self.arguments, self.fills, self.results, self.shown = structures, tuple(arguments), tuple(fills), results, shown
        self.device, self.out, self.ranges, self.owner, self.keep = device, out, list(struct.iter_unpack("PP", ranges)), owner, keep
        self.function, self.frame = _of_addresses(function, len(self.arguments)), (ctypes.c_char * len(structures)).from_buffer_copy

    def run(self, arrays: tuple, alpha: float, beta: float) -> Any:
        plan = None if self.owner is None else self.owner.value
        if (plan is None and self.owner is not None) or (self.out >= 0 and self._overlaps(arrays)):
            return None
        made: list = []
        for row in self.results:
            if row is None:
                made.append(None)
            else:
                like, how, given = row
                made.append(how(*given) if like < 0 else getattr(arrays[like], how)(*given))
        frame = self.frame(self.structures)
        at = _address(frame)
        stream = sys.modules["torch"]._C._cuda_getCurrentRawStream(self.device) if self.device >= 0 else 0
        data = [x if type(x) is int else 0 if x is None else pointer(x) for x in (*arrays, *made)]

        def value(source: int, number: int) -> int:
            return number if source == CONSTANT else at + number if source == PLACE else data[number] if source == ARRAY else stream if source == STREAM else plan

        for place, source, number in self.fills:
            if source in (ALPHA, BETA):
                struct.pack_into("d", frame, place, alpha if source == ALPHA else beta)
            else:
                struct.pack_into("P", frame, place, value(source, number))
        status = self.function(*[value(source, number) for source, number in self.arguments])
        if status:
            must(status)
        return tuple(made[:self.shown])

    def _overlaps(self, arrays: tuple) -> bool:
        extents = [extent(view(x, "")) for number, x in enumerate(arrays) if x is not None and type(x) is not int and number != self.out]
        first, end = extent(view(arrays[self.out], ""))
        return any(begin < end and first < last for begin, last in (*extents, *self.ranges))


@functools.lru_cache(maxsize=None)
def _of_addresses(function: int, arguments: int) -> Any:
    """Return a function that takes plain addresses: conversions to typed pointers cost a microsecond."""
    return ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * arguments)(function)


@functools.lru_cache(maxsize=None)
def address_of(function: str) -> int:
    """Return the address of a function of the library."""
    return ctypes.cast(getattr(lib, function), ctypes.c_void_p).value or 0


def keep_recipe(recipes: dict, key: Any, recipe: Any) -> None:
    """Keep a recipe of a pattern or plan; if there are too many, drop all others."""
    if len(recipes) >= MOST:
        recipes.clear()
    recipes[key] = recipe


def first_run(recipes: dict, key: Any, results: tuple, arrays: tuple, function: str, made: Structures, arguments: Iterable, rows: tuple, device: int,
              owner: Any, keep: Any, shown: Optional[int] = None) -> None:
    """Make a call whose results are there, and keep its recipe, if it has a key. rows: for results, then for memory that only the call needs. shown: how
    many of the results later calls return, all by default."""
    recipe = address_of(function), bytes(made.bytes), arguments, made.fills
    Recipe(*recipe, rows[len(results):], 0, device, -1, b"", owner, keep).run((*arrays, *results), 1.0, 0.0)
    if key is not None:
        keep_recipe(recipes, key, later(*recipe, rows, len(results) if shown is None else shown, device, -1, b"", owner, keep))


# ------------------------------------------------------------------------------ finding


def _form(x: Any, recorded: bool) -> Any:
    """Return the properties of an array that determine its view, except the address; None: it has no recipe."""
    kind = type(x)
    if kind is _ndarray:
        return x.dtype, x.shape, x.strides, x.flags.writeable
    if x is None or kind is int:
        return "none" if x is None else "address"
    if kind in tensor_types():
        torch = sys.modules["torch"]
        if (not recorded and x.requires_grad and torch.is_grad_enabled()) or x.layout is not torch.strided or x.is_neg() or x.is_meta:
            return None
        return x.dtype, x.shape, x.stride(), x.device
    return None


def _key(what: tuple, arrays: tuple, recorded: bool) -> Optional[tuple]:
    """Return the key of a recipe; None if there is none for such arrays. what: all but the arrays. recorded: tensors may require gradients."""
    forms: list = [what]
    for number, x in enumerate(arrays):
        of = _form(x, recorded)
        if of is None:
            return None
        forms += of, next(place for place in range(number + 1) if place == number or same_array(arrays[place], x))
    return tuple(forms)


def _repeat(recipes: dict, what: tuple, arrays: tuple, recorded: bool, alpha: float, beta: float) -> Any:
    """Make a call as an earlier one with arrays of the same forms, and return its results; None if there was none, or if alpha or beta is no number."""
    recipe = recipes.get(_key(what, arrays, recorded))
    try:
        alpha, beta = float(alpha), float(beta)
    except (TypeError, ValueError):
        return None
    return None if recipe is None else recipe.run(arrays, alpha, beta)


later: Any = Recipe  # the type of recipes for later calls
key, repeat = _key, _repeat


def _compiled() -> Any:
    """Return the compiled module, for Pythons whose interface it has; else None."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    for place in _places("_calls.abi3.so"):
        if place.exists():
            loader = importlib.machinery.ExtensionFileLoader("tamis._calls", str(place))
            found = importlib.util.module_from_spec(importlib.util.spec_from_loader("tamis._calls", loader))  # type: ignore[arg-type]
            try:
                loader.exec_module(found)
            except ImportError:
                return None
            if getattr(found, "interface", 0) != INTERFACE:
                return None
            found.numpy_known(_ndarray, tensor_types, must)
            return found
    return None


def _use(compiled: Any) -> None:
    """Use the compiled steps; None: the ones of this file."""
    global key, repeat, later
    key, repeat, later = (_key, _repeat, Recipe) if compiled is None else (compiled.key, compiled.repeat, compiled.Recipe)


def _use_torch(torch: Any) -> None:
    capsule = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)  # PyTorch 2.10 and newer
    try:
        if calls is not None and capsule is not None:
            calls.torch_known(_tensors, capsule, torch.is_grad_enabled)
            return
    except (RuntimeError, ValueError):  # another version of the interface
        pass
    _use(None)


calls: Any = _compiled()
_use(calls)
tensor_types()
