"""Shapes and types of the operators' results without their content: for tensors of the device meta, torch.compile and torch.export.

Wrong operands are refused here as the library refuses them, where their sizes are numbers: symbols are checked when the program runs.
"""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from .. import _errors
from . import _kernels as k


def _known(*sizes: Any) -> bool:
    return all(type(size) is int for size in sizes)


def _check(columns: Tensor, values: Optional[Tensor], matrices: list, heights: list, inner: bool, mixed: bool = False) -> None:
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
    count, nnz, own = values.shape[-1], columns.shape[0], tuple(values.shape[:-1])
    if _known(count, nnz) and count != nnz:
        raise _errors.ArgumentError(f"values has {count} elements: expected {nnz}")
    if own and lead and _known(*own, *lead) and own != lead[len(lead) - len(own):]:
        raise _errors.ArgumentError(f"values has shape {tuple(values.shape)}: its leading dimensions differ from {lead}")


def _sddmm_fake(index, columns, values, a, b, rows, cols, coo, edge, scale, slope, epsilon, keep):
    _check(columns, values, [("A", a), ("B", b)], [rows, cols], True)
    lead = k.lead_of(a, b, values)
    return a.new_empty((*lead, columns.shape[0])), k._statistics(keep and edge == k.SOFTMAX, rows, a, b, values)


def _spmm_fake(index, columns, values, b, rows, cols, coo, transpose):
    out, height = (cols, rows) if transpose else (rows, cols)
    _check(columns, values, [("B", b)], [height], False, mixed=True)
    lead = k.lead_of(b, values)
    return b.new_empty((*lead, out)) if b.dim() == 1 else b.new_empty((*lead, out, b.shape[-1]))


def _fused_fake(index, columns, values, a, b, d, rows, cols, coo, edge, scale, slope, epsilon, transpose, keep):
    first, second = (cols, rows) if transpose else (rows, cols)
    _check(columns, values, [("A", a), ("B", b), ("D", d)], [first, second, second], True)
    lead, out = k.lead_of(a, b, d, values), first
    return a.new_empty((*lead, out, d.shape[-1])), k._statistics(keep and edge == k.SOFTMAX, out, a, b, d, values)


def _gradients_fake(wanted, *of):
    like = of[0]
    return tuple(k._like(x) if wants and x is not None else like.new_empty((0,)) for wants, x in zip(wanted, of))


def _values_gradient_fake(values, like, wants):
    return values.new_empty(values.shape) if wants and values is not None else like.new_empty((0,))


def _sddmm_backward_fake(grad, index, columns, values, a, b, statistics, rows, cols, coo, edge, scale, slope, epsilon, wanted):
    return (*_gradients_fake(wanted, a, b), _values_gradient_fake(values, a, wanted[2]))


def _spmm_backward_fake(grad, index, columns, values, b, rows, cols, coo, transpose, wanted):
    return (*_gradients_fake(wanted, b), _values_gradient_fake(values, b, wanted[1]))


def _fused_backward_fake(grad, index, columns, values, a, b, d, statistics, rows, cols, coo, edge, scale, slope, epsilon, transpose, wanted, result=None):
    return (*_gradients_fake(wanted, a, b, d), _values_gradient_fake(values, a, wanted[3]))


FAKES = {"sddmm": _sddmm_fake, "spmm": _spmm_fake, "fused": _fused_fake, "sddmm_backward": _sddmm_backward_fake,
         "spmm_backward": _spmm_backward_fake, "fused_backward": _fused_backward_fake}
