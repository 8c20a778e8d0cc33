"""The algorithms of all devices."""
from __future__ import annotations

from dataclasses import dataclass

from . import _declarations as c
from ._library import lib, must, text

OPERATIONS = {"sddmm": c.TAMIS_OP_SDDMM, "spmm": c.TAMIS_OP_SPMM, "fused": c.TAMIS_OP_FUSED}


@dataclass(frozen=True)
class Algorithm:
    """A row of the registry. `baseline`: only for comparison. `any_order`: the order of its sums depends on timing.

    >>> [algorithm.operations for algorithm in tamis.algorithms() if algorithm.name == "cpu-nonzeros"]
    [('sddmm', 'spmm', 'fused')]
    """

    name: str
    device: str
    operations: tuple[str, ...]
    source: str
    needs: str
    when: str
    parameters: str
    baseline: bool
    any_order: bool


def algorithms() -> list[Algorithm]:
    """Lists the algorithms of all devices, present or not. `tamis.plan` takes their names.

    >>> "cpu-nonzeros" in [algorithm.name for algorithm in tamis.algorithms()]
    True
    """
    found = []
    for number in range(lib.tamis_algorithm_count()):
        d = c.tamis_algorithm_description()
        must(lib.tamis_algorithm_at(number, d))
        operations = tuple(name for name, bit in OPERATIONS.items() if d.operations >> bit & 1)
        found.append(Algorithm(text(d.name), text(d.device), operations, text(d.source), text(d.needs), text(d.when), text(d.parameters),
                               d.baseline, d.any_order))
    return found
