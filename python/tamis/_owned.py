"""Objects of the library that Python owns, and objects that may be found as long as they live.

No Python code runs when one of them dies, as in a `__del__` or that of `weakref.WeakSet`: an interrupt within such code is printed and lost.
"""
from __future__ import annotations

import ctypes
import functools
import itertools
import operator
import weakref
from typing import Any, Generic, Iterator, Optional, TypeVar


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
