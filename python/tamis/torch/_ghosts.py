"""Ghost rows under autograd: rows that other ranks have and this one reads. Forward they come from their owners; backward their gradients go back, and each owner adds
them in the order of ranks, so that a gradient has the same bits each time.

An exchange is two steps of autograd, since what needs no ghost row is computed between them: `_Pack` sends, `_Land` waits. Backward it is the other way round: `_Land` sends
gradients, and `_Pack` waits for them when all that was recorded between has been computed.
"""
from __future__ import annotations

import math
from typing import Any, Optional

import torch
from torch import Tensor

from .. import _errors
from . import _direct
from ._messages import message
from ._pattern import Pattern
from ._ranks import Ranks


class Link:
    """Which own rows go to which rank, and how many come from each. sent: own rows, grouped by the rank that reads them; sends, receives: how many by rank. idle: no rank reads any."""

    def __init__(self, ranks: Ranks, name: str, own: int, sent: Tensor, sends: list[int], receives: list[int], idle: bool):
        self.timeout = ranks.timeout
        self.idle, self.ranks, self.name, self.own, self.sends, self.receives = idle, ranks, name, own, sends, receives
        self.sent, self.ghosts = sent, sum(receives)
        self.read, place = torch.unique(sent, return_inverse=True)  # own rows that others read, each once
        order = torch.argsort(place, stable=True)
        offsets = torch.nn.functional.pad(torch.bincount(place, minlength=self.read.numel()).cumsum(0), (1, 0))
        self._sums = Pattern.from_csr(offsets, order, (self.read.numel(), sent.numel()))

    def summed(self, rows: Tensor) -> Tensor:
        """Return the sums of what came for each of the rows `read`."""
        with _direct.autocast_off(rows.device.type):
            return message(self._sums, "copy_u", rows.contiguous())

    def wait(self, work: Any, what: str, on_gpu: bool) -> None:
        self.ranks.timeout = self.timeout
        self.ranks.wait(work, f"{self.name}: {what}", on_gpu)

    def begin(self, rows: Tensor, back: bool, what: str) -> tuple[Tensor, Any]:
        if self.idle:
            return rows.new_empty((0, rows.shape[1])), None
        sends, receives = (self.receives, self.sends) if back else (self.sends, self.receives)
        self.ranks.timeout = self.timeout
        return self.ranks.begin(rows, sends, receives, f"{'the gradient of ' * back}{self.name}: {what}")


class _Flight:
    """An exchange that is under way."""

    def __init__(self, link: Link, what: str, widths: list[int], need: Optional[Tensor]):
        self.link, self.what, self.widths, self.need = link, what, widths, need
        self._found: Optional[Tensor] = None
        self._work: Any = None

    def start(self, rows: Tensor, back: bool = False) -> Tensor:
        self._found, self._work = self.link.begin(rows, back, self.what)
        return self._found

    def landed(self) -> Optional[Tensor]:
        """Return what came, None: nothing is under way."""
        found, work, self._found, self._work = self._found, self._work, None, None
        if work is not None:
            assert found is not None
            self.link.wait(work, self.what, found.is_cuda)
        return found


def _added(x: Optional[Tensor], rows: int, places: Tensor, more: Tensor, ours: bool) -> Tensor:
    """Return x, None: zeros (rows, width), with more rows added at places, all different. ours: x may be changed."""
    if x is None:
        return more.new_zeros(rows, more.shape[1]).index_add_(0, places, more)
    return x.index_add_(0, places, more) if ours else x.index_add(0, places, more)


class _Pack(torch.autograd.Function):
    """From own rows: what is sent, which is on its way, and of each tensor itself and the rows that a part of the graph reads (`need`)."""

    @staticmethod
    def forward(ctx: Any, flight: _Flight, *own: Tensor) -> Any:
        ctx.flight = flight
        ctx.set_materialize_grads(False)
        link = flight.link
        packed = torch.cat([x.index_select(0, link.sent) for x in own], 1) if len(own) > 1 else own[0].index_select(0, link.sent)
        flight.start(packed)
        needed = () if flight.need is None else tuple(x.index_select(0, flight.need) for x in own)
        return (packed, *(x.view_as(x) for x in own), *needed)

    @staticmethod
    def backward(ctx: Any, grad: Optional[Tensor], *others: Optional[Tensor]) -> Any:
        flight, count = ctx.flight, len(ctx.needs_input_grad) - 1
        link = flight.link
        made: list[Optional[Tensor]] = []
        back = flight.landed()
        if back is not None:
            grad = back
        parts: Any = [None] * count if grad is None else grad.split(flight.widths, 1)
        needed = others[count:] if flight.need is not None else [None] * count
        for x, part, of_need in zip(others, parts, needed):
            if part is not None and link.read.numel():
                sums = link.summed(part)
                x = _added(x, link.own, link.read, sums, False)
            if of_need is not None:  # apart from the others, so that each row has one order
                x = _added(x, link.own, flight.need, of_need, x is not others[len(made)])
            made.append(x)
        return (None, *made)


class _Land(torch.autograd.Function):
    """Ghost rows, from what was packed for others."""

    @staticmethod
    def forward(ctx: Any, flight: _Flight, packed: Tensor) -> Tensor:
        ctx.flight = flight
        found = flight.landed()
        assert found is not None
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        flight = ctx.flight
        if torch.is_grad_enabled() or torch.is_anomaly_enabled():
            return None, _Moved.apply(flight.link, flight.what, True, grad)
        return None, flight.start(grad.contiguous(), True)  # _Pack's backward waits for its content


class _Moved(torch.autograd.Function):
    """An exchange in one step, in either direction, with derivatives of any order."""

    @staticmethod
    def forward(ctx: Any, link: Link, what: str, back: bool, rows: Tensor) -> Tensor:
        ctx.given = link, what, back
        found, work = link.begin(rows.contiguous(), back, what)
        if work is not None:
            link.wait(work, what, found.is_cuda)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        link, what, back = ctx.given
        return None, None, None, _Moved.apply(link, what, not back, grad)


class _Tied(torch.autograd.Function):
    """A result, whose gradient reaches the ghost rows on every rank, also where none of them is read: their exchange backward is one of all ranks."""

    @staticmethod
    def forward(ctx: Any, out: Tensor, ghosts: Tensor) -> Tensor:
        return out.view_as(out)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad if ctx.needs_input_grad[0] else None, None


def tied(out: Tensor, ghosts: Tensor) -> Tensor:
    found: Tensor = _Tied.apply(out, ghosts)
    return found


class Exchange:
    """Ghost rows on their way: what `PartitionedGraph.begin` returns. `finish` waits for them.

    >>> from tamis.torch.distributed import partition
    >>> partition(torch.tensor([[0, 1], [1, 0]]), 2).begin(torch.ones(2, 4)).finish().shape
    torch.Size([2, 4])
    """

    def __init__(self, link: Link, tensors: tuple[Tensor, ...], need: Optional[Tensor] = None, name: str = "x"):
        with link.ranks.telling(not link.idle):
            flat = [self._checked(link, x, name if len(tensors) == 1 else f"{name}[{number}]", tensors[0]) for number, x in enumerate(tensors)]
        self._link, self._shapes = link, [tuple(x.shape[1:]) for x in tensors]
        recorded = torch.is_grad_enabled() and any(x.requires_grad for x in tensors)
        shown = ", ".join(map(str, self._shapes))
        what = f"{str(tensors[0].dtype).removeprefix('torch.')}{' with gradients' * recorded}, features {shown}"
        self._flight = _Flight(link, what, [x.shape[1] for x in flat], need)
        self._packed, *rest = _Pack.apply(self._flight, *flat)
        self.own = [x.reshape(x.shape[0], *shape) for x, shape in zip(rest, self._shapes)]
        self.needed = [x.reshape(x.shape[0], *shape) for x, shape in zip(rest[len(tensors):], self._shapes)]
        self._ghosts: Optional[list[Tensor]] = None
        self._landed: Optional[Tensor] = None

    @staticmethod
    def _checked(link: Link, x: Any, name: str, first: Any) -> Tensor:
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} is a {type(x).__name__}: expected a tensor with a row for each own node")
        if x.dim() == 0 or x.shape[0] != link.own:
            raise _errors.ArgumentError(f"{name} has shape {tuple(x.shape)} on rank {link.ranks.rank}: expected {link.own} rows, one for each node that the rank owns")
        if x.dtype != first.dtype or x.device != link.sent.device:
            raise _errors.ArgumentError(f"{name} is {x.dtype} on {x.device}: expected {first.dtype} on {link.sent.device}, as the others and the graph are")
        if x.is_complex():
            raise TypeError(f"{name} is {x.dtype}: expected real numbers; torch.view_as_real(x) has two for each")
        if x.layout is not torch.strided:
            raise TypeError(f"{name} is a tensor {x.layout}: expected a dense one")
        return x.reshape(link.own, math.prod(x.shape[1:]))

    def _rows(self) -> list[Tensor]:
        """Wait, and return the ghost rows of each tensor."""
        if self._ghosts is None:
            self._landed = _Land.apply(self._flight, self._packed)
            self._ghosts = [x.reshape(x.shape[0], *shape) for x, shape in zip(self._landed.split(self._flight.widths, 1), self._shapes)]
        return self._ghosts

    def _tie(self, out: Tensor) -> Tensor:
        """Return a result whose gradient reaches the ghost rows on every rank."""
        assert self._landed is not None
        return tied(out, self._landed) if self._landed.requires_grad and out.is_floating_point() else out

    def finish(self) -> Any:
        """Wait, and return each tensor with its ghost rows behind the own ones: (own + ghosts, ...). Of one tensor that alone.

        >>> from tamis.torch.distributed import partition
        >>> partition(torch.tensor([[0, 1], [1, 0]]), 2).begin(torch.ones(2), torch.zeros(2)).finish()
        (tensor([1., 1.]), tensor([0., 0.]))
        """
        whole = [torch.cat([own, ghosts]) for own, ghosts in zip(self.own, self._rows())]
        return whole[0] if len(whole) == 1 else tuple(whole)

