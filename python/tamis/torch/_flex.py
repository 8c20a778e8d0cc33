"""Patterns from the functions and block masks of torch.nn.attention.flex_attention, made where they are used, some rows at a time."""
from __future__ import annotations

from typing import Any, Optional, Union

import torch
from torch import Tensor

from .. import _errors

AT_ONCE = 1 << 24  # pairs evaluated at once


def _kept_in(function: Any, batch: int, head: int, device: Any) -> Any:
    """Return a function from rows and columns to a matrix of bool; `function` takes numbers, as from flex_attention."""
    b, h = (torch.tensor(number, dtype=torch.int32, device=device) for number in (batch, head))
    over = torch.vmap(torch.vmap(function, in_dims=(None, None, None, 0)), in_dims=(None, None, 0, None))

    def kept(rows: Tensor, cols: Tensor) -> Tensor:
        found = over(b, h, rows, cols)
        if not isinstance(found, Tensor) or found.dtype is not torch.bool:
            raise _errors.ArgumentError(f"the mask function returned {getattr(found, 'dtype', type(found).__name__)}: expected a tensor of bool, "
                                        f"for instance q_idx >= kv_idx")
        return found.expand(rows.shape[0], cols.shape[0])

    return kept


def pairs(function: Any, rows: int, cols: Optional[int], batch: int, head: int, device: Any, within: Any = None) -> tuple[Tensor, Tensor, int, int]:
    """Return row offsets, columns and the shape of a mask function's pattern. within: a function that restricts the matrix of some rows."""
    if not callable(function):
        raise TypeError(f"the mask function is a {type(function).__name__}: expected a function of (batch, head, q_idx, kv_idx)")
    cols = rows if cols is None else cols
    device = torch.empty(0, device=device).device
    kept, across = _kept_in(function, batch, head, device), torch.arange(cols, dtype=torch.int32, device=device)
    offsets = torch.zeros(rows + 1, dtype=torch.int64, device=device)
    found, step = [], max(1, AT_ONCE // max(cols, 1))
    for first in range(0, rows if cols else 0, step):
        down = torch.arange(first, min(first + step, rows), dtype=torch.int32, device=device)
        matrix = kept(down, across)
        if within is not None:
            matrix = within(matrix, down.long(), across.long())
        offsets[first + 1:first + 1 + down.shape[0]] = matrix.sum(1)
        found.append(matrix.nonzero()[:, 1].int())
    columns = torch.cat(found) if found else torch.empty(0, dtype=torch.int32, device=device)
    offsets = offsets.cumsum(0)
    return (offsets.int() if columns.shape[0] < 2**31 else offsets), columns if columns.shape[0] < 2**31 else columns.long(), rows, cols


def of_block_mask(mask: Any, batch: Optional[int], head: Optional[int], made: Any) -> Union[Any, list]:
    """Return the pattern of a BlockMask, or a list of one for each member of its batch, by `made`."""
    try:
        members, heads = mask.kv_num_blocks.shape[:2]
        rows, cols = mask.seq_lengths
        function, device = mask.mask_mod, mask.kv_num_blocks.device
    except AttributeError:
        raise TypeError(f"block_mask is a {type(mask).__name__}: expected a BlockMask of torch.nn.attention.flex_attention") from None
    if head is None and heads > 1:
        raise _errors.ArgumentError(f"block_mask has {heads} heads, each with a mask of its own: name one by head=, and call attention for each")
    if batch is None and members > 1:
        return [of_block_mask(mask, number, head, made) for number in range(members)]
    b, h = batch or 0, head or 0
    for name, number, most in (("batch", b, members), ("head", h, heads)):
        if not 0 <= number < most:
            raise _errors.ArgumentError(f"{name} = {number}: expected a number from 0 to {most - 1}, since block_mask has {most}")
    partial = _blocks(mask.kv_num_blocks[b, h], mask.kv_indices[b, h])
    full = None if mask.full_kv_num_blocks is None else _blocks(mask.full_kv_num_blocks[b, h], mask.full_kv_indices[b, h])
    high, wide = mask.BLOCK_SIZE

    def within(matrix: Tensor, down: Tensor, across: Tensor) -> Tensor:
        place = (down // high).unsqueeze(1), (across // wide).unsqueeze(0)
        kept = matrix & partial[place]
        return kept if full is None else kept | full[place]

    return made(*pairs(function, rows, cols, b, h, device, within), False)


def _blocks(counts: Tensor, columns: Tensor) -> Tensor:
    """Return the listed blocks as a matrix of bool: in row i of blocks the first counts[i] columns are valid."""
    listed = torch.arange(columns.shape[1], device=columns.device) < counts.unsqueeze(1)
    kept = torch.zeros(columns.shape, dtype=torch.bool, device=columns.device)
    rows = torch.arange(columns.shape[0], device=columns.device).unsqueeze(1).expand_as(columns)
    kept[rows[listed], columns[listed].long()] = True
    return kept
