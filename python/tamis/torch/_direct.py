"""The operations without PyTorch's dispatcher, which takes half the time of a small call, for calls that nothing records or transforms.

`plain` says which calls these are: tensors of PyTorch itself, no compilation, no functional transform, no mode, no autocast, no profiler.
The functions of autograd are the registered operators', with the pattern and the settings as objects, which they pass on as they are.
"""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from .._call import FUSED, SDDMM, SPMM, Settings, compute
from .._recipe import key_of
from . import _kernels as k
from . import _formulas, _ops

NAMES = {SDDMM: ("A", "B"), SPMM: ("B",), FUSED: ("A", "B", "D")}
FORWARD = {SDDMM: "sddmm", SPMM: "spmm", FUSED: "fused"}
BACKWARD = {operation: f"{name}_backward" for operation, name in FORWARD.items()}
_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: True)
_autocast = getattr(torch._C, "_is_any_autocast_enabled", lambda: True)
_profiled = getattr(torch._C._autograd, "_profiler_enabled", lambda: True)
_forward_mode = getattr(torch.autograd.forward_ad, "_current_level", None)
_traced = getattr(torch._C, "_get_tracing_state", lambda: True)
_modes, _transforms, _PLAIN = _ops._modes, _ops._transforms, _ops._PLAIN
POSSIBLE = _ops.REGISTERED and _forward_mode is not None
# detects a batch of gradients by is_grads_batched=True, which maps differently from torch.vmap
_batched = getattr(getattr(torch._C, "_functorch", None), "is_legacy_batchedtensor", lambda grad: False)


def plain(tensors: tuple) -> bool:
    """Return True if a call with these tensors needs at most autograd, and no other feature of the dispatcher."""
    if not POSSIBLE or _compiling() or _modes() or _transforms() or _autocast() or _profiled() or _traced() is not None:
        return False
    if torch.autograd.forward_ad._current_level >= 0:
        return False
    for x in tensors:
        if type(x) not in _PLAIN or (x is not None and x.is_meta):
            return False
    return True


def run(call: tuple, values: Optional[Tensor], operands: tuple) -> Tensor:
    """Compute; autograd records the call if it must. call: the operation, the pattern and the settings."""
    if torch.is_grad_enabled():
        for x in operands:
            if x.requires_grad:
                return _Recorded.apply(call, values, *operands)
        if values is not None and values.requires_grad:
            return _Recorded.apply(call, values, *operands)
    return _computed(call[0], call[1]._current(), call[2], values, operands, None)


def _computed(operation: int, pattern: Any, how: Settings, values: Optional[Tensor], operands: tuple, statistics: Optional[int]) -> Tensor:
    """Return the result, by the recipe of an earlier call if there is one. The key differs from that of `compute`, and is shorter."""
    key: Any = [how, operation]
    for x in operands:
        if x.layout is not _strided or x.is_neg():
            return compute(operation, pattern, NAMES[operation], operands, None, how, 1.0, 0.0, values, statistics)[0]
        key += x.dtype, x.shape, x.stride(), x.device
    if values is not None:
        if values.layout is not _strided or values.is_neg():
            return compute(operation, pattern, NAMES[operation], operands, None, how, 1.0, 0.0, values, statistics)[0]
        key += values.dtype, values.shape, values.stride(), values.device
    key = tuple(key)
    recipes = pattern.recipes
    recipe = recipes.get(key)
    if recipe is not None and recipe.handle.value is not None:
        return recipe.run(operands, values, None, 1.0, 0.0, statistics)
    result = compute(operation, pattern, NAMES[operation], operands, None, how, 1.0, 0.0, values, statistics)[0]
    recipe = recipes.get(key_of(operation, how, operands, values, None))
    if recipe is not None:
        recipes[key] = recipe
    return result


_strided = torch.strided


def _gradients(call: tuple, known: Any, values: Optional[Tensor], grad: Tensor, operands: list[Tensor], kept: list[Tensor], wanted: list[bool]) -> list:
    """Return the gradients of the operands and values, None where not wanted. known: the checked pattern of the call; kept: softmax's
    numbers, and the result."""
    operation, _, how = call
    if operation == SPMM:
        how = k.settings_of(k.SCALE, 1.0, 0.01, 1e-10, how.transpose, False)
    else:
        how = k.settings_of(how.edge, how.edge_scale, how.edge_slope, how.edge_epsilon, operation == FUSED and how.transpose,
                            bool(kept) and kept[0].numel() > 0)
    return k.backward(operation, known, how, values, grad, tuple(operands), kept[0] if kept else None, wanted,
                      kept[1] if len(kept) > 1 else None)


class _Recorded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: tuple, values: Optional[Tensor], *operands: Tensor) -> Tensor:
        operation, pattern, how = call
        ctx.set_materialize_grads(False)
        ctx.known = known = pattern._current()
        if how.edge == k.SOFTMAX and operation != SPMM:
            how = k.settings_of(*how[:5], True)
            statistics = k._statistics(True, pattern.cols if how.transpose else pattern.rows, *operands, values)
            ctx.call = operation, pattern, how
            result = _computed(operation, known, how, values, operands, statistics.data_ptr())
            more = k.kept_result(values, operands[0], how.edge, result) if operation == FUSED else ()
            ctx.save_for_backward(values, *operands, statistics, *more)
            return result
        ctx.call = call
        ctx.save_for_backward(values, *operands)
        return _computed(operation, known, how, values, operands, None)

    @staticmethod
    def backward(ctx: Any, grad: Optional[Tensor]) -> Any:
        operation, pattern, how = ctx.call
        values, *tensors = ctx.saved_tensors
        count = len(NAMES[operation])
        if grad is None:
            return (None,) * (2 + count)
        known, need = pattern._still(ctx.known), ctx.needs_input_grad[1:]
        wanted = [*need[1:], need[0]]
        again = _ops.again()
        if not again and plain((grad, values, *tensors)) and not _batched(grad):
            found = _gradients(ctx.call, known, values, grad, tensors[:count], tensors[count:], wanted)
            return (None, found[-1], *found[:-1])
        edge = (how.edge, how.edge_scale, how.edge_slope, how.edge_epsilon)
        sizes = (pattern.rows, pattern.cols, pattern.coo)
        numbers = {SDDMM: (*sizes, *edge), SPMM: (*sizes, how.transpose), FUSED: (*sizes, *edge, how.transpose)}[operation]
        calls = _ops.CALLS
        if again:
            found = _formulas.gradients(calls, FORWARD[operation], grad, pattern.index, pattern.columns, values, tuple(tensors[:count]), numbers,
                                        wanted)
            return (None, found[-1], *found[:-1])
        if operation != SPMM and len(tensors) == count:
            tensors.append(tensors[0].new_empty((0,)))  # no statistics
        until = count if operation == SPMM else count + 1
        found = calls[BACKWARD[operation]](grad, pattern.index, pattern.columns, values, *tensors[:until], *numbers, wanted, *tensors[until:])
        gradients = [gradient if wants else None for gradient, wants in zip(found, wanted)]
        return (None, gradients[-1], *gradients[:-1])
