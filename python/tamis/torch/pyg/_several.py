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
from .._messages import EDGE_OP, OPS, arguments_of, room
from .._ops import Sizes, define
from .._steps import Step, gradient_into, gradients, reduced, reduced_into, text_number
from ._aggregations import LEAST, deviation_of

_SQUARES = "var", "std"
_SIZES = "SymInt rows, SymInt cols, bool coo, str names, int width"


def numbers_of_edges(known: Any, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return the number of edges of each row, and 1 where there are some, (rows, 1), which are kept with the checked pattern."""
    made = known.__dict__.setdefault("numbers_of_edges", {})
    if like.dtype not in made:
        with apart():
            edges = reduced(known, OPS["copy_e"], "sum", None, like.new_ones((known.nnz, 1), dtype=torch.float64))[0].to(like.dtype)
            made[like.dtype] = edges, edges.clamp(max=1)
    return made[like.dtype]  # type: ignore[no-any-return]


def total(given: list[Tensor]) -> Any:
    """Return the sum of tensors; None of none."""
    return functools.reduce(torch.add, given) if given else None


class Aggregations:
    """The aggregations of these names, each `width` wide, of u_j + e_ij, or of one of the two, and of v_i, the same for all edges of a node, which comes after
    them: passes over the edges for the mean, for the variance about it and for each extreme, and their gradients."""

    def __init__(self, names: tuple[str, ...], width: int, masked: bool = False):
        """masked: what rows without edges have is not read, and its gradient is 0, so that v may be added there."""
        self.names, self.width, self.masked = names, width, masked
        self.place = {name: names.index(name) for name in names}  # names may be given twice
        self.squares = [name for name in _SQUARES if name in self.place]
        self.extremes: list[str] = [name for name in ("max", "min") if name in self.place]
        self.means: list[str] = [name for name in ("mean", "sum") if name in self.place]
        self.extremes_at = self._beside(self.extremes)
        self.later_at = None if "sum" in self.place else self._beside([*self.means, *self.extremes])

    def _beside(self, some: list[str]) -> Optional[slice]:
        """Return the places of some aggregations, if no other lies between them."""
        places = [number for number, name in enumerate(self.names) if name in some]
        together = len(some) == len(places) > 0 and places[-1] - places[0] == len(places) - 1
        return slice(places[0], places[-1] + 1) if together else None

    @staticmethod
    def message(u: Optional[Tensor], e: Optional[Tensor]) -> tuple[str, str]:
        """Return the operation of a message, and the same as an expression."""
        return ("copy_u", "u") if e is None else ("copy_e", "e") if u is None else ("add", "(u + e)")

    def forward(self, known: Any, u: Optional[Tensor], v: Optional[Tensor], e: Optional[Tensor]) -> tuple[Tensor, tuple]:
        """Return the result, (rows, heads, aggregators, width) and without heads (rows, aggregators, width), and what the gradient reads: the mean and the places of
        the maximum and the minimum, each None if not needed."""
        (op, m), like, place = self.message(u, e), e if u is None else u, self.place
        assert like is not None
        alone, rows = like.shape[1] == self.width, known.shape[0]
        out = like.new_empty((rows, len(self.names), self.width) if alone else (rows, like.shape[1] // self.width, len(self.names), self.width))
        parts = out.unbind(-2)
        room(out)

        def by_heads(x: Tensor) -> Tensor:
            return x if alone else x.unflatten(1, (-1, self.width))

        def aggregated(name: str, number: int, reduce: str, row: Optional[Tensor] = None) -> Any:
            if alone:  # the library writes at the place
                return reduced_into(known, parts[place[name]], number, reduce, u, e, row, True)
            found, argument = reduced(known, number, reduce, u, e, row, True)
            parts[place[name]].copy_(by_heads(found))
            return argument

        mean = reduced(known, OPS[op], "mean", u, e)[0] if self.means or self.squares else None
        arguments = [aggregated(name, OPS[op], name) if name in place else None for name in ("max", "min")]
        if self.squares:
            aggregated(self.squares[0], text_number(f"({m} - v) * ({m} - v)"), "mean", mean)
            if len(self.squares) > 1:
                parts[place["std"]].copy_(parts[place["var"]])
            if "std" in place:
                torch.threshold_(parts[place["std"]], LEAST, 0.0).sqrt_()
        edges, some = numbers_of_edges(known, like)
        edges, some = (edges, some) if alone else (edges.unsqueeze(1), some.unsqueeze(1))
        later = None if v is None else by_heads(v)
        for name in self.means:
            own, found = parts[place[name]], by_heads(mean)  # type: ignore[arg-type]
            own.copy_(found) if later is None else torch.add(found, later, out=own) if self.masked else torch.addcmul(found, later, some, out=own)
            if name == "sum":
                own.mul_(edges)
        if later is not None:
            together = self.extremes_at is not None
            for own in [out[..., self.extremes_at, :]] if together else [parts[place[name]] for name in self.extremes]:
                more, rows = (later.unsqueeze(-2), some.unsqueeze(-2)) if together else (later, some)
                own.add_(more) if self.masked else own.addcmul_(more, rows)
        if len(place) < len(parts):
            for part, name in zip(parts, self.names):
                if part is not parts[place[name]]:
                    part.copy_(parts[place[name]])
        return out, (mean if self.squares else None, *arguments)

    def backward(self, known: Any, grad: Tensor, u: Optional[Tensor], e: Optional[Tensor], kept: tuple, out: Tensor, wanted: Any, into: tuple = (None, None)) -> tuple:
        """Return the gradients of u, v and e. out, kept: what `forward` returned; grad: of its shape. into: where the gradients of u and v are written, if at all."""
        (op, m), (mean, *arguments), place = self.message(u, e), kept, self.place
        parts, (edges, some) = grad.unbind(-2), numbers_of_edges(known, grad)
        if len(place) == len(parts):
            of: dict[str, Any] = dict(zip(self.names, parts))
        else:
            of = {name: total([part for part, one in zip(parts, self.names) if one == name]) for name in place}
        if "sum" in of:
            of["sum"] = of["sum"] * (edges if grad.dim() == 3 else edges.unsqueeze(1))
        if "var" in of:
            of["var"] = of["var"] * 2
        if "std" in of:
            deviation = out.select(-2, place["std"])
            of["std"] = torch.ops.aten.threshold_backward.default(of["std"] / deviation, deviation, 0.0)  # 0 where the deviation is
        of_means, of_squares = (total([of[name] for name in names]) for names in (self.means, self.squares))
        passes: list[tuple] = [(of[name], OPS[op], name, u, e, None, argument) for name, argument in zip(("max", "min"), arguments) if name in of]
        if of_squares is not None:
            passes.append((of_squares, text_number(f"({m} - v) * ({m} - v) / 2"), "mean", u, e, mean))
        if of_means is not None:
            passes.append((of_means, OPS[op], "mean", u, e))
        if grad.dim() == 4:
            passes = [(own[0].flatten(1), *own[1:]) for own in passes]
        du = de = dv = None
        if wanted[2] or wanted[0]:
            of_edges = bool(wanted[2])
            each = grad.new_empty(len(passes), known.nnz if of_edges else known.shape[1], passes[0][0].shape[1])
            room(each)
            for place_of_it, own in zip(each.unbind(0), passes):
                gradient_into(known, place_of_it, *own, wanted=(not of_edges, of_edges, False))  # type: ignore[misc]
            if of_edges:
                de = each.sum(0) if len(passes) > 1 else each[0]
            else:
                du = torch.sum(each, 0, out=into[0])
        if de is not None and wanted[0]:  # each edge adds its gradient to its source
            du = de.new_empty(known.shape[1], de.shape[1]) if into[0] is None else into[0]
            EDGE_OP.back_into(known, de, (None, None), (c.TAMIS_PAIR_ADD, 1, de.shape[1]), [False, True], du)
        if wanted[1]:
            if self.later_at is not None:
                later = grad[..., self.later_at, :]
                dv = torch.sum(later, -2, out=into[1]) if self.masked and later.dim() == 3 else later.sum(-2)
            else:
                dv = total([x for x in (of_means, *map(of.get, self.extremes)) if x is not None])
            dv = parts[0].new_zeros(parts[0].shape) if dv is None else dv
            if dv is not into[1]:
                dv = torch.mul(dv if dv.dim() == 2 else dv.flatten(1), some, out=into[1])
        return du, dv, de


class Aggregated(Step):
    """`Aggregations`, side by side: (rows, heads, aggregators * width)."""

    compiled = True

    def __init__(self, pattern: Pattern, of: Aggregations):
        self.pattern, self.of = pattern, of

    def plainly(self, *operands: Any) -> Tensor:
        (u, v, e), edges = operands, counts(self.pattern, next(x for x in operands if x is not None).dtype)
        (op, m), of = self.of.message(u, e), self.of
        found = {name: message(self.pattern, op, u, e, name) for name in [*["mean"] * bool(of.means or of.squares), *of.extremes]}
        if of.squares:
            found["var"] = message(self.pattern, f"{m} * {m}", u, e, "mean") - found["mean"].square()
            found["std"] = deviation_of(found["var"])
        if v is not None:
            later = v * edges.clamp(max=1)
            found.update({name: found[name] + (0.0 if name in _SQUARES else 1.0) * later for name in found})  # so that all parameters have gradients
        if "sum" in of.place:
            found["sum"] = found["mean"] * edges
        return torch.stack([found[name].unflatten(1, (-1, of.width)) for name in of.names], 2).flatten(2)

    def run(self, known: Any, *operands: Any) -> tuple[Tensor, tuple]:
        if not _direct.compiling():
            out, kept = self.of.forward(known, *operands)
            return (out if out.dim() == 4 else out.unsqueeze(1)).flatten(2), (*kept, out)
        out, *kept = torch.ops.tamis.aggregated(known.index, known.columns, *operands, known.rows, known.cols, known.coo, " ".join(self.of.names), self.of.width)
        return (out if out.dim() == 4 else out.unsqueeze(1)).flatten(2), (*kept, out)

    def back(self, known: Any, grad: Tensor, operands: tuple, kept: tuple, wanted: list[bool]) -> tuple:
        (u, v, e), (*kept, out) = operands, kept
        grad = grad.view(out.shape)
        if not _direct.compiling():
            return self.of.backward(known, grad, u, e, tuple(kept), out, wanted)
        found = torch.ops.tamis.aggregated_backward(grad, known.index, known.columns, u, e, *kept, out, known.rows, known.cols, known.coo, " ".join(self.of.names), self.of.width, list(wanted))
        return tuple([x if wants else None for x, wants in zip(found, wanted)])


# ------------------------------------------------------------------------------ the operators, which make the same steps


@functools.lru_cache(maxsize=256)
def _aggregations(names: str, width: int) -> Aggregations:
    return Aggregations(tuple(names.split(" ")), width)


def _there(like: Tensor, *found: Optional[Tensor]) -> tuple:
    """Return tensors, empty ones instead of None."""
    return tuple([like.new_empty((0,)) if x is None else x for x in found])


def _aggregated(index: Tensor, columns: Tensor, u: Optional[Tensor], v: Optional[Tensor], e: Optional[Tensor], rows: int, cols: int, coo: bool, names: str, width: int) -> tuple:
    out, kept = _aggregations(names, width).forward(pattern_of(index, columns, rows, cols, coo), u, v, e)
    return _there(out, out, *kept)


def _aggregated_empty(index: Tensor, columns: Tensor, u: Optional[Tensor], v: Optional[Tensor], e: Optional[Tensor], rows: Any, cols: Any, coo: bool, names: str, width: int) -> tuple:
    like, of, edges = e if u is None else u, _aggregations(names, width), columns.shape[-1]
    assert like is not None
    across = like.shape[1]
    out = like.new_empty((rows, len(of.names), width) if across == width else (rows, across // width, len(of.names), width))
    arguments = [arguments_of(like, Sizes((rows, cols), edges), across) if name in of.place else None for name in ("max", "min")]
    return _there(like, out, like.new_empty((rows, across)) if of.squares else None, *arguments)


def _back(grad: Tensor, index: Tensor, columns: Tensor, u: Optional[Tensor], e: Optional[Tensor], mean: Tensor, largest: Tensor, least: Tensor, out: Tensor, rows: int, cols: int,
          coo: bool, names: str, width: int, wanted: list[bool]) -> tuple:
    of = _aggregations(names, width)
    return _there(grad, *of.backward(pattern_of(index, columns, rows, cols, coo), grad, u, e, (mean, largest, least), out, wanted))


def _back_empty(grad: Tensor, index: Tensor, columns: Tensor, u: Optional[Tensor], e: Optional[Tensor], mean: Tensor, largest: Tensor, least: Tensor, out: Tensor, rows: Any, cols: Any,
                coo: bool, names: str, width: int, wanted: list[bool]) -> tuple:
    across = (e if u is None else u).shape[1]  # type: ignore[union-attr]
    return _there(grad, *[grad.new_empty((length, across)) if wants else None for length, wants in zip((cols, rows, columns.shape[-1]), wanted)])


def _flops(index: Tensor, columns: Tensor, u: Optional[Tensor], v: Optional[Tensor], e: Optional[Tensor], rows: Any, cols: Any, coo: bool, names: str, width: int, out_val: Any = None) -> Any:
    of = _aggregations(names, width)
    each = (1 if u is None or e is None else 2) * (len(of.extremes) + bool(of.means or of.squares)) + (3 if u is None or e is None else 5) * bool(of.squares)
    return columns.shape[-1] * (e if u is None else u).shape[1] * each  # type: ignore[union-attr]


def _back_flops(grad: Tensor, index: Tensor, columns: Tensor, u: Optional[Tensor], e: Optional[Tensor], mean: Tensor, largest: Tensor, least: Tensor, out: Tensor, *rest: Any,
                out_val: Any = None) -> Any:
    return _flops(index, columns, u, None, e, *rest[:5])


if _direct.REGISTERED:
    define("aggregated", f"(Tensor index, Tensor columns, Tensor? u, Tensor? v, Tensor? e, {_SIZES}) -> (Tensor, Tensor, Tensor, Tensor)", _aggregated, _aggregated_empty, _flops)
    define("aggregated_backward", f"(Tensor grad, Tensor index, Tensor columns, Tensor? u, Tensor? e, Tensor mean, Tensor largest, Tensor least, Tensor out, {_SIZES}, bool[3] wanted) "
           "-> (Tensor, Tensor, Tensor)", _back, _back_empty, _back_flops)
