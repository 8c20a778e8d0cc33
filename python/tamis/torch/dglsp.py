"""The names of dgl.sparse, for programs that use them: its sparse matrix, operators, reductions and products, with the batch dimension last.

    import tamis.torch.dglsp as dglsp       instead of dgl.sparse

All have gradients. Products of two sparse matrices need a diagonal one (from `diag` or `identity`); index_select, sample and the like are left
out. Examples assume `import torch` and `from tamis.torch.dglsp import *`.
"""
from __future__ import annotations

from typing import Any, Callable, Union

import torch
from torch import Tensor

from . import _check_tensors
from ._dgl_matrix import (Scalar, SparseMatrix, broadcast, bsddmm, bspmm, check_matrix, diag, from_coo, from_csc, from_csr, from_torch_sparse, identity, sddmm,
                          spmatrix, spmm, to_torch_sparse_coo, to_torch_sparse_csc, to_torch_sparse_csr, val_like)

neg, softmax, reduce = SparseMatrix.neg, SparseMatrix.softmax, SparseMatrix.reduce
sum, smax, smin, smean, sprod = SparseMatrix.sum, SparseMatrix.smax, SparseMatrix.smin, SparseMatrix.smean, SparseMatrix.sprod


# ------------------------------------------------------------------------------ products


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


def _with_vector(name: str, how: str, function: Any, shown: str) -> Callable[[SparseMatrix, Tensor], SparseMatrix]:
    """Make a function of a matrix and a vector. shown: the values that its example prints."""

    def combined(A: SparseMatrix, v: Tensor) -> SparseMatrix:
        return A._like(function(A.val, sp_broadcast_v(A, v).val))

    combined.__name__ = combined.__qualname__ = name
    combined.__doc__ = f"""A {how} v at its places, as `sp_broadcast_v`.

    >>> {name}(identity((2, 2)), torch.tensor([1., 2.])).val
    tensor({shown})
    """
    return combined


sp_add_v, sp_sub_v = _with_vector("sp_add_v", "plus", torch.add, "[2., 3.]"), _with_vector("sp_sub_v", "minus", torch.sub, "[ 0., -1.]")
sp_mul_v, sp_div_v = _with_vector("sp_mul_v", "times", torch.mul, "[1., 2.]"), _with_vector("sp_div_v", "divided by", torch.div, "[1.0000, 0.5000]")


__all__ = ["SparseMatrix", "add", "bsddmm", "bspmm", "diag", "div", "from_coo", "from_csc", "from_csr", "from_torch_sparse", "identity",
           "matmul", "mul", "neg", "power", "reduce", "sddmm", "smax", "smean", "smin", "softmax", "sp_add_v", "sp_broadcast_v", "sp_div_v",
           "sp_mul_v", "sp_sub_v", "spmatrix", "spmm", "sprod", "sub", "sum", "to_torch_sparse_coo", "to_torch_sparse_csc",
           "to_torch_sparse_csr", "val_like"]
