"""The shared libraries: finding them, typing their functions, raising their errors as exceptions; their objects that Python owns, and objects that may be
found as long as they live.

ctypes releases the GIL during each call, so other threads of Python run meanwhile. No Python code runs when an object dies, as in a
`__del__` or that of `weakref.WeakSet`: an interrupt within such code is printed and lost.
"""
from __future__ import annotations

import ctypes
import functools
import itertools
import operator
import os
import pathlib
import weakref
from typing import Any, Generic, Iterator, Optional, TypeVar

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


# ------------------------------------------------------------------------------ lives of objects


class Owned:
    """An object of the library, destroyed with its last user.

    It is there, empty, before the call that makes the object, which puts it into `value`: Python may raise Ctrl-C right after the call. The functions
    that destroy take NULL.
    """

    __slots__ = ("value", "free", "keep")
    __del__ = property(operator.attrgetter("free"))

    def __init__(self, destroy: Any, keep: Any = None, value: ctypes.c_void_p | None = None):
        self.value = ctypes.c_void_p() if value is None else value
        self.keep = keep  # kept until the object is destroyed
        self.free: Any = functools.partial(destroy, self.value)


T = TypeVar("T")
FEW = 64


class Living(Generic[T]):
    """Weak references to objects by keys. Dead ones are removed when there are twice as many entries as survived the last time."""

    def __init__(self) -> None:
        self._references: dict[Any, weakref.ref[T]] = {}
        self._most = FEW
        self._numbers = itertools.count()

    def add(self, item: T) -> None:
        """Add an object without a key."""
        self[next(self._numbers)] = item

    def __setitem__(self, key: Any, item: T) -> None:
        self._references[key] = weakref.ref(item)
        if len(self._references) > self._most:
            for other, reference in self._references.copy().items():
                if reference() is None:
                    self._references.pop(other, None)
            self._most = max(FEW, 2 * len(self._references))

    def get(self, key: Any) -> Optional[T]:
        """Return the object, if it is alive."""
        reference = self._references.get(key)
        return None if reference is None else reference()

    def __iter__(self) -> Iterator[T]:
        for reference in self._references.copy().values():
            item = reference()
            if item is not None:
                yield item
