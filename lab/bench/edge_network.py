#!/usr/bin/env python3
"""The network on edges beside PyTorch: e' = e + LayerNorm(W2 silu(W1 [e, x_i, x_j] + b1) + b2), and its sums by target, forward and with gradients.

The peers are two forms of the same layer, compiled by PyTorch: one matrix product over [e, x_i, x_j], and the nodes' part computed by node. Graphs are
generated: six edges a node, from nodes nearby, as in a mesh. Prints a line of JSON for each case: milliseconds (device events, calls in turn, medians),
bytes at the peak beside the operands, errors against fp64, and the bytes that each call must move.
"""
import argparse
import json
import statistics

import torch
import torch.nn.functional as F

from tamis.torch import Pattern
from tamis.torch.nn import EdgeNetwork

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def graph_of(edges, device):
    random = torch.Generator(device=device).manual_seed(0)
    nodes = edges // 6
    target = torch.sort(torch.randint(nodes, (edges,), device=device, generator=random))[0]
    source = (target + torch.randint(-300, 300, (edges,), device=device, generator=random)).clamp(0, nodes - 1)
    return nodes, target, source


def concatenated(layers, width, nodes, target, source):
    def call(e, x):
        y = layers(torch.cat((e, x[target], x[source]), 1)) + e
        return y, torch.zeros(nodes, width, device=e.device, dtype=e.dtype).index_add(0, target, y)
    return call


def by_node(layers, width, nodes, target, source):
    def call(e, x):
        first, f, last, norm = layers
        own, to, of = first.weight.split(width, 1)
        y = norm(last(f(F.linear(e, own, first.bias) + (x @ to.mT)[target] + (x @ of.mT)[source]))) + e
        return y, torch.zeros(nodes, width, device=e.device, dtype=e.dtype).index_add(0, target, y)
    return call


def timed(calls, count, device):
    """Medians of milliseconds, the calls in turn."""
    times = {name: [] for name in calls}
    for _ in range(3):
        for name, call in calls.items():
            call(), call()
            if device == "cpu":
                import time
                for _ in range(count):
                    start = time.perf_counter()
                    call()
                    times[name].append(1e3 * (time.perf_counter() - start))
                continue
            marks = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
            torch.cuda._sleep(20_000_000)  # the host runs ahead
            marks[0].record()
            for mark in marks[1:]:
                call()
                mark.record()
            torch.cuda.synchronize()
            times[name] += [a.elapsed_time(b) for a, b in zip(marks, marks[1:])]
    return {name: statistics.median(all_) for name, all_ in times.items()}


def peak(call, device):
    if device == "cpu":
        return 0
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def distance(x, y):
    return float((x.detach().double() - y.detach()).norm() / y.detach().norm())


def case(edges, width, kind, device, count, compiled):
    dtype = TYPES[kind]
    torch.compiler.reset()  # a function is compiled eight times at most
    torch.manual_seed(0)
    nodes, target, source = graph_of(edges, device)
    layer = EdgeNetwork(width, width, width, width).to(device, dtype)
    pattern = Pattern.from_edge_index(torch.stack((source, target)), num_nodes=nodes)
    e, x = torch.randn(edges, width, device=device, dtype=dtype), torch.randn(nodes, width, device=device, dtype=dtype)
    de, dx = torch.randn_like(e), torch.randn_like(x)
    forms = {"tamis": lambda e, x: layer(pattern, e, x)}
    for form in (concatenated, by_node):
        call = form(layer.layers, width, nodes, target, source)
        forms[form.__name__] = torch.compile(call, dynamic=False) if compiled else call

    def step(call):
        inputs = e.clone().requires_grad_(), x.clone().requires_grad_()
        return lambda: torch.autograd.grad(call(*inputs), (*inputs, *layer.parameters()), (de, dx))

    size = e.element_size()
    line = dict(edges=edges, width=width, type=kind, floor_bytes=(2 * edges + 4 * nodes) * width * size)
    with torch.no_grad():
        line["forward_ms"] = timed({name: (lambda call=call: call(e, x)) for name, call in forms.items()}, count, device)
    steps = {name: step(call) for name, call in forms.items()}
    line["step_ms"] = timed(steps, max(count // 2, 3), device)
    line["step_peak"] = {name: peak(call, device) for name, call in steps.items()}
    exact = EdgeNetwork(width, width, width, width).to(device, torch.float64)
    exact.load_state_dict(layer.state_dict())
    few = min(edges, 50_000)  # enough to see an error, little enough for fp64
    part = Pattern.from_edge_index(torch.stack((source[:few], target[:few])), num_nodes=nodes)
    reference = concatenated(exact.layers, width, nodes, target[:few], source[:few])(e[:few].double(), x.double())
    line["errors"] = [distance(ours, theirs) for ours, theirs in zip(layer(part, e[:few], x), reference)]
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--edges", type=int, nargs="+", default=[50_000, 250_000, 1_000_000])
    parser.add_argument("--widths", type=int, nargs="+", default=[128])
    parser.add_argument("--types", nargs="+", choices=TYPES, default=["bf16", "fp32"])
    parser.add_argument("--count", type=int, default=12, help="calls of a round")
    parser.add_argument("--eager", action="store_true", help="do not compile the peers")
    o = parser.parse_args()
    for kind in o.types:
        for width in o.widths:
            for edges in o.edges:
                print(json.dumps(case(edges, width, kind, o.device, o.count, not o.eager)), flush=True)


if __name__ == "__main__":
    main()
