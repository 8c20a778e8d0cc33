"""The network on edges beside the same layers of PyTorch: values, gradients of every order, compilers, what is kept for the backward pass, and errors."""
from __future__ import annotations

import itertools

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

import tamis.torch as tt  # noqa: E402
from tamis.torch import _direct  # noqa: E402

if not _direct.REGISTERED:
    pytest.skip("operators are registered from PyTorch 2.4", allow_module_level=True)

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
NAMES = ("e", "p", "q", "w1", "b1", "w2", "b2", "w3", "b3", "gain", "shift")
ROWS, COLS, NNZ, EDGE, HIDDEN, WIDTH = 5, 7, 40, 6, 9, 6
FUNCTIONS = {"relu": torch.relu, "silu": torch.nn.functional.silu, "gelu": torch.nn.functional.gelu, "tanh": torch.tanh}


@pytest.fixture(autouse=True, params=DEVICES)
def device(request):
    global DEVICE
    DEVICE = request.param


def places(generator):
    """Entries in no order; the last row has none."""
    return (torch.randint(0, n, (NNZ,), generator=generator) for n in (ROWS - 1, COLS))


def case(dtype=torch.float64, without=(), seed=0):
    """A pattern, its rows and columns, and operands by name."""
    generator = torch.Generator().manual_seed(seed)
    row, column = (x.to(DEVICE) for x in places(generator))
    shapes = ((NNZ, EDGE), (ROWS, HIDDEN), (COLS, HIDDEN), (HIDDEN, EDGE), (HIDDEN,), (HIDDEN, HIDDEN), (HIDDEN,), (WIDTH, HIDDEN), (WIDTH,), (WIDTH,), (WIDTH,))
    made = {name: (torch.randn(shape, generator=generator, dtype=torch.float64) / 2).to(DEVICE, dtype) for name, shape in zip(NAMES, shapes)}
    return tt.Pattern.from_coo(row, column, (ROWS, COLS)), row, column, {name: x for name, x in made.items() if name not in without}


def eager(row, column, given, activation="silu", norm=False, residual=False, reduce="sum", update=False, rows=ROWS):
    """The same by PyTorch's functions."""
    f, get, (width, hidden) = FUNCTIONS[activation], given.get, given["w3"].shape
    a = torch.zeros(len(row), hidden, dtype=given["w3"].dtype, device=DEVICE)
    for x in ([get("p")[row]] if "p" in given else []) + ([get("q")[column]] if "q" in given else []) + ([get("e") @ get("w1").T] if "e" in given else []):
        a = a + x
    h = f(a + get("b1", torch.zeros_like(a)))
    if "w2" in given:
        h = f(h @ get("w2").T + get("b2", 0 * h))
    z = h @ get("w3").T + get("b3", 0)
    if norm:
        z = torch.nn.functional.layer_norm(z, (width,), get("gain"), get("shift"))
    edges = z + get("e") if residual else z
    of = z if update else edges
    if reduce in ("sum", "mean"):
        out = torch.zeros(rows, width, dtype=of.dtype, device=DEVICE).index_add(0, row, of)
        return edges, out / torch.bincount(row, minlength=rows).clamp(min=1).unsqueeze(1) if reduce == "mean" else out
    out = torch.zeros(rows, width, dtype=of.dtype, device=DEVICE)
    return edges, out.scatter_reduce(0, row.unsqueeze(1).expand_as(of), of, "amax" if reduce == "max" else "amin", include_self=False)


SETTINGS = [dict(zip(("activation", "norm", "residual", "reduce", "update"), x)) for x in
            itertools.product(FUNCTIONS, (False, True), (False, True), ("sum", "mean", "max", "min"), (False, True))]
WITHOUT = [(), ("w2", "b2"), ("e", "w1"), ("p", "b1", "b3"), ("q", "gain"), ("p", "q", "shift", "w2", "b2")]


@pytest.mark.parametrize("number", range(0, len(SETTINGS), 3))
def test_values_and_gradients(number):
    settings, without = dict(SETTINGS[number]), WITHOUT[number // 3 % len(WITHOUT)]
    if not settings["norm"]:
        without = (*without, "gain", "shift")
    if "e" in without:
        settings["residual"] = False
    pattern, row, column, given = case(without=without, seed=number)
    for x in given.values():
        x.requires_grad_()
    seeds = torch.randn(NNZ, WIDTH, dtype=torch.float64, device=DEVICE), torch.randn(ROWS, WIDTH, dtype=torch.float64, device=DEVICE)
    for which in (0, 1), (0,), (1,):
        ours = tt.edge_network(pattern, **{"e": None, **given}, **{**settings, "reduce": settings["reduce"] if 1 in which else None}, edges=0 in which)
        theirs = eager(row, column, given, **settings)
        assert [x is not None for x in ours] == [0 in which, 1 in which]
        for k in which:
            torch.testing.assert_close(ours[k], theirs[k])
        losses = (sum((x[k] * seeds[k]).sum() for k in which) for x in (ours, theirs))
        for name, got, want in zip(given, *(torch.autograd.grad(loss, given.values(), allow_unused=True) for loss in losses)):
            torch.testing.assert_close(torch.zeros_like(given[name]) if got is None else got, torch.zeros_like(given[name]) if want is None else want, msg=name)


@pytest.mark.parametrize("settings", [{}, {"norm": True, "residual": True}, {"reduce": "mean", "activation": "tanh", "residual": True, "update": True},
                                      {"reduce": "max", "activation": "gelu", "norm": True}])
def test_second_derivatives(settings):
    without = ("w2", "b2", "b1", "b3", *(("gain", "shift") if "norm" not in settings else ("shift",)))
    pattern, _, _, given = case(without=without)

    def call(*operands):
        return tt.edge_network(pattern, **dict(zip(given, operands)), **settings)

    operands = [x.requires_grad_() for x in given.values()]
    assert torch.autograd.gradcheck(call, operands, fast_mode=True)
    assert torch.autograd.gradgradcheck(call, operands, fast_mode=True)


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.bfloat16, 3e-2), (torch.float16, 4e-3)])
def test_types(dtype, tolerance):
    pattern, row, column, given = case(dtype)
    settings = {"norm": True, "residual": True}
    for x in given.values():
        x.requires_grad_()
    exact = {name: x.detach().double().requires_grad_() for name, x in given.items()}
    ours, theirs = tt.edge_network(pattern, **given, **settings), eager(row, column, exact, **settings)
    for got, want in zip(ours, theirs):
        assert got.dtype == dtype
        torch.testing.assert_close(got.double(), want, rtol=tolerance, atol=4 * tolerance)
    gradients = (torch.autograd.grad(x[0].double().square().mean() + x[1].double().mean(), of.values()) for x, of in ((ours, given), (theirs, exact)))
    for got, want in zip(*gradients):
        assert (got.double() - want).norm() <= 8 * tolerance * want.norm()


def test_compiled():
    pattern, _, _, given = case(torch.float32)
    operands = [x.requires_grad_() for x in given.values()]

    def call(*operands):
        edges, out = tt.edge_network(pattern, **dict(zip(given, operands)), norm=True, residual=True, reduce="max")
        return edges.sin(), out.cos()

    ours, compiled = call(*operands), torch.compile(call, fullgraph=True)(*operands)
    for got, want in zip(compiled, ours):
        torch.testing.assert_close(got, want)
    for got, want in zip(*(torch.autograd.grad(x[0].sum() + x[1].sum(), operands) for x in (compiled, ours))):
        torch.testing.assert_close(got, want)


def test_transforms():
    pattern, _, _, given = case()

    def loss(e):
        edges, out = tt.edge_network(pattern, **{**given, "e": e}, norm=True, residual=True)
        return edges.square().sum() + out.sum()

    e = torch.stack([given["e"], 2 * given["e"]])
    torch.testing.assert_close(torch.vmap(loss)(e), torch.stack([loss(x) for x in e]))
    mapped = torch.vmap(torch.func.grad(loss))(e)
    for got, x in zip(mapped, e):
        x = x.clone().requires_grad_()
        torch.testing.assert_close(got, torch.autograd.grad(loss(x), x)[0])
    with pytest.raises(NotImplementedError, match="forward mode"):
        torch.func.jvp(loss, (given["e"],), (given["e"],))


def test_meta_and_flops():
    pattern, _, _, given = case(torch.float32)
    on_meta = {name: x.to("meta") for name, x in given.items()}
    edges, out = tt.edge_network(pattern, **on_meta, norm=True)
    assert (edges.device.type, edges.shape, out.shape) == ("meta", (NNZ, WIDTH), (ROWS, WIDTH))


def test_only_inputs_are_kept():
    """Nothing with a row for each edge is kept beside the inputs."""
    pattern, _, _, given = case(torch.float32)
    for x in given.values():
        x.requires_grad_()
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x):
        edges, out = tt.edge_network(pattern, **given, norm=True, residual=True)
    inputs = {x.untyped_storage().data_ptr() for x in (*given.values(), pattern.index, pattern.columns)}
    assert kept and all(x.numel() == 0 or x.untyped_storage().data_ptr() in inputs for x in kept)


@pytest.mark.parametrize("reduce", ["mean", "max"])
def test_the_same_bits_with_any_threads(reduce):
    generator = torch.Generator().manual_seed(1)
    nnz, rows = 6000, 50
    row = torch.cat([torch.zeros(4000, dtype=torch.long), torch.randint(0, rows, (nnz - 4000,), generator=generator)])  # a row that chunks cut
    pattern = tt.Pattern.from_coo(row.to(DEVICE), torch.randint(0, rows, (nnz,), generator=generator).to(DEVICE), (rows, rows))
    e, w1, w3 = (torch.randn(shape, generator=generator).to(DEVICE).requires_grad_() for shape in ((nnz, 16), (24, 16), (16, 24)))
    found = []
    before = torch.get_num_threads()
    for threads in (1, 2, 5):
        torch.set_num_threads(threads)
        results = tt.edge_network(pattern, e, w1=w1, w3=w3, residual=True, reduce=reduce)
        found.append([*results, *torch.autograd.grad(results[0].square().sum() + results[1].sum(), (e, w1, w3))])
    torch.set_num_threads(before)
    for others in found[1:]:
        assert all(torch.equal(x, y) for x, y in zip(found[0], others))


@pytest.mark.parametrize("hidden_layers, pair", [(1, False), (2, True)])
def test_layer_has_the_weights_of_a_sequential(hidden_layers, pair):
    pattern, row, column, _ = case()
    widths = (3, 4) if pair else 4  # of sources, of targets
    source, target = widths if pair else (widths, widths)
    torch.manual_seed(3)
    inner = [torch.nn.GELU(), torch.nn.Linear(HIDDEN, HIDDEN)] * (hidden_layers - 1)
    theirs = torch.nn.Sequential(torch.nn.Linear(EDGE + target + source, HIDDEN), *inner, torch.nn.GELU(), torch.nn.Linear(HIDDEN, WIDTH),
                                 torch.nn.LayerNorm(WIDTH)).double().to(DEVICE)
    layer = tt.nn.EdgeNetwork(EDGE, widths, HIDDEN, WIDTH, hidden_layers, activation="gelu").double().to(DEVICE)
    layer.layers.load_state_dict(theirs.state_dict())
    assert list(layer.state_dict()) == [f"layers.{name}" for name in theirs.state_dict()]
    e, of, to = (torch.randn(n, width, dtype=torch.float64, device=DEVICE) for n, width in ((NNZ, EDGE), (COLS, source), (ROWS, target)))
    if not pair:
        to = of
        pattern = tt.Pattern.from_coo(row, column, (COLS, COLS))
    edges, out = layer(pattern, e, (of, to) if pair else of)
    want = e + theirs(torch.cat([e, to[row], of[column]], 1))
    torch.testing.assert_close(edges, want)
    torch.testing.assert_close(out, torch.zeros(pattern.rows, WIDTH, dtype=torch.float64, device=DEVICE).index_add(0, row, want))
    ours, others = (torch.autograd.grad(x.square().sum(), module.parameters()) for x, module in ((edges, layer), (want, theirs)))
    for got, other in zip(ours, others):
        torch.testing.assert_close(got, other)


def test_autocast():
    pattern, _, _, given = case(torch.float32)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        edges, out = tt.edge_network(pattern, **given, norm=True)
    assert edges.dtype == out.dtype == torch.bfloat16


def test_no_edges():
    none = torch.zeros(0, dtype=torch.long, device=DEVICE)
    pattern, (_, _, _, given) = tt.Pattern.from_coo(none, none, (ROWS, COLS)), case()
    given = {name: x.requires_grad_() for name, x in {**given, "e": given["e"][:0]}.items()}
    edges, out = tt.edge_network(pattern, **given, norm=True, residual=True, reduce="max")
    assert edges.shape == (0, WIDTH) and (out == 0).all()
    for x in torch.autograd.grad(out.sum(), given.values()):
        assert (x == 0).all()


@pytest.mark.parametrize("change, text", [
    ({"w3": None}, "w3: expected"), ({"activation": "elu"}, "activation = 'elu'"), ({"reduce": "prod"}, "reduce = 'prod'"),
    ({"reduce": None, "edges": False}, "expected one result"), ({"w1": None}, "w1 is None"), ({"w2": None}, "b2 is given, but w2 is None"),
    ({"norm": False}, "gain is given, but norm = False"), ({"p": "q"}, "p has shape"), ({"e": "p"}, "e has shape"), ({"b1": "b3"}, "b1 has shape")])
def test_errors(change, text):
    pattern, _, _, given = case()
    settings = {**given, "norm": True, **{name: given.get(value, value) if isinstance(value, str) else value for name, value in change.items()}}
    with pytest.raises(ValueError, match=text):
        tt.edge_network(pattern, **settings)


def test_residual_needs_equal_widths():
    pattern, _, _, given = case()
    with pytest.raises(ValueError, match="residual = True, but e has 6 columns and w3 3 rows"):
        tt.edge_network(pattern, given["e"], w1=given["w1"], w3=given["w3"][:3], residual=True)


# Widths that tensor cores take on a GPU: settings, operands that are left out, widths of edges, hidden layers and results.
WIDE = [({"norm": True, "residual": True}, ("w2", "b2", "b1"), (128, 128, 128)),
        ({"norm": True, "residual": True, "update": True, "reduce": "mean"}, ("b2", "gain"), (64, 128, 64)),
        ({"activation": "gelu", "reduce": "mean"}, ("w2", "b2", "gain", "shift", "p"), (32, 96, 64)),
        ({"activation": "relu", "residual": True}, ("w2", "b2", "gain", "shift", "q", "b3"), (96, 32, 96)),
        ({"activation": "tanh", "norm": True}, ("shift",), (64, 64, 128)),
        ({"norm": True, "residual": True, "update": True, "reduce": "mean"}, ("w2", "b2", "gain"), (64, 128, 64)),
        ({"activation": "relu", "residual": True}, ("w2", "b2", "gain", "shift"), (128, 64, 128)),
        ({"activation": "gelu", "norm": True, "reduce": "mean"}, ("w2", "b2", "shift", "p"), (128, 64, 64)),
        ({"norm": True, "residual": True, "reduce": "mean"}, ("w2", "b2"), (64, 64, 64))]


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 2e-6), (torch.bfloat16, 1.6e-2), (torch.float16, 2e-3)])
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("number", range(len(WIDE)))
def test_wide(number, shuffled, dtype, tolerance):
    """Rows without edges, in runs and at both ends, and one with a third of all edges; edges in order and in none. Errors of norms, a few roundings of
    the type in each of three layers."""
    settings, without, (edge, hidden, width) = WIDE[number]
    rows, cols, nnz = 700, 90, 5003
    generator = torch.Generator().manual_seed(number)
    row = torch.randint(100, 400, (nnz,), generator=generator)
    row[torch.rand(nnz, generator=generator) < .3] = 333
    row = (row + 200 * (row > 250)).to(DEVICE)
    row = row if shuffled else row.sort()[0]
    column = torch.randint(cols, (nnz,), generator=generator).to(DEVICE)
    shapes = ((nnz, edge), (rows, hidden), (cols, hidden), (hidden, edge), (hidden,), (hidden, hidden), (hidden,), (width, hidden), (width,), (width,), (width,))
    scales = (1, 1, 1, edge ** -.5, .5, hidden ** -.5, .5, hidden ** -.5, .5, 1, 1)
    given = {name: (torch.randn(shape, generator=generator) * scale).to(DEVICE, dtype).requires_grad_()
             for name, shape, scale in zip(NAMES, shapes, scales) if name not in without}
    exact = {name: x.detach().double().requires_grad_() for name, x in given.items()}
    seeds = torch.randn(nnz, width, generator=generator).to(DEVICE, dtype), torch.randn(rows, width, generator=generator).to(DEVICE, dtype)
    ours = tt.edge_network(tt.Pattern.from_coo(row, column, (rows, cols)), **given, **settings)
    theirs = eager(row, column, exact, **settings, rows=rows)
    for got, want in zip(ours, theirs):
        assert (got.double() - want).norm() <= tolerance * want.norm()
    found = torch.autograd.grad(ours, given.values(), seeds), torch.autograd.grad(theirs, exact.values(), [x.double() for x in seeds])
    for name, got, want in zip(given, *found):
        assert (got.double() - want).norm() <= 4 * tolerance * want.norm(), name
    again = torch.autograd.grad(tt.edge_network(tt.Pattern.from_coo(row, column, (rows, cols)), **given, **settings), given.values(), seeds)
    assert all(torch.equal(x, y) for x, y in zip(found[0], again))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_do_not_depend_on_what_else_is_wanted(dtype):
    generator = torch.Generator().manual_seed(0)
    rows, nnz, width = 300, 2077, 128
    row, column = (torch.randint(rows, (nnz,), generator=generator).to(DEVICE) for _ in range(2))
    pattern = tt.Pattern.from_coo(row, column, (rows, rows))
    shapes = {"e": (nnz, width), "p": (rows, width), "q": (rows, width), "w1": (width, width), "b1": (width,), "w3": (width, width), "gain": (width,)}
    given = {name: (torch.randn(shape, generator=generator) / 8).to(DEVICE, dtype).requires_grad_() for name, shape in shapes.items()}
    odd = torch.randn(nnz * width + 1, generator=generator).to(DEVICE, dtype)[1:].view(nnz, width)  # not at multiples of 16 bytes
    seeds = torch.randn(nnz, width, generator=generator).to(DEVICE, dtype), torch.randn(rows, width, generator=generator).to(DEVICE, dtype)
    results = tt.edge_network(pattern, **given, norm=True, residual=True)
    for which in (0, 1), (0,), (1,):
        of = [results[k] for k in which], [seeds[k] for k in which]
        found = dict(zip(given, torch.autograd.grad(of[0], given.values(), of[1], retain_graph=True)))
        for names in ("e",), ("p", "w3"), ("q", "b1"), ("w1", "gain"), ("w3",):
            some = torch.autograd.grad(of[0], [given[name] for name in names], of[1], retain_graph=True)
            assert all(torch.equal(x, found[name]) for name, x in zip(names, some))
        other = torch.autograd.grad(of[0], [given["e"], given["q"]], [odd if k == 0 else seeds[k] for k in which], retain_graph=True)
        want = torch.autograd.grad(of[0], [given["e"], given["q"]], [odd.clone() if k == 0 else seeds[k] for k in which], retain_graph=True)
        for x, y in zip(other, want):
            torch.testing.assert_close(x, y, rtol=.05, atol=.05)


def test_vmap_of_the_backward_call():
    pattern, _, _, given = case(without=("gain", "shift", "w2", "b2"))
    given["e"].requires_grad_()
    edges, _ = tt.edge_network(pattern, **given)
    seeds = torch.randn(3, *edges.shape, dtype=torch.float64, device=DEVICE)

    def gradient(seed):
        return torch.autograd.grad(edges, given["e"], seed, retain_graph=True)[0]

    torch.testing.assert_close(torch.vmap(gradient)(seeds), torch.stack([gradient(seed) for seed in seeds]))


def test_an_epsilon_of_zero_is_zero():
    pattern, row, column, given = case(without=("w2", "b2"))
    y = tt.edge_network(pattern, **given, norm=True, epsilon=0.)[0]
    plain = tt.edge_network(pattern, **{name: x for name, x in given.items() if name not in ("gain", "shift")})[0]
    torch.testing.assert_close(y, torch.nn.functional.layer_norm(plain, (WIDTH,), given["gain"], given["shift"], eps=0.), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_infinities_stay_in_their_place(dtype):
    """A hidden number that is -infinity before ReLU is 0 after it, and spoils no other; widths are of tensor cores."""
    row, column = torch.arange(64, device=DEVICE), torch.zeros(64, dtype=torch.long, device=DEVICE)
    p = torch.ones(64, 32, device=DEVICE, dtype=dtype)
    p[:, 3] = -torch.inf
    weight = torch.eye(32, device=DEVICE, dtype=dtype)
    edges, sums = tt.edge_network(tt.Pattern.from_coo(row, column, (64, 1)), torch.zeros(64, 32, device=DEVICE, dtype=dtype), p, w1=weight, w3=weight, activation="relu")
    assert torch.equal(edges, p.clamp(min=0)) and torch.equal(sums, edges)
