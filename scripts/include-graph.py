#!/usr/bin/env python3
"""Checks who needs whom: include-graph.py [OBJECTS]   names each fault; exit code 1 where there is one.
A file is one with its header: src/io/read.c and src/io/read.h. Two graphs are looked at, what each includes and, where OBJECTS
is the folder of a build's objects, what defines the functions and tables that it uses. Two rules for both:
- no circle: two files that need each other, over others too, are one idea in two places;
- no arrow up: a file needs nothing of a layer above its own, nothing of a backend beside it; programs need public headers, and SHARED.
EXCEPTIONS are known faults; one that is mended must go from the list."""
import collections
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
SUFFIXES = (".c", ".h", ".simt", ".cu")
# what each folder of src may need beside itself
BELOW = {
    "base": (),
    "sparse": ("base",),
    "generate": ("base", "sparse"),
    "io": ("base", "sparse"),
    "reference": ("base", "sparse"),
    "backend": ("base",),
    "cpu": ("base", "sparse", "backend"),
    "gpu": ("base", "sparse", "backend"),
    "lab": ("base", "sparse", "backend", "cpu", "gpu"),
    "select": ("base", "sparse", "backend"),
    "core": ("base", "sparse", "backend", "select", "cpu", "gpu"),
    "group": ("base", "sparse", "core"),
    "slabs": ("base", "sparse", "core"),
    "mpi": (),  # only the public headers
    "ml": ("base", "sparse", "io", "group"),  # and the public headers, by which it calls the core
    "xla": ("base",),                # likewise
    "peers": ("tools",),  # lab/bench/peers: the program knows them by one table
}
# what programs need beside the public headers
SHARED = {("tools", "src/base/load"), ("tools", "src/base/temporaries"), ("tools", "src/base/threads"), ("peers", "src/base/threads"), ("tools", "src/select/laboratory"), ("tools", "src/io/output"),
          ("tools", "src/io/standard"), ("tools", "src/io/standard_format"), ("tools", "src/sparse/submatrix")}
# the tables of the laboratory's methods, which the backends' own tables continue with
SHARED |= {("gpu", "lab/gpu/methods")}
# circles that are still there, as (file, file it should not need)
EXCEPTIONS = set()


def node(path):
    stem, suffix = os.path.splitext(path)
    return stem if suffix in (".c", ".h") else path


def sources():
    for top in ("src", "lab", "tools"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in sorted(names):
                if name.endswith(SUFFIXES):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def includes(files):
    """(file, file it includes), by the folders in which the compiler looks."""
    for path in files:
        with open(os.path.join(ROOT, path), encoding="utf-8") as text:
            names = re.findall(r'^\s*#\s*include\s+"([^"]+)"', text.read(), re.M)
        tops = ["tools/tamis"] if layer(path) in ("tools", "peers") else ["src", "."]
        for name in names:
            tried = [os.path.normpath(os.path.join(folder, name)) for folder in [os.path.dirname(path), *tops]]
            found = next((one for one in tried if one in files), None)
            if found:
                yield node(path), node(found)
            elif layer(path) in ("tools", "peers") and os.path.join("src", name) in files:
                yield node(path), node(os.path.join("src", name))


def calls(folder, files):
    """(file, file that defines a function or table it uses), from the symbols of the objects."""
    objects = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.relpath(os.path.join(place, name), folder)
            match = re.fullmatch(r"(.*)CMakeFiles/tamis\w*objects\.dir/(.*)\.c\.o", path)
            source = match and os.path.normpath(os.path.join("src", match.group(1), match.group(2).replace("__", "..")))
            if source and source + ".c" in files:
                objects[path] = source
    defined, used = {}, collections.defaultdict(set)
    lines = subprocess.run(["nm", "-A", *objects], cwd=folder, capture_output=True, text=True, check=True).stdout if objects else ""
    for line in lines.splitlines():
        path, rest = line.split(":", 1)
        kind, symbol = rest.split()[-2:]
        if kind in "TDBR":
            defined[symbol] = objects[path]
        elif kind == "U":
            used[objects[path]].add(symbol)
    if not defined:
        sys.exit(f"include-graph.py: {folder} holds no objects of the library")
    return {(source, defined[symbol]) for source, symbols in used.items() for symbol in symbols if symbol in defined}


def circles(arrows):
    """Tarjan's strongly connected components of more than one file."""
    index, low, stack, found = {}, {}, [], []

    def visit(a):
        index[a] = low[a] = len(index)
        stack.append(a)
        for b in sorted(arrows.get(a, ())):
            if b not in index:
                visit(b)
                low[a] = min(low[a], low[b])
            elif b in stack:
                low[a] = min(low[a], index[b])
        if low[a] == index[a]:
            at = stack.index(a)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10000)
    for a in sorted(arrows):
        if a not in index:
            visit(a)
    return found


def layer(path):
    top, folder = path.split("/")[:2]
    return folder if top == "src" else "tools" if top == "tools" else "peers" if folder == "bench" else "lab"


def main():
    files = set(sources())
    graphs = {"includes": includes(files)}
    if len(sys.argv) > 1:
        graphs["calls"] = calls(sys.argv[1], files)
    faults = []
    known = set(EXCEPTIONS)
    for what, pairs in graphs.items():
        pairs = {(a, b) for a, b in pairs if a != b}
        graphs[what] = pairs
        faults += [f"{a} {what} {b}, which is not below it" for a, b in sorted(pairs)
                   if layer(a) != layer(b) and (layer(a), b) not in SHARED and layer(b) not in BELOW.get(layer(a), ())
                   and not (what == "calls" and layer(a) in ("ml", "mpi"))]  # the public API
        arrows = collections.defaultdict(set)
        for a, b in pairs - EXCEPTIONS:
            arrows[a].add(b)
        known -= pairs
        for circle in circles(arrows):
            inner = [f"{a} -> {b}" for a in circle for b in sorted(arrows[a]) if b in circle]
            faults.append(f"a circle of {what}: " + ", ".join(inner))
    faults += [f"{a} needs {b} no more: take it from EXCEPTIONS" for a, b in sorted(known)]
    for fault in faults:
        print(fault)
    counts = ", ".join(f"{len(pairs)} {what}" for what, pairs in graphs.items())
    print(f"{len({node(path) for path in files})} files, {counts}, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
