"""Operators under vmap: the mapped dimension becomes one of the batch. Operands that are mapped, or that have a batch of their own, get
all of it; patterns are shared, and so is what is neither."""
from __future__ import annotations

from typing import Any

from torch import Tensor

# each operator's inputs with leading dimensions (matrices, values, ...), by place, with their own number of dimensions
OWN = {
    "sddmm": {2: 1, 3: 2, 4: 2},
    "spmm": {2: 1, 3: 2},
    "fused": {2: 1, 3: 2, 4: 2, 5: 2},
    "sddmm_backward": {0: 1, 3: 1, 4: 2, 5: 2, 6: 2},
    "spmm_backward": {0: 2, 3: 1, 4: 2},
    "fused_backward": {0: 2, 3: 1, 4: 2, 5: 2, 6: 2, 7: 2, 17: 2},
}
STATISTICS = {"sddmm_backward": 6, "fused_backward": 7}
WANTED = {"sddmm_backward": 14, "spmm_backward": 9, "fused_backward": 16}
GRADIENTS = {"sddmm_backward": (4, 5, 3), "spmm_backward": (4, 3), "fused_backward": (4, 5, 6, 3)}  # the inputs of the gradients, in the order of the results
COLUMN = {"spmm": (3,), "spmm_backward": (0, 4)}  # inputs that are vectors if B is one


def _even(x: Tensor, own: int) -> Tensor:
    """Return x, or a packed copy if the library could not walk it: vmap's caller does not control strides."""
    shape, strides = x.shape, x.stride()
    apart, steps = None, 1
    for length, stride in reversed(list(zip(shape[:-own], strides[:-own]))):
        if length == 1:
            continue
        if apart is None:
            apart = stride
        elif stride != apart * steps:
            return x.contiguous()
        steps *= length
    if own == 1:
        return x if strides[-1] == 1 else x.contiguous()
    by_rows, by_columns = strides[-1] == 1 and strides[-2] >= shape[-1], strides[-2] == 1 and strides[-1] >= shape[-2]
    return x if (by_rows or by_columns) and min(strides[-2:]) > 0 else x.contiguous()


def _is_there(x: Any, own: int) -> bool:
    return isinstance(x, Tensor) and x.dim() >= own  # a dimension without elements means that statistics were not kept


def rule_of(name: str, calls: Any) -> Any:
    """Return the vmap rule of an operator. calls: a function that returns the registered operators, which are defined after their rules."""
    own, back = OWN[name], name.endswith("_backward")
    pattern = (1, 2) if back else (0, 1)
    b = COLUMN.get(name, (0,))[-1]

    def rule(info: Any, dims: tuple, *arguments: Any) -> Any:
        given, mapped = list(arguments), {place for place, dim in enumerate(dims) if dim is not None and isinstance(arguments[place], Tensor)}
        for place in pattern:
            if place in mapped:
                raise NotImplementedError(f"vmap over the pattern of tamis::{name}: map over operands and values of one pattern")
        if not mapped:
            out = calls()[name](*given)
            return out, None if isinstance(out, Tensor) else (None,) * len(out)
        flat = name in COLUMN and given[b].dim() - (b in mapped) == 1
        if name == "spmm" and flat and mapped == {b} and (given[2] is None or given[2].dim() == 1):
            return calls()[name](*given[:b], _even(given[b].movedim(dims[b], -1), 2), *given[b + 1:]), 1  # vectors are the columns of a matrix
        for place in mapped:
            given[place] = given[place].movedim(dims[place], 0)
        if flat:
            for place in COLUMN[name]:
                given[place] = given[place].unsqueeze(-1)
        leads = {place: tuple(given[place].shape[int(place in mapped):-count]) for place, count in own.items() if place < len(given) and _is_there(given[place], count)}
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
            given[place] = x.contiguous() if place == STATISTICS.get(name) else _even(x, count)
        out = calls()[name](*given)
        if not back:
            if name == "spmm":
                return (out.squeeze(-1) if flat else out), 0
            return out, (0, 0 if out[1].dim() > 1 else None)
        results, places = [], []
        for gradient, place, wants in zip(out, GRADIENTS[name], given[WANTED[name]]):
            there = wants and place in leads
            if there and leads[place] == () and lead != ():
                gradient = gradient.sum(tuple(range(1, 1 + len(lead))))
            results.append(gradient.squeeze(-1) if there and flat and place == b else gradient)
            places.append(0 if there else None)
        return tuple(results), tuple(places)

    return rule
