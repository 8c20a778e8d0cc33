"""Factorisations and topic models with scikit-learn's conventions: ALS, ImplicitALS, ItemKNN, EASE, CCD, LDA, SFA, GaP.

X is a sparse matrix of SciPy in CSR or COO, rows x columns: users x items with ratings or counts of uses, documents x words with
counts. Other formats, integers, dense arrays and data frames are converted, as in scikit-learn; zeros of a dense X are missing entries.
Estimators have `fit`, `transform`, `predict`, `get_params`, `set_params`; attributes that a fit makes end in an underscore;
`sklearn.base.clone`, pipelines, searches, `set_output` and pickling work; where scikit-learn is installed, they are its BaseEstimators, and it need
not be. Columns of a data frame are remembered (`feature_names_in_`), and another order of them is refused. Models are the files of the program
`tamis`: `save` and `load`.
"""
from __future__ import annotations

import ctypes
import functools
import inspect
import operator
import os
import sys
import tempfile
from ctypes import byref
from typing import Any, Optional, Sequence, TypeVar

import numpy

from .. import _declarations as c
from .. import _errors, _group, _interrupts, _types
from .._device import opened
from .._library import lib, models, text
from .._library import must as _must
from .._samples import in_order, samples
from .._sparse import Sparse
from .._streams import settle
from .._views import dense, view
from . import _held
from ._conventions import BaseEstimator, TransformerMixin, check_names, names_of, seed_of
from ._read import Data, read
from ._split import EntrySplit, last_out, leave_one_out, split_entries, split_time


def must(status: int) -> None:
    """Raises the library's error, in which S is what is X here."""
    try:
        _must(status)
    except _errors.Error as error:
        raise _errors.renamed(error, {"S": "X"}) from None


def _not_fitted(name: str) -> Exception:
    """The library's error, which is scikit-learn's too where that is imported."""
    message = f"this {name} is not fitted: call fit"
    exceptions = sys.modules.get("sklearn.exceptions")
    if exceptions is None:
        return _errors.ArgumentError(message)
    return type("NotFittedError", (_errors.ArgumentError, exceptions.NotFittedError), {})(message)


WEIGHTS = ("linear", "log", "bm25", "ones")


def _places(given: Any, name: str) -> numpy.ndarray:
    """Numbers of rows or columns."""
    array = numpy.asarray(given)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise _errors.ArgumentError(f"{name} has shape {array.shape} and elements of {array.dtype}: expected a list of whole numbers")
    return numpy.ascontiguousarray(array, "int64")


class _Model:
    """The library's model, freed with its last user. known: it has learnt, and the estimator has noted its sizes.

    Freeing runs no step of Python code: an interrupt within a `__del__` would be printed and lost.
    """

    __slots__ = ("value", "known", "free")
    __del__ = property(operator.attrgetter("free"))

    def __init__(self, value: Optional[int]):
        self.value, self.known = value, False
        self.free = functools.partial(models().tamis_model_free, value)


Self = TypeVar("Self", bound="Estimator")


class Estimator(TransformerMixin, BaseEstimator):
    """The common part of all estimators. Use one of its subclasses."""

    _method = -1
    _counts = False  # whether X's values may not be negative
    _pairs = False  # whether it is of pairs of columns, and has scores in place of factors
    _uses = False  # whether missing entries of X count as zeros
    _scores_rows = False  # whether `score` takes rows for those of the fit
    _remembered: Optional[_held.Remembered] = None
    _stopped: Optional[BaseException] = None
    _model: _Model
    device: str
    devices: Optional[Sequence[str]]
    dtype: str
    seed: int
    random_state: Any

    # -------------------------------------------------------------------- parameters

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def _set(self, given: dict[str, Any]) -> None:
        for name in self._names():
            setattr(self, name, given[name])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor and their values.

        >>> from tamis.ml import ALS
        >>> ALS(factors=8).get_params()["factors"]
        8
        """
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **given: Any) -> Any:
        """Sets parameters of the constructor; a fit uses them.

        >>> from tamis.ml import ALS
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
        return hasattr(self, "_model") and self._model.known

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

    # -------------------------------------------------------------------- fitting

    def fit(self: Self, X: Any, y: Any = None, *, held_out: Any = None, observed: Any = None) -> Self:
        """Fits to X, (rows, columns). held_out: entries on which each iteration's metric is measured; observed: what is known of their rows.

        Sets `n_features_in_`, `n_iter_`, `history_` (a dict of loss, metric, elbo and seconds for each iteration), the factors, and where it is a
        parameter `regularization_` (lambda of the last iteration: the parameter, or found by the noise of the data).
        Ctrl-C stops after a mini-batch, or an iteration, and is a KeyboardInterrupt; the model has then learnt what it has, and may be used.
        Raises ValueError with the first bad entry.

        >>> import numpy as np, scipy.sparse
        >>> from tamis.ml import ALS
        >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 0], [4, 0, 1], [0, 5, 2]]))
        >>> model = ALS(factors=2, iterations=5).fit(X)
        >>> model.n_iter_, model.n_features_in_
        (5, 3)
        """
        s = samples(X)
        entries, known = (None if part is None else samples(part, name, s.shape[1], "X")
                          for part, name in ((held_out, "held_out"), (observed, "observed")))
        self._note_names(X)
        self._remembered = _held.remembered(s) if self._scores_rows else None
        if self.devices is not None:
            return self._fit_group(s, entries, known)
        self._start()
        held = c.tamis_held_out(*(None if part is None else ctypes.pointer(part.struct) for part in (entries, known)))
        model, function = self._model, models().tamis_model_fit
        return self._learn(lambda: function(model.value, byref(s.struct), None if entries is None else byref(held)))

    def _fit_group(self: Self, s: Sparse, entries: Optional[Sparse], known: Optional[Sparse]) -> Self:
        """The same on several devices: the first one's model is kept, which is the whole."""
        whole = [None if part is None else _group.Rows(part, name) for part, name in ((s, "X"), (entries, "held_out"), (known, "observed"))]
        for part, name in zip(whole[1:], ("held_out", "observed")):
            if part is not None and part.struct.rows != s.shape[0]:
                raise _errors.ArgumentError(f"{name} has {part.struct.rows} rows and X {s.shape[0]}: each device has the same rows of both")
        devices = [opened(name).handle for name in _group.checked(self.devices)]
        others = [_Model(self._made(handle, self._options())) for handle in devices[1:]]
        self._start()
        assert whole[0] is not None
        ranks = _group.Ranks(devices, whole[0], *whole[1:])
        fitted = [self._model, *others]
        status, message = ranks.fit([one.value for one in fitted], (fitted, self._callback), self._stop)
        return self._ended(status, message)

    def _learn(self: Self, function: Any, first: bool = True) -> Self:
        """A call that learns, in a thread of its own: its callback is Python code, in which no signal is to be handled."""
        status, message = _interrupts.apart(lambda: (function(), text(lib.tamis_last_error())), self._stop)
        return self._ended(status, message, first)

    def _ended(self: Self, status: int, message: str, first: bool = True) -> Self:
        """After a call that learns. first: the model was made for it, and is nothing if it fails. One that was stopped is as it was after its last
        mini-batch or iteration, and may be used."""
        stopped, self._stopped = self._stopped, None
        if status not in (c.TAMIS_OK, c.TAMIS_ERROR_CANCELLED):
            if first:
                del self._model
            error = _errors.renamed(_errors.of_status(status, message), {"S": "X"})
            raise error if stopped is None else stopped from error
        self._describe()
        if stopped is not None:
            raise stopped
        if status:  # the callback stops for nothing else than what is raised in it
            raise KeyboardInterrupt
        return self

    def _stop(self, error: BaseException) -> None:
        if self._stopped is None:
            self._stopped = error

    def fit_transform(self, X: Any, y: Any = None) -> numpy.ndarray:
        """`fit`, then `transform`, of the same X.

        >>> import numpy as np, scipy.sparse
        >>> from tamis.ml import ALS
        >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 0], [4, 0, 1], [0, 5, 2]]))
        >>> ALS(factors=2, iterations=5, biases=False).fit_transform(X).shape
        (3, 2)
        """
        return self.fit(X)._transformed(X)

    def _start(self) -> None:
        self.history_: list[dict[str, Any]] = []
        self._stopped = None
        options = self._options()

        def after(_: Any, iteration: Any) -> bool:
            try:
                i = iteration.contents
                if self._stopped is not None:
                    return False
                if i.batch == i.batches:
                    self.history_.append({"iteration": i.iteration, "loss": i.loss, "metric": i.metric, "elbo": i.elbo, "seconds": i.seconds})
                return True
            except BaseException as error:  # noqa: BLE001  no exception passes through C
                self._stop(error)
                return False

        self._callback = c.tamis_iteration_callback(after)
        options.callback = self._callback
        self._model = _Model(self._made(opened(self._home()).handle, options))

    @staticmethod
    def _made(device: int, options: c.tamis_model_options) -> Optional[int]:
        model = ctypes.c_void_p()
        must(models().tamis_model_create(device, byref(options), model))
        return model.value

    def _home(self) -> str:
        """The device on which the model is."""
        return self.device if self.devices is None else _group.checked(self.devices)[0]

    def _describe(self) -> None:
        described = c.tamis_model_description()
        must(models().tamis_model_describe(self._model.value, described))
        if hasattr(self, "regularization"):
            self.regularization_ = described.regularization
        self.n_features_in_, self.n_iter_, self.loss_ = described.cols, described.iterations_done, described.loss
        self._width, self._rows = described.width, described.rows
        self._type = "float64" if described.options.type == c.TAMIS_F64 else "float32"
        self._model.known = True

    def _fitted(self) -> int:
        if not self.__sklearn_is_fitted__():
            raise _not_fitted(type(self).__name__)
        assert self._model.value is not None
        return self._model.value

    def _note_names(self, X: Any) -> None:
        """Keeps the names of a data frame's columns, for later calls to compare."""
        names = names_of(X)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _samples(self, X: Any, name: str = "X") -> Sparse:
        """X for a fitted model."""
        self._fitted()
        if name == "X":
            check_names(self, X)
        return samples(X, name, self.n_features_in_, type(self).__name__)

    # -------------------------------------------------------------------- using

    def get_feature_names_out(self, input_features: Any = None) -> numpy.ndarray:
        """Names of the columns of `transform`: "als0", "als1", ...

        >>> import numpy as np, scipy.sparse
        >>> from tamis.ml import ALS
        >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 0], [4, 0, 1], [0, 5, 2]]))
        >>> model = ALS(factors=2, iterations=5).fit(X)
        >>> list(model.get_feature_names_out())  # two factors and a bias
        ['als0', 'als1', 'als2']
        """
        self._fitted()
        return numpy.array([f"{type(self).__name__.lower()}{number}" for number in range(self._width)], dtype=object)

    def transform(self, X: Any) -> numpy.ndarray:
        """The factors of the rows of X, (rows, factors): topics of documents, or new users folded in; with biases one more column.

        >>> import numpy as np, scipy.sparse
        >>> from tamis.ml import ALS
        >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 0], [4, 0, 1], [0, 5, 2]]))
        >>> model = ALS(factors=2, iterations=5).fit(X)
        >>> model.transform(X[:1]).shape
        (1, 3)
        """
        return self._transformed(X)

    def _transformed(self, X: Any) -> numpy.ndarray:
        """`transform` as an array, also where set_output asks for data frames."""
        model, s = self._fitted(), self._samples(X)
        W = numpy.empty((s.shape[0], self._width), self._type)
        must(models().tamis_model_transform(model, byref(s.struct), byref(dense(view(W, "W"), "W"))))
        return W

    def predict(self, X: Any, factors: Optional[numpy.ndarray] = None) -> numpy.ndarray:
        """Predictions at the places of X's entries, (nnz,), in the order in which X stores them. factors: those of X's rows, of `transform`.

        The order is that of `X.data` for CSR, CSC, COO and BSR, of `X.tocsr().data` for SciPy's other formats, and row by row for a dense X.
        factors=None: X's rows are those of the fit; where the model keeps none (LDA, SFA, a model of `partial_fit`), `transform` finds
        their factors.

        >>> import numpy as np, scipy.sparse
        >>> from tamis.ml import ALS
        >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 0], [4, 0, 1], [0, 5, 2]]))
        >>> model = ALS(factors=2, iterations=5).fit(X)
        >>> model.predict(X).shape
        (6,)
        """
        model, s = self._fitted(), self._samples(in_order(X))
        if factors is None and self._rows == 0:
            factors = self._transformed(X)
        out = numpy.empty(s.nnz, "float64")
        W = None if factors is None else byref(dense(settle(view(factors, "factors")), "factors"))
        must(models().tamis_model_predict(model, W, byref(s.struct), out.ctypes.data_as(ctypes.POINTER(ctypes.c_double))))
        return out

    def recommend(self, rows: Any = None, n: int = 10, *, seen: Any = None,
                  factors: Optional[numpy.ndarray] = None) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The n columns with the largest predictions for each of `rows`, best first, without those in `seen`, and their scores.

        rows: numbers of rows of the fit, or of `factors`; None: all. Both results are (rows, n); where fewer are left, -1 and NaN.

        >>> import numpy as np, scipy.sparse
        >>> from tamis.ml import ALS
        >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 0], [4, 0, 1], [0, 5, 2]]))
        >>> model = ALS(factors=2, iterations=5).fit(X)
        >>> columns, scores = model.recommend([0], n=1, seen=X)
        >>> columns
        array([[2]])
        """
        model = self._fitted()
        numbers = None if rows is None else _places(rows, "rows")
        count = (self._rows if factors is None else len(factors)) if numbers is None else len(numbers)
        columns, scores = numpy.empty((count, n), "int64"), numpy.empty((count, n), "float64")
        W = None if factors is None else byref(dense(settle(view(factors, "factors")), "factors"))
        known = None if seen is None else self._samples(seen, "seen")
        must(models().tamis_model_recommend(
            model, W, None if numbers is None else numbers.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)), count,
            None if known is None else byref(known.struct), n, columns.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)),
            scores.ctypes.data_as(ctypes.POINTER(ctypes.c_double))))
        return columns, scores

    def similar(self, which: Any, n: int = 10, *, rows: bool = False) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The n columns whose factors point most nearly the same way as those of each in `which`, and the cosines; rows: rows of the fit.

        Both are (which, n); where fewer are left, -1 and NaN.

        >>> import numpy as np, scipy.sparse
        >>> from tamis.ml import ALS
        >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 0], [4, 0, 1], [0, 5, 2]]))
        >>> model = ALS(factors=2, iterations=5).fit(X)
        >>> columns, cosines = model.similar([0], n=2)
        >>> sorted(columns[0].tolist())
        [1, 2]
        """
        model, numbers = self._fitted(), _places(which, "which")
        found, cosines = numpy.empty((len(numbers), n), "int64"), numpy.empty((len(numbers), n), "float64")
        integers = ctypes.POINTER(ctypes.c_int64)
        must(models().tamis_model_similar(model, rows, numbers.ctypes.data_as(integers), len(numbers), n, found.ctypes.data_as(integers),
                                          cosines.ctypes.data_as(ctypes.POINTER(ctypes.c_double))))
        return found, cosines

    def score(self, X: Any, y: Any = None, *, observed: Any = None) -> float:
        """How well entries that the factors of their rows have not seen are predicted, larger is better: minus the RMSE of ratings; the mean log-likelihood of
        words; of uses the share of those held out that is among the first ten recommended (recall), without what is known.

        observed: what is known of X's rows; their factors are found from it, and X is scored. None: for ALS and CCD, if X has as many rows as the fit, they are
        the rows of the fit, whose factors the model has; X that contradicts this is refused. In all other cases a fifth of each row's entries is held out, the
        factors are found from the rest, and the held-out entries are scored.

        >>> import numpy as np, scipy.sparse
        >>> from tamis.ml import ALS
        >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 0], [4, 0, 1], [0, 5, 2]]))
        >>> model = ALS(factors=2, iterations=5).fit(X)
        >>> model.score(X) <= 0
        True
        """
        model, s = self._fitted(), self._samples(X)
        known: Optional[Sparse] = None
        if observed is not None:
            known = self._samples(observed, "observed")
            if known.shape[0] != s.shape[0]:
                raise _errors.ArgumentError(f"observed has {known.shape[0]} rows and X {s.shape[0]}: expected the same rows")
        elif self._scores_rows and self._rows == s.shape[0]:
            if self._remembered is not None:
                self._remembered.check(s)
        else:
            s, known = _held.divided(s, self._counts or self._uses)
        if s.nnz == 0:
            raise _errors.ArgumentError("X has no entries: nothing can be scored")
        held = c.tamis_held_out(ctypes.pointer(s.struct), None if known is None else ctypes.pointer(known.struct))
        result = c.tamis_score()
        must(models().tamis_model_score(model, byref(held), known is not None, 0, result))
        return result.recall if self._uses else result.log_likelihood if self._counts else -result.rmse

    def _factors(self, function: Any) -> numpy.ndarray:
        owned = ctypes.c_void_p()
        must(function(self._fitted(), owned))
        try:
            d = lib.tamis_owned_dense_view(owned).contents
            kind = ctypes.c_double if d.type == c.TAMIS_F64 else ctypes.c_float
            stride = d.stride or d.cols
            if d.rows == 0 or d.cols == 0:
                return numpy.empty((d.rows, d.cols), self._type)
            lent = numpy.ctypeslib.as_array(ctypes.cast(d.data, ctypes.POINTER(kind)), (d.rows, stride))
            return lent[:, :d.cols].copy()  # the library's memory ends with `owned`
        finally:
            lib.tamis_owned_dense_free(owned)

    @property
    def components_(self) -> numpy.ndarray:
        """The factors of the columns, (factors, columns): of items, or the words of each topic."""
        return self._factors(models().tamis_model_column_factors).T

    @property
    def row_factors_(self) -> numpy.ndarray:
        """The factors of the rows of the fit, (rows, factors); LDA and SFA keep none."""
        return self._factors(models().tamis_model_row_factors)

    # -------------------------------------------------------------------- files

    def save(self, path: Any) -> None:
        """Writes the model's file, which the program `tamis` reads too.

        >>> import numpy as np, scipy.sparse
        >>> from tamis.ml import ALS
        >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 0], [4, 0, 1], [0, 5, 2]]))
        >>> model = ALS(factors=2, iterations=5).fit(X)
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(os.path.join(folder, "a.model"))
        ...     ALS.load(os.path.join(folder, "a.model"))
        ALS(factors=2, iterations=5)
        """
        must(models().tamis_model_save(self._fitted(), os.fsencode(path)))

    def _load(self, path: Any) -> None:
        model = ctypes.c_void_p()
        must(models().tamis_model_load(opened(self._home()).handle, os.fsencode(path), model))
        self._model = _Model(model.value)
        self._describe()

    @classmethod
    def load(cls: type[Self], path: Any, device: str = "cpu") -> Self:
        """An estimator with the model of a file and the parameters that it was fitted with.

        >>> import numpy as np, scipy.sparse
        >>> from tamis.ml import ALS
        >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 0], [4, 0, 1], [0, 5, 2]]))
        >>> model = ALS(factors=2, iterations=5).fit(X)
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
        described = c.tamis_model_description()
        must(models().tamis_model_describe(made._model.value, described))
        if described.options.method != cls._method:
            name = models().tamis_method_name(described.options.method).decode()
            raise _errors.ArgumentError(f"{os.fspath(path)} is a model of {name}: expected {models().tamis_method_name(cls._method).decode()}")
        for name in cls._names():
            if name not in ("device", "devices", "dtype", "threads", "random_state"):
                kept = getattr(described.options, name)
                setattr(made, name, WEIGHTS[kept] if name == "weights" else kept)
        made.dtype = made._type
        return made

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name not in ("_model", "_callback", "_stopped")}
        if self.__sklearn_is_fitted__():
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model")
                self.save(path)
                with open(path, "rb") as file:
                    state["_file"] = file.read()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        content = state.pop("_file", None)
        vars(self).update(state)
        if content is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model")
                with open(path, "wb") as file:
                    file.write(content)
                self._load(path)


class BatchEstimator(Estimator):
    """The common part of the estimators that learn from one mini-batch after another: LDA, GaP, SFA."""

    def partial_fit(self: Self, X: Any, y: Any = None) -> Self:
        """One more step with a mini-batch of new rows. The first batch decides on the number of columns.

        >>> import numpy as np, scipy.sparse
        >>> from tamis.ml import LDA
        >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 0, 0], [4, 3, 0, 1], [0, 0, 2, 6]]))
        >>> LDA(factors=2).partial_fit(X[:2]).partial_fit(X[2:]).components_.shape
        (2, 4)
        """
        if self.devices is not None:
            raise _errors.UnsupportedError(f"devices = {self.devices!r}: {type(self).__name__} learns on one device: set device instead")
        first = not self.__sklearn_is_fitted__()
        s = samples(X) if first else self._samples(X)
        self._stopped = None
        if first:
            self._note_names(X)
            self._start()
        model, function = self._model, models().tamis_model_partial_fit
        return self._learn(lambda: function(model.value, byref(s.struct)), first)


class ALS(Estimator):
    """Ratings by alternating least squares. Parameters are fields of `tamis_model_options`, with its defaults; threads: 0 is all.

    devices: names of devices of this process that fit together, for instance ["cuda:0", "cuda:1"]; each has some rows of X, and all have the
    model in the end, which is that of one device but for rounding. It is then used on the first of them; `device` is not looked at. The
    same one may be there several times. ALS and ImplicitALS do this; `fit` of the others raises UnsupportedError.
    regularization: 0 finds lambda by the noise of the data. random_state: a number or a generator of NumPy in place of seed.

    >>> import numpy as np, scipy.sparse
    >>> from tamis.ml import ALS
    >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 0], [4, 0, 1], [0, 5, 2]]))
    >>> model = ALS(factors=2, iterations=20).fit(X)
    >>> model.transform(X).shape, model.predict(X).shape
    ((3, 3), (6,))
    """

    _method = c.TAMIS_ALS
    _scores_rows = True

    def __init__(self, factors: int = 32, iterations: int = 15, seed: int = 1, tolerance: float = 0.0, regularization: float = 0.0,
                 weighted: bool = True, biases: bool = True, cg_steps: int = 6, dtype: str = "float32", threads: int = 0, device: str = "cpu",
                 devices: Optional[Sequence[str]] = None, random_state: Any = None):
        self._set(locals())


class ImplicitALS(Estimator):
    """Counts of uses: missing entries count as zeros with little weight (Hu, Koren, Volinsky). Parameters as in `ALS`.

    weights: what a count r is taken for: "log", log2(1 + r); "linear", r; "ones", 1; "bm25", less in long rows and for frequent columns.

    >>> import numpy as np, scipy.sparse
    >>> from tamis.ml import ImplicitALS
    >>> plays = scipy.sparse.csr_array(np.float32([[9, 4, 0], [7, 0, 0], [0, 5, 2]]))
    >>> ImplicitALS(factors=2, iterations=5).fit(plays).recommend([1], n=1, seen=plays)[0]
    array([[1]])
    """

    _method = c.TAMIS_IMPLICIT_ALS
    _uses = True

    def __init__(self, factors: int = 32, iterations: int = 15, seed: int = 1, tolerance: float = 0.0, regularization: float = 0.0,
                 confidence: float = 1.0, weights: str = "log", cg_steps: int = 3, dtype: str = "float32", threads: int = 0, device: str = "cpu",
                 devices: Optional[Sequence[str]] = None, random_state: Any = None):
        self._set(locals())


class ItemKNN(Estimator):
    """Uses by nearest neighbours of items. `transform` gives a row's scores of all columns; `recommend` needs them as factors=, as no rows are kept.

    weights: "bm25" finds neighbours by products of BM25 weights, others by the cosine of weighted uses, see `ImplicitALS`.

    >>> import numpy as np, scipy.sparse
    >>> from tamis.ml import ItemKNN
    >>> plays = scipy.sparse.csr_array(np.float32([[9, 4, 0], [7, 0, 0], [2, 5, 2]]))
    >>> model = ItemKNN(neighbours=2, weights="ones").fit(plays)
    >>> model.recommend([1], n=1, seen=plays, factors=model.transform(plays))[0]
    array([[1]])
    """

    _method = c.TAMIS_ITEM_KNN
    _uses = _pairs = True

    def __init__(self, neighbours: int = 20, weights: str = "bm25", dtype: str = "float32", threads: int = 0, device: str = "cpu",
                 devices: Optional[Sequence[str]] = None, seed: int = 1, random_state: Any = None):
        self._set(locals())


class EASE(Estimator):
    """Uses by a linear weight for each pair of items (Steck 2019). As `ItemKNN`; regularization: 0 is a share of the mean uses of an item.

    >>> import numpy as np, scipy.sparse
    >>> from tamis.ml import EASE
    >>> plays = scipy.sparse.csr_array(np.float32([[9, 4, 0], [7, 0, 0], [2, 5, 2]]))
    >>> model = EASE(regularization=1.0).fit(plays)
    >>> bool(abs(np.diag(model.components_)).max() == 0)
    True
    """

    _method = c.TAMIS_EASE
    _uses = _pairs = True

    def __init__(self, regularization: float = 0.0, weights: str = "ones", dtype: str = "float32", threads: int = 0, device: str = "cpu",
                 devices: Optional[Sequence[str]] = None, seed: int = 1, random_state: Any = None):
        self._set(locals())


class CCD(Estimator):
    """Ratings by CCD++, one feature at a time. Parameters as in `ALS`.

    >>> import numpy as np, scipy.sparse
    >>> from tamis.ml import CCD
    >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 0], [4, 0, 1], [0, 5, 2]]))
    >>> CCD(factors=2, iterations=5, biases=False).fit(X).components_.shape
    (2, 3)
    """

    _method = c.TAMIS_CCD
    _scores_rows = True

    def __init__(self, factors: int = 32, iterations: int = 15, seed: int = 1, tolerance: float = 0.0, regularization: float = 0.0,
                 weighted: bool = True, biases: bool = True, inner_rounds: int = 5, nonnegative: bool = False, dtype: str = "float32", threads: int = 0,
                 device: str = "cpu", devices: Optional[Sequence[str]] = None, random_state: Any = None):
        self._set(locals())


class LDA(BatchEstimator):
    """Topics of documents by latent Dirichlet allocation, online in mini-batches. Parameters as in `ALS`.

    >>> import numpy as np, scipy.sparse
    >>> from tamis.ml import LDA
    >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 0, 0], [4, 3, 0, 1], [0, 0, 2, 6]]))
    >>> LDA(factors=2, iterations=5).fit(X).transform(X).shape
    (3, 2)
    """

    _method = c.TAMIS_LDA
    _counts = True

    def __init__(self, factors: int = 20, iterations: int = 20, seed: int = 1, tolerance: float = 0.0, inner_rounds: int = 5,
                 row_prior: float = 0.1, column_prior: float = 0.1, maximum_a_posteriori: bool = False, batch_rows: int = 0,
                 rate_decay: float = 0.5, rate_offset: float = 1.0, learn_row_prior: bool = False, elbo: bool = False,
                 dtype: str = "float32", threads: int = 0, device: str = "cpu",
                 devices: Optional[Sequence[str]] = None, random_state: Any = None):
        self._set(locals())


class SFA(BatchEstimator):
    """Ratings by sparse factor analysis in mini-batches of users, whose factors are not kept. Parameters as in `ALS`.

    >>> import numpy as np, scipy.sparse
    >>> from tamis.ml import SFA
    >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 0], [4, 0, 1], [0, 5, 2]]))
    >>> SFA(factors=2, iterations=5).fit(X).predict(X).shape
    (6,)
    """

    _method = c.TAMIS_SFA

    def __init__(self, factors: int = 32, iterations: int = 20, seed: int = 1, tolerance: float = 0.0, regularization: float = 0.1,
                 column_regularization: float = 0.1, weighted: bool = True, biases: bool = True, rate: float = 0.1, cg_steps: int = 5, batch_rows: int = 0, dtype: str = "float32",
                 threads: int = 0, device: str = "cpu",
                 devices: Optional[Sequence[str]] = None, random_state: Any = None):
        self._set(locals())


class GaP(BatchEstimator):
    """Counts by gamma-Poisson factors; with row_prior=1 and column_prior=0, non-negative factors that minimise the Kullback-Leibler divergence.

    >>> import numpy as np, scipy.sparse
    >>> from tamis.ml import GaP
    >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 0, 0], [4, 3, 0, 1], [0, 0, 2, 6]]))
    >>> model = GaP(factors=2, iterations=5).fit(X)
    >>> bool((model.components_ >= 0).all())
    True
    """

    _method = c.TAMIS_GAP
    _counts = True

    def __init__(self, factors: int = 20, iterations: int = 50, seed: int = 1, tolerance: float = 0.0, inner_rounds: int = 1,
                 row_prior: float = 1.1, column_prior: float = 1.0, batch_rows: int = 0, rate_decay: float = 0.5, rate_offset: float = 1.0,
                 dtype: str = "float32", threads: int = 0, device: str = "cpu",
                 devices: Optional[Sequence[str]] = None, random_state: Any = None):
        self._set(locals())


__all__ = ["ALS", "BatchEstimator", "CCD", "Data", "EASE", "EntrySplit", "Estimator", "GaP", "ImplicitALS", "ItemKNN", "LDA", "SFA", "last_out", "leave_one_out", "read", "split_entries", "split_time"]
