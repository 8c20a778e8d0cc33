#!/usr/bin/env python3
"""The tables of speed in README.md and docs/performance.md, and of machines in lab/results, out of the results: tables.py RESULTS PAGE...

What stands in a page between `<!-- NAME: made by lab/results/tables.py -->` and `<!-- end of NAME -->` is written anew. NAME is one of
  speed     a row for each library beside Tamis, and what the rows are of, with the cases that are lost
  cusparse  a row for each matrix and GPU: the ratios to cuSPARSE
  widths    geometric means of these over the widths
  small     geometric means beside the best of the recorded libraries, of all matrices and of those below a million nonzeros
  naive     a row for each matrix: milliseconds on the CPU, the ratio to the naive loop and the time over the floor
  attention a row for each size of a mask, K = 64, fp32 and bf16: milliseconds, and how many times as long PyTorch takes with a dense mask
  flex      the same beside flex_attention, forward and with gradients
  messages  message passing beside PyTorch and PyTorch Geometric: means, and a row for each call and graph, with what is lost
  evidence  a row for each GPU that make gpu-check has seen: geometric means of the ratios to cuSPARSE
  devices   two devices beside one of them: milliseconds and the speed-up of each matrix and operation, and an iteration of models
  machines  a row for each folder of RESULTS, with links for a page there
  states    the commit and the days of all of them; what stands there is left while there are other sources among them
A ratio is the other's time divided by ours. A table without its file is an error that names the piece of `make measure` which writes it."""
import collections
import csv
import json
import math
import re
import statistics
import sys
import textwrap
from pathlib import Path

from claims import load, number, open_text
from commits import is_current, kind_of

OPERATIONS = ("sddmm", "spmm", "fused")
TITLES = {"sddmm": "SDDMM", "spmm": "SpMM", "fused": "fused"}
LIBRARIES = {"rode": "RoDe", "sputnik": "Sputnik", "dgsparse": "dgSPARSE", "gespmm": "GE-SpMM", "hp_spmm": "HP-SpMM", "cusparse": "cuSPARSE", "cublas": "cuBLAS",
             "best+best": "the best SDDMM and SpMM"}
WIDTH = 150  # of a line of text
LOST, LOST_SMALL, SMALL_MS = 0.95, 0.9, 0.01  # what counts as a loss: below 10 us the launch decides


class Missing(Exception):
    pass


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def spread(ratios):
    return f"{number(mean(ratios))} ({number(min(ratios))} to {number(max(ratios))})" if ratios else ""


def many(count):
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.1f}{letter}" if count < 10 * size else f"{count / size:.0f}{letter}"
    return str(count)


def library(name):
    return next((title for prefix, title in LIBRARIES.items() if name.startswith(prefix)), name)


class Results:
    """The problems of files of results, each file with its machine."""

    def __init__(self, folder):
        self.folder, self.loaded = folder, {}

    def files(self, name, piece):
        found = sorted(self.folder.glob(f"*/{name}.jsonl.xz"))
        if not found:
            raise Missing(f"{self.folder}/*/{name}.jsonl.xz is not there: make measure PIECE={piece}")
        return found

    def problems(self, path):
        if path not in self.loaded:
            self.loaded[path] = list(load([path.as_posix()])[0].values())
        return self.loaded[path]

    def machine(self, path):
        one = next(iter(self.problems(path)[0].values()))
        if on_cpu(self.problems(path)):
            return f"{one['model']}, {max(line['threads'] for of in self.problems(path) for line in of.values())} cores"
        return one["model"]

    def peers(self, folder):
        with open_text((folder / "speed-kit.jsonl.xz").as_posix()) as lines:
            return [line for line in map(json.loads, lines) if line.get("record") == "peer"]


def on_cpu(problems):
    return next(iter(problems[0].values()))["device"] == "cpu"


def of(line):
    return line["matrix"].rsplit("/", 1)[-1].removesuffix(".npz"), line["operation"], line["inner"] or line["width"]


def ratios(problems, other):
    """By operation and K, of the problems that have both: the ratio and our line."""
    found = collections.defaultdict(list)
    for contestants in problems:
        if other in contestants and "auto" in contestants:
            line = contestants["auto"]
            found[of(line)[1:]].append((contestants[other]["median_ms"] / line["median_ms"], line))
    return found


def counted(found):
    """How many matrices there are in what ratios() found."""
    return len({of(line)[0] for cases in found.values() for _, line in cases})


def on_gpus(results):
    """Each GPU's folder, its name, and its problems beside cuSPARSE at K = 32 and 128, of both sets of matrices."""
    for path in results.files("speed-neutral", "speed-neutral"):
        kit = path.with_name("speed-kit.jsonl.xz")
        if not kit.exists():
            raise Missing(f"{kit} is not there: make measure PIECE=speed-kit")
        yield path.parent, results.machine(path), results.problems(path) + results.problems(kit)


# ---------------------------------------------------------------------------------------------------- speed

def beside_recorded(results, folder, problems):
    """Ours beside the best of the libraries that were measured before, their times scaled by cuSPARSE's of both runs: (ratio, name, line)."""
    scale, ours = {}, {}
    recorded = {(line["matrix"], line["operation"], line["inner"]): line for line in results.peers(folder)}
    for contestants in problems:
        line = contestants.get("auto")
        if line and line["edge"] != "scale":
            ours[of(line)] = line
            then = recorded.get(of(line), {}).get("cusparse_ms")
            if then and "cusparse" in contestants:
                scale[of(line)] = contestants["cusparse"]["median_ms"] / then
    for name in ("speed-neutral-scale", "speed-kit-scale"):  # fused peers multiply by S's values
        for contestants in results.problems(folder / f"{name}.jsonl.xz"):
            ours[of(contestants["auto"])] = contestants["auto"]
    found = collections.defaultdict(list)
    for key, peer in recorded.items():
        matrix, operation, inner = key
        parts = [key] if operation != "fused" else [(matrix, "sddmm", inner), (matrix, "spmm", inner)]
        if key in ours and all(part in scale for part in parts):
            found[operation, inner].append((peer["median_ms"] * mean([scale[part] for part in parts]) / ours[key]["median_ms"], peer["peer"], ours[key]))
    return found


def lost(named):
    """Of (ratio, title, line) those that are lost, by name."""
    return ", ".join(f"{of(line)[0]} {ratio:.2f}{f' ({title})' if title else ''}" for ratio, title, line in sorted(named, key=lambda one: one[0])
                     if ratio < (LOST if line["median_ms"] > SMALL_MS else LOST_SMALL))


def speed(results):
    rows, notes = [], []

    def row(title, where, cells):
        rows.append(f"| {title} | {where} | " + " | ".join(spread(cells.get(operation, [])) for operation in OPERATIONS) + " |")

    for folder, chip, problems in on_gpus(results):
        beside = ratios(problems, "cusparse")
        recorded = beside_recorded(results, folder, problems)
        for inner in (32, 128):
            row(f"cuSPARSE, K = {inner}", chip, {operation: [one[0] for one in beside[operation, inner]] for operation in OPERATIONS})
        for inner in (32, 128):
            row(f"the best of the recorded libraries, K = {inner}", chip, {operation: [one[0] for one in recorded[operation, inner]] for operation in OPERATIONS})
        notes.append(f"- *cuSPARSE* on the {chip}: {counted(beside)} matrices, SDDMM preprocessed, SpMM by the fastest of its algorithms, fused as SDDMM followed by SpMM."
                     + "".join(f" Slower than it at K = {inner}, {TITLES[operation]}: {names}." for inner in (32, 128) for operation in OPERATIONS
                               if (names := lost([(ratio, "", line) for ratio, line in beside[operation, inner]]))))
        best = collections.Counter(library(name) for cases in recorded.values() for _, name, _ in cases)
        notes.append(f"- *The recorded libraries*, on the {chip} scaled by cuSPARSE's times of both runs, {len({of(line)[0] for cases in recorded.values() for _, _, line in cases})}"
                     f" matrices: the best was {', '.join(f'{name} in {count} cases' for name, count in best.most_common())}."
                     + "".join(f" Slower than the best at K = {inner}, {TITLES[operation]}: {names}." for inner in (32, 128) for operation in OPERATIONS
                               if (names := lost([(ratio, library(name), line) for ratio, name, line in recorded[operation, inner]]))))
    for title, peer, suite in (("SuiteSparse:GraphBLAS", "graphblas", "esimd"), ("PyTorch", "torch", "gpu-dynamic")):
        for path in results.files(suite, f"cpu-{suite}"):
            found = ratios(results.problems(path), peer) if on_cpu(results.problems(path)) else {}
            if found:
                row(f"{title}, K = {' and '.join(str(inner) for inner in sorted({key[1] for key in found}))}", results.machine(path),
                    {operation: [one[0] for key, cases in found.items() if key[0] == operation for one in cases] for operation in OPERATIONS})
                notes.append(f"- *{title}*: the suite `{suite}` on the CPU, " + ", ".join(
                    f"{sum(len(cases) for key, cases in found.items() if key[0] == operation)} cases of {TITLES[operation]}" for operation in OPERATIONS
                    if any(key[0] == operation for key in found)) + ", in lab/results.")
    for path in results.files("speed", "cpu-speed"):
        found = ratios(results.problems(path), "naive")
        for inner in sorted({key[1] for key in found}):
            row(f"the naive loop, K = {inner}", results.machine(path), {operation: [one[0] for one in found[operation, inner]] for operation in OPERATIONS})
        notes.append(f"- *The naive loop* is row-parallel with `omp simd` and compiled for the same instruction set; "
                     f"{counted(found)} stand-ins.")
    return "\n".join(["| compared with | where | SDDMM | SpMM | fused |", "|---|---|---|---|---|", *rows, "",
                      *textwrap.wrap("Each entry is the other library's time divided by Tamis's: the geometric mean over the matrices, with the smallest and the "
                                     "largest ratio. All are fp32, with the algorithm that the plan chose. Except for the recorded libraries, both sides took turns "
                                     "in one run on the same operands.", WIDTH),
                      "", *(line for note in notes for line in textwrap.wrap(note, WIDTH, subsequent_indent="  ", break_on_hyphens=False))])


# ---------------------------------------------------------------------------------------------------- tables of performance.md

def cusparse(results):
    text = []
    for _, chip, problems in on_gpus(results):
        found = ratios(problems, "cusparse")
        columns = [(operation, inner) for operation in OPERATIONS for inner in (32, 128)]
        matrices = {of(line)[0]: line["nnz"] for cases in found.values() for _, line in cases}
        text += [f"On the {chip}:", "", "| matrix | nonzeros | " + " | ".join(f"{TITLES[operation]}, K = {inner}" for operation, inner in columns) + " |",
                 "|---|---|" + "---|" * len(columns)]
        for matrix, nnz in sorted(matrices.items(), key=lambda one: one[1]):
            cells = [next((number(ratio) for ratio, line in found[column] if of(line)[0] == matrix), "") for column in columns]
            text.append(f"| {matrix} | {many(nnz)} | " + " | ".join(cells) + " |")
        text += [f"| **geometric mean of {len(matrices)}** | | " + " | ".join(number(mean([one[0] for one in found[column]])) for column in columns) + " |", ""]
    return "\n".join(text[:-1])


def widths(results):
    text = []
    for path in results.files("speed-widths", "speed-widths"):
        found = ratios(results.problems(path), "cusparse")
        inner = sorted({key[1] for key in found})
        text += [f"On the {results.machine(path)}, {counted(found)} real matrices:", "",
                 "| K = | " + " | ".join(map(str, inner)) + " |", "|---|" + "---|" * len(inner)]
        text += [f"| {TITLES[operation]} | " + " | ".join(f"{mean([one[0] for one in found[operation, k]]):.2f}" for k in inner) + " |"
                 for operation in OPERATIONS if (operation, inner[0]) in found] + [""]
    return "\n".join(text[:-1])


def small(results):
    text, columns = [], [(inner, most) for most in (math.inf, 1_000_000) for inner in (32, 128)]
    for folder, chip, problems in on_gpus(results):
        recorded = beside_recorded(results, folder, problems)
        counts = [max(sum(line["nnz"] < most for _, _, line in recorded[operation, inner]) for operation in OPERATIONS) for inner, most in columns]
        text += [f"On the {chip}, {max(counts[:2])} matrices, {max(counts[2:])} of them below a million nonzeros:", "",
                 "| | K = 32 | K = 128 | K = 32, below 1 M | K = 128, below 1 M |", "|---|---|---|---|---|"]
        for operation in OPERATIONS:
            cells = [[one[0] for one in recorded[operation, inner] if one[2]["nnz"] < most] for inner, most in columns]
            text.append(f"| {TITLES[operation]} | " + " | ".join(f"{mean(ratios):.2f}" if ratios else "" for ratios in cells) + " |")
        text.append("")
    return "\n".join(text[:-1])


def naive(results):
    text = []
    for path in results.files("speed", "cpu-speed"):
        found = ratios(results.problems(path), "naive")
        inner = sorted({key[1] for key in found})
        for k in inner:
            text += [f"K = {k}, {results.machine(path)}:", "", "| matrix | SDDMM | SpMM | fused |", "|---|---|---|---|"]
            for matrix in dict.fromkeys(of(line)[0] for _, line in found["sddmm", k]):
                cells = [next((f"{line['median_ms']:.3g} ({ratio:.2f}x; {line['floor_ratio']:.1f})" for ratio, line in found[operation, k]
                               if of(line)[0] == matrix), "") for operation in OPERATIONS]
                text.append(f"| {matrix} | " + " | ".join(cells) + " |")
            text += ["| **geometric mean** | " + " | ".join(f"{mean([one[0] for one in found[operation, k]]):.2f}x" if found[operation, k] else ""
                                                            for operation in OPERATIONS) + " |", ""]
    return "\n".join(text[:-1])


def attention(results):
    text = []
    for path in results.files("attention", "suite-attention"):
        days = sorted(run["started"][:10] for run in runs_of(path))
        cells = collections.defaultdict(dict)
        for contestants in results.problems(path):
            ours, other = contestants.get("auto"), contestants.get("torch-attention")
            if ours and other and ours["edge"] == "softmax" and ours["batch"] == 1 and ours["inner"] == 64 and ours["type"] != "fp16" and ours["device"] != "cpu":
                group, positions = of(ours)[0].split("_")
                ratio = other["median_ms"] / ours["median_ms"]
                cells[int(positions), ours["inner"], ours["type"]][group] = f"{ours['median_ms']:.3g} ({number(ratio)})"
        if cells:
            text += [f"On the {results.machine(path)}, {' to '.join(dict.fromkeys((days[0], days[-1])))}:", "", "| N, K = L | window | window and global positions | blocks |", "|---|---|---|---|"]
            text += [f"| {positions:,}, {inner}, {kind} | " + " | ".join(row.get(group, "") for group in ("window", "global", "blocks")) + " |"
                     for (positions, inner, kind), row in sorted(cells.items())] + [""]
    return "\n".join(text[:-1])


MASKS = {"attn4096": "a window of 256, 32 global positions, random blocks (12 %)", "window256": "a window of 256", "random-blocks": "random blocks of 64 x 64"}


def flex(results):
    found = sorted(results.folder.glob("*/attention.csv"))
    if not found:
        raise Missing(f"{results.folder}/*/attention.csv is not there: make measure PIECE=training-attention")
    text = []
    for path in found:
        cells = collections.defaultdict(dict)
        with open(path, encoding="utf-8", newline="") as lines:
            for mask, _, _, _, call, inner, kind, peer, _, ms, _, status, *_ in csv.reader(lines):
                if status == "ok" and ms:
                    cells[mask, int(inner), kind][call, peer] = f"{float(ms):.3g}"
        columns = [(call, peer) for call in ("attention-fwd", "attention-fwd+bwd") for peer in ("tamis", "flex_attention", "sdpa_mask")]
        text += [f"`{path.parent.name}`, 16 heads of 4,096 positions, ms:", "",
                 "| mask, K = L | Tamis, forward | flex_attention | dense mask | Tamis, with gradients | flex_attention | dense mask |", "|---|---|---|---|---|---|---|"]
        text += [f"| {MASKS.get(mask, mask)}, {inner}, {kind} | " + " | ".join(row.get(column, "") for column in columns) + " |"
                 for (mask, inner, kind), row in cells.items() if ("attention-fwd", "tamis") in row or ("attention-fwd+bwd", "tamis") in row] + [""]
    return "\n".join(text[:-1])


OTHERS = {"torch": "PyTorch's gather and scatter", "torch, compiled": "the same by torch.compile", "pyg": "PyTorch Geometric's `scatter` and `softmax`",
          "pyg, compiled": "the same by torch.compile", "sparse": "torch.sparse (`copy_u` and sum only)"}
WORDS = {"none": "", "number": "a number", "heads": "a number a head", "vector": "a vector"}


def message_call(line):
    op, kind, *reduce = line["call"].split("-")
    heads = f", {line['heads']} heads" if line["heads"] > 1 else ""
    if op in ("edge_add", "edge_dot", "softmax"):
        return f"`{'edge_softmax' if op == 'softmax' else 'edge_op'}`{', ' + op[5:] if op != 'softmax' else ''}{heads}"
    return f"`{op}`, {reduce[0]}{f', {WORDS[kind]} an edge' if WORDS[kind] else ''}{heads}"


def messages(results):
    text = []
    for path in results.files("messages", "cpu-messages"):
        with open_text(path.as_posix()) as lines:
            records = list(map(json.loads, lines))
        timed = {(message_call(line), line["edges"], line["width"]): line for line in records if line["record"] == "message"}
        run = [line for line in records if line["record"] == "run"][-1]
        best = {key: [min(times[part] for name, times in line["ms"].items() if name != "ours") / line["ms"]["ours"][part] for part in (0, 1)]
                for key, line in timed.items()}
        both = {key: min(sum(times) for name, times in line["ms"].items() if name != "ours") / sum(line["ms"]["ours"]) for key, line in timed.items()}
        text += [f"On the {run['model']}, {run['threads']} threads, fp32, PyTorch {run['torch'].split('+')[0]}, commit `{run['commit'][:12]}`:", "",
                 "| compared with | calls | forward | backward | both |", "|---|---|---|---|---|"]
        for other, title in OTHERS.items():
            found = [line["ms"] for line in timed.values() if other in line["ms"]]
            if found:
                text.append(f"| {title} | {len(found)} | " + " | ".join(spread([of(ms[other]) / of(ms["ours"]) for ms in found]) for of in (lambda t: t[0], lambda t: t[1], sum)) + " |")
        text.append(f"| **the best of them** | {len(timed)} | " + " | ".join(spread(found) for found in (
            [pair[0] for pair in best.values()], [pair[1] for pair in best.values()], list(both.values()))) + " |")
        sizes = sorted({key[2] for key in timed})
        text += ["", "Each entry is the best other time divided by ours, forward and backward. In brackets: our time divided by the floor.", "",
                 "| call | edges | " + " | ".join(f"width {width}" for width in sizes) + " |", "|---|---|" + "---|" * len(sizes)]
        for call, edges in dict.fromkeys(key[:2] for key in timed):
            cells = []
            for width in sizes:
                line = timed.get((call, edges, width))
                over = [ms / floor for ms, floor in zip(line["ms"]["ours"], line["floor_ms"])] if line else []
                cells.append(f"{number(best[call, edges, width][0])}, {number(best[call, edges, width][1])} ({over[0]:.1f}, {over[1]:.1f})" if line else "")
            text.append(f"| {call} | {many(edges)} | " + " | ".join(cells) + " |")
        for title, least, most in (("Slower than the best of them", 0, 1), ("Less than twice as fast", 1, 2)):
            found = collections.defaultdict(list)
            for (call, edges, width), pair in best.items():
                for part, ratio in zip(("forward", "backward"), pair):
                    if least <= ratio < most:
                        found[call, edges].append(f"{part} {ratio:.2f} at width {width}")
            text += ["", f"{title}:{'' if found else ' none.'}", "", *(f"- {call}, {many(edges)} edges: {', '.join(cases)}" for (call, edges), cases in found.items())]
        kept = [line for line in records if line["record"] == "memory"]
        if kept:
            text += ["", "What a step, forward and backward, needs besides its operands, in MiB:", "",
                     "| call | edges | width | results and gradients | vectors of all edges | Tamis | the least of the others |", "|---|---|---|---|---|---|---|"]
            text += [f"| {message_call(line)} | {many(line['edges'])} | {line['width']} | {line['results_mib']:.0f} | {line['vectors_mib']:.0f} | "
                     f"{line['mib']['ours']:.0f} | {min(mib for name, mib in line['mib'].items() if name != 'ours'):.0f} |" for line in kept]
        text.append("")
    return "\n".join(text[:-1])


def evidence(results):
    rows = []
    for path in sorted((results.folder.parents[1] / "docs/evidence").glob("*.json")):
        made = json.loads(path.read_text(encoding="utf-8"))
        means = made["geometric_mean_of_ratios"]
        matrices = {figure["matrix"] for figure in made["figures"] if "ratio" in figure and figure["operation"] == "spmm"}
        rows.append(f"| {made['chip']} | {made['date']} | {len(matrices)} | " + " | ".join(f"{means[operation]:.2f}" if operation in means else "" for operation in OPERATIONS) + " |")
    return "\n".join(["| chip | date | matrices | SDDMM | SpMM | fused |", "|---|---|---|---|---|---|", *rows])


# ---------------------------------------------------------------------------------------------------- several devices

DEVICES_MATRICES = {"docs-full": "documents", "graph-full": "R-MAT", "mesh-full": "mesh", "dense-full": "uniform 20 %"}


def median_iteration(lines):
    """Milliseconds, of all iterations but the first of each fit."""
    return 1000 * statistics.median(line["seconds"] for line in lines if line["record"] == "iteration" and line["iteration"] > 1)


def devices_models(path):
    """An iteration on one and on all, of each model."""
    with open_text(path.as_posix()) as opened:
        lines = [json.loads(text) for text in opened]
    text = ["| model | nonzeros | one, ms an iteration | two, ms | speed-up |", "|---|---|---|---|---|"]
    for method in dict.fromkeys(line["method"] for line in lines):
        one, several = (median_iteration([line for line in lines if line["method"] == method and ("," in line["on"]) == many_of]) for many_of in (False, True))
        nnz = next(line["nnz"] for line in lines if line["record"] == "summary" and line["method"] == method)
        text.append(f"| {method} | {many(nnz)} | {one:.1f} | {several:.1f} | {one / several:.2f} |")
    return text


def devices(results):
    text = []
    for path in results.files("two-devices", "two-devices"):
        with open_text(path.as_posix()) as opened:
            lines = [line for line in map(json.loads, opened) if line["record"] == "scaling"]
        speedups = [line["speedup"] for line in lines]
        widths = sorted({line["inner"] for line in lines})
        text += [f"{lines[0]['ranks']} {lines[0]['model']}: {spread(speedups)} times as fast as one, {len(lines)} cases.", "",
                 "| matrix | nonzeros | operation | " + " | ".join(f"K = {inner}" for inner in widths) + " |", "|---|---|---|" + "---|" * len(widths)]
        for name, title in DEVICES_MATRICES.items():
            for operation in OPERATIONS:
                row = {line["inner"]: line for line in lines if (line["matrix"], line["operation"]) == (name, operation)}
                if row:
                    text.append(f"| {title} | {many(next(iter(row.values()))['nnz'])} | {TITLES[operation]} | " + " | ".join(
                        f"{row[inner]['alone_ms']:.3g} to {row[inner]['median_ms']:.3g} ms, {row[inner]['speedup']:.2f}" if inner in row else ""
                        for inner in widths) + " |")
        text += ["", *devices_models(path.with_name("two-devices-models.jsonl.xz")), ""]
    return "\n".join(text[:-1])


# ---------------------------------------------------------------------------------------------------- machines

def runs_of(path):
    with open_text(path.as_posix()) as lines:
        return [line for line in map(json.loads, lines) if line.get("record") == "run"]


def all_runs(results):
    """By folder and file; those without runs of the program, which are of other kinds, are left out."""
    found = collections.defaultdict(dict)
    for path in sorted(results.folder.glob("*/*.jsonl.xz")):
        if runs := [run for run in runs_of(path) if "compiler" in run]:
            found[path.parent][path] = runs
    return found


def machines(results):
    rows = []
    for folder, files in all_runs(results).items():
        last = max((run for runs in files.values() for run in runs), key=lambda run: run["started"])
        about = [f"{last['processors']} cores, {last['instruction_set']}" if last["device"] == "cpu" else last["driver"], last["compiler"]]
        names = ", ".join(f"[{path.name.removesuffix('.jsonl.xz')}]({folder.name}/{path.name})" for path in files)
        rows.append(f"| `{folder.name}` | {last['model']}, {', '.join(about)} | {names} |")
    return "\n".join(["| folder | machine | results |", "|---|---|---|", *rows])


def states(results):
    runs = [run for files in all_runs(results).values() for several in files.values() for run in several]
    measured = {(run.get("commit"), kind_of(run)) for run in runs}
    commits, days = {commit for commit, _ in measured}, sorted(run["started"][:10] for run in runs)
    if None in commits or len(commits) > 1 and not all(is_current(*one) for one in measured):
        raise Missing("there are results of other sources: make measure")
    named = " and ".join(f"`{commit}`" for commit in sorted(commits))
    return f"All of it was measured of commit {named}, {days[0]} to {days[-1]}."


TABLES = {"machines": machines, "states": states, "speed": speed, "cusparse": cusparse, "widths": widths, "small": small, "naive": naive,
          "attention": attention, "flex": flex, "messages": messages, "evidence": evidence, "devices": devices}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    results, missing = Results(Path(sys.argv[1])), []
    for page in map(Path, sys.argv[2:]):
        text = page.read_text(encoding="utf-8")

        def written(found):
            begin, name, end = found.groups()
            try:
                return f"{begin}\n{TABLES[name](results)}\n{end}"
            except Missing as why:
                missing.append(f"{page}: the table {name} is left as it is: {why}")
                return found.group()

        page.write_text(re.sub(r"(<!-- (\w+): made by lab/results/tables\.py -->)\n.*?(<!-- end of \2 -->)", written, text, flags=re.DOTALL), encoding="utf-8")
    if missing:
        sys.exit("\n".join(missing))


if __name__ == "__main__":
    main()
