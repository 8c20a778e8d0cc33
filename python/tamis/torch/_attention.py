"""Attention for models: shared keys of several query heads, biases of fewer members, dropout, the logarithm of sums, a pattern for each member. And of new
queries to caches of keys and values, as in decoding: an operator of PyTorch without gradients."""
from __future__ import annotations

import math
import re
from ctypes import byref
from typing import Any, Optional, Sequence, Union

import torch
from torch import Tensor

from .. import _declarations as c
from .. import _errors
from .._device import opened
from .._kinds import Torch
from .._library import lib, must
from .._plan import apart
from .._traced import text_of
from .._views import fits, packed, seen, torch_view
from . import _direct, _ops
from ._direct import compiling
from ._formulas import Operations, wide
from ._held import follow_threads
from ._pattern import Pattern
from ._sampled import FUSED, SOFTMAX, lead_of
from ._taken import PatternLike

Patterns = Union[PatternLike, Sequence[PatternLike]]


def check(q: Tensor, k: Tensor, v: Tensor, bias: Optional[Tensor], dropout_p: float, enable_gqa: bool) -> None:
    """Refuse operands that the operations would report in other terms."""
    if not 0 <= dropout_p <= 1:
        raise _errors.ArgumentError(f"dropout_p = {dropout_p}: expected a probability from 0 to 1")
    if not enable_gqa:
        return
    if min(q.dim(), k.dim(), v.dim()) < 3:
        raise _errors.ArgumentError(f"q, k and v have shapes {tuple(q.shape)}, {tuple(k.shape)} and {tuple(v.shape)}: enable_gqa expects heads in "
                                    f"dimension -3 of each")
    heads, shared = q.shape[-3], k.shape[-3]
    if v.shape[-3] != shared or (heads % shared if shared else heads):
        raise _errors.ArgumentError(f"q has {heads} heads, k {shared} and v {v.shape[-3]}: enable_gqa expects as many in k as in v, and a multiple "
                                    f"of them in q")


def each(q: Tensor, k: Tensor, v: Tensor, patterns: Sequence[Pattern], bias: Any, lse: bool, one: Any) -> Any:
    """Compute attention by `one`, with a pattern for each member of the first dimension. Operands are not copied."""
    if q.dim() < 3 or len(patterns) != q.shape[0]:
        raise _errors.ArgumentError(f"{len(patterns)} patterns for q of shape {tuple(q.shape)}: expected one for each member of its first dimension")
    for x, name in ((k, "k"), (v, "v")):
        if x.dim() != q.dim() or x.shape[0] != q.shape[0]:
            raise _errors.ArgumentError(f"{name} has shape {tuple(x.shape)} and q {tuple(q.shape)}: several patterns expect the same first dimension")
    if bias is not None and (not isinstance(bias, (list, tuple)) or len(bias) != len(patterns)):
        raise _errors.ArgumentError(f"bias is a {type(bias).__name__}: expected a list of {len(patterns)} tensors, one for each pattern")
    biases = [None] * len(patterns) if bias is None else bias
    if not patterns:
        out = q.new_empty((*q.shape[:-1], v.shape[-1]))
        return (out, q.new_empty(q.shape[:-1], dtype=torch.promote_types(q.dtype, torch.float32))) if lse else out
    found = [one(*parts) for parts in zip(q.unbind(0), k.unbind(0), v.unbind(0), patterns, biases)]
    return tuple(torch.stack(parts) for parts in zip(*found)) if lse else torch.stack(found)


def grouped(q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, bias: Optional[Tensor], lse: bool, one: Any) -> Any:
    """Grouped-query attention: query head h uses key head h // (heads / shared), as in PyTorch. Keys and values are not copied. The query heads of a
    group are stacked as rows, so that they share the reads of keys and values, and their gradients are summed in the kernel. If the pattern is
    too large for that, the first query heads of all groups are one call, the second another."""
    shared, count = k.shape[-3], q.shape[-3] // k.shape[-3]
    if bias is not None and bias.dim() > 1 and bias.shape[-2] != q.shape[-3]:
        raise _errors.ArgumentError(f"bias has shape {tuple(bias.shape)}: expected (nnz,) or (..., {q.shape[-3]}, nnz), a row for each head of q")
    copies = pattern._repeated(count)
    if copies is not None and q.shape[-2] == pattern.rows:
        if bias is not None:
            bias = bias.repeat(count) if bias.dim() == 1 else bias.unflatten(-2, (shared, count)).flatten(-2)
        found = one(q.unflatten(-3, (shared, count)).flatten(-3, -2), k, v, copies, bias)
        if not lse:
            return found.unflatten(-2, (count, -1)).flatten(-4, -3)
        return found[0].unflatten(-2, (count, -1)).flatten(-4, -3), found[1].unflatten(-1, (count, -1)).flatten(-3, -2)
    heads = q.unflatten(-3, (shared, -1)).unbind(-3)
    biases = [bias] * len(heads)
    if bias is not None and bias.dim() > 1:
        biases = list(bias.unflatten(-2, (shared, -1)).unbind(-2))
    found = [one(head, k, v, pattern, of) for head, of in zip(heads, biases)]
    if not lse:
        return torch.stack(found, -3).flatten(-4, -3)
    return torch.stack([out for out, _ in found], -3).flatten(-4, -3), torch.stack([sums for _, sums in found], -2).flatten(-3, -2)


def full_bias(bias: Optional[Tensor], q: Tensor, k: Tensor, v: Tensor) -> Optional[Tensor]:
    """Expand a bias with fewer leading dimensions than the operands to all members; autograd sums their gradients."""
    lead = lead_of(q, k, v, None)
    if bias is None or bias.dim() < 2 or tuple(bias.shape[:-1]) == lead or not lead:
        return bias
    try:
        return bias.expand(*lead, bias.shape[-1])
    except RuntimeError:
        raise _errors.ArgumentError(f"bias has shape {tuple(bias.shape)}: expected (nnz,), or leading dimensions that broadcast to {lead}") from None


def with_sums(q: Tensor, k: Tensor, v: Tensor, pattern: Pattern, scale: float, bias: Optional[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the result, and the logarithm of the sum of the exponentials of each row's scores, both with gradients."""
    numbers = SOFTMAX, scale, 0.01, 1e-10, False
    index, columns, coo = _ops.where(pattern, FUSED, FUSED.inner(numbers), (bias, q, k, v))
    out, statistics = _ops.CALLS["fused"](index, columns, bias, q, k, v, pattern.rows, pattern.cols, coo, *numbers, True)
    statistics = statistics.detach()
    return out, (_Sums if compiling() else _SumsOfForwardMode).apply(statistics[..., 0] + statistics[..., 1].log(), q, k, bias, pattern, scale)


def capped(softcap: float, scale: float, bias: Optional[Tensor]) -> tuple[str, dict[str, Any]]:
    """Return the expression of sampled products whose tangent keeps scores between -softcap and softcap, and its numbers."""
    if not 0 < softcap < math.inf:
        raise _errors.ArgumentError(f"softcap = {softcap}: expected a positive number, or None")
    return f"tanh(x * a) * b{'' if bias is None else ' + s'}", {"a": scale / softcap, "b": softcap if isinstance(softcap, Tensor) else float(softcap)}


def check_score(score: Any, numbers: Any, softcap: Optional[float], several: bool, dimensions: int) -> None:
    """Refuse a score that is no expression, or that another argument makes ambiguous."""
    if score is None:
        if numbers is not None:
            raise _errors.ArgumentError(f"numbers = {numbers!r:.80}: only score names numbers, and it is None")
        return
    if not isinstance(score, str) and not callable(score):
        raise TypeError(f"score is a {type(score).__name__}: expected an expression such as 'tanh(x / 30) * 30', or a function of its variables")
    if callable(score) and compiling():
        raise NotImplementedError("score is a function: compiled code takes the expression as a text")
    if softcap is not None:
        raise _errors.ArgumentError(f"softcap = {softcap} and score are given: write score='tanh(x / cap) * cap' with the rest of it, and numbers={{'cap': {softcap}}}")
    text = text_of(score, "score") if callable(score) else score
    if re.match(r"\s*softmax\s*\(", text):
        raise _errors.ArgumentError(f"score = {text!r}: attention takes the softmax of the scores itself; write what is within softmax(...)")
    if several and (apart(numbers)[1] is not None or (dimensions == 3 and _reads(text, "h"))):  # of each pattern's call
        raise _errors.ArgumentError(f"score = {text!r} reads h or arrays, and pattern is a list: call attention for each pattern")


def _reads(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){name}(?![\w.])", text) is not None


def reads_queries(score: Any, numbers: Any) -> bool:
    """Return True if a score may depend on which query, or member of the batch, it is of."""
    if any(isinstance(x, Tensor) and x.numel() > 1 for x in (numbers or {}).values()):
        return True
    text = text_of(score, "score") if callable(score) else score
    return re.search(r"(?<![\w.])([ih]\b|(row|col|entry|head)\.)", text) is not None


def score_of(score: Any, numbers: Any, scale: float, bias: Optional[Tensor], lead: tuple[int, ...]) -> tuple[str, dict[str, Any]]:
    """Return the expression of sampled products that a score of scaled products is, and its numbers."""
    text, given = (text_of(score, "score") if callable(score) else score), dict(numbers or {})
    if bias is None and _reads(text, "s"):
        raise _errors.ArgumentError(f"score = {text!r} reads s, the bias, and bias is None")
    if len(lead) > 1:
        text = re.sub(r"(?<![\w.])h(?![\w.])", f"(h - {lead[-1]} * floor(h / {lead[-1]}))", text)
    if scale != 1:
        text = re.sub(r"(?<![\w.])x(?![\w.])", f"(x * ({float(scale)!r}))", text)
    return (f"({text})" if bias is None or _reads(text, "s") else f"({text}) + s"), given


def with_sinks(out: Tensor, sums: Tensor, sinks: Tensor, lse: bool) -> Any:
    """Let a score without a value take part in each row's softmax: it only adds to the row's sum."""
    try:
        sinks = sinks.to(sums.dtype).expand(sums.shape[:-1])[..., None]
    except RuntimeError:
        raise _errors.ArgumentError(f"sinks have shape {tuple(sinks.shape)}: expected what broadcasts to {tuple(sums.shape[:-1])}, a number for each "
                                    f"head of q") from None
    shares = torch.sigmoid(sums - sinks).masked_fill(sums == -math.inf, 0)  # an empty row has none, whatever its sink
    out = (out * shares[..., None]).to(out.dtype)
    return (out, torch.logaddexp(sums, sinks)) if lse else out


class _Sums(torch.autograd.Function):
    """The logarithms of sums. Their derivative with respect to the scores is the softmax, computed only if a gradient is requested."""

    generate_vmap_rule = True

    @staticmethod
    def forward(sums: Tensor, q: Tensor, k: Tensor, bias: Optional[Tensor], pattern: Pattern, scale: float) -> Tensor:
        return sums.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Tensor) -> None:
        _, q, k, bias, ctx.pattern, ctx.scale = inputs
        ctx.save_for_backward(q, k, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (q, k, bias), on, share = ctx.saved_tensors, *_shares(ctx)
        share = share * on.products(grad.to(share.dtype).contiguous().unsqueeze(-1), on.ones(share, k.shape[-2]))
        dq = ctx.scale * on.times(share, wide(k), False) if ctx.needs_input_grad[1] else None
        dk = ctx.scale * on.times(share, wide(q), True) if ctx.needs_input_grad[2] else None
        return (None, *(None if x is None else x.sum_to_size(like.shape).to(q.dtype) for x, like in ((dq, q), (dk, k))),
                None if bias is None or not ctx.needs_input_grad[3] else share.sum_to_size(bias.shape).to(q.dtype), None, None)


class _SumsOfForwardMode(_Sums):
    """The same with tangents: torch.compile takes no function of autograd that has them."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Tensor) -> None:
        _Sums.setup_context(ctx, inputs, output)
        ctx.save_for_forward(*inputs[1:4])

    @staticmethod
    def jvp(ctx: Any, _: Any, dq: Optional[Tensor], dk: Optional[Tensor], dbias: Optional[Tensor], *rest: Any) -> Tensor:
        (q, k, _), on, share = ctx.saved_tensors, *_shares(ctx)
        found = share.new_zeros(q.shape[:-1])
        if dq is not None:
            found = found + ctx.scale * (dq * on.times(share, wide(k), False)).sum(-1)
        if dk is not None:
            found = found + ctx.scale * (q * on.times(share, wide(dk), False)).sum(-1)
        if dbias is not None:
            found = found + on.times(share * dbias, on.ones(share, k.shape[-2]), False)[..., 0]
        return found


def _shares(ctx: Any) -> tuple[Operations, Tensor]:
    """Operations on the pattern through PyTorch's dispatcher, which knows batches of gradients, and the softmax."""
    (q, k, bias), pattern = ctx.saved_tensors, ctx.pattern
    on = Operations(_ops.CALLS, pattern.index, pattern.columns, pattern.rows, pattern.cols, pattern.coo)
    return on, on.softmax(wide(bias), wide(q), wide(k), (SOFTMAX, ctx.scale, 0.01, 1e-10))


# ------------------------------------------------------------------------------ caches

_INDICES = {torch.int32: c.TAMIS_I32, torch.int64: c.TAMIS_I64}


def _vectors(x: Tensor, position: int, head: int) -> Any:
    """Describe the vectors of a tensor, each contiguous; dimensions of size 1 may have any stride."""
    strides = [0 if count == 1 else stride for count, stride in zip(x.shape, x.stride())]
    return byref(c.tamis_vectors(data=x.data_ptr(), sequence_stride=strides[0], position_stride=strides[position] if position else 0,
                                 head_stride=strides[head]))


def _run(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, pages: Optional[Tensor], scale: float, window: int) -> tuple[Tensor, Tensor]:
    follow_threads()
    out, sums = _fake_cached(q, k, v, lengths, pages, scale, window)
    capacity = k.shape[2] if pages is None else k.shape[2] * pages.shape[1]
    if capacity == 0:
        return out.zero_(), sums.fill_(float("-inf"))
    room = sum(seen(x.shape, x.stride()) for x in (q, k, v, out))
    q, k, v = (x if fits(x.shape, x.stride(), 1) else packed(x, name, 1, room) for x, name in ((q, "q"), (k, "k"), (v, "v")))
    lengths, pages = lengths.contiguous(), pages if pages is None or fits(pages.shape, pages.stride(), 1) else pages.contiguous()
    view = torch_view(q, "q")
    options = c.tamis_cached_attention_options(
        type=view.type, output_type=view.type, sequences=q.shape[0], heads=q.shape[1], key_heads=k.shape[1], inner=q.shape[2], width=v.shape[3],
        scale=scale, capacity=capacity, window=window, lengths=lengths.data_ptr() or None, length_type=_INDICES[lengths.dtype])
    if pages is not None:
        options.table, options.table_type, options.table_stride = pages.data_ptr() or None, _INDICES[pages.dtype], pages.stride(0)
        options.page, options.pages = k.shape[2], k.shape[0]
    must(lib.tamis_cached_attention(opened(view.device).handle, byref(options), _vectors(q, 0, 1), _vectors(k, 2, 1), _vectors(v, 2, 1),
                                    _vectors(out, 0, 1), sums.data_ptr() or None, Torch.stream(q)))
    return out, sums


def _fake_cached(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, pages: Optional[Tensor], scale: float, window: int) -> tuple[Tensor, Tensor]:
    kind = torch.float64 if q.dtype == torch.float64 else torch.float32
    return q.new_empty((*q.shape[:2], v.shape[3])), q.new_empty(q.shape[:2], dtype=kind)


def _flops(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, pages: Optional[Tensor], scale: float, window: int, out_val: Any = None) -> Any:
    """Count the operations of full caches: how many positions there are is known to the device alone."""
    positions = k.shape[2] * (1 if pages is None else pages.shape[1])
    return 2 * q.shape[0] * q.shape[1] * (min(positions, window) if window else positions) * (q.shape[2] + v.shape[3])


if _ops.REGISTERED:
    _ops.define("cached_attention", "(Tensor q, Tensor k, Tensor v, Tensor lengths, Tensor? pages, float scale, int window) -> (Tensor, Tensor)", _run, _fake_cached, _flops)


def _check_cached(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, pages: Optional[Tensor]) -> None:
    for x, name, dimensions, what in ((q, "q", 3, "(sequences, heads, d)"), (k, "k", 4, "(sequences or pages, heads, positions, d)"),
                                      (v, "v", 4, "(sequences or pages, heads, positions, e)"), (lengths, "lengths", 1, "(sequences,)"),
                                      (pages, "pages", 2, "(sequences, pages of each)")):
        if x is None and name == "pages":
            continue
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} is a {type(x).__name__}: expected a tensor")
        if x.dim() != dimensions:
            raise _errors.ArgumentError(f"{name} has shape {tuple(x.shape)}: expected {what}")
        if x.device != q.device:
            raise _errors.ArgumentError(f"{name} is on {x.device}, q on {q.device}: expected one device")
        if dimensions > 2 and x.dtype != q.dtype:
            raise _errors.ArgumentError(f"{name} is {x.dtype}, q {q.dtype}: expected one type")
        if dimensions < 3 and x.dtype not in _INDICES:
            raise _errors.ArgumentError(f"{name} is {x.dtype}: expected int32 or int64")
        if torch.is_grad_enabled() and x.requires_grad:
            raise _errors.ArgumentError(f"{name} requires grad, which cached_attention does not record: call it under torch.no_grad(), or use attention")
    sequences = q.shape[0]
    if k.shape[:3] != v.shape[:3] or k.shape[3] != q.shape[2]:
        raise _errors.ArgumentError(f"k has shape {tuple(k.shape)}, v {tuple(v.shape)} and q {tuple(q.shape)}: expected as many caches, heads and positions "
                                    f"in k as in v, and d of q in k")
    if lengths.shape[0] != sequences or (pages is not None and pages.shape[0] != sequences) or (pages is None and k.shape[0] != sequences):
        raise _errors.ArgumentError(f"q has {sequences} sequences, lengths {lengths.shape[0]} and {'k' if pages is None else 'pages'} "
                                    f"{k.shape[0] if pages is None else pages.shape[0]}: expected as many in each")


def cached_attention(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, *, pages: Optional[Tensor] = None, window: Optional[int] = None,
                     scale: Optional[float] = None, return_lse: bool = False) -> Any:
    """Attention of one new query for each sequence and head to a cache of keys and values, as in decoding.

    q: (sequences, heads, d); k: (sequences, key heads, capacity, d); v: the same with e in place of d. They may be views, such as the
    transpose of (sequences, capacity, key heads, d); where the last dimension's stride is not 1 each call copies them. heads is a multiple of the key heads, and consecutive heads of q share a key head.
    lengths: (sequences,), int32 or int64: how many positions of each cache count. It is read when the call runs, so that the next step
    adds 1 to it in place, and a captured graph can be replayed.
    pages: (sequences, n), int32 or int64: then k and v are a pool, (pages, key heads, page, d), and positions p * page and following of
    sequence s are in page pages[s, p] of the pool. page is a power of two.
    window: only the last `window` positions of each sequence count. scale: a number other than 0; 1 / sqrt(d) if None.
    Returns (sequences, heads, e); a sequence of length 0 gives zeros. With return_lse also the logarithm of the sum of the exponentials of the
    scores, (sequences, heads). No gradients. Errors as in `sddmm`.

    >>> q, cache = torch.zeros(2, 4, 8), torch.arange(6.).reshape(1, 1, 6, 1).repeat(2, 2, 1, 8)
    >>> cached_attention(q, cache, cache, torch.tensor([1, 5]))[:, :, 0]
    tensor([[0., 0., 0., 0.],
            [2., 2., 2., 2.]])
    """
    q, k, v = _direct.cast(q, k, v)
    _check_cached(q, k, v, lengths, pages)
    if window is not None and window < 1:
        raise _errors.ArgumentError(f"window = {window}: expected 1 or more, or None")
    if scale is None:
        scale = q.shape[-1] ** -0.5 if q.shape[-1] else 1.0
    elif not 0 < abs(scale) < math.inf:  # the library takes 0 for 1 / sqrt(d)
        raise _errors.ArgumentError(f"scale = {scale}: expected a number other than 0; leave it out, or give None, for 1 / sqrt(d)")
    run = torch.ops.tamis.cached_attention if _ops.REGISTERED else _run
    if _direct.modes():
        _direct.watched()
    out, sums = run(q, k, v, lengths, pages, scale, window or 0)
    return (out, sums) if return_lse else out
