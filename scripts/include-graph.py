#!/usr/bin/env python3
"""Checks the dependencies between files: include-graph.py [BUILD]   names each fault; the exit code is 1 if there is one.
A source file and its header count as one file: src/io/read.c and src/io/read.h. A file depends on the files it includes and, if BUILD
is a build folder, on the files that define the functions and tables it uses. A module of the Python package is a file too: it includes
the modules that it imports, wherever in it. The rules:
- no cycle: files that depend on each other, directly or not, are one idea in several places;
- no arrow up: a file depends on no layer above its own and on no other backend; programs depend on public headers and on SHARED;
- a header declares what its own source file defines; a header without one may declare what its folder's files share;
- no two types in headers have the same name.
TYPES lists the known faults of the last rule; remove an entry once it is fixed."""
import collections
import glob
import os
import re
import subprocess
import sys
from ast import Import, ImportFrom, parse, walk

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
SUFFIXES = (".c", ".h", ".simt", ".cu")
# the folders that each folder of src may depend on, besides itself
BELOW = {
    "base": (),
    "expression": ("base",),
    "sparse": ("base",),
    "generate": ("base", "sparse"),
    "io": ("base", "sparse"),
    "reference": ("base", "expression", "sparse"),
    "backend": ("base", "expression"),
    "cpu": ("base", "expression", "sparse", "backend"),
    "gpu": ("base", "expression", "sparse", "backend"),
    "lab": ("base", "expression", "sparse", "backend", "cpu", "gpu"),
    "select": ("base", "expression", "sparse", "backend"),
    "core": ("base", "expression", "sparse", "backend", "select", "cpu", "gpu"),
    "group": ("base", "sparse", "core"),
    "slabs": ("base", "sparse", "core"),
    "mpi": (),  # only the public headers
    "ml": ("base", "sparse", "io", "group"),  # it calls the core by the public headers
    "xla": ("base",),                # likewise
    "peers": ("tools",),  # lab/bench/peers: the program refers to them by one table
}
# the program's rooms: what each may need beside itself
ROOMS = {"cli": (), "group": ("cli",), "bench": ("cli", "group"), "model": ("cli", "group"), "commands": ("cli", "group", "bench", "model")}
# the rooms of the Python package, which are folders, and modules above them; all other modules are the room tamis
PACKAGE = "python/tamis"
MODULES = {"tamis": (), "ml": ("tamis",), "torch": ("tamis",), "tune": ("tamis", "ml"), "evaluate": ("tamis", "ml", "tune")}
# what programs need beside the public headers
SHARED = {("tools", "src/base/fnv"), ("tools", "src/base/load"), ("tools", "src/base/temporaries"), ("tools", "src/base/threads"), ("tools", "src/base/sizes"), ("peers", "src/base/sizes"), ("peers", "src/base/threads"),
          ("peers", "src/base/half"), ("peers", "src/cpu/kernels/exp"),  # of the specialised loops
          ("tools", "src/select/laboratory"), ("tools", "src/io/files/input"), ("tools", "src/io/files/output"),
          ("tools", "src/io/formats/formats"), ("tools", "src/io/files/standard"), ("tools", "src/io/formats/standard_format"), ("tools", "src/sparse/submatrix")}
# the tables of the laboratory's methods, which the backends' own tables continue with
SHARED |= {("gpu", "lab/gpu/algorithms")}
SHARED |= {("cpu", os.path.relpath(path, ROOT)[:-2]) for path in glob.glob(os.path.join(ROOT, "lab/cpu/*/*.c"))}
TYPES = {"tamis_prepared", "tamis_prepared_backward"}  # each backend's own


def node(path):
    stem, suffix = os.path.splitext(path)
    return stem if suffix in (".c", ".h") else path


def sources():
    """Yield each file's path and text, without comments."""
    for top in ("src", "lab", "tools"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in sorted(names):
                if name.endswith(SUFFIXES):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as text:
                        yield os.path.relpath(path, ROOT), re.sub(r"/\*.*?\*/|//[^\n]*", " ", text.read(), flags=re.S)


def includes(files):
    """Yield (file, file it includes), found in the compiler's include folders, and the same of Python's modules."""
    for path, text in files.items():
        tops = ["tools/tamis"] if layer(path) in ("tools", "peers") else ["src", "."]
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
            tried = [os.path.normpath(os.path.join(folder, name)) for folder in [os.path.dirname(path), *tops]]
            found = next((one for one in tried if one in files), None)
            if found:
                yield node(path), node(found)
            elif layer(path) in ("tools", "peers") and os.path.join("src", name) in files:
                yield node(path), node(os.path.join("src", name))
    yield from imports(modules())


def modules():
    """Return each module of the Python package by its dotted name: tamis.torch is torch/__init__.py."""
    found = {}
    for folder, _, names in os.walk(os.path.join(ROOT, PACKAGE)):
        for name in names:
            if name.endswith(".py"):
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                found[os.path.relpath(path, "python")[:-3].removesuffix("/__init__").replace("/", ".")] = path
    return found


def imports(found):
    """Yield (module, module it imports) as paths. Of `from . import x`, x is the module, if there is one, else a name of the package."""
    for name, path in found.items():
        with open(os.path.join(ROOT, path), encoding="utf-8") as text:
            tree = parse(text.read())
        package = name.split(".") if path.endswith("__init__.py") else name.split(".")[:-1]
        for one in walk(tree):
            if isinstance(one, Import):
                wanted = [alias.name for alias in one.names]
            elif isinstance(one, ImportFrom):
                base = ".".join([*(package[:len(package) + 1 - one.level] if one.level else []), *([one.module] if one.module else [])])
                wanted = [f"{base}.{alias.name}" if f"{base}.{alias.name}" in found else base for alias in one.names]
            else:
                continue
            yield from ((path, found[other]) for other in wanted if other in found and found[other] != path)


def symbols(build, files):
    """Return from a build's objects the file that defines each function and table, and those that each file uses."""
    objects = {}
    for place, _, names in os.walk(build):
        for name in names:
            path = os.path.relpath(os.path.join(place, name), build)
            match = re.fullmatch(r"(.*)CMakeFiles/tamis(?:\w*_objects|_tool|_peers|_program)\.dir/(.*)\.c\.o", path)
            source = match and os.path.normpath(os.path.join(match.group(1), match.group(2).replace("__", "..")))
            if source and source + ".c" in files:
                objects[path] = source
    if not objects:
        sys.exit(f"include-graph.py: {build} holds no objects of the library")
    defined, used = {}, collections.defaultdict(set)
    for line in subprocess.run(["nm", "-A", *objects], cwd=build, capture_output=True, text=True, check=True).stdout.splitlines():
        path, rest = line.split(":", 1)
        kind, symbol = rest.split()[-2:]
        if kind in "TDBR":
            defined[symbol] = objects[path]
        elif kind == "U":
            used[objects[path]].add(symbol)
    return defined, used


def declarations(files, defined):
    """Yield (header, file that defines what it declares) for functions and tables that another file than the header's defines."""
    for path, text in files.items():
        if path.endswith(".h") and node(path) + ".c" in files:
            for line in re.findall(r"^[a-zA-Z][^;{}]*;", text, re.M):
                symbol = re.search(r"\b((?:tamis|tool)_\w+)(?:\(|\[|;)", line)
                if symbol and not line.startswith(("typedef", "static")) and defined.get(symbol.group(1), node(path)) != node(path):
                    yield path, defined[symbol.group(1)]


def types(files):
    """Return the types that several headers define, with those headers."""
    found = collections.defaultdict(set)
    for path, text in files.items():
        for one in re.findall(r"\b(?:struct|union|enum)\s+((?:tamis|tool)_\w+)\s*\{|^\}\s*((?:tamis|tool)_\w+);", text, re.M):
            found["".join(one)].add(path)
    return {name: sorted(paths) for name, paths in found.items() if len(paths) > 1}


def circles(pairs):
    """Return the arrows within each strongly connected component of several files (Tarjan's algorithm)."""
    arrows = collections.defaultdict(list)
    for a, b in sorted(pairs):
        arrows[a].append(b)
    index, low, stack, found = {}, {}, [], []

    def visit(a):
        index[a] = low[a] = len(index)
        stack.append(a)
        for b in arrows.get(a, ()):
            if b not in index:
                visit(b)
                low[a] = min(low[a], low[b])
            elif b in stack:
                low[a] = min(low[a], index[b])
        if low[a] == index[a]:
            inside = stack[stack.index(a):]
            if len(inside) > 1:
                found.append([(one, other) for one in inside for other in arrows.get(one, ()) if other in inside])
            del stack[stack.index(a):]

    sys.setrecursionlimit(10000)
    for a in sorted(arrows):
        if a not in index:
            visit(a)
    return found


def layer(path):
    if path.startswith(PACKAGE):
        first = path[len(PACKAGE) + 1:].removesuffix(".py").split("/")[0]
        return first if first in MODULES else "tamis"
    top, folder = path.split("/")[:2]
    return folder if top == "src" else "tools" if top == "tools" else "peers" if folder == "bench" else "lab"


def points_up(a, b, what):
    if a.startswith(PACKAGE):
        return layer(a) != layer(b) and layer(b) not in MODULES[layer(a)]
    rooms = [path.split("/")[2] for path in (a, b) if path.startswith("tools/tamis/")]
    if len(rooms) == 2 and rooms[0] != rooms[1] and rooms[1] not in ROOMS.get(rooms[0], ()):
        return True
    over = layer(a) != layer(b) and layer(b) not in BELOW.get(layer(a), ()) and (layer(a), b) not in SHARED
    return over and not (what == "calls" and layer(a) in ("ml", "mpi", "tools", "peers"))  # by the public headers


def main():
    files = dict(sources())
    needs = {pair: "includes" for pair in includes(files)}
    several = types(files)
    faults = [f"{name} is a type of " + " and ".join(paths) for name, paths in sorted(several.items()) if name not in TYPES]
    faults += [f"{name} is mended: take it from TYPES" for name in sorted(TYPES - several.keys())]
    if len(sys.argv) > 1:
        defined, used = symbols(sys.argv[1], files)
        for a, names in used.items():
            for name in names & defined.keys():
                needs.setdefault((a, defined[name]), "calls")
        faults += [f"{a} declares what {b} defines" for a, b in sorted(set(declarations(files, defined)))]
    needs = {(a, b): what for (a, b), what in needs.items() if a != b}
    faults += [f"{a} {what} {b}, which is not below it" for (a, b), what in sorted(needs.items()) if points_up(a, b, what)]
    faults += ["a circle: " + ", ".join(f"{a} {needs[a, b]} {b}" for a, b in inner) for inner in circles(needs)]
    for fault in faults:
        print(fault)
    print(f"{len({node(path) for path in files}) + len(modules())} files, {len(needs)} arrows, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
