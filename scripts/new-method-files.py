#!/usr/bin/env python3
"""Writes the files that a page on adding something shows, and makes the changes that it shows: new-method-files.py PAGE SOURCE TO
A line `src/...`:, `include/...`: or `tests/...`: before a block of C names the file that the block is; before a block of diff, the file of SOURCE that it changes.
Changed files are written below TO, which may be SOURCE. Ends with 1 where SOURCE lacks what a diff changes: then the page is old."""
import os
import re
import sys

page, source, to = sys.argv[1:]
with open(page, encoding="utf-8") as text:
    blocks = re.findall(r"^`((?:src|include|tests)/\S+)`:\n\n```(c|diff)\n(.*?)^```$", text.read(), re.M | re.S)
if "diff" not in {kind for _, kind, _ in blocks}:
    sys.exit(f"{page}: no change to make")
done = set()
for name, kind, lines in blocks:
    if kind == "diff":
        old, new = ("".join(line[1:] + "\n" for line in lines.splitlines() if line[0] in signs) for signs in (" -", " +"))
        changed = os.path.join(to, name)  # by a block before
        with open(changed if os.path.exists(changed) and name in done else os.path.join(source, name), encoding="utf-8") as text:
            whole = text.read()
        if whole.count(old) != 1:
            sys.exit(f"{page}: a change of {name} begins with lines that the file has {whole.count(old)} times, expected once:\n{old}")
        lines = whole.replace(old, new)
    path = os.path.join(to, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(lines)
    done.add(name)
