"""Derivatives that can be differentiated again: gradients (for create_graph=True and torch.func) and tangents (forward mode).

Two operations are enough, sampled products and spmm, which are bilinear: the derivatives of each are calls of both. What an edge makes of
a product is computed by PyTorch, entry by entry. The library's backward calls, which are faster, cannot be differentiated.
"""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from .. import _declarations as c

SCALE, MASK, RESIDUAL, QUOTIENT = c.TAMIS_EDGE_SCALE, c.TAMIS_EDGE_MASK, c.TAMIS_EDGE_RESIDUAL, c.TAMIS_EDGE_QUOTIENT
SIGMOID, EXP, LEAKY_RELU, SOFTMAX = c.TAMIS_EDGE_SIGMOID, c.TAMIS_EDGE_EXP, c.TAMIS_EDGE_LEAKY_RELU, c.TAMIS_EDGE_SOFTMAX
CURVED = (QUOTIENT, SIGMOID, EXP, LEAKY_RELU)  # the derivative by the product depends on the product


def _sum(one: Any, other: Any) -> Any:
    """Of two terms, each of which may be None, that is zero."""
    return other if one is None else one if other is None else one + other


class Operations:
    """The operations on one pattern, by `calls`, the registered operators."""

    def __init__(self, calls: dict[str, Any], index: Tensor, columns: Tensor, rows: Any, cols: Any, coo: bool):
        self.calls, self.index, self.columns, self.rows, self.cols, self.coo = calls, index, columns, rows, cols, coo

    def products(self, a: Tensor, b: Tensor) -> Tensor:
        """Those of a's and b's rows at the places."""
        return self.sddmm(None, a, b, (MASK, 1.0, 0.01, 1e-10))

    def sddmm(self, values: Optional[Tensor], a: Tensor, b: Tensor, edge: tuple) -> Tensor:
        return self.calls["sddmm"](self.index, self.columns, values, a, b, self.rows, self.cols, self.coo, *edge, False)[0]

    def times(self, values: Optional[Tensor], b: Tensor, transpose: bool) -> Tensor:
        return self.calls["spmm"](self.index, self.columns, values, b, self.rows, self.cols, self.coo, transpose)

    def sums(self, x: Tensor, transpose: bool) -> Tensor:
        """The sum of x over each row, with the transpose over each column, (..., rows, 1)."""
        return self.times(x, x.new_ones((self.rows if transpose else self.cols, 1)), transpose)

    def spread(self, x: Tensor, transpose: bool) -> Tensor:
        """A number of each row, with the transpose of each column, at the places."""
        one = x.new_ones((self.rows if transpose else self.cols, 1))
        return self.products(one, x) if transpose else self.products(x, one)


class Edge:
    """An edge at the places of one call: its value, and what changes of the products and of S's values do to it. With the transpose, softmax
    is that of columns. numbers: edge, scale, slope, epsilon."""

    def __init__(self, on: Operations, values: Optional[Tensor], a: Tensor, b: Tensor, numbers: tuple, transpose: bool = False):
        self.on, self.values, self.a, self.b, self.numbers, self.transpose = on, values, a, b, numbers, transpose
        self.s: Any = 1.0 if values is None else values
        self._x: Optional[Tensor] = None
        self._p: Optional[Tensor] = None

    @property
    def x(self) -> Tensor:
        if self._x is None:
            self._x = self.on.products(self.a, self.b)
        return self._x

    def value(self) -> Tensor:
        if self._p is None:
            edge, scale, slope, epsilon = self.numbers
            if edge == SOFTMAX:
                self._p = self._softmax_of_columns() if self.transpose else self.on.sddmm(self.values, self.a, self.b, self.numbers)
            else:
                s, x = self.s, self.x
                y = scale * x
                self._p = {SCALE: lambda: s * x, MASK: lambda: x, RESIDUAL: lambda: s - x, QUOTIENT: lambda: s / torch.where(x > epsilon, x, epsilon),
                           SIGMOID: lambda: s * torch.sigmoid(y), EXP: lambda: s * torch.exp(y),
                           LEAKY_RELU: lambda: s * torch.where(y < 0, slope * y, y)}[edge]()
        return self._p

    def _softmax_of_columns(self) -> Tensor:
        """No operation samples it. The largest score of a column only keeps the exponentials small, so that it has no derivative."""
        y = self.numbers[1] * self.x
        y = y if self.values is None else y + self.values
        places = self.on.columns.long().expand(y.shape)
        most = y.new_full((*y.shape[:-1], self.on.cols), float("-inf")).scatter_reduce(-1, places, y.detach(), "amax")
        most = torch.where(most == float("-inf"), 0.0, most)
        e = torch.exp(y - most.gather(-1, places))
        total = self.on.sums(e, True)
        return e / self.on.spread(torch.where(total == 0, 1.0, total), True)

    def _factors(self) -> tuple[Any, Any]:
        """The derivatives of the value by the product and by S's value, softmax apart."""
        edge, scale, slope, epsilon = self.numbers
        if edge not in CURVED:
            return {SCALE: (self.s, None), MASK: (1.0, None), RESIDUAL: (-1.0, 1.0)}[edge]
        s, x = self.s, self.x
        y = scale * x
        if edge == QUOTIENT:
            most = torch.where(x > epsilon, x, epsilon)
            return torch.where(x > epsilon, -s / (most * most), 0.0), 1 / most
        if edge == LEAKY_RELU:
            slopes = torch.where(y < 0, slope, 1.0).to(y.dtype)
            return s * scale * slopes, y * slopes
        f = torch.sigmoid(y) if edge == SIGMOID else torch.exp(y)
        return s * scale * (f * (1 - f) if edge == SIGMOID else f), f

    def gradients(self, grad: Tensor, by_product: bool, by_value: bool) -> tuple[Any, Any]:
        """Of the product and of S's value, from that of the edge's value."""
        edge, scale = self.numbers[:2]
        if edge == SOFTMAX:
            dy = self._centred(grad)
            return scale * dy, dy
        of_x, of_s = self._factors()
        if edge == SCALE and by_value:
            of_s = self.x
        return of_x * grad if by_product else None, None if of_s is None or not by_value else of_s * grad

    def _centred(self, change: Tensor) -> Tensor:
        """p (change - the row's mean of change, weighted by p): softmax's derivative, which is symmetric."""
        p = self.value()
        return p * (change - self.on.spread(self.on.sums(p * change, self.transpose), self.transpose))

    def tangent(self, dx: Optional[Tensor], ds: Optional[Tensor]) -> Optional[Tensor]:
        """The change of the value from those of the product and of S's value; None stands for zero."""
        edge, scale = self.numbers[:2]
        if edge == MASK:
            ds = None
        if dx is None and ds is None:
            return None
        if edge == SOFTMAX:
            return self._centred(_sum(None if dx is None else scale * dx, ds))
        of_x, of_s = self._factors()
        if edge == SCALE and ds is not None:
            of_s = self.x
        return _sum(None if dx is None else of_x * dx, None if ds is None else of_s * ds)


# ------------------------------------------------------------------------------ gradients


def _of_spmm(on: Operations, grad: Tensor, values: Optional[Tensor], b: Tensor, transpose: bool, wanted: list[bool]) -> list:
    """Of b and values."""
    db = on.times(values, grad, not transpose) if wanted[0] else None
    dv = None
    if wanted[1]:
        x, y = (b.unsqueeze(-1), grad.unsqueeze(-1)) if b.dim() == 1 else (b, grad)
        dv = on.products(x, y) if transpose else on.products(y, x)
    return [db, dv]


def _of_sddmm(edge: Edge, grad: Tensor, wanted: list[bool]) -> list:
    """Of a, b and values."""
    on, values = edge.on, edge.values
    of_x, of_s = edge.gradients(grad, wanted[0] or wanted[1], wanted[2])
    da = on.times(of_x, edge.b, False) if wanted[0] else None
    db = on.times(of_x, edge.a, True) if wanted[1] else None
    dv = of_s if wanted[2] and values is not None else None
    return [da, db, torch.zeros_like(values) if dv is None and wanted[2] and values is not None else dv]


def _of_fused(on: Operations, grad: Tensor, values: Optional[Tensor], a: Tensor, b: Tensor, d: Tensor, numbers: tuple, transpose: bool,
              wanted: list[bool]) -> list:
    """Of a, b, d and values. With the transpose, a belongs to columns and b to rows."""
    x, y = (b, a) if transpose else (a, b)
    edge = Edge(on, values, x, y, numbers, transpose)
    others = [*((wanted[1], wanted[0]) if transpose else wanted[:2]), wanted[3]]
    dd, dp = _of_spmm(on, grad, edge.value() if wanted[2] else None, d, transpose, [wanted[2], any(others)])
    dx, dy, dv = _of_sddmm(edge, dp, others) if any(others) else (None, None, None)
    return [dy, dx, dd, dv] if transpose else [dx, dy, dd, dv]


def _wide(x: Optional[Tensor]) -> Optional[Tensor]:
    """What is between the operations is not rounded to 16 bits."""
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
    return _sum(None if da is None else on.products(da, b), None if db is None else on.products(a, db))


def tangent(calls: dict[str, Any], name: str, index: Tensor, columns: Tensor, values: Optional[Tensor], operands: tuple, numbers: tuple,
            dv: Optional[Tensor], changes: tuple) -> Optional[Tensor]:
    """The change of the result from those of the values and operands, where None stands for zero; without a batch that does not matter."""
    on, rest = Operations(calls, index, columns, *numbers[:3]), numbers[3:]
    v, dv = _wide(values), _packed(dv)
    x: Any = [_wide(operand) for operand in operands]
    d: Any = [_packed(change) for change in changes]
    if name == "spmm":
        return _sum(None if d[0] is None else on.times(v, d[0], rest[0]), None if dv is None else on.times(dv, x[0], rest[0]))
    if name == "sddmm":
        return Edge(on, v, *x, rest[:4]).tangent(_products_tangent(on, *x, *d), dv)
    transpose = rest[4]
    first, second = (1, 0) if transpose else (0, 1)
    edge = Edge(on, v, x[first], x[second], rest[:4], transpose)
    dp = edge.tangent(_products_tangent(on, x[first], x[second], d[first], d[second]), dv)
    return _sum(None if d[2] is None else on.times(edge.value(), d[2], transpose), None if dp is None else on.times(dp, x[2], transpose))
