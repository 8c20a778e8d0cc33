#!/usr/bin/env python3
"""Whether what the pages are made of was measured of the sources as they are: commits.py RESULTS EVIDENCE

Reads the records of runs of RESULTS/*/*.jsonl.xz, the lines of RESULTS/*/pieces.txt, and EVIDENCE/*.json. It fails, naming which is of which, where a
commit is missing, is not whole (sources that were changed), is not known to git, or has other sources than the commit at hand. Only what runs counts:
include, src and lab/gpu, for GPUs without src/cpu. So texts and tests may change after a measurement. The models' quality and the language model of the
manual are pages of their own."""
import collections
import functools
import json
import lzma
import re
import subprocess
import sys
from pathlib import Path

APART = ("quality", "language-model")


@functools.cache
def sources(commit, kind):
    """What a commit measures on a kind of machine, as git names its folders; nothing where git does not know the commit."""
    if not re.fullmatch("[0-9a-f]{40}|HEAD", commit):
        return ""
    listed = subprocess.run(["git", "ls-tree", commit, "include/", "src/", "lab/gpu"], cwd=Path(__file__).parent.parent.parent, capture_output=True, text=True,
                            check=False).stdout
    return "".join(line for line in listed.splitlines(keepends=True) if kind == "cpu" or not line.endswith("\tsrc/cpu\n"))


def is_current(commit, kind):
    """Whether a commit has the sources at hand."""
    found = sources(commit, kind)
    return bool(found) and found == sources("HEAD", kind)


def kind_of(run):
    return "cpu" if run.get("device") == "cpu" else "gpu"


def pieces_of(path):
    return [line.split()[:2] for line in path.read_text(encoding="utf-8").splitlines()]


def kind_of_piece(piece):
    return "cpu" if piece.startswith("cpu-") else "gpu"


def of_piece(path):
    """The commit and kind of the piece that a file without records of runs is named after, as the fits of two-devices-models are."""
    pieces = path.with_name("pieces.txt")
    return next(((commit, kind_of_piece(piece)) for piece, commit in pieces_of(pieces) if path.name.startswith(f"{piece}-")),
                ("none", "gpu")) if pieces.exists() else ("none", "gpu")


def commits_of(results, evidence):
    """Each commit and kind of machine, and what says to be of it."""
    found = collections.defaultdict(set)
    for path in sorted(results.glob("*/*.jsonl.xz")):
        if path.parent.name not in APART:
            with lzma.open(path, "rt", encoding="utf-8") as lines:
                runs = [run for run in map(json.loads, lines) if run.get("record") == "run"]
            for key in {(run.get("commit") or "none", kind_of(run)) for run in runs} or {of_piece(path)}:
                found[key].add(str(path))
    for path in sorted(results.glob("*/pieces.txt")):
        for piece, commit in pieces_of(path):
            found[commit, kind_of_piece(piece)].add(f"{path}: {piece}")
    for path in sorted(evidence.glob("*.json")):
        made = json.loads(path.read_text(encoding="utf-8"))
        for commit in {made.get("commit", "none")} | {step["commit"] for step in made["steps"].values() if "commit" in step}:
            found[commit, "gpu"].add(str(path))
    return found


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    found = commits_of(Path(sys.argv[1]), Path(sys.argv[2]))
    stale = {key: files for key, files in found.items() if not is_current(*key)}
    if found and not stale:
        print("results and evidence: all of these sources; commits", *sorted({commit for commit, _ in found}))
        return
    for (commit, _), files in sorted(stale.items()):
        said = "of no commit that they tell" if commit == "none" else f"of commit {commit}, which has other sources or is not known"
        print(f"{said}:", *sorted(files), sep="\n    ", file=sys.stderr)
    sys.exit("commits.py: not all of these sources: `make measure` measures anew what is not")


if __name__ == "__main__":
    main()
