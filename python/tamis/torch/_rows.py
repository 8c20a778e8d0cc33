"""Functions of what edges and their ends have as messages: `lambda x_j, weight: x_j * weight.view(-1, 1)` is "u * e", with a number for each edge.

The function is called once with terms in place of tensors, as for expressions of edges. A term also knows the shape of the tensor that it stands for.
"""
from __future__ import annotations

import functools
import math
import re
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from .. import _errors
from .._traced import FUNCTIONS, OPERATORS, OTHER_NAMES, Term, called, shown
from . import _direct
from ._messages import message
from ._pattern import Pattern


class Leaf(NamedTuple):
    """A tensor that a term stands for."""

    kind: str  # "u": what edges have from the other end; "v": from their own; "e": of themselves
    tensor: Tensor


class Sums(NamedTuple):
    """A call of `message`, but for the graph and the reduction."""

    op: str
    x: Optional[Tensor]
    e: Optional[Tensor]
    v: Optional[Tensor]
    numbers: Optional[dict[str, float]]


NAMED = {"u": "copy_u", "e": "copy_e", "(u + e)": "add", "(e + u)": "add", "(u - e)": "sub", "(u * e)": "mul", "(e * u)": "mul", "relu((u + e))": "add_relu",
         "relu((e + u))": "add_relu"}
_INLINE = (0.0, 1.0, -1.0, 2.0)  # other numbers get names: their values are no part of what a GPU compiles
_COMPARISONS = "<", ">", "=", "!"  # the first sign of "({} <= {})"
_PLACE = re.compile("@([0-9]+)@")
_MOST_NUMBERS, _LONGEST = 16, 1024  # the library's limits of one expression
_OF_NUMBERS = "equal", "float_power"  # PyTorch's functions of NumPy's names that do something else: one answer for all elements, another type


def _modes() -> tuple:
    """Return what PyTorch would do with operations in this place beside their results."""
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), _direct.autocast() and tuple(map(_direct.type_for, ("cpu", "cuda")))


class Trace:
    """The tensors and numbers that the terms of one function stand for."""

    def __init__(self, edges: int):
        self.edges = edges
        self.leaves: list[Leaf] = []
        self.shapes: dict[int, set] = {}  # in which operations read each tensor
        self.numbers: dict[str, float] = {}
        self.modes = _modes()

    def row(self, kind: str, tensor: Tensor) -> Row:
        """Return the term of a tensor."""
        self.leaves.append(Leaf(kind, tensor))
        number = len(self.leaves) - 1
        return Row(f"@{number}@", (self.edges, *tensor.shape[1:]), self, number)

    def dtype(self) -> torch.dtype:
        """Return the type of the messages, which all tensors have."""
        return self.leaves[0].tensor.dtype  # type: ignore[no-any-return]

    def number(self, x: Any) -> str:
        text = shown(x)  # refuses what is no number
        value = float(x)
        if value in _INLINE or not math.isfinite(value):
            return text
        name = next((name for name, other in self.numbers.items() if other == value), None) or f"n{len(self.numbers)}"
        if len(self.numbers) == _MOST_NUMBERS and name not in self.numbers:
            raise TypeError(f"the message has more than {_MOST_NUMBERS} numbers")
        self.numbers[name] = value
        return name

    def sums(self, found: Any) -> Sums:
        """Return the call that reduces the messages that a function has returned; a TypeError says why there is none."""
        if not isinstance(found, Row) or found.truth:
            raise TypeError(f"the message is {'a comparison' if isinstance(found, Row) else f'a {type(found).__name__} that is no expression of its arguments'}")
        shape = found.shape[1:]
        if len(shape) not in (1, 2) or not all(shape):
            raise TypeError(f"a message has shape {tuple(shape)}: expected features, or heads and features")
        given: dict[str, Tensor] = {}
        text, shapes = found.text, dict(self.shapes) if found.leaf is None else {found.leaf: {found.shape}}
        seen: dict[str, set] = {}
        for number in sorted({int(place) for place in _PLACE.findall(text)}):
            leaf = self.leaves[number]
            if leaf.kind in given and given[leaf.kind] is not leaf.tensor:
                raise TypeError({"u": "a message reads two tensors of the other end", "v": "a message reads two tensors of its own end"}.get(leaf.kind, "a message reads two tensors of edges"))
            given[leaf.kind] = leaf.tensor
            text = text.replace(f"@{number}@", leaf.kind)
            seen.setdefault(leaf.kind, set()).update(shapes[number])
        kinds = {(x.dtype, x.device) for x in given.values()}
        if len(kinds) != 1 or not next(iter(kinds))[0].is_floating_point:
            raise TypeError("a message reads tensors of several types, or no floating-point ones")
        shown_as = {kind: _as(kind, tensor, seen[kind], shape, "u" in given or "v" in given) for kind, tensor in given.items()}
        op = NAMED.get(text)
        numbers = {name: value for name, value in self.numbers.items() if re.search(rf"\b{name}\b", text)}
        refused = None if op else _refused(text, *numbers)
        if refused:
            raise TypeError(refused)
        return Sums(op or text, shown_as.get("u"), shown_as.get("e"), shown_as.get("v"), numbers or None)


@functools.lru_cache(maxsize=256)
def _refused(text: str, *names: str) -> Optional[str]:
    """Return why the library does not take an expression or its gradients, which have more steps: they are computed of one edge."""
    with torch.inference_mode(False), torch.enable_grad(), _direct.autocast_off("cpu"):
        none = torch.zeros(1, dtype=torch.int64, device="cpu")
        x, e, v = (torch.ones((1, 1), dtype=torch.float32, device="cpu", requires_grad=True) if re.search(rf"\b{kind}\b", text) else None for kind in "uev")
        try:
            message(Pattern.from_coo(none, none, (1, 1)), text, x, e, "sum", v, dict.fromkeys(names, 1.0)).backward(torch.ones((1, 1), dtype=torch.float32, device="cpu"))
        except (_errors.ArgumentError, _errors.UnsupportedError) as error:
            return str(error)
    return None


def _as(kind: str, tensor: Tensor, shapes: set, shape: tuple[int, ...], beside: bool) -> Tensor:
    """Return a tensor in the shape in which the message has it: one number for each edge or head, or as much as the message."""
    own = next(iter(shapes))[1:]
    if len(shapes) > 1:
        raise TypeError("a message reads a tensor in two shapes")
    if own == shape:
        return tensor.reshape(tensor.shape[0], *shape)
    if kind == "e" and beside and math.prod(own) == 1:
        return tensor.reshape(-1)
    if kind == "e" and beside and len(shape) == 2 and own == (shape[0], 1):
        return tensor.reshape(-1, shape[0])
    raise TypeError(f"a message of shape {tuple(shape)} reads a tensor of shape {tuple(own)}")


class Row(Term):
    """A term with the shape of what it stands for. leaf: its number among the tensors, if it is one of them, maybe in another shape."""

    def __init__(self, text: str, shape: tuple[int, ...], trace: Trace, leaf: Optional[int] = None, truth: bool = False):
        super().__init__(text)
        if _modes() != trace.modes:  # the forward of an autograd.Function is without gradients as well
            raise TypeError("the message is computed with and without gradients or autocast, or by an autograd.Function")
        if len(text) > _LONGEST:
            raise TypeError(f"the message as an expression has more than {_LONGEST} letters")
        self.shape, self.trace, self.leaf, self.truth = shape, trace, leaf, truth

    def _written(self, form: str, operands: tuple) -> Term:
        rows = [x for x in operands if isinstance(x, Row)]
        shape, compares = self.shape, form[4:5] in _COMPARISONS
        _of_types(form, compares, operands)
        for x in rows:
            if x.shape != shape:
                if len(x.shape) != len(shape) or any(one != other and 1 not in (one, other) for one, other in zip(x.shape, shape)):  # edges would meet features
                    raise TypeError(f"{x.shape} and {shape} are combined element by element")
                shape = tuple(other if one == 1 else one for one, other in zip(x.shape, shape))
            if x.leaf is not None:
                self.trace.shapes.setdefault(x.leaf, set()).add(x.shape)
        text = form.format(*(x.text if isinstance(x, Row) else self.trace.number(x) for x in operands))
        return Row(text, shape, self.trace, truth=compares)

    def reshape(self, *shape: Any) -> Row:
        """The same elements in another shape, which a tensor as it was given may have, or where ones come in between or vanish."""
        to = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list, torch.Size)) else shape
        count, known = math.prod(self.shape), math.prod(x for x in to if x != -1)
        made = tuple(count // max(known, 1) if x == -1 else x for x in to)
        if math.prod(made) != count or made[:1] != self.shape[:1]:
            raise TypeError(f"view{tuple(shape)} of shape {self.shape}")
        if self.leaf is None and made != self.shape:
            raise TypeError(f"view{tuple(shape)} of an expression")
        return Row(self.text, made, self.trace, self.leaf, self.truth)

    view = reshape

    def unsqueeze(self, dim: int) -> Row:
        place = dim if dim >= 0 else dim + len(self.shape) + 1
        return self.reshape(*self.shape[:place], 1, *self.shape[place:])

    def size(self, dim: Optional[int] = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> torch.dtype:
        return self.trace.dtype()

    @property
    def device(self) -> torch.device:
        return self.trace.leaves[0].tensor.device  # type: ignore[no-any-return]

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, given: tuple = (), others: Optional[dict] = None) -> Any:
        name, others = getattr(function, "__name__", ""), dict(others or {})
        if name == "dropout" and given and isinstance(given[0], Row):
            p, training = (*given[1:], *(others[key] for key in ("p", "training") if key in others))[:2]
            if not training or p == 0:
                return given[0]
            raise TypeError("dropout of messages")
        if name in _OF_NUMBERS or function is Tensor.where:
            raise TypeError(f"{name} of messages")
        return super().__torch_function__(function, types, given, others)

    def where(self, condition: Any, other: Any) -> Term:
        return called("where", (condition, self, other))


def _of_types(form: str, compares: bool, operands: tuple) -> None:
    """Refuse operations that PyTorch computes in another type than the messages': of truth values alone "+" is "or"."""
    if any(isinstance(x, bool) for x in operands):
        raise TypeError("an operand is a bool")
    if form.startswith("where("):
        if not (isinstance(operands[0], Row) and operands[0].truth):
            raise TypeError("the condition of where is no comparison")
        operands = operands[1:]
    if not compares and all(x.truth for x in operands if isinstance(x, Row)):
        raise TypeError("a comparison is computed with as a number, or where has two numbers")


def _method(name: str) -> Any:
    return lambda self, *others: called(name, (self, *others))


def _in_place(name: str) -> Any:
    def method(self: Row, other: Any) -> Row:
        raise TypeError(f"{name} changes what the message is computed from")
    return method


for _name in "add", "sub", "mul", "truediv", "floordiv", "mod", "pow":
    setattr(Row, f"__i{_name}__", _in_place(f"__i{_name}__"))
for _name in (*FUNCTIONS, *OPERATORS, *OTHER_NAMES, "neg", "negative"):
    if not _name.startswith("_") and _name not in _OF_NUMBERS and not hasattr(Row, _name):
        setattr(Row, _name, _method(_name))
