"""The order of work in foreign streams: an array by __cuda_array_interface__ may name the stream in which its library uses it.

A call computes in one stream, which waits for those that the arrays name; afterwards these wait for it, so that what they do later
sees the results, and changes no operand that is still read. The host waits for neither.
"""
from __future__ import annotations

import functools
from ctypes import byref
from typing import Iterable, Optional

from ._device import opened
from ._library import lib, must
from ._owned import Owned
from ._views import View

_LEGACY = (None, 0, 1)  # CUDA's default stream, in the library's numbers and in CUDA's


def others(views: Iterable[Optional[View]], stream: Optional[int]) -> list[int]:
    """Return the streams that arrays name, except the call's own."""
    named = {v.stream for v in views if v is not None and v.stream is not None}
    return sorted(named - ({1} if stream in _LEGACY else {stream}))


def wait(device: str, waiting: Optional[int], for_stream: Optional[int]) -> None:
    """Make later work in one stream wait for the work submitted to another so far."""
    handle = opened(device).handle
    event = Owned(functools.partial(lib.tamis_event_destroy, handle))
    must(lib.tamis_event_record(handle, for_stream, byref(event.value)))
    must(lib.tamis_stream_wait(handle, waiting, event.value))


def settle(view: View) -> View:
    """Wait for the work submitted to an array's stream: for index arrays and factors, which are read once and kept."""
    if view.stream is not None:
        must(lib.tamis_stream_synchronize(opened(view.device).handle, view.stream))
    return view
