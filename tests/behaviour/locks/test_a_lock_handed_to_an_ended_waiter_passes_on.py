"""A lock that was handed over to a tasklet which then raises instead goes to the next, or is free.

release() gives the lock to the longest waiter; before that tasklet runs it may be killed, or an
exception may be thrown into it: it never learns that it had the lock, and would not release it.
"""

import os
import threading

import pytest
from helpers_ending_waits import killed_before_it_runs

import loomlet
from loomlet import Lock, TaskletExit, schedule, spawn, sync


def takes(lock, log, name="one"):
    with lock:
        log.append(name)


def acquires(lock, log, name="one"):
    assert lock.acquire()
    log.append(name)
    lock.release()


def below_c(lock, log, name="one"):
    """Hard: C code lies between."""
    sorted([1], key=lambda _: takes(lock, log, name))


@pytest.fixture(params=[takes, acquires, below_c])
def work(request):
    return request.param


def killed(task):
    task.kill()


def thrown_at(task):
    task.throw(TaskletExit("thrown"))


def removed_and_killed(task):
    task.remove()
    task.kill()


@pytest.fixture(params=[killed, thrown_at, removed_and_killed, killed_before_it_runs])
def ends(request):
    return request.param


def test_it_is_free_again(work, ends, mode):
    lock, log = Lock(), []
    lock.acquire()
    task = spawn(work, lock, log)
    schedule()
    lock.release()
    ends(task)
    schedule()
    assert log == []
    assert not lock.locked()
    assert lock.acquire(timeout=0)
    lock.release()


def test_the_next_one_gets_it(work):
    lock, log = Lock(), []
    lock.acquire()
    first = spawn(work, lock, log, "first")
    second = spawn(work, lock, log, "second")
    schedule()
    lock.release()
    first.kill()
    second.join()
    assert log == ["second"]
    assert not lock.locked()


def test_a_tasklet_that_has_run_keeps_it():
    """Killed inside its block, after a switch there: its own __exit__ gives the lock back, once."""
    lock, log = Lock(), []

    def holds():
        with lock:
            log.append("has it")
            try:
                schedule()
            finally:
                log.append(lock.locked())

    lock.acquire()
    task = spawn(holds)
    schedule()
    lock.release()
    schedule()
    task.kill()
    assert log == ["has it", True]
    assert not lock.locked()


def test_a_paused_tasklet_keeps_the_lock_it_was_given():
    """remove() and insert() in between."""
    lock, log = Lock(), []
    lock.acquire()
    task = spawn(takes, lock, log)
    schedule()
    lock.release()
    task.remove()
    assert lock.locked()
    task.insert()
    task.join()
    assert log == ["one"]
    assert not lock.locked()


def test_between_threads():
    """Given by one thread to a tasklet of another, which is killed before it runs."""
    lock, log = Lock(), []
    blocked, given = os.pipe(), os.pipe()

    def other():
        task = spawn(takes, lock, log)
        schedule()
        os.write(blocked[1], b"x")
        os.read(given[0], 1)
        task.kill()

    lock.acquire()
    thread = threading.Thread(target=other)
    thread.start()
    os.read(blocked[0], 1)
    lock.release()
    os.write(given[1], b"x")
    thread.join()
    for end in (*blocked, *given):
        os.close(end)
    assert log == []
    assert lock.acquire(timeout=0)
    lock.release()


def test_a_scope_that_is_cancelled(work):
    """The cancel comes after the lock: it is taken, and the next wait raises."""
    lock, log = Lock(), []

    def inside(scope):
        with scope:
            work(lock, log)

    scope = loomlet.CancelScope()
    lock.acquire()
    task = spawn(inside, scope)
    schedule()
    lock.release()
    scope.cancel()
    task.join()
    assert not lock.locked()


@pytest.mark.parametrize("kind", [Lock, sync.RLock, loomlet.Condition, loomlet.Semaphore])
@pytest.mark.parametrize("before", [None, killed_before_it_runs])
def test_one_that_is_discarded_before_it_runs(switches, kind, before):
    made, log = kind(), []
    made.acquire()
    first = spawn(takes, made, log, "first")
    second = spawn(takes, made, log, "second")
    schedule()
    made.release()
    if before is not None:
        before(first)
    first.discard()
    second.join()
    assert log == ["second"]
    assert made.acquire(False)
    made.release()
