#!/usr/bin/env python3
"""Decoding: one query for each head against a cache of keys and values, beside PyTorch's scaled_dot_product_attention.

    python3 cached_attention.py [--device cuda] [--types bfloat16 ...] [--sequences 1 8 64] [--capacity 4096 32768 131072] [--plan]

Each line: the type, sequences, positions; how far ours and theirs are from fp64, relative to the largest number; medians in us of calls in turn, in
alternating rounds; what keys and values would take to read once at --rate TB/s. Caches are used in turn, so that L2 has none of them. --plan adds
tamis.torch.attention with a pattern of one row, as a plan keeps it."""
from __future__ import annotations

import argparse
import statistics
import time

import torch

import tamis.torch

HEADS, KEY_HEADS, WIDTH, PAGE = 32, 8, 128, 64


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--types", nargs="+", default=["bfloat16", "float32"])
    parser.add_argument("--sequences", nargs="+", type=int, default=[1, 8])
    parser.add_argument("--capacity", nargs="+", type=int, default=[4096])
    parser.add_argument("--width", type=int, default=WIDTH)
    parser.add_argument("--key-heads", type=int, default=KEY_HEADS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most", type=float, default=40, help="GB of caches")
    parser.add_argument("--threads", type=int, help="of the CPU")
    parser.add_argument("--rate", type=float, default=3.3)
    parser.add_argument("--plan", action="store_true")
    return parser.parse_args()


def exact(q, k, v):
    """Compute the first sequences in fp64, as many as fit into memory."""
    count = max(1, min(q.shape[0], (1 << 26) // (k.shape[1] * k.shape[2] * k.shape[3])))
    q, k, v = (x[:count].double() for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    return (torch.softmax(q.unsqueeze(2) @ k.transpose(2, 3) * q.shape[-1] ** -0.5, -1) @ v).squeeze(2)


def timed(call, count, device):
    """Return the seconds of a call, measured over `count` successive calls."""
    if device == "cpu":
        start = time.perf_counter()
        for n in range(count):
            call(n)
        return (time.perf_counter() - start) / count
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for n in range(count):
        call(n)
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / count * 1e-3


def paged(x):
    """Return the cache as a pool of shuffled pages, and its page table."""
    sequences, heads, positions, width = x.shape
    table = torch.randperm(sequences * positions // PAGE, device=x.device).view(sequences, -1)
    pool = x.new_empty((table.numel(), heads, PAGE, width))
    pool[table] = x.view(sequences, heads, -1, PAGE, width).transpose(1, 2)
    return pool, table


def measure(args, dtype, sequences, capacity):
    size = 2 * sequences * args.key_heads * capacity * args.width * dtype.itemsize
    copies = max(1, min(int(args.most * 1e9 / size), -(-int(3e8) // size)))
    if size > args.most * 1e9:
        return
    make = lambda *shape: torch.randn(shape, device=args.device, dtype=torch.float32).to(dtype)
    q = make(sequences, HEADS, args.width)
    caches = [(make(sequences, args.key_heads, capacity, args.width), make(sequences, args.key_heads, capacity, args.width)) for _ in range(copies)]
    lengths = torch.full((sequences,), capacity, dtype=torch.int32, device=args.device)
    calls = {"ours": lambda n: tamis.torch.cached_attention(q, *caches[n % copies], lengths),
             "SDPA": lambda n: torch.nn.functional.scaled_dot_product_attention(q.unsqueeze(2), *caches[n % copies], enable_gqa=True).squeeze(2)}
    if 2 * size * copies < args.most * 1e9:
        pools = []
        for k, v in caches:
            pool, table = paged(k)
            other = torch.empty_like(pool)
            other[table] = v.view(sequences, args.key_heads, -1, PAGE, args.width).transpose(1, 2)
            pools.append((pool, other, table.int()))
        calls["pages"] = lambda n: tamis.torch.cached_attention(q, *pools[n % copies][:2], lengths, pages=pools[n % copies][2])
    if args.plan:
        pattern = tamis.torch.Pattern.from_csr(torch.tensor([0, capacity], device=args.device), torch.arange(capacity, device=args.device, dtype=torch.int32),
                                               (1, capacity))
        calls["plan"] = lambda n: tamis.torch.attention(q.unsqueeze(2), *caches[n % copies], pattern, enable_gqa=True).squeeze(2)
    right = exact(q, *caches[0])
    apart = {name: float((call(0)[:right.shape[0]].double() - right).abs().max() / right.abs().max()) for name, call in calls.items()}
    seconds = {name: [] for name in calls}
    for name, call in calls.items():
        timed(call, 2, args.device)
    count = max(2, min(200, int(0.05 / max(timed(call, 2, args.device) for call in calls.values()))))
    for _ in range(args.rounds):
        for name, call in calls.items():
            seconds[name].append(timed(call, count, args.device))
    median = {name: statistics.median(times) for name, times in seconds.items()}
    print(f"{str(dtype)[6:]:9} {sequences:3} x {capacity:6}, {size / 1e6:8.1f} MB:", *(f"{name} {1e6 * x:9.1f} us ({apart[name]:.1e})"
          for name, x in median.items()), f"| {median['SDPA'] / median['ours']:.2f} times; {size / median['ours'] / 1e9:.0f} GB/s; floor "
          f"{size / args.rate / 1e6:.1f} us", flush=True)


def main():
    args = arguments()
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
