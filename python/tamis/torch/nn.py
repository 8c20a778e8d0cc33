"""Layers: attention over the places of a pattern, in graphs and in sequences; and patterns as parts of modules.

Node i of a graph attends to the columns of row i of the pattern: to the sources of its edges, for `Pattern.from_edge_index`. Layers
add no edges: give each node an edge to itself where a model wants it. In place of a pattern they take a sparse tensor or a mask of bool; a tensor's
numbers are the edge weights of GraphConv and the bias of SparseAttention, and other layers read its places alone. Where columns are other nodes than rows, layers of
graphs take a pair (source, target) as x: what the columns have and what the rows have. Examples assume `import torch`, `from tamis.torch import Pattern` and
`from tamis.torch.nn import *`.
"""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor, nn

from . import Pattern, _check_tensors, _direct, attention, edge_network, sddmm, softmax, spmm
from ._graphs import edges
from ._layer import Pair, of_targets
from ._pattern import remembered
from ._taken import PatternBuffer, PatternLike, places_of, taken


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} = {size}: expected 1 or more")


def _check_input(x: Tensor) -> None:
    _check_tensors({"x": x})
    if x.dim() < 2:
        raise ValueError(f"x has shape {tuple(x.shape)}: expected a row of features for each place")


def _pair(x: Pair) -> tuple[Tensor, Tensor]:
    """Return what sources and targets have."""
    source, target = x if isinstance(x, tuple) else (x, x)
    if target is None:
        raise ValueError("x[1] is None: expected what the targets have")
    return source, target


class DotGATConv(nn.Module):
    """Attention by dot products (DGL's DotGatConv): heads of softmax(z_i . z_j / sqrt(out)) z_j with z = W x.

    Input (nodes, in_features); output (nodes, heads, out_features).

    >>> DotGATConv(4, 8, heads=2)(Pattern.causal(3), torch.ones(3, 4)).shape
    torch.Size([3, 2, 8])
    """

    def __init__(self, in_features: int, out_features: int, heads: int = 1):
        super().__init__()
        _check_sizes(in_features=in_features, out_features=out_features, heads=heads)
        self.heads, self.out_features = heads, out_features
        self.weight = nn.Linear(in_features, heads * out_features, bias=False)

    def forward(self, pattern: PatternLike, x: Pair) -> Tensor:
        _check_input(_pair(x)[0])
        z, own = _heads(self, x)
        return attention(own, z, z, places_of(pattern)).transpose(0, 1)


def _heads(layer: Any, x: Pair) -> Any:
    """Return W x of sources and targets by heads: (heads, nodes, width)."""
    source, target = _pair(x)
    z = layer.weight(source)
    return tuple(one.view(-1, layer.heads, layer.out_features).transpose(0, 1) for one in (z, of_targets(layer.weight, x, z, target)))


class GATConv(nn.Module):
    """Graph attention (Velickovic et al.): heads of softmax(leaky_relu(a . z_i + b . z_j)) z_j with z = W x.

    Input (nodes, in_features); output (nodes, heads, out_features), or their mean over heads (nodes, out_features) if not `concat`.
    dropout: of the weights of attention, while training; sum_dropout: of the z_j that they weight, not of those that they come from, as the
    authors' program has it beside the dropout of x.

    >>> GATConv(4, 8, heads=2)(Pattern.causal(3), torch.ones(3, 4)).shape
    torch.Size([3, 2, 8])
    """

    def __init__(self, in_features: int, out_features: int, heads: int = 1, *, slope: float = 0.2, dropout: float = 0.0, concat: bool = True,
                 bias: bool = True, sum_dropout: float = 0.0):
        super().__init__()
        _check_sizes(in_features=in_features, out_features=out_features, heads=heads)
        self.heads, self.out_features, self.slope, self.concat = heads, out_features, slope, concat
        self.weight = nn.Linear(in_features, heads * out_features, bias=False)
        self.target, self.source = (nn.Parameter(torch.empty(heads, out_features, 1)) for _ in range(2))
        self.bias = nn.Parameter(torch.zeros(heads if concat else 1, out_features)) if bias else None
        self.dropout, self.sum_dropout = nn.Dropout(dropout), nn.Dropout(sum_dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights, as Glorot and Bengio do, of each head by itself."""
        for weight in (self.weight.weight.view(self.heads, self.out_features, -1), self.target, self.source):
            for head in weight:
                nn.init.xavier_uniform_(head)

    def forward(self, pattern: PatternLike, x: Pair) -> Tensor:
        pattern = places_of(pattern)
        z, own = _heads(self, x)
        to, of = own @ self.target, z @ self.source  # (heads, nodes, 1): a . z_i + b . z_j is a product of K = 2
        scores = sddmm(pattern, torch.cat([to, torch.ones_like(to)], -1), torch.cat([torch.ones_like(of), of], -1), edge="leaky_relu", slope=self.slope)
        out = spmm(pattern, self.sum_dropout(z), self.dropout(softmax(pattern, scores))).transpose(0, 1)
        out = out if self.concat else out.mean(1, keepdim=True)
        out = out if self.bias is None else out + self.bias
        return out if self.concat else out.squeeze(1)


class GraphConv(nn.Module):
    """The graph convolution of DGL: sums over the neighbours of W x_j, divided by what `norm` says. `tamis.torch.pyg.GraphConv` is another layer.

    norm: "both" divides each by sqrt(out-degree of j * in-degree of i), "right" the sum by the in-degree of i, "left" each by the out-degree of j,
    "none" nothing. A degree is a number of edges, whatever their weights. No edges are added: a node without any gives the bias.
    Input (..., nodes at the columns, in_features); output (..., nodes at the rows, out_features). edge_weight: (nnz,).

    >>> GraphConv(4, 8)(Pattern.causal(3), torch.ones(3, 4)).shape
    torch.Size([3, 8])
    """

    def __init__(self, in_features: int, out_features: int, norm: str = "both", *, bias: bool = True):
        super().__init__()
        _check_sizes(in_features=in_features, out_features=out_features)
        if norm not in ("both", "right", "left", "none"):
            raise ValueError(f"norm = {norm!r}: expected 'both', 'right', 'left' or 'none'")
        self.norm = norm
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.empty(out_features)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights, as Glorot and Bengio do."""
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, pattern: PatternLike, x: Pair, edge_weight: Optional[Tensor] = None) -> Tensor:
        x, _ = _pair(x)
        _check_input(x)
        pattern, edge_weight = taken(pattern, edge_weight)
        z = x @ self.weight
        factors = self._factors(pattern, torch.promote_types(x.dtype, torch.float32))
        if edge_weight is not None:
            factors = edge_weight if factors is None else edge_weight * factors
        if factors is not None and not (factors.dtype == torch.float32 and z.dtype in _direct.HALF):
            factors = factors.to(z.dtype)
        out = spmm(pattern, z, factors)
        return out if self.bias is None else out + self.bias

    def _factors(self, pattern: Pattern, dtype: torch.dtype) -> Optional[Tensor]:
        """Return the factors by which `norm` multiplies the messages of edges; cached in the pattern."""
        if self.norm == "none":
            return None

        def make() -> Tensor:
            source, target = edges(pattern)
            of, to = (x.new_zeros(size).scatter_add(0, x, torch.ones_like(x)) for x, size in ((source, pattern.cols), (target, pattern.rows)))
            of = of if pattern.out_degrees is None else pattern.out_degrees
            degrees = {"both": of[source] * to[target], "left": of[source], "right": to[target]}[self.norm]
            return degrees.to(dtype) ** (-0.5 if self.norm == "both" else -1)

        return remembered(pattern, ("degrees", self.norm, dtype), make)


class AGNNConv(nn.Module):
    """Attention by cosines (Thekumparampil et al.): softmax(beta cos(x_i, x_j)) x_j with one number beta to learn.

    Input and output (nodes, features).

    >>> AGNNConv()(Pattern.causal(3), torch.ones(3, 4)).shape
    torch.Size([3, 4])
    """

    def __init__(self, beta: float = 1.0, learn: bool = True):
        super().__init__()
        self.beta = nn.Parameter(torch.tensor(float(beta)), requires_grad=learn)

    def forward(self, pattern: PatternLike, x: Pair) -> Tensor:
        source, target = _pair(x)
        _check_input(source)
        unit = nn.functional.normalize(source, dim=-1)
        own = unit if target is source else nn.functional.normalize(target, dim=-1)
        return attention(self.beta * own, unit, source, places_of(pattern), scale=1.0)


class SparseAttention(nn.Module):
    """Multi-head attention of a sequence over the places of a pattern (positions, positions), with one mask for all heads and members.

    Input and output (..., positions, features). bias: numbers added to the scores, (nnz,) or (..., heads, nnz).

    >>> SparseAttention(8, heads=2)(Pattern.window(6, 1, 1), torch.ones(5, 6, 8)).shape
    torch.Size([5, 6, 8])
    """

    def __init__(self, features: int, heads: int = 1, bias: bool = True):
        super().__init__()
        _check_sizes(features=features, heads=heads)
        if features % heads:
            raise ValueError(f"heads = {heads}: expected a divisor of features = {features}")
        self.heads = heads
        self.project = nn.Linear(features, 3 * features, bias=bias)
        self.out = nn.Linear(features, features, bias=bias)

    def forward(self, pattern: PatternLike, x: Tensor, bias: Optional[Tensor] = None) -> Tensor:
        _check_input(x)
        *lead, positions, features = x.shape
        parts = self.project(x).view(*lead, positions, 3, self.heads, features // self.heads)
        # (3, ..., heads, positions, width): packed, since members and heads of a batch must be evenly apart
        q, k, v = parts.movedim(-3, 0).transpose(-2, -3).contiguous()
        return self.out(attention(q, k, v, pattern, bias=bias).transpose(-2, -3).reshape(*lead, positions, features))


class EdgeNetwork(nn.Module):
    """The network on edges of MeshGraphNet, GraphCast and others: e' = e + LayerNorm(W2 f(W1 [e, x_i, x_j] + b1) + b2), and the sums of e' by node.

    `layers` has its parameters: an nn.Sequential(Linear, f, Linear, LayerNorm) on [e, x_i, x_j], with i the target and j the source of the
    edge: `layer.layers.load_state_dict(theirs.state_dict())` takes the weights of such a model. With hidden_layers=2 there is one more Linear and f.
    node_width: that of x, or a pair (source, target). activation: "relu", "silu", "gelu", "tanh". aggregate: "sum", "mean", "max", "min", or None: only
    e'. update: sums the updates, e' without the residual e. The first layer is computed by node, and no array of hidden layers of edges is stored.
    Input e (nnz, edge_width) in the pattern's order, and x (nodes, node_width). Output e' (nnz, width), and its sums (nodes at the rows, width).

    >>> layer = EdgeNetwork(edge_width=8, node_width=4, hidden=16, width=8)
    >>> edges, sums = layer(Pattern.causal(3), torch.ones(6, 8), torch.ones(3, 4))
    >>> edges.shape, sums.shape
    (torch.Size([6, 8]), torch.Size([3, 8]))
    """

    def __init__(self, edge_width: int, node_width: int | tuple[int, int], hidden: int, width: int, hidden_layers: int = 1, activation: str = "silu",
                 norm: bool = True, residual: bool = True, aggregate: Optional[str] = "sum", update: bool = False):
        super().__init__()
        _check_sizes(hidden=hidden, width=width)
        if hidden_layers not in (1, 2):
            raise ValueError(f"hidden_layers = {hidden_layers}: expected 1 or 2")
        if activation not in _ACTIVATIONS:
            raise ValueError(f"activation = {activation!r}: expected one of {', '.join(map(repr, _ACTIVATIONS))}")
        if residual and edge_width != width:
            raise ValueError(f"residual = True with edge_width = {edge_width} and width = {width}: expected equal widths")
        source, target = node_width if isinstance(node_width, tuple) else (node_width, node_width)
        self.widths, self.activation, self.residual, self.aggregate, self.update = (edge_width, target, source), activation, residual, aggregate, update
        inner = [_ACTIVATIONS[activation](), nn.Linear(hidden, hidden)] * (hidden_layers - 1)
        self.layers = nn.Sequential(nn.Linear(edge_width + target + source, hidden), *inner, _ACTIVATIONS[activation](), nn.Linear(hidden, width),
                                    *[nn.LayerNorm(width)] * norm)

    def forward(self, pattern: PatternLike, e: Optional[Tensor], x: Pair) -> tuple[Optional[Tensor], Optional[Tensor]]:
        source, target = _pair(x)
        _check_input(source)
        first, *others = (layer for layer in self.layers if isinstance(layer, nn.Linear))
        last, norm = others[-1], self.layers[-1] if isinstance(self.layers[-1], nn.LayerNorm) else None
        of_edges, to, of = first.weight.split(self.widths, 1)
        second = others[0] if len(others) > 1 else None
        if source is target:  # one product: the nodes are read once
            p, q = nn.functional.linear(source, torch.cat((to, of))).chunk(2, -1)
        else:
            p, q = target @ to.mT, source @ of.mT
        return edge_network(pattern, e if self.widths[0] else None, p, q, w1=of_edges if self.widths[0] else None, b1=first.bias,
                            w2=None if second is None else second.weight, b2=None if second is None else second.bias, w3=last.weight, b3=last.bias,
                            gain=None if norm is None else norm.weight, shift=None if norm is None else norm.bias, activation=self.activation,
                            norm=norm is not None, epsilon=1e-5 if norm is None else norm.eps, residual=self.residual, reduce=self.aggregate,
                            update=self.update)


_ACTIVATIONS = {"relu": nn.ReLU, "silu": nn.SiLU, "gelu": nn.GELU, "tanh": nn.Tanh}

__all__ = ["AGNNConv", "DotGATConv", "EdgeNetwork", "GATConv", "GraphConv", "PatternBuffer", "SparseAttention"]


def __getattr__(name: str) -> Any:
    if name == "MessagePassing":  # needs torch_geometric
        from .pyg._message_passing import MessagePassing
        return MessagePassing
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
