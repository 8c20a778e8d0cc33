"""The operators: registered with PyTorch (2.4 and newer), so that autograd, torch.compile and vmap know them; before that, functions
of autograd alone.

Each has a second output or an input that only gradients need: softmax's numbers of each row.
"""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from . import _kernels as k
from . import _twice

_PATTERN = "Tensor index, Tensor columns, Tensor? values"
_SIZES = "SymInt rows, SymInt cols, bool coo"
_EDGE = "int edge, float scale, float slope, float epsilon"
SCHEMAS = {
    "sddmm": f"({_PATTERN}, Tensor a, Tensor b, {_SIZES}, {_EDGE}, bool keep) -> (Tensor, Tensor)",
    "spmm": f"({_PATTERN}, Tensor b, {_SIZES}, bool transpose) -> Tensor",
    "fused": f"({_PATTERN}, Tensor a, Tensor b, Tensor d, {_SIZES}, {_EDGE}, bool transpose, bool keep) -> (Tensor, Tensor)",
    "sddmm_backward": f"(Tensor grad, {_PATTERN}, Tensor a, Tensor b, Tensor statistics, {_SIZES}, {_EDGE}, bool[3] wanted)"
                      " -> (Tensor, Tensor, Tensor)",
    "spmm_backward": f"(Tensor grad, {_PATTERN}, Tensor b, {_SIZES}, bool transpose, bool[2] wanted) -> (Tensor, Tensor)",
    "fused_backward": f"(Tensor grad, {_PATTERN}, Tensor a, Tensor b, Tensor d, Tensor statistics, {_SIZES}, {_EDGE}, bool transpose,"
                      " bool[4] wanted) -> (Tensor, Tensor, Tensor, Tensor)",
}
KERNELS = {name: getattr(k, name) for name in SCHEMAS}
REGISTERED = hasattr(torch.library, "register_fake")


# ------------------------------------------------------------------------------ shapes


def _statistics(keep: bool, edge: int, a: Tensor, lead: Any, rows: Any) -> Tensor:
    if not (keep and edge == k.SOFTMAX):
        return a.new_empty((0,))
    return a.new_empty((*lead, rows, 2), dtype=torch.float64 if a.dtype == torch.float64 else torch.float32)


def _sddmm_fake(index, columns, values, a, b, rows, cols, coo, edge, scale, slope, epsilon, keep):
    lead = k.lead_of(a, b, values)
    return a.new_empty((*lead, columns.shape[0])), _statistics(keep, edge, a, lead, rows)


def _spmm_fake(index, columns, values, b, rows, cols, coo, transpose):
    out = cols if transpose else rows
    lead = k.lead_of(b, values)
    return b.new_empty((*lead, out)) if b.dim() == 1 else b.new_empty((*lead, out, b.shape[-1]))


def _fused_fake(index, columns, values, a, b, d, rows, cols, coo, edge, scale, slope, epsilon, transpose, keep):
    lead, out = k.lead_of(a, b, d, values), cols if transpose else rows
    return a.new_empty((*lead, out, d.shape[-1])), _statistics(keep, edge, a, lead, out)


def _gradients_fake(wanted, *of):
    like = of[0]
    return tuple(k._like(x) if wants and x is not None else like.new_empty((0,)) for wants, x in zip(wanted, of))


def _values_gradient_fake(values, like, wants):
    return values.new_empty(values.shape) if wants and values is not None else like.new_empty((0,))


def _sddmm_backward_fake(grad, index, columns, values, a, b, statistics, rows, cols, coo, edge, scale, slope, epsilon, wanted):
    return (*_gradients_fake(wanted, a, b), _values_gradient_fake(values, a, wanted[2]))


def _spmm_backward_fake(grad, index, columns, values, b, rows, cols, coo, transpose, wanted):
    return (*_gradients_fake(wanted, b), _values_gradient_fake(values, b, wanted[1]))


def _fused_backward_fake(grad, index, columns, values, a, b, d, statistics, rows, cols, coo, edge, scale, slope, epsilon, transpose, wanted):
    return (*_gradients_fake(wanted, a, b, d), _values_gradient_fake(values, a, wanted[3]))


FAKES = {"sddmm": _sddmm_fake, "spmm": _spmm_fake, "fused": _fused_fake, "sddmm_backward": _sddmm_backward_fake,
         "spmm_backward": _spmm_backward_fake, "fused_backward": _fused_backward_fake}


# ------------------------------------------------------------------------------ gradients


class _Gradient(torch.autograd.Function):
    """What autograd keeps of an operator, and the operator that it calls. `tensors` inputs are tensors, the rest numbers; outputs after
    the first, softmax's numbers, have no gradient."""

    name = ""
    tensors = 0
    places: tuple[int, ...] = ()  # of the inputs that have gradients, in the order in which the backward operator returns them

    @staticmethod
    def _keep(cls: Any, ctx: Any, inputs: tuple, output: Any) -> None:
        statistics = () if isinstance(output, Tensor) else (output[1],)
        if statistics:
            ctx.mark_non_differentiable(*statistics)
        ctx.save_for_backward(*inputs[:cls.tensors], *statistics)
        ctx.numbers = inputs[cls.tensors:-1] if statistics else inputs[cls.tensors:]  # without `keep`
        ctx.count = len(inputs)
        ctx.set_materialize_grads(False)

    @staticmethod
    def _gradients(cls: Any, ctx: Any, grad: Any) -> tuple:
        results = [None] * ctx.count
        if grad is not None:
            need = ctx.needs_input_grad
            wanted = [need[place] for place in cls.places]
            found = None
            if REGISTERED and torch.is_grad_enabled():  # create_graph=True
                index, columns, values, *tensors = ctx.saved_tensors
                operands = tuple(tensors[:len(cls.places) - 1])
                found = _twice.gradients(CALLS, cls.name, grad, index, columns, values, operands, ctx.numbers, wanted)
            if found is None:
                found = CALLS[cls.name + "_backward"](grad, *ctx.saved_tensors, *ctx.numbers, wanted)
            for place, wants, gradient in zip(cls.places, wanted, found):
                results[place] = gradient if wants else None
        return tuple(results)


def _gradient_of(name: str) -> Any:
    """The function of autograd for an operator, which runs without recording what is inside."""

    def forward(ctx: Any, *inputs: Any) -> Any:
        output = _below(name, inputs)
        _Gradient._keep(made, ctx, inputs, output)
        return output

    made: Any = type(f"Tamis{name.title()}", (_Gradient,), {"name": name, "tensors": TENSORS[name], "places": PLACES[name]})
    made.forward = staticmethod(forward)
    made.backward = staticmethod(lambda ctx, grad, _=None: _Gradient._gradients(made, ctx, grad))
    if not REGISTERED:
        made.backward = staticmethod(torch.autograd.function.once_differentiable(made.backward))
    return made


def _refusal_of(name: str) -> Any:
    """Of an operator that is a derivative itself."""

    def backward(ctx: Any, *_: Any) -> Any:
        raise NotImplementedError(f"tamis::{name} has no derivative: second derivatives are those of spmm, and of the edges scale, mask and "
                                  f"residual")

    return type(f"Tamis{name.title().replace('_', '')}", (torch.autograd.Function,), {
        "forward": staticmethod(lambda ctx, *inputs: _below(name, inputs)), "backward": staticmethod(backward)})


_below_autograd = torch._C._AutoDispatchBelowAutograd
TENSORS = {"sddmm": 5, "spmm": 4, "fused": 6, "sddmm_backward": 7, "spmm_backward": 5, "fused_backward": 8}
PLACES = {"sddmm": (3, 4, 2), "spmm": (3, 2), "fused": (3, 4, 5, 2)}


def _below(name: str, inputs: tuple) -> Any:
    """Runs an operator without autograd. While nothing watches, the kernel is called as it is, which saves a third of the time."""
    plain = not REGISTERED or (_modes() == 0 and not _transforms())
    if plain:
        for x in inputs[:TENSORS[name]]:
            if type(x) not in _PLAIN:
                plain = False
    if plain:
        return KERNELS[name](*inputs)
    with _below_autograd():
        return CALLS[name](*inputs)


_PLAIN = (Tensor, torch.nn.Parameter, type(None))
_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)
_transforms = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)
GRADIENTS = {name: _gradient_of(name) if name in PLACES else _refusal_of(name) for name in SCHEMAS}


def _autograd_of(name: str) -> Any:
    """An operator's entry for autograd. torch.library.register_autograd would cost each recorded call several times as much."""
    gradient, tensors = GRADIENTS[name], TENSORS[name]

    def run(*inputs: Any) -> Any:
        if torch.is_grad_enabled():
            for x in inputs[:tensors]:
                if x is not None and x.requires_grad:
                    try:
                        return gradient.apply(*inputs)
                    except RuntimeError as error:
                        if "setup_context" not in str(error):
                            raise
                        raise NotImplementedError(f"tamis::{name} has no derivative for torch.func (grad, vjp, jacrev): use torch.autograd.grad or "
                                                  f"backward") from None
        return _below(name, inputs)

    return run


# ------------------------------------------------------------------------------ vmap: the mapped dimension is one of the batch


def _vmap_of(name: str, matrices: tuple[int, ...], values: int = 2) -> Any:
    """The rule of vmap: mapped operands get their dimension in front; patterns are shared."""

    def rule(info: Any, dims: tuple, *arguments: Any) -> Any:
        given = list(arguments)
        for place, dim in enumerate(dims):
            if dim is None or not isinstance(given[place], Tensor):
                continue
            if place not in (*matrices, values):
                raise NotImplementedError(f"vmap over the pattern of tamis::{name}: map over operands and values of one pattern")
            given[place] = given[place].movedim(dim, 0)
        lead = max((given[place].shape[:-2] for place in matrices), key=len)
        for place in matrices:  # one that is not mapped, but has a batch of its own
            if 2 < given[place].dim() < len(lead) + 2:
                given[place] = given[place].unsqueeze(0).expand(*lead, *given[place].shape[-2:])
        out = CALLS[name](*given)
        return (out, 0) if isinstance(out, Tensor) else (out, (0, 0 if out[1].numel() else None))
    return rule


# ------------------------------------------------------------------------------ registration


def _registered() -> dict[str, Any]:
    for name, schema in SCHEMAS.items():
        qualified = f"tamis::{name}"
        torch.library.define(qualified, schema, tags=(torch.Tag.pt2_compliant_tag,))
        torch.library.impl(qualified, ("cpu", "cuda"), KERNELS[name])
        torch.library.register_fake(qualified, FAKES[name])
        torch.library.impl(qualified, "Autograd", _autograd_of(name))
    if hasattr(torch.library, "register_vmap"):
        torch.library.register_vmap("tamis::sddmm", _vmap_of("sddmm", (3, 4)))
        torch.library.register_vmap("tamis::spmm", _vmap_of("spmm", (3,)))
        torch.library.register_vmap("tamis::fused", _vmap_of("fused", (3, 4, 5)))
    return {name: getattr(torch.ops.tamis, name).default for name in SCHEMAS}


# before PyTorch 2.4 autograd's functions are called as they are
CALLS = _registered() if REGISTERED else {name: GRADIENTS[name].apply if name in PLACES else KERNELS[name] for name in SCHEMAS}
