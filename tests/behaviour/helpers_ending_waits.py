"""Ways to end a wait that are the same for whatever is waited for."""

from __future__ import annotations

import _thread
import os
from collections.abc import Callable
from typing import TypeVar

import pytest

import loomlet

T = TypeVar("T")


def time_out(clock: Callable[[], float], wait: Callable[[T], object], thing: T) -> None:
    """wait(thing) gets TimeoutError after five seconds."""

    def body() -> None:
        with loomlet.timeout(5):
            wait(thing)

    task = loomlet.spawn(body)
    with pytest.raises(TimeoutError):
        task.result()
    assert clock() == 5.0


def cancel(wait: Callable[[T], object], thing: T, after: Callable[[], object]) -> None:
    """wait(thing) gets Cancelled; after() runs in the scope that was cancelled."""
    scope = loomlet.CancelScope()

    def body() -> bool:
        with scope:
            try:
                wait(thing)
            except loomlet.Cancelled:
                after()
                raise
        return scope.cancelled_caught

    task = loomlet.spawn(body)
    loomlet.schedule()
    scope.cancel()
    assert task.result() is True


def killed_before_it_runs(task: loomlet.Tasklet) -> None:
    """Killed by a message of another thread, which is read before the tasklet runs.

    os.read() lets no other tasklet run, and remove() reads the message.
    """
    reading, writing = os.pipe()

    def kill() -> None:
        task.kill()
        os.write(writing, b"x")

    _thread.start_new_thread(kill, ())
    os.read(reading, 1)
    os.close(reading)
    os.close(writing)
    task.remove()
    task.insert()


def end_each_way(
    caught: Callable[..., loomlet.Tasklet],
    wait: Callable[..., object],
    *args: object,
    seconds: float = 0.001,
) -> None:
    """Three tasklets call wait(*args): they are ended by a kill, a throw and a timeout."""

    def within() -> None:
        with loomlet.timeout(seconds):
            wait(*args)

    killed, thrown, scoped = caught(wait, *args), caught(wait, *args), caught(within)
    loomlet.schedule()
    killed.kill()
    assert killed.state == "done"
    thrown.throw(KeyError("x"))
    assert isinstance(thrown.result(), KeyError)
    assert isinstance(scoped.result(), TimeoutError)
