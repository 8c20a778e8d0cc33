"""Patterns as sets of places: union, intersection, equality, dense forms and loops. Results are CSR with rising columns, without values."""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from .. import _errors
from ._held import apart


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


def with_loops(pattern: Any) -> Any:
    """Return the pattern and its diagonal."""
    loops = torch.arange(min(pattern.shape), dtype=pattern.columns.dtype, device=pattern.device)
    return combined(pattern, type(pattern)(loops, loops, pattern.rows, pattern.cols, True), False)


def dense(pattern: Any, values: Optional[Tensor]) -> Tensor:
    """Return True at the places; of values (nnz, ...) the matrix with their sums."""
    places = pattern._rows().long(), pattern.columns.long()
    if values is None:
        return torch.zeros(pattern.shape, dtype=torch.bool, device=pattern.device).index_put(places, torch.tensor(True, device=pattern.device))
    return values.new_zeros((*pattern.shape, *values.shape[1:])).index_put(places, values, accumulate=True)
