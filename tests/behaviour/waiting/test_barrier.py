"""So many tasklets meet at a Barrier, round by round."""

import threading
from threading import BrokenBarrierError

import pytest

import loomlet
from loomlet import Barrier, CancelScope, schedule, spawn


def test_rounds(mode):
    """Nobody goes on before all have come; each has a number of its own."""
    barrier, log = Barrier(3), []

    def work(name):
        for step in range(3):
            log.append((step, name))
            numbers.append((step, barrier.wait()))

    numbers = []
    for task in [spawn(work, name) for name in range(3)]:
        task.join()
    assert [step for step, _ in log] == sorted(step for step, _ in log)
    assert sorted(numbers) == [(step, n) for step in range(3) for n in range(3)]
    assert (barrier.n_waiting, barrier.broken, barrier.parties) == (0, False, 3)


def test_the_last_one_calls_the_action(mode):
    log = []
    barrier = Barrier(2, lambda: log.append("action"))

    def work():
        barrier.wait()
        log.append("on")

    for task in [spawn(work), spawn(work)]:
        task.join()
    assert log == ["action", "on", "on"]


def broken(barrier):
    with pytest.raises(BrokenBarrierError, match="is broken"):
        barrier.wait()


def test_an_action_that_fails(mode):
    def fail():
        raise ZeroDivisionError

    barrier = Barrier(2, fail)
    first = spawn(broken, barrier)
    schedule()
    with pytest.raises(ZeroDivisionError):
        barrier.wait()
    first.join()
    assert barrier.broken
    broken(barrier)


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize("own", [True, False])
def test_the_time_is_over(mode, own):
    barrier = Barrier(3, timeout=None if own else 2)
    other = spawn(broken, barrier)
    schedule()
    begin = loomlet.now()
    with pytest.raises(BrokenBarrierError):
        barrier.wait(2 if own else None)
    assert loomlet.now() == begin + 2
    other.join()


@pytest.mark.parametrize("end", ["kill", "cancel", "abort", "reset"])
def test_broken(mode, end):
    barrier, scope = Barrier(3), CancelScope()

    def cancelled():
        with scope:
            barrier.wait()

    tasks = [spawn(broken, barrier)]
    if end in ("kill", "cancel"):
        tasks.append(spawn(cancelled))
    schedule()
    if end == "kill":
        tasks.pop().kill()
    elif end == "cancel":
        scope.cancel()
    else:
        getattr(barrier, end)()
    for task in tasks:
        task.join()
    assert barrier.broken == (end != "reset")
    barrier.reset()
    assert not barrier.broken
    tasks = [spawn(barrier.wait) for _ in range(3)]
    assert sorted(task.result() for task in tasks) == [0, 1, 2]


def test_between_threads():
    barrier, numbers = Barrier(4), []
    threads = [threading.Thread(target=lambda: numbers.append(barrier.wait(60))) for _ in range(3)]
    for thread in threads:
        thread.start()
    numbers.append(barrier.wait(60))
    for thread in threads:
        thread.join()
    assert sorted(numbers) == [0, 1, 2, 3]


def test_wrong_values():
    with pytest.raises(ValueError, match="expected parties of at least 1, found 0"):
        Barrier(0)
