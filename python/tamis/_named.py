"""Arrays that an expression as edge names, as the library takes them with a call."""
from __future__ import annotations

import ctypes
import math
from typing import Any, NamedTuple

from . import _declarations as c
from . import _errors
from ._views import column, view

KINDS = "row", "col", "entry"


class Operands(NamedTuple):
    """The library's operands, and what they refer to."""

    operands: Any
    views: list
    keep: list


def shape_of(name: str, lead: tuple[int, ...], sizes: tuple[int, int, int]) -> tuple[int, ...]:
    """Return the shape of an array of each member of a batch. sizes: rows, columns and entries of op(S)."""
    kind = name.split(".")[0] if "." in name else "head"
    return (*lead, sizes[KINDS.index(kind)]) if kind in KINDS else lead


def operands_of(named: dict[str, Any], lead: tuple[int, ...], sizes: tuple[int, int, int], device: str) -> Operands:
    """Return the arrays of a call; lead: the leading dimensions of its operands. They are not copied."""
    views: list = []
    keep: list = []
    made = (c.tamis_edge_operand * len(named))()
    for operand, (name, array) in zip(made, named.items()):
        v, wanted = view(array, name), shape_of(name, lead, sizes)
        if v.device != device:
            raise _errors.ArgumentError(f"{name} is on {v.device} and S on {device}: move one")
        own = tuple(v.shape)
        one = math.prod(own) == 1
        if "." in name and name.split(".")[0] in KINDS:
            if own not in (wanted, wanted[-1:]):
                raise _errors.ArgumentError(f"{name} has shape {own}: expected {wanted[-1:]}{f' or {wanted}' if lead else ''}")
            found = column(v, name, wanted[-1], math.prod(lead))
        else:
            if own != lead and not one:
                raise _errors.ArgumentError(f"{name} has shape {own}: expected one number{f', or {lead}' if lead else ''}")
            if not one:
                _check_packed(v, name)
            apart = 0 if one else 1
            found = c.tamis_dense(v.pointer, 1, 1, 0, v.type, c.TAMIS_ROW_MAJOR, c.TAMIS_HOST if v.device == "cpu" else c.TAMIS_DEVICE, apart)
        views.append(v)
        keep.append(found)
        operand.name = name.encode()
        operand.values = ctypes.pointer(found)
    return Operands(ctypes.cast(made, ctypes.POINTER(c.tamis_edge_operand)), views, [made, *keep])


def _check_packed(v: Any, name: str) -> None:
    step = 1
    for size, stride in zip(reversed(v.shape), reversed(v.strides)):
        if size > 1 and stride != step:
            raise _errors.ArgumentError(f"{name} is not contiguous: copy it")
        step *= size
