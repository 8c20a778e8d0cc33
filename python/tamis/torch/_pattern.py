"""Patterns of tensors."""
from __future__ import annotations

import contextlib
import functools
import operator
from typing import Any, Callable, Optional, Sequence, TypeVar

import torch
from torch import Tensor

from .. import _device, _errors, _mask
from . import _held, _parts, _places
from ._direct import compiling, transforms
from ._held import apart, counted
from ._unlisted import Tensors, Unlisted, listed as listed_columns

T = TypeVar("T")
_NOTHING = contextlib.nullcontext()
COPIES_MOST = 1 << 28  # most entries of a pattern's copies
_threads = torch.get_num_threads
functorch: Any = getattr(torch._C, "_functorch", None)
times: Any = None  # spmm, which the package sets: operations know patterns, and patterns no operation


def _bare(x: Tensor, name: str) -> Tensor:
    """Unwrap torch.func's tensors: results computed under it are wrapped, even if they depend on no operand."""
    while functorch.is_functorch_wrapped_tensor(x):
        if functorch.is_batchedtensor(x):
            raise NotImplementedError(f"vmap over the {name} of a pattern: map over operands and values of one pattern")
        x = functorch.get_unwrapped(x)
    return x


def _abstract(x: Tensor) -> bool:
    """Return True if a tensor has no content: under torch.compile or torch.export, or on the meta device."""
    return x.is_meta or type(x) not in (Tensor, torch.nn.Parameter)


def _sizes(shape: Any) -> tuple[int, int]:
    """Return the numbers of rows and columns."""
    try:
        rows, cols = shape
        if not compiling():
            rows, cols = operator.index(rows), operator.index(cols)
    except (TypeError, ValueError):
        raise _errors.ArgumentError(f"shape = {shape!r}: expected (rows, cols)") from None
    return rows, cols


def _check_tensor(x: Any, name: str, what: str = "a tensor") -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} is a {type(x).__name__}: expected {what}")


def check_edges(edge_index: Tensor) -> None:
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise _errors.ArgumentError(f"edge_index has shape {tuple(edge_index.shape)}: expected (2, edges)")
    if edge_index.dtype not in (torch.int32, torch.int64):
        raise _errors.ArgumentError(f"edge_index is {edge_index.dtype}: expected int32 or int64")


class Pattern:
    """The places of a sparse matrix's entries, as tensors: (rows, cols), with one place for each of `nnz` values.

    Make it by `from_csr`, `from_coo`, `from_edge_index` or `from_torch`, and masks of attention by `mask`, `causal` or `window`. It is checked when it is made, and keeps the plans that calls
    need. Its tensors are not copied, unless they have gaps, as rows of `torch.unique(edges, dim=1)` have. After a change in place it is the
    pattern of what they hold then: PyTorch counts changes, and contents are compared in each call where it does not, which is in tensors of inference
    mode and in memory of NumPy. Changes by `.data` are not noticed. Attributes: `index`, the row offsets (rows + 1,) or, in COO, the row of each
    entry (nnz,); `columns` (nnz,), both int32 or int64; `rows`, `cols`, `nnz`, `coo`; `values` (nnz,) if it was made from a matrix.

    A mask whose rows keep the first places and a window, or all columns up to a place or a length, has row offsets alone: `columns` are listed when
    something first asks for them, then kept. On a GPU attention of 16-bit operands up to 256 wide does not, nor does its gradient, without bias,
    dropout and arrays in scores, unless it asks for second derivatives, or for gradients by return_lse or sinks.

    >>> pattern = Pattern.from_csr(torch.tensor([0, 2, 3]), torch.tensor([0, 2, 1]), (2, 3))
    >>> sddmm(pattern, torch.ones(2, 4), torch.ones(3, 4))
    tensor([4., 4., 4.])
    """

    _masked: Optional[Unlisted]
    _columns: Optional[Tensor]

    def __init__(self, index: Tensor, columns: Tensor, rows: int, cols: int, coo: bool, values: Optional[Tensor] = None):
        self._masked = None
        for tensor, name in ((index, "rows or offsets"), (columns, "columns")):
            if not isinstance(tensor, Tensor) or tensor.dtype not in (torch.int32, torch.int64):
                raise _errors.ArgumentError(f"{name} are {getattr(tensor, 'dtype', type(tensor).__name__)}: expected a tensor of int32 or int64")
            if tensor.dim() != 1:
                raise _errors.ArgumentError(f"{name} have shape {tuple(tensor.shape)}: expected a vector")
        if transforms() and not compiling():
            index, columns = _bare(index, "rows or offsets"), _bare(columns, "columns")
        if not index.is_contiguous() or not columns.is_contiguous():
            with apart():
                index, columns = index.contiguous(), columns.contiguous()
        self.columns = columns
        self._start(index, values, rows, cols, coo, columns.shape[0])
        if not compiling() and not _abstract(index) and not _abstract(columns):  # otherwise the operators check their tensors
            self._check_again()

    def _start(self, index: Tensor, values: Optional[Tensor], rows: int, cols: int, coo: bool, nnz: int) -> None:
        self.index, self.values = index, values
        self.rows, self.cols, self.coo, self.nnz = rows, cols, coo, nnz
        self.out_degrees: Optional[Tensor] = None  # of a part of a graph, where other parts have entries of these columns as well: theirs in all
        self.apart = False  # row i and column i are different nodes, of a part of a graph between two kinds of them: there are no self-loops
        self._state: Optional[tuple[int, ...]] = None  # for tensors whose changes PyTorch counts
        self._known: Any = None
        self._derived: dict[Any, Any] = {}

    @classmethod
    def _of_mask(cls, mask: _mask.Mask) -> Pattern:
        """Return the pattern of a mask, which lists its columns later if its rows keep runs of them."""
        if not mask.in_runs:
            return cls(mask.offsets, mask.columns(), *mask.shape, False)
        pattern = cls.__new__(cls)
        pattern._masked, pattern._columns = Unlisted(mask), None
        pattern._start(mask.offsets, None, *mask.shape, False, mask.nnz)
        return pattern

    @property
    def columns(self) -> Tensor:
        """The column of each entry (nnz,)."""
        columns = self._columns
        if columns is None:
            if compiling():  # a constant of the program
                return listed_columns(self._masked.number)  # type: ignore[union-attr, no-any-return]
            columns = self._columns = self._masked.columns()  # type: ignore[union-attr]
        return columns

    @columns.setter
    def columns(self, columns: Tensor) -> None:
        self._columns = columns

    def _unlisted(self) -> Any:
        """The checked pattern without a list of columns; None: there is none, or a tensor was changed in place."""
        mask = self._masked
        if mask is None or self.index is not mask.offsets or mask.offsets._version != mask.version or mask.listed_anew(self._columns):
            return None
        return mask.known

    @property
    def _checked(self) -> Any:
        """The last checked pattern."""
        return self._known if self._known is not None else self._check_again()

    def _current(self) -> Any:
        """The checked pattern with its plans, another one if the tensors were changed in place. One that was made within torch.compile is checked
        at its first use outside."""
        if _threads() != _device.followed:
            _held.follow_threads()
        index, columns = self.index, self.columns
        if self._state is not None and (index._version, columns._version, index.data_ptr(), columns.data_ptr()) == self._state:
            return self._known
        return self._check_again()

    def _check_again(self) -> Any:
        with apart() if transforms() or torch.is_inference_mode_enabled() else _NOTHING:  # indices need none of its other effects
            index, columns = self.index, self.columns
            known = _held.pattern_of(index, columns, int(self.rows), int(self.cols), self.coo, keep=True)
        if known is not self._known:
            self._derived, self._known = {}, known
            self._state = (index._version, columns._version, index.data_ptr(), columns.data_ptr()) if counted(index, columns) else None
        return known

    def _still(self, known: Any) -> Any:
        """Return the checked pattern, for the gradient of a call that used `known`."""
        current = self._unlisted() if self._masked is not None and known is self._masked.known else self._current()
        if current is not known:
            raise RuntimeError("a tensor of the pattern was changed in place after the call that this gradient is of: make a new Pattern for other places")
        return current

    def _repeated(self, times: int) -> Optional[Pattern]:
        """Return `count` copies of the pattern, stacked by rows, and cache them; None if they would take much memory, or while PyTorch traces."""
        if compiling() or transforms() or (self._known is None and self._masked is None) or times * self.nnz > COPIES_MOST:
            return None

        def make() -> Pattern:
            count = self.index.shape[0] if self.coo else self.rows
            step = self.rows if self.coo else self.nnz
            at = torch.arange(times, device=self.index.device, dtype=self.index.dtype)[:, None] * step
            index = (self.index[:count] + at).flatten()
            if not self.coo:
                index = torch.cat((index, index.new_full((1,), times * self.nnz)))
            return Pattern(index, self.columns.repeat(times), times * self.rows, self.cols, self.coo)

        return remembered(self, ("copies", times), make)

    @staticmethod
    def from_csr(offsets: Tensor, columns: Tensor, shape: tuple[int, int], values: Optional[Tensor] = None) -> Pattern:
        """From row offsets (rows + 1,) and columns (nnz,), int32 or int64.

        >>> Pattern.from_csr(torch.tensor([0, 2, 3]), torch.tensor([0, 2, 1]), (2, 3))
        <tamis.torch.Pattern 2 x 3, 3 nonzeros, cpu>
        """
        return Pattern(offsets, columns, *_sizes(shape), False, values)

    @staticmethod
    def from_coo(rows: Tensor, columns: Tensor, shape: tuple[int, int], values: Optional[Tensor] = None) -> Pattern:
        """From the row and the column of each entry (nnz,), in any order, which stays that of values and samples.

        >>> Pattern.from_coo(torch.tensor([1, 0, 0]), torch.tensor([1, 2, 0]), (2, 3))
        <tamis.torch.Pattern 2 x 3, 3 nonzeros, cpu>
        """
        return Pattern(rows, columns, *_sizes(shape), True, values)

    @staticmethod
    def from_edge_index(edge_index: Tensor, num_nodes: Optional[int] = None) -> Pattern:
        """From PyTorch Geometric's edges (2, edges): messages go from row 0, the sources, to row 1, the targets.

        Row i of the pattern has the edges to node i, so that `spmm` sums over a node's incoming edges. num_nodes: the largest id and
        one more if None, which waits for a GPU.

        >>> edges = torch.tensor([[0, 2], [1, 1]])  # from 0 to 1 and from 2 to 1
        >>> graph = Pattern.from_edge_index(edges, num_nodes=3)
        >>> spmm(graph, torch.tensor([1., 10., 100.]))
        tensor([  0., 101.,   0.])
        """
        _check_tensor(edge_index, "edge_index", "a tensor (2, edges), for instance torch.tensor(edge_index)")
        check_edges(edge_index)
        if num_nodes is None:
            if compiling():
                raise _errors.ArgumentError("num_nodes = None: expected a number within torch.compile and torch.export, since they do not know "
                                            "the content of edge_index")
            if edge_index.is_meta:
                raise _errors.ArgumentError("num_nodes = None: expected a number, since edge_index is on the device meta")
            num_nodes = int(edge_index.max()) + 1 if edge_index.shape[1] else 0
        return Pattern(edge_index[1], edge_index[0], num_nodes, num_nodes, True)

    @staticmethod
    def from_torch(matrix: Tensor) -> Pattern:
        """From a sparse tensor in CSR, CSC or COO; its values are kept as `values`, with their gradients. Entries of a COO tensor at one place
        are added, as PyTorch adds them. Functions that take a pattern take such a tensor as well, and convert it once.

        A mask, which is a tensor of bool, dense or sparse, keeps what is True; its `values` are None. The numbers of another matrix do not
        say where to attend: pass them as `bias=pattern.values` if they are to be added to scores; there -inf keeps a place out, and 0 does not.

        >>> pattern = Pattern.from_torch(torch.tensor([[0., 2.], [3., 0.]]).to_sparse_coo())
        >>> pattern.values
        tensor([2., 3.])
        >>> Pattern.from_torch(torch.ones(3, 3, dtype=torch.bool).tril())
        <tamis.torch.Pattern 3 x 3, 6 nonzeros, cpu>
        """
        _check_tensor(matrix, "matrix", "a sparse tensor in CSR, CSC or COO, or a mask of bool")
        _places.check(matrix, "matrix")
        arguments, values = _places.places(matrix)
        return Pattern(*arguments, None if values is None else values(matrix))

    @staticmethod
    def mask(rows: int, cols: Optional[int] = None, *, device: Any = None, **parts: Any) -> Pattern:
        """A mask of attention, made on `device` (a tensor's, or None: PyTorch's default): rows are queries, columns are keys.

        The other arguments are as in `tamis.Pattern.mask`: causal, window, dilation, every, global_tokens, sinks, blocks, block,
        offset, lengths, row_lengths, from_end; lists and blocks may be tensors on that device. On a GPU this is a kernel or two in the
        current stream, and waits once, to learn nnz.

        >>> Pattern.mask(6, causal=True, window=2, global_tokens=1)
        <tamis.torch.Pattern 6 x 6, 18 nonzeros, cpu>
        """
        if not compiling():
            with apart():
                return Pattern._of_mask(_mask.described(Tensors(device), rows, cols, **parts))
        rows, cols = operator.index(rows), None if cols is None else operator.index(cols)  # numbers, not symbols: a mask of this size
        return Pattern(*_constant(rows, cols, device, tuple(parts.items())), False)

    @staticmethod
    def causal(rows: int, cols: Optional[int] = None, *, device: Any = None, **parts: Any) -> Pattern:
        """`mask` with causal=True.

        >>> Pattern.causal(1, 5)  # the last query of a longer context
        <tamis.torch.Pattern 1 x 5, 5 nonzeros, cpu>
        """
        return Pattern.mask(rows, cols, causal=True, device=device, **parts)

    @staticmethod
    def window(rows: int, left: Optional[int], right: Optional[int], cols: Optional[int] = None, *, device: Any = None, **parts: Any) -> Pattern:
        """`mask` with window=(left, right): columns from so far before a row's place to so far behind it; None: without bound.

        >>> Pattern.window(5, 1, 1)
        <tamis.torch.Pattern 5 x 5, 13 nonzeros, cpu>
        """
        return Pattern.mask(rows, cols, window=(left, right), device=device, **parts)

    @staticmethod
    def from_mask_mod(function: Any, rows: int, cols: Optional[int] = None, *, batch: int = 0, head: int = 0, device: Any = None) -> Pattern:
        """The pattern of a flex_attention mask function, where function(batch, head, q_idx, kv_idx) is True. It is made on `device`, some rows at a time.

        rows are queries, cols keys (as many if None). batch, head: the numbers that the function gets.

        >>> Pattern.from_mask_mod(lambda b, h, q, k: (q >= k) & (q - k < 3), 6)
        <tamis.torch.Pattern 6 x 6, 15 nonzeros, cpu>
        """
        with apart():
            return Pattern(*_places.pairs(function, operator.index(rows), cols, batch, head, device), False)

    @staticmethod
    def from_block_mask(block_mask: Any, *, batch: Optional[int] = None, head: Optional[int] = None) -> Any:
        """The pattern of a BlockMask of flex_attention: what its mask function keeps in its blocks, and all of its full blocks.

        A mask that differs from member to member of its batch gives a list of patterns, as `attention` takes it; one that differs from head to
        head needs head=.

        >>> from torch.nn.attention.flex_attention import create_block_mask
        >>> mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256, device="cpu")
        >>> Pattern.from_block_mask(mask)
        <tamis.torch.Pattern 256 x 256, 32896 nonzeros, cpu>
        """
        return _places.of_block_mask(block_mask, batch, head, Pattern)

    @staticmethod
    def stack(patterns: Sequence[Pattern]) -> Pattern:
        """The block-diagonal pattern of several: a batch of graphs as one graph.

        >>> Pattern.stack([Pattern.causal(2), Pattern.causal(3)])
        <tamis.torch.Pattern 5 x 5, 9 nonzeros, cpu>
        """
        patterns = listed(patterns)
        coo = patterns[0].coo
        if any(pattern.coo != coo or pattern.device != patterns[0].device for pattern in patterns):
            raise _errors.ArgumentError("patterns are of CSR and COO, or on several devices: make them alike")
        rows = cols = entries = 0
        index, columns = [], []
        with apart():
            for pattern in patterns:
                index.append(pattern.index.long() + rows if coo else pattern.index.long()[bool(index):] + entries)
                columns.append(pattern.columns.long() + cols)
                rows, cols, entries = rows + pattern.rows, cols + pattern.cols, entries + pattern.nnz
            joined = torch.cat(index), torch.cat(columns)
        known = [pattern.values for pattern in patterns if pattern.values is not None]
        return Pattern(*joined, rows, cols, coo, torch.cat(known) if len(known) == len(patterns) else None)

    @property
    def T(self) -> Pattern:
        """The transpose: rows are columns, with each entry's value in the place that it has here. The entries are then COO in the order of this
        pattern. It is made once, and again for other values.

        >>> Pattern.from_csr(torch.tensor([0, 2, 3]), torch.tensor([0, 2, 1]), (2, 3)).T
        <tamis.torch.Pattern 3 x 2, 3 nonzeros, cpu>
        """
        def turned() -> Pattern:
            return remembered(self, "T", lambda: Pattern(self.columns, self._rows(), self.cols, self.rows, True, self.values))

        if turned().values is not self.values:  # which may be assigned
            self._derived.pop("T", None)
        return turned()

    def _rows(self) -> Tensor:
        """Return the row of each entry."""
        return self.index if self.coo else _places.outer(self.index, self.columns)

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.cols

    @property
    def device(self) -> torch.device:
        return self.index.device

    def to(self, device: Any, non_blocking: bool = False) -> Pattern:
        """The same pattern on another device; itself if it is there. non_blocking: as for a tensor.

        >>> pattern = Pattern.causal(2)
        >>> pattern.to("cpu") is pattern
        True
        """
        if torch.device(device) == self.device:
            return self
        if self._unlisted() is not None and self._columns is None and torch.device(device).type in ("cpu", "cuda"):
            with apart():
                return Pattern._of_mask(self._masked.on(device))  # type: ignore[union-attr]
        later = non_blocking and torch.device(device).type != "cpu"  # a pattern is checked when it is made: the host needs it now
        return self._moved(lambda x: x.to(device, non_blocking=later))

    def _moved(self, move: Any) -> Pattern:
        with apart():
            index, columns = move(self.index), move(self.columns)
        made = Pattern(index, columns, self.rows, self.cols, self.coo, None if self.values is None else move(self.values))
        made.out_degrees, made.apart = None if self.out_degrees is None else move(self.out_degrees), self.apart
        return made

    def cpu(self) -> Pattern:
        """The same pattern in the host's memory.

        >>> Pattern.causal(2).cpu()
        <tamis.torch.Pattern 2 x 2, 3 nonzeros, cpu>
        """
        return self.to("cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Pattern:
        """The same pattern on a GPU, the current one if None.

        >>> pattern = Pattern.causal(2)
        >>> (pattern.cuda() if torch.cuda.is_available() else pattern).nnz
        3
        """
        if device is None:
            device = torch.cuda.current_device()
        return self.to(torch.device("cuda", device) if isinstance(device, int) else device, non_blocking)

    def pin_memory(self) -> Pattern:
        """A copy in pinned memory, from which copies to a GPU are faster.

        >>> pattern = Pattern.causal(2)
        >>> (pattern.pin_memory() if torch.cuda.is_available() else pattern).nnz
        3
        """
        return self._moved(lambda x: x.pin_memory())

    def to_dense(self) -> Tensor:
        """The dense mask, True at the places; of a pattern with values the dense matrix, with gradients to them.

        >>> Pattern.causal(2).to_dense()
        tensor([[ True, False],
                [ True,  True]])
        """
        return _places.dense(self, self.values)

    def add_self_loops(self) -> Pattern:
        """The union with the diagonal.

        >>> Pattern.from_edge_index(torch.tensor([[0], [1]])).add_self_loops()
        <tamis.torch.Pattern 2 x 2, 3 nonzeros, cpu>
        """
        return _places.with_loops(self)

    def sample(self, rows: Any, fanout: int, seed: int = 0, replace: bool = False) -> tuple[Pattern, Tensor]:
        """Sampled neighbours: row i of the result has `fanout` entries of row rows[i], all if it has no more; the columns stay as they are.

        Every set of `fanout` entries has the same probability; with `replace` the entries are drawn independently, `fanout` of each row that has any. They are in
        the pattern's order. rows: a vector of integers, maybe with repetitions. What is drawn depends on the seed, the row and its length alone: it is the same on
        every device and for any number of threads, and for other rows beside it. Take another seed for each step and each layer. On devices other than the CPU it is
        meant for small fanouts: there it takes steps for all rows at once, whose number grows with the fanout.
        Returns the pattern, CSR, and its entries as this pattern numbers them (nnz,), int64, with which what edges have is indexed.

        >>> graph = Pattern.from_edge_index(torch.tensor([[0, 1, 2, 3, 0], [1, 1, 1, 1, 2]]), num_nodes=4)
        >>> part, entries = graph.sample(torch.tensor([1, 2, 3]), fanout=2, seed=7)
        >>> part
        <tamis.torch.Pattern 3 x 4, 3 nonzeros, cpu>
        >>> torch.equal(graph.columns[entries], part.columns)
        True
        """
        return _parts.sampled(self, rows, fanout, seed, replace)

    def select(self, rows: Any = None, cols: Any = None) -> tuple[Pattern, Tensor]:
        """Some rows and columns, in the order in which they are named: row i of the result is row rows[i], column j is column cols[j]. None: all.

        rows may have repetitions, cols may not. Entries of a row stay in this pattern's order. Returns as `sample`.

        >>> pattern, entries = Pattern.causal(4).select(rows=[3, 1], cols=[1, 2])
        >>> pattern.to_dense()
        tensor([[ True,  True],
                [ True, False]])
        >>> entries
        tensor([7, 8, 2])
        """
        return _parts.selected(self, rows, cols)

    def induced(self, nodes: Any) -> tuple[Pattern, Tensor]:
        """The part of a square pattern between some nodes: `select(nodes, nodes)`.

        >>> Pattern.causal(4).induced([0, 2])[0].to_dense()
        tensor([[ True, False],
                [ True,  True]])
        """
        if self.rows != self.cols:
            raise _errors.ArgumentError(f"the pattern is {self.rows} x {self.cols}: expected as many rows as columns; select takes both")
        return _parts.selected(self, nodes, nodes, "nodes")

    def _by_rows(self) -> tuple[Tensor, Optional[Tensor]]:
        """Return row offsets, int64, and the entries in the order of rows, None: their own order."""
        if self.coo or self.index.dtype != torch.int64:
            return remembered(self, "by rows", lambda: _parts.by_rows(self))
        return self.index, None

    def __or__(self, other: Any) -> Pattern:
        """The union: places that one of both has, each once, by rows."""
        return _places.combined(self, other, False) if isinstance(other, Pattern) else NotImplemented

    def __and__(self, other: Any) -> Pattern:
        """The intersection: places that both have, each once, by rows."""
        return _places.combined(self, other, True) if isinstance(other, Pattern) else NotImplemented

    def __eq__(self, other: Any) -> bool:
        """True if both have the same shape and device, and the same entries in the same order, with the same values or none."""
        return self is other or _places.same(self, other) if isinstance(other, Pattern) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.rows, self.cols, self.nnz))

    def __matmul__(self, B: Any) -> Tensor:
        """`spmm` with this pattern's values, ones if it has none.

        >>> Pattern.causal(2) @ torch.tensor([1., 2.])
        tensor([1., 3.])
        """
        return times(self, B, self.values) if isinstance(B, Tensor) else NotImplemented

    def explain(self) -> str:
        """The profile of the rows, then each plan that calls have needed: which algorithm runs and why.

        >>> print(Pattern.causal(2).explain())
        2 x 2, 3 nonzeros, cpu; 1.5 a row (1 to 2), 0 rows empty
        no plans yet: each kind of call makes one
        """
        known = self._unlisted()
        if known is None:
            return self._current().explain()
        return known.explain() if self._columns is None and self.index.is_cuda else self._current().explain(known)

    def __repr__(self) -> str:
        return f"<tamis.torch.Pattern {self.rows} x {self.cols}, {self.nnz} nonzeros, {self.device}>"

    def __reduce__(self) -> Any:
        made: Any
        if self._columns is None and self.values is None and self._unlisted() is not None:
            rows, cols, parts = self._masked.made_by  # type: ignore[union-attr]
            made = functools.partial(Pattern.mask, rows, cols, device=self.device, **parts), ()
        else:
            made = Pattern, (self.index, self.columns, self.rows, self.cols, self.coo, self.values)
        return (*made, {"out_degrees": self.out_degrees, "apart": self.apart}) if self.apart or self.out_degrees is not None else made


def remembered(pattern: Pattern, name: Any, make: Callable[[], T]) -> T:
    """Return what `make` makes from a pattern; it is cached as long as the pattern's tensors do not change."""
    if compiling() or _abstract(pattern.index):
        return make()
    pattern._current()  # clears the cache if the tensors have changed
    kept: dict[Any, T] = pattern._derived
    if name not in kept:
        with apart():
            kept[name] = make()
    return kept[name]


def listed(patterns: Any) -> list[Pattern]:
    """Return the patterns that a caller has given."""
    given = list(patterns)
    if not given or not all(isinstance(pattern, Pattern) for pattern in given):
        raise TypeError("patterns: expected one or more tamis.torch.Pattern")
    return given


def _made(rows: int, cols: Optional[int], device: Any, parts: tuple) -> tuple[Tensor, Tensor, int, int]:
    """Return the tensors of a mask, and its shape."""
    with apart():
        mask = _mask.described(Tensors(device), rows, cols, **dict(parts))
        return mask.offsets, mask.columns(), *mask.shape


def _constant(rows: int, cols: Optional[int], device: Any, parts: tuple) -> tuple[Tensor, Tensor, int, int]:
    """Make a mask for torch.compile and torch.export at compile time: its arguments are constants of the program."""
    from torch.utils._python_dispatch import _disable_current_modes
    with _disable_current_modes():
        return _made(rows, cols, device, parts)


_constant._dynamo_marked_constant = True  # type: ignore[attr-defined]  # torch.compiler.assume_constant_result, which imports torch._dynamo


if hasattr(torch.serialization, "add_safe_globals"):
    torch.serialization.add_safe_globals([Pattern])  # for torch.load, which then only restores a pattern's tensors and sizes
