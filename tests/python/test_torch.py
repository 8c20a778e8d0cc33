"""tamis.torch: values and gradients against dense PyTorch, the operators' registration, compilation, AMP, vmap; on CUDA where it is."""
from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse")

import tamis  # noqa: E402
import tamis.torch as tt  # noqa: E402
from tamis.torch import _direct, _kernels, _ops  # noqa: E402

ROWS, COLS, INNER, WIDTH = 7, 5, 3, 4
EDGES = ["scale", "mask", "residual", "quotient", "sigmoid", "exp", "leaky_relu", "softmax"]
registered = pytest.mark.skipif(not _ops.REGISTERED, reason="operators are registered from PyTorch 2.4")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"))]


@pytest.fixture(params=DEVICES)
def device(request):
    return torch.device(request.param)


@pytest.fixture(params=["csr", "coo"])
def pattern(request, device):
    return make(request.param, device)


def make(form="csr", device="cpu", kind=torch.int64):
    torch.manual_seed(3)
    full = torch.rand(ROWS, COLS) < 0.5
    full[2] = False
    rows, cols = (x.to(kind) for x in full.nonzero(as_tuple=True))
    if form == "coo":
        order = torch.randperm(len(rows))
        return tt.Pattern.from_coo(rows[order].to(device), cols[order].to(device), (ROWS, COLS))
    offsets = torch.cat([torch.zeros(1, dtype=kind), full.sum(1).cumsum(0).to(kind)])
    return tt.Pattern.from_csr(offsets.to(device), cols.to(device), (ROWS, COLS))


def rows_of(pattern):
    return pattern.index.long() if pattern.coo else torch.repeat_interleave(torch.arange(pattern.rows, device=pattern.device), pattern.index.diff())


def dense(pattern, values):
    """Values at their places, by differentiable functions of PyTorch."""
    lead = values.shape[:-1]
    flat = torch.zeros(*lead, pattern.rows * pattern.cols, dtype=values.dtype, device=values.device)
    places = (rows_of(pattern) * pattern.cols + pattern.columns.long()).expand(values.shape)
    return flat.scatter(-1, places, values).reshape(*lead, pattern.rows, pattern.cols)


def sampled(pattern, x, values, edge, scale=0.7, slope=0.2):
    """The edge, by PyTorch, at the places of a dense x."""
    rows, cols = rows_of(pattern), pattern.columns.long()
    x = x[..., rows, cols]
    s = torch.ones_like(x) if values is None else values
    y = scale * x
    if edge == "softmax":
        e = torch.exp(y + (0 if values is None else values))
        total = torch.zeros(*e.shape[:-1], pattern.rows, dtype=e.dtype, device=e.device).scatter_add(-1, rows.expand(e.shape), e)
        return e / total[..., rows]
    return {"scale": s * x, "mask": x, "residual": s - x, "quotient": s / x, "sigmoid": s * torch.sigmoid(y), "exp": s * torch.exp(y),
            "leaky_relu": s * torch.where(y < 0, slope * y, y)}[edge]


def operand(*shape, device="cpu", dtype=torch.float64, positive=False):
    x = torch.rand(*shape, dtype=dtype) + 0.5 if positive else torch.randn(*shape, dtype=dtype)
    return x.to(device).requires_grad_()


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("lead", [(), (2,)])
@pytest.mark.parametrize("valued", [True, False])
@pytest.mark.parametrize("direct", [True, False])
def test_values_and_gradients(pattern, device, edge, lead, valued, direct, monkeypatch):
    """Without PyTorch's dispatcher, as calls run that nothing watches, and through it."""
    if not direct:
        monkeypatch.setattr(_direct, "POSSIBLE", False)
    positive = edge == "quotient"
    A, B, D = (operand(*lead, n, w, device=device, positive=positive) for n, w in ((ROWS, INNER), (COLS, INNER), (COLS, WIDTH)))
    values = operand(*lead, pattern.nnz, device=device) if valued else None
    inputs = [x for x in (A, B, D, values) if x is not None]
    settings = {"edge": edge, "scale": 0.7, "slope": 0.2}

    def ours():
        P = tt.sddmm(pattern, A, B, values, **settings)
        return P, tt.spmm(pattern, D, P), tt.fused(pattern, A, B, D, values, **settings)

    def theirs():
        P = sampled(pattern, A @ B.transpose(-1, -2), values, edge)
        E = dense(pattern, P) @ D
        return P, E, E

    for got, want in zip(ours(), theirs()):
        torch.testing.assert_close(got, want)
        weights = torch.randn_like(want)
        got_gradients = torch.autograd.grad((got * weights).sum(), inputs, allow_unused=True, retain_graph=True)
        want_gradients = torch.autograd.grad((want * weights).sum(), inputs, allow_unused=True, retain_graph=True)
        for g, w, x in zip(got_gradients, want_gradients, inputs):
            torch.testing.assert_close(torch.zeros_like(x) if g is None else g, torch.zeros_like(x) if w is None else w)

LEADS = {  # of A, B, D and the values; a shape of two dimensions, or one of values, is shared by the members
    "plain": ((30, 8), (40, 8), (40, 6), (0,)), "batch": ((3, 30, 8), (3, 40, 8), (3, 40, 6), (3, 0)), "shared": ((3, 30, 8), (40, 8), (3, 40, 6), (0,)),
    "two leading dimensions": ((2, 3, 30, 8), (2, 3, 40, 8), (2, 3, 40, 6), (3, 0))}


@pytest.mark.parametrize("columns_first", [False, True])
@pytest.mark.parametrize("shape", list(LEADS))
@pytest.mark.parametrize("operation, edge", [("spmm", "scale"), *((operation, edge) for operation in ("sddmm", "fused") for edge in ("scale", "softmax", "mask"))])
def test_a_gradient_that_repeats_an_earlier_one_reads_the_new_tensors(operation, edge, shape, columns_first, device):
    """A pattern keeps what its calls have in common besides addresses: the same bits as with a pattern that has seen no call."""
    made = torch.Generator().manual_seed(3)
    matrix = (torch.rand(30, 40, generator=made) < 0.2).float().to(device).to_sparse_csr()

    def drawn_operands(pattern):
        found = []
        for own in LEADS[shape]:
            own = own if own[-1] else (*own[:-1], pattern.nnz)
            x = torch.randn(own, generator=made).to(device)
            x = x.mT.contiguous().mT if columns_first and x.dim() > 1 and own[-1] != pattern.nnz else x
            found.append(x.requires_grad_(True))
        return found

    def found(pattern, a, b, d, values, wanted):
        if operation == "sddmm":
            out, operands = tt.sddmm(pattern, a, b, None if edge == "mask" else values, edge=edge), [a, b]
        elif operation == "spmm":
            out, operands = tt.spmm(pattern, b, values), [b]
        else:
            out, operands = tt.fused(pattern, a, b, d, None if edge == "mask" else values, edge=edge), [a, b, d]
        operands += [] if edge == "mask" else [values]
        operands = [x for number, x in enumerate(operands) if number not in wanted]
        weights = torch.arange(out.numel(), device=device, dtype=out.dtype).reshape(out.shape).sin()
        return torch.autograd.grad((out * weights).sum() + 2 * out.sum(), operands)

    pattern = tt.Pattern.from_torch(matrix)
    for wanted in ((), (0,)):
        for _ in range(3):
            operands = drawn_operands(pattern)
            fresh = tt.Pattern.from_torch(matrix)
            for ours, new in zip(found(pattern, *operands, wanted), found(fresh, *operands, wanted)):
                assert ours.stride() == new.stride() and torch.equal(ours, new)
    kept = [key for key in pattern._known.recipes if key[0] == "backward"]
    assert kept and len(kept) <= 8


@pytest.mark.parametrize("edge", ["scale", "softmax", "sigmoid"])
def test_gradcheck(pattern, device, edge):
    A, B, D = (operand(n, w, device=device) for n, w in ((ROWS, INNER), (COLS, INNER), (COLS, WIDTH)))
    values = operand(pattern.nnz, device=device)
    torch.autograd.gradcheck(lambda *x: tt.sddmm(pattern, *x, edge=edge), (A, B, values))
    torch.autograd.gradcheck(lambda d, v: tt.spmm(pattern, d, v), (D, values))
    torch.autograd.gradcheck(lambda a, v: tt.spmm(pattern, a, v, transpose=True), (A, values))
    torch.autograd.gradcheck(lambda *x: tt.fused(pattern, *x, edge=edge), (A, B, D, values))
    torch.autograd.gradcheck(lambda b, a, d, v: tt.fused(pattern, b, a, d, v, edge=edge, transpose=True), (B, A, operand(ROWS, 2, device=device), values))


def test_attention(device):
    pattern = make(device=device)
    q, k, v = (operand(2, 3, n, w, device=device) for n, w in ((ROWS, INNER), (COLS, INNER), (COLS, WIDTH)))
    bias = operand(pattern.nnz, device=device)
    mask = dense(pattern, torch.ones(pattern.nnz, device=device)).bool()
    scores = q @ k.transpose(-1, -2) / INNER**0.5 + dense(pattern, bias)
    rows = mask.any(1)  # others are not looked at
    want = torch.softmax(scores.masked_fill(~mask & rows[:, None], float("-inf")), -1) @ v
    got = tt.attention(q, k, v, pattern, bias=bias)
    torch.testing.assert_close(got[..., rows, :], want[..., rows, :])
    assert (got[..., ~rows, :] == 0).all()
    weights = torch.randn_like(got)
    weights[..., ~rows, :] = 0
    for g, w in zip(torch.autograd.grad((got * weights).sum(), (q, k, v, bias)),
                    torch.autograd.grad((want[..., rows, :] * weights[..., rows, :]).sum(), (q, k, v, bias))):
        torch.testing.assert_close(g, w)


def test_shared_operands_and_strides(pattern, device):
    """One B for all members of a batch, and operands that are views of other layouts."""
    A, B = operand(4, ROWS, INNER, device=device), operand(INNER, COLS, device=device)
    got, want = tt.sddmm(pattern, A, B.t()), sampled(pattern, A @ B, None, "mask")
    torch.testing.assert_close(got, want)
    weights = torch.randn_like(want)
    for g, w in zip(torch.autograd.grad((got * weights).sum(), (A, B)), torch.autograd.grad((want * weights).sum(), (A, B))):
        torch.testing.assert_close(g, w)
    heads = operand(ROWS, 4, INNER, device=device)  # heads inside
    torch.testing.assert_close(tt.sddmm(pattern, heads.transpose(0, 1), B.t()), sampled(pattern, heads.transpose(0, 1) @ B, None, "mask"))


@pytest.mark.parametrize("direct", [True, False])
def test_views_of_any_strides(pattern, device, direct, monkeypatch):
    """Results and gradients are those of packed operands."""
    if not direct:
        monkeypatch.setattr(_direct, "POSSIBLE", False)

    def views(n, w):
        """Matrices (n, w), each a view of a leaf."""
        leaves = [operand(n, 2 * w, device=device), operand(2 * n, 2 * w, device=device), operand(1, w, device=device), operand(n, 1, device=device)]
        return list(zip(leaves, (leaves[0][:, ::2], leaves[1][::2, 1::2], leaves[2].expand(n, w), leaves[3].expand(n, w))))

    def compare(function, leaf, view):
        for x in (view, view.contiguous()):
            result = function(x)
            weights = torch.linspace(-1, 1, result.numel(), dtype=result.dtype, device=device).reshape(result.shape)
            yield result, torch.autograd.grad((result * weights).sum(), leaf)[0]

    nnz = pattern.nnz
    A, B, D = (operand(n, w, device=device) for n, w in ((ROWS, INNER), (COLS, INNER), (COLS, WIDTH)))
    numbers = [operand(2 * nnz, device=device), operand(1, device=device), operand(nnz, 3, device=device), operand(3, 2 * nnz, device=device)]
    values = list(zip(numbers, (numbers[0][::2], numbers[1].expand(nnz), numbers[2][:, 1], numbers[3][:, ::2])))
    batch = operand(2, ROWS, 2, 2 * INNER, device=device)
    cases = [(lambda x: tt.sddmm(pattern, x, B), pair) for pair in views(ROWS, INNER)]
    cases += [(lambda x: tt.spmm(pattern, x, values[0][1]), pair) for pair in views(COLS, WIDTH)]
    cases += [(lambda x: tt.fused(pattern, A, x, D, edge="softmax"), pair) for pair in views(COLS, INNER)]
    cases += [(lambda x: tt.spmm(pattern, D, x), pair) for pair in values]
    cases += [(lambda x: tt.sddmm(pattern, A, B, x), pair) for pair in values]
    cases += [(lambda x: tt.softmax(pattern, x), pair) for pair in values]
    cases += [(lambda x: tt.attention(x, B, D, pattern, scale=0.5), (batch, batch.transpose(1, 2)[..., ::2]))]
    vector = operand(1, device=device)
    cases += [(lambda x: tt.spmm(pattern, x), (vector, vector.expand(COLS)))]
    for function, (leaf, view) in cases:
        (got, by_got), (want, by_want) = compare(function, leaf, view)
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(by_got, by_want)


def test_copies_are_not_larger_than_the_call(device):
    """A matrix that repeats one number would need a copy of 10,000 times the other operands."""
    pattern = tt.Pattern.from_csr(torch.tensor([0, 1], device=device), torch.tensor([5], device=device), (1, 10**6))
    with pytest.raises(ValueError, match=r"B has shape .*a copy.* would have 4000000 elements, more than all operands together .*B.contiguous\(\)"):
        tt.spmm(pattern, torch.ones(1, 1, device=device).expand(10**6, 4))
    k = torch.ones(2, 1, 5, 16, device=device)[..., ::2].expand(2, 10**6, 5, 8)  # repeated members are copied once
    assert tt.spmm(tt.Pattern.causal(5, device=device), k[:, :2])[0, 0, 4, 0] == 5


@pytest.mark.parametrize("lead", [(0,), (0, 2), (2, 0)])
@pytest.mark.parametrize("direct", [True, False])
def test_batches_of_no_members(device, lead, direct, monkeypatch):
    if not direct:
        monkeypatch.setattr(_direct, "POSSIBLE", False)
    pattern = tt.Pattern.causal(6, device=device)
    A, D = operand(*lead, 6, 4, device=device), operand(*lead, 6, 3, device=device)
    shared, values = operand(6, 4, device=device), operand(pattern.nnz, device=device)
    for result, inputs in ((tt.sddmm(pattern, A, shared, values), (A, shared, values)), (tt.spmm(pattern, D, values), (D, values)),
                           (tt.fused(pattern, A, shared, D, edge="exp"), (A, shared, D)), (tt.attention(A, A, D, pattern, bias=values), (A, D, values)),
                           (tt.attention(A, A, D, pattern, return_lse=True)[1], (A,)), (tt.softmax(pattern, operand(*lead, pattern.nnz, device=device)), ())):
        assert result.shape[:len(lead)] == lead and result.numel() == 0
        for gradient, x in zip(torch.autograd.grad(result.sum(), inputs) if inputs else (), inputs):
            assert torch.equal(gradient, torch.zeros_like(x))
    assert torch.vmap(lambda a: tt.spmm(pattern, a))(operand(0, 6, 4, device=device)).shape == (0, 6, 4)
    empty = tt.attention(A[:0], A[:0], D[:0], [])
    assert empty.shape == (0, *lead[1:], 6, 3)


def test_a_batch_of_values_alone(pattern, device):
    """Heads of attention over one matrix: the gradient of what they share is the sum."""
    A, B, D = (operand(n, w, device=device) for n, w in ((ROWS, INNER), (COLS, INNER), (COLS, WIDTH)))
    values = operand(3, pattern.nnz, device=device)
    pairs = [(tt.spmm(pattern, D, values), dense(pattern, values) @ D),
             (tt.sddmm(pattern, A, B, values), sampled(pattern, A @ B.t(), values, "scale")),
             (tt.fused(pattern, A, B, D, values), dense(pattern, sampled(pattern, A @ B.t(), values, "scale")) @ D)]
    for got, want in pairs:
        torch.testing.assert_close(got, want)
        weights = torch.randn_like(want)
        inputs = (A, B, D, values)
        for g, w in zip(torch.autograd.grad((got * weights).sum(), inputs, allow_unused=True, retain_graph=True),
                        torch.autograd.grad((want * weights).sum(), inputs, allow_unused=True, retain_graph=True)):
            assert (g is None) == (w is None)
            if g is not None:
                torch.testing.assert_close(g, w)


def test_vectors(pattern, device):
    x, values = operand(COLS, device=device), operand(pattern.nnz, device=device)
    y = tt.spmm(pattern, x, values)
    torch.testing.assert_close(y, dense(pattern, values) @ x)
    torch.autograd.gradcheck(lambda x, v: tt.spmm(pattern, x, v), (x, values))
    torch.autograd.gradcheck(lambda x, v: tt.spmm(pattern, x, v), (x, operand(2, pattern.nnz, device=device)))


@pytest.mark.parametrize(("rows", "cols"), [(0, 0), (0, 3), (3, 0), (3, 3)])
@pytest.mark.parametrize("direct", [True, False])
def test_patterns_without_entries(device, rows, cols, direct, monkeypatch):
    """A gradient that autograd has expanded to no elements has strides of its own."""
    if not direct:
        monkeypatch.setattr(_direct, "POSSIBLE", False)
    pattern = tt.Pattern.from_csr(torch.zeros(rows + 1, dtype=torch.int64, device=device), torch.zeros(0, dtype=torch.int64, device=device), (rows, cols))
    A, B, D = (operand(n, WIDTH, device=device) for n in (rows, cols, cols))
    values = operand(0, device=device)
    results = (tt.sddmm(pattern, A, B, values), tt.spmm(pattern, D, values), tt.spmm(pattern, A, transpose=True), tt.fused(pattern, A, B, D, values),
               tt.attention(A, B, D, pattern, bias=values), tt.softmax(pattern, values))
    for result in results:
        for gradient, x in zip(torch.autograd.grad(result.sum(), (A, B, D, values), allow_unused=True, retain_graph=True), (A, B, D, values)):
            assert gradient is None or (gradient.shape == x.shape and (gradient == 0).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
def test_types(device, dtype, kind):
    pattern = make(device=device, kind=kind)
    A, B, D = (operand(n, w, device=device, dtype=dtype) for n, w in ((ROWS, INNER), (COLS, INNER), (COLS, WIDTH)))
    tolerance = {torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 4e-2}[dtype]
    got = tt.attention(A, B, D, pattern)
    want = tt.attention(A.double(), B.double(), D.double(), pattern)
    assert got.dtype == dtype
    torch.testing.assert_close(got.double(), want, atol=tolerance, rtol=tolerance)
    for g, w in zip(torch.autograd.grad(got.sum(), (A, B, D)), torch.autograd.grad(want.sum(), (A, B, D))):
        assert g.dtype == dtype
        torch.testing.assert_close(g.double(), w.double(), atol=tolerance, rtol=tolerance)


def test_the_gradient_of_sampled_addmm_has_a_number_for_each_place(device):
    """PyTorch's own gradient of a sparse tensor has rows x cols numbers, 40 GB of these."""
    n = 100000
    S = torch.sparse_coo_tensor(torch.randint(n, (2, 500), device=device), torch.ones(500, device=device), (n, n)).coalesce().to_sparse_csr()
    mat1, mat2 = operand(n, 4, device=device, dtype=torch.float32), operand(4, n, device=device, dtype=torch.float32)
    pattern, ones = tt.Pattern.from_torch(S), torch.ones(n, 1, device=device)
    want = torch.autograd.grad(tt.sddmm(pattern, mat1, mat2.t(), edge="mask").sum(), (mat1, mat2))
    for total in (lambda P: P.values().sum(), lambda P: torch.sparse.mm(P, ones).sum(), lambda P: tt.Pattern.from_torch(P).values.sum(), lambda P: (P * 1).values().sum()):
        for got, wanted in zip(torch.autograd.grad(total(tt.sampled_addmm(S, mat1, mat2, beta=0)), (mat1, mat2)), want):
            torch.testing.assert_close(got, wanted)


def test_gradients_of_sampled_addmm(device):
    """Of whatever kind PyTorch's gradient is: dense, or of the pattern, or of another one."""
    S = torch.tensor([[1.0, 0, 2], [0, 3, 0]], device=device, dtype=torch.float64).to_sparse_csr()
    other = torch.tensor([[0.0, 4, 2], [1, 3, 0]], device=device, dtype=torch.float64)
    mat1, mat2 = operand(2, 4, device=device), operand(4, 3, device=device)
    mask = (S.to_dense() != 0).double()
    for total in (lambda P: (P @ other.t()).sin().sum(), lambda P: torch.sparse.mm(P, other.t().contiguous()).sin().sum(), lambda P: P.to_dense().sin().sum(),
                  lambda P: P.sum() if not P.is_sparse_csr else P.values().sum()):
        got = torch.autograd.grad(total(tt.sampled_addmm(S, mat1, mat2, beta=0.5)), (mat1, mat2))
        want = torch.autograd.grad(total((mat1 @ mat2) * mask + 0.5 * S.to_dense()), (mat1, mat2))
        for g, w in zip(got, want):
            torch.testing.assert_close(g, w)
    pattern = tt.Pattern.from_torch(S)
    for x in (other, other.to_sparse_csr(), other.to_sparse_coo(), torch.zeros_like(other).to_sparse_csr()):
        assert tt._at_places(x, pattern).tolist() == x.to_dense()[mask.bool()].tolist()


def test_sampled_addmm(device):
    S = (torch.rand(ROWS, COLS, dtype=torch.float64) * (torch.rand(ROWS, COLS) < 0.5)).to_sparse_csr().to(device)
    mat1, mat2 = operand(ROWS, INNER, device=device), operand(INNER, COLS, device=device)
    got = tt.sampled_addmm(S, mat1, mat2, beta=0.5, alpha=2)
    mask = S.to_dense() != 0
    want = torch.where(mask, 2 * (mat1 @ mat2) + 0.5 * S.to_dense(), 0.0)
    torch.testing.assert_close(got.to_dense().detach(), want.detach())
    out = S.clone()
    assert tt.sampled_addmm(S, mat1.detach(), mat2.detach(), beta=0.5, alpha=2, out=out) is out
    torch.testing.assert_close(out.to_dense(), want.detach())
    with pytest.raises(ValueError, match="sparse CSR"):
        tt.sampled_addmm(mask.double(), mat1, mat2)
    if torch.__version__.startswith("1."):
        pytest.skip("sparse CSR tensors have no gradients before PyTorch 2.0")
    theirs = torch.autograd.grad(want.sin().sum(), (mat1, mat2))
    for g, w in zip(torch.autograd.grad(got.values().sin().sum(), (mat1, mat2)), theirs):
        torch.testing.assert_close(g, w)


def test_softmax(pattern, device):
    values = operand(3, pattern.nnz, device=device)
    zero = torch.zeros(ROWS, COLS, dtype=torch.float64, device=device)
    torch.testing.assert_close(tt.softmax(pattern, values), sampled(pattern, zero, values, "softmax"))


def test_edge_index():
    edges = torch.tensor([[0, 1, 2, 2], [1, 1, 0, 1]])
    pattern = tt.Pattern.from_edge_index(edges)
    x = torch.tensor([[1.0], [10.0], [100.0]])
    assert tt.spmm(pattern, x).ravel().tolist() == [100, 111, 0]
    assert tt.Pattern.from_edge_index(torch.empty(2, 0, dtype=torch.int64)).shape == (0, 0)


@registered
@pytest.mark.parametrize("lead", [(), (2,)])
def test_opcheck(device, lead):
    pattern = make("csr", device)
    A, B, D = (operand(*lead, n, w, device=device) for n, w in ((ROWS, INNER), (COLS, INNER), (COLS, WIDTH)))
    values = operand(*lead, pattern.nnz, device=device)
    head, sizes = (pattern.index, pattern.columns, values), (ROWS, COLS, False)
    for edge in (0, 7):
        numbers = (edge, 1.0, 0.01, 1e-10)
        torch.library.opcheck(torch.ops.tamis.sddmm.default, (*head, A, B, *sizes, *numbers, edge == 7))
        torch.library.opcheck(torch.ops.tamis.fused.default, (*head, A, B, D, *sizes, *numbers, False, edge == 7))
    torch.library.opcheck(torch.ops.tamis.spmm.default, (*head, D, *sizes, False))
    torch.library.opcheck(torch.ops.tamis.spmm.default, (pattern.index, pattern.columns, None, A, *sizes, True))


@registered
def test_compile():
    """One graph, gradients included, that serves two patterns of the same sizes."""
    torch._dynamo.reset()
    compiled = []

    def backend(graph, inputs):
        compiled.append(graph)
        return graph

    def layer(pattern, x, y, w):
        scores = tt.sddmm(pattern, x @ w, y, edge="softmax")
        return tt.spmm(pattern, y, scores) + tt.attention(x, y, y, pattern) + tt.fused(pattern, x, y, y)

    fast = torch.compile(layer, backend=backend, fullgraph=True)
    one = make("csr")
    columns = (one.columns + 1) % COLS
    for pattern in (one, tt.Pattern.from_csr(one.index, columns, (ROWS, COLS))):
        x, y, w = operand(ROWS, INNER), operand(COLS, INNER), operand(INNER, INNER)
        got, want = fast(pattern, x, y, w), layer(pattern, x, y, w)
        torch.testing.assert_close(got, want)
        for g, v in zip(torch.autograd.grad(got.sum(), (x, y, w)), torch.autograd.grad(want.sum(), (x, y, w))):
            torch.testing.assert_close(g, v)
    assert len(compiled) == 1
    torch._dynamo.reset()
    through = torch.compile(layer, backend="aot_eager", fullgraph=True)
    x, y, w = operand(ROWS, INNER), operand(COLS, INNER), operand(INNER, INNER)
    got, want = through(one, x, y, w), layer(one, x, y, w)
    for g, v in zip(torch.autograd.grad(got.sum(), (x, y, w)), torch.autograd.grad(want.sum(), (x, y, w))):
        torch.testing.assert_close(g, v)


@registered
def test_compile_by_inductor():
    import shutil
    if not (shutil.which("g++") or shutil.which("c++")):
        pytest.skip("inductor needs a C++ compiler")
    torch._dynamo.reset()
    pattern = make("csr")

    def layer(x, y):
        return tt.attention(x.sin(), y.cos(), y, pattern).relu()

    x, y = operand(ROWS, INNER), operand(COLS, INNER)
    try:
        got = torch.compile(layer, fullgraph=True)(x, y)
    except Exception as error:  # noqa: BLE001  a compiler of the machine that does not work is not ours
        if "CppCompileError" in str(type(error)) + str(error):
            pytest.skip("inductor's C++ compiler does not work here")
        raise
    want = layer(x, y)
    torch.testing.assert_close(got, want)
    for g, v in zip(torch.autograd.grad(got.sum(), (x, y)), torch.autograd.grad(want.sum(), (x, y))):
        torch.testing.assert_close(g, v)


@registered
def test_vmap():
    pattern = make("csr")
    A, B, D, values = operand(4, ROWS, INNER), operand(4, COLS, INNER), operand(COLS, WIDTH), operand(4, pattern.nnz)
    got = torch.vmap(lambda a, b, v: tt.sddmm(pattern, a, b, v))(A, B, values)
    torch.testing.assert_close(got, tt.sddmm(pattern, A, B, values))
    got = torch.vmap(lambda a, b: tt.attention(a, b, D, pattern), in_dims=(1, 0))(A.transpose(0, 1), B)
    torch.testing.assert_close(got, torch.stack([tt.attention(a, b, D, pattern) for a, b in zip(A, B)]))


@registered
@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("valued", [True, False])
def test_gradgradcheck(pattern, device, edge, valued, direct, monkeypatch):
    if not direct:
        monkeypatch.setattr(_direct, "POSSIBLE", False)
    operand = functools.partial(globals()["operand"], device=device)
    positive = edge == "quotient"
    A, B, D = operand(ROWS, INNER, positive=positive), operand(COLS, INNER, positive=positive), operand(COLS, 2)
    values = (operand(pattern.nnz),) if valued else ()
    check = functools.partial(torch.autograd.gradgradcheck, fast_mode=True)
    used = () if edge == "mask" else values  # nothing depends on the values of a mask
    assert check(lambda a, b, *v: tt.sddmm(pattern, a, b, *v, edge=edge), (A, B, *used))
    assert check(lambda a, b, d, *v: tt.fused(pattern, a, b, d, *v, edge=edge), (A, B, D, *used))
    assert check(lambda a, b, d, *v: tt.fused(pattern, b, a, d, *v, edge=edge, transpose=True), (A, B, operand(ROWS, 2), *used))
    if edge == "scale":
        assert check(lambda d, *v: tt.spmm(pattern, d, *v), (D, *values))
        assert check(lambda a, *v: tt.spmm(pattern, a, *v, transpose=True), (A, *values))
        assert check(lambda x, *v: tt.spmm(pattern, x, *v), (operand(COLS), *values))
        shared = (operand(2, pattern.nnz),) if valued else ()
        assert check(lambda a, b, *v: tt.sddmm(pattern, a, b, *v), (operand(2, ROWS, INNER), B, *shared))
        assert check(lambda d, *v: tt.spmm(pattern, d, *v), (operand(2, COLS, 2), *values))


@registered
def test_first_derivatives_with_a_graph():
    """create_graph=True gives the same first derivatives; those of a mask's values are zeros."""
    pattern = make("csr")
    A, B, values = operand(ROWS, INNER), operand(COLS, INNER), operand(pattern.nnz)
    for edge in EDGES:
        loss = tt.fused(pattern, A, B, B, values, edge=edge).square().sum()
        want = torch.autograd.grad(loss, (A, B, values), retain_graph=True)
        got = torch.autograd.grad(loss, (A, B, values), create_graph=True)
        torch.testing.assert_close(got, want)


@registered
def test_operators_of_derivatives_are_not_differentiated():
    pattern = make("csr")
    B, grad = operand(COLS, INNER), operand(ROWS, INNER)
    sizes = (ROWS, COLS, False, False, [True, False])
    found = torch.ops.tamis.spmm_backward(grad, pattern.index, pattern.columns, None, B, *sizes)[0]
    with pytest.raises(NotImplementedError, match="tamis::spmm_backward has no derivative: .*create_graph=True"):
        found.sum().backward()


@registered
def test_what_watches_sees_operators():
    """The profiler, dispatch modes and forward mode get the operators themselves."""
    from torch.utils._python_dispatch import TorchDispatchMode
    pattern = make("csr")
    A, B = operand(ROWS, INNER), operand(COLS, INNER)
    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    with Watch():
        tt.sddmm(pattern, A, B)
    assert any("tamis.sddmm" in name for name in seen)
    with torch.autograd.profiler.profile() as profile:
        tt.spmm(pattern, B)
    assert any("tamis::spmm" in event.key for event in profile.key_averages())
    assert _direct.plain((A, B))
    with torch.autograd.forward_ad.dual_level():
        assert not _direct.plain((A, B))

    class Mine(torch.Tensor):
        pass

    assert not _direct.plain((A.detach().as_subclass(Mine), B))


def test_a_pattern_changed_in_place_is_checked_again():
    pattern = make("csr")
    A, B = operand(ROWS, INNER), operand(COLS, INNER)
    tt.sddmm(pattern, A, B)
    pattern.columns.copy_((pattern.columns + 1) % COLS)
    torch.testing.assert_close(tt.sddmm(pattern, A, B), sampled(pattern, A @ B.t(), None, "mask"))
    pattern.columns.fill_(COLS)
    with pytest.raises(ValueError, match="column"):
        tt.sddmm(pattern, A, B)


def test_autocast(device):
    pattern = make(device=device)
    A, B = operand(ROWS, INNER, device=device, dtype=torch.float32), operand(COLS, INNER, device=device, dtype=torch.float32)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        out = tt.attention(A, A.new_ones(COLS, INNER, dtype=torch.bfloat16), B, pattern)
    assert out.dtype == torch.bfloat16
    out.sum().backward()
    assert A.grad.dtype == torch.float32


def test_refused():
    pattern = make("csr")
    A, B = torch.ones(ROWS, INNER), torch.ones(COLS, INNER)
    for call, words in (
            (lambda: tt.sddmm(pattern, A, B.double()), r"B is fp64 and the other operands fp32: .*B\.to\(torch\.float32\)"),
            (lambda: tt.sddmm(pattern, A[:-1], B), rf"A has shape .*: expected {ROWS} rows"),
            (lambda: tt.attention(A, B.double(), B, pattern), r"k is fp64 and the other operands fp32: .*k\.to\(torch\.float32\)"),
            (lambda: tt.attention(A, B, B, pattern, bias=torch.ones(3)), "bias has 3 elements"),
            (lambda: tt.sddmm(pattern, A, B, torch.ones(3)), "values has 3 elements"),
            (lambda: tt.sddmm(pattern, A, B, edge="never"), "never"),
            (lambda: tt.sddmm(pattern, A.int(), B.int()), "int32"),
            (lambda: tt.Pattern.from_csr(pattern.index.float(), pattern.columns, (ROWS, COLS)), "expected a tensor of int32 or int64"),
            (lambda: tt.Pattern.from_csr(pattern.index, pattern.columns + COLS, (ROWS, COLS)), "column"),
            (lambda: tt.Pattern.from_coo(pattern.columns, pattern.columns - 1, (COLS, COLS)), "-1"),
            (lambda: tt.Pattern.from_csr(pattern.index[:-1], pattern.columns, (ROWS, COLS)), "elements: expected"),
            (lambda: tt.Pattern.from_edge_index(torch.zeros(3, 2, dtype=torch.int64)), r"expected \(2, edges\)"),
            (lambda: tt.Pattern.from_torch(torch.ones(2, 2)), "to_sparse_csr"),
            (lambda: tamis.sddmm((pattern.index, pattern.columns), A.requires_grad_(), B), r"A requires grad.*tamis.torch.*detach\(\)")):
        with pytest.raises(ValueError, match=words):
            call()
    index, columns = pattern.index, pattern.columns
    for call, words in (
            (lambda: tt.Pattern.from_csr(index, columns, 5), r"shape = 5: expected \(rows, cols\)"),
            (lambda: tt.Pattern.from_csr(torch.tensor(0), columns, (ROWS, COLS)), "rows or offsets have shape .*: expected a vector"),
            (lambda: tt.Pattern.from_edge_index(torch.tensor([[0.0], [float("nan")]])), "edge_index is torch.float32: expected int32 or int64"),
            (lambda: tt.sampled_addmm(torch.eye(3).to_sparse_csr(), torch.ones(3, 2), torch.ones(3, 2)), r"mat1 has .*expected \(3, K\) and \(K, 3\)"),
            (lambda: tt.sampled_addmm(torch.eye(3).to_sparse_csr(), torch.ones(3, 2), torch.ones(2, 3), out=torch.eye(3).flip(0).to_sparse_csr()),
             r"expected the pattern of input, for instance input\.clone\(\)"),
            (lambda: tt.nn.AGNNConv()(pattern, torch.ones(3)), "x has shape .*expected a row of features"),
            (lambda: tt.dglsp.spmatrix(torch.ones(3, 2, dtype=torch.int64)), r"indices has shape \(3, 2\): expected \(2, nnz\)"),
            (lambda: tt.dglsp.bspmm(tt.dglsp.val_like(square, torch.ones(2, 5)), torch.ones(2, 3, 4)), r"A.val has shape \(2, 5\) and X \(2, 3, 4\)")):
        square = tt.dglsp.spmatrix(torch.tensor([[0, 1], [1, 0]]))
        with pytest.raises(ValueError, match=words):
            call()
    for call, words in (
            (lambda: tamis.spmm(pattern, B.detach()), r"S is a tamis\.torch\.Pattern: expected a tamis\.Pattern; the functions of tamis\.torch take it"),
            (lambda: tt.sddmm(pattern, A.detach().numpy(), B), r"A is a ndarray: expected a tensor, for instance torch\.as_tensor\(A\)"),
            (lambda: tt.spmm(pattern, None), "B is a NoneType"), (lambda: tt.fused(pattern, A, B, [1]), "D is a list"),
            (lambda: tt.sddmm(pattern, A, B, [1]), "values is a list"), (lambda: tt.attention(A, None, B, pattern), "k is a NoneType"),
            (lambda: tt.softmax(pattern, None), "values is a NoneType"), (lambda: tt.Pattern.from_edge_index([[0], [1]]), "edge_index is a list"),
            (lambda: tt.Pattern.from_torch([1]), "matrix is a list"), (lambda: tt.nn.AGNNConv()(pattern, A.detach().numpy()), "x is a ndarray"),
            (lambda: tt.dglsp.spmm(A, B), "A is a Tensor: expected a SparseMatrix")):
        with pytest.raises(TypeError, match=words):
            call()
    for call in (lambda: tt.attention(A, B, B, torch.ones(ROWS, COLS)), lambda: tt.spmm(B, pattern), lambda: tt.softmax(B, B),
                 lambda: tt.sddmm(torch.eye(3).to_sparse_csr(), A, B)):
        with pytest.raises(TypeError, match=r"pattern is a Tensor: expected a tamis\.torch\.Pattern, made by Pattern\.from_torch"):
            call()


def test_plain_functions_take_tensors():
    """tamis.sddmm and its like on tensors and sparse tensors: results are tensors."""
    S = (torch.rand(ROWS, COLS) * (torch.rand(ROWS, COLS) < 0.5)).float()
    A, B = torch.randn(ROWS, INNER), torch.randn(COLS, INNER)
    for matrix in (S.to_sparse_csr(), S.to_sparse_coo(), S.to_sparse_csc()):
        P = tamis.sddmm(matrix, A, B)
        assert P.layout is matrix.layout
        torch.testing.assert_close(P.to_dense(), S * (A @ B.t()))
        torch.testing.assert_close(tamis.spmm(matrix, B), S @ B)
        torch.testing.assert_close(tamis.fused(matrix, A, B, B), (S * (A @ B.t())) @ B)
    out, lse = tamis.attention(S.to_sparse_csr(), A, B, B, return_lse=True)
    assert isinstance(out, torch.Tensor) and lse.shape == (ROWS,)
    from torch.nn import Parameter
    with torch.no_grad():
        assert isinstance(tamis.spmm(S.to_sparse_csr(), Parameter(B)), torch.Tensor)


def test_patterns_are_found_by_their_tensors():
    pattern = make("csr")
    assert _kernels.pattern_of(pattern.index, pattern.columns, ROWS, COLS, False) is pattern._checked
    assert _kernels.pattern_of(pattern.index.detach(), pattern.columns, ROWS, COLS, False) is pattern._checked
    pattern.columns.add_(0)  # changed in place: no longer the tensors that were checked
    assert _kernels.pattern_of(pattern.index, pattern.columns, ROWS, COLS, False) is not pattern._checked
    before = len(_kernels._unnamed)
    for _ in range(40):
        columns = pattern.columns.clone()
        _kernels.spmm(pattern.index, columns, None, torch.ones(COLS, 2), ROWS, COLS, False, False)
    assert before <= len(_kernels._unnamed) <= _kernels.MOST_UNNAMED


def test_threads():
    pattern = make("csr")
    A, B = operand(ROWS, INNER), operand(COLS, INNER)
    want = torch.autograd.grad(tt.sddmm(pattern, A, B, edge="exp").sum(), A)[0]
    wrong = []

    def work():
        for _ in range(30):
            a = A.detach().clone().requires_grad_()
            tt.sddmm(pattern, a, B, edge="exp").sum().backward()
            if not torch.equal(a.grad, want):
                wrong.append(a.grad)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


THREADS = """
import os, sys, torch
import tamis, tamis.torch as tt
from tamis._device import described, opened
started = lambda: len(os.listdir("/proc/self/task"))
edges = torch.randint(40000, (2, 200000))
torch.set_num_threads(1)
before = started()
pattern = tt.Pattern.from_edge_index(edges, 40000)
x = torch.ones(40000, 16)
tt.spmm(pattern, x), tt.message(pattern, "copy_u", x), tt.attention(x, x, x, pattern)
assert started() == before, (before, started())
now = lambda: described(opened("cpu").handle).threads
assert now() == 1
torch.set_num_threads(3)
tt.spmm(pattern, x)
assert now() == 3 and "3 threads" in pattern.explain(), pattern.explain()
tamis.set_threads(2)
torch.set_num_threads(1)
tt.spmm(pattern, x), tt.cached_attention(torch.ones(1, 1, 4), torch.ones(1, 1, 3, 4), torch.ones(1, 1, 3, 4), torch.tensor([3]))
assert now() == 2
tamis.set_threads(0)
tt.spmm(pattern, x)
assert now() == 1
edges[0, 150000] = 40000
try:
    tt.Pattern.from_edge_index(edges, 40000)
except ValueError as error:
    assert "columns[150000] = 40000 is not in 0 .. 39999" in str(error), error
else:
    raise AssertionError
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_threads_of_pytorch():
    """torch.set_num_threads holds for calls, plans and checks, until tamis.set_threads says another number. In a process of its own, which has no threads yet."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


# ------------------------------------------------------------------------------ CUDA: streams, graphs, the caching allocator


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
class TestCuda:
    def setup_method(self):
        torch.manual_seed(1)
        self.pattern = make("csr", "cuda")
        self.A = torch.randn(ROWS, INNER, device="cuda", requires_grad=True)
        self.B = torch.randn(COLS, INNER, device="cuda", requires_grad=True)

    def loss(self):
        return tt.attention(self.A, self.B, self.B, self.pattern).square().sum()

    def test_side_streams(self):
        want = torch.autograd.grad(self.loss(), (self.A, self.B))
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            late = self.A.detach() * 1  # made late in this stream: nothing may read it on another one
            late.requires_grad_()
            got = torch.autograd.grad(tt.attention(late, self.B, self.B, self.pattern).square().sum(), (late, self.B))
        stream.synchronize()
        for g, w in zip(got, want):
            torch.testing.assert_close(g, w)

    def test_arrays_that_name_their_stream(self):
        """By __cuda_array_interface__, in streams that do not wait for the default one."""
        class Lent:
            def __init__(self, tensor, stream):
                self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, "stream": stream.cuda_stream, "version": 3}

        A, B = self.A.detach(), self.B.detach()
        S = (self.pattern.index, self.pattern.columns)
        want = tamis.sddmm(S, A, B, edge="mask")
        made, read = torch.cuda.Stream(), torch.cuda.Stream()
        late, out = torch.zeros_like(A), torch.zeros_like(want)
        torch.cuda.synchronize()
        with torch.cuda.stream(made):
            torch.cuda._sleep(50_000_000)
            late.copy_(A)
        tamis.sddmm(S, Lent(late, made), Lent(B, made), edge="mask", out=Lent(out, read))
        with torch.cuda.stream(read):
            got = out.clone()
        with torch.cuda.stream(made):
            late.fill_(float("nan"))
        torch.cuda.synchronize()
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(out, want)

    def test_a_training_step_in_a_graph(self):
        optimizer = torch.optim.SGD([self.A, self.B], lr=0.1)

        def step():
            optimizer.zero_grad(set_to_none=True)
            loss = self.loss()
            loss.backward()
            optimizer.step()
            return loss

        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = step()
        losses = []
        for _ in range(5):
            graph.replay()
            losses.append(loss.item())
        assert losses == sorted(losses, reverse=True) and losses[0] > losses[-1]

    def test_memory_is_the_caching_allocators(self):
        tamis.sddmm((self.pattern.index, self.pattern.columns), self.A.detach(), self.B.detach())
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        for _ in range(20):
            self.loss().backward()
        self.A.grad = self.B.grad = None
        torch.cuda.synchronize()
        assert torch.cuda.memory_allocated() - before < 2**20

    def test_mixed_devices_are_refused(self):
        with pytest.raises(ValueError, match="B is on cpu and S on cuda:0"):
            tt.sddmm(self.pattern, self.A, self.B.detach().cpu())
