"""Masks of attention, made on the device that uses them (tamis/mask.h), from the arguments of `Pattern.mask`."""
from __future__ import annotations

import ctypes
import sys
from numbers import Integral
from typing import Any

import numpy

from . import _declarations as c
from . import _errors, _types
from ._device import opened
from ._library import lib, must
from ._sparse import Sparse, compressed
from ._views import view

INT32_MOST = 2**31 - 1


class Host:
    """Functions of NumPy for `make`; another library has a class with the same ones."""

    device = "cpu"
    stream = None

    @staticmethod
    def empty(count: int, wide: bool) -> Any:
        return numpy.empty(count, numpy.int64 if wide else numpy.int32)

    @staticmethod
    def numbers(given: Any) -> Any:
        """The caller's whole numbers as an array; anything else is returned as it is, and is refused later."""
        array = numpy.ascontiguousarray(given)
        return array.astype(numpy.int64) if array.size == 0 else array

    @staticmethod
    def kept(given: Any) -> tuple[Any, Any]:
        """Return row offsets and columns of a matrix's true entries."""
        matrix = numpy.asarray(given)
        return numpy.concatenate([[0], numpy.count_nonzero(matrix, axis=1).cumsum()]), numpy.ascontiguousarray(numpy.nonzero(matrix)[1])

    @staticmethod
    def narrow(array: Any) -> Any:
        return array.astype(numpy.int32)


def _numbers(arrays: Any, given: Any, name: str) -> Any:
    """Return the view of a list of integers on the device."""
    v = view(arrays.numbers(given), name)
    if v.type not in _types.INDEX or len(v.shape) != 1:
        raise _errors.ArgumentError(f"{name} has shape {tuple(v.shape)} and elements of {_types.NAMES[v.type]}: expected a list of whole numbers")
    if v.device != arrays.device:
        raise _errors.ArgumentError(f"{name} is on {v.device}: expected {arrays.device}, where the mask is made")
    return v


def _blocks(arrays: Any, given: Any) -> Sparse:
    """Return the view of a block mask: a pattern, or a matrix that is true for kept blocks."""
    known = getattr(given._current() if hasattr(given, "_current") else given, "sparse", None)  # of a pattern of tamis.torch
    if known is None:
        matrix = given if hasattr(given, "shape") else numpy.asarray(given)
        if len(matrix.shape) != 2:
            raise _errors.ArgumentError(f"blocks has shape {tuple(matrix.shape)}: expected a matrix with an entry for each block, or a Pattern")
        offsets, columns = arrays.kept(matrix)
        known = Sparse("blocks", (int(matrix.shape[0]), int(matrix.shape[1])), offsets, columns)
    if known.transposed or known.device != arrays.device:
        raise _errors.ArgumentError(f"blocks is {'CSC' if known.transposed else 'on ' + known.device}: expected CSR on {arrays.device}")
    return known


def _reach(window: Any) -> tuple[int, int]:
    """Return the number of columns of a window to the left and to the right; -1: no bound."""
    if window is None:
        return -1, -1
    left, right = window if isinstance(window, (tuple, list)) else (window, window)
    if (left is None and right is None) or any(side is not None and side < 0 for side in (left, right)):
        raise _errors.ArgumentError(f"window = {window}: expected a distance of 0 or more, or those to the left and to the right, one of which "
                                    f"may be None")
    return -1 if left is None else left, -1 if right is None else right


class Mask:
    """A mask with its row offsets, whose columns can be listed at any time.

    Attributes: `offsets`, `nnz`, `shape`; `wide`: columns are int64; `in_runs`: plans take it without a list of columns
    (tamis/mask.h); `struct`, the library's description; `made_by`: the arguments of `described` that make the same mask elsewhere.
    """

    def __init__(self, arrays: Any, struct: Any, keep: Any, offsets: Any, nnz: int, in_runs: bool, made_by: tuple[int, int, dict[str, Any]]):
        """keep: the arrays that struct points to."""
        self._arrays, self.struct, self._keep, self.nnz, self.made_by = arrays, struct, keep, nnz, made_by
        self.shape: tuple[int, int] = (struct.members * struct.rows, struct.members * struct.cols)
        self.wide = nnz > INT32_MOST or self.shape[1] > INT32_MOST
        self.offsets = offsets if self.wide else arrays.narrow(offsets)
        self.in_runs = in_runs and nnz > 0

    def columns(self) -> Any:
        arrays, kind = self._arrays, c.TAMIS_I64 if self.wide else c.TAMIS_I32
        columns = arrays.empty(self.nnz, self.wide)
        if self.nnz:
            must(lib.tamis_mask_columns(opened(arrays.device).handle, arrays.stream, self.struct, kind, view(self.offsets, "offsets").pointer, kind,
                                        view(columns, "columns").pointer))
        return columns


def described(arrays: Any, rows: int, cols: int | None, **parts: Any) -> Mask:
    """Return the mask, with offsets of the same kind as `arrays`. Errors name the arguments of `Pattern.mask`."""
    try:
        return _described(arrays, rows, cols, **parts)
    except _errors.Error as error:
        raise _errors.renamed(error, {"mask.globals": "global_tokens", "mask.global_list": "global_tokens", "mask.": ""}) from None


def _described(arrays: Any, rows: int, cols: int | None, *, causal: bool = False, window: Any = None, dilation: int = 1, every: int = 0,
               global_tokens: Any = 0, sinks: bool = False, blocks: Any = None, block: int = 0, offset: int | None = None, lengths: Any = None,
               row_lengths: Any = None, from_end: bool = False) -> Mask:
    cols = rows if cols is None else cols
    left, right = _reach(window)
    sizes = {"rows": rows, "cols": cols, "left": left, "right": right, "dilation": dilation, "every": every, "block": block,
             "offset": (0 if from_end else cols - rows) if offset is None else offset}
    made = _errors.filled(c.tamis_mask, c.TAMIS_MASK_INIT, sizes, tuple(sizes))
    made.causal, made.sinks, made.from_end = causal, sinks, from_end
    keep: list[Any] = []
    if isinstance(global_tokens, Integral):
        made.globals = _errors.fits("global_tokens", int(global_tokens), ctypes.c_int64)
    else:
        places = _numbers(arrays, global_tokens, "global_tokens")
        made.global_list, made.global_count, made.global_type = places.pointer, places.shape[0], _types.INDEX[places.type]
        keep.append(places)
    if blocks is not None:
        known = _blocks(arrays, blocks)
        made.blocks = ctypes.pointer(known.with_values(None, c.TAMIS_F32))
        keep.append(known)
    lists = [(name, _numbers(arrays, given, name)) for name, given in (("lengths", lengths), ("row_lengths", row_lengths)) if given is not None]
    if len({(v.shape[0], v.type) for _, v in lists}) > 1:
        first, second = (f"{v.shape[0]} of {_types.NAMES[v.type]}" for _, v in lists)
        raise _errors.ArgumentError(f"lengths are {first} and row_lengths {second}: give both for the same sequences, in one type")
    for name, v in lists:
        made.members, made.length_type = v.shape[0], _types.INDEX[v.type]
        setattr(made, name, v.pointer)
    nnz, offsets = ctypes.c_int64(), arrays.empty(made.members * max(rows, 0) + 1, True)
    must(lib.tamis_mask_offsets(opened(arrays.device).handle, arrays.stream, made, c.TAMIS_I64, view(offsets, "offsets").pointer, nnz))
    in_runs = every == 0 and dilation == 1 and blocks is None and isinstance(global_tokens, Integral)
    parts = {"causal": causal, "window": window, "global_tokens": global_tokens, "sinks": sinks, "offset": offset, "from_end": from_end,
             **{name: v.array for name, v in lists}}
    return Mask(arrays, made, (keep, lists), offsets, nnz.value, in_runs, (rows, cols, parts))


def only_true(mask: Any) -> tuple[Any, Any]:
    """Return a sparse bool matrix without its False entries, and the indices of the others; None: all remain, or it is not bool."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(mask, torch.Tensor):
        return _only_true_tensor(torch, mask)
    if getattr(mask, "format", None) not in ("csr", "csc", "coo") or mask.dtype != bool or bool(mask.data.all()):
        return mask, None
    keep = mask.data
    library = sys.modules[type(keep).__module__.partition(".")[0]]
    if mask.format == "coo":
        return type(mask)((keep[keep], (mask.row[keep], mask.col[keep])), shape=mask.shape), keep
    before = library.concatenate([library.zeros(1, mask.indptr.dtype), keep.cumsum().astype(mask.indptr.dtype)])
    return type(mask)((keep[keep], mask.indices[keep], before[mask.indptr]), shape=mask.shape), keep


def _only_true_tensor(torch: Any, mask: Any) -> tuple[Any, Any]:
    if mask.dtype is not torch.bool or mask.layout not in (torch.sparse_csr, torch.sparse_csc, torch.sparse_coo) or mask.dim() != 2:
        return mask, None
    keep = mask._values() if mask.layout is torch.sparse_coo else mask.values()
    if bool(keep.all()):
        return mask, None
    if mask.layout is torch.sparse_coo:
        return torch.sparse_coo_tensor(mask._indices()[:, keep], keep[keep], mask.shape), keep
    offsets, places, make = compressed(torch, mask)
    before = torch.nn.functional.pad(keep.cumsum(0), (1, 0))[offsets.long()].to(offsets.dtype)
    return make(before, places[keep], keep[keep], mask.shape), keep
