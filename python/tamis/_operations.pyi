# The types of the operations: results are of the operands' library, samples of a matrix are a matrix of its kind (of a batch, an array).
from collections.abc import Callable, Mapping
from typing import Any, Literal, Optional, Protocol, TypeVar, Union, overload

import numpy

from ._pattern import Pattern

__all__ = ["attention", "fused", "sddmm", "spmm"]

class _Array(Protocol):
    """A dense array of NumPy, PyTorch, CuPy or another library."""

    @property
    def shape(self) -> Any: ...

    @property
    def dtype(self) -> Any: ...

class _SparseMatrix(_Array, Protocol):
    """A sparse matrix of SciPy, CuPy or PyTorch."""

    def __matmul__(self, other: Any, /) -> Any: ...

_ArrayT = TypeVar("_ArrayT", bound=_Array)
_SparseT = TypeVar("_SparseT", bound=_SparseMatrix)
_Arrays = Union[Pattern, tuple[_Array, _Array], tuple[_Array, _Array, _Array]]
_Sparse = Union[_Arrays, _SparseMatrix]

@overload
def sddmm(S: _Arrays, A: _ArrayT, B: _ArrayT, *, edge: Union[str, Callable[..., Any]] = ..., alpha: float = ..., beta: float = ..., out: Optional[_Array] = ...,
          values: Optional[_Array] = ..., scale: float = ..., slope: float = ..., epsilon: float = ..., numbers: Optional[Mapping[str, Any]] = ..., math: str = ...,
          convert: Literal[False] = ...) -> _ArrayT: ...
@overload
def sddmm(S: _SparseT, A: _ArrayT, B: _ArrayT, *, edge: Union[str, Callable[..., Any]] = ..., alpha: float = ..., beta: float = ..., out: Optional[_Array] = ...,
          values: Optional[_Array] = ..., scale: float = ..., slope: float = ..., epsilon: float = ..., numbers: Optional[Mapping[str, Any]] = ..., math: str = ...,
          convert: Literal[False] = ...) -> _SparseT: ...
@overload
def sddmm(S: Any, A: Any, B: Any, *, edge: Union[str, Callable[..., Any]] = ..., alpha: float = ..., beta: float = ..., out: Optional[_Array] = ..., values: Any = ...,
          scale: float = ..., slope: float = ..., epsilon: float = ..., numbers: Optional[Mapping[str, Any]] = ..., math: str = ..., convert: bool) -> Any: ...

@overload
def spmm(S: _Sparse, B: _ArrayT, *, transpose: bool = ..., alpha: float = ..., beta: float = ..., out: Optional[_ArrayT] = ...,
         values: Optional[_Array] = ..., convert: Literal[False] = ...) -> _ArrayT: ...
@overload
def spmm(S: Any, B: Any, *, transpose: bool = ..., alpha: float = ..., beta: float = ..., out: Optional[_Array] = ..., values: Any = ...,
         convert: bool) -> numpy.ndarray: ...

@overload
def fused(S: _Sparse, A: _ArrayT, B: _ArrayT, D: _ArrayT, *, edge: Union[str, Callable[..., Any]] = ..., transpose: bool = ..., alpha: float = ..., beta: float = ...,
          out: Optional[_ArrayT] = ..., values: Optional[_Array] = ..., scale: float = ..., slope: float = ..., epsilon: float = ..., numbers: Optional[Mapping[str, Any]] = ..., math: str = ...,
          convert: Literal[False] = ...) -> _ArrayT: ...
@overload
def fused(S: Any, A: Any, B: Any, D: Any, *, edge: Union[str, Callable[..., Any]] = ..., transpose: bool = ..., alpha: float = ..., beta: float = ..., out: Optional[_Array] = ...,
          values: Any = ..., scale: float = ..., slope: float = ..., epsilon: float = ..., numbers: Optional[Mapping[str, Any]] = ..., math: str = ..., convert: bool) -> numpy.ndarray: ...

@overload
def attention(mask: _Sparse, Q: _ArrayT, K: _ArrayT, V: _ArrayT, *, scale: Optional[float] = ..., bias: Optional[_Array] = ...,
              return_lse: Literal[False] = ..., out: Optional[_ArrayT] = ..., math: str = ..., convert: Literal[False] = ...) -> _ArrayT: ...
@overload
def attention(mask: _Sparse, Q: _ArrayT, K: _ArrayT, V: _ArrayT, *, scale: Optional[float] = ..., bias: Optional[_Array] = ..., return_lse: Literal[True],
              out: Optional[_ArrayT] = ..., math: str = ..., convert: Literal[False] = ...) -> tuple[_ArrayT, _ArrayT]: ...
@overload
def attention(mask: Any, Q: Any, K: Any, V: Any, *, scale: Optional[float] = ..., bias: Any = ..., return_lse: bool = ..., out: Optional[_Array] = ...,
              math: str = ..., convert: bool = ...) -> Any: ...
