"""The operations for JAX, with derivatives, under jit and vmap.

    samples = tamis.jax.sddmm(offsets, columns, A, B)           one number for each place
    C = tamis.jax.spmm(offsets, columns, B, values=samples)     sums over the places of a row
    out = tamis.jax.attention(offsets, columns, q, k, v)        softmax over the places of a row, then the sum

The pattern is two arrays, the row offsets (rows + 1,) and the columns (nnz,) of CSR, int32 or int64. They are operands like others, so one
compiled function serves all patterns of the same sizes. XLA calls the library through its foreign function interface: nothing is compiled
on the user's machine. Derivatives of every order, in both modes. JAX 0.5 or newer.

Wrong shapes and types are ValueErrors when a function is traced. A wrong pattern is found when it runs: jax.errors.JaxRuntimeError, a
RuntimeError, with the library's message. Examples assume `import jax`, `import jax.numpy as jnp` and `from tamis.jax import *`.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Optional

import jax
import jax.numpy as jnp
import numpy

from . import _errors
from ._named import shape_of
from ._plan import MATH, apart, choice, edge_number, is_expression
from ._traced import text_of
from ._types import FUSED, OPERANDS, SDDMM, SPMM

if not hasattr(jax, "ffi"):
    raise ImportError(f"tamis.jax needs jax.ffi, which JAX has from 0.5: this is {jax.__version__}")

from ._jax import MASK, Form, Given, by_expression, operation  # noqa: E402

TYPES = ("float32", "float64", "float16", "bfloat16")


# ------------------------------------------------------------------------------ checks, when a function is traced


def _index(x: Any, name: str) -> Any:
    x = jnp.asarray(x)
    if x.ndim != 1 or str(x.dtype) not in ("int32", "int64"):
        raise _errors.ArgumentError(f"{name} is {x.dtype} of shape {x.shape}: expected a vector of int32 or int64")
    return x


def _checked(form: Form, offsets: Any, columns: Any, values: Any, operands: tuple, named: Mapping[str, Any] = {}) -> Any:
    """Check sizes and types, give all operands the same number of dimensions, and make the call. named: the arrays that an expression as edge names."""
    names = OPERANDS[form.operation]
    operands = tuple(jnp.asarray(x) for x in operands)
    dtype = operands[0].dtype
    if form.edge == MASK:
        values = None
    given = list(zip(operands, names))
    if values is not None:
        values = jnp.asarray(values)
        given.append((values, "values"))
    for x, name in given:
        if x.dtype != dtype:
            raise _errors.ArgumentError(f"{name} is {x.dtype} and {names[0]} {dtype}: convert one, for instance by {name}.astype('{dtype}')")
        if str(x.dtype) not in TYPES:
            raise _errors.ArgumentError(f"{name} has elements of type {x.dtype}: expected float32, float64, float16 or bfloat16")
        if x.ndim < (1 if name == "values" else 2):
            raise _errors.ArgumentError(f"{name} has shape {x.shape}: expected {'a vector' if name == 'values' else 'a matrix'}, or a batch")
    first, last = (form.cols, form.rows) if form.transpose else (form.rows, form.cols)
    heights = {SDDMM: (first, last), SPMM: (last,), FUSED: (first, last, last)}[form.operation]
    for x, name, height in zip(operands, names, heights):
        if x.shape[-2] != height:
            raise _errors.ArgumentError(f"{name} has shape {x.shape}: expected {height} rows")
    if form.operation != SPMM and operands[0].shape[-1] != operands[1].shape[-1]:
        raise _errors.ArgumentError(f"A has shape {operands[0].shape} and B {operands[1].shape}: expected as many columns")
    if values is not None and values.shape[-1] != columns.shape[0]:
        raise _errors.ArgumentError(f"values has shape {values.shape}: expected {columns.shape[0]} numbers, one for each place")
    try:
        lead = Given(operands, values).lead
    except ValueError:
        raise _errors.ArgumentError(f"the leading dimensions of {', '.join(f'{name} {x.shape}' for x, name in given)} differ") from None
    if 0 in lead:
        raise _errors.ArgumentError(f"leading dimensions {lead}: a batch of no members")
    operands = tuple(jnp.reshape(x, (1,) * (len(lead) + 2 - x.ndim) + x.shape) for x in operands)
    if values is not None:
        values = jnp.reshape(values, (1,) * (len(lead) + 1 - values.ndim) + values.shape)
    if is_expression(form.edge):
        arrays = {name: _array(name, x, lead, (first, last, columns.shape[0])) for name, x in named.items()}
        return by_expression(form, offsets, columns, Given(operands, values), arrays)
    return operation(form, False, offsets, columns, *operands, *([] if values is None else [values]))[0]


def _array(name: str, x: Any, lead: tuple[int, ...], sizes: tuple[int, int, int]) -> Any:
    """Check an array that an expression names: one for all members of the batch, or one of each."""
    x, wanted = jnp.asarray(x), shape_of(name, lead, sizes)
    own = wanted[len(lead):]
    if x.shape not in (own, wanted):
        raise _errors.ArgumentError(f"{name} has shape {x.shape}: expected {own or 'one number'}{f' or {wanted}' if lead else ''}")
    return x


def _edge(edge: Any, numbers: Optional[Mapping[str, Any]]) -> tuple[int, Mapping[str, Any]]:
    """Return the number of an edge, and the arrays that it names."""
    fixed, named = apart(numbers)
    return edge_number(text_of(edge) if callable(edge) else edge, fixed), named or {}


def _pattern(offsets: Any, columns: Any) -> tuple[Any, Any, int]:
    offsets, columns = _index(offsets, "offsets"), _index(columns, "columns")
    if offsets.shape[0] == 0:
        raise _errors.ArgumentError("offsets is empty: expected rows + 1 elements")
    return offsets, columns, _number(offsets.shape[0] - 1, "the number of rows")


def _number(size: Any, name: str) -> int:
    """Return a size that is part of the compiled program."""
    try:
        return operator.index(size)
    except Exception:  # noqa: BLE001  what jax.export says of a symbol depends on its version
        raise _errors.ArgumentError(f"{name} is {size}, a symbol of jax.export: expected a number; only the batch and nnz may be symbols") from None


def _height(x: Any, name: str) -> int:
    if numpy.ndim(x) < 2:
        raise _errors.ArgumentError(f"{name} has shape {numpy.shape(x)}: expected a matrix, or a batch of matrices")
    return _number(numpy.shape(x)[-2], f"the number of rows of {name}")


# ------------------------------------------------------------------------------ the operations


def sddmm(offsets: Any, columns: Any, A: Any, B: Any, values: Any = None, *, edge: str | Callable[..., Any] = "scale", scale: float = 1.0,
          slope: float = 0.01, epsilon: float = 1e-10, math: str = "exact", numbers: Optional[Mapping[str, Any]] = None) -> jax.Array:
    """Sampled products: edge(values, A B^T) at the places of the pattern.

    offsets: (rows + 1,); columns: (nnz,). A: (..., rows, K); B: (..., cols, K): float32, float64, float16 or bfloat16. values: (nnz,) or
    (..., nnz); ones if None. Leading dimensions are a batch over one pattern; one operand may lack them, or have 1 in their place. edge,
    scale, slope, epsilon, math, numbers as in `tamis.sddmm`; they are part of the compiled program, but for arrays among the numbers. An edge that is an
    expression is three steps: sampled products, the expression by JAX, and here nothing more, in `fused` the sum.
    Returns (..., nnz). Gradients to A, B, values and arrays among the numbers.

    >>> offsets, columns = jnp.array([0, 2, 3]), jnp.array([0, 2, 1])
    >>> A, B = jnp.ones((2, 4)), jnp.ones((3, 4))
    >>> print(jax.jit(sddmm)(offsets, columns, A, B))
    [4. 4. 4.]
    >>> print(jax.grad(lambda A: sddmm(offsets, columns, A, B).sum())(A)[:, 0])
    [2. 1.]
    """
    offsets, columns, rows = _pattern(offsets, columns)
    number, named = _edge(edge, numbers)
    form = Form(SDDMM, rows, _height(B, "B"), number, float(scale), float(slope), float(epsilon), False, choice(MATH, math, "math"))
    return _checked(form, offsets, columns, values, (A, B), named)


def spmm(offsets: Any, columns: Any, B: Any, values: Any = None, *, transpose: bool = False, cols: Optional[int] = None) -> jax.Array:
    """The sparse matrix of the pattern and values (ones if None) times B; with `transpose` its transpose.

    B: (..., cols, L), with `transpose` (..., rows, L). cols: needed with `transpose`, since the pattern does not have it. Returns
    (..., rows, L), with `transpose` (..., cols, L). Gradients to B and values. Otherwise as `sddmm`.

    >>> offsets, columns = jnp.array([0, 2, 3]), jnp.array([0, 2, 1])
    >>> print(spmm(offsets, columns, jnp.array([[1.], [2.], [4.]]))[:, 0])
    [5. 2.]
    """
    offsets, columns, rows = _pattern(offsets, columns)
    if transpose and cols is None:
        raise _errors.ArgumentError("cols is not given: with transpose=True it is the number of rows of the result")
    if cols is None:
        cols = _height(B, "B")
    return _checked(Form(SPMM, rows, int(cols), transpose=bool(transpose)), offsets, columns, values, (B,))


def fused(offsets: Any, columns: Any, A: Any, B: Any, D: Any, values: Any = None, *, edge: str | Callable[..., Any] = "scale", scale: float = 1.0,
          slope: float = 0.01, epsilon: float = 1e-10, transpose: bool = False, math: str = "exact", numbers: Optional[Mapping[str, Any]] = None) -> jax.Array:
    """edge(values, A B^T) D in one call: `sddmm`, then `spmm` with its samples, which are not returned.

    D: (..., cols, L). Returns (..., rows, L). With `transpose` rows and cols change places. Gradients to A, B, D and values. Otherwise as
    `sddmm`.

    >>> offsets, columns = jnp.array([0, 2, 3]), jnp.array([0, 2, 1])
    >>> print(fused(offsets, columns, jnp.ones((2, 4)), jnp.ones((3, 4)), jnp.eye(3)))
    [[4. 0. 4.]
     [0. 4. 0.]]
    """
    offsets, columns, rows = _pattern(offsets, columns)
    number, named = _edge(edge, numbers)
    form = Form(FUSED, rows, _height(A if transpose else B, "A" if transpose else "B"), number, float(scale), float(slope),
                float(epsilon), bool(transpose), choice(MATH, math, "math"))
    return _checked(form, offsets, columns, values, (A, B, D), named)


def attention(offsets: Any, columns: Any, q: Any, k: Any, v: Any, *, scale: Optional[float] = None, bias: Any = None) -> jax.Array:
    """Sparse attention: the row softmax of scale * q k^T + bias at the places of the pattern, times v.

    q: (..., N, d); k: (..., M, d); v: (..., M, e): leading dimensions, such as (batch, heads), share the pattern (N, M). scale: 1 / sqrt(d) if
    None. bias: (nnz,) or (..., nnz). Returns (..., N, e); a query without places gives zeros. Gradients to q, k, v and bias.

    >>> offsets, columns = jnp.array([0, 1, 3, 6]), jnp.array([0, 0, 1, 0, 1, 2])  # each position and those before it
    >>> q, v = jnp.zeros((2, 3, 4)), jnp.arange(6.).reshape(2, 3, 1)
    >>> print(attention(offsets, columns, q, q, v)[..., 0])
    [[0.  0.5 1. ]
     [3.  3.5 4. ]]
    """
    if scale is None:
        scale = max(numpy.shape(q)[-1], 1) ** -0.5 if numpy.ndim(q) else 1.0
    return fused(offsets, columns, q, k, v, bias, edge="softmax", scale=scale)


__all__ = ["attention", "fused", "sddmm", "spmm"]
