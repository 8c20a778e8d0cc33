"""The results of `make measure`, and how numbers are written in tables."""
import collections
import json
import math
import statistics

from claims import load, number, open_text

OPERATIONS = ("sddmm", "spmm", "fused")
TITLES = {"sddmm": "SDDMM", "spmm": "SpMM", "fused": "fused"}
LIBRARIES = {"rode": "RoDe", "sputnik": "Sputnik", "dgsparse": "dgSPARSE", "gespmm": "GE-SpMM", "hp_spmm": "HP-SpMM", "cusparse": "cuSPARSE", "cublas": "cuBLAS", "flashsparse": "FlashSparse", "dtc": "DTC-SpMM", "accspmm": "Acc-SpMM", "half_cusparse": "cuSPARSE", "bf16_cusparse": "cuSPARSE",
             "best+best": "the fastest SDDMM followed by the fastest SpMM"}
WIDTH = 150  # of a line of text
LOST, LOST_SMALL, SMALL_MS = 0.95, 0.9, 0.01  # what counts as a loss: below 10 us the launch decides


class Missing(Exception):
    pass


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def spread(ratios):
    return f"{number(mean(ratios))} ({number(min(ratios))} to {number(max(ratios))})" if ratios else ""


def spread_with_median(ratios):
    return spread(ratios).replace(" (", f", {number(statistics.median(ratios))} (") if ratios else ""


def row(*cells):
    """A line of a table of Markdown."""
    return "| " + " | ".join(map(str, cells)) + " |"


def head(*titles):
    return [row(*titles).replace("|  |", "| |"), "|" + "---|" * len(titles)]


def many(count):
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.1f}{letter}" if count < 10 * size else f"{count / size:.0f}{letter}"
    return str(count)


def plain_model(name):
    return name.replace("(R)", "").removesuffix(" Processor")


def library(name):
    return next((title for prefix, title in LIBRARIES.items() if name.startswith(prefix)), name)


class Results:
    """The problems of files of results, each file with its machine."""

    def __init__(self, folder):
        self.folder, self.loaded = folder, {}

    def files(self, name, piece, ending=".jsonl.xz"):
        found = sorted(self.folder.glob(f"*/{name}{ending}"))
        if not found:
            raise Missing(f"{self.folder}/*/{name}{ending} is not there: make measure PIECE={piece}")
        return found

    def texts(self, name, piece):
        """The files that programs have printed, each as its folder's name and its lines."""
        for path in self.files(name, piece, ""):
            yield path.parent.name, path.read_text(encoding="utf-8").splitlines()

    def problems(self, path):
        if path not in self.loaded:
            self.loaded[path] = list(load([path.as_posix()])[0].values())
        return self.loaded[path]

    def machine(self, path):
        one = next(iter(self.problems(path)[0].values()))
        model = plain_model(one["model"])
        return f"{model}, {max(line['threads'] for of in self.problems(path) for line in of.values())} cores" if on_cpu(self.problems(path)) else model

    def peers(self, folder, kind="fp32"):
        return [line for line in records(folder / "speed-kit.jsonl.xz", "peer") if line.get("type", "fp32") == kind]

    def real(self, folder):
        """The names of the matrices that are real: the kit's, which are measured at other widths too."""
        return {of(next(iter(contestants.values())))[0] for contestants in self.problems(folder / "speed-widths.jsonl.xz")}


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


def records(path, *kinds):
    """The records of these kinds in a file, or all."""
    with open_text(path.as_posix()) as lines:
        return [line for line in map(json.loads, lines) if not kinds or line.get("record") in kinds]


def all_runs(results):
    """By folder and file; those without runs of the program, which are of other kinds, are left out."""
    found = collections.defaultdict(dict)
    for path in sorted(results.folder.glob("*/*.jsonl.xz")):
        if runs := [run for run in records(path, "run") if "compiler" in run]:
            found[path.parent][path] = runs
    return found
