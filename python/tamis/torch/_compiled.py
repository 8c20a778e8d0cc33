"""Graphs within torch.compile and torch.export: what is made of a graph once stays with its tensor, as in calls that nobody compiles.

A compiled program knows no objects of Python, and its tensors are others in each call. So a graph is a handle there, one number, by which the operators find the pattern
that is kept with the edge list; and what eager calls remember of a pattern (degrees, normalised weights, the graph with self-loops) are operators too. Instead of the
columns operators get a tensor (0, edges), whose shape alone is read.
"""
from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from . import _held, _ops
from ._direct import REGISTERED
from ._pattern import Pattern


class Kept(NamedTuple):
    """A tensor that is made of a pattern once: make(pattern, numbers), and what is known without content: shape((rows, cols, nnz), numbers), and its type."""

    make: Callable[[Pattern, Sequence[int]], Tensor]
    shape: Callable[[tuple, Sequence[int]], tuple]
    dtype: Callable[[Sequence[int]], torch.dtype] = lambda numbers: torch.int64


PATTERNS: dict[str, Callable[[Pattern, int], Pattern]] = {"T": lambda pattern, _: pattern.T}
TENSORS: dict[str, Kept] = {"edges": Kept(lambda pattern, _: torch.stack([pattern.columns.long(), pattern._rows().long()]), lambda sizes, _: (2, sizes[2]))}
of_edges: Any = None  # of_edges(edge_index, sources, targets, reverse): the pattern of an edge list, which _graphs sets
of_several: Any = None  # of_several(patterns, into, sources): patterns as blocks of one, which _messages sets


class Seen(Pattern):
    """A pattern in a compiled program. `index` is its handle, and `columns` has a shape alone."""

    def __init__(self, handle: Tensor, rows: Any, cols: Any, nnz: Any):
        self._masked, self.columns = None, handle.new_empty((0, nnz))
        self._start(handle, None, rows, cols, True, nnz)

    def _current(self) -> Any:
        return _held.pattern_of(self.index, self.columns, self.rows, self.cols, True)

    @property
    def T(self) -> Pattern:
        return derived(self, "T", self.cols, self.rows, self.nnz)

    def _rows(self) -> Tensor:
        return tensor_of(self, "edges")[1]


def graph(edge_index: Tensor, sources: Any, targets: Any, reverse: bool) -> Seen:
    """Return the pattern (targets, sources) of an edge list."""
    return Seen(torch.ops.tamis.compiled_graph(edge_index, sources, targets, reverse), targets, sources, edge_index.shape[1])


def derived(pattern: Seen, what: str, rows: Any, cols: Any, nnz: Any, number: Any = 0) -> Seen:
    """Return a pattern that PATTERNS makes of another one."""
    return Seen(torch.ops.tamis.compiled_pattern(pattern.index, what, number), rows, cols, nnz)


def joined(patterns: list, into: list[int], sources: list[int], rows: Any, cols: Any) -> Seen:
    """Return patterns as blocks of one."""
    handle = torch.ops.tamis.compiled_blocks([pattern.index for pattern in patterns], into, sources)
    return Seen(handle, rows, cols, sum(pattern.nnz for pattern in patterns))


def tensor_of(pattern: Pattern, what: str, *numbers: int) -> Tensor:
    """Return a copy of a tensor of TENSORS, which is made once."""
    return torch.ops.tamis.compiled_tensor(pattern.index, pattern.columns, pattern.rows, pattern.cols, what, list(numbers))  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------ the operators


def _graph(edge_index: Tensor, sources: int, targets: int, reverse: bool) -> Tensor:
    return _held.handle_of(of_edges(edge_index, sources, targets, reverse))


def _pattern(index: Tensor, what: str, number: int) -> Tensor:
    return _held.handle_of(PATTERNS[what](_held.of_handle(index), number))


def _blocks(handles: list, into: list[int], sources: list[int]) -> Tensor:
    return _held.handle_of(of_several([_held.of_handle(one) for one in handles], list(into), list(sources)))


def _tensor(index: Tensor, columns: Tensor, rows: int, cols: int, what: str, numbers: Sequence[int]) -> Tensor:
    return TENSORS[what].make(_held.of_handle(index), numbers).clone()


def _tensor_empty(index: Tensor, columns: Tensor, rows: Any, cols: Any, what: str, numbers: Sequence[int]) -> Tensor:
    kept = TENSORS[what]
    return columns.new_empty(kept.shape((rows, cols, columns.shape[-1]), numbers), dtype=kept.dtype(numbers))


def _like(given: Any, *_: Any) -> Tensor:
    return (given[0] if isinstance(given, (list, tuple)) else given).new_empty((1,), dtype=torch.int64)


def content(index: Tensor, columns: Tensor, rows: Any, cols: Any) -> tuple[Tensor, Tensor]:
    """Return the rows and the columns of a pattern's entries, where only a handle is known."""
    source, target = torch.ops.tamis.compiled_tensor(index, columns, rows, cols, "edges", []).unbind(0)
    return target, source


def _free(*_: Any, out_val: Optional[Any] = None) -> int:
    return 0


if REGISTERED:
    for _name, _schema, _kernel, _fake in (("graph", "(Tensor edge_index, SymInt sources, SymInt targets, bool reverse) -> Tensor", _graph, _like),
                                           ("pattern", "(Tensor index, str what, SymInt number) -> Tensor", _pattern, _like),
                                           ("blocks", "(Tensor[] handles, int[] into, int[] sources) -> Tensor", _blocks, _like),
                                           ("tensor", "(Tensor index, Tensor columns, SymInt rows, SymInt cols, str what, int[] numbers) -> Tensor", _tensor, _tensor_empty)):
        _ops.define(f"compiled_{_name}", _schema, _kernel, _fake, _free)
    _ops.content = content
