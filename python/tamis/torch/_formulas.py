"""Operations for derivatives that can be differentiated again, in PyTorch: gradients (for create_graph=True and torch.func) and tangents
(forward mode)."""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from .. import _declarations as c
from .. import _edges


class Operations(_edges.Operations):
    """The operations on one pattern, by `calls`, the registered operators."""

    exp = staticmethod(torch.exp)

    def __init__(self, calls: dict[str, Any], index: Tensor, columns: Tensor, rows: Any, cols: Any, coo: bool):
        self.calls, self.index, self.columns, self.rows, self.cols, self.coo = calls, index, columns, rows, cols, coo

    def products(self, a: Tensor, b: Tensor) -> Tensor:
        if a.dim() == 1:
            a, b = a.unsqueeze(-1), b.unsqueeze(-1)
        return self.softmax(None, a, b, (c.TAMIS_EDGE_MASK, 1.0, 0.01, 1e-10))

    def softmax(self, values: Optional[Tensor], a: Tensor, b: Tensor, numbers: tuple) -> Tensor:
        return self.calls["sddmm"](self.index, self.columns, values, a, b, self.rows, self.cols, self.coo, *numbers, False)[0]

    def times(self, values: Optional[Tensor], b: Tensor, transpose: bool) -> Tensor:
        return self.calls["spmm"](self.index, self.columns, values, b, self.rows, self.cols, self.coo, transpose)

    def ones(self, x: Tensor, count: Any) -> Tensor:
        return x.new_ones((count, 1))

    def largest(self, y: Tensor) -> Tensor:
        places = self.columns.long().expand(y.shape)
        most = y.new_full((*y.shape[:-1], self.cols), float("-inf")).scatter_reduce(-1, places, y.detach(), "amax")
        return torch.where(most == float("-inf"), 0.0, most).gather(-1, places)

    @staticmethod
    def where(condition: Tensor, this: Any, otherwise: Any, like: Tensor) -> Tensor:
        if not isinstance(this, Tensor) and not isinstance(otherwise, Tensor):
            this = torch.full_like(like, this)
        return torch.where(condition, this, otherwise)


def wide(x: Optional[Tensor]) -> Optional[Tensor]:
    """Widen 16-bit tensors, so that intermediate results are not rounded."""
    return x.float() if x is not None and x.dtype in (torch.float16, torch.bfloat16) else x


def packed(x: Optional[Tensor]) -> Optional[Tensor]:
    """Pack a tangent or a gradient, which autograd may have expanded from one number."""
    return None if x is None else wide(x.contiguous())
