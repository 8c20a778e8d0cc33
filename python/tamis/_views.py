"""Arrays of other libraries as addresses with shape, strides and type: nothing is copied.

An array is taken through its library's own attributes (NumPy, PyTorch), else through __dlpack__, else through
__cuda_array_interface__, else through the buffer protocol. A view keeps what it looks at alive.
"""
from __future__ import annotations

import ctypes
import math
import sys
from typing import Any

import numpy

from . import _declarations as c
from . import _errors, _types


class View:
    """An array: address, shape, strides in elements, element type, the device's name, whether it may be written, and the stream that
    its library named as the one in which it is used (see _kinds)."""

    __slots__ = ("array", "pointer", "shape", "strides", "type", "device", "writable", "keep", "stream")

    def __init__(self, array, pointer, shape, strides, kind, device, writable, keep=None, stream=None):
        self.array, self.pointer, self.shape, self.strides = array, pointer, shape, strides
        self.type, self.device, self.writable, self.keep, self.stream = kind, device, writable, keep, stream


def refuse_type(name: str, what: Any, tensor: bool = False) -> _errors.ArgumentError:
    return _errors.ArgumentError(f"{name} has elements of type {what}: expected float32, float64, float16 or bfloat16; convert it, for "
                                 f"instance by {_converted(name, 'float32', tensor)}")


def _converted(name: str, dtype: str, tensor: bool) -> str:
    return f"{name}.to(torch.{dtype})" if tensor else f"{name}.astype('{dtype}')"


def converting(array: Any, name: str, kind: int) -> str:
    """Return the line of code with which the caller converts an array to one of the library's element types."""
    return _converted(name, _types.NUMPY_NAMES[kind], _of_torch(array))


def _of_torch(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] == "torch"


def refuse_view(name: str, view: View) -> _errors.ArgumentError:
    """Return the error for a view whose elements are indices."""
    return refuse_type(name, _types.NAMES[view.type], _of_torch(view.array))


_ndarray = numpy.ndarray
_NUMPY_TYPES = {numpy.dtype(name): number for name, number in _types.OF_NUMPY_NAME.items() if name != "bfloat16"}


def _numpy(array: numpy.ndarray, name: str) -> View:
    if type(array) is not _ndarray and isinstance(array, numpy.ma.MaskedArray):
        raise _errors.ArgumentError(f"{name} is a masked array, of which the mask would not be read: fill it, for instance by {name}.filled(0)")
    dtype = array.dtype
    kind = _NUMPY_TYPES.get(dtype)
    if kind is None:
        kind = _types.OF_NUMPY_NAME.get(dtype.name)  # ml_dtypes' bfloat16
        if kind is None or not dtype.isnative:
            raise refuse_type(name, dtype)
    shape = array.shape
    try:  # takes a third of the time; only for writable packed arrays
        return View(array, _address(_byte_of(array)), shape, (shape[1], 1) if len(shape) == 2 else _packed(shape), kind, "cpu", True)  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):
        pass
    pointer, read_only = array.__array_interface__["data"]
    return _of_bytes(array, name, pointer, shape, array.strides, kind, "cpu", not read_only)


def _of_bytes(array: Any, name: str, pointer: int, shape: tuple, strides: tuple, kind: int, device: str, writable: bool, stream: Any = None) -> View:
    """Return the view of an array with strides in bytes."""
    size = _types.SIZES[kind]
    if any(stride % size for stride in strides):
        raise _errors.ArgumentError(f"{name} has strides of {strides} bytes, which are not multiples of its element size: copy it, for instance by "
                                    f"numpy.ascontiguousarray({name})")
    return View(array, pointer, shape, tuple([stride // size for stride in strides]), kind, device, writable, stream=stream)


_byte_of, _address = ctypes.c_char.from_buffer, ctypes.addressof


def _packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(shape) == 1:
        return (1,)
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


_torch_types: dict[Any, int] = {}
_torch_devices: dict[Any, str] = {}


def torch_type(dtype: Any) -> int | None:
    """Return the number of a torch.dtype, or None."""
    if not _torch_types:
        torch = sys.modules["torch"]
        _torch_types.update({getattr(torch, name): number for name, number in _types.OF_NUMPY_NAME.items()})
    return _torch_types.get(dtype)


def torch_device(device: Any) -> str:
    """Return Tamis's name of a torch.device: "cpu", "cuda:0"."""
    name = _torch_devices.get(device)
    if name is None:
        name = _torch_devices[device] = "cpu" if device.type == "cpu" else f"{device.type}:{device.index or 0}"
    return name


def torch_view(tensor: Any, name: str) -> View:
    """Return a view of a PyTorch tensor. The caller takes care of gradients."""
    kind = torch_type(tensor.dtype)
    if kind is None:
        raise refuse_type(name, tensor.dtype, tensor=True)
    if tensor.is_neg():
        raise _errors.ArgumentError(f"{name} is a negated view: copy it by {name}.resolve_neg()")
    return View(tensor, tensor.data_ptr(), tensor.shape, tensor.stride(), kind, torch_device(tensor.device), True)


def _torch(tensor: Any, name: str) -> View:
    torch = sys.modules["torch"]
    if tensor.requires_grad and torch.is_grad_enabled():
        raise _errors.ArgumentError(f"{name} requires grad, which this function does not record: use tamis.torch, or pass {name}.detach()")
    if tensor.layout is not torch.strided:
        raise _errors.ArgumentError(f"{name} is sparse ({tensor.layout}): expected a dense tensor")
    if tensor.device.type not in ("cpu", "cuda"):
        raise _errors.ArgumentError(f"{name} is on {tensor.device}: expected cpu or cuda")
    return torch_view(tensor, name)


# ------------------------------------------------------------------------------ DLPack


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    """The structure in a capsule of DLPack 1.0. The fields before the flags belong to the lender."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_MANAGED = 1, 2, 3, 13
_READ_ONLY, _COPIED = 1, 2  # flags
_IMMUTABLE = ("jax", "jaxlib", "tensorflow")  # libraries with immutable arrays, which their DLPack does not mark as read-only
_DEFAULT_STREAM = 1  # DLPack's number of CUDA's legacy default stream


def _dlpack(array: Any, name: str) -> View:
    where, number = array.__dlpack_device__()
    if where in (_DL_CPU, _DL_CUDA_HOST):
        device, arguments = "cpu", {}
    elif where in (_DL_CUDA, _DL_MANAGED):
        device, arguments = f"cuda:{number}", {"stream": _current_stream(array) or _DEFAULT_STREAM}
    else:
        raise _errors.ArgumentError(f"{name} is on DLPack's device {where}:{number}: expected memory of the CPU or of CUDA")
    writable = hasattr(array, "__setitem__") and type(array).__module__.partition(".")[0] not in _IMMUTABLE
    # the capsule holds a structure that begins with the tensor, and frees it, since it is not renamed
    try:
        capsule = array.__dlpack__(**arguments)
        tensor = ctypes.cast(_capsule_pointer(capsule, b"dltensor"), ctypes.POINTER(_DLTensor)).contents
    except BufferError as error:  # only DLPack 1.0 exports read-only arrays
        try:
            capsule = array.__dlpack__(max_version=(1, 0), **arguments)
            held = ctypes.cast(_capsule_pointer(capsule, b"dltensor_versioned"), ctypes.POINTER(_Versioned)).contents
        except (BufferError, TypeError, ValueError):
            held = None
        if held is None or held.major != 1 or held.flags & _COPIED:
            raise _errors.ArgumentError(f"{name} does not lend its memory: {error}") from None
        tensor, writable = held.tensor, writable and not held.flags & _READ_ONLY
    kind = _types.OF_DLPACK.get((tensor.code, tensor.bits))
    if kind is None or tensor.lanes != 1:
        raise refuse_type(name, f"{tensor.bits} bits of DLPack's code {tensor.code}")
    shape = tuple(tensor.shape[:tensor.ndim])
    strides = tuple(tensor.strides[:tensor.ndim]) if tensor.strides else _packed(shape)
    return View(array, (tensor.data or 0) + tensor.byte_offset, shape, strides, kind, device, writable, capsule)


def _current_stream(array: Any) -> int:
    """Return the current stream of a GPU array's library; 0, the default stream, for other libraries."""
    library = type(array).__module__.partition(".")[0]
    if library == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream().ptr
    if library == "torch":
        return sys.modules["torch"].cuda.current_stream(array.device).cuda_stream
    return 0


def _cuda_interface(array: Any, name: str) -> View:
    given = array.__cuda_array_interface__
    try:
        dtype = numpy.dtype(given["typestr"])
    except TypeError:
        raise refuse_type(name, given["typestr"]) from None
    kind = _NUMPY_TYPES.get(dtype)
    if kind is None:
        raise refuse_type(name, dtype)
    shape = tuple(given["shape"])
    strides = given.get("strides") or tuple(step * dtype.itemsize for step in _packed(shape))
    pointer, read_only = given["data"]
    device = getattr(getattr(array, "device", None), "id", 0)
    stream = given.get("stream")
    if stream == 0:
        raise _errors.ArgumentError(f"{name}.__cuda_array_interface__ has stream 0, which does not say which stream it is: expected 1, 2, the "
                                    f"address of a stream, or None")
    return _of_bytes(array, name, pointer, shape, strides, kind, f"cuda:{device}", not read_only, stream)


def view(array: Any, name: str) -> View:
    """Return a view of any array; `name`: for messages."""
    if isinstance(array, _ndarray):
        return _numpy(array, name)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return _torch(array, name)
    if hasattr(array, "__dlpack__"):
        return _dlpack(array, name)
    if hasattr(array, "__cuda_array_interface__"):
        return _cuda_interface(array, name)
    if hasattr(array, "nnz") and hasattr(array, "toarray"):
        raise TypeError(f"{name} is a {type(array).__name__}: expected a dense array, and the sparse matrix first; {name}.toarray() is dense")
    try:
        lent = numpy.asarray(memoryview(array))
    except TypeError:
        raise TypeError(f"{name} is a {type(array).__name__}: expected an array (NumPy, PyTorch, CuPy, or another with __dlpack__ or a "
                        f"buffer); for instance numpy.asarray({name}, dtype='float32')") from None
    return _numpy(lent, name)


# ------------------------------------------------------------------------------ as the library's structures


def extent(v: View) -> tuple[int, int]:
    """Return the address of an array's first byte, and the address behind its last."""
    low = high = 0
    for length, stride in zip(v.shape, v.strides):
        if length == 0:
            return 0, 0
        reach = (length - 1) * stride
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    size = _types.SIZES[v.type]
    return v.pointer + low * size, v.pointer + (high + 1) * size


def meet(v: View, w: View) -> bool:
    """Return True if two arrays share bytes; ranges of columns of one matrix that lie side by side share none."""
    (first, end), (other, other_end) = extent(v), extent(w)
    if end <= other or other_end <= first:
        return False
    lines = [[*x.strides[-2:], x.shape[-1], _types.SIZES[x.type], *x.strides[:-2]] for x in (v, w) if len(x.shape) > 1]
    if len(lines) < 2 or lines[0][0] * lines[0][3] != lines[1][0] * lines[1][3] or min(lines[0][0], lines[0][1], lines[1][1]) <= 0:
        return True
    line = lines[0][0] * lines[0][3]
    if any(lead * x[3] % line for x in lines for lead in x[4:]):
        return True
    wide, other_wide = (((x[2] - 1) * x[1] + 1) * x[3] for x in lines)
    apart = (w.pointer - v.pointer) % line
    return not wide <= apart <= line - other_wide


def _layout(shape: Any, strides: Any) -> tuple[int, int] | None:
    """Return the layout of a matrix and the stride of its lines (0 if it has fewer than two); None: neither rows nor columns are contiguous."""
    rows, cols = shape
    down, across = strides
    if across == 1 or cols <= 1 or (rows == 0 and down != 1):  # an empty tensor that is expanded has strides of 0
        layout, stride, least, lines = c.TAMIS_ROW_MAJOR, down, cols, rows
    elif down == 1 or rows <= 1:
        layout, stride, least, lines = c.TAMIS_COLUMN_MAJOR, across, rows, cols
    else:
        return None
    if stride < least or stride <= 0:
        return None if lines > 1 and least > 0 else (layout, 0)
    return layout, stride


def dense(v: View, name: str) -> c.tamis_dense:
    """Return the library's view of a matrix, or of a batch of matrices with one stride."""
    shape, strides = v.shape, v.strides
    if len(shape) == 2:
        apart = 0
    elif len(shape) > 2:
        apart = _batch_stride(v, name)
    else:
        raise _errors.ArgumentError(f"{name} has {len(shape)} dimension(s), shape {tuple(shape)}: expected a matrix, or a batch of matrices")
    if v.type > _types.BF16:
        raise refuse_view(name, v)
    found = (c.TAMIS_ROW_MAJOR, 0) if 0 in shape else _layout(shape[-2:], strides[-2:])
    if found is None:
        raise _not_contiguous(v, name)
    location = c.TAMIS_HOST if v.device == "cpu" else c.TAMIS_DEVICE
    return c.tamis_dense(v.pointer, shape[-2], shape[-1], found[1], v.type, found[0], location, apart)


def fits(shape: Any, strides: Any, own: int = 2) -> bool:
    """Return True if kernels can read the array without a copy. own: dimensions of a member of the batch, 2 for matrices, 1 for values; leading
    dimensions are walked."""
    if 0 in shape:
        return True
    if own == 1:
        return len(shape) == 0 or shape[-1] == 1 or strides[-1] == 1
    return len(shape) < 2 or _layout(shape[-2:], strides[-2:]) is not None


def seen(shape: Any, strides: Any) -> int:
    """Return the number of distinct elements of an array; elements repeated by expansion count once."""
    count = 1
    for length, stride in zip(shape, strides):
        if stride != 0 or length == 0:
            count *= length
    return count


SMALL = 1 << 18  # elements of a copy that is always made


def packed(tensor: Any, name: str, own: int, room: int) -> Any:
    """Copy a tensor that kernels cannot read. Members that a batch repeats are copied once. room: the elements that the call reads and
    writes; of larger tensors more are not copied."""
    shape, strides = tensor.shape, tensor.stride()
    lead = len(shape) - own
    once = tensor[tuple(slice(0, 1) if place < lead and stride == 0 else slice(None) for place, stride in enumerate(strides))]
    if once.numel() > max(room, SMALL):
        raise _errors.ArgumentError(f"{name} has shape {tuple(shape)} and strides {strides}: a copy, which kernels need here, would have {once.numel()} elements, more "
                                    f"than all operands together ({room}): pass what {name} repeats, where the function takes that, or {name}.contiguous()")
    return once.contiguous().expand(shape)


def uneven(shape: Any, strides: Any) -> int:
    """Return how many of these leading dimensions must be walked one by one, so that one stride describes the others."""
    apart, steps = 0, 1
    if 0 in shape:  # no members, whatever the strides
        return 0
    for place in range(len(shape) - 1, -1, -1):
        length, stride = shape[place], strides[place]
        if length == 1:
            continue
        if steps == 1:
            apart = stride
        if stride < 0 or stride != apart * steps:
            return place + 1
        steps *= length
    return 0


def _batch_stride(v: View, name: str) -> int:
    """Return the common stride of all leading dimensions: 0 for one matrix shared by all members."""
    lead, steps = v.shape[:-2], v.strides[:-2]
    if uneven(lead, steps):
        raise _not_contiguous(v, name)
    return next((stride for length, stride in zip(reversed(lead), reversed(steps)) if length != 1), 0)


def _not_contiguous(v: View, name: str) -> _errors.ArgumentError:
    return _errors.ArgumentError(f"{name} has shape {tuple(v.shape)} and strides {tuple(v.strides)} (elements): one of the last two strides "
                                 f"must be 1, the other positive, and leading dimensions must be evenly apart; copy it, for instance by "
                                 f"{_copying(v, name)}")


def _copying(v: View, name: str) -> str:
    """Return the line of code with which the caller makes a packed copy."""
    library = type(v.array).__module__.partition(".")[0]
    return f"{name}.contiguous()" if library == "torch" else f"{'cupy' if library == 'cupy' else 'numpy'}.ascontiguousarray({name})"


def column(v: View, name: str, length: int, batch: int) -> c.tamis_dense:
    """Return the library's view of a packed vector, or of one for each member of a batch."""
    apart = vector(v, name, length, batch)
    return c.tamis_dense(v.pointer, length, 1, 0, v.type, c.TAMIS_ROW_MAJOR, c.TAMIS_HOST if v.device == "cpu" else c.TAMIS_DEVICE, apart)


def vector(v: View, name: str, length: int | None = None, batch: int = 1) -> int:
    """Check a packed vector, or one for each member of a batch (batch, length); return the stride between them."""
    if len(v.shape) == 1:
        (count,), (step,), apart = v.shape, v.strides, 0
    else:
        count, step = v.shape[-1] if v.shape else 0, v.strides[-1] if v.shape else 0
        apart = _batch_stride(View(v.array, 0, (*v.shape, 1), (*v.strides, 1), 0, "", False), name) if v.shape else 0
        if not v.shape or math.prod(v.shape[:-1]) != batch:
            raise _errors.ArgumentError(f"{name} has shape {tuple(v.shape)}: expected ({length},), or {batch} of these" if batch > 1 else
                                        f"{name} has shape {tuple(v.shape)}: expected a vector")
    if length is not None and count != length:
        raise _errors.ArgumentError(f"{name} has {count} elements: expected {length}")
    if step != 1 and count > 1 and 0 not in v.shape:
        raise _errors.ArgumentError(f"{name} is not contiguous: copy it, for instance by {_copying(v, name)}")
    return apart
