"""The estimators' common part: using a fitted model (factors of new rows, predictions, recommendations, scores), and its files, which the program reads too."""
from __future__ import annotations

import ctypes
import os
import tempfile
from ctypes import byref
from typing import Any, Optional, TypeVar

import numpy

from .. import _declarations as c
from .. import _errors
from .._device import opened
from .._kinds import settle
from .._library import Owned, lib, models
from .._sparse import Sparse
from .._views import dense, view
from . import _held
from ._conventions import in_order, names_of, samples
from ._fitting import NOT_OPTIONS, WEIGHTS, Fitting
from ._handle import Model, NoAttribute, copied, lent, listed, must, places


def _count(n: Any) -> int:
    """Return a number of results that was asked for."""
    if isinstance(n, bool) or not isinstance(n, (int, numpy.integer)) or n < 0:
        raise _errors.ArgumentError(f"n = {n!r}: expected a whole number of 0 or more")
    return int(n)


def _allowed(model: Model, among: Any, without: Any) -> Optional[numpy.ndarray]:
    """Return for each column if it may be recommended; None: all may."""
    if among is None and without is None:
        return None
    allowed = numpy.full(model.about.cols, among is None)
    for given, name, value in ((among, "among", True), (without, "without", False)):
        numbers = places([] if given is None else given, name, model.names(False))
        outside = numbers[(numbers < 0) | (numbers >= len(allowed))]
        if outside.size:
            raise _errors.ArgumentError(f"{name} has {outside[0]}: expected numbers of columns, 0 to {len(allowed) - 1}")
        allowed[numbers] = value
    return allowed


Self = TypeVar("Self", bound="Estimator")


class Estimator(Fitting):
    """The common part of all estimators. Use one of its subclasses."""

    def get_feature_names_out(self, input_features: Any = None) -> numpy.ndarray:
        """Names of the columns of `transform`: "als0", "als1", ...

        >>> model = ALS(factors=2, iterations=5).fit([[5, 4, 0], [4, 0, 1], [0, 5, 2]])
        >>> list(model.get_feature_names_out())  # two factors and a bias
        ['als0', 'als1', 'als2']
        """
        width = self._fitted().about.width
        return numpy.array([f"{type(self).__name__.lower()}{number}" for number in range(width)], dtype=object)

    def transform(self, X: Any) -> numpy.ndarray:
        """The factors of the rows of X, (rows, factors): topics of documents, or new users folded in; with biases one more column.

        >>> X = [[5, 4, 0], [4, 0, 1], [0, 5, 2]]
        >>> model = ALS(factors=2, iterations=5).fit(X)
        >>> model.transform(X[:1]).shape
        (1, 3)
        """
        return self._transformed(self._fitted(), X)

    def _transformed(self, model: Model, X: Any) -> numpy.ndarray:
        """`transform` as an array, even if set_output requests data frames."""
        s = self._samples(model, X)
        W = numpy.empty((s.shape[0], model.about.width), model.type)
        must(models().tamis_model_transform(model.value, byref(s.struct), byref(dense(view(W, "W"), "W"))))
        return W

    def predict(self, X: Any, factors: Optional[numpy.ndarray] = None, *, observed: Any = None) -> numpy.ndarray:
        """Predictions at the places of X's entries, (nnz,), in the order in which X stores them. factors: of X's rows, from `transform`.

        The order is that of `X.data` for CSR, CSC, COO and BSR, of `X.tocsr().data` for SciPy's other formats, and row by row for a dense X.
        observed: what is known of X's rows, which may be new; their factors are found from it, for some rows at a time. With neither factors nor
        observed X's rows are the rows of the fit; if the model keeps none (LDA, SFA, models of pairs of columns, a model of `partial_fit`), X is what is known.

        >>> X = [[5, 4, 0], [4, 0, 1], [0, 5, 2]]
        >>> model = ALS(factors=2, iterations=5).fit(X)
        >>> model.predict(X).shape
        (6,)
        """
        model = self._fitted()
        s = self._samples(model, in_order(X))
        out = numpy.empty(s.nnz, "float64")
        if observed is not None or (factors is None and model.about.rows == 0):
            if factors is not None:
                raise _errors.ArgumentError("factors and observed are both given: the factors of X's rows follow from observed")
            known = s if observed is None else self._samples(model, observed, "observed")
            must(models().tamis_model_predict_rows(model.value, byref(known.struct), byref(s.struct), lent(out, ctypes.c_double)))
            return out
        W = None if factors is None else byref(dense(settle(view(factors, "factors")), "factors"))
        must(models().tamis_model_predict(model.value, W, byref(s.struct), lent(out, ctypes.c_double)))
        return out

    def recommend(self, rows: Any = None, n: int = 10, *, seen: Any = None,
                  factors: Optional[numpy.ndarray] = None, among: Any = None, without: Any = None, named: bool = False) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The n columns with the largest predictions for each of `rows`, best first, without those in `seen`, and their scores.

        rows: numbers or names (`row_names_`) of rows of the fit, or numbers of rows of `factors`; None: all. Models of pairs (ItemKNN, RatingKNN, EASE, Transitions) keep no
        rows: without factors, rows are rows of `seen`, and scores follow from what they used. Both results are (rows, n); where fewer are left, -1 and NaN.
        among, without: numbers or names of columns to which recommendations are restricted, and that are left out, for all rows. named: names in place of the
        columns' numbers, None for -1.

        >>> X = [[5, 4, 0], [4, 0, 1], [0, 5, 2]]
        >>> model = ALS(factors=2, iterations=5).fit(X)
        >>> columns, scores = model.recommend([0], n=1, seen=X)
        >>> columns
        array([[2]])
        >>> model.recommend([0], n=1, without=[0, 1])[0]
        array([[2]])
        """
        model = self._fitted()
        allowed = _allowed(model, among, without)
        numbers = None if rows is None else places(rows, "rows", model.names(True))
        known = None if seen is None else self._samples(model, seen, "seen")
        have = model.about.rows if factors is None else len(factors)
        if factors is None and known is not None and self._pairs:
            have = known.shape[0]
        count, n = have if numbers is None else len(numbers), _count(n)
        columns, scores = numpy.empty((count, n), "int64"), numpy.empty((count, n), "float64")
        W = None if factors is None else byref(dense(settle(view(factors, "factors")), "factors"))
        must(models().tamis_model_recommend_among(
            model.value, W, lent(numbers, ctypes.c_int64), count, None if known is None else byref(known.struct), lent(allowed, ctypes.c_bool), n,
            lent(columns, ctypes.c_int64), lent(scores, ctypes.c_double)))
        return self._named(columns, named), scores

    def recommend_rows(self, columns: Any = None, n: int = 10, *, seen: Any = None, named: bool = False) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The n rows of the fit with the largest predictions for each of `columns` (numbers or names; None: all), without those that have it in `seen`: the users
        for an item. Both results are (columns, n); where fewer are left, -1 and NaN.

        >>> X = [[5, 4, 0], [4, 0, 1], [0, 5, 2]]
        >>> model = ALS(factors=2, iterations=5).fit(X)
        >>> model.recommend_rows([1], n=1, seen=X)[0]  # who has not seen it
        array([[1]])
        """
        model = self._fitted()
        numbers = None if columns is None else places(columns, "columns", model.names(False))
        known = None if seen is None else self._samples(model, seen, "seen")
        count, n = model.about.cols if numbers is None else len(numbers), _count(n)
        rows, scores = numpy.empty((count, n), "int64"), numpy.empty((count, n), "float64")
        must(models().tamis_model_recommend_rows(model.value, lent(numbers, ctypes.c_int64), count, None if known is None else byref(known.struct), n,
                                                 lent(rows, ctypes.c_int64), lent(scores, ctypes.c_double)))
        return self._named(rows, named, rows=True), scores

    def explain(self, known: Any, column: Any, n: int = 10, *, named: bool = False) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Why `column` (a number or a name) is recommended to a row: the n entries of the row with the largest parts in its score, and the parts. known: the row.

        The parts of all entries add up to the score; for ALS, without the mean and the column's bias. For ALS, ImplicitALS, ItemKNN, EASE and Transitions.

        >>> plays = [[9, 4, 0], [7, 0, 0], [2, 5, 2]]
        >>> columns, parts = ItemKNN(weights="ones").fit(plays).explain([[1, 1, 0]], column=2, n=2)
        >>> columns.tolist()
        [1, 0]
        """
        model = self._fitted()
        row = self._samples(model, known, "known")
        number, n = places([column], "column", model.names(False)), _count(n)
        columns, parts = numpy.empty(n, "int64"), numpy.empty(n, "float64")
        must(models().tamis_model_explain(model.value, byref(row.struct), int(number[0]), n, lent(columns, ctypes.c_int64), lent(parts, ctypes.c_double)))
        return self._named(columns, named), parts

    def _named(self, numbers: numpy.ndarray, named: bool, rows: bool = False) -> numpy.ndarray:
        """Return names in place of numbers, if wanted; None for -1."""
        if not named:
            return numbers
        names = self.row_names_ if rows else self.column_names_
        if names is None:
            raise _errors.ArgumentError(f"named = True: the model has no names of {'rows' if rows else 'columns'}; set_names gives it some")
        return numpy.where(numbers >= 0, names[numpy.maximum(numbers, 0)], None)

    def topics(self, n: int = 10, *, named: bool = False) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The n columns with the largest weights in each factor, and the weights: the words of topics, for which they are probabilities. Both are (factors, n).

        >>> X = [[5, 4, 0, 0], [4, 3, 0, 1], [0, 0, 2, 6]]
        >>> model = LDA(factors=2, iterations=20, random_state=1).fit(X)
        >>> sorted(sorted(words.tolist()) for words in model.topics(n=2)[0])
        [[0, 1], [2, 3]]
        """
        model = self._fitted()
        factors, n = model.about.options.factors, _count(n)
        columns, weights = numpy.empty((factors, n), "int64"), numpy.empty((factors, n), "float64")
        must(models().tamis_model_topics(model.value, n, lent(columns, ctypes.c_int64), lent(weights, ctypes.c_double)))
        return self._named(columns, named), weights

    def coherence(self, X: Any, n: int = 10) -> float:
        """The mean NPMI of the first n words of each topic over the documents of X, -1 to 1: how often these words are in the same documents. Of topic models.

        >>> X = [[5, 4, 0, 0], [4, 3, 0, 1], [0, 0, 2, 6]]
        >>> LDA(factors=2, iterations=20).fit(X).coherence(X, n=2) > 0
        True
        """
        if not self._counts:
            raise _errors.UnsupportedError(f"{type(self).__name__} has no topics of words")
        s, result = self._samples(self._fitted(), X), c.tamis_score()
        held = c.tamis_held_out(ctypes.pointer(s.struct), ctypes.pointer(s.struct))
        must(models().tamis_model_score(self._fitted().value, byref(held), True, n, result))
        return result.coherence

    def similar(self, which: Any, n: int = 10, *, rows: bool = False) -> tuple[numpy.ndarray, numpy.ndarray]:
        """For each column in `which` (numbers or names), the n columns with the largest cosines of factors, and the cosines; rows: rows of the fit.

        Both are (which, n); where fewer are left, -1 and NaN. For models of pairs: the columns with the largest weights for a row that has only the
        one column, and the weights.

        >>> model = ALS(factors=2, iterations=5).fit([[5, 4, 0], [4, 0, 1], [0, 5, 2]])
        >>> columns, cosines = model.similar([0], n=2)
        >>> sorted(columns[0].tolist())
        [1, 2]
        """
        model = self._fitted()
        numbers, n = places(which, "which", model.names(rows)), _count(n)
        found, cosines = numpy.empty((len(numbers), n), "int64"), numpy.empty((len(numbers), n), "float64")
        must(models().tamis_model_similar(model.value, rows, lent(numbers, ctypes.c_int64), len(numbers), n, lent(found, ctypes.c_int64), lent(cosines, ctypes.c_double)))
        return found, cosines

    def score(self, X: Any, y: Any = None, *, observed: Any = None) -> float:
        """How well entries that the factors of their rows have not seen are predicted, larger is better: minus the RMSE of ratings; the mean log-likelihood of
        words, for NMF the coherence of the topics over the documents; of uses the share of those held out that is among the first ten recommended (recall), without
        what is known.

        observed: what is known of X's rows; their factors are found from it, and X is scored. None: for ALS and CCD, if X has as many rows as the fit, they are
        the rows of the fit, whose factors the model has; X that contradicts this is refused. In all other cases a fifth of each row's entries is held out, the
        factors are found from the rest, and the held-out entries are scored.

        >>> X = [[5, 4, 0], [4, 0, 1], [0, 5, 2]]
        >>> model = ALS(factors=2, iterations=5).fit(X)
        >>> model.score(X) <= 0
        True
        """
        if self._coherent:
            return self.coherence(X if observed is None else observed)
        model = self._fitted()
        s = self._samples(model, X)
        known: Optional[Sparse] = None
        if observed is not None:
            known = self._samples(model, observed, "observed")
            if known.shape[0] != s.shape[0]:
                raise _errors.ArgumentError(f"observed has {known.shape[0]} rows and X {s.shape[0]}: expected the same rows")
        elif self._scores_rows and model.about.rows == s.shape[0]:
            if model.remembered is not None:
                model.remembered.check(s)
        else:
            s, known = _held.divided(s, self._counts or self._uses)
        if s.nnz == 0:
            raise _errors.ArgumentError("X has no entries: nothing can be scored")
        held = c.tamis_held_out(ctypes.pointer(s.struct), None if known is None else ctypes.pointer(known.struct))
        result = c.tamis_score()
        must(models().tamis_model_score(model.value, byref(held), known is not None, 0, result))
        return result.recall if self._uses else result.log_likelihood if self._counts else -result.rmse

    def _factors(self, function: Any) -> numpy.ndarray:
        owned, model = Owned(lib.tamis_owned_dense_free), self._fitted()
        try:
            must(function(model.value, owned.value))
        except _errors.UnsupportedError as error:
            raise NoAttribute(str(error)) from None
        d = lib.tamis_owned_dense_view(owned.value).contents
        kind = ctypes.c_double if d.type == c.TAMIS_F64 else ctypes.c_float
        return copied(d.data, (d.rows, d.stride or d.cols), kind, d.cols)

    def set_names(self, rows: Any = None, columns: Any = None) -> None:
        """Gives rows and columns names, which `save` writes and the program uses: lists of strings that differ. None leaves those that are there, and an
        empty list removes them. A model that the program trained has the names in its file, and a fit to a data frame has its column names.

        >>> X = [[5, 4, 0], [4, 0, 1], [0, 5, 2]]
        >>> model = ALS(factors=2, iterations=5).fit(X)
        >>> model.set_names(["ann", "bob", "eve"], ["Alien", "Brazil", "Casablanca"])
        >>> columns, scores = model.recommend(["ann"], n=1, seen=X)
        >>> model.column_names_[columns]
        array([['Casablanca']], dtype=object)
        """
        with self._learning():
            model = self._fitted().copy()
            model.remembered = self._fitted().remembered
            model.set_names(rows, columns)
            self._publish(model, getattr(self, "feature_names_in_", None))

    def _names_of(self, rows: bool) -> Optional[numpy.ndarray]:
        model = self._fitted()
        names = listed(model.names(rows))
        return None if names is None else numpy.array(names, dtype=object)

    @property
    def row_names_(self) -> Optional[numpy.ndarray]:
        """The names of the rows of the fit, by their numbers; None: they have none."""
        return self._names_of(True)

    @property
    def column_names_(self) -> Optional[numpy.ndarray]:
        """The names of the columns, by their numbers; None: they have none."""
        return self._names_of(False)

    @property
    def components_(self) -> numpy.ndarray:
        """The factors of the columns, (factors, columns): of items, or the words of each topic."""
        return self._factors(models().tamis_model_column_factors).T

    @property
    def row_factors_(self) -> numpy.ndarray:
        """The factors of the rows of the fit, (rows, factors); LDA and SFA keep none."""
        return self._factors(models().tamis_model_row_factors)

    # -------------------------------------------------------------------------- files

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
        """An estimator with the model of a file and the parameters that it was fitted with; those that the fit chose by the data are then what it chose.

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
            if name not in (*NOT_OPTIONS, "dtype", "threads"):
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
        vars(self).update(self._defaults())  # of parameters that the version of the pickle did not have
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
