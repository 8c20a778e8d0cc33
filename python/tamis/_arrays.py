"""Types of arguments for type checkers: protocols for arrays and sparse matrices of any library."""
from __future__ import annotations

from typing import Any, Protocol, TypeVar, Union

from ._pattern import Pattern


class Array(Protocol):
    """A dense array of NumPy, PyTorch, CuPy or another library."""

    @property
    def shape(self) -> Any: ...

    @property
    def dtype(self) -> Any: ...


class SparseMatrix(Protocol):
    """A sparse matrix of SciPy, CuPy or PyTorch."""

    @property
    def shape(self) -> Any: ...

    @property
    def dtype(self) -> Any: ...

    def __matmul__(self, other: Any, /) -> Any: ...


ArrayT = TypeVar("ArrayT", bound=Array)
SparseT = TypeVar("SparseT", bound=SparseMatrix)
Arrays = Union[Pattern, tuple[Array, Array], tuple[Array, Array, Array]]
Sparse = Union[Arrays, SparseMatrix]
