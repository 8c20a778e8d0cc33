"""tamis.plan: a plan that the caller keeps; and the algorithms that it may name."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import _declarations as c
from . import _errors, _types
from ._call import Given, Settings, check_numbers, compute, given_values, settings_with, turned
from ._library import lib, must, named, text
from ._pattern import Pattern, options_of
from ._plan import EFFORT, Handle, Report, apart, choice, explained, reported
from ._types import FUSED, OPERANDS, SDDMM, SPMM

OPERATIONS = {"sddmm": SDDMM, "spmm": SPMM, "fused": FUSED}
LAYOUTS = {"row-major": c.TAMIS_ROW_MAJOR, "column-major": c.TAMIS_COLUMN_MAJOR}


class Plan:
    """An operation on one pattern, prepared for many calls: see `tamis.plan`. Any number of threads may call one plan.

    >>> plan = tamis.plan("spmm", tamis.Pattern.causal(2), width=4)
    >>> plan(np.ones((2, 4), np.float32))[:, 0]
    array([1., 2.], dtype=float32)
    """

    def __init__(self, operation: str, pattern: Pattern, form: tuple, how: Settings, handle: Handle):
        self.operation = operation
        self.pattern = pattern
        self._form, self._how = form, how
        self._recipes: dict[tuple, Any] = {}
        self._handle: Handle | None = handle

    def __call__(self, *operands: Any, out: Any = None, alpha: float = 1.0, beta: float = 0.0, values: Any = None,
                 numbers: Mapping[str, Any] | None = None) -> Any:
        """Computes with these operands: A, B of sddmm; B of spmm; A, B, D of fused. They have the plan's type, layout and sizes.

        numbers: the arrays that an expression as edge names; a number that the plan has as NaN is an array of one.
        Returns the samples (..., nnz) of sddmm as an array, else the matrix, in `out` if that is given.
        """
        names = OPERANDS[self._form[0]]
        if len(operands) != len(names):
            raise _errors.ArgumentError(f"{len(operands)} operands: a plan of {self.operation} takes {', '.join(names)}")
        self._open()
        fixed, named = apart(numbers)
        for name, value in (fixed or {}).items():
            if name not in (named or {}):
                raise _errors.ArgumentError(f"numbers has {name} = {value!r}: a plan has its numbers from tamis.plan, and its calls give arrays")
        return compute(self._form[0], self.pattern, names, operands, out, self._how, alpha, beta, values, planned=self._checked,
                       recipes=self._recipes, named=named)[0]

    def _checked(self, form: tuple, how: Settings, used: Given) -> Handle:
        """Return the plan if it was made for operands like these; else raise."""
        handle = self._open()
        mine = self._form
        if form[9] != mine[9]:
            raise _errors.ArgumentError(f"the operands are a batch of {form[9]}: the plan is for batch = {mine[9]}")
        if form[:3] + form[10:11] != mine[:3] + mine[10:11]:
            names = [(_types.NAMES[of[1]], _types.NAMES[of[2]], _types.NAMES.get(of[10], "no")) for of in (form, mine)]
            raise _errors.ArgumentError(f"operands are {names[0][0]}, the result {names[0][1]}, with {names[0][2]} values: the plan is for "
                                        f"{names[1][0]}, {names[1][1]} and {names[1][2]} values")
        return handle

    def _open(self) -> Handle:
        handle = self._handle
        if handle is None:
            raise _errors.ArgumentError("the plan is closed: make a new one by tamis.plan")
        if handle.value is None:
            raise _errors.ArgumentError("the plan was made before this process was forked: make a new one by tamis.plan")
        return handle

    def explain(self) -> str:
        """A text of several lines: which algorithm runs and why, predicted and set-up time, and why others were declined.

        >>> "cpu-nonzeros" in tamis.plan("spmm", tamis.Pattern.causal(3), width=4, algorithm="cpu-nonzeros").explain()
        True
        """
        return explained(self._open().value) + "\n"

    def report(self) -> Report:
        """The same as fields.

        >>> tamis.plan("spmm", tamis.Pattern.causal(3), width=4, algorithm="cpu-nonzeros").report().algorithm
        'cpu-nonzeros'
        """
        return reported(self._open())

    def close(self) -> None:
        """Frees the plan after the calls that other threads are in. Later calls raise ValueError.

        >>> plan = tamis.plan("spmm", tamis.Pattern.causal(3), width=4)
        >>> plan.close()
        >>> plan(np.ones((3, 4), np.float32))
        Traceback (most recent call last):
        tamis._errors.ArgumentError: the plan is closed: make a new one by tamis.plan
        """
        self._handle = None
        self._recipes = {}

    def __enter__(self) -> Plan:
        self._open()
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tamis.Plan {self.operation} {'closed' if self._handle is None else self.report().algorithm} on {self.pattern!r}>"

    def __reduce__(self) -> Any:
        raise TypeError("a tamis.Plan belongs to its process: make one there")


def plan(operation: str, S: Any, *, inner: int | None = None, width: int | None = None, type: str | None = None, edge: str | Callable[..., Any] = "scale",
         scale: float = 1.0, slope: float = 0.01, epsilon: float = 1e-10, transpose: bool = False, batch: int = 1, expected_calls: int = 1,
         effort: str = "estimate", math: str = "exact", algorithm: str | None = None, parameters: str | None = None,
         any_order: bool = False, a_layout: str = "row-major", b_layout: str = "row-major", d_layout: str = "row-major",
         output_layout: str = "row-major", d_is_b: bool = False, numbers: Mapping[str, Any] | None = None) -> Plan:
    """Makes a plan: checks S, chooses an algorithm for many calls and prepares it.

    operation: "sddmm", "spmm" or "fused". S as in `sddmm`; three arrays as a `Pattern`. inner: K, columns of A and B, for sddmm and
    fused. width: L, columns of SpMM's B or of fused's D (K if None). type: of the operands, "float32" if S has no values, else theirs.
    expected_calls: how often it will be called; decides how much preparation pays off. effort: "measure" times the best candidates.
    algorithm, parameters: by name, see `algorithms`. d_is_b: a promise that fused gets B as D in every call, so that the plan may choose an
    algorithm that reads its rows once (calls without a plan see it by themselves). any_order: the order of sums may vary from call to call. Layouts: "row-major" or
    "column-major". The other arguments as in `sddmm`.

    Use it as a function, and as a context that frees it at the end. Errors as in `sddmm`.

    >>> S = scipy.sparse.csr_array(np.float32([[1, 0, 2], [0, 3, 0]]))
    >>> p = np.empty(3, np.float32)
    >>> with tamis.plan("sddmm", S, inner=2, expected_calls=1000) as plan:
    ...     plan(np.ones((2, 2), np.float32), np.ones((3, 2), np.float32), out=p)
    array([2., 4., 6.], dtype=float32)
    """
    number = choice(OPERATIONS, operation, "operation")
    check_numbers(scale=scale, slope=slope, epsilon=epsilon)
    for name, given in (("algorithm", algorithm), ("parameters", parameters)):
        if given is not None and not isinstance(given, str):
            raise TypeError(f"{name} = {given!r}: expected a string")
    pattern = S if isinstance(S, Pattern) else Pattern(S)
    s = pattern.sparse
    s.check_memory()
    kind = s.value_type if isinstance(s.value_type, int) else c.TAMIS_F32
    if type is not None:
        kind = _element_type(type)
    if inner is None and number != SPMM:
        raise _errors.ArgumentError(f"inner = None: expected K, the number of columns of A and B, for {operation}")
    if width is None:
        if number == SPMM:
            raise _errors.ArgumentError("width = None: expected L, the number of columns of B, for spmm")
        width = inner
    how = settings_with(edge, numbers, scale, slope, epsilon, bool(transpose), math)
    (a_layout, b_layout), _, turned_how = turned(number, s, [a_layout, b_layout], (), how)
    used = given_values(s, None, how.as_pattern, kind, number, batch)
    layouts = [choice(LAYOUTS, layout, name) for layout, name in ((a_layout, "a_layout"), (b_layout, "b_layout"), (d_layout, "d_layout"),
                                                                  (output_layout, "output_layout"))]
    form = (number, kind, kind, inner or 0, width, *layouts, batch, used.type if used.pointer else -1, d_is_b)
    given = options_of(form, turned_how, expected_calls=expected_calls, effort=choice(EFFORT, effort, "effort"), any_order=any_order,
                       algorithm=algorithm.encode() if algorithm else None, parameters=parameters.encode() if parameters else None)
    return Plan(operation, pattern, form, how, Handle(s, s.with_values(used.pointer, used.type if used.pointer else kind), given))


def _element_type(type: Any) -> int:
    """Return the number of "float32", "fp32", or a dtype of NumPy or PyTorch."""
    name = str(getattr(type, "name", type)).replace("torch.", "")
    number = _types.OF_NUMPY_NAME.get(name)
    if number is not None and number <= _types.BF16:
        return number
    return named("tamis_type_from_name", name, "type")


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
