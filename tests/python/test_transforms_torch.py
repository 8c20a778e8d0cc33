"""Each operation of tamis.torch under each transform: the right value, or the error that the table has. Never a wrong value without a word."""
from __future__ import annotations

import itertools
import re

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

import transforms as table  # noqa: E402

import tamis.torch as tt  # noqa: E402
from tamis.torch import _ops  # noqa: E402

if not _ops.REGISTERED:
    pytest.skip("transforms need PyTorch 2.4", allow_module_level=True)

import torch.autograd.forward_ad as forward_ad  # noqa: E402
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap  # noqa: E402

OFFSETS, COLUMNS, ROW_OF = (torch.as_tensor(x) for x in table.pattern_arrays())
SHAPE = (table.ROWS, table.COLS)
PATTERN = tt.Pattern.from_csr(OFFSETS, COLUMNS, SHAPE)
DENSE = table.Dense(torch, torch.sigmoid, [torch.as_tensor(x) for x in table.picked()])


class Case:
    """An operation: ours takes a pattern and operands, theirs operands."""

    def __init__(self, label, ours, theirs, names, edge="scale", made=None):
        self.label, self.with_pattern, self.theirs = label, ours, theirs
        self.ours = lambda *x: ours(PATTERN, *x)
        self.inputs = made() if made else [torch.as_tensor(table.operands(edge)[name]) for name in names]

    @property
    def everything(self):
        return range(len(self.inputs))


def sddmm_case(edge, valued=True):
    names = ("a", "b", "v") if valued else ("a", "b")
    return Case(f"{edge}{'' if valued else ', no values'}", lambda p, a, b, v=None: tt.sddmm(p, a, b, v, edge=edge, scale=0.7, slope=0.2),
                lambda a, b, v=None: DENSE.samples(a, b, v, edge), names, edge)


def fused_case(edge, transpose):
    names = ("at", "bt", "dt", "v") if transpose else ("a", "b", "d", "v")
    return Case(f"{edge}{', transpose' * transpose}",
                lambda p, a, b, d, v: tt.fused(p, a, b, d, v, edge=edge, scale=0.7, slope=0.2, transpose=transpose),
                lambda a, b, d, v: DENSE.fused(a, b, d, v, edge, transpose), names, edge)


def attention_case(bias):
    def theirs(q, k, v, bias=None):
        return DENSE.fused(q * (table.INNER**-0.5 / 0.7), k, v, bias, "softmax")

    return Case("bias" * bias, lambda p, q, k, v, bias=None: tt.attention(q, k, v, p, bias=bias), theirs, ("a", "b", "d", "v") if bias else ("a", "b", "d"))


def layer_case(name, layer, width, square=True):
    """A layer of a graph, against the same layer on an oracle: the operations by dense matrices."""
    layer = layer.double()
    graph = tt.Pattern.from_torch((torch.eye(6, dtype=torch.bool) | torch.ones(6, 6, dtype=torch.bool).tril(-2)))
    rows = torch.repeat_interleave(torch.arange(6), graph.index.diff())
    eye = torch.eye(6, dtype=torch.float64)
    dense = table.Dense(torch, torch.sigmoid, (eye[rows], eye[graph.columns]))

    def theirs(x):
        one = layer.weight(x).view(-1, layer.heads, layer.out_features).transpose(0, 1)
        if name == "DotGATConv":
            heads = [dense.fused(z * (layer.out_features**-0.5 / 0.7), z, z, None, "softmax") for z in one]
            return torch.stack(heads, 1)
        heads = []
        for z, to, of in zip(one, layer.target, layer.source):
            scores = (dense.R @ (z @ to) + dense.C @ (z @ of))[:, 0]
            scores = torch.where(scores < 0, layer.slope * scores, scores)
            e = torch.exp(scores)
            weights = e / (dense.R @ (dense.R.T @ e))
            heads.append(dense.times(weights, z))
        return torch.stack(heads, 1) + layer.bias

    made = Case(name, lambda p, x: layer(p, x), theirs, (), made=lambda: [torch.randn(6, width, dtype=torch.float64)])
    made.ours = lambda x: layer(graph, x)
    made.graph, made.layer = graph, layer
    return made


def cases(operation, some=False):
    """some: fewer, for what takes long."""
    torch.manual_seed(5)
    if operation == "sddmm":
        return [sddmm_case(edge) for edge in table.EDGES] + [sddmm_case("scale", False), sddmm_case("softmax", False)]
    if operation == "spmm":
        vector = [torch.as_tensor(table.operands()["d"][:, 0].copy()), torch.as_tensor(table.operands()["v"])]
        return [Case("", lambda p, d, v: tt.spmm(p, d, v), lambda d, v: DENSE.times(v, d), ("d", "v")),
                Case("no values", lambda p, d: tt.spmm(p, d), lambda d: DENSE.times(None, d), ("d",)),
                Case("transpose", lambda p, d, v: tt.spmm(p, d, v, transpose=True), lambda d, v: DENSE.times(v, d, True), ("dt", "v")),
                Case("vector", lambda p, d, v: tt.spmm(p, d, v), lambda d, v: DENSE.times(v, d), (), made=lambda: vector)]
    if operation == "fused":
        return [fused_case(edge, transpose) for edge in (("scale", "softmax") if some else table.EDGES) for transpose in (False, True)]
    if operation == "attention":
        return [attention_case(False), attention_case(True)]
    if operation == "softmax":
        return [Case("", lambda p, v: tt.softmax(p, v),
                     lambda v: DENSE.samples(torch.zeros(table.ROWS, 1).double(), torch.zeros(table.COLS, 1).double(), v, "softmax"), ("v",))]
    if operation == "sampled_addmm":
        values = torch.as_tensor(table.operands()["v"])
        S = torch.sparse_csr_tensor(OFFSETS, COLUMNS, values, SHAPE)
        return [Case("", lambda p, a, bt: tt.sampled_addmm(S, a, bt, beta=0.5).values(),
                     lambda a, bt: DENSE.samples(a, bt.t(), None, "mask") + 0.5 * values, (),
                     made=lambda: [torch.as_tensor(table.operands()["a"]), torch.as_tensor(table.operands()["b"]).t().contiguous()])]
    return [layer_case("GATConv", tt.nn.GATConv(3, 2, heads=2), 3), layer_case("DotGATConv", tt.nn.DotGATConv(3, 2, heads=2), 3)]


def loss(f):
    return lambda *x: f(*x).sin().sum()


def tangents(case):
    return tuple(torch.cos(3 * x + 1) for x in case.inputs)


def leaves(case):
    return [x.clone().requires_grad_() for x in case.inputs]


def close(got, want, what, **tolerances):
    torch.testing.assert_close(got, want, msg=lambda text: f"{what}: {text}", **tolerances)


def both(transformed):
    """A check that a transform gives the same of ours and of theirs."""
    def check(case):
        close(transformed(case, case.ours), transformed(case, case.theirs), case.label)
    return check


def subsets(case):
    return [chosen for count in range(1, len(case.inputs) + 1) for chosen in itertools.combinations(case.everything, count)]


def several(x, count):
    """Members that differ, with the dimension in another place now and then."""
    return torch.stack([x * (1 + 0.1 * number) for number in range(count)])


def check_vmap(case):
    for chosen in subsets(case):
        for last in (False, True):
            given = [several(x, 3) if place in chosen else x for place, x in enumerate(case.inputs)]
            dims = tuple((x.dim() - 1 if last else 0) if place in chosen else None for place, x in enumerate(given))
            given = [x.movedim(0, -1) if last and place in chosen else x for place, x in enumerate(given)]
            want = torch.stack([case.theirs(*[x.select(dim, number) if dim is not None else x for x, dim in zip(given, dims)]) for number in range(3)])
            close(vmap(case.ours, in_dims=dims)(*given), want, f"{case.label}, {chosen}")
    square = [several(x, x.shape[-1]) for x in case.inputs[:1]] + case.inputs[1:]  # as many members as a vector has numbers
    dims = (0, *[None for _ in case.inputs[1:]])
    close(vmap(case.ours, in_dims=dims)(*square), torch.stack([case.theirs(x, *square[1:]) for x in square[0]]), f"{case.label}, square")


def check_nested(case):
    for outer in subsets(case):
        inner = [place for place in case.everything if place not in outer] or list(case.everything)
        given = []
        for place, x in enumerate(case.inputs):
            x = several(x, 3) if place in inner else x
            given.append(several(x, 2) if place in outer else x)
        dims = [tuple(0 if place in chosen else None for place in case.everything) for chosen in (outer, inner)]
        transformed = vmap(vmap(case.ours, in_dims=dims[1]), in_dims=dims[0])(*given)
        want = torch.stack([torch.stack([case.theirs(*[(x[i] if place in outer else x)[j] if place in inner else (x[i] if place in outer else x)
                                                       for place, x in enumerate(given)]) for j in range(3)]) for i in range(2)])
        close(transformed, want, f"{case.label}, {outer}")


def check_pattern(case):
    columns = torch.stack([COLUMNS, COLUMNS])
    vmap(lambda columns: case.with_pattern(tt.Pattern.from_csr(OFFSETS, columns, SHAPE), *case.inputs))(columns)


def check_duals(case):
    for chosen in subsets(case):
        for recorded in (False, True):
            with forward_ad.dual_level():
                given = [forward_ad.make_dual(x.clone().requires_grad_(recorded), t) if place in chosen else x
                         for place, (x, t) in enumerate(zip(case.inputs, tangents(case)))]
                got, want = (forward_ad.unpack_dual(f(*given)).tangent for f in (case.ours, case.theirs))
                if want is None:  # nothing depends on the values of a mask
                    want = torch.zeros_like(case.theirs(*case.inputs))
                close(torch.zeros_like(want) if got is None else got, want, f"{case.label}, {chosen}")
    # a gradient within a dual level, which is not recorded
    def product(f):
        with forward_ad.dual_level():
            given = [forward_ad.make_dual(x.clone().requires_grad_(), t) for x, t in zip(case.inputs, tangents(case))]
            found = torch.autograd.grad(loss(f)(*given), given, allow_unused=True)
            return [forward_ad.unpack_dual(g).tangent for g in found if g is not None and forward_ad.unpack_dual(g).tangent is not None]

    got, want = product(case.ours), product(case.theirs)
    close([x for x in got if x.any()], [x for x in want if x.any()], f"{case.label}, gradient of duals")


def transformed_orders(case, f):
    return [outer(inner(loss(f))) (*case.inputs) for outer, inner in ((jacrev, jacrev), (jacfwd, jacfwd), (jacrev, jacfwd))]


def transformed_vjp(case, f):
    out, back = vjp(f, *case.inputs)
    return back(torch.cos(out))


def check_vmap_of_grad(case):
    many = [several(x, 3) for x in case.inputs]
    wanted = tuple(case.everything)
    for mean in (False, True):
        def summed(f):
            return lambda *x: f(*x).mean() if mean else f(*x).sum()
        for chosen in subsets(case):
            dims = tuple(0 if place in chosen else None for place in case.everything)
            given = [many[place] if place in chosen else case.inputs[place] for place in case.everything]
            close(*[vmap(grad(summed(f), wanted), in_dims=dims)(*given) for f in (case.ours, case.theirs)], f"{case.label}, {chosen}")


def batched_gradients(case, f):
    given = leaves(case)
    out = f(*given)
    batch = torch.stack([torch.cos(out.detach() * number) for number in range(3)])
    found = torch.autograd.grad(out, given, batch, is_grads_batched=True, allow_unused=True)
    return [torch.zeros(3, *x.shape).to(x) if g is None else g for g, x in zip(found, given)]


def twice(case, f):
    given = leaves(case)
    first = [g for g in torch.autograd.grad(loss(f)(*given), given, create_graph=True, allow_unused=True) if g is not None]
    found = torch.autograd.grad(sum(g.square().sum() for g in first), given, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, given)]


def compiled(f):
    torch._dynamo.reset()
    return torch.compile(f, fullgraph=True, backend="aot_eager")


def check_compile(case):
    given = leaves(case)
    out = compiled(case.ours)(*given)
    want = case.theirs(*given)
    close(out, want, case.label)
    found = [torch.autograd.grad(x.sin().sum(), given, allow_unused=True) for x in (out, want)]
    for g, w, x in zip(*found, given):
        close(torch.zeros_like(x) if g is None else g, torch.zeros_like(x) if w is None else w, case.label)


def check_compiled_transforms(case):
    for transformed in (lambda f: grad(loss(f)), lambda f: lambda *x: jvp(f, x, tangents(case))[1]):
        close(compiled(transformed(case.ours))(*case.inputs), transformed(case.theirs)(*case.inputs), case.label)
    many = [several(case.inputs[0], 2), *case.inputs[1:]]
    dims = (0, *[None for _ in case.inputs[1:]])
    close(compiled(lambda *x: vmap(case.ours, in_dims=dims)(*x))(*many), vmap(case.theirs, in_dims=dims)(*many), case.label)


def check_export(case):
    class Module(torch.nn.Module):
        def forward(self, *x):
            return case.ours(*x)

    program = torch.export.export(Module(), tuple(case.inputs))
    close(program.module()(*case.inputs), case.theirs(*case.inputs), case.label)


def check_autocast(case):
    given = [x.float().requires_grad_() for x in case.inputs]
    exact = leaves(case)
    layer = getattr(case, "layer", None)
    if layer is not None:
        layer.float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = case.ours(*given)
    if layer is not None:
        layer.double()
    want = case.theirs(*exact)
    wide = case.label in ("exp", "softmax", "softmax, no values") and len(case.inputs) < 4
    if layer is None and case.name != "sampled_addmm":
        assert out.dtype == (torch.float32 if wide or case.name == "softmax" else torch.bfloat16), case.label
    close(out.double(), want, case.label, atol=0.1, rtol=0.1)
    out.float().sin().sum().backward()
    want.sin().sum().backward()
    for x, y in zip(given, exact):
        if y.grad is not None:
            assert x.grad.dtype == torch.float32
            assert (x.grad.double() - y.grad).norm() <= 0.1 * y.grad.norm() + 0.05, case.label


def check_meta(case):
    for pattern in (PATTERN, PATTERN.to("meta")):
        given = [x.to("meta").requires_grad_() for x in case.inputs]
        if hasattr(case, "graph"):
            import copy
            out = copy.deepcopy(case.layer).to("meta")(case.graph.to("meta"), *given)
        else:
            out = case.with_pattern(pattern, *given)
        want = case.theirs(*case.inputs)
        assert out.is_meta and out.shape == want.shape and out.dtype == want.dtype
        for g, x in zip(torch.autograd.grad(out.sum(), given, allow_unused=True), given):
            assert g is None or (g.is_meta and g.shape == x.shape)


CHECKS = {
    "vmap": check_vmap,
    "nested vmap": check_nested,
    "vmap over a pattern": check_pattern,
    "jvp": both(lambda case, f: [jvp(f, tuple(case.inputs), t) for t in (tangents(case), tuple(torch.ones_like(x) for x in case.inputs))]),
    "jacfwd": both(lambda case, f: [jacfwd(f, tuple(case.everything))(*case.inputs), torch.autograd.functional.jacobian(
        f, tuple(case.inputs), strategy="forward-mode", vectorize=True)]),
    "duals": check_duals,
    "grad": both(lambda case, f: grad(loss(f), tuple(case.everything))(*case.inputs)),
    "vjp": both(transformed_vjp),
    "jacrev": both(lambda case, f: jacrev(f, tuple(case.everything))(*case.inputs)),
    "hessian": both(lambda case, f: hessian(loss(f), tuple(case.everything))(*case.inputs)),
    "orders": both(transformed_orders),
    "vmap of grad": check_vmap_of_grad,
    "is_grads_batched": both(batched_gradients),
    "double backward": both(twice),
    "compile": check_compile,
    "compile of transforms": check_compiled_transforms,
    "export": check_export,
    "autocast": check_autocast,
    "meta": check_meta,
}
LONG = ("compile", "compile of transforms", "export", "orders")


@pytest.mark.parametrize(("transform", "operation"), table.TORCH_TABLE)
def test_cell(transform, operation):
    cell = table.TORCH_TABLE[transform, operation]
    for case in cases(operation, transform in LONG):
        case.name = operation
        if cell == table.WORKS:
            CHECKS[transform](case)
        else:
            with pytest.raises(Exception, match=f"^{re.escape(cell)}"):
                CHECKS[transform](case)


def test_every_transform_has_a_check():
    assert set(CHECKS) == set(table.TORCH)
