#!/usr/bin/env python3
"""Writes the C interface for ctypes from the public headers, and formulas from src/base/edge_rows.h and src/expression/functions.h. The build calls it.

    scripts/python-declarations.py FILE    writes python/tamis/_declarations.py, if anything in it changed

Whatever it cannot read in a header is an error: nothing is left out silently.
"""
from __future__ import annotations

import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
HEADERS = ["types", "tamis", "gradient", "stream", "structure", "shard", "transport", "group", "slabs", "matrix", "generate", "mask", "dense", "message", "graph_attention", "edge_network", "cached_attention", "reference",
           "algorithms", "ceilings", "cache", "data", "ml"]  # each header after the headers it includes
OF_MODELS = {"data", "ml"}  # headers whose functions are in libtamis_ml
WIDTH = 120

SCALARS = {"int": "c_int", "unsigned": "c_uint", "bool": "c_bool", "float": "c_float", "double": "c_double", "size_t": "c_size_t",
           "uint8_t": "c_uint8", "uint16_t": "c_uint16", "uint32_t": "c_uint32", "uint64_t": "c_uint64", "int64_t": "c_int64",
           "int32_t": "c_int32"}


class Headers:
    """The declarations of the headers read so far."""

    def __init__(self):
        self.constants = []   # enumerators: (name, value)
        self.enumerations = set()
        self.structures = []  # structures: (name, [(field, type)]); pointers to functions: (name, type)
        self.opaque = set()
        self.initial = []     # (macro, {field: value})
        self.functions = {"tamis": [], "tamis_ml": []}
        self.known = {}

    def type_of(self, text, stars, array=None):
        """Return the ctypes expression of a C type: `const tamis_dense *` gives POINTER(tamis_dense), `struct tamis_mask *`, which a later header
        declares, c_void_p."""
        words = [word for word in text.split() if word not in ("const", "struct")]
        if len(words) != 1:
            sys.exit(f"python-declarations.py: type '{text}' is not understood")
        word = words[0]
        if word == "void" and not stars:
            return "None"
        pointer = {"void": "c_void_p", "char": "c_char_p", **dict.fromkeys(self.opaque, "c_void_p")}.get(word) if stars else None
        if stars and "struct" in text.split() and word not in self.known:
            pointer = "c_void_p"
        base = pointer or {"char": "c_char", **SCALARS, **dict.fromkeys(self.enumerations, "c_int")}.get(word, word if word in self.known else None)
        if not base:
            sys.exit(f"python-declarations.py: type '{text}' is not known")
        stars -= pointer is not None
        for _ in range(stars):
            base = f"POINTER({base})"
        return f"{base} * {array}" if array else base

    def declarators(self, declaration):
        """Return (name, type) of each declarator, as in `const void *a, *b` or `double x[2]`."""
        declaration = re.sub(r"\*\s*const\b\s*", "*", declaration)
        function = re.fullmatch(r"(.+?)\(\*(\w+)(?:\[(\d+)\])?\)\((.*)\)", declaration)
        if function:
            result, name, count, arguments = function.groups()
            made = self.callback(result, arguments)
            return [(name, f"{made} * {count}" if count else made)]
        first, *others = [piece.strip() for piece in declaration.split(",")]
        base, stars, name, array = re.fullmatch(r"((?:\w+\s+)*?\w+)\s*(\**)\s*(\w+)((?:\[\w+\])*)", first).groups()
        found = [(name, self.type_of(base, len(stars), self.length(array)))]
        for other in others:
            stars, name, array = re.fullmatch(r"(\**)\s*(\w+)((?:\[\w+\])*)", other).groups()
            found.append((name, self.type_of(base, len(stars), self.length(array))))
        return found

    @staticmethod
    def length(text):
        """Return the dimensions of `[2][6]` as factors, in ctypes' order."""
        return " * ".join(reversed(re.findall(r"\w+", text)))

    def arguments(self, text):
        """Return the types of a parameter list."""
        if text.strip() in ("", "void"):
            return []
        return [self.declarators(re.sub(r"\[\w*\]$", "", piece.strip()))[0][1] for piece in text.split(",")]

    def callback(self, result, arguments):
        base, stars = re.fullmatch(r"(.*?)\s*(\**)", result.strip()).groups()
        return f"CFUNCTYPE({', '.join([self.type_of(base, len(stars)), *self.arguments(arguments)])})"

    def initializer(self, macro, body):
        """Record {field: value} of an initializer such as `{ .alpha = 1.0 }`."""
        values = {}
        for field, value in re.findall(r"\.(\w+)\s*=\s*([^,]+)", body):
            names, value = dict(self.constants), value.strip()
            values[field] = names[value] if value in names else float(value) if re.search(r"[.e]", value) else int(value)
        self.initial.append((macro, values))

    def read(self, name, library):
        """Add the declarations of a header."""
        text = (SOURCE / "include" / "tamis" / f"{name}.h").read_text(encoding="utf-8")
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S).replace("\\\n", " ")
        directives = re.findall(r"^#define\s+(\w+)[ \t]+(\S.*)$", text, re.M)
        text = re.sub(r"^\s*#.*$", "", text, flags=re.M).replace('extern "C" {', "")
        text = re.sub(r"\s+", " ", text)
        position = 0
        # declarations of types and functions, at the top level of a header
        statement = re.compile(r"\s*(?:\}|((?:[^;{]|\{[^}]*\})*;))")
        while position < len(text.rstrip()):
            match = statement.match(text, position)
            if not match:
                sys.exit(f"python-declarations.py: {name}.h: '{text[position:position + 60]}' is not understood")
            position = match.end()
            if match.group(1):
                self.statement(name, match.group(1).strip().rstrip(";").strip(), library)
        for macro, value in directives:
            number = re.fullmatch(r"\(\(\w+\)\s*(-?\d+)\)|(\d+)", value.strip())  # with or without a cast
            if number:
                self.constants.append((macro, int(number[1] or number[2])))
        for macro, value in directives:
            if value.strip().startswith("{"):
                self.initializer(macro, value.strip()[1:-1])

    def statement(self, header, text, library):
        enumeration = re.fullmatch(r"typedef enum \w+ \{(.*)\} (\w+)", text)
        structure = re.fullmatch(r"typedef struct \w+ \{(.*)\} (\w+)", text)
        opaque = re.fullmatch(r"typedef struct (\w+) \1", text)
        callback = re.fullmatch(r"typedef (.+?)\(\*(\w+)\)\((.*)\)", text)
        function = re.fullmatch(r"TAMIS_API (.+?)(\w+)\((.*)\)", text)
        if enumeration:
            value = -1
            for piece in filter(None, (piece.strip() for piece in enumeration.group(1).split(","))):
                name, _, given = (part.strip() for part in piece.partition("="))
                value = int(given) if given else value + 1
                self.constants.append((name, value))
            self.enumerations.add(enumeration.group(2))
        elif structure:
            fields = [field for declaration in structure.group(1).split(";") if declaration.strip()
                      for field in self.declarators(declaration.strip())]
            self.structures.append((structure.group(2), fields))
            self.known[structure.group(2)] = True
        elif opaque:
            self.opaque.add(opaque.group(1))
        elif callback:
            self.structures.append((callback.group(2), self.callback(callback.group(1), callback.group(3))))
            self.known[callback.group(2)] = True
        elif function:
            base, stars = re.fullmatch(r"(.*?)\s*(\**)", function.group(1).strip()).groups()
            self.functions[library].append((function.group(2), self.type_of(base, len(stars)), self.arguments(function.group(3))))
        else:
            sys.exit(f"python-declarations.py: {header}.h: '{text}' is not understood")


def wrapped(opening, pieces, closing):
    """Return `opening piece, piece closing` in lines of at most WIDTH characters; later lines are indented to the opening's end."""
    lines, line = [], opening
    for number, piece in enumerate(pieces):
        piece += closing if number == len(pieces) - 1 else ","
        if line.strip() and line != opening and len(line) + 1 + len(piece) > WIDTH:
            lines.append(line)
            line = " " * len(opening) + piece
        else:
            line += piece if line == opening else " " + piece
    return "\n".join([*lines, line]) if pieces else opening + closing


def balanced(text):
    """Return the arguments between text's first parenthesis and the matching one, and their length."""
    arguments, depth = [""], 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return [argument.strip() for argument in arguments], at + 1
        if sign == "," and depth == 1:
            arguments.append("")
        elif at > 0:
            arguments[-1] += sign
    sys.exit("python-declarations.py: a row does not end")


def formula(text):
    """Return a formula as a Python expression. Its functions are v's; so are its variables, but for operands a, b, c."""
    names = {**{name: f"v.{name.lower()}" for name in ("x", "y", "e", "f", "scale", "slope", "epsilon", "SELECT", "EXP", "LOG", "TANH", "ERF", "ERFC", "SQRT", "FLOOR", "POW", "QUOTIENT")},
             **{name: name for name in "abc"}, "NUMBER": ""}
    unknown = set(re.findall(r"[A-Za-z_]\w*", text)) - set(names) | set(re.findall(r"[^\w\s().,+*/<>=!-]", text))
    if unknown:
        sys.exit(f"python-declarations.py: {text}: {', '.join(sorted(unknown))} is not understood")
    return re.sub(r"[A-Za-z_]\w*", lambda name: names[name[0]], text)


def rows(path, macro):
    """Yield the arguments of the rows of a macro in the sources."""
    text = (SOURCE / "src" / path).read_text(encoding="utf-8").replace("\\\n", " ")
    text = re.sub(r"/\*.*?\*/", " ", text[text.index(f"#define {macro}(ROW)") + len(macro) + 13:], flags=re.S).lstrip()
    while text.startswith("ROW("):
        row, length = balanced(text[3:])
        yield row
        text = text[3 + length:].lstrip()


def edges():
    """Return lines of Python with the formulas of each edge's gradient, which cannot overflow, and of each function of expressions."""
    lines = ["", "", "# of each edge: how S's value enters; f, exp's argument in it (v.e) and df/dx; by src/base/edge_rows.h", "EDGE_FORMULAS = {"]
    for name, _, _, entry, _, _, _, exponential, f, derivative in rows("base/edge_rows.h", "TAMIS_EDGES"):
        of_e = "None" if exponential == "NONE" else f'lambda v: {formula(balanced(exponential.removeprefix("EXPONENTIAL"))[0][0])}'
        lines.append(wrapped(f"    TAMIS_EDGE_{name}: (", [f'"{entry.removeprefix("TAMIS_S_").lower()}"', f"lambda v: {formula(f)}", of_e, f"lambda v: {formula(derivative)}"], "),"))
    lines += ["}", "", "# of each function of expressions, by its name and the number of its operands: its value and its derivative, by src/expression/functions.h", "FUNCTION_FORMULAS = {"]
    for _, name, arity, _, _, value, derivative in rows("expression/functions.h", "TAMIS_FUNCTIONS"):
        lines.append(wrapped(f"    ({name}, {arity}): (", [f"lambda v, {', '.join('abc'[:int(arity)])}: {formula(value)}", derivative], "),"))
    return [*lines, "}"]


def written():
    """Return the text of the Python file."""
    headers = Headers()
    for name in HEADERS:
        headers.read(name, "tamis_ml" if name in OF_MODELS else "tamis")
    missing = {path.stem for path in (SOURCE / "include" / "tamis").glob("*.h")} - set(HEADERS)
    if missing:
        sys.exit(f"python-declarations.py: HEADERS lacks {', '.join(sorted(missing))}")
    lines = ['"""The C interface for ctypes: the build writes this file from include/tamis (scripts/python-declarations.py)."""',
             "# ruff: noqa",
             "from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int64, c_size_t,",
             "                    c_uint, c_uint16, c_uint64, c_void_p)",
             ""]
    lines += [f"{name} = {value}" for name, value in headers.constants]
    for name, fields in headers.structures:
        if isinstance(fields, str):
            lines += ["", "", f"{name} = {fields}"]
            continue
        lines += ["", "", f"class {name}(Structure):"]
        lines.append(wrapped("    _fields_ = [", [f'("{field}", {kind})' for field, kind in fields], "]"))
    lines += ["", "", "# the values of the _INIT macros that are not zero"]
    lines += [wrapped(f"{name} = {{", [f'"{field}": {value}' for field, value in values.items()], "}") for name, values in headers.initial]
    for library, functions in headers.functions.items():
        lines += ["", f"{library.upper()}_FUNCTIONS = {{"]
        for name, result, arguments in functions:
            lines.append(wrapped(f'    "{name}": ({result}, [', arguments, "]),"))
        lines.append("}")
    return "\n".join(lines + edges()) + "\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    path, text = pathlib.Path(sys.argv[1]), written()
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    part = path.with_name(f".{path.name}.{os.getpid()}")  # two builds may write it at once
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:  # sources that cannot be written build all the same, for whoever needs no Python
        print(f"python-declarations.py: {path} is not written, and the Python package does not run from here: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
