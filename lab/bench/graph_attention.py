#!/usr/bin/env python3
"""Attention on meshes with vectors on edges beside PyTorch Geometric's TransformerConv, plain and compiled, forward and backward, and on a GPU beside the
Triton kernels of anemoi-models where they are installed.

    graph_attention.py [--device cpu|cuda] [--nodes 40000] [--degrees 6 12] [--heads 16] [--width 64] [--types float16 bfloat16]
                       [--rounds 5] [--threads 2] [--compile] [--seconds S]

The graph is a square mesh in the order of its rows, each node with its nearest neighbours. What is timed is what follows the linear
layers: TransformerConv.propagate on q, k, v and e of the mesh, with gradients of all four. Each line has the median times of ours in
milliseconds, those in which the bytes of the floor move at the bandwidth of a copy, and how many times as long the others take, in
rounds that alternate. The floor of the forward call: q, k, v, e and the result once; backward: these and the gradients once.
"""
from __future__ import annotations

import argparse
import importlib.util
import math
import statistics
import time

import torch
from messages import bandwidth

import tamis
import tamis.torch as tt


def mesh(nodes: int, degree: int, device: str) -> torch.Tensor:
    """Return rows and columns of a torus: each node has its `degree` nearest neighbours."""
    side = math.isqrt(nodes)
    steps = sorted(((x, y) for x in range(-3, 4) for y in range(-3, 4) if x or y), key=lambda s: (s[0] ** 2 + s[1] ** 2, s))[:degree]
    x, y = torch.meshgrid(torch.arange(side, device=device), torch.arange(side, device=device), indexing="ij")
    columns = torch.stack([((x + dx) % side * side + (y + dy) % side).flatten() for dx, dy in steps], 1).sort(1).values
    return torch.stack([torch.arange(side * side, device=device).repeat_interleave(degree), columns.flatten()])


def by_pyg(rows, columns, heads, width):
    """TransformerConv without its linear layers."""
    from torch_geometric.nn import TransformerConv
    conv = TransformerConv(1, width, heads, edge_dim=1, bias=False, root_weight=False)
    conv.lin_edge = torch.nn.Identity()
    index = torch.stack([columns, rows])
    nodes = int(rows[-1]) + 1

    def call(q, k, v, e):
        return conv.propagate(index, query=q, key=k, value=v, edge_attr=e, size=(nodes, nodes))
    return call


def by_anemoi(rows, columns):
    """The graph transformer of anemoi-models; its preparation is not timed, as ours is not."""
    from anemoi.models.triton.gt import graph_transformer_attention_conv

    def begins(sorted_places):
        return torch.searchsorted(sorted_places.contiguous(), torch.arange(int(rows[-1]) + 2, device=rows.device))
    order = torch.argsort(columns, stable=True)
    targets, sources = (columns, begins(rows)), (begins(columns[order]), order, rows)
    return lambda q, k, v, e: graph_transformer_attention_conv(q, k, v, e, targets, sources)


def both(call, leaves, weights, device: str, repeats: int) -> tuple[float, float]:
    """Return the seconds of a call and of its gradients."""
    sums = [0.0, 0.0]
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)] if device == "cuda" else []
    for _ in range(repeats):
        now = [mark.record() for mark in marks[:1]] or [time.perf_counter()]
        out = call()
        now += [mark.record() for mark in marks[1:2]] or [time.perf_counter()]
        torch.autograd.grad(out, leaves, weights.view_as(out))
        now += [mark.record() for mark in marks[2:]] or [time.perf_counter()]
        if marks:
            marks[2].synchronize()
            sums[0] += marks[0].elapsed_time(marks[1]) / 1e3
            sums[1] += marks[1].elapsed_time(marks[2]) / 1e3
        else:
            sums[0] += now[1] - now[0]
            sums[1] += now[2] - now[1]
    return sums[0] / repeats, sums[1] / repeats


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--nodes", type=int, nargs="+", default=[40_000])
    parser.add_argument("--degrees", type=int, nargs="+", default=[6, 12])
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--types", nargs="+", default=["float16", "bfloat16"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--ours", action="store_true", help="ours alone")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no other call after so many")
    given = parser.parse_args()
    device, began, heads, width = given.device, time.perf_counter(), given.heads, given.width
    torch.set_num_threads(given.threads)
    tamis.set_threads(given.threads)
    speed = bandwidth(device)
    print(f"copy: {speed / 1e9:.1f} GB/s", flush=True)
    for nodes, degree, name in ((n, d, t) for n in given.nodes for d in given.degrees for t in given.types):
        if time.perf_counter() - began > given.seconds:
            break
        torch.manual_seed(1)
        dtype = getattr(torch, name)
        rows, columns = mesh(nodes, degree, device)
        count, edges = int(rows[-1]) + 1, rows.numel()
        pattern = tt.Pattern.from_coo(rows.int(), columns.int(), (count, count))
        q, k, v, e = ((torch.randn(n, heads, width, device=device) / 2).to(dtype).requires_grad_() for n in (count, count, count, edges))
        weights = torch.randn(count, heads, width, device=device).to(dtype)
        flat = e.detach().flatten(1).requires_grad_()
        plain = by_pyg(rows, columns, heads, width)
        calls = {"ours": (lambda: tt.graph_attention(pattern, q, k, v, e), (q, k, v, e)), "pyg": (lambda: plain(q, k, v, flat), (q, k, v, flat))}
        if given.ours:
            del calls["pyg"]
        elif given.compile:
            torch._dynamo.reset()
            compiled = torch.compile(plain)
            calls["compiled"] = (lambda: compiled(q, k, v, flat), (q, k, v, flat))
        if device == "cuda" and not given.ours and importlib.util.find_spec("anemoi") and importlib.util.find_spec("anemoi.models"):
            triton = by_anemoi(rows, columns)
            calls["anemoi"] = (lambda: triton(q, k, v, e), (q, k, v, e))
        times, values, memory = {}, {}, {}
        for which, (call, leaves) in list(calls.items()):
            try:
                torch.cuda.reset_peak_memory_stats() if device == "cuda" else None
                before = torch.cuda.memory_allocated() if device == "cuda" else 0
                out = call()
                values[which] = [out.detach().reshape(-1), *(x.reshape(-1) for x in torch.autograd.grad(out, leaves, weights.view_as(out)))]
                memory[which] = (torch.cuda.max_memory_allocated() - before) / 1e6 if device == "cuda" else 0
                del out
                torch.autograd.grad((o := call()), leaves, weights.view_as(o))
                times[which] = ([], [])
            except Exception as error:  # no memory
                print(f"{which}: {nodes} {degree} {name}: {type(error).__name__} {str(error)[:200]}")
                del calls[which]
                continue
            if which != "ours":
                apart = [((a.float() - b.float()).norm() / b.float().norm().clamp_min(1e-20)).item() for a, b in zip(values["ours"], values.pop(which))]
                print(f"{which} and ours, relative differences of out, dq, dk, dv, de: {' '.join(f'{x:.1e}' for x in apart)}")
        values.clear()
        for _ in range(given.rounds):
            for which, (call, leaves) in calls.items():
                for part, took in zip(times[which], both(call, leaves, weights, device, 1 if device == "cpu" else 5)):
                    part.append(took)
        forward, backward = (statistics.median(part) for part in times["ours"])
        size = q.element_size() * heads * width / speed
        floors = (4 * count + edges) * size, (5 * count + edges + 3 * count + edges) * size
        line = f"{count:7} x {degree:2} {heads:2} x {width:3} {name:8}  {forward * 1e3:8.3f} {backward * 1e3:8.3f} ms  floors {floors[0] * 1e3:7.3f} {floors[1] * 1e3:7.3f} ms"
        for which in (name for name in times if name != "ours"):
            one, two = (statistics.median(part) for part in times[which])
            line += f"  {which} {one / forward:.2f} {two / backward:.2f} both {(one + two) / (forward + backward):.2f}"
        print(line + "  MB " + " ".join(f"{which} {m:.0f}" for which, m in memory.items() if m), flush=True)
        del q, k, v, e, flat, weights, calls


if __name__ == "__main__":
    main()
