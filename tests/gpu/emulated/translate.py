"""Turns the text of a CUDA kernel into C++ for this processor, and compiles it: a library with a function launch_NAME for each
kernel. emulated.h has what CUDA has and C++ has not; PTX in asm statements becomes calls of ptx_... there, named by its opcode.
Starting Python takes as long as a kernel: one process takes all. Each line it reads has SOURCE.cu, LIBRARY.so and options -DNAME=VALUE,
apart by tabs, and it answers with a line: 0, or 1 if that fails."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
COMPILER = os.environ.get("CXX", "g++")
FLAGS = ["-w", "-std=c++17"]  # no warnings: the text is CUDA's, and NVRTC looks at it
CODE = ["-O1", "-fno-strict-aliasing", "-ffp-contract=off", "-fpermissive", "-fPIC", "-mf16c"]


def closing(text, start):
    """The place of the parenthesis that closes the one at `start`. Strings are passed over."""
    depth = 0
    for found in re.finditer(r'"(?:\\.|[^"\\])*"|[()]', text[start:]):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth == 0:
            return start + found.start()
    raise ValueError("a parenthesis that is not closed")


def split(text, separator):
    """Splits where the separator is in no parentheses, brackets or strings."""
    parts, depth, last = [], 0, 0
    for found in re.finditer(r'"(?:\\.|[^"\\])*"|[][(){}' + separator + "]", text):
        if found[0] in "([{":
            depth += 1
        elif found[0] in ")]}":
            depth -= 1
        elif found[0] == separator and depth == 0:
            parts.append(text[last:found.start()])
            last = found.end()
    return [*parts, text[last:]]


def instruction(template):
    """The name of what a template does: its first opcode that is not about predicates."""
    for line in re.split(r"[;\n{}]", template):
        words = re.sub(r"^\s*(?:\w+:)?\s*(?:@!?\w+)?\s*", "", line).split()
        if words and not words[0].startswith((".reg", "setp", "bra", "%")) and "." in words[0]:
            return re.sub(r"\W+", "_", words[0])
    return None


def translated(match_text):
    """The call for what stands between the parentheses of an asm statement."""
    sections = split(match_text, ":")
    template = "".join(re.findall(r'"((?:\\.|[^"\\])*)"', sections[0])).encode().decode("unicode_escape")
    name = instruction(template)
    if name is None:
        return "((void)0)"
    operands = []
    for section in sections[1:3]:
        for operand in split(section, ","):
            found = re.fullmatch(r'\s*"([^"]*)"\s*\((.*)\)\s*', operand, re.S)
            if found:
                operands.append(found[2])
    if name.startswith("wgmma_mma_async"):  # the last of the numbers behind tells how the second operand lies
        across = re.search(r"(\d+)\s*;", template[template.index("wgmma"):])[1] == "1"
        return f"emulated_wgmma<{str('bf16' in name).lower()}>({str(across).lower()}, {', '.join(operands)})"
    return f"ptx_{name}({', '.join(operands)})"


def without_asm(text):
    result, last = [], 0
    for found in re.finditer(r"\basm(?:\s+volatile)?\s*\(", text):
        end = closing(text, found.end() - 1)
        result += [text[last:found.start()], translated(text[found.end():end])]
        last = end + 1
    return "".join([*result, text[last:]])


def launchers(text):
    """For each kernel a function that takes its arguments as the driver gets them."""
    made = []
    for found in re.finditer(r"__kernel__\s+void\s+(\w+)\s*\(", text):
        parameters = split(text[found.end():closing(text, found.end() - 1)], ",")
        types = [re.sub(r"\b\w+\s*$", "", parameter).strip() for parameter in parameters]
        arguments = ", ".join(f"*({kind} *)arguments[{i}]" for i, kind in enumerate(types))
        made.append(f'extern "C" void launch_{found[1]}(void **arguments) {{ {found[1]}({arguments}); }}')
    return "\n".join(made)


def header():
    """A copy of emulated.h beside its precompiled form: reading it takes longer than most kernels."""
    folder = pathlib.Path(os.environ["XDG_CACHE_HOME"])
    copy, made = folder / "emulated.h", folder / "emulated.h.gch"
    if not made.exists():
        folder.mkdir(parents=True, exist_ok=True)
        mine = folder / f"{os.getpid()}.gch"  # other tests make theirs at the same time
        subprocess.run([COMPILER, *FLAGS, *CODE, "-x", "c++-header", str(HERE / "emulated.h"), "-o", str(mine)], check=True)
        shutil.copy(HERE / "emulated.h", folder / f"{os.getpid()}.h")
        os.replace(folder / f"{os.getpid()}.h", copy)
        os.replace(mine, made)
    return str(copy)


def compiled(source, library, *definitions):
    text = subprocess.run([COMPILER, "-E", "-P", "-x", "c++", *FLAGS, "-imacros", str(HERE / "emulated.h"), *definitions, source],
                          check=True, capture_output=True, text=True).stdout
    text = without_asm(text)
    text = re.sub(r"extern\s+__shared__\s+(?:alignas\(\d+\)\s+)?char\s+(\w+)\[\]\s*;", r"char *const \1 = emulated_shared();", text)
    text = text.replace("__shared__", "static").replace("#pragma unroll", "//")
    text += "\n" + launchers(text)
    text = text.replace('extern "C" __kernel__', "static")
    file = pathlib.Path(library).with_suffix(".cpp")
    file.write_text(text, encoding="utf-8")
    # what a kernel calls of C's library and of emulate.c is there where it is loaded
    subprocess.run([COMPILER, *FLAGS, *CODE, "-include", header(), "-shared", str(file), "-o", library, "-nostdlib", "-lgcc"], check=True)


for line in iter(sys.stdin.readline, ""):
    try:
        compiled(*line.rstrip("\n").split("\t"))
        print(0, flush=True)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(error, getattr(error, "stderr", None) or "", file=sys.stderr)
        print(1, flush=True)
