#!/usr/bin/env python3
"""Message passing beside PyTorch's gather and scatter (and PyTorch Geometric's, where it is installed), forward and backward.

    messages.py [--edges 100000 2000000] [--widths 16 64 256] [--threads 2] [--rounds 5]

Each line is a call on a graph of uniform random edges, ten a node: the median time of ours in milliseconds, and how many times as long
the others take, in rounds that alternate. `floor` is the time in which the bytes of the call's floor move at the bandwidth that a sum
over the largest array has: rows once for each edge, edge vectors once, the result once.
"""
from __future__ import annotations

import argparse
import statistics
import time

import torch

import tamis
import tamis.torch as tt


def bandwidth() -> float:
    """Bytes a second that a copy reads and writes."""
    x = torch.ones(32 << 20)
    y = torch.empty_like(x)
    times = []
    for _ in range(5):
        began = time.perf_counter()
        y.copy_(x)
        times.append(time.perf_counter() - began)
    return 2 * x.numel() * 4 / min(times)


def by_torch(columns, rows, count, op, x, e, reduce):
    given = x[columns] if op == "copy_u" else x[columns] * e if op == "mul" else x[columns] + e
    out = given.new_zeros(count, given.shape[1])
    if reduce == "sum":
        return out.index_add(0, rows, given)
    place = rows.unsqueeze(1).expand(given.shape)
    return out.scatter_reduce(0, place, given, {"mean": "mean", "max": "amax"}[reduce], include_self=False)


def by_pyg(columns, rows, count, op, x, e, reduce):
    from torch_geometric.utils import scatter
    given = x[columns] if op == "copy_u" else x[columns] * e if op == "mul" else x[columns] + e
    return scatter(given, rows, 0, count, reduce)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--edges", type=int, nargs="+", default=[100_000, 2_000_000])
    parser.add_argument("--widths", type=int, nargs="+", default=[16, 64, 256])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most", type=int, default=3 << 29, help="bytes of the largest array; larger calls are left out")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    tamis.set_threads(given.threads)
    others = {"torch": by_torch}
    try:
        import torch_geometric  # noqa: F401
        others["pyg"] = by_pyg
    except ImportError:
        print("PyTorch Geometric is not installed")
    speed = bandwidth()
    print(f"copy: {speed / 1e9:.1f} GB/s")
    for edges in given.edges:
        torch.manual_seed(1)
        nodes = edges // 10
        rows, columns = torch.randint(nodes, (edges,)).sort().values, torch.randint(nodes, (edges,))
        pattern = tt.Pattern.from_coo(rows, columns, (nodes, nodes))
        for width in given.widths:
            for op, vector, reduce in (("copy_u", 0, "sum"), ("copy_u", 0, "mean"), ("copy_u", 0, "max"), ("mul", 1, "sum"), ("add", 2, "sum"),
                                       ("mul", 2, "sum"), ("add", 2, "max")):
                if edges * width * 4 > given.most:
                    continue
                x = torch.randn(nodes, width, requires_grad=True)
                e = torch.randn(edges, width if vector == 2 else 1, requires_grad=True) if vector else None
                leaves = [x] if e is None else [x, e]
                calls = {"ours": lambda: tt.message(pattern, op, x, e, reduce)}
                for name, other in others.items():
                    calls[name] = lambda other=other: other(columns, rows, nodes, op, x, e, reduce)
                weights = torch.randn(nodes, width)
                times = {name: ([], []) for name in calls}
                for turn in range(given.rounds + 1):
                    for name, call in calls.items():
                        began = time.perf_counter()
                        out = call()
                        middle = time.perf_counter()
                        torch.autograd.grad(out, leaves, weights)
                        ended = time.perf_counter()
                        del out
                        if turn:
                            times[name][0].append(middle - began)
                            times[name][1].append(ended - middle)
                forward, backward = (statistics.median(part) for part in times["ours"])
                floor = (edges * width * (1 + (vector == 2)) + nodes * width) * 4 / speed
                line = f"{edges:8} {width:4} {op:6} {('none', 'number', 'vector')[vector]:6} {reduce:4}  {forward * 1e3:8.2f} {backward * 1e3:8.2f} ms"
                line += f"  floor {floor * 1e3:7.2f} ms"
                for name in others:
                    line += f"  {name} x {statistics.median(times[name][0]) / forward:5.2f} {statistics.median(times[name][1]) / backward:5.2f}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
