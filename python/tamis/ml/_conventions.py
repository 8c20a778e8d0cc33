"""scikit-learn's conventions: its base classes, if it is installed, the rules for names of columns and random states, and X with its checks and messages.

X is samples x features. A sparse matrix in CSR or COO with floating-point values is used as it is. Everything else that scikit-learn's estimators take
(other formats, integers, dense arrays, data frames, lists) is converted here, as it is there; zeros of a dense X are entries that are missing.
"""
from __future__ import annotations

import sys
import warnings
from numbers import Integral
from typing import Any, Optional

import numpy

from .. import _errors
from .._convert import with_type
from .._sparse import Sparse, sparse

try:
    from sklearn.base import BaseEstimator, TransformerMixin
except ImportError:  # the estimators work without it

    class BaseEstimator:  # type: ignore[no-redef]
        """Stands for scikit-learn's."""

    class TransformerMixin:  # type: ignore[no-redef]
        """Stands for scikit-learn's."""


def names_of(X: Any) -> Optional[numpy.ndarray]:
    """Return the column names of a data frame; None: X is not a data frame, or its names are not all strings."""
    columns = getattr(X, "columns", None)
    if columns is None or not hasattr(X, "shape"):
        return None
    names = numpy.asarray(columns, dtype=object)
    strings = [isinstance(name, str) for name in names]
    if any(strings) and not all(strings):
        raise TypeError("Feature names are only supported if all input features have string names: convert them, for instance by "
                        "X.columns = X.columns.astype(str)")
    return names if names.size and all(strings) else None


def check_names(estimator: Any, X: Any) -> None:
    """Refuse a data frame whose columns differ from the fit's columns or their order; warn if only one of both has names, as scikit-learn does."""
    given, known, of = names_of(X), getattr(estimator, "feature_names_in_", None), type(estimator).__name__
    if given is None and known is None:
        return
    if known is None:
        warnings.warn(f"X has feature names, but {of} was fitted without feature names", UserWarning, stacklevel=3)
        return
    if given is None:
        warnings.warn(f"X does not have valid feature names, but {of} was fitted with feature names", UserWarning, stacklevel=3)
        return
    if len(given) == len(known) and (given == known).all():
        return
    message = "The feature names should match those that were passed during fit.\n"
    fresh, missing = sorted(set(given) - set(known)), sorted(set(known) - set(given))
    for names, words in ((fresh, "Feature names unseen at fit time"), (missing, "Feature names seen at fit time, yet now missing")):
        if names:
            message += f"{words}:\n" + "".join(f"- {name}\n" for name in names[:5]) + ("- ...\n" if len(names) > 5 else "")
    if not fresh and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise _errors.ArgumentError(message)


def seed_of(seed: Any, random_state: Any) -> Any:
    """Return the seed of a fit: `random_state` if it is given, a number or a generator that draws one."""
    if random_state is None or isinstance(random_state, Integral):
        return seed if random_state is None else random_state
    if isinstance(random_state, numpy.random.RandomState):
        return random_state.randint(2**31 - 1)
    if isinstance(random_state, numpy.random.Generator):
        return int(random_state.integers(2**31 - 1))
    raise _errors.ArgumentError(f"random_state = {random_state!r}: expected None, a whole number, or a generator of numpy.random")


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
