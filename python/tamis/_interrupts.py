"""Calls that Ctrl-C interrupts.

Python handles signals in its first thread, between two steps of whatever Python code runs there, and raises what the handler raises. In a callback
that C has called nobody catches it: Python prints it, and the library reports a call that was cancelled, or memory that was refused.
"""
from __future__ import annotations

import _thread
import threading
from typing import Any, Callable, Optional

from . import _errors

MAIN = None  # the waiting thread's claim
WAKE = 0.1  # seconds; the system may deliver a signal to another thread, which does not wake this one


def apart(work: Callable[[], Any], stop: Callable[[BaseException], None], abandon: Callable[[], None] = lambda: None) -> Any:
    """Return the result of work(), which runs in a new thread, in which Python handles no signals.

    This thread waits until the work has ended. An exception raised here meanwhile, such as KeyboardInterrupt, is passed to `stop`, which should end the
    work. If it is raised before the work has begun, the work never begins: `abandon` is called, and the exception propagates.
    """
    claims: list[Any] = []  # the first claim gets the work; appending is atomic with respect to signals
    results: list[tuple[Any, Optional[BaseException]]] = []
    ended = _thread.allocate_lock()
    ended.acquire()

    def run() -> None:
        me = object()
        claims.append(me)
        if claims[0] is not me:
            return
        try:
            results.append((work(), None))
        except BaseException as error:  # noqa: BLE001  it is raised where the work was asked for
            results.append((None, error))
        ended.release()

    def interrupted(error: BaseException) -> None:
        claims.append(MAIN)
        if claims[0] is not MAIN:
            stop(error)

    while not results:
        try:
            try:
                while not results:
                    if not claims:
                        _thread.start_new_thread(run, ())
                    ended.acquire(True, WAKE)
            except BaseException as error:  # noqa: BLE001
                interrupted(error)
                if claims[0] is MAIN:
                    raise
        except BaseException as error:  # noqa: BLE001  a second one may come while the first is noted
            interrupted(error)
            if claims[0] is not MAIN:
                continue
            if isinstance(error, RuntimeError) and "new thread" in str(error):  # the system cannot start a thread: work here
                return work()
            abandon()
            raise
    result, failure = results[0]
    if failure is not None:
        raise failure
    return result


class Memory(threading.local):
    """The answers of an allocator in Python to the library, which calls it while it computes, in the thread that has called the library.

    What is raised in it is noted until the library's call has ended, not longer: it keeps the frames of the caller and what is in them.
    """

    refused: Optional[BaseException] = None

    def asked(self, allocate: Callable[..., Any], *arguments: Any) -> Any:
        """Calls `allocate`; an exception becomes None for the library. An interrupt stays noted if the library asks again: it tries something else."""
        try:
            memory = allocate(*arguments)
            self._note(None if memory else MemoryError("the allocator returned no memory"))
            return memory
        except BaseException as error:  # noqa: BLE001  no exception passes through C
            self._note(error)
            return None

    def _note(self, refused: Optional[BaseException]) -> None:
        if self.refused is None or isinstance(self.refused, Exception):
            self.refused = refused

    def succeeded(self) -> None:
        """After a call that has needed none of the memory that was refused: an interrupt is raised all the same."""
        refused, self.refused = self.refused, None
        try:
            if refused is not None and not isinstance(refused, Exception):
                raise refused
        finally:
            del refused  # its traceback has this frame

    def failure(self, error: _errors.Error) -> BaseException:
        """The exception for the library's error: an allocator that gave no answer was interrupted before it began."""
        refused, self.refused = self.refused, None
        if refused is not None and not isinstance(refused, Exception):
            return refused
        if not isinstance(error, MemoryError) or "allocator returned NULL" not in str(error):
            return error
        if refused is None:
            return KeyboardInterrupt() if threading.current_thread() is threading.main_thread() else error
        error.__cause__ = refused
        return error


memory = Memory()
