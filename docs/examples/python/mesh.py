"""A graph transformer with features of edges learns how heat flows on a mesh: by tamis.torch.pyg and by PyTorch Geometric, if it is installed.

    mesh.py [--nodes 10000] [--channels 64] [--heads 4] [--layers 3] [--steps 30] [--device cpu] [--threads 2] [--libraries tamis pyg compiled] [--memory]

The mesh is a grid of moved points, cut into triangles. A node knows its temperature and how well it conducts; an edge knows its direction and
length. The network says the temperatures some time later. All libraries begin with the same parameters and see the same fields, step by step in
turn. It ends with 1 where their losses differ. --memory measures how much a step needs at its largest, instead of its time: on the CPU resident memory,
on a GPU what PyTorch has allocated.
"""
from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import sys
import time
from typing import Callable, NamedTuple

import torch

import tamis
from tamis.torch import Pattern, pyg, spmm


class Mesh(NamedTuple):
    edge_index: torch.Tensor
    edge_attr: torch.Tensor  # direction and length
    graph: Pattern
    weights: torch.Tensor    # of the edges, of sum 1 at each node


def made_mesh(nodes: int, device: str) -> Mesh:
    side = round(nodes**0.5)
    place = torch.arange(side * side).reshape(side, side)
    pairs = [(place[:, 1:], place[:, :-1]), (place[1:], place[:-1]), (place[1:, 1:], place[:-1, :-1])]
    one = torch.cat([torch.stack([a.reshape(-1), b.reshape(-1)]) for a, b in pairs], 1)
    edge_index = torch.cat([one, one.flip(0)], 1)
    edge_index = edge_index[:, torch.randperm(edge_index.shape[1])]
    points = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij"), -1).reshape(-1, 2) + 0.3 * torch.rand(side * side, 2)
    away = points[edge_index[0]] - points[edge_index[1]]
    length = away.norm(dim=1, keepdim=True)
    graph = Pattern.from_edge_index(edge_index, side * side)
    close = 1 / length[:, 0]
    weights = close / spmm(graph, torch.ones(side * side), close)[edge_index[1]]
    return Mesh(edge_index.to(device), torch.cat([away, length], 1).to(device), graph.to(device), weights.to(device))


def fields(mesh: Mesh, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Temperatures and conductivities (nodes, 2), and the temperatures later."""
    generator = torch.Generator().manual_seed(seed)
    heat = torch.randn(mesh.graph.rows, 1, generator=generator).to(mesh.weights.device)
    conducts = torch.rand(mesh.graph.rows, 1, generator=generator).to(mesh.weights.device)
    later = heat
    for _ in range(2):
        later = later + conducts * (spmm(mesh.graph, later, mesh.weights) - later)
    return torch.cat([heat, conducts], 1), later


class Network(torch.nn.Module):
    def __init__(self, layer: Callable, channels: int, heads: int, layers: int):
        super().__init__()
        self.into, self.out = torch.nn.Linear(2, channels), torch.nn.Linear(channels, 1)
        self.layers = torch.nn.ModuleList([layer(channels, channels // heads, heads=heads, edge_dim=3) for _ in range(layers)])
        self.norms = torch.nn.ModuleList([torch.nn.LayerNorm(channels) for _ in range(layers)])

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, edge_attr: torch.Tensor) -> torch.Tensor:
        x = self.into(x)
        for layer, norm in zip(self.layers, self.norms):
            x = x + layer(norm(x), edge_index, edge_attr)
        return self.out(x)


class Trained:
    """A network with its optimizer."""

    def __init__(self, library: str, given: argparse.Namespace):
        if library == "tamis":
            layer = pyg.TransformerConv
        else:
            from torch_geometric.nn import TransformerConv as layer
        torch.manual_seed(1)
        net = Network(layer, given.channels, given.heads, given.layers).to(given.device)
        self.optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
        self.net = torch.compile(net) if library == "compiled" else net
        self.losses: list[float] = []
        self.times: list[float] = []

    def step(self, mesh: Mesh, x: torch.Tensor, later: torch.Tensor) -> None:
        began = time.perf_counter()
        self.optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(self.net(x, mesh.edge_index, mesh.edge_attr), later)
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.item())  # waits for a GPU
        self.times.append(time.perf_counter() - began)


def resident(word: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(word)) << 10


def needed(step: Callable, device: str) -> float:
    """The mebibytes of a step at its largest beside what is kept from step to step."""
    step()
    gc.collect()
    if device == "cuda":
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        step()
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    before = resident("VmRSS:")
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    step()
    return (resident("VmHWM:") - before) / 2**20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("nodes", 10000), ("channels", 64), ("heads", 4), ("layers", 3), ("steps", 30), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--libraries", nargs="+", default=["tamis", "pyg"], choices=["tamis", "pyg", "compiled"])
    parser.add_argument("--memory", action="store_true")
    given = parser.parse_args()
    if given.memory and given.device == "cpu" and "MALLOC_MMAP_THRESHOLD_" not in os.environ:  # then what is freed is no longer resident
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "MALLOC_MMAP_THRESHOLD_": "262144"})
    torch.set_num_threads(given.threads)
    tamis.set_threads(given.threads)
    torch.manual_seed(0)
    mesh = made_mesh(given.nodes, given.device)
    runs = {library: Trained(library, given) for library in given.libraries}
    memory = {}
    for number in range(given.steps):
        x, later = fields(mesh, number)
        for library, run in runs.items():
            if given.memory:
                memory[library] = needed(lambda: run.step(mesh, x, later), given.device)
            else:
                run.step(mesh, x, later)
    x, later = fields(mesh, given.steps)
    for library, run in runs.items():
        print(json.dumps({"library": library, "nodes": mesh.graph.rows, "edges": mesh.graph.nnz, "channels": given.channels, "heads": given.heads,
                          "layers": given.layers, "device": torch.cuda.get_device_name() if given.device == "cuda" else f"{given.threads} threads",
                          "first": run.losses[0], "last": statistics.mean(run.losses[-5:]), "unchanged": float((later - x[:, :1]).square().mean()),
                          **({"MiB": round(memory[library], 1)} if given.memory else {"ms": round(1e3 * statistics.median(run.times[2:] or run.times), 1)})}),
              flush=True)
    first = next(iter(runs.values())).losses
    return int(any(abs(one - other) > 1e-3 * max(one, other) for run in runs.values() for one, other in zip(first[:5], run.losses[:5])))


if __name__ == "__main__":
    sys.exit(main())
