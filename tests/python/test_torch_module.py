"""Patterns as parts of modules: moved, saved, loaded, copied, compiled."""
from __future__ import annotations

import copy
import inspect
import io
import pickle

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

import tamis  # noqa: E402
import tamis.torch as tt  # noqa: E402
from tamis.torch import _ops  # noqa: E402

registered = pytest.mark.skipif(not _ops.REGISTERED, reason="operators are registered from PyTorch 2.4")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"))]


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


class Holder(torch.nn.Module):
    """A module with a pattern, as users write it."""

    def __init__(self, pattern, **how):
        super().__init__()
        self.edges = tt.nn.PatternBuffer(pattern, **how)
        self.weight = torch.nn.Linear(3, 2)

    def forward(self, x):
        return tt.spmm(self.edges, self.weight(x)) + self.edges(x)[:, :2]


def held(values=None):
    p = tt.Pattern.from_csr(torch.tensor([0, 2, 3, 5, 6]), torch.tensor([0, 3, 1, 0, 2, 3]), (4, 4), values)
    torch.manual_seed(1)
    return p, Holder(p), torch.rand(4, 3)


def test_a_pattern_goes_where_its_module_goes(device):
    p, module, x = held()
    want = module(x)
    assert module.edges.pattern is p
    module.to(device)
    torch.testing.assert_close(module(x.to(device)).cpu(), want)
    assert module.edges.pattern.device.type == torch.device(device).type and p.device.type == "cpu"
    for convert, kind in ((module.half, torch.float16), (module.double, torch.float64), (lambda: module.type(torch.float32), torch.float32)):
        convert()
        assert module.weight.weight.dtype is kind and module.edges.index.dtype is module.edges.columns.dtype is torch.int64
    torch.testing.assert_close(module(x.to(device)).cpu(), want, rtol=1e-2, atol=1e-2)  # the weights were of 16 bits
    module.cpu().to("meta")
    module.to_empty(device="cpu").load_state_dict(held()[1].state_dict())
    torch.testing.assert_close(module(x), want)


def test_values_of_a_pattern_in_a_module():
    """A parameter stays one; other values are a buffer whose type changes with the module."""
    own = torch.nn.Parameter(torch.rand(6))
    p, module, x = held(own)
    assert [name for name, _ in module.named_parameters()] == ["edges.values", "weight.weight", "weight.bias"]
    module.edges(x).sum().backward()
    torch.testing.assert_close(own.grad, x.sum(1)[p.columns])
    module.double()
    torch.testing.assert_close(module.edges(x.double()), module.edges.pattern.to_dense() @ x.double())
    other = Holder(torch.eye(4).to_sparse_csr()).double()
    assert other.edges.values.dtype is torch.float64 and other.edges(x.double()).shape == (4, 3)
    with pytest.raises(RuntimeError, match="a pattern 4 x 4 with 6 entries in CSR, with values, the module one 4 x 4 with 6 entries in CSR; make"):
        held()[1].load_state_dict(module.state_dict())


def test_a_pattern_in_a_state_dict():
    p, module, x = held()
    want, file = module(x), io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    assert all(isinstance(value, torch.Tensor) for value in saved.values())  # what safetensors takes as well
    other = tt.Pattern.from_csr(p.index.clone(), p.columns.flip(0).clone(), (4, 4))
    kept = other.columns.clone()
    for made in (Holder(other), Holder(None), Holder(p)):
        made.load_state_dict(saved)
        torch.testing.assert_close(made(x), want)
        assert made.edges.pattern == p and made.edges.pattern is not other
    assert torch.equal(other.columns, kept)  # the tensors of whose pattern was replaced are theirs
    if "assign" in inspect.signature(made.load_state_dict).parameters:
        made = Holder(other)
        made.load_state_dict(saved, assign=True)
        assert made.edges.pattern == p
    for pattern, words in ((tt.Pattern.causal(4), "edges: the state has a pattern 4 x 4 with 6 entries in CSR, the module one 4 x 4 with 10 entries in CSR"),
                           (tt.Pattern.from_coo(p._rows(), p.columns, (4, 4)), "the module one 4 x 4 with 6 entries in COO"),
                           (tt.Pattern.from_csr(p.index, p.columns, (4, 5)), "the module one 4 x 5")):
        for strict in (True, False):
            with pytest.raises(RuntimeError, match=words):
                Holder(pattern).load_state_dict(saved, strict=strict)
    bare = Holder(p, persistent=False)
    assert list(bare.state_dict()) == ["weight.weight", "weight.bias"]
    bare.load_state_dict(Holder(p, persistent=False).state_dict())
    with pytest.raises(RuntimeError, match="Missing key.*edges.index"):
        module.load_state_dict(bare.state_dict())
    with pytest.raises(tamis.PatternError):
        wrong = {**saved, "edges.columns": torch.full((6,), 9)}
        module.load_state_dict(wrong)
        module(x)
    with pytest.raises(tamis.ArgumentError, match="has no pattern yet: expected load_state_dict"):
        Holder(None)(x)


def test_copies_of_a_module_have_patterns_of_their_own():
    p, module, x = held()
    want = module(x)
    for copied in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert copied.edges.columns.data_ptr() != p.columns.data_ptr() and copied.edges.pattern == p
        torch.testing.assert_close(copied(x), want)
    copied.edges.columns.zero_()  # notices changes as every pattern does
    torch.testing.assert_close(copied.edges(x), torch.zeros(4, 4).index_put((p._rows(), torch.zeros(6, dtype=torch.long)), torch.ones(6), accumulate=True) @ x)
    torch.testing.assert_close(module(x), want)


@registered
def test_a_module_with_a_pattern_is_compiled():
    p, module, x = held()
    want = module(x)
    for made in (module, copy.deepcopy(module)):  # with a pattern that is known, and with tensors alone
        torch._dynamo.reset()
        torch.testing.assert_close(torch.compile(made, fullgraph=True, backend="aot_eager")(x), want)
        torch.testing.assert_close(torch.export.export(made, (x,)).module()(x), want)
    layer = tt.pyg.SAGEConv(3, 2)
    torch.testing.assert_close(layer(x, module.edges), layer(x, p))
