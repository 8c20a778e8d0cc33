"""The library's model behind an estimator, and its errors, in which S is what is X here."""
from __future__ import annotations

import ctypes
import sys
from typing import Any, Optional

import numpy

from .. import _declarations as c
from .. import _errors
from .._library import Owned, models
from .._library import must as _must


def must(status: int) -> None:
    """Raise the library's error, with X in place of S."""
    try:
        _must(status)
    except _errors.Error as error:
        raise _errors.renamed(error, {"S": "X"}) from None


def not_fitted(name: str) -> Exception:
    """Return the library's error, which is an AttributeError, as `hasattr` requires, and scikit-learn's error if that is imported."""
    exceptions = sys.modules.get("sklearn.exceptions")
    other = AttributeError if exceptions is None else exceptions.NotFittedError
    return type("NotFittedError", (_errors.ArgumentError, other), {})(f"this {name} is not fitted: call fit")


class NoAttribute(_errors.UnsupportedError, AttributeError):
    """An attribute that the method does not have."""


def dictionary(names: Any) -> Owned:
    """Make the library's dictionary of names; an empty handle for None."""
    call = models()
    made = Owned(call.tamis_names_free)
    if names is None:
        return made
    must(call.tamis_names_create(made.value))
    index = ctypes.c_int64()
    for number, name in enumerate(names):
        if not isinstance(name, str) or not name or "\0" in name:
            raise _errors.ArgumentError(f"name {number} is {name!r}: expected a str of one letter or more, without zeros")
        content = name.encode(errors="surrogateescape")
        must(call.tamis_names_add(made.value, content, len(content), index))
        if index.value != number:
            raise _errors.ArgumentError(f"names {index.value} and {number} are both {name!r}: expected names that differ")
    return made


def listed(names: Any) -> Optional[list[str]]:
    """Return the names in the library's dictionary; None if there is no dictionary."""
    if not names:
        return None
    call = models()
    return [call.tamis_names_at(names, number).decode(errors="surrogateescape") for number in range(call.tamis_names_count(names))]


def _numbers(given: Any, name: str, names: Any) -> numpy.ndarray:
    """Return the numbers of names."""
    if not names:
        raise _errors.ArgumentError(f"{name} has names, but the model has none: expected numbers, or set_names before")
    found = numpy.empty(len(given), "int64")
    for number, one in enumerate(given):
        content = str(one).encode(errors="surrogateescape")
        found[number] = models().tamis_names_find(names, content, len(content))
        if found[number] < 0:
            raise _errors.ArgumentError(f"{name} has {str(one)!r}, a name that the model does not know")
    return found


def places(given: Any, name: str, names: Any = None) -> numpy.ndarray:
    """Return numbers of rows or columns, from numbers or names."""
    array = numpy.asarray(given)
    if array.ndim == 1 and array.size and (array.dtype.kind == "U" or array.dtype.kind == "O" and all(isinstance(one, str) for one in array)):
        return _numbers(array, name, names)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise _errors.ArgumentError(f"{name} has shape {array.shape} and elements of {array.dtype}: expected a list of whole numbers, or of names")
    return numpy.ascontiguousarray(array, "int64")


def copied(address: Any, shape: tuple[int, ...], kind: Any, columns: Optional[int] = None) -> numpy.ndarray:
    """Return an array of the library's memory, which ends with its owner; the first `columns` of each row."""
    if 0 in shape:
        return numpy.empty(shape, kind)[..., :columns]
    return numpy.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(kind)), shape)[..., :columns].copy()


def lent(array: Optional[numpy.ndarray], kind: Any) -> Any:
    """Return a packed array's memory as an argument, NULL without elements. It takes a tenth of the time of `ctypes.data_as`, which
    services would notice."""
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
        self.remembered = remembered  # a sample of the fit's rows, by which `score` recognises them

    def describe(self) -> None:
        must(models().tamis_model_describe(self.value, self.about))

    def names(self, rows: bool) -> Any:
        """Return the library's dictionary, or None."""
        return models().tamis_model_row_names(self.value) if rows else models().tamis_model_column_names(self.value)

    def set_names(self, rows: Any, columns: Any) -> None:
        """Set names. None: keep them; an empty list: remove them."""
        given = [None if names is None else dictionary(names if len(names) else None) for names in (rows, columns)]
        must(models().tamis_model_set_names(self.value, *(self.names(not number) if names is None else names.value for number, names in enumerate(given))))

    def forget_names(self, shape: tuple[int, int]) -> None:
        """Remove names that do not fit other data with more rows or columns."""
        rows, columns = ((() if names and models().tamis_names_count(names) != count else None) for names, count in zip((self.names(True), self.names(False)), shape))
        self.set_names(rows, columns)

    @property
    def type(self) -> str:
        return "float64" if self.about.options.type == c.TAMIS_F64 else "float32"

    def copy(self) -> Model:
        made = Model()
        must(models().tamis_model_copy(self.value, made.value))
        return made
