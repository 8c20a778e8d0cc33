#!/usr/bin/env python3
"""The layers of `tamis.torch.pyg` beside those of PyTorch Geometric: time forward and backward, and memory.

    pyg_layers.py [--graph random|mesh] [--nodes 20000] [--degree 10] [--layers GATConv ...] [--channels 64] [--heads 4] [--device cpu] [--dtype float32]
                  [--threads 2] [--rounds 5] [--compiled] [--memory]

A line for each layer: medians in milliseconds, of rounds that alternate, and how many times as long PyTorch Geometric takes (with --compiled also what
torch.compile makes of it); how far the results and the gradients of x are apart, relative to the largest. --memory measures instead how much a step needs
besides its operands: on the CPU the largest resident memory, on a GPU the largest that PyTorch has allocated.
"""
from __future__ import annotations

import argparse
import statistics
import sys
import time

import torch
from messages import give_memory_back, needed
from torch_geometric import nn as geometric

import tamis
from tamis.torch import pyg

ATTENTION = {"heads", "edge_dim"}
LAYERS = {  # name: class, and True if it takes edge features
    "GATConv": ("GATConv", {}, False), "GATConv-edges": ("GATConv", {}, True), "GATv2Conv": ("GATv2Conv", {}, False),
    "GATv2Conv-edges": ("GATv2Conv", {}, True), "TransformerConv": ("TransformerConv", {}, False), "TransformerConv-edges": ("TransformerConv", {}, True),
    "SAGEConv-mean": ("SAGEConv", {"aggr": "mean"}, False), "SAGEConv-max": ("SAGEConv", {"aggr": "max"}, False), "GINConv": ("GINConv", {}, False),
    "GINEConv": ("GINEConv", {}, True), "GCNConv": ("GCNConv", {}, False)}


def mesh(nodes: int, device: str) -> torch.Tensor:
    """A grid cut into triangles: edges both ways between neighbours, six to a node."""
    side = round(nodes**0.5)
    place = torch.arange(side * side, device=device).reshape(side, side)
    pairs = [(place[:, 1:], place[:, :-1]), (place[1:], place[:-1]), (place[1:, 1:], place[:-1, :-1])]
    one = torch.cat([torch.stack([a.reshape(-1), b.reshape(-1)]) for a, b in pairs], 1)
    return torch.cat([one, one.flip(0)], 1)


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


def finish(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="random", choices=["random", "mesh"])
    parser.add_argument("--nodes", type=int, default=20000)
    parser.add_argument("--degree", type=int, default=10)
    parser.add_argument("--layers", nargs="+", default=list(LAYERS), choices=list(LAYERS))
    parser.add_argument("--channels", type=int, default=64, help="of a node, over all heads")
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--features", type=int, default=8, help="of an edge")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--memory", action="store_true")
    given = parser.parse_args()
    if given.memory and given.device == "cpu":
        give_memory_back()
    if given.device == "cpu":
        torch.set_num_threads(given.threads)
        tamis.set_threads(given.threads)
    torch.manual_seed(1)
    edge_index = mesh(given.nodes, given.device) if given.graph == "mesh" else \
        torch.randint(given.nodes, (2, given.nodes * given.degree), device=given.device)
    nodes, dtype = int(edge_index.max()) + 1 if given.graph == "mesh" else given.nodes, getattr(torch, given.dtype)
    edges = edge_index.shape[1]
    print(f"{given.graph}: {nodes} nodes, {edges} edges, {given.channels} channels, {given.heads} heads, {given.features} features an edge, {given.dtype}, "
          f"{torch.cuda.get_device_name() if given.device == 'cuda' else f'{given.threads} threads'}", flush=True)
    x = torch.randn(nodes, given.channels, device=given.device, dtype=dtype, requires_grad=True)
    edge_attr = torch.randn(edges, given.features, device=given.device, dtype=dtype, requires_grad=True)
    weights = torch.randn(nodes, given.channels, device=given.device, dtype=dtype)
    for name in given.layers:
        rest = (edge_attr,) if LAYERS[name][2] else ()
        layers = {"tamis": made(pyg, name, given), "pyg": made(geometric, name, given)}
        layers["pyg"].load_state_dict(layers["tamis"].state_dict())
        calls = {library: (lambda layer=layer: layer(x, edge_index, *rest)) for library, layer in layers.items()}
        if given.compiled:
            compiled = torch.compile(layers["pyg"])
            calls["compiled"] = lambda compiled=compiled: compiled(x, edge_index, *rest)
            try:
                calls["compiled"]()
            except Exception as error:  # what PyTorch cannot compile is part of the result
                print(f"{name:22} compiled: {type(error).__name__}: {str(error)[:150]}".replace("\n", " "), flush=True)
                del calls["compiled"]
        wanted = {library: [x, *rest, *layer.parameters()] for library, layer in layers.items()}
        if given.memory:
            found = {}
            for library, call in calls.items():
                def step(library=library, call=call):
                    torch.autograd.grad(call(), wanted.get(library, wanted["pyg"]), weights, allow_unused=True)
                found[library] = needed(step, given.device)
            print(f"{name:22}" + "".join(f"  {library} {mib:8.1f} MiB" for library, mib in found.items()), flush=True)
            continue
        times = {library: ([], []) for library in calls}
        outs = {}
        for turn in range(given.rounds + 2):
            for library, call in calls.items():
                finish(given.device)
                began = time.perf_counter()
                out = call()
                finish(given.device)
                middle = time.perf_counter()
                found = torch.autograd.grad(out, wanted.get(library, wanted["pyg"]), weights, allow_unused=True)
                finish(given.device)
                ended = time.perf_counter()
                outs[library] = (out.detach(), found[0]) if turn == 0 else None
                del out, found
                if turn > 1:
                    times[library][0].append(middle - began)
                    times[library][1].append(ended - middle)
            if turn == 0:
                apart = [float((ours.double() - theirs.double()).abs().max() / theirs.double().abs().max())
                         for ours, theirs in zip(outs["tamis"], outs["pyg"])]
        forward, backward = (statistics.median(part) for part in times["tamis"])
        line = f"{name:22} {forward * 1e3:8.2f} {backward * 1e3:8.2f} ms"
        for library in [other for other in calls if other != "tamis"]:
            one, two = (statistics.median(part) for part in times[library])
            line += f"   {library} x {one / forward:5.2f} {two / backward:5.2f} both {(one + two) / (forward + backward):5.2f}"
        print(f"{line}   apart {apart[0]:.1e} {apart[1]:.1e}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
