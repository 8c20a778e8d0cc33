"""Layers with other aggregations than a sum, a mean and an extreme, and with several at once: softmax, power mean, variance."""
from __future__ import annotations

import math
from typing import Any, Callable, Optional, Union

import torch
from torch import Tensor, nn
from torch.nn import functional

from ... import _errors
from ..._plan import EXPRESSIONS, is_expression
from .. import Pattern, _graphs, edge_softmax, message
from .._graphs import EdgeIndex
from .._held import kept
from .._layer import Channels, Pair, Size, _Layer, _linear, _two, counts, inward, outward
from .._messages import OPS, REDUCES
from .._steps import Step, gradients, reduced, text_number

LEAST = 1e-5  # variances up to it count as 0, since their roots have too large derivatives
_LOW, _HIGH = 1e-4, 100.0  # bounds of what a power mean takes the power of


def of_rows(pattern: Pattern, out: Tensor) -> Tensor:
    """Return the number of edges of each node, beside a result."""
    return counts(pattern, out.dtype).view(-1, *(1,) * (out.dim() - 1))


class Messages:
    """The messages of one call: relu(u_j + e_ij) + eps, or without e relu(u_j) + eps, or if it is `made` u_j, (rows, width) or with heads before it."""

    def __init__(self, pattern: Pattern, u: Tensor, e: Optional[Tensor], eps: float, made: bool = False):
        self.pattern, self.u, self.e, self.eps, self.made = pattern, u, e, eps, made
        self.op = "copy_u" if made else "relu(u)" if e is None else "add_relu"
        self.text, self.numbers = ("u", {}) if made else ("(relu(u) + eps)" if e is None else "(relu(u + e) + eps)", {"eps": eps})
        self.known: dict[str, Tensor] = {}

    def reduced(self, reduce: str) -> Tensor:
        if reduce not in self.known:
            self.known[reduce] = self._reduced(reduce)
        return self.known[reduce]

    def _reduced(self, reduce: str) -> Tensor:
        out = message(self.pattern, self.op, self.u, self.e, reduce)
        if self.made:
            return out
        edges = of_rows(self.pattern, out)
        return out + self.eps * (edges if reduce == "sum" else edges.clamp(max=1))

    def of(self, text: str, reduce: str, v: Optional[Tensor] = None, **numbers: float) -> Tensor:
        """Reduce an expression of the message {m}, v and numbers."""
        found = {**self.numbers, **numbers}
        return message(self.pattern, text.format(m=self.text), self.u, self.e, reduce, v, found or None)

    def of_edges(self) -> Tensor:
        """Return the messages of all edges, which are then in memory."""
        own = _graphs.one_each(self.pattern, "sources")
        out = message(own, self.op, self.u, self.e)
        return out if self.made else out + self.eps


def softmax_sums(m: Messages, t: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return the sums of messages with the weights softmax(t m), and what is subtracted in exponentials, and their sums."""
    with torch.no_grad():
        top = t * m.reduced("max" if t >= 0 else "min")
    m.known.clear()  # without gradients
    total = m.of("exp(t * {m} - v)", "sum", top, t=t)
    total = total + 1 - of_rows(m.pattern, total).clamp(max=1)  # 1 for nodes without edges
    return m.of("{m} * exp(t * {m} - v)", "sum", top, t=t) / total, top, total


class _OfSoftmax(Step):
    """softmax_sums in one step of autograd. The derivative of out_i by a message m_ij is w_ij (1 + t (m_ij - out_i)), with w_ij = s_i exp(t (m_ij - out_i)): that of an
    expression, in one pass. With n messages exp(t (m_ij - out_i)) is at most n, since the entropy of weights is at most log n."""

    compiled = True

    def __init__(self, m: Messages, t: float):
        self.pattern, self.eps, self.made, self.t = m.pattern, m.eps, m.made, t
        self.op, *self.texts = _of_softmax(m.op, m.text, t.hex(), *[float(one).hex() for one in m.numbers.values()])

    def plainly(self, *operands: Any) -> Tensor:
        return softmax_sums(Messages(self.pattern, *operands, self.eps, self.made), self.t)[0]

    def run(self, known: Any, *operands: Any) -> tuple[Tensor, tuple]:
        u, e = operands if operands[0].dim() == 2 else [None if x is None else x.flatten(1) for x in operands]
        top = reduced(known, self.op, "max" if self.t >= 0 else "min", u, e)[0]
        top = top if self.t == 1 else top.mul(self.t)
        total = reduced(known, self.texts[0], "sum", u, e, top)[0].clamp_min(0.5)  # at least 1 where there are edges
        out = reduced(known, self.texts[1], "sum", u, e, top)[0].div(total)
        out = out if operands[0].dim() == 2 else out.view(out.shape[0], *operands[0].shape[1:])
        return out, (top, total, out)

    def back(self, known: Any, grad: Tensor, operands: tuple, kept: tuple, wanted: list[bool]) -> tuple:
        (u, e), (top, total, out) = operands, kept
        if u.dim() > 2:
            u, e, grad, out = (None if x is None else x.flatten(1) for x in (u, e, grad, out))
        scale = torch.sub(out, top) if self.t == 1 else torch.sub(top, out, alpha=self.t).neg()
        found = gradients(known, scale.exp().div(total).mul(grad), self.texts[2], "sum", u, e, out, None, (*wanted, False))[:2]
        return found if operands[0].dim() == 2 else tuple([None if x is None else x.view(given.shape) for x, given in zip(found, operands)])


_numbers_of_softmax: dict[tuple, tuple[int, ...]] = {}


def _of_softmax(op: str, text: str, *given: str) -> tuple[int, ...]:
    """Return the numbers of the operation that has the message, and of three expressions: the weights, before they are divided, the weighted messages, and what has
    the gradient. given: t and eps as hexadecimal text, which is constant for a compiler that takes numbers as symbols."""
    key, numbers = (op, text, *given), dict(zip(("t", "eps"), map(float.fromhex, given)))
    found = _numbers_of_softmax.get(key)
    if found is None or any([is_expression(number) and number not in EXPRESSIONS for number in found]):
        texts = (one.format(m=text) for one in ("exp(t * {m} - v)", "{m} * exp(t * {m} - v)", "({m} - v) * exp(t * ({m} - v))"))
        found = kept(_numbers_of_softmax, key, (OPS[op] if op in OPS else text_number(op), *(text_number(one, numbers) for one in texts)), 64)
    return found


_of_softmax._dynamo_marked_constant = True  # type: ignore[attr-defined]


class Softmax(nn.Module):
    """The sum of messages with the weights softmax(t m): three passes over the edges, and no array of them."""

    def __init__(self, t: float = 1.0, learn: bool = False, semi_grad: bool = False, channels: int = 1):
        super().__init__()
        if learn and semi_grad:
            raise _errors.ArgumentError("semi_grad is True: expected False where t is learnt")
        if channels != 1:
            raise _errors.ArgumentError(f"channels = {channels}: expected 1")
        self.initial, self.semi_grad = t, semi_grad
        self.t = nn.Parameter(torch.empty(1)) if learn else t
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if isinstance(self.t, Tensor):
            nn.init.constant_(self.t, self.initial)

    def forward(self, m: Messages) -> Tensor:
        t = float(self.t)
        if not isinstance(self.t, Tensor) and not self.semi_grad:
            return _OfSoftmax(m, t)(m.u, m.e)
        if self.semi_grad:
            vectors = m.of_edges()
            with torch.no_grad():
                weights = edge_softmax(m.pattern, t * vectors)
            return message(m.pattern, "copy_e", None, vectors * weights)
        out, top, total = softmax_sums(m, t)
        if isinstance(self.t, Tensor) and self.t.requires_grad and torch.is_grad_enabled():
            with torch.no_grad():  # the derivative by t is the variance of the messages by these weights
                variance = m.of("{m} * {m} * exp(t * {m} - v)", "sum", top, t=t) / total - out.square()
            out = out + (self.t - self.t.detach()).to(out.dtype) * variance
        return out


class PowerMean(nn.Module):
    """The mean of m^p to the power 1 / p."""

    def __init__(self, p: float = 1.0, learn: bool = False, channels: int = 1):
        super().__init__()
        if channels != 1:
            raise _errors.ArgumentError(f"channels = {channels}: expected 1")
        self.initial = p
        self.p = nn.Parameter(torch.empty(1)) if learn else p
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if isinstance(self.p, Tensor):
            nn.init.constant_(self.p, self.initial)

    def forward(self, m: Messages) -> Tensor:
        if self.p == 1 and not isinstance(self.p, Tensor):
            return m.reduced("mean")
        p = float(self.p)
        bounded = "min(max({m}, low), high)"
        powers = m.of(f"pow({bounded}, p)", "mean", p=p, low=_LOW, high=_HIGH)
        if isinstance(self.p, Tensor) and self.p.requires_grad and torch.is_grad_enabled():
            with torch.no_grad():
                by_power = m.of(f"pow({bounded}, p) * log({bounded})", "mean", p=p, low=_LOW, high=_HIGH)
            powers = powers + (self.p - self.p.detach()).to(powers.dtype) * by_power
        return powers.clamp(_LOW, _HIGH).pow(1.0 / self.p)


_LEARNT: dict[str, Callable[..., Any]] = {"softmax": Softmax, "powermean": PowerMean}


def deviation_of(variance: Tensor) -> Tensor:
    """The square root, with 0 for the smallest, whose derivatives would be infinite."""
    out = variance.clamp(min=LEAST).sqrt()
    return out.masked_fill(out <= math.sqrt(LEAST), 0.0)


def aggregated(m: Messages, name: str) -> Tensor:
    """Return the aggregation of this name, "sum", "mean", "max", "min", "var" or "std"."""
    if name in REDUCES:
        return m.reduced(name)
    variance = m.of("{m} * {m}", "mean") - m.reduced("mean").square()
    return variance if name == "var" else deviation_of(variance)


NAMES = (*REDUCES, "var", "std")


def named(aggr: Any, names: tuple[str, ...]) -> str:
    """Return the name of an aggregation."""
    found = {"add": "sum", "power": "powermean"}.get(aggr, aggr) if isinstance(aggr, str) else aggr
    if not isinstance(found, str) or found not in names:
        raise _errors.ArgumentError(f"aggr = {aggr!r}: expected one of 'add', {', '.join(map(repr, names))}")
    return found


class GENConv(_Layer):
    """Generalised aggregation: mlp(x_i + the aggregation of relu(x_j + e_ij) + eps): a softmax with temperature t, a power mean, or a sum, mean, maximum,
    minimum, variance or deviation; a list of them is joined by a linear layer.

    No vectors of edges are made but of "softmax_sg", whose softmax has no gradient. t and p that are learnt are read by the host in each call. The norm "batch"
    is over the nodes of all members of a batch.

    >>> GENConv(4, 8, edge_dim=3)(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]]), torch.ones(3, 3)).shape
    torch.Size([3, 8])
    """

    def __init__(self, in_channels: Channels, out_channels: int, aggr: Union[str, list[str]] = "softmax", t: float = 1.0, learn_t: bool = False,
                 p: float = 1.0, learn_p: bool = False, msg_norm: bool = False, learn_msg_scale: bool = False, norm: Optional[str] = "batch",
                 num_layers: int = 2, expansion: int = 2, eps: float = 1e-7, bias: bool = False, edge_dim: Optional[int] = None,
                 aggr_kwargs: Optional[dict[str, Any]] = None, **kwargs: Any):
        super().__init__("add", **kwargs)
        semi_grad, self.aggr = aggr == "softmax_sg", "softmax" if aggr == "softmax_sg" else aggr
        several = isinstance(self.aggr, (list, tuple))
        self._names = [named(one, (*NAMES, *_LEARNT)) for one in (self.aggr if several else [self.aggr])]
        if several and aggr_kwargs is not None:
            raise _errors.ArgumentError("aggr_kwargs is given, and aggr is a list: expected None")
        if not several and self._names[0] in _LEARNT:
            own = {"t": t, "learn": learn_t, "semi_grad": semi_grad} if self._names[0] == "softmax" else {"p": p, "learn": learn_p}
            self.aggr_module: Any = _LEARNT[self._names[0]](**(own if aggr_kwargs is None else aggr_kwargs))
        else:
            self.aggr_module = nn.ModuleList(_LEARNT[name]() if name in _LEARNT else nn.Identity() for name in self._names)
        self.in_channels, self.out_channels, self.eps = in_channels, out_channels, eps
        of, to = _two(in_channels)
        self.lin_src = None if of == out_channels else _linear(of, out_channels, bias)
        self.lin_edge = None if edge_dim in (None, out_channels) else _linear(edge_dim or 0, out_channels, bias)
        self.lin_aggr_out = None if len(self._names) == 1 else _linear(out_channels * len(self._names), out_channels, bias)
        self.lin_dst = None if to == out_channels else _linear(to, out_channels, bias)
        self.mlp = _mlp([out_channels, *[out_channels * expansion] * (num_layers - 1), out_channels], norm, bias)
        self.msg_norm = _Norm(learn_msg_scale) if msg_norm else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, aggr={self.aggr})"

    def forward(self, x: Pair, edge_index: EdgeIndex, edge_attr: Optional[Tensor] = None, size: Size = None) -> Tensor:
        source, target = self._pair(x)
        pattern = self._graph(edge_index, source, target, size, edge_attr)
        source = source if self.lin_src is None else self.lin_src(source)
        e = edge_attr if self.lin_edge is None or edge_attr is None else self.lin_edge(edge_attr)
        if e is not None and e.shape[-1] != source.shape[-1]:
            raise _errors.ArgumentError(f"edge_attr has {e.shape[-1]} features: expected edge_dim of the layer, or {source.shape[-1]}")
        lead, made = self._lead(source, None), e is None and self._names != ["softmax"]  # which is expressions in any case
        m = Messages(pattern, inward(source.relu() + self.eps if made else source, lead), None if e is None else inward(e, lead), self.eps, made)
        learnt = [self.aggr_module] if not isinstance(self.aggr_module, nn.ModuleList) else self.aggr_module
        parts = [module(m) if name in _LEARNT else aggregated(m, name) for name, module in zip(self._names, learnt)]
        out = outward(parts[0] if len(parts) == 1 else torch.cat(parts, -1), lead)
        out = out if self.lin_aggr_out is None else self.lin_aggr_out(out)
        if self.msg_norm is not None:
            if target is None and source.shape[:-1] != out.shape[:-1]:
                raise _errors.ArgumentError("x[1] is None: expected the rows of the targets, whose lengths msg_norm takes")
            out = self.msg_norm(source if target is None else target, out)
        if target is not None:
            out = out + (target if self.lin_dst is None else self.lin_dst(target))
        if out.dim() == 2:
            return self.mlp(out)  # type: ignore[no-any-return]
        return self.mlp(out.flatten(0, -2)).reshape(*out.shape[:-1], self.out_channels)  # type: ignore[no-any-return]  # norms take rows, and no batches


_NORMS: dict[str, Callable[[int], nn.Module]] = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm, "instance": nn.InstanceNorm1d}


def _mlp(channels: list[int], norm: Optional[str], bias: bool) -> nn.Sequential:
    if norm is not None and norm not in _NORMS:
        raise _errors.ArgumentError(f"norm = {norm!r}: expected None, 'batch', 'layer' or 'instance'")
    steps: list[nn.Module] = []
    for number, (of, to) in enumerate(zip(channels, channels[1:])):
        steps.append(_linear(of, to, bias))
        if number < len(channels) - 2:
            steps += [*([_NORMS[norm](to)] if norm is not None else []), nn.ReLU(), nn.Dropout(0.0)]
    return nn.Sequential(*steps)


class _Norm(nn.Module):
    """Messages of the length of x, times a scale."""

    def __init__(self, learn: bool):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1), requires_grad=learn)

    def reset_parameters(self) -> None:
        nn.init.ones_(self.scale)

    def forward(self, x: Tensor, out: Tensor) -> Tensor:
        return functional.normalize(out, dim=-1) * x.norm(dim=-1, keepdim=True) * self.scale
