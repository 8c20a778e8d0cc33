"""Message passing and attention on graphs beside what test_operators_torch has: ties, errors, streams, third derivatives, layers, and how many calls a map makes."""
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

import operators as table  # noqa: E402

import tamis  # noqa: E402
import tamis.torch as tt  # noqa: E402
from tamis import _declarations, _errors  # noqa: E402
from tamis.torch import _graph_attention, _messages, _ops  # noqa: E402

if not _ops.REGISTERED:
    pytest.skip("operators are registered from PyTorch 2.4", allow_module_level=True)

ROWS, COLS, NNZ = 7, 5, 24
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"))]


@pytest.fixture(autouse=True, params=DEVICES)
def device(request):
    """The device of all that `make` and `operand` return."""
    global DEVICE
    DEVICE = request.param
    torch.manual_seed(1)
    return DEVICE


def make():
    """A pattern with empty rows and repeated entries, and the row and column of each entry."""
    generator = torch.Generator().manual_seed(3)
    rows = (torch.randint(0, ROWS - 2, (NNZ,), generator=generator) + 1).to(DEVICE)
    columns = torch.randint(0, COLS, (NNZ,), generator=generator).to(DEVICE)
    return tt.Pattern.from_coo(rows, columns, (ROWS, COLS)), rows, columns


def operand(*shape):
    return torch.randn(*shape, dtype=torch.float64, device=DEVICE, requires_grad=True)


def dense(rows, columns):
    return table.Dense(torch, *(torch.eye(size, dtype=torch.float64)[at.cpu()].to(DEVICE) for size, at in ((ROWS, rows), (COLS, columns))))


def test_ties_and_nan():
    pattern = tt.Pattern.from_coo(torch.tensor([0, 0, 0, 1, 1], device=DEVICE), torch.tensor([2, 1, 0, 1, 0], device=DEVICE), (3, 3))
    e = torch.tensor([0.0, -float("inf"), 0.0, 0.0, 5.0], device=DEVICE)
    x = torch.tensor([[1.0], [2.0], [1.0]], device=DEVICE, requires_grad=True)
    out = tt.message(pattern, "add", x, e, reduce="max")
    assert out.flatten().tolist() == [1, 6, 0]
    out.sum().backward()
    assert x.grad.flatten().tolist() == [1, 0, 1]  # of the two that are equal, the first entry
    nan = torch.tensor([[1.0], [float("nan")], [3.0]], device=DEVICE)
    assert tt.message(pattern, "add", nan, torch.zeros_like(e), reduce="max").isnan().flatten().tolist() == [True, True, False]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("op", ["copy_u", "mul"])
def test_planned_passes(op, dtype):
    """Multiples of a quarter have exact sums: whatever computes a pass, the bits are the same, forward and backward, direct and compiled."""
    pattern = tt.Pattern.from_csr(torch.tensor([0, 3, 3, 7, 12], device=DEVICE), torch.arange(12, device=DEVICE) % 5, (4, 5))
    x = (torch.arange(5 * 16, device=DEVICE) % 13).reshape(5, 16).to(dtype).div(4).requires_grad_()
    e = (torch.arange(12, device=DEVICE) % 7).to(dtype).div(4).requires_grad_() if op == "mul" else None
    given = [x] if e is None else [x, e]

    def call():
        out = tt.message(pattern, op, x, e)
        return [out, *torch.autograd.grad(out, given, torch.ones_like(out))]
    before = call()
    text = tt.plan_message(pattern, op, x, e, expected_calls=10)
    assert text.count("\nplanned  ") == 2 and "sums of rows" in text and ("dot products" in text) == (op == "mul")
    assert all(torch.equal(a, b) for a, b in zip(before, call()))
    compiled = torch.compile(lambda x: tt.message(pattern, op, x, e), backend="eager", fullgraph=True)
    assert torch.equal(compiled(x), before[0])
    other = tt.Pattern.from_csr(pattern.index.clone(), pattern.columns.clone(), (4, 5))
    assert tt.plan_message(other, op, x, e, reduce="max").count("\nplanned  ") == 0  # which no algorithm computes
    with pytest.raises((TypeError, ValueError), match="int64"):
        tt.plan_message(other, "copy_u", x.detach().long())
    with pytest.raises(_errors.ArgumentError, match="e is None"):
        tt.plan_message(pattern, "mul", x)
    with pytest.raises(_errors.ArgumentError, match="expected_calls"):
        tt.plan_message(pattern, op, x, e, expected_calls=-1)


def test_expressions_again_and_compiled():
    """The same call has the same recipe; other numbers, operands and expressions have others, in compiled code too."""
    pattern, rows, columns = make()
    x, v = operand(COLS, 4).detach(), operand(ROWS, 4).detach()
    each = dense(rows, columns)
    compiled = torch.compile(lambda op, x, v: tt.message(pattern, op, x, v=v, numbers={"a": 0.5}), backend="eager", fullgraph=True)
    for op, value in (("u * v * a", lambda u, e, v: u * v * 0.5), ("a * u - v", lambda u, e, v: 0.5 * u - v)):
        for scale in (1, 2, 3):
            want = each.text(value, x * scale, None, v, "sum")
            torch.testing.assert_close(tt.message(pattern, op, x * scale, v=v, numbers={"a": 0.5}), want)
            torch.testing.assert_close(compiled(op, x * scale, v), want)
            torch.testing.assert_close(tt.message(pattern, op, x, v=v, numbers={"a": scale}), tt.message(pattern, op.replace("a", str(scale)), x, v=v))


def test_errors():
    pattern, _, _ = make()
    x, e, y = operand(COLS, 4), operand(NNZ, 4), operand(ROWS, 4)
    for call, kind, text in [
        (lambda: tt.message(pattern, "times", x, e), ValueError, "op = 'times': expected one of 'copy_u'"),
        (lambda: tt.message(pattern, "mul", x, e, "median"), ValueError, "reduce = 'median': expected one of 'sum'"),
        (lambda: tt.message(pattern, "mul", x), ValueError, "e is None: mul reads it"),
        (lambda: tt.message(pattern, "copy_u", x, e), ValueError, "e is given: copy_u does not read it"),
        (lambda: tt.message(pattern, "copy_e", x, e), ValueError, "x is given: copy_e does not read it"),
        (lambda: tt.message(pattern, "copy_u", None), ValueError, "x is None: copy_u reads it"),
        (lambda: tt.message(pattern, "tahn(u)", x), ValueError, "message:1:1: unknown name 'tahn'; did you mean 'tanh'"),
        (lambda: tt.message(pattern, "relu(u + e)", x), ValueError, r"e is None: relu\(u \+ e\) reads it"),
        (lambda: tt.message(pattern, "relu(u)", x, v=x), ValueError, r"v is given: relu\(u\) does not read it"),
        (lambda: tt.message(pattern, "u + v", x, v=x), ValueError, r"v has shape \(5, 4\): expected \(7, width\)"),
        (lambda: tt.message(pattern, "u + v", x, v=y[:, :3]), ValueError, r"v has shape \(7, 3\) and x \(5, 4\)"),
        (lambda: tt.message(pattern, "1 + i", None), ValueError, r"expected an expression that reads u \(a row of x\), v or e"),
        (lambda: tt.message(pattern, "u * slope", x, numbers={"slope": float("inf")}), ValueError, "the number 'slope' = inf is not finite"),
        (lambda: tt.message(pattern, "copy_u", x, numbers={"a": 1}), ValueError, "only an expression as op names numbers"),
        (lambda: tt.message(pattern, "copy_u", y), ValueError, r"x has shape \(7, 4\): expected \(5, width\)"),
        (lambda: tt.message(pattern, "mul", x, e[:, :3]), ValueError, r"e has shape \(24, 3\): expected \(24,\) or \(24, 4\)"),
        (lambda: tt.message(pattern, "mul", x, e.float()), ValueError, "e is torch.float32 and x torch.float64"),
        (lambda: tt.message(pattern, "mul", operand(COLS, 20000), torch.ones(1, 1, dtype=x.dtype, device=DEVICE).expand(NNZ, 20000)), ValueError,
         r"e has shape \(24, 20000\) and strides \(0, 0\): a copy.* 480000 elements, more than all operands together"),
        (lambda: tt.message(pattern, "copy_u", x.detach().long()), ValueError, "int64"),
        (lambda: tt.message("graph", "copy_u", x), TypeError, "pattern is a str"),
        (lambda: tt.message(pattern, "copy_u", 3), TypeError, "x is a int"),
        (lambda: tt.edge_op(pattern, "div", y, x), ValueError, "op = 'div': expected one of 'add'"),
        (lambda: tt.edge_op(pattern, "add", x, x), ValueError, r"x has shape \(5, 4\): expected \(7, width\)"),
        (lambda: tt.edge_op(pattern, "add", y, operand(COLS, 3)), ValueError, "expected the same heads and width"),
        (lambda: tt.graph_attention("graph", y, x, x), TypeError, "pattern is a str"),
        (lambda: tt.graph_attention(pattern, x, x, x), ValueError, r"q has shape \(5, 4\): expected \(7, width\)"),
        (lambda: tt.graph_attention(pattern, y, y, x), ValueError, r"k has shape \(7, 4\): expected \(5, width\)"),
        (lambda: tt.graph_attention(pattern, y, x, x, e[:, :2]), ValueError, "e has shape .* expected the same heads and width"),
        (lambda: tt.graph_attention(pattern, y, x, x, e, e), ValueError, r"bias has shape \(24, 4\): expected \(24,\) or \(24, 1\)"),
        (lambda: tt.graph_attention(pattern, y, x, x.float()), ValueError, "v is torch.float32"),
        (lambda: tt.graph_attention(pattern, y, x, 3), TypeError, "v is a int"),
        (lambda: tt.edge_softmax(pattern, y), ValueError, r"values has shape \(7, 4\): expected 24"),
        (lambda: tt.edge_softmax(pattern, e, order="csr"), ValueError, "order = 'csr': expected one of 'given'"),
        (lambda: tt.segment(pattern, e, "softmax"), ValueError, "reduce = 'softmax': expected one of 'sum'"),
        (lambda: tt.segment(pattern, e, dim=1), ValueError, "dim = 1: expected 0"),
        (lambda: tt.segment(pattern, e.long()), ValueError, "int64"),
    ]:
        with pytest.raises(kind, match=text):
            call()


def test_order_of_columns_where_there_is_none(monkeypatch):
    """What the library says of its option becomes what a caller has passed."""
    said = 'options.column_places = true: cuda:0 takes no edge values in the order of columns; expected false, or the device "cpu"'

    def refuse(*given):
        raise _errors.of_status(_declarations.TAMIS_ERROR_UNSUPPORTED, said)

    if DEVICE == "cpu":
        monkeypatch.setattr(_graph_attention, "_graph", refuse)
    for call in (lambda x: tt.segment(make()[0], x, "sum", "columns"), lambda x: tt.edge_softmax(make()[0], x, "columns")):
        with pytest.raises(tamis.UnsupportedError, match="^order = 'columns': cuda:0 takes no edge values in the order of columns; expected 'given' or 'rows', or the "
                                                         "device \"cpu\"$"):
            call(operand(NNZ))


def test_places_beyond_the_pattern():
    """On a GPU the first call of a pattern checks them."""
    places, x = torch.zeros(3, dtype=torch.int64, device=operand(1).device), operand(COLS, 4)
    for rows, columns, text in (([0, 1, ROWS], [0, 0, 0], "row_indices"), ([0, 1, 2], [0, -1, 0], "columns"), ([0, 1, 2], [0, 0, COLS], "columns")):
        with pytest.raises(ValueError, match=text):
            pattern = tt.Pattern.from_coo(places + torch.tensor(rows, device=places.device), places + torch.tensor(columns, device=places.device), (ROWS, COLS))
            tt.message(pattern, "copy_u", x)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
class TestStreams:
    @pytest.fixture(autouse=True)
    def on_cuda(self, device):
        if device == "cpu":
            pytest.skip("the CPU has no streams")

    def test_order(self):
        """Everything happens in the current stream, and nothing waits for it: operands that are still being made, a new pattern."""
        pattern, rows, columns = make()
        x = operand(COLS, 4)
        want = dense(rows, columns).message("copy_u", x, None, "max")
        torch.cuda.synchronize()
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda._sleep(20_000_000)
            later = x * 1
            other = tt.Pattern.from_coo(rows + 0, columns + 0, (ROWS, COLS))
            for each in (pattern, other):
                got = tt.message(each, "copy_u", later, reduce="max")
                torch.testing.assert_close(got, want)

    def test_capture(self):
        pattern, rows, columns = make()
        x, e = operand(COLS, 4).detach(), operand(NNZ, 4).detach()
        tt.message(pattern, "mul", x, e)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            out = tt.message(pattern, "mul", x, e)
        x.copy_(torch.randn_like(x))
        captured.replay()
        torch.testing.assert_close(out, dense(rows, columns).message("mul", x, e, "sum"))


def test_third_derivatives():
    """Of one call of each operator, beside those of what it is made of."""
    pattern, rows, columns = make()
    x, e, y = operand(COLS, 2), operand(NNZ, 2), operand(ROWS, 2)

    def third(loss):
        found = loss
        for _ in range(3):
            found = sum((part.sin() * torch.arange(1., 1 + part.numel(), dtype=part.dtype, device=part.device).reshape(part.shape)).sum()
                        for part in torch.autograd.grad(found, (x, e, y), create_graph=True, allow_unused=True) if part is not None)
        return found

    ours = tt.message(pattern, "mul", x, e * tt.edge_softmax(pattern, e)) * tt.message(pattern, "copy_u", x, reduce="mean") * y
    scores = e.exp()
    p = scores / torch.zeros_like(y).index_add(0, rows, scores)[rows]
    counts = torch.bincount(rows, minlength=ROWS).clamp(min=1).unsqueeze(1)
    theirs = torch.zeros_like(y).index_add(0, rows, x[columns] * e * p) * (torch.zeros_like(y).index_add(0, rows, x[columns]) / counts) * y
    torch.testing.assert_close(third((ours**2).sum()), third((theirs**2).sum()))


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("text,numbers", [
    ("where(u > v, sqrt(abs(u)), e * e)", {}), ("pow(abs(u) + 1, e) * v", {}), ("gelu(u) * silu(e) + tanh(v) / (1 + u * u)", {}), ("min(u, e) * max(v, .3) * lambda", {"lambda": 3}),
    ("exp(u) * log(abs(e) + 1) * erf(v) - rsqrt(2 + u * u) * (u <= e)", {}), ("floor(2 * u) * relu(v) * u * e * e * (j - i) * (h + 1) + sigmoid(-v) * leaky_relu(u - e)", {})])
def test_expressions_twice(text, numbers, reduce):
    """Derivatives of gradients, and of edges' numbers, heads' numbers and vectors; tangents."""
    pattern, _, _ = make()
    x, v, given = operand(COLS, 2, 3), operand(ROWS, 2, 3), [operand(NNZ, *more) for more in ((), (2,), (2, 3))]

    def f(x, e, v):
        return tt.message(pattern, text, x, e, reduce, v, numbers or None)

    for e in given:
        assert torch.autograd.gradgradcheck(f, (x, e, v), fast_mode=True)
        along = tuple(torch.randn_like(one) for one in (x, e, v))
        torch.testing.assert_close(torch.func.jvp(f, tuple(one.detach() for one in (x, e, v)), along)[1], torch.autograd.functional.jvp(f, (x, e, v), along)[1])


def test_a_branch_that_is_not_taken():
    """Its derivatives of any order may be infinite, as a root's at 0. PyTorch's own would be NaN."""
    pattern = tt.Pattern.from_coo(torch.tensor([0, 1], device=DEVICE), torch.tensor([0, 1], device=DEVICE), (2, 2))
    x = torch.tensor([[0.0], [4.0]], dtype=torch.float64, device=DEVICE, requires_grad=True)
    first, = torch.autograd.grad(tt.message(pattern, "where(u > 0, sqrt(u), u * u)", x).sum(), x, create_graph=True)
    second, = torch.autograd.grad(first.sum(), x)
    assert first.flatten().tolist() == [0.0, 0.25] and second.flatten().tolist() == [2.0, -1 / 32]


@pytest.mark.parametrize("conv", ["GATConv", "GATv2Conv", "TransformerConv", "GINEConv"])
def test_layers_twice(conv):
    """Penalties of gradients, for instance by positions, need second derivatives of layers."""
    from tamis.torch import pyg
    edge_index = torch.tensor([[0, 1, 2, 2, 1, 0], [1, 1, 0, 2, 2, 0]], device=DEVICE)
    layer = (pyg.GINEConv(torch.nn.Linear(2, 3), edge_dim=2) if conv == "GINEConv" else
             getattr(pyg, conv)(2, 2, heads=2, edge_dim=2, **({} if conv == "TransformerConv" else {"add_self_loops": False}))).double().to(DEVICE)
    given = operand(3, 2), operand(6, 2), *layer.parameters()
    assert torch.autograd.gradcheck(lambda x, e, *_: layer(x, edge_index, e), given) and torch.autograd.gradgradcheck(lambda x, e, *_: layer(x, edge_index, e), given)


def test_a_map_is_one_call(monkeypatch):
    """All members are in one call of the library, and what comes out is not copied."""
    counted, run = [], _messages.MESSAGE.run
    monkeypatch.setattr(_messages.MESSAGE, "run", lambda *given: counted.append(1) or run(*given))
    pattern, _, _ = make()
    out = torch.vmap(lambda x: tt.message(pattern, "copy_u", x), in_dims=1, out_dims=1)(torch.randn(COLS, 3, 3, device=DEVICE))
    assert len(counted) == 1 and out.is_contiguous()


# ------------------------------------------------------------------------------ several types of edges

TYPE_ROWS, TYPE_COLS, TYPE_NNZ, HEADS, WIDTH = 6, (5, 3, 5), (14, 9, 0), 2, 3


def types():
    """Patterns with empty rows, one of CSR and one without edges, and the rows and columns of their entries."""
    torch.manual_seed(2)
    ends = [(torch.randint(TYPE_ROWS - 1, (nnz,), device=DEVICE), torch.randint(cols, (nnz,), device=DEVICE)) for cols, nnz in zip(TYPE_COLS, TYPE_NNZ)]
    ends[1] = ends[1][0].sort().values, ends[1][1]
    patterns = [tt.Pattern.from_coo(*of, (TYPE_ROWS, cols)) for of, cols in zip(ends, TYPE_COLS)]
    offsets = torch.nn.functional.pad(torch.bincount(ends[1][0], minlength=TYPE_ROWS).cumsum(0), (1, 0))
    patterns[1] = tt.Pattern.from_csr(offsets, ends[1][1], (TYPE_ROWS, TYPE_COLS[1]))
    return patterns, ends


def operands_of_types(op, data):
    """x and e of each type."""
    shape = {"number": (), "head": (HEADS,), "vector": (HEADS, WIDTH)}[data]
    x = None if op == "copy_e" else [torch.randn(cols, HEADS, WIDTH, dtype=torch.float64, device=DEVICE, requires_grad=True) for cols in TYPE_COLS]
    e = None if op == "copy_u" else [torch.randn(nnz, *shape, dtype=torch.float64, device=DEVICE, requires_grad=True) for nnz in TYPE_NNZ]
    return x, e


def restated(ends, cols, op, x, e, reduce):
    """With all messages in memory: types are blocks of one pattern."""
    R, C = [torch.eye(TYPE_ROWS, device=DEVICE)[rows] for rows, _ in ends], [torch.eye(n, device=DEVICE)[columns] for (_, columns), n in zip(ends, cols)]
    return table.Dense(torch, torch.cat(R).double(), torch.block_diag(*C).double()).message(op, x and torch.cat(x), e and torch.cat(e), reduce)


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("op, data", [("copy_u", "number"), ("mul", "number"), ("mul", "head"), ("add", "vector"), ("add_relu", "vector"), ("copy_e", "vector")])
def test_types_of_edges(op, data, reduce):
    patterns, ends = types()
    x, e = operands_of_types(op, data)
    leaves = [*(x or []), *(e or [])]
    for into in (None, [0, 1, 0], [2, 0, 1]):
        got = tt.messages(patterns, op, x, e, reduce, into)
        groups = [list(range(3))] if into is None else [[i for i in range(3) if into[i] == number] for number in range(max(into) + 1)]
        want = [restated([ends[i] for i in group], [TYPE_COLS[i] for i in group], op, x and [x[i] for i in group], e and [e[i] for i in group], reduce) for group in groups]
        torch.testing.assert_close([got] if into is None else got, want)
        weights = [torch.randn_like(out) for out in want]
        ours = torch.autograd.grad([got] if into is None else got, leaves, weights, allow_unused=True)
        theirs = torch.autograd.grad(want, leaves, weights, allow_unused=True)
        for one, other, leaf in zip(ours, theirs, leaves):
            torch.testing.assert_close(one, torch.zeros_like(leaf) if other is None else other)


def test_operands_that_types_share(monkeypatch):
    """One x for all is not repeated, and all is one call of the library."""
    patterns, ends = types()
    x = torch.randn(5, 4, device=DEVICE, requires_grad=True)
    joined, counted, run = [], [], _messages.MESSAGE.run
    monkeypatch.setattr(_messages.MESSAGE, "run", lambda *given: counted.append(1) or run(*given))
    monkeypatch.setattr(_messages.torch, "cat", lambda given, cat=torch.cat: joined.append(len(given)) or cat(given))
    tt.messages([patterns[0], patterns[2]], "copy_u", x)
    del joined[:], counted[:]
    got = tt.messages([patterns[0], patterns[2]], "copy_u", x)
    assert not joined and len(counted) == 1
    torch.testing.assert_close(got, tt.message(patterns[0], "copy_u", x) + tt.message(patterns[2], "copy_u", x))


def test_types_of_other_rows():
    """Outputs of different numbers of rows, of nodes of different types; second derivatives; one type; vmap."""
    x, y = torch.randn(3, 2, dtype=torch.float64, device=DEVICE, requires_grad=True), torch.randn(2, 2, dtype=torch.float64, device=DEVICE, requires_grad=True)
    first = tt.Pattern.from_coo(torch.tensor([0, 1, 1], device=DEVICE), torch.tensor([2, 0, 1], device=DEVICE), (2, 3))
    second = tt.Pattern.from_coo(torch.tensor([2, 0], device=DEVICE), torch.tensor([1, 0], device=DEVICE), (3, 2))

    def both(x, y):
        return tt.messages([first, second], "copy_u", [x, y], into=[1, 0])

    got = both(x, y)
    torch.testing.assert_close(got[0], tt.message(second, "copy_u", y))
    torch.testing.assert_close(got[1], tt.message(first, "copy_u", x))
    assert torch.autograd.gradgradcheck(lambda x, y: [out**2 for out in both(x, y)], (x, y))
    assert tt.messages([first], "copy_u", [x], into=[0])[0].equal(tt.message(first, "copy_u", x))
    many = torch.vmap(lambda x: both(x, y.detach())[1])(torch.stack([x.detach(), 2 * x.detach()]))
    torch.testing.assert_close(many, torch.stack([got[1], 2 * got[1]]).detach())


def test_errors_of_types():
    patterns, _ = types()
    x, e = operands_of_types("mul", "number")
    for call, kind, text in [
        (lambda: tt.messages([], "copy_u", x), TypeError, "patterns: expected one or more"),
        (lambda: tt.messages(patterns, "copy_u", x[:2]), ValueError, "x has 2 tensors: expected one for each of 3 patterns"),
        (lambda: tt.messages(patterns, "copy_u", [x[0], x[0], x[2]]), ValueError, r"x\[1\] has shape \(5, 2, 3\): expected 3 rows, the columns of pattern 1"),
        (lambda: tt.messages(patterns, "mul", x, [e[1], e[0], e[2]]), ValueError, r"e\[0\] has shape \(9,\): expected 14 rows, the entries of pattern 0"),
        (lambda: tt.messages(patterns, "mul", x, e[0]), ValueError, "e is one tensor: expected a list"),
        (lambda: tt.messages(patterns, "copy_u", [x[0], x[1].float(), x[2]]), ValueError, "expected the same but for the first number"),
        (lambda: tt.messages(patterns, "copy_u", [x[0], None, x[2]]), TypeError, "x has a NoneType: expected a tensor for each pattern"),
        (lambda: tt.messages(patterns, "copy_u", x, into=[0, 2, 2]), ValueError, r"into = \[0, 2, 2\]: expected the number of its output"),
        (lambda: tt.messages([patterns[0], patterns[0].T], "copy_u", [x[0], x[0]]), ValueError, "a pattern of output 0 has 5 rows and another 6"),
        (lambda: tt.messages(patterns, "copy_u", x, e), ValueError, "e is given: copy_u does not read it"),
    ]:
        with pytest.raises(kind, match=text):
            call()


def test_expressions_of_the_head():
    """h is the head of an element; a mapped dimension would be one of heads."""
    pattern, x = tt.Pattern.causal(4), torch.randn(4, 3, 2, dtype=torch.float64, requires_grad=True)
    factors = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)[:, None]
    found, want = tt.message(pattern, "u * pow(2, h)", x), tt.message(pattern, "copy_u", x * factors)
    torch.testing.assert_close(found, want)
    weights = torch.linspace(-1, 1, found.numel(), dtype=torch.float64).reshape(found.shape)
    torch.testing.assert_close(torch.autograd.grad((found * weights).sum(), x), torch.autograd.grad((want * weights).sum(), x))
    with pytest.raises(NotImplementedError, match="an expression that reads h"):
        torch.vmap(lambda x: tt.message(pattern, "u * h", x))(x.detach().movedim(1, 0))
    with pytest.raises(TypeError, match="no gradient reaches numbers of op"):
        tt.message(pattern, "u * t", x, numbers={"t": torch.tensor(2.0, requires_grad=True)})
