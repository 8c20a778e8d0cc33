"""The operations for JAX, with gradients, under jit and vmap.

    samples = tamis.jax.sddmm(offsets, columns, A, B)           one number for each place
    C = tamis.jax.spmm(offsets, columns, B, values=samples)     sums over the places of a row
    out = tamis.jax.attention(offsets, columns, q, k, v)        softmax over the places of a row, then the sum

The pattern is two arrays, the row offsets (rows + 1,) and the columns (nnz,) of CSR, int32 or int64. They are operands like others, so one
compiled function serves all patterns of the same sizes. XLA calls the library through its foreign function interface: nothing is compiled
on the user's machine. First derivatives, in reverse mode. JAX 0.5 or newer.

Wrong shapes and types are ValueErrors when a function is traced. A wrong pattern is found when it runs: jax.errors.JaxRuntimeError, a
RuntimeError, with the library's message.
"""
from __future__ import annotations

import functools
import pathlib
import re
from typing import Any, NamedTuple, Optional

import jax
import jax.numpy as jnp
import numpy

from . import _declarations as c
from . import _errors
from ._device import opened
from ._library import handlers
from ._plan import MATH, choice, edge_number

if not hasattr(jax, "ffi"):
    raise ImportError(f"tamis.jax needs jax.ffi, which JAX has from 0.5: this is {jax.__version__}")

SDDMM, SPMM, FUSED = c.TAMIS_OP_SDDMM, c.TAMIS_OP_SPMM, c.TAMIS_OP_FUSED
MASK, SOFTMAX = c.TAMIS_EDGE_MASK, c.TAMIS_EDGE_SOFTMAX
NAMES = {SDDMM: ("A", "B"), SPMM: ("B",), FUSED: ("A", "B", "D")}
TYPES = ("float32", "float64", "float16", "bfloat16")
TARGET = "tamis"


def _minor_version() -> int:
    """Of XLA's interface, in the header that jaxlib ships. Some versions of XLA refuse handlers that say they are for another one."""
    try:
        header = pathlib.Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text(encoding="utf-8")
        found = re.search(r"#define XLA_FFI_API_MINOR (\d+)", header)
    except OSError:
        found = None
    return int(found[1]) if found else 1


def _register() -> Any:
    library = handlers()
    library.tamis_xla_start(opened("cpu").handle, _minor_version())
    for platform, handler in (("cpu", library.tamis_xla_cpu), ("CUDA", library.tamis_xla_cuda)):
        jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(handler), platform=platform)
    return library


_library = _register()


class _Form(NamedTuple):
    """What is part of the compiled program."""

    operation: int
    rows: int
    cols: int
    edge: int = c.TAMIS_EDGE_SCALE
    scale: float = 1.0
    slope: float = 0.01
    epsilon: float = 1e-10
    transpose: bool = False
    math: int = c.TAMIS_MATH_EXACT


@jax.tree_util.register_pytree_node_class
class _Wanted(tuple):
    """Which gradients are asked for: known when a function is traced, so not an array."""

    def tree_flatten(self) -> tuple:
        return (), tuple(self)

    @classmethod
    def tree_unflatten(cls, flags: tuple, _: Any) -> _Wanted:
        return cls(flags)


# ------------------------------------------------------------------------------ the call


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def _call(form: _Form, results: tuple, flags: tuple, *arguments: Any) -> tuple:
    """One call of the library. flags: backward, keep, has_values, wanted."""
    numbers = {"operation": form.operation, "rows": form.rows, "cols": form.cols, "edge": form.edge, "transpose": form.transpose,
               "math": form.math, **dict(zip(("backward", "keep", "has_values", "wanted"), flags))}
    reals = {"scale": form.scale, "slope": form.slope, "epsilon": form.epsilon}
    call = jax.ffi.ffi_call(TARGET, results, vmap_method="expand_dims")
    return call(*arguments, **{name: numpy.int64(value) for name, value in numbers.items()},
                **{name: numpy.float64(value) for name, value in reals.items()})


@_call.defjvp
def _derivative(*_: Any) -> Any:
    raise _errors.UnsupportedError("Tamis computes first derivatives for JAX: those of a gradient are not supported")


def _lead(operands: tuple, values: Optional[Any]) -> tuple[int, ...]:
    return numpy.broadcast_shapes(*[x.shape[:-2] for x in operands], () if values is None else values.shape[:-1])


def _forward(form: _Form, keep: bool, offsets: Any, columns: Any, values: Any, operands: tuple) -> tuple:
    lead, dtype = _lead(operands, values), operands[0].dtype
    out = form.cols if form.transpose else form.rows
    own = (columns.shape[0],) if form.operation == SDDMM else (out, operands[-1].shape[-1])
    results = [jax.ShapeDtypeStruct((*lead, *own), dtype)]
    if keep:
        results.append(jax.ShapeDtypeStruct((*lead, out, 2), "float64" if dtype == "float64" else "float32"))
    flags = (False, keep, values is not None, 0)
    return _call(form, tuple(results), flags, offsets, columns, *operands, *([] if values is None else [values]))


def _backward(form: _Form, wanted: tuple, gradient: Any, offsets: Any, columns: Any, values: Any, operands: tuple, statistics: tuple) -> list:
    """The gradients of operands and values, None where they are not wanted. Each member of a batch has its own: what members shared gets
    their sum."""
    given = [*operands, *([] if values is None else [values])]
    lead = gradient.shape[:-1 if form.operation == SDDMM else -2]
    own = [x.shape[-2:] for x in operands] + ([] if values is None else [values.shape[-1:]])
    results = [jax.ShapeDtypeStruct((*lead, *shape), x.dtype) for x, shape, wants in zip(given, own, wanted) if wants]
    bits = sum(1 << place for place, wants in enumerate(wanted) if wants)
    found = iter(_call(form, tuple(results), (True, bool(statistics), values is not None, bits), gradient, offsets, columns, *given, *statistics))
    return [next(found) if wants else None for wants in wanted]


def _shared(found: Any, shape: tuple[int, ...]) -> Any:
    axes = tuple(axis for axis, (ours, theirs) in enumerate(zip(found.shape, shape)) if ours != theirs)
    return found.sum(axes, keepdims=True) if axes else found


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _operation(form: _Form, offsets: Any, columns: Any, values: Any, operands: tuple) -> Any:
    return _forward(form, False, offsets, columns, values, operands)[0]


def _recorded(form: _Form, offsets: Any, columns: Any, values: Any, operands: tuple) -> tuple:
    given = [*operands, *([] if values is None else [values])]
    wanted = _Wanted(bool(x.perturbed) and x.value.size > 0 for x in given)
    offsets, columns, values, operands = jax.tree_util.tree_map(lambda x: x.value, (offsets, columns, values, operands),
                                                                is_leaf=lambda x: hasattr(x, "perturbed"))
    found = _forward(form, form.edge == SOFTMAX, offsets, columns, values, operands)
    return found[0], (wanted, offsets, columns, values, operands, found[1:])


def _gradients(form: _Form, kept: tuple, gradient: Any) -> tuple:
    wanted, offsets, columns, values, operands, statistics = kept
    given = [*operands, *([] if values is None else [values])]
    found: list = [None] * len(given)
    if any(wanted) and not isinstance(gradient, jax.custom_derivatives.SymbolicZero):
        found = _backward(form, wanted, gradient, offsets, columns, values, operands, statistics)
    found = [jnp.zeros(x.shape, x.dtype) if of is None else _shared(of, x.shape) for of, x in zip(found, given)]
    return None, None, None if values is None else found[-1], tuple(found[:len(operands)])


_operation.defvjp(_recorded, _gradients, symbolic_zeros=True)


# ------------------------------------------------------------------------------ checks, when a function is traced


def _index(x: Any, name: str) -> Any:
    x = jnp.asarray(x)
    if x.ndim != 1 or str(x.dtype) not in ("int32", "int64"):
        raise _errors.ArgumentError(f"{name} is {x.dtype} of shape {x.shape}: expected a vector of int32 or int64")
    return x


def _checked(form: _Form, offsets: Any, columns: Any, values: Any, operands: tuple) -> Any:
    """Checks sizes and types, gives all operands the same number of dimensions, and calls."""
    names = NAMES[form.operation]
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
        lead = _lead(operands, values)
    except ValueError:
        raise _errors.ArgumentError(f"the leading dimensions of {', '.join(f'{name} {x.shape}' for x, name in given)} differ") from None
    if 0 in lead:
        raise _errors.ArgumentError(f"leading dimensions {lead}: a batch of no members")
    operands = tuple(jnp.reshape(x, (1,) * (len(lead) + 2 - x.ndim) + x.shape) for x in operands)
    if values is not None:
        values = jnp.reshape(values, (1,) * (len(lead) + 1 - values.ndim) + values.shape)
    return _operation(form, offsets, columns, values, operands)


def _pattern(offsets: Any, columns: Any) -> tuple[Any, Any, int]:
    offsets, columns = _index(offsets, "offsets"), _index(columns, "columns")
    if offsets.shape[0] == 0:
        raise _errors.ArgumentError("offsets is empty: expected rows + 1 elements")
    return offsets, columns, offsets.shape[0] - 1


def _height(x: Any, name: str) -> int:
    if numpy.ndim(x) < 2:
        raise _errors.ArgumentError(f"{name} has shape {numpy.shape(x)}: expected a matrix, or a batch of matrices")
    return numpy.shape(x)[-2]


# ------------------------------------------------------------------------------ the operations


def sddmm(offsets: Any, columns: Any, A: Any, B: Any, values: Any = None, *, edge: str = "scale", scale: float = 1.0, slope: float = 0.01,
          epsilon: float = 1e-10, math: str = "exact") -> jax.Array:
    """Sampled products: edge(values, A B^T) at the places of the pattern.

    offsets: (rows + 1,); columns: (nnz,). A: (..., rows, K); B: (..., cols, K): float32, float64, float16 or bfloat16. values: (nnz,) or
    (..., nnz); ones if None. Leading dimensions are a batch over one pattern; one operand may lack them, or have 1 in their place. edge,
    scale, slope, epsilon, math as in `tamis.sddmm`; they are part of the compiled program.
    Returns (..., nnz). Gradients to A, B and values.

    >>> import jax, jax.numpy as jnp, tamis.jax
    >>> offsets, columns = jnp.array([0, 2, 3]), jnp.array([0, 2, 1])
    >>> A, B = jnp.ones((2, 4)), jnp.ones((3, 4))
    >>> print(jax.jit(tamis.jax.sddmm)(offsets, columns, A, B))
    [4. 4. 4.]
    >>> print(jax.grad(lambda A: tamis.jax.sddmm(offsets, columns, A, B).sum())(A)[:, 0])
    [2. 1.]
    """
    offsets, columns, rows = _pattern(offsets, columns)
    form = _Form(SDDMM, rows, _height(B, "B"), edge_number(edge), float(scale), float(slope), float(epsilon), False, choice(MATH, math, "math"))
    return _checked(form, offsets, columns, values, (A, B))


def spmm(offsets: Any, columns: Any, B: Any, values: Any = None, *, transpose: bool = False, cols: Optional[int] = None) -> jax.Array:
    """The sparse matrix of the pattern and values (ones if None) times B; with `transpose` its transpose.

    B: (..., cols, L), with `transpose` (..., rows, L). cols: needed with `transpose`, since the pattern does not have it. Returns
    (..., rows, L), with `transpose` (..., cols, L). Gradients to B and values. Otherwise as `sddmm`.

    >>> import jax.numpy as jnp, tamis.jax
    >>> offsets, columns = jnp.array([0, 2, 3]), jnp.array([0, 2, 1])
    >>> print(tamis.jax.spmm(offsets, columns, jnp.array([[1.], [2.], [4.]]))[:, 0])
    [5. 2.]
    """
    offsets, columns, rows = _pattern(offsets, columns)
    if transpose and cols is None:
        raise _errors.ArgumentError("cols is not given: with transpose=True it is the number of rows of the result")
    if cols is None:
        cols = _height(B, "B")
    return _checked(_Form(SPMM, rows, int(cols), transpose=bool(transpose)), offsets, columns, values, (B,))


def fused(offsets: Any, columns: Any, A: Any, B: Any, D: Any, values: Any = None, *, edge: str = "scale", scale: float = 1.0,
          slope: float = 0.01, epsilon: float = 1e-10, transpose: bool = False, math: str = "exact") -> jax.Array:
    """edge(values, A B^T) D in one call: `sddmm`, then `spmm` with its samples, which are not returned.

    D: (..., cols, L). Returns (..., rows, L). With `transpose` rows and cols change places. Gradients to A, B, D and values. Otherwise as
    `sddmm`.

    >>> import jax.numpy as jnp, tamis.jax
    >>> offsets, columns = jnp.array([0, 2, 3]), jnp.array([0, 2, 1])
    >>> print(tamis.jax.fused(offsets, columns, jnp.ones((2, 4)), jnp.ones((3, 4)), jnp.eye(3)))
    [[4. 0. 4.]
     [0. 4. 0.]]
    """
    offsets, columns, rows = _pattern(offsets, columns)
    form = _Form(FUSED, rows, _height(A if transpose else B, "A" if transpose else "B"), edge_number(edge), float(scale), float(slope),
                 float(epsilon), bool(transpose), choice(MATH, math, "math"))
    return _checked(form, offsets, columns, values, (A, B, D))


def attention(offsets: Any, columns: Any, q: Any, k: Any, v: Any, *, scale: Optional[float] = None, bias: Any = None) -> jax.Array:
    """Sparse attention: the row softmax of scale * q k^T + bias at the places of the pattern, times v.

    q: (..., N, d); k: (..., M, d); v: (..., M, e): leading dimensions, such as (batch, heads), share the pattern (N, M). scale: 1 / sqrt(d) if
    None. bias: (nnz,) or (..., nnz). Returns (..., N, e); a query without places gives zeros. Gradients to q, k, v and bias.

    >>> import jax.numpy as jnp, tamis.jax
    >>> offsets, columns = jnp.array([0, 1, 3, 6]), jnp.array([0, 0, 1, 0, 1, 2])  # each position and those before it
    >>> q, v = jnp.zeros((2, 3, 4)), jnp.arange(6.).reshape(2, 3, 1)
    >>> print(tamis.jax.attention(offsets, columns, q, q, v)[..., 0])
    [[0.  0.5 1. ]
     [3.  3.5 4. ]]
    """
    if scale is None:
        scale = max(numpy.shape(q)[-1], 1) ** -0.5 if numpy.ndim(q) else 1.0
    return fused(offsets, columns, q, k, v, bias, edge="softmax", scale=scale)


__all__ = ["attention", "fused", "sddmm", "spmm"]
