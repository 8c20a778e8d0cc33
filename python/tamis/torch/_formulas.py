"""Derivatives that can be differentiated again, in PyTorch: gradients (for create_graph=True and torch.func) and tangents (forward mode)."""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from .. import _declarations as c
from .. import _edges
from .._edges import Edge, total


class Operations(_edges.Operations):
    """The operations on one pattern, by `calls`, the registered operators."""

    exp = staticmethod(torch.exp)

    def __init__(self, calls: dict[str, Any], index: Tensor, columns: Tensor, rows: Any, cols: Any, coo: bool):
        self.calls, self.index, self.columns, self.rows, self.cols, self.coo = calls, index, columns, rows, cols, coo

    def products(self, a: Tensor, b: Tensor) -> Tensor:
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


# ------------------------------------------------------------------------------ gradients


def _of_spmm(on: Operations, grad: Tensor, values: Optional[Tensor], b: Tensor, transpose: bool, wanted: list[bool]) -> list:
    """The gradients of b and values."""
    db = on.times(values, grad, not transpose) if wanted[0] else None
    dv = None
    if wanted[1]:
        x, y = (b.unsqueeze(-1), grad.unsqueeze(-1)) if b.dim() == 1 else (b, grad)
        dv = on.products(x, y) if transpose else on.products(y, x)
    return [db, dv]


def _of_sddmm(edge: Edge, grad: Tensor, wanted: list[bool]) -> list:
    """The gradients of a, b and values."""
    on, values = edge.on, edge.values
    of_x, of_s = edge.gradients(grad, wanted[0] or wanted[1], wanted[2])
    da = on.times(of_x, edge.b, False) if wanted[0] else None
    db = on.times(of_x, edge.a, True) if wanted[1] else None
    dv = of_s if wanted[2] and values is not None else None
    return [da, db, torch.zeros_like(values) if dv is None and wanted[2] and values is not None else dv]


def _of_fused(on: Operations, grad: Tensor, values: Optional[Tensor], a: Tensor, b: Tensor, d: Tensor, numbers: tuple, transpose: bool,
              wanted: list[bool]) -> list:
    """The gradients of a, b, d and values. With the transpose, a belongs to columns and b to rows."""
    x, y = (b, a) if transpose else (a, b)
    edge = Edge(on, values, x, y, numbers, transpose)
    others = [*((wanted[1], wanted[0]) if transpose else wanted[:2]), wanted[3]]
    dd, dp = _of_spmm(on, grad, edge.value if wanted[2] else None, d, transpose, [wanted[2], any(others)])
    dx, dy, dv = _of_sddmm(edge, dp, others) if any(others) else (None, None, None)
    return [dy, dx, dd, dv] if transpose else [dx, dy, dd, dv]


def _wide(x: Optional[Tensor]) -> Optional[Tensor]:
    """Widens 16-bit tensors, so that results between operations are not rounded."""
    return x.float() if x is not None and x.dtype in (torch.float16, torch.bfloat16) else x


def _packed(x: Optional[Tensor]) -> Optional[Tensor]:
    """A change or a gradient, which autograd may have expanded from one number."""
    return None if x is None else _wide(x.contiguous())


def gradients(calls: dict[str, Any], name: str, grad: Tensor, index: Tensor, columns: Tensor, values: Optional[Tensor], operands: tuple,
              numbers: tuple, wanted: list[bool]) -> list:
    """Gradients of the operands and values. numbers: those of the operator after its tensors."""
    on, rest = Operations(calls, index, columns, *numbers[:3]), numbers[3:]
    g, v = _packed(grad), _wide(values)
    x: Any = [_wide(operand) for operand in operands]
    assert g is not None
    if name == "spmm":
        found = _of_spmm(on, g, v, *x, *rest, wanted)
    elif name == "sddmm":
        found = _of_sddmm(Edge(on, v, *x, rest[:4]), g, wanted)
    else:
        found = _of_fused(on, g, v, *x, rest[:4], rest[4], wanted)
    return [None if of is None or to is None else of.sum_to_size(to.shape).to(to.dtype) for of, to in zip(found, (*operands, values))]


# ------------------------------------------------------------------------------ tangents


def _products_tangent(on: Operations, a: Tensor, b: Tensor, da: Optional[Tensor], db: Optional[Tensor]) -> Optional[Tensor]:
    return total(None if da is None else on.products(da, b), None if db is None else on.products(a, db))


def tangent(calls: dict[str, Any], name: str, index: Tensor, columns: Tensor, values: Optional[Tensor], operands: tuple, numbers: tuple,
            dv: Optional[Tensor], changes: tuple) -> Optional[Tensor]:
    """The change of the result from those of the values and operands, where None stands for zero; without a batch that does not matter."""
    on, rest = Operations(calls, index, columns, *numbers[:3]), numbers[3:]
    v, dv = _wide(values), _packed(dv)
    x: Any = [_wide(operand) for operand in operands]
    d: Any = [_packed(change) for change in changes]
    if name == "spmm":
        return total(None if d[0] is None else on.times(v, d[0], rest[0]), None if dv is None else on.times(dv, x[0], rest[0]))
    if name == "sddmm":
        return Edge(on, v, *x, rest[:4]).tangent(_products_tangent(on, *x, *d), dv)
    transpose = rest[4]
    first, second = (1, 0) if transpose else (0, 1)
    edge = Edge(on, v, x[first], x[second], rest[:4], transpose)
    dp = edge.tangent(_products_tangent(on, x[first], x[second], d[first], d[second]), dv)
    return total(None if d[2] is None else on.times(edge.value, d[2], transpose), None if dp is None else on.times(dp, x[2], transpose))
