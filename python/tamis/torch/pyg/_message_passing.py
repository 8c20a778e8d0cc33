"""PyTorch Geometric's base of layers, whose messages are not in memory where their function is an expression."""
from __future__ import annotations

import collections
import functools
import inspect
import operator
import re
import sys
import warnings
from typing import Any, Optional

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy
from torch_geometric.nn import MessagePassing as Theirs
from torch_geometric.nn.aggr import MaxAggregation, MeanAggregation, MinAggregation, SumAggregation

from .. import Pattern, _direct, _graphs, message
from .._direct import compiling
from .._rows import Sums, Trace
from .._taken import PatternBuffer

_REDUCES = {SumAggregation: "sum", MeanAggregation: "mean", MaxAggregation: "max", MinAggregation: "min"}
_HOOKS = "_propagate_forward_pre_hooks", "_propagate_forward_hooks", "_message_forward_pre_hooks", "_message_forward_hooks", "_aggregate_forward_pre_hooks", "_aggregate_forward_hooks"
_OF_PARTS = "_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks"
_PARTS = dict, list, set, collections.deque
_WIDENED = re.compile(r"\b(exp|log|pow|rsqrt)\(")  # what autocast computes in 32 bits
_said: set[tuple] = set()


class _Unread:
    """An argument that has no value here. Any use of it is an error, and PyTorch Geometric computes the message then."""

    def __bool__(self) -> bool:
        raise TypeError("the message reads what PyTorch Geometric alone has")

    def __eq__(self, other: object) -> bool:
        return bool(self)

    __ne__ = __eq__
    __hash__ = None  # type: ignore[assignment]


@functools.lru_cache(maxsize=256)
def _parameters(function: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def _arguments(method: Any, found: dict[str, Any], first: int = 0) -> dict[str, Any]:
    """Return the arguments of a method by their names, from parameter `first` behind self on."""
    own = getattr(method, "__func__", None)
    given = {}
    for parameter in _parameters(method if own is None else own)[first + (own is not None):]:
        if parameter.name in found:
            given[parameter.name] = found[parameter.name]
        elif parameter.default is parameter.empty:
            raise TypeError(f"{parameter.name} is not given, or the method takes others by *")
    return given


class _Lost(RuntimeError):
    """A call with terms has changed what cannot be put back."""


class _State:
    """A layer before its message is called with terms, which PyTorch Geometric shall find as it was."""

    def __init__(self, layer: torch.nn.Module, copies: bool):
        parts: list[Any] = [layer.__dict__, *(part for part in layer.__dict__.values() if isinstance(part, _PARTS) and part is not layer._failed and part is not layer._known)]
        self.empty = [part for part in parts if not part]
        self.parts = [(part, part.copy()) for part in parts if part]
        tensors = [x for one in layer.modules() for x in (*one._parameters.values(), *one._buffers.values())
                   if x is not None and not is_lazy(x) and not x.is_inference()]
        self.tensors = [(x, x._version, x.detach().clone() if copies else None) for x in tensors]

    def back(self) -> bool:
        """Put back what has changed; returns whether anything has."""
        changed = any(self.empty)
        for part in self.empty if changed else ():
            part.clear()
        for part, was in self.parts:
            if len(part) != len(was) or not all(map(operator.is_, *((part.values(), was.values()) if isinstance(part, dict) else (part, was)))):
                part.clear()
                (part.extend if isinstance(part, (list, collections.deque)) else part.update)(was)
                changed = True
        for x, version, copy in self.tensors:
            if x._version != version:
                if copy is None:
                    raise _Lost("message() changes a parameter or a buffer in place in some calls alone: derive the layer from torch_geometric.nn.MessagePassing")
                x.data.copy_(copy)
                changed = True
        return changed


def _called(function: Any, given: dict[str, Any], first: bool) -> Any:
    """Call a message. first: refuse an autograd.Function, even one that returns its operand: it may have derivatives of its own."""
    if not first or sys.getprofile() is not None:
        return function(**given)
    found: list[Any] = []

    def seen(frame: Any, event: str, called: Any) -> None:
        of = getattr(called, "__self__", None) if event == "c_call" else None
        if isinstance(of, type) and issubclass(of, torch.autograd.Function) and called.__name__ == "apply":
            found.append(of)

    sys.setprofile(seen)
    try:
        result = function(**given)
    finally:
        sys.setprofile(None)
    if found:
        raise TypeError("the message calls an autograd.Function")
    return result


class MessagePassing(Theirs):  # type: ignore[misc]
    """The base of layers of your own: that of PyTorch Geometric, with the same methods and arguments, for `from torch_geometric.nn import MessagePassing`.

    A `message` that is computed element by element from one tensor of the other end (`x_j`), one of its own (`x_i`), one of the edges and numbers is reduced without
    being stored, with aggr "sum", "mean", "max" or "min". It is called with terms in place of tensors in each call. All other messages are computed as PyTorch
    Geometric does, which a warning says once for each class, with the reason. `edge_index` may be a tamis.torch.Pattern.

    >>> class Weighted(MessagePassing):
    ...     def forward(self, x, edge_index, weight):
    ...         return self.propagate(edge_index, x=x, weight=weight)
    ...     def message(self, x_j, weight):
    ...         return x_j * weight.view(-1, 1)
    >>> Weighted()(torch.ones(3, 2), torch.tensor([[0, 1, 2], [1, 1, 0]]), torch.tensor([1., 2., 3.]))
    tensor([[3., 3.],
            [3., 3.],
            [0., 0.]])
    """

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        self._failed: set[tuple] = set()  # kinds of calls whose messages are no expressions
        self._known: set[tuple] = set()   # and those whose messages were one

    def _set_jittable_templates(self, raise_on_error: bool = False) -> None:
        """Keep `propagate`, in whose place PyTorch Geometric puts code that it generates for TorchScript."""
        if raise_on_error:
            raise TypeError(f"TorchScript of {type(self).__name__}: torch.compile takes it, or derive it from torch_geometric.nn.MessagePassing")

    def propagate(self, edge_index: Any, size: Optional[tuple[int, int]] = None, **named: Any) -> Any:
        pattern = edge_index.pattern if isinstance(edge_index, PatternBuffer) else edge_index
        if isinstance(pattern, Pattern):
            edge_index, size = _graphs.edges(pattern), pattern.shape[::-1] if size is None else size
            if self.flow == "target_to_source":
                edge_index, size = edge_index.flip(0), pattern.shape
        elif not isinstance(edge_index, Tensor) or edge_index.layout is not torch.strided:
            return super().propagate(edge_index, size=size, **named)
        if self.explain or compiling() or _direct.transforms() or _direct.forward_mode() or _direct.traced() or _direct.modes():
            return super().propagate(edge_index, size=size, **named)
        reason = self._reason()
        key = self.training, *((name, *((type(one), one.dim() if isinstance(one, Tensor) else None) for one in (x if isinstance(x, (tuple, list)) else (x,)))) for name, x in named.items())
        if reason is None and key not in self._failed:
            try:
                sums, sizes, of_update = self._traced(edge_index, size, named, key not in self._known)
                self._known.add(key)
            except _Lost:
                raise
            except Exception as error:  # whatever the function does with terms
                reason = str(error) or type(error).__name__
                self._failed.add(key)
        elif reason is None:
            return super().propagate(edge_index, size=size, **named)
        if reason is None:
            targets, sources = sizes
            if not isinstance(pattern, Pattern):
                pattern = _graphs.pattern_of(edge_index, sources, targets, self.flow == "target_to_source")
            with _direct.autocast_off(edge_index.device.type):  # gathers, element-by-element operations and sums of PyTorch keep the type
                out = message(pattern, sums.op, sums.x, sums.e, _REDUCES[type(self.aggr_module)], sums.v, sums.numbers)
            return self.update(out, **of_update)
        self._say(reason)
        return super().propagate(edge_index, size=size, **named)

    def _reason(self) -> Optional[str]:
        """Return why no message of this layer is an expression here."""
        if type(self.aggr_module) not in _REDUCES or type(self).aggregate is not Theirs.aggregate or "aggregate" in self.__dict__:
            return f"it aggregates by {type(self.aggr_module).__name__ if type(self).aggregate is Theirs.aggregate else 'aggregate() of its own'}"
        if any(getattr(self, name, None) for name in _HOOKS) or self.aggr_module._forward_hooks or self.aggr_module._forward_pre_hooks:
            return "it has hooks of messages"
        if any(getattr(part, hooks) for part in self.modules() if part is not self for hooks in _OF_PARTS):
            return "a module in it has hooks, which would see terms in place of tensors"
        return "it has decomposed_layers" if self.decomposed_layers > 1 else None

    def _say(self, reason: str) -> None:
        key = type(self), reason
        if key not in _said:
            _said.add(key)
            warnings.warn(f"{type(self).__name__}: PyTorch Geometric computes its messages, which are then in memory, since {reason}", stacklevel=4)

    def _end(self, name: str, given: Any, side: int, sizes: list, trace: Trace) -> Any:
        """Return what a message gets of the ends of edges, the rows of `side`."""
        if isinstance(given, (tuple, list)):
            if isinstance(given[1 - side], Tensor):
                self._set_size(sizes, 1 - side, given[1 - side])
            given = given[side]
        if not isinstance(given, Tensor):
            return given
        self._set_size(sizes, side, given)
        if self.node_dim not in (0, -given.dim()):
            raise TypeError(f"node_dim is {self.node_dim}, and {name} has {given.dim()} dimensions")
        return trace.row("u" if name[-2:] == "_j" else "v", given)

    def _traced(self, edge_index: Tensor, size: Any, named: dict[str, Any], first: bool) -> tuple[Sums, tuple[int, int], dict[str, Any]]:
        """Return the messages as a call, the numbers of targets and sources, and the arguments of `update`. A TypeError says why there is none. first: of
        such a call."""
        sizes, trace = self._check_input(edge_index, size), Trace(edge_index.shape[1])
        target, source = (1, 0) if self.flow == "source_to_target" else (0, 1)
        found: dict[str, Any] = {name: _Unread() for name in self.special_args}
        if type(edge_index) is Tensor:
            found.update(ptr=None, adj_t=None)
        for name in sorted(self._user_args):
            if name[-2:] in ("_i", "_j"):
                if name[:-2] in named:
                    side = source if name[-2:] == "_j" else target
                    found[name] = self._end(name, named[name[:-2]], side, sizes, trace)
            elif name in named:
                given = named[name]
                of_edges = isinstance(given, Tensor) and given.dim() > 0 and given.shape[0] == trace.edges
                found[name] = trace.row("e", given) if of_edges else given
        targets, sources = (sizes[one] if sizes[one] is not None else sizes[other] for one, other in ((target, source), (source, target)))
        if targets is None or sources is None:
            raise TypeError("the numbers of nodes are not known: no x_i and x_j, and no size")
        found.update(size=sizes, size_i=targets, size_j=sources, dim_size=targets)
        of_update = _arguments(self.update, {**found, **named}, 1)
        if any(name[-2:] in ("_i", "_j") or isinstance(given, _Unread) for name, given in of_update.items()):
            raise TypeError("update() reads what edges have")
        state, drawn, sums, changed = _State(self, first), torch.get_rng_state(), None, False
        try:
            sums = trace.sums(_called(self.message, _arguments(self.message, found), first))
        finally:
            changed = state.back()
            if sums is None or changed:
                torch.set_rng_state(drawn)
        if changed:
            raise TypeError("message() keeps something in the layer")
        if trace.dtype() in _direct.HALF and _WIDENED.search(sums.op) and _direct.type_for(edge_index.device.type) is not None:
            raise TypeError("autocast computes a function of the message in 32 bits")
        return sums, (targets, sources), of_update
