#!/usr/bin/env python3
"""Message passing beside PyTorch's gather and scatter, torch.sparse, and PyTorch Geometric's scatter where it is installed, with --compile
also by torch.compile, forward and backward.

Each line is a call on a graph of uniform random edges, ten a node: the median time of ours in milliseconds, and how many times as long
the others take, in rounds of all of them in another order each. `floor` is the time in which the bytes of the call's floor move at the bandwidth that a copy
has: rows once for each edge, edge vectors once, the result once; on a GPU rows once for each node, which is all that memory moves where
its caches are large. Backward it counts the same bytes, and those of the gradients of x and e in place of the result's. On a GPU a time
is that of the device between events around a call that is repeated until a millisecond has passed. The last lines are geometric means,
and the least, of how many times as long the best of the others takes.

--rounds 0 compares the results, and leaves in PyTorch's cache what it compiles. --memory measures in place of the time how much a step
needs besides its operands. --json adds records to a file of lines, which lab/results/tables.py reads; calls that it has of this
commit are left out, so that a run that was cut off goes on.
"""
from __future__ import annotations

import collections
import json
import math
import os
import pathlib
import statistics
import subprocess
import time

import torch
import torch._functorch.config
from turns import LATER, apart, bandwidth, give_memory_back, in_turn, medians, needed, options, results, seconds, step, use_threads

import tamis
import tamis.torch as tt

KINDS = ("none", "number", "vector", "heads")
CALLS = (("copy_u", 0, "sum"), ("copy_u", 0, "mean"), ("copy_u", 0, "max"), ("mul", 1, "sum"), ("mul", 3, "sum"), ("add", 2, "sum"), ("mul", 2, "sum"),
         ("add", 2, "max"), ("edge_add", 0, ""), ("edge_dot", 3, ""), ("softmax", 3, ""))


def named(op: str, kind: int, reduce: str) -> str:
    return "-".join(part for part in (op, KINDS[kind], reduce) if part)


def step_on(call, leaves, weights, device: str, repeats: int) -> tuple[float, float]:
    """Seconds of a call and of its gradients; on a GPU of each alone, repeated."""
    if device == "cpu":
        return step(call, leaves, weights)
    forward = seconds(call, device, repeats)
    out = call()
    return forward, seconds(lambda: torch.autograd.grad(out, leaves, weights, retain_graph=True), device, repeats)


# ------------------------------------------------------------------------------ what is compared


def gathered(columns, op, x, e):
    return x[columns] if op == "copy_u" else x[columns] * e if op == "mul" else x[columns] + e


def on_edges(columns, rows, count, op, x, e):
    """Return the result for each edge, a vector or numbers; None for a reduction."""
    if op == "edge_add":
        return x[rows] + x[columns]
    if op == "edge_dot":
        return (x[rows] * x[columns]).sum(-1)
    if op == "softmax":
        place = rows.unsqueeze(1).expand(e.shape)
        largest = e.new_full((count, e.shape[1]), -math.inf).scatter_reduce(0, place, e, "amax")
        raised = (e - largest.detach()[rows]).exp()
        return raised / raised.new_zeros(count, e.shape[1]).index_add(0, rows, raised)[rows]
    return None


def by_torch(columns, rows, count, op, x, e, reduce):
    given = on_edges(columns, rows, count, op, x, e)
    if given is not None:
        return given
    given = gathered(columns, op, x, e)
    out = given.new_zeros(count, *given.shape[1:])
    if reduce == "sum":
        return out.index_add(0, rows, given)
    place = rows.view(-1, *[1] * (given.dim() - 1)).expand(given.shape)
    return out.scatter_reduce(0, place, given, {"mean": "mean", "max": "amax"}[reduce], include_self=False)


def by_pyg(columns, rows, count, op, x, e, reduce):
    from torch_geometric.utils import scatter, softmax
    if op == "softmax":
        return softmax(e, rows, num_nodes=count)
    if op in ("edge_add", "edge_dot"):
        return None
    return scatter(gathered(columns, op, x, e), rows, 0, count, reduce)


def by_sparse(matrix):
    """torch.sparse has sums without vectors on edges; weights are constants of the matrix, which gets no gradient."""
    def call(columns, rows, count, op, x, e, reduce):
        return torch.sparse.mm(matrix, x) if op == "copy_u" and reduce == "sum" else None
    return call


def by_tamis(pattern, op, x, e, reduce):
    if op in ("edge_add", "edge_dot"):
        return tt.edge_op(pattern, op[5:], x, x)
    return tt.edge_softmax(pattern, e) if op == "softmax" else tt.message(pattern, op, x, e, reduce)


def compiled(function):
    def call(*operands):
        out = function(*operands)
        if out is None:
            raise NotImplementedError
        return out
    return torch.compile(call, dynamic=False)


def floors(edges: int, nodes: int, width: int, heads: int, op: str, kind: int, device: str) -> tuple[int, int]:
    """Return the least numbers of elements that the call and its gradients move."""
    ends = edges if device == "cpu" else nodes
    vectors = {0: 0, 1: edges, 2: edges * width, 3: edges * heads}[kind]
    if op == "softmax":
        return 2 * vectors, 3 * vectors
    if op in ("edge_add", "edge_dot"):  # both ends (rows in order), and an edge's result
        result = edges * width if op == "edge_add" else vectors
        return nodes * width + ends * width + result, (nodes + ends) * width * (op == "edge_dot") + result + nodes * width
    back = (ends + nodes) * width + vectors  # rows of the result's gradient, dx, de
    return ends * width + vectors + nodes * width, back + ((ends + nodes) * width + vectors if op == "mul" else 0)


# ------------------------------------------------------------------------------ records


def commit() -> str:
    given = os.environ.get("TAMIS_COMMIT")
    here = pathlib.Path(__file__).parent
    return given or subprocess.run(["git", "-C", here, "describe", "--always", "--abbrev=40", "--dirty=+", "--exclude=*"], capture_output=True, text=True,
                                   check=False).stdout.strip()


def run_record(given, copy: float) -> dict:
    now = time.gmtime()
    described = next(device for device in tamis.devices() if device.name.startswith(given.device))
    return {"record": "run", "run": f"{time.strftime('%Y%m%dT%H%M%SZ', now)}-{os.getpid()}", "commit": commit(),
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", now), "suite": "messages", "device": given.device, "threads": given.threads,
            "torch": torch.__version__, "copy_gbs": round(copy / 1e9, 2), "model": described.model,
            "instruction_set": described.instruction_set, "driver": described.driver}


class Records:
    """Records, appended to a file of JSON lines; without a file they are dropped."""

    def __init__(self, path):
        self.path, self.known, of = path, set(), None
        for line in (open(path, encoding="utf-8") if path and os.path.exists(path) else ()):
            record = json.loads(line)
            of = record["commit"] if record["record"] == "run" else of
            if of == commit():
                self.known.add(self.key(record))

    @staticmethod
    def key(record: dict) -> tuple:
        return tuple(record.get(name) for name in ("record", "call", "edges", "width", "heads", "type"))

    def has(self, record: dict) -> bool:
        return self.key(record) in self.known

    def add(self, record: dict) -> None:
        if self.path:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")


# ------------------------------------------------------------------------------ main


class Graph:
    """Uniform random edges, ten a node, in the order of rows."""

    def __init__(self, edges: int, device: str, dtype: torch.dtype):
        torch.manual_seed(1)
        self.edges, self.nodes = edges, edges // 10
        self.rows = torch.randint(self.nodes, (edges,), device=device).sort().values
        self.columns = torch.randint(self.nodes, (edges,), device=device)
        shape = self.nodes, self.nodes
        self.pattern = tt.Pattern.from_coo(self.rows, self.columns, shape)
        offsets = torch.nn.functional.pad(torch.bincount(self.rows, minlength=self.nodes).cumsum(0), (1, 0))
        self.matrix = torch.sparse_csr_tensor(offsets, self.columns, torch.ones(edges, device=device, dtype=dtype), shape)


class Case:
    """A call with its operands, for each library that supports it."""

    def __init__(self, graph: Graph, call: tuple, width: int, heads: int, device: str, dtype: torch.dtype, others: dict):
        op, kind, reduce = call
        self.device, self.floors = device, floors(graph.edges, graph.nodes, width, heads, op, kind, device)
        self.pattern_bytes = 0 if device == "cpu" else 4 * graph.edges
        self.name = f"{graph.edges:8} {width:4} {heads} {named(*call):16}"
        shape = (heads, width // heads) if kind == 3 else (width,)
        of_edge = {1: (1,), 2: shape, 3: (heads,) if op == "softmax" else (heads, 1)}
        x = torch.randn(graph.nodes, *shape, device=device, dtype=dtype, requires_grad=True) if op != "softmax" else None
        e = torch.randn(graph.edges, *of_edge[kind], device=device, dtype=dtype, requires_grad=True) if kind and op != "edge_dot" else None
        self.leaves = [given for given in (x, e) if given is not None]
        self.calls = {"ours": lambda: by_tamis(graph.pattern, op, x, e, reduce)}
        for name, other in {**others, "sparse": by_sparse(graph.matrix)}.items():
            self.calls[name] = lambda other=other: other(graph.columns, graph.rows, graph.nodes, op, x, e, reduce)
        self.weights = torch.randn_like(self.calls["ours"]())
        self.repeats, self.apart, own = {}, 0.0, results(self.calls["ours"], self.leaves, self.weights)
        for name, run in list(self.calls.items()):
            try:
                self.apart = max(self.apart, *map(apart, own, results(run, self.leaves, self.weights)))
            except Exception as error:  # unsupported by the library, or out of memory
                if not isinstance(error, NotImplementedError) and "NotImplementedError" not in str(error):
                    print(f"{name}: {self.name}: {type(error).__name__} {str(error)[:80]}")
                del self.calls[name]
                continue
            self.repeats[name] = 1 if device == "cpu" else max(1, min(50, int(1e-3 / seconds(run, device, 3))))

    def memory(self) -> dict:
        size = self.weights.element_size()
        whole = sum(part.numel() for part in (self.weights, *self.leaves)) * size
        return {"mib": {name: round(needed(lambda run=run: torch.autograd.grad(run(), self.leaves, self.weights), self.device), 1) for name, run in self.calls.items()},
                "results_mib": round(whole / 2**20, 1)}

    def time(self, rounds: int, speed: float) -> dict:
        """Measure the medians of the rounds, and the floors."""
        times = in_turn(self.calls, rounds, lambda name: step_on(self.calls[name], self.leaves, self.weights, self.device, self.repeats[name]), shuffled=True)
        size = self.weights.element_size()
        return {"ms": {name: [round(part * 1e3, 4) for part in medians(steps)] for name, steps in times.items()},
                "floor_ms": [round((elements * size + self.pattern_bytes) / speed * 1e3, 4) for elements in self.floors], "rounds": rounds, "apart": self.apart}


def parsed():
    choices = {"device": ["cpu", "cuda"], "only": [named(*call) for call in CALLS]}
    helps = {"heads": "of the calls that have several", "widths": "of a row, over all heads", "seconds": LATER, "most": "bytes of the largest array; larger calls are left out",
             "compile": "torch.compile of PyTorch's and PyTorch Geometric's, which takes its time"}
    return options(__doc__, helps, choices, device="cpu", edges=[100_000, 2_000_000], widths=[16, 64, 256], heads=[8], threads=2, rounds=5, type="float32",
                   compile=False, memory=False, only=[], most=3 << 29, seconds=math.inf, json=str).parse_args()


def others_of(given) -> dict:
    """The other libraries that are here, with --compile also as torch.compile makes them."""
    others = {"torch": by_torch}
    try:
        import torch_geometric  # noqa: F401
        others["pyg"] = by_pyg
    except ImportError:
        print("PyTorch Geometric is not installed")
    if given.compile:
        others.update({f"{name}, compiled": compiled(other) for name, other in others.items()})
        torch._dynamo.config.recompile_limit = 1000
        torch._functorch.config.donated_buffer = given.device == "cpu"  # repeated backward calls on a GPU retain the graph
    return others


def cases(given, others: dict, records: Records):
    """Each record, as far as it is known before, and its case; large ones, and those that were measured, are left out."""
    dtype = getattr(torch, given.type)
    for edges in given.edges:
        graph = Graph(edges, given.device, dtype)
        for width, call, heads in ((w, call, h) for w in given.widths for call in CALLS for h in (given.heads if call[1] == 3 else [1])):
            record = {"record": "memory" if given.memory else "message", "call": named(*call), "edges": edges, "nodes": graph.nodes, "width": width,
                      "heads": heads, "type": given.type}
            if (edges * width * dtype.itemsize <= given.most and not records.has(record) and width % heads == 0
                    and (not given.only or record["call"] in given.only) and (call[0] != "softmax" or width == given.widths[0])):
                yield record, Case(graph, call, width, heads, given.device, dtype, others)


def line_of(record: dict, summary: dict) -> str:
    """A case's times in words; the best ratios go into the summary."""
    forward, backward = record["ms"]["ours"]
    ratios = {name: (one / forward, two / backward) for name, (one, two) in record["ms"].items() if name != "ours"}
    for part in (0, 1):
        summary[record["edges"], part].append(min(pair[part] for pair in ratios.values()))
    return "  {:8.3f} {:8.3f} ms  floors {:7.3f} {:7.3f} ms".format(forward, backward, *record["floor_ms"]) + "".join(
        f"  {name} x {one:5.2f} {two:5.2f}" for name, (one, two) in ratios.items())


def main() -> None:
    given = parsed()
    if given.memory and given.device == "cpu":
        give_memory_back()
    use_threads(given.threads)
    records, summary = Records(given.json), collections.defaultdict(list)
    others = others_of(given)
    began, speed = time.perf_counter(), bandwidth(given.device)
    if given.json and (given.rounds or given.memory):
        records.add(run_record(given, speed))
    for record, case in cases(given, others, records):
        line = ""
        if given.memory:
            record.update(case.memory(), vectors_mib=round(record["edges"] * record["width"] * case.weights.element_size() / 2**20, 1))
            line = f"  MiB {record['mib']}, results {record['results_mib']}, edges' vectors {record['vectors_mib']}"
        elif given.rounds:
            record.update(case.time(given.rounds, speed))
            line = line_of(record, summary)
        print(f"{case.name}{line}  apart {case.apart:.1e}", flush=True)
        if line:
            records.add(record)
        if line and time.perf_counter() - began > given.seconds:
            break
    for (edges, part), best in sorted(summary.items()):
        print(f"{edges:8} {('forward', 'backward')[part]:8} of the best of the others: {statistics.geometric_mean(best):.2f} in the geometric mean, "
              f"least {min(best):.2f}, {len(best)} calls")


if __name__ == "__main__":
    main()
