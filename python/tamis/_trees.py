"""Expressions as trees, their derivatives of any order, and their values by a framework's functions, for derivatives that the library has no calls for.

A tree is a number, the name of a variable, or a tuple of a function's name and its operands. Functions and their derivatives are rows of
src/expression/functions.h, as in the library.
"""
from __future__ import annotations

import ast
import functools
import operator
import re
from typing import Any, Mapping

from . import _declarations as c
from ._plan import EXPRESSIONS, expression_of

_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.USub: "-", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


def _made(name: str, *of: Any) -> Any:
    """Return a function of trees. As in the library 0 times u is 0 even if u may be infinite, and a branch that is not taken has no part."""
    if (name == "*" and 0.0 in of) or (name == "/" and of[0] == 0.0) or (name == "where" and of[1:] == (0.0, 0.0)) or (name, *of) == ("-", 0.0):
        return 0.0
    if name in ("+", "*") and of[0] == float(name == "*"):
        return of[1]
    return of[0] if name in ("+", "-", "*", "/") and of[1:] == (float(name in ("*", "/")),) else (name, *of)


@functools.lru_cache(maxsize=128)
def _parsed(text: str) -> Any:
    """Return the tree of an expression, which Python reads as the library does, with a '_' before names: they may be words of Python."""
    def of(node: Any) -> Any:
        if isinstance(node, ast.Constant):
            return float(node.value)
        if isinstance(node, ast.Name):
            return node.id[1:]
        if isinstance(node, ast.Attribute):
            return f"{node.value.id[1:]}.{node.attr[1:]}"  # type: ignore[attr-defined]
        if isinstance(node, ast.UnaryOp):
            return "-", of(node.operand)
        if isinstance(node, ast.BinOp):
            return _SIGNS[type(node.op)], of(node.left), of(node.right)
        if isinstance(node, ast.Compare):
            return _SIGNS[type(node.ops[0])], of(node.left), of(node.comparators[0])
        operands = [*map(of, node.args)]
        return (node.func.id[1:], *operands, *[0.01] * (node.func.id == "_leaky_relu" and len(operands) == 1))  # the slope by default

    named = re.sub(r"(?:(?<![\w.])|(?<=[a-z]\.))(?=[A-Za-z_])", "_", re.sub(r"(?<![\w.])0+(?=\d)", "", text))
    return of(ast.parse(f"({named})", mode="eval").body)  # in parentheses lines may end anywhere


def expression(number: int) -> tuple[Any, dict[str, float]]:
    """Return the tree of an expression by its number, and its named numbers."""
    expression_of(number, "op")  # refuses an unknown one
    text, pairs = EXPRESSIONS[number]
    return _parsed(text), dict(pairs)


def derivative(tree: Any, along: Mapping[str, Any]) -> Any:
    """Return the derivative of a tree along trees of variables."""
    found: dict[int, Any] = {}

    def rule(node: Any, means: dict[str, Any]) -> Any:
        return means[node] if isinstance(node, str) else _made(node[0], *(rule(one, means) for one in node[1:])) if isinstance(node, tuple) else node

    def of(node: Any) -> Any:
        if not isinstance(node, tuple):
            return along.get(node, 0.0)
        if id(node) not in found:
            changes = [*map(of, node[1:])]
            means = {**dict(zip("abc", node[1:])), "f": node, **dict(zip(("da", "db", "dc"), changes))}
            found[id(node)] = 0.0 if changes == [0.0] * len(changes) else rule(_parsed(c.FUNCTION_FORMULAS[node[0], len(changes)][1]), means)
        return found[id(node)]

    return of(tree)


def names_of(tree: Any) -> set[str]:
    """Return the variables that a tree reads."""
    return {tree} if isinstance(tree, str) else set().union(*map(names_of, tree[1:])) if isinstance(tree, tuple) else set()


class Values:
    """Values of trees, with the variables' arrays by name. A framework gives the functions of functions.h, `number`, which makes an array of a number, and
    `chosen`, which is its `where`."""

    number: Any
    chosen: Any
    quotient = staticmethod(operator.truediv)

    def __init__(self, variables: Mapping[str, Any]):
        self.like = next(x for x in variables.values() if hasattr(x, "dtype"))
        self.variables = {name: self._array(x) for name, x in variables.items()}

    def _array(self, x: Any) -> Any:
        return x if hasattr(x, "dtype") else self.number(x, self.like)

    def select(self, condition: Any, this: Any, otherwise: Any) -> Any:
        return self.chosen(condition, self._array(this), self._array(otherwise))

    def of(self, tree: Any) -> Any:
        found: dict[int, Any] = {}

        def value(node: Any) -> Any:
            if isinstance(node, str):
                return self.variables[node]
            if not isinstance(node, tuple):
                return self._array(node)
            if id(node) not in found:
                found[id(node)] = c.FUNCTION_FORMULAS[node[0], len(node) - 1][0](self, *map(value, node[1:]))
            return found[id(node)]

        return value(tree)
