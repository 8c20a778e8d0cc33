#!/usr/bin/env python3
"""Predicts how an operation scales to many GPUs, for two algorithms: scaling-page.py PATTERN... [options]

A PATTERN is a file, or KIND:rows=N,nnz=N of a generator (rmat, fem, ...). Each is cut into rows with equal nonzeros for each number of
ranks, and the shards are counted: tamis_shard_survey. The kernel's time comes from records of `tamis bench --json`, the link's figures
from options. What is predicted: seconds of one execution, of the slowest rank, computation and then exchange, without overlap.
    1d-fetch      rows of B that are needed
    static-split  all rows of B (Nisa et al.)
--page FILE replaces what stands between ```text and ``` there.
"""
from __future__ import annotations

import argparse
import ctypes
import dataclasses
import json
import lzma
import math
import pathlib
import re
import statistics
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "python"))

from tamis import _declarations as c  # noqa: E402  (where the package is must be known)
from tamis._library import lib, must  # noqa: E402

SIZE = 4  # bytes of an fp32
NAMES = ("1d-fetch", "static-split")


@dataclasses.dataclass(frozen=True)
class Machine:
    """The bandwidths and latencies of links: within a node, and between nodes for each GPU."""
    link: float
    link_start: float
    network: float
    network_start: float
    node: int

    def seconds(self, ranks: int, size: float, steps: float) -> float:
        """Return the time to receive `size` bytes in `steps` messages, one after another. With more ranks than a node has, all go over the network."""
        if steps == 0:
            return 0
        rate, start = (self.link, self.link_start) if ranks <= self.node else (self.network, self.network_start)
        return steps * start + size / rate


@dataclasses.dataclass(frozen=True)
class Work:
    """An operation: words per row of A, of B and D, and of the output (0: samples); seconds per nonzero and per launch."""
    a: int
    b: int
    out: int
    nonzero: float
    launch: float


@dataclasses.dataclass(frozen=True)
class Shards:
    """The results of tamis_shard_survey for a number of ranks."""
    ranks: int
    rows: int
    cols: int
    nnz: int
    nnz_most: int
    ghosts_most: int
    sends_most: int
    sources_most: int


def work_of(operation: str, inner: int, width: int, nonzero: float, launch: float) -> Work:
    return {"sddmm": Work(inner, inner, 0, nonzero, launch), "spmm": Work(0, inner, inner, nonzero, launch),
            "fused": Work(inner, inner + width, width, nonzero, launch)}[operation]


def compute_seconds(shards: Shards, work: Work) -> float:
    return work.launch + shards.nnz_most * work.nonzero


def fetch_seconds(shards: Shards, work: Work, machine: Machine) -> float:
    rows = max(shards.ghosts_most, shards.sends_most)
    return machine.seconds(shards.ranks, rows * work.b * SIZE, shards.sources_most)


def static_seconds(shards: Shards, work: Work, machine: Machine) -> float:
    rows = shards.cols * (shards.ranks - 1) / shards.ranks
    return machine.seconds(shards.ranks, rows * work.b * SIZE, shards.ranks - 1)


def predict(shards: Shards, work: Work, machine: Machine) -> list[float]:
    """Predict the seconds of each algorithm."""
    compute = compute_seconds(shards, work)
    if shards.ranks == 1:
        return [compute] * 2
    return [compute + fetch_seconds(shards, work, machine), compute + static_seconds(shards, work, machine)]


# ---- patterns

class Pattern:
    """A pattern in the library's memory."""

    def __init__(self, given: str):
        self.name, self._owned = given, ctypes.c_void_p()
        kind, _, rest = given.partition(":")
        if "=" in rest:
            self._generate(kind, dict(pair.split("=", 1) for pair in rest.split(",")))
        else:
            self._read(given)
        self.view = ctypes.cast(lib.tamis_owned_sparse_view(self._owned), ctypes.POINTER(c.tamis_sparse)).contents

    def _generate(self, kind: str, sizes: dict[str, str]) -> None:
        number = ctypes.c_int()
        must(lib.tamis_kind_from_name(kind.encode(), ctypes.byref(number)))
        options = c.tamis_generate_options(kind=number, pattern=True, seed=1, **{name: int(value) for name, value in sizes.items()})
        must(lib.tamis_generate(ctypes.byref(options), ctypes.byref(self._owned)))

    def _read(self, path: str) -> None:
        edges = path.endswith((".txt.gz", ".txt.xz", ".txt")) and "docword" not in path
        options = c.tamis_read_options(values=c.TAMIS_VALUES_NONE, undirected=edges, relabel=edges)
        must(lib.tamis_read_sparse(path.encode(), ctypes.byref(options), ctypes.byref(self._owned)))
        self.name = pathlib.Path(path).name.split(".")[0] if "docword" not in path else pathlib.Path(path).name.split(".")[1]

    def shards(self, ranks: int) -> Shards:
        volume = c.tamis_shard_volume()
        must(lib.tamis_shard_survey(ctypes.byref(self.view), ranks, None, None, ctypes.byref(volume)))
        return Shards(ranks, self.view.rows, self.view.cols, self.view.nnz, volume.nnz_most, volume.ghosts_most, volume.sends_most,
                      volume.sources_most)

    def close(self) -> None:
        lib.tamis_owned_sparse_free(self._owned)


# ---- the kernel

def measured(path: pathlib.Path, operation: str, inner: int) -> tuple[float, int, str]:
    """Return the median over the matrices of the least seconds per nonzero in fp32, the number of matrices, and the device."""
    best: dict[str, float] = {}
    model = ""
    opened = lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else open(path, encoding="utf-8")
    with opened as lines:
        for record in map(json.loads, lines):
            if (record.get("record"), record.get("operation"), record.get("inner"), record.get("type")) != (
                    "measurement", operation, inner, "fp32") or record["peer"] or not record["passed"] or record["nnz"] < 1_000_000:
                continue
            model = record["model"]
            best[record["matrix"]] = min(best.get(record["matrix"], math.inf), 1e-3 * record["median_ms"] / record["nnz"])
    if not best:
        raise SystemExit(f"{path}: no measurement of {operation} with K = {inner} in fp32 and a million nonzeros or more")
    return statistics.median(best.values()), len(best), model


# ---- the page

def time_text(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def chapter(pattern: Pattern, ranks: list[int], work: Work, machine: Machine) -> list[str]:
    view = pattern.view
    lines = [f"{pattern.name}: {view.rows:,} x {view.cols:,}, {view.nnz:,} nonzeros",
             f"  {'GPUs':>5} {'imbalance':>9} {'needed of all':>13} {'1d-fetch':>18} {'static-split':>18}"]
    times: dict[int, list[float]] = {}
    for p in [1, *ranks]:
        shards = pattern.shards(p)
        times[p] = predict(shards, work, machine)
        others = shards.cols * (p - 1) / p
        cells = " ".join(f"{time_text(t):>9} {times[1][0] / t:>7.2f}x" for t in times[p])
        needed = f"{shards.ghosts_most / others:.0%}" if others else "-"
        imbalance = shards.nnz_most * p / shards.nnz if shards.nnz else 1
        lines.append(f"  {p:>5} {imbalance:>9.2f} {needed:>13} {cells}")
    best = min(((t, p, n) for p in times for n, t in zip(NAMES, times[p])), key=lambda x: x[0])
    lines.append(f"  fastest: {best[2]} on {best[1]}, {times[1][0] / best[0]:.1f} times one GPU, an efficiency of {times[1][0] / best[0] / best[1]:.0%}"
                 if best[1] > 1 else "  fastest: one GPU")
    return lines


def arguments() -> argparse.Namespace:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("PATTERN", nargs="+")
    given.add_argument("--operation", choices=("sddmm", "spmm", "fused"), default="fused")
    given.add_argument("--inner", type=int, default=128, help="K, and L of fused")
    given.add_argument("--ranks", default="4,8,16,32,64,128,256,512,1024")
    given.add_argument("--results", type=pathlib.Path, default=SOURCE / "lab/results/nvidia-h200/speed-neutral.jsonl.xz",
                       help="records of the kernel")
    given.add_argument("--kernel-ps", type=float, help="picoseconds of a nonzero, instead of records")
    given.add_argument("--launch-us", type=float, default=10, help="what a call takes beside its nonzeros")
    given.add_argument("--link-gbs", type=float, default=390, help="within a node, each way")
    given.add_argument("--link-us", type=float, default=30, help="of a copy within a node, beside its bytes")
    given.add_argument("--node", type=int, default=8, help="GPUs of a node")
    given.add_argument("--network-gbs", type=float, default=50, help="of each GPU, between nodes")
    given.add_argument("--network-us", type=float, default=10, help="of a message between nodes")
    given.add_argument("--page", type=pathlib.Path, help="a page to write into; else to the standard output")
    return given.parse_args()


def main() -> int:
    given = arguments()
    machine = Machine(1e9 * given.link_gbs, 1e-6 * given.link_us, 1e9 * given.network_gbs, 1e-6 * given.network_us, given.node)
    if given.kernel_ps:
        nonzero, source = 1e-12 * given.kernel_ps, "given"
    else:
        nonzero, count, model = measured(given.results, given.operation, given.inner)
        source = f"the median of {count} matrices on an {model}, {given.results.name}"
    work = work_of(given.operation, given.inner, given.inner, nonzero, 1e-6 * given.launch_us)
    lines = [f"{given.operation}, K = {given.inner}, fp32: {1e12 * nonzero:.1f} ps a nonzero ({source}), {given.launch_us:g} us a call",
             f"up to {given.node} GPUs: {given.link_gbs:g} GB/s each way, {given.link_us:g} us a message; more: {given.network_gbs:g} GB/s "
             f"each GPU, {given.network_us:g} us"]
    for name in given.PATTERN:
        pattern = Pattern(name)
        lines += ["", *chapter(pattern, [int(p) for p in given.ranks.split(",")], work, machine)]
        pattern.close()
    text = "\n".join(lines) + "\n"
    if not given.page:
        sys.stdout.write(text)
        return 0
    page = given.page.read_text(encoding="utf-8")
    given.page.write_text(re.sub(r"```text\n.*?```", lambda _: f"```text\n{text}```", page, count=1, flags=re.S), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
