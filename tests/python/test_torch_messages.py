"""Message passing against dense restatements by PyTorch's gather and scatter, its gradients, and what compilers see of it."""
from __future__ import annotations

import itertools

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

import tamis.torch as tt  # noqa: E402
from tamis.torch import _messages, _ops  # noqa: E402

if not _ops.REGISTERED:
    pytest.skip("operators are registered from PyTorch 2.4", allow_module_level=True)

ROWS, COLS, NNZ, HEADS, WIDTH = 7, 5, 24, 2, 3
OPS = ["copy_u", "add", "sub", "mul", "copy_e", "add_relu"]
REDUCES = ["sum", "mean", "max", "min"]
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"))]
EDGES = {"number": (NNZ,), "head": (NNZ, HEADS), "vector": (NNZ, HEADS, WIDTH)}


@pytest.fixture(autouse=True, params=DEVICES)
def device(request):
    """The device of all that `make` and `operand` return."""
    global DEVICE
    DEVICE = request.param
    return DEVICE


def make(kind="coo", index=torch.int64):
    """A pattern with empty rows and repeated entries, and the row and column of each entry in its order."""
    generator = torch.Generator().manual_seed(3)
    rows = (torch.randint(0, ROWS - 2, (NNZ,), generator=generator) + 1).to(DEVICE)
    columns = torch.randint(0, COLS, (NNZ,), generator=generator).to(DEVICE)
    if kind == "coo":
        return tt.Pattern.from_coo(rows.to(index), columns.to(index), (ROWS, COLS)), rows, columns
    rows = rows.sort().values
    offsets = torch.nn.functional.pad(torch.bincount(rows, minlength=ROWS).cumsum(0), (1, 0))
    return tt.Pattern.from_csr(offsets.to(index), columns.to(index), (ROWS, COLS)), rows, columns


def operand(*shape, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, device=DEVICE, requires_grad=True)


def restated(rows, columns, op, x, e, reduce):
    """With all messages in memory."""
    if e is not None and x is not None:
        e = e.reshape(*e.shape, *(1,) * (x.dim() - e.dim()))
    given = {"copy_u": lambda: x[columns], "add": lambda: x[columns] + e, "sub": lambda: x[columns] - e, "mul": lambda: x[columns] * e,
             "copy_e": lambda: e, "add_relu": lambda: (x[columns] + e).relu()}[op]()
    place = rows.reshape(-1, *(1,) * (given.dim() - 1)).expand(given.shape)
    out = given.new_zeros(ROWS, *given.shape[1:])
    if reduce == "sum":
        return out.index_add(0, rows, given)
    return out.scatter_reduce(0, place, given, {"mean": "mean", "max": "amax", "min": "amin"}[reduce], include_self=False)


def views(n, *width):
    """Tensors (n, *width) that do not lie as kernels read them, each a view of a leaf."""
    last = width[-1]
    leaves = [operand(*width, n), operand(n, *width[:-1], 2 * last), operand(2 * n, *width[:-1], 2 * last), operand(1, *width), operand(*width[:-1], n, last)]
    return list(zip(leaves, (leaves[0].movedim(-1, 0), leaves[1][..., ::2], leaves[2][1::2, ..., 1::2], leaves[3].expand(n, *width),
                             leaves[4].movedim(-2, 0))))


@pytest.mark.parametrize("shape", [(4,), (HEADS, WIDTH)])
@pytest.mark.parametrize("direct", [True, False])
def test_views_of_any_strides(shape, direct, monkeypatch):
    """Results and gradients are those of packed operands."""
    if not direct:
        monkeypatch.setattr(_messages, "plain", lambda tensors: False)
    pattern, _, _ = make()
    x, y, e = operand(COLS, *shape), operand(ROWS, *shape), operand(NNZ, *shape)
    numbers = operand(2 * NNZ), operand(1)
    cases = [(lambda x, op=op, reduce=reduce: tt.message(pattern, op, x, None if op == "copy_u" else e, reduce), pair)
             for op, reduce in (("copy_u", "sum"), ("mul", "mean"), ("add_relu", "max")) for pair in views(COLS, *shape)]
    cases += [(lambda e: tt.message(pattern, "mul", x, e), pair) for pair in (*views(NNZ, *shape), (numbers[0], numbers[0][::2]), (numbers[1], numbers[1].expand(NNZ)))]
    cases += [(lambda x, op=op: tt.edge_op(pattern, op, y, x), pair) for op in ("mul", "dot", "add") for pair in views(COLS, *shape)]
    cases += [(lambda x: tt.graph_attention(pattern, y, x, x, e), pair) for pair in views(COLS, *shape)]
    cases += [(lambda e: tt.graph_attention(pattern, y, x, x, e), pair) for pair in views(NNZ, *shape)]
    cases += [(lambda e: tt.segment(pattern, e, "mean"), pair) for pair in views(NNZ, *shape)]
    cases += [(lambda e: tt.edge_softmax(pattern, e), pair) for pair in (*views(NNZ, *shape), (numbers[0], numbers[0][::2]), (numbers[1], numbers[1].expand(NNZ)))]
    for function, (leaf, view) in cases:
        found = []
        for given in (view, view.contiguous()):
            result = function(given)
            weights = torch.linspace(-1, 1, result.numel(), dtype=result.dtype, device=DEVICE).reshape(result.shape)
            found.append((result, torch.autograd.grad((result * weights).sum(), leaf)[0]))
        torch.testing.assert_close(*found)


@pytest.mark.parametrize("kind, index", [("coo", torch.int64), ("csr", torch.int32)])
@pytest.mark.parametrize("reduce", REDUCES)
@pytest.mark.parametrize("op", OPS)
def test_messages(kind, index, op, reduce):
    torch.manual_seed(1)
    pattern, rows, columns = make(kind, index)
    for data, shape in EDGES.items():
        x = None if op == "copy_e" else operand(COLS, HEADS, WIDTH)
        e = None if op == "copy_u" else operand(*shape)
        leaves = [leaf for leaf in (x, e) if leaf is not None]
        got, want = tt.message(pattern, op, x, e, reduce), restated(rows, columns, op, x, e, reduce)
        torch.testing.assert_close(got, want)
        weights = torch.randn_like(want)
        for one, other in zip(torch.autograd.grad(got, leaves, weights), torch.autograd.grad(want, leaves, weights)):
            torch.testing.assert_close(one, other)
        assert torch.autograd.gradcheck(lambda *given: tt.message(pattern, op, *([None] if x is None else []), *given, reduce=reduce), leaves)


@pytest.mark.parametrize("op", ["add", "sub", "mul", "dot"])
@pytest.mark.parametrize("shape", [(4,), (HEADS, WIDTH)])
def test_edge_vectors(op, shape):
    torch.manual_seed(2)
    pattern, rows, columns = make()
    x, y = operand(ROWS, *shape), operand(COLS, *shape)
    given, other = x[rows], y[columns]
    want = {"add": given + other, "sub": given - other, "mul": given * other, "dot": (given * other).sum(-1)}[op]
    got = tt.edge_op(pattern, op, x, y)
    torch.testing.assert_close(got, want)
    assert torch.autograd.gradcheck(lambda x, y: tt.edge_op(pattern, op, x, y), (x, y))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_types(dtype):
    pattern, rows, columns = make()
    x, e = operand(COLS, 16, dtype=dtype), operand(NNZ, 16, dtype=dtype)
    for reduce in REDUCES:
        got = tt.message(pattern, "mul", x, e, reduce)
        want = restated(rows, columns, "mul", x.float(), e.float(), reduce)
        assert got.dtype == dtype
        torch.testing.assert_close(got, want.to(dtype), rtol=2e-2 if dtype == torch.bfloat16 else 2e-3, atol=1e-2 if dtype != torch.float32 else 1e-5)
        assert torch.equal(got, tt.message(pattern, "mul", x, e, reduce))


def test_shapes():
    """What a matrix for x takes for e, vectors of copy_e, no entries, no width, and rows with gaps between them."""
    pattern, rows, columns = make()
    x = operand(COLS, 4)
    for shape in ((NNZ,), (NNZ, 1), (NNZ, 4)):
        e = operand(*shape)
        torch.testing.assert_close(tt.message(pattern, "mul", x, e), restated(rows, columns, "mul", x, e.reshape(NNZ, -1), "sum"))
    e = operand(NNZ)
    torch.testing.assert_close(tt.message(pattern, "copy_e", None, e), e.new_zeros(ROWS).index_add(0, rows, e))
    wide = operand(COLS, 9)
    torch.testing.assert_close(tt.message(pattern, "copy_u", wide[:, 2:6]), restated(rows, columns, "copy_u", wide[:, 2:6], None, "sum"))
    empty = tt.Pattern.from_coo(rows[:0], columns[:0], (ROWS, COLS))
    assert torch.equal(tt.message(empty, "copy_u", x, reduce="max"), x.new_zeros(ROWS, 4))
    assert tt.message(pattern, "copy_u", operand(COLS, 0)).shape == (ROWS, 0)


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


@pytest.mark.parametrize("op, reduce", [("copy_u", "max"), ("mul", "mean"), ("sub", "sum")])
def test_opcheck(op, reduce):
    from tamis.torch import _messages as m
    pattern, _, _ = make()
    where = (pattern.rows, pattern.cols, pattern.coo)
    x, e = operand(COLS, 6), None if op == "copy_u" else operand(NNZ, 6)
    data = 0 if e is None else 3
    torch.library.opcheck(torch.ops.tamis.message.default, (pattern.index, pattern.columns, x, e, *where, m.OPS[op], m.REDUCES[reduce], data, 2))
    torch.library.opcheck(torch.ops.tamis.edge_op.default, (pattern.index, pattern.columns, operand(ROWS, 6), x, *where, 3, 2))


def test_compile():
    pattern, rows, columns = make()
    x, e = operand(COLS, HEADS, WIDTH), operand(NNZ, HEADS)

    def loss(x, e):
        scores = tt.edge_op(pattern, "dot", x.new_ones(ROWS, HEADS, WIDTH), x)
        return (tt.message(pattern, "mul", x, e * scores, reduce="max") ** 2).sum()

    want = torch.autograd.grad(loss(x, e), (x, e))
    torch._dynamo.reset()
    got = torch.autograd.grad(torch.compile(loss, backend="aot_eager", fullgraph=True)(x, e), (x, e))
    for one, other in zip(got, want):
        torch.testing.assert_close(one, other)


def test_errors():
    pattern, _, _ = make()
    x, e, y = operand(COLS, 4), operand(NNZ, 4), operand(ROWS, 4)
    cases = itertools.chain([
        (lambda: tt.message(pattern, "times", x, e), ValueError, "op = 'times': expected one of 'copy_u'"),
        (lambda: tt.message(pattern, "mul", x, e, "median"), ValueError, "reduce = 'median': expected one of 'sum'"),
        (lambda: tt.message(pattern, "mul", x), ValueError, "e is None: mul reads it"),
        (lambda: tt.message(pattern, "copy_u", x, e), ValueError, "e is given: copy_u does not read it"),
        (lambda: tt.message(pattern, "copy_e", x, e), ValueError, "x is given: copy_e does not read it"),
        (lambda: tt.message(pattern, "copy_u", None), ValueError, "x is None: copy_u reads it"),
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
    ])
    for call, kind, text in cases:
        with pytest.raises(kind, match=text):
            call()


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
        want = restated(rows, columns, "copy_u", x, None, "max")
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
        torch.testing.assert_close(out, restated(rows, columns, "mul", x, e, "sum"))


def test_hubs():
    """Rows and columns that are cut."""
    generator = torch.Generator().manual_seed(1)
    rows, columns = torch.randint(0, 3, (4000,), generator=generator), torch.randint(0, 3, (4000,), generator=generator)
    pattern = tt.Pattern.from_coo(rows.to(DEVICE), columns.to(DEVICE), (ROWS, COLS))
    for reduce in REDUCES:
        x, e = operand(COLS, 6), operand(4000, 6)
        got, want = tt.message(pattern, "mul", x, e, reduce), restated(rows.to(DEVICE), columns.to(DEVICE), "mul", x, e, reduce)
        torch.testing.assert_close(got, want)
        weights = torch.randn_like(want)
        for one, other in zip(torch.autograd.grad(got, (x, e), weights), torch.autograd.grad(want, (x, e), weights)):
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize("shape", [(0, WIDTH), (HEADS, 0), (0,)])
def test_no_heads_and_no_width(shape):
    pattern, _, _ = make()
    x, y, e, number = operand(COLS, *shape), operand(ROWS, *shape), operand(NNZ, *shape), operand(NNZ)
    heads = operand(NNZ, shape[0]) if len(shape) > 1 else number
    results = [(tt.message(pattern, "copy_u", x), ROWS), (tt.message(pattern, "mul", x, heads, "max"), ROWS), (tt.message(pattern, "add", x, e), ROWS),
               (tt.message(pattern, "copy_e", None, e), ROWS), (tt.edge_op(pattern, "add", y, x), NNZ), (tt.graph_attention(pattern, y, x, x, e), ROWS)]
    for result, rows in results:
        assert result.shape == (rows, *shape)
        for gradient, given in zip(torch.autograd.grad(result.sum(), (x, y, e, heads), allow_unused=True), (x, y, e, heads)):
            assert gradient is None or (gradient.shape == given.shape and not gradient.any())
    assert tt.edge_op(pattern, "dot", y, x).shape == (NNZ, *shape[:-1])
