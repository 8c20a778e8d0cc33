"""The heterogeneous graph transformer: several types of nodes and of edges in one layer."""
from __future__ import annotations

from typing import Any, Optional, Union

import torch
from torch import Tensor, nn
from torch.nn import functional

from ... import _errors
from .. import _graphs, attention
from .._graphs import EdgeIndex
from .._layer import _Layer, _linear
from .._messages import joined

EdgeType = tuple[str, str, str]
_TAKEN = frozenset(dir(nn.ParameterDict))


def _key(name: str) -> str:
    """Return the name of a parameter, as PyTorch Geometric saves it."""
    return (f"<{name}>" if name in _TAKEN else name).replace(".", "#")


class _OfNodes(nn.Module):
    """A linear layer for each type of nodes."""

    def __init__(self, channels: dict[str, int], out_channels: int):
        super().__init__()
        self.lins = nn.ModuleDict({kind: _linear(count, out_channels, True) for kind, count in channels.items()})
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for layer in self.lins.values():
            layer.reset_parameters()  # type: ignore[operator]


class _OfHeads(nn.Module):
    """A matrix for each head and type of edges."""

    def __init__(self, heads: int, types: int, width: int):
        super().__init__()
        self.heads, self.weight = heads, nn.Parameter(torch.empty(heads * types, width, width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.uniform_(self.weight, -self.weight.shape[1] ** -0.5, self.weight.shape[1] ** -0.5)

    def forward(self, x: Tensor, kind: int, scale: Optional[Tensor] = None) -> Tensor:
        """x (nodes, heads, width): return (heads, nodes, width)."""
        weight = self.weight.view(self.heads, -1, *self.weight.shape[1:])[:, kind]
        return torch.bmm(x.transpose(0, 1), weight if scale is None else weight * scale.view(-1, 1, 1))


class HGTConv(_Layer):
    """The heterogeneous graph transformer: attention of each node over all its edges, where keys and values have matrices for each type of edges.

    in_channels: a number, -1, or one for each type of nodes. metadata: the types of nodes, and the types of edges, (source, name, target). Takes a dict of x by
    type of node and a dict of edges by type; returns a dict. Edges into nodes of a type are one call of attention: no scores are in memory.

    >>> layer = HGTConv(4, 8, (["a", "b"], [("a", "to", "b"), ("b", "of", "b")]), heads=2)
    >>> edges = torch.tensor([[0, 1], [1, 1]])
    >>> layer({"a": torch.ones(2, 4), "b": torch.ones(3, 4)}, {("a", "to", "b"): edges, ("b", "of", "b"): edges})["b"].shape
    torch.Size([3, 8])
    """

    def __init__(self, in_channels: Union[int, dict[str, int]], out_channels: int, metadata: tuple[list[str], list[EdgeType]], heads: int = 1, **kwargs: Any):
        super().__init__(**kwargs)
        if out_channels % heads:
            raise _errors.ArgumentError(f"out_channels = {out_channels}: expected a multiple of heads = {heads}")
        if self.flow != "source_to_target":
            raise _errors.ArgumentError(f"flow = {self.flow!r}: expected 'source_to_target'; a type of edges says which end is the target")
        self.node_types, self.edge_types = metadata
        self.in_channels = in_channels if isinstance(in_channels, dict) else {kind: in_channels for kind in self.node_types}
        self.out_channels, self.heads = out_channels, heads
        self.kqv_lin = _OfNodes(self.in_channels, 3 * out_channels)
        self.out_lin = _OfNodes({kind: out_channels for kind in self.node_types}, out_channels)
        self.k_rel, self.v_rel = (_OfHeads(heads, len(self.edge_types), out_channels // heads) for _ in range(2))
        self.skip = nn.ParameterDict({_key(kind): nn.Parameter(torch.empty(1)) for kind in self.node_types})
        self.p_rel = nn.ParameterDict()
        for one in self.edge_types:  # in this order, while a dict would be sorted
            self.p_rel[_key("__".join(one))] = nn.Parameter(torch.empty(1, heads))
        self.reset_parameters()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(-1, {self.out_channels}, heads={self.heads})"

    def reset_parameters(self) -> None:
        for layer in (self.kqv_lin, self.out_lin, self.k_rel, self.v_rel):
            layer.reset_parameters()
        for weight in (*self.skip.values(), *self.p_rel.values()):
            nn.init.ones_(weight)

    def forward(self, x_dict: dict[str, Tensor], edge_index_dict: dict[EdgeType, EdgeIndex]) -> dict[str, Tensor]:
        for one in edge_index_dict:
            if one not in self.edge_types:
                raise _errors.ArgumentError(f"edge_index_dict has {one!r}: expected types of edges from metadata, {self.edge_types!r}")
        of: dict[str, Any] = {}  # keys, queries and values, (nodes, heads, width)
        for kind, x in x_dict.items():
            if kind not in self.node_types:
                raise _errors.ArgumentError(f"x_dict has {kind!r}: expected types of nodes from metadata, {self.node_types!r}")
            if x.dim() != 2:
                raise _errors.ArgumentError(f"x_dict[{kind!r}] has shape {tuple(x.shape)}: expected (nodes, channels)")
            of[kind] = self.kqv_lin.lins[kind](x).view(x.shape[0], 3, self.heads, -1).unbind(1)
        return {kind: self._result(kind, x_dict[kind], of, edge_index_dict) for kind in x_dict if any(to == kind for _, _, to in self.edge_types)}

    def _result(self, kind: str, x: Tensor, of: dict[str, Any], edges: dict[EdgeType, EdgeIndex]) -> Tensor:
        patterns, keys, values = [], [], []
        for one, edge_index in edges.items():
            if one[2] != kind:
                continue
            if one[0] not in of:
                raise _errors.ArgumentError(f"x_dict has no {one[0]!r}: expected the nodes that edges {one!r} come from")
            key, _, value = of[one[0]]
            patterns.append(_graphs.pattern_of(edge_index, key.shape[0], x.shape[0]))
            number = self.edge_types.index(one)
            keys.append(self.k_rel(key, number, self.p_rel[_key("__".join(one))]))
            values.append(self.v_rel(value, number))
        query = of[kind][1]
        if patterns:
            whole = joined(patterns, [0] * len(patterns), list(range(len(patterns))))
            out = attention(query.transpose(0, 1), torch.cat(keys, 1), torch.cat(values, 1), whole).transpose(0, 1).flatten(1)
        else:
            out = torch.zeros_like(query).flatten(1)
        out = self.out_lin.lins[kind](functional.gelu(out))
        if out.shape[-1] == x.shape[-1]:
            share = self.skip[_key(kind)].sigmoid()
            out = share * out + (1 - share) * x  # of whatever types: torch.lerp takes one
        return out
