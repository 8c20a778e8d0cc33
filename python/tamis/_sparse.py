"""Sparse matrices of other libraries as views: scipy.sparse, cupyx.scipy.sparse, torch sparse tensors, or three arrays.

Nothing is copied on the way in. CSC is the CSR of the transpose: `transposed` says so. A matrix made from a result has its own
index arrays, as results of SciPy's operations do: SciPy and PyTorch sort, sum and drop entries in place.
"""
from __future__ import annotations

import copy
import ctypes
import sys
from typing import Any, Callable

import numpy

from . import _declarations as c
from . import _device, _errors, _types
from ._kinds import settle
from ._library import lib, must
from ._views import View, vector, view

BEYOND = 2**63  # too large for int64
MOST_32 = 2**31 - 1
NO_VALUES = "none"  # no values, or integers, which are allowed only for patterns


class Sparse:
    """The arrays of a sparse matrix. `shape` is the caller's; `struct` is the library's view, of the transpose where `transposed`."""

    __slots__ = ("struct", "shape", "nnz", "transposed", "values", "value_type", "device", "like", "matrix", "mask", "tensors", "_views")

    def __init__(self, name: str, shape: tuple[int, int], index: Any, columns: Any, values: Any = None, *, coo: bool = False, transposed: bool = False,
                 matrix: Callable[[Any], Any] = lambda values: values, mask: Any = None):
        """index: row offsets, or with `coo` the row of each entry. matrix: makes a matrix like this one from a result; else that is the array itself.
        mask: a _mask.Mask in place of columns, which are None: the view is for plans alone."""
        for axis, length in zip(("rows", "columns"), shape):
            if not -BEYOND <= length < BEYOND:
                _errors.fits(f"{name}'s number of {axis}", length, ctypes.c_int64)
        first, second = (shape[1], shape[0]) if transposed else shape
        struct = c.tamis_sparse(rows=first, cols=second)
        if mask is None:
            columns_view = _indices(columns, f"{name}'s column indices")
            self._views, nnz = [columns_view], columns_view.shape[0]
            struct.index_type, struct.columns = _types.INDEX[columns_view.type], columns_view.pointer
        else:
            self._views, nnz = [], mask.nnz
            struct.index_type, struct.mask = c.TAMIS_I64 if shape[1] > MOST_32 else c.TAMIS_I32, ctypes.addressof(mask.struct)
        struct.nnz = nnz
        if not coo:
            other = _indices(index, f"{name}'s row offsets", first + 1)
            struct.format, struct.offset_type, struct.offsets = c.TAMIS_CSR, _types.INDEX[other.type], other.pointer
        else:
            other = _indices(index, f"{name}'s row indices", nnz)
            struct.format, struct.row_indices = c.TAMIS_COO, other.pointer
            if other.type != columns_view.type:
                raise _errors.ArgumentError(f"{name}'s row indices are {_types.NAMES[other.type]} and its column indices "
                                            f"{_types.NAMES[columns_view.type]}: give both the same type")
        self._views.append(other)
        self.value_type: int | str = NO_VALUES
        self.values = None
        if values is not None:
            values_view = _values(values, name)
            if values_view is not None:
                vector(values_view, f"{name}'s values", nnz)
                self.values, self.value_type = values_view, values_view.type
                self._views.append(values_view)
            else:
                self.value_type = str(values.dtype)
        # a tensor's memory may be replaced (`set_`, `data =`), but not its alias's
        torch = sys.modules.get("torch")
        self.tensors = [] if torch is None else [(v.array.detach(), v.pointer) for v in self._views if isinstance(v.array, torch.Tensor)]
        self.device = _same_device(self._views, name)
        struct.location = c.TAMIS_HOST if self.device == "cpu" else c.TAMIS_DEVICE
        self.struct, self.shape, self.nnz, self.transposed = struct, shape, nnz, transposed
        self.like, self.matrix, self.mask = values if values is not None else index if columns is None else columns, matrix, mask

    def with_values(self, pointer: int | None, kind: int, apart: int = 0) -> c.tamis_sparse:
        """Return the library's view with these values; None: as a pattern."""
        struct = c.tamis_sparse.from_buffer_copy(self.struct)
        struct.values, struct.value_type, struct.batch_stride = pointer, kind, apart
        return struct

    def arrays(self, with_values: bool) -> Any:
        """Return pairs of names and arrays, with which an output must not share memory."""
        indices = (("S's indices", view) for view in self._views[:2])
        return (("S's values", self.values), *indices) if with_values else indices

    def moved(self) -> bool:
        """Return True if PyTorch tensors have new addresses: `resize_` frees their memory although views still use it."""
        for tensor, pointer in self.tensors:
            if tensor.data_ptr() != pointer:
                return True
        return False

    def check_memory(self) -> None:
        """Refuse tensors that have moved."""
        if self.moved():
            raise _errors.PatternError("a tensor of this pattern was resized: make a new tamis.Pattern")

    def validate(self) -> None:
        """Checks every entry of arrays in host memory; those on a GPU are checked by each plan."""
        if self.device != "cpu":
            return
        if _device.limited and self.struct.format == c.TAMIS_COO:  # PyTorch sets the number of threads, which this function does not know
            piece = c.tamis_sparse.from_buffer_copy(self.struct)
            size = ctypes.sizeof(ctypes.c_int64 if self.struct.index_type == c.TAMIS_I64 else ctypes.c_int32)
            for begin in range(0, self.nnz, PIECE):
                piece.nnz = min(PIECE, self.nnz - begin)
                piece.row_indices, piece.columns = self.struct.row_indices + begin * size, self.struct.columns + begin * size
                if lib.tamis_validate(ctypes.byref(piece)):
                    break
            else:
                return
        must(lib.tamis_validate(ctypes.byref(self.struct)))


PIECE = (1 << 15) - 1  # entries that the library checks in the caller's thread

_INDEX_TYPES = (numpy.dtype("int32"), numpy.dtype("int64"))


def _indices(array: Any, name: str, length: int | None = None) -> View:
    if type(array) is numpy.ndarray and array.dtype in _INDEX_TYPES and array.ndim == 1:  # a third of a small call's time
        v = view(array, name)
        vector(v, name, length)
        return v
    what = str(getattr(array, "dtype", type(array).__name__)).replace("torch.", "")
    if isinstance(array, (list, tuple)):
        raise TypeError(f"{name} are a {what}: expected an array of int32 or int64")
    if hasattr(array, "dtype") and what not in _types.OF_NUMPY_NAME:
        raise _errors.ArgumentError(f"{name} are {what}: expected int32 or int64")
    v = settle(view(array, name))
    if v.type not in _types.INDEX:
        raise _errors.ArgumentError(f"{name} are {_types.NAMES[v.type]}: expected int32 or int64")
    if len(v.shape) != 1:
        raise _errors.ArgumentError(f"{name} have shape {tuple(v.shape)}: expected a vector")
    vector(v, name, length)
    return v


def _values(values: Any, name: str) -> View | None:
    """Return the view of values; None for integers and bools, which operations do not read."""
    try:
        v = settle(view(values, f"{name}'s values"))
    except _errors.ArgumentError:
        if str(getattr(values, "dtype", "")).replace("torch.", "") in ("bool", "int8", "uint8", "int16", "uint16", "uint32", "uint64"):
            return None
        raise
    return None if v.type in _types.INDEX else v


def _same_device(views: list[View], name: str) -> str:
    devices = sorted({v.device for v in views})
    if len(devices) > 1:
        raise _errors.ArgumentError(f"the arrays of {name} are on {' and '.join(devices)}: move them to one")
    return devices[0]


def like(S: Any, values: Any) -> Any:
    """Return a matrix of scipy.sparse or cupyx.scipy.sparse like S, with other values and its own index arrays."""
    other = copy.copy(S)
    if S.format != "coo":
        other.indptr, other.indices = S.indptr.copy(), S.indices.copy()
    elif hasattr(S, "coords"):
        other.coords = tuple(index.copy() for index in S.coords)
    else:  # CuPy, and SciPy before 1.13
        other.row, other.col = S.row.copy(), S.col.copy()
    both = values, S.data
    shared = values is S.data or (all(isinstance(x, numpy.ndarray) for x in both) and numpy.may_share_memory(*both))  # as with `out=S.data`
    other.data = values.copy() if shared else values
    return other


def _scipy(S: Any, name: str) -> Sparse:
    """scipy.sparse and cupyx.scipy.sparse: arrays and matrices in CSR, CSC or COO."""

    def matrix(values: Any) -> Any:
        return like(S, values)

    if len(S.shape) != 2:
        raise _errors.ArgumentError(f"{name} has shape {S.shape}: expected two dimensions")
    shape = (int(S.shape[0]), int(S.shape[1]))
    if S.format in ("csr", "csc"):
        return Sparse(name, shape, S.indptr, S.indices, S.data, transposed=S.format == "csc", matrix=matrix)
    if S.format == "coo":
        return Sparse(name, shape, S.row, S.col, S.data, coo=True, matrix=matrix)
    raise _errors.ArgumentError(f"{name} is in SciPy's format {S.format}: expected csr, csc or coo; convert it by {name}.tocsr()")


def compressed(torch: Any, S: Any) -> tuple[Any, Any, Any]:
    """Return the index tensors of a tensor in CSR or CSC, and the function that makes such a tensor."""
    if S.layout is torch.sparse_csr:
        return S.crow_indices(), S.col_indices(), torch.sparse_csr_tensor
    return S.ccol_indices(), S.row_indices(), torch.sparse_csc_tensor


def _torch(S: Any, name: str) -> Sparse:
    torch = sys.modules["torch"]
    if S.requires_grad and torch.is_grad_enabled():
        raise _errors.ArgumentError(f"{name} requires grad, which this function does not record: use tamis.torch, or pass {name}.detach()")
    if S.dim() != 2:
        raise _errors.ArgumentError(f"{name} has shape {tuple(S.shape)}: expected two dimensions; tamis takes batches as values of one pattern")
    shape = (int(S.shape[0]), int(S.shape[1]))
    if S.layout in (torch.sparse_csr, torch.sparse_csc):
        offsets, columns, made = compressed(torch, S)
        return Sparse(name, shape, offsets, columns, S.values(), transposed=S.layout is torch.sparse_csc,
                      matrix=lambda values: made(offsets.clone(), columns.clone(), values, shape))
    if S.layout is torch.sparse_coo:
        indices = S._indices()
        return Sparse(name, shape, indices[0], indices[1], S._values(), coo=True,
                      matrix=lambda values: torch.sparse_coo_tensor(indices.clone(), values, shape))
    raise _errors.ArgumentError(f"{name} has the layout {S.layout}: expected sparse_csr, sparse_csc or sparse_coo; convert it by "
                                f"{name}.to_sparse_csr()")


def sparse(S: Any, name: str = "S", shape: tuple[int, int] | None = None, cols: int | None = None) -> Sparse:
    """Return the view of a sparse matrix. For three arrays, `shape` or at least `cols` is given."""
    if isinstance(S, (tuple, list)):
        if len(S) not in (2, 3):
            raise _errors.ArgumentError(f"{name} has {len(S)} parts: expected (offsets, columns) or (offsets, columns, values)")
        offsets, columns = S[0], S[1]
        values = S[2] if len(S) == 3 else None
        if shape is None:
            rows = _indices(offsets, f"{name}'s row offsets").shape
            if cols is None:
                raise _errors.ArgumentError(f"{name} is a tuple of arrays, which does not say how many columns it has: make a "
                                            f"tamis.Pattern({name}, shape=(rows, cols))")
            shape = (max(rows[0] - 1, 0) if len(rows) == 1 else 0, cols)
        return Sparse(name, shape, offsets, columns, values)
    if shape is not None:
        raise _errors.ArgumentError(f"shape = {shape}: {name} has one of its own, {tuple(S.shape)}")
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(S, torch.Tensor):
        return _torch(S, name)
    if isinstance(getattr(S, "format", None), str) and hasattr(S, "nnz"):
        return _scipy(S, name)
    if type(S).__module__.startswith("tamis.torch"):
        raise TypeError(f"{name} is a tamis.torch.{type(S).__name__}: expected a tamis.Pattern; the functions of tamis.torch take it")
    raise TypeError(f"{name} is a {type(S).__name__}: expected a sparse matrix of SciPy, CuPy or PyTorch, (offsets, columns, values), or a "
                    f"tamis.Pattern; a dense array becomes one by scipy.sparse.csr_array({name})")
