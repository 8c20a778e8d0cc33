"""The layers of `tamis.torch.pyg` against those of PyTorch Geometric: parameters, outputs and gradients."""
from __future__ import annotations

import copy
import gc
import pickle

import pytest

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("device")]
torch_geometric = pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed")
geometric = torch_geometric.nn

import tamis  # noqa: E402
import tamis.torch as tt  # noqa: E402
from tamis.torch import _graphs, _ops, pyg  # noqa: E402

from pyg_pairs import EDGES, FEATURES, IN, NODES, OUT, TARGETS, compared, graph, operand, pair  # noqa: E402

if not _ops.REGISTERED:
    pytest.skip("message passing needs PyTorch 2.4", allow_module_level=True)

ATTENTION = ["GATConv", "GATv2Conv", "TransformerConv"]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("concat", [True, False])
@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("edge_dim", [None, FEATURES])
@pytest.mark.parametrize("name", ATTENTION)
def test_attention(name, edge_dim, heads, concat, dtype):
    layers = pair(name, IN, OUT, heads=heads, concat=concat, edge_dim=edge_dim, dtype=dtype)
    edge_attr = None if edge_dim is None else operand(EDGES, FEATURES, dtype=dtype)
    x = operand(NODES, IN, dtype=dtype)
    compared(layers, x, graph(), edge_attr)
    got = compared(layers, x, graph(index=torch.int64), edge_attr, return_attention_weights=True)
    assert got[1][1].shape == (got[1][0].shape[1], heads)


@pytest.mark.parametrize("edge_dim", [None, FEATURES])
@pytest.mark.parametrize("name", ATTENTION)
def test_bipartite_attention(name, edge_dim):
    edge_attr = None if edge_dim is None else operand(EDGES, FEATURES)
    layers = pair(name, (IN, 3), OUT, heads=2, edge_dim=edge_dim)
    compared(layers, (operand(NODES, IN), operand(TARGETS, 3)), graph(NODES, TARGETS), edge_attr)
    more = {} if name == "TransformerConv" else {"fill_value": 0.5}  # with "mean" PyTorch Geometric fails where there are more targets than sources
    layers = pair(name, (3, IN), OUT, heads=2, edge_dim=edge_dim, bias=False, **more)
    compared(layers, (operand(TARGETS, 3), operand(NODES, IN)), graph(TARGETS, NODES), edge_attr)
    if name == "GATConv":
        more = {"add_self_loops": False, "edge_dim": edge_dim}
        compared(pair(name, IN, OUT, heads=2, edge_dim=edge_dim), (operand(NODES, IN), operand(TARGETS, IN)), graph(NODES, TARGETS), edge_attr)
        compared(pair(name, (IN, 3), OUT, **more), (operand(NODES, IN), None), graph(NODES, TARGETS), edge_attr, size=(NODES, TARGETS))
        compared(pair(name, (IN, 3), OUT, **more), (operand(NODES, IN), None), graph(NODES, TARGETS), edge_attr)
        compared(pair(name, (IN, 3), OUT, edge_dim=edge_dim), (operand(NODES, IN), None), graph(NODES, TARGETS), edge_attr, size=(NODES, TARGETS))


@pytest.mark.parametrize("fill_value", ["mean", "add", "max", "min", "mul", 0.5, torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])])
@pytest.mark.parametrize("name", ["GATConv", "GATv2Conv"])
def test_what_self_loops_have(name, fill_value):
    for flow in ("source_to_target", "target_to_source"):
        layers = pair(name, IN, OUT, heads=2, edge_dim=FEATURES, fill_value=fill_value, residual=True, negative_slope=0.1, flow=flow)
        compared(layers, operand(NODES, IN), graph(), operand(EDGES, FEATURES), return_attention_weights=True)
    layers = pair(name, IN, OUT, edge_dim=1, fill_value="mean")
    compared(layers, operand(NODES, IN), graph(), operand(EDGES))
    compared(pair(name, IN, OUT, heads=2, add_self_loops=False, concat=False), operand(NODES, IN), graph())


def test_options_of_attention():
    x, e = operand(NODES, IN), operand(EDGES, FEATURES)
    compared(pair("GATv2Conv", IN, OUT, heads=2, share_weights=True), x, graph())
    for more in ({"beta": True}, {"beta": True, "concat": False}, {"root_weight": False}, {"bias": False}):
        compared(pair("TransformerConv", IN, OUT, heads=2, edge_dim=FEATURES, **more), x, graph(), e)
    for aggr in ("mean", "max", "min"):
        compared(pair("TransformerConv", IN, OUT, heads=2, edge_dim=FEATURES, aggr=aggr), x, graph(), e)
        compared(pair("GATConv", IN, OUT, heads=2, aggr=aggr), x, graph())
    compared(pair("TransformerConv", IN, OUT, heads=2, flow="target_to_source"), x, graph(), return_attention_weights=False)


@pytest.mark.parametrize("edge_dim", [None, FEATURES])
@pytest.mark.parametrize("name", ATTENTION)
def test_dropout_draws_the_same_weights(name, edge_dim):
    layers = pair(name, IN, OUT, heads=2, dropout=0.4, edge_dim=edge_dim)
    given = operand(NODES, IN), graph(), None if edge_dim is None else operand(EDGES, FEATURES)
    compared(layers, *given)
    for layer in layers:
        layer.eval()
    compared(layers, *given)


@pytest.mark.parametrize("aggr", ["mean", "max", "add", "min"])
def test_sage(aggr):
    x = operand(NODES, IN)
    for more in ({}, {"normalize": True}, {"root_weight": False}, {"project": True}, {"bias": False}, {"flow": "target_to_source"}):
        compared(pair("SAGEConv", IN, OUT, aggr=aggr, **more), x, graph())
    compared(pair("SAGEConv", (IN, 3), OUT, aggr=aggr, project=True), (x, operand(TARGETS, 3)), graph(NODES, TARGETS))
    compared(pair("SAGEConv", (IN, 3), OUT, aggr=aggr), (x, None), graph(NODES, TARGETS), size=(NODES, TARGETS))


@pytest.mark.parametrize("train_eps", [True, False])
def test_gin(train_eps):
    network = torch.nn.Sequential(torch.nn.Linear(IN, 7), torch.nn.Tanh(), torch.nn.Linear(7, OUT))
    x = operand(NODES, IN)
    for aggr in ("add", "mean", "max"):
        compared(pair("GINConv", network, 0.3, train_eps, aggr=aggr), x, graph())
        compared(pair("GINEConv", network, 0.3, train_eps, aggr=aggr), x, graph(), operand(EDGES, IN))
    compared(pair("GINEConv", network, edge_dim=FEATURES, train_eps=train_eps), x, graph(), operand(EDGES, FEATURES))
    compared(pair("GINEConv", network, edge_dim=FEATURES), (x, operand(TARGETS, IN)), graph(NODES, TARGETS), operand(EDGES, FEATURES))
    compared(pair("GINEConv", network, edge_dim=FEATURES), (x, None), graph(NODES, TARGETS), operand(EDGES, FEATURES), size=(NODES, TARGETS))
    compared(pair("GINConv", network), (x, operand(TARGETS, IN)), graph(NODES, TARGETS))


@pytest.mark.parametrize("more", [{}, {"improved": True}, {"add_self_loops": False}, {"normalize": False}, {"bias": False}, {"cached": True},
                                  {"aggr": "mean"}, {"aggr": "max"}])
def test_gcn(more):
    x = operand(NODES, IN)
    layers = pair("GCNConv", IN, OUT, **more)
    ends = graph()
    compared(layers, x, ends)
    compared(layers, x, ends)
    weights = torch.rand(EDGES, dtype=torch.float64, requires_grad=True)
    loops = (ends[0] == ends[1]).nonzero()[:, 0]
    ends[:, loops] = torch.stack([loops % NODES] * 2)  # no node has two: PyTorch Geometric says not which of them it keeps
    compared(pair("GCNConv", IN, OUT, **more), x, ends, weights)


def test_same_seed_same_parameters():
    network = torch.nn.Sequential(torch.nn.Linear(IN, 7))
    for name, arguments, more in (("GATConv", (IN, OUT), {"heads": 2, "edge_dim": 3, "residual": True}), ("GATConv", ((IN, 3), OUT), {}),
                                  ("GATv2Conv", (IN, OUT), {"share_weights": True, "residual": True}), ("GATv2Conv", ((IN, 3), OUT), {"edge_dim": 2}),
                                  ("TransformerConv", (IN, OUT), {"beta": True, "edge_dim": 2}), ("SAGEConv", (IN, OUT), {"project": True}),
                                  ("GINEConv", (network,), {"edge_dim": 2, "train_eps": True}), ("GCNConv", (IN, OUT), {})):
        made = []
        for library in (geometric, pyg):
            torch.manual_seed(3)
            made.append(getattr(library, name)(*copy.deepcopy(arguments), **more).state_dict())
        assert made[0].keys() == made[1].keys()
        for key, value in made[0].items():
            assert torch.equal(value, made[1][key]), (name, key)


@pytest.mark.parametrize("name, more", [("GATConv", {}), ("GATv2Conv", {}), ("TransformerConv", {}), ("SAGEConv", {}), ("GCNConv", {})])
def test_lazy(name, more):
    """in_channels = -1 is found by the first call; the layer then has the same parameters."""
    x, channels = operand(NODES, IN), -1 if name == "GCNConv" else (-1, -1)
    ours, theirs = getattr(pyg, name)(channels, OUT, **more).double(), getattr(geometric, name)(channels, OUT, **more).double()
    ours(x, graph()), theirs(x, graph())
    ours.load_state_dict(theirs.state_dict())
    compared((ours, theirs), x, graph())


def test_the_edges_of_a_pattern():
    """A pattern whose rows are targets instead of an edge list, in CSR as well, with attributes in its order."""
    x, ends, e = operand(NODES, IN), graph(), operand(EDGES, FEATURES)
    order = torch.argsort(ends[1], stable=True)
    offsets = torch.nn.functional.pad(torch.bincount(ends[1], minlength=NODES).cumsum(0), (1, 0))
    csr = tt.Pattern.from_csr(offsets, ends[0][order].contiguous(), (NODES, NODES))
    for layer in (pyg.GATConv(IN, OUT, edge_dim=FEATURES), pyg.GATv2Conv(IN, OUT, edge_dim=FEATURES), pyg.TransformerConv(IN, OUT, edge_dim=FEATURES),
                  pyg.GINEConv(torch.nn.Linear(IN, OUT), edge_dim=FEATURES)):
        layer = layer.double()
        want = layer(x, ends, e)
        torch.testing.assert_close(layer(x, tt.Pattern.from_edge_index(ends, NODES), e), want)
        torch.testing.assert_close(layer(x, csr, e[order]), want)
    for layer in (pyg.GCNConv(IN, OUT), pyg.SAGEConv(IN, OUT), pyg.GATConv(IN, OUT)):
        layer = layer.double()
        torch.testing.assert_close(layer(x, csr), layer(x, ends))
        shown = layer(x, csr, return_attention_weights=True)[1][0] if isinstance(layer, pyg.GATConv) else None
        assert shown is None or torch.equal(shown[:, -NODES:], torch.arange(NODES).expand(2, -1))


def test_patterns_are_kept_with_their_tensors():
    layer, x, ends = pyg.SAGEConv(IN, OUT).double(), operand(NODES, IN), graph()
    first = layer(x, ends)
    before = _graphs.pattern_of(ends, NODES, NODES)
    assert _graphs.pattern_of(ends, NODES, NODES) is before
    assert _graphs.pattern_of(ends, NODES, NODES + 1) is not before
    ends[1, :] = 0  # changed in place: another graph
    assert _graphs.pattern_of(ends, NODES, NODES) is not before
    assert not torch.equal(layer(x, ends), first)
    loops = pyg.GATConv(IN, OUT).double()
    loops(x, ends)
    assert _graphs.looped(_graphs.pattern_of(ends, NODES, NODES), NODES) is _graphs.looped(_graphs.pattern_of(ends, NODES, NODES), NODES)
    number = id(ends)
    assert number in _graphs._graphs
    del ends
    gc.collect()
    assert number not in _graphs._graphs


@pytest.mark.parametrize("more", [{}, {"aggr": "mean"}, {"aggr": "max"}, {"bias": False}])
def test_graph_conv(more):
    """PyTorch Geometric's layer of this name; DGL's is in tamis.torch.nn."""
    x, weights = operand(NODES, IN), torch.rand(EDGES, dtype=torch.float64, requires_grad=True)
    for given in ((), (weights,), (weights[:, None],)):
        compared(pair("GraphConv", IN, OUT, **more), x, graph(), *given)
        compared(pair("GraphConv", (IN, 3), OUT, **more), (x, operand(TARGETS, 3)), graph(NODES, TARGETS), *given)
    compared(pair("GraphConv", (IN, 3), OUT, **more), (x, None), graph(NODES, TARGETS), weights, size=(NODES, TARGETS))


@pytest.mark.parametrize("lead", [(3,), (1,), (2, 3), (0,)])
@pytest.mark.parametrize("name, more", [("GCNConv", {}), ("GCNConv", {"aggr": "max"}), ("SAGEConv", {}), ("SAGEConv", {"aggr": "max", "normalize": True, "project": True}),
                                        ("GINConv", {}), ("GINEConv", {}), ("GINEConv", {"edge_dim": FEATURES}), ("GraphConv", {}), ("GraphConv", {"aggr": "mean"}),
                                        ("GraphConv", {"node_dim": 0})])
def test_batches_of_nodes_as_theirs(name, more, lead):
    """x of (..., nodes, features): PyTorch Geometric computes each member on the one graph."""
    first = (torch.nn.Linear(IN, OUT),) if name.startswith("GIN") else (IN, OUT)
    x = operand(NODES, *lead, IN) if more.get("node_dim") == 0 else operand(*lead, NODES, IN)
    e = {"GCNConv": torch.rand(EDGES, dtype=torch.float64), "GraphConv": operand(EDGES), "GINEConv": operand(EDGES, more.get("edge_dim", IN))}
    if name == "GCNConv":
        compared(pair(name, *first, **more), x, graph(), gradients=0 not in lead)
    if name == "GINEConv" and not more:
        compared(pair(name, *first), x, graph(), operand(*lead, EDGES, IN), gradients=0 not in lead)
    ends = graph()
    if name == "GCNConv":
        loops = (ends[0] == ends[1]).nonzero()[:, 0]
        ends[:, loops] = torch.stack([loops % NODES] * 2)
    if not (0 in lead and more.get("edge_dim")):
        compared(pair(name, *first, **more), x, ends, *([e[name]] if name in e and "node_dim" not in more else []), gradients=0 not in lead)
    if name in ("SAGEConv", "GraphConv") and "node_dim" not in more:
        compared(pair(name, (IN, 3), OUT, **more), (x, operand(TARGETS, 3)), graph(NODES, TARGETS), gradients=0 not in lead)


@pytest.mark.parametrize("lead", [(3,), (2, 2), (0,)])
@pytest.mark.parametrize("edge_dim", [None, FEATURES])
@pytest.mark.parametrize("name, more", [("GATConv", {}), ("GATConv", {"concat": False, "residual": True}), ("GATv2Conv", {}), ("GATv2Conv", {"share_weights": True, "concat": False}),
                                        ("TransformerConv", {}), ("TransformerConv", {"beta": True, "aggr": "max", "concat": False})])
def test_batches_of_nodes_with_attention(name, more, edge_dim, lead):
    """PyTorch Geometric refuses these: each member is computed as by itself."""
    layer = pair(name, IN, OUT, heads=2, edge_dim=edge_dim, **more)[0]
    e = None if edge_dim is None else operand(EDGES, FEATURES)
    for source, target in ((operand(*lead, NODES, IN), None), (operand(*lead, NODES, IN), operand(NODES, IN))):
        def members(which=layer, source=source, target=target):
            return [which(one if target is None else (one, target), graph(), e, return_attention_weights=True) for one in source.flatten(0, -3)]

        out, (ends, weights) = layer(source if target is None else (source, target), graph(), e, return_attention_weights=True)
        assert out.shape == (*lead, NODES, OUT * (2 if layer.concat else 1)) and weights.shape == (*lead, ends.shape[1], 2)
        torch.testing.assert_close(layer(source if target is None else (source, target), graph(), e), out)
        if 0 in lead:
            continue
        want = [torch.stack(parts).unflatten(0, lead) for parts in zip(*((result, alone) for result, (_, alone) in members()))]
        torch.testing.assert_close((out, weights), tuple(want))
        inputs = [x for x in (source, target, e, *layer.parameters()) if x is not None]
        scale = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)
        for got, wanted in zip(*(torch.autograd.grad((result * scale).sum(), inputs, allow_unused=True) for result in (out, want[0]))):
            assert (got is None) == (wanted is None)
            if got is not None:
                torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("name", ["message", "update", "aggregate", "edge_update", "message_and_aggregate", "propagate"])
def test_methods_that_would_never_be_called(name):
    for layer in (getattr(pyg, one) for one in pyg.__all__):
        for bases, own in (((layer,), {name: lambda self, x_j: 2 * x_j}), ((type("Mixin", (), {name: lambda self, x_j: x_j}), layer), {})):
            with pytest.raises(TypeError, match=rf"class Own has {name}\(\) of its own, .*torch_geometric.nn.*tamis.torch.message"):
                type("Own", bases, own)
        type("Own", (layer,), {"forward": layer.forward, "reset_parameters": layer.reset_parameters, "other": 3})
    with pytest.raises(TypeError, match=f"the SAGEConv has {name}"):
        setattr(pyg.SAGEConv(IN, OUT), name, lambda x_j: x_j)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("autocast", [True, False])
def test_degrees_of_hubs(dtype, autocast, device):
    """Sums of 16-bit numbers stop at 2048 or 256, and fp16 ends at 65504."""
    if not autocast and device == "cpu" and dtype == torch.float16:
        pytest.importorskip("torch", "2.3", reason="products of fp16 on the CPU")
    count = 70000
    ends = torch.stack([torch.arange(1, count), torch.zeros(count - 1, dtype=torch.int64)])
    ends = torch.cat([ends, ends.flip(0)], 1)
    x, layer = torch.rand(count, 4) + 1, pyg.GCNConv(4, 3)
    want, steady = layer(x, ends), copy.deepcopy(layer)
    for weight in steady.parameters():
        weight.data.abs_()
    room = 4 * torch.finfo(dtype).eps * steady(x, ends)  # five roundings of half an eps: x, weights, products, factors, result
    for weights in (None, torch.ones(ends.shape[1])):
        if autocast:
            with torch.autocast(device, dtype):
                got = layer(x, ends, weights)
        else:
            got = copy.deepcopy(layer).to(dtype)(x.to(dtype), ends, None if weights is None else weights.to(dtype))
            assert got.dtype == dtype
        assert ((got - want).abs() <= room).all()


@pytest.mark.parametrize("of_x, of_weight", [(torch.float32, torch.float64), (torch.float64, torch.float32), (torch.float32, torch.float16), (torch.float32, torch.int64),
                                             (torch.float32, torch.bool)])
@pytest.mark.parametrize("more", [{}, {"normalize": False}, {"aggr": "max"}, {"add_self_loops": False}, {"cached": True}])
def test_types_of_edge_weights(of_x, of_weight, more):
    """Weights of other types, and of shape (edges, 1): the result has the type that PyTorch gives products."""
    x, weight = torch.rand(NODES, IN).to(of_x), (torch.rand(EDGES) * 2 + 1).to(of_weight)
    ends = graph()
    loops = (ends[0] == ends[1]).nonzero()[:, 0]
    ends[:, loops] = torch.stack([loops % NODES] * 2)
    ours, theirs = pair("GCNConv", IN, OUT, dtype=of_x, **more)
    for given in (weight, weight[:, None]):
        as_number = given if given.is_floating_point() else given.float()  # theirs has degrees of the weights' type
        for _ in range(2):
            got, want = ours(x, ends, given), theirs(x, ends, as_number)
            assert got.dtype == want.dtype
            torch.testing.assert_close(got, want, atol=2e-3 if of_weight == torch.float16 else 1e-5, rtol=1e-3 if of_weight == torch.float16 else 1e-5)


@pytest.mark.parametrize("name", [*ATTENTION, "SAGEConv", "GINConv", "GINEConv", "GCNConv", "GraphConv"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_training_under_autocast(name, dtype, device):
    first = (torch.nn.Linear(IN, OUT),) if name.startswith("GIN") else (IN, OUT)
    edge_dim = {"edge_dim": FEATURES} if name in [*ATTENTION, "GINEConv"] else {}
    layer = pair(name, *first, dtype=torch.float32, **edge_dim)[0]
    x, e = operand(NODES, IN, dtype=torch.float32), torch.rand(EDGES, FEATURES) if edge_dim else None
    given = [graph(), *([e] if edge_dim else [torch.rand(EDGES)] if name in ("GCNConv", "GraphConv") else [])]
    want = layer(x, *given)
    with torch.autocast(device, dtype):
        out = layer(x, *given)
    torch.testing.assert_close(out.float(), want, atol=0.05, rtol=0.05)
    inputs = [x, *layer.parameters()]
    all_got, all_wanted = (torch.autograd.grad(result.float().square().sum(), inputs) for result in (out, want))
    largest = max(wanted.norm() for wanted in all_wanted)
    for got, wanted in zip(all_got, all_wanted):
        # some 30 roundings one after the other. Softmax cancels the gradient of the keys' bias: what is left is the others' rounding
        size = wanted.norm() if wanted.norm() > 1e-3 * largest else largest
        assert (got - wanted).norm() <= 32 * torch.finfo(dtype).eps * size


def test_what_rewrites_their_layers():
    """to_hetero and the explainer's masks of edges know layers of PyTorch Geometric alone, and are refused; masks of nodes work."""
    explain = pytest.importorskip("torch_geometric.explain")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = pyg.SAGEConv((-1, -1), 3)

        def forward(self, x, edge_index):
            return self.conv(x, edge_index)

    with pytest.raises(TypeError, match="HeteroConv"):
        geometric.to_hetero(Net(), (["a", "b"], [("a", "to", "b"), ("b", "to", "a")]))
    for mask in ("object", None):
        explainer = explain.Explainer(Net(), explain.GNNExplainer(epochs=2), explanation_type="model", node_mask_type="attributes", edge_mask_type=mask,
                                      model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"})
        if mask is None:
            assert explainer(torch.randn(NODES, IN), graph()).node_mask.shape == (NODES, IN)
        else:
            with pytest.raises(ValueError, match="edge_mask_type=None"):
                explainer(torch.randn(NODES, IN), graph())


def new(seed):
    return graph(seed=seed)


def refilled():
    """Ways in which an edge list is filled again, of which PyTorch counts the first alone."""
    def inference(ends, other):
        with torch.inference_mode():
            ends.copy_(other)

    def of_inference():
        with torch.inference_mode():
            return new(1).clone()

    ways = {"copy_": (lambda: new(1), lambda ends, other: ends.copy_(other)), "within inference mode": (lambda: new(1), inference),
            "a buffer of inference mode": (of_inference, inference), ".data": (lambda: new(1), lambda ends, other: ends.data.copy_(other)),
            "rows with gaps": (lambda: new(1).repeat(1, 2)[:, :EDGES], lambda ends, other: ends.data.copy_(other)),
            "columns": (lambda: new(1).t().contiguous().t(), lambda ends, other: ends.data.copy_(other)), "set_": (lambda: new(1), lambda ends, other: ends.set_(other)),
            "data =": (lambda: new(1), lambda ends, other: setattr(ends, "data", other))}
    if not torch.cuda.is_available():
        ways["numpy()"] = lambda: new(1), lambda ends, other: ends.numpy().__setitem__(slice(None), other.numpy())
        ways["of NumPy"] = lambda: torch.from_numpy(new(1).numpy().copy()), lambda ends, other: ends.numpy().__setitem__(slice(None), other.numpy())
    return ways


@pytest.mark.parametrize("way", list(refilled()))
def test_an_edge_list_that_is_filled_again(way, device):
    if device == "cuda" and way in (".data", "rows with gaps", "columns"):
        pytest.skip("on a GPU a comparison would wait: the page says so")
    make, fill = refilled()[way]
    x, ends = torch.randn(NODES, IN), make()
    for layer in (pyg.SAGEConv(IN, OUT), pyg.GCNConv(IN, OUT), pyg.GATConv(IN, OUT), pyg.TransformerConv(IN, OUT)):
        fill(ends, new(1))
        with torch.no_grad():
            before = layer(x, ends)
            fill(ends, new(2))
            after = layer(x, ends)
            assert not torch.equal(after, before)
            torch.testing.assert_close(after, layer(x, new(2)))


@pytest.mark.parametrize("name", ["GCNConv", "GATConv", "GATv2Conv", "TransformerConv", "SAGEConv"])
def test_training_after_inference_mode(name):
    """Nothing that a call in inference mode leaves behind belongs to that mode."""
    for more, given in (({}, (graph(),)), ({"cached": True}, (graph(), torch.rand(EDGES)))):
        if more and name != "GCNConv":
            continue
        for channels in (IN, -1):
            layer, x = getattr(pyg, name)(channels, OUT, **more), torch.randn(NODES, IN)
            with torch.inference_mode():
                layer(x, *given)
            layer(x, *given).sum().backward()
            assert all(parameter.grad is not None for parameter in layer.parameters() if parameter.requires_grad)


def test_what_else_pytorch_geometric_has():
    """Its EdgeIndex, its containers, networks of several kinds of nodes, copies and pickles."""
    x, ends = torch.randn(NODES, IN), graph()
    for layer in (pyg.GATConv(IN, OUT), pyg.SAGEConv(IN, OUT), pyg.GCNConv(IN, OUT), pyg.TransformerConv(IN, OUT)):
        want = layer(x, ends)
        assert torch.equal(layer(x, torch_geometric.EdgeIndex(ends, sparse_size=(NODES, NODES))), want)
        for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
            assert torch.equal(other(x, ends), want)
    results = []
    for library in (pyg, geometric):
        torch.manual_seed(4)
        net = geometric.HeteroConv({("a", "to", "b"): library.SAGEConv((-1, -1), OUT), ("b", "to", "a"): library.GATConv((-1, -1), OUT, add_self_loops=False)})
        given = {"a": torch.ones(NODES, IN), "b": torch.ones(TARGETS, 3)}
        kinds = {("a", "to", "b"): graph(NODES, TARGETS), ("b", "to", "a"): graph(TARGETS, NODES)}
        torch.manual_seed(4)
        net(given, kinds)  # finds the numbers of features
        results.append(net(given, kinds))
    for kind, want in results[1].items():
        torch.testing.assert_close(results[0][kind], want)
    net = geometric.Sequential("x, edge_index", [(pyg.GATConv(IN, OUT), "x, edge_index -> x"), torch.nn.ReLU()])
    assert net(x, ends).shape == (NODES, OUT)


def test_no_edges():
    for name in ATTENTION + ["SAGEConv", "GCNConv"]:
        compared(pair(name, IN, OUT), operand(NODES, IN), torch.empty(2, 0, dtype=torch.int64))


def test_compile():
    ends, x, e = graph(), torch.randn(NODES, IN), torch.randn(EDGES, FEATURES)
    layer = pyg.TransformerConv(IN, OUT, heads=2, edge_dim=FEATURES)
    torch.testing.assert_close(torch.compile(layer, backend="aot_eager", fullgraph=True)(x, ends, e), layer(x, ends, e))
    layer = pyg.SAGEConv(IN, OUT, aggr="max")
    torch.testing.assert_close(torch.compile(layer, backend="aot_eager", fullgraph=True)(x, ends), layer(x, ends))


LOOPED = {**{f"GATConv {fill} {flow}": lambda fill=fill, flow=flow: (pyg.GATConv(IN, OUT, 2, edge_dim=FEATURES, fill_value=fill, flow=flow), "features")
             for fill in ("mean", "add", "max", "min", "mul", 0.5) for flow in ("source_to_target", "target_to_source")},
          "GATv2Conv": lambda: (pyg.GATv2Conv(IN, OUT, 2, edge_dim=FEATURES), "features"), "GATConv alone": lambda: (pyg.GATConv(IN, OUT, 2), None),
          "GCNConv": lambda: (pyg.GCNConv(IN, OUT), None), "GCNConv weights": lambda: (pyg.GCNConv(IN, OUT, improved=True), "weights"), "SGConv": lambda: (pyg.SGConv(IN, OUT, K=2), "weights"),
          "APPNP": lambda: (pyg.APPNP(3, 0.1), "weights"), "ChebConv": lambda: (pyg.ChebConv(IN, OUT, 3), "weights"), "ChebConv rw": lambda: (pyg.ChebConv(IN, OUT, 2, "rw"), "weights"),
          "ChebConv none": lambda: (pyg.ChebConv(IN, OUT, 3, None), None)}


@pytest.mark.parametrize("name", LOOPED)
def test_self_loops_are_added_within_a_compiled_layer(name):
    """Some nodes have edges to themselves already, also two and no other edge."""
    torch.manual_seed(1)
    torch._dynamo.reset()
    layer, of_edges = LOOPED[name]()
    layer = layer.double()
    ends = torch.cat([graph(), torch.tensor([[1, 2, 3, 3], [1, 2, 3, 3]])], 1)
    ends = ends[:, ~((ends == 3).any(0) & (ends[0] != ends[1]))]
    x = torch.randn(NODES, IN, dtype=torch.float64, requires_grad=True)
    rest = {None: (), "features": (torch.rand(ends.shape[1], FEATURES, dtype=torch.float64, requires_grad=True),),
            "weights": (torch.rand(ends.shape[1], dtype=torch.float64, requires_grad=True),)}[of_edges]
    compiled, plain = torch.compile(layer, backend="aot_eager", fullgraph=True)(x, ends, *rest), layer(x, ends, *rest)
    torch.testing.assert_close(compiled, plain)
    for found, wanted in zip(*(torch.autograd.grad(out.square().sum(), [x, *rest, *layer.parameters()]) for out in (compiled, plain))):
        torch.testing.assert_close(found, wanted)


def test_a_maximum_with_self_loops_is_not_compiled():
    torch._dynamo.reset()
    with pytest.raises(Exception, match="aggr = .max. with self-loops"):
        torch.compile(pyg.GATConv(IN, OUT, aggr="max"), backend="aot_eager", fullgraph=True)(torch.randn(NODES, IN), graph())


@pytest.mark.parametrize("call, words", [
    (lambda x: pyg.SAGEConv(IN, OUT, aggr="lstm"), "aggr = 'lstm': expected 'add', 'sum', 'mean', 'max' or 'min'"),
    (lambda x: pyg.GATConv(IN, OUT, aggr_kwargs={"a": 1}), "this layer has no such argument"),
    (lambda x: pyg.GATConv(IN, OUT, flow="up"), "flow = 'up': expected"),
    (lambda x: pyg.SAGEConv(IN, OUT)(x, graph().T), r"edge_index has shape \(40, 2\): expected \(2, edges\)"),
    (lambda x: pyg.SAGEConv(IN, OUT)(x, "ends"), "edge_index is a tensor str: expected"),
    (lambda x: pyg.SAGEConv(IN, OUT)(x, torch.eye(NODES).to_sparse()), "Pattern.from_torch takes a sparse tensor"),
    (lambda x: pyg.SAGEConv(IN, OUT)(x, tt.Pattern.causal(3)), "edge_index is a pattern 3 x 3: expected 11 targets x 11 sources"),
    (lambda x: pyg.SAGEConv(IN, OUT)((x, x), graph(), size=(3, 4)), r"size = \(3, 4\): x has 11 sources and 11 targets"),
    (lambda x: pyg.SAGEConv(IN, OUT)(x, graph() + NODES), r"edge_index\[1\]\[0\] = 13 is not in 0 .. 10: x has 11 sources"),
    (lambda x: pyg.SAGEConv(IN, OUT)(x, graph() + torch.tensor([[NODES], [0]])), r"edge_index\[0\]\[0\] = \d+ is not in 0 .. 10"),
    (lambda x: pyg.SAGEConv(IN, OUT)(x, graph().float()), "edge_index is torch.float32: expected int32 or int64"),
    (lambda x: pyg.SAGEConv(IN, OUT)(x[0], graph()), r"x has shape \(6,\): expected \(nodes, features\)"),
    (lambda x: pyg.GATConv(IN, OUT, edge_dim=2)(x, graph(), torch.ones(EDGES - 1, 2)), r"edge_attr has shape \(39, 2\): expected a row for each of the 40 edges"),
    (lambda x: pyg.GINEConv(torch.nn.Linear(IN, OUT))(x, graph(), torch.ones(EDGES - 1, IN)), "edge_attr has shape"),
    (lambda x: pyg.GCNConv(IN, OUT)(x, graph(), torch.ones(EDGES - 1)), r"edge_weight has shape \(39,\): expected a row for each of the 40 edges"),
    (lambda x: pyg.GraphConv(IN, OUT)(x, graph(), torch.ones(EDGES, 2)), r"edge_weight has shape \(40, 2\): expected \(edges,\) or \(edges, 1\)"),
    (lambda x: pyg.TransformerConv(IN, OUT, edge_dim=2)(x, graph()), "edge_attr is None"),
    (lambda x: pyg.TransformerConv(IN, OUT)(x, graph(), x), "expected a layer with edge_dim"),
    (lambda x: pyg.GATv2Conv(IN, OUT)(x, graph(), torch.ones(EDGES, 2)), "expected a layer with edge_dim"),
    (lambda x: pyg.GATv2Conv(IN, OUT)((x, None), graph()), r"x\[1\] is None"),
    (lambda x: pyg.GINEConv(torch.nn.Linear(IN, OUT))(x, graph(), torch.ones(EDGES, 2)), "x has 6 features and edge_attr 2"),
    (lambda x: pyg.GCNConv(IN, OUT)((x, x), graph()), "x is a pair"),
    (lambda x: pyg.GCNConv(IN, OUT, add_self_loops=True, normalize=False), "expected False without normalize")])
def test_refused(call, words, device):
    if device == "cuda" and "is not in" in words:
        words = r"(row_indices|columns)\[0\] = \d+ is not in 0 .. 10"  # the first call that uses the pattern finds it
    with pytest.raises((tamis.Error, TypeError, ValueError), match=words):
        call(torch.randn(NODES, IN))
