"""Several operations as one step of autograd, whose inner steps are recorded nowhere: a small graph on a GPU is work of the host, and each recorded operation takes some of it."""
from __future__ import annotations

from typing import Any, Mapping, Optional

import torch
from torch import Tensor

from .. import _declarations as c
from .._plan import EXPRESSIONS, expression_number
from . import _direct
from ._held import kept
from ._messages import MESSAGE, REDUCES, TEXTS
from ._pattern import Pattern


def _transformed() -> bool:
    """Return True within a transform of torch.func, which compilers find out while they trace."""
    return _direct.transforms()  # type: ignore[no-any-return]


_transformed._dynamo_marked_constant = True  # type: ignore[attr-defined]  # as torch.compiler.assume_constant_result


class Step:
    """Operations with gradients that are written down."""

    pattern: Pattern
    compiled = False  # True: compilers too take `run` and `back`, which write no parts of tensors, and change none in place: PyTorch 2.11 then saves the old numbers

    def plainly(self, *operands: Optional[Tensor]) -> Tensor:
        """Return the result, by steps that autograd records."""
        raise NotImplementedError

    def run(self, known: Any, *operands: Optional[Tensor]) -> tuple[Tensor, tuple]:
        """Return the result, and what the gradient reads beside the operands. known: the checked pattern."""
        raise NotImplementedError

    def back(self, known: Any, grad: Tensor, operands: tuple, kept: tuple, wanted: list[bool]) -> tuple:
        """Return the gradients of the operands."""
        raise NotImplementedError

    def __call__(self, *operands: Optional[Tensor]) -> Tensor:
        there = [x for x in operands if x is not None]
        half = any([x.dtype in _direct.HALF for x in there])  # 16 bits are rounded at the same places as before
        if self.compiled and not half and _direct.compiling() and _direct.type_for(there[0].device.type) is None and not _transformed():
            return Traced.apply(self, *operands)  # type: ignore[no-any-return]
        need = _direct.plain(operands)
        if not need or half or there[0].device != self.pattern.device:
            return self.plainly(*operands)  # which names a wrong device
        if need == _direct.RECORDED:
            return Recorded.apply(self, *operands)  # type: ignore[no-any-return]
        return self.run(self.pattern._current(), *operands)[0]


class Recorded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, step: Step, *operands: Optional[Tensor]) -> Tensor:
        ctx.known = step.pattern._current()
        out, more = step.run(ctx.known, *operands)
        ctx.step, ctx.count = step, len(operands)
        ctx.save_for_backward(*operands, *more)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        saved, need, step = ctx.saved_tensors, list(ctx.needs_input_grad[1:]), ctx.step
        operands = saved[:ctx.count]
        step.pattern._still(ctx.known)
        if not torch.is_grad_enabled() and _direct.plain((grad,)) and not _direct.batched(grad):
            return None, *step.back(ctx.known, grad.contiguous(), operands, saved[ctx.count:], need)
        again = torch.is_grad_enabled()
        with torch.enable_grad():
            # views: an operand may be made of another one, whose gradient must not go through it here
            own: list[Any] = [None if x is None else x.view_as(x) if again else x.detach().requires_grad_(wants) for x, wants in zip(operands, need)]
            out = step.plainly(*own)
            found = iter(torch.autograd.grad(out, [x for x, wants in zip(own, need) if wants], grad, create_graph=again, allow_unused=True))
        return None, *(next(found) if wants else None for wants in need)


class Traced(torch.autograd.Function):
    """The same for compilers, which differentiate once."""

    @staticmethod
    def forward(ctx: Any, step: Step, *operands: Optional[Tensor]) -> Tensor:
        out, more = step.run(step.pattern, *operands)
        ctx.step, ctx.count = step, len(operands)
        ctx.save_for_backward(*operands, *more)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        saved, count = ctx.saved_tensors, ctx.count
        return None, *ctx.step.back(ctx.step.pattern, grad.contiguous(), saved[:count], saved[count:], list(ctx.needs_input_grad[1:]))


_texts: dict[tuple, int] = {}


def text_number(text: str, numbers: Mapping[str, float] = {}) -> int:
    """Return the number of an expression of messages, which is looked up by the text and its numbers."""
    key = text, *numbers.items()
    number = _texts.get(key)
    if number is None or number not in EXPRESSIONS:
        number = kept(_texts, key, expression_number(text, numbers, "op", TEXTS), 64)
    return number


text_number._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _numbers(op: int, reduce: str, e: bool) -> tuple:
    return op, REDUCES[reduce], c.TAMIS_E_VECTOR if e else c.TAMIS_E_NONE, 1


def reduced_into(known: Any, out: Tensor, op: int, reduce: str, x: Optional[Tensor], e: Optional[Tensor] = None, v: Optional[Tensor] = None, keep: bool = False) -> Any:
    """Write what `reduced` returns, at rows that may lie apart, and return what the gradient of an extreme reads. Not for compilers."""
    return MESSAGE.run_into(known, (x, e, v), _numbers(op, reduce, e is not None), keep, out)


def gradient_into(known: Any, out: Tensor, grad: Tensor, op: int, reduce: str, x: Optional[Tensor], e: Optional[Tensor] = None, v: Optional[Tensor] = None,
                  argument: Optional[Tensor] = None, wanted: Any = (True, False, False)) -> None:
    """Write the one of `gradients` that is wanted. Not for compilers."""
    MESSAGE.back_into(known, grad, (x, e, v, argument), _numbers(op, reduce, e is not None), list(wanted), out)


def reduced(known: Any, op: int, reduce: str, x: Optional[Tensor], e: Optional[Tensor] = None, v: Optional[Tensor] = None, keep: bool = False) -> tuple:
    """Return reduced messages of matrices, e with a vector for each edge, and what the gradient of an extreme reads."""
    numbers = _numbers(op, reduce, e is not None)
    if _direct.compiling():
        return torch.ops.tamis.message(known.index, known.columns, x, e, v, known.rows, known.cols, known.coo, *numbers)  # type: ignore[no-any-return]
    return MESSAGE.run(known, (x, e, v), numbers, keep)  # type: ignore[no-any-return]


def gradients(known: Any, grad: Tensor, op: int, reduce: str, x: Optional[Tensor], e: Optional[Tensor] = None, v: Optional[Tensor] = None,
              argument: Optional[Tensor] = None, wanted: Any = (True, False, False), edges: bool = False) -> Any:
    """Return the gradients of `reduced`. edges: there were vectors of edges, which the gradient does not read."""
    data = c.TAMIS_E_NONE if e is None and not edges else c.TAMIS_E_VECTOR
    if _direct.compiling():
        argument = grad.new_empty((0,), dtype=torch.int32) if argument is None else argument
        found = torch.ops.tamis.message_backward(grad.contiguous(), known.index, known.columns, x, e, v, argument, known.rows, known.cols, known.coo, op, REDUCES[reduce], data, 1, list(wanted))
        return [each if wants else None for each, wants in zip(found, wanted)]
    return MESSAGE.back(known, grad, (x, e, v, argument), (op, REDUCES[reduce], data, 1), list(wanted))
