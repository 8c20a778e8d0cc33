"""The sections of the page: what each template gets. A section without content is left out."""
from __future__ import annotations

import base64
import io
import math
from dataclasses import dataclass
from typing import Any, Iterable, Optional

from .. import _figures as figures
from .. import _words as words
from .._cases import OPERATIONS, RANGES, Case, Cases, Machine
from ..plot import COLOURS, Style
from ..results import Matrix, Measurement, Results, Traffic
from . import drawing
from .limits import compares


@dataclass
class Page:
    """The data of all sections."""

    results: Results
    cases: Cases
    styles: dict[str, Style]


# ---- which method for which matrix

def answer(page: Page) -> dict[str, Any]:
    machines = [_answer(machine) for machine in page.cases.machines] if compares(page.cases) else []
    return {"machines": machines,
            "stand_ins": any(case.stand_in for case in page.cases.all)}


def _answer(machine: Machine) -> dict[str, Any]:
    columns = [(operation, name) for operation in OPERATIONS for _, name in RANGES
               if any(case.fastest and case.setting.range == name for case in machine.cases(operation))]
    rows = []
    for class_name, cases in figures.classes(machine).items():
        examples = [case.record for case in cases if case.record and case.record.spy]
        rows.append({"class": class_name or "not classified", "matrices": len({case.matrix for case in cases}),
                     "spy": spy(examples[0], 44) if examples else None,
                     "choices": [figures.choose([case for case in cases if (case.setting.operation, case.setting.range) == column])
                                 for column in columns]})
    groups = [(title, sum(operation == one for one, _ in columns)) for operation, title in OPERATIONS.items()]
    return {"machine": machine, "columns": [(OPERATIONS[operation], name) for operation, name in columns],
            "groups": [(title, count) for title, count in groups if count], "rows": rows, "tiles": list(_tiles(machine))}


def _tiles(machine: Machine) -> Iterable[dict[str, Any]]:
    cases = machine.cases()
    who = "the plan\u2019s own choice" if machine.automatic else "the fastest of ours"
    peers = machine.peers()
    for name, mean in [(peer, figures.over_peer(cases, peer)) for peer in peers] or [("the baseline", figures.over_baseline(cases))]:
        if mean.count:
            yield {"figure": words.ratio(mean.value), "low": mean.value < 1, "what": f"as fast as {name}",
                   "more": f"{who} wins {mean.wins} of {mean.count}, ties {mean.ties}{_left_out(mean)}; least {words.ratio(mean.least)} "
                           f"({mean.least_at.place})"}
    floor = figures.floor_share(cases)
    if floor.count:
        yield {"figure": words.percent(100 * floor.value), "low": False, "what": "of the speed that the floor allows",
               "more": f"{who}, from {words.percent(100 * floor.least)} to {words.percent(100 * floor.most)}; above 100\u00a0% if caches "
                       "hold data that the floor assumes in memory"}
    loss = figures.choice_loss(cases)
    if loss.count:
        yield {"figure": words.percent(100 * (loss.value - 1)), "low": False, "what": "is lost if the plan chooses",
               "more": f"against the best method measured, over {loss.count} cases; worst {words.ratio(loss.most)} ({loss.most_at.place})"}


def _left_out(mean: figures.Mean) -> str:
    return f"; {mean.disturbed} more were disturbed and left out" if mean.disturbed else ""


# ---- speed-ups and the floor

def speedups(page: Page) -> dict[str, Any]:
    rows = [{"machine": machine, "peers": list(_peer_rows(machine)), "floors": list(_floor_rows(machine))} for machine in page.cases.machines]
    return {"machines": [one for one in rows if one["peers"] or one["floors"]]}


_ROWS = [*OPERATIONS.items(), (None, "All")]


def _peer_rows(machine: Machine) -> Iterable[tuple[str, str, figures.Mean]]:
    peers = machine.peers()
    for operation, title in _ROWS:
        cases = machine.cases(operation)
        means = [(peer, figures.over_peer(cases, peer)) for peer in peers]
        means += [("the fastest peer", figures.over_peer(cases))] if len(peers) > 1 else []
        for name, mean in [*means, ("the baseline", figures.over_baseline(cases))]:
            if mean.count:
                yield title, name, mean


def _floor_rows(machine: Machine) -> Iterable[tuple[str, figures.Mean, figures.Mean]]:
    for operation, title in _ROWS:
        floor, loss = figures.floor_share(machine.cases(operation)), figures.choice_loss(machine.cases(operation))
        if floor.count or loss.count:
            yield title, floor, loss


# ---- times

def times(page: Page) -> dict[str, Any]:
    return {"settings": [{"setting": setting, "cases": [{"case": case, **bars(case)} for case in setting.cases]}
                         for setting in page.cases.settings]}


def bars(case: Case) -> dict[str, Any]:
    """The bars of a case, the fastest first, with places in percent of the width."""
    ranked = sorted(case.measurements, key=lambda one: one.median_ms)
    logarithmic = ranked[-1].median_ms > 15 * ranked[0].median_ms
    least = min([one.median_ms for one in ranked] + [one.min_ms for one in ranked if one.min_ms > 0]) / 1.6
    most = max([ranked[-1].median_ms] + [one.q3_ms for one in ranked if one.q3_ms < 2 * one.median_ms]) * 1.02

    def place(value: float) -> Optional[float]:
        if not 0 < value < math.inf:
            return None
        share = math.log(value / least) / math.log(most / least) if logarithmic else value / most
        return round(100 * min(max(share, 0), 1), 1)
    rows = []
    for one in ranked:
        low, high = place(one.q1_ms), place(one.q3_ms)
        spread = (low, round(high - low, 1)) if low is not None and high is not None and high - low >= 0.5 else None
        rows.append({"one": one, "kind": _kind(case, one), "width": place(one.median_ms), "least": place(one.min_ms), "spread": spread})
    return {"bars": rows, "logarithmic": logarithmic}


def _kind(case: Case, one: Measurement) -> str:
    return "peer" if one.peer else "chosen" if one is case.chosen and one.auto else "ours" if one.ours else "baseline"


# ---- the matrices

def matrices(page: Page) -> dict[str, Any]:
    distinct = {(one.matrix, one.rows, one.nnz, one.spy): one for one in reversed(page.results.matrices)}
    kept = [one for one in page.results.matrices if distinct[one.matrix, one.rows, one.nnz, one.spy] is one]
    return {"cards": [{"matrix": one, "spy": spy(one, 132)} for one in kept]}


def spy(matrix: Matrix, size: int) -> Optional[dict[str, Any]]:
    """The raster as a picture with the shape of the matrix, within limits that keep it visible. Its ink is in the alpha channel, so
    that dark pages can invert it."""
    if not matrix.spy:
        return None
    import numpy
    from matplotlib import image
    digits = numpy.array([int(digit) for digit in matrix.spy]).reshape(matrix.spy_rows, matrix.spy_cols)
    pixels = numpy.zeros((*digits.shape, 4), numpy.uint8)
    pixels[..., :3] = [int(COLOURS["ink"][i:i + 2], 16) for i in (1, 3, 5)]
    pixels[..., 3] = numpy.where(digits, numpy.rint(255 * (0.02 + 0.08 * digits + 0.0033 * digits ** 2)), 0).clip(0, 255)
    png = io.BytesIO()
    image.imsave(png, pixels, format="png", metadata={"Software": None})
    shape = min(max(matrix.cols / matrix.rows if matrix.rows and matrix.cols else 1, 0.25), 4)
    return {"data": base64.b64encode(png.getvalue()).decode(), "width": round(min(size, size * shape)),
            "height": round(min(size, size / shape)),
            "words": f"Nonzeros of {matrix.matrix}{' (stand-in)' if matrix.stand_in else ''}: {matrix.rows:,} rows by {matrix.cols:,} columns, "
                     f"{matrix.nnz:,} nonzeros{'; ' + matrix.class_name if matrix.class_name else ''}. Darker cells hold more."}


# ---- column tiles and memory traffic

def traffic(page: Page) -> dict[str, Any]:
    studies: dict[tuple, list[Traffic]] = {}
    for one in page.results.traffic:
        studies.setdefault((one.matrix, one.inner, one.algorithm, one.device, one.run, one.file), []).append(one)
    return {"studies": [(rows[0], min(one.dram_read_bytes for one in rows), rows) for rows in studies.values()]}


# ---- all measurements

def measurements(page: Page) -> dict[str, Any]:
    tables = [(setting, [(case, _unit(case)) for case in setting.cases]) for setting in page.cases.settings]
    return {"settings": tables}


def _unit(case: Case) -> tuple[str, float, bool]:
    """The unit of a table's times, what milliseconds are multiplied by, and whether there are quartiles."""
    small = all(one.median_ms < 10 for one in case.measurements)
    return "\u00b5s" if small else "ms", 1e3 if small else 1, any(math.isfinite(one.q1_ms) for one in case.measurements)


# ---- machines, versions and seeds

_RUN = (("run", "run"), ("started", "started"), ("suite", "suite"), ("tier", "tier"), ("title", "title"), ("paper", "paper"),
        ("version", "version"), ("compiler", "compiler"), ("system", "system"), ("processor", "processor"), ("processors", "processors"),
        ("device", "device"), ("model", "model"), ("instruction set", "instruction_set"), ("driver", "driver"), ("threads", "threads"),
        ("multiprocessors", "multiprocessors"), ("L1", "cache_l1"), ("L2", "cache_l2"), ("L3", "cache_l3"), ("memory", "memory"),
        ("ceilings", "measured"), ("threads of the ceilings", "ceiling_threads"), ("fp32", "fp32_gflops"), ("fp64", "fp64_gflops"),
        ("reads from L1", "l1_gbs"), ("reads from L2", "l2_gbs"), ("reads from L3", "l3_gbs"), ("reads from memory", "memory_gbs"))
_BYTES = ("cache_l1", "cache_l2", "cache_l3", "memory")


def _entry(name: str, value: Any) -> Optional[str]:
    if isinstance(value, bool):
        return "measured" if value else "built-in defaults"
    if isinstance(value, tuple):
        unit = "GFLOP/s" if name.endswith("gflops") else "GB/s"
        one = f" (one thread {words.number(value[0])})" if value[0] > 0 and value[0] != value[1] else ""
        return f"{words.number(value[1])} {unit}{one}" if value[1] > 0 else None
    if isinstance(value, int):
        return (words.size(value) if name in _BYTES else f"{value:,}") if value > 0 else None
    return value or None


def machines(page: Page) -> dict[str, Any]:
    runs = []
    for run in page.results.runs:
        title = (run.model or run.device or "a device") + (f" ({run.device})" if run.device else "")
        title += f", suite {run.suite}" if run.suite else ""
        entries = [(name, _entry(field, getattr(run, field))) for name, field in _RUN]
        entries += [(f"random rows, table {words.size(table)}", f"{words.number(gbs)} GB/s")
                    for table, gbs in zip(run.gather_bytes, run.gather_gbs) if table > 0 and gbs > 0]
        runs.append((title + (f", {run.started}" if run.started else ""), [entry for entry in entries if entry[1]]))
    origins: dict[tuple, int] = {}
    for one in page.results.measurements:
        key = (page.results.files[one.file].rpartition("/")[2], one.run or "", one.device, one.version or "", one.compiler or "", one.seed,
               one.calls, "cold" if one.cold else "warm", one.suite, one.driver)
        origins[key] = origins.get(key, 0) + 1
    return {"runs": runs, "origins": [(*key[:8], count) for key, count in origins.items()], "superseded": page.cases.superseded}


def legend(page: Page, algorithms: Iterable[str]) -> list[dict[str, Any]]:
    """The marks of these methods, ours first, then by paper."""
    from ..plot import FAMILIES
    order = list(FAMILIES)
    used = sorted((page.styles[name] for name in set(algorithms)), key=lambda one: (order.index(one.family), list(page.styles).index(one.algorithm)))
    return marks_of(used)


def marks_of(styles: Iterable[Style]) -> list[dict[str, Any]]:
    return [{"style": one, "mark": drawing.mark(one)} for one in styles]
