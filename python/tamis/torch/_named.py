"""Edges that are expressions of tensors: arrays that they name, and numbers that are tensors, with gradients to all of them.

Tensors are inputs of a function of autograd, not of an operator: it has first derivatives in reverse mode, and torch.compile breaks its graph there.
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
from .._named import operands_of, shape_of
from .._types import OPERANDS
from .._views import column, dense, torch_view
from . import _direct
from ._sampled import lead_of

_BACKWARD = {c.TAMIS_OP_SDDMM: lib.tamis_sddmm_backward, c.TAMIS_OP_FUSED: lib.tamis_fused_backward}


def called(operation: int, pattern: Any, how: Settings, values: Optional[Tensor], matrices: tuple[Tensor, ...], named: dict[str, Any]) -> Tensor:
    """Call sddmm or fused. All operands that are not shared by the batch get its leading dimensions as one."""
    if _direct.transforms() or _direct.forward_mode():
        raise NotImplementedError("numbers has tensors: torch.func and forward mode do not know them; use autograd's reverse mode, or compose the edge "
                                  "of the edge mask and operations on its samples")
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
    arrays = [_array(name, array, lead, (rows, cols, pattern.nnz)) for name, array in named.items()]
    found = _Named.apply(operation, pattern, how, tuple(named), ones, *flat, *arrays)
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


class _Named(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, operation: int, pattern: Any, how: Settings, names: tuple[str, ...], values: Optional[Tensor], *tensors: Tensor) -> Tensor:
        count = len(OPERANDS[operation])
        matrices, arrays = tensors[:count], tensors[count:]
        known = pattern._current()
        ctx.call = operation, pattern, known, how, names
        ctx.save_for_backward(values, *tensors)
        ctx.set_materialize_grads(False)
        return compute(operation, known, OPERANDS[operation], matrices, None, how, 1.0, 0.0, values, named=dict(zip(names, arrays)))[0]  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, grad: Optional[Tensor]) -> Any:
        need = ctx.needs_input_grad
        if torch.is_grad_enabled():  # create_graph=True
            raise NotImplementedError("an edge that is an expression has gradients, but none of gradients: compose it of the edge mask and operations on its "
                                      "samples")
        if grad is None:
            return (None,) * len(need)
        operation, pattern, known, how, names = ctx.call
        values, *tensors = ctx.saved_tensors
        found = _gradients(operation, pattern._still(known), how, names, grad.contiguous(), values, tensors, need[4:])
        return (None, None, None, None, *found)


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
