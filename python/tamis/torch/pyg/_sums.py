"""Layers that reduce what neighbours have: sums, means, maxima, with numbers or vectors of edges."""
from __future__ import annotations

from typing import Any, Callable, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional

from ... import _errors
from .. import Pattern
from .._direct import compiling
from .._graphs import EdgeIndex
from .._layer import Channels, Pair, Size, _Layer, _linear, _number_of_each, _promoted, _two, watched
from .._messages import OPS
from .._steps import Step, gradients, reduced
from ._spectral import one_tensor


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


class GatedGraphConv(_Layer):
    """Gated sums: num_layers times x = GRU(sum of w_ij W_l x_j, x), where x has zeros in place of channels that it lacks.

    >>> GatedGraphConv(8, num_layers=2)(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]])).shape
    torch.Size([3, 8])
    """

    def __init__(self, out_channels: int, num_layers: int, aggr: str = "add", bias: bool = True, **kwargs: Any):
        super().__init__(aggr, **kwargs)
        self.out_channels, self.num_layers = out_channels, num_layers
        self.weight = nn.Parameter(torch.empty(num_layers, out_channels, out_channels))
        self.rnn = nn.GRUCell(out_channels, out_channels, bias=bias)
        self.reset_parameters()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.out_channels}, num_layers={self.num_layers})"

    def reset_parameters(self) -> None:
        nn.init.uniform_(self.weight, -self.out_channels ** -0.5, self.out_channels ** -0.5)
        self.rnn.reset_parameters()

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_weight: Optional[Tensor] = None) -> Tensor:
        one_tensor(x)
        if x.shape[-1] > self.out_channels:
            raise _errors.ArgumentError(f"x has {x.shape[-1]} channels: expected at most out_channels = {self.out_channels}")
        edge_weight = _number_of_each(edge_weight)
        pattern = self._graph(edge_index, x, x, None, edge_weight, "edge_weight")
        if x.shape[-1] < self.out_channels:
            x = functional.pad(x, (0, self.out_channels - x.shape[-1]))
        if edge_weight is None and x.dim() == 2 and len(self.weight) > 0 and _fused(x) and type(self.rnn) is nn.GRUCell and self.rnn.bias and self._reduce in ("sum", "mean") and not watched(self.rnn):
            return _Gated(self, pattern)(x, self.weight, *[getattr(self.rnn, name) for name in _OF_CELL])
        return self._by_steps(pattern, x, edge_weight, self.weight, self.rnn)

    def _by_steps(self, pattern: Pattern, x: Tensor, edge_weight: Optional[Tensor], weights: Tensor, cell: Any) -> Tensor:
        for weight in weights:
            sums = self._weighted(pattern, _promoted(x @ weight, edge_weight), edge_weight)
            x = cell(sums, x) if x.dim() == 2 else cell(sums.flatten(0, -2), x.flatten(0, -2)).view(x.shape)
        return x


_OF_CELL = "weight_ih", "weight_hh", "bias_ih", "bias_hh"
_cell, _cell_backward = torch.ops.aten._thnn_fused_gru_cell.default, torch.ops.aten._thnn_fused_gru_cell_backward.default


def _fused(x: Tensor) -> bool:
    """Return True if PyTorch has a GRU cell in one kernel after the products."""
    return x.is_cuda and not compiling()


class _Gated(Step):
    """All layers of a GatedGraphConv: operands are x, their weights and the cell's. Gradients of several layers are added in the products that make them."""

    def __init__(self, layer: GatedGraphConv, pattern: Pattern):
        self.layer, self.pattern, self.reduce = layer, pattern, layer._reduce

    def plainly(self, *operands: Any) -> Tensor:
        x, weights, *of_cell = operands
        return self.layer._by_steps(self.pattern, x, None, weights, lambda sums, x: torch.gru_cell(sums, x, *of_cell))

    def run(self, known: Any, *operands: Any) -> tuple[Tensor, tuple]:
        x, weights, of_sums, of_x, *biases = operands
        kept = []
        for weight in weights.unbind(0):
            sums = reduced(known, OPS["copy_u"], self.reduce, x @ weight)[0]
            after, space = _cell(sums @ of_sums.t(), x @ of_x.t(), x, *biases)
            kept += [x, sums, space]
            x = after
        return x, tuple(kept)

    def back(self, known: Any, grad: Tensor, operands: tuple, kept: tuple, wanted: list[bool]) -> tuple:
        _, weights, of_sums, of_x, *_ = operands
        made: list[Tensor] = []
        by_weights = torch.empty_like(weights)
        for number in reversed(range(len(kept) // 3)):
            x, sums, space = kept[3 * number:3 * number + 3]
            by_sums, by_x, grad, *by_biases = _cell_backward(grad, space, True)
            by_product = gradients(known, by_sums @ of_sums, OPS["copy_u"], self.reduce, None)[0]
            torch.mm(x.t(), by_product, out=by_weights[number])
            if made:
                made = [made[0].addmm_(by_sums.t(), sums), made[1].addmm_(by_x.t(), x), *map(Tensor.add_, made[2:], by_biases)]
            else:
                made = [by_sums.t() @ sums, by_x.t() @ x, *by_biases]
            if number or wanted[0]:
                grad = grad.addmm_(by_x, of_x).addmm_(by_product, weights[number].t())
        return tuple([one if wants else None for one, wants in zip((grad, by_weights, *made), wanted)])
