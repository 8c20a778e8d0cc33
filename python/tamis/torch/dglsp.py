"""The names of dgl.sparse, for programs that use them: its sparse matrix, operators, reductions and products, with the batch dimension last.

    import tamis.torch.dglsp as dglsp       instead of dgl.sparse

All have gradients. Products of two sparse matrices need a diagonal one (from `diag` or `identity`); index_select, sample and the like are left
out.
"""
from __future__ import annotations

from typing import Any, Optional, Union

import torch
from torch import Tensor

from .. import _errors
from . import Pattern, _check_tensors, message
from . import sddmm as _sddmm
from . import softmax as _softmax
from . import spmm as _spmm
from ._dgl_matrix import (Scalar, SparseMatrix, added, check_matrix, diag, from_coo, from_csc, from_csr, from_torch_sparse, identity, keys, rows_of,
                          spmatrix, to_torch_sparse_coo, to_torch_sparse_csc, to_torch_sparse_csr, transposed, united, val_like)
from ._graphs import edges, remembered


def _check_operands(A: Any, dimensions: tuple[int, ...], **operands: Any) -> None:
    """Check that A is a matrix and the operands are tensors with one of these numbers of dimensions."""
    check_matrix(A)
    _check_tensors(operands)
    for name, x in operands.items():
        if x.dim() not in dimensions:
            raise _errors.ArgumentError(f"{name} has shape {tuple(x.shape)}: expected {' or '.join(map(str, dimensions))} dimensions")


def _first(X: Tensor) -> Tensor:
    """Move the batch dimension from last to first, in a copy, since Tamis needs contiguous rows."""
    return X.permute(2, 0, 1).contiguous()


def sddmm(A: SparseMatrix, X1: Tensor, X2: Tensor) -> SparseMatrix:
    """(X1 X2) * A at A's places. X1: (rows, K); X2: (K, cols); the transpose of a packed matrix is not copied.

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
    values = A.val if A.val.dim() == 1 else A.val.t().contiguous()
    return val_like(A, _sddmm(A.pattern, _first(X1), X2.permute(2, 1, 0).contiguous(), values).transpose(0, 1))


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
    check_matrix(A)
    if dim not in (0, 1):
        raise _errors.ArgumentError(f"dim = {dim!r}: expected 1 (rows) or 0 (columns)")
    pattern = A.pattern if dim == 1 else transposed(A.pattern)
    if A.val.dim() == 1:
        return val_like(A, _softmax(pattern, A.val))
    return val_like(A, _softmax(pattern, A.val.t().contiguous()).t())


def matmul(A: Any, B: Any) -> Any:
    """A B: `spmm` or, of a batch, `bspmm`; of two tensors torch.matmul; of two sparse matrices, one of them diagonal, a sparse matrix.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> A = dglsp.spmatrix(torch.tensor([[0, 1, 1], [1, 0, 1]]), torch.ones(3))
    >>> D = dglsp.diag(A.sum(1)) ** -1  # the mean over neighbours
    >>> (D @ A @ torch.tensor([[1.], [10.]])).ravel()
    tensor([10.0000,  5.5000])
    """
    if isinstance(A, Tensor) and isinstance(B, Tensor):
        return torch.matmul(A, B)
    check_matrix(A)
    if isinstance(B, Tensor):
        return bspmm(A, B) if B.dim() == 3 else spmm(A, B)
    check_matrix(B, "B")
    if A.shape[1] != B.shape[0]:
        raise _errors.ArgumentError(f"A is {A.shape} and B {B.shape}: expected as many rows of B as A has columns")
    for D, M, rows in ((A, B, True), (B, A, False)):
        if getattr(D.pattern, "_diagonal", False) and D.shape[0] == D.shape[1]:
            factor = sp_broadcast_v(M, D.val.unsqueeze(1) if rows else D.val.unsqueeze(0)).val
            return val_like(M, factor * M.val if factor.dim() == M.val.dim() else factor.unsqueeze(1) * M.val)
    raise NotImplementedError("the product of two sparse matrices is computed only if one of them is a square diagonal matrix, made by diag or identity")


# ------------------------------------------------------------------------------ elementwise


def neg(A: SparseMatrix) -> SparseMatrix:
    """-A.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.neg(dglsp.diag(torch.tensor([1., 2.]))).val
    tensor([-1., -2.])
    """
    check_matrix(A)
    return val_like(A, -A.val)


def add(A: SparseMatrix, B: SparseMatrix) -> SparseMatrix:
    """A + B. Of matrices with one pattern the values keep their order; others are united by rows and columns, and values at one place are added.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> A = dglsp.spmatrix(torch.tensor([[0, 1], [1, 1]]), torch.tensor([2., 3.]))
    >>> dglsp.add(A, dglsp.identity((2, 2))).to_dense()
    tensor([[1., 2.],
            [0., 4.]])
    """
    _check_pair(A, B)
    if A.pattern is B.pattern:
        return val_like(A, A.val + B.val)
    known = remembered(A.pattern, "united", dict)
    if known.get("with") is not B.pattern:
        known["with"], known["made"] = B.pattern, united([A.pattern, B.pattern])
    pattern, places = known["made"]
    return SparseMatrix(pattern, added(places, torch.cat([A.val, B.val]), pattern.nnz))


def sub(A: SparseMatrix, B: SparseMatrix) -> SparseMatrix:
    """A - B, as `add`.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> A = dglsp.diag(torch.tensor([5., 6.]))
    >>> dglsp.sub(A, dglsp.val_like(A, torch.tensor([1., 2.]))).val
    tensor([4., 4.])
    """
    _check_pair(A, B)
    return add(A, neg(B))


def mul(A: Union[SparseMatrix, Scalar], B: Union[SparseMatrix, Scalar]) -> SparseMatrix:
    """The product by elements, or with a number. Of two matrices the places that both have are left, in A's order.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> A = dglsp.spmatrix(torch.tensor([[1, 0, 2], [0, 3, 2]]), torch.tensor([1., 2., 3.]))
    >>> (2 * A).val
    tensor([2., 4., 6.])
    >>> B = dglsp.spmatrix(torch.tensor([[2, 0, 1], [0, 3, 2]]), torch.tensor([3., 2., 1.]))
    >>> A * B
    SparseMatrix(shape=(3, 4), nnz=1, val=(1,) torch.float32)
    """
    if not isinstance(A, SparseMatrix):
        check_matrix(B, "B")
        return mul(B, A)
    if not isinstance(B, SparseMatrix):
        return val_like(A, A.val * _scalar(B))
    _check_pair(A, B)
    if A.pattern is B.pattern:
        return val_like(A, A.val * B.val)
    of_a, of_b = _common(A, B)
    ends = edges(A.pattern)[:, of_a]
    return SparseMatrix(Pattern.from_coo(ends[1], ends[0], A.shape), A.val[of_a] * B.val[of_b])


def div(A: SparseMatrix, B: Union[SparseMatrix, Scalar]) -> SparseMatrix:
    """A / B by elements, where both have the same places; or by a number. The values keep A's order.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> A = dglsp.spmatrix(torch.tensor([[1, 0], [0, 3]]), torch.tensor([1., 2.]))
    >>> (A / dglsp.spmatrix(torch.tensor([[0, 1], [3, 0]]), torch.tensor([4., 5.]))).val
    tensor([0.2000, 0.5000])
    """
    check_matrix(A)
    if not isinstance(B, SparseMatrix):
        return val_like(A, A.val / _scalar(B))
    _check_pair(A, B)
    if A.pattern is B.pattern:
        return val_like(A, A.val / B.val)
    of_a, of_b = _common(A, B)
    if not of_a.numel() == A.nnz == B.nnz:
        raise _errors.ArgumentError(f"A has {A.nnz} entries and B {B.nnz}, {of_a.numel()} at the same places: expected the same places")
    return val_like(A, A.val / B.val[of_b])


def power(A: SparseMatrix, scalar: Scalar) -> SparseMatrix:
    """Each value to the power of a number.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.power(dglsp.diag(torch.tensor([1., 2.])), 2).val
    tensor([1., 4.])
    """
    check_matrix(A)
    return val_like(A, A.val ** _scalar(scalar))


def sp_broadcast_v(A: SparseMatrix, v: Tensor) -> SparseMatrix:
    """A's pattern with the values of v: v (rows, 1) has one for each row, v (1, cols) or (cols,) for each column.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> A = dglsp.spmatrix(torch.tensor([[0, 1, 1], [1, 0, 1]]))
    >>> dglsp.sp_broadcast_v(A, torch.tensor([[1.], [2.]])).val
    tensor([1., 2., 2.])
    """
    check_matrix(A)
    _check_tensors({"v": v})
    if v.dim() == 1:
        v = v.unsqueeze(0)
    if v.dim() == 2 and v.shape == (A.shape[0], 1):
        return val_like(A, v[:, 0][A.row.long()])
    if v.dim() == 2 and v.shape == (1, A.shape[1]):
        return val_like(A, v[0][A.col.long()])
    raise _errors.ArgumentError(f"v has shape {tuple(v.shape)}: expected ({A.shape[0]}, 1), (1, {A.shape[1]}) or ({A.shape[1]},)")


def sp_add_v(A: SparseMatrix, v: Tensor) -> SparseMatrix:
    """A with v added at its places, as `sp_broadcast_v`.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.sp_add_v(dglsp.identity((2, 2)), torch.tensor([1., 2.])).val
    tensor([2., 3.])
    """
    return val_like(A, A.val + sp_broadcast_v(A, v).val)


def sp_sub_v(A: SparseMatrix, v: Tensor) -> SparseMatrix:
    """A with v subtracted at its places, as `sp_broadcast_v`.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.sp_sub_v(dglsp.identity((2, 2)), torch.tensor([1., 2.])).val
    tensor([ 0., -1.])
    """
    return val_like(A, A.val - sp_broadcast_v(A, v).val)


def sp_mul_v(A: SparseMatrix, v: Tensor) -> SparseMatrix:
    """A times v at its places, as `sp_broadcast_v`.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.sp_mul_v(dglsp.identity((2, 2)), torch.tensor([1., 2.])).val
    tensor([1., 2.])
    """
    return val_like(A, A.val * sp_broadcast_v(A, v).val)


def sp_div_v(A: SparseMatrix, v: Tensor) -> SparseMatrix:
    """A divided by v at its places, as `sp_broadcast_v`.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.sp_div_v(dglsp.identity((2, 2)), torch.tensor([1., 2.])).val
    tensor([1.0000, 0.5000])
    """
    return val_like(A, A.val / sp_broadcast_v(A, v).val)


# ------------------------------------------------------------------------------ reductions


_REDUCED = {"sum": ("sum", "sum"), "smean": ("mean", "mean"), "smax": ("max", "amax"), "smin": ("min", "amin"), "sprod": (None, "prod")}


def reduce(input: SparseMatrix, dim: Optional[int] = None, rtype: str = "sum") -> Tensor:
    """The values of each row (dim=1), of each column (dim=0) or of all (None), reduced by "sum", "smean", "smax", "smin" or "sprod".

    Only entries count; a row without any gives 0. Of equal values smax and smin give the gradient to the first.

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> A = dglsp.spmatrix(torch.tensor([[0, 1, 1], [0, 0, 2]]), torch.tensor([1., 1., 2.]), shape=(4, 3))
    >>> dglsp.reduce(A, 1, "smax"), dglsp.reduce(A, 0), dglsp.reduce(A)
    (tensor([1., 2., 0., 0.]), tensor([2., 0., 2.]), tensor(4.))
    """
    check_matrix(input, "input")
    if dim not in (0, 1, None) or rtype not in _REDUCED:
        raise _errors.ArgumentError(f"dim = {dim!r} and rtype = {rtype!r}: expected 0, 1 or None, and one of {', '.join(map(repr, _REDUCED))}")
    ours, theirs = _REDUCED[rtype]
    val = input.val
    if dim is None:
        pattern = remembered(input.pattern, "one row", lambda: Pattern.from_coo(torch.zeros_like(input.col), torch.arange(
            input.nnz, dtype=input.col.dtype, device=val.device), (1, input.nnz)))
    else:
        pattern = input.pattern if dim == 1 else transposed(input.pattern)
    if ours is not None and val.is_floating_point():
        out = message(pattern, "copy_e", None, val, ours)
    else:
        place = rows_of(pattern).long().reshape(-1, *(1,) * (val.dim() - 1)).expand(val.shape)
        out = val.new_zeros(pattern.rows, *val.shape[1:]).scatter_reduce(0, place, val, theirs, include_self=False)
    return out[0] if dim is None else out


def sum(input: SparseMatrix, dim: Optional[int] = None) -> Tensor:
    """`reduce` with "sum".

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.sum(dglsp.diag(torch.tensor([1., 2.])), 1)
    tensor([1., 2.])
    """
    return reduce(input, dim, "sum")


def smax(input: SparseMatrix, dim: Optional[int] = None) -> Tensor:
    """`reduce` with "smax".

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.smax(dglsp.diag(torch.tensor([1., 2.])))
    tensor(2.)
    """
    return reduce(input, dim, "smax")


def smin(input: SparseMatrix, dim: Optional[int] = None) -> Tensor:
    """`reduce` with "smin".

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.smin(dglsp.diag(torch.tensor([1., 2.])))
    tensor(1.)
    """
    return reduce(input, dim, "smin")


def smean(input: SparseMatrix, dim: Optional[int] = None) -> Tensor:
    """`reduce` with "smean".

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.smean(dglsp.diag(torch.tensor([1., 2.])))
    tensor(1.5000)
    """
    return reduce(input, dim, "smean")


def sprod(input: SparseMatrix, dim: Optional[int] = None) -> Tensor:
    """`reduce` with "sprod".

    >>> import torch, tamis.torch.dglsp as dglsp
    >>> dglsp.sprod(dglsp.diag(torch.tensor([3., 2.])))
    tensor(6.)
    """
    return reduce(input, dim, "sprod")


# ------------------------------------------------------------------------------ patterns


def _check_pair(A: Any, B: Any) -> None:
    check_matrix(A)
    check_matrix(B, "B")
    if A.shape != B.shape or A.val.shape[1:] != B.val.shape[1:]:
        raise _errors.ArgumentError(f"A is {A.shape} with val {tuple(A.val.shape)}, B {B.shape} with val {tuple(B.val.shape)}: expected the same shape "
                                    f"and batch")


def _scalar(x: Any) -> Any:
    if isinstance(x, (int, float)) or (isinstance(x, Tensor) and x.numel() == 1):
        return x.reshape(()) if isinstance(x, Tensor) else x
    raise TypeError(f"{type(x).__name__}: expected a number or a SparseMatrix")


def _common(A: SparseMatrix, B: SparseMatrix) -> tuple[Tensor, Tensor]:
    """Return the entries of A and of B at their common places, in A's order."""
    of_a, of_b = keys(A.pattern), keys(B.pattern)
    for M, name in ((A, "A"), (B, "B")):
        if M.has_duplicate():
            raise _errors.ArgumentError(f"{name} has several entries at one place: expected one, for instance of {name}.coalesce()")
    ordered, order = of_b.sort()
    found = torch.searchsorted(ordered, of_a).clamp_max(max(ordered.numel() - 1, 0))
    same = (ordered[found] == of_a).nonzero().squeeze(1) if ordered.numel() else ordered
    return same, order[found[same]]


__all__ = ["SparseMatrix", "add", "bsddmm", "bspmm", "diag", "div", "from_coo", "from_csc", "from_csr", "from_torch_sparse", "identity",
           "matmul", "mul", "neg", "power", "reduce", "sddmm", "smax", "smean", "smin", "softmax", "sp_add_v", "sp_broadcast_v", "sp_div_v",
           "sp_mul_v", "sp_sub_v", "spmatrix", "spmm", "sprod", "sub", "sum", "to_torch_sparse_coo", "to_torch_sparse_csc",
           "to_torch_sparse_csr", "val_like"]
