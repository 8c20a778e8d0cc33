"""Tamis: dense products only where a sparse matrix keeps them.

    sddmm      P = alpha * edge(S, A B^T) + beta * P     at the nonzeros of S
    spmm       C = alpha * S B + beta * C
    fused      E = alpha * edge(S, A B^T) D + beta * E
    attention  softmax(scale * Q K^T at the nonzeros of mask) V

S is a sparse matrix of SciPy, CuPy or PyTorch, or (offsets, columns, values); dense arrays may be NumPy's, PyTorch's, CuPy's, or any
library's with DLPack or buffers. Nothing is copied: an array that would need a copy is refused with the line that makes one.
`Pattern` and `plan` prepare a pattern for many calls. `tamis.torch` has the operations with gradients.

Importing this package opens no GPU; the library is opened at the first use of a name. Exceptions are ValueErrors, MemoryErrors or
RuntimeErrors with the library's message. Examples assume `import numpy as np, scipy.sparse, tamis`.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._device import Device, devices, get_threads, set_threads
    from ._errors import ArgumentError, DeviceError, Error, FileError, LibraryError, OutOfMemoryError, PatternError, UnsupportedError
    from ._operations import attention, fused, sddmm, spmm
    from ._pattern import Pattern
    from ._plan import Report
    from ._planned import Algorithm, Plan, algorithms, plan

    __version__: str

__all__ = ["Algorithm", "ArgumentError", "Device", "DeviceError", "Error", "FileError", "LibraryError", "OutOfMemoryError", "Pattern",
           "PatternError", "Plan", "Report", "UnsupportedError", "algorithms", "attention", "devices", "fused", "get_threads", "plan", "sddmm", "set_threads", "spmm"]

_MODULES = {
    "_device": ("Device", "devices", "get_threads", "set_threads"),
    "_errors": ("ArgumentError", "DeviceError", "Error", "FileError", "LibraryError", "OutOfMemoryError", "PatternError", "UnsupportedError"),
    "_library": ("__version__",),
    "_operations": ("attention", "fused", "sddmm", "spmm"),
    "_pattern": ("Pattern",),
    "_plan": ("Report",),
    "_planned": ("Algorithm", "Plan", "algorithms", "plan"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
_SUBMODULES = ("torch", "jax", "ml")


def _get(name: str) -> Any:
    if name in _SUBMODULES:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:  # so that hasattr(tamis, "torch") works without PyTorch
            raise AttributeError(f"tamis.{name} needs {error.name}, which is not installed: pip install {error.name}") from error
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


if not TYPE_CHECKING:  # hidden from type checkers, which would accept every name
    __getattr__ = _get


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_SUBMODULES])
