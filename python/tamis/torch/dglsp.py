"""The names of dgl.sparse, for programs that use them: its sparse matrix and its products, of which the batch comes last.

Not all of dgl.sparse: what sampled and sparse products, and attention made of them, need.
"""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from .. import _errors
from . import Pattern, _check_tensors
from . import sddmm as _sddmm
from . import softmax as _softmax
from . import spmm as _spmm


class SparseMatrix:
    """A sparse matrix (rows, cols) with values `val`, (nnz,) or (nnz, batch), in the order in which it was made."""

    def __init__(self, pattern: Pattern, val: Tensor):
        _check_tensors({"val": val})
        if val.dim() not in (1, 2) or val.shape[0] != pattern.nnz:
            raise _errors.ArgumentError(f"val has shape {tuple(val.shape)}: expected ({pattern.nnz},) or ({pattern.nnz}, batch)")
        self.pattern, self.val = pattern, val

    @property
    def shape(self) -> tuple[int, int]:
        return self.pattern.shape

    @property
    def nnz(self) -> int:
        return self.pattern.nnz

    @property
    def device(self) -> torch.device:
        return self.val.device

    @property
    def dtype(self) -> torch.dtype:
        return self.val.dtype

    @property
    def row(self) -> Tensor:
        index = self.pattern.index
        return index if self.pattern.coo else torch.repeat_interleave(torch.arange(len(index) - 1, device=index.device), index.diff())

    @property
    def col(self) -> Tensor:
        return self.pattern.columns

    def softmax(self) -> SparseMatrix:
        return softmax(self)

    def to_dense(self) -> Tensor:
        """The matrix with its zeros, (rows, cols) or (rows, cols, batch); values at one place are added."""
        dense = self.val.new_zeros((*self.shape, *self.val.shape[1:]))
        return dense.index_put((self.row.long(), self.col.long()), self.val, accumulate=True)

    def __matmul__(self, X: Tensor) -> Tensor:
        return spmm(self, X)

    def __repr__(self) -> str:
        return f"SparseMatrix(shape={self.shape}, nnz={self.nnz}, val={tuple(self.val.shape)} {self.dtype})"


def _values(val: Optional[Tensor], like: Tensor) -> Tensor:
    return torch.ones(like.shape[0], device=like.device) if val is None else val


def spmatrix(indices: Tensor, val: Optional[Tensor] = None, shape: Optional[tuple[int, int]] = None) -> SparseMatrix:
    """From rows and columns (2, nnz), with values of ones if val is None.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> A = dglsp.spmatrix(torch.tensor([[0, 1, 1], [1, 0, 2]]))
    >>> A @ torch.tensor([[1.], [10.], [100.]])
    tensor([[ 10.],
            [101.]])
    """
    _check_tensors({"indices": indices})
    if indices.dim() != 2 or indices.shape[0] != 2:
        raise _errors.ArgumentError(f"indices has shape {tuple(indices.shape)}: expected (2, nnz)")
    return from_coo(indices[0], indices[1], val, shape)


def from_coo(row: Tensor, col: Tensor, val: Optional[Tensor] = None, shape: Optional[tuple[int, int]] = None) -> SparseMatrix:
    """From the row and the column of each entry; shape: the largest indices and one more if None."""
    _check_tensors({"row": row, "col": col})
    if shape is None:
        shape = (int(row.max()) + 1, int(col.max()) + 1) if row.numel() else (0, 0)
    return SparseMatrix(Pattern.from_coo(row, col, shape), _values(val, col))


def from_csr(indptr: Tensor, indices: Tensor, val: Optional[Tensor] = None, shape: Optional[tuple[int, int]] = None) -> SparseMatrix:
    """From row offsets and columns."""
    _check_tensors({"indptr": indptr, "indices": indices})
    if shape is None:
        if indptr.dim() != 1:
            raise _errors.ArgumentError(f"indptr has shape {tuple(indptr.shape)}: expected (rows + 1,)")
        shape = (indptr.shape[0] - 1, int(indices.max()) + 1 if indices.numel() else 0)
    return SparseMatrix(Pattern.from_csr(indptr, indices, shape), _values(val, indices))


def val_like(mat: SparseMatrix, val: Tensor) -> SparseMatrix:
    """Other values in the same pattern."""
    _check_matrix(mat, "mat")
    return SparseMatrix(mat.pattern, val)


def _check_matrix(A: Any, name: str = "A") -> None:
    if not isinstance(A, SparseMatrix):
        raise TypeError(f"{name} is a {type(A).__name__}: expected a SparseMatrix, for instance of spmatrix, from_coo or from_csr")


def _check_operands(A: Any, dimensions: tuple[int, ...], **operands: Any) -> None:
    """The first is a matrix, the others tensors with so many dimensions."""
    _check_matrix(A)
    _check_tensors(operands)
    for name, x in operands.items():
        if x.dim() not in dimensions:
            raise _errors.ArgumentError(f"{name} has shape {tuple(x.shape)}: expected {' or '.join(map(str, dimensions))} dimensions")


def _first(X: Tensor) -> Tensor:
    """The batch, which comes last, in front: a copy, since a matrix of Tamis has its elements side by side."""
    return X.permute(2, 0, 1).contiguous()


def sddmm(A: SparseMatrix, X1: Tensor, X2: Tensor) -> SparseMatrix:
    """(X1 X2) * A at A's places. X1: (rows, K); X2: (K, cols), of which the transpose of a packed matrix is taken as it is."""
    _check_operands(A, (1, 2), X1=X1, X2=X2)
    if A.val.dim() != 1:
        raise _errors.ArgumentError(f"A.val has shape {tuple(A.val.shape)}: expected a vector; bsddmm takes a batch of X1 and X2")
    X1, X2 = (X.unsqueeze(1) if X.dim() == 1 and first else X.unsqueeze(0) if X.dim() == 1 else X for X, first in ((X1, True), (X2, False)))
    return val_like(A, _sddmm(A.pattern, X1, X2.t(), A.val))


def bsddmm(A: SparseMatrix, X1: Tensor, X2: Tensor) -> SparseMatrix:
    """A batch of them: X1 (rows, K, batch), X2 (K, cols, batch); val of the result is (nnz, batch). Operands are copied batch first.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> A = dglsp.spmatrix(torch.tensor([[0, 1], [1, 0]]))
    >>> dglsp.bsddmm(A, torch.ones(2, 3, 4), torch.ones(3, 2, 4)).val.shape
    torch.Size([2, 4])
    """
    _check_operands(A, (3,), X1=X1, X2=X2)
    return val_like(A, _sddmm(A.pattern, _first(X1), X2.permute(2, 1, 0).contiguous(), A.val).transpose(0, 1))


def spmm(A: SparseMatrix, X: Tensor) -> Tensor:
    """A X. X: (cols, L) or (cols,)."""
    _check_operands(A, (1, 2), X=X)
    if A.val.dim() != 1:
        raise _errors.ArgumentError(f"A.val has shape {tuple(A.val.shape)}: expected a vector; bspmm takes a batch")
    return _spmm(A.pattern, X, A.val)


def bspmm(A: SparseMatrix, X: Tensor) -> Tensor:
    """A batch of them: A.val (nnz, batch), X (cols, L, batch). Returns (rows, L, batch). Operands are copied batch first."""
    _check_operands(A, (3,), X=X)
    if A.val.dim() == 2 and A.val.shape[1] != X.shape[2]:
        raise _errors.ArgumentError(f"A.val has shape {tuple(A.val.shape)} and X {tuple(X.shape)}: expected (nnz, batch) and (cols, L, batch)")
    return _spmm(A.pattern, _first(X), A.val.t().contiguous()).permute(1, 2, 0)


def softmax(A: SparseMatrix) -> SparseMatrix:
    """The softmax of A's values over each row."""
    if A.val.dim() == 1:
        return val_like(A, _softmax(A.pattern, A.val))
    return val_like(A, _softmax(A.pattern, A.val.t().contiguous()).t())


__all__ = ["SparseMatrix", "bsddmm", "bspmm", "from_coo", "from_csr", "sddmm", "softmax", "spmatrix", "spmm", "val_like"]
