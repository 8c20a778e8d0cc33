"""The operations for arrays of NumPy, PyTorch, CuPy and others."""
from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from . import _declarations as c
from ._call import FUSED, SDDMM, SPMM, compute, settings, settings_with
from ._convert import converted
from ._errors import ArgumentError, renamed
from ._kinds import NumPy, kind_of
from ._mask import only_true
from ._pattern import Pattern
from ._plan import apart
from ._views import view


def sddmm(S: Any, A: Any, B: Any, *, edge: str | Callable[..., Any] = "scale", alpha: float = 1.0, beta: float = 0.0, out: Any = None, values: Any = None,
          scale: float = 1.0, slope: float = 0.01, epsilon: float = 1e-10, numbers: Mapping[str, Any] | None = None, math: str = "exact",
          convert: bool = False) -> Any:
    """P = alpha * edge(S, A B^T) + beta * P at the nonzeros of S: sampled products of the rows of A and B.

    S: (rows, cols), a sparse matrix of SciPy, CuPy or PyTorch (CSR, CSC, COO), a `Pattern`, or (offsets, columns[, values]).
    A: (rows, K); B: (cols, K): float32, float64, float16 or bfloat16, both of one type, with any strides, one of them 1. Leading
    dimensions, the same in A and B, are a batch over one pattern.
    edge: what becomes of the product x and S's value s: "scale" s x, "mask" x, "residual" s - x, "quotient" s / max(x, epsilon),
    "sigmoid", "exp", "leaky_relu" (with `scale` and `slope`), "softmax" of a row. cuSPARSE and PyTorch mean "mask".
    Or an expression in x, s, the place i, j, the member h of the batch, and names of `numbers`: "tanh(x / cap) * cap" with {"cap": 30}; it may be a
    softmax: "softmax(x + entry.bias)".
    numbers: of an expression. "row.NAME", "col.NAME", "entry.NAME" and "head.NAME" are arrays, a number for each row, column, entry and member of the
    batch, of the operands' type or fp32, (n,) or (..., n), head.NAME (...,). A number that is an array, of one number or as head.NAME, may change from call to
    call without a new plan.
    out: the array of samples to write, (..., nnz); needed if beta is not 0. values: (nnz,) or (..., nnz) instead of S's own.
    math: "tf32" lets GPUs round fp32 operands to eleven bits.
    convert: S may have any format (BSR, DIA, LIL, DOK, a dense array, lists, a data frame, a graph of networkx), and S and the operands any real
    type and strides: they are copied into what the library reads. Their type is then the widest floating-point type among them, or float64.

    Returns the samples as a sparse matrix of S's kind, with copies of S's index arrays. If S is a Pattern or three arrays, or for a batch, it
    returns an array (..., nnz) in the order of S's entries, of A's library and device. Raises ValueError, MemoryError or RuntimeError with
    the library's message.

    >>> S = scipy.sparse.csr_array(np.float32([[1, 0, 2], [0, 3, 0]]))
    >>> A, B = np.float32([[1, 1], [2, 0]]), np.float32([[1, 0], [0, 1], [1, 1]])
    >>> tamis.sddmm(S, A, B).toarray()
    array([[1., 0., 4.],
           [0., 0., 0.]], dtype=float32)
    >>> tamis.sddmm(S, A, B, edge="mask").data
    array([1., 2., 0.], dtype=float32)
    >>> tamis.sddmm(S, A, B, edge="where(j <= i, s * relu(x), low)", numbers={"low": -1}).data
    array([ 1., -1.,  0.], dtype=float32)
    >>> tamis.sddmm(S, A, B, edge="x * row.gain + col.bias", numbers={"row.gain": np.float32([2, 3]), "col.bias": np.float32([0, 0, 1])}).data
    array([2., 5., 0.], dtype=float32)
    """
    numbers, named = apart(numbers)
    how = settings_with(edge, numbers, scale, slope, epsilon, False, math)
    if convert:
        S, (A, B), values = converted(S, {"A": A, "B": B}, values, how.as_pattern)
    P, s = compute(SDDMM, S, ("A", "B"), (A, B), out, how, alpha, beta, values, named=named)
    return P if isinstance(S, Pattern) or len(getattr(P, "shape", ())) > 1 else s.matrix(P)


def spmm(S: Any, B: Any, *, transpose: bool = False, alpha: float = 1.0, beta: float = 0.0, out: Any = None, values: Any = None,
         convert: bool = False) -> Any:
    """C = alpha * S B + beta * C; with `transpose` S^T B.

    S as in `sddmm`, (rows, cols). B: (cols, L), with `transpose` (rows, L); leading dimensions are a batch; a vector is one column.
    out: (..., rows, L), with `transpose` (..., cols, L); needed if beta is not 0. values: (nnz,) or (..., nnz) instead of S's own.
    convert as in `sddmm`. Returns C, of B's library and device. Errors as in `sddmm`.

    >>> S = scipy.sparse.csr_array(np.float32([[1, 0, 2], [0, 3, 0]]))
    >>> tamis.spmm(S, np.float32([1, 1, 1]))
    array([3., 3.], dtype=float32)
    >>> tamis.spmm(S, np.float32([[1], [1]]), transpose=True).ravel()
    array([1., 3., 2.], dtype=float32)
    """
    how = settings(transpose=bool(transpose))
    if convert:
        S, (B,), values = converted(S, {"B": B}, values, False)
    return compute(SPMM, S, ("B",), (B,), out, how, alpha, beta, values)[0]


def fused(S: Any, A: Any, B: Any, D: Any, *, edge: str | Callable[..., Any] = "scale", transpose: bool = False, alpha: float = 1.0, beta: float = 0.0,
          out: Any = None, values: Any = None, scale: float = 1.0, slope: float = 0.01, epsilon: float = 1e-10,
          numbers: Mapping[str, Any] | None = None, math: str = "exact", convert: bool = False) -> Any:
    """E = alpha * edge(S, A B^T) D + beta * E: SDDMM and SpMM in one call; the samples are not returned.

    S, A, B, edge and its numbers, and convert as in `sddmm`. D: (cols, L). Returns E, (..., rows, L), of A's library and device. With `transpose`
    S^T takes S's place. Errors as in `sddmm`.

    >>> S = scipy.sparse.csr_array(np.float32([[1, 0, 2], [0, 3, 0]]))
    >>> A, B = np.float32([[1, 1], [2, 0]]), np.float32([[1, 0], [0, 1], [1, 1]])
    >>> tamis.fused(S, A, B, B)
    array([[5., 4.],
           [0., 0.]], dtype=float32)
    """
    numbers, named = apart(numbers)
    how = settings_with(edge, numbers, scale, slope, epsilon, bool(transpose), math)
    if convert:
        S, (A, B, D), values = converted(S, {"A": A, "B": B, "D": D}, values, how.as_pattern)
    return compute(FUSED, S, ("A", "B", "D"), (A, B, D), out, how, alpha, beta, values, named=named)[0]


def attention(mask: Any, Q: Any, K: Any, V: Any, *, scale: float | None = None, bias: Any = None, return_lse: bool = False,
              out: Any = None, math: str = "exact", convert: bool = False) -> Any:
    """Sparse attention: the row softmax of scale * Q K^T at the nonzeros of mask, times V.

    mask: (N, M), a sparse matrix as S in `sddmm`. Only its pattern counts: every entry attends whatever its value, even 0, and two entries
    at one place count twice. Entries of a bool matrix that are False do not attend. A query without entries gives zeros.
    Q: (..., N, d); K: (..., M, d); V: (..., M, e). Leading dimensions, such as (batch, heads), share the mask and run in one call.
    scale: 1 / sqrt(d) if None. bias: (nnz,) or (..., nnz), added to the scores in the order of mask's entries; -inf excludes a place, and
    a query without other places gives zeros. convert as in `sddmm`.
    Returns the result (..., N, e); with return_lse also the logarithm of the sum of the exponentials of each row's scores, (..., N).
    Errors as in `sddmm`.

    >>> mask = scipy.sparse.csr_array(np.tril(np.ones((3, 3), bool)))
    >>> Q = K = np.zeros((2, 3, 4), np.float32)
    >>> V = np.arange(6, dtype=np.float32).reshape(2, 3, 1)
    >>> tamis.attention(mask, Q, K, V)[..., 0]
    array([[0. , 0.5, 1. ],
           [3. , 3.5, 4. ]], dtype=float32)
    """
    if convert:
        mask, (Q, K, V), bias = converted(mask, {"Q": Q, "K": K, "V": V}, bias, True, "mask")
    try:
        width = int(Q.shape[-1])
    except (AttributeError, IndexError, TypeError):  # an operand without a shape must provide a buffer, or is refused
        shape = view(Q, "Q").shape
        width = shape[-1] if shape else 1
    if scale is None:
        scale = 1.0 / max(width, 1) ** 0.5
    how = settings("softmax", scale, math=math, keep_softmax=return_lse, as_pattern=True)
    mask, kept = only_true(mask)
    if kept is not None and bias is not None:
        if getattr(bias, "shape", (0,))[-1:] != tuple(kept.shape):
            raise ArgumentError(f"bias has shape {tuple(getattr(bias, 'shape', ()))}: expected {kept.shape[0]} numbers, one for each entry of mask")
        bias = bias[..., kept]
    try:
        if not return_lse:
            return compute(FUSED, mask, ("Q", "K", "V"), (Q, K, V), out, how, 1.0, 0.0, bias)[0]
        rows = mask.shape[0] if hasattr(mask, "shape") else view(mask[0], "offsets").shape[0] - 1
        kind, q = kind_of(Q), view(Q, "Q")
        if kind is NumPy and q.device != "cpu":
            raise ArgumentError(f"Q is a {type(Q).__module__}.{type(Q).__name__} on {q.device}: return_lse makes an array for NumPy, PyTorch and "
                                f"CuPy alone")
        statistics = kind.empty((*tuple(Q.shape[:-2]), rows, 2), c.TAMIS_F64 if q.type == c.TAMIS_F64 else c.TAMIS_F32, Q)
        E = compute(FUSED, mask, ("Q", "K", "V"), (Q, K, V), out, how, 1.0, 0.0, bias, view(statistics, "statistics").pointer)[0]
    except (ArgumentError, TypeError) as error:
        raise renamed(error, {"S": "mask"} if isinstance(error, TypeError) else {"S": "mask", "values": "bias"}) from None
    largest, total = statistics[..., 0], statistics[..., 1]
    if kind is NumPy:
        import numpy
        with numpy.errstate(divide="ignore"):  # an empty row's score is -infinity
            return E, largest + numpy.log(total)
    return E, largest + (total.log() if kind.name == "torch" else sys.modules["cupy"].log(total))


__all__ = ["attention", "fused", "sddmm", "spmm"]
