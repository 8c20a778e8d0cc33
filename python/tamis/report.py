"""Makes a page of what was measured: `python -m tamis.report RESULTS.jsonl ... -o report.html`.

It runs the program's `tamis report` with the same arguments and ends with its exit code. The program is the one that TAMIS_PROGRAM
names, else `tamis` on PATH, else that of this checkout, build/release/tools/tamis/tamis.
"""
import os
import pathlib
import shutil
import subprocess
import sys

BUILT = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "tools" / "tamis" / "tamis"
NOT_FOUND = 127  # as shells have it


def find_program():
    """The program's path, or None. What TAMIS_PROGRAM names is not looked for elsewhere."""
    named = os.environ.get("TAMIS_PROGRAM")
    if named:
        return shutil.which(named)
    return shutil.which("tamis") or (str(BUILT) if os.access(BUILT, os.X_OK) else None)


def main(arguments=None):
    """Runs `tamis report` and returns its exit code."""
    program = find_program()
    if program is None:
        named = os.environ.get("TAMIS_PROGRAM")
        where = f"TAMIS_PROGRAM names {named}, which is no program" if named else (
            f"it is neither named by TAMIS_PROGRAM, nor on PATH as tamis, nor built as {BUILT} (make builds it)")
        print(f"tamis.report: the program was not found: {where}", file=sys.stderr)
        return NOT_FOUND
    code = subprocess.call([program, "report", *(sys.argv[1:] if arguments is None else arguments)])
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
