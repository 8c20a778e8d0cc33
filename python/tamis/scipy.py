"""Products of SciPy's sparse matrices and dense arrays on all cores, as programs already write them: `A @ B`, `A.dot(B)`, `B @ A`."""
from __future__ import annotations

import functools
import threading
from typing import Any, Callable

import numpy
import scipy.sparse

from ._errors import ArgumentError
from ._operations import spmm

# by format: from how many columns, and from how many nonzeros times columns, a call is faster (lab/bench/scipy_products.py). A call checks the indices,
# and sorts the entries of CSC and COO by rows, which takes longer than SciPy's product by a vector
WORTH = {"csr": (8, 300_000), "csc": (32, 500_000), "coo": (32, 3_000_000)}
_NAMES = (("_matmul_multivector", "_mul_multivector"), ("_matmul_vector", "_mul_vector"))  # of today's SciPy, and before 1.12
_TYPES = (numpy.dtype(numpy.float32), numpy.dtype(numpy.float64))
_lock = threading.Lock()
_own: dict[tuple[type, str], Callable[..., Any]] = {}  # SciPy's methods while ours are in their places
_worth: dict[str, tuple[int, int]] | None = None


def accelerate(least: int | None = None) -> Accelerated:
    """Let this library multiply SciPy's sparse matrices by dense arrays, on as many threads as `tamis.set_threads` says.

    It holds for CSR, CSC and COO in two dimensions, where the result is float32 or float64 and where this library was measured to be
    faster: never for vectors. least: a number of nonzeros times columns from which it computes instead. SciPy computes all others, and
    whatever this library refuses; its checks, errors and types of results stay. Sums may be added in another order. The returned
    object ends it by `restore()`, or as a context manager; contexts may be nested.

    >>> import numpy as np, scipy.sparse, tamis.scipy
    >>> A = scipy.sparse.csr_array(np.float32([[1, 0, 2], [0, 3, 0]]))
    >>> with tamis.scipy.accelerate(least=0):
    ...     A @ np.float32([[1, 2], [3, 4], [5, 6]])
    array([[11., 14.],
           [ 9., 12.]], dtype=float32)
    """
    if least is not None and (isinstance(least, bool) or not isinstance(least, (int, numpy.integer)) or least < 0):
        raise ArgumentError(f"least = {least!r}: expected an integer, 0 or more, or None")
    with _lock:
        before = _worth
        _set(WORTH if least is None else dict.fromkeys(WORTH, (0, int(least))))
    return Accelerated(before)


class Accelerated:
    """A call of `accelerate`: `restore()` puts back what there was before."""

    def __init__(self, before: dict[str, tuple[int, int]] | None):
        self._before = before

    def restore(self) -> None:
        """Put back SciPy's own methods, or what an outer context has set."""
        with _lock:
            _set(self._before)

    def __enter__(self) -> Accelerated:
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()


def _set(worth: dict[str, tuple[int, int]] | None) -> None:
    global _worth
    _worth = worth
    if worth is None:
        for (owner, name), method in _own.items():
            setattr(owner, name, method)
        _own.clear()
    elif not _own:
        for matrix in (scipy.sparse.csr_array, scipy.sparse.csc_array, scipy.sparse.coo_array):
            for names in _NAMES:
                owner, name = _defined(matrix, names)
                if (owner, name) not in _own:
                    _own[owner, name] = owner.__dict__[name]
                    setattr(owner, name, _multiplied(owner.__dict__[name]))


def _defined(matrix: type, names: tuple[str, ...]) -> tuple[type, str]:
    """Return the class that defines a method of a matrix, and the method's name in this SciPy."""
    for owner in matrix.__mro__:
        for name in names:
            if name in owner.__dict__:
                return owner, name
    raise RuntimeError(f"SciPy {scipy.__version__} has no {names[0]}: tamis.scipy does not know how it multiplies")


def _kind(S: Any, B: Any) -> numpy.dtype | None:
    """Return the type of a product that this library computes, None if SciPy does."""
    worth = (_worth or {}).get(S.format)
    if worth is None or type(B) is not numpy.ndarray or B.ndim > 2 or len(S.shape) != 2:
        return None
    columns = B.shape[1] if B.ndim == 2 else 1
    if columns < worth[0] or S.nnz * columns < worth[1]:
        return None
    kind = numpy.result_type(S.dtype, B.dtype)
    return kind if kind in _TYPES else None


def _multiplied(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def product(self: Any, other: Any) -> Any:
        kind = _kind(self, other)
        if kind is None:
            return method(self, other)
        B = other.astype(kind, order="A", copy=False)
        if not (B.flags.c_contiguous or B.flags.f_contiguous):
            B = numpy.ascontiguousarray(B)
        try:
            return spmm(self, B, values=numpy.ascontiguousarray(self.data, kind))
        except ArgumentError:  # such as columns outside of the matrix: SciPy answers as it does without us
            return method(self, other)
    return product
