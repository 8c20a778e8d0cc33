"""The network on the edges of a graph, and its sums by node: an operator of PyTorch with two results, which `_ops.py` registers."""
from __future__ import annotations

import math
from ctypes import byref, c_size_t
from typing import Any, Optional

import torch
from torch import Tensor

from .. import _declarations as c
from .. import _errors
from .._library import lib, must
from .._views import torch_view
from . import _direct
from ._formulas import EXTREME, wide
from ._held import pattern_of
from ._messages import REDUCES, _check, _graph, _number, arguments_of, call_library
from ._ops import CALLS, Sizes, _define, _forward, _function_of_gradient, _made_function, no_forward_mode
from ._taken import PatternLike

ACTIVATIONS = {name.removeprefix("TAMIS_ACTIVATION_").lower(): number for name, number in vars(c).items() if name.startswith("TAMIS_ACTIVATION_")}
OPERANDS = ("e", "p", "q", "w1", "b1", "w2", "b2", "w3", "b3", "gain", "shift")  # as the structures of the library have them
FIELDS = ("E", "P", "Q", "W1", "b1", "W2", "b2", "W3", "b3", "gain", "shift")
COUNT = len(OPERANDS)
_OF = "Tensor index, Tensor columns, " + ", ".join(f"Tensor{'' if name == 'w3' else '?'} {name}" for name in OPERANDS)
_NUMBERS = "SymInt rows, SymInt cols, bool coo, int activation, int reduce, bool norm, bool residual, bool update, bool tf32, float epsilon, bool edges, bool sums"


# ------------------------------------------------------------------------------ calls of the library


def _matrices(names: dict[str, Optional[Tensor]]) -> Any:
    """Return the argument of a call that is the structure of its matrices."""
    return c.tamis_edge_network_matrices, {field: name for field, (name, x) in zip(FIELDS, names.items()) if x is not None}


def _options(operands: tuple, numbers: tuple, argument: Optional[Tensor], share: bool = False) -> Any:
    e, w2, w3, (activation, reduce, norm, residual, update, tf32, epsilon, *_) = operands[0], operands[5], operands[7], numbers
    return c.tamis_edge_network_options(type=torch_view(w3, "w3").type, math=c.TAMIS_MATH_TF32 if tf32 else c.TAMIS_MATH_EXACT, activation=activation,
                                        reduce=max(reduce, 0), hidden_layers=1 if w2 is None else 2, edge_width=0 if e is None else e.shape[1],
                                        hidden=w3.shape[1], width=w3.shape[0], epsilon=epsilon or math.ulp(0), normalise=norm, residual=residual, reduce_update=update,
                                        share_dE=share, argument_type=c.TAMIS_I64 if argument is not None and argument.dtype == torch.int64 else c.TAMIS_I32)


def _in_pieces(*matrices: Optional[Tensor]) -> bool:
    """Tell if rows are at multiples of 16 bytes."""
    return all(x is None or (x.data_ptr() % 16 == 0 and x.stride(0) * x.element_size() % 16 == 0) for x in matrices)


def _workspace(graph: Any, options: Any, back: bool, like: Tensor) -> Tensor:
    size = c_size_t()
    must(lib.tamis_edge_network_workspace_size(graph.value, byref(options), back, byref(size)))
    return like.new_empty(size.value, dtype=torch.uint8)


def _kernel(index: Tensor, columns: Tensor, *given: Any) -> tuple[Tensor, ...]:
    operands, sizes, numbers = given[:COUNT], given[COUNT:COUNT + 3], given[COUNT + 3:]
    of = pattern_of(index, columns, *sizes)
    graph, (edges, out, argument) = _graph(of, operands[7]), _results(of.shape, of.nnz, operands[7], numbers, of)
    options, named = _options(operands, numbers, argument), dict(zip(OPERANDS, operands))
    made = {"edges": edges, "out": out, "argument": argument, "workspace": _workspace(graph, options, False, operands[7])}
    call_library("tamis_edge_network", of, None, graph, options, named, made, (_matrices(named), "edges", "out", "*argument", "*workspace"), 3)
    return _shown((edges, out, argument), operands[7])


def _results(shape: Any, nnz: Any, w3: Tensor, numbers: tuple, of: Any) -> tuple:
    reduce, edges, sums = numbers[1], numbers[7], numbers[8]
    argument = arguments_of(w3, of, w3.shape[0]) if sums and reduce in EXTREME else None
    return w3.new_empty((nnz, w3.shape[0])) if edges else None, w3.new_empty((shape[0], w3.shape[0])) if sums else None, argument


def _shown(results: tuple, like: Tensor) -> tuple[Tensor, ...]:
    return tuple(like.new_empty((0,), dtype=torch.int32 if place == 2 else None) if x is None else x for place, x in enumerate(results))


def _fake(index: Tensor, columns: Tensor, *given: Any) -> tuple[Tensor, ...]:
    w3, of, numbers = given[7], Sizes(given[COUNT:COUNT + 2], columns.shape[0]), given[COUNT + 3:]
    return _shown(_results(of.shape, of.nnz, w3, numbers, of), w3)


def _back_kernel(d_edges: Optional[Tensor], d_out: Optional[Tensor], index: Tensor, columns: Tensor, *given: Any) -> tuple[Tensor, ...]:
    operands, argument, sizes, numbers, wanted = given[:COUNT], given[COUNT], given[COUNT + 1:COUNT + 4], given[COUNT + 4:-1], given[-1]
    of, w3 = pattern_of(index, columns, *sizes), operands[7]
    graph, found = _graph(of, w3), [torch.empty(x.shape, dtype=x.dtype, device=x.device) if wants and x is not None else None for x, wants in zip(operands, wanted)]
    argument = argument if numbers[1] in EXTREME and d_out is not None else None
    d_edges, d_out = (None if x is None else x.contiguous() for x in (d_edges, d_out))
    share = found[0] is not None and w3.shape[1] <= operands[0].shape[1] and _in_pieces(*operands[:3], d_edges, d_out)
    options, named = _options(operands, numbers, argument, share), dict(zip(OPERANDS, operands))
    made = dict(zip((f"d_{name}" for name in OPERANDS), found))
    read = {**named, "d_edges": d_edges, "d_out": d_out, "argument": argument}
    call_library("tamis_edge_network_backward", of, None, graph, options, read, {**{f"of {name}": x for name, x in made.items()}, "workspace": _workspace(graph, options, True, w3)},
                 (_matrices(named), "d_edges", "d_out", "*argument", _matrices({f"of {name}": x for name, x in made.items()}), "*workspace"), COUNT)
    return tuple(w3.new_empty((0,)) if x is None else x for x in found)


def _back_fake(d_edges: Optional[Tensor], d_out: Optional[Tensor], index: Tensor, columns: Tensor, *given: Any) -> tuple[Tensor, ...]:
    return tuple(x.new_empty(x.shape) if wants and x is not None else given[7].new_empty((0,)) for x, wants in zip(given[:COUNT], given[-1]))


def _flops(index: Tensor, columns: Tensor, *given: Any, out_val: Any = None) -> Any:
    return 2 * columns.shape[0] * sum(x.shape[0] * x.shape[1] for x in (given[3], given[5], given[7]) if x is not None)


def _back_flops(d_edges: Any, d_out: Any, index: Tensor, columns: Tensor, *given: Any, out_val: Any = None) -> Any:
    return 3 * _flops(index, columns, *given)  # the layers again, and two products for each


# ------------------------------------------------------------------------------ derivatives


def _function(kind: int, x: Tensor) -> Tensor:
    names = {c.TAMIS_ACTIVATION_RELU: torch.relu, c.TAMIS_ACTIVATION_SILU: torch.nn.functional.silu, c.TAMIS_ACTIVATION_GELU: torch.nn.functional.gelu,
             c.TAMIS_ACTIVATION_TANH: torch.tanh}
    return names[kind](x)


def composed(where: tuple, operands: tuple, numbers: tuple, argument: Optional[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the edges and their reduction by operators that have derivatives. They make arrays of all edges."""
    e, p, q, w1, b1, w2, b2, w3, b3, gain, shift = operands
    index, columns, (rows, cols, coo) = where
    (activation, reduce, norm, residual, update, _, epsilon, _, sums) = numbers
    hidden, width, like = w3.shape[1], w3.shape[0], w3
    a = like.new_zeros((columns.shape[0], hidden))
    if p is not None or q is not None:
        p, q = (like.new_zeros((n, hidden)) if x is None else x for x, n in ((p, rows), (q, cols)))
        a = CALLS["edge_op"](index, columns, p, q, rows, cols, coo, c.TAMIS_PAIR_ADD, 1)
    if e is not None:
        a = a + e @ w1.mT
    h = _function(activation, a if b1 is None else a + b1)
    if w2 is not None:
        h = h @ w2.mT
        h = _function(activation, h if b2 is None else h + b2)
    y = h @ w3.mT
    z = y if b3 is None else y + b3
    if norm:
        z = torch.nn.functional.layer_norm(z, (width,), None if gain is None else gain[0], None if shift is None else shift[0], epsilon)
    edges = z + e if residual else z
    of = z if update else edges
    if not sums:
        return edges, edges.new_zeros((0,))
    if reduce not in EXTREME:
        return edges, CALLS["message"](index, columns, None, of, None, rows, cols, coo, c.TAMIS_MESSAGE_COPY_E, reduce, c.TAMIS_E_VECTOR, 1)[0]
    if columns.shape[0] == 0:
        return edges, of.new_zeros((rows, width))
    assert argument is not None
    return edges, of.gather(0, argument.long().clamp(min=0)).masked_fill(argument < 0, 0)


def _composed_gradients(where: tuple, operands: tuple, argument: Tensor, numbers: tuple, changes: tuple) -> list[Optional[Tensor]]:
    """Return the gradients by operators that have derivatives themselves."""
    there = [x is not None for x in operands]
    seeds = [x is not None for x in changes]

    def results(*given: Tensor) -> tuple[Tensor, ...]:
        left = [wide(x) for x in given]
        found = composed(where, tuple(left.pop(0) if is_there else None for is_there in there), numbers, argument)
        return tuple(x for x, is_there in zip(found, seeds) if is_there)

    pulled: Any = torch.func.vjp(results, *(x for x in operands if x is not None))
    made, pull = pulled
    found = list(pull(tuple(change.to(x.dtype) for x, change in zip(made, (x for x in changes if x is not None)))))
    return [found.pop(0) if is_there else None for is_there in there]


def _recorded() -> Any:
    """Make the function of autograd."""

    def forward(ctx: Any, *inputs: Any) -> Any:
        found = _forward("edge_network", inputs)
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(found[2])
        ctx.save_for_backward(*inputs[:2 + COUNT], found[2])
        ctx.numbers = inputs[2 + COUNT:]
        return found

    def backward(ctx: Any, d_edges: Optional[Tensor], d_out: Optional[Tensor], _: Any = None) -> tuple:
        (index, columns, *operands, argument), sizes, numbers = ctx.saved_tensors, ctx.numbers[:3], ctx.numbers[3:]
        wanted, rest = list(ctx.needs_input_grad[2:2 + COUNT]), [None] * len(ctx.numbers)
        d_edges, d_out = d_edges if numbers[7] else None, d_out if numbers[8] else None
        if d_edges is None and d_out is None:
            return (None,) * (2 + COUNT + len(rest))
        if _direct.again():
            found = _composed_gradients((index, columns, sizes), tuple(operands), argument, numbers, (d_edges, d_out))
        else:
            found = CALLS["edge_network_backward"](d_edges, d_out, index, columns, *operands, argument, *sizes, *numbers, wanted)
        return (None, None, *(x if wants else None for x, wants in zip(found, wanted)), *rest)

    def tangent(ctx: Any, *changes: Any) -> Any:
        raise no_forward_mode("edge_network")

    return _made_function("edge_network", forward, backward, tangent)


def _rule(name: str, at: dict[str, int], calls: dict[str, Any]) -> Any:
    """Return the rule of vmap: a call for each member."""

    def rule(info: Any, dims: tuple, *arguments: Any) -> Any:
        if dims[at["index"]] is not None or dims[at["columns"]] is not None:
            raise NotImplementedError(f"vmap over the pattern of tamis::{name}: map over operands of one pattern")
        found = [calls[name](*(x.select(dim, member) if isinstance(x, Tensor) and dim is not None else x for x, dim in zip(arguments, dims)))
                 for member in range(info.batch_size)]
        return tuple(torch.stack(of) for of in zip(*found)), (0,) * len(found[0])

    return rule


_define("edge_network", f"({_OF}, {_NUMBERS}) -> (Tensor, Tensor, Tensor)", _kernel, _fake, _flops, _rule, _recorded().apply, 2 + COUNT)
_define("edge_network_backward", f"(Tensor? d_edges, Tensor? d_out, {_OF}, Tensor argument, {_NUMBERS}, bool[{COUNT}] wanted) -> ({', '.join(['Tensor'] * COUNT)})",
        _back_kernel, _back_fake, _back_flops, _rule, _function_of_gradient("edge_network_backward", None, None, True).apply, 5 + COUNT)


# ------------------------------------------------------------------------------ the call


def _check_shapes(given: dict[str, tuple[Optional[Tensor], tuple]]) -> None:
    for name, (x, shape) in given.items():
        if x is not None and tuple(x.shape) != shape:
            raise _errors.ArgumentError(f"{name} has shape {tuple(x.shape)}: expected {shape}")


def edge_network(pattern: PatternLike, e: Optional[Tensor], p: Optional[Tensor] = None, q: Optional[Tensor] = None, *, w1: Optional[Tensor] = None,
                 b1: Optional[Tensor] = None, w2: Optional[Tensor] = None, b2: Optional[Tensor] = None, w3: Tensor, b3: Optional[Tensor] = None,
                 gain: Optional[Tensor] = None, shift: Optional[Tensor] = None, activation: str = "silu", norm: bool = False, epsilon: float = 1e-5,
                 residual: bool = False, reduce: Optional[str] = "sum", update: bool = False, edges: bool = True) -> tuple[Optional[Tensor], Optional[Tensor]]:
    """The network on edges of mesh and message passing networks, and the sums of its results by node, in one pass.

    For each entry t = (i, j) it computes a = w1 e[t] + p[i] + q[j] + b1, h = f(a) or with w2 f(w2 f(a) + b2), y = w3 h + b3, with `norm` its layer
    normalisation times gain plus shift, and with `residual` the sum with e[t]. Returns these (nnz, width) in the pattern's order, or None with
    edges=False, and their sum, mean, max or min over the entries of each row (rows, width), or None with reduce=None; with `update` what is reduced
    is without the residual. A row without entries gives 0.
    e: (nnz, edge width), or None; p: (rows, hidden), q: (cols, hidden): x times the transposes of the parts of the first layer's weight that belong to
    nodes, so that each is computed once for a node. Weights are outputs x inputs, as torch.nn.Linear has them. activation: "relu", "silu", "gelu" or
    "tanh". Hidden layers are not stored: the backward pass computes them again, and makes one array (nnz, hidden), or none beside e's gradient on Hopper
    with 16-bit numbers, one hidden layer and widths of 64 or 128. Gradients to all tensors, the same bits each time; second derivatives make arrays of
    all edges. In fp32 on a GPU it computes as torch.backends.cuda.matmul.allow_tf32 says. Errors as in `sddmm`.

    >>> graph = Pattern.from_edge_index(torch.tensor([[0, 1, 2], [1, 1, 0]]), num_nodes=3)
    >>> e = torch.tensor([[1., 0.], [0., 1.], [1., 1.]])
    >>> edges, sums = edge_network(graph, e, w1=torch.eye(2), w3=torch.eye(2), activation="relu", residual=True)
    >>> sums
    tensor([[2., 2.],
            [2., 2.],
            [0., 0.]])
    """
    if not isinstance(w3, Tensor) or w3.dim() != 2:
        raise _errors.ArgumentError("w3: expected a weight (width, hidden)")
    kind, reduction = _number("activation", activation, ACTIVATIONS), 0 if reduce is None else _number("reduce", reduce, REDUCES)
    if reduce is None and not edges:
        raise _errors.ArgumentError("reduce = None and edges = False: expected one result")
    vectors = (b1, b2, b3, gain, shift)
    e, p, q, w1, w2, w3, *vectors = _direct.cast(e, p, q, w1, w2, w3, *vectors)
    b1, b2, b3, gain, shift = vectors
    pattern = _check(pattern, w3=w3, e=e, p=p, q=q, w1=w1, b1=b1, w2=w2, b2=b2, b3=b3, gain=gain, shift=shift)
    (width, hidden), own = w3.shape, 0 if e is None else e.shape[-1]
    if (e is None) != (w1 is None):
        raise _errors.ArgumentError(f"{'w1' if e is None else 'e'} is given, but {'e' if e is None else 'w1'} is None: expected both or none")
    for name, x, needs in (("b2", b2, w2 is not None), ("gain", gain, norm), ("shift", shift, norm), ("residual", residual or None, e is not None)):
        if x is not None and not needs:
            raise _errors.ArgumentError(f"{name} is given, but {dict(b2='w2 is None', residual='e is None').get(name, 'norm = False')}")
    if residual and own != width:
        raise _errors.ArgumentError(f"residual = True, but e has {own} columns and w3 {width} rows: expected as many")
    _check_shapes({"e": (e, (pattern.nnz, own)), "p": (p, (pattern.rows, hidden)), "q": (q, (pattern.cols, hidden)), "w1": (w1, (hidden, own)),
                   "b1": (b1, (hidden,)), "w2": (w2, (hidden, hidden)), "b2": (b2, (hidden,)), "b3": (b3, (width,)), "gain": (gain, (width,)),
                   "shift": (shift, (width,))})
    b1, b2, b3, gain, shift = (None if x is None else x.unsqueeze(0) for x in (b1, b2, b3, gain, shift))
    tf32 = w3.is_cuda and w3.dtype == torch.float32 and torch.backends.cuda.matmul.allow_tf32
    found, out, _ = CALLS["edge_network"](pattern.index, pattern.columns, e, p, q, w1, b1, w2, b2, w3, b3, gain, shift, pattern.rows, pattern.cols, pattern.coo,
                                          kind, reduction, norm, residual, update, tf32, float(epsilon), edges, reduce is not None)
    return found if edges else None, out if reduce is not None else None
