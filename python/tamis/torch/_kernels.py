"""The operations and their gradients on tensors and a checked pattern, without recording.

Operators take plain tensors of indices, since compilers do not take sparse ones. The pattern that belongs to them, with its plans, is
found by their addresses: a pattern that is alive keeps its tensors, so that no other tensor can have these addresses.
"""
from __future__ import annotations

import functools
import math
from typing import Any, Optional

import torch
from torch import Tensor

from .. import _declarations as c
from .. import _device, _recipe
from .._call import Given, Settings, check_numbers, compute, given_values
from .._living import Living
from .._pattern import Pattern
from .._recipe import ARRAY, OWNER, STREAM, Structures, first_run
from .._sparse import Sparse
from .._types import FUSED, OPERANDS, SDDMM, SPMM
from .._views import column, dense, fits, packed, seen, torch_view, uneven
from . import _held

SCALE, SOFTMAX, MASK = c.TAMIS_EDGE_SCALE, c.TAMIS_EDGE_SOFTMAX, c.TAMIS_EDGE_MASK
BACKWARD = {SDDMM: "tamis_sddmm_backward", SPMM: "tamis_spmm_backward", FUSED: "tamis_fused_backward"}
MOST_UNNAMED = 16  # number of cached patterns of operators called with bare tensors; the oldest is removed first
_alive: Living[Pattern] = Living()
_unnamed: dict[tuple, Pattern] = {}


@functools.lru_cache(maxsize=1024)
def settings_of(edge: int, scale: float, slope: float, epsilon: float, transpose: bool, keep: bool) -> Settings:
    """Return the settings of operators, for which S is a pattern and its values are an operand."""
    check_numbers(scale=scale, slope=slope, epsilon=epsilon)
    return Settings(edge, scale, slope, epsilon, transpose, 0, keep, True)


def follow_threads() -> None:
    """Adopt the number of torch.set_num_threads."""
    count = torch.get_num_threads()
    if count != _device.followed:
        _device.follow(count)


def pattern_of(index: Tensor, columns: Tensor, rows: int, cols: int, coo: bool, keep: bool = False) -> Pattern:
    """Return the checked pattern of these tensors; `keep`: the caller keeps it alive. A tensor changed in place gives a new pattern."""
    follow_threads()
    key = (index.data_ptr(), columns.data_ptr(), index.numel(), columns.numel(), index.stride(), columns.stride(), index.dtype,
           columns.dtype, columns.device, rows, cols, coo, 0 if index.is_inference() else index._version, 0 if columns.is_inference() else columns._version)
    pattern = _alive.get(key)
    if pattern is None or pattern.sparse.moved() or not _same_content(pattern, index, columns):  # another tensor now uses that memory
        index, columns = index.detach(), columns.detach()
        pattern = Pattern._of(Sparse("S", (rows, cols), index, columns, coo=coo))
        if not keep or not _held.counted(index, columns):
            pattern.content = _held.copy(index), _held.copy(columns)  # type: ignore[attr-defined]
        _alive[key] = pattern
        if not keep:
            _unnamed[key] = pattern
            for oldest in list(_unnamed)[:-MOST_UNNAMED]:  # atomic: no other thread can add an entry meanwhile
                _unnamed.pop(oldest, None)
    return pattern


def _same_content(pattern: Pattern, index: Tensor, columns: Tensor) -> bool:
    """Return True if the tensors still have the pattern's content. It may change without a new version: torch.compile overwrites its results."""
    content = getattr(pattern, "content", None)
    return content is None or (_held.same(index, content[0]) and _held.same(columns, content[1]))


_strided = torch.strided


def computed(operation: int, pattern: Pattern, how: Settings, tensors: tuple, statistics: Optional[int]) -> Tensor:
    """Return the result. tensors: the values and the operands."""
    found = _recipe.repeat(pattern.recipes, (operation, how), (*tensors, None, statistics), True, 1.0, 0.0)
    if found is not None:
        return found[0]  # type: ignore[no-any-return]
    return compute(operation, pattern, OPERANDS[operation], tensors[1:], None, how, 1.0, 0.0, tensors[0], statistics)[0]  # type: ignore[no-any-return]


def statistics_of(rows: Any, *operands: Optional[Tensor]) -> Tensor:
    """Allocate softmax's row statistics. The values come last."""
    a = operands[0]
    assert a is not None
    return a.new_empty((*lead_of(*operands), rows, 2), dtype=torch.float64 if a.dtype == torch.float64 else torch.float32)


@functools.lru_cache(maxsize=64)
def _capability(device: torch.device) -> int:
    return torch.cuda.get_device_capability(device)[0]


def kept_result(values: Optional[Tensor], a: Tensor, edge: int, result: Tensor) -> tuple[Tensor, ...]:
    """Return the result of fused if its gradient reads it, which saves a pass over the cells: on tensor cores in bf16, and in fp32 of long
    rows. Else nothing."""
    if edge != SOFTMAX or values is not None or not a.is_cuda:
        return ()
    if a.dtype == torch.bfloat16:
        return (result,) if _capability(a.device) >= 8 else ()
    long = a.dtype == torch.float32 and max(a.shape[-1], result.shape[-1]) > 64
    return (result,) if long and _capability(a.device) == 9 else ()


def lead_of(*operands: Optional[Tensor]) -> tuple[int, ...]:
    """Return the dimensions of the batch, from the first operand that has any. Values, the last operand, are vectors."""
    for x in operands[:-1]:
        if x is not None and x.dim() > 2:
            return tuple(x.shape[:-2])
    last = operands[-1]
    return tuple(last.shape[:-1]) if last is not None and last.dim() > 1 else ()


# ------------------------------------------------------------------------------ gradients


def empty_like(x: Tensor) -> Tensor:
    """Return an uninitialised tensor of x's shape and, in each matrix, of its layout."""
    if x.dim() >= 2 and x.stride(-1) != 1 and x.stride(-2) == 1:
        return x.new_empty((*x.shape[:-2], x.shape[-1], x.shape[-2])).transpose(-1, -2)
    return x.new_empty(x.shape)


def row_of(x: Optional[Tensor], number: int, like: Tensor) -> Optional[tuple]:
    """Return the row of a recipe that makes a tensor as x. number: the place of the array `like`, which has x's device."""
    if x is None:
        return None
    if x.dtype != like.dtype:
        return -1, functools.partial(torch.empty_strided, x.shape, x.stride(), dtype=x.dtype, device=x.device), ()
    return (number, "new_empty", (x.shape,)) if x.is_contiguous() else (number, "new_empty_strided", (x.shape, x.stride()))


def device_of(x: Tensor) -> int:
    """Return the number of a CUDA device, of whose streams a recipe takes the current one; -1 on the CPU."""
    return x.get_device() if x.is_cuda else -1


def _dense(x: Optional[Tensor], name: str) -> Any:
    return dense(torch_view(x, name), name) if x is not None else None


def _empty(wanted: bool, x: Optional[Tensor], dimensions: int, batch: int) -> Optional[Tensor]:
    """Allocate the gradient of x, a matrix (2 dimensions) or values (1). Each member of a batch has its own, even for a shared x."""
    if not wanted or x is None:
        return None
    return empty_like(x.expand(batch, *x.shape)) if batch > 1 and x.dim() == dimensions else empty_like(x)


def _summed(results: list, operands: tuple) -> list:
    """Sum gradients over the members that shared an operand."""
    return [result.sum(0) if result is not None and result.dim() > x.dim() else result for result, x in zip(results, operands)]


def _walked(lead: tuple[int, ...], matrices: tuple[Tensor, ...], values: Optional[Tensor]) -> bool:
    """Return True if the first leading dimension must be walked, since one stride does not describe all members of each operand."""
    if len(lead) < 2:
        return False
    if any(x.dim() > 2 and uneven(x.shape[:-2], x.stride()[:-2]) for x in matrices):
        return True
    return values is not None and values.dim() > 1 and uneven(values.shape[:-1], values.stride()[:-1]) > 0


def _in_turn(operation: int, pattern: Pattern, how: Settings, values: Optional[Tensor], grad: Tensor, matrices: tuple[Tensor, ...],
             statistics: Optional[Tensor], wanted: list[bool], result: Optional[Tensor]) -> list:
    """Compute the gradients member by member of the first leading dimension. Gradients of shared operands are summed."""
    operands: Any = (*matrices, values)
    shared = [x is None or x.dim() == least for x, least in zip(operands, (*[2] * len(matrices), 1))]
    results: list[Any] = [None] * len(operands)
    for place in range(grad.shape[0]):
        own: list[Any] = [x if x is None or same else x[place] for x, same in zip(operands, shared)]
        kept = statistics[place] if statistics is not None and statistics.numel() else statistics
        found = backward(operation, pattern, how, own[-1], grad[place], tuple(own[:-1]), kept, wanted, None if result is None else result[place])
        for number, gradient in enumerate(found):
            if gradient is None:
                continue
            if not shared[number]:
                if results[number] is None:
                    results[number] = empty_like(operands[number])
                results[number][place].copy_(gradient)
            else:
                results[number] = gradient if results[number] is None else results[number].add_(gradient)
    return results


def _fitting(operation: int, pattern: Pattern, matrices: tuple[Tensor, ...], values: Optional[Tensor], grad: Tensor) -> Optional[tuple]:
    """Return the matrices and values, with copies of those that kernels cannot read; None if kernels can read all."""
    given = [(x, name, 2) for x, name in zip(matrices, OPERANDS[operation])]
    given += [] if values is None else [(values, "values", 1)]
    bad = [not fits(x.shape, x.stride(), own) for x, _, own in given]
    if not any(bad):
        return None
    room = grad.numel() + 2 * pattern.nnz + sum(seen(x.shape, x.stride()) for x, _, _ in given)
    made = [packed(x, name, own, room) if copied else x for (x, name, own), copied in zip(given, bad)]
    return (*made, None) if values is None else tuple(made)


def backward(operation: int, pattern: Pattern, how: Settings, values: Optional[Tensor], grad: Tensor, matrices: tuple[Tensor, ...],
             statistics: Optional[Tensor], wanted: list[bool], result: Optional[Tensor] = None) -> list:
    """Call the library's backward function. Returns the gradients of the matrices and of the values, None if not wanted."""
    if matrices[0].dim() == 1:  # SpMM's B is a vector
        db, ds = backward(operation, pattern, how, values, grad.unsqueeze(-1), (matrices[0].unsqueeze(1),), statistics, wanted)
        return [None if db is None else db.squeeze(1), ds]
    statistics = statistics if how.keep_softmax else None
    if result is not None and (statistics is None or result.dim() != grad.dim()):
        result = None
    what = "backward", operation, how, *wanted
    arrays = grad.contiguous(), *matrices, values, statistics, None if result is None else result.contiguous()
    found = _recipe.repeat(pattern.recipes, what, arrays, True, 1.0, 0.0)
    if found is not None:
        return _summed(found, (*matrices, values))
    return _by_others(operation, pattern, how, values, grad, matrices, statistics, wanted, result) or \
        _first_backward(operation, pattern, how, arrays, wanted, _recipe.key(what, arrays, True))


def _by_others(operation: int, pattern: Pattern, how: Settings, values: Optional[Tensor], grad: Tensor, matrices: tuple[Tensor, ...],
               statistics: Optional[Tensor], wanted: list[bool], result: Optional[Tensor]) -> Optional[list]:
    """Return gradients that take no call, or that other calls give; else None."""
    copies = _fitting(operation, pattern, matrices, values, grad)
    if copies is not None:
        return backward(operation, pattern, how, copies[-1], grad, copies[:-1], statistics, wanted, result)
    lead = lead_of(*matrices, values)
    if 0 in lead:
        return [None if x is None or not wants else torch.zeros_like(x) for wants, x in zip(wanted, (*matrices, values))]
    if values is not None and 1 < values.dim() <= len(lead):  # fewer leading dimensions: their gradient is the sum over the members that share them
        *found, ds = backward(operation, pattern, how, values.expand(*lead, values.shape[-1]), grad, matrices, statistics, wanted)
        return [*found, None if ds is None else ds.sum_to_size(values.shape)]
    if _walked(lead, matrices, values):
        return _in_turn(operation, pattern, how, values, grad, matrices, statistics, wanted, result)
    return None


def _first_backward(operation: int, pattern: Pattern, how: Settings, arrays: tuple, wanted: list[bool], key: Optional[tuple]) -> list:
    """Make a call that repeats no earlier one, and keep its recipe. arrays: the gradient that is given, the matrices, values, statistics and result."""
    grad, *matrices, values, statistics, result = arrays
    recipes = pattern.recipes  # before the plan: another thread may replace both meanwhile
    nnz, like, batch, names = pattern.nnz, matrices[0], math.prod(lead_of(*matrices, values)), OPERANDS[operation]
    results = [_empty(wants, x, 2, batch) for wants, x in zip(wanted, matrices)]
    results.append(_empty(wanted[-1] and how.edge != MASK, values, 1, batch))
    views = [_dense(x, name) for x, name in zip(matrices, names)]
    first, middle, last = views[0], views[1 if operation == FUSED else -1], views[-1]
    used: Given = given_values(pattern.sparse, values, True, first.type, operation, batch)
    form = (operation, first.type, first.type, first.cols, last.cols, first.layout, middle.layout, last.layout, c.TAMIS_ROW_MAJOR, batch,
            used.type if used.pointer else -1)
    handle = pattern.plan_of(form, how, used, True)
    made, ds, count = Structures(), results[-1], len(arrays)
    of_grad = column(torch_view(grad, "dP"), "dP", nnz, batch) if operation == SDDMM else _dense(grad, "dC" if operation == SPMM else "dE")
    arguments = [(OWNER, 0), *(made.view(view, number) for number, view in enumerate((of_grad, *views)))]
    arguments += [made.view(_dense(x, f"d{name}"), count + number) for number, (x, name) in enumerate(zip(results, names))]
    arguments.append(made.view(column(torch_view(ds, "dS"), "dS", nnz, batch) if ds is not None and nnz else None, count + len(names)))
    fields = [("stream", STREAM, 0), ("softmax_rows", ARRAY, count - 2)]
    if used.pointer:
        fields.append(("values", ARRAY, count - 3))
    execution = c.tamis_execution(None, 1.0, 0.0, None, used.apart)
    rows = [row_of(x, 1, like) for x in results]
    if handle.workspace:
        fields.append(("workspace", ARRAY, count + len(rows)))
        rows.append(handle.workspace_row(like))
        execution.workspace_bytes = handle.workspace
    if result is not None:
        fields.append(("result", *made.view(_dense(result, "E"), count - 1)))
    arguments.append(made.add(execution, *fields))
    without = wanted[-1] and values is not None and (ds is None or nnz == 0)  # zeros, which the library does not write
    first_run(recipes, None if without else key, tuple(results), arrays, BACKWARD[operation], made, arguments, tuple(rows),
              device_of(like), handle, None)
    if without:
        results[-1] = torch.zeros_like(values) if ds is None else ds
    return _summed(results, (*matrices, values))
