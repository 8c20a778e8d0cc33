"""Layers of PyTorch Geometric: their names, arguments, parameters and numbers, without the messages in memory.

    from tamis.torch.pyg import GATConv        instead of torch_geometric.nn

A layer takes `edge_index` (2, edges), sources and then targets in any order, or a `tamis.torch.Pattern` whose rows are targets. Of an edge list the
first call makes a pattern, which is kept as long as the tensor: pass the same tensor again. `load_state_dict` takes what the layer of PyTorch Geometric
has saved. This module does not import torch_geometric. Nodes may have a batch: x of (..., nodes, features) is computed for each of its members.

Different are gradients of `aggr="max"` and "min" where several messages are equal (the first gets all of it; PyTorch divides it), and that reductions
of sums, means and attention have the same bits each time. Aggregations other than sums, means, maxima and minima, SparseTensor, and subclasses with
messages of their own are refused. Examples assume `import torch` and `from tamis.torch.pyg import *`.
"""
from __future__ import annotations

import math
from typing import Any, Callable, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional

from .. import _errors
from . import Pattern, _direct, _graphs, attention, edge_op, edge_softmax, graph_attention, message, spmm
from ._graphs import EdgeIndex, FillValue
from ._held import apart
from ._layer import Channels, Pair, Size, _Layer, _LazyLinear, _Linear, _linear, _number_of_each, _promoted, _two, edge_scores  # noqa: F401
from ._messages import edge_op_as_given
from ._pattern import remembered


# ------------------------------------------------------------------------------ attention


class _Attention(_Layer):
    """Layers of attention: weights for each edge and head, which sum up to one at each target."""

    lin_edge: Any

    def __init__(self, in_channels: Channels, out_channels: int, heads: int, concat: bool, dropout: float, edge_dim: Optional[int], **others: Any):
        super().__init__(**others)
        self.node_dim = -2  # PyTorch Geometric has 0, for (nodes, heads, channels); here x has nodes before features
        self.in_channels, self.out_channels, self.heads, self.concat = in_channels, out_channels, heads, concat
        self.dropout, self.edge_dim = dropout, edge_dim

    def _dropped(self, weights: Tensor) -> Tensor:
        return functional.dropout(weights, self.dropout, self.training)

    def _sum(self, pattern: Pattern, x: Tensor, weights: Tensor) -> Tensor:
        """Return sums of x (sources, heads, channels) with weights (edges, heads)."""
        return message(pattern, "mul", x, weights.to(x.dtype).contiguous(), self._reduce)

    def _lead(self, source: Tensor, target: Optional[Tensor]) -> tuple[int, ...]:
        """Return the dimensions of a batch."""
        if source.dim() == 2 and (target is None or target.dim() == 2):
            return ()
        return tuple(torch.broadcast_shapes(source.shape[:-2], () if target is None else target.shape[:-2]))

    def _heads_of(self, x: Tensor, lead: tuple[int, ...] = ()) -> Tensor:
        """Return x as (nodes, heads, channels): each member of a batch has its own heads, member by member."""
        if not lead:
            return x.view(-1, self.heads, self.out_channels)
        x = x.expand(*lead, *x.shape[-2:]).movedim(-2, 0)
        return x.reshape(x.shape[0], math.prod(lead) * self.heads, self.out_channels)

    def _each(self, x: Tensor, lead: tuple[int, ...], dim: int) -> Tensor:
        """Repeat per-head data for the heads of each member."""
        return x if not lead else x.repeat(*(math.prod(lead) if place == dim else 1 for place in range(x.dim())))

    def _vectors(self, edge_attr: Optional[Tensor], lead: tuple[int, ...]) -> Optional[Tensor]:
        """Return the heads of edges."""
        if edge_attr is None:
            return None
        if self.lin_edge is None:
            raise _errors.ArgumentError("edge_attr is given: expected a layer with edge_dim")
        return self._each(self._heads_of(self.lin_edge(edge_attr)), lead, 1)

    def _joined(self, out: Tensor, lead: tuple[int, ...] = ()) -> Tensor:
        out = out.reshape(out.shape[0], math.prod(lead), self.heads, out.shape[-1]).movedim(0, 1) if lead else out
        out = out.flatten(-2) if self.concat else out.mean(-2)
        return out.reshape(*lead, *out.shape[-2:]) if lead else out

    def _shown(self, pattern: Pattern, weights: Tensor, lead: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        """Return edges and their weights by member, (..., edges, heads)."""
        found = _graphs.edges(pattern)
        return (found.flip(0) if self.flow == "target_to_source" else found,
                weights if not lead else weights.reshape(weights.shape[0], *lead, self.heads).movedim(0, -2))


class _Scored(_Attention):
    """Layers whose `_scores`, (edges, heads), are of sources and targets that are transformed, and of edges, maybe with self-loops."""

    def __init__(self, in_channels: Channels, out_channels: int, heads: int, concat: bool, negative_slope: float, dropout: float, add_self_loops: bool,
                 edge_dim: Optional[int], fill_value: FillValue, residual: bool, **others: Any):
        super().__init__(in_channels, out_channels, heads, concat, dropout, edge_dim, **others)
        self.negative_slope, self.add_self_loops, self.fill_value, self.residual = negative_slope, add_self_loops, fill_value, residual

    def _complete(self, bias: bool) -> None:
        """Make what follows the parameters of nodes, in PyTorch Geometric's order: the layers of edges and of the residual, and the bias."""
        width, total = self.heads * self.out_channels, self.out_channels * (self.heads if self.concat else 1)
        self.lin_edge = None if self.edge_dim is None else _linear(self.edge_dim, width, False, True)
        self.res = _linear(_two(self.in_channels)[1], total, False, True) if self.residual else None
        self.bias = nn.Parameter(torch.empty(total)) if bias else None
        self.reset_parameters()

    def _scores(self, pattern: Pattern, z: Tensor, to: Any, edge_attr: Optional[Tensor], lead: tuple[int, ...]) -> Tensor:
        raise NotImplementedError

    def _result(self, pattern: Pattern, z: Tensor, to: Optional[Tensor], edge_attr: Optional[Tensor], size: Size, residual: Optional[Tensor],
                wanted: Any) -> Any:
        """Return the sums of sources z for targets `to`, which may be the same tensor, and if wanted the weights."""
        lead = self._lead(z, to)
        heads = self._heads_of(z, lead)
        to = heads if to is z else None if to is None else self._heads_of(to, lead)
        if self.add_self_loops:
            graph = _graphs.looped(pattern, min(size) if size is not None else min(pattern.shape))
            pattern = graph.pattern
            if edge_attr is not None:
                edge_attr = _graphs.filled(graph, edge_attr, self.fill_value, self.flow == "target_to_source")
        if edge_attr is not None and edge_attr.dim() == 1:
            edge_attr = edge_attr.view(-1, 1)
        weights = self._dropped(edge_softmax(pattern, self._scores(pattern, heads, to, edge_attr, lead)))
        out = self._joined(self._sum(pattern, heads, weights), lead)
        out = out if residual is None else out + residual
        out = out if self.bias is None else out + self.bias
        return (out, self._shown(pattern, weights, lead)) if wanted else out


class GATConv(_Scored):
    """Graph attention: heads of the sum of softmax(leaky_relu(a . W x_i + b . W x_j + c . V e_ij)) W x_j.

    >>> GATConv(4, 8, heads=2)(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]])).shape
    torch.Size([3, 16])
    """

    def __init__(self, in_channels: Channels, out_channels: int, heads: int = 1, concat: bool = True, negative_slope: float = 0.2,
                 dropout: float = 0.0, add_self_loops: bool = True, edge_dim: Optional[int] = None, fill_value: FillValue = "mean", bias: bool = True,
                 residual: bool = False, **kwargs: Any):
        super().__init__(in_channels, out_channels, heads, concat, negative_slope, dropout, add_self_loops, edge_dim, fill_value, residual, **kwargs)
        width = heads * out_channels
        self.lin: Any = None
        self.lin_src: Any = None
        self.lin_dst: Any = None
        if isinstance(in_channels, int):
            self.lin = _linear(in_channels, width, False, True)
        else:
            self.lin_src, self.lin_dst = (_linear(channels, width, False, True) for channels in in_channels)
        self.att_src, self.att_dst = (nn.Parameter(torch.empty(1, heads, out_channels)) for _ in range(2))
        self.att_edge = None if edge_dim is None else nn.Parameter(torch.empty(1, heads, out_channels))
        self._complete(bias)

    def forward(self, x: Pair, edge_index: EdgeIndex, edge_attr: Optional[Tensor] = None, size: Size = None,
                return_attention_weights: Optional[bool] = None) -> Any:
        source, target = self._pair(x)
        residual = self.res(target) if self.res is not None and target is not None else None
        of_source, of_target = (self.lin, self.lin) if self.lin is not None else (self.lin_src, self.lin_dst)
        z = of_source(source)
        to = None if target is None else z if target is source and of_source is of_target else of_target(target)
        return self._result(self._graph(edge_index, z, to, size, edge_attr), z, to, edge_attr, size, residual, return_attention_weights)

    def _scores(self, pattern: Pattern, z: Tensor, to: Optional[Tensor], edge_attr: Optional[Tensor], lead: tuple[int, ...]) -> Tensor:
        of = (z * self._each(self.att_src, lead, 1)).sum(-1)
        at = of.new_zeros(pattern.rows, of.shape[1]) if to is None else (to * self._each(self.att_dst, lead, 1)).sum(-1)
        add = edge_op if _direct.type_for(at.device.type) is None else edge_op_as_given  # scores keep their type under autocast
        scores = add(pattern, "add", at, of)
        if edge_attr is not None and self.lin_edge is not None:
            assert self.att_edge is not None
            # c . V e = (c V) . e: no vector for each edge
            weight = (self.lin_edge.weight.view(self.heads, self.out_channels, -1) * self.att_edge.view(self.heads, -1, 1)).sum(1)
            scores = scores + self._each(functional.linear(edge_attr, weight), lead, 1)
        return functional.leaky_relu(scores, self.negative_slope)


class GATv2Conv(_Scored):
    """Graph attention with scores a . leaky_relu(W x_i + V x_j + U e_ij).

    >>> GATv2Conv(4, 8, heads=2, edge_dim=3)(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]]), torch.ones(3, 3)).shape
    torch.Size([3, 16])
    """

    def __init__(self, in_channels: Channels, out_channels: int, heads: int = 1, concat: bool = True, negative_slope: float = 0.2,
                 dropout: float = 0.0, add_self_loops: bool = True, edge_dim: Optional[int] = None, fill_value: FillValue = "mean", bias: bool = True,
                 share_weights: bool = False, residual: bool = False, **kwargs: Any):
        super().__init__(in_channels, out_channels, heads, concat, negative_slope, dropout, add_self_loops, edge_dim, fill_value, residual, **kwargs)
        self.share_weights, width, (of, to) = share_weights, heads * out_channels, _two(in_channels)
        self.lin_l = _linear(of, width, bias, True)
        self.lin_r = self.lin_l if share_weights else _linear(to, width, bias, True)
        self.att = nn.Parameter(torch.empty(1, heads, out_channels))
        self._complete(bias)

    def forward(self, x: Pair, edge_index: EdgeIndex, edge_attr: Optional[Tensor] = None, return_attention_weights: Optional[bool] = None) -> Any:
        source, target = self._pair(x)
        if target is None:
            raise _errors.ArgumentError("x[1] is None: expected the rows of the targets")
        residual = None if self.res is None else self.res(target)
        z = self.lin_l(source)
        to = z if target is source and self.share_weights else self.lin_r(target)
        pattern = self._graph(edge_index, z, to, None, None if self.lin_edge is None else edge_attr)
        return self._result(pattern, z, to, edge_attr, None, residual, return_attention_weights)

    def _scores(self, pattern: Pattern, z: Tensor, to: Any, edge_attr: Optional[Tensor], lead: tuple[int, ...]) -> Tensor:
        return edge_scores(pattern, to, z, self._vectors(edge_attr, lead), self._each(self.att[0], lead, 0), self.negative_slope)


class TransformerConv(_Attention):
    """The graph transformer: heads of the sum of softmax(q_i . (k_j + e_ij) / sqrt(out_channels)) (v_j + e_ij), and a part of x_i.

    >>> TransformerConv(4, 8, heads=2, edge_dim=3)(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]]), torch.ones(3, 3)).shape
    torch.Size([3, 16])
    """

    def __init__(self, in_channels: Channels, out_channels: int, heads: int = 1, concat: bool = True, beta: bool = False,
                 dropout: float = 0.0, edge_dim: Optional[int] = None, bias: bool = True, root_weight: bool = True, **kwargs: Any):
        super().__init__(in_channels, out_channels, heads, concat, dropout, edge_dim, **kwargs)
        self.beta, self.root_weight = beta and root_weight, root_weight
        (of, to), width, total = _two(in_channels), heads * out_channels, out_channels * (heads if concat else 1)
        self.lin_key, self.lin_query, self.lin_value = (_linear(channels, width, bias) for channels in (of, to, of))
        self.lin_edge = None if edge_dim is None else _linear(edge_dim, width, False)
        self.lin_skip = _linear(to, total, bias)
        self.lin_beta = _linear(3 * total, 1, False) if self.beta else None
        self.reset_parameters()

    def forward(self, x: Pair, edge_index: EdgeIndex, edge_attr: Optional[Tensor] = None, return_attention_weights: Optional[bool] = None) -> Any:
        source, target = self._pair(x)
        if target is None:
            raise _errors.ArgumentError("x[1] is None: expected the rows of the targets")
        pattern = self._graph(edge_index, source, target, None, None if self.lin_edge is None else edge_attr)
        lead = self._lead(source, target)
        q, k, v = (self._heads_of(layer(given), lead) for layer, given in ((self.lin_query, target), (self.lin_key, source), (self.lin_value, source)))
        if self.lin_edge is not None and edge_attr is None:
            raise _errors.ArgumentError("edge_attr is None: expected what the edges have, since the layer has edge_dim")
        out, weights = self._attended(pattern, q, k, v, self._vectors(edge_attr, lead), isinstance(return_attention_weights, bool))
        out = self._joined(out, lead)
        if self.root_weight:
            skip = self.lin_skip(target)
            if self.lin_beta is not None:
                skip = skip.expand(out.shape)
                beta = self.lin_beta(torch.cat([out, skip, out - skip], -1)).sigmoid()
                out = beta * skip + (1 - beta) * out
            else:
                out = out + skip
        if weights is None or not isinstance(return_attention_weights, bool):
            return out
        return out, self._shown(pattern, weights, lead)

    def _attended(self, pattern: Pattern, q: Tensor, k: Tensor, v: Tensor, e: Optional[Tensor], wanted: bool) -> tuple[Tensor, Optional[Tensor]]:
        """Return the sum of each target and, if wanted, the weights before dropout."""
        scale = self.out_channels ** -0.5
        if not wanted and self._reduce == "sum" and not (self.dropout and self.training):
            if e is None:
                return attention(*(x.transpose(0, 1) for x in (q, k, v)), pattern, scale=scale).transpose(0, 1), None
            return graph_attention(pattern, q, k, v, e, scale=scale), None
        q = q * scale
        scores = edge_op(pattern, "dot", q, k)
        if e is None:
            weights = edge_softmax(pattern, scores)
            return self._sum(pattern, v, self._dropped(weights)), weights
        own = _graphs.one_each(pattern, "targets")
        weights = edge_softmax(pattern, scores + edge_op(own, "dot", q, e))
        dropped = self._dropped(weights)
        if self._reduce == "sum":
            return self._sum(pattern, v, dropped) + self._sum(own, e, dropped), weights
        both = message(_graphs.one_each(pattern, "sources"), "add", v, e)
        return self._sum(own, both, dropped), weights


# ------------------------------------------------------------------------------ sums, means, maxima


class SAGEConv(_Layer):
    """GraphSAGE: W mean(x_j) + V x_i; aggr = "max", "sum" and "min" instead of the mean.

    >>> SAGEConv(4, 8, aggr="max")(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]])).shape
    torch.Size([3, 8])
    """

    def __init__(self, in_channels: Channels, out_channels: int, aggr: str = "mean", normalize: bool = False, root_weight: bool = True,
                 project: bool = False, bias: bool = True, **kwargs: Any):
        super().__init__(aggr, **kwargs)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.normalize, self.root_weight, self.project = normalize, root_weight, project
        of, to = _two(in_channels)
        if project:
            if of <= 0:
                raise _errors.ArgumentError(f"in_channels = {in_channels}: expected a number with project=True")
            self.lin = _linear(of, of, True)
        self.lin_l = _linear(of, out_channels, bias)
        if root_weight:
            self.lin_r = _linear(to, out_channels, False)
        self.reset_parameters()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, aggr={self.aggr})"

    def forward(self, x: Pair, edge_index: EdgeIndex, size: Size = None) -> Tensor:
        source, target = self._pair(x)
        pattern = self._graph(edge_index, source, target, size)
        if self.project:
            source = self.lin(source).relu()
        out = self.lin_l(self._sums(pattern, "copy_u", source))
        if self.root_weight and target is not None:
            out = out + self.lin_r(target)
        return functional.normalize(out, p=2.0, dim=-1) if self.normalize else out


class _GIN(_Layer):
    """The base of GIN layers: the node network, and the weight eps of the node itself."""

    def __init__(self, network: Callable[[Tensor], Tensor], eps: float, train_eps: bool, **kwargs: Any):
        super().__init__(**kwargs)
        self.nn, self.initial_eps = network, eps
        if train_eps:
            self.eps = nn.Parameter(torch.empty(1))
        else:
            self.register_buffer("eps", torch.empty(1))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(nn={self.nn})"

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.eps.data.fill_(self.initial_eps)

    def _ended(self, out: Tensor, target: Optional[Tensor]) -> Tensor:
        return self.nn(out if target is None else out + (1 + self.eps) * target)


class GINConv(_GIN):
    """The graph isomorphism network: nn((1 + eps) x_i + sum x_j).

    >>> GINConv(torch.nn.Linear(4, 8))(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]])).shape
    torch.Size([3, 8])
    """

    def __init__(self, nn: Callable[[Tensor], Tensor], eps: float = 0.0, train_eps: bool = False, **kwargs: Any):
        super().__init__(nn, eps, train_eps, **kwargs)
        self.reset_parameters()

    def forward(self, x: Pair, edge_index: EdgeIndex, size: Size = None) -> Tensor:
        source, target = self._pair(x)
        pattern = self._graph(edge_index, source, target, size)
        return self._ended(self._sums(pattern, "copy_u", source), target)


class GINEConv(_GIN):
    """GIN with features of edges: nn((1 + eps) x_i + sum relu(x_j + e_ij)), with edge_dim of W e_ij.

    >>> GINEConv(torch.nn.Linear(4, 8), edge_dim=3)(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]]), torch.ones(3, 3)).shape
    torch.Size([3, 8])
    """

    def __init__(self, nn: Callable[[Tensor], Tensor], eps: float = 0.0, train_eps: bool = False, edge_dim: Optional[int] = None, **kwargs: Any):
        super().__init__(nn, eps, train_eps, **kwargs)
        self.lin = None
        if edge_dim is not None:
            first: Any = nn[0] if isinstance(nn, torch.nn.Sequential) else nn
            inputs = getattr(first, "in_features", getattr(first, "in_channels", None))
            if inputs is None:
                raise _errors.ArgumentError("edge_dim is given: expected an nn that begins with a layer that has in_features or in_channels")
            self.lin = _linear(edge_dim, inputs, True)
        self.reset_parameters()

    def forward(self, x: Pair, edge_index: EdgeIndex, edge_attr: Optional[Tensor] = None, size: Size = None) -> Tensor:
        source, target = self._pair(x)
        if edge_attr is None:
            raise _errors.ArgumentError("edge_attr is None: expected what the edges have")
        if self.lin is None and source.shape[-1] != edge_attr.shape[-1]:
            raise _errors.ArgumentError(f"x has {source.shape[-1]} features and edge_attr {edge_attr.shape[-1]}: expected the same, or a layer with edge_dim")
        pattern = self._graph(edge_index, source, target, size, edge_attr)
        e = edge_attr if self.lin is None else self.lin(edge_attr)
        return self._ended(self._sums(pattern, "add_relu", source, e), target)


class GCNConv(_Layer):
    """The graph convolution: the sum of W x_j w_ij / sqrt(d_i d_j), where d is the sum of the weights of the edges to a node.

    >>> GCNConv(4, 8)(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]])).shape
    torch.Size([3, 8])
    """

    def __init__(self, in_channels: int, out_channels: int, improved: bool = False, cached: bool = False, add_self_loops: Optional[bool] = None,
                 normalize: bool = True, bias: bool = True, **kwargs: Any):
        super().__init__(**kwargs)
        add_self_loops = normalize if add_self_loops is None else add_self_loops
        if add_self_loops and not normalize:
            raise _errors.ArgumentError("add_self_loops = True: expected False without normalize")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.improved, self.cached, self.add_self_loops, self.normalize = improved, cached, add_self_loops, normalize
        self._cached: Optional[tuple[Pattern, Optional[Tensor]]] = None
        self.lin = _linear(in_channels, out_channels, False, True)
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self._cached = None

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_weight: Optional[Tensor] = None) -> Tensor:
        if not isinstance(x, Tensor):
            raise _errors.ArgumentError("x is a pair: expected one tensor; SAGEConv takes sources and targets")
        x = self.lin(x)
        given = edge_weight = _number_of_each(edge_weight)
        if self._cached is not None:
            pattern, edge_weight = self._cached
        else:
            pattern = self._graph(edge_index, x, x, None, edge_weight, "edge_weight")
            if self.normalize:
                with apart() if self.cached and torch.is_inference_mode_enabled() else _direct.autocast_off(x.device.type):
                    pattern, edge_weight = self._normalized(pattern, edge_weight, x.dtype)
                if self.cached:
                    self._cached = pattern, edge_weight
        out = self._weighted(pattern, _promoted(x, given), edge_weight)
        return out if self.bias is None else out + self.bias

    def _normalized(self, pattern: Pattern, weight: Optional[Tensor], dtype: torch.dtype) -> tuple[Pattern, Tensor]:
        """Return the graph with self-loops, and its edge weights, which are computed once if none are given. The sums at nodes are in fp32
        also of 16-bit numbers, which do not hold the sums of large nodes."""
        wide = torch.promote_types(dtype if weight is None else weight.dtype, torch.float32)

        def make() -> tuple[Pattern, Tensor]:
            given = torch.ones(pattern.nnz, dtype=wide, device=pattern.device) if weight is None else weight.to(wide)
            full = pattern
            if self.add_self_loops:
                graph = _graphs.looped(pattern, pattern.rows)
                own = given.new_full((pattern.rows,), 2.0 if self.improved and weight is not None else 1.0)  # as there
                if graph.kept is not None:  # an edge from a node to itself keeps its weight
                    source, target = _graphs.edges(pattern)
                    there = (source == target).nonzero().squeeze(1)
                    own = own.index_put((source[there],), given[there])
                    given = given[graph.kept]
                given, full = torch.cat([given, own]), graph.pattern
            inverse = spmm(full, given.new_ones(full.cols), given).pow(-0.5)
            inverse = inverse.masked_fill(inverse == float("inf"), 0.0)
            ends = _graphs.edges(full)
            return full, inverse[ends[0]] * given * inverse[ends[1]]

        if weight is None:
            return remembered(pattern, ("gcn", self.add_self_loops, wide), make)
        return make()


class GraphConv(_Layer):
    """A convolution with weights of edges: W sum(w_ij x_j) + V x_i; aggr = "mean", "max" and "min" instead of the sum. DGL's layer of this name is
    `tamis.torch.nn.GraphConv`.

    >>> GraphConv(4, 8)(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]]), torch.ones(3)).shape
    torch.Size([3, 8])
    """

    def __init__(self, in_channels: Channels, out_channels: int, aggr: str = "add", bias: bool = True, **kwargs: Any):
        super().__init__(aggr, **kwargs)
        self.in_channels, self.out_channels = in_channels, out_channels
        of, to = _two(in_channels)
        self.lin_rel, self.lin_root = _linear(of, out_channels, bias), _linear(to, out_channels, False)
        self.reset_parameters()

    def forward(self, x: Pair, edge_index: EdgeIndex, edge_weight: Optional[Tensor] = None, size: Size = None) -> Tensor:
        source, target = self._pair(x)
        edge_weight = _number_of_each(edge_weight)
        pattern = self._graph(edge_index, source, target, size, edge_weight, "edge_weight")
        out: Tensor = self.lin_rel(self._weighted(pattern, _promoted(source, edge_weight), edge_weight))
        return out if target is None else out + self.lin_root(target)


__all__ = ["GATConv", "GATv2Conv", "GCNConv", "GINConv", "GINEConv", "GraphConv", "SAGEConv", "TransformerConv"]
