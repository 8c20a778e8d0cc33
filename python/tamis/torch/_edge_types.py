"""Messages over several types of edges, each with a pattern of its own, in one call of the library: the patterns become blocks of one, which is remembered."""
from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import torch
from torch import Tensor

from .. import _errors
from . import _direct
from ._direct import compiling
from ._messages import message
from ._pattern import Pattern, _abstract, listed, remembered
from ._taken import PatternLike, places_of


def _list(given: Any, name: str, count: int) -> list:
    """Return a list with one element for each pattern, or the same for all."""
    if given is None or isinstance(given, Tensor):
        return [given] * count
    made = list(given)
    if len(made) != count:
        raise _errors.ArgumentError(f"{name} has {len(made)} tensors: expected one for each of {count} patterns, or one tensor for all")
    return made


def _sizes(sizes: list[int], numbers: list[int]) -> list[int]:
    """Return the sizes of blocks by their numbers, which patterns of the same size may share."""
    return [sizes[numbers.index(number)] for number in range(max(numbers) + 1)]


def _blocks(patterns: list[Pattern], into: list[int], sources: list[int]) -> Pattern:
    """Join patterns as blocks of one, in rows `into` and columns `sources` of blocks. Its entries are the patterns' entries, concatenated."""
    heights, widths = _sizes([pattern.rows for pattern in patterns], into), _sizes([pattern.cols for pattern in patterns], sources)
    rows = [pattern._rows().long() + sum(heights[:number]) for pattern, number in zip(patterns, into)]
    columns = [pattern.columns.long() + sum(widths[:number]) for pattern, number in zip(patterns, sources)]
    return Pattern.from_coo(torch.cat(rows), torch.cat(columns), (sum(heights), sum(widths)))


def _numbers(into: Any, patterns: list[Pattern]) -> list[int]:
    """Return the output of each pattern."""
    numbers = list(into)
    if len(numbers) != len(patterns) or sorted(set(numbers)) != list(range(len(set(numbers)))):
        raise _errors.ArgumentError(f"into = {into!r}: expected the number of its output, 0, 1, ..., for each of {len(patterns)} patterns")
    rows: dict[int, int] = {}
    for number, pattern in zip(numbers, patterns):
        if rows.setdefault(number, pattern.rows) != pattern.rows:
            raise _errors.ArgumentError(f"a pattern of output {number} has {pattern.rows} rows and another {rows[number]}: expected the same")
    return numbers


def messages(patterns: Sequence[PatternLike], op: str, x: Union[Tensor, Sequence[Tensor], None], e: Union[Tensor, Sequence[Tensor], None] = None,
             reduce: str = "sum", into: Optional[Sequence[int]] = None) -> Any:
    """`message` over several types of edges in one call: all entries of a row, of whatever type, are reduced together.

    patterns: of each type. x: the rows of its columns' nodes for each type, or one tensor for all; e: what its edges have. op and reduce are
    as in `message`; a mean is over the edges of all types of an output. into: the number of the output of each type, such as [0, 0, 1],
    whose types must have as many rows; None: all are reduced to one output.
    Returns that output, or with `into` a list of outputs. Operands that differ from type to type are joined, once in a call; a tensor that several types
    share is not repeated. Gradients, errors and the order of ties are as in `message`, with the types in order.

    >>> writes = Pattern.from_coo(torch.tensor([0, 1]), torch.tensor([0, 0]), (2, 1))  # from author 0 to papers 0 and 1
    >>> cites = Pattern.from_coo(torch.tensor([0]), torch.tensor([1]), (2, 2))  # from paper 1 to paper 0
    >>> author, paper = torch.tensor([[1.]]), torch.tensor([[10.], [20.]])
    >>> messages([writes, cites], "copy_u", [author, paper])
    tensor([[21.],
            [ 1.]])
    >>> messages([writes, cites], "copy_u", [author, paper], into=[0, 1])
    [tensor([[1.],
            [1.]]), tensor([[20.],
            [ 0.]])]
    """
    patterns = listed([places_of(pattern, f"patterns[{i}]") for i, pattern in enumerate(patterns)])
    count = len(patterns)
    numbers = _numbers([0] * count if into is None else into, patterns)
    rows, edges = _list(x, "x", count), _list(e, "e", count)
    if isinstance(e, Tensor) and count > 1:
        raise _errors.ArgumentError("e is one tensor: expected a list of what the edges of each type have")
    for i, pattern in enumerate(patterns):
        for name, given, wanted, what in (("x", rows[i], pattern.cols, "columns"), ("e", edges[i], pattern.nnz, "entries")):
            if isinstance(given, Tensor) and given.shape[:1] != (wanted,):
                raise _errors.ArgumentError(f"{name}[{i}] has shape {tuple(given.shape)}: expected {wanted} rows, the {what} of pattern {i}")
    distinct: list[Any] = []  # identical tensors are joined once
    sources = []
    for row, pattern in zip(rows, patterns):
        place = next((i for i, other in enumerate(distinct) if other[0] is row and other[1] == pattern.cols), len(distinct))
        if place == len(distinct):
            distinct.append((row, pattern.cols))
        sources.append(place)
    if count == 1:
        out = message(patterns[0], op, rows[0], edges[0], reduce)
        return out if into is None else [out]
    # the value holds what was checked of the patterns, so that the ids in the key stay theirs; a pattern that changes has another
    abstract = compiling() or any(_abstract(pattern.columns) for pattern in patterns)
    checked = [] if abstract else [pattern._current() for pattern in patterns]
    key = ("types", tuple(map(id, checked)), tuple(numbers), tuple(sources))
    joined = remembered(patterns[0], key, lambda: (_blocks(patterns, numbers, sources), checked))[0]
    given = [row for row, _ in distinct]
    out = message(joined, op, _joined(given, "x"), _joined(edges, "e"), reduce)
    return out if into is None else list(out.split(_sizes([pattern.rows for pattern in patterns], numbers)))


def _joined(given: list, name: str) -> Optional[Tensor]:
    """Concatenate tensors by rows."""
    if all(x is None for x in given):
        return None
    given = list(_direct.cast(*given))
    for x in given:
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} has a {type(x).__name__}: expected a tensor for each pattern")
        if x.shape[1:] != given[0].shape[1:] or x.dtype != given[0].dtype:
            raise _errors.ArgumentError(f"{name} has tensors of shapes {tuple(given[0].shape)}, {given[0].dtype} and {tuple(x.shape)}, {x.dtype}: expected the "
                                        f"same but for the first number")
    return given[0] if len(given) == 1 else torch.cat(given)
