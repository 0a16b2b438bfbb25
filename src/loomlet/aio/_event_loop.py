"""EventLoop: asyncio's selector loop, whose wait suspends a tasklet instead of a thread.

The selector's epoll descriptor can itself be waited for.  So select(timeout) first waits for that
descriptor, like any tasklet, and then polls which descriptors are ready.  With a timeout of 0 it
yields once, so a busy loop and busy tasklets alternate, with time slices and without.

Other tasklets of the thread may call call_soon() and call_at(), and functions that call these
(set_result of a future): that ends a waiting loop's wait for its descriptor, without a system call.
No other tasklet runs between the moment at which the loop decides how long to wait and its wait: no
time slice interrupts this file or asyncio.base_events.  call_soon() itself does what asyncio's
does, unless the loop is closed or debugs: two calls less for each message or request.

time() is loomlet.now(), which is virtual under a virtual clock.

A scope around the whole loop (`with timeout(5): asyncio.run(...)`) raises once: Cancelled leaves
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

# How long a closing loop holds its thread while it waits, before other tasklets run.
PAUSE = 0.005

_core._own_event_loops(
    asyncio._set_running_loop,
    asyncio._get_running_loop,
    base_events.BaseEventLoop._run_once.__code__.co_filename,  # type: ignore[attr-defined]
)


class Forked(BaseException):
    """Ends a loop in the child of a fork."""


class Selector(selectors.DefaultSelector):
    """Waits for its descriptors as a tasklet."""

    def __init__(self) -> None:
        super().__init__()
        self._descriptor: _core.Descriptor | None = _core.Descriptor(self.fileno())
        self.parked: _core.Tasklet | None = None
        self.close_requested = False
        self.killed = False  # in a wait
        self.ending = False
        self.forked = False
        self._shield = False

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """The ready descriptors; waits for at most that many seconds.

        Empty when only wake() has ended the wait: the descriptors are looked at next time.
        """
        if not self.ending and self._wait(timeout):
            return []
        most = self._yield_to_others(timeout) if self.ending else 0.0
        if self.forked:
            raise Forked
        if most == 0.0:
            return super().select(most)
        return self._hold_thread(most)

    def _wait(self, timeout: float | None) -> bool:
        """Whether only wake() has ended it."""
        try:
            if self.close_requested:
                raise TaskletExit
            if not self._shield:
                return self._wait_unshielded(timeout)
            with _core.CancelScope(None, True):
                woken = self._wait_unshielded(timeout)
            return woken
        except Cancelled:
            self._shield = True
            raise
        except TaskletExit:
            self.killed = True
            raise

    def _wait_unshielded(self, timeout: float | None) -> bool:
        if timeout is not None and timeout <= 0:
            _core.schedule()
            return False
        assert self._descriptor is not None
        self.parked = _core.current()
        try:
            self._descriptor._wait(timeout)
            return self.parked is None and not self.forked
        finally:
            self.parked = None

    def _yield_to_others(self, timeout: float | None) -> float:
        """Lets the other tasklets run; returns how long to wait then.  Ignores further kills."""
        with contextlib.suppress(TaskletExit):
            _core.schedule()
        return PAUSE if timeout is None else min(timeout, PAUSE)

    def _hold_thread(self, most: float) -> list[tuple[selectors.SelectorKey, int]]:
        """The ready descriptors after at most that many seconds, also where programs are patched.

        The trap keeps a patched poll() from waiting as a tasklet, which a kill would interrupt.
        """
        _core._stackless_switch_trap(1)
        try:
            return super().select(most)
        finally:
            _core._stackless_switch_trap(-1)

    def wake(self) -> None:
        """Ends the wait, if there is one in this thread."""
        if self._descriptor is not None and self._descriptor._wake():
            self.parked = None

    def close(self) -> None:
        """Releases the descriptor; no tasklet waits for it any more."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            descriptor.detach()
        super().close()

    def after_fork(self) -> None:
        """In the child: forgets the epoll set without changing it, because the parent shares it."""
        self.forked = True
        parked, self.parked = self.parked, None
        if parked is not None:
            parked._interrupt(Forked())
        self.close()
        super().__init__()


class EventLoop(asyncio.SelectorEventLoop):
    """EventLoop(): asyncio's selector loop; while it waits, the other tasklets of the thread run.

    Each thread has one for await_(); a program may create another one, for its own
    `asyncio.Runner(loop_factory=aio.EventLoop)`.
    """

    _closed = True  # for asyncio's finalizer, in case the selector could not be created

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
        """Like asyncio's; other tasklets of the thread may call it too."""
        if self.selector.parked is not None:
            self.selector.wake()
        if self._closed or self._debug:  # type: ignore[attr-defined]
            return super().call_soon(callback, *args, context=context)
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)  # type: ignore[attr-defined]
        return handle

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Like asyncio's; other tasklets of the thread may call it too."""
        if self.selector.parked is not None:
            self.selector.wake()
        return super().call_at(when, callback, *args, context=context)
