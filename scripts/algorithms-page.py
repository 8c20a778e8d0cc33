#!/usr/bin/env python3
"""The first part of docs/algorithms.md, the registry as a table: algorithms-page.py [--check] [PROGRAM]
It is written anew from what `PROGRAM algorithms --json` says, and what was written by hand below stays; --check only compares."""
import json
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "algorithms.md"
HEAD = """# Algorithms

`scripts/algorithms-page.py` writes this table from the registry, which `tamis algorithms` prints.

A plan chooses the algorithm that the cost model predicts to be fastest, including set-up. `tamis explain` shows the
choice, and why the others were not chosen. A baseline is only for comparison and is never chosen.

| algorithm | device | operations | source | needs | when | parameters |
|---|---|---|---|---|---|---|
"""


def row(algorithm):
    cells = [f"`{algorithm['name']}`" + (" (baseline)" if algorithm["baseline"] else ""), algorithm["device"],
             ", ".join(algorithm["operations"])]
    for member in ("source", "needs", "when", "parameters"):
        cells.append((algorithm[member] or "-").replace("|", "\\|").replace("\n", " "))  # a bar would end the cell
    return f"| {' | '.join(cells)} |\n"


def main():
    given = [one for one in sys.argv[1:] if one != "--check"]
    program = given[0] if given else "build/release/tools/tamis/tamis"
    registry = json.loads(subprocess.run([program, "algorithms", "--json"], check=True, capture_output=True).stdout)
    table = HEAD + "".join(map(row, registry))
    page = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        sys.exit(None if page.startswith(table) else f"{PAGE} does not begin with what the registry says: scripts/algorithms-page.py {program}")
    PAGE.write_text(f"{table}\n{page[page.index('## '):]}", encoding="utf-8")


if __name__ == "__main__":
    main()
