"""Which calls need at most autograd. They go without PyTorch's dispatcher, which takes half the time of a small call. And operands in the type of
torch.autocast, as each operation takes them while it is on."""
from __future__ import annotations

import contextlib
import functools
import sys
from typing import Any, Optional

import torch
from torch import Tensor
from torch.autograd import forward_ad

from .. import _recipe

REGISTERED = hasattr(torch.library, "register_fake")  # PyTorch 2.4 and newer
compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)
autocast = getattr(torch._C, "_is_any_autocast_enabled", lambda: True)
_profiled = getattr(torch._C._autograd, "_profiler_enabled", lambda: True)
traced = getattr(torch._C, "_get_tracing_state", lambda: True)
modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)
transforms = getattr(torch._C, "_are_functorch_transforms_active", lambda: False)
PLAIN = (Tensor, torch.nn.Parameter, type(None))
ALONE, RECORDED = 1, 2  # what a call needs at most: nothing, autograd
HALF = (torch.float16, torch.bfloat16)
POSSIBLE = REGISTERED and getattr(forward_ad, "_current_level", None) is not None
# detects a batch of gradients by is_grads_batched=True, which maps differently from torch.vmap
batched = getattr(getattr(torch._C, "_functorch", None), "is_legacy_batchedtensor", lambda grad: False)

FLOPS: dict[Any, Any] = {}  # how FlopCounterMode counts each operator


def watched() -> None:
    """Let the FlopCounterModes that are active count our operators. Importing their module would take longer than importing this package, so it is told
    once somebody else has imported it; a counter copies what was known when it was made."""
    counting = sys.modules.get("torch.utils.flop_counter")
    if counting is None:
        return
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack
    active = (getattr(getattr(mode, "counter", mode), "flop_registry", None) for mode in _get_current_dispatch_mode_stack())
    for registry in (counting.flop_registry, *active):
        if registry is not None:
            for packet, formula in FLOPS.items():
                registry.setdefault(packet, formula)


def plain(tensors: tuple) -> int:
    """Return ALONE or RECORDED if a call with these tensors needs at most autograd: tensors of PyTorch itself, no compilation, no functional transform, no
    mode, no autocast, no profiler. Else 0. RECORDED: autograd must record it."""
    if not POSSIBLE or compiling():
        return 0
    found = _needs(tensors)
    if not found and modes():
        watched()
    return found  # type: ignore[no-any-return]


def _needs_of(tensors: tuple) -> int:
    """Return what `plain` does, where nobody compiles. src/python has the same in C."""
    if any(state() for state in _STATES) or forward_ad._current_level >= 0:
        return 0
    for x in tensors:
        if type(x) not in PLAIN or (x is not None and x.is_meta):
            return 0
    return RECORDED if any_recorded(*tensors) else ALONE


_STATES = transforms, autocast, _profiled, traced, modes
_needs: Any = _needs_of
_recipe.tensor_types()
if POSSIBLE and _recipe.repeat is getattr(_recipe.calls, "repeat", None):  # the compiled module knows PyTorch
    _recipe.calls.states_known(_STATES, forward_ad)
    _needs = _recipe.calls.needs


def eager(function: Any) -> Any:
    """torch.compiler.disable, for what torch.compile does not support, such as sparse tensors; it imports torch._dynamo, which takes a second, so only where
    that is there already."""
    disabled: list[Any] = []

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        if "torch._dynamo" not in sys.modules:
            return function(*arguments, **named)
        if not disabled:
            disabled.append(torch.compiler.disable(function))
        return disabled[0](*arguments, **named)

    call._torchdynamo_disable = True  # type: ignore[attr-defined]
    call._torchdynamo_disable_msg = None  # type: ignore[attr-defined]
    call._torchdynamo_disable_recursive = True  # type: ignore[attr-defined]
    skip = getattr(getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None), "skip_code", None)
    if skip:  # else torch.compile would look into it once the graph is broken
        skip(call.__code__)
    return call if hasattr(torch, "compiler") else function


def forward_mode() -> bool:
    """Return True if there may be tangents: within torch.func.jvp, jacfwd or a dual level. Compiled code has only the former."""
    if forward_ad._current_level >= 0:
        return True
    return REGISTERED and transforms() and any(level.key() == torch._C._functorch.TransformType.Jvp
                                               for level in torch._C._functorch.get_interpreter_stack() or ())


def as_constants(numbers: Any) -> tuple[Any, dict[str, str]]:
    """Return an expression's numbers, and where a compiler runs its floats as hexadecimal text, for it may take numbers as symbols, but texts as constants."""
    texts = {name: x.hex() for name, x in numbers.items() if isinstance(x, float)} if numbers and compiling() else {}
    return ({name: x for name, x in numbers.items() if name not in texts} if texts else numbers), texts


def from_constants(numbers: Any, texts: Any) -> Any:
    """Return the numbers that `as_constants` took apart."""
    return {**(numbers or {}), **{name: float.fromhex(text) for name, text in texts.items()}} if texts else numbers


def again() -> bool:
    """Return True if a gradient may be differentiated: with create_graph=True, within torch.func, or in forward mode."""
    return torch.is_grad_enabled() or forward_mode()


def any_recorded(*tensors: Any) -> bool:
    """Return True if autograd must record a call with these tensors."""
    if torch.is_grad_enabled():
        for x in tensors:
            if x is not None and x.requires_grad:
                return True
    return False


# ------------------------------------------------------------------------------ autocast


def type_for(kind: str) -> Optional[torch.dtype]:
    """Return autocast's type for a kind of device; None: autocast is off."""
    if kind not in ("cpu", "cuda"):
        return None
    try:
        return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
    except TypeError:  # before PyTorch 2.4
        if kind == "cuda":
            return torch.get_autocast_gpu_dtype() if torch.is_autocast_enabled() else None
        return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None


def cast(*given: Optional[Tensor], wide: bool = False) -> Any:
    """Cast floating-point operands, except fp64, to autocast's type; wide: to fp32, in which autocast computes exponentials."""
    if not compiling() and not autocast():
        return given
    dtype = None
    for x in given:
        if isinstance(x, Tensor):
            dtype = type_for(x.device.type)
            break
    if dtype is None:
        return given
    dtype = torch.float32 if wide else dtype
    return tuple(x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() and x.dtype != torch.float64 else x for x in given)


def autocast_off(kind: str) -> Any:
    """Context in which autocast is off for a kind of device."""
    if type_for(kind) is None:
        return contextlib.nullcontext()
    return torch.autocast(kind, enabled=False)
