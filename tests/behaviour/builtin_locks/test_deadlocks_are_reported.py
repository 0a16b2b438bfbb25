"""Tasklets that wait for each other's builtin locks are a deadlock that explains itself."""

import threading

import pytest

import loomlet
from loomlet import schedule, spawn


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
def test_two_locks_in_opposite_order(make, mode):
    """The text names each tasklet, the lock that it waits for, and where."""
    left, right = make(), make()

    def work(first, second):
        with first:
            schedule()
            with second:
                pass

    tasks = [spawn(work, left, right), spawn(work, right, left)]
    for task, name in zip(tasks, ("ann", "bob"), strict=True):
        task.name = name
    with pytest.raises(loomlet.Deadlock) as caught:
        tasks[0].join()
    lines = str(caught.value).splitlines()
    for name, lock in (("ann", right), ("bob", left)):
        line = next(line for line in lines if line.strip().startswith(name))
        assert f"acquire {lock!r} at {__file__}:" in line
        assert line.endswith("work")


def test_main_waits_for_a_lock_that_is_never_released(mode):
    """It is raised in acquire(), which may be tried again."""
    lock, gate = threading.Lock(), loomlet.Channel()

    def hold():
        with lock:
            gate.receive()

    task = spawn(hold)
    schedule()
    with pytest.raises(loomlet.Deadlock):
        lock.acquire()
    gate.send(None)
    with lock:
        pass
    task.join()
