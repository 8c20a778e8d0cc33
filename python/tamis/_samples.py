"""X of estimators, samples x features, with the checks and messages of scikit-learn's conventions.

A sparse matrix in CSR or COO with floating-point values is used as it is. Everything else that scikit-learn's estimators take (other
formats, integers, dense arrays, data frames, lists) is converted here, as it is there; zeros of a dense X are entries that are missing.
"""
from __future__ import annotations

import sys
from typing import Any, Optional

import numpy

from . import _errors
from ._convert import with_type
from ._sparse import Sparse, sparse


def samples(X: Any, name: str = "X", features: Optional[int] = None, of: str = "the model") -> Sparse:
    """Return the view of X with its values. features: the model's number of columns, None before the first fit; of: the estimator's
    name."""
    torch = sys.modules.get("torch")
    ours = isinstance(X, tuple) or (torch is not None and isinstance(X, torch.Tensor) and X.layout is not torch.strided)
    s = sparse(X if ours else _converted(X, name), name)
    if s.transposed:
        raise _errors.ArgumentError(f"{name} is CSC: convert it by {name}.to_sparse_csr()")
    if s.values is None:
        raise _errors.ArgumentError(f"{name}'s values are {s.value_type}: expected floating-point numbers")
    for axis, what, number in ((0, "sample", s.shape[0]), (1, "feature", s.shape[1])):
        if number == 0:
            raise _errors.ArgumentError(f"{name} has {number} {what}(s) (shape={tuple(s.shape)}) while a minimum of 1 is required: give it at "
                                        f"least one {('row', 'column')[axis]}")
    if features is not None and s.shape[1] != features:
        raise _errors.ArgumentError(f"{name} has {s.shape[1]} features, but {of} is expecting {features} features as input")
    s.struct.values, s.struct.value_type = s.values.pointer, s.values.type
    return s


def in_order(X: Any) -> Any:
    """Return X with its entries in their order: formats that would be converted to CSR row by row become COO."""
    return X.tocoo() if getattr(X, "format", None) in ("csc", "bsr") and hasattr(X, "nnz") else X


def _converted(X: Any, name: str) -> Any:
    """Return X as a matrix in CSR or COO with floating-point values; X itself if it is one."""
    if not (isinstance(getattr(X, "format", None), str) and hasattr(X, "nnz")):  # not sparse
        import scipy.sparse
        dense = numpy.asarray(X)
        if dense.dtype.kind == "O":
            dense = _numbers(dense, name)
        if dense.ndim != 2:
            raise _errors.ArgumentError(f"{name}: Expected 2D array, got {'scalar' if dense.ndim == 0 else f'{dense.ndim}D'} array instead."
                                        f" Reshape your data, for instance by {name}.reshape(1, -1) if it is a single sample")
        _real(dense.dtype, name)
        X = scipy.sparse.csr_array(dense)
    elif X.format not in ("csr", "coo"):
        X = X.tocsr()
    _real(X.dtype, name)
    if X.dtype.kind == "f":
        return X
    return with_type(X, "float64")


def _numbers(dense: Any, name: str) -> Any:
    try:
        return dense.astype("float64")
    except ValueError as error:
        raise _errors.ArgumentError(f"{name} has elements that are not numbers: {error}") from None


def _real(dtype: Any, name: str) -> None:
    if dtype.kind == "c":
        raise _errors.ArgumentError(f"{name} is {dtype}: Complex data not supported")
    if dtype.kind not in "fiub":
        raise _errors.ArgumentError(f"{name} is {dtype}: expected numbers")
