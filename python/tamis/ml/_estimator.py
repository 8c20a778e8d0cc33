"""The estimators' common part: parameters, fitting and using, and here their files, which the program reads too."""
from __future__ import annotations

import ctypes
import os
import tempfile
from ctypes import byref
from typing import Any, Optional, TypeVar

from .. import _errors
from .._device import opened
from .._library import models
from .._samples import samples
from ._conventions import names_of
from ._handle import Model, lent, must, places
from ._parameters import WEIGHTS
from ._using import Using

Self = TypeVar("Self", bound="Estimator")


class Estimator(Using):
    """The common part of all estimators. Use one of its subclasses."""

    def save(self, path: Any) -> None:
        """Writes the model's file, which the program `tamis` reads too.

        >>> model = ALS(factors=2, iterations=5).fit([[5, 4, 0], [4, 0, 1], [0, 5, 2]])
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(os.path.join(folder, "a.model"))
        ...     ALS.load(os.path.join(folder, "a.model"))
        ALS(factors=2, iterations=5)
        """
        must(models().tamis_model_save(self._fitted().value, os.fsencode(path)))

    def _load(self, path: Any) -> None:
        model = Model()
        must(models().tamis_model_load(opened(self._home()).handle, os.fsencode(path), model.value))
        self._publish(model, getattr(self, "feature_names_in_", None))

    @classmethod
    def load(cls: type[Self], path: Any, device: str = "cpu") -> Self:
        """An estimator with the model of a file and the parameters that it was fitted with.

        >>> model = ALS(factors=2, iterations=5).fit([[5, 4, 0], [4, 0, 1], [0, 5, 2]])
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(os.path.join(folder, "a.model"))
        ...     other = ALS.load(os.path.join(folder, "a.model"))
        >>> bool((other.components_ == model.components_).all())
        True
        """
        made = cls()
        made.device = device
        made._load(path)
        described = made._model.about
        if described.options.method != cls._method:
            name = models().tamis_method_name(described.options.method).decode()
            raise _errors.ArgumentError(f"{os.fspath(path)} is a model of {name}: expected {models().tamis_method_name(cls._method).decode()}")
        for name in cls._names():
            if name not in ("device", "devices", "dtype", "threads", "random_state"):
                kept = getattr(described.options, name)
                setattr(made, name, WEIGHTS[kept] if name == "weights" else kept)
        made.dtype = made._model.type
        return made

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name not in ("_model", "_callback", "_stopped", "_lock")}
        if self.__sklearn_is_fitted__():
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model")
                self.save(path)
                with open(path, "rb") as file:
                    state["_file"], state["_remembered"] = file.read(), self._model.remembered
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        content, remembered = state.pop("_file", None), state.pop("_remembered", None)
        vars(self).update(state)
        if content is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model")
                with open(path, "wb") as file:
                    file.write(content)
                self._load(path)
            self._model.remembered = remembered


class RowEstimator(Estimator):
    """The common part of the estimators that keep factors of rows: ALS, ImplicitALS, BPR, CCD."""

    def partial_fit(self: Self, X: Any, y: Any = None, *, rows: Any = None) -> Self:
        """Puts rows into the model, with the columns as they are: new ones, or with rows=, numbers of rows, others in the places of those that are there.

        Without a model this is `fit`. For new columns, or when many rows have changed, `fit` with warm_start=True.

        >>> X = [[5, 4, 0], [4, 0, 1], [0, 5, 2]]
        >>> model = ALS(factors=2, iterations=5).fit(X)
        >>> model.partial_fit(X[:1]).row_factors_.shape  # a fourth user
        (4, 3)
        """
        with self._learning():
            if not self.__sklearn_is_fitted__():
                return self.fit(X)
            former = self._fitted()
            numbers = None if rows is None else places(rows, "rows", former.names(True))
            s = self._samples(former, X)
            if numbers is not None and len(numbers) != s.shape[0]:
                raise _errors.ArgumentError(f"rows has {len(numbers)} numbers, X {s.shape[0]} rows: expected one for each")
            model = former.copy()
            must(models().tamis_model_put_rows(model.value, byref(s.struct), lent(numbers, ctypes.c_int64)))
            self._publish(model, getattr(self, "feature_names_in_", None))
        return self


class BatchEstimator(Estimator):
    """The common part of the estimators that learn from one mini-batch after another: LDA, GaP, SFA."""

    def partial_fit(self: Self, X: Any, y: Any = None) -> Self:
        """One more step with a mini-batch of new rows. The first batch decides on the number of columns.

        >>> X = [[5, 4, 0, 0], [4, 3, 0, 1], [0, 0, 2, 6]]
        >>> LDA(factors=2).partial_fit(X[:2]).partial_fit(X[2:]).components_.shape
        (2, 4)
        """
        if self.devices is not None:
            raise _errors.UnsupportedError(f"devices = {self.devices!r}: {type(self).__name__} learns on one device: set device instead")
        with self._learning():
            former: Optional[Model] = getattr(self, "_model", None)
            s = samples(X) if former is None else self._samples(former, X)
            names = names_of(X) if former is None else getattr(self, "feature_names_in_", None)
            self._stopped = None
            model, function = self._start() if former is None else former.copy(), models().tamis_model_partial_fit
            return self._learn(model, lambda: function(model.value, byref(s.struct)), names)
