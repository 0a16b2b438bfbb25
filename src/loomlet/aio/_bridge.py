"""await_, to_tasklet, result: one side waits for the other.

A tasklet that waits in await_() waits for a channel, into which the loop puts something when the
task has ended.  Nothing but that ends the wait by itself.  When an exception does, a kill, a throw,
a cancelled scope or a time that is over, the task is cancelled and waited for, out of all scopes;
a second kill or throw ends that too, and the task is left to the loop.  Which exception goes on:
the one that came, unless the coroutine failed on its way out; then that one, as from a `finally`.
What a task has returned before a cancel or in spite of it goes on instead of Cancelled, or it would
be lost, such as a connection out of a pool: the scope raises again at the next operation.  A kill
or a throw comes once and takes precedence.

A coroutine that waits for a tasklet waits for a future, which a second tasklet sets: it alone can
wait for the first one in whatever state that is.  Cancelled, it kills the tasklet and waits for its
end; a second cancel ends that too.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any, ParamSpec, TypeVar

from loomlet import _core
from loomlet.aio._event_loop import EventLoop
from loomlet.aio._loop_runner import Host, host
from loomlet.errors import Cancelled, TaskletError, TaskletExit

__all__ = ["await_", "result", "to_tasklet"]

P = ParamSpec("P")
T = TypeVar("T")


class _Call:
    """One await_(): what is to be run, and what became of it."""

    __slots__ = ("context", "coroutine", "ended", "host", "lost", "task", "tasklet")

    def __init__(self, host: Host, coroutine: Coroutine[Any, Any, Any], context: Context) -> None:
        self.host = host
        self.tasklet = _core.current()
        self.coroutine: Coroutine[Any, Any, Any] | None = coroutine
        self.context = context
        self.task: asyncio.Task[Any] | None = None
        self.lost: BaseException | None = None
        self.ended = _core.Channel(1)

    def begin(self) -> None:
        """In the loop: makes the task, unless the call was given up before."""
        coroutine, self.coroutine = self.coroutine, None
        if coroutine is None:
            return
        try:
            self.task = self.host.loop.create_task(coroutine, context=self.context)
        except BaseException as error:
            coroutine.close()
            self.lost = error
            self.ended.try_send(None)
        else:
            self.task.add_done_callback(self.ended.try_send)

    def failure(self) -> BaseException | None:
        """What the task has ended with, if that is an exception of its own."""
        task = self.task
        return task.exception() if task and task.done() and not task.cancelled() else None

    def returned(self) -> bool:
        """Whether the task has ended with a result."""
        task = self.task
        if task is None or not task.done() or task.cancelled() or self.lost is not None:
            return False
        return task.exception() is None

    def lose(self, why: str) -> None:
        """In the child of a fork: there is nobody who could end it."""
        self.lost = TaskletError(why)
        self._drop()
        self.ended.try_send(None)

    def give_up(self) -> None:
        """The wait was ended: cancels the task and waits; raises what the task raises then."""
        self._drop()
        if self.task is None or self.task.done() or self.lost is not None:
            self.failure()
            return
        self.host.leaving.add(self.task)
        self.task.add_done_callback(self.host.leaving.discard)
        self.task.cancel()
        with _core.CancelScope(shield=True):
            self.ended.receive()
        if self.failure() is not None:
            self.outcome()

    def _drop(self) -> None:
        """It is not begun any more."""
        coroutine, self.coroutine = self.coroutine, None
        if coroutine is not None:
            coroutine.close()

    def outcome(self) -> Any:
        """The result of the task that has ended, or its exception."""
        try:
            if self.lost is not None:
                raise self.lost
            assert self.task is not None
            return self.task.result()
        finally:
            del self  # no cycle through the traceback of what is raised


async def _await(awaitable: Awaitable[T]) -> T:
    return await awaitable


def _coroutine(awaitable: Awaitable[T]) -> Coroutine[Any, Any, T]:
    if asyncio.iscoroutine(awaitable):
        return awaitable
    if not inspect.isawaitable(awaitable):
        raise TypeError(
            f"expected an awaitable, found {awaitable!r}; call the function: await_(f(x))"
        )
    return _await(awaitable)


def await_(awaitable: Awaitable[T], /) -> T:
    """Runs a coroutine, or waits for any awaitable, in the event loop of this thread.

    The calling tasklet waits, the others run.  Returns the result or raises the exception;
    asyncio.CancelledError when somebody else cancels the coroutine.  The coroutine sees the context
    variables of the tasklet; what it sets there, the tasklet does not see.

    kill(), throw(), a cancelled scope and a timeout cancel the coroutine and wait for its end; a
    second kill() or throw() leaves it alone.  TaskletError in a coroutine: use `await` there.
    """
    if asyncio._get_running_loop() is not None:
        raise TaskletError(
            "expected a tasklet in which no event loop runs, found a coroutine; "
            "use `await` there, and to_tasklet() for plain functions that call await_()"
        )
    call = _Call(host(), _coroutine(awaitable), copy_context())
    call.host.calls.add(call)
    try:
        call.host.loop.call_soon(call.begin)
        try:
            call.ended.receive()
        except BaseException as error:
            call.give_up()
            if not (isinstance(error, Cancelled) and call.returned()):
                raise
        return call.outcome()  # type: ignore[no-any-return]
    finally:
        call.host.calls.discard(call)
        del call  # no cycle through the traceback of what is raised


async def to_tasklet(func: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs func(*args, **kwargs) in a new tasklet; returns its result or raises its exception.

    It may block, also in await_().  Cancelling kills the tasklet and waits for its end.
    """
    _loop()
    return await result(_core.spawn(func, *args, **kwargs))  # type: ignore[no-any-return]


async def result(tasklet: _core.Tasklet, /) -> Any:
    """Waits until a tasklet has ended; returns its result or raises its exception.

    asyncio.CancelledError when the tasklet was killed.  Cancelling kills the tasklet and waits for
    its end; `await asyncio.shield(result(tasklet))` leaves it alone.
    """
    watch = _Watch(_loop(), tasklet)
    try:
        await watch.end()
        return tasklet.result()
    except (TaskletExit, Cancelled):
        raise asyncio.CancelledError from None
    except asyncio.CancelledError:
        if tasklet.state != "done":
            tasklet.kill()
            await watch.end()
            with contextlib.suppress(TaskletExit, Cancelled):
                tasklet.result()
        raise
    finally:
        watch.watcher.kill()


def _loop() -> EventLoop:
    loop = asyncio.get_running_loop()
    if not isinstance(loop, EventLoop):
        raise TaskletError(
            f"expected a coroutine of a loomlet.aio.EventLoop, found one of {loop!r}; no tasklet "
            "runs while that loop waits: give asyncio.Runner the loop_factory aio.EventLoop"
        )
    return loop


class _Watch:
    """Tells a coroutine of the end of a tasklet; a tasklet waits for it from the beginning on."""

    __slots__ = ("future", "loop", "tasklet", "watcher")

    def __init__(self, loop: EventLoop, tasklet: _core.Tasklet) -> None:
        self.loop = loop
        self.tasklet = tasklet
        self.future: asyncio.Future[None] | None = None
        self.watcher = _core.spawn(self._join)
        self.watcher.run()

    async def end(self) -> None:
        """Returns when it has ended; may be called again after a cancel."""
        if self.tasklet.state != "done":
            self.future = self.loop.create_future()
            await self.future

    def _join(self) -> None:
        try:
            self.tasklet.join()
        except BaseException:
            if self.tasklet.state != "done":
                raise
        finally:
            if self.future is not None and not self.future.done():
                self.future.set_result(None)
