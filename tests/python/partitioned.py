"""What each rank does in the tests of tamis.torch.distributed: partitioned.py RANK RANKS FILE CASE...

The ranks meet at FILE. Each case is a function of this module, or of lost_ranks. It computes the whole graph on this process alone, and beside it this rank's part. A
rank that fails prints its error and ends with 1.
"""
from __future__ import annotations

import copy
import datetime
import pickle
import sys
import time

import torch
import torch.distributed as dist

import lost_ranks
import tamis.torch
from tamis.torch import Pattern, attention, edge_op, fused, graph_attention, message, nn, pyg, sddmm, spmm
from tamis.torch.distributed import partition

RANK, RANKS = 0, 1


# ------------------------------------------------------------------------------ graphs


def mesh(width, height):
    """Edges in both directions between neighbours of a grid."""
    place = torch.arange(width * height).reshape(height, width)
    one = torch.cat([torch.stack([place[:, 1:].flatten(), place[:, :-1].flatten()]), torch.stack([place[1:].flatten(), place[:-1].flatten()])], 1)
    return torch.cat([one, one.flip(0)], 1)


def power_law(nodes, edges, seed=1):
    draw = torch.Generator().manual_seed(seed)
    return (torch.rand(2, edges, generator=draw, dtype=torch.float64) ** 3 * nodes).long()


def blocks(nodes, edges):
    """Edges within the ranges of nodes that ranks own by `node * RANKS // nodes`: no ghosts."""
    owner = torch.arange(nodes) * RANKS // nodes
    found = power_law(nodes, edges)
    return found[:, owner[found[0]] == owner[found[1]]]


def shuffled(edges, seed=2):
    return edges[:, torch.randperm(edges.shape[1], generator=torch.Generator().manual_seed(seed))]


def given(nodes):
    """An owner for each node at random; no node is the last rank's."""
    return torch.randint(max(RANKS - 1, 1), (nodes,), generator=torch.Generator().manual_seed(3))


GRAPHS = {  # edges, nodes, owner
    "mesh": lambda: (shuffled(mesh(13, 17)), 221, None),
    "mesh in order": lambda: (mesh(20, 9), 180, "ranges"),
    "power law": lambda: (power_law(97, 1201), 97, None),
    "power law by chance": lambda: (power_law(131, 999), 131, given(131)),
    "int32": lambda: (mesh(7, 9).int(), 63, torch.arange(63, dtype=torch.int32) % RANKS),
    "without ghosts": lambda: (blocks(61, 600), 61, torch.arange(61) * RANKS // 61),
    "one rank has all": lambda: (power_law(33, 90), 33, torch.full((33,), RANKS - 1)),
    "one node": lambda: (torch.tensor([[0, 0], [0, 0]]), 1, None),
    "without edges": lambda: (torch.empty(2, 0, dtype=torch.int64), 5, "ranges"),
    "without nodes": lambda: (torch.empty(2, 0, dtype=torch.int64), 0, "ranges"),
}


# ------------------------------------------------------------------------------ comparison


def drawn(*shape, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape) + len(shape)), dtype=dtype)


def close(found, wanted, what):
    """Compare with a bound for sums of as many terms as a row may have."""
    scale = wanted.abs().max().item() if wanted.numel() else 1.0
    bound = 4096 * torch.finfo(wanted.dtype).eps * max(scale, 1.0)
    assert found.shape == wanted.shape and found.dtype == wanted.dtype, f"{what}: {found.shape} {found.dtype}, expected {wanted.shape} {wanted.dtype}"
    assert not found.numel() or (found - wanted).abs().max().item() <= bound, f"{what}: apart by {(found - wanted).abs().max().item()}, at most {bound}"


def leaves(tensors):
    return [x.clone().requires_grad_() for x in tensors]


def compare(graph, whole, ours, theirs, sources, targets=(), edges=(), parameters=(), what=""):
    """Compare a result and its gradients on this rank with what the whole graph gives. ours, theirs: of the operands, in the order of sources, targets and edges."""
    own, mine = graph.owned, graph.edges
    at_columns = graph.columns[:graph.columns.numel() - graph.ghosts.numel()]
    here = leaves([*(x[at_columns] for x in sources), *(x[own] for x in targets), *(x[mine] for x in edges)])
    there = leaves([*sources, *targets, *edges])
    found, wanted = ours(graph, *here), theirs(whole, *there)
    weight = drawn(*wanted.shape, dtype=wanted.dtype)
    rows = own if wanted.shape[0] == graph.shape[0] else mine
    close(found, wanted[rows], f"{what}: result")
    got = torch.autograd.grad(found, [*here, *parameters], weight[rows], allow_unused=True, materialize_grads=True)
    due = torch.autograd.grad(wanted, [*there, *parameters], weight, allow_unused=True, materialize_grads=True)
    places = [at_columns] * len(sources) + [own] * len(targets) + [mine] * len(edges)
    for number, (one, other, place) in enumerate(zip(got, due, places)):
        close(one, other[place], f"{what}: gradient {number}")
    for number, (one, other) in enumerate(zip(got[len(here):], due[len(here):])):
        one = one.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(one)
        close(one, other, f"{what}: parameter {number}")


def operations(name, dtype=torch.float64):
    """Message passing, attention and products, each against the whole graph."""
    edges, nodes, owner = GRAPHS[name]()
    graph = partition(edges if RANK == 0 else None, nodes, owner=owner if RANK == 0 else None)
    whole = Pattern.from_edge_index(edges, nodes)
    x, y, heads = drawn(nodes, 5, dtype=dtype), drawn(nodes, 3, 4, dtype=dtype), [drawn(nodes + k, 3, 4, dtype=dtype)[k:] for k in range(3)]
    nnz = edges.shape[1]
    number, each, vector, vectors = drawn(nnz, dtype=dtype), drawn(nnz, 3, dtype=dtype), drawn(nnz, 5, dtype=dtype), drawn(nnz, 3, 4, dtype=dtype)
    for reduce in ("sum", "mean", "max", "min"):
        compare(graph, whole, lambda g, x: g.apply(lambda p, u, v: message(p, "copy_u", u, None, reduce), x), lambda p, x: message(p, "copy_u", x, None, reduce), [x],
                what=f"{name} copy_u {reduce}")
        for op in ("add", "sub", "mul", "add_relu"):
            for u, e in ((x, number), (x, vector), (y, each), (y, vectors)):
                compare(graph, whole, lambda g, u, e: g.apply(lambda p, u, v, e: message(p, op, u, e, reduce), u, edges=e),
                        lambda p, u, e: message(p, op, u, e, reduce), [u], edges=[e], what=f"{name} {op} {reduce} {tuple(e.shape)}")
        compare(graph, whole, lambda g, u, v, e: g.apply(lambda p, u, v, e: message(p, "silu(u - v) * e", u, e, reduce, v=v), u, v, e),
                lambda p, u, v, e: message(p, "silu(u - v) * e", u, e, reduce, v=v), [x], [drawn(nodes + 1, 5, dtype=dtype)[1:]], [vector], what=f"{name} expression {reduce}")
    q, k, v = heads
    compare(graph, whole, lambda g, k, v, q, e, b: g.apply(lambda p, kv, q, e, b: graph_attention(p, q, *kv, e, b), (k, v), q, (e, b)),
            lambda p, k, v, q, e, b: graph_attention(p, q, k, v, e, b), [k, v], [q], [vectors, each], what=f"{name} graph_attention")
    compare(graph, whole, lambda g, k, v, q: graph_attention(g.pattern, q, *g.exchange(k, v)), lambda p, k, v, q: graph_attention(p, q, k, v), [k, v], [q],
            what=f"{name} graph_attention after an exchange")
    compare(graph, whole, lambda g, x, w: g.apply(lambda p, u, v, w: spmm(p, u, w), x, edges=w), lambda p, x, w: spmm(p, x, w), [x], edges=[number], what=f"{name} spmm")

    def attended(p, kv, q):
        return attention(*(t.transpose(0, 1) for t in (q, *kv)), p).transpose(0, 1)

    compare(graph, whole, lambda g, k, v, q: g.apply(attended, (k, v), q), lambda p, k, v, q: attended(p, (k, v), q), [k, v], [q], what=f"{name} attention")
    compare(graph, whole, lambda g, x, y: g.apply(lambda p, u, v: fused(p, v, u, u, edge="softmax"), x, y), lambda p, x, y: fused(p, y, x, x, edge="softmax"), [x],
            [drawn(nodes + 1, 5, dtype=dtype)[1:]], what=f"{name} fused")
    compare(graph, whole, lambda g, x: g.apply(lambda p, u, v: edge_op(p, "sub", v, u), x), lambda p, x: edge_op(p, "sub", x, x), [x], what=f"{name} edge_op")
    compare(graph, whole, lambda g, x, y: sddmm(g.pattern, y, g.exchange(x)), lambda p, x, y: sddmm(p, y, x), [x], [drawn(nodes + 1, 5, dtype=dtype)[1:]],
            what=f"{name} sddmm")

    def twice(g, x, e):
        """Two layers, the first of which is read twice, with an exchange that waits while another is made."""
        first = g.apply(lambda p, u, v, e: message(p, "mul", u, e), x, edges=e).tanh()
        begun = g.begin(first)
        other = message(g.pattern, "copy_u", g.exchange(x * first), None, "mean")
        return message(g.pattern, "mul", begun.finish(), e) + other

    def twice_whole(p, x, e):
        first = message(p, "mul", x, e).tanh()
        return message(p, "mul", first, e) + message(p, "copy_u", x * first, None, "mean")

    compare(graph, whole, twice, twice_whole, [x], edges=[number], what=f"{name} twice")


def all_operations():
    for name in GRAPHS:
        operations(name)


def other_types():
    operations("mesh", torch.float32)
    edges, nodes, _ = GRAPHS["power law"]()
    graph = partition(edges, nodes)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.int64, torch.int32, torch.bool):  # rows come as they are
        x = (drawn(nodes, 2, 3) * 10).to(dtype)
        assert torch.equal(graph.exchange(x[graph.owned]), x[graph.columns]), dtype
    one, other = graph.exchange(drawn(nodes)[graph.owned], drawn(nodes, 0)[graph.owned])
    assert torch.equal(one, drawn(nodes)[graph.columns]) and other.shape == (graph.columns.numel(), 0)


def layers():
    """Layers of the package, and of PyTorch Geometric where it is, with self-loops, weights and features of edges, and their parameters' gradients."""
    made = {"SAGEConv": (lambda: pyg.SAGEConv(5, 6, aggr="max"), None), "GraphConv": (lambda: pyg.GraphConv(5, 6), "number"), "GINConv": (lambda: pyg.GINConv(torch.nn.Linear(5, 6)), None),
            "GINEConv": (lambda: pyg.GINEConv(torch.nn.Linear(5, 6), edge_dim=4), "features"), "GATConv": (lambda: pyg.GATConv(5, 3, heads=2, edge_dim=4, residual=True), "features"),
            "GATConv mean": (lambda: pyg.GATConv(5, 3, heads=2, concat=False), None), "GATv2Conv": (lambda: pyg.GATv2Conv(5, 3, heads=2, share_weights=True), None),
            "GATv2Conv features": (lambda: pyg.GATv2Conv(5, 3, heads=2, edge_dim=4), "features"), "TransformerConv": (lambda: pyg.TransformerConv(5, 3, heads=2, edge_dim=4, beta=True), "features"),
            "NNConv": (lambda: pyg.NNConv(5, 2, torch.nn.Linear(4, 10)), "features"),
            "NNConv in one step": (lambda: pyg.NNConv(5, 2, torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 10)), "mean"), "features"), "EdgeConv": (lambda: pyg.EdgeConv(torch.nn.Linear(10, 3)), None),
            "GMMConv": (lambda: pyg.GMMConv(5, 3, 4, 2), "features"), "GENConv": (lambda: pyg.GENConv(5, 6, edge_dim=4, norm="layer"), "features")}
    for name in ("mesh", "power law by chance", "without ghosts", "one rank has all"):
        edges, nodes, owner = GRAPHS[name]()
        graph = partition(edges, nodes, owner=owner)
        operands = {None: [], "number": [drawn(edges.shape[1])], "features": [drawn(edges.shape[1], 4)]}
        whole = Pattern.from_edge_index(edges, nodes)
        for kind, (make, of_edges) in made.items():
            torch.manual_seed(4)
            layer = make().double()
            parameters = list(layer.parameters())
            compare(graph, whole, lambda g, x, *e: g.layer(layer, x, *e), lambda p, x, *e: layer(x, p, *e), [drawn(nodes, 5)], edges=operands[of_edges], parameters=parameters,
                    what=f"{name} {kind}")
        for make in (lambda: nn.DotGATConv(5, 3, 2), lambda: nn.GATConv(5, 3, 2), lambda: nn.AGNNConv(0.7), lambda: nn.GraphConv(5, 3), lambda: nn.GraphConv(5, 3, "left")):
            torch.manual_seed(4)
            layer = make().double()
            compare(graph, whole, lambda g, x: g.apply(lambda p, u, v: layer(p, (u, v)), x), lambda p, x: layer(p, x), [drawn(nodes, 5)], parameters=list(layer.parameters()),
                    what=f"{name} nn.{type(layer).__name__}")


class Network(torch.nn.Module):
    """Three layers, of which one reads edges, on a pattern or on a partitioned graph."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.layers = torch.nn.ModuleList([pyg.GATConv(5, 4, heads=2, edge_dim=4), pyg.SAGEConv(8, 8, "mean"), pyg.GraphConv(8, 3, "mean")])

    def forward(self, graph, x, e):
        for number, layer in enumerate(self.layers):
            edges = (e,) if number == 0 else ()
            x = layer(x, graph, *edges) if isinstance(graph, Pattern) else graph.layer(layer, x, *edges)
            x = x if number == 2 else x.tanh()
        return x


def training():
    """Steps of training under DistributedDataParallel, with the parameters and losses of one process."""
    for name in ("mesh", "power law by chance", "one rank has all", "without ghosts"):
        edges, nodes, owner = GRAPHS[name]()
        graph, whole = partition(edges, nodes, owner=owner), Pattern.from_edge_index(edges, nodes)
        x, e, y = drawn(nodes, 5), drawn(edges.shape[1], 4), drawn(nodes, 3)
        ours, theirs = torch.nn.parallel.DistributedDataParallel(Network().double()), Network().double()
        steps = [torch.optim.SGD(net.parameters(), lr=0.05) for net in (ours, theirs)]
        for step in range(3):
            loss = (ours(graph, x[graph.owned], e[graph.edges]) - y[graph.owned]).square().sum() / nodes
            due = (theirs(whole, x, e) - y).square().sum() / nodes
            for optimizer, one in zip(steps, (loss * RANKS, due)):  # DistributedDataParallel divides the sum by the number of ranks
                optimizer.zero_grad()
                one.backward()
                optimizer.step()
            total = loss.detach().clone()
            dist.all_reduce(total)
            close(total, due.detach(), f"{name}: loss of step {step}")
        for (called, one), other in zip(ours.module.named_parameters(), theirs.parameters()):
            close(one.detach(), other.detach(), f"{name}: {called}")


def bipartite():
    """A graph between two kinds of nodes, there and back, as from a grid to a mesh."""
    draw = torch.Generator().manual_seed(6)
    rows, cols = 41, 67
    whole = Pattern.from_coo(torch.randint(rows, (300,), generator=draw), torch.randint(cols, (300,), generator=draw), (rows, cols))
    owner, column_owner = torch.arange(rows) % RANKS, torch.arange(cols) * RANKS // cols
    graph = partition(whole, owner=owner, column_owner=column_owner)
    back = partition(whole.T, owner=column_owner, column_owner=graph.owner)
    compare(graph, whole, lambda g, u, v, e: g.apply(lambda p, u, v, e: message(p, "u * sigmoid(v + e)", u, e, "mean", v=v), u, v, e),
            lambda p, u, v, e: message(p, "u * sigmoid(v + e)", u, e, "mean", v=v), [drawn(cols, 4)], [drawn(rows, 4)], [drawn(300, 4)], what="bipartite")
    torch.manual_seed(1)
    layer = pyg.SAGEConv((4, 4), 3).double()
    compare(graph, whole, lambda g, u, v: g.layer(layer, (u, v)), lambda p, u, v: layer((u, v), p), [drawn(cols, 4)], [drawn(rows, 4)], parameters=list(layer.parameters()),
            what="bipartite SAGEConv")
    assert torch.equal(back.owned.sort().values, (column_owner == RANK).nonzero().squeeze(1))
    x, wanted = drawn(cols, 4), message(whole.T, "copy_u", message(whole, "copy_u", drawn(cols, 4)))
    middle = graph.apply(lambda p, u, v: message(p, "copy_u", u), x[graph.columns[:graph.columns.numel() - graph.ghosts.numel()]])
    middle = middle[graph.owned.argsort()]  # the columns of the other graph are in the order of their numbers
    close(back.apply(lambda p, u, v: message(p, "copy_u", u), middle), wanted[back.owned], "there and back")


def scattered():
    """Whole tensors on rank 0, in parts, and back; and what a part is."""
    for name in GRAPHS:
        edges, nodes, owner = GRAPHS[name]()
        first = RANK == 0
        graph = partition(edges if first else None, nodes, owner=owner if first else None)
        for x in (drawn(nodes, 3), drawn(nodes).long(), drawn(nodes, 2, 0)):
            assert torch.equal(graph.scatter(x if first else None), x[graph.owned])
            back = graph.gather(x[graph.owned])
            assert torch.equal(back, x) if first else back is None
        values = drawn(edges.shape[1], 2)
        assert torch.equal(graph.scatter(values if first else None, edges=True), values[graph.edges])
        back = graph.gather(values[graph.edges], edges=True)
        assert torch.equal(back, values) if first else back is None
        rows = graph.pattern._rows().long()
        assert torch.equal(graph.columns[graph.pattern.columns.long()], edges[0][graph.edges].long()) and torch.equal(graph.owned[rows], edges[1][graph.edges].long())
        assert (graph.owner[graph.owned] == RANK).all() and (graph.column_owner[graph.ghosts] != RANK).all() and graph.shape == (nodes, nodes)
        inside = graph.pattern.columns.long()[rows < graph.interior]
        assert (inside < graph.owned.numel()).all() and torch.unique(rows[graph.pattern.columns >= graph.owned.numel()]).numel() == graph.owned.numel() - graph.interior
        counts = torch.tensor([graph.owned.numel(), graph.edges.numel()])
        dist.all_reduce(counts)
        assert counts.tolist() == [nodes, edges.shape[1]]


def metis():
    """Parts of a mesh are about equally large and have short borders."""
    edges = mesh(40, 40)
    graph = partition(shuffled(edges), 1600)
    assert abs(graph.edges.numel() - edges.shape[1] / RANKS) <= 0.06 * edges.shape[1] / RANKS and graph.ghosts.numel() <= 130
    chance = partition(edges, 1600, owner=torch.randint(RANKS, (1600,), generator=torch.Generator().manual_seed(1)))
    assert RANKS == 1 or chance.ghosts.numel() > 4 * graph.ghosts.numel()
    assert RANKS == 1 or (graph.split and not chance.split)


def second_derivatives():
    """A penalty of a gradient, whose gradient crosses ranks three times."""
    edges, nodes, _ = GRAPHS["mesh"]()
    graph, whole = partition(edges, nodes), Pattern.from_edge_index(edges, nodes)

    def penalty(x, e, run):
        first, = torch.autograd.grad(run(x, e).square().sum(), x, create_graph=True)
        return first

    def parts(x, e):
        return graph.apply(lambda p, u, v, e: message(p, "mul", u, e), graph.apply(lambda p, u, v, e: message(p, "mul", u, e), x, edges=e).tanh(), edges=e)

    x, e = drawn(nodes, 3), drawn(edges.shape[1])
    here, there = leaves([x[graph.owned], e[graph.edges]]), leaves([x, e])
    found = penalty(*here, parts)
    wanted = penalty(*there, lambda x, e: message(whole, "mul", message(whole, "mul", x, e).tanh(), e))
    close(found, wanted[graph.owned], "first derivative")
    got, due = (torch.autograd.grad(one.square().sum(), both) for one, both in ((found, here), (wanted, there)))
    close(got[0], due[0][graph.owned], "second derivative of x")
    close(got[1], due[1][graph.edges], "second derivative of e")
    with torch.autograd.detect_anomaly(check_nan=True):
        parts(*here).sum().backward()
    assert graph.exchange(x[graph.owned].requires_grad_()).requires_grad and not torch.no_grad()(graph.exchange)(x[graph.owned].requires_grad_()).requires_grad


def same_bits():
    """Results and gradients have the same bits each time, and results those of one process."""
    edges, nodes, _ = GRAPHS["power law"]()
    graph, whole = partition(edges, nodes), Pattern.from_edge_index(edges, nodes)
    x, e = drawn(nodes, 7, dtype=torch.float32), drawn(edges.shape[1], 7, dtype=torch.float32)
    seen = []
    for _ in range(3):
        here = leaves([x[graph.owned], e[graph.edges]])
        out = graph.apply(lambda p, u, v, e: message(p, "mul", u, e), here[0], edges=here[1])
        seen.append([out.detach(), *torch.autograd.grad(out.square().sum(), here)])
    for other in seen[1:]:
        assert all(map(torch.equal, seen[0], other))
    wanted = message(whole, "copy_u", x, None, "max")
    assert torch.equal(graph.apply(lambda p, u, v: message(p, "copy_u", u, None, "max"), x[graph.owned]), wanted[graph.owned])


class Noted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, log, name):
        ctx.given = log, name
        log.append(name)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        log, name = ctx.given
        log.append(name)
        return grad, None, None


def overlap():
    """Forward and backward, the interior is computed between the beginning of an exchange and its end."""
    from tamis.torch import _ghosts
    edges, nodes, _ = GRAPHS["mesh"]()
    graph, log = partition(edges, nodes), []
    for name in ("start", "landed"):
        def noted(flight, *given, inner=getattr(_ghosts._Flight, name), name=name):
            log.append(name)
            return inner(flight, *given)

        setattr(_ghosts._Flight, name, noted)
    x = drawn(nodes, 3)[graph.owned].requires_grad_()
    out = x
    for _ in range(2):
        out = graph.apply(lambda p, u, v: Noted.apply(message(p, "copy_u", u), log, "inside" if p is graph._inside else "outside"), out)
    assert log == ["start", "inside", "landed", "outside"] * 2, log
    log.clear()
    out.sum().backward()
    assert log == ["outside", "start", "inside", "landed"] * 2, log


def checkpointed():
    """Layers that are computed again in the backward pass, and mixed precision."""
    from torch.utils.checkpoint import checkpoint
    edges, nodes, _ = GRAPHS["mesh"]()
    graph, whole = partition(edges, nodes), Pattern.from_edge_index(edges, nodes)
    torch.manual_seed(1)
    layer = pyg.SAGEConv(5, 5).double()
    compare(graph, whole, lambda g, x: checkpoint(lambda x: g.layer(layer, x), x, use_reentrant=False), lambda p, x: layer(x, p), [drawn(nodes, 5)],
            parameters=list(layer.parameters()), what="checkpoint")
    layer, x = pyg.SAGEConv(5, 5), drawn(nodes, 5, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found, wanted = graph.layer(layer, x[graph.owned]), layer(x, whole)
    assert found.dtype == torch.bfloat16 and torch.equal(found, wanted[graph.owned])


def mixed_precision():
    """The backward pass may run within autocast: gradients keep their types."""
    edges, nodes, _ = GRAPHS["mesh"]()
    graph, whole = partition(edges, nodes), Pattern.from_edge_index(edges, nodes)
    here, there = leaves([drawn(nodes, 4, dtype=torch.float32)[graph.owned]]), leaves([drawn(nodes, 4, dtype=torch.float32)])
    message(whole, "copy_u", there[0], None, "max").square().sum().backward()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        graph.apply(lambda p, u, v: message(p, "copy_u", u.float(), None, "max").float(), here[0]).square().sum().backward()
    assert here[0].grad.dtype == torch.float32
    bound = 64 * torch.finfo(torch.bfloat16).eps * max(1.0, there[0].grad.abs().max().item())  # features were rounded to 16 bits for the maximum
    assert (here[0].grad - there[0].grad[graph.owned]).abs().max().item() <= bound if graph.owned.numel() else True


def ties():
    """A function whose result has no gradient on one rank, where the others wait for it."""
    edges, nodes, _ = GRAPHS["mesh"]()
    graph = partition(edges, nodes)
    x, = leaves([drawn(nodes, 3)[graph.owned]])
    out = graph.apply(lambda p, u, v: message(p, "copy_u", u) if RANK else u.new_ones(p.rows, 3), x)
    assert out.requires_grad == (RANK > 0 or RANKS > 1)
    if out.requires_grad:
        out.sum().backward()
        counts = torch.zeros(nodes, 3, dtype=x.dtype).index_add_(0, edges[0], (graph.owner[edges[1]] != 0).to(x.dtype).unsqueeze(1).expand(-1, 3))
        close(x.grad, counts[graph.owned], "gradient of what other ranks read")


def copies():
    """Copies of a pattern know the degrees of the whole graph and what its rows and columns are; tensors that a function changes are the caller's."""
    edges, nodes, _ = GRAPHS["power law"]()
    graph = partition(edges, nodes)
    for copied in (copy.deepcopy(graph.pattern), pickle.loads(pickle.dumps(graph.pattern))):
        assert torch.equal(copied.out_degrees, torch.bincount(edges[0], minlength=nodes)[graph.columns]) and not copied.apart
    x = drawn(nodes, 3)[graph.owned]
    refused(ValueError, ["function changed", "in place"], graph.apply, lambda p, u, v: message(p, "copy_u", u.relu_()), x.clone())
    refused(ValueError, ["function changed", "in place"], graph.apply, lambda p, u, v, e: message(p, "mul", u, e.neg_()), x, edges=drawn(edges.shape[1])[graph.edges])
    with torch.inference_mode():
        graph.apply(lambda p, u, v: message(p, "copy_u", u), x.clone())


def layers_of_pyg():
    """Layers of PyTorch Geometric take the same pairs."""
    from torch_geometric import nn as theirs
    edges, nodes, _ = GRAPHS["mesh"]()
    graph, whole = partition(edges, nodes), Pattern.from_edge_index(edges, nodes)
    features = [drawn(edges.shape[1], 4)]
    for make, of_edges in ((lambda: theirs.SAGEConv(5, 6), []), (lambda: theirs.GATConv(5, 3, heads=2, edge_dim=4), features), (lambda: theirs.GATv2Conv(5, 3, edge_dim=4), features),
                           (lambda: theirs.GINEConv(torch.nn.Linear(5, 6), edge_dim=4), features), (lambda: theirs.TransformerConv(5, 3, edge_dim=4), features),
                           (lambda: theirs.EdgeConv(torch.nn.Linear(10, 3)), [])):
        torch.manual_seed(4)
        layer = make().double()
        compare(graph, whole, lambda g, x, *e: g.layer(layer, x, *e), lambda p, x, *e: layer(x, edges, *e), [drawn(nodes, 5)], edges=of_edges,
                parameters=list(layer.parameters()), what=f"torch_geometric.nn.{type(layer).__name__}")


def released():
    """A group that was destroyed is nowhere kept."""
    from tamis.torch import _ranks
    group = dist.new_group(list(range(RANKS)))
    partition(*GRAPHS["mesh"]()[:2], group=group)
    assert group in _ranks._known
    dist.barrier()
    dist.destroy_process_group(group)
    until = time.monotonic() + 60
    while RANKS > 1 and group in _ranks._known and time.monotonic() < until:
        time.sleep(0.1)
    partition(*GRAPHS["mesh"]()[:2])
    assert group not in _ranks._known


# ------------------------------------------------------------------------------ what is wrong


def refused(error, words, call, *given, **named):
    """Expect an error with these words on every rank."""
    try:
        call(*given, **named)
    except error as caught:
        for word in words:
            assert word in str(caught), f"{word!r} is not in: {caught}"
        return
    raise AssertionError(f"no error with {words}")


def refusals():
    """One rank passes something wrong: all ranks raise an error that names it, at once, and can go on."""
    edges, nodes, _ = GRAPHS["mesh"]()
    last, wrong = RANKS - 1, RANK == RANKS - 1
    refused(ValueError, [f"rank {last}", "edge_index has shape (3, 7)"], partition, torch.zeros(3, 7, dtype=torch.int64) if wrong else edges, nodes)
    refused(TypeError, [f"rank {last}", "graph is a list"], partition, [1] if wrong else edges, nodes)
    refused(ValueError, [f"rank {last}", "graph has other edges"], partition, edges.flip(1) if wrong else edges, nodes)
    refused(ValueError, [f"rank {last}", "graph has other edges"], partition, edges, nodes + wrong)
    refused(TypeError, ["rank 0", "graph is a NoneType"], partition, None if RANK == 0 else edges, nodes)
    refused(ValueError, ["rank 0", "owner = 'metis'", "'ranges'"], partition, edges, nodes, owner="metis")
    refused(ValueError, ["rank 0", f"expected 0 to {RANKS - 1}"], partition, edges, nodes, owner=torch.full((nodes,), RANKS))
    refused(ValueError, ["rank 0", "shape (3,)"], partition, edges, nodes, owner=[0, 0, 0])
    refused(ValueError, ["rank 0", "column_owner"], partition, Pattern.from_coo(torch.tensor([0]), torch.tensor([1]), (2, 3)))
    refused(ValueError, ["rank 0", "graph has values"], partition, Pattern.from_torch(torch.eye(3).to_sparse_csr()) if RANK == 0 else None)
    graph = partition(edges, nodes)
    x = drawn(nodes, 4)[graph.owned]
    refused(ValueError, ["rank", "features (3,)", "features (4,)", "same calls"], graph.exchange, x[:, :3] if wrong else x)
    assert torch.equal(graph.exchange(x), drawn(nodes, 4)[graph.columns])  # all is well after it
    refused(ValueError, ["float32", "float64"], graph.exchange, x.float() if wrong else x)
    refused(ValueError, ["with gradients"], graph.exchange, x.clone().requires_grad_(wrong))
    refused(ValueError, [f"rank {last}", "rows on rank 0" if last == 0 else "one for each of the rank's nodes"], graph.gather, x[1:] if wrong else x)
    refused(ValueError, ["rank 0", f"expected {nodes} rows"], graph.scatter, drawn(nodes + 1) if RANK == 0 else None)
    other = partition(edges, nodes, owner="ranges")
    y = drawn(nodes, 4)[other.owned]
    refused(ValueError, ["graph "], *((graph.exchange, x) if wrong else (other.exchange, y)))
    refused(ValueError, ["edges[0] has shape (2,)"], graph.apply, lambda p, u, v, e: u, x, edges=torch.ones(2))  # on every rank
    refused(ValueError, ["edges[0] has shape (2,)"], graph.apply, lambda p, u, v, e: u, x, edges=torch.ones(2) if wrong else drawn(graph.edges.numel()))
    refused(ValueError, [f"on rank {last}: expected" if wrong else f"rank {last} step", "x has shape"], graph.exchange, torch.ones(nodes + 5, 2) if wrong else x)
    refused(TypeError if wrong else ValueError, ["x is a int"], graph.exchange, 3 if wrong else x)
    refused(ValueError, ["x has shape", "one for each node that the rank owns"], graph.exchange, torch.ones(nodes + 5, 2))
    refused(ValueError, ["function returned a tensor of shape (1,)"], graph.apply, lambda p, u, v: u.new_ones(1), x)
    assert torch.equal(graph.exchange(x), drawn(nodes, 4)[graph.columns])


def mistakes():
    """The same, of calls that compute nothing in parts, that ranks would mix up, or that only one rank cannot do."""
    edges, nodes, _ = GRAPHS["mesh"]()
    last, wrong = RANKS - 1, RANK == RANKS - 1
    graph = partition(edges, nodes)
    x = drawn(nodes, 4)[graph.owned]
    many = [x[:, :1]] * 60
    refused(ValueError, ["float64", "float32"], graph.exchange, *([one.float() for one in many] if wrong else many))
    refused(ValueError, ["step", "features"], graph.exchange, *many[1:], x[:, :2] if wrong else x[:, :1])  # beyond what a message shows
    refused(ValueError, ["gather", "graph "], *((graph.gather, x) if wrong else (graph.exchange, x)))
    refused(ValueError, ["gather", "graph "], *((partition, edges, nodes) if wrong else (graph.exchange, x)))
    refused(ValueError, [f"rank {last}", "device = 'cuda:77'"], partition, edges, nodes, device="cuda:77" if wrong else "cpu")
    refused(ValueError, [f"rank {last}", "timeout = -1"], partition, edges, nodes, timeout=-1 if wrong else None)
    refused(ValueError, ["rank 0", "torch.sparse_coo"], graph.scatter, drawn(nodes, 2).to_sparse() if RANK == 0 else None)
    refused(ValueError, [f"rank {last}", "torch.sparse_coo"], graph.gather, x.to_sparse() if wrong else x)
    refused(TypeError if wrong else ValueError, ["torch.sparse_coo"], graph.exchange, x.to_sparse() if wrong else x)
    refused(TypeError, ["complex128", "view_as_real"], graph.exchange, x.to(torch.complex128))
    assert partition(edges, nodes, timeout=50)._link.timeout == 50 and partition(edges, nodes)._link.timeout is None and graph._link.timeout is None
    for layer in (pyg.GENConv(4, 4), pyg.GINConv(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)))):
        refused(ValueError, ["BatchNorm", "SyncBatchNorm"], graph.layer, layer.double(), x)
        graph.layer(layer.eval(), x)  # by what was learnt, of each node
    refused(ValueError, ["x is a pair"], graph.layer, pyg.GatedGraphConv(4, 2).double(), x)
    between = partition(edges, nodes, owner=torch.arange(nodes) % RANKS, column_owner=(torch.arange(nodes) + 1) % RANKS)
    u = drawn(nodes, 4)[between.columns[:between.columns.numel() - between.ghosts.numel()]]
    v, layer = drawn(nodes, 4)[between.owned], pyg.GATConv((4, 4), 3).double()
    refused(ValueError, ["add_self_loops=False"], between.layer, layer, (u, v))
    refused(ValueError, ["add_self_loops=False"], between.apply, lambda p, u, v: layer((u, v), p), u, v)
    refused(ValueError, ["add_self_loops=False"], between.pattern.add_self_loops)
    assert torch.equal(graph.exchange(x), drawn(nodes, 4)[graph.columns])


def main():
    global RANK, RANKS
    RANK, RANKS = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    tamis.set_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[3]}", rank=RANK, world_size=RANKS, timeout=datetime.timedelta(seconds=120))
    for case in sys.argv[4:]:
        began = time.monotonic()
        if getattr(lost_ranks, case)(RANK) if hasattr(lost_ranks, case) else globals()[case]():
            return
        print(f"rank {RANK}: {case} in {time.monotonic() - began:.1f} s", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
