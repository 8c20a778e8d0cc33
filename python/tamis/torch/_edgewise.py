"""Steps of layers that need a vector for each edge: one array for all of them forward, and one backward, instead of one for each operation."""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor
from torch.nn import functional

from .. import _declarations as c
from ._graphs import one_each
from ._messages import REDUCES, edge_op, message
from ._pattern import Pattern, _compiling, _transforms


def scores(pattern: Pattern, x: Tensor, y: Tensor, e: Optional[Tensor], a: Tensor, slope: float) -> Tensor:
    """a . leaky_relu(x_i + y_j + e_ij), (edges, heads). x: (rows, heads, width); y: (cols, heads, width); e: (edges, heads, width); a: (heads, width)."""
    if slope < 0 or _compiling() or _transforms():  # the sign of what was there, or what compilers fuse by themselves
        both = edge_op(pattern, "add", x, y)
        return (functional.leaky_relu(both if e is None else both + e, slope) * a).sum(-1)
    found: Tensor = _Scores.apply(pattern, x, y, e, a, slope)
    return found


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pattern: Pattern, x: Tensor, y: Tensor, e: Optional[Tensor], a: Tensor, slope: float) -> Tensor:
        both = edge_op(pattern, "add", x, y)
        if e is not None:
            both.add_(e)
        functional.leaky_relu_(both, slope)
        ctx.save_for_backward(both, a)
        ctx.pattern, ctx.slope = pattern, slope
        return torch.einsum("ehw,hw->eh", both, a).contiguous()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Optional[Tensor], ...]:
        (both, a), pattern = ctx.saved_tensors, ctx.pattern
        need, grad = ctx.needs_input_grad, grad.contiguous()
        da = torch.einsum("eh,ehw->hw", grad, both) if need[4] else None
        dx = dy = de = None
        if any(need[1:4]):
            de = grad.unsqueeze(-1) * a
            torch.ops.aten.leaky_relu_backward.grad_input(de, both, ctx.slope, True, grad_input=de)
            if need[1] or need[2]:
                heads, width = a.shape
                dx, dy = torch.ops.tamis.edge_op_backward(de.flatten(1), pattern.index, pattern.columns, None, None, pattern.rows, pattern.cols, pattern.coo,
                                                          c.TAMIS_PAIR_ADD, heads, width, list(need[1:3]))
        return None, _shaped(dx, a, need[1]), _shaped(dy, a, need[2]), de if need[3] else None, da, None


def relu_messages(pattern: Pattern, x: Tensor, e: Tensor, reduce: str) -> Tensor:
    """relu(x_j + e_ij), reduced for each row. x: (cols, width); e: (edges, width)."""
    if _compiling() or _transforms():
        return message(pattern, "copy_e", None, torch.relu(message(one_each(pattern, "sources"), "add", x, e)), reduce)
    found: Tensor = _Relu.apply(pattern, x, e, reduce)
    return found


class _Relu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pattern: Pattern, x: Tensor, e: Tensor, reduce: str) -> Tensor:
        both = message(one_each(pattern, "sources"), "add", x, e).relu_()
        out, argument = torch.ops.tamis.message(pattern.index, pattern.columns, None, both, *_where(pattern), c.TAMIS_MESSAGE_COPY_E, REDUCES[reduce],
                                                c.TAMIS_E_VECTOR, 1)
        ctx.save_for_backward(both, argument)
        ctx.pattern, ctx.reduce = pattern, REDUCES[reduce]
        return out  # type: ignore[no-any-return]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Optional[Tensor], ...]:
        (both, argument), pattern = ctx.saved_tensors, ctx.pattern
        need = ctx.needs_input_grad
        _, de = torch.ops.tamis.message_backward(grad, pattern.index, pattern.columns, None, None, argument, *_where(pattern), c.TAMIS_MESSAGE_COPY_E,
                                                 ctx.reduce, c.TAMIS_E_VECTOR, 1, [False, True])
        torch.ops.aten.threshold_backward.grad_input(de, both, 0, grad_input=de)
        dx = None
        if need[1]:
            own = one_each(pattern, "sources")
            dx, _ = torch.ops.tamis.message_backward(de, own.index, own.columns, None, None, argument.new_empty(0), *_where(own),
                                                     c.TAMIS_MESSAGE_COPY_U, c.TAMIS_REDUCE_SUM, c.TAMIS_E_NONE, 1, [True, False])
        return None, dx, de if need[2] else None, None


def _where(pattern: Pattern) -> tuple[Any, Any, bool]:
    return pattern.rows, pattern.cols, pattern.coo


def _shaped(gradient: Optional[Tensor], a: Tensor, wanted: bool) -> Optional[Tensor]:
    return None if gradient is None or not wanted else gradient.view(-1, *a.shape)
