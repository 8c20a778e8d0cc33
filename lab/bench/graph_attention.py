#!/usr/bin/env python3
"""Attention on meshes with vectors on edges beside PyTorch Geometric's TransformerConv, plain and compiled, forward and backward, and on a GPU beside the
Triton kernels of anemoi-models where they are installed.

The graph is a square mesh in the order of its rows, each node with its nearest neighbours. What is timed is what follows the linear
layers: TransformerConv.propagate on q, k, v and e of the mesh, with gradients of all four. Each line has the median times of ours in
milliseconds, those in which the bytes of the floor move at the bandwidth of a copy, and how many times as long the others take, in
rounds that alternate. The floor of the forward call: q, k, v, e and the result once; backward: these and the gradients once.
"""
from __future__ import annotations

import importlib.util
import math
import time

import torch
from turns import LATER, bandwidth, in_turn, medians, options, results, step, use_threads

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


def step_on(call, leaves, weights, device: str, repeats: int = 5) -> tuple[float, ...]:
    """Return the seconds of a call and of its gradients; on a GPU the device's, in the mean of several."""
    if device == "cpu":
        return step(call, leaves, weights)
    sums = [0.0, 0.0]
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
    for _ in range(repeats):
        marks[0].record()
        out = call()
        marks[1].record()
        torch.autograd.grad(out, leaves, weights.view_as(out))
        marks[2].record()
        marks[2].synchronize()
        for part in (0, 1):
            sums[part] += marks[part].elapsed_time(marks[part + 1]) / 1e3
    return sums[0] / repeats, sums[1] / repeats


class Mesh:
    """Operands on a mesh, and the calls of each library with what they have gradients of."""

    def __init__(self, nodes: int, degree: int, name: str, given):
        torch.manual_seed(1)
        self.device, dtype, heads, width = given.device, getattr(torch, name), given.heads, given.width
        self.name = f"{nodes} {degree} {name}"
        rows, columns = mesh(nodes, degree, self.device)
        self.count, self.edges = int(rows[-1]) + 1, rows.numel()
        pattern = tt.Pattern.from_coo(rows.int(), columns.int(), (self.count, self.count))
        q, k, v, e = ((torch.randn(n, heads, width, device=self.device) / 2).to(dtype).requires_grad_() for n in (*[self.count] * 3, self.edges))
        self.weights = torch.randn(self.count, heads, width, device=self.device).to(dtype)
        self.calls = {"ours": (lambda: tt.graph_attention(pattern, q, k, v, e), (q, k, v, e))}
        flat = e.detach().flatten(1).requires_grad_()
        plain = by_pyg(rows, columns, heads, width)
        self.calls["pyg"] = lambda: plain(q, k, v, flat), (q, k, v, flat)
        if given.compile:
            torch._dynamo.reset()
            compiled = torch.compile(plain)
            self.calls["compiled"] = lambda: compiled(q, k, v, flat), (q, k, v, flat)
        if self.device == "cuda" and importlib.util.find_spec("anemoi") and importlib.util.find_spec("anemoi.models"):
            triton = by_anemoi(rows, columns)
            self.calls["anemoi"] = lambda: triton(q, k, v, e), (q, k, v, e)

    def results(self, which: str) -> tuple[list, float]:
        """Return the result and the gradients of a call, and the MB that it took on a GPU; called twice, since the first call may prepare something."""
        call, leaves = self.calls[which]
        torch.cuda.reset_peak_memory_stats() if self.device == "cuda" else None
        before = torch.cuda.memory_allocated() if self.device == "cuda" else 0
        found = [x.reshape(-1) for x in results(call, leaves, self.weights)]
        memory = (torch.cuda.max_memory_allocated() - before) / 1e6 if self.device == "cuda" else 0
        step(call, leaves, self.weights)
        return found, memory

    def compare(self) -> dict[str, float]:
        """Print how far the results are apart, and forget the calls that have no memory. Return the MB of the others."""
        memory = {}
        for which in list(self.calls):
            try:
                found, memory[which] = self.results(which)
            except Exception as error:  # no memory
                print(f"{which}: {self.name}: {type(error).__name__} {str(error)[:200]}")
                del self.calls[which]
                continue
            if which == "ours":
                ours = found
                continue
            apart = [((a.float() - b.float()).norm() / b.float().norm().clamp_min(1e-20)).item() for a, b in zip(ours, found)]
            print(f"{which} and ours, relative differences of out, dq, dk, dv, de: {' '.join(f'{x:.1e}' for x in apart)}")
        return memory

    def floors(self, speed: float) -> tuple[float, float]:
        """Return the milliseconds in which memory moves what the call, and its gradients, need."""
        row = 1e3 * self.weights.element_size() * self.weights[0].numel() / speed
        return (4 * self.count + self.edges) * row, (8 * self.count + 2 * self.edges) * row


def measure(nodes: int, degree: int, name: str, given, speed: float) -> None:
    made = Mesh(nodes, degree, name, given)
    memory = made.compare()
    times = in_turn(made.calls, given.rounds, lambda which: step_on(*made.calls[which], made.weights, given.device))
    forward, backward = medians(times.pop("ours"))
    line = f"{made.count:7} x {degree:2} {given.heads:2} x {given.width:3} {name:8}  {forward * 1e3:8.3f} {backward * 1e3:8.3f} ms  floors {{:7.3f}} {{:7.3f}} ms".format(
        *made.floors(speed))
    for which, steps in times.items():
        one, two = medians(steps)
        line += f"  {which} {one / forward:.2f} {two / backward:.2f} both {(one + two) / (forward + backward):.2f}"
    print(line + "  MB " + " ".join(f"{which} {m:.0f}" for which, m in memory.items() if m), flush=True)


def main() -> None:
    given = options(__doc__, {"seconds": LATER}, {"device": ["cpu", "cuda"]}, device="cpu", nodes=[40_000], degrees=[6, 12], heads=16,
                    width=64, types=["float16", "bfloat16"], rounds=5, threads=2, compile=False, seconds=math.inf).parse_args()
    began = time.perf_counter()
    use_threads(given.threads)
    speed = bandwidth(given.device)
    for nodes, degree, name in ((n, d, t) for n in given.nodes for d in given.degrees for t in given.types):
        if time.perf_counter() - began > given.seconds:
            break
        measure(nodes, degree, name, given, speed)


if __name__ == "__main__":
    main()
