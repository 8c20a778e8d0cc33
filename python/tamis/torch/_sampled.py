"""The operators sddmm, spmm and fused."""
from __future__ import annotations

import math
from typing import Any, Optional

import torch
from torch import Tensor

from .. import _declarations as c
from .. import _edges, _errors
from .._call import Settings
from .._types import OPERANDS
from . import _vmap
from ._direct import RECORDED
from ._formulas import Operations, packed, wide
from ._kernels import MASK, SCALE, SOFTMAX, backward, computed, empty_like, kept_result, lead_of, settings_of, statistics_of
from ._ops import CALLS, Operator

_EDGE = "int edge, float scale, float slope, float epsilon"


def _known(*sizes: Any) -> bool:
    return all(type(size) is int for size in sizes)


def _check(nnz: Any, values: Optional[Tensor], matrices: list, heights: list, inner: bool, mixed: bool = False) -> None:
    """Check shapes. matrices: names and tensors; heights: required rows of each; inner: required columns of A and B."""
    first = matrices[0][1]
    lead: tuple = ()
    for (name, x), height in zip(matrices, heights):
        if x.dtype != first.dtype:
            raise _errors.ArgumentError(f"{name} is {x.dtype} and the other operands {first.dtype}: convert one, for instance by "
                                        f"{name}.to({first.dtype})")
        rows = x.shape[0 if x.dim() == 1 else -2]
        if _known(rows, height) and rows != height:
            raise _errors.ArgumentError(f"{name} has shape {tuple(x.shape)}: expected {height} rows")
        own = tuple(x.shape[:-2])
        if own and lead and _known(*own, *lead) and own != lead:
            raise _errors.ArgumentError(f"{name} has shape {tuple(x.shape)}: its leading dimensions differ from {lead}")
        lead = own or lead
    if inner:
        a, b = matrices[0][1], matrices[1][1]
        if _known(a.shape[-1], b.shape[-1]) and a.shape[-1] != b.shape[-1]:
            raise _errors.ArgumentError(f"A has shape {tuple(a.shape)} and B {tuple(b.shape)}: expected the same number of columns")
    if values is None:
        return
    if values.dtype != first.dtype and not (mixed and values.dtype == torch.float32 and first.dtype in (torch.float16, torch.bfloat16)):
        raise _errors.ArgumentError(f"values are {values.dtype}, the operands {first.dtype}: convert one, for instance by values.to({first.dtype})")
    count, own = values.shape[-1], tuple(values.shape[:-1])
    if _known(count, nnz) and count != nnz:
        raise _errors.ArgumentError(f"values has {count} elements: expected {nnz}")
    if own and lead and _known(*own, *lead) and own != lead[len(lead) - len(own):]:
        raise _errors.ArgumentError(f"values has shape {tuple(values.shape)}: its leading dimensions differ from {lead}")


class Sampled(Operator):
    """An operation on the places of a pattern: values, then matrices. Its numbers are an edge's, and `transpose`; `run` and `back` take Settings."""

    operation = 0
    saved = "Tensor? values, Tensor a, Tensor b, Tensor statistics"
    keeps = True
    rule = _vmap.of_batches
    repeated: Any = None  # repeated(numbers, *wanted) returns how often the gradient computes the products of rows, and the sums
    split: Any = None  # split(numbers of the schema) returns the edge's numbers, and `transpose`

    def inner(self, numbers: tuple) -> Settings:
        edge, transpose = self.split(numbers)
        return settings_of(*edge, transpose, False)

    def run(self, of: Any, operands: tuple, how: Any, keep: bool) -> tuple:
        if not keep or how.edge != SOFTMAX:
            return computed(self.operation, of, how, operands, None), None
        statistics = statistics_of(of.shape[1 if how.transpose else 0], *operands[1:], operands[0])
        how = settings_of(*how[:5], statistics.numel() > 0)
        return computed(self.operation, of, how, operands, statistics.data_ptr() or None), statistics

    def direct(self, need: int, pattern: Any, how: Any, *operands: Any) -> Tensor:  # half of such a call's time is Python's
        if need == RECORDED:
            return self.function.apply(pattern, how, *operands)  # type: ignore[no-any-return]
        return computed(self.operation, pattern._current(), how, operands, None)

    def save(self, operands: tuple, results: tuple, numbers: Any) -> tuple[tuple, Any, int]:
        return (*operands, results[1]), numbers, 0

    def back(self, of: Any, grad: Tensor, saved: Any, how: Any, wanted: list[bool], *late: Any) -> list:
        statistics = saved[-1]
        how = settings_of(*how[:5], statistics is not None and statistics.numel() > 0)
        return backward(self.operation, of, how, saved[0], grad, saved[1:-1], statistics, wanted, *late)

    def empty(self, of: Any, operands: tuple, numbers: tuple, keep: bool) -> tuple:
        values, *matrices = operands
        edge, transpose = self.split(numbers)
        out, other = (of.shape[1], of.shape[0]) if transpose else of.shape
        named = list(zip(OPERANDS[self.operation], matrices))
        _check(of.nnz, values, named, [out, other, other] if len(named) > 1 else [other], len(named) > 1, mixed=len(named) == 1)
        shape = (of.nnz,) if self.operation == c.TAMIS_OP_SDDMM else (out, *matrices[-1].shape[1 if matrices[-1].dim() == 1 else -1:])
        statistics = statistics_of(out, *matrices, values) if keep and edge[0] == SOFTMAX else None
        return matrices[0].new_empty((*lead_of(*matrices, values), *shape)), statistics

    def back_empty(self, of: Any, grad: Tensor, saved: Any, numbers: tuple, wanted: list[bool]) -> list:
        values, matrices = saved[0], saved[1:1 + len(OPERANDS[self.operation])]
        of_values = values.new_empty(values.shape) if values is not None and wanted[-1] else None
        return [*(empty_like(x) if wants else None for wants, x in zip(wanted, matrices)), of_values]

    def flops(self, of: Any, operands: tuple, numbers: tuple) -> Any:
        return sum(self._products(of, *operands))

    def back_flops(self, of: Any, grad: Tensor, saved: Any, numbers: tuple, wanted: list[bool]) -> Any:
        products = self._products(of, *saved[:1 + len(OPERANDS[self.operation])])
        return sum(size * count for size, count in zip(products, self.repeated(numbers, *wanted)))

    def _products(self, of: Any, values: Optional[Tensor], *matrices: Tensor) -> list:
        """Return the operations of a product of each pair of rows, and of each sum of rows."""
        return [2 * of.nnz * math.prod(lead_of(*matrices, values)) * (x.shape[-1] if x.dim() > 1 else 1) for x in matrices[::2]]

    def formula(self, where: tuple, grad: Tensor, saved: Any, numbers: tuple, wanted: list[bool]) -> list:
        values, *matrices = saved[:1 + len(OPERANDS[self.operation])]
        edge, transpose = self.split(numbers)
        found = _edges.gradients(Operations(CALLS, *where), self.operation, packed(grad), wide(values), tuple(map(wide, matrices)), edge, transpose, wanted)
        return [None if to is None or not wants else torch.zeros_like(to) if of is None else of.sum_to_size(to.shape).to(to.dtype)
                for of, to, wants in zip(found, (*matrices, values), wanted)]

    def tangent(self, where: tuple, saved: Any, numbers: tuple, changes: tuple) -> Any:
        values, *matrices = saved[:1 + len(OPERANDS[self.operation])]
        edge, transpose = self.split(numbers)
        dv, *d = map(packed, changes)
        return _edges.tangent(Operations(CALLS, *where), self.operation, wide(values), tuple(map(wide, matrices)), edge, transpose, dv, d)


class Sddmm(Sampled):
    name, operation = "sddmm", c.TAMIS_OP_SDDMM
    operands, numbers = "Tensor? values, Tensor a, Tensor b", _EDGE
    gradients = (1, 2, 0)
    split: Any = staticmethod(lambda numbers: (numbers, False))
    outer: Any = staticmethod(lambda how: how[:4])
    repeated: Any = staticmethod(lambda numbers, a, b, values: (a + b + (values or numbers[0] not in (SCALE, MASK)),))


class Spmm(Sampled):
    name, operation = "spmm", c.TAMIS_OP_SPMM
    operands, numbers = "Tensor? values, Tensor b", "bool transpose"
    saved = operands
    gradients = (1, 0)
    keeps, results = False, 1
    split: Any = staticmethod(lambda numbers: ((SCALE, 1.0, 0.01, 1e-10), numbers[0]))
    outer: Any = staticmethod(lambda how: (how.transpose,))
    repeated: Any = staticmethod(lambda numbers, b, values: (b + values,))

    def save(self, operands: tuple, results: tuple, numbers: Any) -> tuple[tuple, Any, int]:
        return operands, numbers, 0

    def back(self, of: Any, grad: Tensor, saved: Any, how: Any, wanted: list[bool], *late: Any) -> list:
        return super().back(of, grad, (*saved, None), how, wanted)


class Fused(Sampled):
    name, operation = "fused", c.TAMIS_OP_FUSED
    operands, numbers = "Tensor? values, Tensor a, Tensor b, Tensor d", f"{_EDGE}, bool transpose"
    saved = f"{operands}, Tensor statistics"
    late = "Tensor? result=None"  # from which the gradient has softmax's sums
    gradients = (1, 2, 3, 0)
    split: Any = staticmethod(lambda numbers: (numbers[:4], numbers[4]))
    outer: Any = staticmethod(lambda how: how[:5])
    repeated: Any = staticmethod(lambda numbers, a, b, d, values: (1 + a + b, d + (a or b or values)))

    def save(self, operands: tuple, results: tuple, numbers: Any) -> tuple[tuple, Any, int]:
        late = kept_result(operands[0], operands[1], numbers[0], results[0])
        return (*operands, results[1], *late), numbers, len(late)


SDDMM, SPMM, FUSED = Sddmm(), Spmm(), Fused()
