"""Masks of attention as tensors, whose columns are listed when something first asks for them."""
from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any, Optional

import torch
from torch import Tensor

from .. import _errors, _mask
from .._kinds import Torch
from .._pattern import Pattern
from .._sparse import Sparse
from .._views import torch_device
from ._held import apart


class Tensors:
    """Tensors for `_mask.described`, on a device of PyTorch, in its current stream."""

    def __init__(self, device: Any):
        self._like = torch.empty(0, dtype=torch.int64, device=device)
        if self._like.device.type not in ("cpu", "cuda"):
            raise _errors.ArgumentError(f"device = {self._like.device}: expected cpu or cuda")
        self.device = torch_device(self._like.device)

    @property
    def stream(self) -> Any:
        return Torch.stream(self._like)

    def empty(self, count: int, wide: bool) -> Tensor:
        return self._like.new_empty(count, dtype=torch.int64 if wide else torch.int32)

    def numbers(self, given: Any) -> Tensor:
        """A copy: the caller may change a tensor before columns are listed."""
        made = given.clone(memory_format=torch.contiguous_format) if isinstance(given, Tensor) else torch.tensor(given, device=self._like.device)
        return made.long() if made.numel() == 0 else made

    def kept(self, given: Any) -> tuple[Tensor, Tensor]:
        matrix = torch.as_tensor(given, device=self._like.device) != 0
        return torch.nn.functional.pad(matrix.sum(1).cumsum(0), (1, 0)), matrix.nonzero()[:, 1].contiguous()

    def narrow(self, array: Tensor) -> Tensor:
        return array.int()


class Unlisted:
    """The mask of a pattern, which lists its columns on demand. `known`: the checked pattern without a list."""

    def __init__(self, mask: _mask.Mask):
        self.offsets, self.version, self._mask, self.made_by = mask.offsets, mask.offsets._version, mask, mask.made_by
        self.known = Pattern._of(Sparse("S", mask.shape, mask.offsets.detach(), None, mask=mask), known=True)
        self._list: Optional[Tensor] = None
        self._list_version = 0
        self.number = next(_numbers)
        _masks[self.number] = self

    def columns(self) -> Tensor:
        if self.offsets._version != self.version:
            raise RuntimeError("the row offsets of a mask were changed in place before its columns were listed: make a new Pattern for other places")
        if self._list is None:
            with _one_at_a_time:
                if self._list is None:
                    self._make_list()
        return self._list

    def _make_list(self) -> None:
        on_gpu = self.offsets.is_cuda
        if on_gpu and torch.cuda.is_current_stream_capturing():
            raise RuntimeError("the columns of a mask are first asked for within the capture of a CUDA graph: read pattern.columns before it")
        with apart():
            made = self._mask.columns()
        if on_gpu:  # calls in other streams may read it next
            torch.cuda.current_stream(self.offsets.device).synchronize()
        self._list_version, self._list = made._version, made

    def listed_anew(self, columns: Optional[Tensor]) -> bool:
        """Return True if these columns are no longer the mask's."""
        return columns is not None and (columns is not self._list or columns._version != self._list_version)

    def on(self, device: Any) -> _mask.Mask:
        """Return the same mask on another device."""
        rows, cols, parts = self.made_by
        return _mask.described(Tensors(device), rows, cols, **{name: x.to(device) if isinstance(x, Tensor) else x for name, x in parts.items()})


_one_at_a_time = threading.Lock()  # lists are made by threads
_masks: Any = weakref.WeakValueDictionary()  # by their numbers
_numbers = itertools.count()


def listed(number: int) -> Tensor:
    """List columns at compile time."""
    from torch.utils._python_dispatch import _disable_current_modes
    with _disable_current_modes():
        return _masks[number].columns()  # type: ignore[no-any-return]


listed._dynamo_marked_constant = True  # type: ignore[attr-defined]
