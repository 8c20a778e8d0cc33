"""Derivatives that can be differentiated again, in PyTorch: gradients (for create_graph=True and torch.func) and tangents (forward mode)."""
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


OPERATIONS = {"sddmm": _edges.SDDMM, "spmm": _edges.SPMM, "fused": _edges.FUSED}
NO_EDGE = (c.TAMIS_EDGE_SCALE, 1.0, 0.01, 1e-10)


def _wide(x: Optional[Tensor]) -> Optional[Tensor]:
    """Widen 16-bit tensors, so that intermediate results are not rounded."""
    return x.float() if x is not None and x.dtype in (torch.float16, torch.bfloat16) else x


def _packed(x: Optional[Tensor]) -> Optional[Tensor]:
    """Pack a tangent or a gradient, which autograd may have expanded from one number."""
    return None if x is None else _wide(x.contiguous())


def _given(name: str, numbers: tuple) -> tuple[int, tuple, bool]:
    """Return the operation, the edge's numbers and `transpose`, from the operator's numbers after rows, cols and coo."""
    return OPERATIONS[name], NO_EDGE if name == "spmm" else numbers[:4], {"spmm": numbers[0], "sddmm": False}.get(name, numbers[-1])


def gradients(calls: dict[str, Any], name: str, grad: Tensor, index: Tensor, columns: Tensor, values: Optional[Tensor], operands: tuple,
              numbers: tuple, wanted: list[bool]) -> list:
    """Return gradients of the operands and values. numbers: the operator's arguments after its tensors."""
    on = Operations(calls, index, columns, *numbers[:3])
    operation, edge, transpose = _given(name, numbers[3:])
    found = _edges.gradients(on, operation, _packed(grad), _wide(values), tuple(_wide(x) for x in operands), edge, transpose, wanted)
    return [None if to is None or not wants else torch.zeros_like(to) if of is None else of.sum_to_size(to.shape).to(to.dtype)
            for of, to, wants in zip(found, (*operands, values), wanted)]


def tangent(calls: dict[str, Any], name: str, index: Tensor, columns: Tensor, values: Optional[Tensor], operands: tuple, numbers: tuple,
            dv: Optional[Tensor], changes: tuple) -> Optional[Tensor]:
    """Return the tangent of the result from the tangents of the values and operands, where None stands for zero. A batch that does not matter is left out."""
    on = Operations(calls, index, columns, *numbers[:3])
    operation, edge, transpose = _given(name, numbers[3:])
    d = [_packed(change) for change in changes]
    return _edges.tangent(on, operation, _wide(values), tuple(_wide(x) for x in operands), edge, transpose, _packed(dv), d)
