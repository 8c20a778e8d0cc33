"""What each of our own methods earns beside the others of ours: tables.py names these tables."""
import collections
import re
import textwrap
from pathlib import Path

from claims import number
from measured import OPERATIONS, TITLES, WIDTH, Missing, all_runs, head, mean, of, on_cpu, row

SOURCES = Path(__file__).resolve().parents[2] / "src"
LEAST_MEAN, LEAST_ANYWHERE = 1.02, 1.10  # a method that gains less than both is condemned


def folder_of(name):
    device, _, method = name.partition("-")
    return SOURCES / ("cpu/methods" if device == "cpu" else "gpu") / method.replace("-", "_")


def is_ours(name):
    """Return True if it is one of our methods that is still there: the others are compared without the removed ones."""
    return re.fullmatch("(cpu|gpu)-[a-z-]+", name) is not None and folder_of(name).is_dir()


def measured(results):
    """By chip, of the problems of which each of our methods that applies was measured: their lines, without the laboratory's, and that of `auto`."""
    found = collections.defaultdict(list)
    files = results.files("methods-*", "methods-kit")
    files += [path for several in all_runs(results).values() for path, runs in several.items() if runs[0]["device"] == "cpu"]
    for path in files:
        for contestants in results.problems(path):
            ours = {name: line for name, line in contestants.items() if is_ours(name)}
            if "auto" in contestants:  # with other numbers of threads it may have taken another method
                ours = {name: line for name, line in ours.items() if line["threads"] == contestants["auto"]["threads"]}
            if "auto" in contestants and len(ours) > 1:
                found[results.machine(path)].append((ours, contestants["auto"]))
    return found


def gain(name, ours):
    """How many times as long the best of the others takes, and our line; 1 and less where it is not the fastest, beyond the noise of both."""
    own, other = ours[name], min((line for method, line in ours.items() if method != name), key=lambda line: line["median_ms"])
    ratio = other["median_ms"] / own["median_ms"]
    return ratio if own["median_high_ms"] < other["median_low_ms"] else min(ratio, 1), own


def where(line):
    matrix, _, inner = of(line)
    kinds = [title for title, there in (("TF32", line.get("math") == "tf32"), ("D is B", line.get("d_is_b")), ("heads", line.get("batch", 1) > 1)) if there]
    return ", ".join([matrix, TITLES[line["operation"]], f"K = {inner}", line["type"], *kinds])


def earned_row(title, name, cases):
    """A row of the table: what the method does in these cases."""
    there = [one for one in cases if name in one[0]]
    chosen = sum(auto["algorithm"] == name for _, auto in there)
    found = [gain(name, ours) for ours, _ in there]
    won = [ratio for ratio, _ in found if ratio > 1]
    earned = mean([max(1, ratio) for ratio, _ in found])
    most, line = max(found, key=lambda one: one[0])
    condemned = earned < LEAST_MEAN and most <= LEAST_ANYWHERE
    return row(title, len(there), chosen, len(won), f"{100 * (earned - 1):.1f} %", f"{100 * (mean(won) - 1):.0f} %" if won else "",
               sum(ratio > LEAST_ANYWHERE for ratio in won), f"{100 * (most - 1):.0f} %: {where(line)}" if won else "", "remove" if condemned else "keep")


def methods(results):
    for chip, cases in measured(results).items():
        names = sorted({name for ours, _ in cases for name in ours})
        lost = [auto["median_ms"] / min(line["median_ms"] for line in ours.values()) for ours, auto in cases]
        yield from [f"On the {chip}, {len(cases)} cases. What `auto` takes is {100 * (mean(lost) - 1):.1f} % slower than the fastest in the mean, and "
                    f"{number(max(lost))} times as slow at most.", "",
                    *head("method", "cases", "chosen", "fastest", "gain in all", "where fastest", "over 10 %", "most", "verdict")]
        for name in names:
            yield earned_row(f"**`{name}`**", name, cases)
            operations = [operation for operation in OPERATIONS if any(name in ours and auto["operation"] == operation for ours, auto in cases)]
            if len(operations) > 1:
                yield from (earned_row(TITLES[operation], name, [one for one in cases if one[1]["operation"] == operation]) for operation in operations)
        yield ""


def chosen(results):
    """What `auto` takes for fused on GPUs, in a sentence."""
    none = True
    for chip, cases in measured(results).items():
        count = collections.Counter(auto["algorithm"] for _, auto in cases if auto["operation"] == "fused")
        if not on_cpu([{"auto": cases[0][1]}]):
            none, taken = False, [f"`{name}` in {times}" for name, times in count.most_common()]
            yield from textwrap.wrap(f"Of {count.total():,} fused products of [the methods' measurements](../../lab/results/methods.md) on the {chip}, `auto` takes "
                                     f"{', '.join(taken[:-1])}{' and ' if len(taken) > 1 else ''}{taken[-1]}.", WIDTH, break_on_hyphens=False)
    if none:
        raise Missing("nothing was measured on a GPU: make measure PIECE=methods-kit")


TABLES = {"methods": methods, "chosen": chosen}
