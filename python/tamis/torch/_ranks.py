"""Ranks of a process group of torch.distributed: what all agree on before they exchange, waits that end when a rank does, and the end of a rank that is killed.

A collective that one rank calls with another shape hangs, or gives it half of its result. So each is announced first, by a line of text that must be the same on all
ranks. A rank of the same machine is seen to end by the system's list of processes; ranks of others learn it by the store of the process group.
"""
from __future__ import annotations

import atexit
import contextlib
import datetime
import os
import pickle
import socket
import sys
import tempfile
import threading
import time
from typing import Any, Callable, Iterator, NamedTuple, Optional

import torch
import torch.distributed as dist
from torch import Tensor

from .. import _errors

TEXT = 192  # bytes of an announcement
LOOK = 0.5  # seconds between two looks at the other ranks
SLICE = datetime.timedelta(seconds=LOOK)
GRACE = 5.0  # seconds that a program has to come to a call of ours, which raises, before its process is ended
PATIENT = 5.0  # seconds of a wait after which a rank says where it waits


# ------------------------------------------------------------------------------ processes


class Process(NamedTuple):
    """A rank's process: where its number counts, the number, and a file that is there until it ends by itself."""

    machine: str
    host: str
    pid: int
    started: str
    file: str


def _stat(pid: int) -> tuple[str, str]:
    """Return the state of a process and when it started; it has ended where there is no such file."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return fields[0], fields[19]


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _this_process() -> Process:
    try:
        space, started = os.readlink("/proc/self/ns/pid"), _stat(os.getpid())[1]
    except OSError:  # another system than Linux: the ends of ranks are not seen
        space, started = f"{os.getpid()} of its own", ""
    handle, file = tempfile.mkstemp(prefix="tamis-rank-")
    os.close(handle)
    atexit.register(_leave, file)
    return Process(f"{_read('/proc/sys/kernel/random/boot_id')} {socket.gethostname()} {space}", socket.gethostname(), os.getpid(), started, file)


def _leave(file: str) -> None:
    """Say that this process ends by itself, unless an exception ends it."""
    if getattr(sys, "last_type", None) is None:
        _remove(file)


def _remove(file: str) -> None:
    try:
        os.unlink(file)
    except OSError:
        pass


def _has_ended(process: Process) -> bool:
    try:
        state, started = _stat(process.pid)
    except OSError:
        return True
    return state in "ZX" or started != process.started


class Watch:
    """A thread that looks whether the processes of the other ranks are there. If one was killed, this process ends as well: by an error of the next call, or, where it
    does not come to one, with a message."""

    def __init__(self, rank: int, processes: list[Process], store: Any, prefix: str):
        self.ended: Optional[str] = None  # the first rank that has ended, in words
        self._rank, self._processes, self._store, self._prefix, self._told = rank, processes, store, prefix, False
        self._here = [r for r, one in enumerate(processes) if r != rank and one.machine == processes[rank].machine]
        self._away = [r for r, one in enumerate(processes) if one.machine != processes[rank].machine]
        self._stale: list[tuple[str, float]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tamis ranks", daemon=True)
        self._thread.start()
        atexit.register(self._leave)  # a thread that Python ends itself, within a call of C++, would end the process

    def _leave(self) -> None:
        self._stop.set()
        self._thread.join()
        self._store = None
        self._clear()

    def _clear(self) -> None:
        """Remove the files of processes that were killed, and this one's if it ends therefore, once the others have seen them."""
        for file, seen in [*self._stale, *([(self._processes[self._rank].file, 0.0)] * bool(self._stale))]:
            if os.path.exists(file):
                time.sleep(max(0.0, seen + 4 * LOOK - time.monotonic()))
                _remove(file)

    def say(self) -> Optional[str]:
        """Return which rank has ended, to a caller who raises it."""
        self._told = self._told or self.ended is not None
        return self.ended

    def _run(self) -> None:
        killed = False
        while not killed and (self._here or self._away) and dist.is_initialized() and not self._stop.wait(LOOK):
            for rank in [rank for rank in self._here if _has_ended(self._processes[rank])]:
                self._here.remove(rank)
                killed = self._end(rank, os.path.exists(self._processes[rank].file)) or killed
                self._stale.append((self._processes[rank].file, time.monotonic()))
                if self._away:
                    self._publish(rank, killed)
            for rank in [rank for rank in self._away if self._published(rank) is not None]:
                self._away.remove(rank)
                killed = self._end(rank, self._published(rank) == b"killed") or killed
        if not killed:
            return
        until = time.monotonic() + GRACE
        while time.monotonic() < until:
            if self._told or self._stop.wait(LOOK):
                return  # the program knows, or has ended
        sys.stderr.write(f"tamis.torch.distributed: {self.ended}, so rank {self._rank} ends\n")
        sys.stderr.flush()
        self._clear()
        os._exit(1)

    def _end(self, rank: int, killed: bool) -> bool:
        if self.ended is None:
            process = self._processes[rank]
            self.ended = f"rank {rank} (process {process.pid} on {process.host}) {'was killed or failed' if killed else 'has ended'}"
        return killed

    def _publish(self, rank: int, killed: bool) -> None:
        try:
            self._store.set(f"{self._prefix}/ended/{rank}", "killed" if killed else "ended")
        except RuntimeError:  # the rank that kept the store
            pass

    def _published(self, rank: int) -> Optional[bytes]:
        key = f"{self._prefix}/ended/{rank}"
        try:
            return self._store.get(key) if self._store.check([key]) else None
        except RuntimeError:
            return b"killed" if rank == 0 else None  # the store ends with its rank


# ------------------------------------------------------------------------------ groups


class Ranks:
    """The ranks of a process group. All its methods but `begin` are collective: every rank calls them, in the same order."""

    def __init__(self, group: Any):
        self.group = group
        self.rank, self.count = dist.get_rank(group), dist.get_world_size(group)
        if self.rank < 0:
            raise _errors.ArgumentError("group: this process is not in it, and only its ranks call this")
        backends = _backends(group)
        self.nccl = backends.get("cuda") == "nccl"
        self.control: Any = group if "cpu" in backends else dist.new_group(dist.get_process_group_ranks(group), backend="gloo", use_local_synchronization=True)
        self.timeout: Optional[float] = None
        self.graphs = 0  # that were made on this group
        self._number = 0
        self._seen: set[str] = set()
        self._late: list[tuple[Any, Tensor, str]] = []
        self._watch: Optional[Watch] = None
        self._store: Any = None
        if self.count > 1:
            self._store = dist.distributed_c10d._get_default_store()
            self._prefix = f"tamis/{'-'.join(map(str, dist.get_process_group_ranks(group)))}"
            processes = self.gathered(_this_process())
            self._watch = Watch(self.rank, processes, self._store, self._prefix)

    # -------------------------------------------------------------------------- waits

    def check(self) -> None:
        """Raise an error if a rank has ended."""
        ended = None if self._watch is None else self._watch.say()
        if ended is not None:
            raise _errors.DeviceError(f"{ended}: rank {self.rank} cannot go on")

    def wait(self, work: Any, what: str, on_gpu: bool = False) -> None:
        """Wait for a collective; on_gpu: the stream waits, not this thread."""
        if on_gpu:
            work.wait()
            return
        began, said = time.monotonic(), False
        while True:
            try:
                work.wait(SLICE)
                return
            except RuntimeError:
                pass
            if work.is_completed():
                try:
                    work.wait(SLICE)
                    return
                except RuntimeError as error:
                    self._broken(error, what)
            self.check()
            passed = time.monotonic() - began
            if passed > PATIENT and not said:
                self._store.set(f"{self._prefix}/{self._number}/{self.rank}", what)
                said = True
            if self.timeout is not None and passed > self.timeout:
                missing = [r for r in range(self.count) if r != self.rank and not self._store.check([f"{self._prefix}/{self._number}/{r}"])]
                who = " and ".join(f"rank {r}" for r in missing) if missing else "the connection"
                raise _errors.DeviceError(f"rank {self.rank} has waited {passed:.0f} s for {who} at step {self._number}, {what}: timeout = {self.timeout:g} s. Every rank "
                                          f"makes the same calls in the same order, and its loss depends on all their results")

    def _broken(self, error: Exception, what: str) -> None:
        """Raise the error of a collective, with the name of the rank that ended, if one did."""
        until = time.monotonic() + 4 * LOOK
        while self._watch is not None and self._watch.ended is None and time.monotonic() < until:
            time.sleep(0.05)
        self.check()
        raise _errors.DeviceError(f"rank {self.rank}: {what} failed: {error}") from error

    # -------------------------------------------------------------------------- agreement

    def _all(self, mine: Tensor, what: str) -> Tensor:
        """Return the tensors of all ranks, (ranks, ...), which are in the host's memory."""
        found = mine.new_empty((self.count, *mine.shape))
        self.wait(dist.all_gather_into_tensor(found.flatten(), mine.flatten(), group=self.control, async_op=True), what)
        return found

    def gathered(self, mine: Any) -> list[Any]:
        """Return the objects of all ranks."""
        if self.count == 1:
            return [mine]
        packed = torch.frombuffer(bytearray(pickle.dumps(mine)), dtype=torch.uint8)
        sizes = self._all(torch.tensor([packed.numel()]), "sizes").flatten().tolist()
        found = self._all(torch.nn.functional.pad(packed, (0, max(sizes) - packed.numel())), "objects")
        return [pickle.loads(one[:size].numpy().tobytes()) for one, size in zip(found, sizes)]

    def agreed(self, make: Callable[[], Any]) -> list[Any]:
        """Return what `make` returns on each rank. An error of one rank is raised on all of them, with its name."""
        error: Optional[Exception] = None
        mine = None
        try:
            mine = make()
        except Exception as caught:
            error = caught
        found = self.gathered((mine, None if error is None else (type(error).__name__, str(error))))
        for rank, (_, failed) in enumerate(found):
            if failed is not None:
                kind = getattr(_errors, failed[0], None) or {"TypeError": TypeError, "ValueError": ValueError, "MemoryError": MemoryError}.get(failed[0], RuntimeError)
                raise kind(failed[1] if self.count == 1 else f"rank {rank}: {failed[1]}") from error
        return [one for one, _ in found]

    def _announce(self, what: str, later: bool) -> None:
        """Check that all ranks are about to do the same. later: text that was announced before is checked when the answers have come, by a later call, so that no
        rank waits for the others."""
        self._settle(False)
        self._number += 1
        line = f"{self._number} {what}".encode()[:TEXT].ljust(TEXT)
        mine = torch.frombuffer(bytearray(line), dtype=torch.uint8)
        found = mine.new_empty((self.count, TEXT))
        work = dist.all_gather_into_tensor(found.flatten(), mine, group=self.control, async_op=True)
        self._late.append((work, found, what))
        if not later or what not in self._seen:
            self._settle(True)
        self._seen.add(what)

    @contextlib.contextmanager
    def telling(self, others_begin: bool) -> Iterator[None]:
        """Context of checks before an exchange. others_begin: the other ranks wait for it, and learn of an error by the announcement in its place."""
        try:
            yield
        except (TypeError, ValueError) as error:
            if others_begin:
                with contextlib.suppress(_errors.ArgumentError):
                    self._announce(f"fails: {error}", False)
            raise

    def _settle(self, wait: bool) -> None:
        """Look at the answers to announcements that have come; wait: at all."""
        while self._late:
            work, found, what = self._late[0]
            if not wait and len(self._late) < 16 and not work.is_completed():
                return
            self._late.pop(0)
            self.wait(work, what)
            lines = [line.numpy().tobytes().decode("utf-8", "replace").rstrip() for line in found]
            others = [r for r, line in enumerate(lines) if line != lines[self.rank]]
            if others:
                raise _errors.ArgumentError(f"rank {self.rank} begins step {lines[self.rank]}, and rank {others[0]} step {lines[others[0]]}: every rank makes the same calls "
                                            f"in the same order, with as many features of one type")

    # -------------------------------------------------------------------------- rows

    def begin(self, rows: Tensor, sends: list[int], receives: list[int], what: str) -> tuple[Tensor, Any]:
        """Send rows (sum of sends, width), which lie rank by rank, and return what will hold the rows from all ranks (sum of receives, width), and the work to wait
        for. What comes back is whole once `wait` has returned."""
        self.check()
        self._announce(what, rows.is_cuda)
        found = rows.new_empty((sum(receives), rows.shape[1]))
        if rows.shape[1] == 0:
            return found, None
        given, made = (rows.contiguous().view(torch.uint8), found.view(torch.uint8))
        group = self.group if rows.is_cuda else self.control
        return found, dist.all_to_all_single(made, given, receives, sends, group=group, async_op=True)

    def moved(self, rows: Tensor, sends: list[int], receives: list[int], what: str) -> Tensor:
        """The same at once."""
        if self.count == 1:
            return rows
        found, work = self.begin(rows, sends, receives, what)
        if work is not None:
            self.wait(work, what)
        return found

    def from_first(self, rows: Optional[Tensor], like: tuple[tuple[int, ...], torch.dtype], counts: list[int], what: str) -> Tensor:
        """Return this rank's part of the rows of rank 0, which lie rank by rank. like: a row's shape and type."""
        if rows is None:
            rows = torch.empty((0, *like[0]), dtype=like[1])
        own, none = counts[self.rank], [0] * self.count
        found = self.moved(rows.flatten(1) if rows.dim() > 1 else rows.unsqueeze(1), counts if self.rank == 0 else none, [own, *none[1:]], what)
        return found.reshape(own, *like[0])

    def to_first(self, rows: Tensor, counts: list[int], what: str) -> Tensor:
        """Return on rank 0 the rows of all ranks, one rank after the other; on the others nothing."""
        none = [0] * self.count
        flat = rows.flatten(1) if rows.dim() > 1 else rows.unsqueeze(1)
        found = self.moved(flat, [counts[self.rank], *none[1:]], counts if self.rank == 0 else none, what)
        return found.reshape(found.shape[0], *rows.shape[1:])


_known: dict[Any, Ranks] = {}


@atexit.register
def _release() -> None:
    """Let groups end before the interpreter does: their threads would end the process."""
    for ranks in _known.values():
        ranks._late.clear()
        ranks.group = ranks.control = ranks._store = None
    _known.clear()


def ranks_of(group: Any) -> Ranks:
    """Return the ranks of a process group, None: of all."""
    if not dist.is_available():
        raise _errors.UnsupportedError("this PyTorch has no torch.distributed")
    if not dist.is_initialized():
        raise _errors.ArgumentError("there is no process group: call torch.distributed.init_process_group() first, under torchrun")
    group = dist.group.WORLD if group is None else group
    if group not in _known:
        _known[group] = Ranks(group)
    return _known[group]


def _backends(group: Any) -> dict[str, str]:
    """Return the backend of each kind of device."""
    pairs = [part.partition(":") for part in str(dist.get_backend_config(group)).split(",")]
    return {kind: name for kind, _, name in pairs}
