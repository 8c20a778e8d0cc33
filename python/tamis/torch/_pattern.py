"""Patterns of tensors."""
from __future__ import annotations

import operator
from typing import Any, Optional

import torch
from torch import Tensor

from .. import _errors, _mask
from .._kinds import Torch
from .._views import torch_device
from . import _kernels


class _Tensors:
    """Tensors for `_mask.make`, on a device of PyTorch, in its current stream."""

    def __init__(self, device: Any):
        self._like = torch.empty(0, dtype=torch.int64, device=device)
        if self._like.device.type not in ("cpu", "cuda"):
            raise _errors.ArgumentError(f"device = {self._like.device}: expected cpu or cuda")
        self.device, self.stream = torch_device(self._like.device), Torch.stream(self._like)

    def empty(self, count: int, wide: bool) -> Tensor:
        return self._like.new_empty(count, dtype=torch.int64 if wide else torch.int32)

    def numbers(self, given: Any) -> Tensor:
        made = given if isinstance(given, Tensor) else torch.tensor(given, device=self._like.device)
        return made.long() if made.numel() == 0 else made.contiguous()

    def kept(self, given: Any) -> tuple[Tensor, Tensor]:
        matrix = torch.as_tensor(given, device=self._like.device) != 0
        return torch.nn.functional.pad(matrix.sum(1).cumsum(0), (1, 0)), matrix.nonzero()[:, 1].contiguous()

    def narrow(self, array: Tensor) -> Tensor:
        return array.int()


def _sizes(shape: Any) -> tuple[int, int]:
    """The numbers of rows and columns."""
    try:
        rows, cols = map(operator.index, shape)
    except (TypeError, ValueError):
        raise _errors.ArgumentError(f"shape = {shape!r}: expected (rows, cols)") from None
    return rows, cols


def _check_tensor(x: Any, name: str, what: str = "a tensor") -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} is a {type(x).__name__}: expected {what}")


class Pattern:
    """Where a sparse matrix has entries, as tensors: (rows, cols), with one place for each of `nnz` values.

    Make it by `from_csr`, `from_coo`, `from_edge_index` or `from_torch`, and masks of attention by `mask`, `causal` or `window`. It is checked when it is made, and keeps the plans that calls
    need. Its tensors are not copied, and must not change. Attributes: `index`, the row offsets (rows + 1,) or, in COO, the row of each
    entry (nnz,); `columns` (nnz,), both int32 or int64; `rows`, `cols`, `nnz`, `coo`; `values` (nnz,) if it was made from a matrix.

    >>> import torch, tamis.torch
    >>> pattern = tamis.torch.Pattern.from_csr(torch.tensor([0, 2, 3]), torch.tensor([0, 2, 1]), (2, 3))
    >>> tamis.torch.sddmm(pattern, torch.ones(2, 4), torch.ones(3, 4))
    tensor([4., 4., 4.])
    """

    def __init__(self, index: Tensor, columns: Tensor, rows: int, cols: int, coo: bool, values: Optional[Tensor] = None):
        for tensor, name in ((index, "rows or offsets"), (columns, "columns")):
            if not isinstance(tensor, Tensor) or tensor.dtype not in (torch.int32, torch.int64):
                raise _errors.ArgumentError(f"{name} are {getattr(tensor, 'dtype', type(tensor).__name__)}: expected a tensor of int32 or int64")
            if tensor.dim() != 1:
                raise _errors.ArgumentError(f"{name} have shape {tuple(tensor.shape)}: expected a vector")
        self.index, self.columns, self.values = index, columns, values
        self.rows, self.cols, self.coo = int(rows), int(cols), coo
        self.nnz = int(columns.shape[0])
        if index.is_inference() or columns.is_inference():  # such tensors have no versions
            self._current = lambda: self._checked  # type: ignore[method-assign]
        else:
            self._versions = index._version, columns._version
        self._checked = _kernels.pattern_of(index, columns, self.rows, self.cols, coo, keep=True)

    def _current(self) -> Any:
        """What was checked; anew, where the tensors were changed in place."""
        if (self.index._version, self.columns._version) != self._versions:
            return _kernels.pattern_of(self.index, self.columns, self.rows, self.cols, self.coo)
        return self._checked

    @staticmethod
    def from_csr(offsets: Tensor, columns: Tensor, shape: tuple[int, int], values: Optional[Tensor] = None) -> Pattern:
        """From row offsets (rows + 1,) and columns (nnz,), int32 or int64.

        >>> import torch, tamis.torch
        >>> pattern = tamis.torch.Pattern.from_csr(torch.tensor([0, 2, 3]), torch.tensor([0, 2, 1]), (2, 3))
        >>> pattern
        <tamis.torch.Pattern 2 x 3, 3 nonzeros, cpu>
        """
        return Pattern(offsets, columns, *_sizes(shape), False, values)

    @staticmethod
    def from_coo(rows: Tensor, columns: Tensor, shape: tuple[int, int], values: Optional[Tensor] = None) -> Pattern:
        """From the row and the column of each entry (nnz,), in any order, which stays that of values and samples.

        >>> import torch, tamis.torch
        >>> tamis.torch.Pattern.from_coo(torch.tensor([1, 0, 0]), torch.tensor([1, 2, 0]), (2, 3))
        <tamis.torch.Pattern 2 x 3, 3 nonzeros, cpu>
        """
        return Pattern(rows, columns, *_sizes(shape), True, values)

    @staticmethod
    def from_edge_index(edge_index: Tensor, num_nodes: Optional[int] = None) -> Pattern:
        """From PyTorch Geometric's edges (2, edges): messages go from row 0, the sources, to row 1, the targets.

        Row i of the pattern has the edges to node i, so that `spmm` sums over a node's incoming edges. num_nodes: the largest id and
        one more if None, which waits for a GPU.

        >>> import torch, tamis.torch
        >>> edges = torch.tensor([[0, 2], [1, 1]])  # from 0 to 1 and from 2 to 1
        >>> graph = tamis.torch.Pattern.from_edge_index(edges, num_nodes=3)
        >>> tamis.torch.spmm(graph, torch.tensor([1., 10., 100.]))
        tensor([  0., 101.,   0.])
        """
        _check_tensor(edge_index, "edge_index", "a tensor (2, edges), for instance torch.tensor(edge_index)")
        if edge_index.dim() != 2 or edge_index.shape[0] != 2:
            raise _errors.ArgumentError(f"edge_index has shape {tuple(edge_index.shape)}: expected (2, edges)")
        if edge_index.dtype not in (torch.int32, torch.int64):
            raise _errors.ArgumentError(f"edge_index is {edge_index.dtype}: expected int32 or int64")
        if num_nodes is None:
            num_nodes = int(edge_index.max()) + 1 if edge_index.shape[1] else 0
        return Pattern(edge_index[1], edge_index[0], num_nodes, num_nodes, True)

    @staticmethod
    def from_torch(matrix: Tensor) -> Pattern:
        """From a sparse tensor in CSR or COO; its values are kept as `values`, with their gradients.

        >>> import torch, tamis.torch
        >>> pattern = tamis.torch.Pattern.from_torch(torch.tensor([[0., 2.], [3., 0.]]).to_sparse_coo())
        >>> pattern.values
        tensor([2., 3.])
        """
        _check_tensor(matrix, "matrix", "a sparse tensor in CSR or COO")
        if matrix.layout is torch.sparse_csr and matrix.dim() == 2:
            return Pattern(matrix.crow_indices(), matrix.col_indices(), matrix.shape[0], matrix.shape[1], False, matrix.values())
        if matrix.layout is torch.sparse_coo and matrix.dim() == 2:
            indices = matrix._indices()
            values = matrix.values() if matrix.is_coalesced() else matrix._values()
            return Pattern(indices[0], indices[1], matrix.shape[0], matrix.shape[1], True, values)
        raise _errors.ArgumentError(f"the tensor has layout {matrix.layout} and {matrix.dim()} dimensions: expected a matrix in sparse_csr or "
                                    f"sparse_coo; convert it, for instance by to_sparse_csr()")

    @staticmethod
    def mask(rows: int, cols: Optional[int] = None, *, device: Any = None, **parts: Any) -> Pattern:
        """A mask of attention, made on `device` (a tensor's, or None: PyTorch's default): rows are queries, columns are keys.

        The other arguments are those of `tamis.Pattern.mask`: causal, window, dilation, every, global_tokens, sinks, blocks, block,
        offset, lengths, row_lengths, from_end; lists and blocks may be tensors on that device. On a GPU this is two kernels in the
        current stream, and waits once, to learn nnz.

        >>> import torch, tamis.torch
        >>> tamis.torch.Pattern.mask(6, causal=True, window=2, global_tokens=1)
        <tamis.torch.Pattern 6 x 6, 18 nonzeros, cpu>
        """
        offsets, columns, shape = _mask.make(_Tensors(device), rows, cols, **parts)
        return Pattern(offsets, columns, shape[0], shape[1], False)

    @staticmethod
    def causal(rows: int, cols: Optional[int] = None, *, device: Any = None, **parts: Any) -> Pattern:
        """`mask` with causal=True.

        >>> import torch, tamis.torch
        >>> tamis.torch.Pattern.causal(1, 5)  # the last query of a longer context
        <tamis.torch.Pattern 1 x 5, 5 nonzeros, cpu>
        """
        return Pattern.mask(rows, cols, causal=True, device=device, **parts)

    @staticmethod
    def window(rows: int, left: Optional[int], right: Optional[int], cols: Optional[int] = None, *, device: Any = None, **parts: Any) -> Pattern:
        """`mask` with window=(left, right): columns from so far before a row's place to so far behind it; None: without bound.

        >>> import torch, tamis.torch
        >>> tamis.torch.Pattern.window(5, 1, 1)
        <tamis.torch.Pattern 5 x 5, 13 nonzeros, cpu>
        """
        return Pattern.mask(rows, cols, window=(left, right), device=device, **parts)

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.cols

    @property
    def device(self) -> torch.device:
        return self.columns.device

    def to(self, device: Any) -> Pattern:
        """The same pattern on another device; itself if it is there.

        >>> import torch, tamis.torch
        >>> pattern = tamis.torch.Pattern.from_csr(torch.tensor([0, 2, 3]), torch.tensor([0, 2, 1]), (2, 3))
        >>> pattern.to("cpu") is pattern
        True
        """
        if torch.device(device) == self.device:
            return self
        return Pattern(self.index.to(device), self.columns.to(device), self.rows, self.cols, self.coo,
                       None if self.values is None else self.values.to(device))

    def explain(self) -> str:
        """The profile of the rows, then each plan that calls have needed: which algorithm runs and why.

        >>> import torch, tamis.torch
        >>> pattern = tamis.torch.Pattern.from_csr(torch.tensor([0, 2, 3]), torch.tensor([0, 2, 1]), (2, 3))
        >>> print(pattern.explain())
        2 x 3, 3 nonzeros, cpu; 1.5 a row (1 to 2), 0 rows empty
        no plans yet: each kind of call makes one
        """
        return self._checked.explain()

    def __repr__(self) -> str:
        return f"<tamis.torch.Pattern {self.rows} x {self.cols}, {self.nnz} nonzeros, {self.device}>"

    def __reduce__(self) -> Any:
        return Pattern, (self.index, self.columns, self.rows, self.cols, self.coo, self.values)
