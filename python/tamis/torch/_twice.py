"""Gradients that can be differentiated again, for create_graph=True: of the linear edges (scale, mask, residual), as the operations
themselves, of which each gradient is a sum of others. The library's backward calls, which are faster, cannot."""
from __future__ import annotations

from typing import Any, Optional

from torch import Tensor

from .. import _declarations as c

LINEAR = (c.TAMIS_EDGE_SCALE, c.TAMIS_EDGE_MASK, c.TAMIS_EDGE_RESIDUAL)
MASK, RESIDUAL = c.TAMIS_EDGE_MASK, c.TAMIS_EDGE_RESIDUAL


class Twice:
    """The operations on one pattern, by `calls`, the registered operators. sizes: rows, cols, coo."""

    def __init__(self, calls: dict[str, Any], index: Tensor, columns: Tensor, sizes: tuple):
        self.calls, self.index, self.columns, self.sizes = calls, index, columns, sizes

    def products(self, a: Tensor, b: Tensor) -> Tensor:
        return self.calls["sddmm"](self.index, self.columns, None, a, b, *self.sizes, MASK, 1.0, 0.01, 1e-10, False)[0]

    def times(self, values: Optional[Tensor], b: Tensor, transpose: bool) -> Tensor:
        return self.calls["spmm"](self.index, self.columns, values, b, *self.sizes, transpose)

    def spmm(self, grad: Tensor, values: Optional[Tensor], b: Tensor, transpose: bool, wanted: list[bool]) -> list:
        """Gradients of b and values."""
        db = self.times(values, grad, not transpose) if wanted[0] else None
        dv = None
        if wanted[1]:
            x, y = (b.unsqueeze(-1), grad.unsqueeze(-1)) if b.dim() == 1 else (b, grad)
            dv = self.products(x, y) if transpose else self.products(y, x)
        return [db, dv]

    def sddmm(self, grad: Tensor, values: Optional[Tensor], a: Tensor, b: Tensor, edge: int, wanted: list[bool]) -> list:
        """Gradients of a, b and values."""
        scaled = -grad if edge == RESIDUAL else grad if edge == MASK or values is None else grad * values
        da = self.times(scaled, b, False) if wanted[0] else None
        db = self.times(scaled, a, True) if wanted[1] else None
        dv = None
        if wanted[2] and values is not None:
            dv = values * 0 if edge == MASK else grad if edge == RESIDUAL else grad * self.products(a, b)
        return [da, db, dv]

    def fused(self, grad: Tensor, values: Optional[Tensor], a: Tensor, b: Tensor, d: Tensor, edge: int, transpose: bool,
              wanted: list[bool]) -> list:
        """Gradients of a, b, d and values. With the transpose, a belongs to columns and b to rows."""
        x, y = (b, a) if transpose else (a, b)
        samples = self.products(x, y)
        if edge == RESIDUAL:
            samples = (1 if values is None else values) - samples
        elif edge != MASK and values is not None:
            samples = values * samples
        dd, dp = self.spmm(grad, samples, d, transpose, [wanted[2], True])
        dx, dy, dv = self.sddmm(dp, values, x, y, edge, [*((wanted[1], wanted[0]) if transpose else wanted[:2]), wanted[3]])
        return [dy, dx, dd, dv] if transpose else [dx, dy, dd, dv]


def gradients(calls: dict[str, Any], name: str, grad: Tensor, index: Tensor, columns: Tensor, values: Optional[Tensor], operands: tuple,
              numbers: tuple, wanted: list[bool]) -> Optional[list]:
    """Gradients of the operands and values; None: of this edge there are none. numbers: those of the operator after its tensors."""
    sizes, rest = numbers[:3], numbers[3:]
    twice = Twice(calls, index, columns, sizes)
    if name == "spmm":
        found = twice.spmm(grad, values, *operands, *rest, wanted)
    elif rest[0] not in LINEAR:
        return None
    elif name == "sddmm":
        found = twice.sddmm(grad, values, *operands, rest[0], wanted)
    else:
        found = twice.fused(grad, values, *operands, rest[0], rest[4], wanted)
    return [None if x is None or of is None else x.sum_to_size(of.shape) for x, of in zip(found, (*operands, values))]
