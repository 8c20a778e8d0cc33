#!/usr/bin/env python3
"""Attention over masks that models use, beside flex_attention as its users set it up and beside PyTorch's attention with a dense mask.

    attention.py compile FOLDER [--type bf16] [--seconds 200] [--processes 16]
    attention.py measure FOLDER [--type bf16] [--seconds 200] > attention.csv

flex_attention gets an analytic mask function and blocks of 64 or 128, for patterns of blocks also a table of all pairs. `compile` compiles each configuration
in parallel processes and notes in FOLDER which of them PyTorch can compile; `measure` times those alone. In fp32 the others are also timed with TF32, which
PyTorch calls the precision `high`; ours is then fp32 still. Times are of the device: the calls queue behind a kernel that waits, the contestants take turns, and
the median counts. Errors are relative to a result in double, of two heads of the first 512 rows. A line of CSV is: mask, kept pairs, positions, heads,
features of a head, type, `fwd` or `both` (with gradients), contestant, milliseconds, error or why there is none.
"""
from __future__ import annotations

import argparse
import csv
import itertools
import json
import math
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable

import torch
import torch.nn.functional as F
from turns import LATER, clocked, options, why

TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
HEADS = 16
WORST = 0.02  # a larger error is no result
Mod = Callable[[Any, Any, torch.Tensor, torch.Tensor], torch.Tensor]


def masks(device: str, heads: int = HEADS) -> dict[str, tuple[int, Mod, tuple[int, ...]]]:
    """Positions, mask function and features of a head by name; random parts are drawn with one seed."""
    draw = torch.Generator().manual_seed(20261127)
    short, long = (4096, 16384) if heads == HEADS else (256, 512)  # small for a trial

    def blocks(kept: int) -> torch.Tensor:
        count = short // 64
        table = torch.zeros(count, count, dtype=torch.bool)
        table.scatter_(1, torch.stack([torch.randperm(count, generator=draw)[:kept] for _ in range(count)]), True)
        return table.to(device)

    def documents() -> torch.Tensor:
        lengths = torch.randint(64, max(65, long * 3 // 16), (long // 64,), generator=draw)
        return torch.bucketize(torch.arange(long), lengths.cumsum(0), right=True).to(device)

    three, six, text = blocks(3), blocks(6), documents()
    pairs = (torch.rand(short, short, generator=draw) < 0.02).to(device)
    pairs.fill_diagonal_(True)
    return {
        "window+global+blocks": (short, lambda b, h, i, j: ((i - j).abs() <= 128) | (i < 32) | (j < 32) | three[i >> 6, j >> 6], (64, 128)),
        "window256": (short, lambda b, h, i, j: (i - j).abs() <= 128, (64,)),
        "random-blocks-of-64": (short, lambda b, h, i, j: six[i >> 6, j >> 6], (64,)),
        "causal-window1024": (long, lambda b, h, i, j: (i >= j) & (i - j < 1024), (64, 128)),
        "packed-documents": (long, lambda b, h, i, j: (text[i] == text[j]) & (i >= j), (64,)),
        "causal-window4096": (long, lambda b, h, i, j: (i >= j) & (i - j < 4096), (64, 128)),
        "causal-window1024+4sinks": (long, lambda b, h, i, j: (i >= j) & ((i - j < 1024) | (j < 4)), (64,)),
        "random-2%": (short, lambda b, h, i, j: pairs[i, j], (64,))}


def variants(mask: str, kind: str) -> list[str]:
    """flex_attention's configurations: blocks, `t` for a table of pairs, `-tf32` for its precision."""
    plain = ["64", "128", *(["t64", "t128"] if "blocks" in mask else [])]
    return [*plain, *(f"{one}-tf32" for one in plain if kind == "fp32")]


def precision(name: str) -> None:
    torch.set_float32_matmul_precision("high" if name.endswith("tf32") else "highest")


def by_flex(positions: int, mod: Mod, variant: str, device: str) -> Callable[..., torch.Tensor]:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    size = variant.partition("-")[0]
    if size.startswith("t"):
        i = torch.arange(positions, device=device)
        table = mod(None, None, i[:, None], i[None, :]).contiguous()
        mod = lambda b, h, i, j: table[i, j]  # noqa: E731
    block = int(size.lstrip("t"))
    blocks = create_block_mask(mod, None, None, positions, positions, device=device, BLOCK_SIZE=block)
    call = torch.compile(flex_attention, dynamic=False) if device == "cuda" else flex_attention
    # its kernels' tiles are at most a block
    options = {f"BLOCK_{side}": 64 for side in ("M", "N", "M1", "N1", "M2", "N2")} if block == 64 else None
    return lambda q, k, v: call(q, k, v, block_mask=blocks, kernel_options=options)


def inputs(positions: int, features: int, kind: str, gradients: bool, given: argparse.Namespace) -> list[torch.Tensor]:
    draw = torch.Generator(device=given.device).manual_seed(5)
    made = [torch.randn(1, given.heads, positions, features, device=given.device, generator=draw).to(TYPES[kind]) for _ in range(4)]
    return [one.requires_grad_(gradients and at < 3) for at, one in enumerate(made)]


def called(attend: Callable[..., torch.Tensor], operands: list[torch.Tensor], gradients: bool) -> Any:
    q, k, v, weights = operands
    if gradients:
        return torch.autograd.grad(attend(q, k, v), (q, k, v), weights)
    with torch.no_grad():
        return attend(q, k, v)


def jobs(kind: str, device: str, heads: int) -> list[tuple[str, int, bool, str]]:
    return [(mask, features, gradients, variant) for mask, (_, _, widths) in masks(device, heads).items() for features in widths
            for gradients in (False, True) for variant in variants(mask, kind)]


def noted(folder: Path, kind: str, job: tuple[str, int, bool, str]) -> Path:
    return folder / ("-".join([kind, *map(str, job)]).replace("%", "") + ".json")


def compile_part(given: argparse.Namespace) -> None:
    """Compile every `processes`-th job, until the time is over."""
    known = masks(given.device, given.heads)
    for job in jobs(given.type, given.device, given.heads)[given.part::given.processes]:
        if time.time() > given.until:
            return
        mask, features, gradients, variant = job
        positions, mod, _ = known[mask]
        problem = ""
        try:
            torch._dynamo.reset()
            precision(variant)
            called(by_flex(positions, mod, variant, given.device), inputs(positions, features, given.type, gradients, given), gradients)
            if given.device == "cuda":
                torch.cuda.synchronize()
        except Exception as error:  # what PyTorch cannot compile is part of the result
            problem = why(error)
        noted(given.folder, given.type, job).write_text(json.dumps(problem), encoding="utf-8")


def compile_all(given: argparse.Namespace) -> None:
    again = [sys.executable, __file__, "compile", str(given.folder), "--type", given.type, "--device", given.device, "--heads", str(given.heads),
             "--processes", str(given.processes), "--until", str(given.until)]
    running = [subprocess.Popen([*again, "--part", str(part)]) for part in range(given.processes)]
    for one in running:
        one.wait()


def by_device(call: Callable[[], Any], count: int = 10) -> list[float]:
    """Milliseconds of calls that queue behind a kernel that waits."""
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    torch.cuda._sleep(20_000_000)
    marks[0].record()
    for mark in marks[1:]:
        call()
        mark.record()
    torch.cuda.synchronize()
    return [before.elapsed_time(after) for before, after in zip(marks, marks[1:])]


def timed(calls: dict[str, Callable[[], Any]], given: argparse.Namespace) -> dict[str, float]:
    """Medians in milliseconds."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for name in [name for turn in range(3) for name in names[turn % len(names):] + names[:turn % len(names)]]:
        if time.time() > given.until:
            break
        precision(name)
        calls[name]()
        times[name] += by_device(calls[name]) if given.device == "cuda" else [1e3 * clocked(calls[name])]
    return {name: statistics.median_high(found) for name, found in times.items() if found}


def exact(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, positions: int, mod: Mod) -> torch.Tensor:
    """The first rows of two heads in double."""
    rows, i = min(positions, 512), torch.arange(positions, device=q.device)
    kept = mod(None, None, i[:rows, None], i[None, :])
    scores = q[0, :2, :rows].double() @ k[0, :2].double().mT / math.sqrt(q.shape[-1])
    return torch.softmax(scores.masked_fill(~kept, -math.inf), -1) @ v[0, :2].double()


def contestants(mask: str, features: int, gradients: bool, pattern: Any, known: Any, given: argparse.Namespace) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the calls that can be timed by name, and why others cannot."""
    import tamis.torch

    positions, mod, _ = known[mask]
    found: dict[str, Any] = {"tamis": lambda q, k, v: tamis.torch.attention(q, k, v, pattern)}
    notes: dict[str, str] = {}
    for variant in variants(mask, given.type):
        note = noted(given.folder, given.type, (mask, features, gradients, variant))
        notes[f"flex-{variant}"] = json.loads(note.read_text(encoding="utf-8")) if note.exists() else "not compiled in the time"
        if not notes[f"flex-{variant}"]:
            precision(variant)
            found[f"flex-{variant}"] = by_flex(positions, mod, variant, given.device)
    if positions <= 4096:
        i = torch.arange(positions, device=given.device)
        dense = mod(None, None, i[:, None], i[None, :])
        for name in ("sdpa_mask", *(["sdpa_mask-tf32"] if given.type == "fp32" else [])):
            found[name] = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=dense)
    return found, notes


def tried(name: str, attend: Callable[..., torch.Tensor], operands: list[torch.Tensor], gradients: bool, reference: torch.Tensor) -> str:
    """Call a contestant once and return its error, or raise what it raises."""
    precision(name)
    rows = called(attend, operands, False)[0, :2, :reference.shape[1]].double()
    error = float((rows - reference).norm() / reference.norm())
    called(attend, operands, gradients)
    return f"{error:.0e}" if error < WORST else f"WRONG {error:.1e}"


def measure_one(mask: str, features: int, gradients: bool, pattern: Any, known: Any, given: argparse.Namespace) -> None:
    """Time all contestants on a mask, and write their lines."""
    torch._dynamo.reset()
    positions, mod, _ = known[mask]
    reference = exact(*inputs(positions, features, given.type, False, given)[:3], positions, mod)
    operands = inputs(positions, features, given.type, gradients, given)
    found, notes = contestants(mask, features, gradients, pattern, known, given)
    calls = {}
    for name, attend in found.items():
        try:
            notes[name] = tried(name, attend, operands, gradients, reference)
            calls[name] = lambda attend=attend: called(attend, operands, gradients)
        except Exception as error:  # out of memory, or a configuration that fails
            notes[name] = why(error)
    times = timed(calls, given)
    csv.writer(sys.stdout).writerows(
        [mask, pattern.nnz, positions, given.heads, features, given.type, "both" if gradients else "fwd", name, f"{times[name]:.5g}" if name in times else "", note]
        for name, note in notes.items())
    sys.stdout.flush()
    print(mask, features, gradients, {name: round(ms, 4) for name, ms in times.items()}, file=sys.stderr, flush=True)


def measure(given: argparse.Namespace) -> None:
    import tamis.torch

    known = masks(given.device, given.heads)
    for mask, (positions, mod, widths) in known.items():
        pattern = tamis.torch.Pattern.from_mask_mod(mod, positions, device=given.device)
        for features, gradients in itertools.product(widths, (False, True)):
            if time.time() > given.until:
                return
            measure_one(mask, features, gradients, pattern, known, given)


def main() -> None:
    hidden = dict.fromkeys(("part", "until"), argparse.SUPPRESS)
    parser = options(__doc__, {"heads": "fewer make all small, for a trial", "seconds": LATER, **hidden}, {"type": list(TYPES), "device": ["cpu", "cuda"]},
                     type="bf16", device="cuda", heads=HEADS, seconds=200.0, processes=16, part=int, until=float)
    parser.add_argument("mode", choices=["compile", "measure"])
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    given.until = given.until or time.time() + given.seconds
    given.folder.mkdir(parents=True, exist_ok=True)
    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 1000
    if given.mode == "measure":
        measure(given)
    elif given.part is None:
        compile_all(given)
    else:
        compile_part(given)


if __name__ == "__main__":
    main()
