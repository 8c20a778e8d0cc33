"""Objects of the library that Python owns."""
from __future__ import annotations

import ctypes
import functools
import operator
from typing import Any


class Owned:
    """An object of the library, destroyed with its last user.

    It is there, empty, before the call that makes the object, which puts it into `value`: Python may raise Ctrl-C right after the call. The functions
    that destroy take NULL. No Python code runs then: an interrupt within a `__del__` would be printed and lost.
    """

    __slots__ = ("value", "free", "keep")
    __del__ = property(operator.attrgetter("free"))

    def __init__(self, destroy: Any, keep: Any = None, value: ctypes.c_void_p | None = None):
        self.value = ctypes.c_void_p() if value is None else value
        self.keep = keep  # kept until the object is destroyed
        self.free: Any = functools.partial(destroy, self.value)
