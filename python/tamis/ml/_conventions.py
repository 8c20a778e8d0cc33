"""scikit-learn's conventions for estimators, if it is installed: its base classes, and the rules for names of columns and random states."""
from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Optional

import numpy

from .. import _errors

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
