"""Several aggregations of the same messages: a step of autograd, and for compilers one operator forward and one backward."""
from __future__ import annotations

import functools
from typing import Any, Optional

import torch
from torch import Tensor

from ... import _declarations as c
from .. import Pattern, _direct, message
from .._held import apart, pattern_of
from .._layer import counts
from .._messages import EDGE_OP, OPS, arguments_of
from .._ops import Sizes, define
from .._steps import Step, gradient_into, gradients, reduced, reduced_into, text_number
from ._aggregations import LEAST, deviation_of

_SQUARES = "var", "std"
_SIZES = "SymInt rows, SymInt cols, bool coo, str names, SymInt width"


def numbers_of_edges(known: Any, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return the number of edges of each row, and 1 where there are some, (rows, 1), which are kept with the checked pattern."""
    made = known.__dict__.setdefault("numbers_of_edges", {})
    if like.dtype not in made:
        with apart():
            edges = reduced(known, OPS["copy_e"], "sum", None, like.new_ones(known.nnz, 1))[0]
            made[like.dtype] = edges, edges.clamp(max=1)
    return made[like.dtype]  # type: ignore[no-any-return]


def total(given: list[Tensor]) -> Any:
    """Return the sum of tensors; None of none."""
    return functools.reduce(torch.add, given) if given else None


class Aggregated(Step):
    """The aggregations of u_j + e_ij, or of one of the two, and of v_i, the same for all edges of a node, which comes after them, side by side: (rows, heads,
    aggregators * width). The mean, the variance about it and each extreme are a pass over the edges."""

    compiled = True

    def __init__(self, pattern: Any, names: Any, width: int):
        self.pattern, self.names, self.width = pattern, tuple(names), width
        self.place = {name: self.names.index(name) for name in self.names}  # names may be given twice
        self.squares = [name for name in _SQUARES if name in self.place]
        self.extremes = [name for name in ("max", "min") if name in self.place]
        self.means = [name for name in ("mean", "sum") if name in self.place]

    @staticmethod
    def _message(u: Optional[Tensor], e: Optional[Tensor]) -> tuple[str, str]:
        """Return the operation of a message, and the same as an expression."""
        return ("copy_u", "u") if e is None else ("copy_e", "e") if u is None else ("add", "(u + e)")

    def plainly(self, *operands: Any) -> Tensor:
        (u, v, e), edges = operands, counts(self.pattern, next(x for x in operands if x is not None).dtype)
        op, m = self._message(u, e)
        found = {name: message(self.pattern, op, u, e, name) for name in [*["mean"] * bool(self.means or self.squares), *self.extremes]}
        if self.squares:
            found["var"] = message(self.pattern, f"{m} * {m}", u, e, "mean") - found["mean"].square()
            found["std"] = deviation_of(found["var"])
        if v is not None:
            later = v * edges.clamp(max=1)
            found.update({name: found[name] + (0.0 if name in _SQUARES else 1.0) * later for name in found})  # so that all parameters have gradients
        if "sum" in self.place:
            found["sum"] = found["mean"] * edges
        return torch.stack([found[name].unflatten(1, (-1, self.width)) for name in self.names], 2).flatten(2)

    def run(self, known: Any, *operands: Any) -> tuple[Tensor, tuple]:
        if not _direct.compiling():
            return self.forward(known, *operands)
        out, *kept = torch.ops.tamis.aggregated(known.index, known.columns, *operands, known.rows, known.cols, known.coo, " ".join(self.names), self.width)
        return out, (*kept, out)

    def back(self, known: Any, grad: Tensor, operands: tuple, kept: tuple, wanted: list[bool]) -> tuple:
        if not _direct.compiling():
            return self.backward(known, grad, operands, kept, wanted)
        found = torch.ops.tamis.aggregated_backward(grad, known.index, known.columns, *operands, *kept, known.rows, known.cols, known.coo, " ".join(self.names), self.width, list(wanted))
        return tuple([x if wants else None for x, wants in zip(found, wanted)])

    def forward(self, known: Any, u: Optional[Tensor], v: Optional[Tensor], e: Optional[Tensor]) -> tuple[Tensor, tuple]:
        """Return the result, and the mean, the places of the maximum and the minimum, each None if not needed, and the result."""
        (op, m), like, place, by_heads = self._message(u, e), e if u is None else u, self.place, (-1, self.width)
        assert like is not None
        out = like.new_empty(known.shape[0], like.shape[1] // self.width, len(self.names), self.width)
        parts = out.unbind(2)
        alone = out.shape[1] == 1  # then the library writes at the place

        def aggregated(name: str, number: int, reduce: str, row: Optional[Tensor] = None) -> Any:
            own = parts[place[name]]
            if alone:
                return reduced_into(known, own.squeeze(1), number, reduce, u, e, row, True)
            found, argument = reduced(known, number, reduce, u, e, row, True)
            own.copy_(found.unflatten(1, by_heads))
            return argument

        mean = reduced(known, OPS[op], "mean", u, e)[0] if self.means or self.squares else None
        arguments = [aggregated(name, OPS[op], name) if name in self.extremes else None for name in ("max", "min")]
        if self.squares:
            aggregated(self.squares[0], text_number(f"({m} - v) * ({m} - v)"), "mean", mean)
            if len(self.squares) > 1:
                parts[place["std"]].copy_(parts[place["var"]])
            if "std" in place:
                torch.threshold_(parts[place["std"]], LEAST, 0.0).sqrt_()
        edges, some = (x.unsqueeze(1) for x in numbers_of_edges(known, like))
        later = None if v is None else v.unflatten(1, by_heads)
        for name in self.means:
            own, found = parts[place[name]], mean.unflatten(1, by_heads)  # type: ignore[union-attr]
            own.copy_(found) if later is None else torch.addcmul(found, later, some, out=own)
            if name == "sum":
                own.mul_(edges)
        if later is not None:
            first, end = self._run_of(self.extremes)
            if end:
                out[:, :, first:end].addcmul_(later.unsqueeze(2), some.unsqueeze(2))
            for name in () if end else self.extremes:
                parts[place[name]].addcmul_(later, some)
        for number, name in enumerate(self.names):
            if place[name] != number:
                parts[number].copy_(parts[place[name]])
        return out.flatten(2), (mean if self.squares else None, *arguments, out)

    def _run_of(self, names: list[str]) -> tuple[int, int]:
        """Return the first place of some aggregations and the one behind the last, if no other lies between them; else (0, 0)."""
        places = sorted(number for number, name in enumerate(self.names) if name in names)
        return (places[0], places[-1] + 1) if places and len(names) == len(places) == places[-1] + 1 - places[0] else (0, 0)

    def backward(self, known: Any, grad: Tensor, operands: tuple, kept: tuple, wanted: Any, into: tuple = (None, None)) -> tuple:
        """Return the gradients. into: where those of u and v are written, if at all."""
        (u, _, e), (mean, *arguments, out), place = operands, kept, self.place
        op, m = self._message(u, e)
        edges, some = numbers_of_edges(known, grad)
        whole = grad.view(grad.shape[0], -1, len(self.names), self.width)
        parts = whole.unbind(2)
        of: dict[str, Any] = {name: parts[place[name]] if self.names.count(name) == 1 else total([part for part, one in zip(parts, self.names) if one == name]) for name in place}
        if "sum" in of:
            of["sum"] = of["sum"] * edges.unsqueeze(1)
        if "var" in of:
            of["var"] = of["var"] * 2
        if "std" in of:
            deviation = out.view(whole.shape)[:, :, place["std"]]
            of["std"] = torch.ops.aten.threshold_backward(of["std"] / deviation, deviation, 0.0)  # 0 where the deviation is
        of_means, of_squares = (total([of[name] for name in names]) for names in (self.means, self.squares))
        passes = [(of[name].flatten(1), OPS[op], name, u, e, None, argument) for name, argument in zip(("max", "min"), arguments) if name in of]
        if of_squares is not None:
            passes.append((of_squares.flatten(1), text_number(f"({m} - v) * ({m} - v) / 2"), "mean", u, e, mean, None))
        if of_means is not None:
            passes.append((of_means.flatten(1), OPS[op], "mean", u, e, None, None))
        du = de = dv = None
        if wanted[2]:
            for own in passes:
                found = gradients(known, *own, wanted=(False, True, False))[1]
                de = found if de is None else de.add_(found)
            if wanted[0]:
                du = EDGE_OP.back(known, de, (None, None), (c.TAMIS_PAIR_ADD, 1, grad.shape[1] * self.width), [False, True])[1]
                du = du if into[0] is None else into[0].copy_(du)
        elif wanted[0]:
            each = grad.new_empty(known.shape[1], len(passes), whole.shape[1] * self.width)
            for number, own in enumerate(passes):
                gradient_into(known, each[:, number], *own)
            du = each.sum(1) if into[0] is None else torch.sum(each, 1, out=into[0])
        if wanted[1]:
            first, end = self._run_of([*self.means, *self.extremes]) if "sum" not in of else (0, 0)
            dv = whole[:, :, first:end].sum(2) if end else total([x for x in (of_means, *map(of.get, self.extremes)) if x is not None])
            dv = some.new_zeros(1, 1) if dv is None else dv.flatten(1)
            dv = (dv * some).expand(-1, whole.shape[1] * self.width) if into[1] is None else torch.mul(dv, some, out=into[1])
        return du, dv, de


# ------------------------------------------------------------------------------ the operators, whose steps are those of calls that nobody compiles


def _known(index: Tensor, columns: Tensor, rows: int, cols: int, coo: bool, names: str, width: int) -> tuple[Aggregated, Any]:
    return Aggregated(None, names.split(" "), width), pattern_of(index, columns, rows, cols, coo)


def _there(like: Tensor, found: Any) -> tuple:
    """Return tensors, empty ones instead of None."""
    return tuple([like.new_empty((0,)) if x is None else x for x in found])


def _aggregated(index: Tensor, columns: Tensor, u: Optional[Tensor], v: Optional[Tensor], e: Optional[Tensor], *numbers: Any) -> tuple:
    step, known = _known(index, columns, *numbers)
    out, (*kept, _) = step.forward(known, u, v, e)
    return _there(out, (out, *kept))


def _aggregated_empty(index: Tensor, columns: Tensor, u: Optional[Tensor], v: Optional[Tensor], e: Optional[Tensor], rows: Any, cols: Any, coo: bool, names: str, width: Any) -> tuple:
    like, of, step = e if u is None else u, Sizes((rows, cols), columns.shape[-1]), Aggregated(None, names.split(" "), width)
    assert like is not None
    across = like.shape[1]
    arguments = [arguments_of(like, of, across) if name in step.extremes else None for name in ("max", "min")]
    return _there(like, (like.new_empty((rows, across // width, len(step.names) * width)), like.new_empty((rows, across)) if step.squares else None, *arguments))


def _back(grad: Tensor, index: Tensor, columns: Tensor, u: Optional[Tensor], v: Optional[Tensor], e: Optional[Tensor], mean: Tensor, largest: Tensor, least: Tensor,
          out: Tensor, *rest: Any) -> tuple:
    *numbers, wanted = rest
    step, known = _known(index, columns, *numbers)
    return _there(grad, [x if x is None else x.contiguous() for x in step.backward(known, grad, (u, v, e), (mean, largest, least, out), wanted)])


def _back_empty(grad: Tensor, index: Tensor, columns: Tensor, u: Optional[Tensor], v: Optional[Tensor], e: Optional[Tensor], mean: Tensor, largest: Tensor, least: Tensor,
                out: Tensor, *rest: Any) -> tuple:
    return _there(grad, [x.new_empty(x.shape) if wants and x is not None else None for x, wants in zip((u, v, e), rest[-1])])


def _flops(index: Tensor, columns: Tensor, u: Optional[Tensor], v: Optional[Tensor], e: Optional[Tensor], rows: Any, cols: Any, coo: bool, names: str, width: Any, out_val: Any = None) -> Any:
    of = set(names.split(" "))
    passes = len(of & {"max", "min"}) + bool(of & {"sum", "mean", *_SQUARES}) + 3 * bool(of & set(_SQUARES))
    return columns.shape[-1] * (e if u is None else u).shape[1] * (passes + bool(u is not None and e is not None))  # type: ignore[union-attr]


def _back_flops(grad: Tensor, index: Tensor, columns: Tensor, u: Optional[Tensor], v: Optional[Tensor], e: Optional[Tensor], *rest: Any, out_val: Any = None) -> Any:
    return _flops(index, columns, u, v, e, *rest[4:9])


if _direct.REGISTERED:
    define("aggregated", f"(Tensor index, Tensor columns, Tensor? u, Tensor? v, Tensor? e, {_SIZES}) -> (Tensor, Tensor, Tensor, Tensor)", _aggregated, _aggregated_empty, _flops)
    define("aggregated_backward", f"(Tensor grad, Tensor index, Tensor columns, Tensor? u, Tensor? v, Tensor? e, Tensor mean, Tensor largest, Tensor least, Tensor out, {_SIZES}, "
           "bool[3] wanted) -> (Tensor, Tensor, Tensor)", _back, _back_empty, _back_flops)
