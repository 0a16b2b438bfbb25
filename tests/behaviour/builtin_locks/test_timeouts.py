"""acquire(timeout=...) and acquire(False) in tasklets."""

import threading

import pytest

import loomlet
from loomlet import schedule, spawn

MAKE = pytest.mark.parametrize("make", [threading.Lock, threading.RLock])


@MAKE
def test_the_time_is_over(make, clock, mode):
    """False at the deadline, on the scheduler's clock; the lock goes to another tasklet then."""
    lock = make()

    def late():
        return lock.acquire(timeout=5), loomlet.now()

    def patient():
        return lock.acquire(timeout=50), loomlet.now()

    with lock:
        tasks = [spawn(late), spawn(patient)]
        loomlet.sleep(10)
    assert [task.result() for task in tasks] == [(False, 5), (True, 10)]


@MAKE
def test_in_time(make, clock, mode):
    """True when it is released before."""
    lock = make()
    with lock:
        task = spawn(lock.acquire, True, 5)
        schedule()
    assert task.result() is True
    assert loomlet.now() == 0


@MAKE
@pytest.mark.parametrize("args", [(False,), (0,), (True, 0), (True, 0.0)])
def test_without_waiting(make, args):
    """Neither switches nor waits."""
    lock, log = make(), []
    spawn(log.append, "others ran")
    with lock:
        assert spawn(lambda: lock.acquire(*args)).result() is False
    log.clear()
    spawn(log.append, "others ran")
    assert lock.acquire(*args) is True
    assert log == []


@MAKE
@pytest.mark.parametrize("forever", [-1, -1.0])
def test_minus_one_is_no_limit(make, forever):
    """As in CPython."""
    lock = make()
    with lock:
        task = spawn(lambda: lock.acquire(timeout=forever))
        schedule()
        assert task.state == "blocked"
    assert task.result() is True
