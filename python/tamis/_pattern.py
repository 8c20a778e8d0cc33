"""A pattern: a sparse matrix that is checked once, with the plans that calls have needed."""
from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

from . import _declarations as c
from . import _device
from ._convert import matrix
from ._library import Living, lib, must
from ._mask import Host, described, only_true
from ._plan import Handle, explained, options
from ._sparse import Sparse, sparse

FIELDS = ("operation", "type", "output_type", "inner", "width", "a_layout", "b_layout", "d_layout", "output_layout", "batch")
D_IS_B = 11            # its index in a form
EXPECTED_CALLS = 1000  # the expected number of calls of a pattern, which justifies preparation
MOST_PLANS = 64        # per pattern; the oldest goes first


def options_of(form: tuple, how: Any, **more: Any) -> c.tamis_options:
    """Return the library's options for a call's form and settings. After the fields, a form has the type of S's values and possibly D is
    B."""
    return options(how, **dict(zip(FIELDS, form)), d_is_b=len(form) > D_IS_B and form[D_IS_B], **more)


class Pattern:
    """A sparse matrix that many calls use: its arrays are checked once, and the plans that calls need are made once and kept.

    S is a sparse matrix of SciPy, CuPy or PyTorch (CSR, CSC or COO), or (offsets, columns) or (offsets, columns, values) with `shape`. Of a
    matrix of bool, which is a mask, the entries that say False are left out. convert: S may have any format that `sddmm` converts.
    Every function of this package takes a Pattern as S. Its arrays are not copied: their structure must not change as long as the
    pattern exists; values may, in place or by `values=` of a call. Any number of threads may use one pattern.

    Attributes: `shape`, `nnz`, `device` ("cpu", "cuda:0").

    Raises PatternError (a ValueError) with the first bad entry, ArgumentError (a ValueError) for arrays of wrong types or lengths.

    >>> pattern = tamis.Pattern((np.array([0, 2, 3]), np.array([0, 2, 1])), shape=(2, 3))
    >>> pattern
    <tamis.Pattern 2 x 3, 3 nonzeros, cpu>
    >>> A, B = np.ones((2, 4), np.float32), np.ones((3, 4), np.float32)
    >>> tamis.sddmm(pattern, A, B)
    array([4., 4., 4.], dtype=float32)
    """

    def __init__(self, S: Any, shape: tuple[int, int] | None = None, convert: bool = False):
        if convert:
            S = matrix(S)
        self._start(S.sparse if isinstance(S, Pattern) else sparse(only_true(S)[0], shape=shape))

    def _start(self, s: Sparse, known: bool = False) -> None:
        if not known:
            s.validate()
        self.sparse = s
        self.checked = known or s.device == "cpu"  # else each plan, and the first graph, checks the entries
        self._plans: dict[tuple, Handle] = {}
        self.recipes: dict[tuple, Any] = {}
        self.expected_calls = EXPECTED_CALLS
        self._lock = threading.Lock()
        _living.add(self)

    @classmethod
    def _of(cls, s: Sparse, known: bool = False) -> Pattern:
        """Make a pattern from an existing view; `known`: its arrays are valid."""
        pattern = cls.__new__(cls)
        pattern._start(s, known)
        return pattern

    @classmethod
    def mask(cls, rows: int, cols: int | None = None, **parts: Any) -> Pattern:
        """A mask of attention for arrays in host memory: rows are queries, columns (as many as rows if None) are keys.

        A row keeps the union of the parts that are given, or all columns if none is:
        window: how far from the row's place, w or (left, right), None for no bound; dilation: only every dilation-th of these columns.
        every: columns whose distance from the place is a multiple of it.
        global_tokens: the number of first places, or a rising list of places: every row sees them, and they see every column;
        with sinks=True they see no more than others.
        blocks, block: a matrix with an entry for each block of block x block, true where it is kept, or a Pattern of it.
        Of these, causal=True keeps the columns up to the row's place. Row i stands at place i + offset; None: the rows are the last
        of the columns, cols - rows.
        lengths: one for each sequence of a padded batch: the pattern has a block of rows x cols for each of them on its diagonal, and
        leaves out columns from its length on; row_lengths: the same for rows. from_end=True: the rows are the last of each length.

        The arrays are int32 if that holds them. Raises ArgumentError or PatternError (ValueErrors), OutOfMemoryError.

        >>> tamis.Pattern.mask(6, causal=True, window=2, global_tokens=1)
        <tamis.Pattern 6 x 6, 18 nonzeros, cpu>
        """
        mask = described(Host, rows, cols, **parts)
        return cls._of(Sparse("S", mask.shape, mask.offsets, mask.columns()), known=True)

    @classmethod
    def causal(cls, rows: int, cols: int | None = None, **parts: Any) -> Pattern:
        """`mask` with causal=True.

        >>> tamis.Pattern.causal(2, 5)
        <tamis.Pattern 2 x 5, 9 nonzeros, cpu>
        """
        return cls.mask(rows, cols, causal=True, **parts)

    @classmethod
    def window(cls, rows: int, left: int | None, right: int | None, cols: int | None = None, **parts: Any) -> Pattern:
        """`mask` with window=(left, right).

        >>> tamis.Pattern.window(5, 1, 1)
        <tamis.Pattern 5 x 5, 13 nonzeros, cpu>
        """
        return cls.mask(rows, cols, window=(left, right), **parts)

    @property
    def shape(self) -> tuple[int, int]:
        return self.sparse.shape

    @property
    def nnz(self) -> int:
        return self.sparse.nnz

    @property
    def device(self) -> str:
        return self.sparse.device

    def __repr__(self) -> str:
        return f"<tamis.Pattern {self.shape[0]} x {self.shape[1]}, {self.nnz} nonzeros, {self.device}>"

    def __reduce__(self) -> Any:
        """A copy, or an unpickled pattern, has its own arrays and makes new plans."""
        s = self.sparse
        columns, index, *values = (v.array.clone() if hasattr(v.array, "clone") else v.array.copy() for v in s._views)
        return _restored, (s.shape, s.transposed, s.struct.format == c.TAMIS_COO, index, columns, *values)

    @property
    def T(self) -> Pattern:
        """The transpose, of the same arrays: nothing is copied, and values and samples keep their order.

        >>> tamis.Pattern((np.array([0, 2, 3]), np.array([0, 2, 1])), shape=(2, 3)).T
        <tamis.Pattern 3 x 2, 3 nonzeros, cpu>
        """
        s = self.sparse
        columns, index, *values = (v.array for v in s._views)
        coo = s.struct.format == c.TAMIS_COO
        pair = (columns, index) if coo else (index, columns)
        return Pattern._of(Sparse("S", s.shape[::-1], *pair, *values, coo=coo, transposed=not coo and not s.transposed), known=self.checked)

    def matrix(self, values: Any) -> Any:
        """The sparse matrix with this pattern and these values, of the kind that the pattern was made from.

        Index arrays are copied. The values are not, unless they are the matrix's own.

        >>> S = scipy.sparse.csr_array(np.eye(2, dtype=np.float32))
        >>> tamis.Pattern(S).matrix(np.float32([3, 4])).toarray()
        array([[3., 0.],
               [0., 4.]], dtype=float32)
        """
        return self.sparse.matrix(values)

    def plan_of(self, form: tuple, how: Any, used: Any, gradient: bool = False) -> Handle:
        """Return the plan for a call's form, or the library's gradient; make it if there is none yet."""
        key = (form, how, gradient)
        handle = self._plans.get(key)
        if handle is not None and handle.value is not None:
            return handle
        self.sparse.check_memory()
        with self._lock:
            plans = self._plans  # if set_threads changes the number meanwhile, this plan has the earlier one, and later calls do not find it
            handle = plans.get(key)
            if handle is None or handle.value is None:
                struct = self.sparse.with_values(used.pointer, used.type if used.pointer else form[1], used.apart)
                handle = Handle(self.sparse, struct, options_of(form, how, expected_calls=self.expected_calls), gradient)
                if len(plans) >= MOST_PLANS:
                    self.recipes.clear()
                while len(plans) >= MOST_PLANS:
                    del plans[next(iter(plans))]
                plans[key] = handle
        return handle

    def _forget_plans(self) -> None:
        """Drops all plans, so that later calls make new ones. Running calls of other threads keep their old plans; this does not wait for
        them. Calls look for recipes first: new recipes are of new plans, which are there before them."""
        self._plans = {}
        self.recipes = {}

    def explain(self, *also: Pattern) -> str:
        """A text: the profile of the rows, then each plan that calls have needed: which algorithm runs and why; and the graph of messages.
        also: more patterns of the same places, which have plans as well.

        >>> print(tamis.Pattern.causal(2).explain())
        2 x 2, 3 nonzeros, cpu; 1.5 a row (1 to 2), 0 rows empty
        no plans yet: each kind of call makes one
        """
        self.sparse.check_memory()
        parts = [f"{self.shape[0]} x {self.shape[1]}, {self.nnz} nonzeros, {self.device}"]
        if self.device == "cpu":
            profile = c.tamis_profile()
            must(lib.tamis_row_profile(ctypes.byref(self.sparse.struct), profile))
            parts[0] += f"; {profile.mean:.3g} a row ({profile.min} to {profile.max}), {profile.empty_rows} rows empty"
        graphs = [getattr(self, name).value for name in ("graph", "graph_of_places") if hasattr(self, name)]
        made = [explained(handle.value) for one in (self, *also) for handle in list(one._plans.values()) if not handle.gradient]
        made += [explained(graph, lib.tamis_graph_explain) for graph in graphs]
        parts += made or ["no plans yet: each kind of call makes one"]
        return "\n".join(parts)


def _restored(shape: tuple[int, int], transposed: bool, coo: bool, index: Any, columns: Any, values: Any = None) -> Pattern:
    """Return the pattern of saved arrays, checked again."""
    return Pattern._of(Sparse("S", shape, index, columns, values, coo=coo, transposed=transposed))


_living: Living[Pattern] = Living()


def _threads_changed() -> None:
    """Drop all plans, which have the number of threads from their creation."""
    for pattern in _living:
        if pattern.device == "cpu":
            pattern._forget_plans()


def _after_fork() -> None:
    """Make new locks, since another thread of the parent may have held a pattern's lock."""
    for pattern in _living:
        pattern._lock = threading.Lock()


_device.threads_changed.append(_threads_changed)
os.register_at_fork(after_in_child=_after_fork)
