"""Attention on graphs with vectors on edges, and operations on the entries of a row. Operators of PyTorch."""
from __future__ import annotations

from ctypes import byref, c_size_t, pointer
from typing import Any, Optional

import torch
from torch import Tensor

from .. import _declarations as c
from .. import _errors
from .._kinds import Torch
from .._library import lib, must
from .._views import fits, torch_view
from . import _cast, _graph_formulas
from ._messages import _arguments, _check, _described, _graph, _matrix, _number, _view, _width, _WHERE, nothing, register
from ._pattern import Pattern
from ._room import room

SEGMENTS = {"softmax": c.TAMIS_SEGMENT_SOFTMAX, "sum": c.TAMIS_SEGMENT_SUM, "mean": c.TAMIS_SEGMENT_MEAN, "max": c.TAMIS_SEGMENT_MAX,
            "min": c.TAMIS_SEGMENT_MIN}
REDUCES = {name: number for name, number in SEGMENTS.items() if name != "softmax"}
ORDERS = {"given": c.TAMIS_ENTRIES_AS_GIVEN, "rows": c.TAMIS_ENTRIES_BY_ROW, "columns": c.TAMIS_ENTRIES_BY_COLUMN}
EXTREME = (c.TAMIS_SEGMENT_MAX, c.TAMIS_SEGMENT_MIN)


# ------------------------------------------------------------------------------ attention: kernels


def _options(q: Tensor, heads: int, scale: float) -> Any:
    return byref(c.tamis_graph_attention_options(type=torch_view(q, "q").type, heads=heads, width=_width(q, heads), scale=scale))


class _Matrices:
    """The structure of a call's matrices; keeps the referenced objects alive."""

    def __init__(self, *more: Tensor, **given: Optional[Tensor]):
        call = *more, *given.values()
        self.struct = c.tamis_graph_attention_matrices(**{name: pointer(_described(x, name, call)) for name, x in given.items() if x is not None})


def _sums_type(q: Tensor) -> torch.dtype:
    return torch.float64 if q.dtype == torch.float64 else torch.float32


def _attend(index: Tensor, columns: Tensor, q: Tensor, k: Tensor, v: Tensor, e: Optional[Tensor], b: Optional[Tensor], rows: int, cols: int, coo: bool,
            heads: int, scale: float) -> tuple[Tensor, Tensor]:
    graph = _graph(index, columns, rows, cols, coo)
    out, log_sums = _attend_fake(index, columns, q, k, v, e, b, rows, cols, coo, heads, scale)
    room(out)
    given = _Matrices(out, columns, columns, Q=q, K=k, V=v, E=e, B=b)
    must(lib.tamis_graph_attention(graph.value, _options(q, heads, scale), byref(given.struct), _view(out, "out"), _view(log_sums, "log_sums"),
                                   Torch.stream(q)))
    return out, log_sums


def _attend_backward(grad: Tensor, index: Tensor, columns: Tensor, q: Tensor, k: Tensor, v: Tensor, e: Optional[Tensor], b: Optional[Tensor],
                     out: Tensor, log_sums: Tensor, rows: int, cols: int, coo: bool, heads: int, scale: float,
                     wanted: list[bool]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    graph = _graph(index, columns, rows, cols, coo)
    grad = grad.contiguous()
    made = _attend_backward_fake(grad, index, columns, q, k, v, e, b, out, log_sums, rows, cols, coo, heads, scale, wanted)
    given, to = _Matrices(out, columns, columns, *made, Q=q, K=k, V=v, E=e, B=b), _Matrices(**{name: x if want else None for name, x, want in zip("QKVEB", made, wanted)})
    options, size = _options(q, heads, scale), c_size_t()
    must(lib.tamis_graph_attention_workspace_size(graph.value, options, byref(size)))
    workspace = grad.new_empty(size.value if wanted[1] or wanted[2] else 0, dtype=torch.uint8)
    room(*made, workspace)
    must(lib.tamis_graph_attention_backward(graph.value, options, byref(given.struct), _view(grad, "grad"), _view(out, "out"),
                                            _view(log_sums, "log_sums"), byref(to.struct), workspace.data_ptr() or None, Torch.stream(grad)))
    return made


# ------------------------------------------------------------------------------ segments: kernels


def _places_view(x: Optional[Tensor], name: str, *more: Tensor) -> Any:
    """Return a view of either layout."""
    return None if x is None else byref(_described(x, name, (x, *more), True))


def _segment_options(op: int, order: int, x: Tensor, heads: int, argument: Tensor) -> Any:
    return byref(c.tamis_segment_options(op=op, order=order, type=torch_view(x, "values").type, heads=heads,
                                         argument_type=c.TAMIS_I64 if argument.dtype == torch.int64 else c.TAMIS_I32))


def _segment_graph(index: Tensor, columns: Tensor, rows: int, cols: int, coo: bool, order: int) -> Any:
    try:
        return _graph(index, columns, rows, cols, coo, order == c.TAMIS_ENTRIES_BY_COLUMN)
    except _errors.UnsupportedError as error:
        raise _errors.renamed(error, {"column_places = true": "order = 'columns'", "expected false": "expected 'given' or 'rows'"}) from None


def _segment(index: Tensor, columns: Tensor, x: Tensor, rows: int, cols: int, coo: bool, op: int, order: int) -> tuple[Tensor, Tensor]:
    graph = _segment_graph(index, columns, rows, cols, coo, order)
    out, argument = _segment_fake(index, columns, x, rows, cols, coo, op, order)
    room(out, argument)
    must(lib.tamis_segment(graph.value, _segment_options(op, order, x, x.shape[1], argument), _places_view(x, "values", out, columns, columns),
                           _places_view(out, "out"), argument.data_ptr() or None, Torch.stream(x)))
    return out, argument


def _segment_backward(grad: Tensor, index: Tensor, columns: Tensor, y: Optional[Tensor], argument: Tensor, rows: int, cols: int, coo: bool, op: int,
                      order: int) -> Tensor:
    graph = _segment_graph(index, columns, rows, cols, coo, order)
    grad = grad if fits(grad.shape, grad.stride()) else grad.contiguous()  # a sum's gradient is one number at every place
    dx = _segment_backward_fake(grad, index, columns, y, argument, rows, cols, coo, op, order)
    room(dx)
    must(lib.tamis_segment_backward(graph.value, _segment_options(op, order, grad, grad.shape[1], argument), _places_view(grad, "grad"),
                                    _places_view(y, "y"), argument.data_ptr() or None, _places_view(dx, "dx"), Torch.stream(grad)))
    return dx


# ------------------------------------------------------------------------------ shapes without content


def _attend_fake(index, columns, q, k, v, e, b, rows, cols, coo, heads, scale):
    return q.new_empty(q.shape), q.new_empty((rows, heads), dtype=_sums_type(q))


def _attend_backward_fake(grad, index, columns, q, k, v, e, b, out, log_sums, rows, cols, coo, heads, scale, wanted):
    """Return shapes and types; an empty tensor stands for an unwanted gradient."""
    return tuple(q.new_empty(x.shape if want else (0,)) for x, want in zip((q, k, v, e, b), wanted))


def _segment_fake(index, columns, x, rows, cols, coo, op, order):
    argument = columns.new_empty((0,), dtype=torch.int32) if op not in EXTREME else _arguments(c.TAMIS_REDUCE_MAX, columns, rows, x.shape[1])
    return (torch.empty_like(x) if op == c.TAMIS_SEGMENT_SOFTMAX else x.new_empty((rows, x.shape[1]))), argument


def _segment_backward_fake(grad, index, columns, y, argument, rows, cols, coo, op, order):
    return torch.empty_like(y) if y is not None else grad.new_empty((columns.shape[0], grad.shape[1]))


# ------------------------------------------------------------------------------ gradients and registration


def _keep_attend(ctx: Any, inputs: tuple, output: tuple) -> None:
    *tensors, rows, cols, coo, heads, scale = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(*tensors, *output)
    ctx.numbers = rows, cols, coo, heads, scale
    ctx.set_materialize_grads(False)


def _back_attend(ctx: Any, grad: Optional[Tensor], _: Any) -> tuple:
    need = list(ctx.needs_input_grad[2:7])
    if grad is None:
        return (None,) * 12
    made = torch.ops.tamis.graph_attention_backward(grad, *ctx.saved_tensors, *ctx.numbers, need)
    return (None, None, *(x if want else None for x, want in zip(made, need)), *(None,) * 5)


def _keep_segment(ctx: Any, inputs: tuple, output: tuple) -> None:
    index, columns, _, *numbers = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(index, columns, output[0] if numbers[3] == c.TAMIS_SEGMENT_SOFTMAX else None, output[1])
    ctx.numbers = numbers
    ctx.set_materialize_grads(False)


def _back_segment(ctx: Any, grad: Optional[Tensor], _: Any) -> tuple:
    if grad is None:
        return (None,) * 8
    return (None, None, torch.ops.tamis.segment_backward(grad, *ctx.saved_tensors, *ctx.numbers), *(None,) * 5)


_OPERATORS = {
    "graph_attention": (f"(Tensor index, Tensor columns, Tensor q, Tensor k, Tensor v, Tensor? e, Tensor? b, {_WHERE}, SymInt heads, float scale)"
                        " -> (Tensor, Tensor)",
                        _attend, _attend_fake, _back_attend, _keep_attend),
    "graph_attention_backward": ("(Tensor grad, Tensor index, Tensor columns, Tensor q, Tensor k, Tensor v, Tensor? e, Tensor? b, Tensor out,"
                                 f" Tensor log_sums, {_WHERE}, SymInt heads, float scale, bool[5] wanted) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
                                 _attend_backward, _attend_backward_fake, _graph_formulas.graph_attention, _graph_formulas.keep),
    "segment": (f"(Tensor index, Tensor columns, Tensor x, {_WHERE}, int op, int order) -> (Tensor, Tensor)",
                _segment, _segment_fake, _back_segment, _keep_segment),
    "segment_backward": (f"(Tensor grad, Tensor index, Tensor columns, Tensor? y, Tensor argument, {_WHERE}, int op, int order) -> Tensor",
                         _segment_backward, _segment_backward_fake, _graph_formulas.segment, _graph_formulas.keep),
}
register(_OPERATORS)


# ------------------------------------------------------------------------------ calls


def graph_attention(pattern: Pattern, q: Tensor, k: Tensor, v: Tensor, e: Optional[Tensor] = None, bias: Optional[Tensor] = None,
                    scale: Optional[float] = None) -> Tensor:
    """Attention of each node over its edges, with vectors on the edges: the layer of graph transformers.

    For the entries t = (i, j) of row i, out[i] is the sum of p[t] (v[j] + e[t]), where p is the softmax over the row of
    scale <q[i], k[j] + e[t]> + bias[t]; all for each head.
    q: (rows, width) or (rows, heads, width); k, v: the same with cols; e: the same with nnz, in the pattern's order. bias: (nnz,), or
    (nnz, heads). scale: 1 / sqrt(width) if it is None. No array of e's size is made, except e's gradient.
    Returns what q's shape is; a row without entries gives 0. A bias of -inf leaves an edge out; a row of nothing else gives 0. Gradients to all of them but scale, the same bits each
    time. Errors as in `sddmm`.

    >>> import torch, tamis.torch
    >>> graph = tamis.torch.Pattern.from_edge_index(torch.tensor([[0, 1, 2], [1, 1, 0]]), num_nodes=3)
    >>> x = torch.tensor([[1., 0.], [0., 1.], [1., 1.]])
    >>> tamis.torch.graph_attention(graph, x, x, x, e=torch.tensor([[0., 1.], [1., 0.], [0., 0.]]))
    tensor([[1., 1.],
            [1., 1.],
            [0., 0.]])
    """
    q, k, v, e, bias = _cast.operands(q, k, v, e, bias)
    _check(pattern, q=q, k=k, v=v, e=e, bias=bias)
    heads = q.shape[1] if q.dim() == 3 else 1
    matrices = [_matrix(q, "q", pattern.rows, "row of the pattern"), _matrix(k, "k", pattern.cols, "column of the pattern"),
                _matrix(v, "v", pattern.cols, "column of the pattern")]
    edges = None if e is None else _matrix(e, "e", pattern.nnz, "edge")
    for name, x in (("k", k), ("v", v), ("e", e)):
        if x is not None and x.shape[1:] != q.shape[1:]:
            raise _errors.ArgumentError(f"{name} has shape {tuple(x.shape)} and q {tuple(q.shape)}: expected the same heads and width")
    if bias is not None:
        if tuple(bias.shape) not in ((pattern.nnz,), (pattern.nnz, heads)):
            raise _errors.ArgumentError(f"bias has shape {tuple(bias.shape)}: expected ({pattern.nnz},) or ({pattern.nnz}, {heads})")
        bias = (bias.unsqueeze(1) if bias.dim() == 1 else bias).expand(pattern.nnz, heads).contiguous()
    if heads == 0:
        return nothing(q.shape, q, k, v, e, bias)
    if scale is None:
        scale = max(q.shape[-1], 1) ** -0.5
    out = torch.ops.tamis.graph_attention(pattern.index, pattern.columns, *matrices, edges, bias, pattern.rows, pattern.cols, pattern.coo, heads,
                                          float(scale))[0]
    return out.reshape(q.shape)


def _run_segments(pattern: Pattern, values: Tensor, op: int, order: str, dim: int) -> Tensor:
    """Reshape values to a matrix with a row for each entry, of either layout, and the result back."""
    where = _number("order", order, ORDERS)
    if op == c.TAMIS_SEGMENT_SOFTMAX:
        values, = _cast.operands(values, wide=True)
    _check(pattern, values=values)
    if dim not in (0, -1):
        raise _errors.ArgumentError(f"dim = {dim!r}: expected 0, a row for each entry, or -1, the entries of a head side by side")
    if values.dim() == 0 or values.shape[dim] != pattern.nnz:
        raise _errors.ArgumentError(f"values has shape {tuple(values.shape)}: expected {pattern.nnz}, the pattern's entries, at dim = {dim}")
    last = dim == 0
    rest = values.shape[1:] if last else values.shape[:-1]
    heads = 1
    for n in rest:
        heads = heads * n
    if heads == 0:
        return values.new_empty(values.shape if op == c.TAMIS_SEGMENT_SOFTMAX else (pattern.rows, *rest) if last else (*rest, pattern.rows))
    x = values.reshape(pattern.nnz, heads) if last else values.reshape(heads, pattern.nnz).t()
    out = torch.ops.tamis.segment(pattern.index, pattern.columns, x, pattern.rows, pattern.cols, pattern.coo, op, where)[0]
    return out.reshape(-1, *rest) if last else out.t().reshape(*rest, -1)


def edge_softmax(pattern: Pattern, scores: Tensor, order: str = "given", dim: int = 0) -> Tensor:
    """The softmax of given scores over the entries of each row.

    scores: a number for each entry, or several, each with a softmax of its own: (nnz, ...), or with dim=-1 (..., nnz). order: that of
    the entries, "given", the pattern's; "rows", sorted by row; "columns", sorted by column, on the CPU alone; entries of a row or
    column keep the pattern's order among themselves. Returns what scores' shape is. Gradients. Errors as in `sddmm`.

    >>> import torch, tamis.torch
    >>> graph = tamis.torch.Pattern.from_edge_index(torch.tensor([[0, 1, 2], [1, 1, 0]]), num_nodes=3)
    >>> tamis.torch.edge_softmax(graph, torch.tensor([1., 1., 5.]))
    tensor([0.5000, 0.5000, 1.0000])
    """
    return _run_segments(pattern, scores, c.TAMIS_SEGMENT_SOFTMAX, order, dim)


def segment(pattern: Pattern, values: Tensor, reduce: str = "sum", order: str = "given", dim: int = 0) -> Tensor:
    """The sum, mean, maximum or minimum ("sum", "mean", "max", "min") of given values over the entries of each row.

    values, order and dim are as in `edge_softmax`. Returns (rows, ...), or with dim=-1 (..., rows); a row without entries gives 0. Max and
    min take the first of equal values, and NaN before numbers. Gradients. Errors as in `sddmm`.

    >>> import torch, tamis.torch
    >>> graph = tamis.torch.Pattern.from_edge_index(torch.tensor([[0, 1, 2], [1, 1, 0]]), num_nodes=3)
    >>> tamis.torch.segment(graph, torch.tensor([1., 3., 5.]), "mean")
    tensor([5., 2., 0.])
    """
    return _run_segments(pattern, values, _number("reduce", reduce, REDUCES), order, dim)
