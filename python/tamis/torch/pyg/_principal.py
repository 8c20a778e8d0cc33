"""Principal neighbourhood aggregation: several aggregations at once, scaled by functions of degrees."""
from __future__ import annotations

import functools
import math
from typing import Any, Callable, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional

from ... import _errors
from .. import Pattern, _direct, _graphs, _held, edge_op, message
from .._direct import compiling
from .._graphs import EdgeIndex
from .._layer import _Layer, _linear, _reset, counts, inward, is_plain, outward
from .._messages import OPS
from .._pattern import remembered
from .._steps import Step, gradients, reduced
from ._aggregations import LEAST, NAMES, deviation_of, named, of_rows
from ._edge_networks import of_sources, of_targets, steps_of
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
    are made but of e_ij after it; then means and variances are one pass over the edges, and maxima and minima another, if edges have nothing.

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
        members = math.prod(lead)
        x = x.movedim(-2, 0).reshape(x.shape[-2], members, self.towers if self.divide_input else 1, self.F_in).expand(-1, -1, self.towers, -1)
        pre = [steps_of(network) for network in self.pre_nns]
        e = None if edge_attr is None else inward(self.edge_encoder(edge_attr), lead).view(pattern.nnz, members, 1, self.F_in)
        plain = all(is_plain(steps[0]) for steps in pre)
        if plain:
            found = self._of_nodes(pattern, x, e, pre, lead)
        else:
            ends = (gathered(pattern, x.flatten(1, 2)).view(pattern.nnz, members, self.towers, self.F_in) for gathered in (of_targets, of_sources))
            found = self._of_edges(pattern, torch.cat([*ends, *([] if e is None else [e.expand(-1, -1, self.towers, -1)])], -1), self.pre_nns, lead)
        post = torch.cat([self._after(network, x[:, :, tower], found[:, :, tower], pattern) for tower, network in enumerate(self.post_nns)], -1)
        return self.lin(outward(post if lead else post.squeeze(1), lead))  # type: ignore[no-any-return]

    def _of_nodes(self, pattern: Pattern, x: Tensor, e: Optional[Tensor], pre: list[list[Any]], lead: tuple[int, ...]) -> Tensor:
        """Return the aggregations (nodes, members, towers, aggregators * in), where the first layer of each tower is computed for nodes x (nodes, members, towers,
        in)."""
        shape, width = x.shape[:3], self.F_in
        if shape[1] == 0:  # a batch without members
            return x.new_zeros(*shape, len(self._names) * width)
        weight, bias = ((each[0].unsqueeze(0) if len(each) == 1 else torch.stack(each)) for each in ([steps[0].weight for steps in pre], [steps[0].bias for steps in pre]))
        ends = weight if e is None else weight[:, :, :2 * width]
        of_ends = ends.unflatten(2, (2, width)).transpose(1, 2).flatten(1, 2)  # of targets, then of sources
        bias = functional.pad(bias, (0, width))
        if self.towers == 1:
            both = functional.linear(x.flatten(0, 2), of_ends[0], bias[0])
        else:
            both = (torch.einsum("nmti,toi->nmto", x, of_ends) + bias).flatten(0, 2)
        v, u = (part.reshape(shape[0], shape[1] * shape[2] * width) if shape[1] * shape[2] > 1 else part for part in both.split(width, -1))
        if e is not None:
            e = torch.einsum("nmi,toi->nmto", e.squeeze(2), weight[:, :, 2 * width:]).reshape(pattern.nnz, shape[1] * shape[2] * width)
        if all(len(steps) == 1 for steps in pre):
            step = _Aggregated(pattern, self._names, width)
            return (step(u, v) if e is None else step.plainly(u, v, e)).view(*shape, len(self._names) * width)
        vectors = edge_op(pattern, "add", v, u)
        vectors = (vectors if e is None else vectors + e).view(pattern.nnz, *shape[1:], width)
        return self._of_edges(pattern, vectors, [steps[1:] for steps in pre], lead)

    def _of_edges(self, pattern: Pattern, vectors: Tensor, networks: Any, lead: tuple[int, ...]) -> Tensor:
        """Return the aggregations (nodes, members, towers, aggregators * in) of what edges have (edges, members, towers, in), after a network for each tower."""
        each = []
        for tower, steps in enumerate(networks):
            own = vectors[:, :, tower] if lead else vectors[:, 0, tower]
            for step in steps:
                own = step(own)
            each.append(own if lead else own.unsqueeze(1))
        m = _Sums(pattern, None, torch.stack(each, 2).flatten(1, -1), set(self._names))
        return beside([m.of(name) for name in self._names], self.F_in).view(pattern.rows, *vectors.shape[1:3], len(self._names) * self.F_in)

    def _after(self, network: Any, x: Tensor, out: Tensor, pattern: Pattern) -> Tensor:
        """Return a tower's post network of x and the scaled aggregations. Its first layer comes before the scales, which are numbers of nodes."""
        steps, scale, count = steps_of(network), self._scales(pattern, out.dtype), len(self._scalers)
        if x.shape[1] == 1:
            x, out = x.squeeze(1), out.squeeze(1)
        else:
            scale = scale.unsqueeze(1)
        if not is_plain(steps[0]):
            found: Tensor = network(torch.cat([x, (out.unsqueeze(-2) * scale).flatten(-2)], -1))
        else:
            of_x, of_out = steps[0].weight.split((self.F_in, count * out.shape[-1]), 1)
            each = functional.linear(out, of_out.unflatten(1, (count, -1)).transpose(0, 1).flatten(0, 1))
            found = functional.linear(x, of_x, steps[0].bias) + (each.unflatten(-1, (count, of_out.shape[0])) * scale).sum(-2)
            for step in steps[1:]:
                found = step(found)
        return found.unsqueeze(1) if found.dim() == 2 else found

    def _scales(self, pattern: Pattern, dtype: torch.dtype) -> Tensor:
        """Return the scales of nodes (nodes, scalers, 1), which are computed once for each graph, unless they are learnt."""
        means = self.aggr_module.avg_deg_lin, self.aggr_module.avg_deg_log

        def make() -> Tensor:
            degrees = counts(pattern, dtype)
            return torch.stack([_SCALERS[name](degrees, *means) for name in self._scalers], 1)

        if compiling() or not _direct.plain(means) or means[0].requires_grad or not _held.counted(*means):
            return make()
        made: dict[Any, Any] = remembered(pattern, "scales", dict)
        key = (dtype, *self._scalers, *map(_held.state, means))
        if key not in made:
            with _held.apart():
                _held.kept(made, key, (make(), means), _held.MOST_BESIDE)  # means keep their addresses
        return made[key][0]  # type: ignore[no-any-return]

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


def beside(parts: list[Tensor], width: int) -> Tensor:
    """Return aggregations (rows, heads * width) side by side in each head: (rows, heads, parts * width)."""
    return torch.stack([part.unflatten(1, (-1, width)) for part in parts], 2).flatten(2)


class _Aggregated(Step):
    """The aggregations of u_j + v_i + e_ij, where v_i, the same for all edges of a node, comes after them, side by side: (rows, heads, aggregators * width).
    Without e there are two passes over the edges, a mean of u and its squares and a maximum of u and -u."""

    def __init__(self, pattern: Pattern, names: list[str], width: int):
        self.pattern, self.names, self.width = pattern, names, width
        self.first, self.second = bool({"sum", "mean", "var", "std"} & set(names)), bool({"var", "std"} & set(names))
        self.extremes = [name for name in ("max", "min") if name in names]

    def plainly(self, *operands: Any) -> Tensor:
        u, v, e = (*operands, None)[:3]
        m, edges = _Sums(self.pattern, u, e, set(self.names)), of_rows(self.pattern, v)
        later = v * edges.clamp(max=1)
        added = {"sum": v * edges, "mean": later, "max": later, "min": later}
        found = [m.of(name) + added[name] if name in added else m.of(name) for name in self.names]
        if not added.keys() & set(self.names):
            found[0] = found[0] + 0.0 * later  # so that all parameters have gradients
        return beside(found, self.width)

    def _parts(self, x: Tensor, second: Any, pieces: int) -> Tensor:
        """Return x, and beside it what second(x, out) writes, if there are two pieces."""
        if pieces == 1:
            return x
        made = x.new_empty(x.shape[0], 2 * x.shape[1])
        made[:, :x.shape[1]] = x
        second(x, out=made[:, x.shape[1]:])
        return made

    def run(self, known: Any, *operands: Any) -> tuple[Tensor, tuple]:
        u, v = operands
        edges, some = numbers_of_edges(self.pattern, v.dtype)
        rows, size = v.shape
        out = v.new_empty(rows, size // self.width, len(self.names), self.width)
        mean = squares = most = least = argument = None
        if self.first:
            mean = reduced(known, OPS["copy_u"], "mean", self._parts(u, lambda x, out: torch.mul(x, x, out=out), 1 + self.second))[0]
            mean, squares = mean.split(size, 1) if self.second else (mean, None)
        if self.extremes:
            given = torch.neg(u) if self.extremes == ["min"] else self._parts(u, torch.neg, len(self.extremes))
            found, argument = reduced(known, OPS["copy_u"], "max", given, keep=True)
            most, least = found[:, :size], found[:, -size:]
        v = torch.mul(v, some)
        shown = [None if x is None else x.unflatten(1, (-1, self.width)) for x in (mean, squares, most, least, v)]
        mean_of, squares_of, most, least, v = shown
        for place, name in enumerate(self.names):
            own = out[:, :, place]
            if name in ("var", "std"):
                torch.addcmul(squares_of, mean_of, mean_of, value=-1, out=own)
                if name == "std":
                    functional.threshold_(own, LEAST, 0.0).sqrt_()
            elif name == "min":
                torch.sub(v, least, out=own)
            else:
                torch.add(most if name == "max" else mean_of, v, out=own)
                if name == "sum":
                    own.mul_(edges.unsqueeze(1))
        return out.flatten(2), (mean, argument, out if "std" in self.names else None)

    def back(self, known: Any, grad: Tensor, operands: tuple, kept: tuple, wanted: list[bool]) -> tuple:
        (u, _), (mean, argument, out), size = operands, kept, operands[0].shape[1]
        edges, some = numbers_of_edges(self.pattern, grad.dtype)
        parts = {name: [grad.view(grad.shape[0], grad.shape[1], len(self.names), self.width)[:, :, place] for place, one in enumerate(self.names) if one == name] for name in self.names}
        of = {name: total(list(each)) for name, each in parts.items()}  # names may be given twice
        if "sum" in of:
            of["sum"] = of["sum"] * edges.unsqueeze(1)
        of_means = total([of[name] for name in ("sum", "mean") if name in of])
        du = dv = None
        if wanted[0] and self.first:
            du = self._through_means(known, u, mean, of_means, of, out)
        if wanted[0] and self.extremes:
            both = grad.new_empty(grad.shape[0], len(self.extremes) * size)
            for place, name in enumerate(self.extremes):
                part = both[:, place * size:(place + 1) * size].unflatten(1, (-1, self.width))
                part.copy_(of[name]) if name == "max" else torch.neg(of[name], out=part)
            found = gradients(known, both, OPS["copy_u"], "max", None, argument=argument)[0]
            for place, name in enumerate(self.extremes):
                part = found[:, place * size:(place + 1) * size]
                du = (part if name == "max" else -part) if du is None else du.add_(part, alpha=1 if name == "max" else -1)
        if wanted[1]:
            dv = total([x for x in (of_means, *map(of.get, self.extremes)) if x is not None])
            dv = torch.zeros_like(u[:1]).expand(grad.shape[0], -1) if dv is None else dv.flatten(1) * some
        return du, dv

    def _through_means(self, known: Any, u: Tensor, mean: Tensor, of_means: Optional[Tensor], of: dict[str, Tensor], out: Optional[Tensor]) -> Tensor:
        """Return the gradient by u of means, variances and deviations."""
        rows, size = mean.shape
        of_squares: Any = of.get("var")
        if "std" in of and out is not None:
            deviation = out[:, :, self.names.index("std")]
            own = (of["std"] / deviation).masked_fill_(deviation == 0, 0.0).mul_(0.5)
            of_squares = own if of_squares is None else own.add_(of_squares)
        if of_squares is None:
            assert of_means is not None
            return gradients(known, of_means.flatten(1).contiguous(), OPS["copy_u"], "mean", None)[0]  # type: ignore[no-any-return]
        both = mean.new_empty(rows, 2 * size)
        first, second = (half.unflatten(1, (-1, self.width)) for half in both.split(size, 1))
        second.copy_(of_squares)
        shown = mean.unflatten(1, (-1, self.width))
        torch.mul(shown, of_squares, out=first).mul_(-2) if of_means is None else torch.addcmul(of_means, shown, of_squares, value=-2, out=first)
        found = gradients(known, both, OPS["copy_u"], "mean", None)[0]
        return torch.addcmul(found[:, :size], u, found[:, size:], value=2)


def total(given: list[Tensor]) -> Any:
    """Return the sum of tensors; None of none."""
    return functools.reduce(torch.add, given) if given else None


def numbers_of_edges(pattern: Pattern, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return the number of edges of each row, and 1 where there are some, (rows, 1)."""
    return remembered(pattern, ("numbers of edges", dtype), lambda: (counts(pattern, dtype), counts(pattern, dtype).clamp(max=1)))


class _Sums:
    """Aggregations of u_j + e_ij, or of one of them if the other is None, in few passes over the edges."""

    def __init__(self, pattern: Pattern, u: Optional[Tensor], e: Optional[Tensor], names: set[str]):
        self.pattern, self.u, self.e = pattern, u, e
        self.op = "add" if u is not None and e is not None else "copy_u" if e is None else "copy_e"
        self.known: dict[str, Tensor] = {}
        first, second = bool(names & {"sum", "mean", "var", "std"}), bool(names & {"var", "std"})
        if self.op == "add":
            wanted = (["mean"] if first else []) + [name for name in ("max", "min") if name in names]
            self.known.update({name: message(pattern, "add", u, e, name) for name in wanted})
            if second:
                self.known["squares"] = message(pattern, "(u + e) * (u + e)", u, e, "mean")
            return
        x = e if u is None else u
        assert x is not None
        if first:
            self._take("mean", {"mean": x, **({"squares": x * x} if second else {})})
        self._take("max", {**({"max": x} if "max" in names else {}), **({"min": -x} if "min" in names else {})})

    def _take(self, reduce: str, parts: dict[str, Tensor]) -> None:
        """Reduce parts side by side, in one pass."""
        if not parts:
            return
        together = next(iter(parts.values())) if len(parts) == 1 else torch.cat(list(parts.values()), 1)
        of_nodes = self.op == "copy_u"
        out = message(self.pattern, self.op, together if of_nodes else None, None if of_nodes else together, reduce)
        self.known.update(zip(parts, out.chunk(len(parts), 1)))

    def of(self, name: str) -> Tensor:
        if name in ("mean", "max"):
            return self.known[name]
        if name == "min":
            return self.known["min"] if self.op == "add" else -self.known["min"]
        if name == "sum":
            return self.known["mean"] * counts(self.pattern, self.known["mean"].dtype)
        variance = self.known["squares"] - self.known["mean"].square()
        return variance if name == "var" else deviation_of(variance)
