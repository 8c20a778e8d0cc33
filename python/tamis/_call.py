"""One call of an operation: views of the operands, checks across them, the result's array, and the library's function."""
from __future__ import annotations

import functools
import math as mathematics
import numbers
import struct
from ctypes import byref
from typing import Any, NamedTuple, Optional

import numpy

from . import _declarations as c
from . import _errors, _kinds, _recipe, _types
from ._device import opened
from ._kinds import NumPy, Torch, kind_of
from ._library import lib, must
from ._pattern import Pattern
from ._named import operands_of
from ._plan import MATH, choice, edge_number, options, reads_places
from ._recipe import ALPHA, ARRAY, BETA, OWNER, STREAM, Structures, address_of, keep_recipe, same_array
from ._remembered import remembered
from ._sparse import NO_VALUES, Sparse, sparse
from ._traced import text_of
from ._types import FUSED, SDDMM, SPMM
from ._views import View, column, converting, dense, extent, fits, meet, packed, refuse_view, seen, uneven, vector, view

ONCE = {SDDMM: lib.tamis_sddmm, SPMM: lib.tamis_spmm, FUSED: lib.tamis_fused}
PLANNED = {SDDMM: lib.tamis_plan_sddmm, SPMM: lib.tamis_plan_spmm, FUSED: lib.tamis_plan_fused}
MASK = c.TAMIS_EDGE_MASK


class Settings(NamedTuple):
    """The options of an operation that do not follow from its operands. They are part of a plan's key."""

    edge: int = c.TAMIS_EDGE_SCALE
    edge_scale: float = 1.0
    edge_slope: float = 0.01
    edge_epsilon: float = 1e-10
    transpose: bool = False
    math: int = c.TAMIS_MATH_EXACT
    keep_softmax: bool = False
    as_pattern: bool = False  # S's own values are not used


def check_numbers(**given: Any) -> None:
    """Refuse the first argument that is not a number."""
    for name, value in given.items():
        if not isinstance(value, numbers.Real):  # a tensor of one number may change, and is part of keys
            raise TypeError(f"{name} = {value!r}: expected a number, such as float({name}); no gradient reaches it")


@functools.lru_cache(maxsize=256)
def settings(edge: str = "scale", scale: float = 1.0, slope: float = 0.01, epsilon: float = 1e-10, transpose: bool = False,
             math: str = "exact", keep_softmax: bool = False, as_pattern: bool = False) -> Settings:
    """Return settings from the arguments of the public functions."""
    return _settings(edge_number(edge), scale, slope, epsilon, transpose, math, keep_softmax, as_pattern)


def settings_with(edge: Any, numbers: Any, *others: Any) -> Settings:
    """The same with the numbers of an expression; None: it has none. edge may be a function of its variables."""
    if callable(edge):
        edge = text_of(edge)
    return settings(edge, *others) if numbers is None else _settings(edge_number(edge, numbers), *others)


def _settings(number: int, scale: float, slope: float, epsilon: float, transpose: bool, math: str, keep_softmax: bool = False,
              as_pattern: bool = False) -> Settings:
    check_numbers(scale=scale, slope=slope, epsilon=epsilon)
    return Settings(number, scale, slope, epsilon, transpose, choice(MATH, math, "math"), keep_softmax, as_pattern or number == MASK)


class Given(NamedTuple):
    """S's values for a call."""

    pointer: Optional[int]
    type: int
    apart: int
    keep: Any


NONE = Given(None, 0, 0, None)


def given_values(s: Sparse, values: Any, as_pattern: bool, kind: int, operation: int, batch: int) -> Given:
    """Return the values of a call: its own, else S's; None for a pattern."""
    if values is None:
        if as_pattern:
            return NONE
        v, name = s.values, "S's values"
        if v is None:
            if s.value_type != NO_VALUES:
                raise _errors.ArgumentError(f"S's values are {s.value_type}, the operands {_types.NAMES[kind]}: convert them, for instance by "
                                            f"S.astype('{_types.NUMPY_NAMES[kind]}'), or use edge='mask', which reads none")
            return NONE
        apart = 0
    else:
        v, name = view(values, "values"), "values"
        apart = vector(v, name, s.nnz, batch)
        if v.device != s.device:
            raise _errors.ArgumentError(f"values are on {v.device} and S on {s.device}: move one")
    if v.type != kind and not (operation == SPMM and v.type == c.TAMIS_F32 and _types.SIZES[kind] == 2):
        line = converting(v.array, name, kind) if name == "values" else f"S.astype('{_types.NUMPY_NAMES[kind]}')"
        raise _errors.ArgumentError(f"{name} are {_types.NAMES[v.type]}, the operands {_types.NAMES[kind]}: convert one, for instance by {line}")
    return Given(v.pointer, v.type, apart, v)


def _check_shapes(operation: int, names: tuple[str, ...], matrices: list, views: list[View], s: Sparse, rows: int, cols: int) -> None:
    """Check the shapes, with messages in the caller's terms; the library would name a field of a view. op(S) is rows x cols."""
    expected = {SDDMM: (rows, cols), SPMM: (cols,), FUSED: (rows, cols, cols)}[operation]
    for name, m, v, wanted in zip(names, matrices, views, expected):
        if m.rows != wanted:
            raise _errors.ArgumentError(f"{name} has shape {tuple(v.shape)}: expected {wanted} rows, since the sparse matrix is {s.shape[0]} x {s.shape[1]}"
                                        f"{'; is it transposed?' if m.cols == wanted else ''}")
    if operation != SPMM and matrices[0].cols != matrices[1].cols:
        raise _errors.ArgumentError(f"{names[0]} has shape {tuple(views[0].shape)} and {names[1]} {tuple(views[1].shape)}: expected the same "
                                    f"number of columns")


def _check_output(out: Any, operands: Any) -> None:
    """Refuse an output that shares memory with an operand, which would be overwritten before it is read. operands: pairs of names and arrays."""
    given = None
    for name, x in operands:
        if x is None:
            continue
        if x is not out:
            given = given or view(out, "out")
            if not meet(given, x if type(x) is View else view(x, name)):
                continue
        raise _errors.ArgumentError(f"out {'is' if x is out else 'shares memory with'} {name}: expected an array of its own")


def _output(out: Any, kind: Any, shape: tuple[int, ...], first: View, s: Sparse, beta: float) -> View:
    """Return the view of the result: of the caller's array, or of a new one."""
    if out is None:
        if beta != 0:
            raise _errors.ArgumentError(f"beta = {beta}: expected out=, the array that it scales")
        if s.device != "cpu" and kind is NumPy:
            raise _errors.ArgumentError(f"the operands are {type(first.array).__module__}.{type(first.array).__name__} on {s.device}: expected "
                                        f"out=, an array there, since results are made for PyTorch and CuPy alone")
        return view(kind.empty(shape, first.type, first.array), "out")
    v = view(out, "out")
    if not v.writable:
        raise _errors.ArgumentError("out is read-only: expected an array that may be written")
    if v.device != s.device:
        raise _errors.ArgumentError(f"out is on {v.device} and S on {s.device}: move one")
    if tuple(v.shape) != shape:
        raise _errors.ArgumentError(f"out has shape {tuple(v.shape)}: expected {shape}")
    if v.type != first.type and not (v.type == c.TAMIS_F32 and _types.SIZES[first.type] == 2):
        raise _errors.ArgumentError(f"out is {_types.NAMES[v.type]}, the operands {_types.NAMES[first.type]}: expected "
                                    f"{_types.NAMES[first.type]}{' or fp32' if _types.SIZES[first.type] == 2 else ''}")
    return v


def _walked(views: list[View], lead: tuple[int, ...], values: Any, out: Any, ends: int) -> int:
    """Return how many leading dimensions must be walked one by one: those that no single stride of each array describes, or that the
    values lack. ends: the dimensions of one member of `out`."""
    most = max(uneven(v.shape[:-2], v.strides[:-2]) for v in views)
    for array, name, own in ((values, "values", 1), (out, "out", ends)):
        dimensions = len(getattr(array, "shape", ()))
        if dimensions - own == len(lead):
            v = view(array, name)
            most = max(most, uneven(v.shape[:-own], v.strides[:-own]))
        elif dimensions > own and tuple(array.shape[:-own]) == lead[own - dimensions:] and name == "values":
            most = max(most, len(lead) - (dimensions - own))
    return most


class Call(NamedTuple):
    """The arguments of `compute`."""

    operation: int
    S: Any
    names: tuple[str, ...]
    operands: tuple[Any, ...]
    out: Any
    how: Settings
    alpha: float
    beta: float
    values: Any
    statistics: Any = None
    planned: Any = None
    recipes: Any = None
    named: Any = None


def compute(operation: int, S: Any, names: tuple[str, ...], operands: tuple[Any, ...], out: Any, how: Settings, alpha: float, beta: float,
            values: Any, statistics: Any = None, planned: Any = None, recipes: Any = None, named: Any = None) -> tuple[Any, Any]:
    """Runs an operation and returns the array of its result, and S's view or what is known of it. `planned`: a function from a call's form to a plan, and
    `recipes` its earlier calls. named: the arrays of an expression."""
    known = None
    if type(S) is Pattern:
        if S.sparse.tensors:
            S.sparse.check_memory()
        if recipes is None:
            recipes = S.recipes
        known = (operation, how), (values, *operands, out, statistics)
        if named is None and (out is not None or beta == 0):
            found = _recipe.repeat(recipes, *known, False, alpha, beta)
            if found is not None:
                return found[0] if out is None else out, S.sparse
        if out is not None:
            _check_output(out, S.sparse.arrays(values is None and not how.as_pattern))
    if out is not None:
        _check_output(out, (*zip(names, operands), ("values", values), *(named or {}).items()))
    if known is None and planned is None and named is None:
        before = remembered(S)
        if before is not None and (statistics is None or not before.pattern.sparse.transposed):
            if out is not None:  # the pattern has its own arrays
                _check_output(out, (("S's indices", S.indices), ("S's indices", S.indptr)))
            own = S.data if values is None and not how.as_pattern else values
            try:
                return compute(operation, before.pattern, names, operands, out, how, alpha, beta, own, statistics)[0], before
            except (_errors.ArgumentError, TypeError):  # the call below reports errors in the caller's terms
                pass
    return _anew(Call(operation, S, names, operands, out, how, alpha, beta, values, statistics, planned, recipes, named), None if named else known)


def _anew(call: Call, known: tuple | None) -> tuple[Any, Any]:
    """Make a call that repeats no earlier one. known: what its recipe is found by; None: it has none."""
    operation, values = call.operation, call.values
    given = [view(x, name) for x, name in zip(call.operands, call.names)]
    s = _sparse_of(call, given[-1])
    copies = _fitting(call.names, given, values, s, s.shape[1] if call.how.transpose else s.shape[0])
    if copies is not None:
        return compute(*call._replace(operands=copies[0], values=copies[1]))
    flat = operation == SPMM and len(given[0].shape) == 1
    first = _column(given[0]) if flat else given[0]
    views, names, how = turned(operation, s, [first, *given[1:]], call.names, call.how)
    lead = _lead(views, names, first, s)
    if len(lead) > 1:
        walked = _walked(views, lead, values, call.out, 1 if operation == SDDMM else 2)
        if walked and call.named:
            raise _errors.ArgumentError("the operands' leading dimensions do not lie at one distance, and the edge reads arrays: copy the operands, for instance "
                                        "by numpy.ascontiguousarray or .contiguous()")
        if walked:
            return _in_turn(walked, call, given, lead, s)
    matrices = [dense(v, name) for v, name in zip(views, names)]
    if not lead and values is not None and len(getattr(values, "shape", ())) > 1:  # a batch of values over shared operands
        lead = tuple(values.shape[:-1])
    batch = mathematics.prod(lead)
    used, kind = given_values(s, values, how.as_pattern, first.type, operation, batch), kind_of(first.array)
    rows, cols = (s.struct.cols, s.struct.rows) if how.transpose else (s.struct.rows, s.struct.cols)
    _check_shapes(operation, names, matrices, views, s, rows, cols)
    shape = (*lead, s.nnz) if operation == SDDMM else (*lead, rows) if flat else (*lead, rows, matrices[-1].cols)
    result = _output(call.out, kind, shape, first, s, call.beta)
    P = column(result, "out", shape[-1], batch) if operation == SDDMM or flat else dense(result, "out")
    if batch == 0:
        return result.array, s
    try:
        execution = c.tamis_execution(kind.stream(first.array), call.alpha, call.beta, used.pointer, used.apart)
    except TypeError:
        raise TypeError(f"alpha = {call.alpha!r}, beta = {call.beta!r}: expected numbers") from None
    if call.statistics is not None:
        execution.softmax_rows = call.statistics
    arrays = None
    if call.named:
        arrays = operands_of(call.named, lead, (rows, cols, s.nnz), s.device)
        execution.edge_operands, execution.edge_operand_count = arrays.operands, len(call.named)
    others = _kinds.others((*views, used.keep, result, *(() if arrays is None else arrays.views)), execution.stream)
    for other in others:
        _kinds.wait(s.device, execution.stream, other)
    planned = call.planned or (call.S.plan_of if isinstance(call.S, Pattern) else None)
    if planned is not None:
        handle = _by_plan(call, planned, how, used, matrices, P, execution, batch)
        key = None if known is None else _recipe.key(*known, False)
        if key is not None:
            _keep(call, key, handle, [*matrices, P], execution, result, operation == SDDMM and s.transposed)
    else:
        _once(call, s, how, used, matrices, P, execution, batch)
    for other in others:
        _kinds.wait(s.device, other, execution.stream)
    del arrays  # keeps them alive until the library has returned
    return result.array, s


def _keep(call: Call, key: Any, handle: Any, views: list, execution: Any, result: View, turned: bool) -> None:
    """Keep the recipe of a call by a plan. views: of the operands, then of the result. turned: the library takes the operands in reverse order."""
    made, first, count = Structures(), call.operands[0], len(call.operands)
    numbers = [*(range(count, 0, -1) if turned else range(1, count + 1)), count + 1 if call.out is not None else count + 3]
    arguments = [made.view(view, number) for view, number in zip(views, numbers)]
    fields = [("stream", STREAM, 0), ("alpha", ALPHA, 0), ("beta", BETA, 0)]
    fields += [("values", ARRAY, 0)] if call.values is not None else []
    fields += [("softmax_rows", ARRAY, count + 2)] if call.statistics is not None else []
    read = call.S.sparse.arrays(call.values is None and not call.how.as_pattern)
    results: list = []
    if call.out is None:
        shape = tuple(result.shape)
        results.append((1, "new_empty", (shape,)) if kind_of(first) is Torch else (-1, numpy.empty, (shape, result.array.dtype)))
    if handle.workspace:
        fields.append(("workspace", ARRAY, count + 3 + len(results)))
        results.append(handle.workspace_row(first))
    arguments.append(made.add(execution, *fields))
    keep_recipe(call.recipes, key, _recipe.later(
        address_of(PLANNED[call.operation].__name__), bytes(made.bytes), [(OWNER, 0), *arguments], made.fills, tuple(results), int(call.out is None),
        first.get_device() if views[0].location == c.TAMIS_DEVICE else -1,
        count + 1 if call.out is not None else -1, b"".join(struct.pack("PP", *extent(x)) for _, x in read if x is not None), handle, None))


def _sparse_of(call: Call, last: View) -> Sparse:
    """Return the view of S. last: the last operand, which has S's columns."""
    if isinstance(call.S, Pattern):
        return call.S.sparse
    s = sparse(call.S, cols=None if call.how.transpose else last.shape[0 if len(last.shape) == 1 else -2])
    if call.out is not None:
        _check_output(call.out, s.arrays(call.values is None and not call.how.as_pattern))
    return s


def _column(v: View) -> View:
    """Return a vector as a matrix of one column."""
    return View(v.array, v.pointer, (*v.shape, 1), (*v.strides, 1), v.type, v.device, True, v.keep, v.stream)


def turned(operation: int, s: Sparse, views: list, names: tuple[str, ...], how: Settings) -> tuple[list, tuple[str, ...], Settings]:
    """Return what belongs to the operands, and the settings, for the library: CSC is the CSR of the transpose."""
    if not s.transposed:
        return views, names, how
    if operation != SDDMM:
        return views, names, how._replace(transpose=not how.transpose)
    if reads_places(how.edge):
        raise _errors.ArgumentError("edge is an expression that reads places or normalises rows, and S is CSC: convert it by S.tocsr()")
    if how.edge == c.TAMIS_EDGE_SOFTMAX:
        raise _errors.ArgumentError("edge = softmax normalises rows, and S is CSC: convert it by S.tocsr()")
    return views[::-1], names[::-1], how


def _lead(views: list[View], names: tuple[str, ...], first: View, s: Sparse) -> tuple[int, ...]:
    """Return the leading dimensions, which all operands that have any share; check the operands' types and devices."""
    lead: tuple[int, ...] = ()
    for v, name in zip(views, names):
        if v.type > _types.BF16:
            raise refuse_view(name, v)
        if v.device != s.device:
            raise _errors.ArgumentError(f"{name} is on {v.device} and S on {s.device}: move one")
        if v.type != first.type:
            raise _errors.ArgumentError(f"{name} is {_types.NAMES[v.type]} and the other operands {_types.NAMES[first.type]}: convert one, for "
                                        f"instance by {converting(v.array, name, first.type)}")
        if len(v.shape) > 2:
            if lead and tuple(v.shape[:-2]) != lead:
                raise _errors.ArgumentError(f"{name} has shape {tuple(v.shape)}: its leading dimensions differ from {lead}")
            lead = tuple(v.shape[:-2])
    return lead


def _by_plan(call: Call, planned: Any, how: Settings, used: Given, matrices: list, P: Any, execution: Any, batch: int) -> Any:
    """Execute by a plan, and return its handle."""
    operation, operands = call.operation, call.operands
    a, b, d = (matrices[0], matrices[1], matrices[-1]) if operation == FUSED else (matrices[0], matrices[-1], matrices[-1])
    kind = matrices[0].type
    form = (operation, kind, P.type, a.cols, d.cols, a.layout, b.layout, d.layout, P.layout, batch, used.type if used.pointer else -1,
            operation == FUSED and same_array(operands[1], operands[2]) and bytes(b) == bytes(d) and a.cols == d.cols)
    handle = planned(form, how, used)
    memory = handle.bring_workspace(execution, operands[0]) if handle.workspace else None
    must(PLANNED[operation](handle.value, *map(byref, matrices), byref(P), byref(execution)))
    del memory  # keeps it alive until the library has returned
    return handle


def _once(call: Call, s: Sparse, how: Settings, used: Given, matrices: list, P: Any, execution: Any, batch: int) -> None:
    """Execute without a plan."""
    given = options(how, batch=batch)
    allocator = kind_of(call.operands[0]).allocator(call.operands[0])
    if allocator is not None:
        given.allocator = allocator
    view_of_s = s.with_values(used.pointer, used.type, used.apart)
    execution.values = None
    must(ONCE[call.operation](opened(s.device).handle, byref(view_of_s), *map(byref, matrices), byref(P), byref(given), byref(execution)))


def _fitting(names: tuple[str, ...], views: list[View], values: Any, s: Sparse, rows: int) -> tuple[tuple, Any] | None:
    """The tensors that are computed with, where kernels do not read some as they lie: copies of those; None: all are read, or the library says what
    it expects, as for arrays of NumPy, which nothing copies."""
    if kind_of(views[0].array) is not Torch:
        return None
    owns = [min(len(v.shape), 2) for v in views]
    bad = [not fits(v.shape, v.strides, own) if own > 1 else v.strides != () and v.strides[0] <= 0 < v.shape[0] for v, own in zip(views, owns)]
    given = None if values is None else view(values, "values")
    strided = given is not None and len(given.shape) > 0 and not fits(given.shape, given.strides, 1)
    if not strided and not any(bad):
        return None
    most = max(views, key=lambda v: len(v.shape))
    room = sum(seen(v.shape, v.strides) for v in (*views, *(() if given is None else (given,)))) + 2 * s.nnz
    room += mathematics.prod(most.shape[:-2]) * rows * (views[-1].shape[-1] if len(views[-1].shape) > 1 else 1)
    operands = tuple(packed(v.array, name, own, room) if copied else v.array for v, name, own, copied in zip(views, names, owns, bad))
    return operands, packed(given.array, "values", 1, room) if strided and given is not None else values


def _in_turn(walked: int, call: Call, views: list[View], lead: tuple[int, ...], s: Sparse) -> tuple[Any, Sparse]:
    """Compute the members of the first `walked` dimensions one by one; each is a call with the other dimensions as its batch. Nothing is
    copied."""
    operands, out, values, statistics = call.operands, call.out, call.values, call.statistics
    pattern = call.S if isinstance(call.S, Pattern) else Pattern._of(s)
    rows = s.shape[1] if call.how.transpose else s.shape[0]
    if out is None and call.beta == 0:
        shape = (*lead, s.nnz) if call.operation == SDDMM else (*lead, rows, views[-1].shape[-1])
        out = kind_of(operands[0]).empty(shape, views[0].type, operands[0])
    step = mathematics.prod(lead[walked:]) * rows * 2 * (8 if views[0].type == c.TAMIS_F64 else 4)  # bytes of softmax's row statistics
    for number, place in enumerate(numpy.ndindex(*lead[:walked])):
        compute(*call._replace(
            S=pattern, operands=tuple(x[place] if len(v.shape) > 2 else x for x, v in zip(operands, views)), out=None if out is None else out[place],
            values=values[place] if values is not None and len(values.shape) == len(lead) + 1 else values,
            statistics=None if statistics is None else statistics + number * step))
    return out, s
