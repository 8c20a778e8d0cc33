"""The attention that models call: views of one projection, shared keys, biases, dropout, sums, patterns of members, masks of flex_attention."""
from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

import tamis  # noqa: E402
import tamis.torch as tt  # noqa: E402
from tamis.torch import Pattern  # noqa: E402


def masked(shape, seed=0, share=0.4):
    """A random mask in which the second row is empty, and its pattern."""
    made = torch.Generator().manual_seed(seed)
    mask = torch.rand(shape, generator=made) < share
    mask[1] = False
    mask[0, 0] = True
    return mask, Pattern.from_torch(mask)


def dense(q, k, v, mask, bias=None, scale=None):
    """The same in double, where `bias` is a tensor of the mask's entries; the result and the sums."""
    q, k, v = q.double(), k.double(), v.double()
    scores = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if bias is not None:
        scores = scores + torch.zeros(*bias.shape[:-1], *mask.shape, dtype=torch.double).masked_scatter(mask.expand(*bias.shape[:-1], *mask.shape), bias.double())
    scores = scores.masked_fill(~mask, -math.inf)
    sums = torch.logsumexp(scores, -1)
    return torch.nan_to_num(torch.softmax(scores, -1)) @ v, sums


def near(found, wanted, much=2e-5):
    torch.testing.assert_close(found.double(), wanted.double(), rtol=much, atol=much)


def projection(members=2, length=7, heads=4, width=8, parts=3):
    """What a model's one projection gives, of which q, k and v are views."""
    return torch.randn(members, length, parts, heads, width, generator=torch.Generator().manual_seed(1))


def test_numpy_takes_uneven_batches_and_values_of_fewer_dimensions():
    import numpy
    mask, pattern = masked((7, 7))
    q, k, v = projection().permute(2, 0, 3, 1, 4).numpy()
    bias = numpy.random.default_rng(0).random((4, pattern.nnz), dtype="float32")
    found, sums = tamis.attention(tamis.Pattern((pattern.index.numpy(), pattern.columns.numpy()), shape=(7, 7)), q, k, v,
                                  bias=bias, return_lse=True)
    wanted, lse = dense(*map(torch.from_numpy, (q, k, v)), mask, torch.from_numpy(bias))
    near(torch.from_numpy(found), wanted)
    near(torch.from_numpy(sums), lse)


@pytest.mark.parametrize("shared", [1, 2, 4])
def test_heads_of_queries_share_keys(shared):
    mask, pattern = masked((7, 6))
    q, k, v = torch.randn(2, 4, 7, 8), torch.randn(2, shared, 6, 8), torch.randn(2, shared, 6, 5)
    wanted = dense(q, *(x.repeat_interleave(4 // shared, 1) for x in (k, v)), mask)
    for one, other in zip(tt.attention(q, k, v, pattern, enable_gqa=True, return_lse=True), wanted):
        near(one, other)
    with pytest.raises(tamis.ArgumentError, match="q has 3 heads, k 2 and v 2"):
        tt.attention(q[:, :3], torch.randn(2, 2, 6, 8), torch.randn(2, 2, 6, 5), pattern, enable_gqa=True)


@pytest.mark.parametrize("shape", [(4,), (), (2, 1), (2, 4)])
def test_sinks_take_part_in_each_softmax(shape):
    mask, pattern = masked((7, 6))
    x = [torch.randn(size, dtype=torch.double, requires_grad=True) for size in ((2, 4, 7, 8), (2, 2, 6, 8), (2, 2, 6, 5), shape)]
    q, k, v, sinks = x
    weights = torch.randn(2, 4, 7, 5, dtype=torch.double), torch.randn(2, 4, 7, dtype=torch.double)

    def loss(out, lse):
        return (out * weights[0]).sum() + (lse * weights[1]).sum()

    found = tt.attention(q, k, v, pattern, enable_gqa=True, sinks=sinks, return_lse=True)
    scores = (q @ k.repeat_interleave(2, 1).mT / 8 ** 0.5).masked_fill(~mask, -math.inf)
    column = sinks.expand(2, 4)[..., None, None].expand(2, 4, 7, 1)  # one more column, whose row of v is zeros
    all_scores = torch.cat([scores, column], -1)
    wanted = torch.softmax(all_scores, -1)[..., :-1] @ v.repeat_interleave(2, 1), torch.logsumexp(all_scores, -1)
    for one, other in zip(found, wanted):
        near(one, other, 1e-12)
    for one, other in zip(torch.autograd.grad(loss(*found), x), torch.autograd.grad(loss(*wanted), x)):
        near(one, other, 1e-11)
    assert torch.equal(tt.attention(q, k, v, pattern, enable_gqa=True, sinks=sinks), found[0])
    near(tt.attention(q, k, v, [pattern, pattern], enable_gqa=True, sinks=sinks), found[0], 1e-12)
    with pytest.raises(tamis.ArgumentError, match=r"sinks have shape \(3,\): expected what broadcasts to \(2, 4\)"):
        tt.attention(q, k, v, pattern, enable_gqa=True, sinks=torch.zeros(3))


def test_a_sink_that_is_off_and_16_bits():
    mask, pattern = masked((7, 6))
    q, k, v = torch.randn(4, 7, 8), torch.randn(4, 6, 8), torch.randn(4, 6, 5)
    near(tt.attention(q, k, v, pattern, sinks=torch.full((4,), -math.inf)), dense(q, k, v, mask)[0])
    large = 200 * q.half(), 200 * k.half()  # dot products that fp16 does not hold
    found = tt.attention(*large, v.half(), pattern, softcap=5.0)
    scores = (5 * torch.tanh(large[0].double() @ large[1].double().mT / 8 ** 0.5 / 5)).masked_fill(~mask, -math.inf)
    assert found.dtype is torch.float16
    near(found, torch.nan_to_num(torch.softmax(scores, -1)) @ v.half().double(), 2e-3)


def test_a_number_of_each_query_head_with_shared_keys():
    _, pattern = masked((7, 6))
    q, k, v, t = torch.randn(4, 7, 8), torch.randn(2, 6, 8), torch.randn(2, 6, 5), torch.rand(4) + 0.5
    found = tt.attention(q, k, v, pattern, enable_gqa=True, score="x * t", numbers={"t": t})
    near(found, torch.stack([tt.attention(q[h], k[h // 2], v[h // 2], pattern, score="x * t", numbers={"t": float(t[h])}) for h in range(4)]), 1e-5)


@pytest.mark.parametrize("more", [{}, {"dropout_p": 0.0, "return_lse": True}, {"bias": True}, {"sinks": True}])
def test_scores_are_capped(more):
    mask, pattern = masked((7, 6))
    q, k, v = x = [torch.randn(size, dtype=torch.double, requires_grad=True) for size in ((2, 4, 7, 8), (2, 2, 6, 8), (2, 2, 6, 5))]
    given = {name: torch.randn(pattern.nnz if name == "bias" else 4, dtype=torch.double) if value is True and name != "return_lse" else value
             for name, value in more.items()}
    found = tt.attention(q, k, v, pattern, enable_gqa=True, softcap=0.7, scale=0.9, **given)
    scores = 0.7 * torch.tanh(0.9 * q @ k.repeat_interleave(2, 1).mT / 0.7)
    if "bias" in given:
        scores = scores + torch.zeros(7, 6, dtype=torch.double).masked_scatter(mask, given["bias"])
    scores = scores.masked_fill(~mask, -math.inf)
    column = given["sinks"][:, None, None].expand(2, 4, 7, 1) if "sinks" in given else scores[..., :0]
    wanted = torch.nan_to_num(torch.softmax(torch.cat([scores, column], -1), -1))[..., :6] @ v.repeat_interleave(2, 1)
    out = found[0] if "return_lse" in given else found
    near(out, wanted, 1e-12)
    if "return_lse" in given:
        near(found[1], torch.logsumexp(scores, -1), 1e-12)
    for one, other in zip(torch.autograd.grad(out.square().sum(), x), torch.autograd.grad(wanted.square().sum(), x)):
        near(torch.nan_to_num(one), torch.nan_to_num(other), 1e-11)
    cap = torch.tensor(0.7, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda cap: tt.attention(q, k, v, pattern, enable_gqa=True, softcap=cap), cap)
    with pytest.raises(tamis.ArgumentError, match="softcap = 0: expected a positive number"):
        tt.attention(q, k, v, pattern, enable_gqa=True, softcap=0)


def test_compiled_and_transformed_as_called():
    pattern = Pattern.causal(8)

    def model(x, k):
        q, _, v = x.permute(2, 0, 3, 1, 4)
        out, sums = tt.attention(q, k, v[:, :2], pattern, enable_gqa=True, return_lse=True)
        return out.sum() + (sums ** 2).sum()

    x, k = projection(length=8), torch.randn(2, 2, 8, 8)
    plain = torch.func.grad(model)(x, k)
    near(torch.compile(torch.func.grad(model), fullgraph=True, backend="aot_eager")(x, k), plain)
    x.requires_grad_()
    near(torch.autograd.grad(torch.compile(model, fullgraph=True, backend="aot_eager")(x, k), x)[0], plain)
    near(torch.func.vmap(lambda q: tt.attention(q, q, q, pattern, return_lse=True)[1])(k), tt.attention(k, k, k, pattern, return_lse=True)[1])


def test_dropout_leaves_out_weights_and_scales_the_rest():
    pattern = Pattern.from_torch(torch.ones(64, 64, dtype=torch.bool))
    q, v = torch.zeros(64, 4), torch.eye(64)
    torch.manual_seed(0)
    out = tt.attention(q, q, v, pattern, dropout_p=0.25)
    kept = out != 0
    assert 0.7 < kept.float().mean() < 0.8  # 4,096 draws: 7 standard deviations
    near(out[kept], torch.full((int(kept.sum()),), 1 / 64 / 0.75))
    assert torch.equal(tt.attention(q, q, v, pattern, dropout_p=1.0), torch.zeros(64, 64))
    assert torch.equal(tt.attention(q, q, v, pattern, dropout_p=0.0), tt.attention(q, q, v, pattern))
    with pytest.raises(tamis.ArgumentError, match="dropout_p = 1.5"):
        tt.attention(q, q, v, pattern, dropout_p=1.5)


def test_each_member_has_a_pattern_of_its_own():
    masks = [masked((5, 5), seed) for seed in (1, 2, 3)]
    tensors = [torch.randn(3, 2, 5, 4, requires_grad=True) for _ in range(3)]
    found, wanted = tt.attention(*tensors, [pattern for _, pattern in masks]), torch.stack([dense(*(x[i] for x in tensors), masks[i][0])[0] for i in range(3)])
    near(found, wanted)
    for one, other in zip(*(torch.autograd.grad(out.sin().sum(), tensors) for out in (found, wanted))):
        near(one, other)
    with pytest.raises(tamis.ArgumentError, match="2 patterns for q of shape"):
        tt.attention(*tensors, [pattern for _, pattern in masks[:2]])
    stacked = Pattern.stack([pattern for _, pattern in masks])
    flat = [x[:, 0].reshape(15, 4) for x in tensors]
    near(tt.attention(*flat, stacked), dense(*flat, torch.block_diag(*[mask for mask, _ in masks]).bool())[0])


@pytest.mark.parametrize("function", [lambda b, h, q, k: q >= k, lambda b, h, q, k: (q // 3 == k // 3) | (k < 1 + b + h)])
def test_mask_functions_of_flex_attention(function, monkeypatch):
    monkeypatch.setattr("tamis.torch._places.AT_ONCE", 50)  # several pieces
    rows, cols = torch.arange(13).unsqueeze(1), torch.arange(11).unsqueeze(0)
    pattern = Pattern.from_mask_mod(function, 13, 11, batch=1, head=2)
    wanted = Pattern.from_torch(function(1, 2, rows, cols).expand(13, 11).contiguous())
    assert torch.equal(pattern.index.long(), wanted.index.long()) and torch.equal(pattern.columns.long(), wanted.columns.long())
    with pytest.raises(tamis.ArgumentError, match="expected a tensor of bool"):
        Pattern.from_mask_mod(lambda b, h, q, k: q - k, 4)


def test_block_masks_of_flex_attention():
    flex = pytest.importorskip("torch.nn.attention.flex_attention")

    def by_member(b, h, q, k):
        return (q >= k) & (q - k < 100 * (b + 1))

    made = flex.create_block_mask(by_member, 2, None, 300, 300, device="cpu")
    patterns = Pattern.from_block_mask(made)
    q, k, v = torch.randn(3, 2, 2, 300, 16)
    found = tt.attention(q, k, v, patterns)
    places = torch.arange(300)
    for member, pattern in enumerate(patterns):
        mask = by_member(member, 0, places.unsqueeze(1), places)
        assert pattern.nnz == int(mask.sum())
        near(found[member], dense(q[member], k[member], v[member], mask)[0])
    heads = flex.create_block_mask(lambda b, h, q, k: q - k == h, None, 2, 128, 128, device="cpu")
    with pytest.raises(tamis.ArgumentError, match="block_mask has 2 heads"):
        Pattern.from_block_mask(heads)
    assert Pattern.from_block_mask(heads, head=1).nnz == 127


def test_patterns_are_saved_transposed_and_stacked(tmp_path):
    import copy
    import pickle
    pattern = Pattern.from_torch(torch.tensor([[0., 2.], [3., 0.], [0., 4.]]).to_sparse_csr())
    torch.save({"mask": pattern}, tmp_path / "file.pt")
    for other in (torch.load(tmp_path / "file.pt", weights_only=True)["mask"], pickle.loads(pickle.dumps(pattern)), copy.deepcopy(pattern), copy.copy(pattern)):
        assert other.shape == (3, 2) and torch.equal(other.values, pattern.values)
        assert torch.equal(tt.spmm(other, torch.ones(2, 1)), tt.spmm(pattern, torch.ones(2, 1)))
    B = torch.randn(3, 4)
    assert torch.equal(tt.spmm(pattern.T, B, pattern.T.values), tt.spmm(pattern, B, pattern.values, transpose=True))
    assert pattern.T.T.shape == (3, 2)
