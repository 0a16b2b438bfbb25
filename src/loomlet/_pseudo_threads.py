"""The end of pseudo-threads, the threads that are tasklets (loomlet.patch): run() joins them.

Like the interpreter at its end, run() joins every thread that is not a daemon.  The workers of a
ThreadPoolExecutor are such threads, and wait for work for ever; so executors are shut down when the
other threads have ended: they complete their work and accept no more.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from typing import Any

from loomlet import _core, _program_end

__all__ = ["Sentinel", "wait"]


class Sentinel:
    """The lock by which `threading` joins a thread (3.11, 3.12): held until the thread has ended.

    A joiner releases the lock at once and finds it free, even if others are waiting; a lock that is
    handed over would be held by the next waiter then.  A handler of a signal may raise between the
    two: then the lock is released if the thread has ended, because it belongs to a joiner then, and
    no other joiner needs it.  Any thread.
    """

    def __init__(self, end: Any) -> None:
        self._end = end  # a lock that is released at the end
        self._tasklet = weakref.ref(_core.current())
        self._taken = self._ended = self._is_main = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquired by the thread itself at its start; in others, whether the thread has ended."""
        if not self._taken:
            self._taken = True
        elif not self._ended:
            try:
                if not self._end.acquire(blocking, timeout):
                    return False
                self._free()
            except BaseException:
                tasklet = self._tasklet()
                if tasklet is None or tasklet.state == "done":
                    self._free()
                raise
        return True

    def _free(self) -> None:
        self._ended = True
        with contextlib.suppress(RuntimeError):  # another joiner has
            self._end.release()

    def release(self) -> None:
        """It is free by then; a main thread releases it at the end of the program."""
        self._is_main = False

    def locked(self) -> bool:
        """Whether a main thread holds it; `threading` asks about others after a failed wait."""
        return self._is_main

    def _at_fork_reinit(self) -> None:
        """In the child of a fork, where the thread is the main one and acquires it once more."""
        self._taken, self._is_main = False, True


def wait() -> None:
    """Returns when no other tasklet of the calling thread is a non-daemon thread.

    Called at the end of run(), and by threading._shutdown(), with which multiprocessing ends each
    child that it has forked: a child of a program inside run() never reaches the end of run().
    Does nothing if the program has ended by then, and waited (_program_end).
    """
    while not _program_end.begun() and (threads := _unfinished()):
        executors = {executor for thread in threads if (executor := _executor(thread))}
        for thread in threads:
            if _executor(thread) is None:
                thread.join()
        for executor in executors:
            executor.shutdown()


def _unfinished() -> list[threading.Thread]:
    idents = _core._threads()
    if not idents:
        return []
    me = threading.current_thread()
    others = (one for one in threading.enumerate() if one is not me)
    return [one for one in others if one.ident in idents and not one.daemon]


def _executor(thread: threading.Thread) -> Any:
    """The ThreadPoolExecutor that the thread works for, or None."""
    pools = sys.modules.get("concurrent.futures.thread")
    arguments = getattr(thread, "_args", ())
    if pools is None or not arguments or not isinstance(arguments[0], weakref.ref):
        return None
    executor = arguments[0]()
    return executor if isinstance(executor, pools.ThreadPoolExecutor) else None
