"""Ranks that end, or do not come: cases of partitioned.py. Each is a function of the rank; True: it ends without waiting for the others."""
from __future__ import annotations

import os
import sys
import time

import torch
import torch.distributed as dist

from tamis.torch import _ranks
from tamis.torch.distributed import partition


def die():
    with open(f"{sys.argv[3]}.killed", "w") as file:
        file.write(str(time.monotonic()))
    os.kill(os.getpid(), 9)


def a_graph(timeout=60):
    """A ring, in ranges, and four features of each own node."""
    nodes = torch.arange(221)
    graph = partition(torch.stack([nodes, nodes.roll(1)]), 221, owner="ranges", timeout=timeout)
    return graph, torch.arange(884.0).reshape(221, 4)[graph.owned]


def machines(rank):
    """Make each pair of ranks one of a machine of its own."""
    own = _ranks._this_process
    _ranks._this_process = lambda: own()._replace(machine=f"machine {rank // 2}")


def killed(rank):
    """Rank 1 is killed between two steps; the others wait in an exchange."""
    graph, x = a_graph()
    for step in range(4):
        if step == 3 and rank == 1:
            die()
        graph.exchange(x)


def killed_backward(rank):
    graph, x = a_graph()
    out = graph.exchange(x.requires_grad_())
    if rank == 1:
        die()
    out.sum().backward()


def killed_elsewhere(rank):
    """The others do not come to a call of ours. A process that rank 1 forks before ends well."""
    a_graph()
    if rank == 1:
        child = os.fork()
        if child == 0:
            sys.exit(0)
        os.waitpid(child, 0)
        die()
    time.sleep(60)


def killed_far_away(rank):
    """The same, where the store tells the others."""
    machines(rank)
    killed_elsewhere(rank)


def exits(rank):
    """Rank 1 ends with a code, while the others are elsewhere."""
    a_graph()
    if rank == 1:
        sys.exit(3)
    time.sleep(60)


def fails_far_away(rank):
    """Rank 3 fails, whose machine is another one."""
    machines(rank)
    a_graph()
    if rank == 3:
        raise ValueError("an error of the program")
    time.sleep(60)


def ends_early(rank):
    """Rank 1 ends by itself, while the others wait for it."""
    graph, x = a_graph()
    if rank == 1:
        return True
    graph.exchange(x)


def finishes_first(rank):
    """Rank 0 ends well, after an error that was handled, and the others still write something, on its machine and on another one: they end well too."""
    machines(rank)
    graph, x = a_graph()
    graph.exchange(x)
    dist.barrier()
    try:
        sys.exit(2)
    except SystemExit:
        graph.exchange(x)
    time.sleep(8 * (rank > 0))
    return True


def all_fail(rank):
    """All raise alike, and no file stays."""
    a_graph()
    raise ValueError("an error of the program")


def absent(rank):
    """Rank 1 does something else."""
    graph, x = a_graph(timeout=12)
    dist.barrier()
    if rank == 1:
        time.sleep(60)
    graph.exchange(x)


def as_on_gpus(rank):
    """Two calls that were made before, which are announced without a wait, as of rows on GPUs."""
    graph, _ = a_graph(timeout=2)
    graph._ranks.nccl = True
    for what in ("one", "other"):
        graph._ranks._announce(what, True)
    return graph._ranks


def differs_later(rank):
    """Rank 1 begins another call than the others, and none comes to a call that would find it."""
    ranks = as_on_gpus(rank)
    ranks._announce("other" if rank == 1 else "one", True)
    time.sleep(60)


def differs_for_ever(rank):
    """The same, and a program that goes on in spite of the error."""
    ranks = as_on_gpus(rank)
    ranks._announce("other" if rank == 1 else "one", True)
    for _ in range(2):
        try:
            ranks.begin(torch.ones(1, 1), [0] * ranks.count, [0] * ranks.count, "one")
        except ValueError as error:
            found = str(error)
            continue
        raise AssertionError("no error")
    assert "cannot go on" in found
    raise ValueError(found)


def absent_later(rank):
    """Rank 1 does not come, and the others do not wait for it in a call."""
    ranks = as_on_gpus(rank)
    if rank != 1:
        ranks._announce("one", True)
    time.sleep(60)
