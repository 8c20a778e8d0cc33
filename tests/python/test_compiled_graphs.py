"""Layers within torch.compile find what was made of their edge list before: the same results and gradients, for edges that stay, change or are made there."""
from __future__ import annotations

import gc

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
pytestmark = pytest.mark.usefixtures("device")

from pyg_pairs import EDGES, IN, NODES, graph  # noqa: E402

import tamis.torch as tt  # noqa: E402
from tamis.torch import _held, _messages, pyg  # noqa: E402

PNA = ["mean", "max", "std"], ["identity", "amplification"], torch.tensor([1, 2, 5, 3])
LAYERS = {"SAGEConv": lambda: pyg.SAGEConv(IN, IN), "GCNConv": lambda: pyg.GCNConv(IN, IN), "GATConv": lambda: pyg.GATConv(IN, IN), "ChebConv": lambda: pyg.ChebConv(IN, IN, 3),
          "APPNP": lambda: pyg.APPNP(2, 0.1), "PNAConv": lambda: pyg.PNAConv(IN, IN, *PNA), "GENConv": lambda: pyg.GENConv(IN, IN), "RGCNConv": lambda: pyg.RGCNConv(IN, IN, 3)}


def made(name):
    torch.manual_seed(1)
    torch._dynamo.reset()
    layer = LAYERS[name]()
    rest = (torch.randint(3, (EDGES,)),) if name == "RGCNConv" else ()
    return layer, torch.randn(NODES, IN, requires_grad=True), rest


def same(compiled, layer, x, ends, *rest):
    results = []
    for call in (compiled, layer):
        out = call(x, ends, *rest)
        results.append((out, *torch.autograd.grad(out.square().sum(), [x, *layer.parameters()])))
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", LAYERS)
def test_other_edges_of_the_same_number(name):
    layer, x, rest = made(name)
    compiled, ends = torch.compile(layer, backend="aot_eager"), graph()
    same(compiled, layer, x, ends, *rest)
    same(compiled, layer, x, graph(seed=2), *rest)
    ends.copy_(graph(seed=3))
    same(compiled, layer, x, ends, *rest)
    ends.data.copy_(graph(seed=4))  # which PyTorch does not count
    if not x.is_cuda:
        same(compiled, layer, x, ends, *rest)


@pytest.mark.parametrize("name", ["GATConv", "APPNP", "GENConv"])
def test_other_numbers_of_edges(name):
    """Sizes are symbols then."""
    layer, x, _ = made(name)
    compiled = torch.compile(layer, backend="aot_eager", dynamic=True)
    for count in (EDGES, 30, 17):
        same(compiled, layer, x, graph()[:, :count].contiguous())


@pytest.mark.parametrize("name", ["GCNConv", "GATConv", "PNAConv"])
def test_nothing_is_made_again(name, monkeypatch):
    """One edge list has one pattern, and one with self-loops, however often compiled code runs."""
    layer, x, _ = made(name)
    compiled, ends = torch.compile(layer, backend="aot_eager"), graph()
    same(compiled, layer, x, ends)
    count = []
    own = tt.Pattern.__init__
    monkeypatch.setattr(tt.Pattern, "__init__", lambda self, *given: count.append(given) or own(self, *given))
    for _ in range(3):
        compiled(x, ends).sum().backward()
    assert not count


def test_edges_that_a_program_makes():
    """They lie in memory that the program uses again, also for other edges."""
    torch._dynamo.reset()
    torch.manual_seed(1)
    layer, x, ends = pyg.SAGEConv(IN, IN), torch.randn(NODES, IN), graph()

    def three(x, ends):
        for shift in (1, 2, 5):
            x = layer(x, (ends + shift) % NODES)
        return x

    compiled = torch.compile(three)  # whose own memory it is
    for _ in range(3):
        torch.testing.assert_close(compiled(x, ends), three(x, ends))


def test_gradients_of_tensors_that_were_copied():
    """Hooks of saved tensors pass copies on, as those that keep them on the host do."""
    layer, x, _ = made("GATConv")
    ends, compiled = graph(), torch.compile(layer, backend="aot_eager")
    with torch.autograd.graph.saved_tensors_hooks(torch.clone, lambda x: x):
        outs = [compiled(x, given) for given in (ends, graph())]  # the second edge list is gone before the gradient
    gc.collect()
    wanted = torch.autograd.grad(layer(x, ends).square().sum(), x)
    for out in outs:
        torch.testing.assert_close(torch.autograd.grad(out.square().sum(), x), wanted, rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError, match="keep its edge_index alive"):
        _held.of_handle(torch.tensor([2**62]))


@pytest.mark.parametrize("name", ["SAGEConv", "GATConv", "PNAConv"])
def test_compiled_autograd(name):
    """A gradient that is compiled when it runs, of layers that are not."""
    layer, x, rest = made(name)
    for ends in (graph(), graph(), graph(seed=2)):
        wanted = torch.autograd.grad(layer(x, ends, *rest).square().sum(), x)[0]
        x.grad = None
        with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
            layer(x, ends, *rest).square().sum().backward()
        torch.testing.assert_close(x.grad, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("t", [1.0, -0.7])
def test_a_softmax_has_one_pass_backward(t, monkeypatch):
    """Compiled or not: the gradient is that of one expression."""
    torch._dynamo.reset()
    layer, x, e, ends = pyg.GENConv(IN, IN, t=t, norm="layer", edge_dim=3), torch.randn(NODES, IN, requires_grad=True), torch.randn(EDGES, 3, requires_grad=True), graph()
    counted, back = [], _messages.MESSAGE.back
    monkeypatch.setattr(_messages.MESSAGE, "back", lambda *given: counted.append(1) or back(*given))
    found = []
    for call in (layer, torch.compile(layer, fullgraph=True, backend="aot_eager")):
        found.append(torch.autograd.grad(call(x, ends, e).square().sum(), [x, e, *layer.parameters()]))
        assert len(counted) == len(found)
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        assert torch.compile(layer, backend="aot_eager")(x, ends, e).dtype == layer(x, ends, e).dtype


@pytest.mark.parametrize("name", ["SAGEConv", "GCNConv", "GATConv", "GENConv"])
def test_functional_gradients_and_export(name):
    layer, x, _ = made(name)
    layer.eval()  # torch.func refuses a batch norm that counts in place
    ends, x = graph(), x.detach()

    def gradient(x, ends):
        return torch.func.grad(lambda x: layer(x, ends).square().sum())(x)

    torch.testing.assert_close(torch.compile(gradient, fullgraph=True, backend="aot_eager")(x, ends), gradient(x, ends), rtol=1e-4, atol=1e-5)
    exported = torch.export.export(layer, (x, ends)).module()
    torch.testing.assert_close(exported(x, ends), layer(x, ends))
    torch.testing.assert_close(exported(x, graph(seed=2)), layer(x, graph(seed=2)))


def test_a_tensor_in_doubt_is_compared(monkeypatch):
    """On a GPU a compiled program compares edges that nobody else has given, until they were SURE times the same."""
    compared = []
    monkeypatch.setattr(_held, "same", lambda x, kept: not compared.append(x))

    class Cuda(torch.Tensor):
        is_cuda = True

    ends = graph().as_subclass(Cuda)
    store = {}
    known = _held.made_of(store, ends, (ends,), True, True)
    for _ in range(_held.SURE + 3):
        assert _held.made_of(store, ends, (ends,), True, True) is known
    assert len(compared) == _held.SURE
    store.clear()
    known = _held.made_of(store, ends, (ends,), True)
    compared.clear()
    assert _held.made_of(store, ends, (ends,), True) is known and _held.made_of(store, ends, (ends,), True, True) is known and not compared


def test_many_layers_are_compiled():
    """torch.compile compiles one code eight times at most; each class of layers has its own."""
    assert len({layer.__call__.__code__ for layer in (pyg.SAGEConv, pyg.GCNConv, pyg.GATConv, pyg.GraphConv)}) == 4


@pytest.mark.skipif(not hasattr(torch.Tag, "cudagraph_unsafe"), reason="this PyTorch has no such tag")
def test_cuda_graphs_leave_graphs_out():
    """Compilers must not capture operators that look up a graph on the host."""
    for name in ("compiled_graph", "compiled_pattern", "compiled_blocks", "compiled_tensor", "message", "message_backward", "edge_op", "segment"):
        assert torch.Tag.cudagraph_unsafe in getattr(torch.ops.tamis, name).default.tags
    assert torch.Tag.cudagraph_unsafe not in torch.ops.tamis.cached_attention.default.tags
