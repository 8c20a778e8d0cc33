#!/usr/bin/env python3
"""The tables of the pages that tell what was measured, out of the results: tables.py RESULTS PAGE...

What stands in a page between `<!-- NAME: made by lab/results/tables.py -->` and `<!-- end of NAME -->` is written anew. NAME is one of
  speed     a row for each library beside Tamis, and what the rows are of, with the cases that are lost
  first     three rows of it, for those who see Tamis first: real matrices beside the best of the recorded libraries
  cusparse  a row for each matrix and GPU: the ratios to cuSPARSE
  widths    geometric means of these over the widths
  small     geometric means beside the best of the recorded libraries, of all matrices and of those below a million nonzeros
  dense     a row for each dense pattern: milliseconds of SDDMM and SpMM, and those of the best of the recorded libraries
  types     a row for each operation in TF32 and bf16: means beside the best of the recorded libraries of the same type
  naive     a row for each matrix: milliseconds on the CPU, the ratio to the naive loop and the time over the floor
  flex      attention beside flex_attention and PyTorch's with a dense mask, forward and with gradients: milliseconds
  steps     a training step of a language model beside flex_attention and a dense mask: milliseconds and memory
  messages  message passing beside PyTorch and PyTorch Geometric: means, and a row for each call and graph, with what is lost
  messages_gpu, graph_attention, layers   the same on GPUs: means with what is lost, attention on graphs, layers of PyTorch Geometric
  methods   a row for each of our own methods and operation: where it is the fastest, what that gains, and whether it stays
  chosen    a sentence for each GPU: what `auto` takes for fused
  evidence  a row for each GPU that make gpu-check has seen: geometric means of the ratios to cuSPARSE
  calls     a row for each operation: what calls of a small matrix cost
  devices   two devices beside one of them: milliseconds and the speed-up of each matrix and operation, and an iteration of models
  models    an iteration of each model: milliseconds, and how many times as long it takes with plain kernels
  machines  a row for each folder of RESULTS, with links for a page there
  states    the commits and the days of all of them; what stands there is left while there are other sources among them
A ratio is the other's time divided by ours. A table without its file is an error that names the piece of `make measure` which writes it."""
import collections
import itertools
import json
import re
import statistics
import sys
from pathlib import Path

import method_tables
import speed_tables
import training_tables
from commits import is_current, kind_of
from measured import OPERATIONS, TITLES, Missing, Results, all_runs, head, many, records, row, spread


def evidence_of(results):
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted((results.folder.parents[1] / "docs/evidence").glob("*.json"))]


def evidence(results):
    yield from head("chip", "date", "matrices", *TITLES.values())
    for made in evidence_of(results):
        means = made["geometric_mean_of_ratios"]
        matrices = {figure["matrix"] for figure in made["figures"] if "ratio" in figure and figure["operation"] == "spmm"}
        yield row(made["chip"], made["date"], len(matrices), *(f"{means[operation]:.2f}" if operation in means else "" for operation in OPERATIONS))


def calls(results):
    """Of the step of make gpu-check that times calls of the smallest matrix; its note has the numbers."""
    for made in evidence_of(results):
        note = made["steps"].get("calls", {}).get("note", "")
        one = r"(\w+): first plan ([\d.]+) ms, execution ([\d.]+) us, single call ([\d.]+) us, trusted ([\d.]+) us"
        rows = [row(TITLES[operation], f"{execution} us", f"{trusted} us", f"{single} us", f"{first} ms")
                for operation, first, execution, single, trusted in re.findall(one, note)]
        driver = re.search(r"the driver alone, an empty kernel: ([\d.]+) us", note)
        if rows and driver:
            yield from [f"On a host of the {made['chip']}, {made['date']}; the driver alone takes {driver[1]} us for an empty kernel:", "",
                        *head("", "an execution of a plan", "a single call that trusts S", "a single call, S checked", "the first plan"), *rows, ""]


# ---------------------------------------------------------------------------------------------------- several devices

DEVICES_MATRICES = {"docs-full": "documents", "graph-full": "R-MAT", "mesh-full": "mesh", "dense-full": "uniform 20 %"}


def median_iteration(lines):
    """Milliseconds, of all iterations but the first of each fit."""
    return 1000 * statistics.median(line["seconds"] for line in lines if line["record"] == "iteration" and line["iteration"] > 1)


def devices_models(path):
    """An iteration on one and on all, of each model."""
    lines = records(path)
    yield from head("model", "nonzeros", "one, ms an iteration", "two, ms", "speed-up")
    for method in dict.fromkeys(line["method"] for line in lines):
        one, several = (median_iteration([line for line in lines if line["method"] == method and ("," in line["on"]) == many_of]) for many_of in (False, True))
        nnz = next(line["nnz"] for line in lines if line["record"] == "summary" and line["method"] == method)
        yield row(method, many(nnz), f"{one:.1f}", f"{several:.1f}", f"{one / several:.2f}")


def devices(results):
    for path in results.files("two-devices", "two-devices"):
        lines = records(path, "scaling")
        widths = sorted({line["inner"] for line in lines})
        yield from [f"{lines[0]['ranks']} {lines[0]['model']}: {spread([line['speedup'] for line in lines])} times as fast as one, {len(lines)} cases.", "",
                    *head("matrix", "nonzeros", "operation", *(f"K = {inner}" for inner in widths))]
        for (name, title), operation in itertools.product(DEVICES_MATRICES.items(), OPERATIONS):
            by_width = {line["inner"]: line for line in lines if (line["matrix"], line["operation"]) == (name, operation)}
            if by_width:
                yield row(title, many(next(iter(by_width.values()))["nnz"]), TITLES[operation],
                          *(f"{line['alone_ms']:.3g} to {line['median_ms']:.3g} ms, {line['speedup']:.2f}" if line else "" for line in map(by_width.get, widths)))
        yield from ["", *devices_models(path.with_name("two-devices-models.jsonl.xz")), ""]


def models(results):
    """Of `lab/bench/applications.sh`, whose table has a line for each model and K."""
    cells = collections.defaultdict(dict)
    for machine, lines in results.texts("applications.txt", "models"):
        for line in lines[2:]:
            model, inner, seconds, *_, ratio = (cell.strip() for cell in line.strip("|").split("|"))
            cells[model][machine, int(inner)] = f"{float(f'{1000 * float(seconds):.3g}'):g} ({ratio})"
    columns = sorted({column for found in cells.values() for column in found})
    yield from head("model", *(f"`{machine}`, K = {inner}" for machine, inner in columns))
    yield from (row(model, *(found.get(column, "") for column in columns)) for model, found in cells.items())


# ---------------------------------------------------------------------------------------------------- machines

def machines(results):
    yield from head("folder", "machine", "results")
    for folder, files in all_runs(results).items():
        last = max((run for runs in files.values() for run in runs), key=lambda run: run["started"])
        about = [f"{last['processors']} cores, {last['instruction_set']}" if last["device"] == "cpu" else last["driver"], last["compiler"]]
        names = ", ".join(f"[{path.name.removesuffix('.jsonl.xz')}]({folder.name}/{path.name})" for path in files)
        yield row(f"`{folder.name}`", f"{last['model']}, {', '.join(about)}", names)


def states(results):
    runs = [run for files in all_runs(results).values() for several in files.values() for run in several]
    measured = {(run.get("commit"), kind_of(run)) for run in runs}
    commits, days = {commit for commit, _ in measured}, sorted(run["started"][:10] for run in runs)
    if None in commits or len(commits) > 1 and not all(is_current(*one) for one in measured):
        raise Missing("there are results of other sources: make measure")
    named = " and ".join(f"`{commit}`" for commit in sorted(commits))
    several = len(commits) > 1
    yield (f"All benchmarks were measured of commit{'s' if several else ''} {named}{', whose sources are the same' if several else ''}, "
           f"{' to '.join(dict.fromkeys((days[0], days[-1])))}.")


# each makes the lines of a table of Results; empty lines at the end are dropped
TABLES = {**method_tables.TABLES, **speed_tables.TABLES, **training_tables.TABLES, "evidence": evidence, "calls": calls, "devices": devices, "models": models, "machines": machines,
          "states": states}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    results, missing = Results(Path(sys.argv[1])), []
    for page in map(Path, sys.argv[2:]):

        def written(found):
            begin, name, end = found.groups()
            try:
                text = "\n".join(TABLES[name](results)).rstrip("\n")
                return f"{begin}\n{text}\n{end}"
            except Missing as why:
                missing.append(f"{page}: the table {name} is left as it is: {why}")
                return found.group()

        page.write_text(re.sub(r"(<!-- (\w+): made by lab/results/tables\.py -->)\n.*?(<!-- end of \2 -->)", written, page.read_text(encoding="utf-8"), flags=re.DOTALL), encoding="utf-8")
    if missing:
        sys.exit("\n".join(missing))


if __name__ == "__main__":
    main()
