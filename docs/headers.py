#!/usr/bin/env python3
"""The C reference from the public headers, whose comments are plain C.
    headers.py FILE.h         prints the header with its comments as Doxygen wants them: Doxygen's input filter
    headers.py pages FOLDER   writes a page for each header, with its declarations in their order; names those without a comment
A comment before several functions without an empty line between them is that of all: it is shown below the last of them."""
import os
import re
import sys

TOP = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
INCLUDE = os.path.join(TOP, "include/tamis")
HEADERS = [os.path.join(INCLUDE, name) for name in sorted(os.listdir(INCLUDE))] + [os.path.join(TOP, "src/mpi/tamis/mpi.h")]
DECLARATION = re.compile(r"TAMIS_API .*?(?P<function>\w+)\((?!\*)|typedef (?P<kind>struct|enum) \w+ {|typedef .*?(?P<typedef>\w+)(?:\)\(.*|;)"
                         r"|#define (?P<define>TAMIS_(?!API|\w*_H\b)\w+)")


def paragraphs(path):
    """The lines of a header between empty lines; a comment counts as one line."""
    with open(path, encoding="utf-8") as text:
        text = re.sub(r"/\*.*?\*/", lambda comment: comment[0].replace("\n", "\1"), text.read(), flags=re.S)
    return [paragraph.split("\n") for paragraph in text.split("\n\n")]


def name_of(line):
    """The directive and the name of what a line declares."""
    found = DECLARATION.match(line)
    if not found:
        return None
    if found["kind"]:
        return found["kind"], line.split()[2]
    return next((kind, name) for kind, name in found.groupdict().items() if name)


def known():
    """All names of the headers."""
    names = set()
    for path in HEADERS:
        with open(path, encoding="utf-8") as text:
            names |= set(re.findall(r"\btamis_\w+|\bTAMIS_\w+", re.sub(r"/\*.*?\*/", "", text.read(), flags=re.S)))
    return names


def doxygen(comment, opener, names):
    """A C comment as Doxygen's: names become links, indented blocks that are no list stay as they are."""
    def link(text):
        text = re.sub(r"([<>#])", r"\\\1", text)
        return re.sub(r"(?<![\w/])(tamis_\w+|TAMIS_\w+)\b(?!\()", lambda name: "#" + name[0] if name[0] in names else name[0], text)

    out, literal, in_list = [], False, False
    for number, line in enumerate(comment[2:-2].split("\1")):
        text = re.sub(r"^ *\* ?", "", line) if number else line
        indented = re.match(r"  +\S", text) and comment.startswith("/*\1")
        in_list = bool(indented and (in_list or re.match(r"  +(-|\d\.) ", text)))
        if bool(indented and not in_list) != literal and (text.strip() or literal):
            literal = not literal
            out[-1] += " @verbatim" if literal else ""
            if not literal:
                out.append("@endverbatim")
        out.append(text if literal else link(text))
    return opener + "\n".join(out) + ("\n@endverbatim" if literal else "") + " */"


def filtered(path):
    names, first = known(), True
    for paragraph in paragraphs(path):
        block = None  # the comment that awaits its declaration
        starts = [n for n, line in enumerate(paragraph) if line.startswith("TAMIS_API ")]
        plain = [n for n, end in zip(starts, starts[1:] + [len(paragraph)]) if "/*" not in "".join(paragraph[n:end])]
        for number, line in enumerate(paragraph):
            if line.startswith("/*"):
                if re.match(r"/\* ---", line):
                    continue
                block = doxygen(line, "/** @file\n" if first else "/**", names)
                first = False
                if plain and starts:
                    continue
            elif "/*" in line:
                opener = "/**" if line.lstrip().startswith("/*") else "/**<"
                line = re.sub(r"/\*.*?\*/", lambda comment: doxygen(comment[0], opener, names), line)
            if block and (not plain or number == plain[-1]):
                print(block)
                block = None
            if not line.startswith("/*"):
                print(line)
        if block:
            print(block)
        print()


def page(path):
    """A header's page, and the names of what has no comment."""
    name = os.path.basename(path)[:-2]
    out = [f"({name.replace('_', '__')}_8h)=\n# tamis/{name}.h\n", f"```{{doxygenfile}} tamis/{name}.h\n:sections: detaileddescription\n```\n"]
    bare = []
    for paragraph in paragraphs(path):
        commented = False
        for number, line in enumerate(paragraph):
            section = re.match(r"/\* -+ ([^\1*]+)", line)
            if section:
                title = section[1].strip()
                out.append(f"## {title[0].upper()}{title[1:]}\n")
            elif line.startswith("/*"):
                commented = True
            found = name_of(line)
            if found and f"}} {found[1]}\n" not in "".join(out):
                members = ":members:\n:undoc-members:\n" if found[0] == "struct" else ""
                out.append(f"```{{doxygen{found[0]}}} {found[1]}\n{members}```\n")
                if not commented and "/*" not in " ".join(paragraph[number:number + 4]) and found[0] != "define":
                    bare.append(f"{os.path.relpath(path, TOP)}: {found[1]} has no comment")
    return "\n".join(out), bare


def main():
    if sys.argv[1] != "pages":
        filtered(sys.argv[1])
        return
    faults = []
    pages = {"index": "# C reference\n\nEvery declaration of the public headers; `tamis/tamis.h` is the core.\n\n```{toctree}\n"}
    for path in sorted(HEADERS, key=lambda path: "tamis/tamis.h" not in path):
        name = os.path.basename(path)[:-2]
        if name != "version":
            pages[name], bare = page(path)
            pages["index"] += name + "\n"
            faults += bare
    pages["index"] += "```\n"
    for name, text in pages.items():
        with open(os.path.join(sys.argv[2], name + ".md"), "w", encoding="utf-8") as out:
            out.write(text)
    sys.exit("\n".join(faults) or None)


if __name__ == "__main__":
    main()
