"""A picture of a device's ceilings and of what was measured below them: python -m tamis_lab.roofline [RESULTS ...] -o FILE, which the
program runs as `tamis roofline`.
"""
from __future__ import annotations

import argparse
import io
import pathlib
import sys

from . import _words as words
from tamis._command import OK, add_output, can_write, parser, run, warning, write
from .plot import Roof, _axes, roof_of
from .results import ResultsError, load_measurements


def _svg(roof: Roof) -> str:
    """The drawing as a file that follows the reader's light or dark theme."""
    from .report import drawing
    palette = (pathlib.Path(drawing.__file__).parent / "palette.css").read_text(encoding="utf-8")
    ceilings = f"Arithmetic {words.number(roof.run.fp32_gflops[1])} GFLOP/s in fp32, memory {words.number(roof.run.memory_gbs[1])} GB/s"
    below = f" {len(roof.points)} measurements below." if roof.points else ""
    return drawing.svg(760, 540, roof.title, f"{ceilings}, with all threads.{below}", roof.draw,
                       palette + "svg{background:var(--paper)}text{font:12px system-ui,sans-serif;fill:var(--ink)}")


def _picture(roof: Roof, ending: str) -> bytes:
    file = io.BytesIO()
    try:
        roof.draw(_axes(None, 760, 540)).figure.savefig(file, format=ending, dpi=144)
    except ValueError as problem:
        raise ResultsError(f".{ending}: {problem}") from None
    return file.getvalue()


def main(given: argparse.Namespace) -> int:
    can_write(given.output, given.RESULTS, given.no_clobber)
    results = load_measurements(given.RESULTS) if given.RESULTS else None
    device = None if given.device == "best" else given.device
    devices = list(dict.fromkeys(one.device for one in results.measurements)) if results else []
    if device is None and len(devices) > 1:
        warning(f"the files have {len(devices)} devices: this is {devices[0]}; use --device for another")
    ending = pathlib.Path(given.output).suffix[1:].lower() or "svg"
    roof = roof_of(results, device)
    write(given.output, _svg(roof) if ending == "svg" else _picture(roof, ending))
    return OK


def arguments() -> argparse.ArgumentParser:
    found = parser("roofline", "plot the ceilings of a device and the results reached")
    found.add_argument("RESULTS", nargs="*")
    add_output(found, required=True, help="output file: .svg, .png or .pdf; -: standard output, as SVG")
    found.add_argument("-d", "--device", default="best", metavar="DEVICE", help="the device; by default, with RESULTS, their first one")
    return found


if __name__ == "__main__":
    sys.exit(run(main, arguments()))
