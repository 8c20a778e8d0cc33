#!/usr/bin/env python3
"""A training step on one graph, on one device and on several: `tamis.torch.distributed` beside the same layers on the whole graph.

    torchrun --nproc-per-node 2 lab/bench/partitioned.py --graph mesh

Rank 0 makes the graph and first times steps on it alone, on its device. Then all ranks train together, under DistributedDataParallel. From the same
parameters both compute the loss, the result and the gradients of the parameters once, which must be equal within rounding (`apart`, relative to the largest; above --most the program
ends with 1). Rank 0 prints a line of JSON. Devices are GPUs with NCCL if there are as many as ranks, else the CPU with gloo.
"""
from __future__ import annotations

import json
import os
import statistics
import sys
import time
from typing import Any, Callable, Optional

import torch
import torch.distributed as dist
from torch import Tensor
from turns import finish, options, use_threads

from tamis.torch import Pattern, distributed, pyg

LAYERS: dict[str, Callable[[int, int], torch.nn.Module]] = {
    "gat": lambda width, heads: pyg.GATConv(width, width // heads, heads, add_self_loops=False), "graph-conv": lambda width, heads: pyg.GraphConv(width, width, "mean"),
    "sage": lambda width, heads: pyg.SAGEConv(width, width), "transformer": lambda width, heads: pyg.TransformerConv(width, width // heads, heads)}


class Network(torch.nn.Module):
    """Layers of one kind, on a pattern or a partitioned graph."""

    def __init__(self, kind: str, count: int, width: int, heads: int):
        super().__init__()
        self.layers = torch.nn.ModuleList([LAYERS[kind](width, heads) for _ in range(count)])

    def forward(self, graph: Any, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.nn.functional.elu(graph.layer(layer, x) if isinstance(graph, distributed.PartitionedGraph) else layer(x, graph))
        return x


def mesh(nodes: int, degree: int) -> tuple[Tensor, int]:
    """Edges from the nearest `degree` nodes of a square grid."""
    side = max(int(nodes ** 0.5), 3)
    reach = range(-8, 9)
    near = sorted(((i * i + j * j, i, j) for i in reach for j in reach if i or j))[:degree]
    place = torch.arange(side * side)
    row, column = place // side, place % side
    parts = []
    for _, i, j in near:
        there = (row + i >= 0) & (row + i < side) & (column + j >= 0) & (column + j < side)
        parts.append(torch.stack([(place + i * side + j)[there], place[there]]))
    return torch.cat(parts, 1), side * side


def rmat(nodes: int, degree: int) -> tuple[Tensor, int]:
    """Edges of R-MAT with the parameters of Graph500."""
    scale = max((nodes - 1).bit_length(), 1)
    draw = torch.Generator().manual_seed(1)
    found = torch.zeros(2, (1 << scale) * degree, dtype=torch.int64)
    for _ in range(scale):
        u = torch.rand(found.shape[1], generator=draw)
        found = found * 2 + torch.stack([u >= 0.76, ((u >= 0.57) & (u < 0.76)) | (u >= 0.95)])
    return found, 1 << scale


GRAPHS = {"mesh": mesh, "rmat": rmat}


def loss_of(net: Any, graph: Any, x: Tensor, y: Tensor, nodes: int) -> tuple[Tensor, Tensor]:
    out = net(graph, x)
    return (out - y).square().sum() / (nodes * y.shape[1]), out


def timed(step: Callable[[], None], given: Any, device: str, together: bool) -> float:
    """The median of the seconds of a step, over rounds; together: of the slowest rank."""
    for _ in range(given.warm):
        step()
    found = []
    for _ in range(given.rounds):
        finish(device)
        if together:
            dist.barrier()
        finish(device)
        began = time.perf_counter()
        for _ in range(given.steps):
            step()
        finish(device)
        passed = torch.tensor([(time.perf_counter() - began) / given.steps], device=device)
        if together:
            dist.all_reduce(passed, dist.ReduceOp.MAX)
        found.append(float(passed))
    return statistics.median(found)


def trained(net: Any, graph: Any, x: Tensor, y: Tensor, nodes: int, ranks: int) -> Callable[[], None]:
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        loss, _ = loss_of(net, graph, x, y, nodes)
        (loss * ranks).backward()
        optimizer.step()

    return step


def apart(one: Tensor, other: Tensor) -> float:
    return float((one.double() - other.double()).abs().max() / other.double().abs().max().clamp(min=1e-30))


def main() -> int:
    given = options(__doc__, {"degree": "edges of a node", "owner": "how nodes are divided", "most": "largest difference from one device", "warm": "steps before the clock runs"},
                    {"graph": list(GRAPHS), "layer": list(LAYERS), "owner": ["metis", "ranges"]}, graph="mesh", nodes=1000000, degree=10, layer="gat", layers=3, width=128, heads=4,
                    owner="metis", steps=5, rounds=5, warm=3, dtype="float32", most=1e-3, threads=1, cpu=False).parse_args()
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    gpus = not given.cpu and torch.cuda.is_available() and torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if gpus else "cpu"
    if gpus:
        torch.cuda.set_device(device)
    else:
        use_threads(given.threads)
    if "RANK" not in os.environ:
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29544")
    dist.init_process_group("cpu:gloo,cuda:nccl" if gpus else "gloo")
    rank, dtype = dist.get_rank(), getattr(torch, given.dtype)

    def made() -> torch.nn.Module:
        torch.manual_seed(2)
        return Network(given.layer, given.layers, given.width, given.heads).to(device, dtype)

    edges: Optional[Tensor] = None
    line: dict[str, Any] = {}
    whole: Any = None
    if rank == 0:
        edges, nodes = GRAPHS[given.graph](given.nodes, given.degree)
        edges = edges[:, torch.argsort(edges[1], stable=True)]
        draw = torch.Generator().manual_seed(3)
        x, y = (torch.randn(nodes, given.width, generator=draw).to(dtype) for _ in range(2))
        pattern = Pattern.from_edge_index(edges.to(device), nodes)
        net, on_device = made(), (x.to(device), y.to(device))
        loss, out = loss_of(net, pattern, *on_device, nodes)
        loss.backward()
        whole = loss.item(), out.detach().cpu(), [p.grad.cpu().clone() for p in net.parameters()]
        del loss, out
        line = {"record": "partitioned", "graph": given.graph, "nodes": nodes, "edges": edges.shape[1], "layer": given.layer, "layers": given.layers, "width": given.width,
                "heads": given.heads, "type": given.dtype, "ranks": ranks, "device": torch.cuda.get_device_name() if gpus else f"CPU, {given.threads} threads", "owner": given.owner,
                "one_ms": timed(trained(net, pattern, *on_device, nodes, 1), given, device, False) * 1e3}
        del pattern, net, on_device
    shared: list[Any] = [line.get("nodes")]
    dist.broadcast_object_list(shared, 0, device=torch.device("cpu"))
    nodes = shared[0]

    began = time.perf_counter()
    graph = distributed.partition(edges, nodes, owner=None if given.owner == "metis" else "ranges", device=device)
    passed = time.perf_counter() - began
    own = [graph.scatter(one if rank == 0 else None) for one in ((x, y) if rank == 0 else (None, None))]
    net = made()
    if ranks > 1:
        net = torch.nn.parallel.DistributedDataParallel(net)
    loss, out = loss_of(net, graph, *own, nodes)
    (loss * ranks).backward()
    total = loss.detach().clone()
    dist.all_reduce(total)
    result, gradients = graph.gather(out), [p.grad.cpu().clone() for p in net.parameters()]
    del loss, out
    seconds = timed(trained(net, graph, *own, nodes, ranks), given, device, True)
    sizes = torch.tensor([graph.edges.numel(), graph.ghosts.numel(), graph.interior])
    every = [torch.empty_like(sizes) for _ in range(ranks)]
    dist.all_gather(every, sizes)
    code = 0
    if rank == 0:
        differ = {"loss": abs(total.item() - whole[0]) / abs(whole[0]), "result": apart(result, whole[1]), "gradients": apart(*(torch.cat([one.flatten() for one in all_of]) for all_of in (gradients, whole[2])))}
        line.update(ranks_ms=seconds * 1e3, faster=line["one_ms"] / (seconds * 1e3), partition_s=passed, edges_most=max(int(one[0]) for one in every),
                    ghosts_most=max(int(one[1]) for one in every), interior=sum(int(one[2]) for one in every), in_two_parts=graph.split, apart=differ)
        print(json.dumps(line), flush=True)
        code = int(not all(one <= given.most for one in differ.values()))
    dist.barrier()
    dist.destroy_process_group()
    return code


if __name__ == "__main__":
    sys.exit(main())
