"""Operators on the places of a pattern, each a row of what PyTorch must know of it: registered (2.4 and newer), so that autograd, torch.compile and vmap
know them; before that, functions of autograd alone.

A row says how an operator and its gradient are called, what they return, what the gradient reads, and how it is differentiated again. From it this module
makes the schemas, the kernels, the shapes without content, the functions of autograd and the rules of vmap, and calls without PyTorch's dispatcher.
"""
from __future__ import annotations

from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor
from torch.autograd import forward_ad

from .. import _declarations as c
from .._plan import reads_member
from .._views import fits, uneven
from ._direct import FLOPS, PLAIN, RECORDED, REGISTERED, again, batched, compiling, forward_mode, modes, plain, transforms, watched
from ._held import handle_of, of_handle, pattern_of

if REGISTERED:
    from torch._functorch.utils import enable_single_level_autograd_function as _single_level
    _Function: Any = torch.autograd.function._SingleLevelFunction
else:
    _Function = torch.autograd.Function
_below_autograd = torch._C._AutoDispatchBelowAutograd
CALLS: dict[str, Any] = {}    # operators and gradients by name, as they are called
_KERNELS: dict[str, tuple] = {}  # with the number of tensors that come first, and the place from which there are tensors again
content: Any = None             # content(index, columns, rows, cols): the rows and columns of the entries of a handle's pattern, from _compiled
_WHERE, _SIZES = "Tensor index, Tensor columns", "SymInt rows, SymInt cols, bool coo"


class Sizes(NamedTuple):
    """The sizes of a pattern, numbers or symbols, for shapes without content. A checked pattern has the same names."""

    shape: tuple[Any, Any]
    nnz: Any


class Operator:
    """A row. Its operands come first in each call, then the pattern's sizes, then its numbers.

    The methods get the pattern (`of`; `empty` gets its Sizes), the operands or what is saved of them, and numbers. Results that are not there are
    None; for the dispatcher they are empty tensors.
    """

    name = ""
    operands = ""                     # the schema of the operands
    numbers = ""                      # and of the numbers
    keeps = False                     # True: the last input says if the second result, which only the gradient reads, is needed
    results = 2
    nothing: Optional[torch.dtype] = None  # the type of an empty second result; None: the operands' type
    saved = ""                        # the schema of what the gradient reads
    numbers_of_gradient = ""          # the gradient's numbers, if it has others
    late = ""                         # the gradient's input that came with a later version
    gradients: tuple[int, ...] = ()   # the places of operands with gradients, in the order in which the gradient returns them
    either = False                    # True: matrices may be of either layout
    rule: Any = None                  # rule(operator, name, places of inputs, calls, backward) makes the rule of vmap
    derivative: Any = None            # a static method: derivative(need, tensors, numbers, *changes) differentiates the gradient
    formula: Any = None               # or formula(where, grad, saved, numbers, wanted) computes the gradient by operators that can be differentiated
    tangent: Any = None               # tangent(where, saved, numbers, changes of operands) in forward mode; None: from the derivative
    gradient_tangent: Any = None      # gradient_tangent(tensors, numbers, wanted, changes of tensors): the tangents of the gradients

    run: Any         # run(of, operands, numbers, keep): the result, and what is kept for the gradient
    empty: Any       # empty(of, operands, numbers, keep): the same without content. It refuses wrong operands as the library does, where sizes are numbers
    save: Any        # save(operands, results, numbers): the tensors that the gradient reads, its numbers, and how many of the tensors, the last, are its late input
    back: Any        # back(of, grad, saved, numbers, wanted, *late): the gradients
    back_empty: Any  # back_empty(of, grad, saved, numbers, wanted): the same without content
    flops: Any       # flops(of, operands, numbers): the number of floating-point operations: additions, multiplications and comparisons
    back_flops: Any  # back_flops(of, grad, saved, numbers, wanted): that of the gradients

    def known(self, pattern: Any, numbers: Any, operands: tuple) -> Any:
        """Return the checked pattern for a call, or for its gradient, whose saved operands are given. numbers: as `run` takes them."""
        return pattern._current()

    def inner(self, numbers: tuple) -> Any:
        """Return numbers as `run` and `back` take them, from the schema's; `outer` inverts it."""
        return numbers

    def outer(self, numbers: Any) -> tuple:
        return numbers  # type: ignore[no-any-return]

    def outer_saved(self, saved: tuple, numbers: Any) -> tuple:
        """Return what is saved as the schema has it, where direct calls take other shapes. numbers: as `run` takes them."""
        return saved

    def direct_gradients(self, found: Any, numbers: Any) -> Any:
        """Return the schema's gradients in the shapes of direct calls."""
        return found

    # -------------------------------------------------------------------------- schemas and kernels

    def __init__(self) -> None:
        self.count, self._saved = self.operands.count("Tensor"), self.saved.count("Tensor")
        numbers, several = self.numbers_of_gradient or self.numbers, len(self.gradients) > 1
        self._numbers = numbers.count(",") + 1
        self._optional = self.saved.rpartition(", ")[2].startswith("Tensor?")  # what is saved last may be None
        wanted = f", bool[{len(self.gradients)}] wanted" if several else ""
        schema = f"({_WHERE}, {self.operands}, {_SIZES}, {self.numbers}{', bool keep' if self.keeps else ''}) -> {_tensors(self.results)}"
        self.function = self._function()
        _define(self.name, schema, self._kernel, self._fake, self._flops, self.rule, self._applied, self.count + 2)
        schema = f"(Tensor grad, {_WHERE}, {self.saved}, {_SIZES}, {numbers}{wanted}{', ' * bool(self.late)}{self.late}) -> {_tensors(len(self.gradients))}"
        name = f"{self.name}_backward"
        _define(name, schema, self._back_kernel, self._back_fake, self._back_flops, self.rule, _function_of_gradient(name, self.derivative, self.gradient_tangent, several).apply,
                self._saved + 3)

    def _split_back(self, given: tuple) -> tuple:
        """Return what was saved, sizes, numbers, which gradients are wanted, and the late input."""
        n, end = self._saved, self._saved + 3 + self._numbers
        return given[:n], given[n:n + 3], given[n + 3:end], given[end] if len(self.gradients) > 1 else [True], given[end + 1:]

    def _shown(self, results: tuple) -> Any:
        if self.results == 1:
            return results[0]
        return results if results[1] is not None else (results[0], results[0].new_empty((0,), dtype=self.nothing))

    def _shown_back(self, grad: Tensor, found: Any) -> Any:
        return tuple(grad.new_empty((0,)) if x is None else x for x in found) if len(self.gradients) > 1 else found[0]

    def _kernel(self, index: Tensor, columns: Tensor, *given: Any) -> Any:
        n = self.count
        numbers, keep = (given[n + 3:-1], given[-1]) if self.keeps else (given[n + 3:], True)
        numbers = self.inner(numbers)
        return self._shown(self.run(self._found(index, columns, given[n:n + 3], numbers, given[:n]), given[:n], numbers, keep))

    def _found(self, index: Tensor, columns: Tensor, sizes: Any, numbers: Any, operands: tuple) -> Any:
        """Return the checked pattern of an operator's tensors."""
        return self.known(of_handle(index), numbers, operands) if columns.dim() == 2 else pattern_of(index, columns, *sizes)

    def _fake(self, index: Tensor, columns: Tensor, *given: Any) -> Any:
        n = self.count
        numbers, keep = (given[n + 3:-1], given[-1]) if self.keeps else (given[n + 3:], True)
        return self._shown(self.empty(Sizes(given[n:n + 2], columns.shape[-1]), given[:n], numbers, keep))

    def _flops(self, index: Tensor, columns: Tensor, *given: Any, out_val: Any = None) -> Any:
        n = self.count
        return self.flops(Sizes(given[n:n + 2], columns.shape[-1]), given[:n], given[n + 3:-1] if self.keeps else given[n + 3:])

    def _back_kernel(self, grad: Tensor, index: Tensor, columns: Tensor, *given: Any) -> Any:
        saved, sizes, numbers, wanted, late = self._split_back(given)
        numbers = self.inner(numbers)
        return self._shown_back(grad, self.back(self._found(index, columns, sizes, numbers, saved), grad, saved, numbers, wanted, *late))

    def _back_fake(self, grad: Tensor, index: Tensor, columns: Tensor, *given: Any) -> Any:
        saved, sizes, numbers, wanted, _ = self._split_back(given)
        return self._shown_back(grad, self.back_empty(Sizes(sizes[:2], columns.shape[-1]), grad, saved, numbers, wanted))

    def _back_flops(self, grad: Tensor, index: Tensor, columns: Tensor, *given: Any, out_val: Any = None) -> Any:
        saved, sizes, numbers, wanted, _ = self._split_back(given)
        return self.back_flops(Sizes(sizes[:2], columns.shape[-1]), grad, saved, numbers, wanted)

    # -------------------------------------------------------------------------- calls

    def direct(self, need: int, pattern: Any, numbers: Any, *operands: Any) -> Tensor:
        """Make a call without the dispatcher. need: ALONE or RECORDED, as `plain` returns. numbers: as `run` takes them."""
        if need == RECORDED:
            return self.function.apply(pattern, numbers, *operands)  # type: ignore[no-any-return]
        return self.run(self.known(pattern, numbers, operands), operands, numbers, False)[0]  # type: ignore[no-any-return]

    def called(self, need: int, pattern: Any, numbers: tuple, *operands: Any) -> Tensor:
        """Return the first result. need: as `plain` returns."""
        if need:
            return self.direct(need, pattern, numbers, *operands)
        index, columns, coo = where(pattern, self, self.inner(numbers[:-1] if self.keeps else numbers), operands)
        found = CALLS[self.name](index, columns, *operands, pattern.rows, pattern.cols, coo, *numbers)
        return found if self.results == 1 else found[0]  # type: ignore[no-any-return]

    def _applied(self, index: Tensor, columns: Tensor, *given: Any) -> Any:
        """Make a call with the inputs of the schema that autograd records."""
        n = self.count
        return self.function.apply(given[n:n + 3], given[n + 3:], *given[:n], index, columns)

    # -------------------------------------------------------------------------- autograd

    def _function(self) -> Any:
        """Make the function of autograd. Its inputs are the pattern, the numbers and the operands; within the dispatcher the pattern's sizes, the
        numbers, the operands and the pattern's tensors. Its inner operations are not recorded."""

        places = [2 + place for place in self.gradients]

        def forward(ctx: Any, pattern: Any, numbers: Any, *tensors: Any) -> Any:
            ctx.set_materialize_grads(False)
            if type(pattern) is not tuple:
                known = self.known(pattern, numbers, tensors)
                results: Any = self.run(known, tensors, numbers, True)
                saved, numbers, late = self.save(tensors, results, numbers)
                ctx.call = pattern, known, numbers, late
                ctx.save_for_backward(*saved)
                return results[0]
            operands, where = tensors[:self.count], tensors[self.count:]
            found = _forward(self.name, (*where, *operands, *pattern, *numbers))
            results = (found,) if self.results == 1 else found
            if self.results > 1:
                ctx.mark_non_differentiable(results[1])
            saved, numbers, late = self.save(operands, results, numbers[:-1] if self.keeps else numbers)
            ctx.call = pattern, None, numbers, late
            ctx.save_for_backward(*where, *saved)
            if (self.tangent or self.derivative) and forward_mode():
                ctx.save_for_forward(*where, *saved)
                ctx.result = tuple(results[0].shape), results[0].dtype  # not the tensor itself, which refers to this object
            return found

        def backward(ctx: Any, grad: Optional[Tensor], _: Any = None) -> tuple:
            need = ctx.needs_input_grad
            made = [None] * len(need)
            if grad is not None:
                wanted = [need[place] for place in places]
                for place, gradient in zip(places, self._gradients(ctx, grad, wanted)):
                    if need[place]:
                        made[place] = gradient
            return tuple(made)

        def tangent(ctx: Any, _: Any, __: Any, *changes: Any) -> Any:
            if not (self.tangent or self.derivative):
                raise no_forward_mode(self.name)
            found = _at_its_level(ctx, lambda kept: self._tangent(ctx, kept, changes))
            return found if self.results == 1 else (found, None)

        return _made_function(self.name, forward, backward if REGISTERED else torch.autograd.function.once_differentiable(backward), tangent)

    def _gradients(self, ctx: Any, grad: Tensor, wanted: list[bool]) -> Any:
        kept, (pattern, known, numbers, count), repeated = ctx.saved_tensors, ctx.call, REGISTERED and again()
        saved, late = (kept[:-count], kept[-count:]) if count else (kept, ())
        if type(pattern) is tuple:
            (index, columns), saved, sizes = saved[:2], saved[2:], pattern
        else:
            known = pattern._still(known)
            if not repeated and plain((grad, *kept)) and not batched(grad):
                return self.back(known, grad, saved, numbers, wanted, *late)
            index, columns, sizes = pattern.index, pattern.columns, (pattern.rows, pattern.cols, pattern.coo)
            outer = index, columns, self.outer_saved(saved, numbers), sizes, self.outer(numbers)
            return self.direct_gradients(self._registered_gradients(grad, *outer, wanted, late, repeated), numbers)
        return self._registered_gradients(grad, index, columns, saved, sizes, numbers, wanted, late, repeated)

    def _registered_gradients(self, grad: Tensor, index: Tensor, columns: Tensor, saved: tuple, sizes: tuple, numbers: tuple, wanted: list[bool], late: tuple,
                              repeated: bool) -> Any:
        """Return the gradients by the registered operator; if it may be differentiated, `repeated`, by a formula where there is one."""
        if repeated and self.formula is not None:
            return self.formula((*_read(index, columns, sizes), *sizes), grad, saved, numbers, wanted)
        if saved[-1] is None and not self._optional:
            saved = (*saved[:-1], grad.new_empty((0,), dtype=self.nothing))
        found = CALLS[f"{self.name}_backward"](grad, index, columns, *saved, *sizes, *numbers, *((wanted,) if len(wanted) > 1 else ()), *late)
        return found if len(wanted) > 1 else (found,)

    def _tangent(self, ctx: Any, kept: tuple, changes: tuple) -> Tensor:
        (index, columns, *saved), (sizes, _, numbers, _) = kept, ctx.call
        index, columns = _read(index, columns, sizes)
        shape, dtype = ctx.result
        if self.tangent:
            found = self.tangent((index, columns, *sizes), saved, numbers, changes[:self.count])
        else:  # the derivative of the gradient with respect to the result's gradient, which is a zero here, since the gradient is linear in it
            given = [None if changes[place] is None else changes[place].contiguous() for place in self.gradients]
            grad = next(x for x in given if x is not None).new_zeros(shape)
            found = self.derivative([True] + [False] * (2 + len(saved)), (grad, index, columns, *saved), [*sizes, *numbers], *given).get(0)
        return columns.new_zeros(shape, dtype=dtype) if found is None else found.expand(shape).to(dtype)  # type: ignore[no-any-return]


def where(pattern: Any, operator: Operator, numbers: Any, operands: tuple) -> tuple[Tensor, Tensor, bool]:
    """Return the tensors of a pattern for an operator, and if they are COO: a handle, if the call needs no list of columns. numbers: as `run` takes them."""
    if pattern._masked is None or compiling() or not REGISTERED or operator.known(pattern, numbers, operands) is not pattern._unlisted():
        return pattern.index, pattern.columns, pattern.coo
    handle = handle_of(pattern)
    return handle, handle.new_empty((0, pattern.nnz)), True


def _read(index: Tensor, columns: Tensor, sizes: Any) -> tuple[Tensor, Tensor]:
    """Return a pattern's tensors with their content, for formulas that read it."""
    return (index, columns) if columns.dim() == 1 else content(index, columns, *sizes[:2])


def _tensors(count: int) -> str:
    return "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"


def _made_function(name: str, forward: Any, backward: Any, jvp: Any) -> Any:
    methods = {"forward": forward, "backward": backward, **({"jvp": jvp} if REGISTERED else {})}
    for needed in {"_compiled_autograd_key"} & set(vars(torch.autograd.Function)):  # by compiled autograd, which its base lacks
        methods[needed] = getattr(torch.autograd.Function, needed)
    return type(f"Tamis{name.title().replace('_', '')}", (_Function,), {key: staticmethod(method) for key, method in methods.items()})


def _at_its_level(ctx: Any, run: Any) -> Any:
    """Return run(saved tensors) in the rule of forward mode of a function."""
    if not transforms():
        return run(ctx.saved_tensors)
    with forward_ad._set_fwd_grad_enabled(True):  # autograd has switched it off, also for the levels of torch.func below, which have tangents of their own
        return run(tuple(None if x is None else torch._VF._unpack_dual(x, level=0)[0] for x in ctx.saved_tensors))


def no_forward_mode(name: str) -> NotImplementedError:
    return NotImplementedError(f"tamis::{name} has no derivatives in forward mode: use those in reverse mode, torch.func.vjp and jacrev")


def _function_of_gradient(name: str, derivative: Any, tangent: Any, several: bool) -> Any:
    """Make the function of autograd of a gradient, with the inputs of its schema. Without a derivative it refuses to be differentiated."""

    def forward(ctx: Any, *inputs: Any) -> Any:
        if derivative is not None:
            ctx.tensors = [x is None or isinstance(x, Tensor) for x in inputs]
            ctx.save_for_backward(*(x for x, is_tensor in zip(inputs, ctx.tensors) if is_tensor))
            ctx.numbers = [x for x, is_tensor in zip(inputs, ctx.tensors) if not is_tensor]
            ctx.set_materialize_grads(False)
        found = _forward(name, inputs)
        if derivative is not None and forward_mode():
            ctx.save_for_forward(*(x for x, is_tensor in zip(inputs, ctx.tensors) if is_tensor))
            ctx.results = [tuple(x.shape) for x in (found if several else (found,))]
        return found

    def of_content(kept: tuple, numbers: list) -> tuple:
        return kept[0], *_read(kept[1], kept[2], numbers), *kept[3:]

    def backward(ctx: Any, *changes: Optional[Tensor]) -> tuple:
        numbers, wanted = (ctx.numbers[:-1], ctx.numbers[-1]) if several else (ctx.numbers, [True])
        given = [x.contiguous() if x is not None and wants else None for x, wants in zip(changes, wanted)]  # autograd does not guarantee strides
        found = derivative(ctx.needs_input_grad, of_content(ctx.saved_tensors, numbers), numbers, *given)
        return tuple(map(found.get, range(len(ctx.tensors))))

    def refused(ctx: Any, *_: Any) -> Any:
        raise NotImplementedError(f"tamis::{name} has no derivative: differentiate the gradient of {name[:-9]} with create_graph=True, or use "
                                  f"torch.func")

    def forward_mode_of(ctx: Any, *changes: Any) -> Any:
        if tangent is None:
            raise no_forward_mode(name)
        numbers, wanted = (ctx.numbers[:-1], ctx.numbers[-1]) if several else (ctx.numbers, [True])
        given = [None if x is None else x.contiguous() for x, is_tensor in zip(changes, ctx.tensors) if is_tensor]
        found = _at_its_level(ctx, lambda kept: tangent(of_content(kept, numbers), numbers, wanted, given))
        like = next(x for x in given if x is not None)
        made = [like.new_zeros(shape) if x is None else x for x, shape in zip(found, ctx.results)]  # autograd takes no None for a result that has derivatives
        return tuple(made) if several else made[0]

    return _made_function(name, forward, backward if derivative else refused, forward_mode_of if derivative else refused)


def _forward(name: str, inputs: tuple) -> Any:
    """Run an operator in an autograd function, which has switched off recording for its own level of torch.func, but not for those
    below."""
    if not REGISTERED or not transforms():
        return _below(name, inputs)
    with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
        return _below(name, inputs)


def _below(name: str, inputs: tuple) -> Any:
    """Run an operator without autograd. Without other features of the dispatcher the kernel is called directly, which saves a third of the time."""
    kernel, first, again_from = _KERNELS[name]
    direct = not REGISTERED or (modes() == 0 and not transforms())
    if direct:
        for x in (*inputs[:first], *inputs[again_from:]):
            if type(x) not in PLAIN or (x is not None and x.is_meta):
                direct = False
    if direct:
        return kernel(*inputs)
    with _below_autograd():
        return CALLS[name](*inputs)


def _autograd_of(name: str, apply: Any, tensors: int) -> Any:
    """Make an operator's autograd entry. torch.library.register_autograd would cost each recorded call several times as much."""

    def run(*inputs: Any) -> Any:
        if modes():
            watched()
        recorded = forward_mode()
        if not recorded and torch.is_grad_enabled():
            for x in inputs[:tensors]:
                if x is not None and x.requires_grad:
                    recorded = True
                    break
        if not recorded:
            return _below(name, inputs)
        if not transforms():
            return apply(*inputs)
        with _single_level():  # this entry is one level of torch.func: the levels below are entries of their own
            return apply(*inputs)

    return run


def define(name: str, schema: str, kernel: Any, fake: Any, flops: Any) -> Any:
    """Register an operator without derivatives; returns its qualified name. flops: as a formula of torch.utils.flop_counter, from tensors."""
    qualified = f"tamis::{name}"
    graphs = name.startswith("compiled_") or "Tensor columns" in schema  # a replay would keep the graph, or the handle, of the call that was captured
    unsafe = (torch.Tag.cudagraph_unsafe,) if graphs and hasattr(torch.Tag, "cudagraph_unsafe") else ()
    torch.library.define(qualified, schema, tags=(torch.Tag.pt2_compliant_tag, *unsafe))
    torch.library.impl(qualified, ("cpu", "cuda"), kernel)
    torch.library.register_fake(qualified, fake)
    FLOPS[getattr(torch.ops.tamis, name)] = flops
    return qualified


def _define(name: str, schema: str, kernel: Any, fake: Any, flops: Any, rule: Any, apply: Any, tensors: int) -> None:
    pieces = schema[1:].split(") -> ")[0].split(", ")
    inputs = [piece.split()[-1].partition("=")[0] for piece in pieces]
    late = next((place for place in range(tensors, len(inputs)) if pieces[place].startswith("Tensor")), len(inputs))
    _KERNELS[name] = kernel, tensors, late
    if not REGISTERED:  # autograd's functions are called as they are
        CALLS[name] = kernel if name.endswith("_backward") else apply
        return
    qualified = define(name, schema, kernel, fake, flops)
    torch.library.impl(qualified, "Autograd", _autograd_of(name, apply, tensors))
    if hasattr(torch.library, "register_vmap"):
        torch.library.register_vmap(qualified, rule(name, {argument: place for place, argument in enumerate(inputs)}, CALLS))
    CALLS[name] = getattr(torch.ops.tamis, name).default


# ------------------------------------------------------------------------------ vmap: the mapped dimension becomes one of the batch

OWN = {"values": 1, "a": 2, "b": 2, "d": 2, "statistics": 2, "result": 2}  # dimensions of the inputs that may have leading ones


def _even(x: Tensor, own: int) -> Tensor:
    """Return x, or a packed copy if the library could not walk it: vmap's caller does not control strides."""
    shape, strides = x.shape, x.stride()
    return x if fits(shape, strides, own) and not uneven(shape[:-own], strides[:-own]) else x.contiguous()


def of_batches(operator: Any, name: str, at: dict[str, int], calls: dict[str, Any]) -> Any:
    """Return the rule of an operator on batches, by the places of its inputs. Operands that are mapped, or that have a batch of their own, get all of it;
    what is neither is shared."""
    back, count = "grad" in at, operator.operands.count(",")
    own = {at[key]: dimensions for key, dimensions in {**OWN, "grad": 1 if operator.name == "sddmm" else 2}.items() if key in at}
    column = [at[key] for key in ("grad", "b") if key in at] if count == 1 else []  # SpMM's B may be a vector, and then so is its result
    differentiated = [at[key] for key in ("a", "b", "d", "values") if key in at]  # in the order of the gradients
    b = at["b"]

    def rule(info: Any, dims: tuple, *arguments: Any) -> Any:
        given, mapped = list(arguments), {place for place, dim in enumerate(dims) if dim is not None and isinstance(arguments[place], Tensor)}
        if at["index"] in mapped or at["columns"] in mapped:
            raise NotImplementedError(f"vmap over the pattern of tamis::{name}: map over operands and values of one pattern")
        if not mapped:
            out = calls[name](*given)
            return out, None if isinstance(out, Tensor) else (None,) * len(out)
        if "edge" in at and reads_member(given[at["edge"]]):
            raise NotImplementedError(f"vmap over tamis::{name} with an edge that reads h: the mapped dimension becomes one of the batch, which h would count")
        flat = bool(column) and given[b].dim() - (b in mapped) == 1
        if not back and flat and mapped == {b} and (given[at["values"]] is None or given[at["values"]].dim() == 1):
            return calls[name](*given[:b], _even(given[b].movedim(dims[b], -1), 2), *given[b + 1:]), 1  # vectors are the columns of a matrix
        for place in mapped:
            given[place] = given[place].movedim(dims[place], 0)
        if flat:
            for place in column:
                given[place] = given[place].unsqueeze(-1)
        tensors = {place: given[place] for place in own if place < len(given) and isinstance(given[place], Tensor)}
        leads = {place: tuple(x.shape[int(place in mapped):-own[place]]) for place, x in tensors.items()
                 if x.dim() >= own[place]}  # statistics that were not kept have fewer dimensions
        lead = max(leads.values(), key=len)
        for place, of in leads.items():
            x, count = given[place], own[place]
            if of not in ((), lead):
                continue  # the operator reports the difference
            if place not in mapped:
                if of == () and not back:
                    continue
                x = x.unsqueeze(0)
            if of == ():
                x = x.reshape(x.shape[0], *(1,) * len(lead), *x.shape[-count:])
            x = x.expand(info.batch_size, *lead, *x.shape[-count:])
            given[place] = x.contiguous() if place == at.get("statistics") else _even(x, count)
        out = calls[name](*given)
        if not back:
            if column:
                return (out.squeeze(-1) if flat else out), 0
            return out, (0, 0 if out[1].dim() > 1 else None)
        results, places = [], []
        for gradient, place, wants in zip(out, differentiated, given[at["wanted"]]):
            there = wants and place in leads
            if there and leads[place] == () and lead != ():
                gradient = gradient.sum(tuple(range(1, 1 + len(lead))))
            results.append(gradient.squeeze(-1) if there and flat and place == b else gradient)
            places.append(0 if there else None)
        return tuple(results), tuple(places)

    return rule


# ------------------------------------------------------------------------------ vmap of operators on graphs: operands become wider


def _wide(x: Tensor, dim: Optional[int], members: int, either: bool) -> Tensor:
    """Return (rows, width) of each member as (rows, members * width); unmapped data is repeated for each. The result has consecutive
    elements in its rows, or with `either` in its rows or its columns."""
    x = x.unsqueeze(1).expand(-1, members, -1) if dim is None else x.movedim(dim, 1)
    x = x.reshape(x.shape[0], members * x.shape[2])
    by_rows, by_columns = x.stride(1) == 1 and x.stride(0) >= x.shape[1], x.stride(0) == 1 and x.stride(1) >= x.shape[0]
    return x if by_rows or (either and by_columns) else x.contiguous()


def _apart(x: Tensor, members: int) -> Tensor:
    """Invert `_wide`; dimension 1 becomes the mapped one."""
    return x.reshape(x.shape[0], members, x.shape[1] // members)


def of_graphs(operator: Any, name: str, at: dict[str, int], calls: dict[str, Any]) -> Any:
    """Return the rule of an operator on graphs: a mapped operand is a wider row. Members lie side by side within each row, as heads do, so that one call has
    all of them; their order there is that of results, which are views of what the call wrote."""
    tensors = [place for key, place in at.items() if key not in ("index", "columns") and place < at["rows"]]

    def rule(info: Any, dims: tuple, *arguments: Any) -> Any:
        given, members = list(arguments), info.batch_size
        if dims[at["index"]] is not None or dims[at["columns"]] is not None:
            raise NotImplementedError(f"vmap over the pattern of tamis::{name}: map over operands of one pattern")
        if "op" in at and reads_member(given[at["op"]]):
            raise NotImplementedError(f"vmap over tamis::{name} with an expression that reads h: the mapped dimension becomes heads, which h would count")
        each = members
        left: tuple[int, ...] = ()  # an edge's number that all members share is left as it is
        if "data" in at and given[at["data"]] == c.TAMIS_E_NUMBER:
            if dims[at["e"]] is not None or ("wanted" in at and given[at["wanted"]][1]):
                given[at["data"]], each, given[at["heads"]] = c.TAMIS_E_HEAD, 1, members
            else:
                left = (at["e"],)
        for place in tensors:
            x, dim = given[place], dims[place]
            if x is None or place in left:
                continue
            one = x.dim() - (dim is not None)
            given[place] = _wide(x, dim, members, operator.either) if one == 2 else x if dim is None else x.select(dim, 0)  # without elements
        if "heads" in at:
            given[at["heads"]] *= each
        found = calls[name](*given)
        if isinstance(found, Tensor):
            return _apart(found, members), 1
        return tuple(_apart(x, members) if x.dim() == 2 else x for x in found), tuple(1 if x.dim() == 2 else None for x in found)

    return rule
