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


def test_order_of_columns_where_there_is_none(monkeypatch):
    """What the library says of its option becomes what a caller has passed."""
    said = 'options.column_places = true: cuda:0 takes no edge values in the order of columns; expected false, or the device "cpu"'

    def refuse(*given):
        raise _errors.of_status(_declarations.TAMIS_ERROR_UNSUPPORTED, said)

    monkeypatch.setattr(_graph_attention, "_graph", refuse)
    with pytest.raises(tamis.UnsupportedError, match=NO_COLUMNS):
        tt.segment(make()[0], operand(NNZ), "sum", "columns")


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
