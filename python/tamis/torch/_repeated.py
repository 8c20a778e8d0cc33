"""Backward calls that repeat an earlier one with tensors of the same types, shapes and strides: only addresses are new.

The first such call makes views of all tensors; a recipe keeps what does not depend on addresses, and makes the later ones in half of the time.
"""
from __future__ import annotations

from ctypes import addressof, sizeof
from typing import Any, Optional

import torch
from torch import Tensor

from .. import _declarations as c
from .._kinds import Torch
from .._library import must
from .._recipe import frame_of, of_addresses

_strided = torch.strided


def key_of(operation: int, how: tuple, wanted: list[bool], grad: Tensor, matrices: tuple[Tensor, ...], values: Optional[Tensor], kept: bool,
           result: Optional[Tensor]) -> Optional[tuple]:
    """Return the key of a recipe; None: such tensors have none. The given gradient is packed anyway, so its strides do not count."""
    key: list[Any] = ["backward", operation, how, tuple(wanted), kept, grad.dtype, grad.shape, grad.device]
    if result is not None:
        key += result.dtype, result.shape, result.device
    for x in (grad, *matrices) if values is None else (grad, *matrices, values):
        if x.layout is not _strided or x.is_neg():
            return None
        if x is not grad:
            key += x.dtype, x.shape, x.stride(), x.device
    return tuple(key)


class Recipe:
    """The arguments of a backward call besides addresses. `views`: the library's views in the order of its arguments, None for a gradient that is not
    wanted; the first ones are of the gradient that is given and of the matrices, the last ones of `results`, in which None has no view either."""

    __slots__ = ("handle", "function", "frame", "template", "fields", "places", "results", "read")

    def __init__(self, handle: Any, function: str, views: list, results: list[Optional[Tensor]], execution: c.tamis_execution,
                 read: Optional[c.tamis_dense]):
        present = [view for view in views if view is not None]
        made = frame_of(len(present) + (read is not None))
        self.handle, self.frame = handle, made.from_buffer_copy
        self.template = bytes(execution) + b"".join(map(bytes, present)) + (b"" if read is None else bytes(read))
        self.fields = [f"data{number}" for number in range(len(present))]
        step = sizeof(c.tamis_dense)
        offsets = iter(range(sizeof(c.tamis_execution), sizeof(made), step))
        self.places = [None if view is None else next(offsets) for view in views]
        self.read = None if read is None else (f"data{len(present)}", next(offsets))
        self.results = [None if x is None else (x.shape, x.stride() if not x.is_contiguous() else None) for x in results]
        self.function = of_addresses(function, len(views) + 2)

    def run(self, grad: Tensor, matrices: tuple[Tensor, ...], values: Optional[Tensor], statistics: Optional[Tensor],
            result: Optional[Tensor]) -> list[Optional[Tensor]]:
        """Make the call, and return the gradients of the matrices and of the values."""
        handle, like = self.handle, matrices[0]
        grad = grad.contiguous()
        frame = self.frame(self.template)
        frame.stream = Torch.stream(like)
        if values is not None:
            frame.values = values.data_ptr()
        made: list[Optional[Tensor]] = []
        for of, x in zip(self.results, (*matrices, values)):
            if of is None or x is None:
                made.append(None)
            else:
                shape, strides = of
                made.append(x.new_empty(shape) if strides is None else x.new_empty_strided(shape, strides))
        for field, x in zip(self.fields, (grad, *matrices, *(x for x in made if x is not None))):
            setattr(frame, field, x.data_ptr())
        at = addressof(frame)
        if statistics is not None:
            frame.softmax_rows = statistics.data_ptr()
        if self.read is not None:
            assert result is not None
            result = result.contiguous()
            field, place = self.read
            setattr(frame, field, result.data_ptr())
            frame.result = at + place
        memory = handle.bring_workspace(frame, like) if handle.workspace else None
        status = self.function(handle.value, *[None if place is None else at + place for place in self.places], at)
        if status:
            must(status)
        del memory, handle, result  # keeps them alive until the library has returned
        return made
