#!/usr/bin/env python3
"""The layout of the public interface: the size of every structure, the place and size of each field, the value of each enumerator.
  layout.py print HEADER...     writes a C program that prints it, a line each
  layout.py header LAYOUT.txt   writes such lines as a C header of constants: NAME_size, and STRUCTURE_FIELD for a place
The names come from the headers themselves, so that one that is added or moved cannot be forgotten.
"""
import re
import sys


def structures(text):
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\}\s*(\w+);", text, flags=re.S):
        fields = []
        for declaration in body.split(";"):
            pointer = re.search(r"\(\*(\w+)", declaration)
            if pointer:
                fields.append(pointer.group(1))
            elif declaration.strip():
                fields += [re.findall(r"(\w+)\s*(?:\[[^\]]*\])*\s*$", piece.replace("*", " "))[0] for piece in declaration.split(",")]
        yield name, [f for f in fields if f not in ("reserved", "reserved_flags")]


def enumerators(text):
    for body in re.findall(r"typedef enum \w+ \{(.*?)\}", text, flags=re.S):
        yield from re.findall(r"\b(TAMIS_\w+)\s*(?:=[^,]*)?(?:,|$)", body)


def printing(paths):
    print("#include <stddef.h>\n#include <stdio.h>")
    for path in paths:
        print(f"#include <tamis/{path.rsplit('/', 1)[-1]}>")
    print("int main(void) {")
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        for name, fields in structures(text):
            if fields[:1] != ["size"]:  # a program says how large its own is: the library's may be larger
                print(f'    printf("{name} %zu\\n", sizeof({name}));')
            for field in fields:
                print(f'    printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
        for name in enumerators(text):
            print(f'    printf("{name} %d\\n", (int){name});')
    print("    return 0;\n}")


def header(path):
    with open(path, encoding="utf-8") as file:
        for name, value in (line.split()[:2] for line in file):
            constant = name.replace(".", "_") if "." in name or name.isupper() else name + "_size"
            print(f"enum {{ {constant} = {value} }};")


if __name__ == "__main__":
    printing(sys.argv[2:]) if sys.argv[1] == "print" else header(sys.argv[2])
