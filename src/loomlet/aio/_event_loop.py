"""EventLoop: asyncio's selector loop, whose wait parks a tasklet instead of a thread.

The selector's epoll descriptor can be waited for itself.  So select(timeout) first waits for that
descriptor, as every tasklet waits, and then asks without waiting what is ready.  When nothing is to
be waited for it yields once: a loop and tasklets that always have something to do take turns, with
time slices and without.

Other tasklets of the thread may call call_soon() and call_at(), and whatever ends there (set_result
of a future): a loop that waits is woken.  It is woken by an exception, which costs no system call.
Between the moment at which the loop decides how long to wait and its wait nobody else runs: neither
this file nor asyncio.base_events is interrupted by a time slice.

time() is loomlet.now(), which under a virtual clock is virtual.

A scope around the whole loop (`with timeout(5): asyncio.run(...)`) is told once: Cancelled leaves
run_forever(); the runner then cancels its tasks, and these may wait while they clean up.
"""

from __future__ import annotations

import asyncio
import contextlib
import selectors
from asyncio import base_events
from collections.abc import Callable
from contextvars import Context
from typing import TypeVarTuple

from loomlet import _core
from loomlet.errors import Cancelled, TaskletExit

__all__ = ["EventLoop", "Forked", "Selector"]

Ts = TypeVarTuple("Ts")

# How long a loop that ends holds the thread while it waits; then the others have a turn.
PAUSE = 0.005

_core._own_loops(
    asyncio._set_running_loop,
    asyncio._get_running_loop,
    base_events.BaseEventLoop._run_once.__code__.co_filename,  # type: ignore[attr-defined]
)


class Woken(BaseException):
    """Ends the wait of a selector: there is something to call."""


class Forked(BaseException):
    """Ends a loop in the child of a fork."""


class Selector(selectors.DefaultSelector):
    """Waits for its descriptors as a tasklet."""

    def __init__(self) -> None:
        super().__init__()
        self._door: _core.Descriptor | None = _core.Descriptor(self.fileno())
        self.parked: _core.Tasklet | None = None
        self.asked = False  # to end, by close()
        self.killed = False  # told so, in a wait
        self.ending = False
        self.forked = False
        self._shield = False

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready; waits for at most that many seconds."""
        if self.ending:
            most = self._give_way(timeout)
        else:
            most = 0
            self._wait(timeout)
        if self.forked:
            raise Forked
        return super().select(most)

    def _wait(self, timeout: float | None) -> None:
        now = timeout is not None and timeout <= 0
        deadline = None if timeout is None or now else _core.now() + timeout
        try:
            if self.asked:
                raise TaskletExit
            with _core.CancelScope(deadline, self._shield):
                if now:
                    _core.schedule()
                else:
                    self._park()
        except Woken:
            pass
        except Cancelled:
            self._shield = True
            raise
        except TaskletExit:
            self.killed = True
            raise

    def _park(self) -> None:
        assert self._door is not None
        self.parked = _core.current()
        try:
            self._door.wait_readable()
        finally:
            self.parked = None

    def _give_way(self, timeout: float | None) -> float:
        """Lets the other tasklets run; how long may then be waited.  A kill has been heard."""
        with contextlib.suppress(TaskletExit):
            _core.schedule()
        return PAUSE if timeout is None else min(timeout, PAUSE)

    def wake(self) -> None:
        """Ends the wait, if there is one."""
        parked, self.parked = self.parked, None
        if parked is not None:
            parked._interrupt(Woken())

    def close(self) -> None:
        """Gives the descriptor up; nobody waits any more."""
        door, self._door = self._door, None
        if door is not None:
            door.detach()
        super().close()

    def after_fork(self) -> None:
        """In the child: what the parent waits for is forgotten, not touched; its set is shared."""
        self.forked = True
        parked, self.parked = self.parked, None
        if parked is not None:
            parked._interrupt(Forked())
        self.close()
        super().__init__()


class EventLoop(asyncio.SelectorEventLoop):
    """EventLoop(): asyncio's selector loop; while it waits, the other tasklets of the thread run.

    Each thread has one for await_(); one more can be had for a program's own
    `asyncio.Runner(loop_factory=aio.EventLoop)`.
    """

    _closed = True  # asyncio asks when a loop is freed, also one whose selector could not be had

    def __init__(self) -> None:
        self.selector = Selector()
        try:
            super().__init__(self.selector)
        except BaseException:
            self.selector.close()
            base_events.BaseEventLoop.close(self)
            raise

    def time(self) -> float:
        """loomlet.now()."""
        return _core.now()

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """As asyncio's; may also be called by another tasklet of the thread."""
        if self.selector.parked is not None:
            self.selector.wake()
        return super().call_soon(callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """As asyncio's; may also be called by another tasklet of the thread."""
        if self.selector.parked is not None:
            self.selector.wake()
        return super().call_at(when, callback, *args, context=context)
