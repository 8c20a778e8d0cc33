"""The data of methods: from files, and divided for cross-validation and tests."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Optional, Sequence

import numpy

from .. import _declarations as c
from .. import _errors
from .._library import Owned, lib, models, must
from . import _held
from ._conventions import samples
from ._handle import copied, listed


def _names(names: Owned) -> Optional[list[str]]:
    return listed(names.value)


def _matrix(owned: Owned) -> Any:
    """Return the matrix as a SciPy matrix with its own memory."""
    import scipy.sparse
    if not owned.value:
        return None
    s = lib.tamis_owned_sparse_view(owned.value).contents
    index = {c.TAMIS_I32: ctypes.c_int32, c.TAMIS_I64: ctypes.c_int64}
    value = ctypes.c_double if s.value_type == c.TAMIS_F64 else ctypes.c_float
    return scipy.sparse.csr_matrix((copied(s.values, (s.nnz,), value), copied(s.columns, (s.nnz,), index[s.index_type]),
                                    copied(s.offsets, (s.rows + 1,), index[s.offset_type])), shape=(s.rows, s.cols))


class _Four(NamedTuple):
    X: Any
    rows: Optional[list[str]]
    columns: Optional[list[str]]
    times: Any


class Data(_Four):
    """The result of `read`: four members, and the attribute `found`, a line that describes how the file was read.

    >>> Data._fields
    ('X', 'rows', 'columns', 'times')
    """

    found: str = ""


def read(path: Any, method: Any, *, columns: Optional[str] = None) -> Data:
    """The data of a file for an estimator (`ALS`, `ImplicitALS`, ...) as the program reads them: X, a matrix of SciPy in CSR; the names of its rows and
    columns, None where they are numbers; and times, a matrix of the same entries, None where a line has none. "-" is standard input. `found` of the result
    is one line that says what the columns of a list were taken for and what was skipped; it is empty for files of other formats.

    columns: "user=NAME,item=NAME" and maybe "rating=NAME" and "time=NAME", titles of the first line or numbers from 1; what is not named is not read.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "ratings.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("userId,movieId,rating\\nann,Alien,5\\nbob,Alien,3\\n")
    ...     data = read(path, ALS)
    >>> data.X.shape, data.rows, data.columns
    ((2, 1), ['ann', 'bob'], ['Alien'])
    >>> data.found
    "ratings: user = column 1 'userId', item = column 2 'movieId', rating = column 3 'rating'; 1 line of titles"
    """
    call = models()
    made = [Owned(free) for free in (lib.tamis_owned_sparse_free, call.tamis_names_free, call.tamis_names_free, lib.tamis_owned_sparse_free)]
    where = "/dev/stdin" if path == "-" else os.fspath(path)
    found = ctypes.create_string_buffer(c.TAMIS_FOUND_BYTES)
    must(call.tamis_read_data_found(method._method, os.fsencode(where), None if columns is None else columns.encode(), found, *(one.value for one in made)))
    data = Data(*(take(made.pop(0)) for take in (_matrix, _names, _names, _matrix)))  # each is freed as soon as it is copied
    data.found = found.value.decode(errors="surrogateescape")
    return data


def count_words(texts: Iterable[str], *, min_documents: int = 2, max_share: float = 0.5, words: Optional[Sequence[str]] = None, pairs: bool = False) -> tuple[Any, list[str]]:
    """Counts of the words of texts for `LDA` and `GaP`: a matrix of SciPy in CSR, texts x words, and the words, in the order in which they come first.

    A word is a run of letters, combining marks and digits of any script with a letter in it, in lower case; single letters of alphabets are no words. Words in
    fewer than min_documents texts or in more than the share max_share of them are left out. words: those to count, such as a model's; then no others are.
    pairs: words that follow each other count as a word too, such as "new york", but for pairs with a word of too many texts.

    >>> X, words = count_words(["The café opens", "the CAFÉ closes", "nothing opens here"], max_share=0.7)
    >>> words, X.toarray().tolist()
    (['the', 'café', 'opens'], [[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    """
    texts = texts if isinstance(texts, (str, bytes)) else list(texts)  # which may be a generator
    if isinstance(texts, (str, bytes)) or any(not isinstance(text, str) for text in texts):
        raise _errors.ArgumentError("texts: expected a list of strings, a document each")
    call = models()
    options = c.tamis_text_options(min_documents=_errors.fits("min_documents", min_documents, ctypes.c_int64), max_share=max_share, pairs=bool(pairs))
    known = Owned(call.tamis_names_free)
    if words is not None:
        must(call.tamis_names_create(known.value))
        for word in words:
            name = word.encode()
            must(call.tamis_names_add(known.value, name, len(name), ctypes.byref(ctypes.c_int64())))
        options.words = known.value
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    count = len(encoded)
    made = [Owned(lib.tamis_owned_sparse_free), Owned(call.tamis_names_free)]
    must(call.tamis_count_words((ctypes.c_char_p * count)(*encoded), (ctypes.c_int64 * count)(*map(len, encoded)), count, ctypes.byref(options),
                                *(one.value for one in made)))
    return _matrix(made[0]), _names(made[1]) or []


class EntrySplit:
    """Cross-validation of estimators that predict entries: as cv= of scikit-learn's GridSearchCV, cross_val_score and others; or by `entries`.

    A search divides X by rows, and gives an estimator whole rows. `split` makes n_splits folds of rows. The rows of a fold are new to the estimator: its
    `score` holds out a fifth of each row's entries, finds the row's factors from the rest, and measures how well those held out are predicted. Folds never have
    as many rows as the fit, so that they are not taken for the rows of the fit. random_state: the seed of the order of the rows.

    >>> random = np.random.default_rng(1)
    >>> full = random.random((40, 2)) @ random.random((2, 20))
    >>> X = scipy.sparse.csr_array(np.float32(full * (random.random((40, 20)) < 0.5)))
    >>> [(len(train), len(test)) for train, test in EntrySplit(4).split(X)]
    [(30, 10), (30, 10), (30, 10), (30, 10)]
    >>> [ALS(factors=2).fit(X[train]).score(X[test]) > -0.5 for train, test in EntrySplit(2).split(X)]
    [True, True]
    """

    def __init__(self, n_splits: int = 5, *, random_state: int = 0):
        self.n_splits, self.random_state = n_splits, random_state

    def __repr__(self) -> str:
        return f"EntrySplit(n_splits={self.n_splits}, random_state={self.random_state})"

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds.

        >>> EntrySplit(3).get_n_splits()
        3
        """
        if not isinstance(self.n_splits, (int, numpy.integer)) or isinstance(self.n_splits, bool) or self.n_splits < 2:
            raise _errors.ArgumentError(f"n_splits = {self.n_splits!r}: expected a whole number of 2 or more")
        return int(self.n_splits)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[numpy.ndarray, numpy.ndarray]]:
        """For each fold the numbers of the rows to fit to, and of those to score on.

        >>> sorted(row for _, test in EntrySplit(3).split(np.ones((7, 2))) for row in test.tolist())
        [0, 1, 2, 3, 4, 5, 6]
        """
        folds, rows = self.get_n_splits(), int(X.shape[0]) if hasattr(X, "shape") else len(X)
        if rows < max(folds, 3):
            raise _errors.ArgumentError(f"X has {rows} rows: expected {max(folds, 3)} or more for n_splits = {folds}")
        order = numpy.random.default_rng(self.random_state).permutation(rows)
        parts = numpy.array_split(order, folds)
        if folds == 2 and 2 * len(parts[0]) == rows:
            parts = [order[:rows // 2 + 1], order[rows // 2 + 1:]]
        for part in parts:
            yield numpy.setdiff1d(order, part), numpy.sort(part)

    def entries(self, X: Any) -> Iterator[tuple[Any, Any]]:
        """For each fold X without some entries of each row, and X with these alone: matrices of SciPy with all rows, for estimators that keep them.

        Each entry is in one fold's second matrix; repeated entries are summed. A row with fewer entries than folds has none in some.

        >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 1], [4, 2, 1]]))
        >>> for train, test in EntrySplit(3).entries(X):
        ...     print(train.nnz, test.nnz, (train + test != X).nnz)
        4 2 0
        4 2 0
        4 2 0
        """
        import scipy.sparse
        folds, s = self.get_n_splits(), samples(X)
        rows, columns, values = _held.summed(*_held.entries(s, "X"))
        kind = getattr(getattr(X, "dtype", None), "name", "float64")
        values = values.astype(kind if kind in ("float32", "float64") else "float64")
        draw = numpy.random.default_rng(self.random_state)
        of = (_held.places(rows, draw.random(len(rows))) + draw.integers(folds, size=s.shape[0])[rows]) % folds
        for fold in range(folds):
            yield tuple(scipy.sparse.csr_array((values[part], (rows[part], columns[part])), s.shape) for part in (of != fold, of == fold))  # type: ignore


def _parts(X: Any, held: Callable[[numpy.ndarray, numpy.ndarray], numpy.ndarray]) -> tuple[Any, Any]:
    """Return X without the entries for which `held`, given their rows and positions in X's CSR, is true; and a matrix of these entries."""
    import scipy.sparse
    csr = scipy.sparse.csr_array(X, copy=True)
    csr.sort_indices()
    rows = numpy.repeat(numpy.arange(csr.shape[0]), numpy.diff(csr.indptr))
    away = held(rows, csr.indptr)
    return tuple(scipy.sparse.csr_array((csr.data[part], (rows[part], csr.indices[part])), csr.shape) for part in (~away, away))  # type: ignore


def _times_of(X: Any, times: Any) -> numpy.ndarray:
    import scipy.sparse
    csr, of = scipy.sparse.csr_array(X, copy=True), scipy.sparse.csr_array(times, copy=True)  # which are sorted in place
    for one in (csr, of):
        one.sort_indices()
    if csr.shape != of.shape or not (numpy.array_equal(csr.indptr, of.indptr) and numpy.array_equal(csr.indices, of.indices)):
        raise _errors.ArgumentError("times has other entries than X: expected a time for each, as `read` returns them")
    return of.data


def positions(times: Any) -> Any:
    """The positions of a row's entries in time, 1 for the first, which `Transitions` is fitted to: a matrix of SciPy in CSR.

    >>> positions([[30, 10, 20], [0, 9, 0]]).toarray().tolist()
    [[3.0, 1.0, 2.0], [0.0, 1.0, 0.0]]
    """
    import scipy.sparse
    csr = scipy.sparse.csr_matrix(times, copy=True)  # sorting must not change the arrays of other matrices
    csr.sort_indices()
    rows = numpy.repeat(numpy.arange(csr.shape[0]), numpy.diff(csr.indptr))
    return scipy.sparse.csr_matrix((_held.places(rows, csr.data).astype("float32") + 1, csr.indices, csr.indptr), csr.shape)


def split_entries(X: Any, share: float = 0.2, *, random_state: int = 1) -> tuple[Any, Any]:
    """X without a share of each row's entries, and X with these alone. Every row keeps an entry.

    >>> train, test = split_entries(scipy.sparse.csr_array(np.ones((4, 10), "float32")))
    >>> train.nnz, test.nnz
    (32, 8)
    """
    if not 0 < share < 1:
        raise _errors.ArgumentError(f"share = {share}: expected between 0 and 1")

    def held(rows: numpy.ndarray, ends: numpy.ndarray) -> numpy.ndarray:
        draw, counts = numpy.random.default_rng(random_state), numpy.diff(ends)
        take = numpy.minimum(numpy.floor(share * counts + draw.random(len(counts))), numpy.maximum(counts - 1, 0))
        return _held.places(rows, draw.random(len(rows))) < take[rows]
    return _parts(X, held)


def leave_one_out(X: Any, *, random_state: int = 1) -> tuple[Any, Any]:
    """X without one entry of each row that has two or more, drawn at random, and X with these alone.

    >>> train, test = leave_one_out([[1, 1, 1], [0, 1, 0]])
    >>> train.nnz, test.nnz
    (3, 1)
    """
    def held(rows: numpy.ndarray, ends: numpy.ndarray) -> numpy.ndarray:
        draw = numpy.random.default_rng(random_state)
        return (_held.places(rows, draw.random(len(rows))) == 0) & (numpy.diff(ends)[rows] > 1)
    return _parts(X, held)


def last_out(X: Any, times: Any) -> tuple[Any, Any]:
    """X without the last entry of each row that has two or more, by their times, and X with these alone. times: a matrix of the same entries.

    >>> last_out([[1, 1, 1], [0, 1, 0]], times=[[3, 9, 5], [0, 9, 0]])[1].indices.tolist()
    [1]
    """
    of = _times_of(X, times)
    return _parts(X, lambda rows, ends: (_held.places(rows, -of) == 0) & (numpy.diff(ends)[rows] > 1))


def split_time(X: Any, times: Any, start: Any) -> tuple[Any, Any]:
    """X with the entries before `start`, and X with those from then on: a time, or a date such as "2024-01-01".

    >>> [part.nnz for part in split_time([[1, 1, 1], [0, 1, 0]], times=[[3, 9, 5], [0, 9, 0]], start=5)]
    [1, 3]
    """
    of = _times_of(X, times)
    if isinstance(start, str):
        try:
            start = float(numpy.datetime64(start, "s").astype("int64"))
        except ValueError:
            raise _errors.ArgumentError(f"start = {start!r}: expected a date such as 2024-01-01, or a number") from None
    return _parts(X, lambda rows, ends: of >= start)
