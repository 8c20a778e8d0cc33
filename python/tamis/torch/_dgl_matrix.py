"""The matrix of `dglsp`: a pattern and its values, what makes it, other forms of it, and its operators, reductions and products.

Examples assume `import torch` and `from tamis.torch.dglsp import *`.
"""
from __future__ import annotations

from typing import Any, Callable, Optional, Union

import torch
from torch import Tensor

from .. import _errors
from . import _UNCHECKED, Pattern, _check_tensors, _places, message
from . import sddmm as _sddmm
from . import softmax as _softmax
from . import spmm as _spmm
from ._graphs import edges
from ._pattern import remembered

Scalar = Union[int, float, Tensor]
_int = int  # within the class the name refers to a method
_REDUCED = {"sum": ("sum", "sum"), "smean": ("mean", "mean"), "smax": ("max", "amax"), "smin": ("min", "amin"), "sprod": (None, "prod")}


def _reduction(name: str, shown: str) -> Callable[..., Tensor]:
    """Make the method of a reduction. shown: what its example prints."""

    def reduced(input: SparseMatrix, dim: Optional[int] = None) -> Tensor:
        return SparseMatrix.reduce(input, dim, name)

    reduced.__name__ = reduced.__qualname__ = name
    reduced.__doc__ = f"""`reduce` with "{name}".

        >>> diag(torch.tensor([3., 2.])).{name}()
        {shown}
        """
    return reduced


class SparseMatrix:
    """A sparse matrix (rows, cols) with values `val`, (nnz,) or (nnz, batch), in the order in which it was made.

    >>> A = spmatrix(torch.tensor([[0, 1], [1, 0]]), torch.tensor([2., 3.]))
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
        return self.pattern.index if self.pattern.coo else self.pattern._rows().long()

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

    def transpose(self) -> SparseMatrix:
        """The transpose."""
        return self.T

    t = transpose

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

    def _like(self, val: Tensor) -> SparseMatrix:
        """Return the matrix with this pattern and these values."""
        return SparseMatrix(self.pattern, val)

    def coalesce(self) -> SparseMatrix:
        """With the values at one place added, by rows and columns."""
        pattern, places = remembered(self.pattern, "coalesced", lambda: united([self.pattern]))
        return SparseMatrix(pattern, added(places, self.val, pattern.nnz))

    def has_duplicate(self) -> bool:
        """True if there are several entries at one place."""
        return int(torch.unique(_places.row_major(self.pattern)).numel()) < self.nnz

    # ---------------------------------------------------------------------- also functions of `dglsp`, whose first argument has DGL's name

    def neg(A) -> SparseMatrix:
        """-A.

        >>> diag(torch.tensor([1., 2.])).neg().val
        tensor([-1., -2.])
        """
        check_matrix(A)
        return A._like(-A.val)

    __neg__ = neg

    def reduce(input, dim: Optional[_int] = None, rtype: str = "sum") -> Tensor:
        """The values of each row (dim=1), of each column (dim=0) or of all (None), reduced by "sum", "smean", "smax", "smin" or "sprod".

        Only entries count; a row without any gives 0. Of equal values smax and smin give the gradient to the first.

        >>> A = spmatrix(torch.tensor([[0, 1, 1], [0, 0, 2]]), torch.tensor([1., 1., 2.]), shape=(4, 3))
        >>> A.reduce(1, "smax"), A.reduce(0), A.reduce()
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
            place = pattern._rows().long().reshape(-1, *(1,) * (val.dim() - 1)).expand(val.shape)
            out = val.new_zeros(pattern.rows, *val.shape[1:]).scatter_reduce(0, place, val, theirs, include_self=False)
        return out[0] if dim is None else out

    sum, smean, sprod = _reduction("sum", "tensor(5.)"), _reduction("smean", "tensor(2.5000)"), _reduction("sprod", "tensor(6.)")
    smax, smin = _reduction("smax", "tensor(3.)"), _reduction("smin", "tensor(2.)")

    def softmax(A, dim: _int = 1) -> SparseMatrix:
        """The softmax of A's values over each row; with dim=0 over each column.

        >>> A = spmatrix(torch.tensor([[0, 0, 1], [0, 1, 1]]), torch.zeros(3))
        >>> A.softmax().val
        tensor([0.5000, 0.5000, 1.0000])
        >>> A.softmax(dim=0).val
        tensor([1.0000, 0.5000, 0.5000])
        """
        check_matrix(A)
        if dim not in (0, 1):
            raise _errors.ArgumentError(f"dim = {dim!r}: expected 1 (rows) or 0 (columns)")
        pattern = A.pattern if dim == 1 else transposed(A.pattern)
        if A.val.dim() == 1:
            return A._like(_softmax(pattern, A.val))
        return A._like(_softmax(pattern, A.val.t().contiguous()).t())

    # ---------------------------------------------------------------------- methods alone

    def to_dense(self) -> Tensor:
        """The matrix with its zeros, (rows, cols) or (rows, cols, batch); values at one place are added.

        >>> spmatrix(torch.tensor([[0, 1], [1, 0]]), torch.tensor([2., 3.])).to_dense()
        tensor([[0., 2.],
                [3., 0.]])
        """
        return _places.dense(self.pattern, self.val)

    def __add__(self, other: SparseMatrix) -> SparseMatrix:
        if not isinstance(other, SparseMatrix):
            return NotImplemented
        _check_pair(self, other)
        if self.pattern is other.pattern:
            return self._like(self.val + other.val)
        known: dict[str, Any] = remembered(self.pattern, "united", dict)
        if known.get("with") is not other.pattern:
            known["with"], known["made"] = other.pattern, united([self.pattern, other.pattern])
        pattern, places = known["made"]
        return SparseMatrix(pattern, added(places, torch.cat([self.val, other.val]), pattern.nnz))

    def __sub__(self, other: SparseMatrix) -> SparseMatrix:
        if not isinstance(other, SparseMatrix):
            return NotImplemented
        _check_pair(self, other)
        return self + -other

    def __mul__(self, other: Union[SparseMatrix, Scalar]) -> SparseMatrix:
        if not isinstance(other, SparseMatrix):
            return self._like(self.val * _scalar(other))
        _check_pair(self, other)
        if self.pattern is other.pattern:
            return self._like(self.val * other.val)
        mine, others = _common(self, other)
        ends = edges(self.pattern)[:, mine]
        return SparseMatrix(Pattern.from_coo(ends[1], ends[0], self.shape), self.val[mine] * other.val[others])

    __rmul__ = __mul__

    def __truediv__(self, other: Union[SparseMatrix, Scalar]) -> SparseMatrix:
        if not isinstance(other, SparseMatrix):
            return self._like(self.val / _scalar(other))
        _check_pair(self, other)
        if self.pattern is other.pattern:
            return self._like(self.val / other.val)
        mine, others = _common(self, other)
        if not mine.numel() == self.nnz == other.nnz:
            raise _errors.ArgumentError(f"A has {self.nnz} entries and B {other.nnz}, {mine.numel()} at the same places: expected the same places")
        return self._like(self.val / other.val[others])

    def __pow__(self, exponent: Scalar) -> SparseMatrix:
        return self._like(self.val ** _scalar(exponent))

    def __matmul__(self, X: Union[Tensor, SparseMatrix]) -> Any:
        if isinstance(X, Tensor):
            return bspmm(self, X) if X.dim() == 3 else spmm(self, X)
        check_matrix(X, "B")
        if self.shape[1] != X.shape[0]:
            raise _errors.ArgumentError(f"A is {self.shape} and B {X.shape}: expected as many rows of B as A has columns")
        for D, M, rows in ((self, X, True), (X, self, False)):
            if getattr(D.pattern, "_diagonal", False) and D.shape[0] == D.shape[1]:
                factor = broadcast(M, D.val.unsqueeze(1) if rows else D.val.unsqueeze(0))
                return M._like(factor * M.val if factor.dim() == M.val.dim() else factor.unsqueeze(1) * M.val)
        raise NotImplementedError("the product of two sparse matrices is computed only if one of them is a square diagonal matrix, made by diag or identity")

    def __repr__(self) -> str:
        return f"SparseMatrix(shape={self.shape}, nnz={self.nnz}, val={tuple(self.val.shape)} {self.dtype})"


def check_matrix(A: Any, name: str = "A") -> None:
    if not isinstance(A, SparseMatrix):
        raise TypeError(f"{name} is a {type(A).__name__}: expected a SparseMatrix, for instance of spmatrix, from_coo or from_csr")


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


# ------------------------------------------------------------------------------ products


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

    >>> A = spmatrix(torch.tensor([[0, 1], [1, 0]]), torch.tensor([2., 3.]))
    >>> sddmm(A, torch.ones(2, 4), torch.ones(4, 2)).val
    tensor([ 8., 12.])
    """
    _check_operands(A, (1, 2), X1=X1, X2=X2)
    if A.val.dim() != 1:
        raise _errors.ArgumentError(f"A.val has shape {tuple(A.val.shape)}: expected a vector; bsddmm takes a batch of X1 and X2")
    X1, X2 = (X.unsqueeze(1) if X.dim() == 1 and first else X.unsqueeze(0) if X.dim() == 1 else X for X, first in ((X1, True), (X2, False)))
    return A._like(_sddmm(A.pattern, X1, X2.t(), A.val))


def bsddmm(A: SparseMatrix, X1: Tensor, X2: Tensor) -> SparseMatrix:
    """A batch of them: X1 (rows, K, batch), X2 (K, cols, batch); val of the result is (nnz, batch). Operands are copied batch first.

    >>> A = spmatrix(torch.tensor([[0, 1], [1, 0]]))
    >>> bsddmm(A, torch.ones(2, 3, 4), torch.ones(3, 2, 4)).val.shape
    torch.Size([2, 4])
    """
    _check_operands(A, (3,), X1=X1, X2=X2)
    values = A.val if A.val.dim() == 1 else A.val.t().contiguous()
    return A._like(_sddmm(A.pattern, _first(X1), X2.permute(2, 1, 0).contiguous(), values).transpose(0, 1))


def spmm(A: SparseMatrix, X: Tensor) -> Tensor:
    """A X. X: (cols, L) or (cols,).

    >>> A = spmatrix(torch.tensor([[0, 1], [1, 0]]), torch.tensor([2., 3.]))
    >>> spmm(A, torch.tensor([1., 10.]))
    tensor([20.,  3.])
    """
    _check_operands(A, (1, 2), X=X)
    if A.val.dim() != 1:
        raise _errors.ArgumentError(f"A.val has shape {tuple(A.val.shape)}: expected a vector; bspmm takes a batch")
    return _spmm(A.pattern, X, A.val)


def bspmm(A: SparseMatrix, X: Tensor) -> Tensor:
    """A batch of them: A.val (nnz, batch), X (cols, L, batch). Returns (rows, L, batch). Operands are copied batch first.

    >>> A = spmatrix(torch.tensor([[0, 1], [1, 0]]), torch.ones(2, 4))
    >>> bspmm(A, torch.ones(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """
    _check_operands(A, (3,), X=X)
    if A.val.dim() == 2 and A.val.shape[1] != X.shape[2]:
        raise _errors.ArgumentError(f"A.val has shape {tuple(A.val.shape)} and X {tuple(X.shape)}: expected (nnz, batch) and (cols, L, batch)")
    return _spmm(A.pattern, _first(X), A.val.t().contiguous()).permute(1, 2, 0)


def broadcast(A: SparseMatrix, v: Tensor) -> Tensor:
    """Return values of v at the places of A: v (rows, 1) has one for each row, v (1, cols) or (cols,) for each column."""
    if v.dim() == 1:
        v = v.unsqueeze(0)
    if v.dim() == 2 and v.shape == (A.shape[0], 1):
        return v[:, 0][A.row.long()]
    if v.dim() == 2 and v.shape == (1, A.shape[1]):
        return v[0][A.col.long()]
    raise _errors.ArgumentError(f"v has shape {tuple(v.shape)}: expected ({A.shape[0]}, 1), (1, {A.shape[1]}) or ({A.shape[1]},)")


# ------------------------------------------------------------------------------ patterns


def united(patterns: list[Pattern]) -> tuple[Pattern, Tensor]:
    """Return the union of patterns, by rows, and the index in it of each of their entries."""
    cols = patterns[0].cols
    found, places = torch.unique(torch.cat([_places.row_major(pattern) for pattern in patterns]), return_inverse=True)
    return Pattern.from_coo(found.div(max(cols, 1), rounding_mode="floor"), found % max(cols, 1), patterns[0].shape), places


def added(places: Tensor, val: Tensor, nnz: int) -> Tensor:
    return val.new_zeros(nnz, *val.shape[1:]).index_add(0, places, val)


def _compressed(major: Tensor, minor: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    order = torch.argsort(major, stable=True)
    return torch.nn.functional.pad(torch.bincount(major, minlength=count).cumsum(0), (1, 0)), minor[order], order


def transposed(pattern: Pattern) -> Pattern:
    """Return the pattern of the transpose, which is known to be diagonal if this one is."""
    turned = pattern.T
    if getattr(pattern, "_diagonal", False):
        turned._diagonal = True  # type: ignore[attr-defined]
    return turned


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
    of_a, of_b = _places.row_major(A.pattern), _places.row_major(B.pattern)
    for M, name in ((A, "A"), (B, "B")):
        if M.has_duplicate():
            raise _errors.ArgumentError(f"{name} has several entries at one place: expected one, for instance of {name}.coalesce()")
    ordered, order = of_b.sort()
    found = torch.searchsorted(ordered, of_a).clamp_max(max(ordered.numel() - 1, 0))
    same = (ordered[found] == of_a).nonzero().squeeze(1) if ordered.numel() else ordered
    return same, order[found[same]]
