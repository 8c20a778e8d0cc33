#!/usr/bin/env python3
"""Prints the layout of every public structure: name, size, and each field with its place, as C that prints it.
  layout.py HEADER...   writes a C program to standard output
The fields come from the headers themselves, so that one that is added or moved cannot be forgotten.
"""
import re
import sys


def structures(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\}\s*(\w+);", text, flags=re.S):
        fields = []
        for declaration in body.split(";"):
            declaration = " ".join(declaration.split())
            if not declaration:
                continue
            pointer = re.search(r"\(\*(\w+)", declaration)
            if pointer:
                fields.append(pointer.group(1))
                continue
            pieces = declaration.split(",")
            for piece in pieces:
                fields.append(re.findall(r"(\w+)\s*(?:\[[^\]]*\])*\s*$", piece.replace("*", " "))[0])
        yield name, [f for f in fields if f != "reserved"]


def main():
    print("#include <stddef.h>\n#include <stdio.h>")
    for path in sys.argv[1:]:
        print(f"#include <tamis/{path.rsplit('/', 1)[-1]}>")
    print("int main(void) {")
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            for name, fields in structures(file.read()):
                if fields[:1] != ["size"]:  # a program says how large its own is: the library's may be larger
                    print(f'    printf("{name} %zu\\n", sizeof({name}));')
                for field in fields:
                    print(f'    printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
    print("    return 0;\n}")


if __name__ == "__main__":
    main()
