"""tamis.torch.nn.MessagePassing beside the base of PyTorch Geometric: the same class twice, with the same parameters, on drawn graphs."""
from __future__ import annotations

import copy
import functools
import operator
import pickle
import types
import warnings

import pytest

torch = pytest.importorskip("torch")
geometric = pytest.importorskip("torch_geometric.nn")

import torch.nn.functional as F  # noqa: E402
from pyg_pairs import EDGES, NODES, TARGETS, compared, graph, operand  # noqa: E402

import tamis.torch as tt  # noqa: E402
from tamis.torch.nn import MessagePassing  # noqa: E402

MESSAGES = {  # the message, the operands by name and their shapes behind the first dimension, and how it is computed
    "x_j": (lambda self, x_j: x_j, {"x": (4,)}, "copy_u"),
    "weight": (lambda self, x_j, w: x_j * w.view(-1, 1), {"x": (4,), "w": ()}, "mul"),
    "weight first": (lambda self, x_j, w: w.unsqueeze(-1) * x_j, {"x": (4,), "w": ()}, "mul"),
    "maybe a weight": (lambda self, x_j, w: x_j if w is None else w * x_j, {"x": (4,), "w": None}, "copy_u"),
    "add": (lambda self, x_j, e: x_j + e, {"x": (4,), "e": (4,)}, "add"),
    "sub": (lambda self, x_j, e: x_j - e, {"x": (4,), "e": (4,)}, "sub"),
    "gine": (lambda self, x_j, e: (x_j + e).relu(), {"x": (4,), "e": (4,)}, "add_relu"),
    "gine, function": (lambda self, x_j, e: F.relu(e + x_j), {"x": (4,), "e": (4,)}, "add_relu"),
    "edges": (lambda self, e: e, {"e": (3,)}, "copy_e"),
    "differences": (lambda self, x_i, x_j: x_j - x_i, {"x": (4,)}, "(u - v)"),
    "leaky": (lambda self, x_i, x_j, e: F.leaky_relu(x_i + x_j + e, 0.3), {"x": (4,), "e": (4,)}, "leaky_relu(((v + u) + e), n0)"),
    "gate": (lambda self, x_i, x_j, e: x_j * torch.sigmoid(x_i + e), {"x": (4,), "e": (4,)}, "(u * sigmoid((v + e)))"),
    "numbers": (lambda self, x_j, w: torch.tanh(0.5 * x_j) / (1 + w.view(-1, 1).abs()), {"x": (4,), "w": ()}, "(tanh((n0 * u)) / (1.0 + abs(e)))"),
    "heads": (lambda self, x_j, a: x_j * a.unsqueeze(-1), {"x": (2, 3), "a": (2,)}, "mul"),
    "split heads": (lambda self, x_j, a: x_j.view(-1, 2, 3) * a.view(-1, 2, 1), {"x": (6,), "a": (2,)}, "mul"),
    "power": (lambda self, x_j: x_j.pow(2) + 1, {"x": (4,)}, "(pow(u, 2.0) + 1.0)"),
    "clamped": (lambda self, x_j, x_i: torch.maximum(x_j, x_i).clamp_min(-0.1), {"x": (4,)}, "max(max(u, v), n0)"),
    "where, a method": (lambda self, x_j, x_i: (2 * x_j).where(x_j > x_i, x_i), {"x": (4,)}, "where((u > v), (2.0 * u), v)"),
    "where": (lambda self, x_j, x_i: torch.where(x_j > x_i, x_j, x_i * x_i), {"x": (4,)}, "where((u > v), u, (v * v))"),
    "a comparison times": (lambda self, x_j, x_i: x_j * (x_i > 0), {"x": (4,)}, "(u * (v > 0.0))"),
    "no dropout": (lambda self, x_j: F.dropout(x_j, 0.5, training=False), {"x": (4,)}, "copy_u"),
    "own": (lambda self, x_i: x_i.exp(), {"x": (4,)}, "exp(v)"),
    "two at the other end": (lambda self, x_j, y_j: x_j * y_j, {"x": (4,), "y": (4,)}, None),
    "joined": (lambda self, x_i, x_j: torch.cat([x_i, x_j], -1), {"x": (4,)}, None),
    "inner products": (lambda self, x_i, x_j: (x_i * x_j).sum(-1, keepdim=True), {"x": (4,)}, None),
    "degrees": (lambda self, x_j, index, size_i: x_j / torch.bincount(index, minlength=size_i)[index].view(-1, 1), {"x": (4,)}, None),
    "a branch": (lambda self, x_j: x_j if (x_j > 0).any() else -x_j, {"x": (4,)}, None),
    "a vector of the layer": (lambda self, x_j: x_j * self.scale, {"x": (4,)}, None),
    "without gradients": (lambda self, x_i, x_j: x_j * torch.no_grad()(torch.sigmoid)(x_i - x_j), {"x": (4,)}, None),
    "a view without gradients": (lambda self, x_j, e: x_j * torch.no_grad()(lambda: e.view(-1, 4))() + e, {"x": (4,), "e": (4,)}, None),
    "a function of autograd": (lambda self, x_j: Reversed.apply(x_j), {"x": (4,)}, None),
    "a function that returns its operand": (lambda self, x_j: Same.apply(x_j), {"x": (4,)}, None),
    "in place": (lambda self, x_j: torch.relu_(x_j * 1) + x_j, {"x": (4,)}, None),
    "in place on an argument": (lambda self, x_j: torch.tanh(torch.relu_(x_j)) * x_j, {"x": (4,)}, None),
    "a sum in place": (lambda self, x_j, e: operator.iadd(1 * x_j, e), {"x": (4,), "e": (4,)}, None),
    "an assignment with a product": (lambda self, x_j, e: operator.imul(x_j, e) + x_j, {"x": (4,), "e": (4,)}, None),
    "or": (lambda self, x_i, x_j: x_j * ((x_j > 0) + (x_i > 0)), {"x": (4,)}, None),
    "True": (lambda self, x_j: x_j * ((x_j > 0) + True), {"x": (4,)}, None),
    "where of numbers": (lambda self, x_j: x_j * torch.where(x_j > 0, 1, 0), {"x": (4,)}, None),
    "all equal": (lambda self, x_i, x_j: x_j * x_i.equal(x_j) - x_j * torch.equal(x_i, x_j) + x_j, {"x": (4,)}, None),
    "in another type": (lambda self, x_j: x_j.float_power(2), {"x": (4,)}, None),
    "a long text": (lambda self, x_j: functools.reduce(lambda h, _: h * (1 - h), range(9), x_j.tanh()), {"x": (4,)}, None),
    "deep": (lambda self, x_j: functools.reduce(lambda h, _: -h, range(63), x_j), {"x": (4,)}, "(-" * 63 + "u" + ")" * 63),
    "too deep": (lambda self, x_j: functools.reduce(lambda h, _: -h, range(64), x_j), {"x": (4,)}, None),
    "too many values": (lambda self, x_j, e: functools.reduce(lambda hs, n: [torch.tanh(e * one) * other for one, other in zip(hs[::2], hs[1::2])], range(4), [torch.tanh(x_j * k) for k in range(2, 18)])[0], {"x": (4,), "e": (4,)}, None),
    "sixteen numbers": (lambda self, x_j: functools.reduce(lambda h, k: h * (0.9 + 0.001 * k), range(16), x_j), {"x": (4,)}, "(" * 16 + "u" + "".join(f" * n{k})" for k in range(16))),
    "many numbers": (lambda self, x_j: functools.reduce(lambda h, k: h * (0.9 + 0.001 * k), range(17), x_j), {"x": (4,)}, None),
    "another shape": (lambda self, x_j, e: x_j + e.view(-1, 2, 2).flatten(1), {"x": (4,), "e": (4,)}, None),
    "a constant": (lambda self, x_j: x_j + x_j.new_ones(1), {"x": (4,)}, None),
    "dropout": (lambda self, x_j: F.dropout(x_j, 0.5), {"x": (4,)}, None),
    "noise": (lambda self, x_j: x_j + torch.rand(x_j.size(0), 1, dtype=torch.float64), {"x": (4,)}, None),
}


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, grad):
        return -grad


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return -grad


def layers(message, aggr="sum", flow="source_to_target", update=None, **named):
    """The layer of the same source, by ours and by theirs."""
    made = []
    for base in (MessagePassing, geometric.MessagePassing):
        class Layer(base):
            def __init__(self):
                super().__init__(aggr=aggr, flow=flow, **named)
                self.scale = torch.nn.Parameter(torch.linspace(1, 2, 4, dtype=torch.float64))

            def forward(self, edge_index, size, **operands):
                return self.propagate(edge_index, size=size, **operands)

        for method, function in (("message", message), ("update", update)):
            if function is not None:  # its name is how theirs finds it
                setattr(Layer, method, types.FunctionType(function.__code__, globals(), method, function.__defaults__))
        made.append(Layer())
    return made


def taken(monkeypatch):
    """The operations of the calls of `message`."""
    found = []
    from tamis.torch.pyg import _message_passing
    own = _message_passing.message
    monkeypatch.setattr(_message_passing, "message", lambda pattern, op, *rest: found.append(op) or own(pattern, op, *rest))
    return found


@pytest.mark.parametrize("flow", ["source_to_target", "target_to_source"])
@pytest.mark.parametrize("aggr", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("name", MESSAGES)
def test_messages_as_theirs(name, aggr, flow, monkeypatch):
    message, shapes, op = MESSAGES[name]
    torch.manual_seed(3)
    of_nodes = {parameter[:-2] for parameter in message.__code__.co_varnames if parameter[-2:] in ("_i", "_j")}
    operands = {one: None if shape is None else operand(NODES if one in of_nodes else EDGES, *shape) for one, shape in shapes.items()}
    ours, theirs = layers(message, aggr, flow, node_dim=0)
    calls = taken(monkeypatch)
    ends = graph()
    results = []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for layer in (ours, theirs):
            torch.manual_seed(9)
            out = layer(ends, (NODES, NODES), **operands)
            results.append((out, torch.autograd.grad((out * torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)).sum(), [x for x in operands.values() if x is not None])))
    torch.testing.assert_close(*results)
    assert calls == ([] if op is None else [op])
    assert any("PyTorch Geometric computes its messages" in str(one.message) for one in said) == (op is None)


def test_a_reason_is_said_once():
    ours, _ = layers(MESSAGES["joined"][0])
    for most in (1, 0):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            ours(graph(), None, x=operand(NODES, 4))
        assert len(said) == most


def test_pairs_sizes_updates_and_patterns():
    message = MESSAGES["differences"][0]
    source, target = operand(NODES, 4), operand(TARGETS, 4)
    ends = graph(NODES, TARGETS)
    compared(layers(message, update=lambda self, inputs, x: inputs + x[1]), ends, None, x=(source, target))
    compared(layers(MESSAGES["x_j"][0]), ends, (NODES, TARGETS), x=(source, None))
    compared(layers(message, aggr="mean"), ends, (NODES, TARGETS), x=(source, target))
    for flow, places in (("source_to_target", tt.Pattern.from_coo(ends[1], ends[0], (TARGETS, NODES))), ("target_to_source", tt.Pattern.from_coo(ends[1], ends[0], (TARGETS, NODES)).T)):
        for name in ("weight", "degrees"):
            ours, theirs = layers(MESSAGES[name][0], flow=flow)
            given = {"x": (source, target), **({"w": operand(EDGES)} if name == "weight" else {})}
            torch.testing.assert_close(ours(places, None, **given), theirs(ends, None, **given))
    with pytest.raises(ValueError, match="size"):
        layers(message)[0](ends, (NODES, NODES), x=(source, target))


def test_numbers_follow_the_layer():
    """A message is written down in each call: what the layer has may change."""
    ours, theirs = layers(lambda self, x_j: self.factor * x_j if self.training else x_j)
    x, ends = operand(NODES, 4), graph()
    for factor, training in ((0.3, True), (0.7, True), (0.7, False)):
        for layer in (ours, theirs):
            layer.factor = factor
            layer.train(training)
        torch.testing.assert_close(ours(ends, None, x=x), theirs(ends, None, x=x))


def test_what_a_message_keeps_is_theirs():
    def message(self, x_j):
        self.kept = x_j
        return x_j

    ours, theirs = layers(message)
    x, ends = operand(NODES, 4), graph()
    with pytest.warns(UserWarning, match="keeps something"):
        torch.testing.assert_close(ours(ends, None, x=x), theirs(ends, None, x=x))
    assert torch.equal(ours.kept, theirs.kept)


def test_what_a_message_changes_in_place_is_theirs():
    """Buffers, lists and dicts of the layer are as after one call of theirs."""
    def message(self, x_j):
        self.scale.data.add_(1)
        if self.scale[0] > 1.5:
            self.seen.add_(1)
        self.list.append(x_j)
        self.dict["x"] = x_j
        return x_j * 2

    x, ends, found = operand(NODES, 4), graph(), []
    for layer in layers(message):
        layer.register_buffer("seen", torch.zeros(()))
        layer.list, layer.dict = [], {}
        out = layer(ends, None, x=x)
        found.append((out, layer.seen, len(layer.list), layer.list[0], layer.dict["x"]))
    torch.testing.assert_close(*found)
    ours, _ = layers(lambda self, x_j: self.seen.add_(self.step) * 0 if self.step is None else (self.seen.add_(1), x_j)[1] if self.step else x_j)
    ours.register_buffer("seen", torch.zeros(()))
    for step in (0, 1):
        ours.step = step
        if step == 0:
            ours(ends, None, x=x)
        else:
            with pytest.raises(RuntimeError, match="in place in some calls"):
                ours(ends, None, x=x)


def test_hooks_of_parts_see_tensors():
    seen = []
    for layer in layers(lambda self, x_j: self.part(x_j)):
        layer.part = torch.nn.ReLU()
        layer.part.register_forward_hook(lambda part, given, out: seen.append(out))
        layer(graph(), None, x=operand(NODES, 4))
    assert len(seen) == 2 and all(isinstance(one, torch.Tensor) for one in seen)


def test_autocast():
    """Differences of positions are not rounded, and the functions that autocast widens are theirs."""
    x, ends = torch.randn(NODES, 4) + 1000, graph()
    for name, given in (("differences", x), ("own", (x - 1000).bfloat16()), ("x_j", x.bfloat16())):
        ours, theirs = layers(MESSAGES[name][0])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            one, other = ours(ends, None, x=given), theirs(ends, None, x=given)
        torch.testing.assert_close(one, other, **({} if given is x else {"atol": 0.1, "rtol": 0.02}))


def test_arguments_without_values():
    x, ends = operand(NODES, 4), graph()
    for message in (lambda self, x_j, ptr, index: x_j if index is not None and index == 0 else 2 * x_j, lambda self, x_j, index: 2 * x_j if len({index}) else x_j,
                    lambda self, x_j, index: x_j if index != 1 else 2 * x_j):
        results = []
        for layer in layers(message):
            try:
                results.append(layer(ends, None, x=x))
            except Exception as error:
                results.append(type(error))
        assert results[0] is results[1] if isinstance(results[1], type) else torch.equal(*results)


def test_recorded_programs():
    """torch.jit.trace records PyTorch Geometric's way; of other layers it would keep the graph of the example."""
    from torch.fx.experimental.proxy_tensor import make_fx
    layer, x, ends, others = Weighted(), torch.randn(NODES, 4), graph(), graph(seed=7)
    weight = torch.rand(EDGES)
    layer(x, ends, weight)
    for program in (torch.jit.trace(layer, (x, ends, weight)), make_fx(layer)(x, ends, weight)):
        torch.testing.assert_close(program(x, others, weight), layer(x, others, weight))
    own = tt.pyg.SAGEConv(4, 4)
    own(x, ends)
    with pytest.raises(NotImplementedError, match="torch.export"):
        torch.jit.trace(own, (x, ends))
    with pytest.raises(NotImplementedError, match="torch.export"):
        make_fx(own)(x, ends)


def test_hooks_and_other_aggregations_are_theirs(monkeypatch):
    x, ends = operand(NODES, 4), graph()
    calls = taken(monkeypatch)
    ours, theirs = layers(MESSAGES["x_j"][0])
    for layer in (ours, theirs):
        layer.register_message_forward_hook(lambda layer, given, out: 2 * out)
    with pytest.warns(UserWarning, match="hooks"):
        torch.testing.assert_close(ours(ends, None, x=x), theirs(ends, None, x=x))
    for aggr in ("std", ["mean", "max"], geometric.SumAggregation()):
        ours, theirs = layers(MESSAGES["x_j"][0], aggr)
        torch.testing.assert_close(ours(ends, None, x=x), theirs(ends, None, x=x))
    assert calls == ["copy_u"]
    ours, theirs = layers(MESSAGES["x_j"][0])
    sparse = torch.sparse_coo_tensor(ends.flip(0), torch.ones(EDGES, dtype=x.dtype), (NODES, NODES)).coalesce().to_sparse_csr()
    torch.testing.assert_close(ours(sparse, None, x=x), theirs(sparse, None, x=x))


class Weighted(MessagePassing):
    def __init__(self, channels=4):
        super().__init__(aggr="mean")
        self.lin = torch.nn.Linear(channels, channels)

    def forward(self, x, edge_index, edge_weight):
        return self.propagate(edge_index, x=self.lin(x), edge_weight=edge_weight)

    def message(self, x_j, edge_weight):
        return x_j * edge_weight.view(-1, 1)


def test_copies_pickles_compilation_and_transforms():
    torch.manual_seed(1)
    x, ends, weight, layer = torch.randn(NODES, 4), graph(), torch.rand(EDGES), Weighted()
    want = layer(x, ends, weight)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(other(x, ends, weight), want)
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(layer, backend="aot_eager")(x, ends, weight), want)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(x, ends, weight).isfinite().all()
    tangent = torch.func.jvp(lambda x: layer(x, ends, weight), (x,), (torch.ones_like(x),))[1]
    torch.testing.assert_close(tangent, layer(torch.ones_like(x), ends, weight) - layer(torch.zeros_like(x), ends, weight))
    with pytest.raises(TypeError, match="TorchScript"):
        layer._set_jittable_templates(raise_on_error=True)


def test_explainers_and_to_hetero():
    """Masks of edges are applied to messages, which PyTorch Geometric computes then."""
    from torch_geometric.explain import Explainer, GNNExplainer
    torch.manual_seed(1)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = Weighted(), Weighted()

        def forward(self, x, edge_index, edge_weight):
            return self.last(self.first(x, edge_index, edge_weight).relu(), edge_index, edge_weight).log_softmax(-1)

    net, x, ends, weight = Net(), torch.randn(NODES, 4), graph(), torch.rand(EDGES)
    before = net(x, ends, weight)
    explainer = Explainer(net, algorithm=GNNExplainer(epochs=5), explanation_type="model", node_mask_type="attributes", edge_mask_type="object",
                          model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "log_probs"})
    found = explainer(x, ends, edge_weight=weight, index=int(ends[1, 0]))
    assert found.edge_mask.shape == (EDGES,) and found.edge_mask.max() > 0
    assert torch.equal(net(x, ends, weight), before)  # masks are gone

    class Sums(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.own = layers(MESSAGES["x_j"][0])[0]
            self.lin = torch.nn.Linear(4, 4)

        def forward(self, x, edge_index):
            return self.lin(self.own(edge_index, None, x=x)).relu()

    hetero = geometric.to_hetero(Sums(), (["a", "b"], [("a", "to", "b"), ("b", "to", "a")]))
    kinds = {("a", "to", "b"): ends, ("b", "to", "a"): ends.flip(0)}
    assert hetero({"a": x, "b": x}, kinds)["a"].shape == (NODES, 4)
