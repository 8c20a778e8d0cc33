#!/usr/bin/env python3
"""How long it takes to make a mask of attention: Tamis, NumPy or PyTorch by hand, and SciPy.

Of a causal window (position i sees i - reach to i) all make the row offsets and the columns, in int32; they are compared. Then Tamis alone:
windows with global places, strides and blocks. Prints a line of JSON for each: `first_ms` is the first call, with memory that is new and, on a GPU,
kernels that are compiled or loaded; `least_ms` the least of the others. In processor time on the CPU, on a GPU by the clock, until all is done.
"""
from __future__ import annotations

import argparse
import json
import time
from typing import Any, Callable

import numpy as np
from turns import options

import tamis


def by_numpy(n: int, reach: int) -> tuple[Any, Any]:
    i = np.arange(n, dtype=np.int64)
    begin = np.maximum(i - reach, 0)
    lengths = i + 1 - begin
    offsets = np.concatenate([[0], lengths.cumsum()])
    columns = np.arange(offsets[-1], dtype=np.int32)
    columns -= np.repeat((offsets[:-1] - begin).astype(np.int32), lengths)
    return offsets.astype(np.int32), columns


def by_scipy(n: int, reach: int) -> tuple[Any, Any]:
    import scipy.sparse

    matrix = scipy.sparse.diags_array([np.ones(n, np.float32)] * (reach + 1), offsets=range(-reach, 1), shape=(n, n), format="csr")
    return matrix.indptr, matrix.indices


def by_torch(n: int, reach: int, device: str) -> tuple[Any, Any]:
    import torch

    i = torch.arange(n, device=device)
    begin = (i - reach).clamp(min=0)
    lengths = i + 1 - begin
    offsets = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    columns = torch.arange(int(offsets[-1]), dtype=torch.int32, device=device)
    columns -= torch.repeat_interleave((offsets[:-1] - begin).int(), lengths)
    return offsets.int(), columns


def by_tamis(device: str, *shape: Any, **parts: Any) -> tuple[Any, Any]:
    if device == "cpu":
        from tamis._mask import Host, make

        return make(Host, *shape, None, **parts)[:2]
    import tamis.torch

    pattern = tamis.torch.Pattern.mask(*shape, device=device, **parts)
    return pattern.index, pattern.columns


def timed(name: str, make: Callable[[], tuple[Any, Any]], given: argparse.Namespace) -> tuple[Any, Any]:
    clock: Callable[[], float] = time.process_time
    if given.device != "cpu":
        import torch

        def clock() -> float:
            torch.cuda.synchronize()
            return time.perf_counter()

    times = []
    made: Any = None
    for _ in range(given.rounds + 1):
        made = None  # frees its memory for the next one
        start = clock()
        made = make()
        times.append(1e3 * (clock() - start))
    print(json.dumps({"mask": name, "device": given.device, "positions": given.positions, "nnz": len(made[1]), "first_ms": round(times[0], 3),
                      "least_ms": round(min(times[1:]), 3)}), flush=True)
    return made


def main() -> None:
    given = options(__doc__, positions=65536, reach=511, device="cpu", threads=1, rounds=5).parse_args()
    tamis.set_threads(given.threads)
    n, reach = given.positions, given.reach
    window = {"causal": True, "window": (reach, 0)}
    want = timed("window, Tamis", lambda: by_tamis(given.device, n, **window), given)
    others = {"NumPy": lambda: by_numpy(n, reach), "SciPy": lambda: by_scipy(n, reach)} if given.device == "cpu" else {
        "PyTorch": lambda: by_torch(n, reach, given.device)}
    for name, other in others.items():
        got = timed(f"window, {name}", other, given)
        assert all(bool((x == y).all()) for x, y in zip(got, want)), name
    del want, got
    blocks = np.random.default_rng(1).random((-(-n // 64), -(-n // 64))) < 0.01
    for name, parts in {"window, 4 global": {**window, "global_tokens": 4},
                        "window, 8 listed": {**window, "global_tokens": list(range(0, n, -(-n // 8)))},
                        "window of 128, every 128th": {"causal": True, "window": (127, 0), "every": 128},
                        "window, 1 % of blocks of 64": {**window, "blocks": blocks, "block": 64}}.items():
        timed(name, lambda: by_tamis(given.device, n, **parts), given)


if __name__ == "__main__":
    main()
