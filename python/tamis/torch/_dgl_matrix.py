"""The matrix of `dglsp`: a pattern and its values, from and to other forms."""
from __future__ import annotations

from typing import Any, Optional, Union

import torch
from torch import Tensor

from .. import _errors
from . import Pattern, _check_tensors
from ._graphs import edges, remembered

Scalar = Union[int, float, Tensor]
_int = int  # within the class the name refers to a method
_UNCHECKED: dict[str, Any] = {} if torch.__version__.startswith("1.") else {"check_invariants": False}  # a pattern has already been checked


class SparseMatrix:
    """A sparse matrix (rows, cols) with values `val`, (nnz,) or (nnz, batch), in the order in which it was made.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> A = dglsp.spmatrix(torch.tensor([[0, 1], [1, 0]]), torch.tensor([2., 3.]))
    >>> A.shape, A.nnz, A.val
    ((2, 2), 2, tensor([2., 3.]))
    >>> A.T.indices()  # values keep their order
    tensor([[1, 0],
            [0, 1]])
    >>> (A + A.T).csr()
    (tensor([0, 1, 2]), tensor([1, 0]), tensor([0, 1]))
    >>> A.double().dtype, A.has_duplicate(), A.sum(dim=1)
    (torch.float64, False, tensor([2., 3.]))
    """

    def __init__(self, pattern: Pattern, val: Tensor):
        _check_tensors({"val": val})
        if val.dim() not in (1, 2) or val.shape[0] != pattern.nnz:
            raise _errors.ArgumentError(f"val has shape {tuple(val.shape)}: expected ({pattern.nnz},) or ({pattern.nnz}, batch)")
        self.pattern, self.val = pattern, val

    @property
    def shape(self) -> tuple[_int, _int]:
        return self.pattern.shape

    @property
    def nnz(self) -> _int:
        return self.pattern.nnz

    @property
    def device(self) -> torch.device:
        return self.val.device

    @property
    def dtype(self) -> torch.dtype:
        return self.val.dtype

    @property
    def row(self) -> Tensor:
        return rows_of(self.pattern)

    @property
    def col(self) -> Tensor:
        return self.pattern.columns

    def indices(self) -> Tensor:
        """Rows and columns (2, nnz)."""
        return torch.stack(self.coo())

    def coo(self) -> tuple[Tensor, Tensor]:
        """Rows and columns, in the order of the values."""
        return self.row, self.col

    def csr(self) -> tuple[Tensor, Tensor, Tensor]:
        """Row offsets, columns, and for each entry the place of its value in `val`."""
        return _compressed(self.row, self.col, self.shape[0])

    def csc(self) -> tuple[Tensor, Tensor, Tensor]:
        """Column offsets, rows, and for each entry the place of its value in `val`."""
        return _compressed(self.col, self.row, self.shape[1])

    @property
    def T(self) -> SparseMatrix:
        """The transpose; its values are in the same order."""
        return SparseMatrix(transposed(self.pattern), self.val)

    def t(self) -> SparseMatrix:
        """The transpose."""
        return self.T

    def transpose(self) -> SparseMatrix:
        """The transpose."""
        return self.T

    def to(self, device: Any = None, dtype: Optional[torch.dtype] = None) -> SparseMatrix:
        """On another device, or with values of another type."""
        return SparseMatrix(self.pattern if device is None else self.pattern.to(device), self.val.to(device=device, dtype=dtype))

    def cuda(self) -> SparseMatrix:
        """On the GPU."""
        return self.to("cuda")

    def cpu(self) -> SparseMatrix:
        """On the CPU."""
        return self.to("cpu")

    def float(self) -> SparseMatrix:
        """With values of float32."""
        return self.to(dtype=torch.float32)

    def double(self) -> SparseMatrix:
        """With values of float64."""
        return self.to(dtype=torch.float64)

    def int(self) -> SparseMatrix:
        """With values of int32."""
        return self.to(dtype=torch.int32)

    def long(self) -> SparseMatrix:
        """With values of int64."""
        return self.to(dtype=torch.int64)

    def coalesce(self) -> SparseMatrix:
        """With the values at one place added, by rows and columns."""
        pattern, places = remembered(self.pattern, "coalesced", lambda: united([self.pattern]))
        return SparseMatrix(pattern, added(places, self.val, pattern.nnz))

    def has_duplicate(self) -> bool:
        """True if there are several entries at one place."""
        return int(torch.unique(keys(self.pattern)).numel()) < self.nnz

    def neg(self) -> SparseMatrix:
        """`neg` of this matrix."""
        return _names().neg(self)

    def reduce(self, dim: Optional[_int] = None, rtype: str = "sum") -> Tensor:
        """`reduce` of this matrix."""
        return _names().reduce(self, dim, rtype)

    def sum(self, dim: Optional[_int] = None) -> Tensor:
        """`reduce` with "sum"."""
        return _names().reduce(self, dim, "sum")

    def smax(self, dim: Optional[_int] = None) -> Tensor:
        """`reduce` with "smax"."""
        return _names().reduce(self, dim, "smax")

    def smin(self, dim: Optional[_int] = None) -> Tensor:
        """`reduce` with "smin"."""
        return _names().reduce(self, dim, "smin")

    def smean(self, dim: Optional[_int] = None) -> Tensor:
        """`reduce` with "smean"."""
        return _names().reduce(self, dim, "smean")

    def sprod(self, dim: Optional[_int] = None) -> Tensor:
        """`reduce` with "sprod"."""
        return _names().reduce(self, dim, "sprod")

    def softmax(self, dim: _int = 1) -> SparseMatrix:
        """`softmax` of this matrix."""
        return _names().softmax(self, dim)

    def to_dense(self) -> Tensor:
        """The matrix with its zeros, (rows, cols) or (rows, cols, batch); values at one place are added.

        >>> import torch, tamis.torch.dglsp as dglsp
        >>> dglsp.spmatrix(torch.tensor([[0, 1], [1, 0]]), torch.tensor([2., 3.])).to_dense()
        tensor([[0., 2.],
                [3., 0.]])
        """
        dense = self.val.new_zeros((*self.shape, *self.val.shape[1:]))
        return dense.index_put((self.row.long(), self.col.long()), self.val, accumulate=True)

    def __add__(self, other: SparseMatrix) -> SparseMatrix:
        return _names().add(self, other) if isinstance(other, SparseMatrix) else NotImplemented

    def __sub__(self, other: SparseMatrix) -> SparseMatrix:
        return _names().sub(self, other) if isinstance(other, SparseMatrix) else NotImplemented

    def __mul__(self, other: Union[SparseMatrix, Scalar]) -> SparseMatrix:
        return _names().mul(self, other)

    def __rmul__(self, other: Scalar) -> SparseMatrix:
        return _names().mul(self, other)

    def __truediv__(self, other: Union[SparseMatrix, Scalar]) -> SparseMatrix:
        return _names().div(self, other)

    def __pow__(self, exponent: Scalar) -> SparseMatrix:
        return _names().power(self, exponent)

    def __neg__(self) -> SparseMatrix:
        return _names().neg(self)

    def __matmul__(self, X: Union[Tensor, SparseMatrix]) -> Any:
        return _names().matmul(self, X)

    def __repr__(self) -> str:
        return f"SparseMatrix(shape={self.shape}, nnz={self.nnz}, val={tuple(self.val.shape)} {self.dtype})"


def _names() -> Any:
    """Return the module of operations on matrices."""
    from . import dglsp
    return dglsp


def check_matrix(A: Any, name: str = "A") -> None:
    if not isinstance(A, SparseMatrix):
        raise TypeError(f"{name} is a {type(A).__name__}: expected a SparseMatrix, for instance of spmatrix, from_coo or from_csr")


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


def from_csc(indptr: Tensor, indices: Tensor, val: Optional[Tensor] = None, shape: Optional[tuple[int, int]] = None) -> SparseMatrix:
    """From column offsets and rows.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.from_csc(torch.tensor([0, 1, 3]), torch.tensor([1, 0, 2])).to_dense()
    tensor([[0., 1.],
            [1., 0.],
            [0., 1.]])
    """
    return from_csr(indptr, indices, val, None if shape is None else shape[::-1]).T


def diag(val: Tensor, shape: Optional[tuple[int, int]] = None) -> SparseMatrix:
    """A diagonal matrix; val: (n,) or (n, batch). Its product with another sparse matrix is a sparse matrix.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.diag(torch.tensor([2., 3.]), (2, 3)).to_dense()
    tensor([[2., 0., 0.],
            [0., 3., 0.]])
    """
    _check_tensors({"val": val})
    shape = (val.shape[0], val.shape[0]) if shape is None else shape
    if val.dim() not in (1, 2) or val.shape[0] != min(shape):
        raise _errors.ArgumentError(f"val has shape {tuple(val.shape)}: expected {min(shape)} values for a matrix {shape}")
    place = torch.arange(val.shape[0], device=val.device)
    pattern = Pattern.from_coo(place, place, shape)
    pattern._diagonal = True  # type: ignore[attr-defined]
    return SparseMatrix(pattern, val)


def identity(shape: tuple[int, int], d: Optional[int] = None, dtype: Optional[torch.dtype] = None, device: Any = None) -> SparseMatrix:
    """Ones on the diagonal; d: number of ones for each place.

    >>> import tamis.torch.dglsp as dglsp
    >>> dglsp.identity((2, 3)).to_dense()
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    return diag(torch.ones(min(shape) if d is None else (min(shape), d), dtype=dtype, device=device), shape)


def from_torch_sparse(matrix: Tensor) -> SparseMatrix:
    """From a sparse tensor in COO, CSR or CSC, with its gradients.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.from_torch_sparse(torch.eye(2).to_sparse()).val
    tensor([1., 1.])
    """
    _check_tensors({"matrix": matrix})
    if matrix.layout is torch.sparse_csc:
        return from_csc(matrix.ccol_indices(), matrix.row_indices(), matrix.values(), (matrix.shape[0], matrix.shape[1]))
    pattern = Pattern.from_torch(matrix)
    return SparseMatrix(pattern, _values(pattern.values, pattern.columns))


def to_torch_sparse_coo(spmat: SparseMatrix) -> Tensor:
    """A sparse tensor in COO, with gradients.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.to_torch_sparse_coo(dglsp.identity((2, 2))).layout
    torch.sparse_coo
    """
    check_matrix(spmat, "spmat")
    return torch.sparse_coo_tensor(torch.stack([spmat.row.long(), spmat.col.long()]), spmat.val, (*spmat.shape, *spmat.val.shape[1:]), **_UNCHECKED)


def to_torch_sparse_csr(spmat: SparseMatrix) -> Tensor:
    """A sparse tensor in CSR, with gradients.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.to_torch_sparse_csr(dglsp.identity((2, 2))).values()
    tensor([1., 1.])
    """
    check_matrix(spmat, "spmat")
    offsets, columns, order = spmat.csr()
    return torch.sparse_csr_tensor(offsets, columns.long(), spmat.val[order], (*spmat.shape, *spmat.val.shape[1:]), **_UNCHECKED)


def to_torch_sparse_csc(spmat: SparseMatrix) -> Tensor:
    """A sparse tensor in CSC, with gradients.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.to_torch_sparse_csc(dglsp.identity((2, 2))).values()
    tensor([1., 1.])
    """
    check_matrix(spmat, "spmat")
    offsets, rows, order = spmat.csc()
    return torch.sparse_csc_tensor(offsets, rows.long(), spmat.val[order], (*spmat.shape, *spmat.val.shape[1:]), **_UNCHECKED)


def val_like(mat: SparseMatrix, val: Tensor) -> SparseMatrix:
    """Other values in the same pattern.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> A = dglsp.spmatrix(torch.tensor([[0, 1], [1, 0]]))
    >>> dglsp.val_like(A, torch.tensor([4., 5.])).to_dense()
    tensor([[0., 4.],
            [5., 0.]])
    """
    check_matrix(mat, "mat")
    return SparseMatrix(mat.pattern, val)


# ------------------------------------------------------------------------------ patterns


def keys(pattern: Pattern) -> Tensor:
    """Return the row-major position of each entry as one number."""
    columns, rows = edges(pattern)
    return rows * pattern.cols + columns


def united(patterns: list[Pattern]) -> tuple[Pattern, Tensor]:
    """Return the union of patterns, by rows, and the index in it of each of their entries."""
    cols = patterns[0].cols
    found, places = torch.unique(torch.cat([keys(pattern) for pattern in patterns]), return_inverse=True)
    return Pattern.from_coo(found.div(max(cols, 1), rounding_mode="floor"), found % max(cols, 1), patterns[0].shape), places


def added(places: Tensor, val: Tensor, nnz: int) -> Tensor:
    return val.new_zeros(nnz, *val.shape[1:]).index_add(0, places, val)


def _compressed(major: Tensor, minor: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    order = torch.argsort(major, stable=True)
    return torch.nn.functional.pad(torch.bincount(major, minlength=count).cumsum(0), (1, 0)), minor[order], order


def transposed(pattern: Pattern) -> Pattern:
    """The pattern of the transpose, with the entries in the same order; it is made once, and its own transpose is this one."""

    def make() -> Pattern:
        turned = Pattern.from_coo(pattern.columns, rows_of(pattern).to(pattern.columns.dtype), (pattern.cols, pattern.rows))
        if getattr(pattern, "_diagonal", False):
            turned._diagonal = True  # type: ignore[attr-defined]
        return turned

    turned: Pattern = remembered(pattern, "dgl transpose", make)
    return turned


def rows_of(pattern: Pattern) -> Tensor:
    """Return the row of each entry."""
    index = pattern.index
    return index if pattern.coo else torch.repeat_interleave(torch.arange(len(index) - 1, device=index.device), index.diff())
