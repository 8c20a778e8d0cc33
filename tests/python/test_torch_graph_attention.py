"""Attention on graphs and segments against dense restatements, their gradients, and what compilers see of them."""
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

import tamis  # noqa: E402
import tamis.torch as tt  # noqa: E402
from tamis import _declarations, _errors  # noqa: E402
from tamis.torch import _graph_attention, _ops  # noqa: E402

if not _ops.REGISTERED:
    pytest.skip("operators are registered from PyTorch 2.4", allow_module_level=True)

ROWS, COLS, NNZ, HEADS, WIDTH = 7, 5, 24, 2, 3
NO_COLUMNS = "^order = 'columns': cuda:0 takes no edge values in the order of columns; expected 'given' or 'rows', or the device \"cpu\"$"
ORDERS = ["given", "rows", "columns"]
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.fixture(params=DEVICES, autouse=True)
def device(request):
    """Where the tests make their tensors."""
    with torch.device(request.param):
        yield request.param


def make(kind="coo", index=torch.int64):
    """A pattern with empty rows and repeated entries, and the row and column of each entry in its order."""
    torch.manual_seed(3)
    rows = torch.randint(0, ROWS - 2, (NNZ,)) + 1
    columns = torch.randint(0, COLS, (NNZ,))
    if kind == "coo":
        return tt.Pattern.from_coo(rows.to(index), columns.to(index), (ROWS, COLS)), rows, columns
    rows = rows.sort().values
    offsets = torch.nn.functional.pad(torch.bincount(rows, minlength=ROWS).cumsum(0), (1, 0))
    return tt.Pattern.from_csr(offsets.to(index), columns.to(index), (ROWS, COLS)), rows, columns


def operand(*shape, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


def softmax_of(rows, scores):
    """Over the entries of each row, with a dense matrix: rows x nnz."""
    mask = torch.nn.functional.one_hot(rows, ROWS).t().bool().reshape(ROWS, NNZ, *(1,) * (scores.dim() - 1))
    dense = scores.unsqueeze(0).expand(ROWS, *scores.shape).masked_fill(~mask, -torch.inf)
    return dense.softmax(1).masked_fill(~mask, 0).nan_to_num(0).sum(0)


def restated(rows, columns, q, k, v, e, bias, scale):
    """With everything in memory, by heads."""
    e = 0 if e is None else e
    scores = (q[rows] * (k[columns] + e)).sum(-1) * scale
    if bias is not None:
        scores = scores + (bias if bias.dim() == scores.dim() else bias.unsqueeze(1))
    p = softmax_of(rows, scores)
    return torch.zeros_like(q).index_add(0, rows, p.unsqueeze(-1) * (v[columns] + e))


@pytest.mark.parametrize("kind, index", [("coo", torch.int64), ("csr", torch.int32)])
@pytest.mark.parametrize("has_e", [False, True])
@pytest.mark.parametrize("bias", [None, (NNZ,), (NNZ, HEADS)])
def test_attention(kind, index, has_e, bias):
    torch.manual_seed(1)
    pattern, rows, columns = make(kind, index)
    q, k, v = operand(ROWS, HEADS, WIDTH), operand(COLS, HEADS, WIDTH), operand(COLS, HEADS, WIDTH)
    e, b = operand(NNZ, HEADS, WIDTH) if has_e else None, None if bias is None else operand(*bias)
    got, want = tt.graph_attention(pattern, q, k, v, e, b), restated(rows, columns, q, k, v, e, b, WIDTH**-0.5)
    torch.testing.assert_close(got, want)
    leaves = [x for x in (q, k, v, e, b) if x is not None]
    weights = torch.randn_like(want)
    for one, other in zip(torch.autograd.grad(got, leaves, weights), torch.autograd.grad(want, leaves, weights, retain_graph=True)):
        torch.testing.assert_close(one, other)
    for leaf in leaves:  # each alone, the others constant
        alone = [x.detach().requires_grad_(x is leaf) if x is not None else None for x in (q, k, v, e, b)]
        one, = torch.autograd.grad(tt.graph_attention(pattern, *alone), [x for x in alone if x is not None and x.requires_grad], weights)
        other, = torch.autograd.grad(want, leaf, weights, retain_graph=True)
        torch.testing.assert_close(one, other)

    def call(q, k, v, *rest):
        rest = list(rest)
        return tt.graph_attention(pattern, q, k, v, rest.pop(0) if has_e else None, rest.pop(0) if rest else None, scale=0.7)

    assert torch.autograd.gradcheck(call, leaves)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_types(dtype):
    torch.manual_seed(2)
    pattern, rows, columns = make()
    given = [operand(ROWS, 2, 8, dtype=dtype), *(operand(n, 2, 8, dtype=dtype) for n in (COLS, COLS, NNZ)), operand(NNZ, 2, dtype=dtype)]
    got = tt.graph_attention(pattern, *given)
    want = restated(rows, columns, *(x.float() for x in given), 8**-0.5)
    assert got.dtype == dtype
    close = dict(rtol=2e-2 if dtype == torch.bfloat16 else 2e-3, atol=3e-2 if dtype == torch.bfloat16 else 4e-3 if dtype != torch.float32 else 1e-5)
    torch.testing.assert_close(got.float(), want, **close)
    weights = torch.randn_like(want)
    ours = torch.autograd.grad(got, given, weights.to(dtype))
    for one, other in zip(ours, torch.autograd.grad(want, given, weights.to(dtype).float())):
        torch.testing.assert_close(one.float(), other.float(), **close)
    assert all(torch.equal(one, other) for one, other in zip(ours, torch.autograd.grad(tt.graph_attention(pattern, *given), given, weights.to(dtype))))


def test_shapes():
    """Matrices without heads, rows with gaps, no entries, no width; -inf masks."""
    pattern, rows, columns = make()
    q, k, e = operand(ROWS, 4), operand(COLS, 9), operand(NNZ, 4)
    got = tt.graph_attention(pattern, q, k[:, 2:6], k[:, 5:9], e)
    want = restated(rows, columns, q.unsqueeze(1), k[:, None, 2:6], k[:, None, 5:9], e.unsqueeze(1), None, 0.5)
    torch.testing.assert_close(got, want.squeeze(1))
    none = torch.empty(0, dtype=torch.int64)
    empty = tt.Pattern.from_coo(none, none, (ROWS, COLS))
    assert torch.equal(tt.graph_attention(empty, q, k[:, :4], k[:, :4], e[:0]), torch.zeros(ROWS, 4, dtype=q.dtype))
    assert tt.graph_attention(pattern, q[:, :0], k[:, :0], k[:, :0]).shape == (ROWS, 0)
    bias = torch.zeros(NNZ, dtype=q.dtype).masked_fill(torch.arange(NNZ) % 3 == 0, -torch.inf)
    kept = tt.Pattern.from_coo(rows[bias == 0], columns[bias == 0], (ROWS, COLS))
    got, want = tt.graph_attention(pattern, q, k[:, :4], k[:, :4], e, bias), tt.graph_attention(kept, q, k[:, :4], k[:, :4], e[bias == 0])
    torch.testing.assert_close(got, want)


def sorted_by(order, rows, columns):
    return torch.arange(NNZ) if order == "given" else (rows if order == "rows" else columns).argsort(stable=True)


@pytest.mark.parametrize("kind", ["coo", "csr"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("rest", [(), (3,), (2, 2)])
def test_segments(kind, order, dim, rest, device):
    if device == "cuda" and order == "columns":
        with pytest.raises(tamis.UnsupportedError, match=NO_COLUMNS):
            tt.edge_softmax(make()[0], operand(NNZ), order)
        return
    pattern, rows, columns = make(kind)
    place = sorted_by(order, rows, columns)
    given = operand(*((NNZ, *rest) if dim == 0 else (*rest, NNZ)))
    values = given.movedim(dim, 0)[place.argsort()]  # in the pattern's order
    soft = softmax_of(rows, values)[place].movedim(0, dim)
    at = rows.reshape(-1, *(1,) * len(rest)).expand(NNZ, *rest)
    for name in ("softmax", "sum", "mean", "max", "min"):
        if name == "softmax":
            got, want = tt.edge_softmax(pattern, given, order, dim), soft
        else:
            how = {"sum": "sum", "mean": "mean", "max": "amax", "min": "amin"}[name]
            want = values.new_zeros(ROWS, *rest).scatter_reduce(0, at, values, how, include_self=False).movedim(0, dim)
            got = tt.segment(pattern, given, name, order, dim)
        assert got.shape == want.shape
        torch.testing.assert_close(got, want)
        weights = torch.randn_like(want)
        one, other = torch.autograd.grad(got, given, weights)[0], torch.autograd.grad(want, given, weights, retain_graph=True)[0]
        torch.testing.assert_close(one, other)
        torch.autograd.grad(tt.segment(pattern, given, "sum", order, dim).sum(), given)  # a gradient of one number
    assert torch.autograd.gradcheck(lambda x: tt.edge_softmax(pattern, x, order, dim), given)


def test_order_of_columns_where_there_is_none(monkeypatch):
    """What the library says of its option becomes what a caller has passed."""
    said = 'options.column_places = true: cuda:0 takes no edge values in the order of columns; expected false, or the device "cpu"'

    def refuse(*given):
        raise _errors.of_status(_declarations.TAMIS_ERROR_UNSUPPORTED, said)

    monkeypatch.setattr(_graph_attention, "_graph", refuse)
    with pytest.raises(tamis.UnsupportedError, match=NO_COLUMNS):
        tt.segment(make()[0], operand(NNZ), "sum", "columns")


def test_segment_shapes():
    pattern, _, _ = make()
    assert tt.edge_softmax(pattern, operand(NNZ, 0)).shape == (NNZ, 0)
    assert tt.segment(pattern, operand(0, NNZ), dim=-1).shape == (0, ROWS)
    wide = operand(NNZ, 9)
    torch.testing.assert_close(tt.segment(pattern, wide[:, 2:5]), tt.segment(pattern, wide)[:, 2:5])
    torch.testing.assert_close(tt.segment(pattern, wide[:, ::2]), tt.segment(pattern, wide)[:, ::2])


@pytest.mark.parametrize("has_e", [False, True])
def test_opcheck(has_e):
    pattern, _, _ = make()
    where = (pattern.rows, pattern.cols, pattern.coo)
    q, k, v, e, b = operand(ROWS, 6), operand(COLS, 6), operand(COLS, 6), operand(NNZ, 6) if has_e else None, operand(NNZ, 2) if has_e else None
    torch.library.opcheck(torch.ops.tamis.graph_attention.default, (pattern.index, pattern.columns, q, k, v, e, b, *where, 2, 0.5))
    for op in range(5):
        for x in (operand(NNZ, 3), operand(3, NNZ).detach().t().requires_grad_()):
            torch.library.opcheck(torch.ops.tamis.segment.default, (pattern.index, pattern.columns, x, *where, op, op % 2))


def test_compile():
    pattern, rows, columns = make()
    q, k, v, e = operand(ROWS, HEADS, WIDTH), operand(COLS, HEADS, WIDTH), operand(COLS, HEADS, WIDTH), operand(NNZ, HEADS, WIDTH)

    def loss(q, k, v, e):
        bias = tt.edge_softmax(pattern, (e**2).sum(-1)) * tt.segment(pattern, e.sum(-1).t(), "max", dim=-1).sum()
        return (tt.graph_attention(pattern, q, k, v, e, bias) ** 2).sum()

    want = torch.autograd.grad(loss(q, k, v, e), (q, k, v, e))
    torch._dynamo.reset()
    got = torch.autograd.grad(torch.compile(loss, backend="aot_eager", fullgraph=True)(q, k, v, e), (q, k, v, e))
    for one, other in zip(got, want):
        torch.testing.assert_close(one, other)


def test_errors():
    pattern, _, _ = make()
    q, k, e, b = operand(ROWS, 4), operand(COLS, 4), operand(NNZ, 4), operand(NNZ)
    for call, kind, text in [
        (lambda: tt.graph_attention("graph", q, k, k), TypeError, "pattern is a str"),
        (lambda: tt.graph_attention(pattern, k, k, k), ValueError, r"q has shape \(5, 4\): expected \(7, width\)"),
        (lambda: tt.graph_attention(pattern, q, q, k), ValueError, r"k has shape \(7, 4\): expected \(5, width\)"),
        (lambda: tt.graph_attention(pattern, q, k, k, e[:, :2]), ValueError, "e has shape .* expected the same heads and width"),
        (lambda: tt.graph_attention(pattern, q, k, k, e, e), ValueError, r"bias has shape \(24, 4\): expected \(24,\) or \(24, 1\)"),
        (lambda: tt.graph_attention(pattern, q, k, k.float()), ValueError, "v is torch.float32"),
        (lambda: tt.graph_attention(pattern, q, k, 3), TypeError, "v is a int"),
        (lambda: tt.edge_softmax(pattern, q), ValueError, r"values has shape \(7, 4\): expected 24"),
        (lambda: tt.edge_softmax(pattern, e, order="csr"), ValueError, "order = 'csr': expected one of 'given'"),
        (lambda: tt.segment(pattern, e, "softmax"), ValueError, "reduce = 'softmax': expected one of 'sum'"),
        (lambda: tt.segment(pattern, e, dim=1), ValueError, "dim = 1: expected 0"),
        (lambda: tt.segment(pattern, b.long()), ValueError, "int64"),
    ]:
        with pytest.raises(kind, match=text):
            call()
