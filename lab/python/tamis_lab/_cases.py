"""Measurements brought together.

What was measured side by side on one matrix is a case; cases that differ in their matrix alone share a setting; settings on the same
chip share a machine. If several runs measured a case, the latest counts.
"""
from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Callable, Optional

from ._words import BLANK
from .results import Matrix, Measurement, Results, Run

OPERATIONS = {"sddmm": "SDDMM", "spmm": "SpMM", "fused": "Fused"}
RANGES = ((64, "K \u2264 64"), (256, "K 65\u2013256"), (math.inf, "K > 256"))


@dataclass
class Machine:
    """`automatic` is true if a case has the plan's own choice."""

    device: str
    model: Optional[str]
    run: Optional[Run] = None
    automatic: bool = False
    settings: list[Setting] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.model or self.device

    def cases(self, operation: Optional[str] = None) -> list[Case]:
        return [case for setting in self.settings if operation in (None, setting.operation) for case in setting.cases]

    def peers(self) -> list[str]:
        return list(dict.fromkeys(one.algorithm for case in self.cases() for one in case.measurements if one.peer))


@dataclass
class Setting:
    """`label`: "SDDMM mask, K = 128", with whatever else differs among the settings."""

    machine: Machine
    suite: Optional[str]
    operation: str
    edge: str
    type: str
    inner: int
    width: int
    batch: int
    threads: int
    cold: bool
    label: str = ""
    cases: list[Case] = field(default_factory=list)

    @property
    def k(self) -> int:
        """The inner dimension; for SpMM the width of the result."""
        return self.width if (self.inner <= 0 or self.operation == "spmm") and self.width > 0 else self.inner

    @property
    def range(self) -> str:
        return next(name for most, name in RANGES if self.k <= most)


@dataclass
class Case:
    """`chosen`: the plan's own choice, else the fastest of ours; `fastest`: of ours without parameters of its own."""

    setting: Setting
    matrix: str
    class_name: Optional[str]
    stand_in: bool
    record: Optional[Matrix]
    measurements: list[Measurement]
    chosen: Optional[Measurement] = None
    fastest: Optional[Measurement] = None
    peer: Optional[Measurement] = None
    baseline: Optional[Measurement] = None

    @property
    def place(self) -> str:
        return f"{self.matrix}{'*' if self.stand_in else ''}, {self.setting.label}"

    @property
    def rivals(self) -> list[Measurement]:
        """The measurements that are compared: those without parameters of their own, and the plan's choice."""
        return [one for one in self.measurements if one.auto or not one.parameters]

    def of_peer(self, name: str) -> Optional[Measurement]:
        return fastest(one for one in self.measurements if one.peer and one.algorithm == name)

    def of(self, algorithm: str, parameters: Optional[str] = None) -> Optional[Measurement]:
        wanted = (algorithm, parameters, False)
        return next((one for one in self.measurements if one.contestant == wanted), None)


@dataclass
class Cases:
    """`superseded`: how many measurements a later run of the same case replaces."""

    results: Results
    machines: list[Machine]
    settings: list[Setting]
    superseded: int

    @property
    def all(self) -> list[Case]:
        return [case for setting in self.settings for case in setting.cases]


def fastest(measurements) -> Optional[Measurement]:
    return min(measurements, key=lambda one: one.median_ms, default=None)


def operation_title(operation: str, edge: Optional[str] = None) -> str:
    name = OPERATIONS.get(operation, operation)
    return f"{name} {edge}" if edge and edge != "none" else name


# ---- cases: what was measured side by side

def _work(one: Measurement) -> tuple:
    return (one.operation, one.edge, one.matrix, one.nnz, one.rows, one.inner, one.width, one.batch, one.type, one.device, one.model,
            one.cold, one.suite)


def _run(one: Measurement) -> tuple:
    return ("run", one.run) if one.run else ("file", one.file)


def _put(draft: list[Measurement], one: Measurement) -> None:
    """The later measurement of a contestant replaces the earlier one, but not the plan's choice by what was named."""
    for i, other in enumerate(draft):
        if other.contestant == one.contestant:
            if one.auto or not other.auto:
                draft[i] = one
            return
    draft.append(one)


def _drafts(measurements: list[Measurement]) -> list[list[Measurement]]:
    drafts, near = [], defaultdict(list)
    for one in measurements:
        of_work = near[_run(one), _work(one)]
        for draft in reversed(of_work):  # a peer may use other threads than the case that it was measured in
            if draft[0].threads == one.threads or one.peer or draft[0].peer:
                _put(draft, one)
                break
        else:
            of_work.append([one])
            drafts.append(of_work[-1])
    return drafts


def _age(one: Measurement, other: Measurement) -> tuple:
    """The key that sorts the measurements of a case by time."""
    return (one.started if one.started and other.started else "", one.file, one.line)


def _latest(drafts: list[list[Measurement]]) -> list[list[Measurement]]:
    rivals = defaultdict(list)
    for draft in drafts:
        rivals[_work(draft[0]), draft[0].threads].append(draft[0])
    def replaced(one: Measurement) -> bool:
        return any(_run(other) != _run(one) and _age(other, one) > _age(one, other) for other in rivals[_work(one), one.threads])
    return [draft for draft in drafts if not replaced(draft[0])]


# ---- machines and settings

def _case(setting: Setting, measurements: list[Measurement], results: Results) -> Case:
    first = measurements[0]
    record = results.matrix_of(first)
    case = Case(setting, first.matrix, first.class_name or (record.class_name if record else None),
                first.stand_in or bool(record and record.stand_in), record, measurements)
    machine = setting.machine
    machine.run = machine.run or next(filter(None, map(results.run_of, measurements)), None)
    case.baseline = next((one for one in measurements if one.baseline), None)
    case.peer = fastest(one for one in measurements if one.peer)
    case.fastest = fastest(one for one in measurements if one.ours and not one.parameters)
    case.chosen = next((one for one in reversed(measurements) if one.ours and one.auto), None)
    machine.automatic |= case.chosen is not None
    case.chosen = case.chosen or case.fastest
    return case


def _label(setting: Setting, settings: list[Setting], machines: int) -> str:
    def differs(what: Callable) -> bool:
        return len({what(one) for one in settings}) > 1
    words = [operation_title(setting.operation, setting.edge), f"K{BLANK}={BLANK}{setting.k}"]
    if setting.operation == "fused" and setting.width > 0 and setting.width != setting.k:
        words[1] += f" and {setting.width}"
    if setting.batch > 1:
        words.append(f"batch of {setting.batch}")
    if differs(lambda one: one.type):
        words.append(setting.type)
    if setting.threads > 0 and len({one.threads for one in setting.machine.settings}) > 1:
        words.append(f"{setting.threads} thread{'s' if setting.threads > 1 else ''}")
    if differs(lambda one: one.cold):
        words.append("cold caches" if setting.cold else "warm caches")
    if machines > 1:
        words.append(setting.machine.device)
    suite = f"{setting.suite}: " if setting.suite and differs(lambda one: one.suite) else ""
    return suite + ", ".join(words)


def build(results: Results) -> Cases:
    """Groups the measurements of files."""
    machines: dict[tuple, Machine] = {}
    settings: dict[tuple, Setting] = {}
    drafts = _drafts(results.measurements)
    kept = _latest(drafts)
    for draft in kept:
        one = draft[0]
        machine = machines.setdefault((one.device, one.model), Machine(one.device, one.model))
        threads = next((other.threads for other in draft if not other.peer), one.threads)
        what = (one.suite, one.operation, one.edge, one.type, one.inner, one.width, one.batch, threads, one.cold)
        setting = settings.get((id(machine), what))
        if setting is None:
            setting = settings[id(machine), what] = Setting(machine, *what)
            machine.settings.append(setting)
        setting.cases.append(_case(setting, draft, results))
    for setting in settings.values():
        setting.label = _label(setting, list(settings.values()), len(machines))
        setting.cases.sort(key=lambda case: (case.measurements[0].file, case.measurements[0].line))
    return Cases(results, list(machines.values()), list(settings.values()), sum(map(len, drafts)) - sum(map(len, kept)))
