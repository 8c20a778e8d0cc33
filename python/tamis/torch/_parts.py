"""Parts of patterns: sampled neighbours, chosen rows and columns. All is computed on the pattern's device, and the same on every device: samples on the CPU
by the library, elsewhere by PyTorch.

The random numbers are the library's (src/base/random.h), Philox 4x32-10 with the seed as its key: a row has a stream of its own, so that what is drawn
for it depends on nothing but the seed, the row's number, its length and the fanout.
"""
from __future__ import annotations

import operator
from ctypes import POINTER, byref, c_int64, cast
from typing import Any, Optional

import torch
from torch import Tensor

from .. import _errors
from .._library import lib, must
from .._sparse import Sparse
from ._direct import compiling
from ._held import apart

_LOW = 0xffffffff
_ROUNDS = 10


def draws(seed: int, streams: Tensor, count: int) -> Tensor:
    """Return `count` numbers of each stream, uniform in [0, 1) with 53 bits: (streams, count)."""
    blocks = torch.arange((count + 1) // 2, device=streams.device)
    a, c = blocks.expand(streams.shape[0], -1) & _LOW, (streams & _LOW).unsqueeze(1)
    b, d = torch.zeros_like(a), (streams >> 32 & _LOW).unsqueeze(1)
    for turn in range(_ROUNDS):
        left, right = a * 0xd2511f53, c * 0xcd9e8d57  # modulo 2^64
        a, b = (right >> 32 & _LOW) ^ b ^ (seed + turn * 0x9e3779b9 & _LOW), right & _LOW
        c, d = (left >> 32 & _LOW) ^ d ^ ((seed >> 32) + turn * 0xbb67ae85 & _LOW), left & _LOW
    high = torch.stack([b, d], 2).flatten(1)[:, :count]  # of draws 2 i and 2 i + 1 of each block
    low = torch.stack([a, c], 2).flatten(1)[:, :count]
    return (high << 21 | low >> 11).double() * 2.0 ** -53


def chosen(lengths: Tensor, streams: Tensor, fanout: int, seed: int, replace: bool) -> Tensor:
    """Return `fanout` rising numbers below the length for each stream, (streams, fanout): independent ones with `replace`, else distinct ones of lengths above
    fanout, every set of them with the same probability (Floyd's algorithm)."""
    uniform = draws(seed, streams, fanout)
    if replace:
        return torch.minimum((uniform * lengths.unsqueeze(1)).long(), lengths.unsqueeze(1) - 1).sort(1).values
    found = torch.empty(uniform.shape, dtype=torch.int64, device=lengths.device)
    for place in range(fanout):
        last = lengths - fanout + place
        drawn = torch.minimum((uniform[:, place] * (last + 1)).long(), last)
        there = (found[:, :place] == drawn.unsqueeze(1)).any(1)
        found[:, place] = torch.where(there, last, drawn)
    return found.sort(1).values


# ------------------------------------------------------------------------------ places


def by_rows(pattern: Any) -> tuple[Tensor, Optional[Tensor]]:
    """Return row offsets and, of COO, the entries in the order of rows."""
    if not pattern.coo:
        return pattern.index.long(), None
    rows = pattern.index.long()
    return torch.nn.functional.pad(torch.bincount(rows, minlength=pattern.rows).cumsum(0), (1, 0)), torch.argsort(rows, stable=True)


def numbers(given: Any, count: int, name: str, what: str, pattern: Any) -> Tensor:
    """Return numbers of rows or columns, checked."""
    made = given if isinstance(given, Tensor) else torch.as_tensor(given, device=pattern.device)
    made = made.long() if made.numel() == 0 else made
    if made.dim() != 1 or made.dtype not in (torch.int32, torch.int64):
        raise _errors.ArgumentError(f"{name} is {made.dtype} of shape {tuple(made.shape)}: expected a vector of int32 or int64, the numbers of {what}")
    if made.device != pattern.device:
        raise _errors.ArgumentError(f"{name} is on {made.device} and the pattern on {pattern.device}: move one, for instance by {name}.to({str(pattern.device)!r})")
    if made.numel():
        low, high = (int(end) for end in torch.aminmax(made))
        if low < 0 or high >= count:
            raise _errors.ArgumentError(f"{name} has {low if low < 0 else high}: expected numbers from 0 to {count - 1}, since the pattern has {count} {what}")
    return made.long()


def check(pattern: Any, name: str) -> None:
    """Refuse patterns without content, and those whose tensors were changed in place into no pattern."""
    if compiling() or pattern.columns.is_meta:
        raise _errors.UnsupportedError(f"{name} within torch.compile and torch.export, or on the device meta: the number of entries depends on their content")
    known = pattern._current()
    if not known.checked:  # by a plan or a graph
        with apart():
            if not sound(pattern):  # the library says what is wrong
                Sparse("S", pattern.shape, pattern.index.cpu(), pattern.columns.cpu(), coo=pattern.coo).validate()
        known.checked = True


def sound(pattern: Any) -> bool:
    """Return True if entries are within the pattern, computed on its device."""
    index, columns = pattern.index, pattern.columns
    if pattern.coo:
        good = (index >= 0) & (index < pattern.rows)
    else:
        good = torch.cat((index[:1] == 0, index.diff() >= 0, index[-1:] == pattern.nnz))
    return bool(good.all() & ((columns >= 0) & (columns < pattern.cols)).all())


def ranges(begins: Tensor, lengths: Tensor) -> Tensor:
    """Return begins[0], begins[0] + 1, ..., of each length, one range after the other."""
    ends = lengths.cumsum(0)
    total = int(ends[-1]) if ends.numel() else 0
    return torch.repeat_interleave(begins - ends + lengths, lengths, output_size=total) + torch.arange(total, device=begins.device)


def of_entries(pattern: Any, lengths: Tensor, entries: Tensor, columns: Tensor, cols: int) -> tuple[Any, Tensor]:
    """Return the pattern with rows of these lengths, and its entries as they are numbered in `pattern`."""
    kind = pattern.columns.dtype if entries.numel() <= torch.iinfo(pattern.columns.dtype).max else torch.int64
    offsets = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).to(kind)
    values = None if pattern.values is None else pattern.values[entries]
    return type(pattern)(offsets, columns.to(kind), lengths.shape[0], cols, False, values), entries


def sampled(pattern: Any, rows: Any, fanout: int, seed: int, replace: bool) -> tuple[Any, Tensor]:
    fanout, seed = operator.index(fanout), operator.index(seed)
    if fanout < 0:
        raise _errors.ArgumentError(f"fanout = {fanout}: expected 0 or more, the number of entries that a row keeps; Pattern.select keeps all")
    if not 0 <= seed < 1 << 64:
        raise _errors.ArgumentError(f"seed = {seed}: expected a number from 0 to 2^64 - 1")
    check(pattern, "sample")
    with apart():
        rows = numbers(rows, pattern.rows, "rows", "rows", pattern)
        offsets, order = pattern._by_rows()
        draw = drawn_by_library if rows.device.type == "cpu" else drawn
        kept, entries = draw(pattern, offsets, rows.contiguous(), fanout, seed, replace)
        entries = entries if order is None else order[entries]
        columns = pattern.columns[entries]
    return of_entries(pattern, kept, entries, columns, pattern.cols)


def drawn_by_library(pattern: Any, offsets: Tensor, rows: Tensor, fanout: int, seed: int, replace: bool) -> tuple[Tensor, Tensor]:
    """Return the number of entries of each row, and the entries in the order of rows. offsets: of the rows."""
    places = Sparse("S", pattern.shape, offsets, pattern.columns)
    bounds = torch.empty(rows.shape[0] + 1, dtype=torch.int64)

    def call(entries: Optional[Tensor]) -> None:
        must(lib.tamis_sample(byref(places.struct), pointer(rows), rows.shape[0], fanout, replace, seed, pointer(bounds), entries if entries is None else pointer(entries)))

    call(None)
    entries = torch.empty(int(bounds[-1]), dtype=torch.int64)
    call(entries)
    return bounds.diff(), entries


def pointer(x: Tensor) -> Any:
    return cast(x.data_ptr(), POINTER(c_int64))


def drawn(pattern: Any, offsets: Tensor, rows: Tensor, fanout: int, seed: int, replace: bool) -> tuple[Tensor, Tensor]:
    """The same in steps for all rows at once, on any device."""
    begins = offsets[rows]
    lengths = offsets[rows + 1] - begins
    kept = torch.where(lengths > 0, fanout, 0) if replace else lengths.clamp(max=fanout)
    entries = ranges(begins, kept)
    longer = (lengths > 0 if replace else lengths > fanout).nonzero().squeeze(1)
    if longer.numel() and fanout:
        starts = kept.cumsum(0)[longer] - fanout
        found = chosen(lengths[longer], rows[longer], fanout, seed, replace) + begins[longer].unsqueeze(1)
        entries[(starts.unsqueeze(1) + torch.arange(fanout, device=entries.device)).flatten()] = found.flatten()
    return kept, entries


def selected(pattern: Any, rows: Any, cols: Any, name: str = "cols") -> tuple[Any, Tensor]:
    check(pattern, "select")
    with apart():
        offsets, order = pattern._by_rows()
        if rows is None:
            lengths, entries = offsets.diff(), torch.arange(pattern.nnz, device=pattern.device)
        else:
            rows = numbers(rows, pattern.rows, name if name != "cols" else "rows", "rows", pattern)
            begins = offsets[rows]
            lengths = offsets[rows + 1] - begins
            entries = ranges(begins, lengths)
        entries = entries if order is None else order[entries]
        columns, width = pattern.columns[entries], pattern.cols
        if cols is not None:
            cols = numbers(cols, pattern.cols, name, "columns", pattern)
            width, place = cols.shape[0], torch.full((pattern.cols,), -1, device=pattern.device)
            place[cols] = torch.arange(width, device=pattern.device)
            if not torch.equal(place[cols], torch.arange(width, device=pattern.device)):
                raise _errors.ArgumentError(f"{name} has a number twice: expected distinct ones, since a column has one place in the result")
            new = place[columns.long()]
            kept = new >= 0
            lengths = torch.nn.functional.pad(kept.cumsum(0), (1, 0))[torch.nn.functional.pad(lengths.cumsum(0), (1, 0))].diff()
            entries, columns = entries[kept], new[kept]
    return of_entries(pattern, lengths, entries, columns, width)
