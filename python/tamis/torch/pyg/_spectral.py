"""Layers of normalised adjacency: powers and polynomials of it."""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional

from ... import _errors
from .. import Pattern, _compiled, _direct, _graphs, spmm
from .._graphs import EdgeIndex
from .._held import apart, pattern_of
from .._layer import _Layer, _linear, _number_of_each, _of_type, _promoted, is_plain
from .._ops import define
from .._pattern import remembered
from .._sampled import AS_IS, SPMM, TRANSPOSED, computed


class _Normalized(_Layer):
    """Layers that multiply by D^-1/2 A D^-1/2, which `cached` keeps from the first call."""

    add_self_loops: bool
    improved, normalize, cached = False, True, False

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self._cached: Optional[tuple[Pattern, Optional[Tensor]]] = None

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self._cached = None

    def _adjacency(self, x: Tensor, edge_index: EdgeIndex, weight: Optional[Tensor]) -> tuple[Pattern, Optional[Tensor]]:
        """Return the pattern and the weights of its edges, None: all are 1."""
        if self._cached is not None:
            return self._cached
        pattern = self._graph(edge_index, x, x, None, weight, "edge_weight")
        if not self.normalize:
            return pattern, weight
        with apart() if self.cached and torch.is_inference_mode_enabled() else _direct.autocast_off(x.device.type):
            found = normalized(pattern, weight, x.dtype, self.improved, self.add_self_loops, self._reduce)
        if self.cached:
            self._cached = found
        return found


def one_tensor(x: Any) -> None:
    if not isinstance(x, Tensor):
        raise _errors.ArgumentError("x is a pair: expected one tensor; SAGEConv takes sources and targets")


def ones_of(pattern: Pattern, weight: Optional[Tensor], wide: torch.dtype) -> Tensor:
    """Return the weights of edges in a type that holds the sums of large nodes, which 16-bit numbers do not."""
    return torch.ones(pattern.nnz, dtype=wide, device=pattern.device) if weight is None else weight.to(wide)


_WIDE = torch.float32, torch.float64
_NORMALIZATIONS = None, "sym", "rw"


def normalized(pattern: Pattern, weight: Optional[Tensor], dtype: torch.dtype, improved: bool, add_self_loops: bool, reduce: str) -> tuple[Pattern, Tensor]:
    """Return the graph, with self-loops if they are to be added, and its edge weights, which are computed once if none are given. Sums at nodes are in fp32
    also of 16-bit numbers."""
    wide = torch.promote_types(dtype if weight is None else weight.dtype, torch.float32)
    graph = _graphs.looped(pattern, pattern.rows, reduce) if add_self_loops else None
    if weight is None and isinstance(pattern, _compiled.Seen):
        return pattern if graph is None else graph.pattern, _compiled.tensor_of(pattern, "normalized", add_self_loops, _WIDE.index(wide))
    if weight is None:
        return remembered(pattern, ("gcn", add_self_loops, wide), lambda: _normalized(pattern, None, graph, 1.0, wide))
    return _normalized(pattern, weight, graph, 2.0 if improved else 1.0, wide)


def _normalized(pattern: Pattern, weight: Optional[Tensor], graph: Optional[_graphs.Looped], loop: float, wide: torch.dtype) -> tuple[Pattern, Tensor]:
    given, full = ones_of(pattern, weight, wide), pattern
    if graph is not None:
        own = given.new_full((pattern.rows,), loop)
        if graph.kept is not None:  # an edge from a node to itself keeps its weight
            source, target = _graphs.edges(pattern)
            there = (source == target).nonzero().squeeze(1)
            own = own.index_put((source[there],), given[there])
            given = given[graph.kept]
        elif graph.away is not None:
            place = torch.where(graph.away, _graphs.edges(pattern)[0], pattern.rows)  # other edges go to a place that is cut off
            own, given = functional.pad(own, (0, 1)).index_put((place,), given)[:-1], given.masked_fill(graph.away, 0.0)
        given, full = torch.cat([given, own]), graph.pattern
    inverse = spmm(full, given.new_ones(full.cols), given).pow(-0.5)
    inverse = inverse.masked_fill(inverse == float("inf"), 0.0)
    ends = _graphs.edges(full)
    return full, inverse[ends[0]] * given * inverse[ends[1]]


def _kept_weights(pattern: Pattern, numbers: Any) -> Tensor:
    add_self_loops, wide = numbers[0], _WIDE[numbers[1]]
    return remembered(pattern, ("gcn with loops", *numbers), lambda: _normalized(pattern, None, _graphs.with_loops(pattern, pattern.rows) if add_self_loops else None, 1.0, wide)[1])


_compiled.TENSORS["normalized"] = _compiled.Kept(_kept_weights, lambda sizes, numbers: (sizes[2] + (sizes[0] if numbers[0] else 0),), lambda numbers: _WIDE[numbers[1]])


class GCNConv(_Normalized):
    """The graph convolution: the sum of W x_j w_ij / sqrt(d_i d_j), where d is the sum of the weights of the edges to a node.

    >>> GCNConv(4, 8)(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]])).shape
    torch.Size([3, 8])
    """

    def __init__(self, in_channels: int, out_channels: int, improved: bool = False, cached: bool = False, add_self_loops: Optional[bool] = None,
                 normalize: bool = True, bias: bool = True, **kwargs: Any):
        super().__init__(**kwargs)
        add_self_loops = normalize if add_self_loops is None else add_self_loops
        if add_self_loops and not normalize:
            raise _errors.ArgumentError("add_self_loops = True: expected False without normalize")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.improved, self.cached, self.add_self_loops, self.normalize = improved, cached, add_self_loops, normalize
        self.lin = _linear(in_channels, out_channels, False, True)
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_weight: Optional[Tensor] = None) -> Tensor:
        one_tensor(x)
        x, given = self.lin(x), _number_of_each(edge_weight)
        pattern, edge_weight = self._adjacency(x, edge_index, given)
        out = self._weighted(pattern, _promoted(x, given), edge_weight)
        return out if self.bias is None else out + self.bias


class SGConv(_Normalized):
    """The simple graph convolution: W A^K x with the normalised adjacency A of GCNConv. `cached` keeps A^K x of the first call.

    Where it has fewer channels, and nothing is cached, W x is multiplied by A instead of x.

    >>> SGConv(4, 8, K=2)(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]])).shape
    torch.Size([3, 8])
    """

    def __init__(self, in_channels: int, out_channels: int, K: int = 1, cached: bool = False, add_self_loops: bool = True, bias: bool = True,
                 **kwargs: Any):
        super().__init__(**kwargs)
        self.in_channels, self.out_channels, self.K = in_channels, out_channels, K
        self.cached, self.add_self_loops = cached, add_self_loops
        self._cached_x: Optional[Tensor] = None
        self.lin = _linear(in_channels, out_channels, bias)
        self.reset_parameters()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, K={self.K})"

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self._cached_x = None

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_weight: Optional[Tensor] = None) -> Tensor:
        one_tensor(x)
        if self._cached_x is not None:
            return self.lin(self._cached_x)  # type: ignore[no-any-return]
        given = _number_of_each(edge_weight)
        pattern, edge_weight = self._adjacency(x, edge_index, given)
        x = _promoted(x, given)
        narrow = not self.cached and self._reduce == "sum" and is_plain(self.lin) and self.out_channels < x.shape[-1]
        if narrow:
            x = functional.linear(x, self.lin.weight)
        for _ in range(self.K):
            x = self._weighted(pattern, x, edge_weight)
        if self.cached and self.K:
            with apart():
                self._cached_x, self._cached = x.detach().clone() if x.is_inference() else x.detach(), None
        if narrow:
            return x if self.lin.bias is None else x + self.lin.bias
        return self.lin(x)  # type: ignore[no-any-return]


class APPNP(_Normalized):
    """Personalised propagation: K times x = (1 - alpha) A x + alpha x_0, with the normalised adjacency A of GCNConv, or A itself without `normalize`.

    dropout is of the weights of edges; a step drops from what the one before has left.

    >>> APPNP(K=10, alpha=0.1)(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]])).shape
    torch.Size([3, 4])
    """

    def __init__(self, K: int, alpha: float, dropout: float = 0.0, cached: bool = False, add_self_loops: bool = True, normalize: bool = True,
                 **kwargs: Any):
        super().__init__(**kwargs)
        self.K, self.alpha, self.dropout = K, alpha, dropout
        self.cached, self.add_self_loops, self.normalize = cached, add_self_loops, normalize

    def __repr__(self) -> str:
        return f"{type(self).__name__}(K={self.K}, alpha={self.alpha})"

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_weight: Optional[Tensor] = None) -> Tensor:
        one_tensor(x)
        given = _number_of_each(edge_weight)
        pattern, edge_weight = self._adjacency(x, edge_index, given)
        x = first = _promoted(x, given)
        drops = self.dropout > 0 and self.training
        if drops and edge_weight is None:
            raise _errors.ArgumentError("edge_weight is None: expected weights for dropout to leave out, or normalize=True")
        weights = None if drops or self._reduce != "sum" or self.node_dim != -2 else _of_type(edge_weight, x.dtype)
        if weights is not None and not weights.requires_grad and self.K:
            if _direct.plain((x, weights)):
                return _Propagated.apply(pattern, weights, self.K, self.alpha, x)  # type: ignore[no-any-return]
            if _direct.compiling() and x.dim() == 2 and not _direct.transforms() and not _direct.forward_mode() and _direct.type_for(x.device.type) is None:
                sizes = pattern.rows, pattern.cols, pattern.coo
                return torch.ops.tamis.propagated(pattern.index, pattern.columns, weights, x, *sizes, self.K, self.alpha, False)  # type: ignore[no-any-return]
        for _ in range(self.K):
            if drops:
                assert edge_weight is not None
                edge_weight = functional.dropout(edge_weight, self.dropout)
            x = torch.lerp(first, self._weighted(pattern, x, edge_weight).to(first.dtype), 1 - self.alpha)
        return x


_MOST_AT_ONCE = 1 << 24  # elements of copies that one kernel makes


def _at_once(x: Tensor, times: int) -> bool:
    """Return True if all copies of x are made at once, which saves work of the host where memory is quickly had."""
    return x.is_cuda and times * x.numel() <= _MOST_AT_ONCE


def _steps(known: Any, weights: Tensor, x: Tensor, times: int, alpha: float, transpose: bool) -> Tensor:
    """Return x after some times x = (1 - alpha) A x + alpha x_0, recorded by nothing: each product is added to a copy of x_0."""
    first = x = x.contiguous()
    copies: Any = ()
    if _at_once(x, times):  # but for the result's, which would keep the others
        copies = x.expand(times - 1, *x.shape).clone(memory_format=torch.contiguous_format).unbind(0)
    for number in range(times):
        out = copies[number] if number < len(copies) else first.clone()
        x = computed(SPMM.operation, known, TRANSPOSED if transpose else AS_IS, (weights, x), None, out, 1 - alpha, alpha)
    return x


class _Propagated(torch.autograd.Function):
    """All times as one step of autograd, whose gradient is the same of the transpose of A, and which keeps nothing."""

    @staticmethod
    def forward(ctx: Any, pattern: Pattern, weights: Tensor, times: int, alpha: float, x: Tensor) -> Tensor:
        known = pattern._current()
        ctx.call = pattern, known, times, alpha
        ctx.save_for_backward(weights)
        return _steps(known, weights, x, times, alpha, False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (pattern, known, times, alpha), (weights,) = ctx.call, ctx.saved_tensors
        pattern._still(known)
        if not torch.is_grad_enabled() and _direct.plain((grad, weights)) and not _direct.batched(grad):
            return None, None, None, None, _steps(known, weights, grad, times, alpha, True)
        out = grad
        for _ in range(times):
            out = torch.lerp(SPMM.called(0, pattern, (True,), weights, out), grad, alpha)  # by the dispatcher, which knows batches
        return None, None, None, None, out


def _propagated(index: Tensor, columns: Tensor, weights: Tensor, x: Tensor, rows: int, cols: int, coo: bool, times: int, alpha: float, transpose: bool) -> Tensor:
    return _steps(pattern_of(index, columns, rows, cols, coo), weights, x, times, alpha, transpose)


def _keep(ctx: Any, inputs: tuple, output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:3])
    ctx.numbers = inputs[4:]


def _of_transpose(ctx: Any, grad: Tensor) -> Any:
    *numbers, transpose = ctx.numbers
    return (None,) * 3 + (torch.ops.tamis.propagated(*ctx.saved_tensors, grad, *numbers, not transpose),) + (None,) * 6


if _direct.REGISTERED:
    _name = define("propagated", "(Tensor index, Tensor columns, Tensor weights, Tensor x, SymInt rows, SymInt cols, bool coo, SymInt times, float alpha, bool transpose) -> Tensor",
                   _propagated, lambda index, columns, weights, x, *_: x.new_empty(x.shape),
                   lambda index, columns, weights, x, rows, cols, coo, times, *_, out_val=None: times * x.shape[-1] * (2 * columns.shape[-1] + 3 * rows))
    torch.library.register_autograd(_name, _of_transpose, setup_context=_keep)


class ChebConv(_Layer):
    """Chebyshev polynomials of the scaled Laplacian L: the sum of W_k T_k(L) x, k = 0, ..., K - 1, where L is 2 / lambda_max times the Laplacian, minus 1.

    normalization: None, "sym" or "rw". lambda_max: the largest eigenvalue, a number or a tensor; of several graphs a tensor with one for each, and `batch`,
    the graph of each node; None: twice the largest element of the Laplacian, as in PyTorch Geometric.

    >>> ChebConv(4, 8, K=3)(torch.ones(3, 4), torch.tensor([[0, 1, 2], [1, 1, 0]])).shape
    torch.Size([3, 8])
    """

    def __init__(self, in_channels: int, out_channels: int, K: int, normalization: Optional[str] = "sym", bias: bool = True, **kwargs: Any):
        super().__init__(**kwargs)
        if K < 1:
            raise _errors.ArgumentError(f"K = {K}: expected 1 or more")
        if normalization not in _NORMALIZATIONS:
            raise _errors.ArgumentError(f"normalization = {normalization!r}: expected None, 'sym' or 'rw'")
        self.in_channels, self.out_channels, self.normalization = in_channels, out_channels, normalization
        self.lins = nn.ModuleList(_linear(in_channels, out_channels, False, True) for _ in range(K))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, K={len(self.lins)}, normalization={self.normalization})"

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_weight: Optional[Tensor] = None, batch: Optional[Tensor] = None,
                lambda_max: Any = None) -> Tensor:
        one_tensor(x)
        edge_weight = _number_of_each(edge_weight)
        pattern = self._graph(edge_index, x, x, None, edge_weight, "edge_weight")
        out: Tensor = self.lins[0](x)
        if len(self.lins) > 1:
            with _direct.autocast_off(x.device.type):
                pattern, scaled = self._scaled(pattern, edge_weight, x.dtype, batch, lambda_max)
            before, now = x, self._weighted(pattern, _promoted(x, edge_weight), scaled)
            out = out + self.lins[1](now)
            twice = 2 * scaled if len(self.lins) > 2 else scaled
            for lin in self.lins[2:]:
                before, now = now, self._weighted(pattern, now, twice) - before
                out = out + lin(now)
        return out if self.bias is None else out + self.bias

    def _scaled(self, pattern: Pattern, weight: Optional[Tensor], dtype: torch.dtype, batch: Optional[Tensor],
                largest: Any) -> tuple[Pattern, Tensor]:
        """Return the scaled Laplacian: the graph with self-loops, and its values, which are computed once if neither weights nor lambda_max are given."""
        wide = torch.promote_types(dtype if weight is None else weight.dtype, torch.float32)
        first = self.flow == "target_to_source"  # the rows of the pattern are row 0 of edge_index, whose nodes have the degrees
        graph, plain = _graphs.looped(pattern, pattern.rows), weight is None and largest is None
        if plain and isinstance(pattern, _compiled.Seen):
            return graph.pattern, _compiled.tensor_of(pattern, "laplacian", _NORMALIZATIONS.index(self.normalization), first, _WIDE.index(wide))

        def make() -> tuple[Pattern, Tensor]:
            return graph.pattern, _laplacian(pattern, weight, graph, self.normalization, first, wide, batch, largest)

        return remembered(pattern, ("laplacian", self.normalization, first, wide), make) if plain else make()


def _laplacian(pattern: Pattern, weight: Optional[Tensor], graph: _graphs.Looped, normalization: Optional[str], first: bool, wide: torch.dtype,
               batch: Optional[Tensor] = None, largest: Any = None) -> Tensor:
    """Return the values of the scaled Laplacian. first: degrees are of row 0 of edge_index, the rows of the pattern."""
    given, bare = ones_of(pattern, weight, wide), graph.bare
    given = given if graph.kept is None else given[graph.kept]
    given = given if graph.away is None else given.masked_fill(graph.away, 0.0)
    degrees = spmm(bare if first else bare.T, given.new_ones(bare.cols), given)
    ends = _graphs.edges(bare)
    row, col = ends.flip(0) if first else ends
    own = torch.ones_like(degrees)
    if normalization is None:
        own = degrees
    else:
        inverse = degrees.pow(-0.5 if normalization == "sym" else -1.0)
        inverse = inverse.masked_fill(inverse == float("inf"), 0.0)
        given = inverse[row] * given * (inverse[col] if normalization == "sym" else 1.0)
    values, most = torch.cat([-given, own]), largest
    if most is None:
        most = 2.0 * values.max() if values.numel() else 1.0
    most = torch.as_tensor(most, dtype=None if isinstance(most, Tensor) else wide, device=values.device)
    if most.numel() > 1:
        if batch is None:
            raise _errors.ArgumentError(f"lambda_max has {most.numel()} numbers: expected one, or batch, the graph of each node")
        most = most[batch[torch.cat([row, torch.arange(bare.rows, device=row.device)])]]
    values = 2.0 * values / most
    values = values.masked_fill((values == float("inf")) | (most == 0), 0.0)  # a graph without edges has a Laplacian of zeros
    return torch.cat([values[:bare.nnz], values[bare.nnz:] - 1])


def _kept_laplacian(pattern: Pattern, numbers: Any) -> Tensor:
    return remembered(pattern, ("laplacian with loops", *numbers), lambda: _laplacian(
        pattern, None, _graphs.with_loops(pattern, pattern.rows), _NORMALIZATIONS[numbers[0]], bool(numbers[1]), _WIDE[numbers[2]]))


_compiled.TENSORS["laplacian"] = _compiled.Kept(_kept_laplacian, lambda sizes, _: (sizes[2] + sizes[0],), lambda numbers: _WIDE[numbers[2]])
