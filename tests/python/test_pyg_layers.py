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

from pyg_pairs import EDGES, FEATURES, IN, NODES, OUT, TARGETS, compared, graph, operand, pair  # noqa: E402

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


LAYERS = {"SGConv": sg, "APPNP": appnp, "ChebConv": cheb, "GatedGraphConv": gated}
quick = settings(max_examples=max(EXAMPLES // 3, 5), deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))


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
    layers[1].load_state_dict(layers[0].state_dict())
    if name == "APPNP" and more.get("dropout") and not more.get("normalize", True) and len(inputs) < 3:
        with pytest.raises(tamis.Error, match="edge_weight is None"):
            layers[0](*inputs)
        return
    if name == "ChebConv" and more.get("normalization", 0) is None and not inputs[1].numel() and inputs[4] is None:
        assert layers[0](*inputs).isfinite().all()  # theirs divides by an eigenvalue of 0
        return
    close = DTYPES[str(draw.dtype).rpartition(".")[2]]
    want = compared(layers, *inputs, close=close)
    if more.get("cached"):
        compared(layers, *inputs, close=close, gradients=False)
    if "dropout" not in more and not more.get("cached"):
        ends = inputs[1]
        places = tt.Pattern.from_coo(ends[1], ends[0], (NODES, NODES))
        if more.get("flow") == "target_to_source":
            places = places.T.T  # rows are still row 1 of the edges
        torch.testing.assert_close(layers[0](inputs[0], places, *inputs[2:]), want)


SAME = {"SGConv": [((IN, OUT), {}), ((IN, OUT), {"bias": False})], "APPNP": [((2, 0.1), {})], "ChebConv": [((IN, OUT, 3), {})],
        "GatedGraphConv": [((OUT, 2), {}), ((OUT, 2), {"bias": False})]}


@pytest.mark.parametrize("name", LAYERS)
def test_same_seed_same_parameters(name):
    for arguments, more in SAME[name]:
        made = []
        for library in (geometric, pyg):
            torch.manual_seed(3)
            made.append(getattr(library, name)(*copy.deepcopy(arguments), **more).state_dict())
        assert list(made[0]) == list(made[1])
        for key, value in made[0].items():
            assert torch.equal(value, made[1][key]), (name, key)


@pytest.mark.parametrize("name, arguments", [("SGConv", (-1, OUT)), ("ChebConv", (-1, OUT, 2))])  # theirs fails with K = 3
def test_lazy(name, arguments):
    x = operand(NODES, IN)
    ours, theirs = getattr(pyg, name)(*arguments).double(), getattr(geometric, name)(*arguments).double()
    ours(x, graph()), theirs(x, graph())
    ours.load_state_dict(theirs.state_dict())
    compared((ours, theirs), x, graph())


def test_gated_sums_of_batches():
    """PyTorch Geometric refuses a batch here: each member is computed as by itself."""
    layer, x = pyg.GatedGraphConv(OUT, 2).double(), operand(3, NODES, OUT)
    torch.testing.assert_close(layer(x, graph()), torch.stack([layer(one, graph()) for one in x]))


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
])
def test_refused(call, words):
    with pytest.raises((tamis.Error, TypeError, ValueError), match=words):
        call(torch.randn(NODES, IN))
