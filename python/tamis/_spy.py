"""The picture of `tamis spy`: python -m tamis._spy draws what the program writes to its standard input, how many nonzeros each cell of a
grid over the matrix has. It needs nothing but Python.
"""
from __future__ import annotations

import argparse
import html
import itertools
import json
import math
import os
import re
import struct
import sys
import zlib
from typing import Any, Iterator

from ._command import OK, parser, run, visible, write

SVG_LEVELS, PNG_LEVELS, SVG_SIDE, LEAST_SIDE, FRAME = 16, 255, 560, 256, 1

Cells = list[list[int]]


def _levels(counts: Cells, levels: int) -> Cells:
    """Return the darkness of each cell: 0 without nonzeros, else 1 to `levels` on a logarithmic scale up to the fullest cell."""
    fullest = math.log(max(2, *(max(row) for row in counts)))
    alone = max(max(row) for row in counts) <= 1

    def level(count: int) -> int:
        return 0 if count == 0 else levels if alone else min(levels, 1 + int(levels * (math.log(count) / fullest)))
    return [[level(count) for count in row] for row in counts]


def _runs(cells: Cells, level: int) -> Iterator[tuple[int, int, int]]:
    """Yield row, first column and length of each run of adjacent cells of one level in a row."""
    for number, row in enumerate(cells):
        first = 0
        for of, cells_of in itertools.groupby(row):
            length = len(list(cells_of))
            if of == level:
                yield number, first, length
            first += length


def svg(counts: Cells, caption: str) -> str:
    """Return an SVG image that follows the reader's light or dark theme."""
    scale = SVG_SIDE / max(len(counts), len(counts[0]))
    width, height = len(counts[0]) * scale, len(counts) * scale
    text = html.escape(re.sub("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]", "\ufffd", caption))
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="caption" viewBox="0 0 '
             f'{256 if width < 240 else width + 16:.0f} {height + 44:.0f}">',
             f'<title id="caption">Nonzeros of {text}</title>',
             "<style>svg{color:#1b1b1b;background:#fff;font:13px sans-serif}"
             "@media(prefers-color-scheme:dark){svg{color:#e8e6e3;background:#17191c}}</style>",
             f'<g transform="translate(8 8) scale({scale:.5f})" fill="currentColor" shape-rendering="crispEdges">']
    cells = _levels(counts, SVG_LEVELS)
    for level in range(1, SVG_LEVELS + 1):
        path = "".join(f"M{first} {row}h{length}v1h-{length}z" for row, first, length in _runs(cells, level))
        if path:
            lines.append(f'<path fill-opacity="{0.25 + 0.75 * level / SVG_LEVELS:.2f}" d="{path}"/>')
    return "\n".join([*lines, "</g>", f'<rect x="8" y="8" width="{width:.2f}" height="{height:.2f}" fill="none" stroke="currentColor" '
                                      'stroke-opacity=".5"/>',
                      f'<text x="8" y="{height + 32:.0f}" fill="currentColor">{text}</text>', "</svg>", ""])


def png(counts: Cells) -> bytes:
    """Return a PNG image: a grey frame on white; fuller cells are darker, and even the palest is visible."""
    times = max(1, LEAST_SIDE // max(len(counts), len(counts[0])))
    shades = [255] + [180 - level * 180 // PNG_LEVELS for level in range(1, PNG_LEVELS + 1)]
    width, height = len(counts[0]) * times + 2 * FRAME, len(counts) * times + 2 * FRAME
    frame = bytes([160])
    lines = [frame * width]
    for row in _levels(counts, PNG_LEVELS):
        lines += [frame + b"".join(bytes([shades[level]]) * times for level in row) + frame] * times
    dots = b"".join(b"\0" + line for line in [*lines, lines[0]])

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(dots)) +
            chunk(b"IEND", b""))


def main(given: argparse.Namespace) -> int:
    picture: dict[str, Any] = json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))
    caption = f"{picture['matrix']}: {picture['rows']:,} x {picture['cols']:,}, {picture['nnz']:,} nonzeros, {picture['class']}"
    output = given.output or picture["output"]
    write(output, png(picture["counts"]) if output.lower().endswith(".png") else svg(picture["counts"], caption))
    report = sys.stderr if output == "-" else sys.stdout
    if picture["json"]:
        said = {"output": os.fsencode(output).decode(errors="replace"), **{name: picture[name] for name in ("rows", "cols", "nnz", "matrix", "class")}}
        print(json.dumps(said, indent=2), file=report)
    elif not picture["quiet"]:
        print(visible(f"{output}: {caption}"), file=report)
    return OK


if __name__ == "__main__":
    arguments = parser("spy", "draw the positions of a matrix's nonzeros")
    arguments.add_argument("--output", metavar="FILE", help="by default the name in the input")
    sys.exit(run(main, arguments))
