"""The tables of the three operations beside other libraries: tables.py names them."""
import collections
import math
import textwrap

from claims import number
from measured import (LOST, LOST_SMALL, OPERATIONS, SMALL_MS, TITLES, WIDTH, Missing, counted, head, library, many, mean, of, on_cpu, ratios, row,
                      spread_with_median)


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


def speed_row(title, where, cells):
    """A row of the first table; of each case the first entry is the ratio."""
    return row(title, where, *(spread_with_median([one[0] for one in cells.get(operation, [])]) for operation in OPERATIONS))


def slower(what, cases, named):
    """Sentences that name the cases which are lost, by K and operation."""
    return "".join(f" Slower than {what} at K = {inner}, {TITLES[operation]}: {names}." for inner in (32, 128) for operation in OPERATIONS
                   if (names := lost([named(*case) for case in cases[operation, inner]])))


def of_gpus(results):
    """The rows and notes of GPUs: beside cuSPARSE, and beside the recorded libraries."""
    for folder, chip, problems in on_gpus(results):
        beside = ratios(problems, "cusparse")
        recorded = beside_recorded(results, folder, problems)
        rows = [speed_row(f"{title}, {sort} matrices, K = {inner}", chip,
                          {operation: [one for one in cases[operation, inner] if belongs(one[-1])] for operation in OPERATIONS})
                for title, cases in (("cuSPARSE", beside), ("the best of the recorded libraries", recorded))
                for sort, belongs in sorts(results, folder) for inner in (32, 128)]
        best = collections.Counter(library(name) for cases in recorded.values() for _, name, _ in cases)
        yield rows, [
            f"- *cuSPARSE* on the {chip}: {counted(beside)} matrices, SDDMM preprocessed, SpMM by the fastest of its algorithms, fused as SDDMM followed by SpMM."
            + slower("it", beside, lambda ratio, line: (ratio, "", line)),
            f"- *The recorded libraries* were timed once; their times are multiplied by the ratio of cuSPARSE's times in both runs, for the {chip}. Of "
            f"{len({of(line)[0] for cases in recorded.values() for _, _, line in cases})} matrices the best was "
            f"{', '.join(f'{name} in {count} cases' for name, count in best.most_common())}."
            + slower("the best", recorded, lambda ratio, name, line: (ratio, library(name), line))]
    for path in results.files("speed-newest", "speed-newest"):
        found = ratios(results.problems(path), "cusparse")
        lines = [contestants["cusparse"] for contestants in results.problems(path) if "cusparse" in contestants]
        # records of before the peer said its version have none
        title = next((f"cuSPARSE {line['variant'].split(',')[0]}" for line in lines if (line.get("variant") or "")[:1].isdigit()), "a newer cuSPARSE")
        yield ([speed_row(f"{title}, real matrices, K = {inner}", results.machine(path), at_width(found, inner)) for inner in (32, 128)],
               [f"- *{title}*: the results of that run were not compared."] * any(line.get("passed") is None for line in lines))


def at_width(found, inner):
    return {operation: found[operation, inner] for operation in OPERATIONS}


def of_processors(results):
    """The rows and notes of CPUs: beside other libraries, and beside the naive loop."""
    for title, peer, file in (("oneMKL", "mkl", "libraries"), ("SuiteSparse:GraphBLAS", "graphblas", "libraries"), ("SuiteSparse:GraphBLAS", "graphblas", "esimd"),
                              ("PyTorch", "torch", "gpu-dynamic")):
        for path in results.files(file, f"cpu-{file}"):
            found = ratios(results.problems(path), peer) if on_cpu(results.problems(path)) else {}
            if found:
                cells = {operation: [one for key, cases in found.items() if key[0] == operation for one in cases] for operation in OPERATIONS}
                widths = " and ".join(str(inner) for inner in sorted({key[1] for key in found}))
                yield [speed_row(f"{title}, K = {widths}", results.machine(path), cells)], [
                    f"- *{title}* on the {results.machine(path)}: `{file}` in lab/results, "
                    + ", ".join(f"{len(cases)} cases of {TITLES[operation]}" for operation, cases in cells.items() if cases) + "."]
    for path in results.files("speed", "cpu-speed"):
        found = ratios(results.problems(path), "naive")
        yield ([speed_row(f"the naive loop, K = {inner}", results.machine(path), at_width(found, inner)) for inner in sorted({key[1] for key in found})],
               [f"- *The naive loop* is row-parallel with `omp simd` and compiled for the same instruction set; {counted(found)} stand-ins."])


def speed(results):
    parts = [*of_gpus(results), *of_processors(results)]
    yield from [*head("compared with", "where", *TITLES.values()), *(line for rows, _ in parts for line in rows), "",
                *textwrap.wrap("Each entry is the other library's time divided by Tamis's: the geometric mean over the matrices, the median, and the smallest and "
                               "the largest ratio. All are fp32, with the algorithm that the plan chose. Except for the recorded libraries, both sides took turns "
                               "in one run on the same operands. A case is named as slower below 0.95, and below 0.9 where a call takes less than 10 us.", WIDTH),
                "", *(line for _, notes in parts for note in notes for line in textwrap.wrap(note, WIDTH, subsequent_indent="  ", break_on_hyphens=False))]


def first(results):
    """Three rows for those who see Tamis first: real matrices beside the best that others have, K = 128."""
    rows = []
    for folder, chip, problems in on_gpus(results):
        _, belongs = sorts(results, folder)[0]
        for operation in OPERATIONS:
            cases = sorted((ratio, library(name), of(line)[0]) for ratio, name, line in beside_recorded(results, folder, problems)[operation, 128] if belongs(line))
            rows.append(row(TITLES[operation], chip, spread_with_median([one[0] for one in cases]).split(" (")[0], extreme(cases[-1]), extreme(cases[0])))
    yield from [*head(f"{len(cases)} real matrices, fp32, K = 128", "on", "mean, median", "best", "worst"), *rows]


def extreme(case):
    """A ratio, its matrix and its library in words."""
    ratio, name, matrix = case
    return f"{ratio:.2f}: {matrix} ({name})"


# ---------------------------------------------------------------------------------------------------- tables of performance.md

def cells_of(found, columns, matrix, text):
    """A cell for each column of ratios: that of the matrix, written by `text`, or nothing."""
    return [next((text(*case) for case in found[column] if of(case[-1])[0] == matrix), "") for column in columns]


def means(found, columns, text):
    return [text(mean([one[0] for one in found[column]])) if found[column] else "" for column in columns]


def cusparse(results):
    for _, chip, problems in on_gpus(results):
        found = ratios(problems, "cusparse")
        columns = [(operation, inner) for operation in OPERATIONS for inner in (32, 128)]
        matrices = {of(line)[0]: line["nnz"] for cases in found.values() for _, line in cases}
        yield from [f"On the {chip}:", "", *head("matrix", "nonzeros", *(f"{TITLES[operation]}, K = {inner}" for operation, inner in columns))]
        for matrix, nnz in sorted(matrices.items(), key=lambda one: one[1]):
            yield row(matrix, many(nnz), *cells_of(found, columns, matrix, lambda ratio, _: number(ratio)))
        yield from [row(f"**geometric mean of {len(matrices)}**", "", *means(found, columns, number)).replace("|  |", "| |", 1), ""]


def widths(results):
    for path in results.files("speed-widths", "speed-widths"):
        found = ratios(results.problems(path), "cusparse")
        inner = sorted({key[1] for key in found})
        yield from [f"On the {results.machine(path)}, {counted(found)} real matrices:", "", *head("K =", *inner)]
        yield from (row(TITLES[operation], *means(found, [(operation, k) for k in inner], "{:.2f}".format)) for operation in OPERATIONS if (operation, inner[0]) in found)
        yield ""


def small(results):
    columns = [(inner, most) for most in (math.inf, 1_000_000) for inner in (32, 128)]
    for folder, chip, problems in on_gpus(results):
        recorded = beside_recorded(results, folder, problems)
        below = {(operation, *column): [one for one in recorded[operation, column[0]] if one[2]["nnz"] < column[1]] for operation in OPERATIONS for column in columns}
        counts = [max(len(below[operation, *column]) for operation in OPERATIONS) for column in columns]
        yield from [f"On the {chip}, {max(counts[:2])} matrices, {max(counts[2:])} of them below a million nonzeros:", "",
                    *head("", "K = 32", "K = 128", "K = 32, below 1 M", "K = 128, below 1 M")]
        yield from (row(TITLES[operation], *means(below, [(operation, *column) for column in columns], "{:.2f}".format)) for operation in OPERATIONS)
        yield ""


DENSE = {"dl8192x8192_s70": "30 % full", "dl8192x8192_s90": "10 % full", "HumanGene2-like": "8.8 % full", "ND12K-like": "a mesh", "dl4096x1024_s70": "small, 30 % full"}


def dense(results):
    for folder, chip, problems in on_gpus(results):
        recorded = beside_recorded(results, folder, problems)
        yield from [f"On the {chip}:", "", *head("matrix", "SDDMM, K = 128", "best other", "SpMM, 128 columns", "best other")]
        for matrix, what in DENSE.items():
            yield row(f"{matrix}, {what}", *cells_of(recorded, [("sddmm", 128), ("spmm", 128)], matrix, lambda ratio, name, line:
                      f"{line['median_ms']:.3g} | {ratio * line['median_ms']:.3g}, {library(name)}"))
        yield ""


def types(results):
    """Beside the best that was recorded of the same type; what a library does in fp32 is in the other tables."""
    for folder, chip, problems in on_gpus(results):
        scale = slower_then(results, folder, problems)
        yield from [f"On the {chip}:", "", *head("type, operation", "matrices", "the best of the recorded libraries / Tamis", "worst", "which was the best")]
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
                best = collections.Counter(case[1] for case in cases)
                yield row(f"{title}, {TITLES[operation]}, K = {inner}", len(cases), spread_with_median([case[0] for case in cases]), extreme(min(cases)),
                          ", ".join(f"{one} {count}" for one, count in best.most_common()))
        yield ""


def naive(results):
    for path in results.files("speed", "cpu-speed"):
        found = ratios(results.problems(path), "naive")
        for k in sorted({key[1] for key in found}):
            columns = [(operation, k) for operation in OPERATIONS]
            yield from [f"K = {k}, {results.machine(path)}:", "", *head("matrix", *TITLES.values())]
            for matrix in dict.fromkeys(of(line)[0] for _, line in found["sddmm", k]):
                yield row(matrix, *cells_of(found, columns, matrix, lambda ratio, line: f"{line['median_ms']:.3g} ({ratio:.2f}x; {line['floor_ratio']:.1f})"))
            yield from [row("**geometric mean**", *means(found, columns, "{:.2f}x".format)), ""]


TABLES = {"speed": speed, "first": first, "cusparse": cusparse, "widths": widths, "small": small, "dense": dense, "types": types, "naive": naive}
