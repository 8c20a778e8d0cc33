"""Edges that are expressions of tensors: arrays and numbers with gradients, softmax, scores of attention, beside what PyTorch computes; and functions in place
of texts."""
from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402

import tamis  # noqa: E402
import tamis.torch as tt  # noqa: E402

N, HEADS, WIDTH = 7, 3, 4
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"))]


@pytest.fixture(params=DEVICES)
def device(request):
    return torch.device(request.param)


def drawn(*shape, device="cpu", dtype=torch.float64):
    return torch.randn(shape, dtype=dtype).to(device).requires_grad_()


def make(device, rows=N, cols=N + 2):
    """A pattern with an empty row, and the rows and columns of its places."""
    torch.manual_seed(5)
    full = torch.rand(rows, cols) < 0.5
    full[2] = False
    pattern = tt.Pattern.from_csr(torch.nn.functional.pad(full.sum(1).cumsum(0), (1, 0)).to(device), full.nonzero()[:, 1].to(device), (rows, cols))
    return pattern, torch.repeat_interleave(torch.arange(rows, device=device), pattern.index.diff()), pattern.columns


def agree(found, want, operands):
    """Values and gradients agree."""
    torch.testing.assert_close(found, want)
    weights = torch.cos(torch.arange(found.numel(), dtype=found.dtype, device=found.device)).reshape(found.shape)
    for one, other in zip(torch.autograd.grad((found * weights).sum(), operands), torch.autograd.grad((want * weights).sum(), operands, retain_graph=True)):
        torch.testing.assert_close(one, other)


def attended(q, k, v, mask, score):
    """Attention with scores that a function makes of x, i and j, densely."""
    i, j = torch.arange(q.shape[-2], device=q.device)[:, None], torch.arange(k.shape[-2], device=q.device)
    scores = score(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), i, j).masked_fill(~mask, -math.inf)
    return torch.nan_to_num(scores.softmax(-1)) @ v


# --------------------------------------------------------------------------- arrays and numbers


@pytest.mark.parametrize("batch", [(), (2,), (2, HEADS)])
def test_arrays_and_numbers_have_gradients(batch, device):
    pattern, i, j = make(device)
    A, B = drawn(*batch, N, WIDTH, device=device), drawn(*batch, N + 2, WIDTH, device=device)
    t, b, c = drawn(device=device), drawn(N, device=device), drawn(*batch, N + 2, device=device)
    e, g = drawn(*batch[1:], pattern.nnz, device=device), drawn(*batch[1:], device=device)
    x = (A[..., i, :] * B[..., j, :]).sum(-1)
    want = torch.tanh(x * t) * b[i] + c[..., j] * e.square() + g[..., None] * (j - i)
    found = tt.sddmm(pattern, A, B, edge="tanh(x * t) * row.b + col.c * entry.e * entry.e + head.g * (j - i)",
                     numbers={"t": t, "row.b": b, "col.c": c, "entry.e": e, "head.g": g})
    agree(found, want, [A, B, t, b, c, e, g])


@pytest.mark.parametrize("transpose", [False, True])
def test_fused_and_softmax_have_gradients(transpose, device):
    pattern, i, j = make(device)
    rows, cols = (N + 2, N) if transpose else (N, N + 2)
    A, B, D = drawn(2, rows, WIDTH, device=device), drawn(2, cols, WIDTH, device=device), drawn(2, cols, 3, device=device)
    values, t, b = drawn(pattern.nnz, device=device), drawn(device=device), drawn(rows, device=device)
    i, j = (j, i) if transpose else (i, j)
    y = (A[:, i] * B[:, j]).sum(-1) * t + b[i] * values
    scores = torch.full((2, rows, cols), -math.inf, dtype=torch.float64, device=device).index_put((torch.arange(2, device=device)[:, None], i, j), y)
    found = tt.fused(pattern, A, B, D, values, edge="softmax(x * t + row.b * s)", numbers={"t": t, "row.b": b}, transpose=transpose)
    agree(found, torch.nan_to_num(scores.softmax(-1)) @ D, [A, B, D, values, t, b])


def test_gradients_by_finite_differences(device):
    pattern, _, _ = make(device)
    operands = [drawn(*shape, device=device) for shape in ((N, WIDTH), (N + 2, WIDTH), (), (N,), (N + 2,), (pattern.nnz,))]

    def call(A, B, t, b, c, e):
        return tt.sddmm(pattern, A, B, edge="softmax(sigmoid(x * t) * row.b + col.c * entry.e)", numbers={"t": t, "row.b": b, "col.c": c, "entry.e": e})

    assert torch.autograd.gradcheck(call, operands)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_types(dtype, device):
    """Arrays have the operands' type or fp32, and so do their gradients."""
    pattern, i, j = make(device)
    A, B = drawn(N, WIDTH, dtype=dtype, device=device), drawn(N + 2, WIDTH, dtype=dtype, device=device)
    b, c = drawn(N, dtype=dtype, device=device), drawn(N + 2, dtype=torch.float32, device=device)
    found = tt.fused(pattern, A, B, B, edge="x * row.b + col.c", numbers={"row.b": b, "col.c": c})
    assert found.dtype == dtype
    found.float().sum().backward()
    assert (b.grad.dtype, c.grad.dtype) == (dtype, torch.float32)
    sums = B.detach().float().sum(-1)
    torch.testing.assert_close(c.grad, torch.zeros(N + 2, device=device).index_add(0, j, sums[j]), rtol=1e-2, atol=1e-2)


def test_numbers_change_without_new_plans(device):
    pattern, _, _ = make(device)
    A, B = drawn(N, WIDTH, device=device), drawn(N + 2, WIDTH, device=device)
    x = tt.sddmm(pattern, A, B, edge="mask")
    for value in (0.5, 2.0, -3.0):
        torch.testing.assert_close(tt.sddmm(pattern, A, B, edge="x * t", numbers={"t": torch.tensor(value, dtype=torch.float64, device=device)}), value * x)
    assert pattern._current().explain().count("edge x * t") == 1


def test_what_is_refused(device):
    pattern, _, _ = make(device)
    A, B, b = drawn(N, WIDTH, device=device), drawn(N + 2, WIDTH, device=device), drawn(N, device=device)

    def call(numbers, edge="x * row.b"):
        return tt.sddmm(pattern, A, B, edge=edge, numbers=numbers)

    for numbers, edge, words in (({"row.b": b[:3]}, "x * row.b", r"row.b has shape \(3,\): expected \(7,\)"), ({"row.b": b.float()}, "x * row.b", "row.b is torch.float32: expected torch.float64"),
                                 ({"row.b": 2.0}, "x * row.b", "expected an array, one number for each row"), (None, "x * row.b", "have no 'row.b'"),
                                 ({"row.b": b}, "x", "reads no array of that name"), ({"row.b": b}, "x + softmax(row.b)", "softmax is the last step"),
                                 ({"t": b}, "x * t", r"t has shape \(7,\): expected one number")):
        with pytest.raises(ValueError, match=words):
            call(numbers, edge)
    for numbers, edge, words in (({"row.c": b}, "x * row.b", "no array of that name|which the edge.s text reads"), ({"row.b": b}, "x * tahn(row.b)", "unknown name 'tahn'")):
        with pytest.raises(ValueError, match=words):
            torch.func.vmap(lambda a: call(numbers, edge))(A[None])


@pytest.mark.parametrize("text", ["x * row.r + col.c * entry.e * s + head.h * t", "softmax(x / t + entry.e + head.h * row.r * (i - j) + col.c)"])
def test_derivatives_of_any_order_in_both_modes(text, device):
    pattern, _, _ = make(device)
    rows, cols = pattern.shape
    A, B, D, values = (drawn(2, rows, WIDTH, device=device), drawn(2, cols, WIDTH, device=device), drawn(2, cols, 2, device=device), drawn(pattern.nnz, device=device))
    for transpose in (False, True):
        ends = (B, A, drawn(2, rows, 2, device=device)) if transpose else (A, B, D)
        out, other = (cols, rows) if transpose else (rows, cols)
        arrays = {"row.r": drawn(out, device=device), "col.c": drawn(2, other, device=device), "entry.e": drawn(pattern.nnz, device=device),
                  "head.h": drawn(2, device=device), "t": torch.tensor(1.3, dtype=torch.float64, device=device).requires_grad_()}

        def call(values, *tensors, transpose=transpose, names=tuple(arrays)):
            return tt.fused(pattern, *tensors[:3], values, edge=text, numbers=dict(zip(names, tensors[3:])), transpose=transpose)

        given = (values, *ends, *arrays.values())
        assert torch.autograd.gradcheck(call, given, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(call, given)
        torch.testing.assert_close(torch.func.vmap(lambda v, call=call, given=given: call(v, *given[1:]))(torch.stack([values, 2 * values])),
                                   torch.stack([call(values, *given[1:]), call(2 * values, *given[1:])]))


@pytest.mark.parametrize("text", ["x * x * (h + 1) * s * w", "softmax(x * x * (h + 1) + s) "])
@pytest.mark.parametrize("batched", range(4))
def test_any_operand_alone_may_have_the_batch(batched, text, device):
    pattern, _, _ = make(device)
    rows, cols = pattern.shape
    shapes = [(rows, WIDTH), (cols, WIDTH), (cols, 2), (pattern.nnz,)]
    given = [drawn(*([2] * (place == batched)), *shape, device=device) for place, shape in enumerate(shapes)]
    for named in ({}, {"w": drawn(2, device=device)}) if " w" in text else ({},):
        numbers = {**({"w": 0.7} if " w" in text else {}), **named}

        def call(*tensors, numbers=numbers, names=tuple(named)):
            return tt.fused(pattern, *tensors[:4], edge=text, numbers={**numbers, **dict(zip(names, tensors[4:]))} or None)

        operands = (*given, *named.values())
        assert torch.autograd.gradcheck(call, operands)  # by the library
        found = call(*operands)
        weights = torch.linspace(-1, 1, found.numel(), dtype=found.dtype, device=device).reshape(found.shape)
        want = torch.autograd.grad((found * weights).sum(), operands)
        for one, other in zip(torch.autograd.grad((call(*operands) * weights).sum(), operands, create_graph=True), want):
            torch.testing.assert_close(one, other)
        changes = tuple(torch.cos(x.detach()) for x in operands)
        out, change = torch.func.jvp(call, tuple(x.detach() for x in operands), changes)
        torch.testing.assert_close(out, found.detach())
        torch.testing.assert_close((change * weights).sum(), sum((x * y).sum() for x, y in zip(want, changes)))
    if batched != 2:
        A, B, _, values = given
        samples = tt.sddmm(pattern, A, B, values, edge="x * x * (h + 1)")
        assert samples.shape == ((2, pattern.nnz) if batched != 2 else (pattern.nnz,))
        by = torch.autograd.grad(samples.pow(2).sum(), A, retain_graph=True)
        torch.testing.assert_close(torch.autograd.grad(samples.pow(2).sum(), A, create_graph=True), by)


def test_a_branch_that_is_not_taken(device):
    """Its derivatives may be infinite, as a root's at 0; PyTorch's own would be NaN. And texts with lines and leading zeros."""
    pattern, _, _ = make(device)
    A, B, w = drawn(N, WIDTH, device=device), drawn(N + 2, WIDTH, device=device), drawn(N, device=device)
    for numbers, text in (({"row.w": w}, "where(x > 0,\n sqrt(x), 0) * row.w"), (None, "where(x > 00, sqrt(x),\r\n 0)")):
        def call(A, numbers=numbers, text=text):
            return tt.sddmm(pattern, A, B, edge=text, numbers=numbers)

        want, = torch.autograd.grad(call(A).sum(), A)
        again, = torch.autograd.grad(call(A).sum(), A, create_graph=True)
        torch.testing.assert_close(again, want)
        torch.testing.assert_close(torch.func.grad(lambda A: call(A).sum())(A), want)
        assert torch.isfinite(torch.autograd.grad(again.sum(), A)[0]).all() and torch.isfinite(want).all()


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_in_one_graph(dynamic, device):
    pattern, _, _ = make(device)
    rows, cols = pattern.shape
    given = [drawn(2, rows, WIDTH, device=device), drawn(2, cols, WIDTH, device=device), drawn(2, cols, 2, device=device), drawn(rows, device=device),
             drawn(2, device=device), torch.tensor(1.3, device=device, requires_grad=True)]

    def call(A, B, D, r, h, t):
        return 2 * tt.fused(pattern, A, B, D, edge="softmax(x / t + row.r * head.h * (i - j))", numbers={"row.r": r, "head.h": h, "t": t})

    torch.compiler.reset()
    found, want = torch.compile(call, backend="aot_eager", fullgraph=True, dynamic=dynamic)(*given), call(*given)
    torch.testing.assert_close(found, want)
    for one, other in zip(torch.autograd.grad(found.pow(2).sum(), given), torch.autograd.grad(want.pow(2).sum(), given)):
        torch.testing.assert_close(one, other)
    torch.compiler.reset()
    causal, q = tt.Pattern.causal(N, device=device), torch.randn(2, N, WIDTH, device=device)
    capped = torch.compile(lambda q, cap: tt.attention(q, q, q, causal, softcap=cap), backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for cap in (1.5, 0.5, 3.0):
        torch.testing.assert_close(capped(q, cap), tt.attention(q, q, q, causal, softcap=cap))


# --------------------------------------------------------------------------- scores of attention, and other examples


def test_soft_cap_and_alibi_of_learned_slopes(device):
    pattern, mask = tt.Pattern.causal(N, device=device), torch.ones(N, N, dtype=torch.bool, device=device).tril()
    q, k, v = (drawn(2, HEADS, N, WIDTH, device=device) for _ in range(3))
    cap, slope = torch.tensor(0.5, dtype=torch.float64, device=device, requires_grad=True), drawn(HEADS, device=device)
    found = tt.attention(q, k, v, pattern, score="tanh(x / cap) * cap + head.slope * (j - i)", numbers={"cap": cap, "head.slope": slope})
    agree(found, attended(q, k, v, mask, lambda x, i, j: torch.tanh(x / cap) * cap + slope[:, None, None] * (j - i)), [q, k, v, cap, slope])


def test_alibi_by_the_head(device):
    """The number of the head is that of the last leading dimension."""
    pattern, mask = tt.Pattern.causal(N, device=device), torch.ones(N, N, dtype=torch.bool, device=device).tril()
    q, k, v = (drawn(2, HEADS, N, WIDTH, device=device) for _ in range(3))
    slopes = 0.5 ** torch.arange(1, HEADS + 1, dtype=torch.float64, device=device)
    want = attended(q, k, v, mask, lambda x, i, j: x - slopes[:, None, None] * (i - j))
    agree(tt.attention(q, k, v, pattern, score="x - pow(2, -h - 1) * (i - j)"), want, [q, k, v])
    torch.testing.assert_close(tt.attention(q, k, v, pattern, score=lambda x, i, j, h: x - 0.5 ** (h + 1) * (i - j)), want)
    torch.testing.assert_close(tt.attention(q, k, v, [pattern, pattern], score="x - pow(2, -h - 1) * (i - j)"), want)


def test_relative_positions_from_a_table(device):
    """T5's bias: a learned number for each head and bucket of distances, gathered for each place."""
    pattern, i, j = make(device, N, N)
    q, k, v, table = *(drawn(HEADS, N, WIDTH, device=device) for _ in range(3)), drawn(5, HEADS, device=device)
    bucket = torch.log2(1 + (i - j).abs().double()).floor().long()
    mask = torch.zeros(N, N, dtype=torch.bool, device=device).index_put((i, j), torch.tensor(True, device=device))
    full = torch.zeros(HEADS, N, N, dtype=torch.float64, device=device).index_put((torch.arange(HEADS, device=device)[:, None], i, j), table[bucket].T)
    found = tt.attention(q, k, v, pattern, score="x + entry.bias", numbers={"entry.bias": table[bucket].T})
    agree(found, attended(q, k, v, mask, lambda x, _, __: x + full), [q, k, v, table])


def test_other_arguments_of_attention_with_scores(device):
    pattern, i, j = make(device, N, N)
    mask = torch.zeros(N, N, dtype=torch.bool, device=device).index_put((i, j), torch.tensor(True, device=device))
    q, k, v, bias, sinks = *(drawn(2, HEADS, N, WIDTH, device=device) for _ in range(3)), drawn(HEADS, pattern.nnz, device=device), drawn(HEADS, device=device)
    full = torch.zeros(HEADS, N, N, dtype=torch.float64, device=device).index_put((torch.arange(HEADS, device=device)[:, None], i, j), bias)
    gelu = torch.nn.functional.gelu
    agree(tt.attention(q, k, v, pattern, bias=bias, score="gelu(x)"), attended(q, k, v, mask, lambda x, _, __: gelu(x) + full), [q, k, v, bias])
    agree(tt.attention(q, k, v, pattern, bias=bias, score="gelu(x) * s"), attended(q, k, v, mask, lambda x, _, __: gelu(x) * full), [q, k, v, bias])
    shared = tt.attention(q, k[:, :1], v[:, :1], pattern, score="x - i", enable_gqa=True)
    torch.testing.assert_close(shared, attended(q, k[:, :1], v[:, :1], mask, lambda x, i, _: x - i))
    scores = (gelu(q @ k.transpose(-1, -2) / 2)).masked_fill(~mask, -math.inf)
    out, sums = tt.attention(q, k, v, pattern, score="gelu(x)", return_lse=True)
    torch.testing.assert_close(sums, scores.logsumexp(-1))
    torch.testing.assert_close(out, attended(q, k, v, mask, lambda x, _, __: gelu(x)))
    weights = torch.cat([scores, sinks[:, None, None].expand(2, HEADS, N, 1)], -1).softmax(-1)[..., :-1]
    torch.testing.assert_close(tt.attention(q, k, v, pattern, score="gelu(x)", sinks=sinks), weights @ v)
    for given, words in (({"softcap": 3.0}, "softcap = 3.0 and score are given"), ({"score": "x + s"}, "reads s, the bias"),
                         ({"score": "softmax(x)"}, "attention takes the softmax of the scores itself"), ({"score": None, "numbers": {"a": 1}}, "only score names numbers")):
        with pytest.raises(ValueError, match=words):
            tt.attention(q, k, v, pattern, **{"score": "x", **given})
    with pytest.raises(TypeError, match="score is a int"):
        tt.attention(q, k, v, pattern, score=3)


def test_members_of_v_alone_are_those_of_scores(device):
    """The score reads h, and a tensor in 16 bits, with and without what is computed in steps; a scale is no name of the caller's."""
    pattern, i, j = make(device, N, N)
    q, k, v, gain = drawn(N, WIDTH, device=device), drawn(N, WIDTH, device=device), drawn(3, N, WIDTH, device=device), drawn(3, device=device)
    out, _ = tt.attention(q, k, v, pattern, score="x * (h + 1) + head.g", numbers={"head.g": gain}, return_lse=True)
    torch.testing.assert_close(out, tt.attention(q, k, v, pattern, score="x * (h + 1) + head.g", numbers={"head.g": gain}))
    q, k, v, gain = (x.to(torch.bfloat16) for x in (q, k, v, gain))
    out, _ = tt.attention(q, k, v, pattern, score="x * head.g", numbers={"head.g": gain}, return_lse=True)
    torch.testing.assert_close(out, tt.attention(q, k, v, pattern, score="x * head.g", numbers={"head.g": gain}), atol=0.03, rtol=0.03)
    with pytest.raises(ValueError, match="reads h or arrays, and pattern is a list"):
        tt.attention(v, v, v, [pattern] * 3, score="x * h")
    batch = drawn(2, 3, N, WIDTH, device=device)
    with pytest.raises(ValueError, match="its leading dimensions differ"):
        tt.sddmm(pattern, batch, drawn(3, 2, N, WIDTH, device=device), edge="x * t", numbers={"t": torch.tensor(2.0, dtype=torch.float64, device=device)})
    x = drawn(N, WIDTH, device=device)
    torch.testing.assert_close(tt.sddmm(pattern, x, x, edge="x * t", numbers={"t": torch.tensor(2)}), tt.sddmm(pattern, x, x, edge="x * 2"))


def test_radial_function_with_learned_width(device):
    """Weights exp(-|p_i - p_j|^2 / w) of neighbours in space, as sums over them: |p_i|^2 and |p_j|^2 are arrays of rows and columns."""
    pattern, i, j = make(device)
    p, q, h, w = drawn(N, 3, device=device), drawn(N + 2, 3, device=device), drawn(N + 2, 5, device=device), torch.tensor(1.5, dtype=torch.float64, device=device, requires_grad=True)
    found = tt.fused(pattern, p, q, h, edge="exp((2 * x - row.size - col.size) / w)",
                     numbers={"row.size": p.square().sum(-1), "col.size": q.square().sum(-1), "w": w})
    weights = torch.zeros(N, N + 2, dtype=torch.float64, device=device).index_put((i, j), torch.exp(-(p[i] - q[j]).square().sum(-1) / w))
    agree(found, weights @ h, [p, q, h, w])


def test_a_temperature_is_learned(device):
    """Descent finds the temperature with which weights were made."""
    pattern, _, _ = make(device)
    A, B = drawn(N, WIDTH, device=device).detach(), drawn(N + 2, WIDTH, device=device).detach()
    want = tt.sddmm(pattern, A, B, edge="softmax(x / t)", numbers={"t": 2.5})
    t = torch.nn.Parameter(torch.tensor(1.0, dtype=torch.float64, device=device))
    optimiser = torch.optim.Adam([t], lr=0.1)
    for _ in range(200):
        optimiser.zero_grad()
        (tt.sddmm(pattern, A, B, edge="softmax(x / t)", numbers={"t": t}) - want).square().sum().backward()
        optimiser.step()
    assert abs(t.item() - 2.5) < 1e-2


# --------------------------------------------------------------------------- functions in place of texts

SLOPE = 0.25
TEXTS = [
    (lambda x, i, j: x - SLOPE * (i - j), "x - 0.25 * (i - j)", None),
    (lambda x, cap: np.tanh(x / cap) * cap, "tanh(x / cap) * cap", {"cap": 0.5}),
    (lambda x, s: torch.where(x > s, torch.nn.functional.gelu(x), -torch.nn.functional.leaky_relu(s)), "where(x > s, gelu(x), -leaky_relu(s))", None),
    (lambda x: abs(x) ** 1.5 + np.maximum(x, 0.5) + 2 / (1 + x * x), "pow(abs(x), 1.5) + max(x, 0.5) + 2 / (1 + x * x)", None),
    (lambda x, i: -x + (i // 2) + i % 3, "-x + floor(i / 2) + i - 3 * floor(i / 3)", None),
    (lambda x, i, j: np.float32(0.5) * torch.sigmoid(x) + np.where(i >= j, 0, 1e-7), "0.5 * sigmoid(x) + where(i >= j, 0, 1e-7)", None),
]


@pytest.mark.parametrize("function, text, numbers", TEXTS)
def test_functions_are_their_texts(function, text, numbers):
    pattern, _, _ = make("cpu")
    A, B = drawn(N, WIDTH), drawn(N + 2, WIDTH)
    torch.testing.assert_close(tt.sddmm(pattern, A, B, edge=function, numbers=numbers), tt.sddmm(pattern, A, B, edge=text, numbers=numbers), rtol=1e-12, atol=1e-12)
    found = tamis.sddmm(tamis.Pattern.causal(N), A.detach().numpy(), A.detach().numpy(), edge=function, numbers=numbers)
    np.testing.assert_allclose(found, tamis.sddmm(tamis.Pattern.causal(N), A.detach().numpy(), A.detach().numpy(), edge=text, numbers=numbers), rtol=1e-12, atol=1e-12)


def test_functions_of_arrays_and_of_what_changes():
    pattern, i, _ = make("cpu")
    A, B, b = drawn(N, WIDTH), drawn(N + 2, WIDTH), drawn(N)
    x = tt.sddmm(pattern, A, B, edge="mask")
    torch.testing.assert_close(tt.sddmm(pattern, A, B, edge=lambda x, row: x * row.b, numbers={"row.b": b}), x * b[i])
    for factor in (2.0, 3.0):  # a function is written down in each call
        torch.testing.assert_close(tt.sddmm(pattern, A, B, edge=lambda x: x * factor), x * factor)


@pytest.mark.parametrize("function, words", [
    (lambda x: x if x > 0 else 0, "no truth value"), (lambda x: math.tanh(x), "functions of numpy or torch"), (lambda x: x * torch.ones(3), "expected a number"),
    (lambda x: torch.ones(3) * x, "expected a number"), (lambda x: np.ones(3) * x, "expected a number"), (lambda *x: x[0], "expected parameters by name"),
    (lambda x: np.sin(x), "sin of 1 operands is not in the language"), (lambda x: x if 0 < x < 1 else x, "no truth value"),
    (lambda x: torch.nn.functional.gelu(x, approximate="tanh"), "expected its operands alone"), (lambda x: np.add.reduce(x), "a call of the function alone")])
def test_functions_that_are_no_texts(function, words):
    with pytest.raises(TypeError, match=words):
        tt.sddmm(tt.Pattern.causal(3), drawn(3, 2), drawn(3, 2), edge=function)


@pytest.mark.skipif(not hasattr(torch.library, "register_fake"), reason="operators are registered from PyTorch 2.4")
def test_compiled_code_has_texts_alone():
    """What a function refers to may change after it was compiled."""
    pattern, A, B = tt.Pattern.causal(3), drawn(3, 2), drawn(3, 2)
    expected = tt.sddmm(pattern, A, B, edge="x * 2")
    torch.testing.assert_close(torch.compile(lambda A, B: tt.sddmm(pattern, A, B, edge=lambda x: x * 2), backend="eager")(A, B), expected)
    with pytest.raises(Exception, match="compiled code takes the expression as a text|Unsupported|raise"):
        torch.compile(lambda A, B: tt.sddmm(pattern, A, B, edge=lambda x: x * 2), backend="eager", fullgraph=True)(A, B)
