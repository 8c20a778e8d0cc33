"""Pictures of results and matrices, by matplotlib: `roofline`, `speedup`, `spy`. Each draws on `ax`, or on a new figure, and
returns the axes.

    import tamis_lab.plot, tamis_lab.results
    results = tamis_lab.results.load(["run.jsonl"])
    tamis_lab.plot.speedup(results).figure.savefig("speedup.pdf")
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Iterable, Optional, Sequence

from . import _cases, _figures
from . import _words as words
from ._cases import Case, Machine
from .results import Matrix, Measurement, Results, ResultsError, Run

# Colours of Okabe and Ito, which the colour-blind tell apart; the shape of a mark repeats what its colour says.
COLOURS = {"ink": "#1d2126", "soft": "#565d66", "faint": "#e4e1da", "paper": "#fcfbf9", "accent": "#0072b2",
           "k1": "#d55e00", "k2": "#009e73", "k3": "#b5578f", "k4": "#c98500", "k5": "#3a9bd9", "k7": "#85898f", "k8": "#7a6230"}
FAMILIES = {"ours": "accent", "Costa et al.": "k1", "Yu et al.": "k2", "Lin, Hsu, Chen": "k3", "Zubair, Bauinger": "k4",
            "Nisa et al.": "k5", "peer": "ink", "baseline": "k7", "other": "k8"}
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


@dataclass(frozen=True)
class Style:
    """How a method is drawn. `family`: ours, the authors of its paper, peer or baseline. `hollow`: an outline."""

    algorithm: str
    family: str
    colour: str
    marker: str
    hollow: bool

    def marks(self, size: float = 6.5) -> dict[str, Any]:
        """The arguments of `plot` for marks without a line."""
        colour = COLOURS[self.colour]
        return {"linestyle": "", "marker": self.marker, "markersize": size, "markerfacecolor": COLOURS["paper"] if self.hollow else colour,
                "markeredgecolor": colour if self.hollow else COLOURS["paper"], "markeredgewidth": 1.2 if self.hollow else 0.5, "clip_on": False}


def styles(measurements: Iterable[Measurement]) -> dict[str, Style]:
    """A style for each method, in the order of the measurements."""
    sources = _sources()
    members = dict.fromkeys(FAMILIES, 0)
    found: dict[str, Style] = {}
    for one in measurements:
        if one.algorithm in found:
            continue
        source = sources.get(one.algorithm, "other")
        family = "peer" if one.peer else next((name for name in FAMILIES if source.startswith(name)), "other")
        number, members[family] = members[family], members[family] + 1
        found[one.algorithm] = Style(one.algorithm, family, FAMILIES[family], MARKERS[number % len(MARKERS)],
                                     number // len(MARKERS) % 2 == 1 or family in ("peer", "baseline"))
    return found


def _sources() -> dict[str, str]:
    """The source of each algorithm, as the library names it; empty without a library."""
    try:
        from tamis._planned import algorithms
        return {one.name: "baseline" if one.baseline else one.source for one in algorithms()}
    except (ImportError, OSError):
        return {}


# ---- axes

def _axes(ax: Any, width: float, height: float) -> Any:
    """`ax`, or axes of a new figure of that size in points."""
    if ax is not None:
        return ax
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    figure = Figure(figsize=(width / 72, height / 72), dpi=72, layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def _ticks(low: float, high: float, most: int) -> list[float]:
    """Ticks of a logarithmic axis: few and round, also where it spans less than a decade."""
    from matplotlib.ticker import MaxNLocator
    if high < 2.5 * low:
        return [tick for tick in MaxNLocator(most).tick_values(low, high) if low <= tick <= high]
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    for multiples, stride in ((1, 2, 5), 1), ((1,), 1), ((1,), 2), ((1,), 3), ((1,), 6), ((1,), 12):
        ticks = [m * 10.0 ** power for power in powers if power % stride == 0 for m in multiples]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= most:
            break
    return ticks


def _logarithmic(axis: Any, low: float, high: float, most: int, name: Any) -> None:
    """Makes an axis logarithmic between two values, with ticks that `name` writes."""
    from matplotlib.ticker import FixedLocator, NullLocator
    letter = axis.axis_name
    getattr(axis.axes, f"set_{letter}scale")("log")
    getattr(axis.axes, f"set_{letter}lim")(low, high)
    ticks = _ticks(low, high, most)
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_ticklabels([name(tick) for tick in ticks])


def _named(ax: Any, x: str, y: str, **more: Any) -> None:
    """Names the axes at their ends."""
    ax.set_xlabel(x, color=COLOURS["soft"], loc="right")
    ax.set_ylabel(y, color=COLOURS["soft"], rotation="horizontal", loc="top", **more)
    ax.yaxis.set_label_coords(0.0, 1.02)
    ax.yaxis.label.set_horizontalalignment("left")


def _plain(ax: Any) -> None:
    for side in ax.spines.values():
        side.set_visible(False)
    ax.tick_params(length=0, labelcolor=COLOURS["soft"])
    ax.set_axisbelow(True)


# ---- rows of marks on one axis of ratios

@dataclass
class Row:
    """A row of marks: ratios with the style of each. `word` is at the right."""

    label: str
    marks: list[tuple[float, Style]]
    word: str = ""


def _rows(ax: Any, rows: Sequence[Row], lower: str, upper: str) -> Any:
    values = [ratio for row in rows for ratio, _ in row.marks if 0 < ratio < math.inf] + [1.0]
    room = max(1.03, (max(values) / min(values)) ** 0.06)
    _plain(ax)
    _logarithmic(ax.xaxis, min(values) / room, max(values) * room, 5, lambda tick: f"{tick:g}\u00d7")
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_yticks(range(len(rows)), [_cut(row.label, 24) for row in rows])
    ax.tick_params(axis="y", labelcolor=COLOURS["ink"])
    ax.grid(axis="x", color=COLOURS["faint"], linewidth=1)
    ax.grid(axis="y", color=COLOURS["faint"], linewidth=1, linestyle=(0, (1, 3)))
    ax.axvline(1, color=COLOURS["ink"], linewidth=1.2)
    for number, row in enumerate(rows):
        for ratio, style in row.marks:
            if 0 < ratio < math.inf:
                ax.plot([ratio], [number], **style.marks(8))
        ax.annotate(row.word, (1, number), (6, 0), xycoords=("axes fraction", "data"), textcoords="offset points", va="center",
                    color=COLOURS["ink"])
    for place, text, side in ((0, lower, "left"), (1, upper, "right")):
        ax.annotate(text, (place, 0), (0, -30), xycoords="axes fraction", textcoords="offset points", ha=side, color=COLOURS["soft"])
    return ax


def _cut(text: str, most: int) -> str:
    """Long names lose their middle: the end has the parameters, by which the contestants of a sweep differ."""
    return text if len(text) <= most else f"{text[:most - most // 2 - 1]}\u2026{text[-(most // 2):]}"


def _speedup_rows(cases: Iterable[Case], peers: Sequence[str], drawn: dict[str, Style]) -> list[tuple[Row, Measurement, Case]]:
    """For each case the ratios over the peers (without peers, over the baseline), with the fastest of these; the largest first ratio
    on top.
    """
    found = []
    for case in cases:
        others = [case.of_peer(peer) for peer in peers] if peers else [case.baseline]
        others = [one for one in others if case.chosen and one and one is not case.chosen]
        if others:
            best = _cases.fastest(others)
            marks = [(one.median_ms / case.chosen.median_ms, drawn[one.algorithm]) for one in others]
            found.append((Row(case.matrix + "*" * case.stand_in, marks, words.ratio(best.median_ms / case.chosen.median_ms)), best, case))
    return sorted(found, key=lambda one: -one[0].marks[0][0])


def speedup(results: Results, *, operation: Optional[str] = None, ax: Any = None) -> Any:
    """Draws the times of peers (without peers, of the baseline) over ours, a row a matrix, for the first setting of the results or
    of an operation: "sddmm", "spmm" or "fused".

    >>> import json, os, tempfile, tamis_lab.plot, tamis_lab.results
    >>> line = {"operation": "spmm", "matrix": "mesh", "type": "fp32", "device": "cpu", "width": 64}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "run.jsonl")
    ...     with open(path, "w") as file:
    ...         print(json.dumps({**line, "algorithm": "cpu-nonzeros", "auto": True, "median_ms": 2.0}), file=file)
    ...         print(json.dumps({**line, "algorithm": "scipy", "peer": True, "median_ms": 6.0}), file=file)
    ...     results = tamis_lab.results.load([path])
    >>> tamis_lab.plot.speedup(results).get_title().replace("\\xa0", " ")
    'SpMM, K = 64: times as fast as scipy'
    """
    cases = _cases.build(results)
    setting = next((one for one in cases.settings if operation in (None, one.operation)), None)
    if setting is None:
        raise ResultsError(f"the results have no measurement of {operation or 'anything'}")
    peers = list(dict.fromkeys(one.algorithm for case in setting.cases for one in case.measurements if one.peer))
    rows = [row for row, _, _ in _speedup_rows(setting.cases, peers, styles(results.measurements))]
    if not rows:
        raise ResultsError(f"{setting.label}: neither a peer nor a baseline was measured")
    ax = _rows(_axes(ax, 460, 60 + 18 * len(rows)), rows, "\u2190 slower", "faster \u2192")
    ax.set_title(f"{setting.label}: times as fast as {', '.join(peers) or 'the baseline'}", fontsize="medium", color=COLOURS["ink"])
    return ax


# ---- rooflines

_SLOPES = (("memory", "memory_gbs"), ("L3", "l3_gbs"), ("L2", "l2_gbs"), ("L1", "l1_gbs"))


def _roof(ax: Any, run: Optional[Run], points: Sequence[Measurement], drawn: dict[str, Style], doubles: bool,
          fitted: Optional[Sequence[Measurement]] = None) -> Any:
    """`fitted`: the points that the axes have room for, all of a machine; by default those drawn."""
    fitted = points if fitted is None else fitted
    xs, ys = [one.intensity for one in fitted], [one.gflops for one in fitted]
    peak = run.fp32_gflops[1] if run and run.fp32_gflops[1] > 0 else math.nan
    memory = run.memory_gbs[1] if run and run.memory_gbs[1] > 0 else math.nan
    if peak > 0:
        ys += [peak] if fitted else [peak, peak / 100]
        if memory > 0:
            ridge = peak / memory
            xs += [ridge, 2.5 * ridge] if fitted else [ridge / 100, 2.5 * ridge]
    xs, ys = xs or [1.0], ys or [1.0]
    low_x, high_x, low_y, high_y = min(xs) / 1.3, max(xs) * 1.2, min(ys) / 1.5, max(ys) * 1.9
    _plain(ax)
    _logarithmic(ax.xaxis, low_x, high_x, 6, lambda tick: f"{tick:g}")
    _logarithmic(ax.yaxis, low_y, high_y, 7, words.short)
    ax.grid(color=COLOURS["faint"], linewidth=1)
    drawn_gbs: list[float] = []
    for name, field in _SLOPES:
        gbs = getattr(run, field)[1] if run else math.nan
        if gbs > 0 and not any(0.98 < gbs / other < 1.02 for other in drawn_gbs):
            drawn_gbs.append(gbs)
            _slope(ax, f"{name} {words.short(gbs)} GB/s", gbs, peak, first=name == "memory")
    for name, value in (("fp32", peak), ("fp64", run.fp64_gflops[1] if run and doubles else math.nan)):
        if low_y <= value <= high_y:
            ax.plot([max(value / memory, low_x) if memory > 0 else low_x, high_x], [value, value], color=COLOURS["ink"], linewidth=1.5)
            ax.annotate(f"{name} {words.short(value)} GFLOP/s", (high_x, value), (0, 4), textcoords="offset points", ha="right",
                        color=COLOURS["soft"])
    for algorithm, style in drawn.items():
        of = [one for one in points if one.algorithm == algorithm]
        if of:
            ax.plot([one.intensity for one in of], [one.gflops for one in of], label=algorithm, **style.marks())
    _named(ax, "flop a byte", "GFLOP/s", labelpad=-20)
    return ax


def _slope(ax: Any, name: str, gbs: float, peak: float, first: bool) -> None:
    """A bandwidth's line up to the peak, with its name along it if that has room."""
    (low_x, high_x), (low_y, high_y) = ax.get_xlim(), ax.get_ylim()
    top = min(peak, high_y) if peak > 0 else high_y
    start, end = max(low_x, low_y / gbs), min(high_x, top / gbs)
    if end <= start:
        return
    ax.plot([start, end], [start * gbs, end * gbs], color=COLOURS["ink" if first else "soft"], linewidth=1.5 if first else 1,
            linestyle="-" if first else (0, (5, 3)))
    if math.log(end / start) > 0.25 * math.log(high_x / low_x):
        at = start * (end / start) ** 0.04
        ax.text(at, at * gbs * (high_y / low_y) ** 0.02, name, rotation=math.degrees(math.atan(gbs)), rotation_mode="anchor",
                transform_rotates_text=True, color=COLOURS["soft"])


def _machine(cases: _cases.Cases, device: Optional[str]) -> Machine:
    machine = next((one for one in cases.machines if device in (None, one.device)), None)
    if machine is None:
        raise ResultsError(f"the files have no measurement on {device or 'a device'}")
    return machine


def _this_machine(device: Optional[str]) -> Run:
    """The ceilings of a device of this machine, by default the best, as a run would record them."""
    from tamis import _declarations as c
    from tamis._device import described, devices, opened
    from tamis._library import lib, must, text
    handle = opened(device or next((one.name for one in devices() if one.present and one.name.startswith("cuda")), "cpu")).handle
    ceilings, description = c.tamis_ceilings(), described(handle)
    must(lib.tamis_device_ceilings(handle, ceilings))
    names = ("fp32_gflops", "fp64_gflops", "l1_gbs", "l2_gbs", "l3_gbs", "memory_gbs")
    return Run({"device": text(description.name), "model": text(description.model), "measured": bool(ceilings.measured),
                **{name: list(getattr(ceilings, name)) for name in names}})


@dataclass(frozen=True)
class Roof:
    """The data of a roofline: a device's ceilings, and measurements below them."""

    run: Run
    points: list[Measurement]
    styles: dict[str, Style]
    doubles: bool

    @property
    def title(self) -> str:
        defaults = "" if self.run.measured else "; ceilings are defaults, not measured"
        return f"Roofline of {self.run.model or self.run.device} ({self.run.device}{defaults})"

    def draw(self, ax: Any) -> Any:
        _roof(ax, self.run, self.points, self.styles, self.doubles)
        ax.set_title(self.title, fontsize="large", loc="left", color=COLOURS["ink"], pad=24)
        if self.points:
            ax.figure.legend(loc="outside lower left", ncols=4, frameon=False)
        return ax


def roof_of(results: Optional[Results], device: Optional[str]) -> Roof:
    """The roof of a device of the results, by default their first; without results that of this machine."""
    if results is None:
        return Roof(_this_machine(device), [], {}, True)
    machine = _machine(_cases.build(results), device)
    return Roof(machine.run or _this_machine(machine.device), _figures.roof_points(machine.cases()), styles(results.measurements),
                _figures.has_doubles(machine.settings))


def roofline(results: Optional[Results] = None, *, device: Optional[str] = None, ax: Any = None) -> Any:
    """Draws what memory, caches and arithmetic allow, and the measurements below it. Without results: the ceilings of this machine's
    `device`, by default the best.

    >>> import tamis_lab.plot
    >>> ax = tamis_lab.plot.roofline(device="cpu")
    >>> len(ax.lines) > 0  # ax.figure.savefig("roofline.svg") writes it
    True
    """
    return roof_of(results, device).draw(_axes(ax, 760, 500))


# ---- set-ups and calls

def _calls(ax: Any, case: Case, drawn: dict[str, Style]) -> list[Measurement]:
    """Curves of what each of n calls costs. Returns the methods drawn: those without parameters, and peers."""
    contestants = case.rivals
    low = min(one.median_ms for one in contestants) / 1.25
    high = max(_figures.cost(one, 1) for one in contestants) * 1.25
    _plain(ax)
    _logarithmic(ax.xaxis, 0.9, 1.1 * _figures.MOST_CALLS, 6, lambda tick: f"{tick:,.0f}")
    _logarithmic(ax.yaxis, low, high, 6, words.time)
    ax.grid(color=COLOURS["faint"], linewidth=1)
    calls = [10 ** (power / 4) for power in range(21)]
    for one in contestants:
        style = drawn[one.algorithm]
        ax.plot(calls, [_figures.cost(one, n) for n in calls], color=COLOURS[style.colour], linewidth=2.8 if one.auto else 1.4,
                linestyle="--" if style.family == "peer" else ":" if style.family == "baseline" else "-")
        ax.plot(calls[::4], [_figures.cost(one, n) for n in calls[::4]], **style.marks())
    _named(ax, "calls", "time a call")
    return contestants


# ---- where a matrix has its nonzeros

def _raster(matrix: Any, cells: int) -> Any:
    """How many nonzeros each cell has; a record of results has digits instead."""
    import numpy
    if isinstance(matrix, Matrix):
        if not matrix.spy:
            raise ResultsError(f"{matrix.matrix}: the results have no picture of it")
        return numpy.array([int(digit) for digit in matrix.spy]).reshape(matrix.spy_rows, matrix.spy_cols) / 9
    coo = matrix.tocoo()
    side = max(*coo.shape, 1)
    shape = [max(1, round(min(cells, side) * length / side)) for length in coo.shape]
    counts, _, _ = numpy.histogram2d(coo.row, coo.col, bins=shape, range=[[0, max(coo.shape[0], 1)], [0, max(coo.shape[1], 1)]])
    return numpy.log1p(counts) / max(math.log1p(counts.max(initial=0)), 1)


def spy(matrix: Any, *, cells: int = 256, ax: Any = None) -> Any:
    """Draws where a matrix (of SciPy, or a record of results) has its nonzeros; darker cells have more, on a logarithmic scale.

    >>> import scipy.sparse, tamis_lab.plot
    >>> tamis_lab.plot.spy(scipy.sparse.eye_array(100)).get_title()
    '100 × 100'
    """
    raster = _raster(matrix, cells)
    ax = _axes(ax, 300, 300)
    shape = (matrix.rows, matrix.cols) if isinstance(matrix, Matrix) else matrix.shape
    ax.imshow(raster, cmap="Greys", vmin=0, vmax=1, interpolation="nearest", extent=(0, shape[1], shape[0], 0))
    ax.set_title(f"{shape[0]:,} \u00d7 {shape[1]:,}", fontsize="medium", color=COLOURS["ink"])
    return ax


__all__ = ["roofline", "speedup", "spy"]
