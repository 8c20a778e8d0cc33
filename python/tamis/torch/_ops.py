"""The operators: registered with PyTorch (2.4 and newer), so that autograd, torch.compile and vmap know them; before that, functions
of autograd alone.

Some have a second output or inputs that only gradients need: softmax's numbers of each row, and the result.
"""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from . import _formulas, _vmap
from . import _kernels as k
from ._fakes import FAKES

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
                      " bool[4] wanted, Tensor? result=None) -> (Tensor, Tensor, Tensor, Tensor)",
}
KERNELS = {name: getattr(k, name) for name in SCHEMAS}
REGISTERED = hasattr(torch.library, "register_fake")
if REGISTERED:
    from torch._functorch.utils import enable_single_level_autograd_function as _single_level
    _Function: Any = torch.autograd.function._SingleLevelFunction
    _JVP = torch._C._functorch.TransformType.Jvp
else:
    _Function = torch.autograd.Function


# ------------------------------------------------------------------------------ gradients


class _Gradient(_Function):
    """The inputs that autograd keeps for an operator, and the operators that it calls. `tensors` inputs are tensors, the rest numbers; outputs after
    the first, softmax's numbers, have no gradient."""

    name = ""
    tensors = 0
    places: tuple[int, ...] = ()  # places of the inputs with gradients, in the order in which the backward operator returns them

    @staticmethod
    def _keep(cls: Any, ctx: Any, inputs: tuple, output: Any) -> None:
        statistics = () if isinstance(output, Tensor) else (output[1],)
        if statistics:
            ctx.mark_non_differentiable(*statistics)
        kept = (*inputs[:cls.tensors], *statistics)
        result = k.kept_result(inputs[2], inputs[3], inputs[9], output[0]) if cls.name == "fused" else ()
        ctx.save_for_backward(*kept, *result)
        ctx.results = len(result)
        if forward_mode():
            ctx.save_for_forward(*kept)
            of = output if isinstance(output, Tensor) else output[0]
            ctx.output = tuple(of.shape), of.dtype  # not the tensor itself, which refers to this object
        ctx.numbers = inputs[cls.tensors:-1] if statistics else inputs[cls.tensors:]  # without `keep`
        ctx.count = len(inputs)
        ctx.set_materialize_grads(False)

    @staticmethod
    def _gradients(cls: Any, ctx: Any, grad: Any) -> tuple:
        results = [None] * ctx.count
        if grad is not None:
            need = ctx.needs_input_grad
            wanted = [need[place] for place in cls.places]
            if REGISTERED and again():
                index, columns, values, *tensors = ctx.saved_tensors
                operands = tuple(tensors[:len(cls.places) - 1])
                found = _formulas.gradients(CALLS, cls.name, grad, index, columns, values, operands, ctx.numbers, wanted)
            else:
                kept = ctx.saved_tensors
                until = len(kept) - ctx.results
                found = CALLS[cls.name + "_backward"](grad, *kept[:until], *ctx.numbers, wanted, *kept[until:])
            for place, wants, gradient in zip(cls.places, wanted, found):
                results[place] = gradient if wants else None
        return tuple(results)

    @staticmethod
    def _tangents(cls: Any, ctx: Any, changes: tuple) -> Any:
        kept = ctx.saved_tensors
        if not _transforms():
            found = cls._tangent(ctx, kept, changes)
        else:  # autograd has switched off forward mode, also for the levels of torch.func below, which have tangents of their own
            with forward_ad._set_fwd_grad_enabled(True):
                kept = tuple(None if x is None else torch._VF._unpack_dual(x, level=0)[0] for x in kept)
                found = cls._tangent(ctx, kept, changes)
        return found if cls.name == "spmm" else (found, None)

    @classmethod
    def _tangent(cls, ctx: Any, kept: tuple, changes: tuple) -> Tensor:
        index, columns, values, *tensors = kept
        operands = cls.places[:-1]
        found = _formulas.tangent(CALLS, cls.name, index, columns, values, tuple(tensors[:len(operands)]), ctx.numbers, changes[2],
                                  tuple(changes[place] for place in operands))
        shape, dtype = ctx.output
        return tensors[0].new_zeros(shape, dtype=dtype) if found is None else found.expand(shape).to(dtype)


def forward_mode() -> bool:
    """Return True if there may be tangents: within torch.func.jvp, jacfwd or a dual level. Compiled code has only the former."""
    if forward_ad._current_level >= 0:
        return True
    return REGISTERED and _transforms() and any(level.key() == _JVP for level in torch._C._functorch.get_interpreter_stack() or ())


def again() -> bool:
    """Return True if a gradient may be differentiated: with create_graph=True, within torch.func, or in forward mode."""
    return torch.is_grad_enabled() or forward_mode()


def _gradient_of(name: str) -> Any:
    """Make the autograd function of an operator; its inner operations are not recorded."""

    def forward(ctx: Any, *inputs: Any) -> Any:
        output = _forward(name, inputs)
        _Gradient._keep(made, ctx, inputs, output)
        return output

    made: Any = type(f"Tamis{name.title()}", (_Gradient,), {"name": name, "tensors": TENSORS[name], "places": PLACES[name]})
    made.forward = staticmethod(forward)
    made.backward = staticmethod(lambda ctx, grad, _=None: _Gradient._gradients(made, ctx, grad))
    if REGISTERED:
        made.jvp = staticmethod(lambda ctx, *changes: _Gradient._tangents(made, ctx, changes))
    else:
        made.backward = staticmethod(torch.autograd.function.once_differentiable(made.backward))
    return made


def _forward(name: str, inputs: tuple) -> Any:
    """Run an operator in an autograd function, which has switched off recording for its own level of torch.func, but not for those
    below."""
    if not REGISTERED or not _transforms():
        return _below(name, inputs)
    with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
        return _below(name, inputs)


def _refusal_of(name: str) -> Any:
    """Return the refusal of derivatives for an operator that is itself a derivative."""

    def refused(ctx: Any, *_: Any) -> Any:
        raise NotImplementedError(f"tamis::{name} has no derivative: differentiate the gradient of {name[:-9]} with create_graph=True, or use "
                                  f"torch.func")

    return type(f"Tamis{name.title().replace('_', '')}", (_Function,), {
        "forward": staticmethod(lambda ctx, *inputs: _forward(name, inputs)), "backward": staticmethod(refused), "jvp": staticmethod(refused)})


_below_autograd = torch._C._AutoDispatchBelowAutograd
TENSORS = {"sddmm": 5, "spmm": 4, "fused": 6, "sddmm_backward": 7, "spmm_backward": 5, "fused_backward": 8}
RESULT = 17  # the place of fused's result in its gradient, the last one: no other operator has as many inputs
PLACES = {"sddmm": (3, 4, 2), "spmm": (3, 2), "fused": (3, 4, 5, 2)}


def _below(name: str, inputs: tuple) -> Any:
    """Run an operator without autograd. Without other features of the dispatcher the kernel is called directly, which saves a third of the time."""
    plain = not REGISTERED or (_modes() == 0 and not _transforms())
    if plain:
        for x in (*inputs[:TENSORS[name]], *inputs[RESULT:]):
            if type(x) not in _PLAIN or (x is not None and x.is_meta):
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
    """Make an operator's autograd entry. torch.library.register_autograd would cost each recorded call several times as much."""
    gradient, tensors = GRADIENTS[name], TENSORS[name]

    def run(*inputs: Any) -> Any:
        recorded = forward_mode()
        if not recorded and torch.is_grad_enabled():
            for x in inputs[:tensors]:
                if x is not None and x.requires_grad:
                    recorded = True
                    break
        if not recorded:
            return _below(name, inputs)
        if not _transforms():
            return gradient.apply(*inputs)
        with _single_level():  # this entry is one level of torch.func: the levels below are entries of their own
            return gradient.apply(*inputs)

    return run


# ------------------------------------------------------------------------------ registration


def _register(name: str, schema: str, fake: Any, rule: Any) -> Any:
    qualified = f"tamis::{name}"
    torch.library.define(qualified, schema, tags=(torch.Tag.pt2_compliant_tag,))
    torch.library.impl(qualified, ("cpu", "cuda"), KERNELS[name])
    torch.library.register_fake(qualified, fake)
    torch.library.impl(qualified, "Autograd", _autograd_of(name))
    if hasattr(torch.library, "register_vmap"):
        torch.library.register_vmap(qualified, rule)
    return getattr(torch.ops.tamis, name).default


def _registered() -> dict[str, Any]:
    return {name: _register(name, schema, FAKES[name], _vmap.rule_of(name, lambda: CALLS)) for name, schema in SCHEMAS.items()}


def add(name: str, schema: str, kernel: Any, fake: Any, back: Any, keep: Any, rule: Any) -> None:
    """Registers an operator whose tensors come first. keep(ctx, inputs, output) keeps what back(ctx, *gradients), its derivatives, reads; rule: of vmap."""

    def forward(ctx: Any, *inputs: Any) -> Any:
        output = _forward(name, inputs)
        keep(ctx, inputs, output)
        return output

    def refused(ctx: Any, *_: Any) -> Any:
        raise NotImplementedError(f"tamis::{name} has no derivatives in forward mode: use those in reverse mode, torch.func.vjp and jacrev")

    KERNELS[name], TENSORS[name] = kernel, schema.split(" -> ")[0].count("Tensor")
    GRADIENTS[name] = type(f"Tamis{name.title().replace('_', '')}", (_Function,), {
        "forward": staticmethod(forward), "backward": staticmethod(back), "jvp": staticmethod(refused)})
    CALLS[name] = _register(name, schema, fake, rule)


# before PyTorch 2.4 autograd's functions are called as they are
CALLS = _registered() if REGISTERED else {name: GRADIENTS[name].apply if name in PLACES else KERNELS[name] for name in SCHEMAS}
