"""Attention for models: shared keys of several query heads, biases of fewer members, dropout, the logarithm of sums, a pattern for each member."""
from __future__ import annotations

import math
from typing import Any, Optional, Sequence, Union

import torch
from torch import Tensor

from .. import _errors
from . import _ops
from ._direct import compiling
from ._formulas import Operations, wide
from ._pattern import Pattern
from ._sampled import SOFTMAX, lead_of
from ._taken import PatternLike


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
    out, statistics = _ops.CALLS["fused"](pattern.index, pattern.columns, bias, q, k, v, pattern.rows, pattern.cols, pattern.coo, SOFTMAX, scale,
                                          0.01, 1e-10, False, True)
    statistics = statistics.detach()
    return out, (_Sums if compiling() else _SumsOfForwardMode).apply(statistics[..., 0] + statistics[..., 1].log(), q, k, bias, pattern, scale)


def capped(dots: Tensor, scale: float, softcap: float, bias: Optional[Tensor]) -> Tensor:
    """Return scores that a tangent keeps between -softcap and softcap, and a bias added to them."""
    if not 0 < softcap < math.inf:
        raise _errors.ArgumentError(f"softcap = {softcap}: expected a positive number, or None")
    scores = softcap * torch.tanh(dots * (scale / softcap))
    return scores if bias is None else scores + bias


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


Patterns = Union[PatternLike, Sequence[PatternLike]]
