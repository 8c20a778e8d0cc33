"""Arguments as users have them, made into those that the library reads: what convert=True of a call does, by copies where needed.

Sparse matrices of any format, dense arrays, lists, data frames and graphs of networkx become CSR (CSC and COO stay); values and operands get
one floating-point type; views that the library cannot read are packed. What is right already is passed as it is. Tensors of PyTorch and
arrays on a GPU are not converted: their libraries' own words say what that costs.
"""
from __future__ import annotations

import copy
import sys
from typing import Any, Sequence

import numpy

from . import _errors, _types
from ._sparse import Sparse
from ._views import fits

READ = ("csr", "csc", "coo")


def _foreign(x: Any) -> bool:
    """Return True if an argument is not converted: None, tensors, arrays on a GPU, patterns, a pattern's arrays."""
    library = type(x).__module__.partition(".")[0]
    return x is None or isinstance(x, tuple) or _of_pattern(x) is not None or library in ("torch", "cupy", "cupyx")


def _of_pattern(x: Any) -> Sparse | None:
    """Return the view that a Pattern has, None for other arguments. Patterns are made of converted matrices, so this module is below theirs."""
    found = getattr(x, "sparse", None)
    return found if isinstance(found, Sparse) else None


def _is_sparse(S: Any) -> bool:
    return isinstance(getattr(S, "format", None), str) and hasattr(S, "nnz")


def _numbers(x: Any, name: str) -> Any:
    """Return a dense array of numbers."""
    try:
        array = numpy.asarray(x)
        if array.dtype.kind in "OUS":
            array = array.astype("float64")
    except (TypeError, ValueError) as error:
        raise _errors.ArgumentError(f"{name} has elements that are not numbers: {error}") from None
    if array.dtype.name != "bfloat16" and array.dtype.kind not in "biuf":
        raise _errors.ArgumentError(f"{name} has elements of type {array.dtype}: expected real numbers")
    return array


def matrix(S: Any, name: str = "S") -> Any:
    """Return a sparse matrix in a format that the library reads."""
    if _foreign(S):
        return S
    if _is_sparse(S):
        return S if S.format in READ else S.tocsr()
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(S, networkx.Graph):
        return networkx.to_scipy_sparse_array(S, format="csr")
    import scipy.sparse
    if hasattr(S, "sparse") and hasattr(S, "columns"):  # a pandas data frame with sparse columns
        try:
            return scipy.sparse.csr_array(S.sparse.to_coo())
        except AttributeError:
            pass
    dense = _numbers(S, name)
    if dense.ndim != 2:
        raise _errors.ArgumentError(f"{name} has {dense.ndim} dimension(s), shape {dense.shape}: expected a matrix")
    return scipy.sparse.csr_array(dense)


def with_type(S: Any, dtype: Any) -> Any:
    """Return the same entries in the same order with values of a type. `astype` would sort S in place and sum duplicate entries."""
    if S.dtype == dtype:
        return S
    other = copy.copy(S)
    other.data = S.data.astype(dtype)
    return other


def _common(types: Sequence[Any]) -> Any:
    """Return the common floating-point type: the widest among them; fp64, as in NumPy, if all are integers or bools."""
    known = [dtype for dtype in types if dtype.name in _types.OF_NUMPY_NAME and (dtype.kind == "f" or dtype.name == "bfloat16")]
    if not known:
        return numpy.dtype("float64")
    if all(dtype == known[0] for dtype in known):
        return known[0]
    return numpy.result_type(*[numpy.dtype("float32") if dtype.name == "bfloat16" else dtype for dtype in known], "float32")


def _readable(array: Any, dtype: Any) -> Any:
    """Return an array of a type, packed unless the library can read it without a copy."""
    array = array.astype(dtype, copy=False)
    size, steps = array.itemsize, array.strides
    whole = array.dtype.isnative and all(stride >= 0 and stride % size == 0 for stride in steps)
    if whole and fits(array.shape, [stride // size for stride in steps], min(array.ndim, 2)):
        return array
    return numpy.ascontiguousarray(array)


def converted(S: Any, operands: dict[str, Any], values: Any, as_pattern: bool, name: str = "S") -> tuple[Any, list, Any]:
    """Return S, the operands and the values of a call, converted. as_pattern: S's own values are not read. name: S's name in messages."""
    S = matrix(S, name)
    dense = {key: x if _foreign(x) else _numbers(x, key) for key, x in operands.items()}
    given = values if _foreign(values) else _numbers(values, "values")
    arrays = [x for x in (*dense.values(), given) if isinstance(x, numpy.ndarray)]
    types = [x.dtype for x in arrays]
    reads = _is_sparse(S) and not _foreign(S) and values is None and not as_pattern
    known = _of_pattern(S)
    pattern = known.values if known is not None and values is None and not as_pattern else None
    if reads:
        types.append(S.dtype)
    elif pattern is not None and pattern.type in _types.NUMPY_NAMES:
        types = [numpy.dtype(_types.NUMPY_NAMES[pattern.type])]  # the pattern's values are not copied
    dtype = _common(types)
    if reads:
        if S.dtype.kind == "c":
            raise _errors.ArgumentError(f"{name} is {S.dtype}: expected real numbers")
        S = with_type(S, dtype)
    ready = [_readable(x, dtype) if isinstance(x, numpy.ndarray) else x for x in (*dense.values(), given)]
    return S, ready[:-1], ready[-1]
