"""Compares two files of results: python -m tamis_lab.compare A B, which the program runs as `tamis compare`.

A change counts if the ratio of the medians exceeds the threshold, the ranges between the quartiles do not overlap, and the least times
changed in the same direction. What a machine takes for code that is not ours (peers, the naive loop) tells its own drift.
"""
from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from dataclasses import dataclass
from typing import Optional

from . import _words as words
from tamis._command import FAILED, OK, parser, run, warning
from ._figures import Mean, mean_of
from .results import Measurement, Results, ResultsError, load

FASTER, SAME, SLOWER = "faster", "same", "slower"


@dataclass
class Span:
    """The median, the range of what is noise, and the least time, in milliseconds; the least is NaN where it is not known."""

    median: float
    low: float
    high: float
    least: float

    def divided(self, by: float) -> Span:
        return Span(self.median / by, self.low / by, self.high / by, self.least / by)


def span_of(one: Measurement) -> Span:
    """Without quartiles, the range is symmetric around the median and starts at the least time."""
    least = one.min_ms if one.min_ms > 0 else one.median_ms
    low = one.q1_ms if math.isfinite(one.q1_ms) else least
    high = one.q3_ms if math.isfinite(one.q3_ms) else 2 * one.median_ms - least
    return Span(one.median_ms, low, high, one.min_ms)


def change_of(a: Span, b: Span, threshold: float) -> str:
    """Return SLOWER or FASTER if b differs from a beyond noise, else SAME."""
    ratio, both = b.median / a.median, a.least > 0 and b.least > 0
    if ratio > 1 + threshold and b.low > a.high and (not both or b.least > a.least):
        return SLOWER
    if ratio < 1 / (1 + threshold) and b.high < a.low and (not both or b.least < a.least):
        return FASTER
    return SAME


@dataclass
class Entry:
    """A contestant of a file. Several lines become the median of their medians and the range that covers all."""

    lines: list[Measurement]

    @property
    def span(self) -> Span:
        spans = [span_of(one) for one in self.lines]
        least = [one.least for one in spans if one.least > 0]
        return Span(statistics.median(one.median for one in spans), min(one.low for one in spans), max(one.high for one in spans),
                    min(least, default=math.nan))

    @property
    def failed(self) -> bool:
        return any(one.passed is False for one in self.lines)

    @property
    def passed(self) -> bool:
        return not self.failed and any(one.passed for one in self.lines)


@dataclass
class Pair:
    one: Measurement
    a: Span
    b: Span
    wrong: bool  # was correct in A and is not in B
    change: str = SAME

    @property
    def ratio(self) -> float:
        return self.b.median / self.a.median


@dataclass
class Comparison:
    """`pairs` has the largest change first. `drift` is the ratio of B to A for peers and baselines."""

    pairs: list[Pair]
    only_a: int
    only_b: int
    drift: Mean

    def count(self, change: str) -> int:
        return sum(pair.change == change for pair in self.pairs)

    @property
    def wrong(self) -> int:
        return sum(pair.wrong for pair in self.pairs)

    @property
    def mean(self) -> Mean:
        return mean_of((pair.ratio, pair) for pair in self.pairs)

    def by_method(self) -> list[tuple[str, str, Mean, int, int]]:
        """Operation, algorithm, geometric mean, and the numbers of faster and slower cases, sorted by name."""
        groups: dict[tuple[str, str], list[Pair]] = {}
        for pair in self.pairs:
            groups.setdefault((pair.one.operation, pair.one.algorithm), []).append(pair)
        return [(*names, mean_of((pair.ratio, pair) for pair in pairs), sum(pair.change == FASTER for pair in pairs),
                 sum(pair.change == SLOWER for pair in pairs)) for names, pairs in sorted(groups.items())]


def _entries(results: Results, file: int) -> dict[tuple, Entry]:
    entries: dict[tuple, Entry] = {}
    for one in results.measurements:
        if one.file == file:
            key = (one.matrix, one.operation, one.edge, one.inner, one.width, one.batch, one.type, one.device, one.threads, one.cold,
                   one.contestant)
            entries.setdefault(key, Entry([])).lines.append(one)
    return entries


def compare(results: Results, threshold: float = 0.05, without_drift: bool = False) -> Comparison:
    """Compares the second file of `results` with the first. `without_drift` divides the times of B by the drift first."""
    before, after = _entries(results, 0), _entries(results, 1)
    pairs = [Pair(entry.lines[0], entry.span, after[key].span, entry.passed and after[key].failed)
             for key, entry in before.items() if key in after]
    drift = mean_of((pair.ratio, pair) for pair in pairs if not pair.one.ours)
    for pair in pairs:
        pair.b = pair.b.divided(drift.value) if without_drift and drift.count else pair.b
        pair.change = change_of(pair.a, pair.b, threshold)
    pairs.sort(key=lambda pair: (-abs(math.log(pair.ratio)), pair.one.line))
    return Comparison(pairs, len(before) - len(pairs), len(after) - len(pairs), drift)


# ---- what is printed

def _warn_of_machines(results: Results) -> None:
    first: list[dict[str, Measurement]] = [{}, {}]
    for one in results.measurements:
        first[one.file].setdefault(one.device, one)
    for device, a in first[0].items():
        b = first[1].get(device)
        runs = b and (results.run_of(a), results.run_of(b))
        sides = [(a, b, name, what) for name, what in (("model", "model"), ("instruction_set", "instruction set"), ("driver", "driver"),
                 ("version", "version of Tamis"), ("compiler", "compiler"))] if b else []
        sides += [(*runs, name, name) for name in ("processor", "system")] if runs and all(runs) else []
        for x, y, name, what in sides:
            old, new = getattr(x, name), getattr(y, name)
            if old is not None and new is not None and old != new:
                warning(f"{device}: {what} differs: {old or 'none'} in A, {new or 'none'} in B")


def _table(heads: list[str], rows: list[tuple], right: str) -> str:
    """Columns with two blanks between them; `right` has an r for each that is aligned right."""
    lines = [heads, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    aligned = ["  ".join(cell.rjust(width) if side == "r" else cell.ljust(width) for cell, width, side in zip(line, widths, right))
               for line in lines]
    return "\n".join(line.rstrip() for line in aligned) + "\n"


def _operation(one: Measurement) -> str:
    k = one.width if one.operation == "spmm" and one.width > 0 else one.inner
    edge, batch = (f" {one.edge}" if one.edge != "none" else ""), (f" x{one.batch}" if one.batch > 1 else "")
    return f"{one.operation}{edge} K={k}{batch} {one.type}"


def _verdict(result: Comparison) -> str:
    return "WRONG" if result.wrong else "SLOWER" if result.count(SLOWER) else "faster" if result.count(FASTER) else "the same"


def _print_text(result: Comparison, threshold: float, without_drift: bool) -> None:
    changes = [(f"{pair.ratio:.3f}", pair.change, pair.one.matrix, _operation(pair.one), pair.one.device, pair.one.name, pair.one.threads,
                words.seconds(1e-3 * pair.a.median), words.seconds(1e-3 * pair.b.median))
               for pair in result.pairs if pair.change != SAME]
    if changes:
        print(_table(["B over A", "", "matrix", "operation", "device", "method", "thr", "A", "B"], changes, "rlllllrrr"))
    print(_table(["operation", "method", "cases", "B over A", "faster", "slower"],
                 [(operation, method, mean.count, f"{mean.value:.3f}", faster, slower)
                  for operation, method, mean, faster, slower in result.by_method()], "llrrrr"))
    if result.drift.count:
        divided = "; the times of B have been divided by it" if without_drift else ""
        print(f"Drift: times of peers and the naive loop are {result.drift.value:.3f} times those in A ({result.drift.count} "
              f"measurements){divided}.")
    elif without_drift:
        warning("the drift is unknown: the files have no peer and no naive loop in common")
    if result.only_a + result.only_b:
        print(f"{result.only_a} only in A, {result.only_b} only in B.")
    same, mean = result.count(SAME), result.mean
    gap = "\n" if result.drift.count or result.only_a + result.only_b else ""
    print(f"{gap}{_verdict(result)}: {result.count(SLOWER)} slower, {result.count(FASTER)} faster, {same} the same within noise and "
          f"{threshold:g} %; B over A: geometric mean {mean.value:.3f} of {mean.count}.")
    if result.wrong:
        print(f"{result.wrong} that were correct in A are outside their tolerance in B.")


def _number(value: float) -> Optional[float]:
    return float(f"{value:.7g}") if math.isfinite(value) else None


def _print_json(result: Comparison, threshold: float, without_drift: bool) -> None:
    kept = "matrix operation edge inner width batch type device algorithm parameters threads cold peer".split()
    changes = [{"change": pair.change, "ratio": _number(pair.ratio), **{name: getattr(pair.one, name) for name in kept},
                "a_median_ms": _number(pair.a.median), "b_median_ms": _number(pair.b.median)}
               for pair in result.pairs if pair.change != SAME]
    means = [{"operation": operation, "algorithm": method, "cases": mean.count, "ratio": _number(mean.value), "faster": faster,
              "slower": slower} for operation, method, mean, faster, slower in result.by_method()]
    print(json.dumps({"threshold_percent": threshold, "compared": len(result.pairs), "slower": result.count(SLOWER),
                      "faster": result.count(FASTER), "wrong": result.wrong, "only_a": result.only_a, "only_b": result.only_b,
                      "geometric_mean": _number(result.mean.value), "drift": _number(result.drift.value),
                      "drift_applied": bool(without_drift and result.drift.count), "changes": changes, "means": means}, indent=2))


def _percent(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1000:
        raise argparse.ArgumentTypeError(f"{text} is not within 0 to 1000")
    return value


def main(given: argparse.Namespace) -> int:
    results = load([given.A, given.B])
    result = compare(results, given.threshold / 100, given.drift)
    if not result.pairs:
        raise ResultsError(f"{given.A} and {given.B} have no measurement in common")
    for line in results.warnings:
        warning(line)
    _warn_of_machines(results)
    (_print_json if given.json else _print_text)(result, given.threshold, given.drift)
    return FAILED if result.count(SLOWER) + result.wrong else OK


def arguments() -> argparse.ArgumentParser:
    found = parser("compare", "compare two result files: what became faster or slower")
    found.add_argument("A")
    found.add_argument("B")
    found.add_argument("--threshold", type=_percent, default=5, metavar="PERCENT",
                       help="the smallest change of a median that counts [5]")
    found.add_argument("--drift", action="store_true", help="first divide the times of B by the drift of peers and of the naive loop")
    found.add_argument("--json", action="store_true", help="an object instead of text")
    return found


if __name__ == "__main__":
    sys.exit(run(main, arguments()))
