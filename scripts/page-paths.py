#!/usr/bin/env python3
"""Checks what pages and comments say of the tree: page-paths.py [PAGE...]   names each fault; exit code 1
Pages are README.md, CONTRIBUTING.md, those of the manual and each room's README.md. The files and folders that they and the comments of
C files name are there: a path begins with a folder of the tree, and may have * and ?; a comment may name a file without its folder. Each room has a README.md. A block below a line that begins with a link to an example is a part of that example, to
the letter. The manual shows every example in C and every output."""
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
FOLDERS = "cmake|docs|include|lab|python|scripts|src|tests|tools"
MADE = {"tests/fuzz/found", "src/gpu/example", "src/cpu/methods/example", "src/ml/methods/means.c", "src/io/formats/coo.c", "tests/operations/row_sums.c"}  # what a page tells its reader to make
OTHERS = {"method_kernels.h", "metis.h", "c_api.h", "cuda.h", "cl_ext.h", "layout.h", "x.c"}  # made by the build, of other projects, or an example

os.chdir(ROOT)
pages = sys.argv[1:] or ["README.md", "CONTRIBUTING.md", "docs/algorithms.md", "docs/dependencies.md", *sorted(
    path for pattern in ("docs/manual/*.md", "lab/*.md", "lab/*/README.md", "lab/results/*.md", "src/**/README.md", "tools/**/README.md", "tests/**/README.md")
    for path in glob.glob(pattern, recursive=True))]
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
for room in ("src", "tests", "lab", *glob.glob("src/*/"), *glob.glob("tools/*/*/"), *glob.glob("tests/*/"), *glob.glob("lab/*/")):
    if not os.path.isfile(os.path.join(room, "README.md")) and room.rstrip("/") not in ("lab/notes", "tools/tamis/texts"):
        print(f"{room}: has no README.md")
        missing += 1
files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True).stdout.split()
there = {os.path.basename(file) for file in files}
for file in files if len(sys.argv) == 1 else ():
    if not file.endswith((".c", ".h", ".cc", ".simt")) or not os.path.isfile(file):
        continue
    with open(file, encoding="utf-8", errors="replace") as text:
        for comment in re.findall(r"/\*.*?\*/|//[^\n]*", text.read(), re.S):
            checked += 1
            for path in re.findall(rf"(?<![\w./-])((?:{FOLDERS})/[\w./*?-]+)", comment):
                if not glob.glob(path.rstrip(".")) and not path.startswith("tests/.../"):
                    print(f"{file}: {path} is not there")
                    missing += 1
            for name in re.findall(r"(?<![\w./<-])([a-z]\w*\.(?:c|h|simt|sh))\b", comment):
                if name not in there | OTHERS:
                    print(f"{file}: {name} is not there")
                    missing += 1
for name in set(glob.glob("docs/examples/*.c") + glob.glob("docs/examples/*.out")) - shown if len(sys.argv) == 1 else ():
    print(f"{name}: no page shows it")
    missing += 1
print(f"{len(pages)} pages, {checked} paths, {missing} missing")
sys.exit(missing > 0 or checked == 0)
