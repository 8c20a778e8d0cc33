"""Objects that may be found as long as they live.

No Python code runs when one of them dies, as that of `weakref.WeakSet` does: an interrupt within such code is printed and lost.
"""
from __future__ import annotations

import itertools
import weakref
from typing import Any, Generic, Iterator, Optional, TypeVar

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
