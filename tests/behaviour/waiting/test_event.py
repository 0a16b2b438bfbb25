"""Any number of tasklets and threads wait for an Event; all go on when it is set."""

import threading

import pytest

import loomlet
from loomlet import Cancelled, CancelScope, Deadlock, Event, TaskletKilled, schedule, spawn, timeout


def test_all_go_on_in_their_order(mode):
    event, log = Event(), []

    def work(name):
        log.append((name, event.wait()))

    tasks = [spawn(work, name) for name in range(5)]
    schedule()
    assert log == []
    assert not event.is_set()
    event.set()
    assert event.is_set()
    for task in tasks:
        task.join()
    assert log == [(name, True) for name in range(5)]


def test_set_before(mode):
    """wait() returns at once, in a cancelled scope too."""
    event = Event()
    event.set()
    event.set()
    with CancelScope() as scope:
        scope.cancel()
        assert event.wait()
        assert event.wait(0)
    assert not scope.cancelled_caught


def test_cleared(mode):
    """Who was told goes on; who comes later waits."""
    event, log = Event(), []
    first = spawn(lambda: log.append(event.wait()))
    schedule()
    event.set()
    event.clear()
    second = spawn(lambda: log.append(event.wait(60)))
    first.join()
    assert log == [True]
    assert second.state == "blocked"
    event.set()
    second.join()
    assert log == [True, True]


@pytest.mark.usefixtures("virtual")
def test_the_time_is_over(mode):
    event = Event()
    begin = loomlet.now()
    assert not event.wait(5)
    assert loomlet.now() == begin + 5
    assert not event.wait(0)
    assert not event.wait(timeout=-1)


def test_a_wait_is_ended(mode):
    """By a cancel, a kill, a time limit; the others are not affected."""
    event, scope, log = Event(), CancelScope(), []

    def cancelled():
        with scope:
            try:
                event.wait()
            except Cancelled:
                log.append("cancelled")
                raise

    def late():
        with pytest.raises(TimeoutError), timeout(0):
            event.wait()

    tasks = [spawn(cancelled), spawn(event.wait), spawn(late), spawn(event.wait)]
    schedule()
    scope.cancel()
    tasks[1].kill()
    tasks[2].join()
    event.set()
    tasks[0].join()
    with pytest.raises(TaskletKilled):
        tasks[1].join()
    assert tasks[3].result() is True
    assert log == ["cancelled"]


def test_between_threads(mode):
    """Set by a thread that waits for nothing, waited for by one that has no tasklets."""
    event, answer, log = Event(), Event(), []

    def other():
        log.append(event.wait(60))
        answer.set()

    thread = threading.Thread(target=other)
    thread.start()
    waiting = spawn(answer.wait, 60)
    event.set()
    assert waiting.result()
    thread.join()
    assert log == [True]


def test_nobody_can_set_it():
    with pytest.raises(Deadlock, match=r"main: wait <loomlet.Event at 0x\w+ not set>"):
        loomlet.run(Event().wait)


def test_wrong_arguments():
    with pytest.raises(TypeError, match="expected seconds"):
        Event().wait("soon")
    with pytest.raises(TypeError, match="takes no arguments"):
        Event(1)
