"""Layers of graphs whose edges are of several types: each type has matrices of its own, which may share bases or have blocks.

An edge of type r from j to i belongs to the pairs (r, j) and (r, i). Patterns between these pairs and nodes are made once, and kept with the tensor of types.
"""
from __future__ import annotations

import functools
from typing import Any, Callable, Iterator, NamedTuple, Optional, TypeVar, Union

import torch
from torch import Tensor, nn
from torch.nn import functional

from ... import _errors
from .. import Pattern, _graphs, _held, edge_op, edge_softmax, message, spmm
from .._direct import eager
from .._graphs import EdgeIndex
from .._layer import Channels, Pair, Size, _glorot, _Layer, _linear, _two, counts

T = TypeVar("T")
_kinds: dict[int, _held.Made] = {}


class Side(NamedTuple):
    """The pairs of a type and a node that edges have at one end, by type."""

    bounds: list[int]  # the pairs of type r are bounds[r] to bounds[r + 1] - 1
    nodes: Tensor      # node of each pair
    of_edge: Tensor    # pair of each edge
    whole: bool        # the pairs are all that there could be, node by node


def side_of(kinds: Tensor, nodes: Tensor, count: int, types: int) -> Side:
    """Return the pairs of these nodes of edges, of `count` nodes: all, or where less than half of them occur, these."""
    keys = kinds * count + nodes
    found, of_edge = torch.unique(keys, return_inverse=True)
    whole = 2 * found.shape[0] >= types * count
    if whole:
        found, of_edge = torch.arange(types * count, device=keys.device), keys
    bounds = torch.searchsorted(found, torch.arange(types + 1, device=keys.device) * count).tolist()
    return Side(bounds, found % max(count, 1), of_edge, whole)


def _once(make: Callable[[Any], T]) -> functools.cached_property[T]:
    """A property that is made once. All of it is computed apart: tensors of inference mode would be compared in each call."""

    @functools.wraps(make)
    def made(own: Any) -> T:
        with _held.apart():
            return make(own)

    return functools.cached_property(made)


class Relations:
    """The patterns of a graph whose edges have types, made when they are needed first."""

    def __init__(self, pattern: Pattern, kinds: Tensor, types: int):
        with _held.apart():
            self.pattern, self.kinds, self.types = pattern, kinds.long(), types
        low, high = (int(kinds.min()), int(kinds.max())) if kinds.numel() else (0, 0)
        if low < 0 or high >= types:
            raise _errors.ArgumentError(f"edge_type has {low if low < 0 else high}: expected numbers from 0 to {types - 1}, since the layer has {types} relations")

    @_once
    def targets(self) -> Side:
        return side_of(self.kinds, self.pattern._rows().long(), self.pattern.rows, self.types)

    @_once
    def sources(self) -> Side:
        return side_of(self.kinds, self.pattern.columns.long(), self.pattern.cols, self.types)

    @_once
    def into_pairs(self) -> Pattern:
        """From nodes to pairs of targets: the edges."""
        return Pattern.from_coo(self.targets.of_edge, self.pattern.columns.long(), (self.targets.bounds[-1], self.pattern.cols))

    @_once
    def of_weights(self) -> Pattern:
        """From all pairs of sources to pairs of targets: the edges."""
        return Pattern.from_coo(self.targets.of_edge, self.kinds * self.pattern.cols + self.pattern.columns, (self.targets.bounds[-1], self.types * self.pattern.cols))

    @_once
    def out_of_pairs(self) -> Pattern:
        """From pairs of targets to their nodes."""
        pairs = self.targets.nodes.shape[0]
        return Pattern.from_coo(self.targets.nodes, torch.arange(pairs, device=self.kinds.device), (self.pattern.rows, pairs))

    @_once
    def between(self) -> Pattern:
        """From pairs of sources to pairs of targets: the edges."""
        return Pattern.from_coo(self.targets.of_edge, self.sources.of_edge, (self.targets.bounds[-1], self.sources.bounds[-1]))

    @_once
    def from_pairs(self) -> Pattern:
        """From pairs of sources to nodes: the edges."""
        return Pattern.from_coo(self.pattern._rows().long(), self.sources.of_edge, (self.pattern.rows, self.sources.bounds[-1]))

    @_once
    def to_targets(self) -> Pattern:
        """From nodes to their pairs of targets."""
        return to_pairs(self.targets, self.pattern.rows)

    @_once
    def to_sources(self) -> Pattern:
        """From nodes to their pairs of sources."""
        return to_pairs(self.sources, self.pattern.cols)

    def table(self, side: Side, x: Tensor, weight: Tensor) -> Tensor:
        """Return x_i W_r for each pair (r, i). weight: (types, in, out), or (types, blocks, in, out) of diagonal blocks."""
        if side.whole and weight.dim() == 3:
            return torch.matmul(x, weight).flatten(0, 1)
        rows = message(self.to_sources if side is self.sources else self.to_targets, "copy_u", x)
        return by_type(rows, side.bounds, weight)


def to_pairs(side: Side, count: int) -> Pattern:
    pairs = side.nodes.shape[0]
    return Pattern.from_csr(torch.arange(pairs + 1, device=side.nodes.device), side.nodes, (pairs, count))


def by_type(rows: Tensor, bounds: list[int], weight: Tensor) -> Tensor:
    """Return rows (..., pairs, in) times the matrices of their types."""
    return torch.cat(list(products(rows, bounds, weight)) or [product(rows, weight[0])], -2)


def products(rows: Tensor, bounds: list[int], weight: Tensor) -> Iterator[Tensor]:
    sizes = [end - begin for begin, end in zip(bounds, bounds[1:])]
    for own, matrix in zip(rows.split(sizes, -2), weight.unbind(0)):  # not slices, whose gradients are as large as rows each
        if own.shape[-2]:
            yield product(own, matrix)


def product(rows: Tensor, weight: Tensor) -> Tensor:
    """Return rows times a matrix, or a matrix of diagonal blocks (blocks, in, out)."""
    if weight.dim() == 2:
        return rows @ weight
    return torch.einsum("...bi,bio->...bo", rows.reshape(*rows.shape[:-1], *weight.shape[:2]), weight).flatten(-2)


def relations_of(pattern: Pattern, kinds: Optional[Tensor], types: int) -> Relations:
    """Return the relations of a pattern's edges, which are kept with the tensor of their types."""
    if kinds is None:
        raise _errors.ArgumentError("edge_type is None: expected the number of each edge's relation")
    if kinds.dim() != 1 or kinds.is_floating_point():
        raise _errors.ArgumentError(f"edge_type is {kinds.dtype} of shape {tuple(kinds.shape)}: expected integers (edges,)")
    known, current = _held.made_of(_kinds, kinds, (kinds,), copied=True), pattern._current()
    key = id(current), types
    found = known.made.get(key)
    if found is None:
        content, = known.content
        assert content is not None
        found = _held.kept(known.made, key, (Relations(pattern, content, types), current), _held.MOST_BESIDE)  # current keeps its id
    return found[0]  # type: ignore[no-any-return]


class _Relational(_Layer):
    """Layers with matrices of relations: of their own, sums of bases, or blocks."""

    num_relations: int

    def __init__(self, num_bases: Optional[int], num_blocks: Optional[int], **kwargs: Any):
        super().__init__(**kwargs)
        if num_bases is not None and num_blocks is not None:
            raise _errors.ArgumentError(f"num_bases = {num_bases} and num_blocks = {num_blocks}: expected one of them")
        self.num_bases, self.num_blocks = num_bases, num_blocks

    def _blocks(self, of: int, to: int) -> tuple[int, ...]:
        """Return the shape of a relation's matrix."""
        if self.num_blocks is None:
            return of, to
        if of % self.num_blocks or to % self.num_blocks:
            raise _errors.ArgumentError(f"num_blocks = {self.num_blocks}: expected a divisor of {of} and {to} channels")
        return self.num_blocks, of // self.num_blocks, to // self.num_blocks


Nodes = Union[Optional[Tensor], tuple[Optional[Tensor], Tensor]]


class RGCNConv(_Relational):
    """Relational graph convolution: V x_i + the sum over relations r of W_r times the mean of x_j over the edges of relation r to i; or their sum,
    maximum or minimum. num_bases: the number of matrices whose sums the W_r are; num_blocks: the number of their diagonal blocks.

    x None: each node has a parameter for each relation; integers: their numbers in place of 0, 1, ... The edges of all relations are reduced in one call.

    >>> RGCNConv(4, 8, num_relations=2)(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]]), torch.tensor([0, 1, 1])).shape
    torch.Size([3, 8])
    """

    def __init__(self, in_channels: Channels, out_channels: int, num_relations: int, num_bases: Optional[int] = None, num_blocks: Optional[int] = None,
                 aggr: str = "mean", root_weight: bool = True, is_sorted: bool = False, bias: bool = True, **kwargs: Any):
        super().__init__(num_bases, num_blocks, aggr=aggr, **kwargs)
        self.in_channels, self.out_channels, self.num_relations, self.is_sorted = in_channels, out_channels, num_relations, is_sorted
        of, to = _two(in_channels)
        self.in_channels_l = of
        self.weight = nn.Parameter(torch.empty(num_relations if num_bases is None else num_bases, *self._blocks(of, out_channels)))
        self.comp = None if num_bases is None else nn.Parameter(torch.empty(num_relations, num_bases))
        self.root = nn.Parameter(torch.empty(to, out_channels)) if root_weight else None
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, num_relations={self.num_relations})"

    def reset_parameters(self) -> None:
        for weight in (self.weight, self.comp, self.root):
            if weight is not None:
                _glorot(weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def _count(self, x: Tensor) -> int:
        return super()._count(x) if x.is_floating_point() or x.dim() != 1 else x.shape[0]

    @eager  # relations depend on the content of tensors
    def forward(self, x: Nodes, edge_index: EdgeIndex, edge_type: Optional[Tensor] = None) -> Tensor:
        source, target = x if isinstance(x, tuple) else (x, x)
        numbered = source is None
        if source is None:
            source = torch.arange(self.in_channels_l, device=self.weight.device)
        target = source if target is None else target
        if isinstance(x, tuple):
            self._pair((source, target))
        if self.num_blocks is not None and not (source.is_floating_point() and target.is_floating_point()):
            raise _errors.ArgumentError("num_blocks is given, and x are no features: expected num_bases, or neither")
        pattern = self._graph(edge_index, source, target, None, edge_type, "edge_type")
        of = relations_of(pattern, edge_type, self.num_relations)
        weight = self.weight if self.comp is None else (self.comp @ self.weight.flatten(1)).view(-1, *self.weight.shape[1:])
        if source.is_floating_point():
            rows, bounds = self._sums(of.into_pairs, "copy_u", source), of.targets.bounds
            if of.targets.whole and of.types:
                out = functools.reduce(torch.add, products(rows, bounds, weight)) if pattern.rows else product(rows, weight[0])
            else:
                out = spmm(of.out_of_pairs, by_type(rows, bounds, weight))
        else:
            table = weight if numbered else weight[:, source]
            out = spmm(of.out_of_pairs, message(of.of_weights, "copy_u", table.flatten(0, 1), reduce=self._reduce))
        if self.root is not None:
            out = out + (target @ self.root if target.is_floating_point() else self.root[target])
        return out if self.bias is None else out + self.bias


class FastRGCNConv(RGCNConv):
    """`RGCNConv` with sums and means: here both are computed alike.

    >>> FastRGCNConv(4, 8, num_relations=2)(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]]), torch.tensor([0, 1, 1])).shape
    torch.Size([3, 8])
    """

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        if self._reduce not in ("sum", "mean"):
            raise _errors.ArgumentError(f"aggr = {self.aggr!r}: expected 'add', 'sum' or 'mean'; RGCNConv has the others")


_MODES = "additive-self-attention", "multiplicative-self-attention"
_MECHANISMS = "within-relation", "across-relation"
_MODS = None, "additive", "scaled", "f-additive", "f-scaled"


class RGATConv(_Relational):
    """Relational graph attention: heads of the sum of softmax(leaky_relu(q_ri + k_rj + c . e_ij)) W_r x_j, with q_ri = Q W_r x_i and k_rj = K W_r x_j, or with
    the scores q_ri k_rj (c . e_ij) in `dim` copies. The softmax is over the edges of a relation or of all. mod: how the number of edges enters.

    x is (nodes, in_channels), or a pair. W_r x_j is computed once for each relation and node that has an edge of it, not for each edge.

    >>> RGATConv(4, 8, num_relations=2, heads=2)(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]]), torch.tensor([0, 1, 1])).shape
    torch.Size([3, 16])
    """

    def __init__(self, in_channels: int, out_channels: int, num_relations: int, num_bases: Optional[int] = None, num_blocks: Optional[int] = None,
                 mod: Optional[str] = None, attention_mechanism: str = "across-relation", attention_mode: str = "additive-self-attention", heads: int = 1,
                 dim: int = 1, concat: bool = True, negative_slope: float = 0.2, dropout: float = 0.0, edge_dim: Optional[int] = None, bias: bool = True,
                 **kwargs: Any):
        super().__init__(num_bases, num_blocks, **kwargs)
        for name, value, choices in (("mod", mod, _MODS), ("attention_mechanism", attention_mechanism, _MECHANISMS), ("attention_mode", attention_mode, _MODES)):
            if value not in choices:
                raise _errors.ArgumentError(f"{name} = {value!r}: expected {' or '.join(map(repr, choices))}")
        if attention_mode == _MODES[0] and dim > 1:
            raise _errors.ArgumentError(f"dim = {dim}: expected 1, or attention_mode={_MODES[1]!r}")
        if dropout > 0 and mod is not None:
            raise _errors.ArgumentError(f"mod = {mod!r}: expected None with dropout")
        self.in_channels, self.out_channels, self.num_relations, self.mod = in_channels, out_channels, num_relations, mod
        self.attention_mechanism, self.attention_mode, self.heads, self.dim, self.concat = attention_mechanism, attention_mode, heads, dim, concat
        self.negative_slope, self.dropout, self.edge_dim = negative_slope, dropout, edge_dim
        width, scores = heads * out_channels, heads * dim
        self.q, self.k = (nn.Parameter(torch.empty(width, scores)) for _ in range(2))
        self.bias = nn.Parameter(torch.empty(out_channels * dim * (heads if concat else 1))) if bias else None
        self.lin_edge = None if edge_dim is None else _linear(edge_dim, width, False, True)
        self.e = None if edge_dim is None else nn.Parameter(torch.empty(width, scores))
        if num_bases is not None:
            self.att, self.basis = nn.Parameter(torch.empty(num_relations, num_bases)), nn.Parameter(torch.empty(num_bases, in_channels, width))
        else:
            self.weight = nn.Parameter(torch.empty(num_relations, *self._blocks(in_channels, width)))
        self.w = nn.Parameter(torch.ones(out_channels))
        self.l1, self.b1 = (nn.Parameter(torch.empty(1, out_channels)) for _ in range(2))
        self.l2, self.b2 = nn.Parameter(torch.empty(out_channels, out_channels)), nn.Parameter(torch.empty(1, out_channels))
        self.reset_parameters()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, heads={self.heads})"

    def reset_parameters(self) -> None:
        for weight in ((self.basis, self.att) if self.num_bases is not None else (self.weight,)) + (self.q, self.k):
            _glorot(weight)
        for own, value in ((self.bias, 0.0), (self.l1, 1.0), (self.b1, 0.0), (self.l2, 1 / self.out_channels), (self.b2, 0.0)):
            if own is not None:
                nn.init.constant_(own, value)
        if self.lin_edge is not None and self.e is not None:
            self.lin_edge.reset_parameters()
            _glorot(self.e)

    @eager
    def forward(self, x: Pair, edge_index: EdgeIndex, edge_type: Optional[Tensor] = None, edge_attr: Optional[Tensor] = None, size: Size = None,
                return_attention_weights: Optional[bool] = None) -> Any:
        source, target = self._pair(x)
        if target is None or source.dim() != 2 or target.dim() != 2:
            raise _errors.ArgumentError(f"x has {'no targets' if target is None else f'shape {tuple(source.shape)}'}: expected (nodes, in_channels) at both ends")
        pattern = self._graph(edge_index, source, target, size, edge_type, "edge_type")
        of, weight = relations_of(pattern, edge_type, self.num_relations), self._weight()
        z = of.table(of.sources, source, weight)
        blocks = self.q.view(weight.shape[1] if self.num_blocks else 1, -1, self.q.shape[1])
        of_query = torch.einsum("rbio,bod->rbid", weight if self.num_blocks else weight.unsqueeze(1), blocks).flatten(1, 2)
        alpha = self._scores(of, of.table(of.targets, target, of_query), z @ self.k, edge_attr)
        alpha = edge_softmax(of.between if self.attention_mechanism == _MECHANISMS[0] else pattern, alpha)
        out = self._sum(of, z.view(-1, self.heads, self.out_channels), alpha)
        out = out.flatten(1) if self.concat else out.mean(1).flatten(1)
        out = out if self.bias is None else out + self.bias
        if not isinstance(return_attention_weights, bool):
            return out
        return out, (_graphs.edges(pattern).flip(0) if self.flow == "target_to_source" else _graphs.edges(pattern), alpha)

    def _weight(self) -> Tensor:
        if self.num_bases is None:
            return self.weight
        return (self.att @ self.basis.flatten(1)).view(-1, *self.basis.shape[1:])

    def _scores(self, of: Relations, q: Tensor, k: Tensor, edge_attr: Optional[Tensor]) -> Tensor:
        """Return the scores of edges, (edges, heads * dim)."""
        added = self.attention_mode == _MODES[0]
        scores = edge_op(of.between, "add" if added else "mul", q, k)
        if edge_attr is not None:
            if self.lin_edge is None or self.e is None:
                raise _errors.ArgumentError("edge_attr is given: expected a layer with edge_dim")
            if edge_attr.shape[0] != of.pattern.nnz:
                raise _errors.ArgumentError(f"edge_attr has shape {tuple(edge_attr.shape)}: expected a row for each of the {of.pattern.nnz} edges of edge_index")
            # e . V a = (e V) . a: no vector for each edge
            own = functional.linear(edge_attr.unsqueeze(1) if edge_attr.dim() == 1 else edge_attr, self.e.t() @ self.lin_edge.weight)
            scores = scores + own if added else scores * own
        return functional.leaky_relu(scores, self.negative_slope) if added else scores

    def _sum(self, of: Relations, z: Tensor, alpha: Tensor) -> Tensor:
        """Return the reductions of z (pairs, heads, channels) with the weights of edges: (rows, heads, channels), with `dim` before the channels if it is
        multiplied."""
        pattern, op, v = of.pattern, "mul", None
        if self.mod == "additive":
            op, v = "u * (e + v)", self.w.expand(pattern.rows, self.heads, -1)
        elif self.mod == "scaled":
            degrees = counts(pattern, z.dtype) @ self.l1 + self.b1
            op, v = "u * e * v", (degrees.relu() @ self.l2 + self.b2).unsqueeze(1).expand(-1, self.heads, -1)
        elif self.mod == "f-additive":
            alpha = torch.where(alpha > 0, alpha + 1, alpha)
        elif self.mod == "f-scaled":
            alpha = alpha * counts(pattern, alpha.dtype)[pattern._rows().long()]
        elif self.dropout > 0:
            alpha = functional.dropout(alpha, self.dropout, self.training)
        v = None if v is None else v.contiguous()
        alpha = alpha.to(z.dtype).view(-1, self.heads, self.dim)
        found = [message(of.from_pairs, op, z, alpha[..., place].contiguous(), self._reduce, v) for place in range(self.dim)]
        return found[0] if self.attention_mode == _MODES[0] else torch.stack(found, 2)
