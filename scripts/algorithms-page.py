#!/usr/bin/env python3
"""The first part of docs/algorithms.md, the registry as a table: algorithms-page.py [--check] [PROGRAM]
It is written anew from what `PROGRAM algorithms --json` says, and what was written by hand below stays; --check only compares."""
import json
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "algorithms.md"
HEAD = """# Algorithms

`scripts/algorithms-page.py` writes these tables from the registry, which `tamis algorithms` prints.

A plan chooses the algorithm that the cost model predicts to be fastest, including set-up. `tamis explain` shows the
choice, and why the others were not chosen. A baseline is only for comparison and is never chosen.
"""
BY_HAND = "<!-- by hand from here on -->\n"


def table(members, algorithms):
    """Return a table of these members of each algorithm."""
    lines = [f"| algorithm | {' | '.join(members)} |", "|---" * (len(members) + 1) + "|"]
    for one in algorithms:
        cells = [f"`{one['name']}`" + (" (baseline)" if one["baseline"] else "")]
        for member in members:
            text = ", ".join(one[member]) if member == "operations" else one[member] or "-"
            cells.append(text.replace("|", "\\|").replace("\n", " "))  # an unescaped bar would end the cell
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def generated(registry):
    text = HEAD
    for device, title in ("cpu", "CPU"), ("gpu", "GPUs"):
        algorithms = [one for one in registry if one["device"] == device]
        text += f"\n## {title}\n\n" + table(["operations", "when", "needs", "source"], algorithms)
    names = [one["name"] for one in registry]
    parameters = [{**one, "name": f"{one['name']} ({one['device']})"} if names.count(one["name"]) > 1 else one for one in registry]
    return text + "\n## Parameters\n\n" + table(["parameters"], parameters) + "\n" + BY_HAND


def main():
    given = [one for one in sys.argv[1:] if one != "--check"]
    program = given[0] if given else "build/release/tools/tamis/tamis"
    registry = json.loads(subprocess.run([program, "algorithms", "--json"], check=True, capture_output=True).stdout)
    text = generated(registry)
    page = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        sys.exit(None if page.startswith(text) else f"{PAGE} does not begin with what the registry says: scripts/algorithms-page.py {program}")
    PAGE.write_text(text + page.split(BY_HAND)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
