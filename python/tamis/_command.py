"""Common functions of commands that the program starts, such as `tamis tune` as `python -m tamis.tune`, and tamis_lab's commands."""
from __future__ import annotations

import argparse
import errno
import os
import pathlib
import re
import signal
import sys
from typing import Any, Callable, Iterable

from . import _declarations as c
from ._errors import Error

OK, FAILED, USAGE, FILE, UNSUPPORTED, MEMORY = 0, 1, 2, 3, 4, 5  # the program's exit codes
OF_STATUS = {c.TAMIS_ERROR_ARGUMENT: USAGE, c.TAMIS_ERROR_PATTERN: FILE, c.TAMIS_ERROR_MEMORY: MEMORY, c.TAMIS_ERROR_UNSUPPORTED: UNSUPPORTED,
             c.TAMIS_ERROR_OVERFLOW: FILE, c.TAMIS_ERROR_FILE: FILE, c.TAMIS_ERROR_FORMAT: FILE, c.TAMIS_ERROR_DEVICE: UNSUPPORTED}

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_name = "tamis"


class ResultsError(ValueError):
    """A file that cannot be read, with the bad line."""


def parser(name: str, summary: str) -> argparse.ArgumentParser:
    global _name
    _name = f"tamis {name}"
    return argparse.ArgumentParser(prog=_name, description=f"{_name} - {summary}", allow_abbrev=False)


def add_output(arguments: argparse.ArgumentParser, **given: Any) -> None:
    arguments.add_argument("-o", "--output", metavar="FILE", **given)
    arguments.add_argument("--no-clobber", action="store_true", help="refuse to replace an existing file")


def visible(text: str) -> str:
    """Makes foreign text, such as a file's name, safe for a terminal: control bytes, and bytes that are no text, become \\x1b and the like."""
    known = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return re.sub("[\x00-\x1f\x7f-\x9f\udc80-\udcff]", lambda found: known.get(found[0]) or "".join(
        f"\\x{byte:02x}" for byte in found[0].encode(errors="surrogateescape")), text)


def error(message: str) -> None:
    print(f"{_name}: {visible(message)}", file=sys.stderr)


def warning(message: str) -> None:
    error(f"warning: {message}")


def run(main: Callable[[argparse.Namespace], int], arguments: argparse.ArgumentParser) -> int:
    """Runs a command and returns its exit code. Messages name the command, as the program's do. A signal ends the process at once, also
    within a call of the library, where Python would wait."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    given = arguments.parse_intermixed_args()
    try:
        code = main(given)
        sys.stdout.flush()
        return code
    except ResultsError as problem:
        error(str(problem))
        return FILE
    except Error as problem:  # an error without a number comes from the package itself, which refused an argument
        error(str(problem))
        return OF_STATUS.get(problem.status or c.TAMIS_ERROR_ARGUMENT, FAILED)
    except ImportError as problem:
        error(f"{problem.name} is missing: pip install {problem.name}" if problem.name else str(problem))
        return UNSUPPORTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FILE


def can_write(path: str, inputs: Iterable[str] = (), no_clobber: bool = False) -> None:
    """Refuses an output that is an input or cannot be written, before the work for it is done."""
    target = pathlib.Path(os.path.realpath(path))
    for one in inputs if path != "-" and target.is_file() else ():
        if os.path.isfile(one) and os.path.samefile(one, target):
            raise ResultsError(f"--output: {path} is the same file as {one}, which is read; write to another one")
    if no_clobber and path != "-" and target.is_file():
        raise ResultsError(f"{path} exists, and --no-clobber is given")
    reason = (None if path == "-" else errno.EISDIR if target.is_dir() else errno.ENOENT if not target.parent.is_dir()
              else None if os.access(target if target.exists() else target.parent, os.W_OK) else errno.EACCES)
    if reason:
        raise ResultsError(f"{path}: cannot be written: {os.strerror(reason)}")


def write(path: str, content: str | bytes) -> None:
    """Writes a file, or standard output for "-". A file appears only when it is whole; the target of a link is written."""
    data = content.encode() if isinstance(content, str) else content
    can_write(path)
    if path == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        return
    target = pathlib.Path(os.path.realpath(path))
    there = target.is_file()
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # signals are blocked while the file is incomplete
    try:
        part.write_bytes(data)
        os.replace(part, target)
    except OSError as problem:
        raise ResultsError(f"{path}: cannot be written: {problem.strerror or problem}") from None
    finally:
        part.unlink(missing_ok=True)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if there:
        error(f"replaced {path}")
