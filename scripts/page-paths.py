#!/usr/bin/env python3
"""Checks that the files and folders that the pages name are there: page-paths.py [PAGE...]   names each that is not; exit code 1
Pages are README.md, CONTRIBUTING.md and those of the manual. A path begins with a folder of the tree, and may have * and ?."""
import glob
import os
import re
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
FOLDERS = "bench|cmake|docs|include|python|scripts|src|tests|tools"
MADE = {"src/gpu/example"}  # what a page tells its reader to make

os.chdir(ROOT)
pages = sys.argv[1:] or ["README.md", "CONTRIBUTING.md", "docs/algorithms.md", "docs/dependencies.md", *sorted(glob.glob("docs/manual/*.md"))]
missing = checked = 0
for page in pages:
    with open(page, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            for path in re.findall(rf"(?<![\w./-])((?:{FOLDERS})/[\w./*?-]+)", line):
                path = path.rstrip(".")
                checked += 1
                if not glob.glob(path) and not any(path.startswith(made) for made in MADE):
                    print(f"{page}:{number}: {path} is not there")
                    missing += 1
print(f"{len(pages)} pages, {checked} paths, {missing} missing")
sys.exit(missing > 0 or checked == 0)
