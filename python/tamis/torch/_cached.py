"""Attention of new queries to caches of keys and values, as in decoding. An operator of PyTorch without gradients."""
from __future__ import annotations

import math
from ctypes import byref
from typing import Any, Optional

import torch
from torch import Tensor

from .. import _declarations as c
from .. import _errors
from .._device import opened
from .._kinds import Torch
from .._library import lib, must
from .._views import fits, packed, seen, torch_view
from . import _direct, _ops
from ._held import follow_threads

_INDICES = {torch.int32: c.TAMIS_I32, torch.int64: c.TAMIS_I64}


def _vectors(x: Tensor, position: int, head: int) -> Any:
    """Describe the vectors of a tensor, each contiguous; dimensions of size 1 may have any stride."""
    strides = [0 if count == 1 else stride for count, stride in zip(x.shape, x.stride())]
    return byref(c.tamis_vectors(data=x.data_ptr(), sequence_stride=strides[0], position_stride=strides[position] if position else 0,
                                 head_stride=strides[head]))


def _run(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, pages: Optional[Tensor], scale: float, window: int) -> tuple[Tensor, Tensor]:
    follow_threads()
    out, sums = _fake(q, k, v, lengths, pages, scale, window)
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


def _fake(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, pages: Optional[Tensor], scale: float, window: int) -> tuple[Tensor, Tensor]:
    kind = torch.float64 if q.dtype == torch.float64 else torch.float32
    return q.new_empty((*q.shape[:2], v.shape[3])), q.new_empty(q.shape[:2], dtype=kind)


def _flops(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, pages: Optional[Tensor], scale: float, window: int, out_val: Any = None) -> Any:
    """Count the operations of full caches: how many positions there are is known to the device alone."""
    positions = k.shape[2] * (1 if pages is None else pages.shape[1])
    return 2 * q.shape[0] * q.shape[1] * (min(positions, window) if window else positions) * (q.shape[2] + v.shape[3])


if _ops.REGISTERED:
    _ops.define("cached_attention", "(Tensor q, Tensor k, Tensor v, Tensor lengths, Tensor? pages, float scale, int window) -> (Tensor, Tensor)", _run, _fake, _flops)


def _check(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, pages: Optional[Tensor]) -> None:
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
    _check(q, k, v, lengths, pages)
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
