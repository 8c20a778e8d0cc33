"""Graphs of PyTorch Geometric's edge lists: a pattern for each, kept with its tensor, and graphs with an edge from each node to itself."""
from __future__ import annotations

import functools
import sys
from typing import Any, NamedTuple, Optional, Union

import torch
from torch import Tensor

from .. import _errors
from . import _compiled, _direct, _held, _places
from ._compiled import Seen
from ._direct import compiling
from ._messages import REDUCES, message
from ._pattern import Pattern, check_edges, remembered
from ._taken import PatternBuffer

EdgeIndex = Union[Tensor, Pattern, PatternBuffer]
FillValue = Union[float, Tensor, str]
_graphs: dict[int, _held.Made] = {}


def pattern_of(edge_index: Any, sources: int, targets: int, reverse: bool = False) -> Pattern:
    """Return the pattern (targets, sources) of edges (2, edges), cached by tensor; `reverse`: edges go from row 1 to row 0."""
    if isinstance(edge_index, PatternBuffer):
        edge_index = edge_index.pattern
    if isinstance(edge_index, Pattern):
        pattern = edge_index.T if reverse else edge_index
        if pattern.shape != (targets, sources):
            raise _errors.ArgumentError(f"edge_index is a pattern {pattern.rows} x {pattern.cols}: expected {targets} targets x {sources} sources")
        return pattern
    if not isinstance(edge_index, Tensor) or edge_index.layout is not torch.strided:
        kind = f"of {edge_index.layout}" if isinstance(edge_index, Tensor) else type(edge_index).__name__
        raise TypeError(f"edge_index is a tensor {kind}: expected a dense one (2, edges), or a tamis.torch.Pattern; Pattern.from_torch takes a "
                        f"sparse tensor, whose rows are targets")
    check_edges(edge_index)
    if not compiling() and (_direct.traced() or _proxies()):
        raise _errors.UnsupportedError("the graph of the example would become a constant of what torch.jit.trace or make_fx records: use torch.compile or torch.export")
    return _compiled.graph(edge_index, sources, targets, reverse) if compiling() else _of_edges(edge_index, sources, targets, reverse)


def _proxies() -> bool:
    """Return True within make_fx."""
    return bool(_direct.modes()) and "torch.fx.experimental.proxy_tensor" in sys.modules and sys.modules["torch.fx.experimental.proxy_tensor"].get_proxy_mode() is not None


def _of_edges(edge_index: Tensor, sources: int, targets: int, reverse: bool, doubtful: bool = False) -> Pattern:
    """Return the pattern of an edge list, which is kept with it. doubtful: as in `made_of`."""
    source, target = (1, 0) if reverse else (0, 1)
    known, key = _held.made_of(_graphs, edge_index, (edge_index,), True, doubtful), (sources, targets, reverse)
    if key not in known.made:
        content, = known.content
        try:
            known.made[key] = Pattern.from_coo(content[target], content[source], (targets, sources))
        except _errors.PatternError as error:
            what = {"row_indices": f"edge_index[{target}]", "columns": f"edge_index[{source}]"}
            raise _errors.PatternError(f"{_errors.renamed(error, what)}: x has {sources} sources and {targets} targets") from None
    return known.made[key]  # type: ignore[no-any-return]


def edges(pattern: Pattern) -> Tensor:
    """Return the edges of a pattern in its order, in PyTorch Geometric's form: sources and targets (2, edges)."""
    if isinstance(pattern, Seen):
        return _compiled.tensor_of(pattern, "edges")
    return torch.stack([pattern.columns.long(), pattern._rows().long()])


class Looped(NamedTuple):
    """A graph with self-loops of its first nodes, after the other edges."""

    pattern: Pattern
    bare: Pattern           # self-loops of the given graph are removed
    kept: Optional[Tensor]  # indices of the given graph's edges without self-loops; None: all
    added: int              # number of added edges
    away: Optional[Tensor] = None  # the given edges that are self-loops, where they are still in both patterns: they must not count


def looped(pattern: Pattern, count: int, reduce: str = "sum") -> Looped:
    """Return the graph without its self-loops, and with one for each of the first `count` nodes; cached in the pattern. A compiler must know how many edges there
    are: for it the given ones stay, and get no weight, which only sums allow."""
    _places.of_one_kind(pattern)
    if compiling() and reduce != "sum":
        raise _errors.UnsupportedError(f"aggr = {reduce!r} with self-loops within torch.compile and torch.export: add them to the edges beforehand, and make the layer "
                                       f"with add_self_loops=False")

    if isinstance(pattern, Seen):
        whole = _compiled.derived(pattern, "with loops", pattern.rows, pattern.cols, pattern.nnz + count, count)
        return Looped(whole, pattern, None, count, _compiled.tensor_of(pattern, "loops"))
    if compiling():
        return whole_and_loops(pattern, count)

    def make() -> Looped:
        ends = edges(pattern)
        kept = (ends[0] != ends[1]).nonzero().squeeze(1)
        own = torch.arange(count, device=ends.device).expand(2, -1)
        bare = pattern
        if kept.numel() < pattern.nnz:
            ends = ends[:, kept]
            bare = Pattern.from_coo(ends[1], ends[0], pattern.shape)
        full = torch.cat([ends, own], 1)
        return Looped(Pattern.from_coo(full[1], full[0], pattern.shape), bare, kept if bare is not pattern else None, count)

    return remembered(pattern, ("looped", count), make)


def whole_and_loops(pattern: Pattern, count: int) -> Looped:
    """Return what `looped` does, with all given edges."""
    ends = edges(pattern)
    full = torch.cat([ends, torch.arange(count, device=ends.device).expand(2, -1)], 1)
    return Looped(Pattern.from_coo(full[1], full[0], pattern.shape), pattern, None, count, ends[0] == ends[1])


def with_loops(pattern: Pattern, count: int) -> Looped:
    """Return `whole_and_loops`, cached in the pattern."""
    return remembered(pattern, ("with loops", count), lambda: whole_and_loops(pattern, count))


def _loops(pattern: Pattern, _: Any) -> Tensor:
    return remembered(pattern, "loops", lambda: pattern.columns == pattern._rows())


def filled(graph: Looped, edge_attr: Tensor, fill_value: FillValue, reverse: bool) -> Tensor:
    """Return the edge data of a `Looped` graph: the remaining rows of `edge_attr`, then `fill_value`, or its reduction over the edges to a node."""
    if graph.kept is not None:
        edge_attr = edge_attr[graph.kept]
    shape = (graph.added, *edge_attr.shape[1:])
    if not isinstance(fill_value, str):
        if isinstance(fill_value, Tensor):
            own = fill_value.to(edge_attr)
            own = (own if own.dim() == edge_attr.dim() else own.unsqueeze(0)).expand(shape)
        else:
            own = edge_attr.new_full(shape, fill_value)
        return torch.cat([edge_attr, own])
    to = graph.bare.T if reverse else graph.bare  # the nodes of row 1, in either direction of messages
    reduce = fill_value if fill_value == "mul" else reduction(fill_value, "fill_value")
    given, counts = edge_attr, None
    if graph.away is not None:
        given = edge_attr.masked_fill(graph.away.reshape(-1, *(1,) * (edge_attr.dim() - 1)), {"mul": 1.0, "max": float("-inf"), "min": float("inf")}.get(reduce, 0.0))
        given = given.float() if reduce == "mean" and given.dtype in _direct.HALF else given  # sums and numbers of edges that 16 bits do not hold
        counts = message(to, "copy_e", None, (~graph.away).to(given.dtype).unsqueeze(1)).reshape(-1, *(1,) * (edge_attr.dim() - 1))
    if reduce == "mul":
        place = edges(to)[1].reshape(-1, *(1,) * (edge_attr.dim() - 1)).expand(edge_attr.shape)
        own = edge_attr.new_ones(to.rows, *shape[1:]).scatter_reduce(0, place, given, "prod")
    elif counts is not None and reduce == "mean":
        own = (message(to, "copy_e", None, given, "sum") / counts.clamp(min=1)).to(edge_attr.dtype)
    else:
        own = message(to, "copy_e", None, given, reduce)
        own = own if counts is None else own.masked_fill(counts == 0, 0.0)
    return torch.cat([edge_attr, own[:graph.added]])


def reduction(name: Any, argument: str = "aggr") -> str:
    """Return `message`'s name of a PyTorch Geometric reduction."""
    found = {"add": "sum"}.get(name, name) if isinstance(name, str) else None
    if found not in REDUCES:
        raise _errors.ArgumentError(f"{argument} = {name!r}: expected 'add', 'sum', 'mean', 'max' or 'min'")
    return found


def one_each(pattern: Pattern, what: str) -> Pattern:
    """Return a pattern between edges, in its order, and nodes: what="sources" has a row for each edge, with its source; "targets" has a
    column for each edge, in the row of its target."""
    if isinstance(pattern, Seen):
        return _compiled.derived(pattern, what, *((pattern.nnz, pattern.cols) if what == "sources" else (pattern.rows, pattern.nnz)), pattern.nnz)

    def make() -> Pattern:
        count = torch.arange(pattern.nnz + 1, dtype=pattern.columns.dtype, device=pattern.device)
        if what == "sources":
            return Pattern.from_csr(count, pattern.columns, (pattern.nnz, pattern.cols))
        return Pattern(pattern.index, count[:-1], pattern.rows, pattern.nnz, pattern.coo)

    return remembered(pattern, what, make)


_compiled.of_edges = functools.partial(_of_edges, doubtful=True)
_compiled.PATTERNS.update({"with loops": lambda pattern, count: with_loops(pattern, count).pattern, **{what: lambda pattern, _, what=what: one_each(pattern, what)
                                                                                                      for what in ("sources", "targets")}})
_compiled.TENSORS["loops"] = _compiled.Kept(_loops, lambda sizes, _: sizes[2:], lambda _: torch.bool)
