"""Sparse tensors and masks as the tensors of a pattern, and their values in its order."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from .. import _errors, _sparse
from . import _sets
from ._held import apart

LAYOUTS = (torch.sparse_csr, torch.sparse_csc, torch.sparse_coo)


class Places(NamedTuple):
    """The arguments of a Pattern without values, and the function that reads a tensor's values in the order of the entries; None: a mask."""

    arguments: tuple[Tensor, Tensor, int, int, bool]
    values: Optional[Callable[[Tensor], Tensor]]


def check(matrix: Tensor, name: str) -> None:
    """Refuse tensors that are no pattern: neither a mask nor sparse, batches, other layouts."""
    if matrix.dim() != 2:
        raise _errors.ArgumentError(f"{name} has shape {tuple(matrix.shape)}: expected two dimensions; make a Pattern.from_torch of each member: attention "
                                    f"takes a list of them, and Pattern.stack makes one pattern with all on its diagonal")
    if matrix.layout not in LAYOUTS and (matrix.layout is not torch.strided or matrix.dtype is not torch.bool):
        raise _errors.ArgumentError(f"{name} is a tensor of {matrix.dtype} with layout {matrix.layout}: expected sparse_csr, sparse_csc or sparse_coo, or a "
                                    f"mask of bool; convert it, for instance by to_sparse_csr()")
    if matrix.is_meta:
        raise _errors.ArgumentError(f"{name} is on the device meta: it does not say where its entries are")


def parts(matrix: Tensor) -> Sequence[Tensor]:
    """Return the tensors that say where the entries of a tensor are, also by which of them are True."""
    if matrix.layout is torch.strided:
        return (matrix,)
    mask = matrix.dtype is torch.bool
    if matrix.layout is torch.sparse_coo:
        return (matrix._indices(), *[matrix._values()] * mask)
    return (*_sparse.compressed(torch, matrix)[:2], *[matrix.values()] * mask)


def places(matrix: Tensor) -> Places:
    """Return the places of a tensor that `check` allows. Entries of a COO tensor at one place become one."""
    rows, cols = matrix.shape
    if matrix.dtype is torch.bool:
        with apart():
            return Places(_of_mask(matrix), None)
    if matrix.layout is torch.sparse_coo:
        return _of_coo(matrix)
    if matrix.layout is torch.sparse_csr:
        return Places((matrix.crow_indices(), matrix.col_indices(), rows, cols, False), Tensor.values)
    row, column = _ends(matrix)
    return Places((row, column, rows, cols, True), Tensor.values)


def outer(offsets: Tensor, inner: Tensor) -> Tensor:
    """Return the row of each entry from row offsets and columns."""
    with apart():
        return torch.repeat_interleave(torch.arange(offsets.shape[0] - 1, dtype=inner.dtype, device=inner.device), offsets.diff(), output_size=inner.shape[0])


def _ends(matrix: Tensor) -> Any:
    """Return the row and the column of each entry of a sparse tensor."""
    if matrix.layout is torch.sparse_coo:
        return matrix._indices()
    offsets, inner, _ = _sparse.compressed(torch, matrix)
    return (outer(offsets, inner), inner) if matrix.layout is torch.sparse_csr else (inner, outer(offsets, inner))


def _of_coo(matrix: Tensor) -> Places:
    """Without duplicates entries keep their order, which autograd supports only for sorted entries."""
    rows, cols = matrix.shape
    indices, values = matrix._indices(), Tensor.values
    if not matrix.is_coalesced():
        found, rank = torch.unique(indices[0] * cols + indices[1], return_inverse=True)
        if found.numel() == rank.numel():
            def values(x: Tensor) -> Tensor:
                return x.coalesce().values()[rank] if x.requires_grad else x._values()
        else:
            indices = matrix.detach().coalesce().indices()

            def values(x: Tensor) -> Tensor:
                return x.coalesce().values()
    return Places((indices[0], indices[1], rows, cols, True), values)


def _of_mask(mask: Tensor) -> tuple[Tensor, Tensor, int, int, bool]:
    """Return the places that are True, by rows, without duplicates."""
    rows, cols = mask.shape
    if mask.layout is torch.strided:
        keys = mask.reshape(-1).nonzero().squeeze(1)
    else:
        (row, column), kept = _ends(mask), mask._values() if mask.layout is torch.sparse_coo else mask.values()
        keys = torch.unique(row[kept].long() * cols + column[kept].long())
    return (*_sets.of_keys(keys, rows, cols, torch.int64), rows, cols, False)
