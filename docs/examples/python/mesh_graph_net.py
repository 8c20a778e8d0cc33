"""One step of training a MeshGraphNet on a mesh that this program generates: by tamis.torch.nn.EdgeNetwork, and by PyTorch's layers alone.

    mesh_graph_net.py [--nodes 400] [--width 32] [--layers 15] [--steps 2] [--device cpu] [--threads 2] [--libraries tamis torch]

The mesh is a grid of points that are moved at random, cut into triangles; nothing of it is measured data. Each layer is that of Pfaff et al., "Learning
mesh-based simulation with graph networks" (2021): e' = e + LayerNorm(MLP([e, x_i, x_j])), x' = x + LayerNorm(MLP([x, sum of e'])). Both networks begin with
the same parameters. It prints the loss, the time of a step and, on a GPU, the memory at its largest, and ends with 1 where the losses differ.
"""
from __future__ import annotations

import argparse
import sys
import time

import torch
from torch import Tensor, nn

from tamis.torch import Pattern
from tamis.torch.nn import EdgeNetwork


def made_mesh(side: int) -> tuple[Tensor, Tensor]:
    """Return the edges of a mesh of triangles, in both directions and in no order, and the points."""
    place = torch.arange(side * side).reshape(side, side)
    pairs = [(place[:, 1:], place[:, :-1]), (place[1:], place[:-1]), (place[1:, 1:], place[:-1, :-1])]
    one = torch.cat([torch.stack([a.reshape(-1), b.reshape(-1)]) for a, b in pairs], 1)
    edges = torch.cat([one, one.flip(0)], 1)
    points = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij"), -1).reshape(-1, 2) + 0.3 * torch.rand(side * side, 2)
    return edges[:, torch.randperm(edges.shape[1])], points


def mlp(inputs: int, width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, width), nn.SiLU(), nn.Linear(width, width), nn.LayerNorm(width))


class Eager(nn.Module):
    """The same layer as EdgeNetwork in PyTorch's layers: it makes arrays of all edges."""

    def __init__(self, width: int):
        super().__init__()
        self.layers = mlp(3 * width, width)

    def forward(self, graph: Pattern, edges: Tensor, e: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        source, target = edges
        e = e + self.layers(torch.cat([e, x[target], x[source]], 1))
        return e, torch.zeros_like(x).index_add(0, target, e)


class Ours(EdgeNetwork):
    def __init__(self, width: int):
        super().__init__(width, width, width, width)

    def forward(self, graph: Pattern, edges: Tensor, e: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        return super().forward(graph, e, x)  # type: ignore[return-value]


class MeshGraphNet(nn.Module):
    def __init__(self, of_edges: type, width: int, layers: int):
        super().__init__()
        self.first_edges, self.first_nodes, self.last = mlp(3, width), mlp(2, width), nn.Linear(width, 1)
        self.of_edges = nn.ModuleList(of_edges(width) for _ in range(layers))
        self.of_nodes = nn.ModuleList(mlp(2 * width, width) for _ in range(layers))

    def forward(self, graph: Pattern, edges: Tensor, away: Tensor, points: Tensor) -> Tensor:
        e, x = self.first_edges(away), self.first_nodes(points)
        for of_edges, of_nodes in zip(self.of_edges, self.of_nodes):
            e, sums = of_edges(graph, edges, e, x)
            x = x + of_nodes(torch.cat([x, sums], 1))
        return self.last(x)  # type: ignore[no-any-return]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("nodes", 400), ("width", 32), ("layers", 15), ("steps", 2), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--libraries", nargs="+", choices=["tamis", "torch"], default=["tamis", "torch"])
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    edges, points = made_mesh(round(options.nodes**0.5))
    graph = Pattern.from_edge_index(edges, len(points)).to(options.device)
    away = points[edges[0]] - points[edges[1]]
    away = torch.cat([away, away.norm(dim=1, keepdim=True)], 1).to(options.device)
    edges, points = edges.to(options.device), points.to(options.device)
    wanted = points.sin().sum(1, keepdim=True)
    print(f"a generated mesh of {len(points)} nodes and {edges.shape[1]} edges, {options.layers} layers of width {options.width}")
    state, losses = MeshGraphNet(Eager, options.width, options.layers).state_dict(), {}
    for library in options.libraries:
        net = MeshGraphNet(Ours if library == "tamis" else Eager, options.width, options.layers)
        net.load_state_dict(state)
        net.to(options.device)
        optimizer = torch.optim.Adam(net.parameters(), 1e-4)
        if options.device.startswith("cuda"):
            torch.cuda.reset_peak_memory_stats()
        for _ in range(options.steps):
            begin = time.perf_counter()
            loss = (net(graph, edges, away, points) - wanted).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[library] = loss.item()
            seconds = time.perf_counter() - begin
        memory = f", {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB" if options.device.startswith("cuda") else ""
        print(f"{library}: loss {losses[library]:.6f}, {seconds:.3f} s a step{memory}")
    return int(len(losses) == 2 and abs(losses["tamis"] - losses["torch"]) > 1e-3 * abs(losses["torch"]))


if __name__ == "__main__":
    sys.exit(main())
