"""Sparse tensors and masks in place of a pattern, converted once, and patterns that are part of a module."""
from __future__ import annotations

from typing import Any, Optional, Union

import torch
from torch import Tensor, nn

from .. import _errors
from . import _places
from ._direct import compiling, transforms
from ._held import Made, made_of
from ._pattern import Pattern, functorch

_kept: dict[int, Made] = {}


def places_of(given: Any, name: str = "pattern") -> Pattern:
    """Return the pattern of what a caller has given to a function that reads places alone. A gradient that a tensor's values would lack is refused."""
    if isinstance(given, Pattern):
        return given
    pattern, values = _converted(given, name)
    if values is not None and given.requires_grad and torch.is_grad_enabled():
        raise _errors.ArgumentError(f"{name} is a sparse tensor that requires grad, and this call does not read its values: pass {name}.detach(), or make "
                                    f"a Pattern.from_torch({name}) and pass its values")
    return pattern


def taken(given: Any, values: Optional[Tensor], name: str = "pattern") -> tuple[Pattern, Optional[Tensor]]:
    """Return the pattern, and the values of a call: the given ones, else a sparse tensor's, with their gradients. A Pattern's own are not read."""
    if values is not None or isinstance(given, Pattern):
        return places_of(given, name), values
    pattern, own = _converted(given, name)
    if own is None:
        return pattern, None
    if given.layout is torch.sparse_csc and given.is_leaf and given.requires_grad and torch.is_grad_enabled():
        raise _errors.ArgumentError(f"{name} is a CSC tensor that requires grad, in which PyTorch cannot accumulate one: make it CSR, for instance by "
                                    f"{name}.detach().to_sparse_csr().requires_grad_()")
    return pattern, own(given)


def _converted(given: Any, name: str) -> tuple[Pattern, Any]:
    """Return the pattern of a tensor or a module, and the function that reads a sparse tensor's values, or None."""
    if isinstance(given, PatternBuffer):
        return given.pattern, None
    dense = isinstance(given, Tensor) and given.layout is torch.strided
    if not isinstance(given, Tensor) or (dense and given.dtype is not torch.bool):
        raise TypeError(f"{name} is a {f'dense tensor of {given.dtype}' if dense else type(given).__name__}: expected a tamis.torch.Pattern, made by "
                        f"Pattern.from_torch, from_csr, from_coo, from_edge_index or mask; or a sparse tensor, or a mask of bool, such as {name} != 0")
    if compiling():
        if not dense:
            raise _errors.UnsupportedError(f"{name} is a tensor of layout {given.layout}, which torch.compile and torch.export do not know: make "
                                           f"Pattern.from_torch({name}) outside")
        return Pattern.from_torch(given), None
    if transforms() and functorch.is_functorch_wrapped_tensor(given):
        raise NotImplementedError(f"a transform of torch.func over {name}, a sparse tensor or a mask: map over operands and values of one pattern")
    _places.check(given, name)
    known = made_of(_kept, given, _places.parts(given))
    if not known.made:
        arguments, values = _places.places(given)
        known.made["pattern"] = Pattern(*arguments), values
    return known.made["pattern"]  # type: ignore[no-any-return]


class PatternBuffer(nn.Module):
    """A pattern as a part of a module, `self.edges = PatternBuffer(pattern)`: it moves with the module, and the module's `state_dict` has it.

    Every function that takes a pattern takes it; `pattern` is the Pattern, and a call with x is `pattern @ x`. `module.to(device)` and `cuda()` move
    it, `half()` and the like change the type of its values alone, which are a parameter if they were one. `load_state_dict` replaces it, by a
    pattern of the same shape, format and number of entries; with PatternBuffer(), which has none yet, by any. persistent=False: it moves, but
    is not saved, as in `register_buffer`.

    >>> class Neighbours(torch.nn.Module):
    ...     def __init__(self, pattern):
    ...         super().__init__()
    ...         self.edges = PatternBuffer(pattern)
    ...     def forward(self, x):
    ...         return spmm(self.edges, x)
    >>> model = Neighbours(Pattern.causal(2)).to("cpu")
    >>> model(torch.ones(2, 1)).ravel()
    tensor([1., 2.])
    >>> list(model.state_dict())
    ['edges.index', 'edges.columns', 'edges._extra_state']
    """

    index: Tensor
    columns: Tensor
    values: Optional[Tensor]

    def __init__(self, pattern: Any = None, persistent: bool = True):
        super().__init__()
        self.persistent = persistent
        made = None if pattern is None else pattern if isinstance(pattern, Pattern) else _whole(pattern)
        self.sizes: Optional[tuple[int, int, bool]] = None if made is None else (made.rows, made.cols, made.coo)
        for name in ("index", "columns", "values"):
            tensor = None if made is None else getattr(made, name)
            if isinstance(tensor, nn.Parameter):
                self.register_parameter(name, tensor)
            else:
                self.register_buffer(name, tensor)
        self._made = made

    @property
    def pattern(self) -> Pattern:
        """The pattern, another one after it has moved or was loaded."""
        made = self._made
        if made is None or made.index is not self.index or made.columns is not self.columns or made.values is not self.values:
            if self.sizes is None:
                raise _errors.ArgumentError("the PatternBuffer has no pattern yet: expected load_state_dict before its first use")
            made = self._made = Pattern(self.index, self.columns, *self.sizes, self.values)
        return made

    def forward(self, x: Tensor) -> Tensor:
        return self.pattern.__matmul__(x)  # torch.compile does not know @ of other objects than tensors

    def extra_repr(self) -> str:
        return "no pattern yet" if self.sizes is None else _named(self.sizes, self.columns.shape[0])

    def _apply(self, fn: Any, *rest: Any) -> Any:
        def moved(x: Tensor) -> Tensor:
            """Indices keep their type, also where `module.type()` converts everything."""
            to = fn(x)
            return to if x.is_floating_point() or to.dtype == x.dtype else x.to(to.device)

        return super()._apply(moved, *rest)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": None}  # a copy makes a pattern of its own tensors

    # -------------------------------------------------------------------------- state_dict

    def get_extra_state(self) -> Tensor:
        return torch.tensor(self.sizes or (), dtype=torch.int64)  # a tensor, which every way of saving takes

    def set_extra_state(self, state: Tensor) -> None:
        rows, cols, coo = state.tolist()
        self.sizes = rows, cols, bool(coo)

    def _save_to_state_dict(self, *given: Any) -> None:
        if self.persistent and self.sizes is not None:
            super()._save_to_state_dict(*given)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        if not self.persistent:
            return
        saved = {name: state_dict.get(f"{prefix}{name}") for name in ("index", "columns", "values", "_extra_state")}
        if saved["index"] is not None and saved["columns"] is not None and saved["_extra_state"] is not None:
            theirs = tuple(saved["_extra_state"].tolist()), saved["columns"].shape[0], saved["values"] is not None
            if self.sizes is not None and theirs != (tuple(map(int, self.sizes)), self.columns.shape[0], self.values is not None):
                rest[-1].append(f"{prefix[:-1] or 'the PatternBuffer'}: the state has a pattern {_named(*theirs)}, the module one "
                                f"{_named(self.sizes, self.columns.shape[0], self.values is not None)}; make the module with such a pattern, or with "
                                f"PatternBuffer(), which takes any")
                return
            for name in ("index", "columns", "values"):  # new memory: others may have the tensors of the pattern that is replaced
                own, new = getattr(self, name), saved[name]
                if not isinstance(own, nn.Parameter):
                    setattr(self, name, None if new is None else torch.empty_like(new if own is None else own))
        super()._load_from_state_dict(state_dict, prefix, *rest)


def _whole(given: Any) -> Pattern:
    """Return the pattern of a tensor, with its values."""
    pattern, values = taken(given, None)
    return pattern if values is None else Pattern(pattern.index, pattern.columns, pattern.rows, pattern.cols, pattern.coo, values)


def _named(sizes: Any, nnz: int, values: bool = False) -> str:
    return f"{sizes[0]} x {sizes[1]} with {nnz} entries in {'COO' if sizes[2] else 'CSR'}{', with values' if values else ''}"


PatternLike = Union[Pattern, PatternBuffer, Tensor]
