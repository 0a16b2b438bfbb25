"""The end of threads that are tasklets (loomlet.patch): run() waits for them.

As the interpreter does at its end, run() lets every thread finish that is not a daemon.  The
workers of a ThreadPoolExecutor are such threads, and wait for work for ever; so executors are shut
down when the others have ended: their work is done, and they take no more.
"""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any

from loomlet import _core

__all__ = ["Sentinel", "wait"]


class Sentinel:
    """The lock by which threading tells the end of a thread (3.11, 3.12): held until then.

    Whoever has waited for the end gives the lock back and finds it free, also when others wait
    too; a lock that is handed over would be held then by the next.  Any thread.
    """

    def __init__(self, end: Any) -> None:
        self._end = end  # a lock that is given back at the end
        self._taken = self._ended = self._is_main = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """The thread itself takes it at its start; for others: whether the thread has ended."""
        if not self._taken:
            self._taken = True
        elif not self._ended:
            if not self._end.acquire(blocking, timeout):
                return False
            self._ended = True
            self._end.release()
        return True

    def release(self) -> None:
        """It is free by then; a main thread gives it back at the end of the program."""
        self._is_main = False

    def locked(self) -> bool:
        """That of a main thread.  Of others threading asks when a wait has failed."""
        return self._is_main

    def _at_fork_reinit(self) -> None:
        """In the child of a fork, where the thread is the main one: it takes it once more."""
        self._taken, self._is_main = False, True


def wait() -> None:
    """Returns when no tasklet of the calling thread is a thread that must be let finish."""
    while threads := _unfinished():
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
    return [one for one in threading.enumerate() if one.ident in idents and not one.daemon]


def _executor(thread: threading.Thread) -> Any:
    """The ThreadPoolExecutor that the thread works for, or None."""
    pools = sys.modules.get("concurrent.futures.thread")
    arguments = getattr(thread, "_args", ())
    if pools is None or not arguments or not isinstance(arguments[0], weakref.ref):
        return None
    executor = arguments[0]()
    return executor if isinstance(executor, pools.ThreadPoolExecutor) else None
