#!/usr/bin/env python3
"""Whether what the pages are made of was measured of one commit: commits.py RESULTS EVIDENCE

Reads the records of runs of RESULTS/*/*.jsonl.xz, the lines of RESULTS/*/pieces.txt, and EVIDENCE/*.json, and fails, naming which is of which, where
they have several commits, or one that is not whole: sources that were changed, or of which nothing is known. The models' quality and the language
model of the manual are pages of their own."""
import collections
import json
import lzma
import re
import sys
from pathlib import Path

APART = ("quality", "language-model")


def pieces_of(path):
    return [line.split()[:2] for line in path.read_text(encoding="utf-8").splitlines()]


def commit_of_piece(path):
    """The commit of the piece that a file without records of runs is named after, as the fits of two-devices-models are."""
    pieces = path.with_name("pieces.txt")
    return next((commit for piece, commit in pieces_of(pieces) if path.name.startswith(f"{piece}-")), "none") if pieces.exists() else "none"


def commits_of(results, evidence):
    """Each commit and what says to be of it."""
    found = collections.defaultdict(set)
    for path in sorted(results.glob("*/*.jsonl.xz")):
        if path.parent.name not in APART:
            with lzma.open(path, "rt", encoding="utf-8") as lines:
                runs = [run for run in map(json.loads, lines) if run.get("record") == "run"]
            for commit in {run.get("commit") or "none" for run in runs} or {commit_of_piece(path)}:
                found[commit].add(str(path))
    for path in sorted(results.glob("*/pieces.txt")):
        for piece, commit in pieces_of(path):
            found[commit].add(f"{path}: {piece}")
    for path in sorted(evidence.glob("*.json")):
        made = json.loads(path.read_text(encoding="utf-8"))
        for commit in {made.get("commit", "none")} | {step["commit"] for step in made["steps"].values() if "commit" in step}:
            found[commit].add(str(path))
    return found


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    found = commits_of(Path(sys.argv[1]), Path(sys.argv[2]))
    if len(found) == 1 and re.fullmatch("[0-9a-f]{40}", next(iter(found))):
        print(f"results and evidence: all of commit {next(iter(found))}")
        return
    for commit, files in sorted(found.items()):
        print(f"of commit {commit}:" if commit != "none" else "of no commit that they tell:", *sorted(files), sep="\n    ", file=sys.stderr)
    sys.exit("commits.py: not all of one commit: `make measure` measures anew what is not")


main()
