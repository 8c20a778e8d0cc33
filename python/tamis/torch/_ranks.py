"""Ranks of a process group of torch.distributed: what all agree on before they exchange, waits that end when a rank does, and the end of a rank that is killed.

A collective that one rank calls with another shape hangs, or gives it half of its result. So each is announced first, by a text that must be the same on all ranks. A
rank of the same machine is seen to end by the system's list of processes; ranks of others learn it by the store of the process group.
"""
from __future__ import annotations

import atexit
import contextlib
import datetime
import hashlib
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

WORDS = 24  # of 8 bytes in an announcement: a number that stands for its text, a size, and the beginning of the text
LOOK = 0.5  # seconds between two looks at the other ranks
SLICE = datetime.timedelta(seconds=LOOK)
GRACE = 5.0  # seconds that a program has to come to a call of ours, which raises, before its process is ended
PATIENT = 5.0  # seconds of a wait after which a rank says where it waits


# ------------------------------------------------------------------------------ processes


class Process(NamedTuple):
    """A rank's process: where its number counts, the number, and a file: empty while it runs, without a trace once it has ended well, and with the reason if it fails."""

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
        with open(path, encoding="utf-8", errors="replace") as file:
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
    atexit.register(_leave, file, os.getpid())
    _see_failures()
    return Process(f"{_read('/proc/sys/kernel/random/boot_id')} {socket.gethostname()} {space}", socket.gethostname(), os.getpid(), started, file)


def _leave(file: str, pid: int) -> None:
    """Take a process's file away; a child that it has forked has none."""
    if os.getpid() == pid:
        _remove(file)


def _remove(file: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(file)


_failing: list[str] = []  # how this process ends, if by an error; a program that goes on has not failed


def _see_failures() -> None:
    """Note an error that ends the process, and a code that is not 0: when Python's exit functions run, neither is known."""
    if getattr(sys.exit, "noted", False):
        return
    hook, leave = sys.excepthook, sys.exit

    def seen(kind: Any, value: Any, trace: Any) -> None:
        if not hasattr(sys, "ps1"):  # an interactive Python goes on
            _failing[:] = [kind.__name__]
        hook(kind, value, trace)

    def leaving(code: Any = None) -> Any:
        if code not in (None, 0):
            _failing[:] = ["sys.exit"]
        leave(code)

    leaving.noted = True  # type: ignore[attr-defined]
    sys.excepthook, sys.exit = seen, leaving


def _has_ended(process: Process) -> bool:
    try:
        state, started = _stat(process.pid)
    except (FileNotFoundError, ProcessLookupError):
        return True
    except OSError:  # such as too many open files: nothing is known
        return False
    return state in "ZX" or started != process.started


class Watch:
    """A thread that looks whether the processes of the other ranks are there. If one failed, this process ends as well: by an error of the next call, or, where it
    does not come to one, with a message. look: what else may be wrong, in words, or None."""

    def __init__(self, rank: int, processes: list[Process], store: Any, prefix: str, first: int, look: Callable[[], Optional[str]], is_alive: Callable[[], bool]):
        self.ended: Optional[str] = None  # the first rank that has ended, in words
        self.reason: Optional[str] = None  # why this rank ends, if because of another
        self._rank, self._processes, self._store, self._prefix, self._told = rank, processes, store, prefix, False
        self._first, self._look, self._is_alive, self._pid = first, look, is_alive, os.getpid()
        self._here = [r for r, one in enumerate(processes) if r != rank and one.machine == processes[rank].machine]
        self._away = [r for r, one in enumerate(processes) if one.machine != processes[rank].machine]
        self._stale: list[tuple[str, float]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tamis ranks", daemon=True)
        self._thread.start()
        atexit.register(self._leave)  # a thread that Python ends itself, within a call of C++, would end the process

    def _leave(self) -> None:
        """Tell the others how this process ends."""
        if os.getpid() != self._pid:
            return
        self._stop.set()
        self._thread.join(5)
        self._say_how(bool(_failing))
        self._store = None
        self._clear()

    def _say_how(self, failed: bool) -> None:
        """Write why this rank ends into its file, for as long as others need to see it, and into the store; take the file away if it ends well."""
        own = self._processes[self._rank]
        why = self.reason or self.ended or f"{self._named(self._rank)} was killed or failed"
        if failed and self._here:
            with contextlib.suppress(OSError), open(own.file, "w", encoding="utf-8") as file:
                file.write(why)
            self._stale.append((own.file, time.monotonic()))
        else:
            _remove(own.file)
        self._publish(self._rank, why if failed else "")

    def _clear(self) -> None:
        """Remove the files of processes that have failed, once the others have seen them."""
        for file, seen in self._stale:
            if os.path.exists(file):
                time.sleep(max(0.0, seen + 4 * LOOK - time.monotonic()))
                _remove(file)

    def say(self) -> Optional[str]:
        """Return which rank has ended, to a caller who raises it."""
        self._told = self._told or self.ended is not None
        return self.ended

    def knows(self) -> None:
        """Do not end a process whose program has been told already."""
        self._told = True

    def _run(self) -> None:
        killed = False
        while not killed and (self._here or self._away) and not self._stop.wait(LOOK):
            if not self._is_alive():  # the group was destroyed
                self._store = self._look = self._is_alive = None  # type: ignore[assignment]  # let it go
                return
            for rank in list(self._here):
                process = self._processes[rank]
                has_ended, why = _has_ended(process), _read(process.file)
                if has_ended or why:
                    self._here.remove(rank)
                    failed = bool(why) or os.path.exists(process.file)
                    killed = self._end(rank, failed, why) or killed
                    if failed:
                        self._stale.append((process.file, time.monotonic()))
                    self._publish(rank, (why or f"{self._named(rank)} was killed or failed") if failed else "")
            for rank in list(self._away):
                found = self._published(rank)
                if found is not None and rank in self._away:
                    self._away.remove(rank)
                    killed = self._end(rank, bool(found), found) or killed
            wrong = None if killed else self._look()
            if wrong is not None:
                self.ended, killed = wrong, True
        if killed:
            self._end_process()

    def _end_process(self) -> None:
        until = time.monotonic() + GRACE
        while time.monotonic() < until:
            if self._told or self._stop.wait(LOOK):
                return  # the program knows, or has ended
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        sys.stderr.write(f"tamis.torch.distributed: {self.ended}, so rank {self._rank} ends\n")
        sys.stderr.flush()
        self._say_how(True)
        self._clear()
        os._exit(1)

    def _named(self, rank: int) -> str:
        return f"rank {rank} (process {self._processes[rank].pid} on {self._processes[rank].host})"

    def _end(self, rank: int, failed: bool, why: str) -> bool:
        """Note that a rank has ended, and return whether it failed. why: what it says itself."""
        if self.ended is None or (failed and not self._told):
            self.ended = why or f"{self._named(rank)} {'was killed or failed' if failed else 'has ended'}"
        return failed

    def _publish(self, rank: int, why: str) -> None:
        """Tell the ranks of other machines that a rank has ended; why: empty if it has ended well."""
        store = self._store
        if store is not None and len({one.machine for one in self._processes}) > 1:
            with contextlib.suppress(RuntimeError):  # the rank that kept the store may have ended
                store.set(f"{self._prefix}/ended/{rank}", f"ended{why}")

    def _published(self, rank: int) -> Optional[str]:
        """Return why a rank of another machine has ended, empty: well, None: nothing is known."""
        key = f"{self._prefix}/ended/{rank}"
        try:
            return self._store.get(key).decode("utf-8", "replace").removeprefix("ended") if self._store.check([key]) else None
        except RuntimeError:  # who keeps the store has ended, well or not: nothing more is heard of other machines
            if self._first in self._away and self.ended is None:
                self.ended = f"{self._named(self._first)} has ended, or the store of the process group cannot be reached"
            self._away.clear()
            return None


# ------------------------------------------------------------------------------ groups


class Announced(NamedTuple):
    """An announcement, and the answers of all ranks once `work` is complete."""

    work: Any
    found: Tensor
    what: str
    number: int
    began: float


class Ranks:
    """The ranks of a process group. All its methods but `begin` are collective: every rank calls them, in the same order."""

    def __init__(self, group: Any):
        self.group = group
        self.rank, self.count = dist.get_rank(group), dist.get_world_size(group)
        if self.rank < 0:
            raise _errors.ArgumentError("group: this process is not in it, and only its ranks call this")
        backends = _backends(group)
        self.nccl = backends.get("cuda") == "nccl"
        self._of = list(dist.get_process_group_ranks(group))
        self.control: Any = group if "cpu" in backends else dist.new_group(self._of, timeout=_timeout_of(group), backend="gloo", use_local_synchronization=True)
        self.timeout: Optional[float] = None  # of the graph that calls
        self.graphs = 0  # that were made on this group
        self._number = 0
        self._seen: set[str] = set()
        self._late: list[Announced] = []
        self._differs: Optional[str] = None  # in what the ranks differ, where rows may have moved
        self._watch: Optional[Watch] = None
        self._store: Any = None
        if self.count > 1:
            self._store = dist.distributed_c10d._get_default_store()
            self._prefix = f"tamis/{'-'.join(map(str, self._of))}"
            processes = self.gathered(_this_process(), "processes")
            self._prefix = f"tamis/{processes[0].host}{processes[0].file}"  # of this group alone
            self._watch = Watch(self.rank, processes, self._store, self._prefix, self._of.index(0) if 0 in self._of else -1, self._behind, self._is_alive)

    def _is_alive(self) -> bool:
        """Return False once the process group was destroyed, which then is nowhere kept."""
        found = dist.is_initialized() and self.group in dist.distributed_c10d._world.pg_map
        if not found:
            _known.pop(self.group, None)
        return found

    # -------------------------------------------------------------------------- waits

    def check(self) -> None:
        """Raise an error if a rank has ended, or moves other rows."""
        ended = None if self._watch is None else self._watch.say()
        if self._differs is not None:
            raise _errors.ArgumentError(f"{self._differs}. Rows may have moved wrongly: this process group cannot go on")
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
                self._say(self._number, what)
                said = True
            if self.timeout is not None and passed > self.timeout:
                reason = self._missing(self._number, passed, what)
                if self._watch is not None:
                    self._watch.reason = reason
                raise _errors.DeviceError(f"{reason}: timeout = {self.timeout:g} s. Every rank makes the same calls in the same order, and its loss depends on all their results")

    def _say(self, number: int, what: str) -> None:
        """Tell the others that this rank waits."""
        with contextlib.suppress(RuntimeError):  # the rank that kept the store may have ended
            self._store.set(f"{self._prefix}/{number}/{self.rank}", what)

    def _missing(self, number: int, passed: float, what: str) -> str:
        """Return in words which ranks this one waits for."""
        try:
            missing = [r for r in range(self.count) if r != self.rank and not self._store.check([f"{self._prefix}/{number}/{r}"])]
        except RuntimeError:
            missing = []
        who = " and ".join(f"rank {r}" for r in missing) if missing else "the connection"
        return f"rank {self.rank} has waited {passed:.0f} s for {who} at step {number}, {what}"

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

    def gathered(self, mine: Any, what: str) -> list[Any]:
        """Return the objects of all ranks. what: their name."""
        if self.count == 1:
            return [mine]
        packed = torch.frombuffer(bytearray(pickle.dumps(mine)), dtype=torch.uint8)
        sizes = self._announce(f"gathering: {what}", False, packed.numel())
        found = self._all(torch.nn.functional.pad(packed, (0, max(sizes) - packed.numel())), what)
        return [pickle.loads(one[:size].numpy().tobytes()) for one, size in zip(found, sizes)]

    def agreed(self, make: Callable[[], Any], what: str) -> list[Any]:
        """Return what `make` returns on each rank. An error of one rank is raised on all of them, with its name."""
        error: Optional[Exception] = None
        mine = None
        try:
            mine = make()
        except Exception as caught:
            error = caught
        found = self.gathered((mine, None if error is None else (type(error).__name__, str(error))), what)
        for rank, (_, failed) in enumerate(found):
            if failed is not None:
                kind = getattr(_errors, failed[0], None) or {"TypeError": TypeError, "ValueError": ValueError, "MemoryError": MemoryError}.get(failed[0], RuntimeError)
                raise kind(failed[1] if self.count == 1 else f"rank {rank}: {failed[1]}") from error
        return [one for one, _ in found]

    def _announce(self, what: str, later: bool, size: int = 0) -> list[int]:
        """Check that all ranks are about to do the same, and return the sizes that they give. later: text that was announced before is checked when the answers have
        come, by a later call or the watch, so that no rank waits for the others."""
        self.check()
        self._settle(False)
        self._number += 1
        _failing.clear()
        text = f"{self._number} {what}".encode()
        if self._watch is not None:
            self._watch.reason = None
        number = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little", signed=True)
        head = torch.tensor([number, size])
        mine = torch.cat([head, torch.frombuffer(bytearray(text[:8 * (WORDS - 2)].ljust(8 * (WORDS - 2))), dtype=torch.int64)])
        found = mine.new_empty((self.count, WORDS))
        work = dist.all_gather_into_tensor(found.flatten(), mine, group=self.control, async_op=True)
        self._late.append(Announced(work, found, what, self._number, time.monotonic()))
        if not later or what not in self._seen:
            self._settle(True)
            self._seen.add(what)
            return found[:, 1].tolist()
        return []

    @contextlib.contextmanager
    def telling(self, others_begin: bool) -> Iterator[None]:
        """Context of checks before an exchange. others_begin: the other ranks wait for it, and learn of an error by the announcement in its place."""
        try:
            yield
        except Exception as error:
            if others_begin and self.count > 1:
                with contextlib.suppress(_errors.ArgumentError, _errors.DeviceError):
                    self._announce(f"fails: {error}", False)
            raise

    def _settle(self, wait: bool) -> None:
        """Look at the answers to announcements that have come; wait: at all."""
        while self._late:
            one = self._late[0]
            if not wait and len(self._late) < 16 and not one.work.is_completed():
                return
            try:
                self.wait(one.work, one.what)
            finally:
                self._late.pop(0)
            differs = self._difference(one.found)
            if differs is not None:
                if self.nccl:  # a rank that did not wait may move rows
                    self._differs = differs
                    if self._watch is not None:
                        self._watch.knows()
                raise _errors.ArgumentError(differs)

    def _difference(self, found: Tensor) -> Optional[str]:
        """Return in words how the announcements of ranks differ."""
        numbers = found[:, 0].tolist()
        if numbers.count(numbers[0]) == self.count:
            return None
        lines = [line.numpy().tobytes().decode("utf-8", "replace").rstrip() for line in found[:, 2:]]
        other = next(r for r, number in enumerate(numbers) if number != numbers[self.rank])
        return (f"rank {self.rank} begins step {lines[self.rank]}, and rank {other} step {lines[other]}: every rank makes the same calls in the same order, with as many features of "
                f"one type")

    def _behind(self) -> Optional[str]:
        """Return in words what is wrong with the first announcement that is not settled, as the watch sees it: the program may wait for a device meanwhile."""
        late = self._late[:1]
        if not late:
            return None
        one, passed = late[0], time.monotonic() - late[0].began
        if one.work.is_completed():
            try:
                one.work.wait(SLICE)
            except RuntimeError:  # the connection: who waits for it says so
                return None
            differs = self._difference(one.found)
            if differs is not None and self.nccl:
                self._differs = differs
                return differs
        elif passed > PATIENT:
            self._say(one.number, one.what)
            if self.timeout is not None and passed > self.timeout + GRACE:  # a wait of the host ends before
                return self._missing(one.number, passed, one.what)
        return None

    # -------------------------------------------------------------------------- rows

    def begin(self, rows: Tensor, sends: list[int], receives: list[int], what: str) -> tuple[Tensor, Any]:
        """Send rows (sum of sends, width), which lie rank by rank, and return what will hold the rows from all ranks (sum of receives, width), and the work to wait
        for. What comes back is whole once `wait` has returned."""
        self._announce(what, rows.is_cuda)
        found = rows.new_empty((sum(receives), rows.shape[1]))
        if rows.shape[1] == 0:
            return found, None
        given, made = (rows.resolve_conj().resolve_neg().contiguous().view(torch.uint8), found.view(torch.uint8))
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
    for known in list(_known.values()):
        known._is_alive()
    group = dist.group.WORLD if group is None else group
    if group not in _known:
        _known[group] = Ranks(group)
    return _known[group]


def _backends(group: Any) -> dict[str, str]:
    """Return the backend of each kind of device."""
    pairs = [part.partition(":") for part in str(dist.get_backend_config(group)).split(",")]
    return {kind: name for kind, _, name in pairs}


def _timeout_of(group: Any) -> Optional[datetime.timedelta]:
    """Return how long the collectives of a group of GPUs may take, None: PyTorch's default."""
    try:
        found = group._get_backend(torch.device("cuda")).options._timeout
    except (AttributeError, RuntimeError):
        return None
    return found if isinstance(found, datetime.timedelta) else None
