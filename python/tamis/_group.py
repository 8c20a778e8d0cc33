"""A fit on several devices of this process. Each is a rank of a group, with its own thread and model, and rows with about equally many entries."""
from __future__ import annotations

import ctypes
from ctypes import byref
from typing import Any, Callable, Optional

import numpy

from . import _declarations as c
from . import _errors, _interrupts, _types
from ._library import lib, models, must, text
from ._owned import Owned
from ._sparse import Sparse


def checked(devices: Any) -> list[str]:
    """Return the names in `devices`, at least one."""
    names = [] if isinstance(devices, str) or not hasattr(devices, "__iter__") else list(devices)
    if not names or not all(isinstance(name, str) for name in names):
        raise _errors.ArgumentError(f"devices = {devices!r}: expected a list of one name or more, for instance ['cuda:0', 'cuda:1']")
    return names


class Rows:
    """A matrix in host memory as CSR; each rank gets a slice of rows without a copy."""

    def __init__(self, s: Sparse, name: str):
        if s.device != "cpu":
            raise _errors.ArgumentError(f"{name} is on {s.device}: fits on several devices take data in host memory")
        s.validate()
        self._given, self.struct = s, c.tamis_sparse.from_buffer_copy(s.struct)
        if s.struct.format == c.TAMIS_COO:
            self._sort(s.struct)

    def _sort(self, coo: c.tamis_sparse) -> None:
        index = "int64" if coo.index_type == c.TAMIS_I64 else "int32"
        offsets, columns = numpy.empty(coo.rows + 1, "int64"), numpy.empty(coo.nnz, index)
        values = numpy.empty(coo.nnz * _types.SIZES[coo.value_type], "uint8")
        ordered = self.struct
        ordered.offset_type = c.TAMIS_I64
        must(lib.tamis_coo_to_csr(byref(ordered), offsets.ctypes.data, columns.ctypes.data, values.ctypes.data, None))
        ordered.format, ordered.row_indices = c.TAMIS_CSR, None
        ordered.offsets, ordered.columns, ordered.values = offsets.ctypes.data, columns.ctypes.data, values.ctypes.data
        self._arrays = offsets, columns, values

    def slice(self, first: int, end: int) -> c.tamis_sparse:
        """Rows first .. end - 1."""
        part = c.tamis_sparse()
        must(lib.tamis_slice(byref(self.struct), first, end - first, 0, 0, byref(part)))
        return part


class Ranks:
    """The ends of a group and the data of each rank."""

    def __init__(self, devices: list[int], s: Rows, entries: Optional[Rows], observed: Optional[Rows]):
        self._count = len(devices)
        self._groups = (ctypes.c_void_p * self._count)()
        self._ends = [Owned(lib.tamis_group_close, value=ctypes.c_void_p.from_buffer(self._groups, place * ctypes.sizeof(ctypes.c_void_p)))
                      for place in range(self._count)]
        starts = (ctypes.c_int64 * (self._count + 1))()
        must(lib.tamis_partition(byref(s.struct), self._count, starts))
        self._parts = [[None if rows is None else rows.slice(first, end) for rows in (s, entries, observed)] for first, end in zip(starts, starts[1:])]
        self._held = [c.tamis_held_out(*(None if part is None else ctypes.pointer(part) for part in parts[1:])) for parts in self._parts]
        must(lib.tamis_group_open_local((ctypes.c_void_p * self._count)(*devices), self._count, None, self._groups))

    def fit(self, fitted: list[ctypes.c_void_p], keep: Any, stop: Callable[[BaseException], None]) -> tuple[int, str]:
        """The status of the fit of these models, one per rank, and its message. keep: objects that live until it has ended.

        The library starts the threads of the ranks and waits for them in a thread of ours, which closes the group; the caller's tells `stop` of Ctrl-C.
        """
        def one(_: Any, rank: int) -> int:
            part, held = self._parts[rank], self._held[rank]
            return models().tamis_model_fit_group(fitted[rank], self._groups[rank], byref(part[0]), None if part[1] is None else byref(held))

        work, owned = c.tamis_rank_work(one), [keep]

        def run() -> tuple[int, str]:
            try:
                status = lib.tamis_group_run(self._count, work, None)
                return status, text(lib.tamis_last_error())  # messages belong to a thread
            finally:
                self._ends.clear()
                owned.clear()

        return _interrupts.apart(run, stop, self._ends.clear)
