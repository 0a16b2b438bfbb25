"""kill, throw and cancel end a wait for a lock, and the lock is not lost."""

import queue
import threading

import pytest

import loomlet
from loomlet import CancelScope, schedule, spawn

MAKE = pytest.mark.parametrize("make", [threading.Lock, threading.RLock])


def is_free(lock):
    """Whether a new tasklet can acquire it."""

    def look():
        return lock.acquire(blocking=False) and not lock.release()

    return spawn(look).result()


@MAKE
def test_thrown_into_while_waiting(make, mode):
    """The exception is raised in acquire(); the lock passes that tasklet by."""
    lock, log = make(), []

    def wait(name):
        try:
            with lock:
                log.append(name)
        except KeyError:
            log.append("thrown")

    with lock:
        first, second = spawn(wait, 1), spawn(wait, 2)
        schedule()
        first.throw(KeyError("x"))
    second.join()
    assert log == ["thrown", 2]
    assert is_free(lock)


@MAKE
def test_killed_after_the_lock_was_handed_over(make, mode):
    """A tasklet that has the lock already, but did not run yet, gives it back."""
    lock, log = make(), []

    def wait(name):
        with lock:
            log.append(name)

    with lock:
        first, second = spawn(wait, 1), spawn(wait, 2)
        schedule()
    assert first.state == "runnable"
    first.kill()
    second.join()
    assert log == [2]
    assert is_free(lock)


@MAKE
def test_cancelled_while_waiting(make, mode):
    """A cancelled scope ends the wait; a free lock can be taken inside one."""
    lock, log = make(), []

    def wait(scope):
        with scope:
            with lock:
                log.append("inside")
        log.append("after")

    scope = CancelScope()
    with lock:
        task = spawn(wait, scope)
        schedule()
        scope.cancel()
        task.join()
    assert log == ["after"]
    with CancelScope() as scope:
        scope.cancel()
        with lock:
            log.append("free")
    assert log == ["after", "free"]
    assert is_free(lock)


def test_a_timeout_scope(clock, mode):
    """loomlet.timeout around a plain `with lock`."""
    lock = threading.Lock()

    def wait():
        with loomlet.timeout(3), lock:
            pass

    with lock:
        task = spawn(wait)
        with pytest.raises(TimeoutError):
            task.join()
    assert loomlet.now() == 3
    assert is_free(lock)


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
@pytest.mark.parametrize("end", ["kill", "cancel"])
def test_a_condition_is_left_in_order(make, end, mode):
    """Ended inside Condition.wait(), the lock is taken back before the exception is raised."""
    condition, log = threading.Condition(make()), []
    scope = CancelScope()

    def wait():
        with scope, condition:
            try:
                condition.wait()
            finally:
                log.append(condition._is_owned())

    def hold():
        with condition:
            schedule()
            schedule()
            log.append("held")

    waiter, holder = spawn(wait), spawn(hold)
    schedule()
    waiter.kill() if end == "kill" else scope.cancel()
    holder.join()
    while waiter.state != "done":
        schedule()
    assert log == ["held", True]
    assert spawn(lambda: condition.acquire(blocking=False)).result()


def test_a_killed_getter_leaves_its_queue_whole(mode):
    """queue.Queue continues when one of its waiters is killed."""
    line = queue.Queue()
    getters = [spawn(line.get) for _ in range(3)]
    schedule()
    getters[1].kill()
    line.put("a")
    line.put("b")
    assert sorted([getters[0].result(), getters[2].result()]) == ["a", "b"]
    line.put("c")
    assert line.get() == "c"
