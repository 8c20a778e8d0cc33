#!/usr/bin/env python3
"""The layers of `tamis.torch.pyg` beside those of PyTorch Geometric: time forward and backward, and memory.

A line for each layer: medians in milliseconds, of rounds that alternate, and how many times as long PyTorch Geometric takes (with --compiled also what
torch.compile makes of it and of ours); how far the results and the gradients of x are apart, relative to the largest. --memory measures instead how much a step needs
besides its operands: on the CPU the largest resident memory, on a GPU the largest that PyTorch has allocated.
"""
from __future__ import annotations

import sys
from typing import Any, Callable, NamedTuple

import torch
from torch_geometric import nn as geometric
from turns import apart, give_memory_back, in_turn, medians, needed, options, results, step, use_threads, why

from tamis.torch import pyg

RELATIONS, NARROW = 8, 16  # types of edges; channels where PyTorch Geometric has a matrix for each edge


class Layer(NamedTuple):
    """A layer: its class, its arguments, and the further operands of a call, by name."""

    kind: str
    arguments: Callable[[Any, int], tuple[tuple, dict]]  # of the options and the number of channels
    operands: tuple[str, ...] = ()
    narrow: bool = False


def heads(**more: Any) -> Callable[[Any, int], tuple[tuple, dict]]:
    """Arguments of attention: as many channels as there are, in heads; edge_dim=True is the number of features."""
    return lambda given, width: ((width, width // given.heads), {"heads": given.heads, **{name: given.features if name == "edge_dim" else value for name, value in more.items()}})


def plain(*rest: Any, **more: Any) -> Callable[[Any, int], tuple[tuple, dict]]:
    return lambda given, width: ((width, width, *rest), more)


def mlp(*widths: int) -> torch.nn.Sequential:
    return torch.nn.Sequential(*[step for one, other in zip(widths, widths[1:]) for step in (torch.nn.Linear(one, other), torch.nn.ReLU())][:-1])


def network(*parts: int, **more: Any) -> Callable[[Any, int], tuple[tuple, dict]]:
    """Arguments of layers with a network; parts: widths as multiples of the channels."""
    return lambda given, width: ((mlp(*[part * width for part in parts]),), {name: given.features if name == "edge_dim" else value for name, value in more.items()})


KINDS = [("a", f"r{number}", "a") for number in range(RELATIONS)]
PNA = ["mean", "min", "max", "std"], ["identity", "amplification", "attenuation"], torch.tensor([1] * 20)
LAYERS = {
    "GATConv": Layer("GATConv", heads()), "GATConv-edges": Layer("GATConv", heads(edge_dim=True), ("edge_attr",)),
    "GATv2Conv": Layer("GATv2Conv", heads()), "GATv2Conv-edges": Layer("GATv2Conv", heads(edge_dim=True), ("edge_attr",)),
    "TransformerConv": Layer("TransformerConv", heads()), "TransformerConv-edges": Layer("TransformerConv", heads(edge_dim=True), ("edge_attr",)),
    "SAGEConv-mean": Layer("SAGEConv", plain(aggr="mean")), "SAGEConv-max": Layer("SAGEConv", plain(aggr="max")), "GINConv": Layer("GINConv", network(1, 1, 1)),
    "GINEConv": Layer("GINEConv", network(1, 1, 1, edge_dim=True), ("edge_attr",)), "GCNConv": Layer("GCNConv", plain()),
    "SGConv": Layer("SGConv", plain(2)), "APPNP": Layer("APPNP", lambda given, width: ((10, 0.1), {})), "ChebConv": Layer("ChebConv", plain(3)),
    "GatedGraphConv": Layer("GatedGraphConv", lambda given, width: ((width, 2), {})), "EdgeConv-max": Layer("EdgeConv", network(2, 1, 1)),
    "EdgeConv-mean": Layer("EdgeConv", network(2, 1, 1, aggr="mean")),
    "NNConv": Layer("NNConv", lambda given, width: ((width, width, mlp(given.features, 32, width * width)), {}), ("edge_attr",), True),
    "GMMConv": Layer("GMMConv", lambda given, width: ((width, width, given.features, given.heads), {}), ("edge_attr",)),
    "GENConv": Layer("GENConv", plain()), "GENConv-edges": Layer("GENConv", lambda given, width: ((width, width), {"edge_dim": given.features}), ("edge_attr",)),
    "PNAConv": Layer("PNAConv", plain(*PNA)), "PNAConv-edges": Layer("PNAConv", lambda given, width: ((width, width, *PNA), {"edge_dim": given.features}), ("edge_attr",)),
    "RGCNConv": Layer("RGCNConv", plain(RELATIONS), ("edge_type",)),
    "RGATConv": Layer("RGATConv", lambda given, width: ((width, width // given.heads, RELATIONS), {"heads": given.heads}), ("edge_type",), True),
    "HGTConv": Layer("HGTConv", lambda given, width: ((width, width, (["a"], KINDS), given.heads), {}), ("kinds",))}


class OfKinds(torch.nn.Module):
    """HGTConv of one type of nodes and several of edges."""

    def __init__(self, layer: torch.nn.Module):
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor, edges: torch.Tensor, kinds: dict) -> torch.Tensor:
        return self.layer({"a": x}, kinds)["a"]


def made(library, name: str, given) -> torch.nn.Module:
    torch.manual_seed(2)
    kind, arguments, _, narrow = LAYERS[name]
    positional, named = arguments(given, NARROW if narrow else given.channels)
    layer = getattr(library, kind)(*positional, **named).to(given.device, getattr(torch, given.dtype))
    return OfKinds(layer) if kind == "HGTConv" else layer


def calls_of(name: str, given, x: torch.Tensor, *rest: torch.Tensor) -> tuple[dict, dict]:
    """The calls of a layer by each library, and what each has gradients of."""
    layers = {"tamis": made(pyg, name, given), "pyg": made(geometric, name, given)}
    layers["pyg"].load_state_dict(layers["tamis"].state_dict())
    wanted = {library: [x, *(one for one in rest[1:] if isinstance(one, torch.Tensor) and one.requires_grad), *layer.parameters()] for library, layer in layers.items()}
    compiled = {"compiled": "pyg", "tamis compiled": "tamis"} if given.compiled else {}
    for what, library in compiled.items():
        layers[what], wanted[what] = torch.compile(layers[library]), wanted[library]
    calls = {library: (lambda layer=layer: layer(x, *rest)) for library, layer in layers.items()}
    for what in compiled:
        try:
            calls[what]()
        except Exception as error:  # what PyTorch cannot compile is part of the result
            print(f"{name:22} {what}: {why(error)}", flush=True)
            del calls[what]
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
    edge_type = torch.randint(RELATIONS, (edges,), device=given.device)
    operands = {"edge_attr": edge_attr, "edge_type": edge_type, "kinds": {kind: edge_index[:, edge_type == number].contiguous() for number, kind in enumerate(KINDS)}}
    narrow = torch.randn(nodes, NARROW, requires_grad=True, **like)
    for name in given.layers:
        of = narrow if LAYERS[name].narrow else x
        weights = torch.randn(of.shape, **like)
        calls, wanted = calls_of(name, given, of, edge_index, *(operands[one] for one in LAYERS[name].operands))
        if given.memory:
            found = {library: needed(lambda: torch.autograd.grad(call(), wanted[library], weights, allow_unused=True), given.device)
                     for library, call in calls.items()}
            print(f"{name:22}" + "".join(f"  {library} {mib:8.1f} MiB" for library, mib in found.items()), flush=True)
        else:
            measure(name, given, weights, calls, wanted)


if __name__ == "__main__":
    sys.exit(main())
