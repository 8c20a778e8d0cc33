"""One graph on several devices, under autograd: each rank of a torch.distributed process group has some nodes, and the edges to them.

    graph = tamis.torch.distributed.partition(edge_index, nodes)     by METIS; rank 0 has the edges
    x = graph.scatter(features)                                      the rows of this rank's nodes
    out = graph.layer(conv, x)                                       a layer of tamis.torch.pyg or torch_geometric.nn
    out = graph.apply(function, x)                                   or any function of the rows of a pattern, such as a layer of tamis.torch.nn

A function computes the rows that need nothing of other ranks while the rows of others are on their way. Gradients go back along the same way and are
added in a fixed order. Parameters are replicated, as in torch.nn.parallel.DistributedDataParallel. One process has one device; start them by torchrun.
Examples assume a process group of one rank, and `from tamis.torch.distributed import *`.
"""
from __future__ import annotations

import ctypes
from ctypes import byref
from typing import Any, Callable, Optional, Sequence, Union

import torch
from torch import Tensor

from .. import _errors
from .._library import lib, must
from .._sparse import Sparse
from . import _direct, _graphs
from ._ghosts import Exchange, Link
from ._layer import FirstRows
from ._pattern import Pattern, check_edges, remembered
from ._ranks import Ranks, ranks_of

Owner = Union[None, str, Tensor, Sequence[int]]
LEAST_INTERIOR = 0.1  # the share of edges whose rows need nothing of other ranks, from which on rows are computed in two parts
LEAST_EDGES = 3_000_000  # of a rank, from which on this pays on GPUs: it doubles the host's work
_Normalisation = (torch.nn.modules.batchnorm._BatchNorm, torch.nn.modules.instancenorm._InstanceNorm)


def partition(graph: Any, num_nodes: Optional[int] = None, *, owner: Owner = None, column_owner: Owner = None, group: Any = None, device: Any = None,
              timeout: Optional[float] = None) -> PartitionedGraph:
    """Divide a graph among the ranks of a process group. Every rank of the group calls it.

    graph: edges (2, edges), sources and then targets, or a Pattern without values, whose rows are targets. Rank 0 has it; other ranks pass None, or the
    same, which is checked. num_nodes: as in `Pattern.from_edge_index`.
    owner: the rank of each node: None, by METIS, which makes few edges between ranks; "ranges", consecutive nodes with about equally many edges; or
    a rank for each node, (nodes,). Of a pattern whose columns are other nodes than its rows, such as from a grid to a mesh, it is that of the rows, and
    column_owner that of the columns; both are then tensors. Rank 0's counts.
    group: None: all ranks. device: the device of this rank's part; None: the current GPU if the group has NCCL, else the CPU. timeout: seconds that a
    rank waits for another in calls of this graph; None: until the process group's own timeout.
    Raises ValueError on all ranks if one of them passes something wrong, with its number; NotImplementedError without METIS; RuntimeError if a rank has ended.

    >>> graph = partition(torch.tensor([[0, 1, 2], [1, 1, 0]]), 3)
    >>> graph
    <tamis.torch.distributed.PartitionedGraph 3 x 3, 3 edges: rank 0 of 1 has 3 nodes, 3 edges and 0 ghost nodes>
    """
    ranks = ranks_of(group)
    ranks.timeout = timeout if isinstance(timeout, (int, float)) else None
    own: list[Pattern] = []
    places: list[torch.device] = []

    def described() -> Any:
        if timeout is not None and not (isinstance(timeout, (int, float)) and timeout > 0):
            raise _errors.ArgumentError(f"timeout = {timeout!r}: expected seconds, or None")
        places.append(_device(device, ranks))
        return _described(graph, num_nodes, ranks.rank, own)

    given = ranks.agreed(described, "the graph")
    for rank, (sizes, content) in enumerate(given):
        if sizes is not None and (sizes, content) != given[0]:
            raise _errors.ArgumentError(f"rank {rank}: graph has other edges or sizes than rank 0's: pass None on all ranks but 0, or the same")
    (rows, cols, nnz), _ = given[0]

    divided: list[Tensor] = []
    ranks.agreed(lambda: None if ranks.rank else divided.append(torch.cat(_owners(own[0], owner, column_owner, ranks.count))), "the owners of nodes")
    of_rows, of_columns = _shared(ranks, divided[0] if divided else None, rows + cols, torch.int32).split([rows, cols])
    if rows == cols and torch.equal(of_rows, of_columns):
        of_columns = of_rows
    entries = _entries(ranks, None if ranks.rank else own[0], of_rows, nnz)
    ranks.graphs += 1
    return PartitionedGraph(ranks, (rows, cols, nnz), of_rows, of_columns, entries, places[0])


def _device(given: Any, ranks: Ranks) -> torch.device:
    """Return where a rank's part lies, once it is known to take tensors."""
    if given is None:
        given = torch.device("cuda", torch.cuda.current_device()) if ranks.nccl and torch.cuda.is_available() else "cpu"
    try:
        return torch.empty(1, device=given).device
    except (RuntimeError, AssertionError) as error:  # an AssertionError: a PyTorch without CUDA
        raise _errors.ArgumentError(f"device = {str(given)!r}: {str(error).splitlines()[0]}") from error


def _described(graph: Any, num_nodes: Optional[int], rank: int, made: list[Pattern]) -> Any:
    """Check a rank's graph, put its pattern into `made`, and return its sizes and a number that stands for its edges."""
    if graph is None and rank:
        return None, None
    if isinstance(graph, Pattern):
        if graph.values is not None:
            raise _errors.ArgumentError("graph has values: expected a Pattern without; graph.scatter(values, edges=True) of the partitioned graph scatters them")
    elif isinstance(graph, Tensor) and graph.layout is torch.strided:
        check_edges(graph)
    else:
        raise TypeError(f"graph is a {type(graph).__name__}: expected edges (2, edges), or a tamis.torch.Pattern")
    pattern = (graph if isinstance(graph, Pattern) else Pattern.from_edge_index(graph, num_nodes)).to("cpu")
    made.append(pattern)
    weights = torch.arange(1, pattern.nnz + 1) * 0x9E3779B97F4A7C1
    mixed = (pattern._rows().long() * 0x2545F4914F6CDD1D + pattern.columns.long() * 0x1B873593CC9E2D51) ^ weights
    return (pattern.rows, pattern.cols, pattern.nnz), int((mixed ^ mixed >> 29).sum())


def _owners(whole: Pattern, owner: Owner, column_owner: Owner, count: int) -> tuple[Tensor, Tensor]:
    """Return the rank of each row and column."""
    square = whole.rows == whole.cols
    if owner is None and column_owner is None and square:
        found = _of_starts(*_metis(whole, count), whole.rows) if count > 1 else torch.zeros(whole.rows, dtype=torch.int32)
        return found, found
    if isinstance(owner, str) and column_owner is None and square:
        if owner != "ranges":
            raise _errors.ArgumentError(f"owner = {owner!r}: expected None, 'ranges' or a rank for each node")
        starts = (ctypes.c_int64 * (count + 1))()
        offsets, order = whole._by_rows()
        must(lib.tamis_partition(byref(_csr(whole, offsets, order).struct), count, starts))
        found = _of_starts(torch.arange(whole.rows), list(starts), whole.rows)
        return found, found
    if owner is None or isinstance(owner, str) or isinstance(column_owner, str) or (column_owner is None and not square):
        raise _errors.ArgumentError(f"graph has {whole.rows} targets and {whole.cols} sources: expected tensors as owner and column_owner, a rank for each of them, for "
                                    f"instance the `owner` of partitioned graphs among them")
    found = _of_ranks(owner, whole.rows, "owner", count)
    return found, found if column_owner is None else _of_ranks(column_owner, whole.cols, "column_owner", count)


def _of_ranks(given: Any, length: int, name: str, count: int) -> Tensor:
    made = torch.as_tensor(given, device="cpu")
    if made.shape != (length,) or made.is_floating_point() or made.is_complex():
        raise _errors.ArgumentError(f"{name} is {made.dtype} of shape {tuple(made.shape)}: expected the rank of each of {length} nodes, integers")
    if length and not (0 <= int(made.min()) and int(made.max()) < count):
        raise _errors.ArgumentError(f"{name} has ranks from {int(made.min())} to {int(made.max())}: expected 0 to {count - 1}")
    return made.int()


def _csr(whole: Pattern, offsets: Tensor, order: Optional[Tensor]) -> Sparse:
    columns = whole.columns if order is None else whole.columns[order]
    return Sparse("S", whole.shape, offsets, columns)


def _metis(whole: Pattern, count: int) -> tuple[Tensor, list[int]]:
    order, starts = torch.empty(whole.rows, dtype=torch.int64), (ctypes.c_int64 * (count + 1))()
    by_row = _csr(whole, *whole._by_rows())
    try:
        must(lib.tamis_shard_partition(byref(by_row.struct), count, ctypes.cast(order.data_ptr(), ctypes.POINTER(ctypes.c_int64)), starts))
    except _errors.UnsupportedError as error:
        raise type(error)(f"{error}; or pass owner='ranges', or the rank of each node") from None
    return order, list(starts)


def _of_starts(order: Tensor, starts: list[int], nodes: int) -> Tensor:
    found = torch.empty(nodes, dtype=torch.int32)
    for rank, (begin, end) in enumerate(zip(starts, starts[1:])):
        found[order[begin:end]] = rank
    return found


def _shared(ranks: Ranks, x: Optional[Tensor], length: int, dtype: torch.dtype) -> Tensor:
    """Return rank 0's vector on all ranks."""
    counts, none = [length] * ranks.count, [0] * ranks.count
    given = torch.empty((0, 1), dtype=dtype) if x is None else x.unsqueeze(1).repeat(ranks.count, 1)
    return ranks.moved(given, counts if ranks.rank == 0 else none, [length, *none[1:]], "the owners of nodes").squeeze(1)


def _entries(ranks: Ranks, whole: Optional[Pattern], owner: Tensor, nnz: int) -> Tensor:
    """Return the edges to this rank's nodes, in the graph's order: row, column and number of each, (edges, 3)."""
    counts: Any = [nnz]
    rows: Optional[Tensor] = None
    if whole is not None:
        of = owner[whole._rows().long()]
        order = torch.argsort(of, stable=True)
        counts = torch.bincount(of, minlength=ranks.count).tolist()
        rows = torch.stack([whole._rows().long()[order], whole.columns.long()[order], order], 1)
    counts = ranks.gathered(counts, "numbers of edges")[0]
    return ranks.from_first(rows, ((3,), torch.int64), counts, "edges")


class PartitionedGraph:
    """This rank's part of a graph: its nodes, the edges to them, and the ghosts: nodes of other ranks that these edges come from.

    `partition` makes it. A tensor of nodes has a row for each node of `owned`, in its order; one of edges a row for each of `edges`.
    Attributes: `rank`, `ranks`; `shape` and `nnz` of the whole graph; `owned` (own,), the numbers of own nodes; `ghosts` (ghosts,), of the ghost nodes, by their rank;
    `edges` (nnz,), of own edges; `pattern`, the Pattern (own, own + ghosts) of these edges, whose columns are the own nodes and then the ghosts; `columns`, the numbers of its columns; `owner` and `column_owner`, the rank of
    every node; `interior`, the number of own nodes that need no ghosts, which come first; `device`. Of a square graph row i is the node of column i.

    >>> graph = partition(torch.tensor([[0, 1, 2], [1, 1, 0]]), 3)
    >>> graph.owned, graph.pattern
    (tensor([0, 1, 2]), <tamis.torch.Pattern 3 x 3, 3 nonzeros, cpu>)
    """

    def __init__(self, ranks: Ranks, sizes: tuple[int, int, int], owner: Tensor, column_owner: Tensor, entries: Tensor, device: torch.device):
        self._ranks, self.rank, self.ranks, self.device = ranks, ranks.rank, ranks.count, device
        self.shape, self.nnz, self.owner, self.column_owner = sizes[:2], sizes[2], owner, column_owner
        self.square = owner is column_owner
        rows, cols, numbers = entries.unbind(1)
        own = (owner == self.rank).nonzero().squeeze(1)
        # rows that need no ghosts come first, and with them their edges, so that both parts of what a node or an edge has are views
        away = column_owner[cols] != self.rank
        outer = torch.zeros(sizes[0], dtype=torch.bool)
        outer[rows[away]] = True
        own = torch.cat([own[~outer[own]], own[outer[own]]])
        place = torch.empty(sizes[0], dtype=torch.int64)
        place[own] = torch.arange(own.numel())
        rows = place[rows]
        order = torch.argsort(rows, stable=True)
        cols, numbers, lengths = cols[order], numbers[order], torch.bincount(rows, minlength=own.numel())
        sources = own if self.square else (column_owner == self.rank).nonzero().squeeze(1)
        ghosts = cols[away[order]].unique()
        ghosts = ghosts[torch.argsort(column_owner[ghosts], stable=True)]
        place = torch.empty(sizes[1], dtype=torch.int64)
        self.columns = torch.cat([sources, ghosts])
        place[self.columns] = torch.arange(self.columns.numel())
        self.interior = int((~outer[own]).sum())
        self.edges, self.owned, self.ghosts = (x.to(device) for x in (numbers, own, ghosts))
        self._link = self._linked(ghosts, place, sources.numel())
        self._patterns(torch.nn.functional.pad(lengths.cumsum(0), (1, 0)), place[cols], sources.numel())
        self.columns = self.columns.to(device)

    def _linked(self, ghosts: Tensor, place: Tensor, own: int) -> Link:
        """Ask the owners for the ghost nodes."""
        ranks = self._ranks
        receives = torch.bincount(self.column_owner[ghosts], minlength=ranks.count)
        asked = torch.stack([torch.tensor(one) for one in ranks.gathered(receives.tolist(), "numbers of ghost nodes")])  # by the rank that asks, then by the owner
        sends = asked[:, ranks.rank].tolist()
        wanted = ranks.moved(ghosts.unsqueeze(1), receives.tolist(), sends, "ghost nodes").squeeze(1)
        return Link(ranks, f"graph {ranks.graphs}", own, place[wanted].to(self.device), sends, receives.tolist(), not asked.any())

    def _patterns(self, offsets: Tensor, columns: Tensor, own: int) -> None:
        """Make the patterns of all own rows, of the interior, and of the boundary, whose columns are the rows that it needs."""
        total = own + self.ghosts.numel()
        kind = torch.int32 if max(total, columns.numel()) < 1 << 31 else torch.int64

        def made(offsets: Tensor, columns: Tensor, cols: int) -> Pattern:
            return Pattern(offsets.to(self.device, kind), columns.to(self.device, kind), offsets.numel() - 1, cols, False)

        inner, middle = self.interior, int(offsets[self.interior])
        self.pattern = made(offsets, columns, total)
        needed = torch.zeros(own, dtype=torch.bool)
        outer = columns[middle:]
        needed[outer[outer < own]] = True
        first = torch.arange(inner, own) if self.square else torch.empty(0, dtype=torch.int64)  # row i is column i
        needed[first] = False
        need = torch.cat([first, needed.nonzero().squeeze(1)])
        place = torch.empty(total, dtype=torch.int64)
        place[need] = torch.arange(need.numel())
        place[own:] = torch.arange(self.ghosts.numel()) + need.numel()
        self._inside = made(offsets[:inner + 1], columns[:middle], own)
        self._outside = made(offsets[inner:] - middle, place[outer], need.numel() + self.ghosts.numel())
        self._need = need.to(self.device)
        found = self._ranks.gathered((middle, self.device.type), "edges without ghost nodes")
        pays = self.nnz >= LEAST_EDGES * self.ranks or any(kind == "cpu" for _, kind in found)
        self.split = not self._link.idle and pays and sum(inside for inside, _ in found) >= LEAST_INTERIOR * self.nnz  # the same on all ranks, since autograd's steps are
        out = torch.bincount(columns, minlength=total)  # edges from each node, which other ranks have as well
        counts = out.unsqueeze(1)
        if not self._link.idle:
            back = self._ranks.moved(counts[own:].contiguous(), self._link.receives, self._link.sends, "degrees")
            counts = counts[:own].index_add(0, self._link.sent.cpu(), back)
            ahead = self._ranks.moved(counts[self._link.sent.cpu()], self._link.sends, self._link.receives, "degrees")
            counts = torch.cat([counts, ahead])
        degrees = counts.squeeze(1).to(self.device)
        self.pattern.out_degrees, self._inside.out_degrees, self._outside.out_degrees = degrees, degrees[:own], torch.cat([degrees[self._need], degrees[own:]])
        for pattern in (self.pattern, self._inside, self._outside):
            pattern.apart = not self.square

    def __repr__(self) -> str:
        return (f"<tamis.torch.distributed.PartitionedGraph {self.shape[0]} x {self.shape[1]}, {self.nnz} edges: rank {self.rank} of {self.ranks} has {self.owned.numel()} "
                f"nodes, {self.edges.numel()} edges and {self.ghosts.numel()} ghost nodes>")

    # -------------------------------------------------------------------------- ghost rows

    @_direct.eager
    def begin(self, *x: Tensor) -> Exchange:
        """Send own rows to the ranks that read them, and return an Exchange, whose `finish` waits and returns what `exchange` does. Compute between the two what
        needs no ghost rows. Its gradient is exchanged in the same way. Every rank makes the same calls in the same order, and has a loss that depends on their results.

        >>> graph = partition(torch.tensor([[0, 1, 2], [1, 1, 0]]), 3)
        >>> graph.begin(torch.ones(3, 4)).finish().shape
        torch.Size([3, 4])
        """
        if not x:
            raise TypeError("x: expected one tensor or more")
        return Exchange(self._link, x)

    @_direct.eager
    def exchange(self, *x: Tensor) -> Any:
        """Own rows (own, ...) with the ghost rows behind them, (own + ghosts, ...): a row for each column of `pattern`. Several tensors, of one type, go together.

        >>> graph = partition(torch.tensor([[0, 1, 2], [1, 1, 0]]), 3)
        >>> tamis.torch.message(graph.pattern, "copy_u", graph.exchange(torch.tensor([[1.], [2.], [3.]])), reduce="max").ravel()
        tensor([3., 2., 0.])
        """
        return self.begin(*x).finish()

    @_direct.eager
    def apply(self, function: Callable[..., Any], source: Any, target: Any = None, edges: Any = ()) -> Any:
        """function(pattern, source, target, *edges) for own rows, in two parts: rows without ghosts are computed while the ghost rows come.

        function: of a pattern, what its columns have, what its rows have, and what its entries have; each row of its result depends on that row's entries alone, as
        in `message`, `graph_attention` and layers without normalisation over nodes. It is called once or twice, and must not change its operands in place. It returns a
        tensor with a row for each row of the pattern or each entry, or a tuple of such tensors.
        source: what own nodes have, (own, ...), or a tuple of tensors of one type, which go together. target: the same of the rows, which is not exchanged; None: the
        source's own rows, where the graph is square. edges: a tensor with a row for each of `edges`, or a tuple.
        Returns what the function does, for all own rows. Gradients to all of them.

        >>> graph = partition(torch.tensor([[0, 1, 2], [1, 1, 0]]), 3)
        >>> q, k, v = torch.rand(3, 3, 2, 4, requires_grad=True)
        >>> out = graph.apply(lambda pattern, of, q, e: tamis.torch.graph_attention(pattern, q, *of, e), (k, v), q, torch.rand(3, 2, 4))
        >>> out.shape
        torch.Size([3, 2, 4])
        """
        of, edges = source if isinstance(source, tuple) else (source,), edges if isinstance(edges, (tuple, list)) else (edges,)
        own = self.owned.numel()
        with self._ranks.telling(not self._link.idle):
            for name, given, count in (*((f"edges[{number}]", e, self.edges.numel()) for number, e in enumerate(edges)),
                                       *(("target", x, own) for x in (target if isinstance(target, tuple) else (target,)))):
                if isinstance(given, Tensor) and given.shape[:1] != (count,):
                    raise _errors.ArgumentError(f"{name} has shape {tuple(given.shape)} on rank {self.rank}: expected {count} rows, one for each of the rank's own "
                                                f"{'nodes' if name == 'target' else 'edges'}")
        if not self.split:
            whole = None if self._link.idle else Exchange(self._link, of, name="source")
            sources = of if whole is None else whole.finish()
            found = self._call(function, self.pattern, sources if isinstance(sources, tuple) else (sources,), isinstance(source, tuple), target, edges)
            return found if whole is None else _each(found, whole._tie)
        begun = Exchange(self._link, of, self._need, "source")
        inner, middle = self.interior, int(self._inside.nnz)
        near, far = (_parts_of(target, [inner, own - inner]), [_parts_of(e, [middle, self.edges.numel() - middle]) for e in edges])
        one = self._call(function, self._inside, tuple(begun.own), isinstance(source, tuple), near[0], [e[0] for e in far])
        sources = tuple(torch.cat([x, ghosts]) for x, ghosts in zip(begun.needed, begun._rows()))
        other = self._call(function, self._outside, sources, isinstance(source, tuple), near[1], [e[1] for e in far])
        if isinstance(one, tuple):
            return tuple(begun._tie(torch.cat(pair)) for pair in zip(one, other))
        return begun._tie(torch.cat([one, other]))

    def _call(self, function: Any, pattern: Pattern, sources: tuple, several: bool, target: Any, edges: Any) -> Any:
        """Call a function of rows, and check its result."""
        if target is None and self.square:
            target = tuple(x.narrow(0, 0, pattern.rows) for x in sources) if several else sources[0].narrow(0, 0, pattern.rows)
        given = [x for x in (*sources, *(target if isinstance(target, tuple) else (target,)), *edges) if isinstance(x, Tensor) and not x.is_inference()]
        before = [x._version for x in given]
        found = function(pattern, sources if several else sources[0], target, *edges)
        if [x._version for x in given] != before:
            raise _errors.ArgumentError("function changed its source, target or edges in place, which are the caller's tensors: expected one that makes new tensors")
        for x in found if isinstance(found, tuple) else (found,):
            if not isinstance(x, Tensor) or x.shape[:1] not in ((pattern.rows,), (pattern.nnz,)):
                shape = f"a tensor of shape {tuple(x.shape)}" if isinstance(x, Tensor) else f"a {type(x).__name__}"
                raise _errors.ArgumentError(f"function returned {shape}: expected {pattern.rows} rows, the pattern's, or {pattern.nnz}, its entries', in a tensor or a tuple of tensors")
        return found

    def layer(self, layer: Callable[..., Any], x: Any, *edges: Any, **named: Any) -> Any:
        """A layer on own rows: layer((source, target), pattern, *edges, **named), by `apply`.

        layer: one of `tamis.torch.pyg` that takes a pair, such as SAGEConv, GraphConv, GINEConv, GATConv, GATv2Conv or TransformerConv, or one that is called in
        the same way; or one of torch_geometric.nn that takes a pair, which gets edges (2, edges) in place of the pattern. Layers of `tamis.torch.nn` are called by
        `apply`. x: (own, features), or a pair (source, target). edges: what own edges have. named: what is passed on.
        Raises ValueError if the layer has BatchNorm or InstanceNorm that would normalise each part by itself, or adds self-loops to a graph between two kinds of
        nodes.

        >>> graph = partition(torch.tensor([[0, 1, 2], [1, 1, 0]]), 3)
        >>> graph.layer(tamis.torch.pyg.GATConv(4, 8, heads=2), torch.ones(3, 4)).shape
        torch.Size([3, 16])
        """
        of_edges = self._takes_edges(layer)
        source, target = x if isinstance(x, tuple) else (x, None)

        def call(pattern: Pattern, source: Any, target: Any, *edges: Any) -> Any:
            both = (source, target) if isinstance(x, tuple) else FirstRows((source, target))
            graph: Any = remembered(pattern, "edges", lambda: _graphs.edges(pattern)) if of_edges else pattern
            return layer(both, graph, *edges, **named)

        return self.apply(call, source, target, edges)

    @_direct.eager
    def _takes_edges(self, layer: Any) -> bool:
        """Refuse a layer that computes another thing on a part of a graph, and return True of PyTorch Geometric's."""
        with self._ranks.telling(not self._link.idle):
            if not self.square and getattr(layer, "add_self_loops", False):
                raise _errors.ArgumentError(f"layer is a {type(layer).__name__} with add_self_loops = True, and the graph is between two kinds of nodes, whose column_owner differs "
                                            f"from its owner: expected add_self_loops=False")
            for one in layer.modules() if isinstance(layer, torch.nn.Module) else ():
                if isinstance(one, _Normalisation) and (one.training or one.running_mean is None):
                    raise _errors.ArgumentError(f"layer is a {type(layer).__name__} with {type(one).__name__}, which would normalise the nodes of each part by themselves: put "
                                                f"torch.nn.SyncBatchNorm behind the layer, or take a norm of each node, as LayerNorm")
        return any(kind.__name__ == "MessagePassing" and kind.__module__.startswith("torch_geometric.") for kind in type(layer).__mro__)

    # -------------------------------------------------------------------------- whole tensors

    def scatter(self, x: Optional[Tensor], *, edges: bool = False) -> Tensor:
        """The rows of own nodes, or with `edges` of own edges, of a tensor for the whole graph, which rank 0 has: others pass None. Where each rank has the whole
        tensor, x[graph.owned] and x[graph.edges] do the same. Without gradients. It is collective, and goes through the host's memory.

        >>> graph = partition(torch.tensor([[0, 1, 2], [1, 1, 0]]), 3)
        >>> graph.scatter(torch.tensor([1., 2., 3.]))
        tensor([1., 2., 3.])
        """
        counts, numbers = self._numbers(edges)
        total = self.nnz if edges else self.shape[0]
        rows: list[Tensor] = []

        def described() -> Any:
            if self.rank:
                return None
            _check_rows(x, total, f"{total} rows on rank 0, one for each {'edge' if edges else 'node'} of the whole graph")
            assert x is not None
            rows.append(x.detach().cpu()[numbers])
            return tuple(x.shape[1:]), x.dtype

        like = self._ranks.agreed(described, "scatter")[0]
        return self._ranks.from_first(rows[0] if rows else None, like, counts, "scattered rows").to(self.device)

    def gather(self, x: Tensor, *, edges: bool = False) -> Optional[Tensor]:
        """The opposite of `scatter`: the tensor for the whole graph on rank 0, in the host's memory, and None on the others. Without gradients.

        >>> graph = partition(torch.tensor([[0, 1, 2], [1, 1, 0]]), 3)
        >>> graph.gather(torch.tensor([1., 2., 3.]))
        tensor([1., 2., 3.])
        """
        counts, numbers = self._numbers(edges)

        own: list[Tensor] = []

        def described() -> Any:
            _check_rows(x, counts[self.rank], f"{counts[self.rank]} rows, one for each of the rank's {'edges' if edges else 'nodes'}")
            own.append(x.detach().cpu())
            return tuple(x.shape[1:]), x.dtype

        kinds = self._ranks.agreed(described, "gather")
        for rank, kind in enumerate(kinds):
            if kind != kinds[0]:
                raise _errors.ArgumentError(f"rank {rank}: x has rows of {kind[0]}, {kind[1]}, and on rank 0 of {kinds[0][0]}, {kinds[0][1]}: expected the same")
        rows = self._ranks.to_first(own[0], counts, "gathered rows")
        if self.rank:
            return None
        whole = rows.new_empty((self.nnz if edges else self.shape[0], *rows.shape[1:]))
        whole[numbers] = rows
        return whole

    def _numbers(self, edges: bool) -> tuple[list[int], Optional[Tensor]]:
        """Return how many nodes or edges each rank has, and on rank 0 their numbers, rank by rank; asked once."""
        self._ranks.timeout = self._link.timeout
        kept = self.__dict__.setdefault("_asked", {})
        if edges not in kept:
            own = (self.edges if edges else self.owned).cpu()
            counts = self._ranks.gathered(own.numel(), f"numbers of {'edges' if edges else 'nodes'}")
            numbers = self._ranks.to_first(own, counts, "numbers")
            kept[edges] = counts, numbers if self.rank == 0 else None
        return kept[edges]  # type: ignore[no-any-return]


def _check_rows(x: Any, count: int, expected: str) -> None:
    if not isinstance(x, Tensor) or x.layout is not torch.strided or x.shape[:1] != (count,):
        shape = f"is a {type(x).__name__}" if not isinstance(x, Tensor) else f"is a tensor {x.layout}" if x.layout is not torch.strided else f"has shape {tuple(x.shape)}"
        raise _errors.ArgumentError(f"x {shape}: expected {expected}")


def _parts_of(x: Any, sizes: list[int]) -> Any:
    """Return both parts of a tensor, of each tensor of a tuple, or of nothing."""
    if isinstance(x, tuple):
        return list(zip(*(_parts_of(one, sizes) for one in x)))
    return x.split(sizes) if isinstance(x, Tensor) else (x, x)


def _each(x: Any, function: Callable[[Tensor], Tensor]) -> Any:
    return tuple(map(function, x)) if isinstance(x, tuple) else function(x)


__all__ = ["Exchange", "PartitionedGraph", "partition"]
