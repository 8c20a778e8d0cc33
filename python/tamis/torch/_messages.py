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
from . import _cast, _formulas, _vmap
from ._direct import REGISTERED, plain
from ._formulas import EXTREME, MULTIPLIES
from ._ops import Operator
from ._pattern import Pattern
from ._room import room

OPS = {"copy_u": c.TAMIS_MESSAGE_COPY_U, "add": c.TAMIS_MESSAGE_ADD, "sub": c.TAMIS_MESSAGE_SUB, "mul": c.TAMIS_MESSAGE_MUL,
       "copy_e": c.TAMIS_MESSAGE_COPY_E, "add_relu": c.TAMIS_MESSAGE_ADD_RELU}
REDUCES = {"sum": c.TAMIS_REDUCE_SUM, "mean": c.TAMIS_REDUCE_MEAN, "max": c.TAMIS_REDUCE_MAX, "min": c.TAMIS_REDUCE_MIN}
PAIRS = {"add": c.TAMIS_PAIR_ADD, "sub": c.TAMIS_PAIR_SUB, "mul": c.TAMIS_PAIR_MUL, "dot": c.TAMIS_PAIR_DOT}
READ_BACK = (c.TAMIS_MESSAGE_MUL, c.TAMIS_MESSAGE_ADD_RELU)  # operations whose gradients read x and e


# ------------------------------------------------------------------------------ calls of the library


_forward, _backward = of_addresses("tamis_message_pass", 7), of_addresses("tamis_message_backward", 9)
_edges_forward, _edges_backward = of_addresses("tamis_edge_vectors", 6), of_addresses("tamis_edge_vectors_backward", 8)


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
    kind = _TYPES.get(x.dtype)
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


def _address(view: Any) -> Optional[int]:
    return None if view is None else addressof(view)


@functools.lru_cache(maxsize=1024)
def _message_options(op: int, reduce: int, data: int, heads: int, columns: int, dtype: Any, argument: Any) -> Any:
    return c.tamis_message_options(op=op, reduce=reduce, edge_data=data, type=_TYPES.get(dtype, 0), heads=heads, width=columns // max(heads, 1),
                                   argument_type=c.TAMIS_I64 if argument is torch.int64 else c.TAMIS_I32)


@functools.lru_cache(maxsize=1024)
def _pair_options(op: int, heads: int, width: int, dtype: Any) -> Any:
    return c.tamis_pair_options(op=op, type=_TYPES.get(dtype, 0), heads=heads, width=width)


def arguments_of(like: Tensor, of: Any, width: Any) -> Tensor:
    """Allocate the entries that max and min select."""
    return like.new_empty((of.shape[0], width), dtype=torch.int64 if type(of.nnz) is int and of.nnz > 2**31 else torch.int32)


def call_library(function: Any, graph: Owned, like: Tensor, options: Any, *arguments: Any) -> None:
    """Call a function of the library on a graph: structures are passed as addresses, and the caller holds them."""
    status = function(graph.value, addressof(options), *arguments, Torch.stream(like))
    if status:
        must(status)


# ------------------------------------------------------------------------------ operators


class Message(Operator):
    name, operands, numbers = "message", "Tensor? x, Tensor? e", "int op, int reduce, int data, SymInt heads"
    saved, gradients, nothing = "Tensor? x, Tensor? e, Tensor argument", (0, 1), torch.int32
    rule, derivative = _vmap.of_graphs, staticmethod(_formulas.message)

    def run(self, of: Any, operands: tuple, numbers: Any, keep: bool) -> tuple:
        (x, e), (op, reduce, data, heads) = operands, numbers
        out, argument = self.empty(of, operands, numbers, keep)
        room(out, argument)
        call, like = (x, e, out), e if x is None else x
        views = _described(x, "x", call, of), _described(e, "e", call, of), _described(out, "out")
        options = _message_options(op, reduce, data, heads, like.shape[1], like.dtype, None if argument is None else argument.dtype)
        call_library(_forward, _graph(of, like), like, options, *map(_address, views), None if argument is None else argument.data_ptr())
        return out, argument

    def empty(self, of: Any, operands: tuple, numbers: tuple, keep: bool) -> tuple:
        like = operands[1] if operands[0] is None else operands[0]
        width = like.shape[1]
        return like.new_empty((of.shape[0], width)), arguments_of(like, of, width) if keep and numbers[1] in EXTREME else None

    def save(self, operands: tuple, results: tuple, numbers: Any) -> tuple[tuple, Any, int]:
        return (*(operands if numbers[0] in READ_BACK else (None, None)), results[1]), numbers, 0

    def back(self, of: Any, grad: Tensor, saved: Any, numbers: Any, wanted: list[bool], *late: Any) -> Any:
        (x, e, argument), (op, reduce, data, heads) = saved, numbers
        grad = grad.contiguous()  # a sum's gradient is one number at every place
        dx, de = self.back_empty(of, grad, saved, numbers, wanted)
        room(dx, de)
        call = grad, x, e, dx, de
        views = _described(grad, "grad"), _described(x, "x", call), _described(e, "e", call), _described(dx, "dx"), _described(de, "de")
        options = _message_options(op, reduce, data, heads, grad.shape[1], grad.dtype, None if argument is None else argument.dtype)
        taken = None if argument is None or reduce not in EXTREME else argument.data_ptr()
        call_library(_backward, _graph(of, grad), grad, options, *map(_address, views[:3]), taken, *map(_address, views[3:]))
        return dx, de

    def back_empty(self, of: Any, grad: Tensor, saved: Any, numbers: tuple, wanted: list[bool]) -> Any:
        width, (_, _, data, heads) = grad.shape[1], numbers
        each = width if data == c.TAMIS_E_VECTOR else heads if data == c.TAMIS_E_HEAD else 1  # numbers of an edge
        return grad.new_empty((of.shape[1], width)) if wanted[0] else None, grad.new_empty((of.nnz, each)) if wanted[1] else None


class EdgeOp(Operator):
    name, operands, numbers, results = "edge_op", "Tensor x, Tensor y", "int op, SymInt heads", 1
    saved, numbers_of_gradient, gradients = "Tensor? x, Tensor? y", "int op, SymInt heads, SymInt width", (0, 1)
    rule, derivative = _vmap.of_graphs, staticmethod(_formulas.edge_op)

    def run(self, of: Any, operands: tuple, numbers: Any, keep: bool) -> tuple:
        (x, y), (op, heads), (out,) = operands, numbers, self.empty(of, operands, numbers, keep)
        room(out)
        call = x, y, out
        views = _described(x, "x", call), _described(y, "y", call), _described(out, "out")
        call_library(_edges_forward, _graph(of, x), x, _pair_options(op, heads, x.shape[1] // max(heads, 1), x.dtype), *map(_address, views))
        return (out,)

    def empty(self, of: Any, operands: tuple, numbers: tuple, keep: bool) -> tuple:
        x, (op, heads) = operands[0], numbers
        return (x.new_empty((of.nnz, heads if op == c.TAMIS_PAIR_DOT else x.shape[1])),)

    def save(self, operands: tuple, results: tuple, numbers: Any) -> tuple[tuple, Any, int]:
        return operands if numbers[0] in MULTIPLIES else (None, None), (*numbers, operands[0].shape[1] // max(numbers[1], 1)), 0

    def back(self, of: Any, grad: Tensor, saved: Any, numbers: Any, wanted: list[bool], *late: Any) -> Any:
        (x, y), (op, heads, width), grad = saved, numbers, grad.contiguous()
        dx, dy = self.back_empty(of, grad, saved, numbers, wanted)
        room(dx, dy)
        call = grad, x, y, dx, dy
        views = _described(grad, "grad"), _described(x, "x", call), _described(y, "y", call), _described(dx, "dx"), _described(dy, "dy")
        call_library(_edges_backward, _graph(of, grad), grad, _pair_options(op, heads, width, grad.dtype), *map(_address, views))
        return dx, dy

    def back_empty(self, of: Any, grad: Tensor, saved: Any, numbers: tuple, wanted: list[bool]) -> Any:
        return tuple(grad.new_empty((length, numbers[1] * numbers[2])) if wants else None for length, wants in zip(of.shape, wanted))


MESSAGE, EDGE_OP = Message(), EdgeOp()


# ------------------------------------------------------------------------------ calls


def _number(name: str, value: Any, numbers: dict[str, int]) -> int:
    if value not in numbers:
        raise _errors.ArgumentError(f"{name} = {value!r}: expected one of {', '.join(map(repr, numbers))}")
    return numbers[value]


def _check(pattern: Any, **tensors: Any) -> None:
    if not REGISTERED:
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

    >>> graph = Pattern.from_edge_index(torch.tensor([[0, 1, 2], [1, 1, 0]]), num_nodes=3)
    >>> x = torch.tensor([[1., 10.], [2., -20.], [3., 30.]])
    >>> message(graph, "copy_u", x, reduce="max")
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
    out = MESSAGE.called(direct, pattern, (number, how, data, heads), rows, edges)
    return out if like.dim() == 2 else out.reshape(pattern.rows, *like.shape[1:])  # autograd would record this


def edge_op(pattern: Pattern, op: str, x: Tensor, y: Tensor) -> Tensor:
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
    out = EDGE_OP.called(direct, pattern, (number, heads), rows, cols)
    if op == "dot":
        return out if x.dim() == 3 else out.squeeze(1)
    return out if x.dim() == 2 else out.reshape(pattern.nnz, *x.shape[1:])
