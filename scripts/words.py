#!/usr/bin/env python3
"""Checks the words of comments and pages: words.py   prints each fault; exit code 1
No comment begins with Of, What or Whether, and no text has a word of the last column of the table in CONTRIBUTING.md, "Words". FEW
limits what is left of older habits; lower it when some are gone."""
import os
import re
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
TOPS = ("src", "include", "tools", "python", "lab", "docs", "scripts")
FEW = {"begins": 3, "habits": 52}
BEGINS = re.compile(r'(?:/\*\*?|//|^ \*|#|""")\s*(?:Of|What|Whether)\b')
HABITS = re.compile(r"\b(?:so many|those of|of which)\b")

with open("CONTRIBUTING.md", encoding="utf-8") as text:
    table = re.search(r"^## Words$.*?^\|---.*?\n(.*?)\n\n", text.read(), re.M | re.S).group(1)
refused = [word.strip() for row in table.split("\n") for word in row.split("|")[3].split(",")]
REFUSED = re.compile(r"\b(?:" + "|".join(map(re.escape, refused)) + r")s?\b", re.I)

found = {"begins": [], "habits": []}
faults = 0
for path in subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *TOPS], capture_output=True, text=True).stdout.split():
    code = path.endswith((".c", ".h", ".cc", ".simt", ".cu", ".py", ".sh", ".cmake", "CMakeLists.txt"))
    if not os.path.isfile(path) or path == "scripts/words.py" or not (code or path.endswith(".md")) or path.startswith(("lab/notes", "lab/results")):
        continue
    with open(path, encoding="utf-8", errors="replace") as text:
        for number, line in enumerate(text, 1):
            place = f"{path}:{number}: {line.strip()[:120]}"
            if REFUSED.search(line):
                print(f"{place}\n  not {REFUSED.search(line).group(0)}: see CONTRIBUTING.md, Words")
                faults += 1
            if code and BEGINS.search(line):
                found["begins"].append(place)
            if code and HABITS.search(line):
                found["habits"].append(place)
for kind, places in found.items():
    if len(places) > FEW[kind]:
        print("\n".join(places))
        print(f"{len(places)} places, and at most {FEW[kind]} are left: say it in other words")
        faults += 1
print(f"lint: words: {faults} faults, {len(found['begins'])} comments begin with Of, What or Whether, {len(found['habits'])} have older habits")
sys.exit(faults > 0)
