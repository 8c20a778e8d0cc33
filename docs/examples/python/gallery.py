"""Draws the pictures of the manual's Python examples, each from a run of its page: gallery.py MANUAL [PAGE ...]

MANUAL is the folder with python-PAGE.md and pictures. A page's examples run as the tests run them, and must print what the page says; what they
leave is drawn; so is what language_model.py printed for the manual. The pictures follow the reader's colours, light or dark, and say in words what they show. They are made again when a page changes.
"""
from __future__ import annotations

import argparse
import doctest
import json
import pathlib
import re
from typing import Any, Callable, NamedTuple

import numpy as np

from tamis_lab.plot import COLOURS
from tamis_lab.report import drawing

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCKS = re.compile(r"^```(pycon|python)\n(.*?)^```", re.M | re.S)


def run(page: pathlib.Path) -> dict[str, Any]:
    """The names that a page's examples leave behind; RuntimeError if one does not print what the page says."""
    names: dict[str, Any] = {}
    for kind, block in BLOCKS.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(block, str(page), "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
        if doctest.DocTestRunner(optionflags=FLAGS).run(test, clear_globs=False).failed:
            raise RuntimeError(f"{page}: an example has another result")
        names = test.globs
    return names


class Picture(NamedTuple):
    """A drawing: its size in points, its title, what it says in words, and what draws it on axes."""

    width: float
    height: float
    title: str
    words: str
    draw: Callable[[Any], None]

    def svg(self) -> str:
        folder = pathlib.Path(drawing.__file__).parent
        # a page may be light where the reader's system is dark: the picture brings its own paper
        rules = (folder / "palette.css").read_text(encoding="utf-8") + "svg{background:var(--paper)}" \
            'text{font:12px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}'
        return drawing.svg(self.width, self.height, self.title, self.words, self.draw, re.sub(r"\s*\n\s*", "", rules)) + "\n"


def _bare(ax: Any, xlabel: str, ylabel: str) -> None:
    """Axes without a frame, with faint lines."""
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    for side in ax.spines.values():
        side.set_visible(False)
    ax.tick_params(length=0, labelcolor=COLOURS["soft"])
    ax.grid(color=COLOURS["faint"], linewidth=0.8)
    ax.set_axisbelow(True)


# ------------------------------------------------------------------------------ the pictures of each page

def attention(names: dict[str, Any]) -> Picture:
    """The mask: in each row the runs of columns that it keeps."""
    pattern, positions = names["pattern"], names["positions"]
    index, columns = pattern.index.numpy(), pattern.columns.numpy()
    lines: list[tuple[float, float]] = []  # one after another, with a gap after each
    for row in range(positions):
        own = columns[index[row]:index[row + 1]]
        for run_of in np.split(own, np.flatnonzero(np.diff(own) > 1) + 1):
            lines += [(int(run_of[0]) - 0.5, row), (int(run_of[-1]) + 0.5, row), (np.nan, np.nan)]

    def draw(ax: Any) -> None:
        _bare(ax, "the position that is seen", "the position that sees")
        ax.plot(*zip(*lines), color=COLOURS["accent"], linewidth=1.2, solid_capstyle="butt")
        ax.set(xlim=(-1, positions), ylim=(positions, -1), xticks=range(0, positions + 1, 64), yticks=range(0, positions + 1, 64), aspect="equal")

    share = pattern.nnz / positions**2
    return Picture(340, 330, "The pairs of positions that the mask keeps",
                   f"A band of {names['window']} positions before each one, and a stripe of the first {names['first']}, which all see: {pattern.nnz:,} of "
                   f"{positions**2:,} pairs, {share:.0%}. Nothing above the diagonal.", draw)


def graphs(names: dict[str, Any]) -> Picture:
    """How both networks come along."""
    steps = [1, 2, 4, 7, 10, 15, 20, 25, 30]
    with_graph, alone = ([100 * names["accuracy"](names[name], count) for count in steps] for name in ("GAT", "Alone"))

    def draw(ax: Any) -> None:
        _bare(ax, "steps of training", "right, % of 300 nodes")
        for values, colour, mark, name in ((with_graph, "accent", "o", "GAT, with the graph"), (alone, "k1", "s", "the same without the graph")):
            ax.plot(steps, values, color=COLOURS[colour], marker=mark, markersize=5, linewidth=1.6)
            ax.annotate(name, (steps[-1], values[-1]), xytext=(0, 8), textcoords="offset points", ha="right", color=COLOURS["ink"])
        ax.set(ylim=(0, 100), xlim=(0, 31))

    return Picture(440, 280, "How many nodes are classified rightly, step by step",
                   f"After {steps[-1]} steps graph attention has {with_graph[-1]:.0f} % of the nodes that it was not trained on right, the same network without "
                   f"the graph {alone[-1]:.0f} %; a guess has 33 %.", draw)


def recommender(names: dict[str, Any]) -> Picture:
    """Predictions of ratings that were held out, over these."""
    true, predicted = names["test"].data, names["predicted"]

    def draw(ax: Any) -> None:
        _bare(ax, "the rating that was held out", "predicted")
        ax.plot([1, 5], [1, 5], color=COLOURS["soft"], linewidth=1)
        ax.plot(true, predicted, linestyle="", marker="o", markersize=3.5, markerfacecolor=COLOURS["accent"], markeredgewidth=0, alpha=0.6)
        ax.set(xlim=(0.9, 5.1), ylim=(0.9, 5.1), xticks=range(1, 6), yticks=range(1, 6), aspect="equal")

    return Picture(330, 320, "Predictions over the ratings that were held out",
                   f"{true.size} ratings near the diagonal, where predictions are right: the root of the mean squared error is {names['rmse']:.2f}; that of "
                   f"guessing the mean is {names['guess']:.2f}.", draw)


def topics(names: dict[str, Any]) -> Picture:
    """The probability of each word in each topic: the one that made the documents, and the one that was found."""
    words, true = names["words"], names["topics"]
    found = names["model"].components_ / names["model"].components_.sum(1, keepdims=True)
    found = found[names["order"]]

    def draw(ax: Any) -> None:
        _bare(ax, "", "probability in its topic")
        places = np.arange(words.size)
        for topic, (colour, mark) in enumerate((("accent", "o"), ("k1", "s"), ("k2", "^"))):
            ax.bar(places, true[topic], 0.7, facecolor="none", edgecolor=COLOURS["soft"], linewidth=1)
            ax.plot(places, found[topic], linestyle="", marker=mark, markersize=5.5, markerfacecolor=COLOURS[colour], markeredgewidth=0)
        ax.set_xticks(places, words, rotation=60, ha="right", rotation_mode="anchor")
        ax.set(xlim=(-0.7, words.size - 0.3), ylim=(-0.01, None))
        ax.grid(False, axis="x")

    return Picture(560, 300, "The words of the three topics, as they were made and as they were found",
                   "Bars are the probabilities of the words in the topics that made the documents, marks those in the topics that were found, which have a "
                   f"shape and a colour each: they differ by {abs(found - true).mean():.3f} in the mean.", draw)


def training_step(records: list[dict[str, Any]]) -> Picture:
    """Time and memory of a training step of each method, over the share of pairs that the mask keeps: what language_model.py printed."""
    from matplotlib.ticker import LogLocator, StrMethodFormatter
    styles = {"tamis": ("Tamis", "accent", "o"), "sdpa": ("PyTorch, dense mask", "k1", "s"), "torch.sparse": ("torch.sparse", "k2", "^"),
              "gather": ("gather and scatter", "k3", "D"), "flex": ("flex_attention", "k4", "v")}
    styles = {method: style for method, style in styles.items() if any(one["method"] == method and "median_ms" in one for one in records)}

    def draw(ax: Any) -> None:
        figure = ax.figure
        ax.remove()
        axes = figure.subplots(1, 2)
        for ax, member, scale, name in ((axes[0], "median_ms", 1, "a training step, ms"), (axes[1], "peak_bytes", 2**-20, "peak memory, MiB")):
            for method, (label, colour, mark) in styles.items():
                line = sorted((one["kept_percent"], scale * one[member]) for one in records if one["method"] == method and member in one)
                ax.plot(*zip(*line), color=COLOURS[colour], marker=mark, markersize=5, linewidth=1.6, label=label)
            ax.set(xscale="log", yscale="log")
            shares = sorted({one["kept_percent"] for one in records})
            ax.set_xticks(shares, [f"{share:g}" for share in shares])
            drawn = [one[member] for one in records if member in one]
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if max(drawn) > 5 * min(drawn) else (1, 1.5, 2, 3, 4, 6, 8)))
            ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
            ax.minorticks_off()
            _bare(ax, "pairs of positions kept, %", name)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(styles), frameon=False, labelcolor=COLOURS["ink"])

    found = {(one["method"], one["kept_percent"]): one["median_ms"] for one in records if "median_ms" in one}
    least, most = min(share for _, share in found), max(share for _, share in found)

    def missing(method: str) -> str:
        """Why a method has no time at the largest share."""
        last = max(share for name, share in found if name == method)
        reasons = " ".join(one.get("failed", "") for one in records if one["method"] == method and one["kept_percent"] > last)
        why = "out of memory" if "out of memory" in reasons else "more than a minute" if reasons else "not run"
        return (f" and {text[method, last]} ms at {last:g} %" if last > least else "") + f", then {why}"

    text = {key: f"{value:,.0f}" if value >= 100 else f"{value:.2g}" for key, value in found.items()}
    said = "; ".join(f"{styles[method][0]} {text[method, least]} ms at {least:g} %" +
                     (f" and {text[method, most]} ms at {most:g} %" if (method, most) in found else missing(method))
                     for method in styles)
    return Picture(680, 300, "A training step over the share of pairs kept: time and peak memory of each method", f"{said}.", draw)


TRAINING_STEPS = {"language-model": "epyc-1-core", "language-model-h200": "nvidia-h200-bf16",
                  "language-model-h200-fp32": "nvidia-h200-fp32"}  # pictures, and the runs that they show
PICTURES = {"attention": attention, "graphs": graphs, "recommender": recommender, "topics": topics}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manual", type=pathlib.Path)
    parser.add_argument("pages", nargs="*", default=list(PICTURES), metavar="PAGE", help=", ".join(PICTURES))
    given = parser.parse_args()
    for page in given.pages:
        picture = PICTURES[page](run(given.manual / f"python-{page}.md"))
        (given.manual / "pictures" / f"python-{page}.svg").write_text(picture.svg(), encoding="utf-8")
        print(json.dumps({"page": page, "words": picture.words}))
    for name, run_of in TRAINING_STEPS.items():
        records = given.manual.parent.parent / "lab" / "results" / "language-model" / f"{run_of}.jsonl"
        picture = training_step([json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()])
        (given.manual / "pictures" / f"{name}.svg").write_text(picture.svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
