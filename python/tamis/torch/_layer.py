"""The base of the layers of `tamis.torch.pyg`: parameters, the graph of an edge list, reduced messages, batches of nodes."""
from __future__ import annotations

import math
import types
from typing import Any, NamedTuple, Optional, Union

import torch
from torch import Tensor, nn
from torch.nn import functional

from .. import _declarations as c
from .. import _errors
from . import Pattern, _check_tensors, _compiled, _direct, _graphs, edge_op, message, spmm
from ._direct import compiling, transforms
from ._graphs import EdgeIndex
from ._held import apart
from ._pattern import remembered

Pair = Union[Tensor, tuple[Tensor, Optional[Tensor]]]
Size = Optional[tuple[int, int]]
Channels = Union[int, tuple[int, int]]


class FirstRows(tuple[Any, ...]):
    """A pair of the rows of sources and targets, where targets are the first rows of the sources: what transforms both does it once."""


_NARROW = 16


# ------------------------------------------------------------------------------ parameters


def _glorot(weight: Tensor) -> None:
    bound = math.sqrt(6 / (weight.shape[-2] + weight.shape[-1]))
    nn.init.uniform_(weight, -bound, bound)


def linear(x: Tensor, weight: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    """functional.linear. On a CPU the gradient by the weights is a slow product where x has few features of many edges, unless the weights lie by inputs."""
    if x.is_cuda or weight.shape[1] > _NARROW or x.dim() != 2:
        return functional.linear(x, weight, bias)
    weight = weight.t().contiguous()
    return x @ weight if bias is None else torch.addmm(bias, x, weight)


class _Linear(nn.Linear):
    """A linear layer, optionally with Glorot initialisation."""

    glorot: bool

    def __init__(self, inputs: int, outputs: int, bias: bool, glorot: bool):
        self.__dict__["glorot"] = glorot  # before the parameters are drawn
        super().__init__(inputs, outputs, bias)

    def reset_parameters(self) -> None:
        if not self.glorot:
            nn.Linear.reset_parameters(self)
            return
        _glorot(self.weight)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -self.in_features ** -0.5, self.in_features ** -0.5)

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


class _LazyLinear(nn.LazyLinear):
    """A linear layer that takes its number of inputs from the first input."""

    cls_to_become = _Linear  # type: ignore[assignment]

    def __init__(self, outputs: int, bias: bool, glorot: bool):
        self.__dict__["glorot"] = glorot
        super().__init__(outputs, bias)

    def initialize_parameters(self, *given: Any) -> None:
        with apart():  # else the parameters would be tensors of inference mode
            super().initialize_parameters(*given)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features != 0:
            _Linear.reset_parameters(self)  # type: ignore[arg-type]  # which it becomes


def _linear(inputs: int, outputs: int, bias: bool, glorot: bool = False) -> Any:
    return _LazyLinear(outputs, bias, glorot) if inputs == -1 else _Linear(inputs, outputs, bias, glorot)


def watched(module: nn.Module) -> bool:
    """True if somebody has hooks on a module, which must be called."""
    return bool(module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks)


class Weights(NamedTuple):
    """A linear layer of these tensors."""

    weight: Tensor
    bias: Optional[Tensor]

    def __call__(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def is_plain(module: Any) -> bool:
    """True of a linear layer without hooks and parametrisations: it is its weight and its bias, which may be multiplied in another order."""
    kind = type(module)
    if kind is Weights:
        return True
    linear = kind in (nn.Linear, _Linear) or (kind.__name__ == "Linear" and kind.__module__ == "torch_geometric.nn.dense.linear")
    return linear and not watched(module)


def _two(channels: Channels) -> tuple[int, int]:
    return (channels, channels) if isinstance(channels, int) else channels


_OF_ATTENTION = ("att", "att_src", "att_dst", "att_edge")  # parameters that are drawn as Glorot and Bengio do
_HOOKS = ("message", "update", "aggregate", "edge_update", "message_and_aggregate", "propagate", "edge_updater")


def _refuse(where: str, name: str) -> None:
    raise TypeError(f"{where} has {name}() of its own, which layers of tamis.torch.pyg never call: derive from the layer of torch_geometric.nn, or write "
                    f"the layer as a torch.nn.Module that calls tamis.torch.message and tamis.torch.edge_op")


def _called(self: Any, *given: Any, **named: Any) -> Any:
    """The call of a layer."""
    if given and type(given[0]).__name__ == "Proxy" and type(given[0].tracer).__module__.startswith("torch_geometric."):
        raise TypeError("to_hetero of PyTorch Geometric rewrites its own layers alone: make a torch_geometric.nn.HeteroConv of these layers")
    return nn.Module.__call__(self, *given, **named)


class _Layer(nn.Module):
    """The base of the layers: the graph, the reduction of messages, and batches."""

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        # its own code: torch.compile compiles one code at most eight times, and would then leave other layers as they are
        cls.__call__ = types.FunctionType(_called.__code__.replace(co_name=f"{cls.__name__}_call"), globals(), "__call__")  # type: ignore[method-assign]
        for name in _HOOKS:
            if hasattr(cls, name):
                _refuse(f"class {cls.__name__}", name)

    def __init__(self, aggr: Any = "add", flow: str = "source_to_target", **others: Any):
        super().__init__()
        if flow not in ("source_to_target", "target_to_source"):
            raise _errors.ArgumentError(f"flow = {flow!r}: expected 'source_to_target' or 'target_to_source'")
        for name, value in others.items():
            if (name, value) not in (("node_dim", 0), ("node_dim", -2), ("decomposed_layers", 1), ("aggr_kwargs", None)):
                raise TypeError(f"{name} = {value!r}: this layer has no such argument")
        self._reduce = _graphs.reduction(aggr)
        self.aggr, self.flow, self.node_dim = aggr, flow, others.get("node_dim", -2)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HOOKS:
            _refuse(f"the {type(self).__name__}", name)
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({getattr(self, 'in_channels', '')}, {getattr(self, 'out_channels', '')})"

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for child in self._modules.values():
            _reset(child)
        for name, own in self._parameters.items():
            if own is not None and name == "bias":
                nn.init.zeros_(own)
            elif own is not None and name in _OF_ATTENTION:
                _glorot(own)

    def _count(self, x: Tensor) -> int:
        """Return the number of x's nodes."""
        if x.dim() < 2:
            raise _errors.ArgumentError(f"x has shape {tuple(x.shape)}: expected (nodes, features), or (..., nodes, features), a batch")
        return x.shape[self.node_dim]

    def _graph(self, edge_index: EdgeIndex, source: Tensor, target: Optional[Tensor], size: Size, of_edges: Optional[Tensor] = None,
               name: str = "edge_attr") -> Pattern:
        """Return the pattern of the edges, with checked numbers of nodes. of_edges: the edge data, called `name` in errors."""
        reverse = self.flow == "target_to_source"
        sources, given = self._count(source), None if target is None else self._count(target)
        if size is not None:
            to, of = size if reverse else (size[1], size[0])
            if of not in (None, sources) or (given is not None and to not in (None, given)):
                raise _errors.ArgumentError(f"size = {size}: x has {sources} sources and {given} targets")
            given = given if to is None else to
        pattern = _graphs.pattern_of(edge_index, sources, sources if given is None else given, reverse)
        if of_edges is not None and of_edges.shape[-2 if of_edges.dim() > 1 else 0] != pattern.nnz:
            raise _errors.ArgumentError(f"{name} has shape {tuple(of_edges.shape)}: expected a row for each of the {pattern.nnz} edges of edge_index")
        return pattern

    def _pair(self, x: Pair) -> tuple[Tensor, Optional[Tensor]]:
        """Return the rows of sources and targets."""
        if isinstance(x, Tensor):
            return x, x
        if self.flow == "target_to_source":
            raise _errors.ArgumentError("flow = 'target_to_source': expected one tensor x; with two, pass edge_index.flip(0) to a layer without flow")
        source, target = x
        _check_tensors({"x[0]": source}, **{"x[1]": target})
        return source, target

    def _lead(self, source: Tensor, target: Optional[Tensor]) -> tuple[int, ...]:
        """Return the dimensions of a batch."""
        if source.dim() == 2 and (target is None or target.dim() == 2):
            return ()
        return tuple(torch.broadcast_shapes(source.shape[:-2], () if target is None else target.shape[:-2]))

    def _sums(self, pattern: Pattern, op: str, x: Tensor, e: Optional[Tensor] = None) -> Tensor:
        """Return reduced messages of x (..., nodes, features), with leading dimensions as heads, and of e (edges,) or (..., edges, features)."""
        if x.dim() == 2 and (e is None or e.dim() < 3):
            return message(pattern, op, x, e, self._reduce)
        if e is not None and e.dim() > 2 and x.dim() < e.dim():
            x = x.expand(*e.shape[:-2], *x.shape[-2:])
        heads = x.movedim(self.node_dim, 0)
        lead = tuple(heads.shape[1:-1])
        if e is not None and e.dim() > 1:
            e = inward(e, lead)
        out = message(pattern, op, heads.reshape(heads.shape[0], math.prod(lead), x.shape[-1]), e, self._reduce)
        return out.reshape(pattern.rows, *lead, x.shape[-1]).movedim(0, self.node_dim)

    def _weighted(self, pattern: Pattern, x: Tensor, weight: Optional[Tensor]) -> Tensor:
        """Return reduced messages of x, weighted by a number for each edge: (edges,)."""
        if weight is None:
            return self._sums(pattern, "copy_u", x)
        weight = _of_type(weight, x.dtype)
        if self._reduce == "sum" and self.node_dim == -2:
            return spmm(pattern, x, weight)
        return self._sums(pattern, "mul", x, weight.to(x.dtype))


def _of_type(weight: Any, dtype: torch.dtype) -> Any:
    """Return weights in a type in which sums take them beside features of `dtype`."""
    if weight is None or weight.dtype == dtype or (weight.dtype == torch.float32 and dtype in _direct.HALF):
        return weight
    return weight.to(dtype)


def of_targets(layer: Any, x: Pair, z: Tensor, target: Tensor) -> Any:
    """Return layer(target), where z is layer(source). x: source and target, as they were given."""
    if target is x:
        return z
    return z.narrow(-2, 0, target.shape[-2]) if isinstance(x, FirstRows) and not watched(layer) else layer(target)


def inward(x: Tensor, lead: tuple[int, ...]) -> Tensor:
    """Return x (..., nodes, features) as (nodes, members, features), or as it is without a batch."""
    return x if not lead else x.expand(*lead, *x.shape[-2:]).movedim(-2, 0).reshape(x.shape[-2], math.prod(lead), x.shape[-1])


def outward(x: Tensor, lead: tuple[int, ...]) -> Tensor:
    """Undo `inward`."""
    return x if not lead else x.reshape(x.shape[0], *lead, x.shape[-1]).movedim(0, -2)


def counts(pattern: Pattern, dtype: torch.dtype) -> Tensor:
    """Return the number of edges of each row, (rows, 1), which is computed once."""
    return (_compiled.tensor_of(pattern, "counts") if isinstance(pattern, _compiled.Seen) else _counts(pattern)).to(dtype)


def _counts(pattern: Pattern, _: Any = None) -> Tensor:
    return remembered(pattern, "counts", lambda: torch.bincount(pattern._rows(), minlength=pattern.rows).unsqueeze(1))


_compiled.TENSORS["counts"] = _compiled.Kept(_counts, lambda sizes, _: (sizes[0], 1))


def _promoted(x: Tensor, weight: Optional[Tensor]) -> Tensor:
    """Return x in the type of its products with weights."""
    if weight is None or weight.dtype == x.dtype or _direct.type_for(x.device.type) is not None:
        return x
    return x.to(torch.promote_types(x.dtype, weight.dtype))


def _number_of_each(weight: Optional[Tensor]) -> Optional[Tensor]:
    """Return weights (edges,), of a type that the library supports; (edges, 1) means the same."""
    if weight is None:
        return None
    if weight.dim() == 2 and weight.shape[1] == 1:
        weight = weight.squeeze(1)
    if weight.dim() != 1:
        raise _errors.ArgumentError(f"edge_weight has shape {tuple(weight.shape)}: expected (edges,) or (edges, 1), a number for each edge")
    return weight if weight.is_floating_point() else weight.float()


def _reset(module: Any) -> None:
    if hasattr(module, "reset_parameters"):
        module.reset_parameters()
    else:
        for child in module.children() if hasattr(module, "children") else ():
            _reset(child)


# ------------------------------------------------------------------------------ steps that need a vector for each edge: one array for all of them forward,
# and one backward, instead of one for each operation


def edge_scores(pattern: Pattern, x: Tensor, y: Tensor, e: Optional[Tensor], a: Tensor, slope: float) -> Tensor:
    """a . leaky_relu(x_i + y_j + e_ij), (edges, heads). x: (rows, heads, width); y: (cols, heads, width); e: (edges, heads, width); a: (heads, width)."""
    if slope < 0 or compiling() or transforms():  # otherwise the sign of the result equals the input's; compilers fuse this themselves
        both = edge_op(pattern, "add", x, y)
        return (functional.leaky_relu(both if e is None else both + e, slope) * a).sum(-1)
    found: Tensor = _Scores.apply(pattern, x, y, e, a, slope)[0]
    return found


class _Scores(torch.autograd.Function):
    """The vectors of all edges are also a result, so that the data kept for the gradient has derivatives."""

    @staticmethod
    def forward(ctx: Any, pattern: Pattern, x: Tensor, y: Tensor, e: Optional[Tensor], a: Tensor, slope: float) -> tuple[Tensor, Tensor]:
        both = edge_op(pattern, "add", x, y)
        if e is not None:
            both.add_(e)
        functional.leaky_relu_(both, slope)
        ctx.save_for_backward(both, a)
        ctx.pattern, ctx.slope = pattern, slope
        ctx.set_materialize_grads(False)
        return torch.einsum("ehw,hw->eh", both, a).contiguous(), both

    @staticmethod
    def backward(ctx: Any, grad: Optional[Tensor], more: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:
        (both, a), pattern = ctx.saved_tensors, ctx.pattern
        need, again = ctx.needs_input_grad, torch.is_grad_enabled()
        grad = None if grad is None else grad.contiguous()
        da = torch.einsum("eh,ehw->hw", grad, both) if need[4] and grad is not None else None
        dx = dy = de = None
        if any(need[1:4]) and (grad is not None or more is not None):
            de = more if grad is None else grad.unsqueeze(-1) * a if more is None else grad.unsqueeze(-1) * a + more
            assert de is not None
            if again or de is more:
                de = torch.where(both > 0, de, ctx.slope * de)
            else:
                torch.ops.aten.leaky_relu_backward.grad_input(de, both, ctx.slope, True, grad_input=de)
            if need[1] or need[2]:
                heads, width = a.shape
                dx, dy = torch.ops.tamis.edge_op_backward(de.flatten(1), pattern.index, pattern.columns, None, None, pattern.rows, pattern.cols, pattern.coo,
                                                          c.TAMIS_PAIR_ADD, heads, width, list(need[1:3]))
        return None, _shaped(dx, a, need[1]), _shaped(dy, a, need[2]), de if need[3] else None, da, None


def _shaped(gradient: Optional[Tensor], a: Tensor, wanted: bool) -> Optional[Tensor]:
    return None if gradient is None or not wanted else gradient.view(-1, *a.shape)
