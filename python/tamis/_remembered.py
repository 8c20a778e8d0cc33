"""Patterns of the last matrices of SciPy that were passed without a `Pattern`: the second call with the same arrays, and later ones, need no check
and no plan of their own.

What is remembered has copies of the index arrays, and is compared with the caller's arrays, byte by byte, in every call, so that arrays that were
changed in place are noticed. It is forgotten with the caller's arrays. Plans are those of a single call, so that results are the same bit for bit.
"""
from __future__ import annotations

import ctypes
import weakref
from typing import Any, Callable, NamedTuple, Optional

import numpy

from ._pattern import Pattern
from ._recipe import pointer
from ._sparse import Sparse, like

MOST = 8                   # matrices; the oldest goes first
MOST_BYTES = 16 << 20      # of index arrays of one matrix: larger ones gain little, and their copies would be felt
_compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(("memcmp", ctypes.CDLL(None)))


class Known(NamedTuple):
    """A pattern, and how a matrix is made of it and of a result."""

    pattern: Pattern
    matrix: Callable[[Any], Any]


class _Entry:
    """The arrays of one matrix: seen once, or with a pattern and the addresses and sizes of its copies, which belong together."""

    __slots__ = ("alive", "known")

    def __init__(self, key: tuple, arrays: tuple):
        self.alive = [weakref.ref(array, lambda _: _entries.pop(key, None)) for array in arrays]
        self.known: Optional[tuple[Pattern, tuple]] = None

    def pattern_of(self, shape: tuple[int, int], transposed: bool, arrays: tuple) -> Pattern:
        """The pattern of what the arrays hold now. Where they are wrong, nothing is remembered."""
        known = self.known
        if known is not None and _same(arrays, known[1]):
            return known[0]
        self.known = None
        copies = offsets, columns = arrays[0].copy(), arrays[1].copy()
        pattern = Pattern._of(Sparse("S", shape, transposed, offsets, None, columns, None, lambda result: result))
        pattern.expected_calls = 1
        self.known = pattern, tuple((pointer(copy), copy.nbytes) for copy in copies)
        return pattern


def _same(arrays: tuple, copies: tuple) -> bool:
    """Whether arrays have the bytes of their copies."""
    for array, (address, size) in zip(arrays, copies):
        if array.nbytes != size or (size and _compare(pointer(array), address, size)):
            return False
    return True


_entries: dict[tuple, _Entry] = {}


def remembered(S: Any) -> Optional[Known]:
    """What is known of a matrix of SciPy in CSR or CSC; None: nothing, or it has changed."""
    form = getattr(S, "format", None)
    if form != "csr" and form != "csc":
        return None
    arrays = offsets, columns = S.indptr, S.indices
    if type(offsets) is not numpy.ndarray or type(columns) is not numpy.ndarray or offsets.nbytes + columns.nbytes > MOST_BYTES:
        return None
    key = (id(offsets), id(columns), form, S.shape)
    entry = _entries.get(key)
    if entry is None or entry.alive[0]() is not offsets or entry.alive[1]() is not columns:
        if offsets.flags.c_contiguous and columns.flags.c_contiguous and offsets.dtype.isnative and columns.dtype.isnative and len(S.shape) == 2:
            _entries[key] = _Entry(key, arrays)
            while len(_entries) > MOST:
                _entries.pop(next(iter(_entries)), None)
        return None
    pattern = entry.pattern_of((int(S.shape[0]), int(S.shape[1])), form == "csc", arrays)
    return Known(pattern, lambda values: like(S, values))
