"""Patterns of the last matrices of SciPy that were passed without a `Pattern`: the second call with the same arrays, and later ones, need no check
and no plan of their own.

An entry has copies of the index arrays. Every call compares them with the caller's arrays, byte by byte, so that changes in place are noticed.
The entry is removed with the caller's arrays. Plans are as for a single call, so that results are the same bit for bit.
"""
from __future__ import annotations

import ctypes
import functools
import weakref
from typing import Any, NamedTuple, Optional

import numpy

from ._pattern import Pattern
from ._recipe import pointer
from ._sparse import Sparse, like

MOST = 8                   # matrices; the oldest goes first
MOST_BYTES = 16 << 20      # bytes of one matrix's index arrays: larger ones gain little, and their copies take noticeable memory
SMALL_BYTES = 16 << 10     # bytes of an array: up to here comparing Python bytes objects is faster than calling C
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(("memcmp", ctypes.CDLL(None)))


class Known(NamedTuple):
    """A pattern, and the matrix for which it was found."""

    pattern: Pattern
    S: Any

    def matrix(self, values: Any) -> Any:
        """Return a matrix with this pattern and these values."""
        return like(self.S, values)


class _Copy:
    """A copy of an index array."""

    __slots__ = ("size", "bytes", "array", "address")

    def __init__(self, copy: numpy.ndarray):
        self.size = copy.nbytes
        self.array = copy      # the pattern's own
        self.address = pointer(copy)
        self.bytes = copy.tobytes() if self.size <= SMALL_BYTES else None

    def equals(self, array: numpy.ndarray) -> bool:
        """Return True if an array has these bytes."""
        if self.bytes is not None:
            return array.nbytes == self.size and array.tobytes() == self.bytes
        return array.nbytes == self.size and not compare(pointer(array), self.address, self.size)


class _Entry:
    """The arrays of one matrix: seen once, or with a pattern and copies of the arrays that it was made from."""

    __slots__ = ("alive", "known")

    def __init__(self, key: tuple, arrays: tuple):
        forget = functools.partial(_entries.pop, key)  # no Python code, in which an interrupt would be lost
        self.alive = [weakref.ref(array, forget) for array in arrays]
        self.known: Optional[tuple[Pattern, _Copy, _Copy]] = None

    def pattern_of(self, S: Any, transposed: bool, offsets: numpy.ndarray, columns: numpy.ndarray) -> Pattern:
        """Return the pattern of the arrays' current contents. Invalid arrays are not remembered."""
        known = self.known
        if known is not None and known[1].equals(offsets) and known[2].equals(columns):
            return known[0]
        self.known = None
        copies = offsets.copy(), columns.copy()
        shape = int(S.shape[0]), int(S.shape[1])
        pattern = Pattern._of(Sparse("S", shape, *copies, transposed=transposed))
        pattern.expected_calls = 1
        self.known = pattern, _Copy(copies[0]), _Copy(copies[1])
        return pattern


_entries: dict[tuple, _Entry] = {}


def remembered(S: Any) -> Optional[Known]:
    """Return what is remembered of a SciPy matrix in CSR or CSC; None if it is new or has changed."""
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
            for old in list(_entries)[:-MOST]:  # atomic: no other thread can add an entry meanwhile
                _entries.pop(old, None)
        return None
    return Known(entry.pattern_of(S, form == "csc", offsets, columns), S)
