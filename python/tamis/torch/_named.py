"""Edges that are expressions of tensors: arrays that they name, and numbers that are tensors, with gradients to all of them.

A call and its gradient are calls of the library, which compiled code has as operators. Gradients of gradients, forward mode and torch.func take sampled products,
the expression by PyTorch's functions, and spmm.
"""
from __future__ import annotations

import ctypes
import math
from ctypes import byref
from typing import Any, Optional

import torch
from torch import Tensor

from .. import _declarations as c
from .. import _errors
from .._call import Settings, compute, given_values
from .._kinds import Torch
from .._library import lib, must
from .._edges import value
from .._named import operands_of, shape_of
from .._types import OPERANDS
from .._views import column, dense, torch_view
from . import _direct, _ops
from ._formulas import Steps, wide
from ._held import pattern_of
from ._ops import CALLS, _read
from ._sampled import lead_of
from ._steps import Recorded, Step, Traced, _transformed

_BACKWARD = {c.TAMIS_OP_SDDMM: lib.tamis_sddmm_backward, c.TAMIS_OP_FUSED: lib.tamis_fused_backward}


def called(operation: int, pattern: Any, how: Settings, values: Optional[Tensor], matrices: tuple[Tensor, ...], named: dict[str, Any]) -> Tensor:
    """Call sddmm or fused. All operands that are not shared by the batch get its leading dimensions as one."""
    for name, array in named.items():
        if not isinstance(array, Tensor):
            raise TypeError(f"{name} is a {type(array).__name__}: expected a tensor, for instance torch.as_tensor({name})")
    lead = lead_of(*matrices, values)
    for operand, x in [*zip(OPERANDS[operation], matrices), ("values", values)]:
        own = 1 if operand == "values" else 2
        if x is not None and x.dim() > own and x.shape[:-own] != lead:
            raise _errors.ArgumentError(f"{operand} has shape {tuple(x.shape)}: its leading dimensions differ from {lead}, and the operands of a batch have the same or none")
    rows, cols = pattern.shape[::-1] if how.transpose else pattern.shape
    flat = [_flat(x, 2, lead) for x in matrices]
    ones = None if values is None else _flat(values, 1, lead)
    wide = torch.float64 if matrices[0].dtype == torch.float64 else torch.float32
    named = {name: array.to(matrices[0].device, wide) if array.dim() == 0 else array for name, array in named.items()}  # as PyTorch takes such numbers
    for name, array in named.items():
        if array.dtype not in (matrices[0].dtype, wide):
            raise _errors.ArgumentError(f"{name} is {array.dtype}: expected {matrices[0].dtype}{'' if wide is matrices[0].dtype else f' or {wide}'}; convert it by {name}.to({wide})")
    arrays = [_array(name, array, lead, (rows, cols, pattern.nnz)) for name, array in named.items()]
    step = _Named(operation, pattern, how, tuple(named))
    if _direct.compiling() and not _transformed():
        found = Traced.apply(step, ones, *flat, *arrays)
    else:
        differentiated = _direct.transforms() or _direct.forward_mode()
        found = step.plainly(ones, *flat, *arrays) if differentiated else Recorded.apply(step, ones, *flat, *arrays)
    return found.reshape(*lead, *found.shape[1:]) if lead else found  # type: ignore[no-any-return]


def _flat(x: Tensor, own: int, lead: tuple[int, ...]) -> Tensor:
    """Return x packed, with the leading dimensions as one if it has any."""
    if x.dim() > own:
        x = x.reshape(-1, *x.shape[-own:])
    return x.contiguous()


def _array(name: str, array: Tensor, lead: tuple[int, ...], sizes: tuple[int, int, int]) -> Tensor:
    """Return an array of one member or of each, packed. Leading dimensions that it lacks, or has once, are repeated."""
    wanted = shape_of(name, lead, sizes)
    of_member = wanted[len(lead):]
    shape = tuple(array.shape)
    if shape == of_member or (not of_member and array.numel() == 1):
        return array.reshape(of_member or (1,)).contiguous()
    try:
        whole = array.expand(wanted)
    except RuntimeError:
        one = of_member or "one number"
        raise _errors.ArgumentError(f"{name} has shape {shape}: expected {one}{f', or what broadcasts to {wanted}' if lead else ''}") from None
    return whole.reshape(-1, *of_member).contiguous()


class _Named(Step):
    """A call with arrays. Its operands: the values, the matrices, the arrays."""

    compiled = True

    def __init__(self, operation: int, pattern: Any, how: Settings, names: tuple[str, ...]):
        self.operation, self.pattern, self.how, self.names, self.count = operation, pattern, how, names, 1 + len(OPERANDS[operation])

    def plainly(self, *operands: Optional[Tensor]) -> Tensor:
        (values, *matrices), arrays, known = operands[:self.count], operands[self.count:], self.pattern
        on = Steps(CALLS, *_read(known.index, known.columns, (known.rows, known.cols)), known.rows, known.cols, known.coo)
        found = value(on, self.operation, wide(values), tuple(map(wide, matrices)), self.how[:4], self.how.transpose, dict(zip(self.names, arrays)))
        return found.to(matrices[0].dtype).expand(*lead_of(*matrices, values), *found.shape[-1 if self.operation == c.TAMIS_OP_SDDMM else -2:])

    def _outer(self, known: Any) -> tuple:
        """Return what the registered operators take after tensors."""
        return known.rows, known.cols, known.coo, self.operation, *self.how[:5], ",".join(self.names)

    def run(self, known: Any, *operands: Optional[Tensor]) -> tuple[Tensor, tuple]:
        values, *tensors = operands
        if _direct.compiling():
            return torch.ops.tamis.named(known.index, known.columns, values, tensors, *self._outer(known)), ()
        matrices, named = tensors[:self.count - 1], dict(zip(self.names, tensors[self.count - 1:]))
        return compute(self.operation, known, OPERANDS[self.operation], matrices, None, self.how, 1.0, 0.0, values, named=named)[0], ()

    def back(self, known: Any, grad: Tensor, operands: tuple, kept: tuple, wanted: list[bool]) -> tuple:
        values, *tensors = operands
        if _direct.compiling():
            found = iter(torch.ops.tamis.named_backward(grad, known.index, known.columns, values, tensors, *self._outer(known), wanted))
            return tuple(next(found) if wants and x is not None else None for wants, x in zip(wanted, operands))
        return tuple(_gradients(self.operation, known, self.how, self.names, grad, values, tensors, tuple(wanted)))


def _step(given: tuple) -> tuple[_Named, Any]:
    """Return the step and the pattern of an operator's inputs: the pattern's tensors, and what `_outer` returns."""
    index, columns, rows, cols, coo, operation, edge, scale, slope, epsilon, transpose, names = given
    pattern = pattern_of(index, columns, rows, cols, coo)
    return _Named(operation, pattern, Settings(edge, scale, slope, epsilon, transpose, as_pattern=True), tuple(names.split(","))), pattern


def _kernel(index: Tensor, columns: Tensor, values: Optional[Tensor], tensors: list[Tensor], *outer: Any) -> Tensor:
    step, known = _step((index, columns, *outer))
    return step.run(known, values, *tensors)[0]


def _fake(index: Tensor, columns: Tensor, values: Optional[Tensor], tensors: list[Tensor], rows: Any, cols: Any, coo: bool, operation: int, *outer: Any) -> Tensor:
    matrices, out = tensors[:len(OPERANDS[operation])], cols if outer[4] else rows
    shape = (columns.shape[-1],) if operation == c.TAMIS_OP_SDDMM else (out, matrices[-1].shape[-1])
    return matrices[0].new_empty((*lead_of(*matrices, values), *shape))


def _back_kernel(grad: Tensor, index: Tensor, columns: Tensor, values: Optional[Tensor], tensors: list[Tensor], *rest: Any) -> list[Tensor]:
    *outer, wanted = rest
    step, known = _step((index, columns, *outer))
    return [x for x in step.back(known, grad.contiguous(), (values, *tensors), (), wanted) if x is not None]


def _back_fake(grad: Tensor, index: Tensor, columns: Tensor, values: Optional[Tensor], tensors: list[Tensor], *rest: Any) -> list[Tensor]:
    return [torch.empty_like(x) for x, wants in zip((values, *tensors), rest[-1]) if wants and x is not None]


def _flops(index: Tensor, columns: Tensor, values: Optional[Tensor], tensors: list[Tensor], *outer: Any, out_val: Any = None) -> Any:
    return sum(2 * columns.shape[-1] * math.prod(lead_of(*tensors[:2], values)) * x.shape[-1] for x in tensors[:len(OPERANDS[outer[3]]):2])


def _back_flops(grad: Tensor, *given: Any, out_val: Any = None) -> Any:
    return 2 * _flops(*given[:-1])


if _direct.REGISTERED:
    _OUTER = "SymInt rows, SymInt cols, bool coo, int operation, int edge, float scale, float slope, float epsilon, bool transpose, str names"
    _ops.define("named", f"(Tensor index, Tensor columns, Tensor? values, Tensor[] tensors, {_OUTER}) -> Tensor", _kernel, _fake, _flops)
    _ops.define("named_backward", f"(Tensor grad, Tensor index, Tensor columns, Tensor? values, Tensor[] tensors, {_OUTER}, bool[] wanted) -> Tensor[]",
                _back_kernel, _back_fake, _back_flops)


def _gradients(operation: int, pattern: Any, how: Settings, names: tuple[str, ...], grad: Tensor, values: Optional[Tensor], tensors: list[Tensor],
               wanted: tuple[bool, ...]) -> list[Optional[Tensor]]:
    """Call the library's backward function. Returns the gradients of the values, the matrices and the arrays."""
    count = len(OPERANDS[operation])
    matrices, arrays = tensors[:count], tensors[count:]
    like, lead = matrices[0], lead_of(*matrices, values)
    batch = math.prod(lead)
    rows, cols = pattern.shape[::-1] if how.transpose else pattern.shape
    wide = torch.float64 if like.dtype == torch.float64 else torch.float32
    lengths = [(shape_of(name, (), (rows, cols, pattern.nnz)) or (1,))[0] for name in names]  # of a member of the batch
    shapes = [None if values is None else values.shape[-1:], *(x.shape[-2:] for x in matrices), *((length,) for length in lengths)]
    made: list[Optional[Tensor]] = []
    for place, (x, shape, wants) in enumerate(zip([values, *tensors], shapes, wanted)):
        made.append(None if x is None or not wants else x.new_empty((*lead, *shape), dtype=wide if place > count else x.dtype))
    if 0 in lead:
        return [None if x is None or not wants else torch.zeros_like(x) for x, wants in zip([values, *tensors], wanted)]
    views = [dense(torch_view(x, name), name) for x, name in zip(matrices, OPERANDS[operation])]
    used = given_values(pattern.sparse, values, True, views[0].type, operation, batch)
    first, middle, last = views[0], views[1 if operation == c.TAMIS_OP_FUSED else -1], views[-1]
    form = (operation, first.type, first.type, first.cols, last.cols, first.layout, middle.layout, last.layout, c.TAMIS_ROW_MAJOR, batch,
            used.type if used.pointer else -1)
    handle = pattern.plan_of(form, how, used, True)
    given = operands_of(dict(zip(names, arrays)), lead, (rows, cols, pattern.nnz), pattern.sparse.device)
    keep = []
    for place, (length, result) in enumerate(zip(lengths, made[count + 1:])):
        if result is not None:
            keep.append(column(torch_view(result, names[place]), names[place], length, batch))
            given.operands[place].gradient = ctypes.pointer(keep[-1])
    execution = c.tamis_execution(Torch.stream(like), 1.0, 0.0, used.pointer, used.apart)
    execution.edge_operands, execution.edge_operand_count = given.operands, len(names)
    memory = handle.bring_workspace(execution, like)
    of_grad = column(torch_view(grad, "dP"), "dP", pattern.nnz, batch) if operation == c.TAMIS_OP_SDDMM else dense(torch_view(grad, "dE"), "dE")
    results = [None if x is None else dense(torch_view(x, "gradient"), "gradient") for x in made[1:count + 1]]
    empty = made[0] is not None and pattern.nnz == 0
    of_values = None if made[0] is None or empty else column(torch_view(made[0], "dS"), "dS", pattern.nnz, batch)
    must(_BACKWARD[operation](handle.value, byref(of_grad), *map(byref, views), *(None if x is None else byref(x) for x in results),
                              None if of_values is None else byref(of_values), byref(execution)))
    del memory, keep  # keeps them alive until the library has returned
    return [None if x is None else (x if x.numel() == to.numel() else x.sum(0)).reshape(to.shape).to(to.dtype) for x, to in zip(made, [values, *tensors])]
