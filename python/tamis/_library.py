"""The shared libraries: finding them, typing their functions, raising their errors as exceptions.

ctypes releases the GIL during each call, so other threads of Python run meanwhile.
"""
from __future__ import annotations

import ctypes
import functools
import os
import pathlib

from . import _declarations as c
from . import _errors, _interrupts

HERE = pathlib.Path(__file__).resolve().parent
BUILT = HERE.parents[1] / "build" / "release" / "src"  # in a checkout


def _places(name: str) -> list[pathlib.Path]:
    """Return the paths where a library may be: beside TAMIS_LIBRARY, in the installed package, in the checkout's build."""
    named = os.environ.get("TAMIS_LIBRARY")
    folders = [pathlib.Path(named).parent / part for part in (".", "ml", "xla", "python")] if named else [HERE / "lib", BUILT, BUILT / "ml", BUILT / "xla", BUILT / "python"]
    return [folder / name for folder in folders]


def _opened(name: str, functions: dict[str, tuple]) -> ctypes.CDLL:
    places = _places(name)
    for place in places:
        if place.exists():
            library = ctypes.CDLL(str(place))
            break
    else:
        raise ImportError(f"{name} was not found in {', '.join(str(place.parent) for place in places)}: install the wheel, run `make`, "
                          f"or let TAMIS_LIBRARY name libtamis.so.1")
    for function, (result, arguments) in functions.items():
        entry = getattr(library, function)
        entry.restype, entry.argtypes = result, arguments
    return library


lib = _opened("libtamis.so.1", c.TAMIS_FUNCTIONS)


@functools.lru_cache(maxsize=None)
def models() -> ctypes.CDLL:
    """libtamis_ml, opened at the first call."""
    return _opened("libtamis_ml.so.1", c.TAMIS_ML_FUNCTIONS)


def handlers() -> ctypes.CDLL:
    """libtamis_xla, which XLA calls, opened at the first call."""
    return _opened("libtamis_xla.so.1", {"tamis_xla_start": (None, [ctypes.c_void_p, ctypes.c_int])})


def must(status: int) -> None:
    """Raise the exception for a status other than TAMIS_OK, and an interrupt that occurred in an allocator."""
    if status:
        raise _interrupts.memory.failure(_errors.of_status(status, text(lib.tamis_last_error())))
    if _interrupts.memory.refused is not None:
        _interrupts.memory.succeeded()


def text(value: bytes | None) -> str:
    """Return a string of the library; NULL becomes an empty string."""
    return (value or b"").decode("utf-8", "replace")


def named(function: str, name: str, what: str) -> int:
    """Return the number of a name, by the library's function: named("tamis_edge_from_name", "mask", "edge")."""
    number = ctypes.c_int()
    if not isinstance(name, str):
        raise TypeError(f"{what} = {name!r}: expected a string")
    status = getattr(lib, function)(name.encode(), number)
    if status:  # the function's message says "name"; replace it by the caller's term
        raise _errors.of_status(status, text(lib.tamis_last_error()).replace("name = ", f"{what} = ", 1))
    return number.value


__version__: str = text(lib.tamis_version())
