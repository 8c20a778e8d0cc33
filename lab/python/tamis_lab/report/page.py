"""The page: its head, the sections that have content, and the list of them."""
from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Optional

from .. import _cases, plot
from .. import _words as words
from .._cases import OPERATIONS, Cases
from ..results import Results
from . import panels, sections
from .limits import limits
from .sections import Page

HERE = Path(__file__).resolve().parent

# id, title, name in the list of contents, what makes it, and the entry without which it is left out
SECTIONS = (
    ("answer", "Which method for which matrix", "Which method", sections.answer, "machines"),
    ("speedups", "Speed-ups and the floor", "Speed-ups", sections.speedups, "machines"),
    ("times", "Times", "Times", sections.times, "settings"),
    ("matrix_speedups", "Speed-ups, matrix by matrix", "Matrix by matrix", panels.matrix_speedups, "machines"),
    ("rooflines", "Rooflines", "Rooflines", panels.rooflines, "machines"),
    ("matrices", "The matrices", "The matrices", sections.matrices, "cards"),
    ("model", "The model against exhaustive search", "Model and search", panels.model, "panels"),
    ("parameters", "Parameter studies", "Parameters", panels.parameters, "panels"),
    ("traffic", "Column tiles and memory traffic", "Memory traffic", sections.traffic, "studies"),
    ("calls", "When a set-up pays off", "When a set-up pays off", panels.calls, "machines"),
    ("measurements", "All measurements", "All measurements", sections.measurements, "settings"),
    ("machines", "Machines, versions and seeds", "Machines, versions", sections.machines, "origins"),
)


def _distinct(values: Any) -> list[str]:
    return list(dict.fromkeys(filter(None, values)))[:12]


def _title(results: Results) -> str:
    titles = _distinct(run.title for run in results.runs)
    suites = _distinct(one.suite for one in results.measurements)
    return titles[0] if len(titles) == 1 else f"Tamis: {', '.join(suites)}" if suites else "Benchmarks of Tamis"


def _machines(cases: Cases) -> str:
    """Such as "NVIDIA H200 (sm_90, driver 13.0)"."""
    found = []
    for machine in cases.machines:
        parts = _distinct((machine.run.instruction_set, machine.run.driver)) if machine.run else []
        found.append(machine.name + (f" ({', '.join(parts)})" if parts else ""))
    return "; ".join(found)


def _sentence(results: Results, cases: Cases) -> str:
    widths = [setting.k for setting in cases.settings]
    operations = [title if title != "Fused" else "fused" for name, title in OPERATIONS.items()
                  if any(setting.operation == name for setting in cases.settings)]
    matrices = len({case.matrix for case in cases.all})
    spans = f"K = {min(widths)}" + (f" to {max(widths)}" if max(widths) > min(widths) else "")
    text = (f"{sum(len(case.measurements) for case in cases.all):,} measurements on {matrices} matri{'x' if matrices == 1 else 'ces'}: "
            f"{', '.join(operations)}, {spans}, {', '.join(_distinct(setting.type for setting in cases.settings))}")
    versions = _distinct(one.version for one in results.measurements)
    days = _distinct((run.started or "")[:10] for run in results.runs)
    return text + (f"; Tamis {', '.join(versions)}" if versions else "") + (f", {', '.join(days)}" if days else "") + "."


def _version() -> str:
    try:
        from tamis._library import __version__
        return f" {__version__}"
    except (ImportError, OSError):
        return ""


def render(results: Results, title: Optional[str] = None) -> str:
    """A page of these results that needs no other file and no network."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    environment = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
                              lstrip_blocks=True, keep_trailing_newline=True)
    environment.globals.update(words=words, finite=math.isfinite)
    cases = _cases.build(results)
    page = Page(results, cases, plot.styles(results.measurements))
    found = []
    for name, heading, entry, make, needs in SECTIONS:
        given = make(page)
        if given[needs]:
            found.append({"id": name, "title": heading, "entry": entry,
                          "body": environment.get_template(f"{name}.html").render(given, several=len(cases.machines) > 1)})
    texts = {name: (HERE / name).read_text(encoding="utf-8") for name in ("palette.css", "page.css", "page.js")}
    return environment.get_template("page.html").render(
        title=title or _title(results), machines=_machines(cases), sentence=_sentence(results, cases),
        wrong=sum(one.passed is False and not one.peer for case in cases.all for one in case.measurements), limits=limits(cases), sections=found,
        version=_version(), files=[path.rpartition("/")[2] for path in results.files], style=texts["palette.css"] + texts["page.css"],
        script=texts["page.js"])
