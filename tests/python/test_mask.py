"""Pattern.mask of both kinds of pattern, against the definition read on dense arrays; on CUDA where it is."""
from __future__ import annotations

import numpy as np
import pytest

import tamis

try:
    import torch

    import tamis.torch as tt
except ImportError:  # the tests of tamis.Pattern need none
    torch = None
PLACES = [pytest.param("numpy"), pytest.param("cpu", marks=pytest.mark.skipif(torch is None, reason="there is no PyTorch")),
          pytest.param("cuda", marks=pytest.mark.skipif(torch is None or not torch.cuda.is_available(), reason="there is no CUDA device"))]
BLOCKS = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [1, 0, 1, 0]], bool)


@pytest.fixture(params=PLACES)
def place(request):
    return request.param


def made(place, *shape, **parts):
    """The mask as a dense matrix of what is kept."""
    if place == "numpy":
        sparse = tamis.Pattern.mask(*shape, **parts).sparse
        arrays = [np.array(x.array) for x in reversed(sparse._views)]
        rows, cols = sparse.shape
    else:
        pattern = tt.Pattern.mask(*shape, device=place, **parts)
        assert pattern.device.type == place and not pattern.coo
        arrays = [pattern.index.cpu().numpy(), pattern.columns.cpu().numpy()]
        rows, cols = pattern.shape
    offsets, columns = arrays
    assert offsets.dtype == columns.dtype == np.int32 and len(columns) == offsets[-1]
    kept = np.zeros((rows, cols), bool)
    kept[np.repeat(np.arange(rows), np.diff(offsets)), columns] = True
    assert kept.sum() == len(columns)
    return kept


def defined(rows, cols, causal=False, window=None, dilation=1, every=0, global_tokens=0, sinks=False, blocks=None, block=0, offset=None):
    place = np.arange(rows)[:, None] + (cols - rows if offset is None else offset)
    j = np.arange(cols)
    parts = []
    if window is not None:
        left, right = window if isinstance(window, tuple) else (window, window)
        near = (place - j) % dilation == 0
        if left is not None:
            near &= j >= place - left
        if right is not None:
            near &= j <= place + right
        parts.append(near)
    if every:
        parts.append((place - j) % every == 0)
    listed = range(global_tokens) if isinstance(global_tokens, int) else global_tokens
    if len(listed):
        parts.append(np.isin(j, listed) | (np.isin(place, listed) & (not sinks)))
    if blocks is not None:
        parts.append(np.kron(blocks, np.ones((block, block), bool))[:rows, :cols])
    kept = np.logical_or.reduce([np.broadcast_to(part, (rows, cols)) for part in parts]) if parts else np.ones((rows, cols), bool)
    return kept & (j <= place) if causal else kept


@pytest.mark.parametrize("parts", [
    {}, {"window": 3}, {"window": (2, None)}, {"window": (None, 1)}, {"window": (6, 0), "dilation": 3}, {"every": 4}, {"global_tokens": 3},
    {"global_tokens": [1, 9]}, {"window": 2, "global_tokens": 2}, {"window": 2, "global_tokens": [0, 8], "sinks": True},
    {"blocks": BLOCKS, "block": 4}, {"window": 1, "blocks": BLOCKS, "block": 4, "global_tokens": 1}, {"window": 1, "offset": 0},
    {"every": 5, "window": (1, 0), "offset": -2}])
@pytest.mark.parametrize("causal", [False, True])
def test_parts(place, parts, causal):
    np.testing.assert_array_equal(made(place, 11, 14, causal=causal, **parts), defined(11, 14, causal=causal, **parts))


def test_short_names(place):
    of = tamis.Pattern if place == "numpy" else tt.Pattern
    more = {} if place == "numpy" else {"device": place}
    assert of.causal(4, **more).nnz == 10 and of.causal(2, 5, **more).nnz == 9
    assert of.window(9, 2, 1, **more).nnz == defined(9, 9, window=(2, 1)).sum()
    assert of.window(9, 2, None, 11, causal=True, **more).nnz == defined(9, 11, window=(2, 0)).sum()


@pytest.mark.parametrize("kind", ["list", "int32", "int64"])
def test_lengths(place, kind):
    lengths = [3, 0, 5]
    given = lengths
    if kind != "list":
        given = np.array(lengths, kind) if place == "numpy" else torch.tensor(lengths, dtype=getattr(torch, kind), device=place)
    want = np.zeros((15, 15), bool)
    ends = np.zeros((3, 15), bool)
    for b, n in enumerate(lengths):
        want[5 * b:5 * b + n, 5 * b:5 * b + n] = defined(n, n, causal=True, window=2)
        ends[b, 5 * b:5 * b + n] = np.arange(n) >= n - 2
    np.testing.assert_array_equal(made(place, 5, causal=True, window=2, lengths=given, row_lengths=given), want)
    np.testing.assert_array_equal(made(place, 1, 5, window=(1, 0), lengths=given, from_end=True), ends)


def test_blocks_as_a_pattern(place):
    columns, offsets = np.nonzero(BLOCKS)[1].copy(), np.concatenate([[0], BLOCKS.sum(1).cumsum()])
    if place == "numpy":
        blocks = tamis.Pattern((offsets, columns), shape=BLOCKS.shape)
    else:
        blocks = tt.Pattern.from_csr(*(torch.tensor(x, device=place) for x in (offsets, columns)), BLOCKS.shape)
    np.testing.assert_array_equal(made(place, 11, 14, blocks=blocks, block=4), defined(11, 14, blocks=BLOCKS, block=4))


@pytest.mark.parametrize("parts, message", [
    ({"window": -1}, "window = -1: expected a distance"), ({"window": (None, None)}, r"window = \(None, None\): expected a distance"),
    ({"dilation": 0, "window": 1}, "^dilation = 0: expected 1 .."), ({"global_tokens": [3, 1]}, r"^global_tokens\[1\] = 1 after 3"),
    ({"global_tokens": [0.5]}, "global_tokens has shape"), ({"lengths": [7]}, r"^lengths\[0\] = 7: expected 0 .. 6"),
    ({"lengths": [1, 2], "row_lengths": [1]}, "lengths are 2 of int64 and row_lengths 1 of int64"),
    ({"blocks": np.ones(3), "block": 2}, r"blocks has shape \(3,\)"), ({"blocks": np.ones((2, 2)), "block": 2}, "^blocks is 2 x 2: expected 3 x 3"),
    ({"blocks": np.ones((3, 3))}, "^block = 0: expected 1 ..")])
def test_refused(place, parts, message):
    with pytest.raises(ValueError, match=message):
        made(place, 6, **parts)
