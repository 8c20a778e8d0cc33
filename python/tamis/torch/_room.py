"""Memory for large results on the CPU.

The first touch of new memory costs a fault of the system for each page, which takes longer than computing what is written there. With the
large pages that Linux gives to those who ask for them it takes a third.
"""
from __future__ import annotations

import ctypes
import sys
from typing import Optional

from torch import Tensor

LEAST, PAGE, MADV_HUGEPAGE = 8 << 20, 2 << 20, 14  # least bytes of a tensor that justify the request; bytes of a large page
_advise = getattr(ctypes.CDLL(None), "madvise", None) if sys.platform == "linux" else None
if _advise is not None:
    _advise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


def room(*results: Optional[Tensor]) -> bool:
    """Request large pages for tensors whose content is written next. The system may refuse, which is harmless. Returns True if a tensor is so large."""
    large = False
    for x in results:
        if x is None or _advise is None or x.device.type != "cpu":
            continue
        size = x.numel() * x.element_size()
        if size >= LEAST:
            large = True
            begin = -(-x.data_ptr() // PAGE) * PAGE
            _advise(begin, (x.data_ptr() + size - begin) // PAGE * PAGE, MADV_HUGEPAGE)
    return large
