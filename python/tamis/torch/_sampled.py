"""The operators sddmm, spmm and fused: the operations and their gradients on tensors and a checked pattern, without recording, and their rows."""
from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from .. import _declarations as c
from .. import _edges, _errors, _recipe
from .._call import Given, Settings, check_numbers, compute, given_values
from .._pattern import Pattern
from .._plan import is_softmax
from .._recipe import ARRAY, OWNER, STREAM, Structures, first_run
from .._types import OPERANDS
from .._views import column, dense, fits, packed, seen, torch_view, uneven
from ._direct import HALF, RECORDED
from ._formulas import Operations, wide
from ._formulas import packed as packed_change
from ._ops import CALLS, Operator, of_batches

SCALE, SOFTMAX, MASK = c.TAMIS_EDGE_SCALE, c.TAMIS_EDGE_SOFTMAX, c.TAMIS_EDGE_MASK
BACKWARD = {c.TAMIS_OP_SDDMM: "tamis_sddmm_backward", c.TAMIS_OP_SPMM: "tamis_spmm_backward", c.TAMIS_OP_FUSED: "tamis_fused_backward"}


@functools.lru_cache(maxsize=1024)
def settings_of(edge: int, scale: float, slope: float, epsilon: float, transpose: bool, keep: bool) -> Settings:
    """Return the settings of operators, for which S is a pattern and its values are an operand."""
    check_numbers(scale=scale, slope=slope, epsilon=epsilon)
    return Settings(edge, scale, slope, epsilon, transpose, 0, keep, True)


AS_IS, TRANSPOSED = (settings_of(SCALE, 1.0, 0.01, 1e-10, transpose, False) for transpose in (False, True))  # products by S itself


def computed(operation: int, pattern: Pattern, how: Settings, tensors: tuple, statistics: Optional[int], out: Optional[Tensor] = None, alpha: float = 1.0, beta: float = 0.0) -> Tensor:
    """Return the result, or with out alpha * the result + beta * out, which is written there. tensors: the values and the operands."""
    found = _recipe.repeat(pattern.recipes, (operation, how), (*tensors, out, statistics), True, alpha, beta)
    if found is not None:
        return found[0] if out is None else out  # type: ignore[no-any-return]
    return compute(operation, pattern, OPERANDS[operation], tensors[1:], out, how, alpha, beta, tensors[0], statistics)[0]  # type: ignore[no-any-return]


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


class Gradient(NamedTuple):
    """The arguments of `backward`."""

    operation: int
    pattern: Pattern
    how: Settings
    values: Optional[Tensor]
    grad: Tensor
    matrices: tuple[Tensor, ...]
    statistics: Optional[Tensor]
    wanted: list[bool]
    result: Optional[Tensor] = None


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
    call = Gradient(operation, pattern, how, values, grad, matrices, statistics, wanted, result)
    return _by_others(call) or _first_backward(call, arrays, _recipe.key(what, arrays, True))


def _by_others(call: Gradient) -> Optional[list]:
    """Return gradients that take no call, or that other calls give; else None."""
    copies = _fitting(call)
    if copies is not None:
        return backward(*call._replace(values=copies[-1], matrices=copies[:-1]))
    values, operands = call.values, (*call.matrices, call.values)
    lead = lead_of(*operands)
    if 0 in lead:
        return [None if x is None or not wants else torch.zeros_like(x) for wants, x in zip(call.wanted, operands)]
    if values is not None and 1 < values.dim() <= len(lead):  # fewer leading dimensions: their gradient is the sum over the members that share them
        *found, ds = backward(*call._replace(values=values.expand(*lead, values.shape[-1])))
        return [*found, None if ds is None else ds.sum_to_size(values.shape)]
    own = [*[2] * len(call.matrices), 1]  # dimensions of a member
    if len(lead) > 1 and any(x is not None and x.dim() > least and uneven(x.shape[:-least], x.stride()[:-least]) for x, least in zip(operands, own)):
        return _in_turn(call, [x is None or x.dim() == least for x, least in zip(operands, own)])
    return None


def _fitting(call: Gradient) -> Optional[tuple]:
    """Return the matrices and values, with copies of those that kernels cannot read; None if kernels can read all."""
    given = [(x, name, 2) for x, name in zip(call.matrices, OPERANDS[call.operation])]
    given += [] if call.values is None else [(call.values, "values", 1)]
    bad = [not fits(x.shape, x.stride(), own) for x, _, own in given]
    if not any(bad):
        return None
    room = call.grad.numel() + 2 * call.pattern.nnz + sum(seen(x.shape, x.stride()) for x, _, _ in given)
    made = [packed(x, name, own, room) if copied else x for (x, name, own), copied in zip(given, bad)]
    return (*made, None) if call.values is None else tuple(made)


def _in_turn(call: Gradient, shared: list[bool]) -> list:
    """Compute the gradients member by member of the first leading dimension, where one stride does not describe all members of each operand. Gradients of
    shared operands are summed."""
    operands: Any = (*call.matrices, call.values)
    results: list[Any] = [None] * len(operands)
    for place in range(call.grad.shape[0]):
        own: list[Any] = [x if x is None or same else x[place] for x, same in zip(operands, shared)]
        statistics = call.statistics[place] if call.statistics is not None and call.statistics.numel() else call.statistics
        found = backward(*call._replace(values=own[-1], grad=call.grad[place], matrices=tuple(own[:-1]), statistics=statistics,
                                        result=None if call.result is None else call.result[place]))
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


def _first_backward(call: Gradient, arrays: tuple, key: Optional[tuple]) -> list:
    """Make a call that repeats no earlier one, and keep its recipe. arrays: the gradient that is given, the matrices, values, statistics and result."""
    (operation, pattern, how, *_), wanted, (grad, *matrices, values, _, result) = call, call.wanted, arrays
    recipes = pattern.recipes  # before the plan: another thread may replace both meanwhile
    nnz, like, batch, names = pattern.nnz, matrices[0], math.prod(lead_of(*matrices, values)), OPERANDS[operation]
    results = [_empty(wants, x, 2, batch) for wants, x in zip(wanted, matrices)]
    results.append(_empty(wanted[-1] and how.edge != MASK, values, 1, batch))
    views = [_dense(x, name) for x, name in zip(matrices, names)]
    first, middle, last = views[0], views[1 if operation == c.TAMIS_OP_FUSED else -1], views[-1]
    used: Given = given_values(pattern.sparse, values, True, first.type, operation, batch)
    form = (operation, first.type, first.type, first.cols, last.cols, first.layout, middle.layout, last.layout, c.TAMIS_ROW_MAJOR, batch,
            used.type if used.pointer else -1)
    handle = pattern.plan_of(form, how, used, True)
    made, ds, count = Structures(), results[-1], len(arrays)
    of_grad = column(torch_view(grad, "dP"), "dP", nnz, batch) if operation == c.TAMIS_OP_SDDMM else _dense(grad, "dC" if operation == c.TAMIS_OP_SPMM else "dE")
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


# ------------------------------------------------------------------------------ operators

_EDGE = "int edge, float scale, float slope, float epsilon"


def _known(*sizes: Any) -> bool:
    return all(type(size) is int for size in sizes)


def _check(nnz: Any, values: Optional[Tensor], matrices: list, heights: list, inner: bool, mixed: bool = False) -> None:
    """Check shapes. matrices: names and tensors; heights: required rows of each; inner: required columns of A and B."""
    first = matrices[0][1]
    lead: tuple = ()
    for (name, x), height in zip(matrices, heights):
        if x.dtype != first.dtype:
            raise _errors.ArgumentError(f"{name} is {x.dtype} and the other operands {first.dtype}: convert one, for instance by "
                                        f"{name}.to({first.dtype})")
        rows = x.shape[0 if x.dim() == 1 else -2]
        if _known(rows, height) and rows != height:
            raise _errors.ArgumentError(f"{name} has shape {tuple(x.shape)}: expected {height} rows")
        own = tuple(x.shape[:-2])
        if own and lead and _known(*own, *lead) and own != lead:
            raise _errors.ArgumentError(f"{name} has shape {tuple(x.shape)}: its leading dimensions differ from {lead}")
        lead = own or lead
    if inner:
        a, b = matrices[0][1], matrices[1][1]
        if _known(a.shape[-1], b.shape[-1]) and a.shape[-1] != b.shape[-1]:
            raise _errors.ArgumentError(f"A has shape {tuple(a.shape)} and B {tuple(b.shape)}: expected the same number of columns")
    if values is None:
        return
    if values.dtype != first.dtype and not (mixed and values.dtype == torch.float32 and first.dtype in (torch.float16, torch.bfloat16)):
        raise _errors.ArgumentError(f"values are {values.dtype}, the operands {first.dtype}: convert one, for instance by values.to({first.dtype})")
    count, own = values.shape[-1], tuple(values.shape[:-1])
    if _known(count, nnz) and count != nnz:
        raise _errors.ArgumentError(f"values has {count} elements: expected {nnz}")
    if own and lead and _known(*own, *lead) and own != lead[len(lead) - len(own):]:
        raise _errors.ArgumentError(f"values has shape {tuple(values.shape)}: its leading dimensions differ from {lead}")


class Sampled(Operator):
    """An operation on the places of a pattern: values, then matrices. Its numbers are an edge's, and `transpose`; `run` and `back` take Settings."""

    operation = 0
    saved = "Tensor? values, Tensor a, Tensor b, Tensor statistics"
    keeps = True
    rule = of_batches
    repeated: Any = None  # repeated(numbers, *wanted) returns how often the gradient computes the products of rows, and the sums
    split: Any = None  # split(numbers of the schema) returns the edge's numbers, and `transpose`

    def inner(self, numbers: tuple) -> Settings:
        edge, transpose = self.split(numbers)
        return settings_of(*edge, transpose, False)

    def run(self, of: Any, operands: tuple, how: Any, keep: bool) -> tuple:
        if not keep or how.edge != SOFTMAX:
            return computed(self.operation, of, how, operands, None), None
        statistics = statistics_of(of.shape[1 if how.transpose else 0], *operands[1:], operands[0])
        how = settings_of(*how[:5], statistics.numel() > 0)
        return computed(self.operation, of, how, operands, statistics.data_ptr() or None), statistics

    def direct(self, need: int, pattern: Any, how: Any, *operands: Any) -> Tensor:  # half of such a call's time is Python's
        if need == RECORDED:
            return self.function.apply(pattern, how, *operands)  # type: ignore[no-any-return]
        return computed(self.operation, self.known(pattern, how, operands), how, operands, None)

    def save(self, operands: tuple, results: tuple, numbers: Any) -> tuple[tuple, Any, int]:
        return (*operands, results[1]), numbers, 0

    def back(self, of: Any, grad: Tensor, saved: Any, how: Any, wanted: list[bool], *late: Any) -> list:
        statistics = saved[-1]
        how = settings_of(*how[:5], statistics is not None and statistics.numel() > 0)
        return backward(self.operation, of, how, saved[0], grad, saved[1:-1], statistics, wanted, *late)

    def empty(self, of: Any, operands: tuple, numbers: tuple, keep: bool) -> tuple:
        values, *matrices = operands
        edge, transpose = self.split(numbers)
        out, other = (of.shape[1], of.shape[0]) if transpose else of.shape
        named = list(zip(OPERANDS[self.operation], matrices))
        _check(of.nnz, values, named, [out, other, other] if len(named) > 1 else [other], len(named) > 1, mixed=len(named) == 1)
        shape = (of.nnz,) if self.operation == c.TAMIS_OP_SDDMM else (out, *matrices[-1].shape[1 if matrices[-1].dim() == 1 else -1:])
        statistics = statistics_of(out, *matrices, values) if keep and edge[0] == SOFTMAX else None
        return matrices[0].new_empty((*lead_of(*matrices, values), *shape)), statistics

    def back_empty(self, of: Any, grad: Tensor, saved: Any, numbers: tuple, wanted: list[bool]) -> list:
        values, matrices = saved[0], saved[1:1 + len(OPERANDS[self.operation])]
        of_values = values.new_empty(values.shape) if values is not None and wanted[-1] else None
        return [*(empty_like(x) if wants else None for wants, x in zip(wanted, matrices)), of_values]

    def flops(self, of: Any, operands: tuple, numbers: tuple) -> Any:
        return sum(self._products(of, *operands))

    def back_flops(self, of: Any, grad: Tensor, saved: Any, numbers: tuple, wanted: list[bool]) -> Any:
        products = self._products(of, *saved[:1 + len(OPERANDS[self.operation])])
        return sum(size * count for size, count in zip(products, self.repeated(numbers, *wanted)))

    def _products(self, of: Any, values: Optional[Tensor], *matrices: Tensor) -> list:
        """Return the operations of a product of each pair of rows, and of each sum of rows."""
        return [2 * of.nnz * math.prod(lead_of(*matrices, values)) * (x.shape[-1] if x.dim() > 1 else 1) for x in matrices[::2]]

    def formula(self, where: tuple, grad: Tensor, saved: Any, numbers: tuple, wanted: list[bool]) -> list:
        values, *matrices = saved[:1 + len(OPERANDS[self.operation])]
        edge, transpose = self.split(numbers)
        found = _edges.gradients(Operations(CALLS, *where), self.operation, packed_change(grad), wide(values), tuple(map(wide, matrices)), edge, transpose, wanted)
        return [None if to is None or not wants else torch.zeros_like(to) if of is None else of.sum_to_size(to.shape).to(to.dtype)
                for of, to, wants in zip(found, (*matrices, values), wanted)]

    def tangent(self, where: tuple, saved: Any, numbers: tuple, changes: tuple) -> Any:
        values, *matrices = saved[:1 + len(OPERANDS[self.operation])]
        edge, transpose = self.split(numbers)
        dv, *d = map(packed_change, changes)
        return _edges.tangent(Operations(CALLS, *where), self.operation, wide(values), tuple(map(wide, matrices)), edge, transpose, dv, d)


class Sddmm(Sampled):
    name, operation = "sddmm", c.TAMIS_OP_SDDMM
    operands, numbers = "Tensor? values, Tensor a, Tensor b", _EDGE
    gradients = (1, 2, 0)
    split: Any = staticmethod(lambda numbers: (numbers, False))
    outer: Any = staticmethod(lambda how: how[:4])
    repeated: Any = staticmethod(lambda numbers, a, b, values: (a + b + (values or numbers[0] not in (SCALE, MASK)),))


class Spmm(Sampled):
    name, operation = "spmm", c.TAMIS_OP_SPMM
    operands, numbers = "Tensor? values, Tensor b", "bool transpose"
    saved = operands
    gradients = (1, 0)
    keeps, results = False, 1
    split: Any = staticmethod(lambda numbers: ((SCALE, 1.0, 0.01, 1e-10), numbers[0]))
    outer: Any = staticmethod(lambda how: (how.transpose,))
    repeated: Any = staticmethod(lambda numbers, b, values: (b + values,))

    def save(self, operands: tuple, results: tuple, numbers: Any) -> tuple[tuple, Any, int]:
        return operands, numbers, 0

    def back(self, of: Any, grad: Tensor, saved: Any, how: Any, wanted: list[bool], *late: Any) -> list:
        return super().back(of, grad, (*saved, None), how, wanted)


class Fused(Sampled):
    name, operation = "fused", c.TAMIS_OP_FUSED
    operands, numbers = "Tensor? values, Tensor a, Tensor b, Tensor d", f"{_EDGE}, bool transpose"
    saved = f"{operands}, Tensor statistics"
    late = "Tensor? result=None"  # from which the gradient has softmax's sums
    gradients = (1, 2, 3, 0)
    split: Any = staticmethod(lambda numbers: (numbers[:4], numbers[4]))
    outer: Any = staticmethod(lambda how: how[:5])
    repeated: Any = staticmethod(lambda numbers, a, b, d, values: (1 + a + b, d + (a or b or values)))

    def known(self, pattern: Any, how: Any, operands: tuple) -> Any:
        found = pattern._unlisted() if pattern._masked is not None and pattern._columns is None and _needs_no_list(how, *operands[:4]) else None
        return pattern._current() if found is None else found

    def save(self, operands: tuple, results: tuple, numbers: Any) -> tuple[tuple, Any, int]:
        late = kept_result(operands[0], operands[1], numbers[0], results[0])
        return (*operands, results[1], *late), numbers, len(late)


UNLISTED = {"cuda"}  # the devices on which attention needs no list of a mask's columns


def _needs_no_list(how: Any, values: Optional[Tensor], a: Tensor, b: Tensor, d: Tensor) -> bool:
    """Return True if the library may compute this fused call, and its gradient, without a list of a mask's columns; where it does not, it makes one for itself."""
    if values is not None or a.dtype not in HALF or a.device.type not in UNLISTED or how.transpose or not (how.edge == SOFTMAX or is_softmax(how.edge)):
        return False
    longest = 256 if a.is_cuda and _capability(a.device) == 9 else 128  # numbers of a row that tensor cores take
    return 0 < a.shape[-1] <= longest and 0 < d.shape[-1] <= longest


SDDMM, SPMM, FUSED = Sddmm(), Spmm(), Fused()
