"""The library's model behind an estimator, and its errors, in which S is what is X here."""
from __future__ import annotations

import ctypes
import sys
from typing import Any, Optional

import numpy

from .. import _declarations as c
from .. import _errors
from .._library import models
from .._library import must as _must
from .._owned import Owned


def must(status: int) -> None:
    """Raises the library's error, in which S is what is X here."""
    try:
        _must(status)
    except _errors.Error as error:
        raise _errors.renamed(error, {"S": "X"}) from None


def not_fitted(name: str) -> Exception:
    """The library's error, which is an AttributeError, as `hasattr` wants it, and scikit-learn's too where that is imported."""
    exceptions = sys.modules.get("sklearn.exceptions")
    other = AttributeError if exceptions is None else exceptions.NotFittedError
    return type("NotFittedError", (_errors.ArgumentError, other), {})(f"this {name} is not fitted: call fit")


class NoAttribute(_errors.UnsupportedError, AttributeError):
    """What a method does not have."""


def places(given: Any, name: str) -> numpy.ndarray:
    """Numbers of rows or columns."""
    array = numpy.asarray(given)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise _errors.ArgumentError(f"{name} has shape {array.shape} and elements of {array.dtype}: expected a list of whole numbers")
    return numpy.ascontiguousarray(array, "int64")


def lent(array: Optional[numpy.ndarray], kind: Any) -> Any:
    """A packed array's memory as an argument, NULL without elements: in a tenth of the time of `ctypes.data_as`, which services would notice."""
    if array is None or array.size == 0:
        return None
    return ctypes.byref(kind.from_buffer(array)) if array.flags.writeable else array.ctypes.data_as(ctypes.POINTER(kind))


class Model(Owned):
    """The library's model and its sizes, freed with its last user.

    An estimator's model is never changed: what learns changes a copy and puts it in its place. So calls in other threads end with the model with which
    they began, which they hold.
    """

    __slots__ = ("about", "remembered")

    def __init__(self, remembered: Any = None) -> None:
        super().__init__(models().tamis_model_free)
        self.about = c.tamis_model_description()
        self.remembered = remembered  # of the rows of the fit, by which `score` knows them

    def describe(self) -> None:
        must(models().tamis_model_describe(self.value, self.about))

    @property
    def type(self) -> str:
        return "float64" if self.about.options.type == c.TAMIS_F64 else "float32"

    def copy(self) -> Model:
        made = Model()
        must(models().tamis_model_copy(self.value, made.value))
        return made
