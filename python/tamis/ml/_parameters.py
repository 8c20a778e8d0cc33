"""Parameters of an estimator, as in scikit-learn, and their conversion to the library's options."""
from __future__ import annotations

import ctypes
import inspect
from typing import Any, Optional, Sequence

import numpy

from .. import _declarations as c
from .. import _errors, _types
from .._library import models
from ._conventions import BaseEstimator, TransformerMixin, seed_of
from ._handle import Model, must

WEIGHTS = ("linear", "log", "bm25", "ones", "auto", "rp3beta")


class Parameters(TransformerMixin, BaseEstimator):
    """Parameters, and properties of each method."""

    _method = -1
    _counts = False  # X's values must not be negative
    _pairs = False  # a model of pairs of columns, with scores in place of factors
    _uses = False  # missing entries of X count as zeros
    _scores_rows = False  # `score` assumes that rows are the rows of the fit
    _stopped: Optional[BaseException] = None
    _model: Model
    device: str
    devices: Optional[Sequence[str]]
    dtype: str
    seed: int
    random_state: Any

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def _set(self, given: dict[str, Any]) -> None:
        for name in self._names():
            setattr(self, name, given[name])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor and their values.

        >>> ALS(factors=8).get_params()["factors"]
        8
        """
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **given: Any) -> Any:
        """Sets parameters of the constructor; a fit uses them.

        >>> ALS().set_params(factors=8)
        ALS(factors=8)
        """
        for name, value in given.items():
            if name not in self._names():
                raise _errors.ArgumentError(f"{name} is not a parameter of {type(self).__name__}: expected one of {', '.join(self._names())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = {name: parameter.default for name, parameter in inspect.signature(type(self).__init__).parameters.items()}
        changed = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name])
        return f"{type(self).__name__}({changed})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags, TransformerTags
        tags = Tags(estimator_type=None, target_tags=TargetTags(required=False), transformer_tags=TransformerTags(preserves_dtype=[]))
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self._counts
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def _options(self) -> c.tamis_model_options:
        options = c.tamis_model_options()
        must(models().tamis_model_options_init(options, self._method))
        kinds: dict[str, Any] = {name: kind for name, kind, *_ in options._fields_}
        for name, value in {**self.get_params(), "seed": seed_of(self.seed, self.random_state)}.items():
            if name == "dtype":
                number = _types.OF_NUMPY_NAME.get(str(numpy.dtype(value)))
                if number not in (_types.F32, _types.F64):
                    raise _errors.ArgumentError(f"dtype = {value}: expected float32 or float64")
                options.type = number
            elif name == "weights":
                if value not in WEIGHTS:
                    raise _errors.ArgumentError(f"weights = {value!r}: expected one of {', '.join(WEIGHTS)}")
                options.weights = WEIGHTS.index(value)
            elif name not in ("device", "devices", "random_state") and value is not None:
                if kinds[name] is ctypes.c_bool and not (isinstance(value, (bool, numpy.bool_)) or value in (0, 1)):
                    raise _errors.ArgumentError(f"{name} = {value!r}: expected True or False")
                if kinds[name] is not ctypes.c_double:
                    _errors.fits(name, value, kinds[name])
                try:
                    setattr(options, name, float(value) if kinds[name] is ctypes.c_double else value)
                except (TypeError, ValueError):
                    raise _errors.ArgumentError(f"{name} = {value!r}: expected a number") from None
        return options
