"""Principal neighbourhood aggregation: several aggregations at once, scaled by functions of degrees."""
from __future__ import annotations

import math
from typing import Any, Callable, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional

from ... import _errors
from .. import Pattern, _direct, _held, edge_op
from .._direct import compiling
from .._graphs import EdgeIndex
from .._layer import Weights, _Layer, _linear, _reset, counts, inward, is_plain, linear, outward
from .._pattern import remembered
from .._steps import Step
from ._aggregations import NAMES, named
from ._edge_networks import of_sources, of_targets, steps_of
from ._several import Aggregated, Aggregations
from ._spectral import one_tensor


def activation(act: Any, named: dict[str, Any]) -> Any:
    """Return the activation of this name in torch.nn, or what is given."""
    if not isinstance(act, str):
        return act
    name = act.lower().translate(str.maketrans("", "", "-_ "))
    for one in vars(nn.modules.activation).values():
        if isinstance(one, type) and issubclass(one, nn.Module) and one.__name__.lower() == ("silu" if name == "swish" else name):
            return one(**named)
    raise _errors.ArgumentError(f"act = {act!r}: expected the name of an activation of torch.nn, or a function")


_SCALERS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {  # of degrees, and of the means of degrees and of their logarithms
    "identity": lambda degrees, mean, log: torch.ones_like(degrees), "amplification": lambda degrees, mean, log: (degrees + 1).log() / log,
    "attenuation": lambda degrees, mean, log: log / (degrees.clamp(min=1) + 1).log(), "linear": lambda degrees, mean, log: degrees / mean,
    "inverse_linear": lambda degrees, mean, log: mean / degrees.clamp(min=1)}


class _Degrees(nn.Module):
    """The means of degrees, and of their logarithms, in the data of training."""

    avg_deg_lin: Tensor
    avg_deg_log: Tensor

    def __init__(self, histogram: Tensor, learn: bool):
        super().__init__()
        histogram = histogram.float()
        count, degrees = int(histogram.sum()), torch.arange(histogram.numel(), device=histogram.device)
        self.initial = float((degrees * histogram).sum()) / count, float(((degrees + 1).log() * histogram).sum()) / count
        for name in ("avg_deg_lin", "avg_deg_log"):
            if learn:
                setattr(self, name, nn.Parameter(torch.empty(1)))
            else:
                self.register_buffer(name, torch.empty(1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for own, value in zip((self.avg_deg_lin, self.avg_deg_log), self.initial):
            nn.init.constant_(own, value)


class PNAConv(_Layer):
    """Principal neighbourhood aggregation: post(x_i, aggregations of pre(x_i, x_j, e_ij), each scaled by functions of the degree), for each tower.

    aggregators: of "sum", "mean", "min", "max", "var", "std"; scalers: of "identity", "amplification", "attenuation", "linear", "inverse_linear"; deg: the
    number of nodes with 0, 1, ... edges in the data of training. With one pre_layer, the default, that layer is computed for nodes, and no vectors of edges
    are made but of e_ij after it, and in the gradient one for each kind of aggregation.

    >>> deg = torch.tensor([1, 1, 1])
    >>> PNAConv(4, 8, ["mean", "max", "std"], ["identity", "amplification"], deg)(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]])).shape
    torch.Size([3, 8])
    """

    def __init__(self, in_channels: int, out_channels: int, aggregators: list[str], scalers: list[str], deg: Tensor, edge_dim: Optional[int] = None,
                 towers: int = 1, pre_layers: int = 1, post_layers: int = 1, divide_input: bool = False, act: Any = "relu",
                 act_kwargs: Optional[dict[str, Any]] = None, train_norm: bool = False, **kwargs: Any):
        super().__init__("add", **kwargs)
        if in_channels < 1 or out_channels % towers or (divide_input and in_channels % towers):
            raise _errors.ArgumentError(f"in_channels = {in_channels}, out_channels = {out_channels}, towers = {towers}: expected a positive number of channels, and "
                                        f"towers that divide out_channels and, with divide_input, in_channels")
        self._names, self._scalers = [named(one, NAMES) for one in aggregators], list(scalers)
        for one in self._scalers:
            if one not in _SCALERS:
                raise _errors.ArgumentError(f"scalers has {one!r}: expected {', '.join(map(repr, _SCALERS))}")
        self.aggr_module = _Degrees(deg, train_norm)
        self.in_channels, self.out_channels, self.edge_dim, self.towers, self.divide_input = in_channels, out_channels, edge_dim, towers, divide_input
        self.F_in, self.F_out = in_channels // towers if divide_input else in_channels, out_channels // towers
        self._of, self._masked = (Aggregations(tuple(self._names), self.F_in, masked) for masked in (False, True))
        if edge_dim is not None:
            self.edge_encoder = _linear(edge_dim, self.F_in, True)
        self.pre_nns, self.post_nns = nn.ModuleList(), nn.ModuleList()
        for _ in range(towers):
            for networks, inputs, width, layers in ((self.pre_nns, (3 if edge_dim else 2) * self.F_in, self.F_in, pre_layers),
                                                    (self.post_nns, (len(self._names) * len(self._scalers) + 1) * self.F_in, self.F_out, post_layers)):
                steps = [_linear(inputs, width, True)]
                for _ in range(layers - 1):
                    steps += [activation(act, act_kwargs or {}), _linear(width, width, True)]
                networks.append(nn.Sequential(*steps))
        self.lin = _linear(out_channels, out_channels, True)
        self.reset_parameters()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, towers={self.towers}, edge_dim={self.edge_dim})"

    def reset_parameters(self) -> None:
        for child in (self.aggr_module, *([] if self.edge_dim is None else [self.edge_encoder]), *self.pre_nns, *self.post_nns, self.lin):
            _reset(child)

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_attr: Optional[Tensor] = None) -> Tensor:
        one_tensor(x)
        pattern, lead = self._graph(edge_index, x, x, None, edge_attr), self._lead(x, None)
        if (edge_attr is None) != (self.edge_dim is None):
            raise _errors.ArgumentError(f"edge_attr is {'None' if edge_attr is None else 'given'}, and edge_dim of the layer is {self.edge_dim}: expected both or none")
        pre, post = ([steps_of(network) for network in networks] for networks in (self.pre_nns, self.post_nns))
        encoder = None if edge_attr is None else self.edge_encoder
        if self.towers == 1 and x.dim() == 2 and (edge_attr is None or edge_attr.dim() == 2) and not compiling():
            layers = [*pre[0], *post[0], self.lin, *([] if encoder is None else [encoder])]
            scales = self._kept_scales(pattern, x.dtype) if len(layers) == (3 if encoder is None else 4) and all(is_plain(one) and one.bias is not None for one in layers) else None
            if scales is not None:
                return _Whole(self, pattern, *scales)(x, edge_attr, *[tensor for one in layers for tensor in (one.weight, one.bias)])
        return self._by_steps(pattern, x, edge_attr, lead, pre, post, encoder, self.lin)

    def _by_steps(self, pattern: Pattern, x: Tensor, e: Optional[Tensor], lead: tuple[int, ...], pre: list[list[Any]], post: list[list[Any]], encoder: Any, lin: Any) -> Tensor:
        """Return the result of these networks, each its steps, for each tower."""
        early, late = (all(steps and is_plain(steps[0]) for steps in networks) for networks in (pre, post))
        of_ends, of_edges, bias = self._weights(pre) if early else ([], [], [])
        of_x, of_out = zip(*(steps[0].weight.split((self.F_in, steps[0].weight.shape[1] - self.F_in), 1) for steps in post)) if late else ((), (None,) * self.towers)
        own = inward(x, lead)
        own = own.reshape(x.shape[-2], math.prod(lead), self.towers if self.divide_input else 1, self.F_in).expand(-1, -1, self.towers, -1)
        if e is not None and of_edges and is_plain(encoder):  # two linear layers are one, and no vectors of edges come between them
            of_edges, bias = [of_edges[0] @ encoder.weight], [functional.linear(encoder.bias, of_edges[0], bias[0])]
        elif e is not None:
            e = encoder(e)
        e = e if e is None else inward(linear(e, of_edges[0]) if of_edges else e, lead)
        # all that is linear in x is one product
        weights = [*of_ends, *([self._beside(of_x)] if late else [])]
        biases = [*bias, *([weights[1].new_zeros(len(weights[1]))] if early else []), *([beside([steps[0].bias for steps in post], 0)] if late else [])]
        made = [inward(each, lead) for each in functional.linear(x, beside(weights, 0), beside(biases, 0)).split([*map(len, weights)], -1)] if weights else []
        shape = *own.shape[:3], len(self._names) * self.F_in
        if not own.shape[1]:  # a batch without members
            found = own.new_zeros(shape)
        elif early:
            found = self._of_nodes(pattern, *(each if each is None else each.flatten(1) for each in (made[1], made[0], e)), pre, lead).view(shape)
        else:
            ends = (gathered(pattern, own.flatten(1, 2)).view(pattern.nnz, *own.shape[1:]) for gathered in (of_targets, of_sources))
            found = self._of_edges(pattern, torch.cat([*ends, *([] if e is None else [e.view(pattern.nnz, own.shape[1], 1, self.F_in).expand(-1, -1, self.towers, -1)])], -1), pre, lead)
        own = made[-1].view(*shape[:3], self.F_out) if late else own
        after = [self._after(*given, pattern) for given in zip(post, of_out, of_towers(own), of_towers(found))]
        return lin(outward(beside(after), lead))  # type: ignore[no-any-return]

    def _beside(self, weights: Any) -> Tensor:
        """Return the weights of all towers, of what nodes have."""
        return torch.block_diag(*weights) if self.divide_input and self.towers > 1 else beside(weights, 0)

    def _weights(self, pre: list[list[Any]]) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """Return the weights of the first layers, of targets and sources and of edges, and the bias."""
        of_target, of_source, *of_edges = zip(*(steps[0].weight.split(self.F_in, 1) for steps in pre))
        return [self._beside(of_target), self._beside(of_source)], [beside(each, 0) for each in of_edges], [beside([steps[0].bias for steps in pre], 0)]

    def _of_nodes(self, pattern: Pattern, u: Tensor, v: Tensor, e: Optional[Tensor], pre: list[list[Any]], lead: tuple[int, ...]) -> Tensor:
        """Return the aggregations (nodes, members * towers, aggregators * in) of u_j + v_i + e_ij after the other layers."""
        if all(len(steps) == 1 for steps in pre):
            return Aggregated(pattern, self._of)(u, v, e)
        vectors = edge_op(pattern, "add", v, u)
        vectors = (vectors if e is None else vectors + e).view(pattern.nnz, math.prod(lead), self.towers, self.F_in)
        return self._of_edges(pattern, vectors, [steps[1:] for steps in pre], lead)

    def _of_edges(self, pattern: Pattern, vectors: Tensor, networks: Any, lead: tuple[int, ...]) -> Tensor:
        """Return the aggregations (nodes, members, towers, aggregators * in) of what edges have (edges, members, towers, in), after a network for each tower."""
        each = []
        for own, steps in zip(vectors.unbind(2), networks):
            own = own if lead else own.squeeze(1)
            for step in steps:
                own = step(own)
            each.append(own if lead else own.unsqueeze(1))
        found = Aggregated(pattern, self._of)(None, None, torch.stack(each, 2).flatten(1, -1))
        return found.view(pattern.rows, *vectors.shape[1:3], len(self._names) * self.F_in)

    def _after(self, steps: list[Any], weight: Optional[Tensor], x: Tensor, out: Tensor, pattern: Pattern) -> Tensor:
        """Return a tower's post network of x and the scaled aggregations. weight: the part of its first layer that they have, which comes before the scales, since these
        are numbers of nodes; x has passed its own. None: the layer is another one."""
        scale, count = self._scales(pattern, out.dtype), len(self._scalers)
        if x.shape[1] == 1:
            x, out = x.squeeze(1), out.squeeze(1)
        else:
            scale = scale.unsqueeze(1)
        if weight is None:
            found = torch.cat([x, (out.unsqueeze(-2) * scale).flatten(-2)], -1)
        else:
            each = functional.linear(out, weight.reshape(weight.shape[0], count, -1).transpose(0, 1).flatten(0, 1))
            found = x + (scale.mT @ each.reshape(*each.shape[:-1], count, weight.shape[0])).squeeze(-2)
        for step in steps[weight is not None:]:
            found = step(found)
        return found

    def _scales(self, pattern: Pattern, dtype: torch.dtype) -> Tensor:
        """Return the scales of nodes (nodes, scalers, 1), which are computed once for each graph, unless they are learnt."""
        kept = self._kept_scales(pattern, dtype)
        return self._made_scales(pattern, dtype) if kept is None else kept[0]

    def _made_scales(self, pattern: Pattern, dtype: torch.dtype) -> Tensor:
        degrees = counts(pattern, dtype)
        return torch.stack([_SCALERS[name](degrees, self.aggr_module.avg_deg_lin, self.aggr_module.avg_deg_log) for name in self._scalers], 1)

    def _kept_scales(self, pattern: Pattern, dtype: torch.dtype) -> Optional[tuple[Tensor, Tensor]]:
        """Return the scales that are kept with a graph, 0 of nodes without edges, which have no aggregations, and F_in zeros; None where they are not kept."""
        means = self.aggr_module.avg_deg_lin, self.aggr_module.avg_deg_log
        if compiling() or not _direct.plain(means) or means[0].requires_grad:
            return None
        made: dict[Any, Any] = remembered(pattern, "scales", dict)
        key = (dtype, self.F_in, *self._scalers, *map(_held.state, means))
        if key not in made and not _held.counted(*means):
            return None
        if key not in made:
            with _held.apart():
                scales = self._made_scales(pattern, dtype) * counts(pattern, dtype).clamp(max=1).unsqueeze(1)
                _held.kept(made, key, (scales, scales.new_zeros(self.F_in), means), _held.MOST_BESIDE)  # means keep their addresses
        return made[key][:2]  # type: ignore[no-any-return]

    @staticmethod
    def get_degree_histogram(loader: Any) -> Tensor:
        """The argument `deg`: how many nodes of a loader's graphs have 0, 1, ... edges that lead to them.

        >>> class Data:
        ...     edge_index, num_nodes = torch.tensor([[0, 1, 2], [1, 1, 0]]), 3
        >>> PNAConv.get_degree_histogram([Data()])
        tensor([1, 1, 1])
        """
        total = torch.zeros(1, dtype=torch.int64)
        for data in loader:
            own = torch.bincount(torch.bincount(data.edge_index[1], minlength=data.num_nodes), minlength=total.numel())
            total = own + functional.pad(total.to(own.device), (0, own.numel() - total.numel()))
        return total


def beside(parts: Any, dim: int = -1) -> Tensor:
    """Return tensors side by side."""
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim)


def of_towers(x: Tensor) -> Any:
    """Return what each tower has, (nodes, members, width), of x (nodes, members, towers, width)."""
    return x.unbind(2) if x.shape[2] > 1 else [x.squeeze(2)]


class _Whole(Step):
    """A layer of one tower whose networks are a linear layer each, of x, what edges have, and weight and bias of the layers before and after the aggregations, of the
    last one, and of the encoder of edges."""

    def __init__(self, layer: PNAConv, pattern: Pattern, scale: Tensor, zeros: Tensor):
        self.layer, self.pattern, self.scale, self.zeros = layer, pattern, scale, zeros
        self.of, self.widths = layer._masked, (layer.F_in, layer.F_out, layer.F_in)  # of what is made of x: v, its own part of the result, u

    def plainly(self, *operands: Any) -> Tensor:
        x, e, *tensors = operands
        before, after, last, *encoder = map(Weights, tensors[::2], tensors[1::2])
        return self.layer._by_steps(self.pattern, x, e, (), [[before]], [[after]], encoder[0] if encoder else None, last)

    def run(self, known: Any, *operands: Any) -> tuple[Tensor, tuple]:
        x, e, before, before_bias, after, after_bias, last, last_bias, *encoder = operands
        of_target, of_source, *of_edge = before.split_with_sizes([self.widths[0]] * (3 if encoder else 2), 1)
        of_x, of_out = after.split_with_sizes((self.widths[0], after.shape[1] - self.widths[0]), 1)
        count, made_of_x = self.scale.shape[1], torch.cat((of_target, of_x, of_source))
        if encoder:
            before_bias, of_edge = torch.addmv(before_bias, of_edge[0], encoder[1]), [of_edge[0] @ encoder[0]]
            e = linear(e, of_edge[0])
        v, own, u = torch.addmm(torch.cat((before_bias, after_bias, self.zeros)), x, made_of_x.t()).split_with_sizes(self.widths, 1)
        out, kept = self.of.forward(known, u, v, e)
        # the product comes before the scales, since these are numbers of nodes
        of_out = of_out.view(self.widths[1], count, -1).transpose(0, 1).reshape(count * self.widths[1], -1)
        each = (out.flatten(1) @ of_out.t()).view(len(x), count, self.widths[1])
        found = torch.baddbmm(own.unsqueeze(1), self.scale.mT, each).squeeze(1)
        return torch.addmm(last_bias, found, last.t()), (made_of_x, of_out, u, e, out, found, *of_edge, *kept)

    def back(self, known: Any, grad: Tensor, operands: tuple, kept: tuple, wanted: list[bool]) -> tuple:
        (x, edge_attr, before, _, after, _, last, _, *encoder), (made_of_x, of_out, u, e, out, found, *kept) = operands, kept  # type: ignore[assignment]
        (narrow, width, _), count = self.widths, self.scale.shape[1]
        made: list[Optional[Tensor]] = [None, None, None, None, None, None, grad.t() @ found, grad.sum(0)]
        of_made = grad.new_empty(x.shape[0], made_of_x.shape[0])
        of_v, of_found, of_u = of_made.split_with_sizes(self.widths, 1)
        each = (torch.mm(grad, last, out=of_found).unsqueeze(1) * self.scale).flatten(1)
        du, dv, de = self.of.backward(known, (each @ of_out).view(out.shape), u, e, tuple(kept[len(encoder) // 2:]), out, (True, True, bool(encoder)), (of_u, of_v))
        if wanted[0]:
            made[0] = of_made @ made_of_x
        if encoder and wanted[1]:
            made[1] = de @ kept[0]
        if any(wanted[2:6]) or any(wanted[8:]):
            by_v, by_own, by_u = (of_made.t() @ x).split_with_sizes(self.widths)
            made[3], made[5], _ = of_made.sum(0).split_with_sizes(self.widths)
            by_out, of_edge = each.t() @ out.flatten(1), before[:, 2 * narrow:]
            made[4], of_e = torch.cat((by_own, *by_out.view(count, width, -1).unbind(0)), 1), []
            if encoder:
                by_edge = (edge_attr.t() @ de).t()  # the other product is slow on a CPU
                of_e = [torch.addr(by_edge @ encoder[0].t(), made[3], encoder[1])]
                made += [of_edge.t() @ by_edge, of_edge.t() @ made[3]]
            made[2] = torch.cat((by_v, by_u, *of_e), 1)
        made += [None] * (len(operands) - len(made))
        return tuple([x if wants else None for x, wants in zip(made, wanted)])
