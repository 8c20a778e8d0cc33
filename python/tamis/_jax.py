"""The operations as XLA calls them for `tamis.jax`, with derivatives of every order, in both modes, under vmap.

`operation` is one call of the library. Its derivative is a primitive that is linear in the changes of operands: forward mode computes it by
two bilinear operations, sampled products and spmm, and by what JAX makes of an edge, entry by entry; reverse mode transposes it, which is
one backward call of the library. Second derivatives are those of the bilinear operations: each is the derivative of the other.
"""
from __future__ import annotations

import functools
import pathlib
import re
from typing import Any, NamedTuple, Optional

import jax
import jax.numpy as jnp
import numpy
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from . import _declarations as c
from . import _edges, _errors, _trees
from ._device import opened
from ._edges import total
from ._library import handlers
from ._types import OPERANDS, SDDMM, SPMM

MASK, SOFTMAX = c.TAMIS_EDGE_MASK, c.TAMIS_EDGE_SOFTMAX
TARGET = "tamis"


def _minor_version() -> int:
    """The minor version of XLA's interface, from the header that jaxlib ships. Some versions of XLA refuse handlers for another one."""
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


class Form(NamedTuple):
    """Settings that are part of the compiled program."""

    operation: int
    rows: int
    cols: int
    edge: int = c.TAMIS_EDGE_SCALE
    scale: float = 1.0
    slope: float = 0.01
    epsilon: float = 1e-10
    transpose: bool = False
    math: int = c.TAMIS_MATH_EXACT


# ------------------------------------------------------------------------------ the call


def _call(form: Form, shapes: list, flags: tuple, *arguments: Any) -> tuple:
    """Make one call of the library. shapes: of the results; flags: backward, keep, has_values, wanted."""
    numbers = {"operation": form.operation, "rows": form.rows, "cols": form.cols, "edge": form.edge, "transpose": form.transpose,
               "math": form.math, **dict(zip(("backward", "keep", "has_values", "wanted"), flags))}
    reals = {"scale": form.scale, "slope": form.slope, "epsilon": form.epsilon}
    results = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in shapes)
    call = jax.ffi.ffi_call(TARGET, results, vmap_method="expand_dims")
    return call(*arguments, **{name: numpy.int64(value) for name, value in numbers.items()},
                **{name: numpy.float64(value) for name, value in reals.items()})


class Given(NamedTuple):
    """The operands, and S's values if there are any. All have the same number of leading dimensions, each equal to the batch's or 1."""

    operands: tuple
    values: Optional[Any]

    @classmethod
    def of(cls, form: Form, arrays: Any) -> Given:
        count = len(OPERANDS[form.operation])
        return cls(tuple(arrays[:count]), arrays[count] if len(arrays) > count else None)

    @property
    def lead(self) -> tuple[int, ...]:
        return jnp.broadcast_shapes(*[x.shape[:-2] for x in self.operands], () if self.values is None else self.values.shape[:-1])


def _result(form: Form, columns: Any, given: Given, lead: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the result."""
    rows = form.cols if form.transpose else form.rows
    return (*lead, columns.shape[0]) if form.operation == SDDMM else (*lead, rows, given.operands[-1].shape[-1])


def _forward_shapes(offsets: Any, columns: Any, *arrays: Any, form: Form, keep: bool = False) -> list:
    given = Given.of(form, arrays)
    dtype = arrays[0].dtype
    shapes = [_shaped(_result(form, columns, given, given.lead), dtype)]
    if keep:
        shapes.append(_shaped((*given.lead, form.cols if form.transpose else form.rows, 2), "float64" if dtype == "float64" else "float32"))
    return shapes


def _forward(offsets: Any, columns: Any, *arrays: Any, form: Form, keep: bool = False) -> list:
    """Return the result, and with `keep` softmax's row statistics."""
    return list(_call(form, _forward_shapes(offsets, columns, *arrays, form=form, keep=keep), (False, keep, Given.of(form, arrays).values is not None, 0), offsets, columns, *arrays))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def operation(form: Form, keep: bool, offsets: Any, columns: Any, *arrays: Any) -> tuple:
    """The operation. arrays: the operands, and the values if there are any."""
    return tuple(_forward_p.bind(offsets, columns, *arrays, form=form, keep=keep))


@functools.partial(operation.defjvp, symbolic_zeros=True)
def _operation_jvp(form: Form, keep: bool, primals: tuple, tangents: tuple) -> tuple:
    offsets, columns, *arrays = primals
    out = operation(form, form.edge == SOFTMAX and form.operation != SPMM, *primals)
    wanted = tuple(not isinstance(change, jax.custom_derivatives.SymbolicZero) and x.size > 0 for change, x in zip(tangents[2:], arrays))
    change = jnp.zeros_like(out[0])
    if any(wanted):
        changes = [change for change, wants in zip(tangents[2:], wanted) if wants]
        change = _tangent_p.bind(offsets, columns, *arrays, *out[1:], *changes, form=form, count=len(arrays), wanted=wanted)
    out = out if keep else out[:1]
    return out, (change, *[jnp.zeros_like(x) for x in out[1:]])  # only gradients use softmax's row statistics


# ------------------------------------------------------------------------------ primitives


def _shared(found: Any, shape: tuple[int, ...]) -> Any:
    """Sum gradients over the members of a batch that share an operand."""
    axes = tuple(axis for axis, (ours, theirs) in enumerate(zip(found.shape, shape)) if ours != theirs)
    return found.sum(axes, keepdims=True) if axes else found


def _primitive(name: str, plain: Any, shapes: Any, several: bool = False, full: bool = False) -> Primitive:
    """Make a primitive from a function of arrays; the pattern's arrays are not mapped by vmap. full: the first array, a gradient, has all of
    the batch."""
    made = Primitive(name)
    made.multiple_results = several
    made.def_impl(plain)
    made.def_abstract_eval(shapes)
    mlir.register_lowering(made, mlir.lower_fun(plain, multiple_results=several))
    place = 1 if full else 0  # the pattern's

    def batch(arrays: tuple, dims: tuple, **settings: Any) -> tuple:
        if any(dim is not None for dim in dims[place:place + 2]):
            raise _errors.UnsupportedError("vmap over the pattern: all members share one; use jax.lax.map for several")
        size = next(x.shape[dim] for x, dim in zip(arrays, dims) if dim is not None)
        moved = [x if number in (place, place + 1) else jnp.expand_dims(x, 0) if dim is None else jnp.moveaxis(x, dim, 0)
                 for number, (x, dim) in enumerate(zip(arrays, dims))]
        if full:
            moved[0] = jnp.broadcast_to(moved[0], (size, *moved[0].shape[1:]))
        out = made.bind(*moved, **settings)
        return (out, [0] * len(out)) if several else (out, 0)

    batching.primitive_batchers[made] = batch
    return made


def _shaped(shape: Any, dtype: Any) -> Any:
    return jax.core.ShapedArray(tuple(shape), jnp.dtype(dtype))


def _known(change: Any) -> bool:
    return not isinstance(change, ad.Zero)


_forward_p = _primitive("tamis_forward", _forward, _forward_shapes, several=True)

# two bilinear operations: the sampled products of two matrices, and a sparse matrix times a matrix


def _bilinear(name: str) -> Primitive:
    return _primitive(name, lambda *arrays, form: _forward(*arrays, form=form)[0], lambda *arrays, form: _forward_shapes(*arrays, form=form)[0])


_products_p, _times_p = _bilinear("tamis_products"), _bilinear("tamis_times")


def _bilinear_jvp(made: Primitive) -> Any:
    """Return the sum of each factor's tangent times the other factor; one tangent may be missing."""

    def jvp(primals: tuple, tangents: tuple, **settings: Any) -> tuple:
        out = made.bind(*primals, **settings)
        terms = [made.bind(*[change if number == place else x for number, x in enumerate(primals)], **settings)
                 for place, change in enumerate(tangents) if place >= 2 and _known(change)]
        return out, jnp.zeros_like(out) if not terms else total(*terms)

    return jvp


def _products_transpose(ct: Any, offsets: Any, columns: Any, a: Any, b: Any, *, form: Form) -> list:
    if not _known(ct):
        return [None] * 4
    times = Form(SPMM, form.rows, form.cols)
    if ad.is_undefined_primal(a):
        return [None, None, _shared(_times_p.bind(offsets, columns, b, ct, form=times), a.aval.shape), None]
    return [None, None, None, _shared(_times_p.bind(offsets, columns, a, ct, form=times._replace(transpose=True)), b.aval.shape)]


def _times_transpose(ct: Any, offsets: Any, columns: Any, b: Any, *values: Any, form: Form) -> list:
    if not _known(ct):
        return [None] * (3 + len(values))
    if ad.is_undefined_primal(b):
        found = _times_p.bind(offsets, columns, ct, *values, form=form._replace(transpose=not form.transpose))
        return [None, None, _shared(found, b.aval.shape), *[None for _ in values]]
    x, y = (b, ct) if form.transpose else (ct, b)
    return [None, None, None, _shared(_products_p.bind(offsets, columns, x, y, form=Form(SDDMM, form.rows, form.cols, MASK)), values[0].aval.shape)]


for _made, _transposed in ((_products_p, _products_transpose), (_times_p, _times_transpose)):
    ad.primitive_jvps[_made] = _bilinear_jvp(_made)
    ad.primitive_transposes[_made] = _transposed


# ------------------------------------------------------------------------------ what an edge makes of the products


class _Values(_trees.Values):
    exp, log, tanh, erf, erfc, sqrt, floor, pow = map(staticmethod, (jnp.exp, jnp.log, jnp.tanh, jax.scipy.special.erf, jax.scipy.special.erfc, jnp.sqrt, jnp.floor, jnp.power))
    number = staticmethod(lambda x, like: jnp.asarray(x, like.dtype))
    chosen = staticmethod(jnp.where)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def _value(tree: Any, names: tuple[str, ...], fixed: tuple, *arrays: Any) -> Any:
    """The value of a tree. Its derivatives are values of trees, so that a branch of `where` that is not taken has no part in them."""
    return _Values({**dict(fixed), **dict(zip(names, arrays))}).of(tree)


@_value.defjvp
def _value_jvp(tree: Any, names: tuple[str, ...], fixed: tuple, arrays: tuple, changes: tuple) -> tuple:
    out = _value(tree, names, fixed, *arrays)
    trees = [(_trees.derivative(tree, {name: 1.0}), change) for name, change in zip(names, changes)]
    terms = [change * _value(by, names, fixed, *arrays) for by, change in trees if by != 0.0]
    return out, jnp.broadcast_to(total(*terms), out.shape).astype(out.dtype) if terms else jnp.zeros_like(out)


class _Operations(_edges.Operations):
    """The operations on the pattern of one call, for operands with as many dimensions as `like`."""

    exp = staticmethod(jnp.exp)

    @staticmethod
    def value(tree: Any, names: tuple[str, ...], arrays: tuple, fixed: dict[str, float]) -> Any:
        return _value(tree, names, tuple(fixed.items()), *arrays)

    def __init__(self, form: Form, offsets: Any, columns: Any, like: Any):
        self.form, self.offsets, self.columns, self.rows, self.cols = form, offsets, columns, form.rows, form.cols
        self.lead = (1,) * (like.ndim - 2)

    def products(self, a: Any, b: Any) -> Any:
        return _products_p.bind(self.offsets, self.columns, a, b, form=Form(SDDMM, self.rows, self.cols, MASK, math=self.form.math))

    def times(self, values: Any, b: Any, transpose: bool) -> Any:
        given = () if values is None else (values,)
        return _times_p.bind(self.offsets, self.columns, b, *given, form=Form(SPMM, self.rows, self.cols, transpose=transpose, math=self.form.math))

    def softmax(self, values: Any, a: Any, b: Any, numbers: tuple) -> Any:
        edge, scale, slope, epsilon = numbers
        form = self.form._replace(operation=SDDMM, edge=edge, scale=scale, slope=slope, epsilon=epsilon)
        return operation(form, False, self.offsets, self.columns, a, b, *([] if values is None else [values]))[0]

    def ones(self, x: Any, count: Any) -> Any:
        return jnp.ones((*self.lead, count, 1), x.dtype)

    def counted(self, x: Any, count: int) -> Any:
        return jnp.arange(count, dtype=x.dtype)

    def given(self, array: Any, x: Any) -> Any:
        return jnp.asarray(array, x.dtype)

    def spread(self, x: Any, transpose: bool) -> Any:
        return super().spread(jnp.reshape(x, self.lead[x.ndim - 2:] + x.shape), transpose)

    def largest(self, y: Any) -> Any:
        most = jnp.full((*y.shape[:-1], self.cols), -jnp.inf, y.dtype).at[..., self.columns].max(jax.lax.stop_gradient(y))
        return jnp.where(jnp.isneginf(most), 0, most)[..., self.columns]

    @staticmethod
    def where(condition: Any, this: Any, otherwise: Any, like: Any) -> Any:
        return jnp.where(condition, this, otherwise).astype(like.dtype)

    @property
    def numbers(self) -> tuple:
        return self.form.edge, self.form.scale, self.form.slope, self.form.epsilon


def _wide(x: Any) -> Any:
    """Widen 16-bit arrays, so that intermediate results are not rounded."""
    return x.astype("float32") if x is not None and x.dtype.itemsize == 2 else x


def by_expression(form: Form, offsets: Any, columns: Any, given: Given, named: dict[str, Any]) -> Any:
    """Return the result with an edge that is an expression: sampled products, what JAX makes of the expression, and spmm."""
    operands = tuple(map(_wide, given.operands))
    on = _Operations(form, offsets, columns, operands[0])
    found = _edges.value(on, form.operation, _wide(given.values), operands, on.numbers, form.transpose, named)
    return jnp.broadcast_to(found, _result(form, columns, given, given.lead)).astype(given.operands[0].dtype)


# ------------------------------------------------------------------------------ the tangent of the result, linear in the operands' tangents


def _tangent_plain(offsets: Any, columns: Any, *rest: Any, form: Form, count: int, wanted: tuple) -> Any:
    """rest: operands and values, softmax's row statistics, and the nonzero tangents."""
    shaped = _tangent_shape(offsets, columns, *rest, form=form, count=count, wanted=wanted)
    operands, values = Given.of(form, [_wide(x) for x in rest[:count]])
    changes = iter([_wide(x) for x in rest[len(rest) - sum(wanted):]])
    d = [next(changes) if wants else None for wants in wanted]
    dv = d[len(operands)] if values is not None else None
    on = _Operations(form, offsets, columns, operands[0])
    found = _edges.tangent(on, form.operation, values, operands, on.numbers, form.transpose, dv, d)
    return jnp.zeros(shaped.shape, shaped.dtype) if found is None else jnp.broadcast_to(found, shaped.shape).astype(shaped.dtype)


def _tangent_shape(offsets: Any, columns: Any, *rest: Any, form: Form, count: int, wanted: tuple) -> Any:
    given, matrices = Given.of(form, rest[:count]), len(OPERANDS[form.operation])
    places = [place for place, wants in enumerate(wanted) if wants]
    leads = [x.shape[:-2 if place < matrices else -1] for place, x in zip(places, rest[len(rest) - len(places):])]
    return _shaped(_result(form, columns, given, jnp.broadcast_shapes(given.lead, *leads)), rest[0].dtype)


def _tangent_transpose(ct: Any, offsets: Any, columns: Any, *rest: Any, form: Form, count: int, wanted: tuple) -> list:
    """One backward call of the library."""
    first = len(rest) - sum(wanted)
    results: list = [None] * (2 + len(rest))
    if not _known(ct):
        return results
    places = [place for place, wants in enumerate(wanted) if wants]
    asked = [place for place, change in zip(places, rest[first:]) if ad.is_undefined_primal(change)]
    found = iter(_gradient_p.bind(ct, offsets, columns, *rest[:first], form=form, count=count,
                                  wanted=tuple(place in asked for place in range(count))))
    for number, change in enumerate(rest[first:]):
        if ad.is_undefined_primal(change):
            results[2 + first + number] = _shared(next(found), change.aval.shape)
    return results


def _by_jvp(plain: Any) -> Any:
    """Return the derivative of a primitive, through a function of differentiable operations. The pattern has none."""

    def jvp(primals: tuple, tangents: tuple, **settings: Any) -> tuple:
        places = [place for place, change in enumerate(tangents) if _known(change) and jnp.issubdtype(primals[place].dtype, jnp.floating)]

        def of(*changing: Any) -> Any:
            arrays = list(primals)
            for place, x in zip(places, changing):
                arrays[place] = x
            return plain(*arrays, **settings)

        return jax.jvp(of, [primals[place] for place in places], [tangents[place] for place in places])

    return jvp


# ------------------------------------------------------------------------------ gradients


def _gradient_plain(gradient: Any, offsets: Any, columns: Any, *rest: Any, form: Form, count: int, wanted: tuple) -> list:
    """Compute the gradients by the library. Each member of a batch has its own, even for a shared operand."""
    lead = gradient.shape[:-1 if form.operation == SDDMM else -2]
    results = _gradient_shapes(gradient, offsets, columns, *rest, form=form, count=count, wanted=wanted)
    bits = sum(1 << place for place, wants in enumerate(wanted) if wants)
    statistics = [jnp.broadcast_to(x, (*lead, *x.shape[-2:])) for x in rest[count:]]  # the library reads numbers of each member
    flags = True, len(rest) > count, Given.of(form, rest[:count]).values is not None, bits
    return list(_call(form, results, flags, gradient, offsets, columns, *rest[:count], *statistics))


def _gradient_shapes(gradient: Any, offsets: Any, columns: Any, *rest: Any, form: Form, count: int, wanted: tuple) -> list:
    lead = gradient.shape[:-1 if form.operation == SDDMM else -2]
    matrices = len(OPERANDS[form.operation])
    return [_shaped((*lead, *x.shape[-2 if place < matrices else -1:]), x.dtype) for place, (x, wants) in enumerate(zip(rest, wanted)) if wants]


def _gradient_by_operations(gradient: Any, offsets: Any, columns: Any, *rest: Any, form: Form, count: int, wanted: tuple) -> list:
    """Compute the gradients by differentiable operations."""
    operands, values = Given.of(form, [_wide(x) for x in rest[:count]])
    on = _Operations(form, offsets, columns, operands[0])
    found = _edges.gradients(on, form.operation, _wide(gradient), values, operands, on.numbers, form.transpose, wanted)
    shapes = _gradient_shapes(gradient, offsets, columns, *rest, form=form, count=count, wanted=wanted)
    chosen = [of for of, wants in zip(found, wanted) if wants]
    return [jnp.zeros(to.shape, to.dtype) if of is None else jnp.broadcast_to(of, to.shape).astype(to.dtype) for of, to in zip(chosen, shapes)]


_tangent_p = _primitive("tamis_tangent", _tangent_plain, _tangent_shape)
_gradient_p = _primitive("tamis_gradient", _gradient_plain, _gradient_shapes, several=True, full=True)
ad.primitive_jvps[_tangent_p] = _by_jvp(_tangent_plain)
ad.primitive_transposes[_tangent_p] = _tangent_transpose
ad.primitive_jvps[_gradient_p] = _by_jvp(_gradient_by_operations)
