"""Each operator of tamis.jax, a row of operators.py: values and gradients against dense matrices, eager and compiled, alone and in batches, in every type; and each
transform of the manual's table: the right value, or the error."""
from __future__ import annotations

import re
import types

import numpy as np
import pytest

jax = pytest.importorskip("jax")
if not hasattr(jax, "ffi"):
    pytest.skip("tamis.jax needs JAX 0.5", allow_module_level=True)

import jax.numpy as jnp  # noqa: E402
import operators as table  # noqa: E402
from jax import export  # noqa: E402

import tamis.jax as tj  # noqa: E402


@pytest.fixture(autouse=True)
def fp64():
    jax.config.update("jax_enable_x64", True)  # of all threads
    yield
    jax.config.update("jax_enable_x64", False)


class Calls:
    """The functions as tamis.torch has them, of which a pattern is offsets, columns and the number of columns."""

    sddmm = staticmethod(lambda p, *x, **how: tj.sddmm(*p[:2], *x, **how))
    fused = staticmethod(lambda p, *x, **how: tj.fused(*p[:2], *x, **how))
    attention = staticmethod(lambda q, k, v, p, bias=None: tj.attention(*p[:2], q, k, v, bias=bias))

    @staticmethod
    def spmm(p, *x, transpose=False):
        return tj.spmm(*p[:2], *x, transpose=transpose, cols=p[2] if transpose else None)


class Case:
    """A row with a pattern and operands: ours takes a pattern and operands, theirs operands."""

    def __init__(self, row, leads=None, kind="int32", dtype="float64", **sizes):
        sizes = row.sizes(**sizes)
        rows, columns = table.places(sizes, True)
        self.label, self.columns = repr(row), jnp.asarray(columns, kind)
        self.offsets = jnp.asarray(np.concatenate([[0], np.bincount(rows, minlength=sizes["m"]).cumsum()]), kind)
        dense = table.Dense(jnp, jnp.eye(sizes["m"])[rows], jnp.eye(sizes["n"])[columns])
        self.with_pattern = lambda columns, *x: row.call(Calls, (self.offsets, columns, sizes["n"]), *x)
        self.ours, self.theirs = lambda *x: self.with_pattern(self.columns, *x), lambda *x: row.reference(dense, *x)
        self.inputs = [jnp.asarray(x, dtype) for x in row.drawn(sizes, leads, rows)]
        self.everything = tuple(range(len(self.inputs)))


def named(name):
    return next(row for row in table.JAX_ROWS if repr(row) == name)


def close(got, want, what, tolerance=1e-11):
    for g, w in zip(jax.tree_util.tree_leaves(got), jax.tree_util.tree_leaves(want)):
        np.testing.assert_allclose(np.asarray(g, "float64"), np.asarray(w), rtol=tolerance, atol=tolerance, err_msg=str(what))


HOW = types.SimpleNamespace(vmap=jax.vmap, grad=jax.grad, vjp=jax.vjp, jvp=jax.jvp, jacrev=jax.jacrev, jacfwd=jax.jacfwd, hessian=lambda f, places: jax.jit(jax.hessian(f, places)))
T = table.Transforms(HOW, jnp, close, False)


def check_pattern(case):
    jax.vmap(lambda columns: jax.grad(lambda *x: case.with_pattern(columns, *x).sum())(*case.inputs))(jnp.stack([case.columns, case.columns]))


def check_jvp(case):
    for chosen in table.subsets(case.everything):
        def partly(f, chosen=chosen):
            return lambda *x: f(*[x[chosen.index(place)] if place in chosen else case.inputs[place] for place in case.everything])
        given, changes = [tuple(x[place] for place in chosen) for x in (case.inputs, T.tangents(case))]
        close(*[jax.jvp(partly(f), given, changes) for f in (case.ours, case.theirs)], f"{case.label}, {chosen}")


def check_export(case):
    checks = [export.DisabledSafetyCheck.custom_call("tamis")]
    program = export.export(jax.jit(case.ours), disabled_checks=checks)(*case.inputs)
    close(program.call(*case.inputs), case.theirs(*case.inputs), case.label)
    program = export.export(jax.jit(jax.grad(T.loss(case.ours))), disabled_checks=checks)(*case.inputs)
    close(program.call(*case.inputs), jax.grad(T.loss(case.theirs))(*case.inputs), case.label)


def check_export_as_it_is(case):
    export.export(jax.jit(case.ours))(*case.inputs)


CHECKS = {
    **T.checks(),
    "jit": T.both(lambda case, f: jax.jit(f)(*case.inputs)),
    "vmap over a pattern": check_pattern,
    "jvp": check_jvp,
    "orders": T.orders(("jacrev", "jacrev")),
    "orders of forward mode": T.orders(("jacfwd", "jacfwd"), ("jacrev", "jacfwd")),
    "export": check_export,
    "export as it is": check_export_as_it_is,
}
LONG = ("vmap", "nested vmap", "jvp", "hessian", "orders", "orders of forward mode", "vmap of grad", "export", "jacfwd", "jacrev")
SOME = {"sddmm": ("quotient", "softmax", "scale, no values", "softmax, no values"), "spmm": ("", "no values", "transpose"),
        "fused": ("softmax", "softmax, transpose"), "attention": ("", "bias", "masked")}  # in checks that take long


@pytest.mark.parametrize("row", [row for row in table.JAX_ROWS if not row.rare], ids=repr)
def test_values_and_gradients(row):
    """Of operands alone, of all in a batch, and of one batch beside what all members share, whose gradient is the sum."""
    for leads in ([()], [(2,)], [(2,), ()], [(), (), (), (2,)])[:1 if not row.brief else 3 if "mask" in row.label else 4]:
        leads = [lead if place in row.batch else () for place, lead in zip(range(len(row.shapes)), (leads + [leads[-1]] * 3)[:4])]
        case = Case(row, leads)
        want = case.theirs(*case.inputs)
        for compiled in (case.ours, jax.jit(case.ours)):
            close(compiled(*case.inputs), want, leads)
        weights = jnp.linspace(-1, 1, want.size).reshape(want.shape)
        close(*[jax.grad(lambda *x, f=f: (f(*x) * weights).sum(), case.everything)(*case.inputs) for f in (jax.jit(case.ours), case.theirs)], leads)


@pytest.mark.parametrize("row", [row for row in table.JAX_ROWS if row.brief], ids=repr)
def test_sizes_of_zero(row):
    for sizes in table.NOTHING:
        case = Case(row, **sizes)
        close(case.ours(*case.inputs), case.theirs(*case.inputs), sizes)
        close(*[jax.grad(lambda *x, f=f: (f(*x)**2).sum(), case.everything)(*case.inputs) for f in (case.ours, case.theirs)], sizes)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("row", [row for row in table.JAX_ROWS if row.brief], ids=repr)
def test_types(row, dtype):
    for kind in ("int32", "int64"):
        case = Case(row, kind=kind, dtype=dtype)
        exact = [x.astype("float64") for x in case.inputs]
        tolerance = {"float32": 1e-5, "float16": 5e-3, "bfloat16": 4e-2}[dtype]
        assert case.ours(*case.inputs).dtype == dtype
        close(case.ours(*case.inputs), case.theirs(*exact), kind, tolerance)
        got = jax.grad(lambda *x: case.ours(*x).astype("float64").sum(), case.everything)(*case.inputs)
        assert all(g.dtype == dtype for g in got)
        close(got, jax.grad(lambda *x: case.theirs(*x).sum(), case.everything)(*exact), kind, tolerance)


@pytest.mark.parametrize(("transform", "row"), [(transform, row) for transform in table.JAX for row in table.JAX_ROWS
                                                if row.label in SOME[row.operation] or (transform not in LONG and not row.rare)], ids=str)
def test_transform(transform, row):
    cell = table.JAX_TABLE[transform, row.operation]
    if cell == table.WORKS:
        CHECKS[transform](Case(row))
    else:
        with pytest.raises(Exception, match=f"^{re.escape(cell)}"):
            CHECKS[transform](Case(row))


@pytest.mark.parametrize("row", [row for row in table.JAX_ROWS if row.operation == "fused" and not row.rare], ids=repr)
def test_every_edge_has_derivatives_of_both_modes(row):
    case = Case(row)
    close(*[jax.jit(jax.hessian(T.loss(f), 0))(*case.inputs) for f in (case.ours, case.theirs)], case.label)


def test_symbols_of_export():
    """The batch and nnz may be symbols; the sizes of the matrices are part of the program."""
    case = Case(named("spmm"))
    checks = [export.DisabledSafetyCheck.custom_call("tamis")]
    batch, = export.symbolic_shape("b")
    program = export.export(jax.jit(case.ours), disabled_checks=checks)(jax.ShapeDtypeStruct((batch, *case.inputs[0].shape), "float64"), case.inputs[1])
    close(program.call(T.several(case.inputs[0], 3), case.inputs[1]), case.theirs(T.several(case.inputs[0], 3), case.inputs[1]), "a symbol")
    with pytest.raises(ValueError, match="the number of rows of B is b, a symbol of jax.export: expected a number"):
        export.export(jax.jit(case.ours), disabled_checks=checks)(jax.ShapeDtypeStruct((batch, 2), "float64"), case.inputs[1])


def test_gradients_of_nested_maps():
    """q by members, k by heads, v by none: there is no single stride from one to the next."""
    case = Case(named("attention"))
    q, k, v = T.several(case.inputs[0], 2), T.several(case.inputs[1], 3), case.inputs[2]
    mapped = [jax.vmap(jax.vmap(f, (None, 0, None)), (0, None, None)) for f in (case.ours, case.theirs)]
    close(*[jax.grad(lambda *x, f=f: (f(*x)**2).sum(), (0, 1, 2))(q, k, v) for f in mapped], "nested")


def test_every_transform_has_a_check():
    assert set(CHECKS) == set(table.JAX)
