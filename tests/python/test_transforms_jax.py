"""Each operation of tamis.jax under each transform: the right value, or the error that the table has."""
from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

jax = pytest.importorskip("jax")
if not hasattr(jax, "ffi"):
    pytest.skip("tamis.jax needs JAX 0.5", allow_module_level=True)

import jax.numpy as jnp  # noqa: E402
import transforms as table  # noqa: E402
from jax import export  # noqa: E402

import tamis.jax as tj  # noqa: E402


@pytest.fixture(autouse=True)
def fp64():
    jax.config.update("jax_enable_x64", True)  # of all threads
    yield
    jax.config.update("jax_enable_x64", False)


class Case:
    """An operation: ours takes a pattern and operands, theirs operands."""

    def __init__(self, label, ours, theirs, names, edge="scale"):
        offsets, columns, _ = (jnp.asarray(x) for x in table.pattern_arrays())
        self.label, self.theirs, self.offsets, self.columns = label, theirs, offsets, columns
        self.with_pattern, self.ours = ours, lambda *x: ours(columns, *x)
        self.inputs = [jnp.asarray(table.operands(edge)[name]) for name in names]

    @property
    def everything(self):
        return tuple(range(len(self.inputs)))


def dense():
    return table.Dense(jnp, jax.nn.sigmoid, [jnp.asarray(x) for x in table.picked()])


def cases(operation, some=False):
    """some: fewer, for what takes long."""
    offsets = jnp.asarray(table.pattern_arrays()[0])
    reference = dense()
    edges = ("quotient", "softmax") if some else table.EDGES
    settings = {"scale": 0.7, "slope": 0.2}

    def sddmm(edge, valued=True):
        return Case(edge, lambda columns, a, b, v=None: tj.sddmm(offsets, columns, a, b, v, edge=edge, **settings),
                    lambda a, b, v=None: reference.samples(a, b, v, edge), ("a", "b", "v") if valued else ("a", "b"), edge)

    def fused(edge, transpose):
        return Case(f"{edge}{', transpose' * transpose}",
                    lambda columns, a, b, d, v: tj.fused(offsets, columns, a, b, d, v, edge=edge, transpose=transpose, **settings),
                    lambda a, b, d, v: reference.fused(a, b, d, v, edge, transpose), ("at", "bt", "dt", "v") if transpose else ("a", "b", "d", "v"), edge)

    if operation == "sddmm":
        return [sddmm(edge) for edge in edges] + [sddmm("scale", False), sddmm("softmax", False)]
    if operation == "spmm":
        return [Case("", lambda columns, d, v: tj.spmm(offsets, columns, d, v), lambda d, v: reference.times(v, d), ("d", "v")),
                Case("no values", lambda columns, d: tj.spmm(offsets, columns, d), lambda d: reference.times(None, d), ("d",)),
                Case("transpose", lambda columns, d, v: tj.spmm(offsets, columns, d, v, transpose=True, cols=table.COLS),
                     lambda d, v: reference.times(v, d, True), ("dt", "v"))]
    if operation == "fused":
        return [fused(edge, transpose) for edge in (("softmax",) if some else edges) for transpose in (False, True)]

    def attention(columns, q, k, v, bias=None):
        return tj.attention(offsets, columns, q, k, v, bias=bias)

    def theirs(q, k, v, bias=None):
        return reference.fused(q * (table.INNER**-0.5 / 0.7), k, v, bias, "softmax")

    return [Case("", attention, theirs, ("a", "b", "d")), Case("bias", attention, theirs, ("a", "b", "d", "v"))]


def close(got, want, what):
    for g, w in zip(jax.tree_util.tree_leaves(got), jax.tree_util.tree_leaves(want)):
        np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-8, atol=1e-8, err_msg=what)


def both(transformed):
    def check(case):
        close(transformed(case, case.ours), transformed(case, case.theirs), case.label)
    return check


def loss(f):
    return lambda *x: jnp.sin(f(*x)).sum()


def tangents(case):
    return tuple(jnp.cos(3 * x + 1) for x in case.inputs)


def several(x, count):
    return jnp.stack([x * (1 + 0.1 * number) for number in range(count)])


def subsets(case):
    return [chosen for count in range(1, len(case.inputs) + 1) for chosen in itertools.combinations(case.everything, count)]


def check_vmap(case):
    for chosen in subsets(case):
        given = [several(x, 3) if place in chosen else x for place, x in enumerate(case.inputs)]
        dims = tuple(0 if place in chosen else None for place in case.everything)
        close(jax.vmap(case.ours, dims)(*given), jax.vmap(case.theirs, dims)(*given), f"{case.label}, {chosen}")


def check_nested(case):
    for outer in subsets(case):
        inner = [place for place in case.everything if place not in outer] or list(case.everything)
        given = [several(x, 3) if place in inner else x for place, x in enumerate(case.inputs)]
        given = [several(x, 2) if place in outer else x for place, x in enumerate(given)]
        dims = [tuple(0 if place in chosen else None for place in case.everything) for chosen in (outer, inner)]
        close(*[jax.vmap(jax.vmap(f, dims[1]), dims[0])(*given) for f in (case.ours, case.theirs)], f"{case.label}, {outer}")


def check_pattern(case):
    jax.vmap(lambda columns: jax.grad(lambda *x: case.with_pattern(columns, *x).sum())(*case.inputs))(jnp.stack([case.columns, case.columns]))


def check_jvp(case):
    for chosen in subsets(case):
        def partly(f):
            return lambda *x: f(*[x[chosen.index(place)] if place in chosen else case.inputs[place] for place in case.everything])
        given, changes = [tuple(x[place] for place in chosen) for x in (case.inputs, tangents(case))]
        close(*[jax.jvp(partly(f), given, changes) for f in (case.ours, case.theirs)], f"{case.label}, {chosen}")


def transformed_vjp(case, f):
    out, back = jax.vjp(f, *case.inputs)
    return back(jnp.cos(out))


def transformed_orders(case, f):
    return [jax.jit(outer(inner(loss(f))))(*case.inputs) for outer, inner in ((jax.jacrev, jax.jacrev), (jax.jacfwd, jax.jacfwd), (jax.jacrev, jax.jacfwd))]


def check_vmap_of_grad(case):
    for mean, chosen in itertools.product((False, True), subsets(case)):
        def summed(f):
            return lambda *x: f(*x).mean() if mean else f(*x).sum()
        given = [several(x, 3) if place in chosen else x for place, x in enumerate(case.inputs)]
        dims = tuple(0 if place in chosen else None for place in case.everything)
        close(*[jax.vmap(jax.grad(summed(f), case.everything), dims)(*given) for f in (case.ours, case.theirs)], f"{case.label}, {chosen}")


def check_export(case):
    checks = [export.DisabledSafetyCheck.custom_call("tamis")]
    program = export.export(jax.jit(case.ours), disabled_checks=checks)(*case.inputs)
    close(program.call(*case.inputs), case.theirs(*case.inputs), case.label)
    program = export.export(jax.jit(jax.grad(loss(case.ours))), disabled_checks=checks)(*case.inputs)
    close(program.call(*case.inputs), jax.grad(loss(case.theirs))(*case.inputs), case.label)


def check_export_as_it_is(case):
    export.export(jax.jit(case.ours))(*case.inputs)


CHECKS = {
    "jit": both(lambda case, f: jax.jit(f)(*case.inputs)),
    "vmap": check_vmap,
    "nested vmap": check_nested,
    "vmap over a pattern": check_pattern,
    "jvp": check_jvp,
    "jacfwd": both(lambda case, f: jax.jacfwd(f, case.everything)(*case.inputs)),
    "grad": both(lambda case, f: jax.grad(loss(f), case.everything)(*case.inputs)),
    "vjp": both(transformed_vjp),
    "jacrev": both(lambda case, f: jax.jacrev(f, case.everything)(*case.inputs)),
    "hessian": both(lambda case, f: jax.jit(jax.hessian(loss(f), case.everything))(*case.inputs)),
    "orders": both(transformed_orders),
    "vmap of grad": check_vmap_of_grad,
    "export": check_export,
    "export as it is": check_export_as_it_is,
}
LONG = ("vmap", "nested vmap", "jvp", "hessian", "orders", "vmap of grad", "export", "jacfwd", "jacrev")


@pytest.mark.parametrize(("transform", "operation"), table.JAX_TABLE)
def test_cell(transform, operation):
    cell = table.JAX_TABLE[transform, operation]
    for case in cases(operation, transform in LONG):
        if cell == table.WORKS:
            CHECKS[transform](case)
        else:
            with pytest.raises(Exception, match=f"^{re.escape(cell)}"):
                CHECKS[transform](case)


@pytest.mark.parametrize("edge", table.EDGES)
def test_every_edge_has_derivatives_of_both_modes(edge):
    for case in cases("fused"):
        if case.label.split(",")[0] == edge:
            close(*[jax.jit(jax.hessian(loss(f), 0))(*case.inputs) for f in (case.ours, case.theirs)], case.label)


def test_symbols_of_export():
    """The batch and nnz may be symbols; the sizes of the matrices are part of the program."""
    case = cases("spmm")[0]
    checks = [export.DisabledSafetyCheck.custom_call("tamis")]
    batch, = export.symbolic_shape("b")
    program = export.export(jax.jit(case.ours), disabled_checks=checks)(jax.ShapeDtypeStruct((batch, *case.inputs[0].shape), "float64"), case.inputs[1])
    close(program.call(several(case.inputs[0], 3), case.inputs[1]), case.theirs(several(case.inputs[0], 3), case.inputs[1]), "a symbol")
    with pytest.raises(ValueError, match="the number of rows of B is b, a symbol of jax.export: expected a number"):
        export.export(jax.jit(case.ours), disabled_checks=checks)(jax.ShapeDtypeStruct((batch, 2), "float64"), case.inputs[1])


def test_a_gradient_of_many_members_has_the_statistics_of_each():
    """softmax's numbers of one call, for a gradient that is mapped over its outputs."""
    case = cases("attention")[1]
    close(jax.jacrev(case.ours)(*case.inputs), jax.jacfwd(case.theirs)(*case.inputs), "jacrev")


def test_every_transform_has_a_check():
    assert set(CHECKS) == set(table.JAX)
