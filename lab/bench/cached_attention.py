#!/usr/bin/env python3
"""Decoding: one query for each head against a cache of keys and values, beside PyTorch's scaled_dot_product_attention.

Each line: the type, sequences, positions; how far ours and theirs are from fp64, relative to the largest number; medians in us of calls in turn, in
alternating rounds; what keys and values would take to read once at --rate TB/s. Caches are used in turn, so that L2 has none of them. --plan adds
tamis.torch.attention with a pattern of one row, as a plan keeps it."""
from __future__ import annotations

import itertools
import statistics

import torch
from turns import apart, in_turn, options, seconds

import tamis.torch

HEADS, KEY_HEADS, WIDTH, PAGE = 32, 8, 128, 64


def exact(q, k, v):
    """Compute the first sequences in fp64, as many as fit into memory."""
    count = max(1, min(q.shape[0], (1 << 26) // (k.shape[1] * k.shape[2] * k.shape[3])))
    q, k, v = (x[:count].double() for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    return (torch.softmax(q.unsqueeze(2) @ k.transpose(2, 3) * q.shape[-1] ** -0.5, -1) @ v).squeeze(2)


def paged(*caches):
    """Return caches as pools of shuffled pages, and their page table."""
    sequences, heads, positions, width = caches[0].shape
    table = torch.randperm(sequences * positions // PAGE, device=caches[0].device).view(sequences, -1)
    pools = [x.new_empty((table.numel(), heads, PAGE, width)) for x in caches]
    for pool, x in zip(pools, caches):
        pool[table] = x.view(sequences, heads, -1, PAGE, width).transpose(1, 2)
    return pools, table.int()


def calls_of(args, q, caches, size):
    """Return the calls by name; each takes the number of the cache."""
    sequences, _, capacity, _ = caches[0][0].shape
    lengths = torch.full((sequences,), capacity, dtype=torch.int32, device=args.device)
    calls = {"ours": lambda n: tamis.torch.cached_attention(q, *caches[n], lengths),
             "SDPA": lambda n: torch.nn.functional.scaled_dot_product_attention(q.unsqueeze(2), *caches[n], enable_gqa=True).squeeze(2)}
    if 2 * size * len(caches) < args.most * 1e9:
        pools = [paged(*cache) for cache in caches]
        calls["pages"] = lambda n: tamis.torch.cached_attention(q, *pools[n][0], lengths, pages=pools[n][1])
    if args.plan:
        pattern = tamis.torch.Pattern.from_csr(torch.tensor([0, capacity], device=args.device), torch.arange(capacity, device=args.device, dtype=torch.int32),
                                               (1, capacity))
        calls["plan"] = lambda n: tamis.torch.attention(q.unsqueeze(2), *caches[n], pattern, enable_gqa=True).squeeze(2)
    return calls


def measure(args, dtype, sequences, capacity):
    size = 2 * sequences * args.key_heads * capacity * args.width * dtype.itemsize
    copies = max(1, min(int(args.most * 1e9 / size), -(-int(3e8) // size)))
    if size > args.most * 1e9:
        return
    make = lambda *shape: torch.randn(shape, device=args.device, dtype=torch.float32).to(dtype)
    q = make(sequences, HEADS, args.width)
    caches = [tuple(make(sequences, args.key_heads, capacity, args.width) for _ in range(2)) for _ in range(copies)]
    calls = calls_of(args, q, caches, size)
    right = exact(q, *caches[0])
    differ = {name: apart(call(0)[:right.shape[0]].double(), right) for name, call in calls.items()}

    def timed(name, count):
        """Return the seconds of a call, measured over `count` successive calls with the caches in turn."""
        caches_in_turn = itertools.cycle(range(copies))
        return seconds(lambda: calls[name](next(caches_in_turn)), args.device, count)

    in_turn(calls, 1, lambda name: timed(name, 2))
    count = max(2, min(200, int(0.05 / max(timed(name, 2) for name in calls))))
    median = {name: statistics.median(times) for name, times in in_turn(calls, args.rounds, lambda name: timed(name, count)).items()}
    print(f"{str(dtype)[6:]:9} {sequences:3} x {capacity:6}, {size / 1e6:8.1f} MB:", *(f"{name} {1e6 * x:9.1f} us ({differ[name]:.1e})"
          for name, x in median.items()), f"| {median['SDPA'] / median['ours']:.2f} times; {size / median['ours'] / 1e9:.0f} GB/s; floor "
          f"{size / args.rate / 1e6:.1f} us", flush=True)


def main():
    args = options(__doc__, {"most": "GB of caches", "threads": "of the CPU"}, device="cpu", types=["bfloat16", "float32"], sequences=[1, 8], capacity=[4096],
                   width=WIDTH, key_heads=KEY_HEADS, rounds=5, most=40.0, threads=int, rate=3.3, plan=False).parse_args()
    torch.manual_seed(1)
    if args.threads:
        torch.set_num_threads(args.threads)
    print(f"{torch.cuda.get_device_name() if args.device != 'cpu' else 'CPU'}, PyTorch {torch.__version__}, {HEADS} heads, {args.key_heads} key heads, "
          f"width {args.width}", flush=True)
    with torch.no_grad():
        for name in args.types:
            for sequences in args.sequences:
                for capacity in args.capacity:
                    measure(args, getattr(torch, name), sequences, capacity)


if __name__ == "__main__":
    main()
