"""Fitting: the parameters of an estimator, as in scikit-learn, as the library's options; on a device, on several, in mini-batches; in a thread of its own,
so that Ctrl-C ends it between two steps."""
from __future__ import annotations

import ctypes
import inspect
import threading
import weakref
from ctypes import byref
from typing import Any, Callable, Optional, Sequence, TypeVar

import numpy

from .. import _declarations as c
from .. import _errors, _interrupts, _types
from .._device import opened
from .._library import Owned, lib, models, text
from .._sparse import Sparse
from . import _held
from ._conventions import BaseEstimator, TransformerMixin, check_names, names_of, samples, seed_of
from ._handle import Model, lent, must, not_fitted, places

NOT_OPTIONS = ("device", "devices", "random_state", "seeds")  # parameters that the structure of options does not have
WEIGHTS = ("linear", "log", "bm25", "ones", "auto", "rp3beta", "tfidf")
Self = TypeVar("Self", bound="Fitting")


# ------------------------------------------------------------------------------ several devices of this process: each is a rank of a group, with its own
# thread and model, and rows with about equally many entries


def checked(devices: Any) -> list[str]:
    """Return the names in `devices`, at least one."""
    names = [] if isinstance(devices, str) or not hasattr(devices, "__iter__") else list(devices)
    if not names or not all(isinstance(name, str) for name in names):
        raise _errors.ArgumentError(f"devices = {devices!r}: expected a list of one name or more, for instance ['cuda:0', 'cuda:1']")
    return names


class Rows:
    """A matrix in host memory as CSR; each rank gets a slice of rows without a copy."""

    def __init__(self, s: Sparse, name: str):
        if s.device != "cpu":
            raise _errors.ArgumentError(f"{name} is on {s.device}: fits on several devices take data in host memory")
        s.validate()
        self._given, self.struct = s, c.tamis_sparse.from_buffer_copy(s.struct)
        if s.struct.format == c.TAMIS_COO:
            self._sort(s.struct)

    def _sort(self, coo: c.tamis_sparse) -> None:
        index = "int64" if coo.index_type == c.TAMIS_I64 else "int32"
        offsets, columns = numpy.empty(coo.rows + 1, "int64"), numpy.empty(coo.nnz, index)
        values = numpy.empty(coo.nnz * _types.SIZES[coo.value_type], "uint8")
        ordered = self.struct
        ordered.offset_type = c.TAMIS_I64
        must(lib.tamis_coo_to_csr(byref(ordered), offsets.ctypes.data, columns.ctypes.data, values.ctypes.data, None))
        ordered.format, ordered.row_indices = c.TAMIS_CSR, None
        ordered.offsets, ordered.columns, ordered.values = offsets.ctypes.data, columns.ctypes.data, values.ctypes.data
        self._arrays = offsets, columns, values

    def slice(self, first: int, end: int) -> c.tamis_sparse:
        """Rows first .. end - 1."""
        part = c.tamis_sparse()
        must(lib.tamis_slice(byref(self.struct), first, end - first, 0, 0, byref(part)))
        return part


class Ranks:
    """The ends of a group and the data of each rank."""

    def __init__(self, devices: list[int], s: Rows, entries: Optional[Rows], observed: Optional[Rows]):
        self._count = len(devices)
        self._groups = (ctypes.c_void_p * self._count)()
        self._ends = [Owned(lib.tamis_group_close, value=ctypes.c_void_p.from_buffer(self._groups, place * ctypes.sizeof(ctypes.c_void_p)))
                      for place in range(self._count)]
        starts = (ctypes.c_int64 * (self._count + 1))()
        must(lib.tamis_partition(byref(s.struct), self._count, starts))
        self._parts = [[None if rows is None else rows.slice(first, end) for rows in (s, entries, observed)] for first, end in zip(starts, starts[1:])]
        self._held = [c.tamis_held_out(*(None if part is None else ctypes.pointer(part) for part in parts[1:])) for parts in self._parts]
        must(lib.tamis_group_open_local((ctypes.c_void_p * self._count)(*devices), self._count, None, self._groups))

    def fit(self, fitted: list[ctypes.c_void_p], keep: Any, stop: Callable[[BaseException], None]) -> tuple[int, str]:
        """The status of the fit of these models, one per rank, and its message. keep: objects that live until it has ended.

        The library starts the threads of the ranks and waits for them in a thread of ours, which closes the group; the caller's tells `stop` of Ctrl-C.
        """
        def one(_: Any, rank: int) -> int:
            part, held = self._parts[rank], self._held[rank]
            return models().tamis_model_fit_group(fitted[rank], self._groups[rank], byref(part[0]), None if part[1] is None else byref(held))

        work, owned = c.tamis_rank_work(one), [keep]

        def run() -> tuple[int, str]:
            try:
                status = lib.tamis_group_run(self._count, work, None)
                return status, text(lib.tamis_last_error())  # messages belong to a thread
            finally:
                self._ends.clear()
                owned.clear()

        return _interrupts.apart(run, stop, self._ends.clear)


# ------------------------------------------------------------------------------ estimators


class Fitting(TransformerMixin, BaseEstimator):
    """Estimators with parameters and `fit`, and the properties of each method."""

    _method = -1
    _counts = False  # X's values must not be negative
    _seeded = False  # seeds: columns with which topics begin
    _coherent = False  # score is the coherence of topics, for predictions are no probabilities
    _pairs = False  # a model of pairs of columns, with scores in place of factors
    _uses = False  # missing entries of X count as zeros
    _ordered = False  # values of X are positions in time
    _over_biases = False  # factors are fitted to what biases leave
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

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return {name: parameter.default for name, parameter in inspect.signature(cls.__init__).parameters.items() if name != "self"}

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
        defaults = self._defaults()
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
            elif name not in NOT_OPTIONS and value is not None:
                if kinds[name] is ctypes.c_bool and not (isinstance(value, (bool, numpy.bool_)) or value in (0, 1)):
                    raise _errors.ArgumentError(f"{name} = {value!r}: expected True or False")
                if kinds[name] is not ctypes.c_double:
                    _errors.fits(name, value, kinds[name])
                try:
                    setattr(options, name, float(value) if kinds[name] is ctypes.c_double else value)
                except (TypeError, ValueError):
                    raise _errors.ArgumentError(f"{name} = {value!r}: expected a number") from None
        return options

    # -------------------------------------------------------------------------- fitting

    def fit(self: Self, X: Any, y: Any = None, *, held_out: Any = None, observed: Any = None, warm_start: bool = False, item_features: Any = None,
            user_features: Any = None) -> Self:
        """Fits to X, (rows, columns). held_out: entries on which each iteration's metric is measured; observed: what is known of their rows.

        Sets `n_features_in_`, `n_iter_`, `history_` (a dict of loss, metric, elbo and seconds for each iteration), the factors, and where it is a
        parameter `regularization_` (lambda of the last iteration: the parameter, or found or chosen by the data), `factors_`, `weights_`, `confidence_`, `neighbours_`, `row_prior_` and
        `column_prior_` (the parameter, or chosen by an inner split).
        Ctrl-C stops after a mini-batch, or an iteration, and is a KeyboardInterrupt; the model has then learnt what it has, and may be used. While options
        are chosen by the data, there is no model yet, and one of an earlier fit stays.
        Raises ValueError with the first bad entry; a model of an earlier fit then stays. Other threads may use that one meanwhile.

        warm_start: the fit starts from the result of the last one, and does `iterations` more. X may be other data with more rows and columns: the first
        ones are the last fit's. LDA, SFA and GaP learn from other data by `partial_fit` instead; ItemKNN, RatingKNN, EASE and Transitions are fitted from the beginning.

        item_features, user_features (ALS and ImplicitALS): a row of features for each column of X, and for each row of X; sparse or dense. Columns
        and rows of X without any entry get factors from them. `featured_items_` and `featured_users_` are the numbers of these, or -1 if features tell
        nothing of the factors; then they keep zeros.

        >>> model = ALS(factors=2, iterations=5).fit([[5, 4, 0], [4, 0, 1], [0, 5, 2]])
        >>> model.n_iter_, model.n_features_in_
        (5, 3)
        """
        s = samples(X)
        entries, known = (None if part is None else samples(part, name, s.shape[1], "X")
                          for part, name in ((held_out, "held_out"), (observed, "observed")))
        features = [self._features(part, name, number, what) for part, name, number, what in (
            (user_features, "user_features", s.shape[0], "rows"), (item_features, "item_features", s.shape[1], "columns"))]
        names, remembered = names_of(X), _held.remembered(s) if self._scores_rows else None
        with self._learning():
            if self.devices is not None:
                if any(part is not None for part in features):
                    raise _errors.UnsupportedError(f"devices = {self.devices!r}: features are of use to fits on one device: set device instead")
                if warm_start:
                    raise _errors.UnsupportedError(f"devices = {self.devices!r}: a warm start is on one device: set device instead")
                return self._fit_group(s, entries, known, names, remembered)
            model, function = self._start(warm_start and self.__sklearn_is_fitted__()), models().tamis_model_fit
            model.remembered = remembered
            model.forget_names(s.shape)
            if self._seeded:
                self._set_seeds(model, s.shape[1], names)
            for rows, part in zip((True, False), features):
                if part is not None:
                    must(models().tamis_model_set_features(model.value, rows, byref(part.struct)))
            held = c.tamis_held_out(*(None if part is None else ctypes.pointer(part.struct) for part in (entries, known)))
            return self._learn(model, lambda: function(model.value, byref(s.struct), None if entries is None else byref(held)), names)

    def _set_seeds(self, model: Model, columns: int, names: Any) -> None:
        """Give the model the columns with which each topic begins."""
        given: Any = getattr(self, "seeds")
        if given is None:
            return
        if names is not None and len(set(names)) == columns and all(names):
            model.set_names(None, names)
        topics = numpy.full(columns, -1, "int64")
        for topic, of_topic in enumerate(given):
            for column in places(of_topic, f"seeds[{topic}]", model.names(False)):
                if not 0 <= column < columns:
                    raise _errors.ArgumentError(f"seeds[{topic}] has {column}: expected numbers of columns, 0 to {columns - 1}")
                if topics[column] >= 0:
                    raise _errors.ArgumentError(f"seeds[{topic}] has {column}, which is a seed of topic {topics[column]} too: a column has one topic")
                topics[column] = topic
        must(models().tamis_model_set_seeds(model.value, lent(topics, ctypes.c_int64), columns))

    @staticmethod
    def _features(given: Any, name: str, number: int, what: str) -> Optional[Sparse]:
        """Return the view of features, a row for each of `number` rows or columns of X."""
        if given is None:
            return None
        s = samples(given, name)
        if s.shape[0] != number:
            raise _errors.ArgumentError(f"{name} has {s.shape[0]} rows, and X {number} {what}: give it a row for each")
        return s

    def _learning(self) -> Any:
        """Return the lock of learning: one thread at a time learns. The first caller makes it, atomically."""
        return vars(self).setdefault("_lock", threading.RLock())

    def _fit_group(self: Self, s: Sparse, entries: Optional[Sparse], known: Optional[Sparse], names: Any, remembered: Any) -> Self:
        """Fit on several devices. Keeps the first device's model, which is the whole model."""
        whole = [None if part is None else Rows(part, name) for part, name in ((s, "X"), (entries, "held_out"), (known, "observed"))]
        for part, name in zip(whole[1:], ("held_out", "observed")):
            if part is not None and part.struct.rows != s.shape[0]:
                raise _errors.ArgumentError(f"{name} has {part.struct.rows} rows and X {s.shape[0]}: each device has the same rows of both")
        devices = [opened(name).handle for name in checked(self.devices)]
        others = [self._made(handle, self._options()) for handle in devices[1:]]
        model = self._start()
        model.remembered = remembered
        assert whole[0] is not None
        ranks = Ranks(devices, whole[0], *whole[1:])
        fitted = [model, *others]
        status, message = ranks.fit([one.value for one in fitted], (fitted, self._callback), self._stop)
        return self._ended(model, status, message, names)

    def _learn(self: Self, model: Model, function: Any, names: Any) -> Self:
        """Call a learning function in a new thread: its callback is Python code, in which no signal may be handled."""
        status, message = _interrupts.apart(lambda: (function(), text(lib.tamis_last_error())), self._stop)
        return self._ended(model, status, message, names)

    def _ended(self: Self, model: Model, status: int, message: str, names: Any) -> Self:
        """After a call that learns: its model takes the place of the former one, which stays if the call fails. One that was stopped is as it was after its
        last mini-batch or iteration, and may be used."""
        stopped, self._stopped, error = self._stopped, None, None
        try:
            if status not in (c.TAMIS_OK, c.TAMIS_ERROR_CANCELLED):
                error = _errors.renamed(_errors.of_status(status, message), {"S": "X"})
                if stopped is None:
                    raise error
            else:
                model.describe()
                if model.about.cols > 0:  # a stopped model of pairs is not usable
                    self._publish(model, names)
            if stopped is not None:
                raise stopped from error
        finally:
            del stopped, error  # tracebacks refer to this frame: a cycle that would keep the model alive
        if status:  # the callback stops only because of an exception in it
            raise KeyboardInterrupt
        return self

    def _stop(self, error: BaseException) -> None:
        if self._stopped is None:
            self._stopped = error

    def fit_transform(self, X: Any, y: Any = None) -> numpy.ndarray:
        """`fit`, then `transform`, of the same X.

        >>> X = [[5, 4, 0], [4, 0, 1], [0, 5, 2]]
        >>> ALS(factors=2, iterations=5, biases=False).fit_transform(X).shape
        (3, 2)
        """
        self.fit(X)
        return self._transformed(self._fitted(), X)

    def _start(self, warm: bool = False) -> Model:
        """Make the model of a fit. warm: a copy of the existing model continues."""
        self._stopped = None
        options, learning = self._options(), weakref.ref(self)  # it refers to the callback: avoids a cycle that would keep the model alive

        def after(_: Any, iteration: Any) -> bool:
            me = learning()
            assert me is not None
            try:
                i = iteration.contents
                if me._stopped is not None:
                    return False
                if i.batch == i.batches:
                    me.history_.append({"iteration": i.iteration, "loss": i.loss, "metric": i.metric, "elbo": i.elbo, "seconds": i.seconds})
                return True
            except BaseException as error:  # noqa: BLE001  no exception passes through C
                me._stop(error)
                return False

        self._callback = c.tamis_iteration_callback(after)
        options.callback = self._callback
        if warm:
            former = self._fitted()
            self._check_same(former, options)
            model = former.copy()
            must(models().tamis_model_continue_with(model.value, byref(options)))
            must(models().tamis_model_renew(model.value))
        else:
            model = self._made(opened(self._home()).handle, options)
        self.history_: list[dict[str, Any]] = []
        return model

    def _check_same(self, model: Model, options: c.tamis_model_options) -> None:
        """Refuse parameters with which the model cannot continue."""
        for name in self._names():
            field = {"dtype": "type"}.get(name, name)
            if name in (*NOT_OPTIONS, "threads", "seed", "iterations", "tolerance", "elbo"):
                continue
            given = getattr(options, field)
            open_to_choice = getattr(self, name) is None or (name, given) in (("factors", 0), ("weights", c.TAMIS_WEIGHTS_AUTO))
            if not open_to_choice and given != getattr(model.about.options, field):
                raise _errors.ArgumentError(f"{name} = {getattr(self, name)!r} is not what the model was fitted with: a warm start goes on with the same parameters")

    @staticmethod
    def _made(device: int, options: c.tamis_model_options) -> Model:
        model = Model()
        must(models().tamis_model_create(device, byref(options), model.value))
        return model

    def _home(self) -> str:
        """Return the model's device."""
        return self.device if self.devices is None else checked(self.devices)[0]

    def _publish(self, model: Model, names: Any = None) -> None:
        """Replace the former model by a fitted one. names: of a data frame's columns, for comparison in later calls."""
        model.describe()
        about = model.about
        if hasattr(self, "regularization"):
            self.regularization_ = about.regularization
        if self._over_biases:
            self.biases_alone_ = about.biases_alone
        if hasattr(self, "factors"):
            self.factors_ = about.options.factors
        if hasattr(self, "confidence"):
            self.confidence_ = about.options.confidence
        if hasattr(self, "neighbours"):
            self.neighbours_ = about.options.neighbours
        if hasattr(self, "row_prior"):
            self.row_prior_, self.column_prior_ = about.options.row_prior, about.options.column_prior
        if hasattr(self, "weights"):
            self.weights_ = WEIGHTS[about.options.weights]
        if self._method in (c.TAMIS_ALS, c.TAMIS_IMPLICIT_ALS):
            self.featured_users_, self.featured_items_ = about.featured_rows, about.featured_columns
        self.n_features_in_, self.n_iter_, self.loss_ = about.cols, about.iterations_done, about.loss
        if names is not None:
            if not model.names(False) and len(set(names)) == about.cols and all(names):
                model.set_names(None, names)  # for the program, and for later users of the file
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._model = model

    def _fitted(self) -> Model:
        """Return the model. The caller holds it to the end of a call, since another one may replace it meanwhile."""
        model = getattr(self, "_model", None)
        if model is None:
            raise not_fitted(type(self).__name__)
        return model

    def _samples(self, model: Model, X: Any, name: str = "X") -> Sparse:
        """Return the view of X for a fitted model."""
        if name == "X":
            check_names(self, X)
        return samples(X, name, model.about.cols, type(self).__name__)
