"""Masks whose columns are not listed before something asks for them: every call gives what it gives of the listed pattern. On a CPU the library lists the columns
for attention's plans; there the way through Python is the same."""
from __future__ import annotations

import copy
import gc
import pickle
import threading

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

import tamis  # noqa: E402
import tamis.torch as tt  # noqa: E402
from tamis.torch import _ops, _sampled  # noqa: E402

Pattern = tt.Pattern
registered = pytest.mark.skipif(not _ops.REGISTERED, reason="operators are registered from PyTorch 2.4")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"))]
MASKS = {
    "window": {"rows": 150, "window": (40, 0)},
    "causal": {"rows": 70, "cols": 90, "causal": True},
    "sinks": {"rows": 140, "window": (30, 0), "global_tokens": 4, "sinks": True, "causal": True},
    "global tokens": {"rows": 100, "window": 9, "global_tokens": 3},
    "lengths": {"rows": 60, "cols": 70, "causal": True, "window": (20, 0), "lengths": [70, 0, 33], "row_lengths": [60, 5, 40], "from_end": True},
    "empty rows": {"rows": 90, "cols": 40, "window": 2},
    "everything": {"rows": 30, "cols": 50},
}


@pytest.fixture(params=DEVICES)
def device(request, monkeypatch):
    monkeypatch.setattr(_sampled, "UNLISTED", {"cpu", "cuda"})
    return torch.device(request.param)


def both(name, device):
    """The mask without a list of columns, and listed."""
    mask = Pattern.mask(device=device, **MASKS[name])
    other = Pattern.mask(device=device, **MASKS[name])
    return mask, Pattern.from_csr(other.index, other.columns, other.shape)


def is_listed(pattern):
    return pattern._columns is not None


def operands(pattern, count, kind, grad=True):
    torch.manual_seed(3)
    shapes = (pattern.rows, 32), (pattern.cols, 32), (pattern.cols, 48)
    return [torch.randn(count, *shape, device=pattern.device).to(kind).requires_grad_(grad) for shape in shapes]


def same(found, want):
    assert len(found) == len(want)
    for x, y in zip(found, want):
        assert torch.equal(x, y)


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_attention_has_the_same_bits(device, name, kind):
    mask, listed = both(name, device)
    found = []
    for pattern in (mask, listed):
        q, k, v = operands(pattern, 2, kind)
        out = tt.attention(q, k, v, pattern)
        found.append((out, *torch.autograd.grad(out, (q, k, v), out.detach().square())))
    same(*found)
    assert not is_listed(mask) and mask.nnz == listed.nnz and mask == listed and is_listed(mask)
    same((tt.attention(*operands(mask, 2, kind), mask),), found[0][:1])


def test_other_calls_list_the_columns(device):
    calls = {
        "fp32": lambda p: tt.attention(*operands(p, 2, torch.float32), p),
        "bias": lambda p: tt.attention(*operands(p, 2, torch.bfloat16), p, bias=torch.linspace(-1, 1, p.nnz, device=p.device).bfloat16()),
        "dropout": lambda p: tt.attention(*operands(p, 2, torch.bfloat16), p, dropout_p=1.0),
        "spmm": lambda p: tt.spmm(p, operands(p, 1, torch.float32)[1][0]),
        "sddmm": lambda p: tt.sddmm(p, *operands(p, 1, torch.float32)[:2]),
        "message": lambda p: tt.message(p, "copy_u", operands(p, 1, torch.float32)[1][0], reduce="max"),
        "T": lambda p: tt.spmm(p.T, operands(p, 1, torch.float32)[0][0]),
        "dense": lambda p: p.to_dense(),
        "stack": lambda p: Pattern.stack([p, p]).columns,
        "union": lambda p: (p | p).columns,
        "sample": lambda p: p.sample([0, 1], 2)[0].columns,
        "buffer": lambda p: tt._taken.PatternBuffer(p).columns,
        "wide": lambda p: tt.attention(*[torch.nn.functional.pad(x, (0, 300)) for x in operands(p, 2, torch.bfloat16)], p),
    }
    for what, call in calls.items():
        mask, listed = both("sinks", device)
        assert torch.equal(call(mask), call(listed)), what
        assert is_listed(mask), what


@pytest.mark.parametrize("how", [{"return_lse": True}, {"sinks": torch.zeros(4)}, {"softcap": 3.0}, {"score": "x * 0.5 + (j - i) * 0.01"}])
def test_more_of_attention(device, how):
    mask, listed = both("window", device)
    found = []
    for pattern in (mask, listed):
        got = tt.attention(*operands(pattern, 4, torch.bfloat16, grad=False), pattern, **{name: x.to(device) if isinstance(x, torch.Tensor) else x for name, x in how.items()})
        found.append(got if isinstance(got, tuple) else (got,))
    same(*found)
    assert not is_listed(mask)


def test_gradients_by_sums(device):
    """They are of pairs, which need the list."""
    mask, listed = both("sinks", device)
    found = []
    for pattern in (mask, listed):
        q, k, v = operands(pattern, 4, torch.bfloat16)
        sinks = torch.zeros(4, device=device, requires_grad=True)
        out = tt.attention(q, k, v, pattern, sinks=sinks)
        found.append((out, *torch.autograd.grad(out, (q, k, v, sinks), out.detach())))
    same(*found)
    assert is_listed(mask)


def test_grouped_queries(device, monkeypatch):
    for most in (1 << 28, 1):
        monkeypatch.setattr("tamis.torch._pattern.COPIES_MOST", most)
        mask, listed = both("window", device)
        found = []
        for pattern in (mask, listed):
            q, k, v = operands(pattern, 4, torch.bfloat16)
            out = tt.attention(q, k[:2], v[:2], pattern, enable_gqa=True)
            found.append((out, *torch.autograd.grad(out, (q, k, v), out.detach())))
        same(*found)
        assert is_listed(mask) == (most > 1)


@registered
def test_autocast(device):
    mask, listed = both("window", device)
    found = []
    for pattern in (mask, listed):
        q, k, v = operands(pattern, 2, torch.float32)
        with torch.autocast(device.type, dtype=torch.bfloat16):
            out = tt.attention(q, k, v, pattern)
        found.append((out, *torch.autograd.grad(out, (q, k, v), out.detach())))
    same(*found)
    assert not is_listed(mask)


@registered
def test_a_temporary_pattern_lives_until_the_gradient(device):
    q, k, v = operands(both("window", device)[1], 2, torch.bfloat16)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        out = tt.attention(q, k, v, both("window", device)[0])
    gc.collect()
    assert all(x.isfinite().all() for x in torch.autograd.grad(out, (q, k, v), out.detach()))


@registered
def test_transforms_and_second_derivatives(device):
    mask, listed = both("sinks", device)
    found = []
    for pattern in (mask, listed):
        q, k, v = operands(pattern, 2, torch.bfloat16)
        mapped = torch.func.vmap(lambda a, b, c: tt.attention(a, b, c, pattern))(q, k, v)  # noqa: B023
        of_func = torch.func.grad(lambda a: tt.attention(a, k, v, pattern).float().square().sum())(q)  # noqa: B023
        first, = torch.autograd.grad(tt.attention(q, k, v, pattern).float().square().sum(), q, create_graph=True)
        second, = torch.autograd.grad(first.float().square().sum(), v)
        found.append((mapped, of_func, first, second))
    for x, y in zip(*found):
        torch.testing.assert_close(x, y)


@registered
@pytest.mark.skipif(not hasattr(torch, "compile"), reason="torch.compile came with PyTorch 2")
def test_compiled(device):
    mask, listed = both("sinks", device)
    q, k, v = operands(mask, 2, torch.bfloat16)
    calls = [torch.compile(lambda a, b, c, pattern=pattern: tt.attention(a, b, c, pattern) * 2, fullgraph=True, backend="aot_eager") for pattern in (mask, listed)]
    found = []
    for call in calls:
        out = call(q, k, v)
        found.append((out, *torch.autograd.grad(out, (q, k, v), out.detach())))
    same(*found)
    assert torch.equal(calls[0](q, k, v), found[0][0])
    assert mask.columns.tolist() == listed.columns.tolist()
    assert torch.equal(calls[0](q, k, v), found[0][0])


def test_changes(device):
    """Lengths are copied; after a change in place the pattern is what its tensors hold."""
    lengths = torch.tensor([30, 20], device=device)
    mask = Pattern.mask(40, causal=True, lengths=lengths, device=device)
    lengths.fill_(1)
    assert mask.nnz == mask.columns.shape[0]
    before = tt.attention(*operands(mask, 1, torch.bfloat16), mask)
    mask.columns[1] = 1 - mask.columns[1]
    want = Pattern.from_csr(mask.index, mask.columns.clone(), mask.shape)
    after = tt.attention(*operands(mask, 1, torch.bfloat16), mask)
    assert torch.equal(after, tt.attention(*operands(mask, 1, torch.bfloat16), want)) and not torch.equal(after, before)
    mask = Pattern.window(20, 3, 0, device=device)
    mask.index[1] = 2
    with pytest.raises(RuntimeError, match="changed in place before its columns were listed"):
        tt.attention(*operands(mask, 1, torch.bfloat16), mask)


def test_what_is_known_without_a_list(device):
    mask, listed = both("window", device)
    tt.attention(*operands(mask, 2, torch.bfloat16), mask)
    assert (mask.shape, mask.nnz, mask.device, hash(mask), repr(mask)) == (listed.shape, listed.nnz, listed.device, hash(listed), repr(listed))
    assert mask.to(mask.device) is mask
    if device.type == "cuda":
        assert "algorithm" in mask.explain()
    assert not is_listed(mask)
    assert "algorithm" in mask.explain()
    assert torch.equal(mask.columns, listed.columns) and mask.columns is mask.columns


def test_copies_list_nothing(device):
    for name in MASKS:
        mask, listed = both(name, device)
        for copied in (copy.deepcopy(mask), pickle.loads(pickle.dumps(mask))):
            assert not is_listed(mask) and not is_listed(copied)
            assert copied == listed


def test_threads_ask_first(device):
    """All get one list, so that gradients of calls that began with it are right."""
    for _ in range(20):
        mask, _ = both("window", device)
        start, found = threading.Barrier(4), []

        def ask():
            start.wait()
            found.append(mask.columns)  # noqa: B023

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4 and all(columns is mask.columns for columns in found)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_other_devices():
    for name in MASKS:
        mask = Pattern.mask(**MASKS[name])
        moved = mask.to("cuda")
        assert not is_listed(mask) and not is_listed(moved) and moved.device.type == "cuda"
        assert torch.equal(moved.columns.cpu(), mask.columns) and torch.equal(moved.index.cpu(), mask.index)


def test_memory(device):
    """A million positions keep billions of places, and row offsets alone. On tensor cores attention and its gradient need less than that for each position, too."""
    for left in (1023, 4095):
        if device.type == "cuda":
            before = torch.cuda.memory_allocated()
        mask = Pattern.window(1_000_000, left, 0, device=device)
        assert mask.nnz == 1_000_000 * (left + 1) - left * (left + 1) // 2 and not is_listed(mask)
        assert mask.index.numel() * mask.index.element_size() < 10_000_000
        if device.type == "cuda":
            assert torch.cuda.memory_allocated() - before < 10_000_000
            q, k, v = (torch.randn(1_000_000, 64, device=device, dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            torch.autograd.grad(tt.attention(q, k, v, mask), (q, k, v), torch.ones_like(q))
            assert torch.cuda.max_memory_allocated() - before < 1_500_000_000 and not is_listed(mask)
