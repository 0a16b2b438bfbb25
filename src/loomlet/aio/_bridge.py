"""await_, to_tasklet, result: tasklets wait for coroutines, and coroutines for tasklets.

A tasklet in await_() waits for a channel, into which the loop puts a value when the task has ended.
If an exception ends the wait (a kill, a throw, a cancelled scope, a timeout), the task is cancelled
and waited for, outside of all scopes; a second kill or throw ends that wait too, and the task is
left to the loop.  The exception propagates, unless the coroutine fails while it is cancelled; then
that failure does, as from a `finally`.  If the task returns before the cancel or in spite of it,
its result is returned instead of raising Cancelled, because it would be lost otherwise (a
connection from a pool, for example); the scope raises again at the next operation.  A kill or a
throw comes once and takes precedence.

Below the running loop of somebody else, a notebook's, the coroutine runs in the loop of this thread
as always, in a tasklet of its own, which sees no other loop.  The loop of the notebook waits as for
any call that blocks.  A coroutine of our own loop would wait for itself, so it is refused.

A coroutine that waits for a tasklet waits for a future, which a second tasklet sets: only a tasklet
can wait for another one in any state.  If it is cancelled, it kills the tasklet and waits for its
end; a second cancel ends that wait too.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any, ParamSpec, TypeVar

from loomlet import _core
from loomlet.aio._event_loop import EventLoop
from loomlet.aio._loop_runner import LoopRunner, runner
from loomlet.errors import Cancelled, TaskletError, TaskletExit

__all__ = ["await_", "result", "to_tasklet"]

P = ParamSpec("P")
T = TypeVar("T")


class _Call:
    """One call of await_(): the coroutine, its task, and the outcome."""

    __slots__ = ("context", "coroutine", "ended", "lost", "runner", "task", "tasklet")

    def __init__(
        self, runner: LoopRunner, coroutine: Coroutine[Any, Any, Any], context: Context
    ) -> None:
        self.runner = runner
        self.tasklet = _core.current()
        self.coroutine: Coroutine[Any, Any, Any] | None = coroutine
        self.context = context
        self.task: asyncio.Task[Any] | None = None
        self.lost: BaseException | None = None
        self.ended = _core.Channel(1)

    def begin(self) -> None:
        """Runs in the loop: creates the task, unless the call was given up before."""
        coroutine, self.coroutine = self.coroutine, None
        if coroutine is None:
            return
        try:
            self.task = self.runner.loop.create_task(coroutine, context=self.context)
        except BaseException as error:
            coroutine.close()
            self.lost = error
            self.ended.try_send(None)
        else:
            self.task.add_done_callback(self.ended.try_send)

    def failure(self) -> BaseException | None:
        """The exception of the task, if it has failed."""
        task = self.task
        return task.exception() if task and task.done() and not task.cancelled() else None

    def returned(self) -> bool:
        """Whether the task has ended with a result."""
        task = self.task
        if task is None or not task.done() or task.cancelled() or self.lost is not None:
            return False
        return task.exception() is None

    def lose(self, why: str) -> None:
        """In the child of a fork, where no loop can complete the call."""
        self.lost = TaskletError(why)
        self._drop()
        self.ended.try_send(None)

    def give_up(self) -> None:
        """After an interrupted wait: cancels the task and waits; raises the task's exception."""
        self._drop()
        if self.task is None or self.task.done() or self.lost is not None:
            self.failure()
            return
        self.runner.leaving.add(self.task)
        self.task.add_done_callback(self.runner.leaving.discard)
        self.task.cancel()
        with _core.CancelScope(shield=True):
            self.ended.receive()
        if self.failure() is not None:
            self.outcome()

    def _drop(self) -> None:
        """From now on the coroutine will not be started."""
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
    asyncio.CancelledError if other code cancels the coroutine.  The coroutine sees the context
    variables of the tasklet; the tasklet does not see what the coroutine sets.

    kill(), throw(), a cancelled scope and a timeout cancel the coroutine and wait for its end; a
    second kill() or throw() does not wait.  TaskletError in a coroutine of such a loop: use `await`
    there.  Below another running loop, as in the cell of a notebook, that loop stands still
    meanwhile, and what belongs to it cannot be awaited here.
    """
    if isinstance(asyncio._get_running_loop(), EventLoop):
        raise TaskletError(
            "await_() cannot be called in a coroutine; use `await` there, and to_tasklet() for "
            "plain functions that call await_()"
        )
    call = _Call(runner(), _coroutine(awaitable), copy_context())
    call.runner.calls.add(call)
    try:
        call.runner.loop.call_soon(call.begin)
        try:
            call.ended.receive()
        except BaseException as error:
            call.give_up()
            if not (isinstance(error, Cancelled) and call.returned()):
                raise
        return call.outcome()  # type: ignore[no-any-return]
    finally:
        call.runner.calls.discard(call)
        del call  # no cycle through the traceback of what is raised


async def to_tasklet(func: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs func(*args, **kwargs) in a new tasklet; returns its result or raises its exception.

    It may block, also in await_().  Cancelling kills the tasklet and waits for its end.
    """
    _loop()
    return await result(_core.spawn(func, *args, **kwargs))  # type: ignore[no-any-return]


async def result(tasklet: _core.Tasklet, /) -> Any:
    """Waits until a tasklet has ended; returns its result or raises its exception.

    asyncio.CancelledError if the tasklet was killed.  Cancelling kills the tasklet and waits for
    its end; `await asyncio.shield(result(tasklet))` does not kill it.
    """
    join = _Join(_loop(), tasklet)
    try:
        await join.end()
        if isinstance(tasklet._failure, (TaskletExit, Cancelled)):
            raise asyncio.CancelledError
        return tasklet.result()
    except asyncio.CancelledError:
        if tasklet.state != "done":
            tasklet.kill()
            await join.end()
            if not isinstance(tasklet._failure, (TaskletExit, Cancelled)):
                tasklet.result()
        raise
    finally:
        join.joiner.kill()


def _loop() -> EventLoop:
    loop = asyncio.get_running_loop()
    if not isinstance(loop, EventLoop):
        raise TaskletError(
            f"{loop!r} is not a loomlet.aio.EventLoop, so no tasklet runs while it waits; give "
            "asyncio.Runner the loop_factory aio.EventLoop"
        )
    return loop


class _Join:
    """Lets a coroutine wait for the end of a tasklet, which a second tasklet joins."""

    __slots__ = ("future", "joiner", "loop", "tasklet")

    def __init__(self, loop: EventLoop, tasklet: _core.Tasklet) -> None:
        self.loop = loop
        self.tasklet = tasklet
        self.future: asyncio.Future[None] | None = None
        self.joiner = _core.spawn(self._join)
        self.joiner.run()

    async def end(self) -> None:
        """Returns when the tasklet has ended; may be called again after a cancel."""
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
