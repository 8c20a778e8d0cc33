"""The page of the program's JSON against runs of the program: json-page.py PROGRAM PAGE FOLDER [--update]

Below each ```sh block of the page stands what its commands print, as JSON. It must have the same members in the same order, with values
of the same types, as it has when it is run here; and the table of the page has each member that any of them has, and no other. With
--update the blocks are written anew."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

program, page, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), Path(sys.argv[3])
BLOCK = re.compile(r"```sh\n(?P<command>.*?)```\n```json\n(?P<output>.*?)```\n", re.DOTALL)
LONGEST, WIDEST, WIDTH = 3, 72, 110  # what the page shows: entries of an array, characters of a text and of a line


def values(text):
    """The JSON values that stand one after the other."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        value, at = decoder.raw_decode(text, at)
        found.append(value)
    return found


def shape(value):
    """Names and types; null is any type, an array has the shape of its first entry."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


def agree(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(agree(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, list):
        return not a or not b or agree(a[0], b[0])
    return a == b or "NoneType" in (a, b)


def members(value):
    if isinstance(value, list):
        return set().union(*(members(inner) for inner in value))
    return set(value).union(*(members(inner) for inner in value.values())) if isinstance(value, dict) else set()


def shortened(value):
    if isinstance(value, dict):
        return {name: "Linux x86_64" if name == "system" else shortened(inner) for name, inner in value.items()}
    if isinstance(value, str):
        return value if len(value) <= WIDEST else value[:WIDEST] + "..."
    return [shortened(inner) for inner in value[:LONGEST]] if isinstance(value, list) else value


def filled(pieces):
    """Pieces with commas between them, as many on a line as fit."""
    lines = [""]
    for number, piece in enumerate(pieces):
        piece += "," if number + 1 < len(pieces) else ""
        if lines[-1] and len(lines[-1].split("\n")[-1] + piece.split("\n")[0]) > WIDTH:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + piece
    return "\n ".join(lines)


def written(value):
    """JSON in lines of at most WIDTH, where it can be divided."""
    if len(text := json.dumps(value)) <= WIDTH and not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return text
    if isinstance(value, list):
        return "[" + ",\n ".join(written(inner).replace("\n", "\n ") for inner in value) + "]"
    if isinstance(value, dict):
        return "{" + filled([f"{json.dumps(name)}: {written(inner)}".replace("\n", "\n ") for name, inner in value.items()]) + "}"
    return text


def main():
    update = "--update" in sys.argv
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "tamis").symlink_to(program)
    environment = {**os.environ, "PATH": f"{(folder / 'bin').resolve()}:{os.environ['PATH']}", "TAMIS_CUDA_DRIVER": "none",
                   "TAMIS_OPENCL": "none", "OMP_NUM_THREADS": "2", "XDG_CACHE_HOME": str((folder / "cache").resolve()),
                   "PYTHONPATH": os.pathsep.join(str(page.resolve().parents[2] / one) for one in ("python", "lab/python")), "TAMIS_PYTHON": sys.executable}
    text, failures, seen = page.read_text(), [], set()

    def check(block):
        done = subprocess.run(["sh", "-ec", block["command"]], cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            failures.append(f"{block['command']}ends with {done.returncode}: {done.stderr}")
            return block.group()
        printed, shown = values(done.stdout), values(block["output"])
        seen.update(*(members(value) for value in printed))
        if len(printed) != len(shown) or not all(agree(shape(a), shape(b)) for a, b in zip(printed, shown)):
            failures.append(f"{block['command']}prints\n{done.stdout}but the page has\n{block['output']}")
        output = "\n".join(written(shortened(value)) for value in printed)
        return f"```sh\n{block['command']}```\n```json\n{output}\n```\n"

    renewed = BLOCK.sub(check, text)
    described = {name for row in re.findall(r"^\| (`.*?) \| ", text, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    if seen != described:
        failures.append(f"not described: {sorted(seen - described)}; described, but never printed: {sorted(described - seen)}")
    if update:
        page.write_text(renewed)
    print("\n".join(failures) if failures else f"{len(BLOCK.findall(text))} examples, {len(seen)} members")
    return bool(failures)


sys.exit(main())
