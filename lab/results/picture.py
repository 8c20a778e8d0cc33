#!/usr/bin/env python3
"""Draws the README's picture out of the results: picture.py RESULTS OUT.svg (PYTHONPATH=python:lab/python)

A bar for each real matrix and operation at K = 128: the time of the best of the recorded libraries over that of Tamis. Losses have another colour."""
import pathlib
import re
import sys

import speed_tables
from measured import OPERATIONS, TITLES, Results
from tamis_lab.plot import COLOURS
from tamis_lab.report import drawing

WIDTH, HEIGHT, INNER = 720, 260, 128
RULES = "svg{background:var(--paper)}" 'text{font:12px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}'


def bars(results):
    """By operation the ratios of the real matrices, in order, and the chip."""
    for folder, chip, problems in speed_tables.on_gpus(results):
        _, belongs = speed_tables.sorts(results, folder)[0]
        beside = speed_tables.beside_recorded(results, folder, problems)
        return {operation: sorted(ratio for ratio, _, line in beside[operation, INNER] if belongs(line)) for operation in OPERATIONS}, chip


def picture(results):
    found, chip = bars(results)

    def draw(ax):
        start, middles = 0, []
        for ratios in found.values():
            at = range(start, start + len(ratios))
            ax.bar(at, ratios, 0.8, color=[COLOURS["accent" if ratio >= 1 else "k1"] for ratio in ratios])
            middles.append(start + len(ratios) / 2 - 0.5)
            start += len(ratios) + 3
        ax.axhline(1, color=COLOURS["ink"], linewidth=1)
        ax.set_xticks(middles, [TITLES[operation] for operation in found])
        ax.tick_params(length=0)
        ax.set_ylabel("the best other library's time / ours")
        ax.set_ylim(0)
        for side in ("top", "right", "left", "bottom"):
            ax.spines[side].set_visible(False)

    count = max(map(len, found.values()))
    words = "; ".join(f"{TITLES[operation]}: {sum(ratio >= 1 for ratio in ratios)} of {len(ratios)} at least as fast, {ratios[0]:.2f} to {ratios[-1]:.2f}"
                      for operation, ratios in found.items())
    palette = (pathlib.Path(drawing.__file__).parent / "palette.css").read_text(encoding="utf-8")
    return drawing.svg(WIDTH, HEIGHT, f"Tamis beside the best of the recorded libraries: {count} real matrices, fp32, K = {INNER}, {chip}", words, draw,
                       re.sub(r"\s*\n\s*", "", palette + RULES)) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    pathlib.Path(sys.argv[2]).write_text(picture(Results(pathlib.Path(sys.argv[1]))), encoding="utf-8")
