#!/usr/bin/env python3
"""Message passing beside PyTorch's gather and scatter, plain and compiled, torch.sparse, and PyTorch Geometric's scatter where it is
installed, forward and backward.

    messages.py [--device cpu|cuda] [--edges 100000 2000000] [--widths 16 64 256] [--threads 2] [--rounds 5] [--type float32] [--seconds S]

Each line is a call on a graph of uniform random edges, ten a node: the median time of ours in milliseconds, and how many times as long
the others take, in rounds that alternate. `floor` is the time in which the bytes of the call's floor move at the bandwidth that a copy
has: rows once for each edge, edge vectors once, the result once; on a GPU rows once for each node, which is all that memory moves where
its caches are large. On a GPU a time is that of the device between events around a call that is repeated until a millisecond has passed.
The last lines are geometric means, and the least, of how many times as long the best of the others takes.
"""
from __future__ import annotations

import argparse
import collections
import math
import statistics
import time

import torch
import torch._functorch.config

import tamis
import tamis.torch as tt

CALLS = (("copy_u", 0, "sum"), ("copy_u", 0, "mean"), ("copy_u", 0, "max"), ("mul", 1, "sum"), ("add", 2, "sum"), ("mul", 2, "sum"), ("add", 2, "max"))
KINDS = ("none", "number", "vector")


def bandwidth(device: str) -> float:
    """Bytes a second that a copy reads and writes."""
    x = torch.ones((32 if device == "cpu" else 256) << 20, device=device)
    y = torch.empty_like(x)
    return 2 * x.numel() * 4 / min(seconds(lambda: y.copy_(x), device, 1) for _ in range(5))


def seconds(call, device: str, repeats: int) -> float:
    if device == "cpu":
        began = time.perf_counter()
        for _ in range(repeats):
            call()
        return (time.perf_counter() - began) / repeats
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(repeats):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3 / repeats


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


def by_sparse(matrix):
    """torch.sparse has sums without vectors on edges; weights are constants of the matrix, which gets no gradient."""
    def call(columns, rows, count, op, x, e, reduce):
        return torch.sparse.mm(matrix, x) if op == "copy_u" and reduce == "sum" else None
    return call


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--edges", type=int, nargs="+", default=[100_000, 2_000_000])
    parser.add_argument("--widths", type=int, nargs="+", default=[16, 64, 256])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--type", default="float32")
    parser.add_argument("--compile", action="store_true", help="torch.compile of PyTorch's, which takes its time")
    parser.add_argument("--most", type=int, default=3 << 29, help="bytes of the largest array; larger calls are left out")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no other call after so many")
    given = parser.parse_args()
    device, dtype, began_all = given.device, getattr(torch, given.type), time.perf_counter()
    torch.set_num_threads(given.threads)
    tamis.set_threads(given.threads)
    others = {"torch": by_torch}
    if given.compile:
        others["compiled"] = torch.compile(by_torch, dynamic=True)
        torch._dynamo.config.cache_size_limit = 100
        torch._functorch.config.donated_buffer = False  # a graph is kept for all calls of its gradient
    try:
        import torch_geometric  # noqa: F401
        others["pyg"] = by_pyg
    except ImportError:
        print("PyTorch Geometric is not installed")
    speed = bandwidth(device)
    print(f"copy: {speed / 1e9:.1f} GB/s", flush=True)
    summary = collections.defaultdict(list)
    for edges in given.edges:
        torch.manual_seed(1)
        nodes = edges // 10
        rows = torch.randint(nodes, (edges,), device=device).sort().values
        columns = torch.randint(nodes, (edges,), device=device)
        pattern = tt.Pattern.from_coo(rows, columns, (nodes, nodes))
        offsets = torch.nn.functional.pad(torch.bincount(rows, minlength=nodes).cumsum(0), (1, 0))
        matrix = torch.sparse_csr_tensor(offsets, columns, torch.ones(edges, device=device, dtype=dtype), (nodes, nodes))
        for width in given.widths:
            for op, vector, reduce in CALLS:
                size = torch.empty((), dtype=dtype).element_size()
                if edges * width * size > given.most or time.perf_counter() - began_all > given.seconds:
                    continue
                x = torch.randn(nodes, width, device=device, dtype=dtype, requires_grad=True)
                e = torch.randn(edges, width if vector == 2 else 1, device=device, dtype=dtype, requires_grad=True) if vector else None
                leaves = [x] if e is None else [x, e]
                calls = {"ours": lambda: tt.message(pattern, op, x, e, reduce)}
                for name, other in {**others, "sparse": by_sparse(matrix)}.items():
                    calls[name] = lambda other=other: other(columns, rows, nodes, op, x, e, reduce)
                weights = torch.randn(nodes, width, device=device, dtype=dtype)
                times, repeats = {}, {}
                for name, call in list(calls.items()):
                    try:
                        out = call()
                        if out is None:
                            raise NotImplementedError
                        for _ in range(2):
                            torch.autograd.grad(call(), leaves, weights)
                    except Exception as error:  # what a library has not, or no memory
                        if not isinstance(error, NotImplementedError):
                            print(f"{name}: {op} {reduce} {edges} {width}: {type(error).__name__} {str(error)[:80]}")
                        del calls[name]
                        continue
                    times[name] = ([], [])
                    one = seconds(call, device, 3)
                    repeats[name] = 1 if device == "cpu" else max(1, min(50, int(1e-3 / one)))
                for _ in range(given.rounds):
                    for name, call in calls.items():
                        times[name][0].append(seconds(call, device, repeats[name]))
                        out = call()
                        times[name][1].append(seconds(lambda: torch.autograd.grad(out, leaves, weights, retain_graph=True), device, repeats[name]))
                        del out
                forward, backward = (statistics.median(part) for part in times["ours"])
                moved = (edges if device == "cpu" else nodes) * width + edges * width * (vector == 2) + nodes * width
                floor = moved * size / speed + (edges * 4 / speed if device != "cpu" else 0)
                line = f"{edges:8} {width:4} {op:6} {KINDS[vector]:6} {reduce:4}  {forward * 1e3:8.3f} {backward * 1e3:8.3f} ms"
                line += f"  floor {floor * 1e3:7.3f} ms"
                ratios = {name: tuple(statistics.median(part) / own for part, own in zip(times[name], (forward, backward)))
                          for name in calls if name != "ours"}
                for name, (one, two) in ratios.items():
                    line += f"  {name} x {one:5.2f} {two:5.2f}"
                for part in (0, 1):
                    summary[edges, part].append(min(pair[part] for pair in ratios.values()))
                print(line, flush=True)
                del x, e, leaves, weights, calls
    for (edges, part), best in sorted(summary.items()):
        print(f"{edges:8} {('forward', 'backward')[part]:8} of the best of the others: {statistics.geometric_mean(best):.2f} in the geometric mean, "
              f"least {min(best):.2f}, {len(best)} calls")


if __name__ == "__main__":
    main()
