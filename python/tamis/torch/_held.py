"""Detects changes of tensors from which cached objects were made: patterns, graphs, normalisations and transposes.

PyTorch counts the changes of a tensor, except changes of an inference tensor, in memory shared with another library or process, or by `.data`.
Without a count, contents are compared, which on the CPU takes a twentieth of the time of making a graph.
"""
from __future__ import annotations

import contextlib
import functools
import weakref
from typing import Any, Iterator, Optional, Sequence

import torch
from torch import Tensor

from .._remembered import compare
from . import _cast
from ._direct import compiling, transforms


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
            stack.enter_context(_cast.off(kind))
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

    __slots__ = ("alive", "states", "content", "made")

    def __init__(self, x: Tensor, parts: Sequence[Tensor], forget: Any, copied: bool):
        self.alive = weakref.ref(x, forget)
        self.states = [state(part) for part in parts]
        self.content = [copy(part if type(part) is Tensor else part.as_subclass(Tensor)) if copied or not counted(part) else None for part in parts]
        self.made: dict[Any, Any] = {}

    def of(self, x: Tensor, parts: Sequence[Tensor]) -> bool:
        """Return True if it is of this tensor, unchanged. A comparison on a GPU waits, so only inference tensors are compared there."""
        return self.alive() is x and [state(part) for part in parts] == self.states and all(
            (part.is_cuda and not part.is_inference()) or same(part, kept) for part, kept in zip(parts, self.content))


def made_of(store: dict[int, Made], x: Tensor, parts: Sequence[Tensor], copied: bool = False) -> Made:
    """Return what `store` keeps of a tensor as long as it lives: an empty object if there is nothing yet, or if a part was changed in place.
    copied: parts are compared with copies of them, which catches changes that PyTorch does not count."""
    number = id(x)
    known = store.get(number)
    if known is None or not known.of(x, parts):
        known = store[number] = Made(x, parts, functools.partial(store.pop, number), copied)  # no Python code forgets it: _living.py
    return known
