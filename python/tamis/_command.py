"""What the commands `python -m tamis.report`, `compare` and `roofline` share. The program starts them as `tamis report` and so on."""
from __future__ import annotations

import argparse
import errno
import os
import pathlib
import sys
from typing import Callable

from .results import ResultsError

OK, FAILED, USAGE, FILE, UNSUPPORTED, INTERRUPTED = 0, 1, 2, 3, 4, 130  # the program's exit codes

_name = "tamis"


def parser(name: str, summary: str) -> argparse.ArgumentParser:
    global _name
    _name = f"tamis {name}"
    return argparse.ArgumentParser(prog=_name, description=f"{_name} - {summary}", allow_abbrev=False)


def error(message: str) -> None:
    print(f"{_name}: {message}", file=sys.stderr)


def warning(message: str) -> None:
    error(f"warning: {message}")


def run(main: Callable[[argparse.Namespace], int], arguments: argparse.ArgumentParser) -> int:
    """Runs a command and returns its exit code. Messages name the command, as the program's do."""
    given = arguments.parse_args()
    try:
        code = main(given)
        sys.stdout.flush()
        return code
    except ResultsError as problem:
        error(str(problem))
        return FILE
    except ImportError as problem:
        error(f"{problem.name} is missing: pip install 'tamis[report]'" if problem.name else str(problem))
        return UNSUPPORTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FILE
    except KeyboardInterrupt:
        return INTERRUPTED


def write(path: str, content: str | bytes) -> None:
    """Writes a file, or standard output for "-". A file appears only when it is whole; the target of a link is written."""
    data = content.encode() if isinstance(content, str) else content
    if path == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        return
    target = pathlib.Path(os.path.realpath(path))
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        try:
            part.write_bytes(data)
            os.replace(part, target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise ResultsError(f"{path}: cannot be written: {problem.strerror or problem}") from None
