"""Patterns of sparse tensors and masks, and those that are made within torch.compile; types that are mixed; rows that are masked; meta tensors."""
from __future__ import annotations

import gc

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

import tamis  # noqa: E402
import tamis.torch as tt  # noqa: E402
from tamis.torch import _ops, _taken  # noqa: E402

registered = pytest.mark.skipif(not _ops.REGISTERED, reason="operators are registered from PyTorch 2.4")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"))]
NODES = 6
EDGES = ["scale", "mask", "residual", "quotient", "sigmoid", "exp", "leaky_relu", "softmax"]


@pytest.fixture(params=DEVICES)
def device(request):
    return torch.device(request.param)


# ------------------------------------------------------------------------------ from_torch


def test_gradients_of_an_uncoalesced_tensor():
    """Entries in an order of their own keep it; entries at one place are added. Gradients reach the tensor, and what it was made of."""
    B = torch.arange(1.0, 7).reshape(3, 2)
    for indices in ([[1, 0, 0], [2, 1, 0]], [[0, 0, 1, 0], [1, 1, 0, 2]]):
        given = torch.arange(1.0, 1 + len(indices[0])).requires_grad_()
        S = torch.sparse_coo_tensor(indices, given, (2, 3))
        pattern = tt.Pattern.from_torch(S)
        assert pattern.values.requires_grad
        found, = torch.autograd.grad(tt.spmm(pattern, B, pattern.values).square().sum(), given)
        dense = torch.zeros(2, 3).index_put(tuple(torch.tensor(indices)), given, accumulate=True)
        want, = torch.autograd.grad((dense @ B).square().sum(), given)
        torch.testing.assert_close(found, want)
        leaf = torch.sparse_coo_tensor(indices, given.detach(), (2, 3)).requires_grad_()
        pattern = tt.Pattern.from_torch(leaf)
        tt.spmm(pattern, B, pattern.values).sum().backward()
        torch.testing.assert_close(leaf.grad.to_dense() != 0, dense.detach() != 0)
    kept = tt.Pattern.from_torch(torch.sparse_coo_tensor([[1, 0, 0], [2, 1, 0]], [1.0, 2, 3], (2, 3)))
    assert kept.index.tolist() == [1, 0, 0] and kept.columns.tolist() == [2, 1, 0] and kept.values.tolist() == [1, 2, 3]


@pytest.mark.parametrize("layout", ["dense", "csr", "coo", "duplicates"])
def test_a_mask_keeps_what_is_true(device, layout):
    torch.manual_seed(1)
    stored = torch.rand(5, 4) < 0.7
    true = stored & (torch.rand(5, 4) < 0.6)
    rows, columns = stored.nonzero(as_tuple=True)
    offsets = torch.nn.functional.pad(stored.sum(1).cumsum(0), (1, 0))
    said = true[rows, columns]
    mask = {"dense": lambda: true, "csr": lambda: torch.sparse_csr_tensor(offsets, columns, said, (5, 4)),
            "coo": lambda: torch.sparse_coo_tensor(torch.stack([rows, columns]), said, (5, 4)),
            "duplicates": lambda: torch.sparse_coo_tensor(torch.stack([rows, columns]).repeat(1, 2), said.repeat(2), (5, 4))}[layout]().to(device)
    pattern = tt.Pattern.from_torch(mask)
    assert pattern.nnz == true.sum() and pattern.values is None
    q, k, v = (torch.randn(n, 3, device=device) for n in (5, 4, 4))
    want = torch.softmax((q @ k.t() / 3**0.5).masked_fill(~true.to(device), float("-inf")), -1).nan_to_num(0) @ v
    torch.testing.assert_close(tt.attention(q, k, v, pattern), want)
    if layout in ("csr", "coo"):
        bias = torch.randn(len(rows), device=device)
        scores = (q @ k.t() / 3**0.5).index_put((rows.to(device), columns.to(device)), bias, accumulate=True)
        want = torch.softmax(scores.masked_fill(~true.to(device), float("-inf")), -1).nan_to_num(0) @ v
        torch.testing.assert_close(tamis.attention(mask, q, k, v, bias=bias), want)


def test_a_mask_of_numbers_is_a_bias():
    """0 attends and -inf does not, where the numbers are added to the scores."""
    numbers = torch.tensor([[0.0, float("-inf"), 0.0], [0.0, 0.0, 0.0], [float("-inf")] * 3])
    rows, columns = torch.ones(3, 3).nonzero(as_tuple=True)
    pattern = tt.Pattern.from_torch(torch.sparse_coo_tensor(torch.stack([rows, columns]), numbers.ravel(), (3, 3)))
    q, k, v = torch.randn(3, 3, 2)
    got = tt.attention(q, k, v, pattern, bias=pattern.values)
    want = torch.softmax(q @ k.t() / 2**0.5 + numbers, -1).nan_to_num(0) @ v
    torch.testing.assert_close(got, want)


# ------------------------------------------------------------------------------ sparse tensors in place of a pattern


def sparse(layout, device="cpu", kind=torch.float64):
    """A sparse tensor in a layout, and the dense one. "shuffled" and "duplicates" are COO."""
    dense = torch.rand(6, 5, generator=torch.Generator().manual_seed(2), dtype=kind)
    dense = (dense * (dense < 0.5)).to(device)
    coo = dense.to_sparse_coo().coalesce()
    made = {"csr": dense.to_sparse_csr, "csc": dense.to_sparse_csc, "coo": lambda: coo,
            "shuffled": lambda: torch.sparse_coo_tensor(coo.indices().flip(1), coo.values().flip(0), coo.shape),
            "duplicates": lambda: torch.sparse_coo_tensor(coo.indices().repeat(1, 2), coo.values().repeat(2) / 2, coo.shape)}[layout]()
    return made, dense


LAYOUTS = ["csr", "csc", "coo", "shuffled", "duplicates"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_sparse_tensor_gives_its_values(layout, device):
    """As the matrix of spmm, the factors or the bias of an edge, the bias of attention and the weights of GraphConv, with gradients."""
    S, dense = sparse(layout, device)
    a, b, x = (torch.rand(n, 3, device=device, dtype=torch.float64) for n in (6, 5, 5))
    there = dense != 0
    torch.manual_seed(3)
    layer = tt.nn.GraphConv(3, 2, norm="none", bias=False).to(device).double()

    def attended(d):
        return torch.softmax((a @ b.t() + d).masked_fill(~there, float("-inf")), -1).nan_to_num(0) @ x

    rows = {"spmm": (lambda s: tt.spmm(s, x), lambda d: d @ x), "transpose": (lambda s: tt.spmm(s, a, transpose=True), lambda d: d.t() @ a),
            "scale": (lambda s: tt.fused(s, a, b, x), lambda d: (d * (a @ b.t())) @ x),
            "softmax": (lambda s: tt.fused(s, a, b, x, edge="softmax"), attended), "attention": (lambda s: tt.attention(a, b, x, s, scale=1.0), attended),
            "GraphConv": (lambda s: layer(s, x), lambda d: d @ (x @ layer.weight))}
    for name, (ours, theirs) in rows.items():
        torch.testing.assert_close(ours(S), theirs(dense), msg=lambda text: f"{name}: {text}")
        if layout == "csc":
            continue
        leaf, other = S.detach().clone().requires_grad_(), dense.clone().requires_grad_()
        ours(leaf).square().sum().backward()
        theirs(other).square().sum().backward()
        torch.testing.assert_close(leaf.grad.to_dense(), other.grad * there, msg=lambda text: f"{name}: {text}")
    pattern = tt.Pattern.from_torch(S)
    torch.testing.assert_close(tt.sddmm(S, a, b), tt.sddmm(pattern, a, b, pattern.values))
    torch.testing.assert_close(tt.spmm(S, x, 2 * pattern.values), 2 * dense @ x)
    if _ops.REGISTERED:
        torch.testing.assert_close(tt.message(S, "copy_u", x), there.double() @ x)


def test_gradients_of_a_csc_tensor():
    """PyTorch has them where it was made of other tensors, and cannot accumulate them in a leaf."""
    given, x = torch.rand(3, requires_grad=True), torch.rand(3, 2)
    made = torch.sparse_csc_tensor(torch.tensor([0, 1, 2, 3]), torch.tensor([0, 1, 1]), given, (2, 3))
    tt.spmm(made, x).sum().backward()
    torch.testing.assert_close(given.grad, x.sum(1))
    with pytest.raises(tamis.ArgumentError, match="pattern is a CSC tensor that requires grad.*to_sparse_csr"):
        tt.spmm(torch.eye(3).to_sparse_csc().requires_grad_(), x)


def filled():
    """Ways in which a tensor that stands for a pattern changes in place: what makes it, and what changes it to all True."""
    def of_numpy():
        return torch.from_numpy(torch.eye(4, dtype=torch.bool).numpy().copy())

    def of_inference():
        with torch.inference_mode():
            return torch.eye(4, dtype=torch.bool)

    def inference(mask):
        with torch.inference_mode():
            mask.fill_(True)

    return {"mask": (lambda: torch.eye(4, dtype=torch.bool), lambda m: m.fill_(True)), "of NumPy": (of_numpy, lambda m: m.numpy().fill(True)),
            "inference": (of_inference, inference), "set_": (lambda: torch.eye(4, dtype=torch.bool), lambda m: m.set_(torch.ones(4, 4, dtype=torch.bool))),
            "csr": (lambda: torch.eye(4).to_sparse_csr(), lambda s: s.col_indices().fill_(0)),
            "csc": (lambda: torch.eye(4).to_sparse_csc(), lambda s: s.row_indices().fill_(0)),
            "said": (lambda: torch.sparse_csr_tensor(torch.tensor([0, 1, 2, 3, 4]), torch.arange(4), torch.tensor([True, False, True, True]), (4, 4)),
                     lambda s: s.values().fill_(True))}


@pytest.mark.parametrize("way", list(filled()))
def test_a_tensor_is_converted_once(way):
    """And again after a change in place; what was made of it goes with it."""
    make, fill = filled()[way]
    given, x = make(), torch.rand(4, 2)
    torch.testing.assert_close(tt.spmm(given, x), given.to_dense().float() @ x)
    known = _taken.places_of(given)
    assert _taken.places_of(given) is known
    fill(given)
    torch.testing.assert_close(tt.spmm(given, x), given.to_dense().float() @ x)
    assert _taken.places_of(given) is not known
    number = id(given)
    assert number in _taken._kept
    del given
    gc.collect()
    assert number not in _taken._kept


def test_what_cannot_stand_for_a_pattern():
    x, mask, wanting = torch.rand(4, 2), torch.ones(4, 4, dtype=torch.bool), torch.eye(4).to_sparse_csr().requires_grad_()
    values = torch.ones(4)
    for call, kind, words in (
            (lambda: tt.spmm(mask[None], x), ValueError, r"pattern has shape \(1, 4, 4\): expected two dimensions; make a Pattern.from_torch of each member"),
            (lambda: tt.attention(x, x, x, torch.ones(2, 4, 4).to_sparse_coo()), ValueError, r"pattern has shape \(2, 4, 4\): .*attention takes a list of them"),
            (lambda: tt.spmm(torch.eye(4).to_sparse_bsr((2, 2)), x), ValueError, "layout torch.sparse_bsr: expected sparse_csr, .*to_sparse_csr"),
            (lambda: tt.spmm(torch.eye(4), x), TypeError, "pattern is a dense tensor of torch.float32: .*such as pattern != 0"),
            (lambda: tt.spmm([1], x), TypeError, "pattern is a list: expected a tamis.torch.Pattern"),
            (lambda: tt.spmm(mask.to("meta"), x), ValueError, "pattern is on the device meta"),
            (lambda: tt.softmax(wanting, values), ValueError, r"requires grad, and this call does not read its values: pass pattern\.detach\(\)"),
            (lambda: tt.spmm(wanting, x, values), ValueError, "does not read its values"),
            (lambda: tt.nn.DotGATConv(2, 2)(wanting, x), ValueError, "does not read its values"),
            (lambda: tt.attention(x, x, x, torch.eye(4).to_sparse_csr(), bias=values), ValueError, r"bias is given, .*bias \+ p\.values"),
            (lambda: torch.vmap(lambda m: tt.spmm(m, x))(mask[None]), NotImplementedError, "a transform of torch.func over pattern")):
        with pytest.raises(kind, match=words):
            call()
    with torch.no_grad():
        assert tt.softmax(wanting, values).tolist() == [1.0] * 4
    if _ops.REGISTERED:
        for call, words in ((lambda: tt.message(wanting, "copy_u", x), "does not read its values"), (lambda: tt.messages([mask, [1]], "copy_u", x), r"patterns\[1\] is a list")):
            with pytest.raises((ValueError, TypeError), match=words):
                call()
        with pytest.raises(Exception, match="sparse|Observed exception"):
            fresh(lambda s: tt.spmm(s, x), backend="eager")(torch.eye(4).to_sparse_csr())


# ------------------------------------------------------------------------------ rows that a bias masks


def test_a_bias_that_is_nan_shows(device):
    """Rows that -inf masks are zeros: test_operators_torch. NaN stays NaN."""
    pattern = tt.Pattern.window(700, 2, 1, device=device)
    bias = torch.zeros(pattern.nnz, device=device)
    of_row = slice(int(pattern.index[4]), int(pattern.index[5]))
    bias[of_row] = float("nan")
    assert tt.attention(*torch.randn(3, 700, 4, device=device), pattern, bias=bias)[4].isnan().all() and tt.softmax(pattern, bias)[of_row].isnan().all()


# ------------------------------------------------------------------------------ torch.compile, torch.export, torch.func


class Count:
    """A compiler's backend that counts graphs."""

    def __init__(self):
        self.graphs = 0

    def __call__(self, graph, inputs):
        self.graphs += 1
        return graph


def fresh(f, **settings):
    torch._dynamo.reset()
    return torch.compile(f, fullgraph=True, **settings)


@registered
@pytest.mark.parametrize("edge", EDGES)
def test_every_edge_is_one_graph(edge, monkeypatch):
    """Also the first call of a process, which knows no edge yet."""
    from tamis import _plan
    monkeypatch.setattr(_plan, "EDGES", {})
    pattern, A, B, count = tt.Pattern.causal(NODES), torch.rand(NODES, 3) + 0.1, torch.rand(NODES, 3) + 0.1, Count()
    got = fresh(lambda a, b: tt.fused(pattern, a, b, b, edge=edge), backend=count)(A, B)
    torch.testing.assert_close(got, tt.fused(pattern, A, B, B, edge=edge))
    assert count.graphs == 1


@registered
def test_a_pattern_made_within_a_compiled_function():
    x = torch.randn(NODES, 3)
    offsets, columns = tt.Pattern.causal(NODES).index, tt.Pattern.causal(NODES).columns
    edges = torch.tensor([[0, 1, 5, 2], [1, 1, 0, 4]])
    functions = {
        "from_csr": lambda x: tt.spmm(tt.Pattern.from_csr(offsets, columns, (NODES, NODES)), x),
        "from_coo": lambda x: tt.spmm(tt.Pattern.from_coo(edges[1], edges[0], (NODES, NODES)), x),
        "from_edge_index": lambda x: tt.spmm(tt.Pattern.from_edge_index(edges, NODES), x),
        "from a dense mask": lambda x: tt.attention(x, x, x, tt.Pattern.from_torch(torch.ones(NODES, NODES, dtype=torch.bool).tril())),
        "a dense mask": lambda x: tt.attention(x, x, x, torch.ones(NODES, NODES, dtype=torch.bool).tril()),
        "causal": lambda x: tt.attention(x, x, x, tt.Pattern.causal(NODES)),
        "window": lambda x: tt.attention(x, x, x, tt.Pattern.window(NODES, 1, 1, global_tokens=1)),
    }
    for name, f in functions.items():
        with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):  # of masks; the default of newer versions
            torch.testing.assert_close(fresh(f, backend="aot_eager")(x), f(x), msg=lambda text: f"{name}: {text}")

    class Module(torch.nn.Module):
        def forward(self, edges, x):
            return tt.spmm(tt.Pattern.from_edge_index(edges, NODES), x) + tt.attention(x, x, x, tt.Pattern.causal(NODES))

    program = torch.export.export(Module(), (edges, x))
    other = edges.flip(1)
    torch.testing.assert_close(program.module()(other, x), Module()(other, x))
    with pytest.raises(Exception, match="num_nodes = None: expected a number within torch.compile"):
        fresh(lambda e, x: tt.spmm(tt.Pattern.from_edge_index(e), x))(edges, x)


@registered
def test_a_pattern_that_left_a_compiled_function_is_checked():
    made = fresh(lambda offsets, columns: tt.Pattern.from_csr(offsets, columns, (2, 3)), backend="eager")
    pattern = made(torch.tensor([0, 2, 3]), torch.tensor([0, 2, 1]))
    assert tt.spmm(pattern, torch.eye(3)).tolist() == [[1, 0, 1], [0, 1, 0]]
    bad = made(torch.tensor([0, 2, 3]), torch.tensor([0, 2, 7]))
    with pytest.raises(ValueError, match="column"):
        tt.spmm(bad, torch.eye(3))


@registered
def test_bare_tensors_that_are_written_over_without_a_new_version():
    """As compiled programs reuse memory: what was known of the old content does not hold for the new one."""
    index, columns = torch.tensor([0, 2, 3]), torch.tensor([0, 2, 1])
    transposed = lambda: _ops.CALLS["spmm"](index, columns, None, torch.eye(2), 2, 3, False, True).tolist()  # noqa: E731
    assert transposed() == [[1, 0], [0, 1], [1, 0]]
    columns.numpy()[:] = [1, 2, 0]
    assert transposed() == [[0, 1], [1, 0], [1, 0]]


@registered
def test_a_pattern_made_within_a_transform():
    x = torch.randn(NODES, 3, dtype=torch.float64)
    edges = torch.tensor([[0, 1, 5, 2], [1, 1, 0, 4]])
    for make in (lambda: tt.Pattern.causal(NODES), lambda: tt.Pattern.from_edge_index(edges, NODES), lambda: tt.Pattern.from_edge_index(edges),
                 lambda: tt.Pattern.from_torch(torch.ones(NODES, NODES, dtype=torch.bool).tril())):
        pattern = make()
        for transformed in (torch.func.grad, torch.func.hessian):
            inside, outside = (transformed(lambda x, p=p: tt.attention(x, x, x, p or make()).sin().sum())(x) for p in (None, pattern))
            torch.testing.assert_close(inside, outside)
        torch.testing.assert_close(torch.vmap(lambda x: tt.spmm(make(), x))(torch.stack([x, 2 * x])), tt.spmm(pattern, torch.stack([x, 2 * x])))


# ------------------------------------------------------------------------------ autocast, meta


@registered
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_caches_under_autocast(device, dtype):
    cache, lengths = torch.randn(1, 2, 5, 4, device=device), torch.tensor([3], device=device)
    with torch.autocast(device.type, dtype=dtype):
        for q, k in ((cache[:, :, 0], cache.to(dtype)), (cache[:, :, 0].to(dtype), cache)):
            assert tt.cached_attention(q, k, k, lengths).dtype == dtype


@registered
def test_meta_tensors_are_checked():
    pattern = tt.Pattern.causal(NODES).to("meta")
    x = torch.empty(NODES, 3, device="meta")
    assert repr(pattern) == "<tamis.torch.Pattern 6 x 6, 21 nonzeros, meta>"
    for call, words in ((lambda: tt.spmm(pattern, x[:-1]), "B has shape .*expected 6 rows"), (lambda: tt.sddmm(pattern, x, x[:, :2]), "the same number of columns"),
                        (lambda: tt.sddmm(pattern, x, x.double()), r"convert one, for instance by B\.to"),
                        (lambda: tt.spmm(pattern, x, torch.empty(3, device="meta")), "values has 3 elements: expected 21"),
                        (lambda: tt.fused(pattern, x.expand(2, -1, -1), x.expand(3, -1, -1), x), "leading dimensions differ"),
                        (lambda: tt.Pattern.from_edge_index(torch.empty(2, 4, dtype=torch.int64, device="meta")), "expected a number, since edge_index")):
        with pytest.raises(ValueError, match=words):
            call()


def changes():
    """Ways in which the tensors of a pattern change, with what PyTorch does not count: tensors of inference mode, memory of NumPy."""
    ways = {"copy_": (torch.tensor, lambda x, other: x.copy_(other)), "data =": (torch.tensor, lambda x, other: setattr(x, "data", other.clone()))}

    def inference(numbers):
        with torch.inference_mode():
            return torch.tensor(numbers)

    def copied(x, other):
        with torch.inference_mode():
            x.copy_(other)

    ways["inference mode"] = inference, copied
    if not torch.cuda.is_available():
        ways["NumPy"] = lambda numbers: torch.from_numpy(torch.tensor(numbers).numpy().copy()), lambda x, other: x.numpy().__setitem__(slice(None), other.numpy())
    return ways


@pytest.mark.parametrize("way", list(changes()))
def test_tensors_that_change(way):
    """Sums, products, messages, gradients, transposes and copies follow the tensors; the gradient of an earlier call does not."""
    make, change = changes()[way]
    one, other = [0, 1, 0, 1, 0, 1], [1, 2, 1, 2, 1, 2]
    offsets, columns = torch.tensor([0, 2, 4, 6]), make(one)
    pattern = tt.Pattern.from_csr(offsets, columns, (3, 3))

    def calls(pattern, x):
        return [tt.spmm(pattern, x), tt.message(pattern, "copy_u", x, reduce="max"), tt.edge_op(pattern, "dot", x, x), tt.sddmm(pattern, x, x),
                tt.attention(x.expand(4, 3, 3), x.expand(2, 3, 3), x.expand(2, 3, 3), pattern, enable_gqa=True),
                tt.messages([tt.Pattern.from_csr(offsets, torch.tensor(one), (3, 3)), pattern], "copy_u", [x, x]), tt.spmm(pattern.T, x)]

    for numbers in (one, other, one):
        change(columns, torch.tensor(numbers))
        x, y = (torch.randn(3, 3, generator=torch.Generator().manual_seed(1)).requires_grad_() for _ in range(2))
        for got, want in zip(calls(pattern, x), calls(tt.Pattern.from_csr(offsets, torch.tensor(numbers), (3, 3)), y)):
            torch.testing.assert_close(got, want)
            torch.testing.assert_close(torch.autograd.grad(got.sum(), x)[0], torch.autograd.grad(want.sum(), y)[0])
    for late in (lambda x: tt.spmm(pattern, x), lambda x: tt.message(pattern, "copy_u", x), lambda x: tt.edge_op(pattern, "add", x, x)):
        change(columns, torch.tensor(one))
        x = torch.ones(3, 3, requires_grad=True)
        result = late(x)
        change(columns, torch.tensor(other))
        with pytest.raises(RuntimeError, match="changed in place"):
            result.sum().backward()


def test_patterns_of_inference_mode():
    """What they are made of may train later."""
    with torch.inference_mode():
        made = [tt.Pattern.causal(4), tt.Pattern.from_torch(torch.ones(4, 4, dtype=torch.bool)), tt.Pattern.from_mask_mod(lambda b, h, q, k: q >= k, 4)]
        made += [tt.Pattern.stack(made[:1]), made[0].T, tt.Pattern.from_coo(*torch.ones(4, 4).nonzero().t(), (4, 4))]
    for pattern in made[:-1]:
        assert not pattern.index.is_inference() and not pattern.columns.is_inference()
    for pattern in made:
        x = torch.ones(4, 4, requires_grad=True)
        tt.spmm(pattern, x).sum().backward()


def test_indices_with_gaps():
    mask = torch.rand(6, 6) < 0.5
    want = tt.Pattern.from_torch(mask)
    x = torch.randn(6, 3)
    ends = mask.nonzero()
    for pattern in (tt.Pattern.from_coo(*ends.t(), (6, 6)), tt.Pattern.from_coo(*ends.repeat(1, 2).t()[2:], (6, 6)),
                    tt.Pattern.from_edge_index(torch.unique(ends.flip(1).t(), dim=1), 6),
                    tt.Pattern.from_csr(torch.stack([want.index] * 2, 1)[:, 0], torch.stack([want.columns] * 2, 1)[:, 1], (6, 6))):
        torch.testing.assert_close(tt.spmm(pattern, x), tt.spmm(want, x))


# ------------------------------------------------------------------------------ sets


def drawn(seed, rows=7, cols=5, device="cpu", kind=torch.int32):
    mask = torch.rand(rows, cols, generator=torch.Generator().manual_seed(seed)) < 0.4
    at = mask.nonzero()
    order = torch.randperm(len(at), generator=torch.Generator().manual_seed(seed + 9))
    return mask.to(device), tt.Pattern.from_coo(at[order, 0].to(device, kind), at[order, 1].to(device, kind), (rows, cols))


def test_patterns_are_sets(device):
    (m, p), (n, q) = drawn(1, device=device), drawn(2, device=device, kind=torch.int64)
    for pattern, mask in ((p | q, m | n), (p & q, m & n), (p.add_self_loops(), m | torch.eye(7, 5, dtype=torch.bool, device=device))):
        assert torch.equal(pattern.to_dense(), mask) and pattern.nnz == int(mask.sum()) and not pattern.coo
        assert bool((pattern.columns == mask.nonzero()[:, 1]).all())
    assert (p | p).columns.dtype is torch.int32 and (p | q).columns.dtype is torch.int64
    empty = tt.Pattern.from_csr(torch.zeros(8, dtype=torch.int32, device=device), torch.zeros(0, dtype=torch.int32, device=device), (7, 5))
    assert (p & empty).nnz == 0 and torch.equal((p | empty).to_dense(), m) and empty.add_self_loops().nnz == 5
    repeated = tt.Pattern.from_coo(torch.zeros(3, dtype=torch.int64, device=device), torch.ones(3, dtype=torch.int64, device=device), (7, 5))
    assert (repeated | repeated).nnz == 1 and (repeated & repeated).nnz == 1


def test_equality_is_of_entries_in_order(device):
    (_, p), (_, again), (_, other) = drawn(1, device=device), drawn(1, device=device, kind=torch.int64), drawn(2, device=device)
    csr = p | p
    assert p == again and hash(p) == hash(again) and p != other and p != "p" and p in [again]
    assert csr == (csr & csr) and csr == tt.Pattern.from_coo(csr._rows(), csr.columns, csr.shape)
    assert (csr == p) == bool((csr.columns == p.columns).all())
    assert csr != tt.Pattern.from_csr(csr.index, csr.columns, csr.shape, torch.ones(csr.nnz, device=device))


def test_a_pattern_times_a_matrix(device):
    mask, p = drawn(3, device=device)
    x = torch.rand(2, 5, 3, device=device)
    torch.testing.assert_close(p @ x, mask.float() @ x)
    values = torch.rand(p.nnz, device=device, requires_grad=True)
    weighted = tt.Pattern.from_coo(p.index, p.columns, p.shape, values)
    torch.testing.assert_close(weighted @ x, weighted.to_dense() @ x)
    (found,), (want,) = (torch.autograd.grad((m @ x).square().sum(), values) for m in (weighted, weighted.to_dense()))
    torch.testing.assert_close(found, want)
    with pytest.raises(TypeError):
        p @ 2


def test_sets_that_do_not_go_together_are_refused():
    (_, p), (_, wide) = drawn(1), drawn(1, cols=6)
    with pytest.raises(tamis.ArgumentError, match="7 x 5 on cpu and 7 x 6 on cpu: their union"):
        p | wide
    weighted = tt.Pattern.from_coo(p.index, p.columns, p.shape, torch.ones(p.nnz))
    with pytest.raises(tamis.ArgumentError, match="has values: an intersection"):
        p & weighted
    with pytest.raises(TypeError):
        p | 3


def test_patterns_move(device):
    _, p = drawn(1)
    there = p.to(device, non_blocking=True)
    assert there.device == device if device.type == "cpu" else there.device.type == "cuda"
    assert there.cpu() == p
    if torch.cuda.is_available():
        assert p.pin_memory().cuda(non_blocking=True) == p.cuda() == p.cuda(0) and p.pin_memory().columns.is_pinned()
