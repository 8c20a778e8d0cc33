#!/usr/bin/env python3
"""The layers of `tamis.torch.pyg` beside those of PyTorch Geometric: time forward and backward, and memory.

A line for each layer: medians in milliseconds, of rounds that alternate, and how many times as long PyTorch Geometric takes (with --compiled also what
torch.compile makes of it); how far the results and the gradients of x are apart, relative to the largest. --memory measures instead how much a step needs
besides its operands: on the CPU the largest resident memory, on a GPU the largest that PyTorch has allocated.
"""
from __future__ import annotations

import sys

import torch
from torch_geometric import nn as geometric
from turns import apart, give_memory_back, in_turn, medians, needed, options, results, step, use_threads, why

from tamis.torch import pyg

LAYERS = {  # name: class, and True if it takes edge features
    "GATConv": ("GATConv", {}, False), "GATConv-edges": ("GATConv", {}, True), "GATv2Conv": ("GATv2Conv", {}, False),
    "GATv2Conv-edges": ("GATv2Conv", {}, True), "TransformerConv": ("TransformerConv", {}, False), "TransformerConv-edges": ("TransformerConv", {}, True),
    "SAGEConv-mean": ("SAGEConv", {"aggr": "mean"}, False), "SAGEConv-max": ("SAGEConv", {"aggr": "max"}, False), "GINConv": ("GINConv", {}, False),
    "GINEConv": ("GINEConv", {}, True), "GCNConv": ("GCNConv", {}, False)}


def made(library, name: str, given) -> torch.nn.Module:
    kind, more, edges = LAYERS[name]
    torch.manual_seed(2)
    width = given.channels
    if kind in ("GATConv", "GATv2Conv", "TransformerConv"):
        layer = getattr(library, kind)(width, width // given.heads, heads=given.heads, edge_dim=given.features if edges else None, **more)
    elif kind in ("GINConv", "GINEConv"):
        network = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width))
        layer = getattr(library, kind)(network, **({"edge_dim": given.features} if edges else {}))
    else:
        layer = getattr(library, kind)(width, width, **more)
    return layer.to(given.device, getattr(torch, given.dtype))


def calls_of(name: str, given, x: torch.Tensor, *rest: torch.Tensor) -> tuple[dict, dict]:
    """The calls of a layer by each library, and what each has gradients of."""
    layers = {"tamis": made(pyg, name, given), "pyg": made(geometric, name, given)}
    layers["pyg"].load_state_dict(layers["tamis"].state_dict())
    wanted = {library: [x, *rest[1:], *layer.parameters()] for library, layer in layers.items()}
    if given.compiled:
        layers["compiled"], wanted["compiled"] = torch.compile(layers["pyg"]), wanted["pyg"]
    calls = {library: (lambda layer=layer: layer(x, *rest)) for library, layer in layers.items()}
    if given.compiled:
        try:
            calls["compiled"]()
        except Exception as error:  # what PyTorch cannot compile is part of the result
            print(f"{name:22} compiled: {why(error)}", flush=True)
            del calls["compiled"]
    return calls, wanted


def measure(name: str, given, weights: torch.Tensor, calls: dict, wanted: dict) -> None:
    ours, theirs = ([one.double() for one in results(calls[library], wanted[library], weights)[:2]] for library in ("tamis", "pyg"))
    differ = [*map(apart, ours, theirs)]  # of the results, and of the gradients of x

    def timed(library: str) -> tuple[float, float]:
        return step(calls[library], wanted[library], weights, given.device)

    in_turn(calls, 2, timed)
    times = in_turn(calls, given.rounds, timed)
    forward, backward = medians(times.pop("tamis"))
    line = f"{name:22} {forward * 1e3:8.2f} {backward * 1e3:8.2f} ms"
    for library, steps in times.items():
        one, two = medians(steps)
        line += f"   {library} x {one / forward:5.2f} {two / backward:5.2f} both {(one + two) / (forward + backward):5.2f}"
    print(f"{line}   apart {differ[0]:.1e} {differ[1]:.1e}", flush=True)


def main() -> None:
    given = options(__doc__, {"channels": "of a node, over all heads", "features": "of an edge"}, {"layers": list(LAYERS)},
                    nodes=20000, degree=10, layers=list(LAYERS), channels=64, heads=4, features=8, device="cpu", dtype="float32", threads=2,
                    rounds=5, compiled=False, memory=False).parse_args()
    if given.memory and given.device == "cpu":
        give_memory_back()
    if given.device == "cpu":
        use_threads(given.threads)
    torch.manual_seed(1)
    nodes, edges = given.nodes, given.nodes * given.degree
    edge_index = torch.randint(nodes, (2, edges), device=given.device)
    print(f"random: {nodes} nodes, {edges} edges, {given.channels} channels, {given.heads} heads, {given.features} features an edge, {given.dtype}, "
          f"{torch.cuda.get_device_name() if given.device == 'cuda' else f'{given.threads} threads'}", flush=True)
    like = {"device": given.device, "dtype": getattr(torch, given.dtype)}
    x = torch.randn(nodes, given.channels, requires_grad=True, **like)
    edge_attr = torch.randn(edges, given.features, requires_grad=True, **like)
    weights = torch.randn(nodes, given.channels, **like)
    for name in given.layers:
        calls, wanted = calls_of(name, given, x, edge_index, *([edge_attr] if LAYERS[name][2] else []))
        if given.memory:
            found = {library: needed(lambda: torch.autograd.grad(call(), wanted[library], weights, allow_unused=True), given.device)
                     for library, call in calls.items()}
            print(f"{name:22}" + "".join(f"  {library} {mib:8.1f} MiB" for library, mib in found.items()), flush=True)
        else:
            measure(name, given, weights, calls, wanted)


if __name__ == "__main__":
    sys.exit(main())
