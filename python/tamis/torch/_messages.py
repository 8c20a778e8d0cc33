"""Message passing: reductions of messages over the rows of a pattern, and vectors on edges. Operators of PyTorch, on the CPU and on CUDA.

The operators take matrices: a row for each node or edge, heads side by side. `message` and `edge_op` make them of what the caller has.
"""
from __future__ import annotations

import ctypes
import functools
import re
import sys
from ctypes import addressof, byref
from typing import Any, Mapping, Optional, Sequence, Union

import torch
from torch import Tensor

from .. import _declarations as c
from .. import _errors, _recipe
from .._device import opened
from .._kinds import Torch
from .._library import Owned, lib, must
from .._plan import EXPRESSIONS, WORD, expression_number, expression_of, is_expression, known_number
from .._recipe import ARRAY, CONSTANT, STREAM, Structures, first_run, keep_recipe
from .._views import dense, fits, packed, seen, torch_type, torch_view
from . import _compiled, _direct, _formulas
from ._direct import ALONE, RECORDED, REGISTERED, compiling, plain
from ._formulas import EXTREME, MULTIPLIES
from ._held import MOST_BESIDE, apart, kept
from ._ops import Operator, of_graphs
from ._pattern import Pattern, _abstract, listed, remembered
from ._sampled import device_of, row_of
from ._taken import PatternLike, places_of

OPS = {"copy_u": c.TAMIS_MESSAGE_COPY_U, "add": c.TAMIS_MESSAGE_ADD, "sub": c.TAMIS_MESSAGE_SUB, "mul": c.TAMIS_MESSAGE_MUL,
       "copy_e": c.TAMIS_MESSAGE_COPY_E, "add_relu": c.TAMIS_MESSAGE_ADD_RELU}
REDUCES = {"sum": c.TAMIS_REDUCE_SUM, "mean": c.TAMIS_REDUCE_MEAN, "max": c.TAMIS_REDUCE_MAX, "min": c.TAMIS_REDUCE_MIN}
PAIRS = {"add": c.TAMIS_PAIR_ADD, "sub": c.TAMIS_PAIR_SUB, "mul": c.TAMIS_PAIR_MUL, "dot": c.TAMIS_PAIR_DOT}
NUMBER = -c.TAMIS_E_NUMBER  # a number for each edge as a vector, which direct calls take as it is: another tensor would be another step of autograd
STEPS = {c.TAMIS_MESSAGE_COPY_U: 0, c.TAMIS_MESSAGE_COPY_E: 0, c.TAMIS_MESSAGE_ADD_RELU: 2}  # operations of a message, 1 of the others
TEXTS: dict[str, int] = {}  # the numbers of expressions without named numbers
READ_BACK = (c.TAMIS_MESSAGE_MUL, c.TAMIS_MESSAGE_ADD_RELU)  # named operations whose gradients read x and e


# ------------------------------------------------------------------------------ calls of the library


# The first touch of new memory costs a fault of the system for each page, which takes longer than computing what is written there. With the large pages that
# Linux gives to those who ask for them it takes a third.
LEAST, PAGE, MADV_HUGEPAGE = 8 << 20, 2 << 20, 14  # least bytes of a tensor that justify the request; bytes of a large page
_advise = getattr(ctypes.CDLL(None), "madvise", None) if sys.platform == "linux" else None
if _advise is not None:
    _advise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


def room(*results: Optional[Tensor]) -> bool:
    """Request large pages for tensors whose content is written next. The system may refuse, which is harmless. Returns True if a tensor is so large."""
    large = False
    for x in results:
        if x is None or _advise is None or x.device.type != "cpu":
            continue
        size = x.numel() * x.element_size()
        if size >= LEAST:
            large = True
            begin = -(-x.data_ptr() // PAGE) * PAGE
            _advise(begin, (x.data_ptr() + size - begin) // PAGE * PAGE, MADV_HUGEPAGE)
    return large


def _graph(pattern: Any, like: Tensor, places: bool = False) -> Owned:
    """Return the library's graph of a pattern, cached with it; the caller must hold it during a call. places: of values in the order of
    columns."""
    kept = "graph_of_places" if places else "graph"
    graph = getattr(pattern, kept, None)
    if graph is None:
        pattern.sparse.check_memory()
        graph = Owned(lib.tamis_graph_destroy, pattern.sparse)
        options = c.tamis_graph_options(trust_input=pattern.checked, column_places=places, stream=Torch.stream(like))
        must(lib.tamis_graph_create(opened(pattern.sparse.device).handle, byref(pattern.sparse.struct), byref(options), graph.value))
        pattern.checked = True
        setattr(pattern, kept, graph)
    return graph


def _described(x: Optional[Tensor], name: str, call: tuple = (), of: Any = None, columns: bool = False) -> Any:
    """The library's view of a matrix: an object whose address is passed, and which keeps a copy where the matrix's rows do not lie in one piece each,
    or with `columns` neither rows nor columns. call: the tensors of the call; of: the pattern that it reads."""
    if x is None:
        return None
    x, kind = x if x.dim() == 2 else x.unsqueeze(1), _TYPES.get(x.dtype)
    if kind is not None and x.is_contiguous() and not x.is_neg():
        rows, cols = x.shape
        return c.tamis_dense(x.data_ptr(), rows, cols, 0, kind, c.TAMIS_ROW_MAJOR, c.TAMIS_DEVICE if x.is_cuda else c.TAMIS_HOST, 0)
    given, shape, strides = torch_view(x, name), x.shape, x.stride()
    if kind is None or fits(shape, strides):
        view = dense(given, name)
        if columns or view.layout == c.TAMIS_ROW_MAJOR:
            return view
    x = packed(x, name, 2, (2 * of.nnz if of else 0) + sum(seen(other.shape, other.stride()) for other in call if other is not None))
    view = _described(x, name)
    view.kept = x
    return view


_TYPES = {dtype: torch_type(dtype) for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16)}


@functools.lru_cache(maxsize=1024)
def _message_options(op: int, reduce: int, data: int, heads: int, columns: int, dtype: Any, argument: Any) -> Any:
    text = {}
    if is_expression(op):
        text, op = dict(zip(("text", "numbers", "number_count"), expression_of(op, "op"))), c.TAMIS_MESSAGE_TEXT
    return c.tamis_message_options(op=op, reduce=reduce, edge_data=abs(data), type=_TYPES.get(dtype, 0), heads=heads, width=columns // max(heads, 1),
                                   argument_type=c.TAMIS_I64 if argument is torch.int64 else c.TAMIS_I32, **text)


def _with_rows(options: Any, v: Optional[Tensor], fields: dict[str, Any]) -> Any:
    """Return options as call_library takes them: where an expression reads v, the names of the matrices in their fields."""
    return options if v is None else (functools.partial(c.tamis_message_options.from_buffer_copy, options), fields)


@functools.lru_cache(maxsize=1024)
def _pair_options(op: int, heads: int, width: int, dtype: Any) -> Any:
    return c.tamis_pair_options(op=op, type=_TYPES.get(dtype, 0), heads=heads, width=width)


def arguments_of(like: Tensor, of: Any, width: Any) -> Tensor:
    """Allocate the entries that max and min select."""
    return like.new_empty((of.shape[0], width), dtype=torch.int64 if type(of.nnz) is int and of.nnz > 2**31 else torch.int32)


def call_library(function: str, of: Any, key: Any, graph: Owned, options: Any, given: dict, made: dict, arguments: tuple, shown: Optional[int] = None,
                 columns: bool = False) -> tuple:
    """Call a function of the library on a graph, keep the recipe of the call, and return the results. given: the tensors that it reads, by name; made: its
    results; the first `shown` are returned. arguments: names, whose views are passed; "*name" passes an address; a structure of views is a
    pair of its type and of names by field, as options may be; None is a null pointer. columns: matrices may lie by columns."""
    places, tensors, structures = [*given, *made], [*given.values(), *made.values()], Structures()
    if room(*made.values()):
        key = None  # its memory is prepared in each call

    def argument(name: Optional[str]) -> tuple[int, int]:
        if name is None or name[0] == "*":
            return (CONSTANT, 0) if name is None else (ARRAY, places.index(name[1:]))
        nonlocal key
        number = places.index(name)
        view = _described(tensors[number], name, tuple(tensors), of, columns)
        if hasattr(view, "kept"):
            key, tensors[number] = None, view.kept
        return structures.view(view, number)

    def structure(made: Any, fields: dict[str, str]) -> tuple[int, int]:
        return structures.add(made(), *((field, *argument(of_field)) for field, of_field in fields.items()))

    described = structure(*options) if type(options) is tuple else (CONSTANT, addressof(options))
    passed = [structure(*name) if type(name) is tuple else argument(name) for name in arguments]
    passed = [(CONSTANT, graph.value.value), described, *passed, (STREAM, 0)]
    first, like = next((number, x) for number, x in enumerate(tensors) if x is not None)
    results = tuple(made.values())
    rows = tuple(row_of(x, first, like) for x in results)
    first_run(of.recipes, key, results, tuple(tensors[:len(given)]), function, structures, passed, rows, device_of(like), None, (graph, options), shown)
    return results[:shown]


class OfGraph(Operator):
    """An operator whose calls read a graph of the library. Calls that repeat an earlier one are made by its recipe."""

    rule = of_graphs
    first: Any       # first(of, operands, numbers, keep, key): the result as by `run`; keeps the recipe by its key. With one more argument, the place of the result, it
    # returns what the gradient reads alone
    first_back: Any  # first_back(of, given, numbers, wanted, key): the gradients as by `back`. given: the gradient of the result, packed, and what is saved, and
    # with one more argument, True, the place of the one gradient that is wanted

    def run(self, of: Any, operands: tuple, numbers: Any, keep: bool) -> tuple:
        what = self.name, numbers, keep
        found = _recipe.repeat(of.recipes, what, operands, True, 1.0, 0.0)
        return found if found is not None else self.first(of, operands, numbers, keep, _recipe.key(what, operands, True))  # type: ignore[no-any-return]

    def run_into(self, of: Any, operands: tuple, numbers: Any, keep: bool, out: Tensor) -> Any:
        """Write the result, whose rows may lie apart, and return what the gradient reads."""
        what, given = (self.name, numbers, keep, "into"), (*operands, out)
        found = _recipe.repeat(of.recipes, what, given, True, 1.0, 0.0)
        return (found if found is not None else self.first(of, operands, numbers, keep, _recipe.key(what, given, True), out))[0]

    def back(self, of: Any, grad: Tensor, saved: Any, numbers: Any, wanted: list[bool], *late: Any) -> Any:
        what, given = (self.name, numbers, "gradient", *wanted), (self.packed(grad), *saved)
        found = _recipe.repeat(of.recipes, what, given, True, 1.0, 0.0)
        return found if found is not None else self.first_back(of, given, numbers, wanted, _recipe.key(what, given, True))

    def places(self, of: Any, given: tuple, numbers: Any, wanted: list[bool], names: tuple, into: bool) -> tuple[dict, dict, tuple]:
        """Return the place of a gradient that is given, or gradients that are made, and their names, None if not wanted."""
        if not into:
            return {}, dict(zip(names, self.back_empty(of, given[0], given[1:], numbers, wanted))), names
        names = tuple([name if wants else None for name, wants in zip(names, wanted)])
        return {name: given[-1] for name in names if name}, {}, names

    def back_into(self, of: Any, grad: Tensor, saved: Any, numbers: Any, wanted: list[bool], out: Tensor) -> None:
        """Write the gradient that is wanted, one alone."""
        what, given = (self.name, numbers, "gradient into", *wanted), (self.packed(grad), *saved, out)
        if _recipe.repeat(of.recipes, what, given, True, 1.0, 0.0) is None:
            self.first_back(of, given, numbers, wanted, _recipe.key(what, given, True), True)

    def as_before(self, pattern: Any, what: tuple, operands: tuple) -> Optional[Tensor]:
        """Make a call that repeats an earlier one, whose checks need no repetition; None: there was none. what: all but the pattern and the operands, `need`
        last."""
        of = pattern._current()
        if what[-1] == ALONE:
            found = _recipe.repeat(of.recipes, what, operands, True, 1.0, 0.0)
            return None if found is None else found[0]  # type: ignore[no-any-return]
        numbers = of.recipes.get(_recipe.key(what, operands, True))
        forgotten = numbers is None or (is_expression(numbers[0]) and numbers[0] not in EXPRESSIONS)
        return None if forgotten else self.function.apply(pattern, numbers, *operands)

    def remember(self, pattern: Any, what: tuple, operands: tuple, numbers: Any) -> None:
        """Let `as_before` find a call that was made."""
        of, key = pattern._current(), _recipe.key(what, operands, True)
        found = numbers if what[-1] == RECORDED else of.recipes.get(_recipe.key((self.name, numbers, False), operands, True))
        if key is not None and found is not None:
            keep_recipe(of.recipes, key, found)

    def packed(self, grad: Tensor) -> Tensor:
        by_rows = grad.stride(1) == 1 and grad.stride(0) >= grad.shape[1]  # as part of other rows
        return grad if by_rows else grad.contiguous()  # a sum's gradient is one number at every place


# ------------------------------------------------------------------------------ operators


class Message(OfGraph):
    name, operands, numbers = "message", "Tensor? x, Tensor? e, Tensor? v", "int op, int reduce, int data, SymInt heads"
    saved, gradients, nothing = "Tensor? x, Tensor? e, Tensor? v, Tensor argument", (0, 1, 2), torch.int32
    derivative, gradient_tangent = staticmethod(_formulas.message), staticmethod(_formulas.message_gradients)

    def first(self, of: Any, operands: tuple, numbers: Any, keep: bool, key: Any, into: Optional[Tensor] = None) -> tuple:
        (x, e, v), (op, reduce, data, heads), like = operands, numbers, self.like(operands)
        argument = self.argument(of, operands, numbers, keep)
        options = _message_options(op, reduce, data, heads, like.shape[1], like.dtype, None if argument is None else argument.dtype)
        given, made = {"x": x, "e": e, "v": v}, {"argument": argument}
        given, made = (given, {"out": like.new_empty((of.shape[0], like.shape[1])), **made}) if into is None else ({**given, "out": into}, made)
        return call_library("tamis_message_pass", of, key, _graph(of, like), _with_rows(options, v, {"V": "v"}), given, made, ("x", "e", "out", "*argument"))

    def empty(self, of: Any, operands: tuple, numbers: tuple, keep: bool) -> tuple:
        like = self.like(operands)
        return like.new_empty((of.shape[0], like.shape[1])), self.argument(of, operands, numbers, keep)

    def argument(self, of: Any, operands: tuple, numbers: tuple, keep: bool) -> Optional[Tensor]:
        like = self.like(operands)
        return arguments_of(like, of, like.shape[1]) if keep and numbers[1] in EXTREME else None

    @staticmethod
    def like(operands: tuple) -> Tensor:
        """Return an operand as wide as the result."""
        x, e, v = operands
        return x if x is not None else e if v is None else v  # type: ignore[no-any-return]

    def outer(self, numbers: Any) -> tuple:
        op, reduce, data, heads = numbers
        return op, reduce, abs(data), heads

    def outer_saved(self, saved: tuple, numbers: Any) -> tuple:
        x, e, v, argument = saved
        return x, e.unsqueeze(1) if e is not None and e.dim() == 1 else e, v, argument

    def direct_gradients(self, found: Any, numbers: Any) -> Any:
        by_x, by_e, by_v = found
        return (by_x, by_e.squeeze(1), by_v) if numbers[2] == NUMBER and by_e is not None and by_e.dim() == 2 else found

    def save(self, operands: tuple, results: tuple, numbers: Any) -> tuple[tuple, Any, int]:
        return (*(operands if numbers[0] in READ_BACK or is_expression(numbers[0]) else (None, None, None)), results[1]), numbers, 0

    def first_back(self, of: Any, given: tuple, numbers: Any, wanted: list[bool], key: Any, into: bool = False) -> Any:
        (grad, x, e, v, argument), (op, reduce, data, heads) = given[:5], numbers
        place, made, names = self.places(of, given, numbers, wanted, ("dx", "de", "dv"), into)
        read = {"grad": grad, "x": x, "e": e, "v": v, "argument": argument, **place}
        options = _message_options(op, reduce, data, heads, grad.shape[1], grad.dtype, None if argument is None else argument.dtype)
        return call_library("tamis_message_backward", of, key, _graph(of, grad), _with_rows(options, v, {"V": "v", "dV": names[2]}), read, made,
                            ("grad", "x", "e", "*argument" if reduce in EXTREME else None, *names[:2]))

    def back_empty(self, of: Any, grad: Tensor, saved: Any, numbers: tuple, wanted: list[bool]) -> Any:
        width, (_, _, data, heads) = grad.shape[1], numbers
        each = width if data == c.TAMIS_E_VECTOR else heads if data == c.TAMIS_E_HEAD else 1  # numbers of an edge
        lengths = (of.shape[1], width), (of.nnz,) if data == NUMBER else (of.nnz, each), (of.shape[0], width)
        return tuple(grad.new_empty(length) if wants else None for length, wants in zip(lengths, wanted))

    def flops(self, of: Any, operands: tuple, numbers: tuple) -> Any:
        return of.nnz * self.like(operands).shape[1] * (1 + STEPS.get(numbers[0], 1))

    def back_flops(self, of: Any, grad: Tensor, saved: Any, numbers: tuple, wanted: list[bool]) -> Any:
        return of.nnz * grad.shape[1] * sum(wanted) * (2 if numbers[0] in READ_BACK else 1)


class EdgeOp(OfGraph):
    name, operands, numbers, results = "edge_op", "Tensor x, Tensor y", "int op, SymInt heads", 1
    saved, numbers_of_gradient, gradients = "Tensor? x, Tensor? y", "int op, SymInt heads, SymInt width", (0, 1)
    derivative, gradient_tangent = staticmethod(_formulas.edge_op), staticmethod(_formulas.edge_op_gradients)

    def first(self, of: Any, operands: tuple, numbers: Any, keep: bool, key: Any) -> tuple:
        (x, y), (op, heads), (out,) = operands, numbers, self.empty(of, operands, numbers, keep)
        options = _pair_options(op, heads, x.shape[1] // max(heads, 1), x.dtype)
        return call_library("tamis_edge_vectors", of, key, _graph(of, x), options, {"x": x, "y": y}, {"out": out}, ("x", "y", "out"))

    def empty(self, of: Any, operands: tuple, numbers: tuple, keep: bool) -> tuple:
        x, (op, heads) = operands[0], numbers
        return (x.new_empty((of.nnz, heads if op == c.TAMIS_PAIR_DOT else x.shape[1])),)

    def save(self, operands: tuple, results: tuple, numbers: Any) -> tuple[tuple, Any, int]:
        return operands if numbers[0] in MULTIPLIES else (None, None), (*numbers, operands[0].shape[1] // max(numbers[1], 1)), 0

    def first_back(self, of: Any, given: tuple, numbers: Any, wanted: list[bool], key: Any, into: bool = False) -> Any:
        (grad, x, y), (op, heads, width) = given[:3], numbers
        place, made, names = self.places(of, given, numbers, wanted, ("dx", "dy"), into)
        return call_library("tamis_edge_vectors_backward", of, key, _graph(of, grad), _pair_options(op, heads, width, grad.dtype),
                            {"grad": grad, "x": x, "y": y, **place}, made, ("grad", "x", "y", *names))

    def back_empty(self, of: Any, grad: Tensor, saved: Any, numbers: tuple, wanted: list[bool]) -> Any:
        return tuple(grad.new_empty((length, numbers[1] * numbers[2])) if wants else None for length, wants in zip(of.shape, wanted))

    def flops(self, of: Any, operands: tuple, numbers: tuple) -> Any:
        return of.nnz * operands[0].shape[1] * (2 if numbers[0] == c.TAMIS_PAIR_DOT else 1)

    def back_flops(self, of: Any, grad: Tensor, saved: Any, numbers: tuple, wanted: list[bool]) -> Any:
        return of.nnz * numbers[1] * numbers[2] * sum(wanted) * (2 if numbers[0] in MULTIPLIES else 1)


MESSAGE, EDGE_OP = Message(), EdgeOp()


# ------------------------------------------------------------------------------ calls


def _number(name: str, value: Any, numbers: dict[str, int]) -> int:
    if value not in numbers:
        raise _errors.ArgumentError(f"{name} = {value!r}: expected one of {', '.join(map(repr, numbers))}")
    return numbers[value]


def _check(pattern: Any, **tensors: Any) -> Pattern:
    """Return the pattern that is given or stands for one; check the other operands."""
    if not REGISTERED:
        raise NotImplementedError("message passing needs PyTorch 2.4 or newer")
    pattern = places_of(pattern)
    first, named = None, ""
    for name, x in tensors.items():
        if x is None:
            continue
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} is a {type(x).__name__}: expected a tensor, for instance torch.as_tensor({name})")
        if x.device != pattern.device and not x.is_meta:
            raise _errors.ArgumentError(f"{name} is on {x.device} and the pattern on {pattern.device}: move one, for instance by {name}.to({str(pattern.device)!r}); "
                                        f"a tamis.torch.nn.PatternBuffer moves with its module")
        if first is not None and x.dtype != first.dtype:
            raise _errors.ArgumentError(f"{name} is {x.dtype} and {named} {first.dtype}: convert one, for instance by {name}.to({first.dtype})")
        if first is None:
            first, named = x, name
    return pattern


def _matrix(x: Tensor, name: str, rows: Any, what: str) -> Tensor:
    """Return a matrix with a row for each node or edge: (rows, width) unchanged, (rows, heads, width) with the heads side by side."""
    if x.dim() not in (2, 3) or x.shape[0] != rows:
        raise _errors.ArgumentError(f"{name} has shape {tuple(x.shape)}: expected ({rows}, width) or ({rows}, heads, width), a row for each {what}")
    return x if x.dim() == 2 else x.flatten(1)


def nothing(shape: tuple, *given: Optional[Tensor]) -> Tensor:
    """Return a result without elements, for operands without heads, with their gradients."""
    there = [x.sum() for x in given if x is not None]
    return sum(there[1:], there[0]).to(there[0].dtype).expand(shape)


def _edges(e: Tensor, x: Optional[Tensor], nnz: Any, name: str = "x", direct: int = 0) -> tuple[Tensor, int]:
    """Return e as a matrix, and the kind of its edge data. name: of x. direct: the call goes without the dispatcher."""
    if x is None:
        return _matrix(e.unsqueeze(1) if e.dim() == 1 else e, "e", nnz, "edge"), c.TAMIS_E_VECTOR
    if e.shape[:1] == (nnz,):
        if e.dim() == 1:
            return (e, NUMBER) if direct else (e.unsqueeze(1), c.TAMIS_E_NUMBER)
        if e.shape == (nnz, *x.shape[1:]):
            return (e if e.dim() == 2 else e.flatten(1)), c.TAMIS_E_VECTOR
        if x.dim() == 3 and tuple(e.shape) in ((nnz, x.shape[1]), (nnz, x.shape[1], 1)):
            return e.reshape(nnz, x.shape[1]), c.TAMIS_E_HEAD
        if x.dim() == 2 and e.shape == (nnz, 1):
            return e, c.TAMIS_E_NUMBER
    heads = f", ({nnz}, {x.shape[1]}), a number for each head," if x.dim() == 3 else ""
    raise _errors.ArgumentError(f"e has shape {tuple(e.shape)}: expected ({nnz},){heads} or {(nnz, *x.shape[1:])}, since {name} has shape {tuple(x.shape)}")


def _operation(op: str, numbers: Optional[Mapping[str, float]], texts: Mapping[str, str] = {}) -> tuple[int, tuple[bool, bool, bool]]:
    """Return the number of an operation, or one that stands for an expression and its numbers, and whether it reads x, e and v. numbers, texts: by _direct.as_constants."""
    numbers = _direct.from_constants(numbers, texts)
    number = OPS.get(op) if isinstance(op, str) else None
    if number is not None and numbers is None:
        return number, (op != "copy_e", op != "copy_u", False)
    if number is not None:
        raise _errors.ArgumentError(f"numbers = {numbers!r}: only an expression as op names numbers, and op = {op!r}")
    if not isinstance(op, str) or WORD.fullmatch(op):
        raise _errors.ArgumentError(f"op = {op!r}: expected one of {', '.join(map(repr, OPS))}, or an expression such as 'relu(u + e)'")
    number = known_number(op, numbers, TEXTS)
    if number is None:
        number = expression_number(op, numbers or {}, "op", TEXTS)
    words = set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", op))  # not the e of 1e-3
    reads = "u" in words, "e" in words, "v" in words
    if not any(reads):
        raise _errors.ArgumentError(f"op = {op!r}: expected an expression that reads u (a row of x), v or e")
    return number, reads


_operation._dynamo_marked_constant = True  # type: ignore[attr-defined]  # as by torch.compiler.assume_constant_result, which imports torch._dynamo


def _given(pattern: PatternLike, op: str, x: Optional[Tensor], e: Optional[Tensor], reduce: str, v: Optional[Tensor], numbers: Any, need: Any) -> tuple:
    """Check the arguments of `message`. Returns the pattern, the numbers of the operator, its operands, an operand as wide as the result, and x, e and v as
    autocast has them."""
    (number, reads), how = _operation(op, *_direct.as_constants(numbers)), _number("reduce", reduce, REDUCES)
    if not need:
        x, e, v = _direct.cast(x, e, v)
    pattern = _check(pattern, x=x, e=e, v=v)
    for name, given, wanted in zip(("x", "e", "v"), (x, e, v), reads):
        if (given is not None) != wanted:
            raise _errors.ArgumentError(f"{name} is {'None' if given is None else 'given'}: {op} {'reads it' if wanted else 'does not read it, expected None'}")
    like = MESSAGE.like((x, e, v))
    heads = like.shape[1] if like.dim() == 3 else 1
    left = None if x is None else _matrix(x, "x", pattern.cols, "node at the other end, a column of the pattern")
    right = None if v is None else _matrix(v, "v", pattern.rows, "node, a row of the pattern")
    if x is not None and v is not None and x.shape[1:] != v.shape[1:]:
        raise _errors.ArgumentError(f"v has shape {tuple(v.shape)} and x {tuple(x.shape)}: expected the same heads and width")
    edges, data = (None, c.TAMIS_E_NONE) if e is None else _edges(e, v if x is None else x, pattern.nnz, "v" if x is None else "x", need)
    return pattern, (number, how, data, heads), (left, edges, right), like, (x, e, v)


def plan_message(pattern: PatternLike, op: str, x: Optional[Tensor], e: Optional[Tensor] = None, reduce: str = "sum", v: Optional[Tensor] = None,
                 numbers: Optional[Mapping[str, float]] = None, expected_calls: int = 1000) -> str:
    """Plan `message` with such arguments, and its gradients, by measurement; return what `pattern.explain()` says then.

    The sum of "copy_u" is a product of a sparse matrix, as is that of "mul" by a number for each edge of a pattern in the order of its rows, and the gradients are
    such products and sampled ones. This times the kernel of messages beside the algorithms of `spmm` and `sddmm`, and later calls of all functions that have
    such a pass over the pattern, of that type and width and with as many threads, take the fastest. It takes up to half a second a pass, more where kernels are compiled,
    and memory for the operands again. Results may change in their last bits. Other calls stay as they are. expected_calls: for which the preparation of an algorithm
    must pay. Errors as in `message`.

    >>> graph = Pattern.from_edge_index(torch.tensor([[0, 1, 2], [1, 1, 0]]), num_nodes=3)
    >>> print(plan_message(graph, "copy_u", torch.rand(3, 2)))  # doctest: +ELLIPSIS
    3 x 3, 3 nonzeros, cpu; 1 a row (0 to 2), 1 rows empty
    ...
    planned      sums of rows of 2 elements, fp32, by rows: ...
    """
    pattern, (number, how, data, heads), operands, _, _ = _given(pattern, op, x, e, reduce, v, numbers, None)
    of, like = pattern._current(), MESSAGE.like(operands)
    _described(like, "x" if x is not None else "e")  # which refuses other types
    call = _message_options(number, how, data, heads, like.shape[1], like.dtype, None)
    planned = c.tamis_graph_plan_options(expected_calls=expected_calls, stream=Torch.stream(like))
    must(lib.tamis_graph_plan(_graph(of, like).value, byref(call), byref(planned)))
    return pattern.explain()


def message(pattern: PatternLike, op: str, x: Optional[Tensor], e: Optional[Tensor] = None, reduce: str = "sum", v: Optional[Tensor] = None,
            numbers: Optional[Mapping[str, float]] = None) -> Tensor:
    """Messages over the edges of a graph, reduced for each node: out[i] = reduce of op(x[j], e[t]) over the entries t = (i, j) of row i.

    op: "copy_u", the row of x; "add", "sub", "mul", with e; "add_relu", relu(x + e); "copy_e", e alone, where x is None. Or an expression, such as
    "leaky_relu(u + v + e)", of u, an element of x[j], v, that of v[i], and e, that of e[t], of i and j and the named `numbers`, which stay as they are: no
    gradient reaches them. What it does not read is None. reduce: "sum", "mean", "max", "min".
    x: (cols, width) or (cols, heads, width). v: (rows, width) or (rows, heads, width). e: a number for each edge (nnz,), a number for each head (nnz, heads), or as much as x
    has for a node, in the pattern's order. The messages are not stored. A view whose rows do not lie in one piece each is copied in each call, unless
    the copy would be larger than all operands together, as of an expanded view.
    Returns (rows, width) or (rows, heads, width); a row without entries gives 0. Of equal messages max and min take the first, and NaN
    before numbers. Gradients to x, e and v, the same bits each time, which have derivatives themselves, for which an expression makes vectors of all edges. Errors as in `sddmm`.

    >>> graph = Pattern.from_edge_index(torch.tensor([[0, 1, 2], [1, 1, 0]]), num_nodes=3)
    >>> x = torch.tensor([[1., 10.], [2., -20.], [3., 30.]])
    >>> message(graph, "copy_u", x, reduce="max")
    tensor([[ 3., 30.],
            [ 2., 10.],
            [ 0.,  0.]])
    """
    if type(pattern) is not Pattern:
        pattern = places_of(pattern)
    need = plain((x, e, v))
    what: Any = None  # of a call that can be remembered: without heads, whose tensors are others for each call
    if need and numbers is None and type(op) is type(reduce) is str and pattern._known is not None and (x is None or x.dim() == 2):
        what = "message as given", op, reduce, need
    if what is not None:
        found = MESSAGE.as_before(pattern, what, (x, e, v))
        if found is not None:
            return found
    pattern, call, operands, like, given = _given(pattern, op, x, e, reduce, v, numbers, need)
    if call[-1] == 0:
        return nothing((pattern.rows, *like.shape[1:]), *given)
    out = MESSAGE.called(need, pattern, call, *operands)
    if what is not None and all(mine is theirs for mine, theirs in zip(operands, given)):
        MESSAGE.remember(pattern, what, given, call)
    return out if like.dim() == 2 else out.reshape(pattern.rows, *like.shape[1:])  # autograd would record this


def edge_op(pattern: PatternLike, op: str, x: Tensor, y: Tensor) -> Tensor:
    """A row for each edge from the rows of its two ends: out[t] = x[i] op y[j] for the entry t = (i, j).

    op: "add", "sub", "mul", or "dot" for the inner product. x: (rows, width) or (rows, heads, width); y: the same with cols.
    Returns (nnz, width) or (nnz, heads, width) in the pattern's order, with "dot" (nnz,) or (nnz, heads). Gradients to x and y, the same
    bits each time. Errors as in `sddmm`.

    >>> graph = Pattern.from_edge_index(torch.tensor([[0, 1, 2], [1, 1, 0]]), num_nodes=3)
    >>> x = torch.tensor([[1., 10.], [2., 20.], [3., 30.]])
    >>> edge_op(graph, "sub", x, x)
    tensor([[  1.,  10.],
            [  0.,   0.],
            [ -2., -20.]])
    """
    need = plain((x, y))
    if not need:
        x, y = _direct.cast(x, y)
    return edge_op_as_given(pattern, op, x, y, need)


def edge_op_as_given(pattern: PatternLike, op: str, x: Tensor, y: Tensor, need: int = 0) -> Tensor:
    """edge_op in the type of its operands, regardless of autocast. need: as `plain` returns."""
    number = _number("op", op, PAIRS)
    pattern = _check(pattern, x=x, y=y)
    rows = _matrix(x, "x", pattern.rows, "row of the pattern")
    cols = _matrix(y, "y", pattern.cols, "column of the pattern")
    if x.shape[1:] != y.shape[1:]:
        raise _errors.ArgumentError(f"x has shape {tuple(x.shape)} and y {tuple(y.shape)}: expected the same heads and width")
    heads = x.shape[1] if x.dim() == 3 else 1
    if heads == 0:
        return nothing((pattern.nnz, *x.shape[1:2 if op == "dot" else 3]), x, y)
    out = EDGE_OP.called(need, pattern, (number, heads), rows, cols)
    if op == "dot":
        return out if x.dim() == 3 else out.squeeze(1)
    return out if x.dim() == 2 else out.reshape(pattern.nnz, *x.shape[1:])


# ------------------------------------------------------------------------------ several types of edges, each with a pattern of its own, in one call of the
# library: the patterns become blocks of one, which is remembered


def _of_each(given: Any, name: str, count: int) -> list:
    """Return a list with one element for each pattern, or the same for all."""
    if given is None or isinstance(given, Tensor):
        return [given] * count
    made = list(given)
    if len(made) != count:
        raise _errors.ArgumentError(f"{name} has {len(made)} tensors: expected one for each of {count} patterns, or one tensor for all")
    return made


def _block_sizes(sizes: list[int], numbers: list[int]) -> list[int]:
    """Return the sizes of blocks by their numbers, which patterns of the same size may share."""
    return [sizes[numbers.index(number)] for number in range(max(numbers) + 1)]


def _blocks(patterns: list[Pattern], into: list[int], sources: list[int]) -> Pattern:
    """Join patterns as blocks of one, in rows `into` and columns `sources` of blocks. Its entries are the patterns' entries, concatenated."""
    heights, widths = _block_sizes([pattern.rows for pattern in patterns], into), _block_sizes([pattern.cols for pattern in patterns], sources)
    rows = [pattern._rows().long() + sum(heights[:number]) for pattern, number in zip(patterns, into)]
    columns = [(_compiled.tensor_of(pattern, "edges")[0] if isinstance(pattern, _compiled.Seen) else pattern.columns.long()) + sum(widths[:number])
               for pattern, number in zip(patterns, sources)]
    return Pattern.from_coo(torch.cat(rows), torch.cat(columns), (sum(heights), sum(widths)))


def joined(patterns: list[Pattern], into: list[int], sources: list[int]) -> Pattern:
    """Return patterns as blocks of one, which is made once."""
    if len(patterns) == 1:
        return patterns[0]
    if all(isinstance(pattern, _compiled.Seen) for pattern in patterns):
        sizes = (_block_sizes([getattr(pattern, side) for pattern in patterns], numbers) for side, numbers in (("rows", into), ("cols", sources)))
        return _compiled.joined(patterns, into, sources, *map(sum, sizes))
    # the value holds what was checked of the patterns, so that the ids in the key stay theirs; a pattern that changes has another
    if compiling() or any(_abstract(pattern.columns) for pattern in patterns):
        return _blocks(patterns, into, sources)
    checked = [pattern._current() for pattern in patterns]
    store: dict[Any, tuple[Pattern, list]] = remembered(patterns[0], "types", dict)
    key = tuple(map(id, checked)), tuple(into), tuple(sources)
    found = store.get(key)
    if found is None:
        with apart():
            found = kept(store, key, (_blocks(patterns, into, sources), checked), MOST_BESIDE)
    return found[0]


_compiled.of_several = joined


def _outputs(into: Any, patterns: list[Pattern]) -> list[int]:
    """Return the output of each pattern."""
    numbers = list(into)
    if len(numbers) != len(patterns) or sorted(set(numbers)) != list(range(len(set(numbers)))):
        raise _errors.ArgumentError(f"into = {into!r}: expected the number of its output, 0, 1, ..., for each of {len(patterns)} patterns")
    rows: dict[int, int] = {}
    for number, pattern in zip(numbers, patterns):
        if rows.setdefault(number, pattern.rows) != pattern.rows:
            raise _errors.ArgumentError(f"a pattern of output {number} has {pattern.rows} rows and another {rows[number]}: expected the same")
    return numbers


def messages(patterns: Sequence[PatternLike], op: str, x: Union[Tensor, Sequence[Tensor], None], e: Union[Tensor, Sequence[Tensor], None] = None,
             reduce: str = "sum", into: Optional[Sequence[int]] = None) -> Any:
    """`message` over several types of edges in one call: all entries of a row, of whatever type, are reduced together.

    patterns: of each type. x: the rows of its columns' nodes for each type, or one tensor for all; e: what its edges have. op and reduce are
    as in `message`; a mean is over the edges of all types of an output. into: the number of the output of each type, such as [0, 0, 1],
    whose types must have as many rows; None: all are reduced to one output.
    Returns that output, or with `into` a list of outputs. Operands that differ from type to type are joined, once in a call; a tensor that several types
    share is not repeated. Gradients, errors and the order of ties are as in `message`, with the types in order.

    >>> writes = Pattern.from_coo(torch.tensor([0, 1]), torch.tensor([0, 0]), (2, 1))  # from author 0 to papers 0 and 1
    >>> cites = Pattern.from_coo(torch.tensor([0]), torch.tensor([1]), (2, 2))  # from paper 1 to paper 0
    >>> author, paper = torch.tensor([[1.]]), torch.tensor([[10.], [20.]])
    >>> messages([writes, cites], "copy_u", [author, paper])
    tensor([[21.],
            [ 1.]])
    >>> messages([writes, cites], "copy_u", [author, paper], into=[0, 1])
    [tensor([[1.],
            [1.]]), tensor([[20.],
            [ 0.]])]
    """
    patterns = listed([places_of(pattern, f"patterns[{i}]") for i, pattern in enumerate(patterns)])
    count = len(patterns)
    numbers = _outputs([0] * count if into is None else into, patterns)
    rows, edges = _of_each(x, "x", count), _of_each(e, "e", count)
    if isinstance(e, Tensor) and count > 1:
        raise _errors.ArgumentError("e is one tensor: expected a list of what the edges of each type have")
    for i, pattern in enumerate(patterns):
        for name, given, wanted, what in (("x", rows[i], pattern.cols, "columns"), ("e", edges[i], pattern.nnz, "entries")):
            if isinstance(given, Tensor) and given.shape[:1] != (wanted,):
                raise _errors.ArgumentError(f"{name}[{i}] has shape {tuple(given.shape)}: expected {wanted} rows, the {what} of pattern {i}")
    distinct: list[Any] = []  # identical tensors are joined once
    sources = []
    for row, pattern in zip(rows, patterns):
        place = next((i for i, other in enumerate(distinct) if other[0] is row and other[1] == pattern.cols), len(distinct))
        if place == len(distinct):
            distinct.append((row, pattern.cols))
        sources.append(place)
    if count == 1:
        out = message(patterns[0], op, rows[0], edges[0], reduce)
        return out if into is None else [out]
    given = [row for row, _ in distinct]
    out = message(joined(patterns, numbers, sources), op, _joined(given, "x"), _joined(edges, "e"), reduce)
    return out if into is None else list(out.split(_block_sizes([pattern.rows for pattern in patterns], numbers)))


def _joined(given: list, name: str) -> Optional[Tensor]:
    """Concatenate tensors by rows."""
    if all(x is None for x in given):
        return None
    given = list(_direct.cast(*given))
    for x in given:
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} has a {type(x).__name__}: expected a tensor for each pattern")
        if x.shape[1:] != given[0].shape[1:] or x.dtype != given[0].dtype:
            raise _errors.ArgumentError(f"{name} has tensors of shapes {tuple(given[0].shape)}, {given[0].dtype} and {tuple(x.shape)}, {x.dtype}: expected the "
                                        f"same but for the first number")
    return given[0] if len(given) == 1 else torch.cat(given)
