"""Places of patterns from sparse tensors and masks; from functions and block masks of torch.nn.attention.flex_attention, made where they are used, some rows
at a time; and patterns as sets of places: union, intersection, equality, dense forms and loops. Results of those are CSR with rising columns, without values.
"""
from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional, Sequence, Union

import torch
from torch import Tensor

from .. import _errors, _sparse
from ._held import apart

# ------------------------------------------------------------------------------ sparse tensors and masks

LAYOUTS = (torch.sparse_csr, torch.sparse_csc, torch.sparse_coo)


class Places(NamedTuple):
    """The arguments of a Pattern without values, and the function that reads a tensor's values in the order of the entries; None: a mask."""

    arguments: tuple[Tensor, Tensor, int, int, bool]
    values: Optional[Callable[[Tensor], Tensor]]


def check(matrix: Tensor, name: str) -> None:
    """Refuse tensors that are no pattern: neither a mask nor sparse, batches, other layouts."""
    if matrix.dim() != 2:
        raise _errors.ArgumentError(f"{name} has shape {tuple(matrix.shape)}: expected two dimensions; make a Pattern.from_torch of each member: attention "
                                    f"takes a list of them, and Pattern.stack makes one pattern with all on its diagonal")
    if matrix.layout not in LAYOUTS and (matrix.layout is not torch.strided or matrix.dtype is not torch.bool):
        raise _errors.ArgumentError(f"{name} is a tensor of {matrix.dtype} with layout {matrix.layout}: expected sparse_csr, sparse_csc or sparse_coo, or a "
                                    f"mask of bool; convert it, for instance by to_sparse_csr()")
    if matrix.is_meta:
        raise _errors.ArgumentError(f"{name} is on the device meta: it does not say where its entries are")


def parts(matrix: Tensor) -> Sequence[Tensor]:
    """Return the tensors that say where the entries of a tensor are, also by which of them are True."""
    if matrix.layout is torch.strided:
        return (matrix,)
    mask = matrix.dtype is torch.bool
    if matrix.layout is torch.sparse_coo:
        return (matrix._indices(), *[matrix._values()] * mask)
    return (*_sparse.compressed(torch, matrix)[:2], *[matrix.values()] * mask)


def places(matrix: Tensor) -> Places:
    """Return the places of a tensor that `check` allows. Entries of a COO tensor at one place become one."""
    rows, cols = matrix.shape
    if matrix.dtype is torch.bool:
        with apart():
            return Places(_of_mask(matrix), None)
    if matrix.layout is torch.sparse_coo:
        return _of_coo(matrix)
    if matrix.layout is torch.sparse_csr:
        return Places((matrix.crow_indices(), matrix.col_indices(), rows, cols, False), Tensor.values)
    row, column = _ends(matrix)
    return Places((row, column, rows, cols, True), Tensor.values)


def outer(offsets: Tensor, inner: Tensor) -> Tensor:
    """Return the row of each entry from row offsets and columns."""
    with apart():
        return torch.repeat_interleave(torch.arange(offsets.shape[0] - 1, dtype=inner.dtype, device=inner.device), offsets.diff(), output_size=inner.shape[0])


def _ends(matrix: Tensor) -> Any:
    """Return the row and the column of each entry of a sparse tensor."""
    if matrix.layout is torch.sparse_coo:
        return matrix._indices()
    offsets, inner, _ = _sparse.compressed(torch, matrix)
    return (outer(offsets, inner), inner) if matrix.layout is torch.sparse_csr else (inner, outer(offsets, inner))


def _of_coo(matrix: Tensor) -> Places:
    """Without duplicates entries keep their order, which autograd supports only for sorted entries."""
    rows, cols = matrix.shape
    indices, values = matrix._indices(), Tensor.values
    if not matrix.is_coalesced():
        found, rank = torch.unique(indices[0] * cols + indices[1], return_inverse=True)
        if found.numel() == rank.numel():
            def values(x: Tensor) -> Tensor:
                return x.coalesce().values()[rank] if x.requires_grad else x._values()
        else:
            indices = matrix.detach().coalesce().indices()

            def values(x: Tensor) -> Tensor:
                return x.coalesce().values()
    return Places((indices[0], indices[1], rows, cols, True), values)


def _of_mask(mask: Tensor) -> tuple[Tensor, Tensor, int, int, bool]:
    """Return the places that are True, by rows, without duplicates."""
    rows, cols = mask.shape
    if mask.layout is torch.strided:
        keys = mask.reshape(-1).nonzero().squeeze(1)
    else:
        (row, column), kept = _ends(mask), mask._values() if mask.layout is torch.sparse_coo else mask.values()
        keys = torch.unique(row[kept].long() * cols + column[kept].long())
    return (*of_keys(keys, rows, cols, torch.int64), rows, cols, False)


# ------------------------------------------------------------------------------ functions and block masks of flex_attention

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


# ------------------------------------------------------------------------------ sets


def row_major(pattern: Any) -> Tensor:
    """Return the row-major position of each entry as one number."""
    if pattern.rows * pattern.cols > torch.iinfo(torch.int64).max:
        raise _errors.ArgumentError(f"the pattern is {pattern.rows} x {pattern.cols}: its places are more than 63 bits count")
    return pattern._rows().long() * pattern.cols + pattern.columns


def of_keys(keys: Tensor, rows: int, cols: int, kind: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return the offsets and columns of places that rise."""
    row, column = keys.div(max(cols, 1), rounding_mode="floor"), keys % max(cols, 1)
    offsets = torch.nn.functional.pad(torch.bincount(row, minlength=rows).cumsum(0), (1, 0))
    return offsets.to(kind if keys.numel() <= torch.iinfo(kind).max else torch.int64), column.to(kind)


def _check(a: Any, b: Any, what: str) -> None:
    if a.shape != b.shape or a.device != b.device:
        raise _errors.ArgumentError(f"patterns are {a.rows} x {a.cols} on {a.device} and {b.rows} x {b.cols} on {b.device}: their {what} expects the "
                                    f"same shape and device")
    if a.values is not None or b.values is not None:
        valued = a if a.values is not None else b
        raise _errors.ArgumentError(f"a pattern has values: {'an' if what[0] == 'i' else 'a'} {what} is of places alone, for instance of Pattern."
                                    f"{'from_coo' if valued.coo else 'from_csr'}(p.index, p.columns, p.shape)")


def combined(a: Any, b: Any, both: bool) -> Any:
    """Return the places of both patterns, or of at least one of them."""
    _check(a, b, "intersection" if both else "union")
    with apart():
        sets = [row_major(a), row_major(b)]
        if both:  # a place of both comes twice
            keys, counts = torch.unique(torch.cat([torch.unique(x) for x in sets]), return_counts=True)
            keys = keys[counts == 2]
        else:
            keys = torch.unique(torch.cat(sets))
        offsets, columns = of_keys(keys, a.rows, a.cols, torch.promote_types(a.columns.dtype, b.columns.dtype))
    return type(a)(offsets, columns, a.rows, a.cols, False)


def same(a: Any, b: Any) -> bool:
    """True if both have the same entries in the same order, with the same values or none."""
    if a.shape != b.shape or a.nnz != b.nnz or a.device != b.device or (a.values is None) != (b.values is None):
        return False
    with apart():
        rows = (a.index, b.index) if a.coo == b.coo else (a._rows(), b._rows())
        pairs = [rows, (a.columns, b.columns), *([] if a.values is None or b.values is None else [(a.values, b.values)])]
        return all(x.shape == y.shape and bool((x == y).all()) for x, y in pairs)


def of_one_kind(pattern: Any) -> None:
    """Check that row i and column i may be one node."""
    if pattern.apart:
        raise _errors.ArgumentError("self-loops of a graph between two kinds of nodes, whose column_owner differs from its owner: expected a layer with add_self_loops=False")


def with_loops(pattern: Any) -> Any:
    """Return the pattern and its diagonal."""
    of_one_kind(pattern)
    loops = torch.arange(min(pattern.shape), dtype=pattern.columns.dtype, device=pattern.device)
    return combined(pattern, type(pattern)(loops, loops, pattern.rows, pattern.cols, True), False)


def dense(pattern: Any, values: Optional[Tensor]) -> Tensor:
    """Return True at the places; of values (nnz, ...) the matrix with their sums."""
    places = pattern._rows().long(), pattern.columns.long()
    if values is None:
        return torch.zeros(pattern.shape, dtype=torch.bool, device=pattern.device).index_put(places, torch.tensor(True, device=pattern.device))
    return values.new_zeros((*pattern.shape, *values.shape[1:])).index_put(places, values, accumulate=True)
