"""Steps of layers that need a vector for each edge: one array for all of them forward, and one backward, instead of one for each operation."""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor
from torch.nn import functional

from .. import _declarations as c
from ._direct import compiling, transforms
from ._messages import edge_op
from ._pattern import Pattern


def scores(pattern: Pattern, x: Tensor, y: Tensor, e: Optional[Tensor], a: Tensor, slope: float) -> Tensor:
    """a . leaky_relu(x_i + y_j + e_ij), (edges, heads). x: (rows, heads, width); y: (cols, heads, width); e: (edges, heads, width); a: (heads, width)."""
    if slope < 0 or compiling() or transforms():  # otherwise the sign of the result equals the input's; compilers fuse this themselves
        both = edge_op(pattern, "add", x, y)
        return (functional.leaky_relu(both if e is None else both + e, slope) * a).sum(-1)
    found: Tensor = _Scores.apply(pattern, x, y, e, a, slope)[0]
    return found


class _Scores(torch.autograd.Function):
    """The vectors of all edges are also a result, so that the data kept for the gradient has derivatives."""

    @staticmethod
    def forward(ctx: Any, pattern: Pattern, x: Tensor, y: Tensor, e: Optional[Tensor], a: Tensor, slope: float) -> tuple[Tensor, Tensor]:
        both = edge_op(pattern, "add", x, y)
        if e is not None:
            both.add_(e)
        functional.leaky_relu_(both, slope)
        ctx.save_for_backward(both, a)
        ctx.pattern, ctx.slope = pattern, slope
        ctx.set_materialize_grads(False)
        return torch.einsum("ehw,hw->eh", both, a).contiguous(), both

    @staticmethod
    def backward(ctx: Any, grad: Optional[Tensor], more: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:
        (both, a), pattern = ctx.saved_tensors, ctx.pattern
        need, again = ctx.needs_input_grad, torch.is_grad_enabled()
        grad = None if grad is None else grad.contiguous()
        da = torch.einsum("eh,ehw->hw", grad, both) if need[4] and grad is not None else None
        dx = dy = de = None
        if any(need[1:4]) and (grad is not None or more is not None):
            de = more if grad is None else grad.unsqueeze(-1) * a if more is None else grad.unsqueeze(-1) * a + more
            assert de is not None
            if again or de is more:
                de = torch.where(both > 0, de, ctx.slope * de)
            else:
                torch.ops.aten.leaky_relu_backward.grad_input(de, both, ctx.slope, True, grad_input=de)
            if need[1] or need[2]:
                heads, width = a.shape
                dx, dy = torch.ops.tamis.edge_op_backward(de.flatten(1), pattern.index, pattern.columns, None, None, pattern.rows, pattern.cols, pattern.coo,
                                                          c.TAMIS_PAIR_ADD, heads, width, list(need[1:3]))
        return None, _shaped(dx, a, need[1]), _shaped(dy, a, need[2]), de if need[3] else None, da, None


def _shaped(gradient: Optional[Tensor], a: Tensor, wanted: bool) -> Optional[Tensor]:
    return None if gradient is None or not wanted else gradient.view(-1, *a.shape)
