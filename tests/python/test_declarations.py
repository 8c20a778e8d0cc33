"""The generated declarations: those of the headers as they are, with the sizes and numbers of the C compiler."""
from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import pytest

from tamis import _declarations, _library


def structures():
    return {name: kind for name, kind in vars(_declarations).items()
            if isinstance(kind, type) and issubclass(kind, ctypes.Structure) and kind is not ctypes.Structure}


def test_layout_and_numbers_are_the_compilers(source, tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    wanted, lines = {}, []
    for name, kind in structures().items():
        wanted[name] = [ctypes.sizeof(kind)]
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        for field, *_ in kind._fields_:
            place = getattr(kind, field)
            wanted[f"{name}.{field}"] = [place.offset, place.size]
            lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
    for name, value in vars(_declarations).items():
        if name.startswith("TAMIS_") and isinstance(value, int):
            wanted[name] = [value]
            lines.append(f'printf("{name} %d\\n", (int){name});')
    headers = sorted(path.name for path in (source / "include" / "tamis").glob("*.h"))
    (tmp_path / "tamis").mkdir()
    (tmp_path / "tamis" / "version.h").write_text("")
    (tmp_path / "layout.c").write_text("#include <stdio.h>\n" + "".join(f"#include <tamis/{header}>\n" for header in headers)
                                       + "int main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
    subprocess.run([compiler, "-std=c17", "-I", source / "include", "-I", tmp_path, "-o", tmp_path / "layout", tmp_path / "layout.c"], check=True)
    printed = subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True).stdout
    assert {line.split()[0]: [int(number) for number in line.split()[1:]] for line in printed.splitlines()} == wanted


def test_initial_values_are_the_compilers(source):
    text = (source / "include" / "tamis" / "tamis.h").read_text()
    macro = re.search(r"#define TAMIS_OPTIONS_INIT(.*?)\n\n", text, re.S).group(1)
    assert set(re.findall(r"\.(\w+) =", macro)) == set(_declarations.TAMIS_OPTIONS_INIT)


def test_every_function_is_exported():
    for functions, library in ((_declarations.TAMIS_FUNCTIONS, _library.lib), (_declarations.TAMIS_ML_FUNCTIONS, _library.models())):
        assert functions
        for name in functions:
            assert getattr(library, name).argtypes is not None
