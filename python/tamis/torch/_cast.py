"""Operands in the type of torch.autocast, as each operation takes them while it is on."""
from __future__ import annotations

import contextlib
from typing import Any, Optional

import torch
from torch import Tensor

from ._direct import autocast, compiling

HALF = (torch.float16, torch.bfloat16)


def type_for(kind: str) -> Optional[torch.dtype]:
    """Return autocast's type for a kind of device; None: autocast is off."""
    if kind not in ("cpu", "cuda"):
        return None
    try:
        return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
    except TypeError:  # before PyTorch 2.4
        if kind == "cuda":
            return torch.get_autocast_gpu_dtype() if torch.is_autocast_enabled() else None
        return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None


def operands(*given: Optional[Tensor], wide: bool = False) -> Any:
    """Cast floating-point operands, except fp64, to autocast's type; wide: to fp32, in which autocast computes exponentials."""
    if not compiling() and not autocast():
        return given
    dtype = None
    for x in given:
        if isinstance(x, Tensor):
            dtype = type_for(x.device.type)
            break
    if dtype is None:
        return given
    dtype = torch.float32 if wide else dtype
    return tuple(x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() and x.dtype != torch.float64 else x for x in given)


def off(kind: str) -> Any:
    """Context in which autocast is off for a kind of device."""
    if type_for(kind) is None:
        return contextlib.nullcontext()
    return torch.autocast(kind, enabled=False)
