"""The exceptions: each is also a ValueError, a MemoryError or a RuntimeError, and carries the library's message."""
from __future__ import annotations

import ctypes
import re
from numbers import Integral
from typing import Any

from . import _declarations as c


class Error(Exception):
    """The base of this package's exceptions about data and devices. `status` is the C library's error number, 0 if there is none."""

    status = 0


class ArgumentError(Error, ValueError):
    """An argument is out of its range, or disagrees with another."""


class PatternError(Error, ValueError):
    """The arrays of a sparse matrix violate its format; the message names the first bad entry."""


class UnsupportedError(Error, NotImplementedError):
    """A valid request that this device, algorithm or build does not support."""


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed."""


class DeviceError(Error, RuntimeError):
    """A device is absent or failed."""


class LibraryError(Error, RuntimeError):
    """Any other error of the library: a cancelled call, a defect."""


class FileError(LibraryError, OSError):
    """A file cannot be opened, read or written."""


OF_STATUS = {
    c.TAMIS_ERROR_ARGUMENT: ArgumentError,
    c.TAMIS_ERROR_PATTERN: PatternError,
    c.TAMIS_ERROR_MEMORY: OutOfMemoryError,
    c.TAMIS_ERROR_UNSUPPORTED: UnsupportedError,
    c.TAMIS_ERROR_OVERFLOW: ArgumentError,
    c.TAMIS_ERROR_FORMAT: ArgumentError,
    c.TAMIS_ERROR_DEVICE: DeviceError,
    c.TAMIS_ERROR_FILE: FileError,
}


def renamed(error: Exception, names: dict[str, str]) -> Exception:
    """Return the same error with the caller's names of arguments: {"A": "q"}."""
    other = type(error)(re.sub(rf"\b({'|'.join(map(re.escape, names))})(?:\b|(?<=\.))", lambda found: names[found[0]], str(error)))
    if isinstance(error, Error):
        other.status = error.status  # type: ignore[attr-defined]
    return other


def of_status(status: int, message: str) -> Error:
    """Return the exception for an error number of the C library. Its message names arguments instead of fields: scale for options.edge_scale."""
    message = re.sub(r"\b(?:options|execution)\.(?:edge_(?=scale|slope|epsilon))?(?=\w)", "", message)
    error = OF_STATUS.get(status, LibraryError)(message)
    error.status = status
    return error


def fits(name: str, value: Any, kind: Any) -> Any:
    """Return the integer `value` if it fits the ctypes type `kind`; ctypes itself truncates silently."""
    if isinstance(value, Integral) and kind(int(value)).value != value:
        bits, signed = 8 * ctypes.sizeof(kind), kind(-1).value < 0
        least, most = (f"-2**{bits - 1}", f"2**{bits - 1} - 1") if signed else ("0", f"2**{bits} - 1")
        raise ArgumentError(f"{name} = {value}: expected a whole number from {least} to {most}")
    return value


def filled(kind: Any, defaults: dict[str, Any], given: dict[str, Any], sizes: tuple[str, ...]) -> Any:
    """Return a structure of the library with these fields; the fields in `sizes` are integers from a caller and are checked."""
    struct = kind(**{**defaults, **given})
    for name in sizes:
        if name in given and getattr(struct, name) != given[name]:
            fits(name, given[name], next(field[1] for field in kind._fields_ if field[0] == name))
    return struct
