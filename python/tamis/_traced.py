"""Functions of an edge's variables as texts: `lambda x, i, j: x - 0.5 * (i - j)` is the expression "(x - (0.5 * (i - j)))".

The function is called once with terms in place of numbers, which write down what is done with them. It must do the same whatever their values are.
"""
from __future__ import annotations

import inspect
import math
import numbers
from typing import Any, Callable

from . import _errors

ARRAYS = "row", "col", "entry", "head"
# functions of NumPy, PyTorch and torch.nn.functional by the language's names, with the number of operands
FUNCTIONS = {"tanh": 1, "exp": 1, "log": 1, "sqrt": 1, "rsqrt": 1, "sigmoid": 1, "erf": 1, "abs": 1, "relu": 1, "silu": 1, "gelu": 1, "floor": 1, "min": 2,
             "max": 2, "pow": 2, "where": 3, "leaky_relu": 2}
OTHER_NAMES = {"absolute": "abs", "minimum": "min", "maximum": "max", "power": "pow", "float_power": "pow", "fabs": "abs", "__pow__": "pow", "clamp_min": "max",
               "clamp_max": "min"}
OPERATORS = {"add": "+", "sub": "-", "subtract": "-", "mul": "*", "multiply": "*", "div": "/", "divide": "/", "true_divide": "/", "lt": "<", "less": "<",
             "le": "<=", "less_equal": "<=", "gt": ">", "greater": ">", "ge": ">=", "greater_equal": ">=", "eq": "==", "equal": "==", "ne": "!=",
             "not_equal": "!="}


class Term:
    """A part of an expression, as its text."""

    __array_priority__ = 1000

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return f"<the expression {self.text}>"

    def __bool__(self) -> bool:
        raise TypeError(f"{self.text} has no truth value while the function is written down: choose by numpy.where or torch.where in place of if, and, or")

    def __float__(self) -> float:
        raise TypeError(f"{self.text} has no value while the function is written down: use functions of numpy or torch, such as numpy.tanh, in place of math's")

    __index__ = __int__ = __float__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def _written(self, form: str, operands: tuple) -> Term:
        """Return the term of an operation of this one and others; form: its text, with {} for each operand."""
        return Term(form.format(*map(shown, operands)))

    def __neg__(self) -> Term:
        return written("(-{})", self)

    def __pos__(self) -> Term:
        return self

    def __abs__(self) -> Term:
        return written("abs({})", self)

    def __pow__(self, other: Any) -> Term:
        return called("pow", (self, other))

    def __rpow__(self, other: Any) -> Term:
        return called("pow", (other, self))

    def __floordiv__(self, other: Any) -> Term:
        return called("floor", (self / other,))

    def __mod__(self, other: Any) -> Term:
        return self - other * called("floor", (self / other,))  # type: ignore[no-any-return]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **others: Any) -> Term:
        if method != "__call__" or others:
            raise TypeError(f"numpy.{ufunc.__name__}.{method} with {', '.join(others) or 'an edge'}: expected a call of the function alone")
        return called(ufunc.__name__, inputs)

    def __array_function__(self, function: Any, types: Any, given: tuple, others: dict) -> Term:
        if others:
            raise TypeError(f"{function.__name__} with {', '.join(others)}: expected its operands alone")
        return called(function.__name__, given)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, given: tuple = (), others: dict | None = None) -> Term:
        others = dict(others or {})
        name = getattr(function, "__name__", str(function))
        if name.endswith("_") and not name.endswith("__"):
            raise TypeError(f"{name} changes its operand: expected {name[:-1]}")
        if name == "leaky_relu":
            given += (others.pop("negative_slope", 0.01),) if len(given) == 1 else ()
        for key in ("inplace", "approximate"):
            if others.get(key) in (False, "none"):
                del others[key]
        if others:
            raise TypeError(f"{name} with {', '.join(others)}: expected its operands alone")
        return called(name, given)


def _operator(sign: str, turned: bool) -> Any:
    def method(self: Term, other: Any) -> Term:
        return written(f"({{}} {sign} {{}})", *((other, self) if turned else (self, other)))
    return method


for _name, _sign in {"add": "+", "sub": "-", "mul": "*", "truediv": "/"}.items():
    setattr(Term, f"__{_name}__", _operator(_sign, False))
    setattr(Term, f"__r{_name}__", _operator(_sign, True))
for _name, _sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
    setattr(Term, f"__{_name}__", _operator(_sign, False))


def shown(x: Any) -> str:
    """Return a term's text, or a number's."""
    if isinstance(x, Term):
        return x.text
    if not isinstance(x, numbers.Real):
        raise TypeError(f"the function uses {type(x).__name__} {x!r:.60}: expected a number; make an array a parameter, as row.NAME, col.NAME, entry.NAME, "
                        f"head.NAME or a number's name, and give it in numbers")
    value = float(x)
    if math.isnan(value):
        raise _errors.ArgumentError("the function uses nan, which no expression has")
    if math.isinf(value):
        return "log(0)" if value < 0 else "(-log(0))"
    return repr(value) if value >= 0 else f"({value!r})"


def written(form: str, *operands: Any) -> Term:
    """Return the term of an operation, of the kind of its first operand that is a term."""
    like = next((x for x in operands if isinstance(x, Term)), None)
    return Term(form.format(*map(shown, operands))) if like is None else like._written(form, operands)


def called(name: str, given: tuple) -> Term:
    """Return a call of a function, by NumPy's or PyTorch's name."""
    name = name.strip("_")
    name = OTHER_NAMES.get(name, name)
    if name in ("negative", "neg") and len(given) == 1:
        return written("(-{})", *given)
    if name in OPERATORS and len(given) == 2:
        return written(f"({{}} {OPERATORS[name]} {{}})", *given)
    if FUNCTIONS.get(name) != len(given):
        raise TypeError(f"{name} of {len(given)} operands is not in the language of edges, which has {', '.join(FUNCTIONS)}")
    return written(f"{name}({', '.join(['{}'] * len(given))})", *given)


class Arrays:
    """The parameter row, col, entry or head: its attributes are arrays."""

    def __init__(self, kind: str):
        self._kind = kind

    def __getattr__(self, name: str) -> Term:
        return Term(f"{self._kind}.{name}")


def text_of(function: Callable[..., Any], name: str = "edge") -> str:
    """Return the expression that a function of x, s, i, j, h, of row, col, entry, head and of names of numbers computes. name: the argument."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise TypeError(f"{name} = {function!r}: expected an expression, or a function whose parameters Python knows") from None
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(f"{name} has the parameter {parameter}: expected parameters by name, such as x, i and j")
    given = {parameter.name: Arrays(parameter.name) if parameter.name in ARRAYS else Term(parameter.name) for parameter in parameters
             if parameter.default is parameter.empty}
    positional = [given.pop(parameter.name) for parameter in parameters if parameter.name in given and parameter.kind == parameter.POSITIONAL_ONLY]
    return shown(function(*positional, **given))
