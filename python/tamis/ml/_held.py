"""Scoring: chooses the entries of X to hold out from the factors of its rows, and detects if X's rows are the rows of a fit."""
from __future__ import annotations

import sys
from typing import Any, Optional

import numpy

from .. import _declarations as c
from .. import _errors
from .._sparse import Sparse

SHARE = 0.2        # share of a row's entries to hold out; at least one of two or more
MOST_KEPT = 16384  # entries of a fit that are remembered
OTHERS = 0.1       # rows count as the fit's if at most this share of the common places has other values
MOST = 0.9         # the least share with which a part counts as complete
AT_ONCE = 1 << 20


def _host(array: Any) -> numpy.ndarray:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        array = array.detach()
        array = (array.float() if array.dtype in (torch.bfloat16, torch.float16) else array).numpy()
    return numpy.asarray(array)


class Entries:
    """Blockwise access to the entries of a matrix, in storage order."""

    def __init__(self, s: Sparse, name: str):
        if s.device != "cpu":
            raise _errors.ArgumentError(f"{name} is on {s.device}: expected data in host memory")
        s.validate()
        self.count, self._of_coo = s.nnz, s.struct.format == c.TAMIS_COO
        self._columns, self._other, self._values = (_host(v.array) for v in s._views)

    def at(self, which: Any) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
        """Return rows, columns and values of the entries with indices `which`."""
        rows = self._other[which] if self._of_coo else numpy.searchsorted(self._other, which, "right") - 1
        return rows.astype("int64"), self._columns[which].astype("int64"), self._values[which].astype("float64")


def entries(s: Sparse, name: str) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Return rows, columns and values of all entries."""
    return Entries(s, name).at(numpy.arange(s.nnz))


def made(name: str, shape: tuple[int, int], rows: numpy.ndarray, columns: numpy.ndarray, values: numpy.ndarray) -> Sparse:
    """Make a matrix from entries sorted by rows."""
    offsets = numpy.zeros(shape[0] + 1, "int64")
    numpy.cumsum(numpy.bincount(rows, minlength=shape[0]), out=offsets[1:])
    s = Sparse(name, shape, offsets, columns, values)
    assert s.values is not None
    s.struct.values, s.struct.value_type = s.values.pointer, s.values.type
    return s


def summed(rows: numpy.ndarray, columns: numpy.ndarray, values: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Sort entries by rows and columns, and sum duplicates, so that no entry is on both sides of a split."""
    order = numpy.lexsort((columns, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    first = numpy.ones(len(rows), bool)
    first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    if not first.all():
        values = numpy.add.reduceat(values, numpy.flatnonzero(first))
    return rows[first], columns[first], values


def places(rows: numpy.ndarray, keys: numpy.ndarray) -> numpy.ndarray:
    """Return the rank of each entry within its row, by keys. Rows are sorted."""
    order = numpy.lexsort((keys, rows))
    counts = numpy.bincount(rows) if len(rows) else numpy.zeros(0, "int64")
    of = numpy.empty(len(rows), "int64")
    of[order] = numpy.arange(len(rows)) - numpy.repeat(numpy.cumsum(counts) - counts, counts)
    return of


def divided(s: Sparse, uses: bool) -> tuple[Sparse, Sparse]:
    """Return the held-out part of each row's entries, drawn with a fixed seed, and the rest. uses: ignore zeros."""
    rows, columns, values = summed(*entries(s, "X"))
    if uses:
        said = values != 0
        rows, columns, values = rows[said], columns[said], values[said]
    counts = numpy.bincount(rows, minlength=s.shape[0])
    if not (counts > 1).any():
        raise _errors.ArgumentError("X has no row with two entries or more, of which one could be held out: give what is known of its rows as observed=")
    quota = numpy.where(counts > 1, numpy.maximum(1, numpy.rint(SHARE * counts)), 0)
    held = places(rows, numpy.random.default_rng(0).random(len(rows))) < quota[rows]
    return tuple(made("X", s.shape, rows[part], columns[part], values[part]) for part in (held, ~held))  # type: ignore[return-value]


class Remembered:
    """A sample of a fit's entries, to detect data with other rows."""

    def __init__(self, s: Sparse):
        some = numpy.arange(s.nnz) if s.nnz <= MOST_KEPT else numpy.unique(numpy.random.default_rng(0).integers(s.nnz, size=MOST_KEPT))
        rows, columns, values = Entries(s, "X").at(some)
        self.count = s.nnz
        keys = rows * s.shape[1] + columns
        order = numpy.argsort(keys, kind="stable")
        self.keys, self.values = keys[order], values[order]

    def check(self, s: Sparse) -> None:
        """Refuses a matrix that has other values where both have entries, or that has a part of the fit's and as well others of its own: what was held out has
        none of them, what was fitted to has nothing else, and the whole has all."""
        given, both, others = Entries(s, "X"), 0, 0
        for start in range(0, s.nnz if len(self.keys) else 0, AT_ONCE):
            rows, columns, values = given.at(numpy.arange(start, min(start + AT_ONCE, s.nnz)))
            keys = rows * s.shape[1] + columns
            at = numpy.minimum(numpy.searchsorted(self.keys, keys), len(self.keys) - 1)
            here = self.keys[at] == keys
            both += int(here.sum())
            others += int((~numpy.isclose(values[here], self.values[at[here]], rtol=1e-2, atol=1e-6)).sum())
        of_fit = both / max(len(self.keys), 1)
        mixed = both > 0 and of_fit < MOST and of_fit * self.count < MOST * s.nnz
        if others > OTHERS * both or mixed:
            what = f"other values than the fit at {others} of {both}" if others else f"entries at {both} of the fit's {len(self.keys)}"
            raise _errors.ArgumentError(
                f"X has {what} places that were looked at{'' if others else ', and many of its own'}: its rows are not those of the fit, as in a split of rows "
                f"into halves. Use cv=tamis.ml.EntrySplit(), or give what is known of X's rows as observed=")


def remembered(s: Sparse) -> Optional[Remembered]:
    """Return the sample, or None if numbers of places overflow or the matrix is invalid, which the fit will report."""
    if s.device != "cpu" or s.shape[0] * s.shape[1] >= 2**63:
        return None
    try:
        return Remembered(s)
    except _errors.Error:
        return None
