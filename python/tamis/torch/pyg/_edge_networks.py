"""Layers with a network that edges pass through: of the features of their ends, or of their own.

Where the network allows it, it works on nodes before and after the sums, and not on edges: a linear layer of two ends is one of each end, and one before
a sum may as well come after it.
"""
from __future__ import annotations

import math
from typing import Any, Callable, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional

from ... import _errors
from .. import Pattern, _graphs, edge_op, message, spmm
from .._direct import compiling
from .._graphs import EdgeIndex
from .._held import apart
from .._layer import Channels, Pair, Size, Weights, _glorot, _Layer, _linear, _reset, _two, counts, inward, is_plain, linear, outward, watched
from .._messages import OPS, room
from .._sampled import AS_IS, SPMM, computed
from .._steps import Step, gradients, reduced_into
from ._several import numbers_of_edges

# Modules that messages compute as well: the expression, and the numbers that it names.
_ACTIVATIONS: dict[type, Callable[[Any], Optional[tuple[str, dict[str, float]]]]] = {
    nn.ReLU: lambda module: ("relu({})", {}), nn.LeakyReLU: lambda module: ("leaky_relu({}, slope)", {"slope": module.negative_slope}),
    nn.SiLU: lambda module: ("silu({})", {}), nn.Tanh: lambda module: ("tanh({})", {}), nn.Sigmoid: lambda module: ("sigmoid({})", {}),
    nn.GELU: lambda module: ("gelu({})", {}) if module.approximate == "none" else None}


def steps_of(network: Any) -> list[Any]:
    """Return the modules that a network applies one after the other, without those that do nothing now."""
    if type(network) is nn.Sequential and not watched(network):
        return [step for module in network for step in steps_of(module)]
    idle = type(network) is nn.Identity or (type(network) is nn.Dropout and not (network.training and network.p))
    return [] if idle and not watched(network) else [network]


def reduced(pattern: Pattern, u: Tensor, v: Tensor, e: Optional[Tensor], steps: list[Any], reduce: str, lead: tuple[int, ...] = ()) -> Tensor:
    """Return the reductions of steps(u_j + v_i + e_ij), (rows, ..., width). Vectors of all edges are made if there are steps after an activation,
    but for a linear one before a sum or a mean; steps see them with the batch, `lead`, first."""
    found: Optional[tuple[str, dict[str, float]]] = None
    sum_of = "u + v" if e is None else "u + v + e"
    if not steps:
        found = "{}", {}
    elif type(steps[0]) in _ACTIVATIONS and not watched(steps[0]):
        found = _ACTIVATIONS[type(steps[0])](steps[0])
    rest = steps[1:]
    after = rest[0] if len(rest) == 1 and is_plain(rest[0]) and reduce in ("sum", "mean") else None
    if found is not None and (not rest or after is not None):
        text, numbers = found
        out = message(pattern, text.format(sum_of), u, e, reduce, v, numbers or None)
        if after is None:
            return out
        of_rows = counts(pattern, out.dtype)
        bias = None if after.bias is None else (of_rows if reduce == "sum" else of_rows.clamp(max=1)) * after.bias
        out = functional.linear(out, after.weight)
        return out if bias is None else out + (bias if out.dim() == 2 else bias.unsqueeze(1))
    vectors = edge_op(pattern, "add", v, u)
    vectors = vectors if e is None else vectors + e
    vectors = outward(vectors, lead).contiguous()
    for step in steps:
        vectors = step(vectors)
    return message(pattern, "copy_e", None, inward(vectors, lead), reduce)


def of_sources(pattern: Pattern, x: Tensor) -> Tensor:
    """Return the row of x of each edge's source, with gradients that have the same bits each time."""
    return message(_graphs.one_each(pattern, "sources"), "copy_u", x)


def of_targets(pattern: Pattern, x: Tensor) -> Tensor:
    return message(_graphs.one_each(pattern, "targets").T, "copy_u", x)


class EdgeConv(_Layer):
    """The edge convolution of point clouds: the maximum, sum or mean of nn(x_i, x_j - x_i).

    If nn begins with a linear layer, it is computed for nodes. No vectors of edges are made if nn is such a layer and an activation (ReLU, LeakyReLU, SiLU,
    Tanh, Sigmoid, GELU), or with aggr="add" or "mean" such a layer, an activation and a linear layer. Of other networks there is a vector for each edge
    after each module, from the first activation on; a network that begins otherwise gets x_i and x_j - x_i for each edge.

    >>> EdgeConv(torch.nn.Sequential(torch.nn.Linear(8, 5), torch.nn.ReLU()))(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]])).shape
    torch.Size([3, 5])
    """

    def __init__(self, nn: Callable[[Tensor], Tensor], aggr: str = "max", **kwargs: Any):
        super().__init__(aggr, **kwargs)
        self.nn = nn
        self.reset_parameters()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(nn={self.nn})"

    def forward(self, x: Pair, edge_index: EdgeIndex) -> Tensor:
        source, target = self._pair(x)
        if target is None:
            raise _errors.ArgumentError("x[1] is None: expected the rows of the targets")
        pattern, lead, steps = self._graph(edge_index, source, target, None), self._lead(source, target), steps_of(self.nn)
        if steps and is_plain(steps[0]) and steps[0].weight.shape[1] == 2 * source.shape[-1] == 2 * target.shape[-1]:
            of_target, of_difference = steps[0].weight.chunk(2, 1)
            v = functional.linear(target, of_target - of_difference, steps[0].bias)
            u = functional.linear(source, of_difference)
            return outward(reduced(pattern, inward(u, lead), inward(v, lead), None, steps[1:], self._reduce, lead), lead)
        u, v = inward(source, lead), inward(target, lead)
        out = self.nn(outward(torch.cat([of_targets(pattern, v), -edge_op(pattern, "sub", v, u)], -1), lead))
        return outward(message(pattern, "copy_e", None, inward(out, lead), self._reduce), lead)


class NNConv(_Layer):
    """The convolution of a network of edges: V x_i + the sum of W(e_ij) x_j, where nn makes the matrix W (in x out) of what an edge has.

    If nn ends with a linear layer and edges are added or averaged, no matrix of an edge is made where that needs less memory: the last layer comes after the
    sums of x_j with the features before that layer as weights, of each feature. Otherwise there is a matrix for each edge, in_channels times out_channels numbers, as in PyTorch Geometric.

    >>> NNConv(4, 8, torch.nn.Linear(3, 32))(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]]), torch.ones(3, 3)).shape
    torch.Size([3, 8])
    """

    def __init__(self, in_channels: Channels, out_channels: int, nn: Callable[[Tensor], Tensor], aggr: str = "add", root_weight: bool = True,
                 bias: bool = True, **kwargs: Any):
        super().__init__(aggr, **kwargs)
        self.in_channels, self.out_channels, self.nn, self.root_weight = in_channels, out_channels, nn, root_weight
        if root_weight:
            self.lin = _linear(_two(in_channels)[1], out_channels, False)
        self.bias = torch.nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, aggr={self.aggr}, nn={self.nn})"

    def forward(self, x: Pair, edge_index: EdgeIndex, edge_attr: Optional[Tensor] = None, size: Size = None) -> Tensor:
        source, target = self._pair(x)
        if edge_attr is None:
            raise _errors.ArgumentError("edge_attr is None: expected what the edges have")
        pattern = self._graph(edge_index, source, target, size, edge_attr)
        lead, steps = self._lead(source, None), steps_of(self.nn)
        if source.dim() == edge_attr.dim() == 2 and not compiling() and self._is_two_layers(pattern, source, target, steps):
            of_network = [tensor for one in (steps[0], steps[2]) for tensor in (one.weight, one.bias)]
            root = self.lin.weight if self.root_weight and target is not None else None
            return _OfFeatures(self, pattern)(source, None if target is source or root is None else target, edge_attr, *of_network, root, self.bias)
        added = self._added(target)
        if source.dim() == 2:
            return self._of_matrices(pattern, source, edge_attr, added)
        out = outward(self._of_matrices(pattern, inward(source, lead), edge_attr, None), lead)
        return out if added is None else out + added

    def _of_sums(self, pattern: Pattern, hidden: int) -> bool:
        """Return True if the sums with each hidden feature take less memory than a matrix of each edge."""
        return self._reduce in ("sum", "mean") and pattern.rows * hidden <= pattern.nnz * self.out_channels

    def _is_two_layers(self, pattern: Pattern, source: Tensor, target: Optional[Tensor], steps: list[Any]) -> bool:
        """Return True if the network is two linear layers with ReLU between them, and all that is added is plain too. Targets must be like the sources,
        beside which they are copied: a copy would repeat and convert others, which a product refuses."""
        if len(steps) != 3 or type(steps[1]) is not nn.ReLU or watched(steps[1]) or not is_plain(steps[0]) or not is_plain(steps[2]) or steps[0].bias is None:
            return False
        if self.root_weight and target is not None:
            like = target.shape[1:] == source.shape[1:] and target.dtype == source.dtype and target.device == source.device
            if not (like and is_plain(self.lin) and self.lin.weight.shape[1] == source.shape[1]):
                return False
        width, hidden = steps[2].weight.shape
        return hidden == steps[0].weight.shape[0] and width == source.shape[1] * self.out_channels and self._of_sums(pattern, hidden)

    def _added(self, target: Optional[Tensor]) -> Optional[Tensor]:
        """Return what is added to the reductions: the root's part and the bias."""
        if not self.root_weight or target is None:
            return self.bias
        if is_plain(self.lin):
            return functional.linear(target, self.lin.weight, self.bias)
        return self.lin(target) if self.bias is None else self.lin(target) + self.bias

    def _of_matrices(self, pattern: Pattern, x: Tensor, edge_attr: Tensor, added: Optional[Tensor]) -> Tensor:
        """Return the reductions for x (nodes, channels) or (nodes, members, channels), with what is added."""
        steps, channels, width = steps_of(self.nn), x.shape[-1], self.out_channels
        last = steps[-1] if steps and is_plain(steps[-1]) and steps[-1].weight.shape[0] == channels * width else None
        if last is None or not self._of_sums(pattern, last.weight.shape[1]):
            matrices = self.nn(edge_attr).view(-1, channels, width)
            vectors = torch.einsum("e...i,eio->e...o", of_sources(pattern, x), matrices)
            out = message(pattern, "copy_e", None, vectors, self._reduce)
            return out if added is None else out + added
        hidden = edge_attr
        for step in steps[:-1]:
            hidden = step(hidden)
        return self._after_sums(pattern, x, hidden, last, added)

    def _features_first(self, weight: Tensor, channels: int) -> Tensor:
        """Return the last layer's weight as the sums with hidden features need it, (hidden, channels, out_channels)."""
        return weight.view(channels, self.out_channels, weight.shape[1]).permute(2, 0, 1)

    def _after_sums(self, pattern: Pattern, x: Tensor, hidden: Tensor, last: Any, added: Optional[Tensor]) -> Tensor:
        """Return the same with the last layer after the sums of x with each hidden feature."""
        channels, width = x.shape[-1], self.out_channels
        sums = spmm(pattern, x.flatten(1), hidden.t().contiguous())  # (hidden, rows, members * channels)
        sums = sums.view(*sums.shape[:2], *x.shape[1:]).movedim(0, -2).flatten(-2)
        weight = self._features_first(last.weight, channels).flatten(0, 1)
        mean = self._reduce == "mean"
        out = sums @ weight if added is None or mean else torch.addmm(added, sums, weight)
        if last.bias is not None:  # the weight of one more feature, which is 1
            ones, more = message(pattern, "copy_u", x), last.bias.view(channels, width)
            out = torch.addmm(out, ones, more) if x.dim() == 2 else out + ones @ more
        if mean:
            out = out / counts(pattern, out.dtype).clamp(min=1).view(-1, *(1,) * (out.dim() - 1))
        return out if added is None or not mean else out + added


class _OfFeatures(Step):
    """NNConv with two layers that have ReLU between them: of x, the targets if they are others, what edges have, both layers' weights and biases, the root's weight and
    the bias. The sums with each hidden feature, those with 1, which the last bias has as its weight, and the targets stand side by side, so that one product has them all."""

    def __init__(self, layer: NNConv, pattern: Pattern):
        self.layer, self.pattern = layer, pattern

    def plainly(self, *operands: Any) -> Tensor:
        x, target, e, first, first_bias, last, last_bias, root, bias = operands
        added = bias if root is None else functional.linear(x if target is None else target, root, bias)
        return self.layer._after_sums(self.pattern, x, linear(e, first, first_bias).relu(), Weights(last, last_bias), added)

    def _averaged(self, known: Any, sums: Tensor) -> None:
        if self.layer._reduce == "mean":
            sums.div_(numbers_of_edges(known, sums)[0].clamp(min=1).unsqueeze(1))

    def run(self, known: Any, *operands: Any) -> tuple[Tensor, tuple]:
        (x, target, e, first, first_bias, last, last_bias, root, bias), channels = operands, operands[0].shape[1]
        hidden, by_bias = len(first), last_bias is not None
        of_edges = torch.addmm(first_bias.unsqueeze(1), first, e.t()).relu_()  # by features, as the sums take them
        each = x.new_empty((known.shape[0], hidden + by_bias + (root is not None), channels))
        room(each)
        each[:, :hidden].copy_(computed(SPMM.operation, known, AS_IS, (of_edges, x), None).movedim(0, 1))
        weights = [self.layer._features_first(last, channels)]
        if by_bias:
            reduced_into(known, each[:, hidden], OPS["copy_u"], "sum", x)
            weights.append(last_bias.view(1, channels, -1))
        self._averaged(known, each[:, :hidden + by_bias])
        if root is not None:
            each[:, -1].copy_(x if target is None else target)
            weights.append(root.t().unsqueeze(0))
        weight = torch.cat(weights).flatten(0, 1)
        out = each.flatten(1) @ weight if bias is None else torch.addmm(bias, each.flatten(1), weight)
        return out, (of_edges, each, weight)

    def back(self, known: Any, grad: Tensor, operands: tuple, kept: tuple, wanted: list[bool]) -> tuple:
        (x, target, e, first, _, last, last_bias, root, _), (of_edges, each, weight) = operands, kept
        hidden, by_bias = len(first), last_bias is not None
        made: list[Optional[Tensor]] = [None] * len(operands)
        if any(wanted[:5]):
            by_each = (grad @ weight.t()).view(each.shape)
            if wanted[1]:
                made[1] = by_each[:, -1].clone()
            self._averaged(known, by_each[:, :hidden + by_bias])
            dx, by_features = SPMM.back(known, by_each[:, :hidden].movedim(1, 0).contiguous(), (of_edges, x), AS_IS, [wanted[0], any(wanted[2:5])])
            if wanted[0]:
                if by_bias:
                    dx.add_(gradients(known, by_each[:, hidden], OPS["copy_u"], "sum", None)[0])
                made[0] = dx if root is None or target is not None else dx.add_(by_each[:, -1])
            if by_features is not None:
                by_features = torch.ops.aten.threshold_backward.default(by_features, of_edges, 0.0)
                made[2:5] = by_features.t() @ first, (e.t() @ by_features.t()).t(), by_features.sum(1)  # the other product is slow on a CPU
        if any(wanted[5:8]):
            by_weight = (each.flatten(1).t() @ grad).view(*each.shape[1:], -1)
            made[5] = by_weight[:hidden].permute(1, 2, 0).reshape(last.shape)
            made[6], made[7] = by_weight[hidden].flatten() if by_bias else None, by_weight[-1].t()
        if wanted[8]:
            made[8] = grad.sum(0)
        return tuple([one if wants else None for one, wants in zip(made, wanted)])


ECConv = NNConv


class GMMConv(_Layer):
    """The Gaussian mixture convolution: V x_i + the mean of the sum over k of w_k(e_ij) W_k x_j, where w_k is a Gaussian of what an edge has, (edges, dim),
    with learnt means and deviations.

    separate_gaussians: each element of W_k has a Gaussian of its own; then there are arrays of in_channels times out_channels numbers for each edge, and of more
    for their gradients. Otherwise an edge has kernel_size numbers, and with aggr="max" or "min" a vector.

    >>> GMMConv(4, 8, dim=2, kernel_size=3)(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]]), torch.ones(3, 2)).shape
    torch.Size([3, 8])
    """

    def __init__(self, in_channels: Channels, out_channels: int, dim: int, kernel_size: int, separate_gaussians: bool = False, aggr: str = "mean",
                 root_weight: bool = True, bias: bool = True, **kwargs: Any):
        super().__init__(aggr, **kwargs)
        self.in_channels, self.out_channels, self.dim, self.kernel_size = in_channels, out_channels, dim, kernel_size
        self.separate_gaussians, self.root_weight = separate_gaussians, root_weight
        of, to = _two(in_channels)
        if of > 0:
            self.g, self.mu, self.sigma = (nn.Parameter(torch.empty(shape)) for shape in self._shapes(of))
        else:
            self.g, self.mu, self.sigma = (nn.UninitializedParameter() for _ in range(3))  # type: ignore[assignment]
        self.root = _linear(to, out_channels, False, True) if root_weight else None
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def _shapes(self, channels: int) -> tuple[tuple[int, ...], ...]:
        of_each = (channels, self.out_channels) if self.separate_gaussians else ()
        return (channels, self.out_channels * self.kernel_size), (*of_each, self.kernel_size, self.dim), (*of_each, self.kernel_size, self.dim)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, dim={self.dim})"

    def reset_parameters(self) -> None:
        if not isinstance(self.g, nn.UninitializedParameter):
            for weight in (self.g, self.mu, self.sigma):
                _glorot(weight)
        _reset(self.root)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Pair, edge_index: EdgeIndex, edge_attr: Optional[Tensor] = None, size: Size = None) -> Tensor:
        source, target = self._pair(x)
        if edge_attr is None or edge_attr.dim() != 2 or edge_attr.shape[1] != self.dim:
            shape = None if edge_attr is None else tuple(edge_attr.shape)
            raise _errors.ArgumentError(f"edge_attr has shape {shape}: expected (edges, {self.dim}), the coordinates of each edge")
        pattern = self._graph(edge_index, source, target, size, edge_attr)
        if isinstance(self.g, nn.UninitializedParameter):
            with apart():
                for weight, shape in zip((self.g, self.mu, self.sigma), self._shapes(source.shape[-1])):
                    weight.materialize(shape)  # type: ignore[attr-defined]
                    _glorot(weight)
        lead = self._lead(source, None)
        whole = self._apart if self.separate_gaussians else self._together
        out = outward(whole(pattern, inward(source if self.separate_gaussians else source @ self.g, lead), edge_attr, math.prod(lead)), lead)
        if self.root is not None and target is not None:
            out = out + self.root(target)
        return out if self.bias is None else out + self.bias

    def _weights(self, edge_attr: Tensor) -> Tensor:
        """Return the Gaussians of each edge, (edges, ..., kernel_size)."""
        away = edge_attr.view(-1, *(1,) * (self.mu.dim() - 1), self.dim) - self.mu
        return (away.square() * (-0.5 / (1e-15 + self.sigma.square()))).sum(-1).exp()

    def _together(self, pattern: Pattern, y: Tensor, edge_attr: Tensor, members: int) -> Tensor:
        """y: the products W_k x, (nodes, kernel_size * channels), or with members."""
        weights, shape = self._weights(edge_attr), (*y.shape[1:-1], self.kernel_size, self.out_channels)
        y = y.reshape(y.shape[0], members * self.kernel_size, self.out_channels)
        if self._reduce in ("sum", "mean"):
            weights = weights if members == 1 else weights.repeat(1, members)
            return message(pattern, "mul", y, weights.to(y.dtype), self._reduce).view(pattern.rows, *shape).sum(-2)
        vectors = torch.einsum("e...km,ek->e...m", of_sources(pattern, y).view(pattern.nnz, *shape), weights)
        return message(pattern, "copy_e", None, vectors, self._reduce)

    def _apart(self, pattern: Pattern, x: Tensor, edge_attr: Tensor, members: int) -> Tensor:
        matrices = (self._weights(edge_attr) * self.g.view(-1, self.out_channels, self.kernel_size)).sum(-1)
        return message(pattern, "copy_e", None, torch.einsum("e...i,eio->e...o", of_sources(pattern, x), matrices), self._reduce)
