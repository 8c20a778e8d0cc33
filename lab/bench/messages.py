#!/usr/bin/env python3
"""Message passing beside PyTorch's gather and scatter, torch.sparse, and PyTorch Geometric's scatter where it is installed, with --compile
also by torch.compile, forward and backward.

    messages.py [--device cpu|cuda] [--edges 100000 2000000] [--widths 16 64 256] [--heads 4 8] [--threads 2] [--rounds 5] [--type float32]
                [--compile] [--memory] [--only add-vector-sum ...] [--seconds S] [--most BYTES] [--wait] [--json FILE]

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

import argparse
import collections
import gc
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

import torch
import torch._functorch.config

import tamis
import tamis.torch as tt

KINDS = ("none", "number", "vector", "heads")
CALLS = (("copy_u", 0, "sum"), ("copy_u", 0, "mean"), ("copy_u", 0, "max"), ("mul", 1, "sum"), ("mul", 3, "sum"), ("add", 2, "sum"), ("mul", 2, "sum"),
         ("add", 2, "max"), ("edge_add", 0, ""), ("edge_dot", 3, ""), ("softmax", 3, ""))


def named(op: str, kind: int, reduce: str) -> str:
    return "-".join(part for part in (op, KINDS[kind], reduce) if part)


def bandwidth(device: str) -> float:
    """Return the bandwidth of a copy, in bytes read and written a second."""
    x = torch.ones((32 if device == "cpu" else 256) << 20, device=device)
    y = torch.empty_like(x)
    return 2 * x.numel() * 4 / min(seconds(lambda: y.copy_(x), device, 1) for _ in range(5))


def seconds(call, device: str, repeats: int) -> float:
    if device == "cpu":
        began = time.perf_counter()
        for _ in range(repeats):
            call()
        return (time.perf_counter() - began) / repeats
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(repeats):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3 / repeats


def step(call, leaves, weights, device: str, repeats: int) -> tuple[float, float]:
    """Seconds of a call and of its gradients."""
    if device != "cpu":
        forward = seconds(call, device, repeats)
        out = call()
        return forward, seconds(lambda: torch.autograd.grad(out, leaves, weights, retain_graph=True), device, repeats)
    began = time.perf_counter()
    out = call()
    middle = time.perf_counter()
    found = torch.autograd.grad(out, leaves, weights)
    ended = time.perf_counter()
    del out, found
    return middle - began, ended - middle


# ------------------------------------------------------------------------------ memory


def resident(peak: bool) -> int:
    word = "VmHWM:" if peak else "VmRSS:"
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(word)) << 10


def needed(call, device: str) -> float:
    """Return the peak memory of a call in MiB, beside its operands and what it keeps."""
    call()
    gc.collect()
    if device == "cuda":
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        call()
        torch.cuda.synchronize()
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    before = resident(False)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    call()
    return (resident(True) - before) / 2**20


def give_memory_back() -> None:
    """Restart this process with an allocator that returns freed memory to the system."""
    if "MALLOC_MMAP_THRESHOLD_" not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "MALLOC_MMAP_THRESHOLD_": "262144"})


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
    record = {"record": "run", "run": f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}", "commit": commit(), "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "suite": "messages", "device": given.device,
              "threads": given.threads, "torch": torch.__version__, "copy_gbs": round(copy / 1e9, 2)}
    described = next(device for device in tamis.devices() if device.name.startswith(given.device))
    return {**record, "model": described.model, "instruction_set": described.instruction_set, "driver": described.driver}


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
        out = self.calls["ours"]()
        self.weights = torch.randn_like(out)
        own = [part.detach() for part in (out, *torch.autograd.grad(out, self.leaves, self.weights))]
        self.times, self.repeats, self.apart = {}, {}, 0.0
        del out
        for name, run in list(self.calls.items()):
            try:
                out = run()
                if out is None:
                    raise NotImplementedError
                found = (out.detach(), *torch.autograd.grad(out, self.leaves, self.weights))
                self.apart = max(self.apart, *(float((a - b).abs().max() / b.abs().max()) for a, b in zip(own, found)))
            except Exception as error:  # unsupported by the library, or out of memory
                if not isinstance(error, NotImplementedError) and "NotImplementedError" not in str(error):
                    print(f"{name}: {self.name}: {type(error).__name__} {str(error)[:80]}")
                del self.calls[name]
                continue
            del out, found
            self.times[name] = ([], [])
            self.repeats[name] = 1 if device == "cpu" else max(1, min(50, int(1e-3 / seconds(run, device, 3))))

    def memory(self) -> dict:
        size = self.weights.element_size()
        results = sum(part.numel() for part in (self.weights, *self.leaves)) * size
        return {"mib": {name: round(needed(lambda run=run: torch.autograd.grad(run(), self.leaves, self.weights), self.device), 1) for name, run in self.calls.items()},
                "results_mib": round(results / 2**20, 1)}

    def time(self, rounds: int, speed: float) -> dict:
        """Measure the medians of the rounds, and the floors."""
        for turn in range(rounds):
            for name, run in random.Random(turn).sample(list(self.calls.items()), len(self.calls)):  # a new order each round
                for part, took in zip(self.times[name], step(run, self.leaves, self.weights, self.device, self.repeats[name])):
                    part.append(took)
        size = self.weights.element_size()
        return {"ms": {name: [round(statistics.median(part) * 1e3, 4) for part in parts] for name, parts in self.times.items()},
                "floor_ms": [round((elements * size + self.pattern_bytes) / speed * 1e3, 4) for elements in self.floors], "rounds": rounds, "apart": self.apart}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--edges", type=int, nargs="+", default=[100_000, 2_000_000])
    parser.add_argument("--widths", type=int, nargs="+", default=[16, 64, 256], help="of a row, over all heads")
    parser.add_argument("--heads", type=int, nargs="+", default=[8], help="of the calls that have several")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--type", default="float32")
    parser.add_argument("--compile", action="store_true", help="torch.compile of PyTorch's and PyTorch Geometric's, which takes its time")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--only", nargs="+", choices=[named(*call) for call in CALLS])
    parser.add_argument("--most", type=int, default=3 << 29, help="bytes of the largest array; larger calls are left out")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no other call after so many")
    parser.add_argument("--wait", action="store_true", help="make all calls first, and measure when a line comes from the standard input")
    parser.add_argument("--json")
    given = parser.parse_args()
    if given.memory and given.device == "cpu":
        give_memory_back()
    device, dtype = given.device, getattr(torch, given.type)
    torch.set_num_threads(given.threads)
    tamis.set_threads(given.threads)
    others = {"torch": by_torch}
    try:
        import torch_geometric  # noqa: F401
        others["pyg"] = by_pyg
    except ImportError:
        print("PyTorch Geometric is not installed")
    if given.compile:
        others.update({f"{name}, compiled": compiled(other) for name, other in others.items()})
        torch._dynamo.config.recompile_limit = 1000
        torch._functorch.config.donated_buffer = device == "cpu"  # repeated backward calls on a GPU retain the graph
    records, summary = Records(given.json), collections.defaultdict(list)

    def cases():
        for edges in given.edges:
            graph = Graph(edges, device, dtype)
            for width, call, heads in ((w, call, h) for w in given.widths for call in CALLS for h in (given.heads if call[1] == 3 else [1])):
                record = {"record": "memory" if given.memory else "message", "call": named(*call), "edges": edges, "nodes": graph.nodes, "width": width,
                          "heads": heads, "type": given.type}
                if (edges * width * torch.finfo(dtype).bits // 8 <= given.most and not records.has(record) and width % heads == 0
                        and (not given.only or record["call"] in given.only) and (call[0] != "softmax" or width == given.widths[0])):
                    yield record, Case(graph, call, width, heads, device, dtype, others)

    made = cases()
    if given.wait:
        made = list(made)
        print("made", flush=True)
        sys.stdin.readline()
    began, speed = time.perf_counter(), bandwidth(device)
    print(f"copy: {speed / 1e9:.1f} GB/s", flush=True)
    if given.json and (given.rounds or given.memory):
        records.add(run_record(given, speed))
    for record, case in made:
        if given.memory:
            record.update(case.memory(), vectors_mib=round(record["edges"] * record["width"] * torch.finfo(dtype).bits / 2**23, 1))
            print(f"{case.name}  MiB {record['mib']}, results {record['results_mib']}, edges' vectors {record['vectors_mib']}  apart {case.apart:.1e}", flush=True)
        elif given.rounds:
            record.update(case.time(given.rounds, speed))
            forward, backward = record["ms"]["ours"]
            line = "  floors {:7.3f} {:7.3f} ms".format(*record["floor_ms"])
            ratios = {name: (one / forward, two / backward) for name, (one, two) in record["ms"].items() if name != "ours"}
            line += "".join(f"  {name} x {one:5.2f} {two:5.2f}" for name, (one, two) in ratios.items())
            for part in (0, 1):
                summary[record["edges"], part].append(min(pair[part] for pair in ratios.values()))
            print(f"{case.name}  {forward:8.3f} {backward:8.3f} ms{line}  apart {case.apart:.1e}", flush=True)
        else:
            print(f"{case.name}  apart {case.apart:.1e}", flush=True)
            continue
        records.add(record)
        if time.perf_counter() - began > given.seconds:
            break
    for (edges, part), best in sorted(summary.items()):
        print(f"{edges:8} {('forward', 'backward')[part]:8} of the best of the others: {statistics.geometric_mean(best):.2f} in the geometric mean, "
              f"least {min(best):.2f}, {len(best)} calls")


if __name__ == "__main__":
    main()
