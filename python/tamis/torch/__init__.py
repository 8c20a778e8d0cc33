"""The operations for PyTorch, with gradients: sparse attention, graph neural networks, sampled products.

    pattern = tamis.torch.Pattern.from_edge_index(edge_index, num_nodes)
    samples = tamis.torch.sddmm(pattern, A, B)              one number for each edge
    C = tamis.torch.spmm(pattern, B, values=samples)        sums over neighbours
    out = tamis.torch.attention(q, k, v, pattern)           softmax over neighbours, then the sum
    out = tamis.torch.cached_attention(q, k, v, lengths)    one query for each head, and a cache of keys, as in decoding
    means = tamis.torch.message(pattern, "copy_u", x, reduce="mean")
    out = tamis.torch.graph_attention(pattern, q, k, v, e)  vectors on edges

They are operators of PyTorch: autograd in both modes and of every order, torch.func, torch.compile(fullgraph=True) and export know them,
on the CPU and on CUDA, in the current stream. `tamis.torch.nn` has layers, `tamis.torch.pyg` has PyTorch Geometric's layers,
`tamis.torch.dglsp` has the names of dgl.sparse, `tamis.torch.distributed` divides a graph among several devices.

Examples assume `import torch` and `from tamis.torch import *`.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Optional, overload

import torch
from torch import Tensor

from .. import _declarations as c
from .. import _errors
from .._plan import apart, edge_number
from .._traced import text_of
from . import _attention, _direct, _named, _pattern
from ._attention import cached_attention
from ._direct import any_recorded, plain
from ._edge_network import edge_network
from ._graph_attention import edge_softmax, graph_attention, segment
from ._messages import edge_op, message, messages, plan_message
from ._pattern import Pattern
from ._sampled import FUSED, SDDMM, SPMM, lead_of, settings_of
from ._taken import PatternLike, places_of, taken

_EDGES = {name.removeprefix("TAMIS_EDGE_").lower(): number for name, number in vars(c).items()
          if name.startswith("TAMIS_EDGE_") and number != c.TAMIS_EDGE_TEXT}

_UNCHECKED: dict[str, Any] = {} if torch.__version__.startswith("1.") else {"check_invariants": False}  # a pattern has already been checked
_WIDE = ("exp", "softmax")  # edges whose results autocast computes in fp32, as for torch.exp and torch.softmax


def _edge(edge: Any, numbers: Optional[Mapping[str, float]]) -> int:
    if callable(edge) and _direct.compiling():  # what it refers to may change after it was compiled
        raise NotImplementedError("edge is a function: compiled code takes the expression as a text")
    number = _EDGES.get(edge) if numbers is None else None
    return _number_of(edge, *_direct.as_constants(numbers)) if number is None else number


def _number_of(edge: Any, numbers: Optional[Mapping[str, float]], texts: Mapping[str, str] = {}) -> int:
    return edge_number(text_of(edge) if callable(edge) else edge, _direct.from_constants(numbers, texts))


# as torch.compiler.assume_constant_result does, which imports torch._dynamo: compiled code has the number as a constant
_number_of._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _with_tensors(operation: int, pattern: Pattern, edge: Any, numbers: Any, others: tuple, values: Optional[Tensor], *matrices: Tensor) -> Tensor:
    """Call sddmm or fused by an expression of tensors. others: scale, slope, epsilon, transpose."""
    _check_tensors(dict(zip("ABD", matrices)), values=values)
    fixed, named = apart(numbers)
    assert named is not None
    *matrices, values = _direct.cast(*matrices, values)  # type: ignore[assignment]
    made = settings_of.__wrapped__ if _direct.compiling() else settings_of  # compilers warn of caches
    return _named.called(operation, pattern, made(_edge(edge, fixed), *others, False), values, tuple(matrices), named)


def _reads_tensors(numbers: Any) -> bool:
    return numbers is not None and apart(numbers)[1] is not None


def _check_tensors(operands: dict[str, Any], **optional: Any) -> None:
    """Check that operands are tensors; optional ones may be None."""
    for name, x in (*operands.items(), *optional.items()):
        if not isinstance(x, Tensor) and (x is not None or name in operands):
            raise TypeError(f"{name} is a {type(x).__name__}: expected a tensor, for instance torch.as_tensor({name})")


def sddmm(pattern: PatternLike, A: Tensor, B: Tensor, values: Optional[Tensor] = None, *, edge: str | Callable[..., Any] = "scale", scale: float = 1.0,
          slope: float = 0.01, epsilon: float = 1e-10, numbers: Optional[Mapping[str, Any]] = None) -> Tensor:
    """Sampled products: edge(values, A B^T) at the pattern's places.

    A: (..., rows, K); B: (..., cols, K), of one floating-point type; leading dimensions are a batch, one operand may lack them.
    values: (nnz,) or (..., nnz); ones if None. edge, scale, slope, epsilon, numbers as in `tamis.sddmm`;
    edges that are expressions have first derivatives, in reverse mode, also to tensors among the numbers, such as a learned temperature: these
    broadcast to the leading dimensions.
    Operands may be views with any strides, and batches of no members. Where neither the rows nor the columns of a matrix lie in one piece each, nor the
    numbers of values, each call makes a copy. It refuses to where that would be larger than all operands together, as of an expanded view.
    Returns (..., nnz) in the pattern's order. Gradients to A, B and values. Raises ValueError, MemoryError or RuntimeError.

    >>> A = torch.ones(2, 4, requires_grad=True)
    >>> sddmm(Pattern.causal(2), A, torch.ones(2, 4)).sum().backward()
    >>> A.grad[:, 0]
    tensor([1., 2.])
    """
    if type(pattern) is not Pattern:
        pattern, values = taken(pattern, values)
    if _reads_tensors(numbers):
        return _with_tensors(c.TAMIS_OP_SDDMM, pattern, edge, numbers, (scale, slope, epsilon, False), values, A, B)
    need = plain((A, B, values))
    if need and A is not None and B is not None:
        return SDDMM.direct(need, pattern, settings_of(_edge(edge, numbers), scale, slope, epsilon, False, False), values, A, B)
    _check_tensors({"A": A, "B": B}, values=values)
    A, B, values = _direct.cast(A, B, values, wide=edge in _WIDE)
    keep = edge == "softmax" and any_recorded(A, B, values)
    return SDDMM.called(False, pattern, (_edge(edge, numbers), scale, slope, epsilon, keep), values, A, B)


def spmm(pattern: PatternLike, B: Tensor, values: Optional[Tensor] = None, *, transpose: bool = False) -> Tensor:
    """The sparse matrix of `pattern` and `values` (ones if None) times B; with `transpose` its transpose.

    B: (..., cols, L), with `transpose` (..., rows, L), or a vector; values: (nnz,) or (..., nnz). Returns (..., rows, L), with
    `transpose` (..., cols, L). Gradients to B and values. Errors as in `sddmm`.

    >>> pattern = Pattern.from_edge_index(torch.tensor([[0, 1, 2], [1, 1, 0]]))
    >>> spmm(pattern, torch.tensor([[1.], [2.], [4.]])).ravel()
    tensor([4., 3., 0.])
    """
    if type(pattern) is not Pattern:
        pattern, values = taken(pattern, values)
    need = plain((B, values))
    if need and B is not None:
        return SPMM.direct(need, pattern, settings_of(0, 1.0, 0.01, 1e-10, transpose, False), values, B)
    _check_tensors({"B": B}, values=values)
    given = values
    B, values = _direct.cast(B, values)
    if given is not None and given.dtype == torch.float32 and B.dtype in _direct.HALF:  # the operator accepts such a pair directly
        values = given
    return SPMM.called(False, pattern, (transpose,), values, B)


_pattern.times = spmm


def fused(pattern: PatternLike, A: Tensor, B: Tensor, D: Tensor, values: Optional[Tensor] = None, *, edge: str | Callable[..., Any] = "scale", scale: float = 1.0,
          slope: float = 0.01, epsilon: float = 1e-10, transpose: bool = False, numbers: Optional[Mapping[str, Any]] = None) -> Tensor:
    """edge(values, A B^T) D in one call: `sddmm`, then `spmm` with its samples, which are not returned.

    A: (..., rows, K); B: (..., cols, K); D: (..., cols, L). Returns (..., rows, L). Gradients to A, B, D and values. With `transpose`
    rows and cols change places. Errors as in `sddmm`.

    >>> fused(Pattern.causal(2), torch.ones(2, 4), torch.ones(2, 4), torch.eye(2))
    tensor([[4., 0.],
            [4., 4.]])
    """
    if type(pattern) is not Pattern:
        pattern, values = taken(pattern, values)
    if _reads_tensors(numbers):
        return _with_tensors(c.TAMIS_OP_FUSED, pattern, edge, numbers, (scale, slope, epsilon, transpose), values, A, B, D)
    need = plain((A, B, D, values))
    if need and A is not None and B is not None and D is not None:
        return FUSED.direct(need, pattern, settings_of(_edge(edge, numbers), scale, slope, epsilon, transpose, False), values, A, B, D)
    _check_tensors({"A": A, "B": B, "D": D}, values=values)
    A, B, D, values = _direct.cast(A, B, D, values)
    keep = edge == "softmax" and any_recorded(A, B, D, values)
    return FUSED.called(False, pattern, (_edge(edge, numbers), scale, slope, epsilon, transpose, keep), values, A, B, D)


@overload
def attention(q: Tensor, k: Tensor, v: Tensor, pattern: _attention.Patterns, *, scale: Optional[float] = None, bias: Any = None, dropout_p: float = 0.0,
              enable_gqa: bool = False, sinks: Optional[Tensor] = None, softcap: Optional[float] = None, score: Any = None,
              numbers: Optional[Mapping[str, Any]] = None,
              return_lse: Literal[False] = False) -> Tensor: ...


@overload
def attention(q: Tensor, k: Tensor, v: Tensor, pattern: _attention.Patterns, *, scale: Optional[float] = None, bias: Any = None, dropout_p: float = 0.0,
              enable_gqa: bool = False, sinks: Optional[Tensor] = None, softcap: Optional[float] = None, score: Any = None,
              numbers: Optional[Mapping[str, Any]] = None,
              return_lse: Literal[True]) -> tuple[Tensor, Tensor]: ...


@overload
def attention(q: Tensor, k: Tensor, v: Tensor, pattern: _attention.Patterns, *, scale: Optional[float] = None, bias: Any = None, dropout_p: float = 0.0,
              enable_gqa: bool = False, sinks: Optional[Tensor] = None, softcap: Optional[float] = None, score: Any = None,
              numbers: Optional[Mapping[str, Any]] = None, return_lse: bool) -> Any: ...


def attention(q: Tensor, k: Tensor, v: Tensor, pattern: _attention.Patterns, *, scale: Optional[float] = None, bias: Any = None,
              dropout_p: float = 0.0, enable_gqa: bool = False, sinks: Optional[Tensor] = None, softcap: Optional[float] = None, score: Any = None,
              numbers: Optional[Mapping[str, Any]] = None, return_lse: bool = False) -> Any:
    """Sparse attention: the row softmax of scale * q k^T + bias at the pattern's places, times v.

    q: (..., N, d); k: (..., M, d); v: (..., M, e): leading dimensions, such as (batch, heads), share the pattern (N, M). They may be views
    with any strides, such as the parts of one projection or an expanded k, which are not copied.
    pattern: a Pattern, or a list of one for each member of the first dimension; then bias is a list as well.
    scale: 1 / sqrt(d) if None. bias: (nnz,), or (..., nnz) with leading dimensions that broadcast; -inf keeps a place out.
    dropout_p: the probability with which each weight is left out, as in torch.nn.functional.scaled_dot_product_attention, always: pass 0
    where a model is not trained. The weights are then in memory.
    enable_gqa: q has a multiple of the heads (dimension -3) of k and v, and consecutive heads of q share a head of k and v.
    sinks: a number for each head, or what broadcasts to q's leading dimensions: a score that takes part in each row's softmax, without a
    value, as in gpt-oss.
    softcap: c, which replaces each score x by c tanh(x / c) before the bias, as in Gemma 2.
    score: an expression, or a function of its variables, that replaces each score x, with scale: x; the query i and the key j; h, the number in the last
    leading dimension; s, the bias, which is added if it does not read s; row.NAME, col.NAME, entry.NAME and head.NAME of `numbers`, a number for each query,
    key, place and member, which broadcast to the leading dimensions; and other numbers, floats or tensors. Gradients to tensors. With dropout, sinks
    or return_lse scores that are capped, or expressions, are in memory, in fp32 for 16-bit types.
    Returns (..., N, e); a query without places, or with none left, gives zeros. With return_lse also the logarithm of the sum of the
    exponentials of each row's scores, (..., N), fp32 (fp64 of fp64). Gradients to q, k, v, bias and sinks, by both. Errors as in `sddmm`.

    >>> pattern, q, v = Pattern.causal(3), torch.zeros(2, 3, 4), torch.arange(6.).reshape(2, 3, 1)
    >>> attention(q, q, v, pattern)[..., 0]
    tensor([[0.0000, 0.5000, 1.0000],
            [3.0000, 3.5000, 4.0000]])
    >>> attention(q, q, v, pattern, score="tanh(x / cap) * cap + head.slope * (j - i)", numbers={"cap": 30, "head.slope": torch.tensor([0., 1.])})[..., 0]
    tensor([[0.0000, 0.5000, 1.0000],
            [3.0000, 3.7311, 4.5752]])
    >>> q = torch.zeros(4, 3, 4)  # four heads of q, two of k and v
    >>> attention(q, q[:2], v, pattern, enable_gqa=True).shape
    torch.Size([4, 3, 1])
    """
    if not isinstance(pattern, (Pattern, list, tuple)):
        pattern, own = taken(pattern, None)
        if own is not None and bias is not None:
            raise _errors.ArgumentError("bias is given, and pattern is a sparse tensor whose numbers are added to scores as well: pass its places and the sum, "
                                        "for instance as p = Pattern.from_torch(pattern) and bias + p.values")
        bias = own if bias is None else bias
    if sinks is not None:
        _check_tensors({"q": q}, sinks=sinks)
        found = attention(q, k, v, pattern, scale=scale, bias=bias, dropout_p=dropout_p, enable_gqa=enable_gqa, softcap=softcap,
                          score=score, numbers=numbers, return_lse=True)
        return _attention.with_sinks(*found, sinks, return_lse)
    more: dict[str, Any] = {"scale": scale, "dropout_p": dropout_p, "softcap": softcap, "score": score, "numbers": numbers, "return_lse": return_lse}
    _attention.check_score(score, numbers, softcap, isinstance(pattern, (list, tuple)), q.dim())
    if isinstance(pattern, (list, tuple)):
        _check_tensors({"q": q, "k": k, "v": v})
        return _attention.each(q, k, v, pattern, bias, return_lse,
                               lambda *parts: attention(*parts[:4], bias=parts[4], enable_gqa=enable_gqa, **more))
    _check_tensors({"q": q, "k": k, "v": v}, bias=bias)
    _attention.check(q, k, v, bias, dropout_p, enable_gqa)
    if enable_gqa and q.shape[-3] != k.shape[-3] and score is not None and _attention.reads_queries(score, numbers):  # rows of a group's queries are others
        k, v = (x.repeat_interleave(q.shape[-3] // k.shape[-3], -3) for x in (k, v))
    if enable_gqa and q.shape[-3] != k.shape[-3]:
        return _attention.grouped(q, k, v, pattern, bias, return_lse, lambda *parts: attention(*parts[:4], bias=parts[4], **more))
    if scale is None:
        scale = q.shape[-1] ** -0.5 if q.dim() and q.shape[-1] else 1.0
    bias = _attention.full_bias(bias, q, k, v)
    try:
        if score is not None:
            return _scored(pattern, q, k, v, bias, scale, dropout_p, return_lse, *_attention.score_of(score, numbers, scale, bias, lead_of(q, k, v, None)))
        if softcap is not None:
            return _scored(pattern, q, k, v, bias, scale, dropout_p, return_lse, *_attention.capped(softcap, scale, bias))
        if return_lse:
            q, k, v, bias = _direct.cast(q, k, v, bias)
            out, sums = _attention.with_sums(q, k, v, pattern, scale, bias)
            return (out if dropout_p == 0 else _dropped(pattern, q, k, v, bias, scale, dropout_p)), sums
        if dropout_p:
            return _dropped(pattern, q, k, v, bias, scale, dropout_p)
        return fused(pattern, q, k, v, bias, edge="softmax", scale=scale)
    except _errors.ArgumentError as error:
        raise _errors.renamed(error, {"A": "q", "B": "k", "D": "v", "values": "bias"}) from None


def _scored(pattern: Pattern, q: Tensor, k: Tensor, v: Tensor, bias: Optional[Tensor], scale: float, dropout_p: float, return_lse: bool, text: str,
            numbers: dict[str, Any]) -> Any:
    """Compute attention with scores that are an expression."""
    if not dropout_p and not return_lse:
        try:
            return fused(pattern, q, k, v, bias, edge=f"softmax({text})", numbers=numbers)
        except _errors.ArgumentError as error:
            if str(error).startswith("edge:"):  # places are of this text
                raise _errors.ArgumentError(f"{error} (the score is the edge softmax({text}))") from None
            raise
    wide = [None if x is None else x.to(torch.promote_types(x.dtype, torch.float32)) for x in (q, k, v, bias)]
    numbers = {name: x.to(torch.promote_types(x.dtype, torch.float32)) if isinstance(x, Tensor) and x.dtype in (torch.float16, torch.bfloat16) else x for name, x in numbers.items()}
    if q.dim() == 2 and k.dim() == 2 and v.dim() > 2:  # v alone has members, which the score may read
        wide[0] = wide[0].expand(*v.shape[:-2], *q.shape)  # type: ignore[union-attr]
    scores = sddmm(pattern, wide[0], wide[1], wide[3], edge=text, numbers=numbers)  # type: ignore[arg-type]
    found = attention(wide[0][..., :0], wide[1][..., :0], wide[2], pattern, scale=1.0, bias=scores, dropout_p=dropout_p, return_lse=return_lse)  # type: ignore[index]
    return (found[0].to(v.dtype), found[1]) if return_lse else found.to(v.dtype)


def _dropped(pattern: Pattern, q: Tensor, k: Tensor, v: Tensor, bias: Optional[Tensor], scale: float, dropout_p: float) -> Tensor:
    """Compute attention with dropout of the weights."""
    weights = torch.nn.functional.dropout(sddmm(pattern, q, k, bias, edge="softmax", scale=scale), dropout_p)
    return spmm(pattern, v, weights)


def softmax(pattern: PatternLike, values: Tensor) -> Tensor:
    """The softmax of values (nnz,) or (..., nnz) over each row of the pattern. Gradients to values.

    >>> softmax(Pattern.causal(2), torch.zeros(3))
    tensor([1.0000, 0.5000, 0.5000])
    """
    pattern = places_of(pattern)
    _check_tensors({"values": values})
    none = values.new_empty((*values.shape[:-1], pattern.rows, 0)), values.new_empty((*values.shape[:-1], pattern.cols, 0))
    return sddmm(pattern, *none, values.contiguous(), edge="softmax")  # the transpose of (edges, heads) is not


@_direct.eager
def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0, out: Optional[Tensor] = None) -> Tensor:
    """torch.sparse.sampled_addmm: alpha * (mat1 mat2) at the places of input + beta * input, for every type and with gradients.

    input: a sparse CSR tensor (rows, cols); its values enter only through beta. mat1: (rows, K); mat2: (K, cols): PyTorch's
    shapes; the transpose of a packed matrix is a view, not a copy. out: a sparse CSR tensor with input's pattern; no gradients then.
    Returns a sparse CSR tensor with input's index tensors. Its gradient has a number for each place. `torch.sparse.mm` of it makes no larger one either, while
    PyTorch's `@` makes one of rows x cols.

    >>> S = torch.eye(3).to_sparse_csr()
    >>> sampled_addmm(S, torch.ones(3, 2), torch.ones(2, 3), beta=0.5).values()
    tensor([2.5000, 2.5000, 2.5000])
    """
    if not isinstance(input, Tensor) or input.layout is not torch.sparse_csr:
        raise _errors.ArgumentError("input is not a sparse CSR tensor: convert it by to_sparse_csr()")
    _check_tensors({"mat1": mat1, "mat2": mat2}, out=out)
    if mat1.dim() != 2 or mat2.dim() != 2 or mat1.shape != (input.shape[0], mat2.shape[0]) or mat2.shape[1] != input.shape[-1]:
        raise _errors.ArgumentError(f"mat1 has shape {tuple(mat1.shape)} and mat2 {tuple(mat2.shape)}: expected ({input.shape[0]}, K) and "
                                    f"(K, {input.shape[-1]}), since input is {tuple(input.shape)}")
    if _direct.REGISTERED and (_direct.transforms() or _direct.forward_mode()):
        raise NotImplementedError("sampled_addmm returns a sparse tensor, of which torch.func and forward mode know nothing: use "
                                  "sddmm(pattern, mat1, mat2.t(), edge='mask'), which returns its values")
    pattern = Pattern.from_torch(input)
    assert pattern.values is not None
    if out is not None:
        if out.layout is not torch.sparse_csr or out.shape != input.shape or not _same(out.crow_indices(), pattern.index) or \
                not _same(out.col_indices(), pattern.columns):
            raise _errors.ArgumentError(f"out has layout {out.layout} and shape {tuple(out.shape)}: expected the pattern of input, for instance "
                                        f"input.clone()")
        from .._operations import sddmm as plain
        with torch.no_grad():
            if beta != 0:
                out.values().copy_(pattern.values)
            plain(pattern._current(), mat1, mat2.t(), edge="mask", alpha=alpha, beta=beta, out=out.values())
        return out
    samples = sddmm(pattern, mat1, mat2.t(), edge="mask")
    values = alpha * samples + beta * pattern.values if beta != 0 else alpha * samples
    return _Sparse.apply(pattern, values)  # type: ignore[no-any-return]


def _same(one: Tensor, other: Tensor) -> bool:
    """Return True if two index tensors are equal; tensors that share their memory are not read."""
    if one.shape != other.shape or one.dtype != other.dtype or one.device != other.device:
        return False
    return one.data_ptr() == other.data_ptr() or torch.equal(one, other)


class _Sparse(torch.autograd.Function):
    """A sparse tensor with a pattern that is already checked. Its gradient is only at the pattern's places: PyTorch's own has rows x cols numbers, and what it
    makes of second derivatives is wrong, without a word."""

    @staticmethod
    def forward(ctx: Any, pattern: Pattern, values: Tensor) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(values)
        ctx.set_materialize_grads(False)
        return torch.sparse_csr_tensor(pattern.index, pattern.columns, values, pattern.shape, **_UNCHECKED)

    @staticmethod
    def backward(ctx: Any, grad: Optional[Tensor]) -> Any:
        if grad is None:
            return None, None
        found = _at_places(grad, ctx.pattern)
        return None, _Refused.apply(found, *ctx.saved_tensors) if torch.is_grad_enabled() else found


def _at_places(x: Tensor, pattern: Pattern) -> Tensor:
    """Return the elements of a matrix, dense or sparse, at the places of a pattern."""
    if x.layout is torch.sparse_csr and _same(x.crow_indices(), pattern.index) and _same(x.col_indices(), pattern.columns):
        return x.values()
    rows = pattern._rows().long()
    if x.layout is torch.strided:
        return x[rows, pattern.columns.long()]
    x = x.to_sparse_coo().coalesce()
    ends, keys = x.indices(), rows * pattern.cols + pattern.columns
    there = ends[0] * pattern.cols + ends[1]
    if there.numel() == 0:
        return x.values().new_zeros(pattern.nnz)
    place = torch.searchsorted(there, keys).clamp(max=there.numel() - 1)
    return torch.where(there[place] == keys, x.values()[place], 0)


class _Refused(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, grad: Tensor, values: Tensor) -> Tensor:
        return grad.view_as(grad)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> Any:
        raise NotImplementedError("sampled_addmm has no second derivatives, since PyTorch loses those of sparse tensors: use sddmm(pattern, mat1, "
                                  "mat2.t(), edge='mask'), which has them")


def __getattr__(name: str) -> Any:
    if name in ("nn", "dglsp", "pyg", "distributed"):
        import importlib
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


__all__ = ["Pattern", "attention", "cached_attention", "edge_network", "edge_op", "edge_softmax", "fused", "graph_attention", "message", "messages", "plan_message", "sampled_addmm", "sddmm", "segment", "softmax", "spmm"]
