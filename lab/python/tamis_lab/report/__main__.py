"""python -m tamis_lab.report"""
import argparse
import sys

from .. import _words as words
from tamis._command import OK, add_output, can_write, parser, run, visible, write
from ..results import load_measurements


def main(given: argparse.Namespace) -> int:
    from .page import render
    can_write(given.output, given.RESULTS, given.no_clobber)
    results = load_measurements(given.RESULTS)
    page = render(results, given.title)
    write(given.output, page)
    if given.output != "-":
        print(f"{visible(given.output)}: {len(results.measurements):,} measurements, {words.size(len(page.encode()))}")
    return OK


def arguments() -> argparse.ArgumentParser:
    found = parser("report", "make an HTML page of measurements")
    found.add_argument("RESULTS", nargs="+")
    add_output(found, default="report.html", help="the output file; -: standard output [report.html]")
    found.add_argument("--title", metavar="TEXT", help="the page's title; by default that of the suite")
    return found


if __name__ == "__main__":
    sys.exit(run(main, arguments()))
