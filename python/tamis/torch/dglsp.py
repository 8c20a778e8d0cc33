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
    """A sparse matrix (rows, cols) with values `val`, (nnz,) or (nnz, batch), in the order in which it was made.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> A = dglsp.spmatrix(torch.tensor([[0, 1], [1, 0]]), torch.tensor([2., 3.]))
    >>> A.shape, A.nnz, A.val
    ((2, 2), 2, tensor([2., 3.]))
    """

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
        return _rows(self.pattern)

    @property
    def col(self) -> Tensor:
        return self.pattern.columns

    def softmax(self, dim: int = 1) -> SparseMatrix:
        """`softmax` of this matrix."""
        return softmax(self, dim)

    def to_dense(self) -> Tensor:
        """The matrix with its zeros, (rows, cols) or (rows, cols, batch); values at one place are added.

        >>> import torch, tamis.torch.dglsp as dglsp
        >>> dglsp.spmatrix(torch.tensor([[0, 1], [1, 0]]), torch.tensor([2., 3.])).to_dense()
        tensor([[0., 2.],
                [3., 0.]])
        """
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
    """From the row and the column of each entry; shape: the largest indices and one more if None.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.from_coo(torch.tensor([0, 1]), torch.tensor([1, 0]), shape=(2, 3))
    SparseMatrix(shape=(2, 3), nnz=2, val=(2,) torch.float32)
    """
    _check_tensors({"row": row, "col": col})
    if shape is None:
        shape = (int(row.max()) + 1, int(col.max()) + 1) if row.numel() else (0, 0)
    return SparseMatrix(Pattern.from_coo(row, col, shape), _values(val, col))


def from_csr(indptr: Tensor, indices: Tensor, val: Optional[Tensor] = None, shape: Optional[tuple[int, int]] = None) -> SparseMatrix:
    """From row offsets and columns.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.from_csr(torch.tensor([0, 2, 3]), torch.tensor([0, 2, 1]))
    SparseMatrix(shape=(2, 3), nnz=3, val=(3,) torch.float32)
    """
    _check_tensors({"indptr": indptr, "indices": indices})
    if shape is None:
        if indptr.dim() != 1:
            raise _errors.ArgumentError(f"indptr has shape {tuple(indptr.shape)}: expected (rows + 1,)")
        shape = (indptr.shape[0] - 1, int(indices.max()) + 1 if indices.numel() else 0)
    return SparseMatrix(Pattern.from_csr(indptr, indices, shape), _values(val, indices))


def val_like(mat: SparseMatrix, val: Tensor) -> SparseMatrix:
    """Other values in the same pattern.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> A = dglsp.spmatrix(torch.tensor([[0, 1], [1, 0]]))
    >>> dglsp.val_like(A, torch.tensor([4., 5.])).to_dense()
    tensor([[0., 4.],
            [5., 0.]])
    """
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
    """(X1 X2) * A at A's places. X1: (rows, K); X2: (K, cols), of which the transpose of a packed matrix is taken as it is.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> A = dglsp.spmatrix(torch.tensor([[0, 1], [1, 0]]), torch.tensor([2., 3.]))
    >>> dglsp.sddmm(A, torch.ones(2, 4), torch.ones(4, 2)).val
    tensor([ 8., 12.])
    """
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
    """A X. X: (cols, L) or (cols,).

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> A = dglsp.spmatrix(torch.tensor([[0, 1], [1, 0]]), torch.tensor([2., 3.]))
    >>> dglsp.spmm(A, torch.tensor([1., 10.]))
    tensor([20.,  3.])
    """
    _check_operands(A, (1, 2), X=X)
    if A.val.dim() != 1:
        raise _errors.ArgumentError(f"A.val has shape {tuple(A.val.shape)}: expected a vector; bspmm takes a batch")
    return _spmm(A.pattern, X, A.val)


def bspmm(A: SparseMatrix, X: Tensor) -> Tensor:
    """A batch of them: A.val (nnz, batch), X (cols, L, batch). Returns (rows, L, batch). Operands are copied batch first.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> A = dglsp.spmatrix(torch.tensor([[0, 1], [1, 0]]), torch.ones(2, 4))
    >>> dglsp.bspmm(A, torch.ones(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """
    _check_operands(A, (3,), X=X)
    if A.val.dim() == 2 and A.val.shape[1] != X.shape[2]:
        raise _errors.ArgumentError(f"A.val has shape {tuple(A.val.shape)} and X {tuple(X.shape)}: expected (nnz, batch) and (cols, L, batch)")
    return _spmm(A.pattern, _first(X), A.val.t().contiguous()).permute(1, 2, 0)


def softmax(A: SparseMatrix, dim: int = 1) -> SparseMatrix:
    """The softmax of A's values over each row; with dim=0 over each column.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> A = dglsp.spmatrix(torch.tensor([[0, 0, 1], [0, 1, 1]]), torch.zeros(3))
    >>> dglsp.softmax(A).val
    tensor([0.5000, 0.5000, 1.0000])
    >>> dglsp.softmax(A, dim=0).val
    tensor([1.0000, 0.5000, 0.5000])
    """
    _check_matrix(A)
    if dim not in (0, 1):
        raise _errors.ArgumentError(f"dim = {dim!r}: expected 1 (rows) or 0 (columns)")
    pattern = A.pattern if dim == 1 else _transposed(A.pattern)
    if A.val.dim() == 1:
        return val_like(A, _softmax(pattern, A.val))
    return val_like(A, _softmax(pattern, A.val.t().contiguous()).t())


def _transposed(pattern: Pattern) -> Pattern:
    """The pattern of the transpose, with the entries in the same order; it is made once."""
    turned = getattr(pattern, "_transposed", None)
    if turned is None:
        turned = Pattern.from_coo(pattern.columns, _rows(pattern).to(pattern.columns.dtype), (pattern.cols, pattern.rows))
        pattern._transposed = turned  # type: ignore[attr-defined]
    return turned


def _rows(pattern: Pattern) -> Tensor:
    """The row of each entry."""
    index = pattern.index
    return index if pattern.coo else torch.repeat_interleave(torch.arange(len(index) - 1, device=index.device), index.diff())


__all__ = ["SparseMatrix", "bsddmm", "bspmm", "from_coo", "from_csr", "sddmm", "softmax", "spmatrix", "spmm", "val_like"]
