"""Derivatives of any order, since they are made of operators that have derivatives themselves: gradients (for create_graph=True and torch.func) and tangents
(forward mode) of sampled operations, and derivatives of the gradients of message passing, edge vectors, segments and attention on graphs. Only where messages
are cut off (relu), and in attention, they make vectors of all edges.
"""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from .. import _declarations as c
from .. import _edges
from .._edges import total
from .._plan import is_expression

EXTREME = (c.TAMIS_REDUCE_MAX, c.TAMIS_REDUCE_MIN)
SEGMENT_EXTREME = (c.TAMIS_SEGMENT_MAX, c.TAMIS_SEGMENT_MIN)
MULTIPLIES = (c.TAMIS_PAIR_MUL, c.TAMIS_PAIR_DOT)


class Operations(_edges.Operations):
    """The operations on one pattern, by `calls`, the registered operators."""

    exp = staticmethod(torch.exp)

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

    def largest(self, y: Tensor) -> Tensor:
        places = self.columns.long().expand(y.shape)
        most = y.new_full((*y.shape[:-1], self.cols), float("-inf")).scatter_reduce(-1, places, y.detach(), "amax")
        return torch.where(most == float("-inf"), 0.0, most).gather(-1, places)

    @staticmethod
    def where(condition: Tensor, this: Any, otherwise: Any, like: Tensor) -> Tensor:
        if not isinstance(this, Tensor) and not isinstance(otherwise, Tensor):
            this = torch.full_like(like, this)
        return torch.where(condition, this, otherwise)


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
    return e.flatten()[entry * own + column]


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


def message(need: Any, tensors: tuple, numbers: list, ddx: Optional[Tensor], dde: Optional[Tensor], _: Any) -> dict[int, Optional[Tensor]]:
    grad, index, columns, x, e, _, argument = tensors
    if is_expression(numbers[3]):
        raise NotImplementedError("message: the gradients of an expression have no derivatives: for second derivatives compute the messages with PyTorch's functions")
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

        return {0: by_grad, 3: ddx * (grad - sums(y * grad)) - grad * sums(y * ddx)}
    if op not in SEGMENT_EXTREME:
        return {0: torch.ops.tamis.segment(index, columns, ddx, rows, cols, coo, op, order)[0]}
    entry = argument.long()
    picked = ddx.gather(0, entry.clamp(min=0)).masked_fill(entry < 0, 0) if columns.shape[0] else torch.zeros_like(grad)
    return {0: picked}


# ------------------------------------------------------------------------------ attention


def attention_gradients(index: Tensor, columns: Tensor, numbers: list, grad: Tensor, q: Tensor, k: Tensor, v: Tensor, e: Optional[Tensor],
                        b: Optional[Tensor]) -> tuple[Tensor, ...]:
    """Return the gradients of q, k, v, e and b, as far as they are given, by differentiable operators."""
    rows, cols, coo, heads, scale = numbers
    where, given = (rows, cols, coo), c.TAMIS_ENTRIES_AS_GIVEN
    nnz, width = columns.shape[0], q.shape[1] // max(heads, 1)
    empty = columns.new_empty((0,), dtype=torch.int32)
    row = index if coo else torch.repeat_interleave(index.diff(), output_size=nnz)

    def dots(x: Tensor, y: Tensor) -> Tensor:
        """Return the inner products of rows with columns plus edge vectors: (edges, heads)."""
        found: Tensor = torch.ops.tamis.edge_op(index, columns, x, y, *where, c.TAMIS_PAIR_DOT, heads)
        return found if e is None else found + (x.index_select(0, row) * e).reshape(nnz, heads, width).sum(-1)

    def weighed(x: Tensor, p: Tensor) -> Tensor:
        """Return rows of x times a number for each edge and head: (edges, heads * width)."""
        return (x.index_select(0, row).reshape(nnz, heads, width) * p.unsqueeze(-1)).reshape(nnz, heads * width)

    def to_columns(x: Tensor, p: Tensor) -> Any:
        return torch.ops.tamis.message_backward(x, index, columns, None, p, None, empty, *where, c.TAMIS_MESSAGE_MUL, c.TAMIS_REDUCE_SUM, c.TAMIS_E_HEAD, heads,
                                                [True, False, False])[0]

    scores = scale * dots(q, k)
    p = torch.ops.tamis.segment(index, columns, scores if b is None else scores + b, *where, c.TAMIS_SEGMENT_SOFTMAX, given)[0]
    ds = torch.ops.tamis.segment_backward(dots(grad, v), index, columns, p, empty, *where, c.TAMIS_SEGMENT_SOFTMAX, given)
    dq = torch.ops.tamis.message(index, columns, k, ds, None, *where, c.TAMIS_MESSAGE_MUL, c.TAMIS_REDUCE_SUM, c.TAMIS_E_HEAD, heads)[0]
    if e is not None:
        of_edges = (e.reshape(nnz, heads, width) * ds.unsqueeze(-1)).reshape(nnz, heads * width)
        dq = dq + torch.ops.tamis.message(index, columns, None, of_edges, None, *where, c.TAMIS_MESSAGE_COPY_E, c.TAMIS_REDUCE_SUM, c.TAMIS_E_VECTOR, heads)[0]
    found = [scale * dq, scale * to_columns(q, ds), to_columns(grad, p)]
    if e is not None:
        found.append(weighed(grad, p) + scale * weighed(q, ds))
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
