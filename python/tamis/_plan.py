"""Plans: one operation on one pattern, prepared for many executions."""
from __future__ import annotations

import atexit
import ctypes
import functools
import hashlib
import numbers as python_numbers
import os
import re
import sys
from collections.abc import Mapping
from ctypes import byref
from dataclasses import dataclass
from typing import Any

from . import _declarations as c
from . import _errors, _types
from ._device import opened
from ._kinds import Torch, kind_of
from ._library import Living, Owned, lib, must, named, text
from ._sparse import Sparse
from ._views import view

MATH = {"exact": c.TAMIS_MATH_EXACT, "tf32": c.TAMIS_MATH_TF32}
EFFORT = {"estimate": c.TAMIS_EFFORT_ESTIMATE, "measure": c.TAMIS_EFFORT_MEASURE}
EDGES: dict[str, int] = {}
EXPRESSIONS: dict[int, tuple[str, tuple]] = {}  # by number: the text, and pairs of names and numbers
WORD = re.compile(r"[A-Za-z_]{2,}")           # which may be an edge's name
OF_SETTINGS = ("edge", "edge_scale", "edge_slope", "edge_epsilon", "transpose", "math", "keep_softmax")  # fields of the library, in the order of Settings
SIZES = ("inner", "width", "batch", "expected_calls", "threads")  # integers from the caller


def edge_number(edge: str, numbers: Mapping[str, float] | None = None) -> int:
    """Return the number of an edge's name, or one of an expression, which stands for it and its numbers in this process."""
    number = known_number(edge, numbers, EDGES)
    if number is None:
        if isinstance(edge, str) and not WORD.fullmatch(edge):
            return expression_number(edge, numbers or {}, "edge", EDGES)
        if numbers is not None:
            raise _errors.ArgumentError(f"numbers = {numbers!r}: only an expression as edge names numbers, and edge = {edge!r}")
        number = EDGES[edge] = named("tamis_edge_from_name", edge, "edge")
    return number


def apart(numbers: Mapping[str, Any] | None) -> tuple[Mapping[str, float] | None, dict[str, Any] | None]:
    """Return the numbers that are part of a plan, and the arrays, which each call gives; None: there are none. A name without a dot whose value is an array
    is NaN among the numbers: the call gives it."""
    if not isinstance(numbers, Mapping):
        return numbers, None
    named = {name: value for name, value in numbers.items() if not isinstance(value, python_numbers.Real) and hasattr(value, "dtype") and not _is_number(name, value)}
    for name, value in numbers.items():
        if isinstance(name, str) and "." in name and name.split(".")[0] not in ARRAYS:
            raise _errors.ArgumentError(f"numbers has {name!r}: arrays are row.NAME, col.NAME, entry.NAME and head.NAME")
        if isinstance(name, str) and "." in name and name not in named:
            raise _errors.ArgumentError(f"numbers has {name} = {value!r}: expected an array, one number for each {ARRAYS[name.split('.')[0]]}")
    if not named:
        return numbers, None
    rest = {name: float("nan") if name in named else value for name, value in numbers.items() if "." not in name}
    return rest or None, named


def _is_number(name: Any, value: Any) -> bool:
    """Return True for an array without dimensions of a whole number: it is part of the plan, by float()."""
    return "." not in str(name) and getattr(value, "ndim", 1) == 0 and str(value.dtype).replace("torch.", "").startswith(("int", "uint", "bool"))


ARRAYS = {"row": "row", "col": "column", "entry": "entry of the sparse matrix", "head": "member of the batch"}


def known_number(text: str, numbers: Mapping[str, float] | None, known: dict[str, int]) -> int | None:
    """Return the number that `known` has of a name or an expression without named numbers; None if there is none, or the expression was forgotten."""
    number = known.get(text) if numbers is None else None
    return None if number is None or (is_expression(number) and number not in EXPRESSIONS) else number


MOST_EXPRESSIONS = 1 << 16  # that are kept; the oldest are forgotten


def expression_number(edge: str, numbers: Mapping[str, float], name: str, known: dict[str, int]) -> int:
    """Keep an expression, the argument `name`, and return its number: a hash, so that another process, which reads compiled code from a cache, has the same
    or none. known: gets those without named numbers."""
    for given, value in getattr(numbers, "items", tuple)():
        if getattr(value, "requires_grad", False):
            raise TypeError(f"numbers has {given}, a tensor that requires a gradient: no gradient reaches numbers of {name}; pass float({given})")
    try:
        pairs = tuple(sorted((str(name), float(value)) for name, value in numbers.items()))
    except (AttributeError, TypeError, ValueError):
        raise TypeError(f"numbers = {numbers!r}: expected a dict of names and numbers") from None
    if "\0" in edge or any("\0" in one for one, _ in pairs):
        raise _errors.ArgumentError(f"{name} = {edge!r}: an expression and the names of its numbers have no zero characters")
    while len(EXPRESSIONS) >= MOST_EXPRESSIONS:
        known.pop(EXPRESSIONS.pop(next(iter(EXPRESSIONS)), ("", ()))[0], None)
    sum_of = int.from_bytes(hashlib.blake2b(repr((edge, pairs)).encode(), digest_size=8).digest(), "little")
    number = c.TAMIS_EDGE_TEXT + 1 + (sum_of >> 3)
    EXPRESSIONS[number] = edge, pairs
    if not numbers:
        known[edge] = number
    return number


def is_expression(number: int) -> bool:
    """Return True if an edge's number stands for an expression."""
    return number > c.TAMIS_EDGE_TEXT


def is_softmax(number: int) -> bool:
    """Return True if an edge is an expression that is a softmax of rows."""
    return is_expression(number) and number in EXPRESSIONS and re.match(r"\s*softmax\s*\(", EXPRESSIONS[number][0]) is not None


def expression_of(number: int, name: str) -> tuple[bytes, Any, int]:
    """Return the text of an expression, its numbers for the library, and how many they are. name: the argument."""
    found = EXPRESSIONS.get(number)
    if found is None:
        raise _errors.ArgumentError(f"{name} is the number of an expression that this process has not made: call the function with it here")
    text, pairs = found
    return text.encode(), (c.tamis_edge_number * len(pairs))(*((one.encode(), value) for one, value in pairs)), len(pairs)


def reads_member(number: int) -> bool:
    """Return True if an edge is an expression that may read the number of a batch's member."""
    return is_expression(number) and re.search(r"\b(h\b|(row|col|entry|head)\.)", EXPRESSIONS[number][0]) is not None


def reads_places(number: int) -> bool:
    """Return True if an edge is an expression that may read the row or the column, or is a softmax of rows."""
    return is_expression(number) and re.search(r"\b([ij]\b|(row|col)\.|softmax\b)", EXPRESSIONS[number][0]) is not None


def choice(table: dict[str, int], value: str, name: str) -> int:
    """Return the number of one of a few names."""
    try:
        return table[value]
    except (KeyError, TypeError):
        raise _errors.ArgumentError(f"{name} = {value!r}: expected {' or '.join(map(repr, table))}") from None


def options(how: Any, **given: Any) -> c.tamis_options:
    """Return the library's options: the defaults, overridden by settings and by the arguments."""
    given.update(zip(OF_SETTINGS, how))
    if is_expression(how.edge):
        text, numbers, count = expression_of(given["edge"], "edge")
        given = {**given, "edge": c.TAMIS_EDGE_TEXT, "edge_text": text, "edge_numbers": numbers, "edge_number_count": count}
    return _errors.filled(c.tamis_options, c.TAMIS_OPTIONS_INIT, given, SIZES)


@dataclass(frozen=True)
class Report:
    """The algorithm of a plan, and its cost. Times are in seconds, sizes in bytes.

    `predicted` and `measured` are the time of one execution, 0 if unknown. `break_even` is the number of executions after which the
    set-up pays off.

    >>> report = tamis.plan("spmm", tamis.Pattern.causal(3), width=4, algorithm="cpu-nonzeros").report()
    >>> report.algorithm, report.setup >= 0
    ('cpu-nonzeros', True)
    """

    algorithm: str
    reason: str
    parameters: str
    instruction_set: str
    threads: int
    check: float
    setup: float
    predicted: float
    break_even: int
    workspace: int
    prepared: int
    chosen_by: str
    measured: float
    measuring: float


class Handle:
    """The library's plan, destroyed when the last user is gone: a plan that one thread closes ends after the calls of others."""

    __slots__ = ("value", "workspace", "owned", "keep", "gradient", "__weakref__")

    def __init__(self, S: Sparse, struct: c.tamis_sparse, given: c.tamis_options, gradient: bool = False):
        device = opened(S.device)
        kind = kind_of(S.like)
        allocator = kind.allocator(S.like)
        if device.on_gpu:
            given.stream = kind.stream(S.like)
            given.no_workspace = True  # each execution has its own, so that executions in several streams may overlap
            if allocator is not None:
                given.allocator = allocator
        self.gradient = gradient
        self.keep = (S, struct, allocator)
        owned, size = Owned(lib.tamis_gradient_destroy if gradient else lib.tamis_plan_destroy, self.keep), ctypes.c_size_t()
        must((lib.tamis_gradient_create if gradient else lib.tamis_plan_create)(device.handle, byref(struct), byref(given), owned.value))
        self.owned: Owned | None = owned
        self.value = owned.value.value
        must((lib.tamis_gradient_workspace_size if gradient else lib.tamis_plan_workspace_size)(owned.value, size))
        self.workspace = size.value if device.on_gpu else 0
        alive.add(self)

    def free(self) -> None:
        """Free the library's plan, which must not be in use."""
        self.value = self.owned = None

    def workspace_row(self, like: Any) -> tuple:
        """Return the row of a recipe by which a tensor of scratch memory is made."""
        torch = sys.modules["torch"]
        return -1, functools.partial(torch.empty, (self.workspace + 7) // 8, dtype=torch.int64, device=like.device), ()

    def bring_workspace(self, execution: c.tamis_execution, like: Any) -> Any:
        """Give an execution on a GPU scratch memory of the caller's allocator; the memory must live until the call returns."""
        if not self.workspace:
            return None
        kind = kind_of(like)
        memory = kind.empty((self.workspace + 7) // 8, _types.I64, like)
        execution.workspace = memory.data_ptr() if kind is Torch else view(memory, "workspace").pointer
        execution.workspace_bytes = self.workspace
        return memory


alive: Living[Handle] = Living()


def _after_fork() -> None:
    """Forgets plans on GPUs without freeing them, since GPUs do not survive a fork."""
    for handle in alive:
        if handle.keep[0].device != "cpu":
            handle.value = None
            if handle.owned is not None:
                handle.owned.free = int  # does nothing: replaces the function that destroys


os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def _at_exit() -> None:
    """Frees plans on GPUs while Python, whose allocators they use, still runs."""
    for handle in alive:
        if handle.keep[2] is not None:
            handle.free()


def explained(value: Any, explain: Any = None) -> str:
    """Return the library's explanation of a plan, or what its function `explain` says."""
    explain = explain or lib.tamis_plan_explain
    needed = ctypes.c_size_t()
    must(explain(value, None, 0, needed))
    buffer = ctypes.create_string_buffer(needed.value)
    must(explain(value, buffer, len(buffer), None))
    return text(buffer.value).rstrip()


def reported(handle: Handle) -> Report:
    """Return the library's report on a plan."""
    r = c.tamis_plan_report()
    must(lib.tamis_plan_describe(handle.value, r))
    return Report(text(r.algorithm), text(r.reason), text(r.parameters), text(r.instruction_set), r.threads, r.check_seconds, r.setup_seconds,
                  r.predicted_seconds, r.break_even_calls, r.workspace_bytes, r.prepared_bytes, text(lib.tamis_chosen_by_name(r.chosen_by)),
                  r.measured_seconds, r.measuring_seconds)

