"""The event loop of a thread, and the tasklet that runs it.

The tasklet is in no scope and has an empty context; its name is "asyncio".  It runs the loop until
it is killed, which happens at the end of run() and of the thread, or asked by close().

What raises KeyboardInterrupt or SystemExit out of a task leaves asyncio's run_forever().  If
await_() waits for that task, that call raises it; else a tasklet does, so that it reaches the main
tasklet as it would from any tasklet.  The loop goes on.  A TaskletExit that a coroutine met in
a blocking call ends that task only: the loop cannot tell it from the task's own.

asyncio waits for the threads of the executor in one more thread, which it joins.  A loop that ends
must not block so: run() kills it again and again till nothing can go on.  So a bare thread does it
here, which nobody joins, and which can be begun while the calling thread ends.
"""

from __future__ import annotations

import _thread
import asyncio
import atexit
import os
import threading
from contextvars import Context
from typing import TYPE_CHECKING, Any

from loomlet import _core
from loomlet.aio._event_loop import EventLoop, Forked
from loomlet.errors import TaskletError, TaskletExit

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Host", "close", "get_loop", "host"]


class Host:
    """A loop, its tasklet, and the calls of await_() that wait for it."""

    def __init__(self) -> None:
        self.loop = EventLoop()
        self.calls: set[Any] = set()
        self.forking: set[asyncio.Task[Any]] = set()
        self.leaving: set[asyncio.Task[Any]] = set()  # cancelled by the calls that began them
        self.tasklet = Context().run(_core.spawn, self._drive)
        self.tasklet.name = "asyncio"
        self.tasklet.run()  # one that has not begun would be killed without closing anything

    @property
    def alive(self) -> bool:
        """Whether calls can still be made."""
        return self.tasklet.state != "done" and not self.loop.selector.ending

    def _drive(self) -> None:
        try:
            while not self.loop.selector.killed:
                self._run()
            self.loop.selector.ending = True
            if not self.loop.selector.asked:
                self.end_calls()
            while not self._wind_up():
                pass
        except Forked:
            pass
        self.loop.close()

    def _run(self) -> None:
        try:
            self.loop.run_forever()
        except (Forked, TaskletExit):
            if self.loop.selector.forked:
                raise
        except BaseException as error:
            self.loop.selector.killed |= isinstance(error, Exception)  # it cannot wait any more
            self._pass_on(error)

    def _pass_on(self, error: BaseException) -> None:
        if not any(call.failure() is error for call in self.calls):
            _core.spawn(_raise, error)

    def end_calls(self) -> None:
        """Who waits for a loop that is killed ends with it."""
        for call in [*self.calls]:
            if not call.tasklet.is_main:
                call.tasklet.kill()

    def _wind_up(self) -> bool:
        """Ends what there is in the loop; False if a kill came meanwhile, which is no news."""
        try:
            self.loop.run_until_complete(_end_all(self.leaving))
        except TaskletExit:
            return False
        except BaseException as error:
            if self.loop.selector.forked:
                raise Forked from None
            self._pass_on(error)
        return True

    def close(self) -> None:
        """Ends the loop and waits for that."""
        self.loop.selector.asked = True
        self.loop.selector.wake()
        self.tasklet.join()

    def after_fork(self) -> None:
        """In the child: the calls fail, the rest is kept as it is and never touched again."""
        self.loop.selector.after_fork()
        for task in self.forking:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        for call in self.calls:
            call.lose(
                "expected the loop that began this call, found the child of a fork; call again"
            )


class _Here(threading.local):
    host: Host | None = None


_core._keep_local(_Here)  # of all tasklets of a thread together
_here = _Here()
_left_behind: list[Host] = []


def host() -> Host:
    """That of the calling thread; begins it if there is none."""
    found = _here.host
    if found is None or not found.alive:
        if found is not None and found.tasklet.state != "done":
            raise TaskletError("expected an event loop that runs, found one that is being closed")
        found = _here.host = Host()
    return found


def get_loop() -> EventLoop:
    """The event loop of the calling thread; begins it if there is none.

    Another thread may give it work with its call_soon_threadsafe().
    """
    return host().loop


def close() -> None:
    """Ends the event loop of the calling thread; nothing if there is none.

    Its tasks are cancelled and waited for, asynchronous generators and the default executor are
    shut down.  The end of run(), of the thread and of the interpreter do the same.  The next call
    begins a new loop.  TaskletError in a coroutine of that loop.
    """
    found = _here.host
    if found is None or found.tasklet.state == "done":
        return
    if _core.current() is found.tasklet:
        raise TaskletError(
            "expected a tasklet that does not run the loop, found one of its coroutines; "
            "let whoever began the loop close it"
        )
    found.close()


async def _end_all(cancelled: set[asyncio.Task[Any]]) -> None:
    """What asyncio.run() does at its end; no task is cancelled a second time."""
    loop = asyncio.get_running_loop()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks - cancelled:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    _report(loop, tasks)
    await loop.shutdown_asyncgens()
    await _end_executor(loop)


async def _end_executor(loop: asyncio.AbstractEventLoop) -> None:
    executor = vars(loop).get("_default_executor")
    if executor is None:
        return
    ended = loop.create_future()

    def wait() -> None:
        executor.shutdown()
        loop.call_soon_threadsafe(ended.set_result, None)

    try:
        _thread.start_new_thread(wait, ())
    except RuntimeError:  # the interpreter ends: so have the threads
        executor.shutdown()
    else:
        await ended


def _report(loop: asyncio.AbstractEventLoop, tasks: Iterable[asyncio.Task[Any]]) -> None:
    for task in tasks:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            message = "unhandled exception at the end of the event loop"
            loop.call_exception_handler({"message": message, "exception": error, "task": task})


def _at_exit() -> None:
    found = _here.host
    if found is not None and found.alive and _core.current() is not found.tasklet:
        found.end_calls()
        found.close()


def _raise(error: BaseException) -> None:
    raise error


def _before_fork() -> None:
    if _here.host is not None:
        _here.host.forking = asyncio.all_tasks(_here.host.loop)  # unknown to the child of 3.14


def _after_fork_in_parent() -> None:
    if _here.host is not None:
        _here.host.forking = set()


def _after_fork_in_child() -> None:
    found, _here.host = _here.host, None
    if found is not None:
        found.after_fork()
        _left_behind.append(found)


atexit.register(_at_exit)
os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
