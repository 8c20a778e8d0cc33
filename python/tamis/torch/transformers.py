"""Attention of Hugging Face's transformers by Tamis: `attn_implementation="tamis"`.

    import tamis.torch.transformers
    tamis.torch.transformers.register()
    model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="tamis")

Models then make their masks as patterns, which all layers with the same mask share: causal, sliding windows, chunks, padded and packed
sequences, whatever they combine. Training, prefilling and encoding compute kept pairs only, with gradients. Two cases are left to PyTorch's
scaled_dot_product_attention, as in transformers' "sdpa": a step of one new token, which reads its cache once in any case, and calls without a
mask or with one that the caller made as a tensor, which are dense. Where a model caps its scores, which PyTorch cannot, all are computed here.
Needs a transformers whose mask functions take q_length and q_offset (tested: 5.24).
"""
from __future__ import annotations

import inspect
from typing import Any, Callable, Optional

import torch
from torch import Tensor

from . import Pattern, attention

_KEPT, _ENTRIES = 64, 1 << 26  # patterns, and entries of all but the latest
_recent: list[Pattern] = []  # the latest last: a mask that comes again finds its plans


class Mask:
    """A model's mask as its layers get it: a pattern for all members of the batch, or one for each."""

    ndim = 4

    def __init__(self, patterns: list[Pattern], batch: int):
        self.patterns = patterns
        self.shape = (batch, 1, patterns[0].rows, patterns[0].cols)
        self._elsewhere: dict[torch.device, Mask] = {}

    def to(self, device: Any, non_blocking: bool = False) -> Mask:
        """The same mask on another device: layers there share it."""
        device = torch.device(device)
        if device == self.patterns[0].device:
            return self
        if device not in self._elsewhere:
            moved = {id(p): p.to(device, non_blocking) for p in self.patterns}
            self._elsewhere[device] = Mask([moved[id(p)] for p in self.patterns], self.shape[0])
        return self._elsewhere[device]


def register(name: str = "tamis") -> None:
    """Make attention by Tamis known to transformers under this name. To be called once, before models are made."""
    import transformers

    from transformers.masking_utils import sdpa_mask

    if "q_length" not in inspect.signature(sdpa_mask).parameters:
        raise ImportError(f"transformers {transformers.__version__}: its mask functions take no q_length; install a newer one (tested: 5.24)")
    transformers.AttentionInterface.register(name, _attend)
    transformers.AttentionMaskInterface.register(name, _mask)


def _known(pattern: Pattern) -> Pattern:
    """Return an equal pattern of an earlier call, or this one."""
    found = next((other for other in reversed(_recent) if other == pattern), pattern)
    _recent[:] = [*(other for other in _recent if other is not found), found]
    while len(_recent) > 1 and (len(_recent) > _KEPT or sum(other.nnz for other in _recent[:-1]) > _ENTRIES):
        del _recent[0]
    return found


def _padded(attention_mask: Optional[Tensor], length: int) -> Optional[Tensor]:
    """Return which keys each member has, (batch, length), or None if all have all."""
    if attention_mask is None or bool(attention_mask.all()) and attention_mask.shape[-1] >= length:
        return None
    return torch.nn.functional.pad(attention_mask.bool(), (0, max(length - attention_mask.shape[-1], 0)))


def _mask(batch_size: int, q_length: int, kv_length: int, q_offset: int = 0, kv_offset: int = 0, mask_function: Optional[Callable] = None,
          attention_mask: Any = None, device: Any = "cpu", **more: Any) -> Any:
    """Make the mask of a model, as transformers' mask functions do. q_offset, kv_offset: positions of the first query and of the first key."""
    from transformers.masking_utils import causal_mask_function, sdpa_mask

    if isinstance(attention_mask, Mask):  # generation has made it already
        return attention_mask
    if q_length == 1 and not getattr(more.get("config"), "attn_logit_softcapping", None):
        return sdpa_mask(batch_size=batch_size, q_length=q_length, kv_length=kv_length, q_offset=q_offset, kv_offset=kv_offset,
                         mask_function=mask_function, attention_mask=attention_mask, device=device, **more)
    padding, apart = _padded(attention_mask, kv_length + kv_offset), int(q_offset) - int(kv_offset)
    if mask_function is causal_mask_function and padding is None:
        return Mask([_known(Pattern.mask(q_length, kv_length, causal=True, offset=apart, device=device))], batch_size)

    def kept(batch: Tensor, head: Tensor, row: Tensor, column: Tensor) -> Tensor:
        row, column = row + q_offset, column + kv_offset
        found = mask_function(batch, head, row, column)
        return found if padding is None else found & padding[batch, column]

    # of masks that transformers may leave to is_causal, padding alone differs between members
    members = 1 if padding is None and more.get("allow_is_causal_skip") else batch_size
    return Mask([_known(Pattern.from_mask_mod(kept, q_length, kv_length, batch=b, device=device)) for b in range(members)], batch_size)


def _attend(module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any, dropout: float = 0.0,
            scaling: Optional[float] = None, s_aux: Optional[Tensor] = None, softcap: Optional[float] = None, position_bias: Optional[Tensor] = None,
            **more: Any) -> tuple[Tensor, None]:
    """Compute a layer's attention: q (batch, heads, N, d), k and v (batch, key heads, M, d). Returns (batch, N, heads, d).

    s_aux: a number for each head that takes part in each of its softmaxes (attention sinks), with gradients.
    """
    if position_bias is not None:
        raise ValueError("position_bias: attention by Tamis takes none from transformers; use attn_implementation=\"eager\" for this model")
    if not isinstance(attention_mask, Mask) and softcap is None:
        return _dense(module, query, key, value, attention_mask, dropout, scaling, s_aux, more)
    if not isinstance(attention_mask, Mask):  # PyTorch's attention has no cap
        attention_mask = Mask(_patterns_of(attention_mask, query, key, _is_causal(module, more)), query.shape[0])
    patterns = attention_mask.patterns
    pattern: Any = patterns[0] if all(p is patterns[0] for p in patterns) else patterns
    out = attention(query, key, value, pattern, scale=scaling, dropout_p=dropout, enable_gqa=key.shape[1] != query.shape[1], sinks=s_aux,
                    softcap=softcap)
    return out.transpose(1, 2).contiguous(), None


def _is_causal(module: torch.nn.Module, more: dict) -> bool:
    """Return what a call without a mask means, as transformers' "sdpa" reads it."""
    given = more.get("is_causal")
    return getattr(module, "is_causal", True) if given is None else given


def _patterns_of(mask: Optional[Tensor], query: Tensor, key: Tensor, causal: bool) -> list[Pattern]:
    """Return the patterns of a mask that is a tensor, or of none: all pairs, or causal ones with the queries at the end."""
    if mask is None:
        return [Pattern.mask(query.shape[2], key.shape[2], causal=causal, device=query.device)]
    if mask.dtype is not torch.bool or mask.shape[1] != 1:
        raise ValueError(f"the mask is a tensor of {mask.dtype} and shape {tuple(mask.shape)}: with softcap attention by Tamis expects bool, and "
                         f"one for all heads")
    return [Pattern.from_torch(of[0]) for of in mask]


def _dense(module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Optional[Tensor], dropout: float,
           scaling: Optional[float], s_aux: Optional[Tensor], more: dict) -> tuple[Tensor, None]:
    """Compute dense attention by transformers' "sdpa"; with sinks, one more key of zeros gets each head's number as its bias."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if s_aux is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **more)
    heads, kept = query.shape[1], attention_mask
    if kept is None:
        rows, columns = query.shape[2], key.shape[2]
        kept = query.new_ones(rows, columns, dtype=torch.bool)
        kept = kept.tril(columns - rows) if _is_causal(module, more) else kept
    bias = query.new_zeros(()).masked_fill(~kept, -torch.inf) if kept.dtype is torch.bool else kept
    bias = torch.cat([bias.expand(query.shape[0], heads, *query.shape[2:3], -1),
                      s_aux.to(query.dtype)[None, :, None, None].expand(query.shape[0], -1, query.shape[2], 1)], -1)
    key, value = (torch.nn.functional.pad(x, (0, 0, 0, 1)).repeat_interleave(heads // x.shape[1], 1) for x in (key, value))
    out = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=bias, dropout_p=dropout, scale=scaling)
    return out.transpose(1, 2).contiguous(), None
