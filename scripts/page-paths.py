#!/usr/bin/env python3
"""Checks the pages against the tree: page-paths.py [PAGE...]   prints each fault; exit code 1
Pages are README.md, CONTRIBUTING.md and the manual's. The files and folders that they name must exist: a path begins with a folder
of the tree, and may have * and ?. A block below a line that begins with a link to an example must be a verbatim part of that
example. The manual shows every example in C and every output."""
import glob
import os
import re
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
FOLDERS = "cmake|docs|include|lab|python|scripts|src|tests|tools"
MADE = {"src/gpu/example", "src/cpu/methods/example", "src/ml/means.c", "src/io/coo.c"}  # files that a page tells its reader to create

os.chdir(ROOT)
pages = sys.argv[1:] or ["README.md", "CONTRIBUTING.md", "docs/algorithms.md", "docs/dependencies.md", *sorted(glob.glob("docs/manual/*.md") + glob.glob("lab/*.md") + glob.glob("lab/results/*.md"))]
missing = checked = 0
shown = set()
for page in pages:
    with open(page, encoding="utf-8") as text:
        text = text.read()
        for name, block in re.findall(r"^\[`(docs/examples/[\w.]+)`\]\([^\n]*:\n\n```\w+\n(.*?)^```$", text, re.M | re.S):
            shown.add(name)
            with open(name, encoding="utf-8") as example:
                if f"\n{block}" not in f"\n{example.read()}":
                    print(f"{page}: the block of {name} is no part of that file")
                    missing += 1
        for number, line in enumerate(text.split("\n"), 1):
            for path in re.findall(rf"(?<![\w./-])((?:{FOLDERS})/[\w./*?-]+)", line):
                path = path.rstrip(".")
                checked += 1
                if not glob.glob(path) and not any(path.startswith(made) for made in MADE):
                    print(f"{page}:{number}: {path} is not there")
                    missing += 1
for name in set(glob.glob("docs/examples/*.c") + glob.glob("docs/examples/*.out")) - shown if len(sys.argv) == 1 else ():
    print(f"{name}: no page shows it")
    missing += 1
print(f"{len(pages)} pages, {checked} paths, {missing} missing")
sys.exit(missing > 0 or checked == 0)
