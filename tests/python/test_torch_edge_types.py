"""Messages over several types of edges beside a call for each type, and what is wrong with arguments."""
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

import operators as table  # noqa: E402

import tamis.torch as tt  # noqa: E402
from tamis.torch import _ops  # noqa: E402

if not _ops.REGISTERED:
    pytest.skip("operators are registered from PyTorch 2.4", allow_module_level=True)

ROWS, COLS, NNZ, HEADS, WIDTH = 6, (5, 3, 5), (14, 9, 0), 2, 3
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.fixture(params=DEVICES, autouse=True)
def device(request):
    """Where the tests make their tensors."""
    torch.manual_seed(2)
    with torch.device(request.param):
        yield request.param


def make():
    """Patterns with empty rows, one of CSR and one without edges, and the rows and columns of their entries."""
    ends = [(torch.randint(ROWS - 1, (nnz,)), torch.randint(cols, (nnz,))) for cols, nnz in zip(COLS, NNZ)]
    ends[1] = ends[1][0].sort().values, ends[1][1]
    patterns = [tt.Pattern.from_coo(*of, (ROWS, cols)) for of, cols in zip(ends, COLS)]
    offsets = torch.nn.functional.pad(torch.bincount(ends[1][0], minlength=ROWS).cumsum(0), (1, 0))
    patterns[1] = tt.Pattern.from_csr(offsets, ends[1][1], (ROWS, COLS[1]))
    return patterns, ends


def operands(op, data):
    """x and e of each type."""
    shape = {"number": (), "head": (HEADS,), "vector": (HEADS, WIDTH)}[data]
    x = None if op == "copy_e" else [torch.randn(cols, HEADS, WIDTH, dtype=torch.float64, requires_grad=True) for cols in COLS]
    e = None if op == "copy_u" else [torch.randn(nnz, *shape, dtype=torch.float64, requires_grad=True) for nnz in NNZ]
    return x, e


def restated(ends, cols, op, x, e, reduce):
    """With all messages in memory: types are blocks of one pattern."""
    R, C = [torch.eye(ROWS)[rows] for rows, _ in ends], [torch.eye(n)[columns] for (_, columns), n in zip(ends, cols)]
    return table.Dense(torch, torch.cat(R).double(), torch.block_diag(*C).double()).message(op, x and torch.cat(x), e and torch.cat(e), reduce)


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("op, data", [("copy_u", "number"), ("mul", "number"), ("mul", "head"), ("add", "vector"), ("add_relu", "vector"), ("copy_e", "vector")])
def test_messages(op, data, reduce):
    patterns, ends = make()
    x, e = operands(op, data)
    leaves = [*(x or []), *(e or [])]
    for into in (None, [0, 1, 0], [2, 0, 1]):
        got = tt.messages(patterns, op, x, e, reduce, into)
        groups = [list(range(3))] if into is None else [[i for i in range(3) if into[i] == number] for number in range(max(into) + 1)]
        want = [restated([ends[i] for i in group], [COLS[i] for i in group], op, x and [x[i] for i in group], e and [e[i] for i in group], reduce) for group in groups]
        for one, other in zip([got] if into is None else got, want):
            torch.testing.assert_close(one, other)
        weights = [torch.randn_like(out) for out in want]
        ours = torch.autograd.grad([got] if into is None else got, leaves, weights, allow_unused=True)
        theirs = torch.autograd.grad(want, leaves, weights, allow_unused=True)
        for one, other, leaf in zip(ours, theirs, leaves):
            torch.testing.assert_close(one, torch.zeros_like(leaf) if other is None else other)


def test_shared_operands(monkeypatch):
    """One x for all is not repeated, and all is one call of the library."""
    from tamis.torch import _edge_types, _messages
    patterns, ends = make()
    x = torch.randn(5, 4, requires_grad=True)
    joined, counted, forward = [], [], _messages._forward
    monkeypatch.setattr(_messages, "_forward", lambda *given: counted.append(1) or forward(*given))
    monkeypatch.setattr(_edge_types.torch, "cat", lambda given, cat=torch.cat: joined.append(len(given)) or cat(given))
    tt.messages([patterns[0], patterns[2]], "copy_u", x)
    del joined[:], counted[:]
    got = tt.messages([patterns[0], patterns[2]], "copy_u", x)
    assert not joined and len(counted) == 1
    torch.testing.assert_close(got, tt.message(patterns[0], "copy_u", x) + tt.message(patterns[2], "copy_u", x))


def test_other_rows():
    """Outputs of different numbers of rows, of nodes of different types; second derivatives; one type; vmap."""
    x, y = torch.randn(3, 2, dtype=torch.float64, requires_grad=True), torch.randn(2, 2, dtype=torch.float64, requires_grad=True)
    first = tt.Pattern.from_coo(torch.tensor([0, 1, 1]), torch.tensor([2, 0, 1]), (2, 3))
    second = tt.Pattern.from_coo(torch.tensor([2, 0]), torch.tensor([1, 0]), (3, 2))

    def both(x, y):
        return tt.messages([first, second], "copy_u", [x, y], into=[1, 0])

    got = both(x, y)
    torch.testing.assert_close(got[0], tt.message(second, "copy_u", y))
    torch.testing.assert_close(got[1], tt.message(first, "copy_u", x))
    assert torch.autograd.gradgradcheck(lambda x, y: [out**2 for out in both(x, y)], (x, y))
    assert tt.messages([first], "copy_u", [x], into=[0])[0].equal(tt.message(first, "copy_u", x))
    many = torch.vmap(lambda x: both(x, y.detach())[1])(torch.stack([x.detach(), 2 * x.detach()]))
    torch.testing.assert_close(many, torch.stack([got[1], 2 * got[1]]).detach())


def test_errors():
    patterns, _ = make()
    x, e = operands("mul", "number")
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
