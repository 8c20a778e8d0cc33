"""Attention to caches, as in decoding, against dense attention in fp64: layouts, pages, windows, lengths that change in place."""
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

import tamis  # noqa: E402
import tamis.torch as tt  # noqa: E402
from tamis.torch import _ops  # noqa: E402

SEQUENCES, HEADS, KEY_HEADS, CAPACITY, WIDTH, PAGE = 3, 6, 2, 48, 24, 8
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
TYPES = {torch.float32: 1e-5, torch.float64: 1e-12, torch.float16: 2e-3, torch.bfloat16: 2e-2}


@pytest.fixture(params=DEVICES, autouse=True)
def device(request):
    """Where the tests make their tensors."""
    with torch.device(request.param):
        yield request.param


def make(dtype=torch.float32, order="heads"):
    """q, and k and v as (sequences, key heads, capacity, width), stored in that order or with positions first."""
    torch.manual_seed(5)
    q = torch.randn(SEQUENCES, HEADS, WIDTH).to(dtype)
    if order == "heads":
        k, v = torch.randn(2, SEQUENCES, KEY_HEADS, CAPACITY, WIDTH).to(dtype)
    else:
        k, v = torch.randn(2, SEQUENCES, CAPACITY, KEY_HEADS, WIDTH).to(dtype).transpose(2, 3)
    return q, k, v


def dense(q, k, v, lengths, window=None):
    """The same in fp64, and the logarithms of sums."""
    q, k, v = q.double(), *(x.double().repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    place = torch.arange(k.shape[2])
    keep = place < lengths[:, None]
    if window:
        keep &= place >= lengths[:, None] - window
    scores = (q.unsqueeze(2) @ k.transpose(2, 3)).squeeze(2) * q.shape[-1] ** -0.5
    scores = scores.masked_fill(~keep[:, None], -torch.inf)
    return (torch.softmax(scores, -1).nan_to_num(0).unsqueeze(2) @ v).squeeze(2), scores.logsumexp(-1)


def near(found, wanted, dtype):
    assert found.shape == wanted.shape
    assert torch.allclose(found.double(), wanted, rtol=TYPES[dtype], atol=TYPES[dtype])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", ["heads", "positions"])
@pytest.mark.parametrize("window", [None, 5])
def test_against_dense(dtype, order, window):
    q, k, v = make(dtype, order)
    lengths = torch.tensor([0, 17, CAPACITY])
    out, lse = tt.cached_attention(q, k, v, lengths, window=window, return_lse=True)
    right, sums = dense(q, k, v, lengths, window)
    assert out.dtype == dtype and not out[0].any() and torch.isinf(lse[0]).all()
    near(out, right, dtype)
    near(lse[1:], sums[1:], torch.float32 if dtype != torch.float64 else dtype)


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_pages(index):
    q, k, v = make()
    table = torch.randperm(SEQUENCES * CAPACITY // PAGE).view(SEQUENCES, -1)
    pool = torch.zeros(2, table.numel(), PAGE, KEY_HEADS, WIDTH)
    for x, to in ((k, pool[0]), (v, pool[1])):
        to[table] = x.transpose(1, 2).reshape(SEQUENCES, -1, PAGE, KEY_HEADS, WIDTH)
    lengths = torch.tensor([1, 30, CAPACITY], dtype=index)
    keys, values = pool.transpose(2, 3)
    out = tt.cached_attention(q, keys, values, lengths, pages=table.to(index))
    assert torch.equal(out, tt.cached_attention(q, k, v, lengths))


def test_lengths_grow_in_place():
    q, k, v = make()
    lengths = torch.ones(SEQUENCES, dtype=torch.int32)
    for _ in range(4):
        near(tt.cached_attention(q, k, v, lengths), dense(q, k, v, lengths)[0], torch.float32)
        lengths.add_(11)


if "cuda" in DEVICES:

    @pytest.mark.parametrize("device", ["cuda"], indirect=True)
    def test_captured_graph_reads_lengths(device):
        q, k, v = make()
        lengths = torch.ones(SEQUENCES, dtype=torch.int32)
        tt.cached_attention(q, k, v, lengths)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            out = tt.cached_attention(q, k, v, lengths)
        for _ in range(4):
            captured.replay()
            near(out, dense(q, k, v, lengths)[0], torch.float32)
            lengths.add_(11)


def test_strides_and_empty_caches():
    q, k, v = make()
    lengths = torch.tensor([0, 17, 0, 9, 0, CAPACITY])
    wide, turned = torch.stack([q, q], -1).flatten(2)[..., ::2], k.transpose(2, 3).contiguous().transpose(2, 3)
    pages = torch.arange(2 * SEQUENCES * (CAPACITY // PAGE)).reshape(SEQUENCES, -1)[:, ::2]
    assert torch.equal(tt.cached_attention(wide, turned, v, lengths[1::2]), tt.cached_attention(q, k, v, lengths[1::2].contiguous()))
    same = k[:, :1, :1, :1].expand(k.shape)
    assert torch.equal(tt.cached_attention(q, same, v, lengths[1::2]), tt.cached_attention(q, same.contiguous(), v, lengths[1::2]))
    pool = torch.randn(2 * SEQUENCES * (CAPACITY // PAGE), KEY_HEADS, PAGE, WIDTH)
    assert torch.equal(tt.cached_attention(q, pool, pool, lengths[1::2], pages=pages), tt.cached_attention(q, pool, pool, lengths[1::2], pages=pages.contiguous()))
    out, sums = tt.cached_attention(q, k[:, :, :0], v[:, :, :0], torch.zeros(SEQUENCES, dtype=torch.int64), return_lse=True)
    assert not out.any() and torch.isneginf(sums).all()
    assert tt.cached_attention(q[:0], k[:0], v[:0], lengths[:0]).shape == (0, HEADS, WIDTH)


@pytest.mark.skipif(not _ops.REGISTERED, reason="operators are registered from PyTorch 2.4")
def test_operator():
    q, k, v = make()
    lengths = torch.tensor([4, 5, 6])
    torch.library.opcheck(torch.ops.tamis.cached_attention, (q, k, v, lengths, None, 0.5, 0))


def test_refused():
    q, k, v = make()
    lengths = torch.tensor([1, 2, 3])
    for change, words in (({"q": q[0]}, "q has shape"), ({"k": k.double()}, "k is torch.float64"), ({"lengths": lengths[:2]}, "lengths 2"),
                          ({"lengths": lengths.float()}, "expected int32 or int64"), ({"v": v[:, :1]}, "as many caches"), ({"window": 0}, "window = 0"),
                          ({"scale": 0}, "scale = 0: expected a number other than 0; leave it out"), ({"scale": -0.0}, "scale = -0.0"),
                          ({"scale": float("nan")}, "scale = nan"),
                          ({"q": q[:, :5]}, "heads = 5"), 
                          ({"q": q.clone().requires_grad_()}, "requires grad"), ({"pages": lengths}, "pages has shape")):
        with pytest.raises(ValueError, match=words):
            tt.cached_attention(**{"q": q, "k": k, "v": v, "lengths": lengths, **change})
    with pytest.raises(TypeError, match="lengths is a list"):
        tt.cached_attention(q, k, v, [1, 2, 3])
    with pytest.raises((ValueError, NotImplementedError, RuntimeError, tamis.Error), match="power of two"):
        tt.cached_attention(q, k[:, :, :3], v[:, :, :3], lengths, pages=torch.zeros(SEQUENCES, 2, dtype=torch.int32))
