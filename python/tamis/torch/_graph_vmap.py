"""Message passing, edge vectors, segments and attention on graphs under vmap: a mapped operand is a wider row. Members lie side by side within each row, as heads
do, so that one call has all of them; their order there is that of results, which are views of what the call wrote.
"""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from .. import _declarations as c

EXTREME = (c.TAMIS_REDUCE_MAX, c.TAMIS_REDUCE_MIN)
SEGMENT_EXTREME = (c.TAMIS_SEGMENT_MAX, c.TAMIS_SEGMENT_MIN)


def _check(name: str, dims: tuple, *places: int) -> None:
    if any(dims[place] is not None for place in places):
        raise NotImplementedError(f"vmap over the pattern of tamis::{name}: map over operands of one pattern")


def _wide(x: Optional[Tensor], dim: Optional[int], members: int, either: bool = False) -> Optional[Tensor]:
    """Return (rows, width) of each member as (rows, members * width); unmapped data is repeated for each. The result has consecutive
    elements in its rows, or with `either` in its rows or its columns."""
    if x is None:
        return None
    x = x.unsqueeze(1).expand(-1, members, -1) if dim is None else x.movedim(dim, 1)
    x = x.reshape(x.shape[0], members * x.shape[2])
    by_rows, by_columns = x.stride(1) == 1 and x.stride(0) >= x.shape[1], x.stride(0) == 1 and x.stride(1) >= x.shape[0]
    return x if by_rows or (either and by_columns) else x.contiguous()


def _apart(x: Tensor, members: int) -> Tensor:
    """Invert `_wide`; dimension 1 becomes the mapped one."""
    return x.reshape(x.shape[0], members, x.shape[1] // members)


def _pieces(found: tuple, members: int, there: Any) -> tuple[tuple, tuple]:
    return tuple(_apart(x, members) if is_there else x for x, is_there in zip(found, there)), tuple(1 if is_there else None for is_there in there)


def _empty(x: Tensor, dim: Optional[int]) -> Tensor:
    """Return one member of a tensor without elements."""
    return x if dim is None else x.select(dim, 0)


def _edges(e: Optional[Tensor], dim: Optional[int], data: int, heads: int, members: int, apart: bool) -> tuple[Optional[Tensor], int, int]:
    """Return the edge data, its kind, and the number of heads. apart: an edge has a number for each member."""
    if data == c.TAMIS_E_NUMBER and (dim is not None or apart):
        return _wide(e, dim, members), c.TAMIS_E_HEAD, members
    if data == c.TAMIS_E_NUMBER or data == c.TAMIS_E_NONE:
        return e, data, members * heads
    return _wide(e, dim, members), data, members * heads


def message(info: Any, dims: tuple, index: Tensor, columns: Tensor, x: Optional[Tensor], e: Optional[Tensor], rows: Any, cols: Any, coo: bool, op: int,
            reduce: int, data: int, heads: Any) -> tuple[tuple, tuple]:
    _check("message", dims, 0, 1)
    n = info.batch_size
    e, data, heads = _edges(e, dims[3], data, heads, n, False)
    out, argument = torch.ops.tamis.message(index, columns, _wide(x, dims[2], n), e, rows, cols, coo, op, reduce, data, heads)
    return _pieces((out, argument), n, (True, reduce in EXTREME))


def message_backward(info: Any, dims: tuple, grad: Tensor, index: Tensor, columns: Tensor, x: Optional[Tensor], e: Optional[Tensor], argument: Tensor, rows: Any,
                     cols: Any, coo: bool, op: int, reduce: int, data: int, heads: Any, wanted: list[bool]) -> tuple[tuple, tuple]:
    _check("message_backward", dims, 1, 2)
    n = info.batch_size
    e, data, heads = _edges(e, dims[4], data, heads, n, wanted[1])
    taken: Any = _wide(argument, dims[5], n) if reduce in EXTREME else _empty(argument, dims[5])
    found = torch.ops.tamis.message_backward(_wide(grad, dims[0], n), index, columns, _wide(x, dims[3], n), e, taken, rows, cols, coo, op, reduce, data, heads,
                                             wanted)
    return _pieces(found, n, wanted)


def edge_op(info: Any, dims: tuple, index: Tensor, columns: Tensor, x: Tensor, y: Tensor, rows: Any, cols: Any, coo: bool, op: int,
            heads: Any) -> tuple[Tensor, int]:
    _check("edge_op", dims, 0, 1)
    n = info.batch_size
    return _apart(torch.ops.tamis.edge_op(index, columns, _wide(x, dims[2], n), _wide(y, dims[3], n), rows, cols, coo, op, n * heads), n), 1


def edge_op_backward(info: Any, dims: tuple, grad: Tensor, index: Tensor, columns: Tensor, x: Optional[Tensor], y: Optional[Tensor], rows: Any, cols: Any,
                     coo: bool, op: int, heads: Any, width: Any, wanted: list[bool]) -> tuple[tuple, tuple]:
    _check("edge_op_backward", dims, 1, 2)
    n = info.batch_size
    found = torch.ops.tamis.edge_op_backward(_wide(grad, dims[0], n), index, columns, _wide(x, dims[3], n), _wide(y, dims[4], n), rows, cols, coo, op, n * heads,
                                             width, wanted)
    return _pieces(found, n, wanted)


def graph_attention(info: Any, dims: tuple, index: Tensor, columns: Tensor, *given: Any) -> tuple[tuple, tuple]:
    _check("graph_attention", dims, 0, 1)
    n, (rows, cols, coo, heads, scale) = info.batch_size, given[5:]
    found = torch.ops.tamis.graph_attention(index, columns, *(_wide(x, dim, n) for x, dim in zip(given[:5], dims[2:7])), rows, cols, coo, n * heads, scale)
    return _pieces(found, n, (True, True))


def graph_attention_backward(info: Any, dims: tuple, grad: Tensor, index: Tensor, columns: Tensor, *given: Any) -> tuple[tuple, tuple]:
    _check("graph_attention_backward", dims, 1, 2)
    n, (rows, cols, coo, heads, scale, wanted) = info.batch_size, given[7:]
    found = torch.ops.tamis.graph_attention_backward(_wide(grad, dims[0], n), index, columns, *(_wide(x, dim, n) for x, dim in zip(given[:7], dims[3:10])),
                                                     rows, cols, coo, n * heads, scale, wanted)
    return _pieces(found, n, wanted)


def segment(info: Any, dims: tuple, index: Tensor, columns: Tensor, x: Tensor, rows: Any, cols: Any, coo: bool, op: int, order: int) -> tuple[tuple, tuple]:
    _check("segment", dims, 0, 1)
    wide: Any = _wide(x, dims[2], info.batch_size, True)
    found = torch.ops.tamis.segment(index, columns, wide, rows, cols, coo, op, order)
    return _pieces(found, info.batch_size, (True, op in SEGMENT_EXTREME))


def segment_backward(info: Any, dims: tuple, grad: Tensor, index: Tensor, columns: Tensor, y: Optional[Tensor], argument: Tensor, rows: Any, cols: Any,
                     coo: bool, op: int, order: int) -> tuple[Tensor, int]:
    _check("segment_backward", dims, 1, 2)
    n = info.batch_size
    taken: Any = _wide(argument, dims[4], n) if op in SEGMENT_EXTREME else _empty(argument, dims[4])
    found = torch.ops.tamis.segment_backward(_wide(grad, dims[0], n, True), index, columns, _wide(y, dims[3], n, True), taken, rows, cols, coo, op, order)
    return _apart(found, n), 1
