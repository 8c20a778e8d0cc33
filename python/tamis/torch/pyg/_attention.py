"""Layers of attention: weights for each edge and head, which sum up to one at each target."""
from __future__ import annotations

import math
from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional

from ... import _errors
from .. import Pattern, _direct, _graphs, attention, edge_op, edge_softmax, graph_attention, message
from .._graphs import EdgeIndex, FillValue
from .._layer import Channels, Pair, Size, _Layer, _linear, _two, edge_scores, inward, of_targets
from .._messages import edge_op_as_given


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

    def _heads_of(self, x: Tensor, lead: tuple[int, ...] = ()) -> Tensor:
        """Return x as (nodes, heads, channels): each member of a batch has its own heads, member by member."""
        if not lead:
            return x.view(-1, self.heads, self.out_channels)
        return inward(x, lead).reshape(x.shape[-2], math.prod(lead) * self.heads, self.out_channels)

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
        away = None
        if self.add_self_loops:
            graph = _graphs.looped(pattern, min(size) if size is not None else min(pattern.shape), self._reduce)
            pattern, away = graph.pattern, graph.away
            if edge_attr is not None:
                edge_attr = _graphs.filled(graph, edge_attr, self.fill_value, self.flow == "target_to_source")
        if edge_attr is not None and edge_attr.dim() == 1:
            edge_attr = edge_attr.view(-1, 1)
        scores = self._scores(pattern, heads, to, edge_attr, lead)
        if away is not None:
            scores = scores.masked_fill(functional.pad(away, (0, scores.shape[0] - away.shape[0])).unsqueeze(1), float("-inf"))
        weights = self._dropped(edge_softmax(pattern, scores))
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
        to = None if target is None else of_targets(of_target, x, z, target) if of_source is of_target else of_target(target)
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
        to = of_targets(self.lin_r, x, z, target) if self.share_weights else self.lin_r(target)
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
