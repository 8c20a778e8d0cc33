"""The figures of a report: geometric means of ratios, and the method to choose for a class of matrices."""
from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Iterable, Optional

from ._cases import Case, Machine, Setting
from .results import Measurement


def is_tied(a: Measurement, b: Measurement) -> bool:
    """Return True if the times differ within the noise: the 95 % intervals of the medians overlap; in older files, which lack intervals,
    the medians differ by less than 0.5 %.
    """
    ends = (a.median_low_ms, a.median_high_ms, b.median_low_ms, b.median_high_ms)
    if all(map(math.isfinite, ends)):
        return a.median_low_ms <= b.median_high_ms and b.median_low_ms <= a.median_high_ms
    return abs(a.median_ms / b.median_ms - 1) < 0.005


@dataclass
class Mean:
    """The geometric mean of ratios, with the places of the least and the most. What is not positive and finite is left out.

    `wins`: ratios above 1 that are not ties; `disturbed`: pairs that are left out since others used the machine meanwhile.
    """

    count: int = 0
    wins: int = 0
    ties: int = 0
    disturbed: int = 0
    least: float = math.nan
    most: float = math.nan
    least_at: Any = None
    most_at: Any = None
    log_sum: float = field(default=0, repr=False)

    def add(self, ratio: float, at: Any = None, tied: bool = False) -> None:
        if not 0 < ratio < math.inf:
            return
        if not ratio >= self.least:
            self.least, self.least_at = ratio, at
        if not ratio <= self.most:
            self.most, self.most_at = ratio, at
        self.log_sum += math.log(ratio)
        self.count += 1
        self.ties += tied
        self.wins += ratio > 1 and not tied

    def add_pair(self, other: Measurement, ours: Measurement, at: Any = None) -> None:
        """Adds the time of the other over ours."""
        if other.disturbed or ours.disturbed:
            self.disturbed += 1
        else:
            self.add(other.median_ms / ours.median_ms, at, is_tied(other, ours))

    @property
    def lost(self) -> int:
        return self.count - self.wins - self.ties

    @property
    def value(self) -> float:
        return math.exp(self.log_sum / self.count) if self.count else math.nan


def mean_of(pairs: Iterable[tuple[float, Any]]) -> Mean:
    mean = Mean()
    for ratio, at in pairs:
        mean.add(ratio, at)
    return mean


def mean_of_pairs(pairs: Iterable[tuple[Optional[Measurement], Optional[Measurement], Any]]) -> Mean:
    """The mean of the first's times over the second's, for the cases that have both."""
    mean = Mean()
    for other, ours, at in pairs:
        if other and ours and other is not ours:
            mean.add_pair(other, ours, at)
    return mean


def over_peer(cases: Iterable[Case], peer: Optional[str] = None) -> Mean:
    """The mean of a peer's times over ours; without a name of the fastest peer in each case."""
    return mean_of_pairs((case.of_peer(peer) if peer else case.peer, case.chosen, case) for case in cases)


def over_baseline(cases: Iterable[Case]) -> Mean:
    return mean_of_pairs((case.baseline, case.chosen, case) for case in cases if case.baseline and not case.baseline.peer)


def floor_share(cases: Iterable[Case]) -> Mean:
    """The mean of the least time that the machine allows over ours."""
    return mean_of((case.chosen.floor_ms / case.chosen.median_ms, case) for case in cases if case.chosen and not case.chosen.disturbed)


def choice_loss(cases: Iterable[Case]) -> Mean:
    """The mean of the plan's choice over the best method, for the cases with several methods."""
    mean = Mean()
    for case in cases:
        several = sum(one.ours and not one.parameters for one in case.measurements) >= 2
        if several and case.fastest and case.chosen and case.chosen.auto:
            mean.add_pair(case.chosen, case.fastest, case)
    return mean


@dataclass
class Choice:
    """The method with the least geometric mean of times over the best of each case. `close`: another one within 5 %."""

    algorithm: str
    contestants: int
    close: Optional[str]
    versus: Mean
    versus_name: str


def choose(cases: list[Case]) -> Optional[Choice]:
    """The choice for some cases. A method that was measured in less than half of them is chosen only if all are so."""
    cases = [case for case in cases if case.fastest]
    behind: dict[str, Mean] = defaultdict(Mean)
    for case in cases:
        for one in case.measurements:
            if one.ours and not one.parameters:
                behind[one.algorithm].add(one.median_ms / case.fastest.median_ms, case)
    if not behind:
        return None
    ranked = sorted(behind, key=lambda name: (2 * behind[name].count < len(cases), behind[name].value))
    best, second = ranked[0], ranked[1] if len(ranked) > 1 else None
    close = second and 2 * behind[second].count >= len(cases) and behind[second].value < 1.05 * behind[best].value
    pairs = [(case, case.of(best)) for case in cases if case.of(best)]
    versus = mean_of_pairs((case.peer, at, case) for case, at in pairs)
    names, common = {case.peer.algorithm for case, _ in pairs if case.peer}, "the best peer"
    if not versus.count:
        pairs = [(case, at) for case, at in pairs if case.baseline and case.baseline is not at]
        versus = mean_of_pairs((case.baseline, at, case) for case, at in pairs)
        names, common = {case.baseline.algorithm for case, _ in pairs}, "the baseline"
    return Choice(best, len(ranked), second if close else None, versus, names.pop() if len(names) == 1 else common)


# ---- set-ups: which method is the cheapest for how many calls

MOST_CALLS = 10 ** 5


def cost(one: Measurement, calls: float) -> float:
    """The time of one of `calls` calls that share the set-up."""
    return one.median_ms + (one.setup_ms if math.isfinite(one.setup_ms) else 0) / calls


def _crossing(first: Measurement, second: Measurement) -> float:
    """The number of calls from which the second is cheaper than the first."""
    gain = first.median_ms - second.median_ms
    return max(math.floor((cost(second, 1) - cost(first, 1) + gain) / gain) + 1, 1) if gain > 0 else math.inf


def cheapest(contestants: list[Measurement]) -> list[tuple[int, Measurement]]:
    """The numbers of calls from which another method is the cheapest, with these methods."""
    now = min(contestants, key=lambda one: (cost(one, 1), one.median_ms))
    found = [(1, now)]
    while True:
        calls, one = min(((_crossing(now, one), one) for one in contestants if one is not now),
                         key=lambda pair: (pair[0], pair[1].median_ms), default=(math.inf, now))
        if calls > MOST_CALLS:
            return found
        if calls <= found[-1][0]:
            found.pop()
        found.append((int(calls), one))
        now = one


def cheapest_words(found: list[tuple[int, Measurement]]) -> str:
    """Such as "1 to 12 calls: a; from 13: b"."""
    if len(found) == 1:
        return f"{found[0][1].name} for any number of calls"
    words = []
    for (calls, one), (after, _) in zip(found, found[1:]):
        span = f"{calls:,} to {after - 1:,} calls" if after - 1 > calls else f"{calls:,} call{'s' if calls > 1 else ''}"
        words.append(f"{span}: {one.name}")
    return "; ".join(words + [f"from {found[-1][0]:,}: {found[-1][1].name}"])


# ---- rooflines

def roof_points(cases: Iterable[Case]) -> list[Measurement]:
    """Return the points of a roofline: every measurement with flops and bytes, except with non-default parameters."""
    return [one for case in cases for one in case.rivals if 0 < one.intensity < math.inf and one.gflops > 0]


def has_doubles(settings: Iterable[Setting]) -> bool:
    return any(setting.type == "fp64" for setting in settings)


def classes(machine: Machine) -> dict[Optional[str], list[Case]]:
    """The cases of each class of matrices, in the order of the files."""
    found: dict[Optional[str], list[Case]] = {}
    for case in machine.cases():
        found.setdefault(case.class_name, []).append(case)
    return found
