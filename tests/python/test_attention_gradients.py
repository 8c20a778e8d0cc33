"""Gradients of attention: against sums in double, beside PyTorch's attention in the same type, and the same bits each time; on a GPU, and on
the CPU where no GPU is."""
from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

import tamis.torch as tt  # noqa: E402
from tamis.torch import Pattern  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
WIDTHS = [64, 80, 128, 192, 256] if DEVICE == "cuda" else [64, 256]


def masked(rows, cols, seed=0):
    """A window, some blocks, and scattered places; no row is empty, as PyTorch's attention wants it."""
    made = torch.Generator().manual_seed(seed)
    i, j = torch.arange(rows)[:, None], torch.arange(cols)
    mask = (i - j).abs() <= 20
    mask[64:128, :64] = True
    mask |= torch.rand((rows, cols), generator=made) < 0.02
    mask[:, 0] = True
    return mask.to(DEVICE)


def drawn(rows, cols, width, dtype, group, members=2, shared=2, seed=1):
    made = torch.Generator().manual_seed(seed)
    shapes = [(members, shared * group, rows, width), (members, shared, cols, width), (members, shared, cols, width), (members, shared * group, rows, width)]
    return [torch.randn(shape, generator=made).to(dtype).to(DEVICE) for shape in shapes]


def dense(q, k, v, mask):
    """In double."""
    q, k, v = (x.double() for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[-3] // k.shape[-3], -3) for x in (k, v))
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
    return torch.softmax(scores, -1) @ v


def gradients(call, tensors, weights):
    given = [x.detach().clone().requires_grad_() for x in tensors]
    out = call(*given)
    return [out.detach(), *torch.autograd.grad(out, given, weights.to(out.dtype))]


def distance(found, wanted):
    return float((found.double() - wanted.double()).norm() / wanted.double().norm())


@pytest.mark.parametrize("group", [1, 4, 8])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", TYPES)
def test_gradients_are_no_farther_from_double_than_those_of_pytorch(name, width, group):
    if DEVICE == "cpu" and (group == 8 or name == "fp16"):
        pytest.skip("seen on GPUs")
    dtype, (rows, cols) = TYPES[name], (200, 264)
    mask = masked(rows, cols)
    *tensors, weights = drawn(rows, cols, width, dtype, group)
    pattern = Pattern.from_torch(mask)

    def ours(q, k, v):
        return tt.attention(q, k, v, pattern, enable_gqa=group > 1)

    def theirs(q, k, v):
        k, v = (x.repeat_interleave(group, -3) for x in (k, v))
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    found, again = gradients(ours, tensors, weights), gradients(ours, tensors, weights)
    wanted, peer = gradients(lambda *x: dense(*x, mask), tensors, weights), gradients(theirs, tensors, weights)
    for what, one, other, double, of_peer in zip(("out", "dq", "dk", "dv"), found, again, wanted, peer):
        assert torch.equal(one, other), f"{what} differs from call to call"
        most = 2e-6 if name == "fp32" else 1.1 * distance(of_peer, double)
        assert distance(one, double) <= most, f"{what}: {distance(one, double):.2e} from double, PyTorch {distance(of_peer, double):.2e}"


def test_one_query_of_each_head_against_a_long_cache():
    """Decoding: heads that share keys are rows of one call; the cache is split over groups."""
    members, shared, group, length, width = 2, 2, 4, 5000 if DEVICE == "cuda" else 500, 128
    q, k, v, _ = drawn(1, length, width, torch.bfloat16, group, members, shared)
    pattern = Pattern.from_csr(torch.tensor([0, length], device=DEVICE), torch.arange(length, device=DEVICE), (1, length))
    found = tt.attention(q, k, v, pattern, enable_gqa=True)
    wanted = dense(q, k, v, torch.ones(1, length, dtype=torch.bool, device=DEVICE))
    assert found.shape == q.shape and distance(found, wanted) < 1e-2


def test_pages_of_a_cache_are_columns_of_the_pattern():
    page, pages = 16, [7, 2, 5]
    k, v = (torch.randn(2, 10 * page, 64, generator=torch.Generator().manual_seed(s)).to(torch.bfloat16).to(DEVICE) for s in (1, 2))
    q = torch.randn(8, 1, 64, generator=torch.Generator().manual_seed(3)).to(torch.bfloat16).to(DEVICE)
    places = (torch.tensor(sorted(pages))[:, None] * page + torch.arange(page)).flatten().to(DEVICE)  # the order of keys does not matter
    pattern = Pattern.from_csr(torch.tensor([0, len(places)], device=DEVICE), places, (1, 10 * page))
    found = tt.attention(q, k, v, pattern, enable_gqa=True)
    wanted = dense(q, k[:, places], v[:, places], torch.ones(1, len(places), dtype=torch.bool, device=DEVICE))
    assert distance(found, wanted) < 1e-2
