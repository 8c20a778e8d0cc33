"""The tables of the three operations beside other libraries: tables.py names them."""
import collections
import math
import textwrap

from claims import number
from measured import LOST, LOST_SMALL, OPERATIONS, SMALL_MS, TITLES, WIDTH, Missing, counted, library, many, mean, of, on_cpu, ratios, spread, spread_with_median


def on_gpus(results):
    """Each GPU's folder, its name, and its problems beside cuSPARSE at K = 32 and 128, of both sets of matrices."""
    for path in results.files("speed-neutral", "speed-neutral"):
        kit = path.with_name("speed-kit.jsonl.xz")
        if not kit.exists():
            raise Missing(f"{kit} is not there: make measure PIECE=speed-kit")
        yield path.parent, results.machine(path), results.problems(path) + results.problems(kit)


# ---------------------------------------------------------------------------------------------------- speed

def slower_then(results, folder, problems):
    """By case how many times as long cuSPARSE takes in fp32 as where the other libraries were measured."""
    then = {(line["matrix"], line["operation"], line["inner"]): line["cusparse_ms"] for line in results.peers(folder)}
    return {of(contestants["auto"]): contestants["cusparse"]["median_ms"] / then[of(contestants["auto"])] for contestants in problems
            if "cusparse" in contestants and contestants.get("auto", {}).get("edge", "scale") != "scale" and then.get(of(contestants["auto"]))}


def beside_recorded(results, folder, problems):
    """Ours beside the best of the libraries that were measured before, their times scaled by cuSPARSE's of both runs: (ratio, name, line)."""
    scale, ours = slower_then(results, folder, problems), {}
    recorded = {(line["matrix"], line["operation"], line["inner"]): line for line in results.peers(folder)}
    for contestants in problems:
        line = contestants.get("auto")
        if line and line["edge"] != "scale":
            ours[of(line)] = line
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


def sorts(results, folder):
    """The real matrices and the generated ones, each with the name of its sort."""
    real = results.real(folder)
    return (("real", lambda line: of(line)[0] in real), ("generated", lambda line: of(line)[0] not in real))


def speed(results):
    rows, notes = [], []

    def row(title, where, cells):
        rows.append(f"| {title} | {where} | " + " | ".join(spread_with_median(cells.get(operation, [])) for operation in OPERATIONS) + " |")

    for folder, chip, problems in on_gpus(results):
        beside = ratios(problems, "cusparse")
        recorded = beside_recorded(results, folder, problems)
        for title, cases in (("cuSPARSE", beside), ("the best of the recorded libraries", recorded)):
            for sort, belongs in sorts(results, folder):
                for inner in (32, 128):
                    row(f"{title}, {sort} matrices, K = {inner}", chip, {operation: [one[0] for one in cases[operation, inner] if belongs(one[-1])] for operation in OPERATIONS})
        notes.append(f"- *cuSPARSE* on the {chip}: {counted(beside)} matrices, SDDMM preprocessed, SpMM by the fastest of its algorithms, fused as SDDMM followed by SpMM."
                     + "".join(f" Slower than it at K = {inner}, {TITLES[operation]}: {names}." for inner in (32, 128) for operation in OPERATIONS
                               if (names := lost([(ratio, "", line) for ratio, line in beside[operation, inner]]))))
        best = collections.Counter(library(name) for cases in recorded.values() for _, name, _ in cases)
        notes.append(f"- *The recorded libraries* were timed once; their times are multiplied by the ratio of cuSPARSE's times in both runs, for the {chip}. Of "
                     f"{len({of(line)[0] for cases in recorded.values() for _, _, line in cases})} matrices the best was {', '.join(f'{name} in {count} cases' for name, count in best.most_common())}."
                     + "".join(f" Slower than the best at K = {inner}, {TITLES[operation]}: {names}." for inner in (32, 128) for operation in OPERATIONS
                               if (names := lost([(ratio, library(name), line) for ratio, name, line in recorded[operation, inner]]))))
    for path in results.files("speed-newest", "speed-newest"):
        found = ratios(results.problems(path), "cusparse")
        lines = [contestants["cusparse"] for contestants in results.problems(path) if "cusparse" in contestants]
        # records of before the peer said its version have none
        title = next((f"cuSPARSE {line['variant'].split(',')[0]}" for line in lines if (line.get("variant") or "")[:1].isdigit()), "a newer cuSPARSE")
        notes += [f"- *{title}*: the results of that run were not compared."] if any(line.get("passed") is None for line in lines) else []
        for inner in (32, 128):
            row(f"{title}, real matrices, K = {inner}", results.machine(path), {operation: [one[0] for one in found[operation, inner]] for operation in OPERATIONS})
    for title, peer, file in (("oneMKL", "mkl", "libraries"), ("SuiteSparse:GraphBLAS", "graphblas", "libraries"), ("SuiteSparse:GraphBLAS", "graphblas", "esimd"),
                              ("PyTorch", "torch", "gpu-dynamic")):
        for path in results.files(file, f"cpu-{file}"):
            found = ratios(results.problems(path), peer) if on_cpu(results.problems(path)) else {}
            if found:
                row(f"{title}, K = {' and '.join(str(inner) for inner in sorted({key[1] for key in found}))}", results.machine(path),
                    {operation: [one[0] for key, cases in found.items() if key[0] == operation for one in cases] for operation in OPERATIONS})
                notes.append(f"- *{title}* on the {results.machine(path)}: `{file}` in lab/results, " + ", ".join(
                    f"{sum(len(cases) for key, cases in found.items() if key[0] == operation)} cases of {TITLES[operation]}" for operation in OPERATIONS
                    if any(key[0] == operation for key in found)) + ".")
    for path in results.files("speed", "cpu-speed"):
        found = ratios(results.problems(path), "naive")
        for inner in sorted({key[1] for key in found}):
            row(f"the naive loop, K = {inner}", results.machine(path), {operation: [one[0] for one in found[operation, inner]] for operation in OPERATIONS})
        notes.append(f"- *The naive loop* is row-parallel with `omp simd` and compiled for the same instruction set; "
                     f"{counted(found)} stand-ins.")
    return "\n".join(["| compared with | where | SDDMM | SpMM | fused |", "|---|---|---|---|---|", *rows, "",
                      *textwrap.wrap("Each entry is the other library's time divided by Tamis's: the geometric mean over the matrices, the median, and the smallest and "
                                     "the largest ratio. All are fp32, with the algorithm that the plan chose. Except for the recorded libraries, both sides took turns "
                                     "in one run on the same operands. A case is named as slower below 0.95, and below 0.9 where a call takes less than 10 us.", WIDTH),
                      "", *(line for note in notes for line in textwrap.wrap(note, WIDTH, subsequent_indent="  ", break_on_hyphens=False))])


def first(results):
    """Three rows for those who see Tamis first: real matrices beside the best that others have, K = 128."""
    rows = []
    for folder, chip, problems in on_gpus(results):
        _, belongs = sorts(results, folder)[0]
        for operation in OPERATIONS:
            cases = sorted((ratio, library(name), of(line)[0]) for ratio, name, line in beside_recorded(results, folder, problems)[operation, 128] if belongs(line))
            worst, best = cases[0], cases[-1]
            rows.append(f"| {TITLES[operation]} | {chip} | {spread_with_median([one[0] for one in cases]).split(' (')[0]} | {best[0]:.2f}: {best[2]} ({best[1]}) | {worst[0]:.2f}: {worst[2]} ({worst[1]}) |")
    return "\n".join([f"| {len(cases)} real matrices, fp32, K = 128 | on | mean, median | best | worst |", "|---|---|---|---|---|", *rows])


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
            text.append(f"| {TITLES[operation]} | " + " | ".join(f"{mean(values):.2f}" if values else "" for values in cells) + " |")
        text.append("")
    return "\n".join(text[:-1])


DENSE = {"dl8192x8192_s70": "30 % full", "dl8192x8192_s90": "10 % full", "HumanGene2-like": "8.8 % full", "ND12K-like": "a mesh", "dl4096x1024_s70": "small, 30 % full"}


def dense(results):
    text = []
    for folder, chip, problems in on_gpus(results):
        recorded = beside_recorded(results, folder, problems)
        text += [f"On the {chip}:", "", "| matrix | SDDMM, K = 128 | best other | SpMM, 128 columns | best other |", "|---|---|---|---|---|"]
        for matrix, what in DENSE.items():
            cells = []
            for operation in ("sddmm", "spmm"):
                ratio, name, line = next(one for one in recorded[operation, 128] if of(one[2])[0] == matrix)
                cells += [f"{line['median_ms']:.3g}", f"{ratio * line['median_ms']:.3g}, {library(name)}"]
            text.append(f"| {matrix}, {what} | " + " | ".join(cells) + " |")
        text.append("")
    return "\n".join(text[:-1])


def types(results):
    """Beside the best that was recorded of the same type; what a library does in fp32 is in the other tables."""
    text = []
    for folder, chip, problems in on_gpus(results):
        scale = slower_then(results, folder, problems)
        rows = []
        for kind, title, name in (("tf32", "TF32", "methods-tf32"), ("bf16", "bf16", "methods-kit")):
            path = folder / f"{name}.jsonl.xz"
            if not path.exists():
                raise Missing(f"{path} is not there: make measure PIECE=methods-kit")
            ours = {of(line): line for contestants in results.problems(path) if (line := contestants.get("auto"))
                    and (line.get("math") == "tf32" if kind == "tf32" else line["type"] == kind) and line["edge"] != "scale" and not line.get("d_is_b")}
            found = collections.defaultdict(list)
            for peer in results.peers(folder, kind):
                key = peer["matrix"], peer["operation"], peer["inner"]
                if key in ours and key in scale:
                    found[key[1:]].append((peer["median_ms"] * scale[key] / ours[key]["median_ms"], library(peer["peer"]), key[0]))
            for (operation, inner), cases in sorted(found.items()):
                worst, best = min(cases), collections.Counter(case[1] for case in cases)
                rows.append(f"| {title}, {TITLES[operation]}, K = {inner} | {len(cases)} | {spread_with_median([case[0] for case in cases])} | {worst[0]:.2f}: {worst[2]} ({worst[1]}) | "
                            + ", ".join(f"{one} {count}" for one, count in best.most_common()) + " |")
        text += [f"On the {chip}:", "", "| type, operation | matrices | the best of the recorded libraries / Tamis | worst | which was the best |", "|---|---|---|---|---|", *rows, ""]
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


TABLES = {"speed": speed, "first": first, "cusparse": cusparse, "widths": widths, "small": small, "dense": dense, "types": types, "naive": naive}
