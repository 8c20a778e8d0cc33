"""The data of a method from a file."""
from __future__ import annotations

import ctypes
import os
from typing import Any, NamedTuple, Optional

import numpy

from .. import _declarations as c
from .._library import lib, models, must
from .._owned import Owned
from ._handle import listed


def _names(names: Owned) -> Optional[list[str]]:
    return listed(names.value)


def _matrix(owned: Owned) -> Any:
    """Return the matrix as a SciPy matrix with its own memory."""
    import scipy.sparse
    if not owned.value:
        return None
    s = lib.tamis_owned_sparse_view(owned.value).contents

    def array(address: Any, count: int, kind: Any) -> numpy.ndarray:
        if count == 0:
            return numpy.empty(0, kind)
        return numpy.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(kind)), (count,)).copy()
    index = {c.TAMIS_I32: ctypes.c_int32, c.TAMIS_I64: ctypes.c_int64}
    value = ctypes.c_double if s.value_type == c.TAMIS_F64 else ctypes.c_float
    return scipy.sparse.csr_matrix((array(s.values, s.nnz, value), array(s.columns, s.nnz, index[s.index_type]),
                                    array(s.offsets, s.rows + 1, index[s.offset_type])), shape=(s.rows, s.cols))


class _Four(NamedTuple):
    X: Any
    rows: Optional[list[str]]
    columns: Optional[list[str]]
    times: Any


class Data(_Four):
    """The result of `read`: four members, and the attribute `found`, a line that describes how the file was read.

    >>> Data._fields
    ('X', 'rows', 'columns', 'times')
    """

    found: str = ""


def read(path: Any, method: Any, *, columns: Optional[str] = None) -> Data:
    """The data of a file for an estimator (`ALS`, `ImplicitALS`, ...) as the program reads them: X, a matrix of SciPy in CSR; the names of its rows and
    columns, None where they are numbers; and times, a matrix of the same entries, None where a line has none. "-" is standard input. `found` of the result
    is one line that says what the columns of a list were taken for and what was skipped; it is empty for files of other formats.

    columns: "user=NAME,item=NAME" and maybe "rating=NAME" and "time=NAME", titles of the first line or numbers from 1; what is not named is not read.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "ratings.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("userId,movieId,rating\\nann,Alien,5\\nbob,Alien,3\\n")
    ...     data = read(path, ALS)
    >>> data.X.shape, data.rows, data.columns
    ((2, 1), ['ann', 'bob'], ['Alien'])
    >>> data.found
    "ratings: user = column 1 'userId', item = column 2 'movieId', rating = column 3 'rating'; 1 line of titles"
    """
    call = models()
    made = [Owned(free) for free in (lib.tamis_owned_sparse_free, call.tamis_names_free, call.tamis_names_free, lib.tamis_owned_sparse_free)]
    where = "/dev/stdin" if path == "-" else os.fspath(path)
    found = ctypes.create_string_buffer(c.TAMIS_FOUND_BYTES)
    must(call.tamis_read_data_found(method._method, os.fsencode(where), None if columns is None else columns.encode(), found, *(one.value for one in made)))
    data = Data(*(take(made.pop(0)) for take in (_matrix, _names, _names, _matrix)))  # each is freed as soon as it is copied
    data.found = found.value.decode(errors="surrogateescape")
    return data
