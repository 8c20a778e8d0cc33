"""The names of dgl.sparse, for programs that use them: its sparse matrix, operators, reductions and products, with the batch dimension last.

    import tamis.torch.dglsp as dglsp       instead of dgl.sparse

All have gradients. Products of two sparse matrices need a diagonal one (from `diag` or `identity`); index_select, sample and the like are left
out. Examples assume `import torch` and `from tamis.torch.dglsp import *`.
"""
from __future__ import annotations

from typing import Any, Optional, Union

import torch
from torch import Tensor

from .. import _errors
from . import Pattern, _check_tensors
from ._dgl_matrix import Scalar, SparseMatrix, broadcast, bsddmm, bspmm, check_matrix, sddmm, spmm

_UNCHECKED: dict[str, Any] = {} if torch.__version__.startswith("1.") else {"check_invariants": False}  # a pattern has already been checked


# ------------------------------------------------------------------------------ forms


def _values(val: Optional[Tensor], like: Tensor) -> Tensor:
    return torch.ones(like.shape[0], device=like.device) if val is None else val


def spmatrix(indices: Tensor, val: Optional[Tensor] = None, shape: Optional[tuple[int, int]] = None) -> SparseMatrix:
    """From rows and columns (2, nnz), with values of ones if val is None.

    >>> A = spmatrix(torch.tensor([[0, 1, 1], [1, 0, 2]]))
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

    >>> from_coo(torch.tensor([0, 1]), torch.tensor([1, 0]), shape=(2, 3))
    SparseMatrix(shape=(2, 3), nnz=2, val=(2,) torch.float32)
    """
    _check_tensors({"row": row, "col": col})
    if shape is None:
        shape = (int(row.max()) + 1, int(col.max()) + 1) if row.numel() else (0, 0)
    return SparseMatrix(Pattern.from_coo(row, col, shape), _values(val, col))


def from_csr(indptr: Tensor, indices: Tensor, val: Optional[Tensor] = None, shape: Optional[tuple[int, int]] = None) -> SparseMatrix:
    """From row offsets and columns.

    >>> from_csr(torch.tensor([0, 2, 3]), torch.tensor([0, 2, 1]))
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

    >>> from_csc(torch.tensor([0, 1, 3]), torch.tensor([1, 0, 2])).to_dense()
    tensor([[0., 1.],
            [1., 0.],
            [0., 1.]])
    """
    return from_csr(indptr, indices, val, None if shape is None else shape[::-1]).T


def diag(val: Tensor, shape: Optional[tuple[int, int]] = None) -> SparseMatrix:
    """A diagonal matrix; val: (n,) or (n, batch). Its product with another sparse matrix is a sparse matrix.

    >>> diag(torch.tensor([2., 3.]), (2, 3)).to_dense()
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

    >>> identity((2, 3)).to_dense()
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    return diag(torch.ones(min(shape) if d is None else (min(shape), d), dtype=dtype, device=device), shape)


def from_torch_sparse(matrix: Tensor) -> SparseMatrix:
    """From a sparse tensor in COO, CSR or CSC, with its gradients.

    >>> from_torch_sparse(torch.eye(2).to_sparse()).val
    tensor([1., 1.])
    """
    _check_tensors({"matrix": matrix})
    if matrix.layout is torch.sparse_csc:
        return from_csc(matrix.ccol_indices(), matrix.row_indices(), matrix.values(), (matrix.shape[0], matrix.shape[1]))
    pattern = Pattern.from_torch(matrix)
    return SparseMatrix(pattern, _values(pattern.values, pattern.columns))


def to_torch_sparse_coo(spmat: SparseMatrix) -> Tensor:
    """A sparse tensor in COO, with gradients.

    >>> to_torch_sparse_coo(identity((2, 2))).layout
    torch.sparse_coo
    """
    check_matrix(spmat, "spmat")
    return torch.sparse_coo_tensor(torch.stack([spmat.row.long(), spmat.col.long()]), spmat.val, (*spmat.shape, *spmat.val.shape[1:]), **_UNCHECKED)


def to_torch_sparse_csr(spmat: SparseMatrix) -> Tensor:
    """A sparse tensor in CSR, with gradients.

    >>> to_torch_sparse_csr(identity((2, 2))).values()
    tensor([1., 1.])
    """
    check_matrix(spmat, "spmat")
    offsets, columns, order = spmat.csr()
    return torch.sparse_csr_tensor(offsets, columns.long(), spmat.val[order], (*spmat.shape, *spmat.val.shape[1:]), **_UNCHECKED)


def to_torch_sparse_csc(spmat: SparseMatrix) -> Tensor:
    """A sparse tensor in CSC, with gradients.

    >>> to_torch_sparse_csc(identity((2, 2))).values()
    tensor([1., 1.])
    """
    check_matrix(spmat, "spmat")
    offsets, rows, order = spmat.csc()
    return torch.sparse_csc_tensor(offsets, rows.long(), spmat.val[order], (*spmat.shape, *spmat.val.shape[1:]), **_UNCHECKED)


def val_like(mat: SparseMatrix, val: Tensor) -> SparseMatrix:
    """Other values in the same pattern.

    >>> A = spmatrix(torch.tensor([[0, 1], [1, 0]]))
    >>> val_like(A, torch.tensor([4., 5.])).to_dense()
    tensor([[0., 4.],
            [5., 0.]])
    """
    check_matrix(mat, "mat")
    return SparseMatrix(mat.pattern, val)


# ------------------------------------------------------------------------------ products and softmax


def softmax(A: SparseMatrix, dim: int = 1) -> SparseMatrix:
    """The softmax of A's values over each row; with dim=0 over each column.

    >>> A = spmatrix(torch.tensor([[0, 0, 1], [0, 1, 1]]), torch.zeros(3))
    >>> softmax(A).val
    tensor([0.5000, 0.5000, 1.0000])
    >>> softmax(A, dim=0).val
    tensor([1.0000, 0.5000, 0.5000])
    """
    check_matrix(A)
    return A.softmax(dim)


def matmul(A: Any, B: Any) -> Any:
    """A B: `spmm` or, of a batch, `bspmm`; of two tensors torch.matmul; of two sparse matrices, one of them diagonal, a sparse matrix.

    >>> A = spmatrix(torch.tensor([[0, 1, 1], [1, 0, 1]]), torch.ones(3))
    >>> D = diag(A.sum(1)) ** -1  # the mean over neighbours
    >>> (D @ A @ torch.tensor([[1.], [10.]])).ravel()
    tensor([10.0000,  5.5000])
    """
    if isinstance(A, Tensor) and isinstance(B, Tensor):
        return torch.matmul(A, B)
    check_matrix(A)
    return A @ B


# ------------------------------------------------------------------------------ elementwise


def neg(A: SparseMatrix) -> SparseMatrix:
    """-A.

    >>> neg(diag(torch.tensor([1., 2.]))).val
    tensor([-1., -2.])
    """
    check_matrix(A)
    return A.neg()


def add(A: SparseMatrix, B: SparseMatrix) -> SparseMatrix:
    """A + B. Of matrices with one pattern the values keep their order; others are united by rows and columns, and values at one place are added.

    >>> A = spmatrix(torch.tensor([[0, 1], [1, 1]]), torch.tensor([2., 3.]))
    >>> add(A, identity((2, 2))).to_dense()
    tensor([[1., 2.],
            [0., 4.]])
    """
    check_matrix(A)
    check_matrix(B, "B")
    return A + B


def sub(A: SparseMatrix, B: SparseMatrix) -> SparseMatrix:
    """A - B, as `add`.

    >>> A = diag(torch.tensor([5., 6.]))
    >>> sub(A, val_like(A, torch.tensor([1., 2.]))).val
    tensor([4., 4.])
    """
    check_matrix(A)
    check_matrix(B, "B")
    return A - B


def mul(A: Union[SparseMatrix, Scalar], B: Union[SparseMatrix, Scalar]) -> SparseMatrix:
    """The product by elements, or with a number. Of two matrices the places that both have are left, in A's order.

    >>> A = spmatrix(torch.tensor([[1, 0, 2], [0, 3, 2]]), torch.tensor([1., 2., 3.]))
    >>> (2 * A).val
    tensor([2., 4., 6.])
    >>> B = spmatrix(torch.tensor([[2, 0, 1], [0, 3, 2]]), torch.tensor([3., 2., 1.]))
    >>> A * B
    SparseMatrix(shape=(3, 4), nnz=1, val=(1,) torch.float32)
    """
    if not isinstance(A, SparseMatrix):
        check_matrix(B, "B")
        A, B = B, A
    return A * B  # type: ignore[return-value]


def div(A: SparseMatrix, B: Union[SparseMatrix, Scalar]) -> SparseMatrix:
    """A / B by elements, where both have the same places; or by a number. The values keep A's order.

    >>> A = spmatrix(torch.tensor([[1, 0], [0, 3]]), torch.tensor([1., 2.]))
    >>> (A / spmatrix(torch.tensor([[0, 1], [3, 0]]), torch.tensor([4., 5.]))).val
    tensor([0.2000, 0.5000])
    """
    check_matrix(A)
    return A / B


def power(A: SparseMatrix, scalar: Scalar) -> SparseMatrix:
    """Each value to the power of a number.

    >>> power(diag(torch.tensor([1., 2.])), 2).val
    tensor([1., 4.])
    """
    check_matrix(A)
    return A ** scalar


def sp_broadcast_v(A: SparseMatrix, v: Tensor) -> SparseMatrix:
    """A's pattern with the values of v: v (rows, 1) has one for each row, v (1, cols) or (cols,) for each column.

    >>> A = spmatrix(torch.tensor([[0, 1, 1], [1, 0, 1]]))
    >>> sp_broadcast_v(A, torch.tensor([[1.], [2.]])).val
    tensor([1., 2., 2.])
    """
    check_matrix(A)
    _check_tensors({"v": v})
    return A._like(broadcast(A, v))


def sp_add_v(A: SparseMatrix, v: Tensor) -> SparseMatrix:
    """A with v added at its places, as `sp_broadcast_v`.

    >>> sp_add_v(identity((2, 2)), torch.tensor([1., 2.])).val
    tensor([2., 3.])
    """
    return A._like(A.val + sp_broadcast_v(A, v).val)


def sp_sub_v(A: SparseMatrix, v: Tensor) -> SparseMatrix:
    """A with v subtracted at its places, as `sp_broadcast_v`.

    >>> sp_sub_v(identity((2, 2)), torch.tensor([1., 2.])).val
    tensor([ 0., -1.])
    """
    return A._like(A.val - sp_broadcast_v(A, v).val)


def sp_mul_v(A: SparseMatrix, v: Tensor) -> SparseMatrix:
    """A times v at its places, as `sp_broadcast_v`.

    >>> sp_mul_v(identity((2, 2)), torch.tensor([1., 2.])).val
    tensor([1., 2.])
    """
    return A._like(A.val * sp_broadcast_v(A, v).val)


def sp_div_v(A: SparseMatrix, v: Tensor) -> SparseMatrix:
    """A divided by v at its places, as `sp_broadcast_v`.

    >>> sp_div_v(identity((2, 2)), torch.tensor([1., 2.])).val
    tensor([1.0000, 0.5000])
    """
    return A._like(A.val / sp_broadcast_v(A, v).val)


# ------------------------------------------------------------------------------ reductions


def reduce(input: SparseMatrix, dim: Optional[int] = None, rtype: str = "sum") -> Tensor:
    """The values of each row (dim=1), of each column (dim=0) or of all (None), reduced by "sum", "smean", "smax", "smin" or "sprod".

    Only entries count; a row without any gives 0. Of equal values smax and smin give the gradient to the first.

    >>> A = spmatrix(torch.tensor([[0, 1, 1], [0, 0, 2]]), torch.tensor([1., 1., 2.]), shape=(4, 3))
    >>> reduce(A, 1, "smax"), reduce(A, 0), reduce(A)
    (tensor([1., 2., 0., 0.]), tensor([2., 0., 2.]), tensor(4.))
    """
    check_matrix(input, "input")
    return input.reduce(dim, rtype)


def sum(input: SparseMatrix, dim: Optional[int] = None) -> Tensor:
    """`reduce` with "sum".

    >>> sum(diag(torch.tensor([1., 2.])), 1)
    tensor([1., 2.])
    """
    return reduce(input, dim, "sum")


def smax(input: SparseMatrix, dim: Optional[int] = None) -> Tensor:
    """`reduce` with "smax".

    >>> smax(diag(torch.tensor([1., 2.])))
    tensor(2.)
    """
    return reduce(input, dim, "smax")


def smin(input: SparseMatrix, dim: Optional[int] = None) -> Tensor:
    """`reduce` with "smin".

    >>> smin(diag(torch.tensor([1., 2.])))
    tensor(1.)
    """
    return reduce(input, dim, "smin")


def smean(input: SparseMatrix, dim: Optional[int] = None) -> Tensor:
    """`reduce` with "smean".

    >>> smean(diag(torch.tensor([1., 2.])))
    tensor(1.5000)
    """
    return reduce(input, dim, "smean")


def sprod(input: SparseMatrix, dim: Optional[int] = None) -> Tensor:
    """`reduce` with "sprod".

    >>> sprod(diag(torch.tensor([3., 2.])))
    tensor(6.)
    """
    return reduce(input, dim, "sprod")


__all__ = ["SparseMatrix", "add", "bsddmm", "bspmm", "diag", "div", "from_coo", "from_csc", "from_csr", "from_torch_sparse", "identity",
           "matmul", "mul", "neg", "power", "reduce", "sddmm", "smax", "smean", "smin", "softmax", "sp_add_v", "sp_broadcast_v", "sp_div_v",
           "sp_mul_v", "sp_sub_v", "spmatrix", "spmm", "sprod", "sub", "sum", "to_torch_sparse_coo", "to_torch_sparse_csc",
           "to_torch_sparse_csr", "val_like"]
