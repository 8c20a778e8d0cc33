"""Detects changes of tensors from which cached objects were made (patterns, graphs, normalisations and transposes), and finds the pattern of tensors.

PyTorch counts the changes of a tensor, except changes of an inference tensor, in memory shared with another library or process, or by `.data`.
Without a count, contents are compared, which on the CPU takes a twentieth of the time of making a graph.

Operators take plain tensors of indices, since compilers do not take sparse ones. The pattern that belongs to them, with its plans, is
found by their addresses: a pattern that is alive keeps its tensors, so that no other tensor can have these addresses.
"""
from __future__ import annotations

import contextlib
import functools
import itertools
import weakref
from typing import Any, Iterator, Optional, Sequence, TypeVar

import torch
from torch import Tensor

from .. import _device
from .._library import Living
from .._pattern import Pattern
from .._remembered import compare
from .._sparse import Sparse
from ._direct import autocast_off, compiling, transforms

T = TypeVar("T")


def apart() -> Any:
    """Context in which cached objects are made: tensors without inference mode and transforms of torch.func, in their own types, recorded
    by nothing."""
    return contextlib.nullcontext() if compiling() else _apart()


@contextlib.contextmanager
def _apart() -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        if transforms():
            stack.enter_context(torch._C._DisableFuncTorch())
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.no_grad())
        for kind in ("cpu", "cuda"):
            stack.enter_context(autocast_off(kind))
        yield


def counted(*tensors: Tensor) -> bool:
    """Return True if PyTorch counts changes of these tensors in place, except by `.data`."""
    for x in tensors:
        if x.is_inference():
            return False
        storage = getattr(x, "untyped_storage", None)
        if storage is not None and not x.is_cuda and not x.is_meta and not storage().resizable():  # memory of NumPy, of DLPack or of a file
            return False
    return True


def state(x: Tensor) -> tuple[int, int]:
    """Return a key that changes with every change that PyTorch counts, and with the memory's address."""
    return 0 if x.is_inference() else x._version, x.data_ptr()


def copy(x: Tensor) -> Tensor:
    """Return a copy to compare with, in x's own order of elements."""
    with apart():
        return x.clone()


def same(x: Tensor, kept: Optional[Tensor]) -> bool:
    """Return True if x has the content of a copy. While a CUDA graph is captured, nothing can be compared."""
    if kept is None:
        return True
    if x.is_cuda:
        return torch.cuda.is_current_stream_capturing() or torch.equal(x, kept)
    if x.shape != kept.shape or x.dtype != kept.dtype:
        return False
    size, strides = x.element_size(), x.stride()
    if strides == kept.stride():  # the copy has no gaps, so that x has none
        return not compare(x.data_ptr(), kept.data_ptr(), x.numel() * size)
    if x.dim() == 2 and strides[1] == 1 and kept.stride(1) == 1:
        return not any(compare(row.data_ptr(), other.data_ptr(), row.shape[0] * size) for row, other in zip(x, kept))
    return torch.equal(x, kept)


class Made:
    """Objects made of a tensor, by what they were made for, and the content of the tensor's parts then, where a copy is kept."""

    __slots__ = ("alive", "states", "content", "made", "found_equal")

    def __init__(self, x: Tensor, parts: Sequence[Tensor], forget: Any, copied: bool):
        self.alive = weakref.ref(x, forget)
        self.states = [state(part) for part in parts]
        self.content = [copy(part if type(part) is Tensor else part.as_subclass(Tensor)) if copied or not counted(part) else None for part in parts]
        self.made: dict[Any, Any] = {}
        self.found_equal = 0  # times within compiled programs

    def of(self, x: Tensor, parts: Sequence[Tensor], doubtful: bool) -> bool:
        """Return True if it is of this tensor, unchanged. A comparison on a GPU waits, so only inference tensors are compared there, and doubtful ones."""
        if self.alive() is not x or [state(part) for part in parts] != self.states:
            return False
        if not doubtful:
            self.found_equal = SURE  # who calls by themselves have the tensor
        doubtful = doubtful and self.found_equal < SURE
        equal = all((part.is_cuda and not part.is_inference() and not doubtful) or same(part, kept) for part, kept in zip(parts, self.content))
        self.found_equal += doubtful and equal
        return equal


def made_of(store: dict[int, Made], x: Tensor, parts: Sequence[Tensor], copied: bool = False, doubtful: bool = False) -> Made:
    """Return what `store` keeps of a tensor as long as it lives: an empty object if there is nothing yet, or if a part was changed in place.
    copied: parts are compared with copies of them, which catches changes that PyTorch does not count. doubtful: a compiled program has the tensor. If the
    program made it, it may also overwrite it; a tensor that was SURE times the same comes from outside."""
    number = id(x)
    known = store.get(number)
    if known is None or not known.of(x, parts, doubtful):
        known = store[number] = Made(x, parts, functools.partial(store.pop, number), copied)  # no Python code forgets it: _library.py
    return known


# ------------------------------------------------------------------------------ handles: numbers for patterns of tamis.torch, for compiled programs

_handles: Any = weakref.WeakValueDictionary()  # patterns by their numbers
_addresses: Any = weakref.WeakValueDictionary()  # and by the addresses of handles on GPUs, which cannot be read while a CUDA graph is captured
_handle_numbers = itertools.count()
_hooks = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", lambda _: None)
_hooked: dict[int, Any] = {}  # the last patterns of compiled calls under torch.autograd.graph.saved_tensors_hooks, by their numbers


def handle_of(pattern: Any) -> Tensor:
    """Return a new tensor with a pattern's number. It keeps the pattern, which is found at once as long as PyTorch passes this tensor on and not a copy."""
    number = pattern.__dict__.get("_number")
    if number is None:
        number = pattern._number = next(_handle_numbers)
        _handles[number] = pattern
    with apart() if transforms() or torch.is_inference_mode_enabled() else contextlib.nullcontext():
        handle = torch.full((1,), number, dtype=torch.int64, device=pattern.device)
    handle._tamis = pattern  # type: ignore[attr-defined]
    if _hooks(False) is not None:  # who saves copies for the gradient loses the handle
        kept(_hooked, number, pattern, MOST_UNNAMED)
    if handle.is_cuda:
        _addresses[handle.data_ptr()] = pattern
    return handle


def of_handle(handle: Tensor) -> Any:
    """Return the pattern of a handle."""
    found = getattr(handle, "_tamis", None)
    if found is None and handle.is_cuda and torch.cuda.is_current_stream_capturing():
        found = _addresses.get(handle.data_ptr())
    elif found is None:
        found = _handles.get(int(handle))
    if found is None:
        raise RuntimeError("the graph of a compiled call is no longer there: keep its edge_index alive until the gradients are computed, or pass a tamis.torch.Pattern")
    return found


# ------------------------------------------------------------------------------ patterns of tensors

SURE = 16
MOST_UNNAMED = 16  # number of cached patterns of operators called with bare tensors; the oldest is removed first
MOST_BESIDE = 8  # the same of what is made of a tensor or pattern together with others, which may be new ones in each step
_alive: Living[Pattern] = Living()
_unnamed: dict[tuple, Pattern] = {}


def follow_threads() -> None:
    """Adopt the number of torch.set_num_threads."""
    count = torch.get_num_threads()
    if count != _device.followed:
        _device.follow(count)


def pattern_of(index: Tensor, columns: Tensor, rows: int, cols: int, coo: bool, keep: bool = False) -> Pattern:
    """Return the checked pattern of these tensors; `keep`: the caller keeps it alive. A tensor changed in place gives a new pattern. Columns that are a matrix
    belong to a handle."""
    if columns.dim() == 2:
        return of_handle(index)._current()  # type: ignore[no-any-return]
    follow_threads()
    key = (index.data_ptr(), columns.data_ptr(), index.numel(), columns.numel(), index.stride(), columns.stride(), index.dtype,
           columns.dtype, columns.device, rows, cols, coo, 0 if index.is_inference() else index._version, 0 if columns.is_inference() else columns._version)
    pattern = _alive.get(key)
    if pattern is None or pattern.sparse.moved() or not _same_content(pattern, index, columns):  # another tensor now uses that memory
        index, columns = index.detach(), columns.detach()
        pattern = Pattern._of(Sparse("S", (rows, cols), index, columns, coo=coo))
        if not keep or not counted(index, columns):
            pattern.content = copy(index), copy(columns)  # type: ignore[attr-defined]
        _alive[key] = pattern
        if not keep:
            kept(_unnamed, key, pattern, MOST_UNNAMED)
    return pattern


def kept(store: dict[Any, T], key: Any, made: T, most: int) -> T:
    """Keep an object in a store, whose oldest is removed first if it has more than `most`; return it."""
    store[key] = made
    for oldest in list(store)[:-most]:  # atomic: no other thread can add an entry meanwhile
        store.pop(oldest, None)
    return made


def _same_content(pattern: Pattern, index: Tensor, columns: Tensor) -> bool:
    """Return True if the tensors still have the pattern's content. It may change without a new version: torch.compile overwrites its results."""
    content = getattr(pattern, "content", None)
    return content is None or (same(index, content[0]) and same(columns, content[1]))
