"""The data of a method from a file."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Optional

import numpy

from .. import _declarations as c
from .._library import lib, models, must


def _names(names: ctypes.c_void_p) -> Optional[list[str]]:
    if not names:
        return None
    call = models()
    found = [call.tamis_names_at(names, number).decode(errors="surrogateescape") for number in range(call.tamis_names_count(names))]
    call.tamis_names_free(names)
    return found


def read(path: Any, method: Any, *, columns: Optional[str] = None) -> tuple[Any, Optional[list[str]], Optional[list[str]]]:
    """The data of a file for an estimator (`ALS`, `ImplicitALS`, ...) as the program reads them: a matrix of SciPy in CSR, and the names of its rows
    and columns, None where they are numbers. "-" is standard input. columns: "user=NAME,item=NAME" and maybe "rating=NAME" and "time=NAME", titles of
    the first line or numbers from 1; what is not named is not read.

    >>> import os, tempfile
    >>> from tamis.ml import ALS, read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "ratings.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("userId,movieId,rating\\nann,Alien,5\\nbob,Alien,3\\n")
    ...     X, users, items = read(path, ALS)
    >>> X.shape, users, items
    ((2, 1), ['ann', 'bob'], ['Alien'])
    """
    import scipy.sparse
    owned, rows, names = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    where = "/dev/stdin" if path == "-" else os.fspath(path)
    must(models().tamis_read_data(method._method, os.fsencode(where), None if columns is None else columns.encode(), owned, rows, names))
    try:
        s = lib.tamis_owned_sparse_view(owned).contents

        def array(address: Any, count: int, kind: Any) -> numpy.ndarray:
            if count == 0:
                return numpy.empty(0, kind)
            return numpy.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(kind)), (count,)).copy()
        index = {c.TAMIS_I32: ctypes.c_int32, c.TAMIS_I64: ctypes.c_int64}
        value = ctypes.c_double if s.value_type == c.TAMIS_F64 else ctypes.c_float
        X = scipy.sparse.csr_matrix((array(s.values, s.nnz, value), array(s.columns, s.nnz, index[s.index_type]),
                                     array(s.offsets, s.rows + 1, index[s.offset_type])), shape=(s.rows, s.cols))
    finally:
        lib.tamis_owned_sparse_free(owned)
    return X, _names(rows), _names(names)
