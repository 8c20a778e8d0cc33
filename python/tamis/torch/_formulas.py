"""Derivatives of any order, since they are made of operators that have derivatives themselves: gradients (for create_graph=True and torch.func) and tangents
(forward mode) of sampled operations, and derivatives of the gradients of message passing, edge vectors, segments and attention on graphs. Only where messages
are cut off (relu) or are expressions, and in attention, they make vectors of all edges.
"""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from .. import _declarations as c
from .. import _edges, _trees
from .._edges import total
from .._plan import is_expression
from .._trees import derivative, expression
from ._direct import transforms

EXTREME = (c.TAMIS_REDUCE_MAX, c.TAMIS_REDUCE_MIN)
SEGMENT_EXTREME = (c.TAMIS_SEGMENT_MAX, c.TAMIS_SEGMENT_MIN)
MULTIPLIES = (c.TAMIS_PAIR_MUL, c.TAMIS_PAIR_DOT)


class Values(_trees.Values):
    exp, log, tanh, erf, erfc, sqrt, floor, pow = map(staticmethod, (torch.exp, torch.log, torch.tanh, torch.erf, torch.erfc, torch.sqrt, torch.floor, torch.pow))
    number = staticmethod(lambda x, like: like.new_tensor(x))
    chosen = staticmethod(torch.where)


class _Tree(torch.autograd.Function):
    """The value of a tree of tensors, which broadcast. Its derivatives are values of trees, so that a branch of `where` that is not taken has no part in them."""

    generate_vmap_rule = True

    @staticmethod
    def forward(tree: Any, names: tuple[str, ...], fixed: dict[str, float], *arrays: Tensor) -> Tensor:
        found = Values({**fixed, **dict(zip(names, arrays))}).of(tree)
        return found.clone() if any(found is x for x in arrays) else found

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Tensor) -> None:
        ctx.tree, ctx.names, ctx.fixed, *arrays = inputs
        ctx.save_for_backward(*arrays)
        ctx.save_for_forward(*arrays)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        arrays, made = ctx.saved_tensors, []
        for name, x, wants in zip(ctx.names, arrays, ctx.needs_input_grad[3:]):
            by = _trees.derivative(ctx.tree, {name: 1.0}) if wants else 0.0
            made.append(None if by == 0.0 else (grad * _Tree.apply(by, ctx.names, ctx.fixed, *arrays)).sum_to_size(x.shape))
        return (None, None, None, *made)

    @staticmethod
    def jvp(ctx: Any, _: Any, __: Any, ___: Any, *changes: Any) -> Any:
        arrays, found = ctx.saved_tensors, []
        for name, change in zip(ctx.names, changes):
            by = 0.0 if change is None else _trees.derivative(ctx.tree, {name: 1.0})
            found += [] if by == 0.0 else [change * _Tree.apply(by, ctx.names, ctx.fixed, *arrays)]
        return total(*found) if found else 0 * total(*arrays)


class Operations(_edges.Operations):
    """The operations on one pattern, by `calls`, the registered operators."""

    exp = staticmethod(torch.exp)

    @staticmethod
    def value(tree: Any, names: tuple[str, ...], arrays: tuple[Tensor, ...], fixed: dict[str, float]) -> Tensor:
        """Return the value of a tree. Within torch.func its derivatives are by PyTorch's rules: the rules of operators cannot call functions of autograd there."""
        return Values({**fixed, **dict(zip(names, arrays))}).of(tree) if transforms() else _Tree.apply(tree, names, fixed, *arrays)

    def __init__(self, calls: dict[str, Any], index: Tensor, columns: Tensor, rows: Any, cols: Any, coo: bool):
        self.calls, self.index, self.columns, self.rows, self.cols, self.coo = calls, index, columns, rows, cols, coo

    def products(self, a: Tensor, b: Tensor) -> Tensor:
        if a.dim() == 1:
            a, b = a.unsqueeze(-1), b.unsqueeze(-1)
        return self.softmax(None, a, b, (c.TAMIS_EDGE_MASK, 1.0, 0.01, 1e-10))

    def softmax(self, values: Optional[Tensor], a: Tensor, b: Tensor, numbers: tuple) -> Tensor:
        return self.calls["sddmm"](self.index, self.columns, values, a, b, self.rows, self.cols, self.coo, *numbers, False)[0]

    def times(self, values: Optional[Tensor], b: Tensor, transpose: bool) -> Tensor:
        return self.calls["spmm"](self.index, self.columns, values, b, self.rows, self.cols, self.coo, transpose)

    def ones(self, x: Tensor, count: Any) -> Tensor:
        return x.new_ones((count, 1))

    def counted(self, x: Tensor, count: Any) -> Tensor:
        return torch.arange(count, dtype=x.dtype, device=x.device)

    def given(self, array: Tensor, x: Tensor) -> Tensor:
        return array.to(x.dtype)

    def largest(self, y: Tensor) -> Tensor:
        places = self.columns.long().expand(y.shape)
        most = y.new_full((*y.shape[:-1], self.cols), float("-inf")).scatter_reduce(-1, places, y.detach(), "amax")
        return torch.where(most == float("-inf"), 0.0, most).gather(-1, places)

    @staticmethod
    def where(condition: Tensor, this: Any, otherwise: Any, like: Tensor) -> Tensor:
        if not isinstance(this, Tensor) and not isinstance(otherwise, Tensor):
            this = torch.full_like(like, this)
        return torch.where(condition, this, otherwise)


class Steps(Operations):
    """The operations as a caller's own steps, which autograd records."""

    @staticmethod
    def value(tree: Any, names: tuple[str, ...], arrays: tuple[Tensor, ...], fixed: dict[str, float]) -> Tensor:
        return _Tree.apply(tree, names, fixed, *arrays)  # type: ignore[no-any-return]


def wide(x: Optional[Tensor]) -> Optional[Tensor]:
    """Widen 16-bit tensors, so that intermediate results are not rounded."""
    return x.float() if x is not None and x.dtype in (torch.float16, torch.bfloat16) else x


def packed(x: Optional[Tensor]) -> Optional[Tensor]:
    """Pack a tangent or a gradient, which autograd may have expanded from one number."""
    return None if x is None else wide(x.contiguous())


# ------------------------------------------------------------------------------ gradients of operators on graphs
#
# Each function returns the gradients of the inputs of an operator's gradient, by their places. need: which are wanted, by place; tensors, numbers: the inputs;
# changes: the gradients of its results, packed, None if there is none or the result was not wanted.


# ------------------------------------------------------------------------------ messages


def _changed(op: int, x: Optional[Tensor], e: Optional[Tensor], dx: Optional[Tensor], de: Optional[Tensor]) -> Tensor:
    """Return the tangent of messages from the tangents dx and de, element by element."""
    if op == c.TAMIS_MESSAGE_MUL:
        dx, de = None if dx is None else dx * e, None if de is None else de * x
    elif op == c.TAMIS_MESSAGE_SUB and de is not None:
        de = -de
    change: Tensor = total(dx, de)
    if op == c.TAMIS_MESSAGE_ADD_RELU:
        assert x is not None and e is not None
        change = change.masked_fill(x + e <= 0, 0)
    return change


def _for_elements(e: Optional[Tensor], data: int, heads: int, width: int) -> Optional[Tensor]:
    """Expand edge data to all elements: (edges, heads * width)."""
    if e is None or data == c.TAMIS_E_VECTOR:
        return e
    return e.unsqueeze(-1).expand(-1, e.shape[1], heads * width // max(e.shape[1], 1)).reshape(e.shape[0], heads * width)


def _picked(e: Optional[Tensor], entry: Tensor, data: int, heads: int) -> Optional[Tensor]:
    """Return the edge data of the entries that maxima took: (rows, heads * width)."""
    if e is None or data == c.TAMIS_E_VECTOR:
        return None if e is None else e.gather(0, entry)
    own, columns = e.shape[1], entry.shape[1]
    column = torch.arange(columns, device=e.device) // max(columns // max(own, 1), 1)
    return e.reshape(-1)[entry * own + column]


def _tangent(index: Tensor, columns: Tensor, x: Optional[Tensor], e: Optional[Tensor], dx: Optional[Tensor], de: Optional[Tensor], argument: Tensor,
             numbers: list) -> Any:
    """Return the tangent of `message` from the tangents dx and de."""
    rows, cols, coo, op, reduce, data, heads = numbers

    def call(op: int, x: Optional[Tensor], e: Optional[Tensor], data: int, heads: int) -> Any:
        return torch.ops.tamis.message(index, columns, x, e, None, rows, cols, coo, op, reduce, data, heads)[0]

    if dx is None and de is None:
        return None
    if reduce in EXTREME:
        entry = argument.long()
        if columns.shape[0] == 0:
            return torch.zeros_like(argument, dtype=(dx if dx is not None else de).dtype)  # type: ignore[union-attr]
        at = entry.clamp(min=0)
        column = columns[at].long()
        x, dx = (None if given is None else given.gather(0, column) for given in (x, dx))
        e, de = (_picked(given, at, data, heads) for given in (e, de))
        return _changed(op, x, e, dx, de).masked_fill(entry < 0, 0)
    if op == c.TAMIS_MESSAGE_ADD_RELU:
        assert x is not None
        width = x.shape[1] // max(heads, 1)
        x, dx = (None if given is None else given.index_select(0, columns) for given in (x, dx))
        e, de = (_for_elements(given, data, heads, width) for given in (e, de))
        return call(c.TAMIS_MESSAGE_COPY_E, None, _changed(op, x, e, dx, de), c.TAMIS_E_VECTOR, heads)
    if op == c.TAMIS_MESSAGE_MUL:
        return total(None if dx is None else call(op, dx, e, data, heads), None if de is None else call(op, x, de, data, heads))
    if dx is not None:
        return call(c.TAMIS_MESSAGE_COPY_U, dx, None, c.TAMIS_E_NONE, heads) if de is None else call(op, dx, de, data, heads)
    assert de is not None
    sums = call(c.TAMIS_MESSAGE_COPY_E, None, de, c.TAMIS_E_VECTOR, 1)
    return -sums if op == c.TAMIS_MESSAGE_SUB else sums


def message(need: Any, tensors: tuple, numbers: list, ddx: Optional[Tensor], dde: Optional[Tensor], ddv: Optional[Tensor]) -> dict[int, Optional[Tensor]]:
    grad, index, columns, x, e, _, argument = tensors
    if is_expression(numbers[3]):
        return _of_expression(need, tensors, numbers, (ddx, dde, ddv))
    op, data, heads = numbers[3], numbers[5], numbers[6]
    by_grad = _tangent(index, columns, x, e, ddx, dde, argument, numbers) if need[0] else None
    if by_grad is not None and by_grad.shape != grad.shape:  # sums to the shape of per-edge numbers
        by_grad = _for_elements(by_grad, data, heads, grad.shape[1] // max(heads, 1))
    by_x = by_e = None
    if op == c.TAMIS_MESSAGE_MUL:
        back = torch.ops.tamis.message_backward
        if dde is not None and need[3]:
            by_x = back(grad, index, columns, None, dde, None, argument, *numbers, [True, False, False])[0]
        if ddx is not None and need[4]:
            by_e = back(grad, index, columns, ddx, None, None, argument, *numbers, [False, True, False])[1]
    return {0: by_grad, 3: by_x, 4: by_e}


class _Expression:
    """An expression f of messages, whose values on all edges are made, in fp32 or fp64. numbers: the sizes, then `message`'s numbers."""

    def __init__(self, index: Tensor, columns: Tensor, numbers: Any, like: Tensor, argument: Optional[Tensor]):
        *self.sizes, op, self.reduce, self.data, self.heads = numbers
        self.index, self.columns, self.edges, self.columns_of_row = index, columns, columns.shape[0], like.shape[1]
        self.row = index.long() if self.sizes[2] else torch.repeat_interleave(index.diff(), output_size=self.edges)
        self.argument, self.dtype, self.result = argument, torch.promote_types(like.dtype, torch.float32), like.dtype
        self.f, named = expression(op)
        head = torch.arange(self.columns_of_row, device=columns.device) // max(self.columns_of_row // max(self.heads, 1), 1)
        self.known = {**named, **{name: x.to(self.dtype) for name, x in (("i", self.row.unsqueeze(1)), ("j", columns.unsqueeze(1)), ("h", head))}}

    def take(self, operands: Any, name: str = "{}") -> dict[str, str]:
        """Let trees read operands (x, e, v), as far as they are given, by these names. Return these names by variable."""
        x, e, v = operands
        found = (None if x is None else x.index_select(0, self.columns), _for_elements(e, self.data, self.heads, self.columns_of_row // max(self.heads, 1)),
                 None if v is None else v.index_select(0, self.row))
        there = {variable: each.to(self.dtype) for variable, each in zip("uev", found) if each is not None}
        self.known.update({name.format(variable): each for variable, each in there.items()})
        return {variable: name.format(variable) for variable in there}

    def values(self, tree: Any) -> Tensor:
        return Values(self.known).of(tree).expand(self.edges, self.columns_of_row)

    def reduced(self, tree: Any) -> Tensor:
        """Return the reduction of a tree's values, of an extreme the values of the entries that it took."""
        each = self.values(tree)
        if self.reduce not in EXTREME:
            return torch.ops.tamis.message(self.index, self.columns, None, each.contiguous(), None, *self.sizes, c.TAMIS_MESSAGE_COPY_E, self.reduce,  # type: ignore[no-any-return]
                                           c.TAMIS_E_VECTOR, self.heads)[0].to(self.result)
        assert self.argument is not None
        at = self.argument.long()
        return (each.gather(0, at.clamp(min=0)).masked_fill(at < 0, 0) if self.edges else each.new_zeros(at.shape)).to(self.result)

    def of_edges(self, grad: Tensor) -> Tensor:
        """Return the gradients of the messages."""
        weight = grad.to(self.dtype).index_select(0, self.row)
        if self.reduce == c.TAMIS_REDUCE_MEAN:
            return weight / torch.bincount(self.row, minlength=self.sizes[0]).index_select(0, self.row).unsqueeze(1)
        if self.reduce in EXTREME:
            assert self.argument is not None
            weight = weight.masked_fill(self.argument.index_select(0, self.row) != torch.arange(self.edges, device=grad.device).unsqueeze(1), 0)
        return weight

    def back(self, variable: str, each: Tensor) -> Tensor:
        """Return the gradient of the operand of a variable, from those on edges."""
        if variable != "e":
            wanted = [variable == "v", variable == "u"]
            each = torch.ops.tamis.edge_op_backward(each.contiguous(), self.index, self.columns, None, None, *self.sizes, c.TAMIS_PAIR_ADD, 1, self.columns_of_row, wanted)[wanted[1]]
        elif self.data != c.TAMIS_E_VECTOR:
            each = each.reshape(self.edges, self.heads if self.data == c.TAMIS_E_HEAD else 1, -1).sum(-1)
        return each.to(self.result)


def _of_expression(need: Any, tensors: tuple, numbers: list, changes: tuple) -> dict[int, Optional[Tensor]]:
    """Return what `message` does, of an expression f: the inner product of its gradients g f_u, g f_e, g f_v and the changes is g times f's derivative along the changes."""
    grad, index, columns, *operands, argument = tensors
    on = _Expression(index, columns, numbers, grad, argument)
    variables, along = on.take(operands), on.take(changes, "d{}")
    if not along:
        return {}
    change = derivative(on.f, along)
    found: dict[int, Optional[Tensor]] = {0: on.reduced(change) if need[0] else None}
    for place, name in zip((3, 4, 5), "uev"):
        if need[place] and name in variables:
            found[place] = on.back(name, on.of_edges(grad) * on.values(derivative(change, {name: 1.0})))
    return found


def _of_both(back: Any, wanted: list[bool], grad: Tensor, d_grad: Optional[Tensor], read: tuple, changes: Optional[tuple]) -> tuple:
    """Return the tangents of gradients back(grad, read, wanted), which are linear in grad and, where `changes` are given, the first in what is second in `read`
    and the second in what is first."""
    found: list = [None] * len(wanted)
    if d_grad is not None:
        found = [x if wants else None for x, wants in zip(back(d_grad, read, wanted), wanted)]
    if changes is not None and any(change is not None for change in changes):
        also = [wanted[0] and changes[1] is not None, wanted[1] and changes[0] is not None, *[False] * (len(wanted) - 2)]
        found = [total(x, change) if wants else x for x, change, wants in zip(found, back(grad, changes, also), also)]
    return tuple(found)


def message_gradients(tensors: tuple, numbers: list, wanted: list[bool], changes: list) -> tuple:
    grad, index, columns, x, e, v, argument = tensors
    if is_expression(numbers[3]):
        on = _Expression(index, columns, numbers, grad, argument)
        on.take((x, e, v))
        along, weight, made = on.take(changes[3:6], "d{}"), on.of_edges(grad), []
        for name, wants in zip("uev", wanted):
            by = derivative(on.f, {name: 1.0})
            each = total(on.of_edges(changes[0]) * on.values(by) if wants and changes[0] is not None else None, weight * on.values(derivative(by, along)) if wants and along else None)
            made.append(None if each is None else on.back(name, each))
        return tuple(made)

    def back(grad: Tensor, read: tuple, wanted: list[bool]) -> Any:
        return torch.ops.tamis.message_backward(grad, index, columns, *read, v, argument, *numbers, wanted)

    return _of_both(back, wanted, grad, changes[0], (x, e), (changes[3], changes[4]) if numbers[3] == c.TAMIS_MESSAGE_MUL else None)


# ------------------------------------------------------------------------------ edge vectors


def edge_op(need: Any, tensors: tuple, numbers: list, ddx: Optional[Tensor], ddy: Optional[Tensor]) -> dict[int, Optional[Tensor]]:
    grad, index, columns, x, y = tensors
    rows, cols, coo, op, heads, width = numbers
    where, by_x, by_y = (rows, cols, coo, op, heads), None, None

    def call(x: Tensor, y: Tensor) -> Any:
        return torch.ops.tamis.edge_op(index, columns, x, y, *where)

    if ddx is None and ddy is None:
        return {}
    if op not in MULTIPLIES:
        return {0: call(grad.new_zeros(rows, heads * width) if ddx is None else ddx, grad.new_zeros(cols, heads * width) if ddy is None else ddy)}
    back = torch.ops.tamis.edge_op_backward
    if ddy is not None and need[3]:
        by_x = back(grad, index, columns, None, ddy, *where, width, [True, False])[0]
    if ddx is not None and need[4]:
        by_y = back(grad, index, columns, ddx, None, *where, width, [False, True])[1]
    return {0: total(None if ddx is None else call(ddx, y), None if ddy is None else call(x, ddy)), 3: by_x, 4: by_y}


def edge_op_gradients(tensors: tuple, numbers: list, wanted: list[bool], changes: list) -> tuple:
    grad, index, columns, x, y = tensors

    def back(grad: Tensor, read: tuple, wanted: list[bool]) -> Any:
        return torch.ops.tamis.edge_op_backward(grad, index, columns, *read, *numbers, wanted)

    return _of_both(back, wanted, grad, changes[0], (x, y), (changes[3], changes[4]) if numbers[3] in MULTIPLIES else None)


# ------------------------------------------------------------------------------ segments


def segment(need: Any, tensors: tuple, numbers: list, ddx: Optional[Tensor]) -> dict[int, Optional[Tensor]]:
    grad, index, columns, y, argument = tensors
    rows, cols, coo, op, order = numbers
    if ddx is None:
        return {}
    if op == c.TAMIS_SEGMENT_SOFTMAX:
        back = torch.ops.tamis.segment_backward
        by_grad = back(ddx, index, columns, y, argument, rows, cols, coo, op, order)

        def sums(x: Tensor) -> Any:
            """Return the sums of rows, spread to the entries."""
            of = torch.ops.tamis.segment(index, columns, x.contiguous(), rows, cols, coo, c.TAMIS_SEGMENT_SUM, order)[0]
            return back(of, index, columns, None, argument, rows, cols, coo, c.TAMIS_SEGMENT_SUM, order)

        return {0: by_grad, 3: ddx * (grad - sums(y * grad)) - grad * sums(y * ddx) if need[3] else None}
    if op not in SEGMENT_EXTREME:
        return {0: torch.ops.tamis.segment(index, columns, ddx, rows, cols, coo, op, order)[0]}
    entry = argument.long()
    picked = ddx.gather(0, entry.clamp(min=0)).masked_fill(entry < 0, 0) if columns.shape[0] else torch.zeros_like(grad)
    return {0: picked}


def segment_gradients(tensors: tuple, numbers: list, wanted: list[bool], changes: list) -> tuple:
    grad, index, columns, y, argument = tensors
    (d_grad, _, _, dy, _), (rows, cols, coo, op, order) = changes, numbers
    back = torch.ops.tamis.segment_backward
    found = None if d_grad is None else back(d_grad, index, columns, y, argument, *numbers)
    if op == c.TAMIS_SEGMENT_SOFTMAX and dy is not None:  # of y (grad - the sum of y grad)
        def sums(x: Tensor) -> Any:
            of = torch.ops.tamis.segment(index, columns, x.contiguous(), rows, cols, coo, c.TAMIS_SEGMENT_SUM, order)[0]
            return back(of, index, columns, None, argument, rows, cols, coo, c.TAMIS_SEGMENT_SUM, order)

        found = total(found, dy * (grad - sums(y * grad)) - y * sums(dy * grad))
    return (found,)


# ------------------------------------------------------------------------------ attention


class _Attention:
    """The steps of attention on a graph, each bilinear but the softmax."""

    def __init__(self, index: Tensor, columns: Tensor, sizes: tuple, heads: Any, width: Any):
        self.where, self.sizes, self.heads, self.width, self.nnz = (index, columns), sizes, heads, width, columns.shape[0]
        self.row = index if sizes[2] else torch.repeat_interleave(index.diff(), output_size=self.nnz)
        self.empty = columns.new_empty((0,), dtype=torch.int32)

    def dots(self, x: Optional[Tensor], y: Optional[Tensor]) -> Optional[Tensor]:
        """Return the inner products of rows x with columns y: (edges, heads)."""
        return None if x is None or y is None else torch.ops.tamis.edge_op(*self.where, x, y, *self.sizes, c.TAMIS_PAIR_DOT, self.heads)

    def edge_dots(self, x: Optional[Tensor], e: Optional[Tensor]) -> Optional[Tensor]:
        """The same with vectors of edges."""
        return None if x is None or e is None else (x.index_select(0, self.row) * e).reshape(self.nnz, self.heads, self.width).sum(-1)

    def summed(self, y: Optional[Tensor], p: Optional[Tensor]) -> Optional[Tensor]:
        """Return the sums over each row of columns y times numbers p."""
        if y is None or p is None:
            return None
        return torch.ops.tamis.message(*self.where, y, p, None, *self.sizes, c.TAMIS_MESSAGE_MUL, c.TAMIS_REDUCE_SUM, c.TAMIS_E_HEAD, self.heads)[0]  # type: ignore[no-any-return]

    def edge_summed(self, e: Optional[Tensor], p: Optional[Tensor]) -> Optional[Tensor]:
        """The same with vectors of edges."""
        if e is None or p is None:
            return None
        each = (e.reshape(self.nnz, self.heads, self.width) * p.unsqueeze(-1)).reshape(e.shape)
        return torch.ops.tamis.message(*self.where, None, each, None, *self.sizes, c.TAMIS_MESSAGE_COPY_E, c.TAMIS_REDUCE_SUM, c.TAMIS_E_VECTOR, self.heads)[0]  # type: ignore[no-any-return]

    def to_columns(self, x: Optional[Tensor], p: Optional[Tensor]) -> Optional[Tensor]:
        """Return the sums over each column of rows x times numbers p."""
        if x is None or p is None:
            return None
        return torch.ops.tamis.message_backward(x, *self.where, None, p, None, self.empty, *self.sizes, c.TAMIS_MESSAGE_MUL, c.TAMIS_REDUCE_SUM, c.TAMIS_E_HEAD,  # type: ignore[no-any-return]
                                                self.heads, [True, False, False])[0]

    def weighed(self, x: Optional[Tensor], p: Optional[Tensor]) -> Optional[Tensor]:
        """Return rows x times numbers p for each edge."""
        if x is None or p is None:
            return None
        return (x.index_select(0, self.row).reshape(self.nnz, self.heads, self.width) * p.unsqueeze(-1)).reshape(self.nnz, -1)

    def softmax(self, scores: Tensor) -> Any:
        return torch.ops.tamis.segment(*self.where, scores.contiguous(), *self.sizes, c.TAMIS_SEGMENT_SOFTMAX, c.TAMIS_ENTRIES_AS_GIVEN)[0]

    def changed(self, p: Tensor, change: Optional[Tensor]) -> Any:
        """Return the softmax's tangent, which is also its gradient."""
        return None if change is None else torch.ops.tamis.segment_backward(change.contiguous(), *self.where, p, self.empty, *self.sizes, c.TAMIS_SEGMENT_SOFTMAX,
                                                                            c.TAMIS_ENTRIES_AS_GIVEN)

    def spread(self, x: Tensor) -> Any:
        """Return the sums of rows, for each entry."""
        order = (*self.sizes, c.TAMIS_SEGMENT_SUM, c.TAMIS_ENTRIES_AS_GIVEN)
        return torch.ops.tamis.segment_backward(torch.ops.tamis.segment(*self.where, x.contiguous(), *order)[0], *self.where, None, self.empty, *order)

    def weights(self, scale: float, given: tuple, changes: tuple) -> tuple:
        """Return the weights of edges, and their tangent, None: they do not change."""
        (q, k, e, b), (dq, dk, de, db) = given, changes
        p = self.softmax(total(_times(scale, total(self.dots(q, k), self.edge_dots(q, e))), b))
        change = total(_times(scale, total(self.dots(dq, k), self.dots(q, dk), self.edge_dots(dq, e), self.edge_dots(q, de))), db)
        return p, self.changed(p, change)


def _times(number: float, x: Optional[Tensor]) -> Any:
    return None if x is None else number * x


def attention_gradients(index: Tensor, columns: Tensor, numbers: list, grad: Tensor, q: Tensor, k: Tensor, v: Tensor, e: Optional[Tensor],
                        b: Optional[Tensor]) -> tuple[Tensor, ...]:
    """Return the gradients of q, k, v, e and b, as far as they are given, by differentiable operators."""
    *sizes, heads, scale = numbers
    on = _Attention(index, columns, tuple(sizes), heads, q.shape[1] // max(heads, 1))
    p, _ = on.weights(scale, (q, k, e, b), (None, None, None, None))
    ds = on.changed(p, total(on.dots(grad, v), on.edge_dots(grad, e)))
    found = [scale * total(on.summed(k, ds), on.edge_summed(e, ds)), scale * on.to_columns(q, ds), on.to_columns(grad, p)]
    if e is not None:
        found.append(on.weighed(grad, p) + scale * on.weighed(q, ds))
    return (*found, ds) if b is not None else tuple(found)


def graph_attention(need: Any, tensors: tuple, numbers: list, *changes: Optional[Tensor]) -> dict[int, Optional[Tensor]]:
    grad, index, columns, q, k, v, e, b, _, _ = tensors
    there = [x is not None for x in (q, k, v, e, b)]

    def gradients(grad: Tensor, *operands: Tensor) -> tuple[Tensor, ...]:
        left = list(operands)
        return attention_gradients(index, columns, numbers, grad, *(left.pop(0) if is_there else None for is_there in there))  # type: ignore[arg-type]

    operands = [x for x in (q, k, v, e, b) if x is not None]
    made, pull = torch.func.vjp(gradients, grad, *operands)
    given = [change for change, is_there in zip(changes, there) if is_there]
    back = pull(tuple(torch.zeros_like(x) if change is None else change for change, x in zip(given, made)))
    return dict(zip((0, *(3 + place for place, is_there in enumerate(there) if is_there)), back))


def graph_attention_tangent(where: tuple, saved: Any, numbers: tuple, changes: tuple) -> Any:
    """Return the tangent of attention on a graph."""
    (q, k, v, e, b, *_), (heads, scale) = saved, numbers
    dq, dk, dv, de, db = (None if x is None else x.contiguous() for x in changes)
    on = _Attention(where[0], where[1], where[2:], heads, q.shape[1] // max(heads, 1))
    p, dp = on.weights(scale, (q, k, e, b), (dq, dk, de, db))
    return total(on.summed(v, dp), on.summed(dv, p), on.edge_summed(e, dp), on.edge_summed(de, p))


def graph_attention_gradients(tensors: tuple, numbers: list, wanted: list[bool], changes: list) -> tuple:
    """Return the tangents of the gradients of attention on a graph."""
    grad, index, columns, q, k, v, e, b, _, _ = tensors
    (d_grad, _, _, dq, dk, dv, de, db, _, _), (*sizes, heads, scale) = changes, numbers
    on = _Attention(index, columns, tuple(sizes), heads, q.shape[1] // max(heads, 1))
    p, dp = on.weights(scale, (q, k, e, b), (dq, dk, de, db))
    of = total(on.dots(grad, v), on.edge_dots(grad, e))  # the gradient of p
    d_of = total(on.dots(d_grad, v), on.edge_dots(d_grad, e), on.dots(grad, dv), on.edge_dots(grad, de))
    ds, d_ds = on.changed(p, of), on.changed(p, d_of)
    if dp is not None:
        d_ds = total(d_ds, dp * (of - on.spread(p * of)) - p * on.spread(dp * of))
    found = (_times(scale, total(on.summed(dk, ds), on.summed(k, d_ds), on.edge_summed(de, ds), on.edge_summed(e, d_ds))),
             _times(scale, total(on.to_columns(dq, ds), on.to_columns(q, d_ds))), total(on.to_columns(d_grad, p), on.to_columns(grad, dp)),
             total(on.weighed(d_grad, p), on.weighed(grad, dp), _times(scale, total(on.weighed(dq, ds), on.weighed(q, d_ds)))), d_ds)
    return tuple(x if wants else None for x, wants in zip(found, wanted))
