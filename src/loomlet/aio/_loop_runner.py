"""The event loop of a thread, and the tasklet that runs it.

The tasklet is in no scope and has an empty context; its name is "asyncio".  It runs the loop until
it is killed, at the end of run() or of the thread, or until close() is called.

A KeyboardInterrupt or SystemExit in a task leaves asyncio's run_forever().  If await_() waits for
that task, that call raises it; else a tasklet does, so that it reaches the main tasklet as from any
tasklet.  The loop continues.  A TaskletExit that a coroutine met in a blocking call ends that task
only: the loop cannot distinguish it from the task's own.

asyncio waits for the threads of the executor in one more thread, which it joins.  A closing loop
must not block like that: run() would kill it until it gives up.  So here a bare thread does it,
which is not joined, and which can be started while the calling thread ends.
"""

from __future__ import annotations

import _thread
import asyncio
import os
import threading
from contextvars import Context
from typing import TYPE_CHECKING, Any

from loomlet import _core, _program_end
from loomlet.aio._event_loop import EventLoop, Forked
from loomlet.errors import TaskletError, TaskletExit

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["LoopRunner", "close", "get_loop", "runner"]


class LoopRunner:
    """A loop, the tasklet that runs it, and the calls of await_() that wait for it."""

    def __init__(self) -> None:
        self.loop = EventLoop()
        self.calls: set[Any] = set()
        self.forking: set[asyncio.Task[Any]] = set()
        self.leaving: set[asyncio.Task[Any]] = set()  # cancelled by the calls that created them
        self.tasklet = Context().run(_core.spawn, self._drive)
        self.tasklet.name = "asyncio"
        self.tasklet.run()  # an unstarted one would be killed without closing anything

    @property
    def alive(self) -> bool:
        """Whether it accepts calls."""
        return self.tasklet.state != "done" and not self.loop.selector.ending

    def _drive(self) -> None:
        try:
            while not self.loop.selector.killed:
                self._run()
            self.loop.selector.ending = True
            if not self.loop.selector.close_requested:
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
            self.loop.selector.killed |= isinstance(error, Exception)  # it can no longer wait
            self._pass_on(error)

    def _pass_on(self, error: BaseException) -> None:
        if not any(call.failure() is error for call in self.calls):
            _core.spawn(_raise, error)

    def end_calls(self) -> None:
        """Kills the tasklets that wait for a killed loop."""
        for call in [*self.calls]:
            if not call.tasklet.is_main:
                call.tasklet.kill()

    def _wind_up(self) -> bool:
        """Ends the tasks of the loop; False if another kill interrupted that."""
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
        """Ends the loop and waits for its end."""
        self.loop.selector.close_requested = True
        self.loop.selector.wake()
        self.tasklet.join()

    def after_fork(self) -> None:
        """In the child: the calls fail; the rest is kept alive and never used again."""
        self.loop.selector.after_fork()
        for task in self.forking:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        for call in self.calls:
            call.lose(
                "await_() was waiting during os.fork(): its loop runs in the parent only; call it "
                "again in the child"
            )


class _PerThread(threading.local):
    runner: LoopRunner | None = None


_core._keep_local(_PerThread)  # one for all tasklets of a thread
_per_thread = _PerThread()
_of_parents: list[LoopRunner] = []


def runner() -> LoopRunner:
    """The loop runner of the calling thread, started if necessary."""
    found = _per_thread.runner
    if found is None or not found.alive:
        if found is not None and found.tasklet.state != "done":
            raise TaskletError("the event loop of this thread is being closed; wait for its end")
        found = _per_thread.runner = LoopRunner()
    return found


def get_loop() -> EventLoop:
    """The event loop of the calling thread, started if necessary.

    Other threads may use its call_soon_threadsafe().
    """
    return runner().loop


def close() -> None:
    """Ends the event loop of the calling thread, if there is one.

    Its tasks are cancelled and waited for, asynchronous generators and the default executor are
    shut down.  The end of run(), of the thread and of the interpreter do the same.  The next call
    starts a new loop.  TaskletError in a coroutine of that loop.
    """
    found = _per_thread.runner
    if found is None or found.tasklet.state == "done":
        return
    if _core.current() is found.tasklet:
        raise TaskletError(
            "close() cannot be called in a coroutine of the loop; call it in another tasklet"
        )
    found.close()


async def _end_all(cancelled: set[asyncio.Task[Any]]) -> None:
    """Ends the tasks as asyncio.run() does; no task is cancelled a second time."""
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

    def note() -> None:
        if not ended.done():
            ended.set_result(None)

    def wait() -> None:
        executor.shutdown()
        loop.call_soon_threadsafe(note)

    try:
        _thread.start_new_thread(wait, ())
    except RuntimeError:  # the interpreter is shutting down, so its threads have ended
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
    found = _per_thread.runner
    if found is not None and found.alive and _core.current() is not found.tasklet:
        found.end_calls()
        found.close()


def _raise(error: BaseException) -> None:
    raise error


def _before_fork() -> None:
    if _per_thread.runner is not None:
        # 3.14 forgets them in the child
        _per_thread.runner.forking = asyncio.all_tasks(_per_thread.runner.loop)


def _after_fork_in_parent() -> None:
    if _per_thread.runner is not None:
        _per_thread.runner.forking = set()


def _after_fork_in_child() -> None:
    found, _per_thread.runner = _per_thread.runner, None
    if found is not None:
        found.after_fork()
        _of_parents.append(found)


_program_end.at_exit(_at_exit)
os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
