"""The sections of charts: each panel is a drawing with a title, a description, and what it shows in words."""
from __future__ import annotations

import math
from typing import Any, Callable, Iterable, Optional

from .. import _figures as figures
from .. import _words as words
from .._cases import Case, Machine, Setting
from ..plot import Row, Style, _calls, _roof, _rows, _speedup_rows
from ..results import Measurement
from .drawing import svg
from .sections import Page, legend, marks_of

WIDTH = 340


def _row_panel(head: str, note: str, title: str, words_of: str, rows: list[Row], lower: str, upper: str, below: str = "") -> dict[str, Any]:
    return {"head": head, "note": note, "below": below,
            "drawing": svg(WIDTH, 46 + 18 * len(rows), title, words_of, lambda ax: _rows(ax, rows, lower, upper))}


Made = tuple[list[dict[str, Any]], list[dict[str, Any]]]  # panels, and the marks of their legend


def _by_machine(make: Callable[[Page, Machine], Made]) -> Callable[[Page], dict[str, Any]]:
    """A section with the panels and the legend of each machine that has panels."""
    def section(page: Page) -> dict[str, Any]:
        made = [(machine, *make(page, machine)) for machine in page.cases.machines]
        return {"machines": [{"machine": machine, "panels": panels, "legend": marks} for machine, panels, marks in made if panels]}
    return section


# ---- speed-ups, matrix by matrix

@_by_machine
def matrix_speedups(page: Page, machine: Machine) -> Made:
    peers = machine.peers()
    drawn = _peer_styles(page, peers)
    panels = [panel for setting in machine.settings for panel in _speedup_panel(setting, peers, drawn)]
    return panels, marks_of(drawn[name] for name in peers)


def _peer_styles(page: Page, peers: list[str]) -> dict[str, Style]:
    """Gives each of several peers a colour."""
    found = dict(page.styles)
    for number, name in enumerate(peers if len(peers) > 1 else []):
        one = page.styles[name]
        found[name] = Style(name, one.family, f"k{1 + number % 5}", one.marker, False)
    return found


def _speedup_panel(setting: Setting, peers: list[str], drawn: dict[str, Style]) -> Iterable[dict[str, Any]]:
    rows = _speedup_rows(setting.cases, peers, drawn)
    if not rows:
        return
    mean = figures.mean_of_pairs((other, case.chosen, case) for _, other, case in rows)
    if not mean.count:
        return
    won = f"won {mean.wins} of {mean.count}, tied {mean.ties}"
    yield _row_panel(
        setting.label, f"mean {words.ratio(mean.value)}, {won}",
        f"{setting.label}: speed-up over {'the peers' if peers else 'the baseline'}, by matrix",
        f"Geometric mean over the fastest of them {words.ratio(mean.value)}; {won}; least {words.ratio(mean.least)} "
        f"({mean.least_at.matrix}), most {words.ratio(mean.most)} ({mean.most_at.matrix}).",
        [row for row, _, _ in rows], "\u2190 slower", "faster \u2192")


# ---- rooflines

@_by_machine
def rooflines(page: Page, machine: Machine) -> Made:
    points, doubles = figures.roof_points(machine.cases()), figures.has_doubles(machine.settings)
    by_class = {name: figures.roof_points(cases) for name, cases in figures.classes(machine).items()}
    panels = [_roof_panel(page, machine, name, of_class, points, doubles) for name, of_class in by_class.items() if of_class]
    return panels, legend(page, (one.algorithm for one in points))


def _roof_panel(page: Page, machine: Machine, class_name: Optional[str], points: list[Measurement], fitted: list[Measurement],
                doubles: bool) -> dict[str, Any]:
    name, text = class_name or "not classified", _roof_words(machine, points)
    return {"head": name, "note": text, "below": "",
            "drawing": svg(WIDTH, 300, f"Roofline: {name} matrices", text,
                           lambda ax: _roof(ax, machine.run, points, page.styles, doubles, fitted))}


def _roof_words(machine: Machine, points: list[Measurement]) -> str:
    text = f"{len(points)} measurements; the fastest reaches {words.short(max(one.gflops for one in points))} GFLOP/s."
    run = machine.run
    if run and run.memory_gbs[1] > 0 and run.fp32_gflops[1] > 0:
        share, best = max(((one.gflops / min(one.intensity * run.memory_gbs[1], run.fp32_gflops[1]), one) for one in points),
                          key=lambda pair: pair[0])
        text += f" Nearest to the roof of memory and arithmetic: {best.algorithm} with {words.percent(100 * share)} of it."
    return text


# ---- when a set-up pays off

MOST_CASES = 6


@_by_machine
def calls(page: Page, machine: Machine) -> Made:
    cases = _telling(machine)
    return [_calls_panel(page, case) for case in cases], legend(page, (one.algorithm for case in cases for one in case.rivals))


def _telling(machine: Machine) -> list[Case]:
    """For each class the case with the most contestants, where several methods take part and some of them have a set-up."""
    best: dict[Optional[str], Case] = {}
    for case in machine.cases():
        if len(case.rivals) < 2 or not any(one.setup_ms > 0 for one in case.rivals):
            continue
        if case.class_name not in best or len(case.measurements) > len(best[case.class_name].measurements):
            best[case.class_name] = case
    return list(best.values())[:MOST_CASES]


def _calls_panel(page: Page, case: Case) -> dict[str, Any]:
    findings = figures.cheapest_words(figures.cheapest(case.rivals))
    title = f"{case.setting.label} of {case.matrix}{' (stand-in)' if case.stand_in else ''}: time a call, set-up included, against the number of calls"
    return {"head": case.matrix, "stand_in": case.stand_in, "note": "; ".join(filter(None, (case.class_name, case.setting.label))),
            "below": f"Cheapest: {findings}.",
            "drawing": svg(WIDTH, 240, title, f"The cheapest: {findings}.", lambda ax: _calls(ax, case, page.styles))}


# ---- parameters: the model against the search, and other sweeps

def model(page: Page) -> dict[str, Any]:
    drawn = [Style("tune=0, by the model", "ours", "accent", "o", False), Style("tune=1, with a short search", "ours", "k1", "^", False)]
    panels = list(_panels(page, lambda setting, algorithm: _model_panel(setting, algorithm, *drawn)))
    return {"panels": panels, "legend": marks_of(drawn)}


def parameters(page: Page) -> dict[str, Any]:
    style = Style("", "ours", "accent", "o", False)
    return {"panels": list(_panels(page, lambda setting, algorithm: _sweep_panel(setting, algorithm, style)))}


def _panels(page: Page, panel: Callable[[Setting, str], Optional[dict[str, Any]]]) -> Iterable[dict[str, Any]]:
    for setting in page.cases.settings:
        for algorithm in page.styles:
            found = panel(setting, algorithm)
            if found:
                yield found


def _model_panel(setting: Setting, algorithm: str, by_model: Style, by_short: Style) -> Optional[dict[str, Any]]:
    rows, losses, short_losses = [], figures.Mean(), figures.Mean()
    for case in setting.cases:
        best, first, half = (case.of(algorithm, f"tune={number}") for number in (2, 0, 1))
        first = first or case.of(algorithm)
        if not best or not first:
            continue
        loss = first.median_ms / best.median_ms
        marks = [(loss, by_model)]
        losses.add(loss, case)
        if half:
            marks.append((half.median_ms / best.median_ms, by_short))
            short_losses.add(marks[-1][0], case)
        rows.append(Row(case.matrix + "*" * case.stand_in, marks, f"{100 * (loss - 1):+.1f}\u00a0%"))
    if not rows:
        return None
    finding = (f"The model takes {100 * (losses.value - 1):.1f}\u00a0% more time than the search in the geometric mean, "
               f"{100 * (losses.most - 1):.1f}\u00a0% at worst ({losses.most_at.matrix})")
    finding += f"; with tune=1 {100 * (short_losses.value - 1):.1f}\u00a0%." if short_losses.count else "."
    return _row_panel(algorithm, setting.label, f"{algorithm}, {setting.label}: time by the model over the time by exhaustive search", finding,
                      rows, "", "slower than the search \u2192", finding)


MOST_ROWS = 40


def _sweep_panel(setting: Setting, algorithm: str, style: Style) -> Optional[dict[str, Any]]:
    """Time over that of the default (the contestant without parameters, else the first one), a row a set of parameters."""
    sweep: dict[str, list[tuple[float, Case]]] = {}
    against: Optional[str] = None
    for case in setting.cases:
        of = [one for one in case.measurements if one.algorithm == algorithm and not one.peer]
        base = case.of(algorithm) or (of[0] if of else None)
        for one in of:
            if one is not base and one.parameters and base:
                against = base.parameters
                sweep.setdefault(one.parameters, []).append((one.median_ms / base.median_ms, case))
    if not sweep:
        return None
    means = sorted(((name, figures.mean_of(pairs)) for name, pairs in list(sweep.items())[:MOST_ROWS]), key=lambda pair: pair[1].value)
    default, (name, best) = against or "the default", means[0]
    finding = (f"Best in the geometric mean: {name if best.value < 1 else default} with {words.ratio(min(best.value, 1))} of the time of "
               f"{default}; best for one matrix {words.ratio(min(best.least, 1))}.")
    rows = [Row(one, [(ratio, style) for ratio, _ in sweep[one] if math.isfinite(ratio)], words.ratio(mean.value)) for one, mean in means]
    return _row_panel(algorithm, setting.label, f"{algorithm}, {setting.label}: time over that of {default}", finding, rows, "\u2190 faster",
                      "slower \u2192", finding)
