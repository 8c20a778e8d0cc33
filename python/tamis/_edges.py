"""Edges whose derivatives can be differentiated again, for `tamis.torch` and `tamis.jax`.

Sampled products and spmm are bilinear: the derivatives of each are calls of both. What an edge makes of a product is computed entry by
entry, by the formulas of the library's own edges. The library's backward calls, which are faster, cannot be differentiated.
"""
from __future__ import annotations

import functools
import math
from typing import Any, Optional

from . import _declarations as c
from . import _errors, _trees
from ._types import FUSED, SDDMM, SPMM


def total(*terms: Any) -> Any:
    """Return the sum of terms, where None stands for zero; None if all are None."""
    found = [term for term in terms if term is not None]
    return functools.reduce(lambda x, y: x + y, found) if found else None


class Operations:
    """The operations on one pattern of `rows` and `cols`, and functions of entries. A framework says how it computes each."""

    rows: Any
    cols: Any
    products: Any  # products(a, b): the products of a's and b's rows at the places
    times: Any     # times(values, b, transpose): the sparse matrix with these values (None: ones) times b
    softmax: Any   # softmax(values, a, b, numbers): sddmm with the edge softmax
    largest: Any   # largest(y): the largest y in each place's column, or 0 if it is minus infinity; without a derivative
    ones: Any      # ones(x, count): a column of ones of x's type, with as many dimensions as the operands
    counted: Any   # counted(x, count): 0, 1, .. count - 1 in x's type
    given: Any     # given(array, x): an array that an expression names, in x's type
    value: Any     # value(tree, names, arrays, fixed): the value of a tree, whose derivative by each array is that of _trees.derivative
    exp: Any
    where: Any     # where(condition, this, otherwise, like): the type is that of `like` if neither is an array

    def sums(self, x: Any, transpose: bool) -> Any:
        """Return the sums of x over rows, with the transpose over columns, (..., rows, 1)."""
        return self.times(x, self.ones(x, self.rows if transpose else self.cols), transpose)

    def spread(self, x: Any, transpose: bool) -> Any:
        """Spread a number per row, with the transpose per column, to the places."""
        one = self.ones(x, self.rows if transpose else self.cols)
        return self.products(one, x) if transpose else self.products(x, one)


class Edge:
    """An edge at the places of one call. With the transpose, softmax is that of columns; a belongs to rows of S and b to columns.
    numbers: edge, scale, slope, epsilon. The formulas read it, and compute x only where they need it."""

    def __init__(self, on: Operations, values: Optional[Any], a: Any, b: Any, numbers: tuple, transpose: bool = False):
        self.on, self.values, self.a, self.b, self.numbers, self.transpose = on, values, a, b, numbers, transpose
        number, self.scale, self.slope, self.epsilon = numbers
        self.s: Any = 1.0 if values is None else values
        self._begin(number)

    def _begin(self, number: int) -> None:
        formulas: Any = c.EDGE_FORMULAS[number]
        self.entry, self._f, self._exponent, self._derivative = formulas

    def select(self, condition: Any, this: Any, otherwise: Any) -> Any:
        return self.on.where(condition, this, otherwise, self.x)

    @functools.cached_property
    def x(self) -> Any:
        return self.on.products(self.a, self.b)

    @functools.cached_property
    def y(self) -> Any:
        return self.scale * self.x

    @functools.cached_property
    def e(self) -> Any:
        return self.on.exp(self._exponent(self))

    @functools.cached_property
    def f(self) -> Any:
        return self._f(self)

    @functools.cached_property
    def score(self) -> Any:
        return self.y if self.values is None else self.y + self.values

    @functools.cached_property
    def value(self) -> Any:
        if self.entry == "bias":
            return self._soft()
        return self.f if self.entry == "unread" else self.s + self.f if self.entry == "added" else self.s * self.f

    def _soft(self) -> Any:
        return self._softmax_of_columns() if self.transpose else self._softmax_of_rows()

    def _softmax_of_rows(self) -> Any:
        return self.on.softmax(self.values, self.a, self.b, self.numbers)

    def _softmax_of_columns(self) -> Any:
        """Return the softmax of columns, which the operations lack. The largest score of a column only keeps the exponentials small, so it
        needs no derivative."""
        e = self.on.exp(self.score - self.on.largest(self.score))
        sums = self.on.sums(e, True)
        return e / self.on.spread(self.on.where(sums == 0, 1.0, sums, e), True)

    def _centred(self, change: Any) -> Any:
        """Return p (change - the row's mean of change, weighted by p): softmax's derivative, which is symmetric."""
        p = self.value
        return p * (change - self.on.spread(self.on.sums(p * change, self.transpose), self.transpose))

    def _by_product(self) -> Any:
        derivative = self._derivative(self)
        return derivative if self.entry in ("unread", "added", "bias") else self.s * derivative

    def _by_value(self) -> Any:
        return 1.0 if self.entry in ("added", "bias") else self.f

    def gradients(self, grad: Any, by_product: bool, by_value: bool) -> tuple[Any, Any]:
        """Return the gradients of the product and of S's value, from the gradient of the edge's value."""
        change = self._centred(grad) if self.entry == "bias" else grad
        return self._by_product() * change if by_product else None, self._by_value() * change if by_value and self.entry != "unread" else None

    def tangent(self, dx: Any, ds: Any) -> Any:
        """Return the tangent of the value from the tangents of the product and of S's value; None stands for zero."""
        ds = None if self.entry == "unread" else ds
        if dx is None and ds is None:
            return None
        change = total(None if dx is None else self._by_product() * dx, None if ds is None else self._by_value() * ds)
        return self._centred(change) if self.entry == "bias" else change


class Expression(Edge):
    """An edge that is an expression. named: the arrays that it names, of one member each or with the batch's leading dimensions; lead: these dimensions."""

    named: dict[str, Any] = {}
    lead: tuple = ()

    def _begin(self, number: int) -> None:
        tree, self.fixed = _trees.expression(number)
        soft = isinstance(tree, tuple) and tree[0] == "softmax"
        self.tree = tree[1] if soft else tree
        self.entry = "bias" if soft else "expression" if "s" in _trees.names_of(tree) else "unread"

    def _variable(self, name: str) -> Any:
        kind = name.split(".")[0] if "." in name else name
        place = {"i": 0, "row": 0, "j": 1, "col": 1}.get(kind)
        if place is not None:  # a number of each row or column of S, which with the transpose are columns and rows of op(S)
            of_column = (place == 1) != self.transpose
            count = self.on.cols if of_column else self.on.rows
            array = self.on.counted(self.x, count) if kind == name else self.on.given(self.named[name], self.x)
            return self.on.spread(array[..., None], of_column)
        if name == "h":
            return self.on.counted(self.x, math.prod(self.lead)).reshape((*self.lead, 1))
        array = self.on.given(self.named[name], self.x)
        if kind == "entry":
            return array
        return array[..., None] if self.lead and array.ndim else array.reshape(())  # of each member

    @functools.cached_property
    def variables(self) -> dict[str, Any]:
        known = {"x": self.x, **({} if self.values is None else {"s": self.values})}
        return {**known, **{name: self._variable(name) for name in sorted(_trees.names_of(self.tree)) if name not in known and name not in self._constants}}

    @functools.cached_property
    def _constants(self) -> dict[str, float]:
        return {**({"s": 1.0} if self.values is None else {}), **{name: x for name, x in self.fixed.items() if name not in self.named}}

    def _of(self, tree: Any) -> Any:
        return self.on.value(tree, tuple(self.variables), tuple(self.variables.values()), self._constants)

    @functools.cached_property
    def score(self) -> Any:
        found = self._of(self.tree)
        return found if found.shape == self.x.shape else found + self.on.where(self.x == self.x, 0.0, 0.0, self.x)

    @functools.cached_property
    def value(self) -> Any:
        return self._soft() if self.entry == "bias" else self.score

    f = property(lambda self: self.value)

    def _softmax_of_rows(self) -> Any:
        one = self.on.ones(self.x, self.on.rows), self.on.ones(self.x, self.on.cols)
        return self.on.softmax(self.score, 0 * one[0], one[1], (c.TAMIS_EDGE_SOFTMAX, 1.0, 0.01, 1e-10))

    def _by_product(self) -> Any:
        return self._of(_trees.derivative(self.tree, {"x": 1.0}))

    def _by_value(self) -> Any:
        return self._of(_trees.derivative(self.tree, {"s": 1.0}))


def _lead_of(operands: tuple, values: Any) -> tuple:
    """Return the leading dimensions of a call: its operands have these, or none, or some are 1."""
    shapes = [x.shape[:-2] for x in operands] + ([] if values is None else [values.shape[:-1]])
    most = max(map(len, shapes))
    padded = [(1,) * (most - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(next((size for size in sizes if size != 1), 1) for sizes in zip(*padded))


def _edge_of(on: Operations, operation: int, values: Any, operands: tuple, numbers: tuple, transpose: bool) -> tuple[Edge, int, int]:
    """Return the edge of an operation, and which operands belong to rows and to columns of S."""
    turned = transpose and operation == FUSED
    first, second = (1, 0) if turned else (0, 1)
    if numbers[0] in c.EDGE_FORMULAS:
        return Edge(on, values, operands[first], operands[second], numbers, turned), first, second
    edge = Expression(on, values, operands[first], operands[second], numbers, turned)
    edge.lead = _lead_of(operands, values)
    return edge, first, second


@functools.lru_cache(maxsize=128)
def _check(number: int) -> None:
    """Raise what the library says of an expression, if it is none."""
    from ._planned import plan, Pattern
    text, pairs = _trees.EXPRESSIONS[number]
    plan("sddmm", Pattern.causal(1), inner=1, edge=text, numbers=dict(pairs) or None)


def value(on: Operations, operation: int, values: Any, operands: tuple, numbers: tuple, transpose: bool, named: dict[str, Any]) -> Any:
    """Return the result with an expression, by differentiable operations. named: the arrays that it names, and no others."""
    _check(numbers[0])
    edge, _, _ = _edge_of(on, operation, values, operands, numbers, transpose)
    assert isinstance(edge, Expression)
    arrays = {name for name in _trees.names_of(edge.tree) if "." in name or math.isnan(edge.fixed.get(name, 0))}
    for name in arrays ^ set(named):
        missing = f"numbers have no {name!r}, which the edge's text reads: expected an array"
        raise _errors.ArgumentError(missing if name in arrays else f"numbers has {name!r}: the edge's text reads no array of that name")
    edge.named = named
    return edge.value if operation == SDDMM else on.times(edge.value, operands[2], transpose)


def gradients(on: Operations, operation: int, grad: Any, values: Any, operands: tuple, numbers: tuple, transpose: bool, wanted: Any) -> list:
    """Return the gradients of the operands and of the values, by differentiable operations; None: not wanted, or zero."""
    by_value = values is not None and wanted[len(operands)]
    if operation == SPMM:
        pair = (operands[0], grad) if transpose else (grad, operands[0])
        return [on.times(values, grad, not transpose) if wanted[0] else None, on.products(*pair) if by_value else None]
    edge, first, second = _edge_of(on, operation, values, operands, numbers, transpose)
    found: list = [None] * (len(operands) + 1)
    if operation == FUSED:
        found[2] = on.times(edge.value, grad, not transpose) if wanted[2] else None
        if wanted[0] or wanted[1] or by_value:
            grad = on.products(operands[2], grad) if transpose else on.products(grad, operands[2])
    if wanted[0] or wanted[1] or by_value:
        of_x, of_s = edge.gradients(grad, wanted[0] or wanted[1], by_value)
        found[first] = on.times(of_x, edge.b, False) if wanted[first] else None
        found[second] = on.times(of_x, edge.a, True) if wanted[second] else None
        found[-1] = of_s if by_value else None
    return found


def tangent(on: Operations, operation: int, values: Any, operands: tuple, numbers: tuple, transpose: bool, dv: Any, d: Any) -> Any:
    """Return the tangent of the result from the tangents of the values and operands, where None stands for zero."""
    if operation == SPMM:
        return total(None if d[0] is None else on.times(values, d[0], transpose), None if dv is None else on.times(dv, operands[0], transpose))
    edge, first, second = _edge_of(on, operation, values, operands, numbers, transpose)
    found = edge.tangent(total(None if d[first] is None else on.products(d[first], edge.b),
                               None if d[second] is None else on.products(edge.a, d[second])), dv)
    if operation == FUSED:
        found = total(None if d[2] is None else on.times(edge.value, d[2], transpose),
                      None if found is None else on.times(found, operands[2], transpose))
    return found
