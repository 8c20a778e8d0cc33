"""Derivatives of derivatives of message passing, by finite differences, and its operators under vmap, beside loops over the members."""
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

import tamis.torch as tt  # noqa: E402
from tamis.torch import _ops  # noqa: E402

if not _ops.REGISTERED:
    pytest.skip("operators are registered from PyTorch 2.4", allow_module_level=True)

ROWS, COLS, NNZ, HEADS, WIDTH, MEMBERS = 4, 3, 8, 2, 2, 3
OPS = ["copy_u", "add", "sub", "mul", "copy_e", "add_relu"]
REDUCES = ["sum", "mean", "max", "min"]
EDGES = {"number": (NNZ,), "head": (NNZ, HEADS), "vector": (NNZ, HEADS, WIDTH)}
MESSAGES = [(op, data) for op in OPS for data in EDGES if op != "copy_u" or data == "number"]
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.fixture(params=DEVICES, autouse=True)
def device(request):
    """Where the tests make their tensors."""
    torch.manual_seed(1)
    with torch.device(request.param):
        yield request.param


def make(kind="coo"):
    """A pattern with an empty row and repeated entries."""
    rows, columns = torch.tensor([3, 0, 2, 0, 3, 3, 0, 2]), torch.tensor([0, 1, 2, 2, 1, 0, 1, 0])
    if kind == "coo":
        return tt.Pattern.from_coo(rows, columns, (ROWS, COLS))
    return tt.Pattern.from_csr(torch.tensor([0, 3, 3, 5, 8]), columns, (ROWS, COLS))


def operand(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def twice(call, *operands):
    """Its first and second derivatives by all operands."""
    assert torch.autograd.gradcheck(call, operands)
    assert torch.autograd.gradgradcheck(call, operands)


def calls():
    """Each operator: (name, call, shapes of its operands)."""
    for op, data in MESSAGES:
        shapes = [shape for shape, there in (((COLS, HEADS, WIDTH), op != "copy_e"), (EDGES[data], op != "copy_u")) if there]
        for reduce in REDUCES:
            def message(pattern, *given, op=op, reduce=reduce):
                return tt.message(pattern, op, *([None] if op == "copy_e" else []), *given, reduce=reduce)
            yield f"message-{op}-{data}-{reduce}", message, shapes
    for op in ("add", "sub", "mul", "dot"):
        yield f"edge_op-{op}", lambda pattern, x, y, op=op: tt.edge_op(pattern, op, x, y), [(ROWS, HEADS, WIDTH), (COLS, HEADS, WIDTH)]
    whole = [(ROWS, HEADS, WIDTH), (COLS, HEADS, WIDTH), (COLS, HEADS, WIDTH), (NNZ, HEADS, WIDTH), (NNZ, HEADS)]
    yield "attention-e-bias", lambda pattern, *given: tt.graph_attention(pattern, *given), whole
    yield "attention-e", lambda pattern, *given: tt.graph_attention(pattern, *given), whole[:4]
    yield "attention-bias", lambda pattern, q, k, v, b: tt.graph_attention(pattern, q, k, v, bias=b, scale=0.3), [*whole[:3], (NNZ,)]
    for order in ("given", "rows"):
        for dim in (0, -1):
            for name in ("softmax", *REDUCES):
                def segment(pattern, x, name=name, order=order, dim=dim):
                    return tt.edge_softmax(pattern, x, order, dim) if name == "softmax" else tt.segment(pattern, x, name, order, dim)
                yield f"segment-{name}-{order}-{dim}", segment, [(NNZ, HEADS) if dim == 0 else (HEADS, NNZ)]


CALLS = list(calls())
each = pytest.mark.parametrize("call, shapes", [(call, shapes) for _, call, shapes in CALLS], ids=[name for name, _, _ in CALLS])
some = pytest.mark.parametrize("call, shapes", [(call, shapes) for name, call, shapes in CALLS if "-min" not in name and "rows" not in name],
                               ids=[name for name, _, _ in CALLS if "-min" not in name and "rows" not in name])


@each
def test_second_derivatives(call, shapes):
    pattern = make("csr" if len(shapes) % 2 else "coo")
    operands = [operand(*shape) for shape in shapes]
    twice(lambda *given: call(pattern, *given), *operands)


def test_third_derivatives():
    """Of one call of each operator, beside those of what it is made of."""
    pattern = make()
    rows, columns = pattern.index, pattern.columns
    x, e, y = operand(COLS, 2), operand(NNZ, 2), operand(ROWS, 2)

    def third(loss):
        found = loss
        for _ in range(3):
            found = sum((part.sin() * torch.arange(1., 1 + part.numel(), dtype=part.dtype).reshape(part.shape)).sum()
                        for part in torch.autograd.grad(found, (x, e, y), create_graph=True, allow_unused=True) if part is not None)
        return found

    ours = tt.message(pattern, "mul", x, e * tt.edge_softmax(pattern, e)) * tt.message(pattern, "copy_u", x, reduce="mean") * y
    scores = e.exp()
    p = scores / torch.zeros_like(y).index_add(0, rows, scores)[rows]
    counts = torch.bincount(rows, minlength=ROWS).clamp(min=1).unsqueeze(1)
    theirs = torch.zeros_like(y).index_add(0, rows, x[columns] * e * p) * (torch.zeros_like(y).index_add(0, rows, x[columns]) / counts) * y
    torch.testing.assert_close(third((ours**2).sum()), third((theirs**2).sum()))


@pytest.mark.parametrize("conv", ["GATConv", "GATv2Conv", "TransformerConv", "GINEConv"])
def test_layers_twice(conv):
    """Penalties of gradients, for instance by positions, need second derivatives of layers."""
    from tamis.torch import pyg
    edge_index = torch.tensor([[0, 1, 2, 2, 1, 0], [1, 1, 0, 2, 2, 0]])
    layer = (pyg.GINEConv(torch.nn.Linear(2, 3), edge_dim=2) if conv == "GINEConv" else
             getattr(pyg, conv)(2, 2, heads=2, edge_dim=2, **({} if conv == "TransformerConv" else {"add_self_loops": False}))).double()
    x, e = operand(3, 2), operand(6, 2)
    weights = list(layer.parameters())
    twice(lambda x, e, *_: layer(x, edge_index, e), x, e, *weights)


# ------------------------------------------------------------------------------ vmap


def mapped(shape, dim):
    """A batch of operands, of which dimension `dim` counts the members; None: one for all."""
    if dim is None:
        return operand(*shape).detach()
    return torch.randn(MEMBERS, *shape, dtype=torch.float64).movedim(0, dim)


def by_loop(call, dims, operands):
    return torch.stack([call(*(x if dim is None else x.select(dim, i) for dim, x in zip(dims, operands))) for i in range(MEMBERS)])


def choices(count):
    """Which operands are mapped: all, the first in another place, each alone."""
    yield [0] * count
    yield [1] + [0] * (count - 1)
    if count > 1:
        yield from ([0 if i == one else None for i in range(count)] for one in range(count))


@each
def test_vmap(call, shapes):
    pattern = make()
    for dims in choices(len(shapes)):
        operands = [mapped(shape, dim) for shape, dim in zip(shapes, dims)]

        def one(*given):
            return call(pattern, *given)

        got = torch.vmap(one, tuple(dims))(*operands)
        torch.testing.assert_close(got, by_loop(one, dims, operands))


@some
def test_vmap_of_gradients(call, shapes):
    """Gradients of each member, also by operands that all share, in both ways."""
    pattern = make()
    for dims in choices(len(shapes)):
        operands = [mapped(shape, dim) for shape, dim in zip(shapes, dims)]
        for place in range(len(shapes)):
            def gradient(*given):
                return torch.func.grad(lambda *given: (call(pattern, *given) ** 2).sum(), argnums=place)(*given)

            got = torch.vmap(gradient, tuple(dims))(*operands)
            torch.testing.assert_close(got, by_loop(gradient, dims, operands))

        def loss(*given):
            return (torch.vmap(lambda *given: call(pattern, *given), tuple(dims))(*given) ** 2).sum()

        def loss_by_loop(*given):
            return (by_loop(lambda *given: call(pattern, *given), dims, given) ** 2).sum()

        leaves = [x.detach().requires_grad_() for x in operands]
        for one, other in zip(torch.autograd.grad(loss(*leaves), leaves), torch.autograd.grad(loss_by_loop(*leaves), leaves)):
            torch.testing.assert_close(one, other)


@some
def test_batches_of_gradients(call, shapes):
    """jacrev, and autograd's is_grads_batched."""
    pattern = make()
    operands = [operand(*shape) for shape in shapes]
    out = call(pattern, *operands)
    weights = torch.randn(MEMBERS, *out.shape, dtype=torch.float64)
    want = [torch.autograd.grad(out, operands, member, retain_graph=True) for member in weights]
    for one, *others in zip(torch.autograd.grad(out, operands, weights, is_grads_batched=True), *want):
        torch.testing.assert_close(one, torch.stack(others))
    jacobian = torch.func.jacrev(lambda x: call(pattern, x, *operands[1:]))(operands[0])
    torch.testing.assert_close(torch.einsum("mo,oi->mi", weights.flatten(1), jacobian.reshape(out.numel(), -1)), torch.stack([first[0] for first in want]).flatten(1))


def test_nested_vmap():
    pattern = make()
    x, e = torch.randn(2, COLS, WIDTH, dtype=torch.float64), torch.randn(3, NNZ, dtype=torch.float64)
    got = torch.vmap(lambda x: torch.vmap(lambda e: tt.message(pattern, "mul", x, e, "max"))(e))(x)
    want = torch.stack([torch.stack([tt.message(pattern, "mul", one, other, "max") for other in e]) for one in x])
    torch.testing.assert_close(got, want)
    got = torch.vmap(torch.vmap(lambda e: tt.edge_softmax(pattern, e)))(e.reshape(3, 1, NNZ))
    torch.testing.assert_close(got, torch.stack([tt.edge_softmax(pattern, one) for one in e]).unsqueeze(1))


def test_one_call(monkeypatch):
    """All members are in one call of the library, and what comes out is not copied."""
    from tamis.torch import _messages
    counted = []
    forward = _messages._forward
    monkeypatch.setattr(_messages, "_forward", lambda *given: counted.append(1) or forward(*given))
    pattern = make()
    out = torch.vmap(lambda x: tt.message(pattern, "copy_u", x), in_dims=1, out_dims=1)(torch.randn(COLS, MEMBERS, WIDTH))
    assert len(counted) == 1 and out.is_contiguous()


def test_vmap_over_patterns():
    pattern = make()
    with pytest.raises(NotImplementedError, match="vmap over the columns of a pattern"):
        torch.vmap(lambda columns: tt.message(tt.Pattern.from_coo(pattern.index, columns, (ROWS, COLS)), "copy_u", torch.ones(COLS, 1)))(pattern.columns.repeat(2, 1))
