"""Layers of `tamis.torch.pyg` with fixed options: 16 bits, copies, compilers, and layers that are one step of autograd."""
from __future__ import annotations

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("device")]
pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed")

import tamis.torch as tt  # noqa: E402
from tamis.torch import _ops, pyg  # noqa: E402
from tamis.torch.pyg import _edge_networks, _several, _spectral, _sums  # noqa: E402

from pyg_pairs import EDGES, FEATURES, IN, NODES, OUT, RELATIONS, TARGETS, compared, graph, operand, pair, small  # noqa: E402

if not _ops.REGISTERED:
    pytest.skip("message passing needs PyTorch 2.4", allow_module_level=True)


class OfOneType(torch.nn.Module):
    """HGTConv of one type of nodes and one of edges, called as the other layers are. As wide as its inputs, it has the part that skips it."""

    def __init__(self):
        super().__init__()
        self.layer = pyg.HGTConv(IN, IN, (["a"], [("a", "to", "a")]), 2)
        torch.nn.init.constant_(self.layer.skip["a"], 0.3)

    def forward(self, x, ends):
        return self.layer({"a": x}, {("a", "to", "a"): ends})["a"]


def fixed(name):
    """A layer with options beside the defaults, and its inputs."""
    e, weights, kinds, places = torch.rand(EDGES, FEATURES), torch.rand(EDGES), torch.randint(RELATIONS, (EDGES,)), torch.rand(EDGES, 2)
    rows = {"SGConv": ((IN, OUT, 2), {}, weights), "APPNP": ((3, 0.1), {}, weights), "ChebConv": ((IN, OUT, 3), {}, weights), "GatedGraphConv": ((IN, 2), {}, weights),
            "EdgeConv": ((small(2 * IN, OUT),), {}), "EdgeConv mean": ((small(2 * IN, OUT), "mean"), {}), "NNConv": ((IN, OUT, small(FEATURES, IN * OUT)), {}, e),
            "NNConv max": ((IN, OUT, small(FEATURES, IN * OUT), "max"), {}, e), "GMMConv": ((IN, OUT, 2, 3), {}, places),
            "GMMConv separate": ((IN, OUT, 2, 3, True), {}, places), "GENConv": ((IN, OUT), {"edge_dim": FEATURES, "norm": "layer"}, e),
            "GENConv power": ((IN, OUT, "powermean"), {"p": 2.0, "learn_p": True, "norm": "layer"}), "GENConv learnt": ((IN, OUT), {"learn_t": True, "norm": "layer"}),
            "PNAConv": ((IN, OUT, ["mean", "std", "max", "min"], ["identity", "amplification"], torch.ones(5)), {"edge_dim": FEATURES}, e),
            "RGCNConv": ((IN, OUT, RELATIONS), {}, kinds), "RGATConv": ((IN, OUT, RELATIONS), {"heads": 2, "mod": "additive"}, kinds),
            "RGATConv product": ((IN, OUT, RELATIONS), {"edge_dim": FEATURES, "attention_mode": "multiplicative-self-attention", "dim": 2}, kinds, e),
            "HGTConv": ((), {})}
    if name is None:
        return list(rows)
    torch.manual_seed(8)
    arguments, more, *rest = rows[name]
    return (OfOneType if name == "HGTConv" else getattr(pyg, name.split()[0]))(*arguments, **more), [torch.randn(NODES, IN), graph(), *rest]


@pytest.mark.parametrize("name", fixed(None))
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sixteen_bits(name, dtype, device):
    """With autocast and gradients, and in that type. Networks are smooth, since a number that rounds to the other side of 0 has another slope of relu."""
    layer, (x, ends, *rest) = fixed(name)
    for parent in [*layer.modules()]:
        for child, module in parent.named_children():
            if isinstance(module, torch.nn.ReLU):
                setattr(parent, child, torch.nn.SiLU())
    x.requires_grad_()
    want = layer(x, ends, *rest)
    with torch.autocast(device, dtype):
        out = layer(x, ends, *rest)
    converted = copy.deepcopy(layer).to(dtype)(x.detach().to(dtype), ends, *(one.to(dtype) if one.is_floating_point() else one for one in rest))
    assert converted.dtype == dtype
    inputs = [x, *(one for one in layer.parameters() if one.requires_grad)]
    found, wanted = (torch.autograd.grad(result.float().square().sum(), inputs, allow_unused=True) for result in (out, want))
    largest = max(one.norm() for one in wanted if one is not None)
    for got, right in [(out, want), (converted, want), *((a, b) for a, b in zip(found, wanted) if b is not None)]:
        # some 30 roundings one after the other; where others cancel in a gradient their rounding is left
        size = right.norm() if right is want or right.norm() > 1e-3 * largest else largest
        assert (got.float() - right).norm() <= 32 * torch.finfo(dtype).eps * size


@pytest.mark.parametrize("name", fixed(None))
def test_copies_and_pickles(name):
    layer, given = fixed(name)
    want = layer(*given)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(other(*given), want)


@pytest.mark.parametrize("name", fixed(None))
def test_compiled(name):
    """In one graph where the page says so."""
    layer, (x, ends, *rest) = fixed(name)
    places, broken = tt.Pattern.from_edge_index(ends, NODES), name.split()[0] in ("RGCNConv", "RGATConv") or name in ("GENConv power", "GENConv learnt")
    torch._dynamo.reset()
    for given in (ends, places):
        torch.testing.assert_close(torch.compile(layer, backend="aot_eager", fullgraph=not broken)(x, given, *rest), layer(x, given, *rest))


@pytest.mark.parametrize("name", ["GENConv", "GENConv edges", "GENConv power", "PNAConv", "EdgeConv"])
def test_compiled_for_any_sizes(name):
    """Numbers of nodes and edges, and numbers of a layer, are symbols there; another number of the layer is noticed."""
    layer, more = {"GENConv": lambda: (pyg.GENConv(IN, OUT, t=0.7, norm="layer"), []), "GENConv edges": lambda: (pyg.GENConv(IN, OUT, edge_dim=FEATURES, norm="layer"), [FEATURES]),
                   "GENConv power": lambda: (pyg.GENConv(IN, OUT, "powermean", p=2.0, norm="layer"), []),
                   "PNAConv": lambda: (pyg.PNAConv(IN, OUT, ["mean", "max", "std"], ["identity", "linear"], torch.ones(4), FEATURES), [FEATURES]),
                   "EdgeConv": lambda: (pyg.EdgeConv(torch.nn.Sequential(torch.nn.Linear(2 * IN, OUT), torch.nn.LeakyReLU(0.1))), [])}[name]()
    torch._dynamo.reset()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=True)
    for nodes, edges, number in ((NODES, EDGES, None), (NODES + 3, EDGES + 9, None), (NODES, EDGES, 1.5)):
        if number is not None and name == "GENConv":
            layer.aggr_module.t = number
        if number is not None and name == "GENConv power":
            layer.aggr_module.p = number
        given = torch.randn(nodes, IN, requires_grad=True), torch.randint(nodes, (2, edges)), *(torch.randn(edges, width) for width in more)
        found, want = compiled(*given), layer(*given)
        torch.testing.assert_close(found, want)
        torch.testing.assert_close(*(torch.autograd.grad(one.square().sum(), given[0])[0] for one in (found, want)), atol=1e-4, rtol=1e-4)


def test_means_of_a_large_node_within_a_compiler():
    """Its sum and its number of edges are beyond the largest 16-bit number; self-loops that stay do not count."""
    source = torch.cat([torch.zeros(3, dtype=torch.int64), torch.arange(1, 70001)])
    places = tt.Pattern.from_coo(torch.zeros_like(source), source, (70001, 70001))
    for dtype in (torch.float16, torch.bfloat16):
        given = torch.full((places.nnz, 1), 3.0, dtype=dtype)
        given[:3] = 100.0
        graph = tt._graphs.Looped(places, places, None, 2, places.columns == 0)
        found = tt._graphs.filled(graph, given, "mean", False)[-2:]
        assert found.dtype == dtype and found.flatten().tolist() == [3.0, 0.0]


def stepped(name, edges=True):
    """Both layers of a kind that is one step of autograd, and its inputs."""
    deg, network = torch.tensor([1, 2, 5, 3]), small(FEATURES, IN * OUT)
    arguments = {"PNAConv": (IN, OUT, ["sum", "mean", "min", "max", "var", "std", "std"], ["identity", "attenuation"], deg), "APPNP": (3, 0.2), "NNConv": (IN, OUT, network),
                 "NNConv mean": (IN, OUT, network, "mean")}[name]
    more = {"edge_dim": FEATURES} if name == "PNAConv" and edges else {}
    return pair(name.split()[0], *arguments, **more), [operand(NODES, IN), graph(), *([operand(EDGES, FEATURES)] if name != "APPNP" and edges else [])]


@pytest.mark.parametrize("name, edges", [("PNAConv", False), ("PNAConv", True), ("APPNP", False), ("NNConv", True), ("NNConv mean", True)])
def test_second_derivatives_of_steps(name, edges):
    """Layers whose inner operations autograd does not record are recorded where somebody differentiates their gradient, one by one or many at once."""
    (ours, theirs), (x, *rest) = stepped(name, edges)
    found = []
    for layer in (ours, theirs):
        out = layer(x, *rest)
        first, = torch.autograd.grad(out.square().sum(), x, create_graph=True)
        found.append((first, *torch.autograd.grad(first.square().sum(), [x, *rest[1:], *layer.parameters()], allow_unused=True)))
    torch.testing.assert_close(*([one for one in each if one is not None] for each in found))
    out = ours(x, *rest)
    weights = torch.randn(3, *out.shape, dtype=out.dtype)
    many, = torch.autograd.grad(out, x, weights, is_grads_batched=True)
    torch.testing.assert_close(many, torch.stack([torch.autograd.grad(ours(x, *rest), x, one)[0] for one in weights]))
    tangent = torch.func.jvp(lambda x: ours(x, *rest), (x.detach(),), (torch.ones_like(x),))[1]
    torch.testing.assert_close(tangent, torch.autograd.functional.jvp(lambda x: theirs(x, *rest), x.detach(), torch.ones_like(x))[1])


@pytest.mark.parametrize("conv,options", [("GENConv", {"t": 0.7}), ("GENConv", {"t": -2.0}), ("GENConv", {"aggr": ["std", "max"]}), ("EdgeConv", {}), ("PNAConv", {})])
def test_second_derivatives_of_expressions(conv, options):
    """Of layers whose messages are expressions, beside PyTorch Geometric's; the first derivatives are the same where nobody differentiates them again."""
    arguments = {"GENConv": (IN, OUT), "EdgeConv": (torch.nn.Sequential(torch.nn.Linear(2 * IN, OUT), torch.nn.Tanh(), torch.nn.Linear(OUT, OUT)), "mean"),
                 "PNAConv": (IN, OUT, ["sum", "mean", "min", "max", "var", "std"], ["identity"], torch.tensor([1, 2]))}[conv]
    ours, theirs = pair(conv, *arguments, **options, **({} if conv == "EdgeConv" else {"edge_dim": FEATURES}))
    ends, given = graph(), [operand(NODES, IN), *([] if conv == "EdgeConv" else [operand(EDGES, FEATURES)])]
    found = []
    for layer in (ours, theirs):
        first = torch.autograd.grad(layer(given[0], ends, *given[1:]).square().sum(), given, create_graph=True)
        found.append((first, torch.autograd.grad(sum(one.square().sum() for one in first), [*given, *layer.parameters()], allow_unused=True)))
    torch.testing.assert_close(*([one for part in each for one in part if one is not None] for each in found))
    torch.testing.assert_close(torch.autograd.grad(ours(given[0], ends, *given[1:]).square().sum(), given), tuple(one.detach() for one in found[0][0]))


@pytest.mark.parametrize("of_edges", [False, True])
@pytest.mark.parametrize("wanted", [["x"], ["pre_nns.0.0.bias"], ["post_nns.0.0.weight"], ["lin.weight"], ["x", "lin.bias", "pre_nns.0.0.weight"], ["edge_attr"], ["edge_encoder.weight"]])
def test_gradients_that_are_wanted(wanted, of_edges):
    """PNAConv in one step has those of its inputs and its parameters that somebody wants, whichever these are."""
    if not of_edges and {"edge_attr", "edge_encoder.weight"} & set(wanted):
        pytest.skip("edges have no features")
    layers = pair("PNAConv", IN, OUT, ["std", "max", "mean", "min"], ["identity", "amplification"], torch.tensor([1, 2, 5, 3]), edge_dim=FEATURES if of_edges else None)
    for layer in layers:
        for name, parameter in layer.named_parameters():
            parameter.requires_grad_(name in wanted)
    given = [operand(NODES, IN).detach(), graph(), *([operand(EDGES, FEATURES).detach()] if of_edges else [])]
    for place, name in ((0, "x"), (2, "edge_attr")):
        if name in wanted:
            given[place].requires_grad_()
    compared(layers, *given)


@pytest.mark.parametrize("wanted", [["x"], ["nn.0.weight"], ["nn.2.bias"], ["lin.weight"], ["bias", "nn.2.weight"], ["edge_attr"], ["target"], ["x", "target"]])
@pytest.mark.parametrize("more", [{}, {"aggr": "mean"}, {"root_weight": False}, {"bias": False}])
def test_gradients_that_are_wanted_of_networks(monkeypatch, wanted, more):
    """The same of NNConv, also with targets that are no sources."""
    calls, run = [], _edge_networks._OfFeatures.run
    monkeypatch.setattr(_edge_networks._OfFeatures, "run", lambda *given: calls.append(0) or run(*given))
    if {"root_weight": {"lin.weight", "target"}, "bias": {"bias"}}.get(next((name for name in more if more[name] is False), ""), set()) & set(wanted):
        pytest.skip("the layer has none")
    layers = pair("NNConv", IN, OUT, small(FEATURES, IN * OUT), **more)
    for layer in layers:
        for name, parameter in layer.named_parameters():
            parameter.requires_grad_(name in wanted)
    x, target, e = ([operand(*shape).detach().requires_grad_(name in wanted) for name, shape in (("x", (NODES, IN)), ("target", (TARGETS, IN)), ("edge_attr", (EDGES, FEATURES)))])
    compared(layers, (x, target), graph(NODES, TARGETS), e)
    compared(layers, (x, None), graph(NODES, TARGETS), e, size=(NODES, TARGETS), gradients=not {"target", "lin.weight"} & set(wanted))
    if wanted != ["target"]:
        compared(layers, x, graph(), e)
    assert calls


@pytest.mark.parametrize("aggregators, passes", [(["mean"], 1), (["max"], 1), (["mean", "sum"], 1), (["mean", "max"], 2)])
def test_gradients_of_edges_in_one_pass(monkeypatch, aggregators, passes):
    """PNAConv makes a sum of arrays of edges only where there are several."""
    places, sums, into, backward = [], [], _several.gradient_into, _several.Aggregations.backward
    monkeypatch.setattr(_several, "gradient_into", lambda known, place, *given, **more: places.append(place.data_ptr()) or into(known, place, *given, **more))
    monkeypatch.setattr(_several.Aggregations, "backward", lambda *given: sums.append(backward(*given)) or sums[-1])
    layers = pair("PNAConv", IN, OUT, aggregators, ["identity"], torch.tensor([1, 2, 5, 3]), edge_dim=FEATURES)
    compared(layers, operand(NODES, IN), graph(), operand(EDGES, FEATURES))
    assert len(places) == passes and [one[2].data_ptr() == places[0] for one in sums] == [passes == 1]


@pytest.mark.parametrize("wrong", ["width", "type", "device", "hidden", "hidden without biases"])
def test_wrong_operands_of_networks(wrong, device):
    """Copies and views of NNConv in one step hide nothing that PyTorch Geometric's products refuse."""
    network = small(FEATURES, IN * OUT)
    if wrong.startswith("hidden"):
        network[2] = torch.nn.Linear(10, IN * OUT, bias=wrong == "hidden")
    x, target = torch.randn(NODES, IN), torch.randn(TARGETS, IN)
    target = target[:, :1] if wrong == "width" else target.double() if wrong == "type" else target.to("meta" if device == "cpu" else "cpu") if wrong == "device" else target
    layers = pair("NNConv", IN, OUT, network, dtype=torch.float32, **({"root_weight": False, "bias": False} if wrong == "hidden without biases" else {}))
    for layer in layers:
        with pytest.raises(RuntimeError):
            layer((x, target), graph(NODES, TARGETS), torch.randn(EDGES, FEATURES))


def test_steps_without_nodes_or_edges():
    for layer, *rest in ((pyg.PNAConv(IN, OUT, ["mean", "max", "std"], ["identity", "linear"], torch.ones(4)),), (pyg.GENConv(IN, OUT, norm=None),), (pyg.GatedGraphConv(IN, 2),),
                         (pyg.APPNP(2, 0.1),), (pyg.NNConv(IN, OUT, small(FEATURES, IN * OUT)), torch.empty(0, FEATURES))):
        for nodes in (0, 3):
            x = torch.randn(nodes, IN, requires_grad=True)
            found = torch.autograd.grad(layer(x, torch.empty(2, 0, dtype=torch.int64), *rest).sum(), [x, *layer.parameters()])
            assert all(one.isfinite().all() for one in found) and found[0].shape == x.shape


def cell(of_sums, of_x, x, of_sums_bias, of_x_bias):
    """PyTorch's GRU cell after the products, as its kernel for GPUs has it: the result, and what the gradient reads."""
    (r, z, n), (s, y, m) = (of_sums + of_sums_bias).chunk(3, 1), (of_x + of_x_bias).chunk(3, 1)
    r, z = (r + s).sigmoid(), (z + y).sigmoid()
    n = (n + r * m).tanh()
    return n + z * (x - n), torch.cat([r, z, n, x, m], 1)


def cell_backward(grad, space, has_bias):
    r, z, n, x, m = space.chunk(5, 1)
    dn, dz = grad * (1 - z) * (1 - n * n), grad * (x - n) * z * (1 - z)
    dr = dn * m * r * (1 - r)
    by_sums, by_x = torch.cat([dr, dz, dn], 1), torch.cat([dr, dz, dn * r], 1)
    return by_sums, by_x, grad * z, by_sums.sum(0), by_x.sum(0)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("aggr", ["add", "mean"])
def test_gated_layers_in_one_step(monkeypatch, layers, aggr):
    """GPUs call this, with their kernel written out here."""
    for name, own in (("_fused", lambda x: True), ("_cell", cell), ("_cell_backward", cell_backward)):
        monkeypatch.setattr(_sums, name, own)
    calls, back = [], _sums._Gated.back
    monkeypatch.setattr(_sums._Gated, "back", lambda *given: calls.append(0) or back(*given))
    both, ends = pair("GatedGraphConv", IN, layers, aggr=aggr), graph()
    for x in (operand(NODES, IN), operand(NODES, IN - 2), operand(NODES, IN).detach()):
        compared(both, x, ends)
    assert len(calls) == 3
    x, found = operand(NODES, IN), []
    for layer in both:
        first, = torch.autograd.grad(layer(x, ends).square().sum(), x, create_graph=True)
        found.append((first, *torch.autograd.grad(first.square().sum(), [x, *layer.parameters()])))
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_propagation_with_copies_at_once(monkeypatch, times):
    """Small graphs on a GPU call this; the result keeps no other copy."""
    monkeypatch.setattr(_spectral, "_at_once", lambda x, times: True)
    layers = pair("APPNP", times, 0.2)
    for x in (operand(NODES, IN), operand(3, NODES, IN), operand(IN, NODES).detach().t().requires_grad_()):
        out = compared(layers, x, graph())
        assert out.untyped_storage().nbytes() == out.nbytes
