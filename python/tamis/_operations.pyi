# The types of the operations: results are of the operands' library, samples of a matrix are a matrix of its kind (of a batch, an array).
from typing import Any, Literal, Optional, overload

import numpy

from ._arrays import Array, Arrays, ArrayT, Sparse, SparseT

__all__ = ["attention", "fused", "sddmm", "spmm"]

@overload
def sddmm(S: Arrays, A: ArrayT, B: ArrayT, *, edge: str = ..., alpha: float = ..., beta: float = ..., out: Optional[Array] = ..., values: Optional[Array] = ...,
          scale: float = ..., slope: float = ..., epsilon: float = ..., math: str = ..., convert: Literal[False] = ...) -> ArrayT: ...
@overload
def sddmm(S: SparseT, A: ArrayT, B: ArrayT, *, edge: str = ..., alpha: float = ..., beta: float = ..., out: Optional[Array] = ..., values: Optional[Array] = ...,
          scale: float = ..., slope: float = ..., epsilon: float = ..., math: str = ..., convert: Literal[False] = ...) -> SparseT: ...
@overload
def sddmm(S: Any, A: Any, B: Any, *, edge: str = ..., alpha: float = ..., beta: float = ..., out: Optional[Array] = ..., values: Any = ...,
          scale: float = ..., slope: float = ..., epsilon: float = ..., math: str = ..., convert: bool) -> Any: ...

@overload
def spmm(S: Sparse, B: ArrayT, *, transpose: bool = ..., alpha: float = ..., beta: float = ..., out: Optional[ArrayT] = ..., values: Optional[Array] = ...,
         convert: Literal[False] = ...) -> ArrayT: ...
@overload
def spmm(S: Any, B: Any, *, transpose: bool = ..., alpha: float = ..., beta: float = ..., out: Optional[Array] = ..., values: Any = ...,
         convert: bool) -> numpy.ndarray: ...

@overload
def fused(S: Sparse, A: ArrayT, B: ArrayT, D: ArrayT, *, edge: str = ..., transpose: bool = ..., alpha: float = ..., beta: float = ...,
          out: Optional[ArrayT] = ..., values: Optional[Array] = ..., scale: float = ..., slope: float = ..., epsilon: float = ..., math: str = ...,
          convert: Literal[False] = ...) -> ArrayT: ...
@overload
def fused(S: Any, A: Any, B: Any, D: Any, *, edge: str = ..., transpose: bool = ..., alpha: float = ..., beta: float = ..., out: Optional[Array] = ...,
          values: Any = ..., scale: float = ..., slope: float = ..., epsilon: float = ..., math: str = ..., convert: bool) -> numpy.ndarray: ...

@overload
def attention(mask: Sparse, Q: ArrayT, K: ArrayT, V: ArrayT, *, scale: Optional[float] = ..., bias: Optional[Array] = ..., return_lse: Literal[False] = ...,
              out: Optional[ArrayT] = ..., math: str = ..., convert: Literal[False] = ...) -> ArrayT: ...
@overload
def attention(mask: Sparse, Q: ArrayT, K: ArrayT, V: ArrayT, *, scale: Optional[float] = ..., bias: Optional[Array] = ..., return_lse: Literal[True],
              out: Optional[ArrayT] = ..., math: str = ..., convert: Literal[False] = ...) -> tuple[ArrayT, ArrayT]: ...
@overload
def attention(mask: Any, Q: Any, K: Any, V: Any, *, scale: Optional[float] = ..., bias: Any = ..., return_lse: bool = ..., out: Optional[Array] = ...,
              math: str = ..., convert: bool = ...) -> Any: ...
