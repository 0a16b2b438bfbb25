"""Each allocation fails in turn: MemoryError, and every queue as before."""

import gc

import pytest

import loomlet
from loomlet import Channel, Lock, _core, schedule, select, spawn


def ping():
    ch = Channel()
    task = spawn(ch.receive)
    schedule()
    ch.send(1)
    return task.result()


def buffered():
    ch = Channel(4)
    for n in range(4):
        ch.send(n)
    return [ch.receive(), ch.receive(), ch.receive(), ch.receive()]


def choose():
    a, b = Channel(), Channel()
    task = spawn(lambda: select([a, (b, 2)], timeout=1000))
    schedule()
    a.send(3)
    return task.result()


def wait_for_a_lock():
    lock = Lock()
    lock.acquire()
    task = spawn(lock.acquire, timeout=1000)
    schedule()
    lock.release()
    return task.result()


def hard():
    ch = Channel()
    task = spawn(lambda: sorted([1], key=lambda _: ch.receive()))
    schedule()
    ch.send(1)
    return task.result()


def nap():
    task = spawn(loomlet.sleep, 1e-6)
    return task.result()


WORK = [ping, buffered, choose, wait_for_a_lock, hard, nap]


def attempt(work, fail_at):
    """What came of `work` with the core's allocation `fail_at` failing; whether one did."""
    _core._fail_allocation(fail_at)
    try:
        outcome = work()
    except (MemoryError, loomlet.Deadlock):  # the partner may have died of it
        outcome = MemoryError
    return outcome, _core._fail_allocation(0) == 0


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("work", WORK)
def test_each_allocation_in_turn(work, mode, failures):
    """MemoryError or the right result; afterwards everything works and nobody is left."""
    expected, fail_at, failed = work(), 0, True
    while failed:
        fail_at += 1
        outcome, failed = attempt(work, fail_at)
        assert outcome is MemoryError or outcome == expected
        for task in _core.tasklets()[1:]:
            task.kill()
        gc.collect()
        schedule()
        assert len(_core.tasklets()) == 1
        assert work() == expected
    assert outcome == expected
    failures.clear()
