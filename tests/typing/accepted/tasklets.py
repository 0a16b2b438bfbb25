"""run(), spawn(), tasklets, locks and slices."""

from types import TracebackType
from typing import Any, Literal, assert_type

import loomlet
from loomlet import Lock, Tasklet, TaskletExit, current, nopreempt, pinned, schedule, sleep, spawn


def add(one: int, other: int = 0) -> int:
    """The function that is spawned here."""
    return one + other


def fail(tasklet: Tasklet, error: BaseException) -> None:
    """An error handler."""


def running() -> None:
    """run() gives what the function gives."""
    assert_type(loomlet.run(add, 1, 2), int)
    assert_type(loomlet.run(lambda: "x"), str)
    assert_type(loomlet.run(add, 1, slice=None), int)
    assert_type(loomlet.run(add, 1, slice=0.002), int)
    assert_type(loomlet.run(add, 1, strict=True), int)


def spawning() -> None:
    """The arguments of spawn() are those of the function."""
    assert_type(spawn(add, 1), Tasklet[int])
    assert_type(spawn(add, 1, other=2), Tasklet[int])
    assert_type(spawn(print, "x", end=""), Tasklet[None])
    assert_type(spawn(lambda: None), Tasklet[None])
    assert_type(loomlet.spawn_threadsafe(7, add, 1, other=2), Tasklet[int])
    assert_type(current(), Tasklet)
    assert_type(loomlet.now(), float)
    schedule()
    sleep(1)
    sleep(0.5)


def asking(tasklet: Tasklet) -> None:
    """The attributes of a tasklet."""
    assert_type(tasklet.state, Literal["new", "runnable", "running", "blocked", "paused", "done"])
    assert_type(tasklet.id, int)
    assert_type(tasklet.name, str)
    assert_type(tasklet.is_main, bool)
    assert_type(tasklet.waiting_for, Any)
    assert_type(tasklet.waiting_in, str | None)
    tasklet.name = "worker"


def using(tasklet: Tasklet) -> None:
    """The operations on a tasklet."""
    assert_type(tasklet.result(), Any)
    assert_type(tasklet.result(timeout=1), Any)
    assert_type(tasklet.insert(), Tasklet)
    assert_type(tasklet.remove(), Tasklet)
    tasklet.join()
    tasklet.join(0.5)
    tasklet.throw(ValueError("x"))
    tasklet.throw(TaskletExit)
    tasklet.kill()
    tasklet.run()
    tasklet.switch()
    tasklet.bind_thread()
    tasklet.bind_thread(7)


def locking(lock: Lock) -> None:
    """A Lock is like threading.Lock."""
    with lock as held:
        assert_type(held, bool)
    assert_type(lock.acquire(), bool)
    assert_type(lock.acquire(blocking=False), bool)
    assert_type(lock.acquire(timeout=0.5), bool)
    assert_type(lock.locked(), bool)
    lock.release()


def uninterrupted() -> int:
    """nopreempt() swallows no exception, so a checker sees that this returns."""
    with nopreempt():
        return 1


@pinned()
def in_one_thread(value: int) -> str:
    """The decorator keeps the types, and the block swallows nothing."""
    with pinned():
        return str(value)


assert_type(in_one_thread(3), str)


def handling() -> None:
    """The error handler goes in, the old one comes out."""
    old = loomlet.set_error_handler(fail)
    loomlet.set_error_handler(old)
    loomlet.set_error_handler(None)
    loomlet.set_error_handler(lambda tasklet, error: print(tasklet.name, error))


def stalls() -> None:
    """The callback of a stall sees which tasklet held the thread, where and for how long."""
    old = loomlet.on_stall(lambda stall: print(stall.tasklet.name, stall.seconds), after=0.2)
    loomlet.on_stall(old)
    loomlet.on_stall(None)


def errors(error: loomlet.LoomletError) -> TracebackType | None:
    """Each error is one of LoomletError's and of a kind that Python knows."""
    deadlock: RuntimeError = loomlet.Deadlock("x")
    closed: ValueError = loomlet.ChannelClosed("x", None)
    dead: loomlet.TaskletError = loomlet.DeadTasklet("x")
    wrong: loomlet.TaskletError = loomlet.WrongThread("x")
    trapped: RuntimeError = loomlet.SwitchTrapped("x")
    ended: SystemExit = TaskletExit()
    killed: loomlet.TaskletError = loomlet.TaskletKilled("x", None)
    assert_type(loomlet.TaskletKilled("x", None).reason, str | None)
    stalled: RuntimeWarning = loomlet.StallWarning("x")
    for raised in (deadlock, closed, dead, wrong, trapped, ended, killed, stalled):
        print(raised.__notes__)
    return error.__traceback__
