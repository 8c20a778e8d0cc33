#!/usr/bin/env python3
"""Finds products of sizes in calls that allocate: they overflow where an input is crafted. Such a product comes from tamis_times()
or tamis_bytes() of src/base/sizes.h, which end at a number that no allocation gives. A size times small constants is fine: sizes
have that much room. An argument that is a name is followed to what the function sets it to."""
import re
import subprocess
import sys

CALL = re.compile(r"\b(?:\w*allocate\w*|\w*workspace_reserve|[mc]alloc|realloc\w*|keep|take_room)\(")
INNER = re.compile(r"\w*\([^()]*\)|\[[^][]*\]")  # an innermost call, parenthesis or index
CAST = re.compile(r"\((?:const )?(?:size_t|u?int(?:8|16|32|64)?_t|int)\)(?=[\w(*])")
SMALL = re.compile(r"\d{1,2}(?:LL|U)?")
FACTORS = re.compile(r"[\w.]+(?: \* [\w.]+)+")


def plain(text):
    """Remove comments and strings, but keep their line breaks."""
    keep_lines = lambda match: re.sub(r"[^\n]", "", match[0])
    text = re.sub(r'/\*.*?\*/|//[^\n]*', keep_lines, text, flags=re.S)
    return re.sub(r'"(?:[^"\\\n]|\\.)*"', "s", text)


def multiplies(text):
    """Return True if an expression multiplies two numbers, neither of them a small constant."""
    text = re.sub(r"sizeof \*+[\w.>\[\]-]+", "SIZE", " ".join(CAST.sub("", text).split()))
    text = re.sub(r"->|\+\+", ".", text)
    if "(double)" in text:
        return False
    while True:
        if any(sum(not SMALL.fullmatch(factor) for factor in product[0].split(" * ")) > 1 for product in FACTORS.finditer(text)):
            return True
        inner = INNER.search(text)
        if not inner:
            return False
        inside = inner[0][inner[0].index("[" if inner[0][0] == "[" else "(") + 1:-1]
        if not inner[0].startswith("sizeof") and multiplies(inside):
            return True
        text = text[:inner.start()] + ("SIZE" if inner[0].startswith("sizeof") else "" if inner[0][0] == "[" else "x") + text[inner.end():]


def arguments(text, at):
    """Return the text from `at` to the parenthesis that matches the one before `at`."""
    depth, end = 1, at
    while depth and end < len(text):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return text[at:end - 1]


def faults(path):
    with open(path, encoding="utf-8") as file:
        text = plain(file.read())
    for body in re.finditer(r"^[^\s#}].*?^}", text, re.M | re.S):  # a function
        for call in CALL.finditer(body[0]):
            given = arguments(body[0], call.end())
            found = [call.start()] if multiplies(given) else []
            for name in re.findall(r"(?:^|, )(?:\(size_t\))?(\w+)(?=,|$)", " ".join(given.split())):
                found += [set_to.start() for set_to in re.finditer(rf"\b{name} = ([^;]*);", body[0]) if multiplies(set_to[1])]
            for at in found:
                yield text.count("\n", 0, body.start() + at) + 1


def main():
    paths = sys.argv[1:] or subprocess.run(["git", "ls-files", "src/*.[ch]", "tools/*.[ch]", "lab/*.[ch]"], check=True, text=True,
                                           stdout=subprocess.PIPE).stdout.split()
    found = sorted({(path, line) for path in paths for line in faults(path)})
    for path, line in found:
        print(f"{path}:{line}: a product of sizes is allocated unchecked: use tamis_times() or tamis_bytes()")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
