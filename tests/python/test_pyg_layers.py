"""Layers of `tamis.torch.pyg` with options drawn at random, against those of PyTorch Geometric: parameters, outputs, gradients, patterns, batches."""
from __future__ import annotations

import copy
import os

import pytest

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("device")]
torch_geometric = pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed")
hypothesis = pytest.importorskip("hypothesis")
geometric = torch_geometric.nn
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as some  # noqa: E402

import tamis  # noqa: E402
import tamis.torch as tt  # noqa: E402
from tamis.torch import _ops, pyg  # noqa: E402

from pyg_pairs import EDGES, FEATURES, IN, NODES, OUT, RELATIONS, TARGETS, compared, graph, operand, pair, small  # noqa: E402

if not _ops.REGISTERED:
    pytest.skip("message passing needs PyTorch 2.4", allow_module_level=True)

EXAMPLES = int(os.environ.get("TAMIS_FUZZ_EXAMPLES", "150"))
DTYPES = {"float64": 1e-9, "float32": 1e-4}  # how close, relative to the largest of numbers about 1, sums of some ten products are at least


class Drawn:
    """What a test draws: options by name, and tensors of the drawn type."""

    def __init__(self, data):
        self.data, self.dtype = data, getattr(torch, data.draw(some.sampled_from(list(DTYPES))))
        torch.manual_seed(data.draw(some.integers(0, 99)))

    def of(self, *choices):
        return self.data.draw(some.sampled_from(choices))

    def options(self, **choices):
        """A value for each option, or the default."""
        return {name: value for name, options in choices.items() for value in [self.of(..., *options)] if value is not ...}

    def x(self, *shape):
        return operand(*shape, dtype=self.dtype)

    def positive(self, *shape):
        return (torch.rand(*shape, dtype=self.dtype) + 0.1).requires_grad_()

    def edges(self, sources=NODES, targets=NODES, one_loop=False):
        """Edges, sometimes none. one_loop: a node has at most one edge to itself: of several PyTorch Geometric says not which weight it keeps."""
        ends = graph(sources, targets, seed=self.data.draw(some.integers(0, 9)))
        if one_loop:
            loops = (ends[0] == ends[1]).nonzero()[:, 0]
            ends[:, loops] = torch.stack([loops % NODES] * 2)
            kept = torch.ones(ends.shape[1], dtype=torch.bool)
            for node in range(NODES):
                kept[((ends[0] == node) & (ends[1] == node)).nonzero()[1:, 0]] = False
            ends = ends[:, kept]
        return ends[:, :0] if self.data.draw(some.integers(0, 5)) == 0 else ends.contiguous()


def of_adjacency(draw, more, weighted=True):
    """x and edges, maybe with weights and a batch."""
    lead = draw.of((), (), (2,), (3, 2))
    ends = draw.edges(one_loop=True)
    weights = [draw.positive(ends.shape[1])] * (weighted and draw.of(True, False))
    return (draw.x(*lead, NODES, IN), ends, *weights)


def sg(draw):
    return (IN, draw.of(2, OUT, 9)), draw.options(K=[0, 2, 3], add_self_loops=[False], bias=[False], cached=[True], aggr=["mean"], flow=["target_to_source"]), of_adjacency


def appnp(draw):
    more = draw.options(dropout=[0.4], cached=[True], add_self_loops=[False], normalize=[False], aggr=["mean", "max"], flow=["target_to_source"])
    return (draw.of(1, 3), draw.of(0.1, 0.0, 0.7)), more, lambda draw, more: of_adjacency(draw, more, True)


def cheb(draw):
    def call(draw, more):
        x, ends, *weights = of_adjacency(draw, more)
        batch = (torch.arange(NODES) > 4).long()
        largest = draw.of(None, 1.7, torch.tensor(2.5, dtype=draw.dtype), torch.tensor([1.5, 2.5], dtype=draw.dtype))
        return (x, ends, weights[0] if weights else None, batch, largest)

    more = draw.options(normalization=[None, "rw"], bias=[False], aggr=["mean"], flow=["target_to_source"])
    return (IN, OUT, draw.of(1, 2, 4)), more, call


def gated(draw):
    def call(draw, more):
        ends = draw.edges()
        return (draw.x(NODES, IN), ends, *[draw.x(ends.shape[1])] * draw.of(True, False))

    return (draw.of(IN, IN + 2), draw.of(1, 3)), draw.options(aggr=["mean", "max"], bias=[False], flow=["target_to_source"]), call


def network(draw, inputs, width):
    """A network from `inputs` to `width`: linear layers and activations, some with parts that are not known."""
    nn = torch.nn
    kind = draw.of("linear", "one", "two", "three", "norm", "dropout", "geometric", "other")
    activation = draw.of(nn.ReLU(), nn.LeakyReLU(0.3), nn.Tanh(), nn.SiLU(), nn.Sigmoid(), nn.GELU(), nn.GELU("tanh"), nn.ELU())
    bias = draw.of(True, False)
    linear = nn.Linear(inputs, width, bias)
    if kind == "linear":
        return draw.of(linear, nn.Sequential(linear))
    if kind == "geometric":
        return nn.Sequential(geometric.Linear(inputs, 5), activation, geometric.Linear(5, width))
    if kind == "other":
        return nn.Sequential(nn.Tanh(), linear)
    parts = {"one": [linear, activation], "two": [nn.Linear(inputs, 5, bias), activation, nn.Linear(5, width, bias)],
             "three": [nn.Linear(inputs, 5), activation, nn.Linear(5, 3), nn.Tanh(), nn.Linear(3, width)],
             "norm": [nn.Linear(inputs, width), nn.LayerNorm(width), activation], "dropout": [nn.Linear(inputs, 5), activation, nn.Dropout(0.4), nn.Linear(5, width)]}
    return nn.Sequential(*parts[kind])


def edge_conv(draw):
    def call(draw, more):
        lead = draw.of((), (), (2,))
        if draw.of(True, False) or more.get("flow"):
            return draw.x(*lead, NODES, IN), draw.edges()
        return (draw.x(*lead, NODES, IN), draw.x(*lead, TARGETS, IN)), draw.edges(NODES, TARGETS)

    return (network(draw, 2 * IN, OUT),), draw.options(aggr=["add", "mean", "min"], flow=["target_to_source"]), call


def of_edges(draw, more, width):
    """x, edges and what edges have; maybe two kinds of nodes."""
    if more.get("flow") or draw.of(True, False):
        x, ends, size = draw.x(NODES, IN), draw.edges(), draw.of(None, (NODES, NODES))
    elif draw.of(True, False):
        x, ends, size = (draw.x(NODES, IN), draw.x(TARGETS, 3)), draw.edges(NODES, TARGETS), None
    else:
        x, ends, size = (draw.x(NODES, IN), None), draw.edges(NODES, TARGETS), (NODES, TARGETS)
    return x, ends, draw.x(ends.shape[1], width), size


def channels(draw, more, call):
    """Draw the inputs before the layer: its channels are theirs."""
    inputs = call(draw, more)
    pair_of = isinstance(inputs[0], tuple)
    return (IN, 3) if pair_of else IN, lambda draw, more: inputs


def nn_conv(draw):
    more = draw.options(aggr=["mean", "max"], root_weight=[False], bias=[False], flow=["target_to_source"])
    width = draw.of(1, OUT)
    of, call = channels(draw, more, lambda draw, more: of_edges(draw, more, FEATURES))
    return (of, width, network(draw, FEATURES, IN * width)), more, call


def gmm(draw):
    more = draw.options(aggr=["add", "max"], separate_gaussians=[True], bias=[False], flow=["target_to_source"])
    of, call = channels(draw, more, lambda draw, more: of_edges(draw, more, 2))
    return (of, OUT, 2, draw.of(1, 3)), more, call



def types_of(draw, count):
    """Types of edges: all, some or few of the relations."""
    most = draw.of(RELATIONS, 2, 1)
    return torch.randint(most, (count,)) + draw.of(0, RELATIONS - most)


def rgcn(draw, aggr=("add", "max"), contents=True):
    """contents: of integers x; theirs of FastRGCNConv ignores them."""
    more = draw.options(aggr=list(aggr), root_weight=[False], bias=[False], flow=["target_to_source"], is_sorted=[False])
    more.update(draw.of({}, {"num_bases": 3}, {"num_blocks": 2}))

    def call(draw, more):
        numbers = "num_blocks" not in more and draw.of(True, False)
        one = "flow" in more or draw.of(True, False)
        if numbers and one:
            x = draw.of(None, torch.randint(IN, (NODES,))) if contents else None
            ends = draw.edges(*[NODES if x is not None else IN] * 2)
        elif numbers and contents:
            x, ends = (torch.randint(IN, (NODES,)), torch.randint(3, (TARGETS,))), draw.edges(NODES, TARGETS)
        else:
            x, ends = (draw.x(NODES, IN), draw.edges()) if one else ((draw.x(NODES, IN), draw.x(TARGETS, 3)), draw.edges(NODES, TARGETS))
        return x, ends, types_of(draw, ends.shape[1])

    of, inputs = channels(draw, more, call)
    return (of, OUT, RELATIONS), more, inputs


def rgat(draw):
    more = draw.options(mod=["additive", "scaled", "f-additive", "f-scaled"], attention_mechanism=["within-relation"], heads=[2], concat=[False], negative_slope=[0.1],
                        edge_dim=[FEATURES], bias=[False], flow=["target_to_source"], aggr=["mean", "max"])
    more.update(draw.of({}, {"num_bases": 3}, {"num_blocks": 2}))
    more.update(draw.of({}, {"attention_mode": "multiplicative-self-attention"}, {"attention_mode": "multiplicative-self-attention", "dim": 3}))
    more.update({} if "mod" in more else draw.of({}, {"dropout": 0.3}))

    def call(draw, more):
        ends = draw.edges()
        return draw.x(NODES, IN), ends, types_of(draw, ends.shape[1]), *[draw.x(ends.shape[1], FEATURES)] * ("edge_dim" in more)

    return (IN, OUT, RELATIONS), more, call


def gen(draw):
    more = draw.options(aggr=["softmax", "softmax_sg", "powermean", "power", "add", "mean", "max", "min", "var", "std", ["mean", "max", "softmax", "std"]], t=[0.3, -0.5], p=[2.0, 1.7],
                        msg_norm=[True], norm=["layer", None], num_layers=[1, 3], expansion=[1], eps=[1e-3], bias=[True], edge_dim=[FEATURES, OUT],
                        flow=["target_to_source"], learn_p=[True], learn_msg_scale=[True])
    if more.get("aggr") in ("var", "std"):
        more.pop("msg_norm", None)  # of one edge's variance, which is rounding alone
    if more.get("aggr") != "softmax_sg":
        more.update(draw.options(learn_t=[True]))
    if "learn_p" in more and isinstance(more.get("aggr"), str) and "power" in more["aggr"]:
        more["p"] = more.get("p", 1.5)

    def call(draw, more):
        with_edges = draw.of(True, False)
        x, ends, e, size = of_edges(draw, more, more.get("edge_dim", OUT))
        if isinstance(x, tuple) and "msg_norm" in more:
            x = x[0], draw.x(TARGETS, 3)
        return x, ends, e if with_edges else None, size

    of, inputs = channels(draw, more, call)
    return (draw.of(of, of if isinstance(of, tuple) else of), OUT), more, inputs


def pna(draw):
    names = [draw.of("sum", "mean", "min", "max", "var", "std", "add") for _ in range(draw.of(1, 2, 4))]
    scalers = [draw.of("identity", "amplification", "attenuation", "linear", "inverse_linear") for _ in range(draw.of(1, 3))]
    more = draw.options(edge_dim=[FEATURES], towers=[2], pre_layers=[2], post_layers=[2], divide_input=[True], act=["leaky_relu", "SiLU", torch.nn.ELU()],
                        train_norm=[True], flow=["target_to_source"])

    def call(draw, more):
        x, ends, e, _ = of_edges(draw, {"flow": 1}, FEATURES)
        return x, ends, *[e] * ("edge_dim" in more)

    return (IN, OUT, names, scalers, torch.tensor([1, 2, 5, 3])), more, call


LAYERS = {"GENConv": gen, "PNAConv": pna, "RGCNConv": rgcn, "FastRGCNConv": lambda draw: rgcn(draw, ["add"], False), "RGATConv": rgat, "EdgeConv": edge_conv, "NNConv": nn_conv, "GMMConv": gmm, "SGConv": sg, "APPNP": appnp, "ChebConv": cheb, "GatedGraphConv": gated}
NOT_IN_EVERY_GRAPH = ()
quick = settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))


def called(draw, name):
    arguments, more, call = LAYERS[name](draw)
    return arguments, more, call(draw, more)


@pytest.mark.parametrize("name", LAYERS)
@quick
@given(data=some.data())
def test_layers_as_theirs(name, data):
    draw = Drawn(data)
    arguments, more, inputs = called(draw, name)
    hypothesis.note(f"{arguments} {more} {[tuple(x.shape) if isinstance(x, torch.Tensor) else x for x in inputs]}")
    layers = pair(name, *arguments, dtype=draw.dtype, **more)
    if name == "RGATConv":  # theirs has not initialised it
        layers[0].l2.data = torch.randn(OUT, OUT, dtype=draw.dtype)
    layers[1].load_state_dict(layers[0].state_dict())
    if name == "APPNP" and more.get("dropout") and not more.get("normalize", True) and len(inputs) < 3:
        with pytest.raises(tamis.Error, match="edge_weight is None"):
            layers[0](*inputs)
        return
    if name == "ChebConv" and more.get("normalization", 0) is None and not inputs[1].numel() and inputs[4] is None:
        assert layers[0](*inputs).isfinite().all()  # theirs divides by an eigenvalue of 0
        return
    close = DTYPES[str(draw.dtype).rpartition(".")[2]]
    want = compared(layers, *inputs, close=close, gradients=name not in NOT_IN_EVERY_GRAPH or inputs[1].shape[1] > 0)
    if more.get("cached"):
        compared(layers, *inputs, close=close, gradients=False)
    if "dropout" not in more and not any(isinstance(module, torch.nn.Dropout) for module in layers[0].modules()) and not more.get("cached"):
        ends, x = inputs[1], inputs[0]
        targets = TARGETS if isinstance(x, tuple) else IN if x is None else NODES
        places = tt.Pattern.from_coo(ends[1], ends[0], (targets, IN if x is None else NODES))
        if more.get("flow") == "target_to_source":
            places = places.T.T  # rows are still row 1 of the edges
        torch.testing.assert_close(layers[0](inputs[0], places, *inputs[2:]), want)


SAME = {"GENConv": [((IN, OUT), {"edge_dim": 3}), (((IN, 3), OUT, ["add", "max"]), {"bias": True}), ((IN, OUT), {"learn_t": True, "msg_norm": True, "norm": "layer"})],
        "PNAConv": [((IN, OUT, ["mean", "std"], ["identity", "linear"], torch.tensor([0, 3, 4])), {"edge_dim": 3, "towers": 2, "pre_layers": 2, "post_layers": 2})],
        "RGCNConv": [((IN, OUT, 3), {}), (((IN, 3), OUT, 3), {"num_bases": 2}), ((IN, OUT, 3), {"num_blocks": 2, "root_weight": False})], "FastRGCNConv": [((IN, OUT, 3), {})],
        "RGATConv": [((IN, OUT, 3), {"edge_dim": 3}), ((IN, OUT, 3), {"num_bases": 2}), ((IN, OUT, 3), {"num_blocks": 2, "concat": False})],
        "EdgeConv": [((small(2 * IN, OUT),), {})], "NNConv": [((IN, OUT, small(FEATURES, IN * OUT)), {}), (((IN, 3), OUT, small(FEATURES, IN * OUT)), {"bias": False})],
        "GMMConv": [((IN, OUT, 2, 3), {}), ((IN, OUT, 2, 3), {"separate_gaussians": True})],
        "SGConv": [((IN, OUT), {}), ((IN, OUT), {"bias": False})], "APPNP": [((2, 0.1), {})], "ChebConv": [((IN, OUT, 3), {})],
        "GatedGraphConv": [((OUT, 2), {}), ((OUT, 2), {"bias": False})]}


@pytest.mark.parametrize("name", LAYERS)
def test_same_seed_same_parameters(name):
    for arguments, more in SAME[name]:
        made = []
        for library in (geometric, pyg):
            torch.manual_seed(3)
            made.append(getattr(library, name)(*copy.deepcopy(arguments), **more).state_dict())
        assert list(made[0]) == list(made[1])
        if len({value.device for value in [*made[0].values(), *made[1].values()]}) > 1:
            pytest.skip("theirs draws some parameters on the CPU, whatever the default device")
        for key, value in made[0].items():
            assert torch.equal(value, made[1][key]) or (name, key) == ("RGATConv", "l2"), (name, key)  # which theirs has not initialised


@pytest.mark.parametrize("name, arguments", [("SGConv", (-1, OUT)), ("ChebConv", (-1, OUT, 2)),  # with K = 3 theirs fails
                                             ("GMMConv", (-1, OUT, 2, 3)), ("GMMConv", (-1, OUT, 2, 3, True))])
def test_lazy(name, arguments):
    given = operand(NODES, IN), graph(), *[operand(EDGES, 2)] * (name == "GMMConv")
    ours, theirs = (getattr(library, name)(*arguments).to(given[0]) for library in (pyg, geometric))
    with torch.no_grad():
        theirs(*given)
    with torch.inference_mode():  # its parameters are ordinary ones
        ours(*given)
    ours.load_state_dict(theirs.state_dict())
    compared((ours, theirs), *given)


METADATA = (["a", "b", "copy"], [("a", "to", "b"), ("b", "to", "b"), ("b", "of", "a"), ("copy", "x.y", "b")])


@quick
@given(data=some.data())
def test_several_types_of_nodes(data):
    draw = Drawn(data)
    heads, width = draw.of((1, 6), (2, 6), (3, 3))
    channels = draw.of(IN, {"a": IN, "b": 3, "copy": 5}, -1)
    made = []
    for library in (geometric, pyg):
        torch.manual_seed(6)
        made.append(library.HGTConv(channels, width, METADATA, heads).to(draw.dtype))
    theirs, ours = made
    counts = {"a": NODES, "b": TARGETS, "copy": 9}
    x = {kind: draw.x(count, channels[kind] if isinstance(channels, dict) else IN) for kind, count in counts.items()}
    kinds = [kind for kind in METADATA[1] if draw.of(True, True, False)] or METADATA[1][:1]
    edges = {kind: draw.edges(counts[kind[0]], counts[kind[2]]) for kind in kinds}
    with torch.no_grad():
        theirs(x, edges)
        ours.load_state_dict(theirs.state_dict())
        for parameter in theirs.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    ours.load_state_dict(theirs.state_dict())
    theirs.load_state_dict(ours.state_dict())
    close, results = DTYPES[str(draw.dtype).rpartition(".")[2]], []
    for layer in (ours, theirs):
        found = layer(x, edges)
        loss = sum((torch.linspace(-1, 1, out.numel(), dtype=draw.dtype).reshape(out.shape) * out).sum() for out in found.values())
        results.append((found, torch.autograd.grad(loss, [*x.values(), *layer.parameters()], allow_unused=True)))
    (got, got_grads), (want, want_grads) = results
    assert got.keys() == want.keys()
    torch.testing.assert_close(got, want, atol=close, rtol=close)
    for one, other in zip(got_grads, want_grads):
        # theirs has zeros for nodes that no edges come from
        torch.testing.assert_close(torch.zeros_like(other) if one is None else one, other if other is not None else torch.zeros_like(one), atol=10 * close, rtol=10 * close) \
            if one is not None or other is not None else None
    patterns = {kind: tt.Pattern.from_coo(ends[1], ends[0], (counts[kind[2]], counts[kind[0]])) for kind, ends in edges.items()}
    torch.testing.assert_close(ours(x, patterns), got)


def test_same_seed_same_parameters_of_several_types():
    made = []
    for library in (geometric, pyg):
        torch.manual_seed(6)
        made.append(library.HGTConv(IN, 6, METADATA, 2).state_dict())
    assert list(made[0]) == list(made[1])
    assert all(torch.equal(value, made[1][key]) for key, value in made[0].items())


def test_relations_are_kept_with_the_tensor_of_types():
    from tamis.torch.pyg import _relations
    layer, x, ends, kinds = pyg.RGCNConv(IN, OUT, RELATIONS), torch.randn(NODES, IN), graph(), torch.randint(RELATIONS, (EDGES,))
    first = layer(x, ends, kinds)
    pattern = tt._graphs.pattern_of(ends, NODES, NODES)
    kept = _relations.relations_of(pattern, kinds, RELATIONS)
    assert _relations.relations_of(pattern, kinds, RELATIONS) is kept and _relations.relations_of(pattern, kinds, RELATIONS + 1) is not kept
    with torch.no_grad():
        kinds.copy_((kinds + 1) % RELATIONS)
    assert not torch.equal(layer(x, ends, kinds), first)
    torch.testing.assert_close(layer(x, ends, kinds), layer(x, ends.clone(), kinds.clone()))


@pytest.mark.parametrize("of", ["types", "blocks"])
def test_new_graphs_leave_no_memory(of):
    """With types of edges, or a first pattern, that stay; the result is right though what was kept is gone."""
    from tamis.torch import _held
    torch.manual_seed(2)
    x, kinds, stays = torch.randn(NODES, IN), torch.randint(RELATIONS, (EDGES,)), tt.Pattern.from_edge_index(graph(), NODES)
    layer = pyg.RGCNConv(IN, OUT, RELATIONS)
    most = _held.MOST_BESIDE

    def called(ends):
        return layer(x, ends, kinds) if of == "types" else tt.messages([stays, tt.Pattern.from_edge_index(ends, NODES)], "copy_u", [x, 2 * x])

    def kept():
        from tamis.torch.pyg import _relations
        return _relations._kinds[id(kinds)].made if of == "types" else stays._derived["types"]

    first = called(graph(seed=0))
    for seed in range(1, 2 * most + 1):
        called(graph(seed=seed))
        assert len(kept()) == min(seed + 1, most)
    assert torch.equal(called(graph(seed=0)), first) and len(kept()) == most


@pytest.mark.parametrize("kind", [torch.int64, torch.int32])
def test_relations_made_once(monkeypatch, kind):
    """The patterns of relations, which no call compares: made in inference mode, they are of ordinary tensors."""
    from tamis.torch import _held
    from tamis.torch.pyg import _relations
    few, many = pyg.RGATConv(IN, OUT, 50), pyg.RGATConv(IN, OUT, RELATIONS, num_blocks=2)  # the first has fewer pairs than half of all
    convolutions = pyg.RGCNConv(IN, OUT, 50), pyg.RGCNConv(IN, OUT, RELATIONS, aggr="max")
    x, ends, kinds, made = torch.randn(NODES, IN), graph(), torch.randint(RELATIONS, (EDGES,), dtype=kind), []
    numbers = torch.arange(NODES)
    with torch.inference_mode():
        want = [layer(x, ends, kinds) for layer in (few, many, *convolutions)] + [convolutions[0](numbers % IN, ends, kinds)]
    for known in _relations._kinds[id(kinds)].made.values():
        of = known[0]
        assert not of.kinds.is_inference()
        for pattern in vars(of).values():
            if isinstance(pattern, tt.Pattern):
                assert not pattern.index.is_inference() and not pattern.columns.is_inference() and pattern._state is not None
            elif isinstance(pattern, _relations.Side):
                assert not pattern.nodes.is_inference() and not pattern.of_edge.is_inference()
    init = tt.Pattern.__init__
    monkeypatch.setattr(tt.Pattern, "__init__", lambda self, *given: made.append(given) or init(self, *given))
    for layer, right in zip((few, many, *convolutions), want):
        out = layer(x, ends, kinds)
        torch.testing.assert_close(out, right)
        out.sum().backward()
    assert not made


@pytest.mark.parametrize("more", [{}, {"num_bases": 2}, {"num_blocks": 1}, {"bias": False}])
def test_relations_without_targets(more):
    """The result has their shape and gradients of zeros."""
    layers = pair("RGCNConv", (IN, 3), OUT, RELATIONS, root_weight=False, **more)
    none = torch.zeros(2, 0, dtype=torch.int64)
    assert compared(layers, (operand(NODES, IN), operand(0, 3)), none, none[0]).shape == (0, OUT)
    assert layers[0]((operand(2, NODES, IN), operand(2, 0, 3)), none, none[0]).shape == (2, 0, OUT)


@pytest.mark.parametrize("norm", ["batch", "instance", "layer"])
@pytest.mark.parametrize("lead", [(3,), (2, 2), (1,)])
def test_norms_of_batches(norm, lead):
    """A batch is as one graph with the graphs of all members; the statistics of the norm as well, and what it does with them after training."""
    torch.manual_seed(4)
    layers = pair("GENConv", IN, OUT, norm=norm, edge_dim=FEATURES)
    one, (ours, theirs) = copy.deepcopy(layers[0]), layers
    x, ends, e = operand(*lead, NODES, IN), graph(), operand(EDGES, FEATURES)
    members = x.flatten(0, -3).shape[0]
    whole = torch.cat([ends + NODES * member for member in range(members)], 1)
    for layer in (ours, theirs, one):
        layer.train()
    for _ in range(2):
        want = theirs(x.flatten(0, -2), whole, e.repeat(members, 1))
        out = ours(x, ends, e)
        torch.testing.assert_close(out, want.view(*lead, NODES, OUT))
        grads = [torch.autograd.grad(result.square().sum(), [x, e]) for result in (out, want)]
        torch.testing.assert_close(*grads)
        torch.testing.assert_close(ours.state_dict(), theirs.state_dict())
        for layer in (ours, theirs):
            layer.eval()
    one.load_state_dict(ours.state_dict())
    one.eval()
    torch.testing.assert_close(ours(x, ends, e), torch.stack([one(own, ends, e) for own in x.flatten(0, -3)]).view(*lead, NODES, OUT))


def test_operands_that_depend_on_another():
    """With create_graph=True the gradient of one operand does not go through another, which is made of it."""
    layers, ends = [layer.eval() for layer in pair("GENConv", IN, IN, aggr="softmax")], graph()
    x, found = operand(NODES, IN), []
    for layer in layers:
        for again in (False, True):
            h = x * 1.0
            e = h[ends[0]] * 0.3 - h[ends[1]]
            found.append(torch.autograd.grad(layer(h, ends, e).square().sum(), [x, h, e], create_graph=again))
    for one in found[1:]:
        torch.testing.assert_close(one, found[0])


def test_batches_that_theirs_refuse():
    """Each member is computed as by itself."""
    e, f, kinds = operand(EDGES, FEATURES), operand(EDGES, 2), torch.randint(RELATIONS, (EDGES,))
    for layer, width, *more in ((pyg.GatedGraphConv(OUT, 2), OUT), (pyg.NNConv(IN, OUT, small(FEATURES, IN * OUT)), IN, e),
                                (pyg.NNConv(IN, OUT, small(FEATURES, IN * OUT), "max"), IN, e), (pyg.GMMConv(IN, OUT, 2, 3), IN, f),
                                (pyg.NNConv(IN, OUT, small(FEATURES, IN * OUT), "mean"), IN, e), (pyg.GMMConv(IN, OUT, 2, 3, aggr="max"), IN, f),
                                (pyg.GMMConv(IN, OUT, 2, 3, True), IN, f), (pyg.RGCNConv(IN, OUT, RELATIONS), IN, kinds),
                                (pyg.GENConv(IN, OUT, norm="layer", edge_dim=FEATURES), IN, e), (pyg.GENConv(IN, OUT, "softmax_sg", norm=None), IN),
                                (pyg.GENConv(IN, OUT, ["var", "powermean"], norm="layer", p=2.0), IN),
                                (pyg.PNAConv(IN, OUT, ["mean", "std", "max"], ["identity", "linear"], torch.ones(4), FEATURES, 2), IN, e),
                                (pyg.PNAConv(IN, OUT, ["sum", "min"], ["identity"], torch.ones(4), None, 2, 2, 2, True), IN),
                                (pyg.RGCNConv(IN, OUT, 20, num_blocks=2, aggr="max"), IN, kinds)):
        for lead in ((3,), (2, 2), (0,)):
            x, layer = operand(*lead, NODES, width), layer.double()
            out, members = layer(x, graph(), *more), [layer(one, graph(), *more) for one in x.flatten(0, -3)]
            assert out.shape == (*lead, NODES, OUT)
            if members:
                torch.testing.assert_close(out, torch.stack(members).unflatten(0, lead))


def test_training_after_inference_mode():
    for layer in (pyg.SGConv(IN, OUT, cached=True), pyg.APPNP(2, 0.1, cached=True), pyg.ChebConv(IN, OUT, 3)):
        x = torch.randn(NODES, IN, requires_grad=True)
        ends = graph()
        with torch.inference_mode():
            layer(x, ends)
        layer(x, ends).sum().backward()


@pytest.mark.parametrize("call, words", [
    (lambda x: pyg.SGConv(IN, OUT)((x, x), graph()), "x is a pair"),
    (lambda x: pyg.APPNP(2, 0.1, dropout=0.5, normalize=False)(x, graph()), "edge_weight is None: expected weights"),
    (lambda x: pyg.ChebConv(IN, OUT, 0), "K = 0: expected 1 or more"),
    (lambda x: pyg.ChebConv(IN, OUT, 2, "max"), "normalization = 'max': expected None, 'sym' or 'rw'"),
    (lambda x: pyg.ChebConv(IN, OUT, 2)(x, graph(), lambda_max=torch.ones(2)), "lambda_max has 2 numbers: expected one, or batch"),
    (lambda x: pyg.GatedGraphConv(IN - 1, 2)(x, graph()), "x has 6 channels: expected at most out_channels = 5"),
    (lambda x: pyg.APPNP(2, 0.1)(x, graph(), torch.ones(EDGES - 1)), "edge_weight has shape"),
    (lambda x: pyg.GENConv(IN, OUT, msg_norm=True)((x, None), graph(NODES, TARGETS), size=(NODES, TARGETS)), r"x\[1\] is None: expected the rows of the targets"),
    (lambda x: pyg.GENConv(IN, OUT, "lstm"), "aggr = 'lstm': expected one of 'add', 'sum', 'mean', 'max', 'min', 'var', 'std', 'softmax', 'powermean'"),
    (lambda x: pyg.GENConv(IN, OUT, norm="graph"), "norm = 'graph': expected None, 'batch'"),
    (lambda x: pyg.GENConv(IN, OUT, aggr_kwargs={"channels": 4, "learn": True}), "channels = 4: expected 1"),
    (lambda x: pyg.GENConv(IN, OUT, "softmax_sg", learn_t=True), "semi_grad is True: expected False where t is learnt"),
    (lambda x: pyg.GENConv(IN, OUT, ["max"], aggr_kwargs={}), "aggr_kwargs is given, and aggr is a list"),
    (lambda x: pyg.GENConv(IN, OUT)(x, graph(), torch.ones(EDGES, 3)), "edge_attr has 3 features: expected edge_dim of the layer, or 4"),
    (lambda x: pyg.PNAConv(IN, OUT, ["median"], ["identity"], torch.ones(3)), "aggr = 'median': expected one of"),
    (lambda x: pyg.PNAConv(IN, OUT, ["max"], ["cubic"], torch.ones(3)), "scalers has 'cubic': expected 'identity'"),
    (lambda x: pyg.PNAConv(IN, OUT, ["max"], ["identity"], torch.ones(3), towers=3), "towers = 3: expected a positive number of channels, and towers that divide"),
    (lambda x: pyg.PNAConv(-1, OUT, ["max"], ["identity"], torch.ones(3)), "in_channels = -1"),
    (lambda x: pyg.PNAConv(IN, OUT, ["max"], ["identity"], torch.ones(3), pre_layers=2, act="nothing"), "act = 'nothing': expected the name of an activation"),
    (lambda x: pyg.PNAConv(IN, OUT, ["max"], ["identity"], torch.ones(3))(x, graph(), x), "edge_attr has shape"),
    (lambda x: pyg.PNAConv(IN, OUT, ["max"], ["identity"], torch.ones(3))(x, graph(), torch.ones(EDGES, 2)), "edge_attr is given, and edge_dim of the layer is None"),
    (lambda x: pyg.RGCNConv(IN, OUT, 3)(x, graph()), "edge_type is None: expected the number"),
    (lambda x: pyg.RGCNConv(IN, OUT, 3)(x, graph(), torch.full((EDGES,), 3)), "edge_type has 3: expected numbers from 0 to 2, since the layer has 3 relations"),
    (lambda x: pyg.RGCNConv(IN, OUT, 3)(x, graph(), torch.full((EDGES,), -1)), "edge_type has -1: expected numbers from 0"),
    (lambda x: pyg.RGCNConv(IN, OUT, 3)(x, graph(), torch.zeros(EDGES)), "edge_type is torch.float32 of shape"),
    (lambda x: pyg.RGCNConv(IN, OUT, 3)(x, graph(), torch.zeros(EDGES - 1).long()), "edge_type has shape .39,.: expected a row for each of the 40 edges"),
    (lambda x: pyg.RGCNConv(IN, OUT, 3, num_bases=2, num_blocks=2), "num_bases = 2 and num_blocks = 2: expected one"),
    (lambda x: pyg.RGCNConv(IN, OUT, 3, num_blocks=4), "num_blocks = 4: expected a divisor of 6 and 4 channels"),
    (lambda x: pyg.RGCNConv(IN, OUT, 3, num_blocks=2)(None, graph(IN, IN), torch.zeros(EDGES).long()), "num_blocks is given, and x are no features"),
    (lambda x: pyg.FastRGCNConv(IN, OUT, 3, aggr="max"), "aggr = 'max': expected 'add', 'sum' or 'mean'"),
    (lambda x: pyg.RGATConv(IN, OUT, 3, mod="other"), "mod = 'other': expected None or 'additive'"),
    (lambda x: pyg.RGATConv(IN, OUT, 3, dim=2), "dim = 2: expected 1, or attention_mode='multiplicative-self-attention'"),
    (lambda x: pyg.RGATConv(IN, OUT, 3, mod="scaled", dropout=0.1), "mod = 'scaled': expected None with dropout"),
    (lambda x: pyg.RGATConv(IN, OUT, 3)(x, graph(), torch.zeros(EDGES).long(), torch.ones(EDGES, 2)), "expected a layer with edge_dim"),
    (lambda x: pyg.RGATConv(IN, OUT, 3, edge_dim=2)(x, graph(), torch.zeros(EDGES).long(), torch.ones(EDGES - 1, 2)), "edge_attr has shape"),
    (lambda x: pyg.RGATConv(IN, OUT, 3)(x[None], graph(), torch.zeros(EDGES).long()), "x has shape .1, 11, 6.: expected .nodes, in_channels. at both ends"),
    (lambda x: pyg.HGTConv(IN, 7, METADATA, 2), "out_channels = 7: expected a multiple of heads = 2"),
    (lambda x: pyg.HGTConv(IN, 6, METADATA, 2, flow="target_to_source"), "flow = 'target_to_source': expected 'source_to_target'"),
    (lambda x: pyg.HGTConv(IN, 6, METADATA)({"a": x}, {("a", "is", "a"): graph()}), "edge_index_dict has .'a', 'is', 'a'.: expected types of edges"),
    (lambda x: pyg.HGTConv(IN, 6, METADATA)({"c": x}, {}), "x_dict has 'c': expected types of nodes"),
    (lambda x: pyg.HGTConv(IN, 6, METADATA)({"a": x[0]}, {}), r"x_dict\['a'\] has shape .6,.: expected .nodes, channels."),
    (lambda x: pyg.HGTConv(IN, 6, METADATA)({"b": x}, {("a", "to", "b"): graph()}), "x_dict has no 'a': expected the nodes that edges"),
    (lambda x: pyg.EdgeConv(small(2 * IN, OUT))((x, None), graph()), r"x\[1\] is None: expected the rows of the targets"),
    (lambda x: pyg.NNConv(IN, OUT, small(FEATURES, IN * OUT))(x, graph()), "edge_attr is None: expected what the edges have"),
    (lambda x: pyg.GMMConv(IN, OUT, 2, 3)(x, graph(), torch.ones(EDGES, 3)), r"edge_attr has shape \(40, 3\): expected \(edges, 2\)"),
])
def test_refused(call, words):
    with pytest.raises((tamis.Error, TypeError, ValueError), match=words):
        call(torch.randn(NODES, IN))


@pytest.mark.parametrize("aggr, layers, made", [("max", "one", 0), ("add", "two", 0), ("mean", "two", 0), ("max", "two", 1), ("add", "three", 1)])
def test_vectors_of_edges(monkeypatch, aggr, layers, made):
    """EdgeConv makes them only where its docstring says."""
    from tamis.torch.pyg import _edge_networks
    found = []
    monkeypatch.setattr(_edge_networks, "edge_op", lambda *given: found.append(1) or tt.edge_op(*given))
    network = torch.nn.Sequential(*[step for width in ([2 * IN, 5, 4, OUT] if layers == "three" else [2 * IN, 5, OUT] if layers == "two" else [2 * IN, OUT])[:-1]
                                    for step in (torch.nn.LazyLinear(5), torch.nn.ReLU())])
    network = network if layers == "one" else torch.nn.Sequential(*network, torch.nn.LazyLinear(OUT))
    network = network if layers != "two" else torch.nn.Sequential(*network[:2], network[-1])
    network(torch.randn(2, 2 * IN))
    pyg.EdgeConv(network, aggr)(torch.randn(NODES, IN), graph())
    assert len(found) == made


def test_hooks_on_the_networks_of_towers():
    """They are called, for edges."""
    x, e, found = torch.randn(NODES, IN), torch.randn(EDGES, FEATURES), []
    layer = pyg.PNAConv(IN, OUT, ["mean", "max"], ["identity", "linear"], torch.ones(4), FEATURES, 2)
    want = layer(x, graph(), e)
    layer.pre_nns[1][0].register_forward_hook(lambda module, given, out: found.append(out.shape))
    layer.post_nns[0][0].register_forward_hook(lambda module, given, out: found.append(out.shape))
    torch.testing.assert_close(layer(x, graph(), e), want)
    assert found == [(EDGES, IN), (NODES, OUT // 2)]


@pytest.mark.parametrize("aggr, matrices", [("add", 0), ("mean", 0), ("max", 1)])
def test_matrices_of_edges(monkeypatch, aggr, matrices):
    """NNConv calls the last layer of its network for edges only where its docstring says; hooks are always called."""
    network, x, e = small(FEATURES, IN * OUT), torch.randn(NODES, IN), torch.randn(EDGES, FEATURES)
    layer, found = pyg.NNConv(IN, OUT, network, aggr), []
    forward = torch.nn.Linear.forward
    monkeypatch.setattr(torch.nn.Linear, "forward", lambda self, x: found.append(self) or forward(self, x))
    want = layer(x, graph(), e)
    assert found.count(network[-1]) == matrices
    network[-1].register_forward_hook(lambda *given: found.append("hook"))
    torch.testing.assert_close(layer(x, graph(), e), want)
    assert found.count("hook") == 1
