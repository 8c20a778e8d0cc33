"""The limits of a page's data, as sentences for its top."""
from __future__ import annotations

from typing import Iterable

from .._cases import Case, Cases, Machine

FEW = 5           # matrices: means over fewer say little about others
ABOVE_ROOF = 1.05  # a measurement above this multiple of the arithmetic ceiling shows that the ceiling is too low


def limits(cases: Cases) -> list[str]:
    """Return the sentences, the most serious first."""
    every = cases.all
    said = [sentence for machine in cases.machines for sentence in _of_machine(machine, len(cases.machines) > 1)]
    said += _of_measurements(every)
    if not any(case.peer or case.baseline for case in every):
        said.append("No other library and no baseline was measured: there are no speed-ups.")
    alone = sum(not _compares(case) for case in every)
    if alone:
        said.append(f"In {_all_or(alone, len(every), 'case')} one method of Tamis was measured: that it is the fastest says nothing there.")
    matrices = len({case.matrix for case in every})
    if matrices < FEW:
        said.append(f"There {_are(matrices, 'matrix', 'matrices')}: means say little of others.")
    stand_ins = len({case.matrix for case in every if case.stand_in})
    if stand_ins:
        said.append(f"{_all_or(stand_ins, matrices, 'matrix', 'matrices').capitalize()} {'is a stand-in' if stand_ins == 1 else 'are stand-ins'}, generated "
                    "with the structure of the matrix of that name.")
    return said


def compares(cases: Cases) -> bool:
    """Return True if at least one case has several methods to compare."""
    return any(_compares(case) for case in cases.all)


def _compares(case: Case) -> bool:
    return len({one.contestant for one in case.measurements if not one.peer and not one.baseline}) > 1 or bool(case.peer or case.baseline)


def _of_machine(machine: Machine, several: bool) -> Iterable[str]:
    where, run = f" of {machine.name}" if several else "", machine.run
    if run is None:
        yield f"The files have no ceilings{where}: there are no roofs, and floors are those of the lines."
    elif not run.measured:
        yield f"The ceilings{where} are built-in defaults: floors and roofs are not of this machine."
    elif run.doubtful:
        yield (f"The ceilings{where} are doubtful, since the machine was busy: floors and roofs may be too low. \u201ctamis devices --probe\u201d measures them "
               "again.")
    if run is not None and run.measured and run.fp32_gflops[1] > 0:
        above = sum(one.type in ("fp32", "fp16", "bf16") and one.gflops > ABOVE_ROOF * run.fp32_gflops[1]
                    for case in machine.cases() for one in case.measurements if not one.peer)
        if above:
            yield f"{above} measurement{' is' if above == 1 else 's are'} faster than the ceiling of the arithmetic{where}, which is too low: floors are wrong."


def _of_measurements(every: list[Case]) -> Iterable[str]:
    ours = [one for case in every for one in case.measurements if not one.peer]
    disturbed = sum(one.disturbed for one in ours)
    if disturbed:
        yield f"During {_all_or(disturbed, len(ours), 'measurement')} other processes used the machine: these are in no summary."
    unchecked = sum(one.passed is None for one in ours)
    if unchecked:
        yield f"{_all_or(unchecked, len(ours), 'measurement').capitalize()} {'was' if unchecked == 1 else 'were'} not compared with the oracle."


def _all_or(some: int, every: int, one: str, more: str = "") -> str:
    many = more or f"{one}s"
    return (f"the only {one}" if every == 1 else f"all {every} {many}") if some == every else f"{some} of {every} {many}"


def _are(count: int, one: str, more: str) -> str:
    return f"is one {one}" if count == 1 else f"are {count} {more}"


__all__ = ["compares", "limits"]
