"""Tasklets that wait for each other's builtin locks are a deadlock that explains itself."""

import threading

import pytest
from helpers_opposite_locks import spawn_in_opposite_order, work

import loomlet
from loomlet import TaskGroup, schedule, spawn


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
def test_two_locks_in_opposite_order(make, mode):
    """The text names each tasklet, the lock, who holds it, and where; then the ring."""
    left, right = make(), make()
    tasks = spawn_in_opposite_order(left, right)
    with pytest.raises(loomlet.Deadlock) as caught:
        tasks[0].join()
    lines = str(caught.value).splitlines()
    for name, lock, other in (("ann", right, "bob"), ("bob", left, "ann")):
        line = next(line for line in lines if line.strip().startswith(name))
        assert f"acquire {lock!r} held by {other} at {work.__code__.co_filename}:" in line
        assert line.endswith("work")
    assert lines[-1] == "  in a ring: ann -> bob -> ann"


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


def test_a_lock_in_a_ring_with_a_group(mode):
    """The main tasklet waits for a child, which waits for its lock: both and the ring are named."""
    lock = threading.Lock()

    def child():
        with lock:
            pass

    with pytest.raises(loomlet.Deadlock) as caught, lock, TaskGroup() as group:
        group.spawn(child).name = "ann"
    lines = str(caught.value).splitlines()
    assert lines[2].startswith("  ann: acquire <locked _thread.lock object")
    assert " held by main at " in lines[2]
    assert lines[3] == "  in a ring: main -> ann -> main"


def test_a_lock_that_is_taken_twice(mode):
    """Who takes a plain lock again waits for itself."""
    lock = threading.Lock()

    def twice():
        with lock, lock:
            pass

    task = spawn(twice)
    with pytest.raises(loomlet.Deadlock) as caught:
        task.join()
    assert " held by itself at " in str(caught.value)
    assert caught.value.args[0].endswith(f"in a ring: {task.name} -> {task.name}")


def test_waiting_for_a_notification_is_no_ring(mode):
    """A Condition's waiter takes a lock of its own twice, which nobody holds."""
    event = threading.Event()
    task = spawn(event.wait)
    with pytest.raises(loomlet.Deadlock) as caught:
        task.join()
    text = str(caught.value)
    assert "in a ring" not in text
    assert "held by" not in text


def test_the_line_of_the_user_is_named(mode):
    """The line that called the standard library comes first, then the one inside."""

    def waits():
        threading.Event().wait()

    task = spawn(waits)
    with pytest.raises(loomlet.Deadlock) as caught:
        task.join()
    line = str(caught.value).splitlines()[2]
    called = f" at {__file__}:{waits.__code__.co_firstlineno + 1} in {waits.__qualname__} (in "
    assert called in line
    assert line.endswith(" in Condition.wait)")


def test_the_last_holder_is_named():
    """Who took a lock is known, also when hundreds are held."""
    locks = [threading.Lock() for _ in range(300)]
    for lock in locks:
        lock.acquire()
    tasks = [spawn(lambda lock=lock: lock.acquire()) for lock in locks[:50]]
    with pytest.raises(loomlet.Deadlock) as caught:
        tasks[0].join()
    assert str(caught.value).count(" held by main at ") == 50
    for lock in locks:
        lock.release()
    for task in tasks:
        task.join()
