"""Operators under vmap. The mapped dimension becomes one of the batch, for sddmm, spmm and fused, or operands become wider, for operators on graphs."""
from __future__ import annotations

from typing import Any, Optional

from torch import Tensor

from .. import _declarations as c
from .._plan import reads_member
from .._views import fits, uneven

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


# ------------------------------------------------------------------------------ operators on graphs


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
