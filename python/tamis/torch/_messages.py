"""Message passing: reductions of messages over the rows of a pattern, and vectors on edges. Operators of PyTorch, on the CPU and on CUDA.

The operators take matrices: a row for each node or edge, heads side by side. `message` and `edge_op` make them of what the caller has.
"""
from __future__ import annotations

import functools
from ctypes import addressof, byref
from typing import Any, Optional

import torch
from torch import Tensor

from .. import _declarations as c
from .. import _errors
from .._device import opened
from .._kinds import Torch
from .._library import lib, must
from .._owned import Owned
from .._recipe import of_addresses
from .._views import dense, fits, packed, seen, torch_type, torch_view
from . import _cast, _graph_formulas, _graph_vmap, _ops
from ._direct import _batched, plain
from ._kernels import pattern_of
from ._pattern import Pattern
from ._room import room

OPS = {"copy_u": c.TAMIS_MESSAGE_COPY_U, "add": c.TAMIS_MESSAGE_ADD, "sub": c.TAMIS_MESSAGE_SUB, "mul": c.TAMIS_MESSAGE_MUL,
       "copy_e": c.TAMIS_MESSAGE_COPY_E, "add_relu": c.TAMIS_MESSAGE_ADD_RELU}
REDUCES = {"sum": c.TAMIS_REDUCE_SUM, "mean": c.TAMIS_REDUCE_MEAN, "max": c.TAMIS_REDUCE_MAX, "min": c.TAMIS_REDUCE_MIN}
PAIRS = {"add": c.TAMIS_PAIR_ADD, "sub": c.TAMIS_PAIR_SUB, "mul": c.TAMIS_PAIR_MUL, "dot": c.TAMIS_PAIR_DOT}
EXTREME, MULTIPLIES = (c.TAMIS_REDUCE_MAX, c.TAMIS_REDUCE_MIN), (c.TAMIS_PAIR_MUL, c.TAMIS_PAIR_DOT)
READ_BACK = (c.TAMIS_MESSAGE_MUL, c.TAMIS_MESSAGE_ADD_RELU)  # operations whose gradients read x and e


# ------------------------------------------------------------------------------ kernels

_forward, _backward = of_addresses("tamis_message_pass", 7), of_addresses("tamis_message_backward", 9)
_edges_forward, _edges_backward = of_addresses("tamis_edge_vectors", 6), of_addresses("tamis_edge_vectors_backward", 8)


def _graph_of(pattern: Any, columns: Tensor, places: bool = False) -> Owned:
    """Return the library's graph of a pattern, cached with it; the caller must hold it during a call. places: of values in the order of
    columns."""
    kept = "graph_of_places" if places else "graph"
    graph = getattr(pattern, kept, None)
    if graph is None:
        pattern.sparse.check_memory()
        graph = Owned(lib.tamis_graph_destroy, pattern.sparse)
        options = c.tamis_graph_options(trust_input=pattern.checked, column_places=places, stream=Torch.stream(columns))
        must(lib.tamis_graph_create(opened(pattern.sparse.device).handle, byref(pattern.sparse.struct), byref(options), graph.value))
        pattern.checked = True
        setattr(pattern, kept, graph)
    return graph


def _described(x: Optional[Tensor], name: str, call: tuple = (), columns: bool = False) -> Any:
    """The library's view of a matrix: an object whose address is passed, and which keeps a copy where the matrix's rows do not lie in one piece each,
    or with `columns` neither rows nor columns. call: the tensors of the call."""
    if x is None:
        return None
    kind = _TYPES.get(x.dtype)
    if kind is not None and x.is_contiguous() and not x.is_neg():
        rows, cols = x.shape
        return c.tamis_dense(x.data_ptr(), rows, cols, 0, kind, c.TAMIS_ROW_MAJOR, c.TAMIS_DEVICE if x.is_cuda else c.TAMIS_HOST, 0)
    given, shape, strides = torch_view(x, name), x.shape, x.stride()
    if kind is None or fits(shape, strides):
        view = dense(given, name)
        if columns or view.layout == c.TAMIS_ROW_MAJOR:
            return view
    x = packed(x, name, 2, sum(seen(other.shape, other.stride()) for other in call if other is not None))
    view = _described(x, name)
    view.kept = x
    return view


_TYPES = {dtype: torch_type(dtype) for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16)}


def _view(x: Optional[Tensor], name: str, call: tuple = ()) -> Any:
    return None if x is None else byref(_described(x, name, call))


def _address(view: Any) -> Optional[int]:
    return None if view is None else addressof(view)


@functools.lru_cache(maxsize=1024)
def _message_options(op: int, reduce: int, data: int, heads: int, columns: int, dtype: Any, argument: Any) -> Any:
    return c.tamis_message_options(op=op, reduce=reduce, edge_data=data, type=_TYPES.get(dtype, 0), heads=heads, width=columns // max(heads, 1),
                                   argument_type=c.TAMIS_I64 if argument is torch.int64 else c.TAMIS_I32)


@functools.lru_cache(maxsize=1024)
def _pair_options(op: int, heads: int, width: int, dtype: Any) -> Any:
    return c.tamis_pair_options(op=op, type=_TYPES.get(dtype, 0), heads=heads, width=width)


def _edge_columns(data: int, heads: int, all_columns: int) -> int:
    return all_columns if data == c.TAMIS_E_VECTOR else heads if data == c.TAMIS_E_HEAD else 1


def _width(x: Optional[Tensor], heads: int) -> int:
    return 0 if x is None else x.shape[1] // max(heads, 1)


def _arguments(reduce: int, columns: Tensor, rows: Any, width: Any) -> Tensor:
    """Allocate the entries that max and min select; empty for other reductions."""
    nnz = columns.shape[0]
    kind = torch.int64 if type(nnz) is int and nnz > 2**31 else torch.int32
    return columns.new_empty((rows, width) if reduce in EXTREME else (0,), dtype=kind)


def _run_message(graph: Owned, rows: int, columns: Tensor, x: Optional[Tensor], e: Optional[Tensor], op: int, reduce: int, data: int, heads: int,
                 keep: bool) -> tuple[Tensor, Optional[Tensor]]:
    """Return the result, and the entries that max and min select if they must be kept."""
    like = x if x is not None else e
    assert like is not None
    width = like.shape[1]
    out = like.new_empty((rows, width))
    argument = _arguments(reduce, columns, rows, width) if keep and reduce in EXTREME else None
    room(out, argument)
    call = x, e, out, columns, columns
    views = _described(x, "x", call), _described(e, "e", call), _described(out, "out")
    options = _message_options(op, reduce, data, heads, width, like.dtype, None if argument is None else argument.dtype)
    status = _forward(graph.value, addressof(options), *map(_address, views), None if argument is None else argument.data_ptr(), Torch.stream(like))
    if status:
        must(status)
    return out, argument


def _run_message_backward(graph: Owned, grad: Tensor, x: Optional[Tensor], e: Optional[Tensor], argument: Optional[Tensor], dx: Optional[Tensor],
                          de: Optional[Tensor], op: int, reduce: int, data: int, heads: int) -> None:
    room(dx, de)
    call = grad, x, e, dx, de
    views = _described(grad, "grad"), _described(x, "x", call), _described(e, "e", call), _described(dx, "dx"), _described(de, "de")
    options = _message_options(op, reduce, data, heads, grad.shape[1], grad.dtype, None if argument is None else argument.dtype)
    taken = None if argument is None or reduce not in EXTREME else argument.data_ptr()
    status = _backward(graph.value, addressof(options), *map(_address, views[:3]), taken, *map(_address, views[3:]), Torch.stream(grad))
    if status:
        must(status)


def _run_edge_op(graph: Owned, x: Tensor, y: Tensor, out: Tensor, op: int, heads: int) -> None:
    room(out)
    call = x, y, out
    views = _described(x, "x", call), _described(y, "y", call), _described(out, "out")
    options = _pair_options(op, heads, _width(x, heads), x.dtype)
    status = _edges_forward(graph.value, addressof(options), *map(_address, views), Torch.stream(x))
    if status:
        must(status)


def _run_edge_op_backward(graph: Owned, grad: Tensor, x: Optional[Tensor], y: Optional[Tensor], dx: Optional[Tensor], dy: Optional[Tensor], op: int,
                          heads: int, width: int) -> None:
    room(dx, dy)
    call = grad, x, y, dx, dy
    views = _described(grad, "grad"), _described(x, "x", call), _described(y, "y", call), _described(dx, "dx"), _described(dy, "dy")
    options = _pair_options(op, heads, width, grad.dtype)
    status = _edges_backward(graph.value, addressof(options), *map(_address, views), Torch.stream(grad))
    if status:
        must(status)


# ------------------------------------------------------------------------------ operators


def _graph(index: Tensor, columns: Tensor, rows: int, cols: int, coo: bool, places: bool = False) -> Owned:
    return _graph_of(pattern_of(index, columns, rows, cols, coo), columns, places)


def _wanted(gradients: tuple[Tensor, Tensor], wanted: list[bool]) -> tuple[Optional[Tensor], Optional[Tensor]]:
    return gradients[0] if wanted[0] else None, gradients[1] if wanted[1] else None


def _message(index: Tensor, columns: Tensor, x: Optional[Tensor], e: Optional[Tensor], rows: int, cols: int, coo: bool, op: int, reduce: int,
             data: int, heads: int) -> tuple[Tensor, Tensor]:
    out, argument = _run_message(_graph(index, columns, rows, cols, coo), rows, columns, x, e, op, reduce, data, heads, True)
    return out, out.new_empty((0,), dtype=torch.int32) if argument is None else argument


def _message_backward(grad: Tensor, index: Tensor, columns: Tensor, x: Optional[Tensor], e: Optional[Tensor], argument: Tensor, rows: int, cols: int,
                      coo: bool, op: int, reduce: int, data: int, heads: int, wanted: list[bool]) -> tuple[Tensor, Tensor]:
    grad = grad.contiguous()  # a sum's gradient is one number at every place
    found = _message_backward_fake(grad, index, columns, x, e, argument, rows, cols, coo, op, reduce, data, heads, wanted)
    _run_message_backward(_graph(index, columns, rows, cols, coo), grad, x, e, argument, *_wanted(found, wanted), op, reduce, data, heads)
    return found


def _edge_op(index: Tensor, columns: Tensor, x: Tensor, y: Tensor, rows: int, cols: int, coo: bool, op: int, heads: int) -> Tensor:
    out = _edge_op_fake(index, columns, x, y, rows, cols, coo, op, heads)
    _run_edge_op(_graph(index, columns, rows, cols, coo), x, y, out, op, heads)
    return out


def _edge_op_backward(grad: Tensor, index: Tensor, columns: Tensor, x: Optional[Tensor], y: Optional[Tensor], rows: int, cols: int, coo: bool,
                      op: int, heads: int, width: int, wanted: list[bool]) -> tuple[Tensor, Tensor]:
    grad = grad.contiguous()
    found = _edge_op_backward_fake(grad, index, columns, x, y, rows, cols, coo, op, heads, width, wanted)
    _run_edge_op_backward(_graph(index, columns, rows, cols, coo), grad, x, y, *_wanted(found, wanted), op, heads, width)
    return found


# ------------------------------------------------------------------------------ shapes without content


def _message_fake(index, columns, x, e, rows, cols, coo, op, reduce, data, heads):
    like = x if x is not None else e
    return like.new_empty((rows, like.shape[1])), _arguments(reduce, columns, rows, like.shape[1])


def _message_backward_fake(grad, index, columns, x, e, argument, rows, cols, coo, op, reduce, data, heads, wanted):
    """Return shapes and types; an empty tensor stands for an unwanted gradient."""
    width = grad.shape[1]
    return (grad.new_empty((cols, width) if wanted[0] else (0,)),
            grad.new_empty((columns.shape[0], _edge_columns(data, heads, width)) if wanted[1] else (0,)))


def _edge_op_fake(index, columns, x, y, rows, cols, coo, op, heads):
    return x.new_empty((columns.shape[0], heads if op == c.TAMIS_PAIR_DOT else x.shape[1]))


def _edge_op_backward_fake(grad, index, columns, x, y, rows, cols, coo, op, heads, width, wanted):
    return (grad.new_empty((rows, heads * width) if wanted[0] else (0,)), grad.new_empty((cols, heads * width) if wanted[1] else (0,)))


# ------------------------------------------------------------------------------ gradients and registration


def _keep_message(ctx: Any, inputs: tuple, output: tuple) -> None:
    index, columns, x, e, *numbers = inputs
    ctx.mark_non_differentiable(output[1])
    read = numbers[3] in READ_BACK
    ctx.save_for_backward(index, columns, x if read else None, e if read else None, output[1])
    ctx.numbers = numbers
    ctx.set_materialize_grads(False)


def _back_message(ctx: Any, grad: Optional[Tensor], _: Any) -> tuple:
    need = ctx.needs_input_grad[2:4]
    none = (None,) * 7
    if grad is None:
        return (None, None, None, None, *none)
    dx, de = torch.ops.tamis.message_backward(grad, *ctx.saved_tensors, *ctx.numbers, list(need))
    return (None, None, dx if need[0] else None, de if need[1] else None, *none)


def _keep_edge_op(ctx: Any, inputs: tuple, output: Tensor) -> None:
    index, columns, x, y, *numbers = inputs
    multiplies = numbers[3] in MULTIPLIES
    ctx.save_for_backward(index, columns, x if multiplies else None, y if multiplies else None)
    ctx.numbers, ctx.width = numbers, x.shape[1] // max(numbers[4], 1)
    ctx.set_materialize_grads(False)


def _back_edge_op(ctx: Any, grad: Optional[Tensor]) -> tuple:
    need = ctx.needs_input_grad[2:4]
    if grad is None:
        return (None,) * 9
    dx, dy = torch.ops.tamis.edge_op_backward(grad, *ctx.saved_tensors, *ctx.numbers, ctx.width, list(need))
    return (None, None, dx if need[0] else None, dy if need[1] else None, *(None,) * 5)


_WHERE = "SymInt rows, SymInt cols, bool coo"
_OPERATORS = {
    "message": (f"(Tensor index, Tensor columns, Tensor? x, Tensor? e, {_WHERE}, int op, int reduce, int data, SymInt heads) -> (Tensor, Tensor)",
                _message, _message_fake, _back_message, _keep_message),
    "message_backward": (f"(Tensor grad, Tensor index, Tensor columns, Tensor? x, Tensor? e, Tensor argument, {_WHERE}, int op, int reduce, int data,"
                         " SymInt heads, bool[2] wanted) -> (Tensor, Tensor)",
                         _message_backward, _message_backward_fake, _graph_formulas.message, _graph_formulas.keep),
    "edge_op": (f"(Tensor index, Tensor columns, Tensor x, Tensor y, {_WHERE}, int op, SymInt heads) -> Tensor",
                _edge_op, _edge_op_fake, _back_edge_op, _keep_edge_op),
    "edge_op_backward": (f"(Tensor grad, Tensor index, Tensor columns, Tensor? x, Tensor? y, {_WHERE}, int op, SymInt heads, SymInt width,"
                         " bool[2] wanted) -> (Tensor, Tensor)",
                         _edge_op_backward, _edge_op_backward_fake, _graph_formulas.edge_op, _graph_formulas.keep),
}


def register(operators: dict[str, tuple]) -> None:
    if not _ops.REGISTERED:
        return
    for name, row in operators.items():
        _ops.add(name, *row, getattr(_graph_vmap, name))


register(_OPERATORS)


# ------------------------------------------------------------------------------ calls without the dispatcher The
# dispatcher takes half the time of a small call. `plain` tests if a call can do without it.


class _MessageRecorded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pattern: Pattern, numbers: tuple, x: Optional[Tensor], e: Optional[Tensor]) -> Tensor:
        ctx.known = pattern._current()
        out, argument = _run_message(_graph_of(ctx.known, pattern.columns), pattern.rows, pattern.columns, x, e, *numbers, True)
        read = numbers[0] in READ_BACK
        ctx.save_for_backward(x if read else None, e if read else None, argument)
        ctx.pattern, ctx.numbers = pattern, numbers
        ctx.set_materialize_grads(False)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Optional[Tensor]) -> Any:
        if grad is None:
            return (None,) * 4
        pattern, numbers, wanted = ctx.pattern, ctx.numbers, list(ctx.needs_input_grad[2:])
        known = pattern._still(ctx.known)
        x, e, argument = ctx.saved_tensors
        if _ops.again() or not plain((grad, x, e)) or _batched(grad):
            if argument is None:
                argument = grad.new_empty((0,), dtype=torch.int32)
            found = torch.ops.tamis.message_backward(grad, pattern.index, pattern.columns, x, e, argument, pattern.rows, pattern.cols, pattern.coo,
                                                     *numbers, wanted)
            return (None, None, *_wanted(found, wanted))
        grad, width = grad.contiguous(), grad.shape[1]
        dx = grad.new_empty((pattern.cols, width)) if wanted[0] else None
        de = grad.new_empty((pattern.nnz, _edge_columns(numbers[2], numbers[3], width))) if wanted[1] else None
        _run_message_backward(_graph_of(known, pattern.columns), grad, x, e, argument, dx, de, *numbers)
        return None, None, dx, de


class _EdgeOpRecorded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pattern: Pattern, numbers: tuple, x: Tensor, y: Tensor) -> Tensor:
        out = _edge_op_fake(pattern.index, pattern.columns, x, y, pattern.rows, pattern.cols, pattern.coo, *numbers)
        ctx.known = pattern._current()
        _run_edge_op(_graph_of(ctx.known, pattern.columns), x, y, out, *numbers)
        multiplies = numbers[0] in MULTIPLIES
        ctx.save_for_backward(x if multiplies else None, y if multiplies else None)
        ctx.pattern, ctx.numbers = pattern, (*numbers, _width(x, numbers[1]))
        ctx.set_materialize_grads(False)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Optional[Tensor]) -> Any:
        if grad is None:
            return (None,) * 4
        pattern, numbers, wanted = ctx.pattern, ctx.numbers, list(ctx.needs_input_grad[2:])
        known = pattern._still(ctx.known)
        x, y = ctx.saved_tensors
        where = (pattern.index, pattern.columns, x, y, pattern.rows, pattern.cols, pattern.coo)
        if _ops.again() or not plain((grad, x, y)) or _batched(grad):
            found = torch.ops.tamis.edge_op_backward(grad, *where, *numbers, wanted)
        else:
            grad = grad.contiguous()
            found = _edge_op_backward_fake(grad, *where, *numbers, wanted)
            _run_edge_op_backward(_graph_of(known, pattern.columns), grad, x, y, *_wanted(found, wanted), *numbers)
        return (None, None, *_wanted(found, wanted))


def _records(*tensors: Optional[Tensor]) -> bool:
    return torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors)


def _message_called(direct: bool, pattern: Pattern, numbers: tuple, x: Optional[Tensor], e: Optional[Tensor]) -> Tensor:
    if not direct:
        return torch.ops.tamis.message(pattern.index, pattern.columns, x, e, pattern.rows, pattern.cols, pattern.coo, *numbers)[0]
    if _records(x, e):
        return _MessageRecorded.apply(pattern, numbers, x, e)
    return _run_message(_graph_of(pattern._current(), pattern.columns), pattern.rows, pattern.columns, x, e, *numbers, False)[0]


def _edge_op_called(direct: bool, pattern: Pattern, numbers: tuple, x: Tensor, y: Tensor) -> Tensor:
    if not direct:
        return torch.ops.tamis.edge_op(pattern.index, pattern.columns, x, y, pattern.rows, pattern.cols, pattern.coo, *numbers)
    if _records(x, y):
        return _EdgeOpRecorded.apply(pattern, numbers, x, y)
    return _edge_op(pattern.index, pattern.columns, x, y, pattern.rows, pattern.cols, pattern.coo, *numbers)


# ------------------------------------------------------------------------------ calls


def _number(name: str, value: Any, numbers: dict[str, int]) -> int:
    if value not in numbers:
        raise _errors.ArgumentError(f"{name} = {value!r}: expected one of {', '.join(map(repr, numbers))}")
    return numbers[value]


def _check(pattern: Any, **tensors: Any) -> None:
    if not _ops.REGISTERED:
        raise NotImplementedError("message passing needs PyTorch 2.4 or newer")
    if not isinstance(pattern, Pattern):
        raise TypeError(f"pattern is a {type(pattern).__name__}: expected a tamis.torch.Pattern, for instance of Pattern.from_edge_index")
    first: Optional[Tensor] = None
    for name, x in tensors.items():
        if x is None:
            continue
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} is a {type(x).__name__}: expected a tensor, for instance torch.as_tensor({name})")
        if x.device != pattern.device and not x.is_meta:
            raise _errors.ArgumentError(f"{name} is on {x.device} and the pattern on {pattern.device}: move one, for instance by {name}.to({str(pattern.device)!r})")
        if first is not None and x.dtype != first.dtype:
            raise _errors.ArgumentError(f"{name} is {x.dtype} and x {first.dtype}: convert one, for instance by {name}.to({first.dtype})")
        first = x if first is None else first


def _matrix(x: Tensor, name: str, rows: Any, what: str) -> Tensor:
    """Return a matrix with a row for each node or edge: (rows, width) unchanged, (rows, heads, width) with the heads side by side."""
    if x.dim() not in (2, 3) or x.shape[0] != rows:
        raise _errors.ArgumentError(f"{name} has shape {tuple(x.shape)}: expected ({rows}, width) or ({rows}, heads, width), a row for each {what}")
    return x if x.dim() == 2 else x.flatten(1)


def nothing(shape: tuple, *given: Optional[Tensor]) -> Tensor:
    """Return a result without elements, for operands without heads, with their gradients."""
    there = [x.sum() for x in given if x is not None]
    return sum(there[1:], there[0]).to(there[0].dtype).expand(shape)


def _edges(e: Tensor, x: Optional[Tensor], nnz: Any) -> tuple[Tensor, int]:
    """Return e as a matrix, and the kind of its edge data."""
    if x is None:
        return _matrix(e.unsqueeze(1) if e.dim() == 1 else e, "e", nnz, "edge"), c.TAMIS_E_VECTOR
    if e.shape[:1] == (nnz,):
        if e.dim() == 1:
            return e.unsqueeze(1), c.TAMIS_E_NUMBER
        if e.shape == (nnz, *x.shape[1:]):
            return (e if e.dim() == 2 else e.flatten(1)), c.TAMIS_E_VECTOR
        if x.dim() == 3 and tuple(e.shape) in ((nnz, x.shape[1]), (nnz, x.shape[1], 1)):
            return e.reshape(nnz, x.shape[1]), c.TAMIS_E_HEAD
        if x.dim() == 2 and e.shape == (nnz, 1):
            return e, c.TAMIS_E_NUMBER
    heads = f", ({nnz}, {x.shape[1]}), a number for each head," if x.dim() == 3 else ""
    raise _errors.ArgumentError(f"e has shape {tuple(e.shape)}: expected ({nnz},){heads} or {(nnz, *x.shape[1:])}, since x has shape {tuple(x.shape)}")


def message(pattern: Pattern, op: str, x: Optional[Tensor], e: Optional[Tensor] = None, reduce: str = "sum") -> Tensor:
    """Messages over the edges of a graph, reduced for each node: out[i] = reduce of op(x[j], e[t]) over the entries t = (i, j) of row i.

    op: "copy_u", the row of x; "add", "sub", "mul", with e; "add_relu", relu(x + e); "copy_e", e alone, where x is None. reduce: "sum", "mean", "max", "min".
    x: (cols, width) or (cols, heads, width). e: a number for each edge (nnz,), a number for each head (nnz, heads), or as much as x
    has for a node, in the pattern's order. The messages are not stored. A view whose rows do not lie in one piece each is copied in each call, unless
    the copy would be larger than all operands together, as of an expanded view.
    Returns (rows, width) or (rows, heads, width); a row without entries gives 0. Of equal messages max and min take the first, and NaN
    before numbers. Gradients to x and e, the same bits each time. Errors as in `sddmm`.

    >>> import torch, tamis.torch
    >>> graph = tamis.torch.Pattern.from_edge_index(torch.tensor([[0, 1, 2], [1, 1, 0]]), num_nodes=3)
    >>> x = torch.tensor([[1., 10.], [2., -20.], [3., 30.]])
    >>> tamis.torch.message(graph, "copy_u", x, reduce="max")
    tensor([[ 3., 30.],
            [ 2., 10.],
            [ 0.,  0.]])
    """
    number, how = _number("op", op, OPS), _number("reduce", reduce, REDUCES)
    direct = plain((x, e))
    if not direct:
        x, e = _cast.operands(x, e)
    _check(pattern, x=x, e=e)
    if (x is None) != (op == "copy_e"):
        raise _errors.ArgumentError(f"x is {'None' if x is None else 'given'}: {op} {'does not read it, expected None' if x is not None else 'reads it'}")
    if (e is None) != (op == "copy_u"):
        raise _errors.ArgumentError(f"e is {'None' if e is None else 'given'}: {op} {'does not read it, expected None' if e is not None else 'reads it'}")
    like = e if x is None else x
    assert like is not None
    heads = like.shape[1] if like.dim() == 3 else 1
    rows = None if x is None else _matrix(x, "x", pattern.cols, "node at the other end, a column of the pattern")
    edges, data = (None, c.TAMIS_E_NONE) if e is None else _edges(e, x, pattern.nnz)
    if heads == 0:
        return nothing((pattern.rows, *like.shape[1:]), x, e)
    out = _message_called(direct, pattern, (number, how, data, heads), rows, edges)
    return out if like.dim() == 2 else out.reshape(pattern.rows, *like.shape[1:])  # autograd would record this


def edge_op(pattern: Pattern, op: str, x: Tensor, y: Tensor) -> Tensor:
    """A row for each edge from the rows of its two ends: out[t] = x[i] op y[j] for the entry t = (i, j).

    op: "add", "sub", "mul", or "dot" for the inner product. x: (rows, width) or (rows, heads, width); y: the same with cols.
    Returns (nnz, width) or (nnz, heads, width) in the pattern's order, with "dot" (nnz,) or (nnz, heads). Gradients to x and y, the same
    bits each time. Errors as in `sddmm`.

    >>> import torch, tamis.torch
    >>> graph = tamis.torch.Pattern.from_edge_index(torch.tensor([[0, 1, 2], [1, 1, 0]]), num_nodes=3)
    >>> x = torch.tensor([[1., 10.], [2., 20.], [3., 30.]])
    >>> tamis.torch.edge_op(graph, "sub", x, x)
    tensor([[  1.,  10.],
            [  0.,   0.],
            [ -2., -20.]])
    """
    direct = plain((x, y))
    if not direct:
        x, y = _cast.operands(x, y)
    return edge_op_as_given(pattern, op, x, y, direct)


def edge_op_as_given(pattern: Pattern, op: str, x: Tensor, y: Tensor, direct: bool = False) -> Tensor:
    """edge_op in the type of its operands, regardless of autocast. direct: the call needs at most autograd."""
    number = _number("op", op, PAIRS)
    _check(pattern, x=x, y=y)
    rows = _matrix(x, "x", pattern.rows, "row of the pattern")
    cols = _matrix(y, "y", pattern.cols, "column of the pattern")
    if x.shape[1:] != y.shape[1:]:
        raise _errors.ArgumentError(f"x has shape {tuple(x.shape)} and y {tuple(y.shape)}: expected the same heads and width")
    heads = x.shape[1] if x.dim() == 3 else 1
    if heads == 0:
        return nothing((pattern.nnz, *x.shape[1:2 if op == "dot" else 3]), x, y)
    out = _edge_op_called(direct, pattern, (number, heads), rows, cols)
    if op == "dot":
        return out if x.dim() == 3 else out.squeeze(1)
    return out if x.dim() == 2 else out.reshape(pattern.nnz, *x.shape[1:])
