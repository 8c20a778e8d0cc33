"""Attention on graphs with vectors on edges, and operations on the entries of a row. Operators of PyTorch."""
from __future__ import annotations

from ctypes import byref, c_size_t
from typing import Any, Optional

import torch
from torch import Tensor

from .. import _declarations as c
from .. import _errors
from .._library import lib, must
from .._views import fits, torch_view
from . import _direct, _formulas
from ._direct import plain
from ._formulas import SEGMENT_EXTREME
from ._messages import OfGraph, _check, _graph, _matrix, _number, arguments_of, call_library, nothing
from ._taken import PatternLike

REDUCES = {"sum": c.TAMIS_SEGMENT_SUM, "mean": c.TAMIS_SEGMENT_MEAN, "max": c.TAMIS_SEGMENT_MAX, "min": c.TAMIS_SEGMENT_MIN}
ORDERS = {"given": c.TAMIS_ENTRIES_AS_GIVEN, "rows": c.TAMIS_ENTRIES_BY_ROW, "columns": c.TAMIS_ENTRIES_BY_COLUMN}


# ------------------------------------------------------------------------------ operators


def _matrices(names: str, tensors: Any) -> Any:
    """Return the argument of a call that is the structure of its matrices."""
    return c.tamis_graph_attention_matrices, {field: name for field, name, x in zip("QKVEB", names.split(), tensors) if x is not None}


class Attend(OfGraph):
    name, operands, numbers = "graph_attention", "Tensor q, Tensor k, Tensor v, Tensor? e, Tensor? b", "SymInt heads, float scale"
    saved, gradients = f"{operands}, Tensor out, Tensor log_sums", (0, 1, 2, 3, 4)
    derivative, tangent = staticmethod(_formulas.graph_attention), staticmethod(_formulas.graph_attention_tangent)
    gradient_tangent = staticmethod(_formulas.graph_attention_gradients)

    @staticmethod
    def _options(q: Tensor, heads: int, scale: float) -> Any:
        return c.tamis_graph_attention_options(type=torch_view(q, "q").type, heads=heads, width=q.shape[1] // max(heads, 1), scale=scale)

    def first(self, of: Any, operands: tuple, numbers: Any, keep: bool, key: Any) -> tuple:
        q, (out, log_sums) = operands[0], self.empty(of, operands, numbers, keep)
        return call_library("tamis_graph_attention", of, key, _graph(of, q), self._options(q, *numbers), dict(zip("QKVEB", operands)),
                            {"out": out, "log_sums": log_sums}, (_matrices("Q K V E B", operands), "out", "log_sums"))

    def empty(self, of: Any, operands: tuple, numbers: tuple, keep: bool) -> tuple:
        q = operands[0]
        return q.new_empty(q.shape), q.new_empty((of.shape[0], numbers[0]), dtype=torch.float64 if q.dtype == torch.float64 else torch.float32)

    def save(self, operands: tuple, results: tuple, numbers: Any) -> tuple[tuple, Any, int]:
        return (*operands, *results), numbers, 0

    def first_back(self, of: Any, given: tuple, numbers: Any, wanted: list[bool], key: Any) -> Any:
        grad, *operands, out, log_sums = given
        graph, made = _graph(of, grad), self.back_empty(of, grad, given[1:], numbers, wanted)
        options, size = self._options(operands[0], *numbers), c_size_t()
        must(lib.tamis_graph_attention_workspace_size(graph.value, byref(options), byref(size)))
        workspace = grad.new_empty(size.value if wanted[1] or wanted[2] else 0, dtype=torch.uint8)
        return call_library("tamis_graph_attention_backward", of, key, graph, options,
                            {"grad": grad, **dict(zip("QKVEB", operands)), "out": out, "log_sums": log_sums},
                            {**dict(zip(("dQ", "dK", "dV", "dE", "dB"), made)), "workspace": workspace},
                            (_matrices("Q K V E B", operands), "grad", "out", "log_sums", _matrices("dQ dK dV dE dB", made), "*workspace"), len(made))

    def back_empty(self, of: Any, grad: Tensor, saved: Any, numbers: tuple, wanted: list[bool]) -> Any:
        return tuple(saved[0].new_empty(x.shape) if wants else None for x, wants in zip(saved, wanted))

    def flops(self, of: Any, operands: tuple, numbers: tuple) -> Any:
        return of.nnz * operands[0].shape[1] * (4 if operands[3] is None else 6)  # two products, and e added to k and to v

    def back_flops(self, of: Any, grad: Tensor, saved: Any, numbers: tuple, wanted: list[bool]) -> Any:
        return self.flops(of, saved, numbers) + 2 * of.nnz * grad.shape[1] * sum(wanted[:4])


class Segment(OfGraph):
    name, operands, numbers = "segment", "Tensor x", "int op, int order"
    saved, gradients, nothing, either = "Tensor? y, Tensor argument", (0,), torch.int32, True
    derivative, gradient_tangent = staticmethod(_formulas.segment), staticmethod(_formulas.segment_gradients)

    @staticmethod
    def _graph(of: Any, like: Tensor, order: int) -> Any:
        try:
            return _graph(of, like, order == c.TAMIS_ENTRIES_BY_COLUMN)
        except _errors.UnsupportedError as error:
            raise _errors.renamed(error, {"column_places = true": "order = 'columns'", "expected false": "expected 'given' or 'rows'"}) from None

    @staticmethod
    def _options(op: int, order: int, x: Tensor, argument: Optional[Tensor]) -> Any:
        return c.tamis_segment_options(op=op, order=order, type=torch_view(x, "values").type, heads=x.shape[1],
                                       argument_type=c.TAMIS_I64 if argument is not None and argument.dtype == torch.int64 else c.TAMIS_I32)

    def first(self, of: Any, operands: tuple, numbers: Any, keep: bool, key: Any) -> tuple:
        (x,), (op, order) = operands, numbers
        graph, (out, argument) = self._graph(of, x, order), self.empty(of, operands, numbers, keep)
        return call_library("tamis_segment", of, key, graph, self._options(op, order, x, argument), {"values": x}, {"out": out, "argument": argument},
                            ("values", "out", "*argument"), columns=True)

    def empty(self, of: Any, operands: tuple, numbers: tuple, keep: bool) -> tuple:
        x, width = operands[0], operands[0].shape[1]
        out = torch.empty_like(x) if numbers[0] == c.TAMIS_SEGMENT_SOFTMAX else x.new_empty((of.shape[0], width))
        return out, arguments_of(x, of, width) if numbers[0] in SEGMENT_EXTREME else None

    def save(self, operands: tuple, results: tuple, numbers: Any) -> tuple[tuple, Any, int]:
        return (results[0] if numbers[0] == c.TAMIS_SEGMENT_SOFTMAX else None, results[1]), numbers, 0

    def packed(self, grad: Tensor) -> Tensor:
        return grad if fits(grad.shape, grad.stride()) else grad.contiguous()

    def first_back(self, of: Any, given: tuple, numbers: Any, wanted: list[bool], key: Any) -> Any:
        (grad, y, argument), (op, order) = given, numbers
        graph, (dx,) = self._graph(of, grad, order), self.back_empty(of, grad, given[1:], numbers, wanted)
        return call_library("tamis_segment_backward", of, key, graph, self._options(op, order, grad, argument),
                            {"grad": grad, "y": y, "argument": argument}, {"dx": dx}, ("grad", "y", "*argument", "dx"), columns=True)

    def back_empty(self, of: Any, grad: Tensor, saved: Any, numbers: tuple, wanted: list[bool]) -> Any:
        return (torch.empty_like(saved[0]) if saved[0] is not None else grad.new_empty((of.nnz, grad.shape[1])),)

    def flops(self, of: Any, operands: tuple, numbers: tuple) -> Any:
        return of.nnz * operands[0].shape[1] * (4 if numbers[0] == c.TAMIS_SEGMENT_SOFTMAX else 1)

    def back_flops(self, of: Any, grad: Tensor, saved: Any, numbers: tuple, wanted: list[bool]) -> Any:
        return self.flops(of, (grad,), numbers)


ATTEND, SEGMENT = Attend(), Segment()


# ------------------------------------------------------------------------------ calls


def graph_attention(pattern: PatternLike, q: Tensor, k: Tensor, v: Tensor, e: Optional[Tensor] = None, bias: Optional[Tensor] = None,
                    scale: Optional[float] = None) -> Tensor:
    """Attention of each node over its edges, with vectors on the edges: the layer of graph transformers.

    For the entries t = (i, j) of row i, out[i] is the sum of p[t] (v[j] + e[t]), where p is the softmax over the row of
    scale <q[i], k[j] + e[t]> + bias[t]; all for each head.
    q: (rows, width) or (rows, heads, width); k, v: the same with cols; e: the same with nnz, in the pattern's order. bias: (nnz,), or
    (nnz, heads). scale: 1 / sqrt(width) if it is None. No array of e's size is made, except e's gradient.
    Returns what q's shape is; a row without entries gives 0. A bias of -inf leaves an edge out; a row of nothing else gives 0. Gradients to all of them but scale, the same bits each
    time. Errors as in `sddmm`.

    >>> graph = Pattern.from_edge_index(torch.tensor([[0, 1, 2], [1, 1, 0]]), num_nodes=3)
    >>> x = torch.tensor([[1., 0.], [0., 1.], [1., 1.]])
    >>> graph_attention(graph, x, x, x, e=torch.tensor([[0., 1.], [1., 0.], [0., 0.]]))
    tensor([[1., 1.],
            [1., 1.],
            [0., 0.]])
    """
    need = plain((q, k, v, e, bias))
    if not need:
        q, k, v, e, bias = _direct.cast(q, k, v, e, bias)
    pattern = _check(pattern, q=q, k=k, v=v, e=e, bias=bias)
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
    out = ATTEND.called(need, pattern, (heads, float(scale)), *matrices, edges, bias)
    return out.reshape(q.shape)


def _run_segments(pattern: PatternLike, values: Tensor, op: int, order: str, dim: int) -> Tensor:
    """Reshape values to a matrix with a row for each entry, of either layout, and the result back."""
    where = _number("order", order, ORDERS)
    need = plain((values,))
    if op == c.TAMIS_SEGMENT_SOFTMAX and not need:
        values, = _direct.cast(values, wide=True)
    pattern = _check(pattern, values=values)
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
    out = SEGMENT.called(need, pattern, (op, where), x)
    return out.reshape(-1, *rest) if last else out.t().reshape(*rest, -1)


def edge_softmax(pattern: PatternLike, scores: Tensor, order: str = "given", dim: int = 0) -> Tensor:
    """The softmax of given scores over the entries of each row.

    scores: a number for each entry, or several, each with a softmax of its own: (nnz, ...), or with dim=-1 (..., nnz). order: that of
    the entries, "given", the pattern's; "rows", sorted by row; "columns", sorted by column, on the CPU alone; entries of a row or
    column keep the pattern's order among themselves. Returns what scores' shape is. Gradients. Errors as in `sddmm`.

    >>> graph = Pattern.from_edge_index(torch.tensor([[0, 1, 2], [1, 1, 0]]), num_nodes=3)
    >>> edge_softmax(graph, torch.tensor([1., 1., 5.]))
    tensor([0.5000, 0.5000, 1.0000])
    """
    return _run_segments(pattern, scores, c.TAMIS_SEGMENT_SOFTMAX, order, dim)


def segment(pattern: PatternLike, values: Tensor, reduce: str = "sum", order: str = "given", dim: int = 0) -> Tensor:
    """The sum, mean, maximum or minimum ("sum", "mean", "max", "min") of given values over the entries of each row.

    values, order and dim are as in `edge_softmax`. Returns (rows, ...), or with dim=-1 (..., rows); a row without entries gives 0. Max and
    min take the first of equal values, and NaN before numbers. Gradients. Errors as in `sddmm`.

    >>> graph = Pattern.from_edge_index(torch.tensor([[0, 1, 2], [1, 1, 0]]), num_nodes=3)
    >>> segment(graph, torch.tensor([1., 3., 5.]), "mean")
    tensor([5., 2., 0.])
    """
    return _run_segments(pattern, values, _number("reduce", reduce, REDUCES), order, dim)
