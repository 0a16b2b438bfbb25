"""cancel() ends whatever a tasklet inside the scope waits for."""

import pytest

import loomlet
from loomlet import Cancelled, CancelScope, Channel, Lock, TaskGroup


def wait_in_send():
    Channel().send("value")


def wait_in_receive():
    Channel().receive()


def wait_in_iteration():
    for _ in Channel():
        pass


def wait_in_select():
    loomlet.select([Channel(), (Channel(), "value")])


def wait_in_select_with_a_deadline():
    loomlet.select([Channel()], timeout=100)


def wait_in_sleep():
    loomlet.sleep(100)


def wait_in_join():
    other = loomlet.spawn(Channel().receive)
    try:
        other.join()
    finally:
        other.kill()


def wait_in_result_with_a_deadline():
    other = loomlet.spawn(Channel().receive)
    try:
        other.result(timeout=100)
    finally:
        other.kill()


def wait_in_lock():
    lock = Lock()
    with lock:
        lock.acquire()


def wait_in_with_lock():
    lock = Lock()
    with lock, lock:
        pass


def wait_in_group():
    with TaskGroup() as group:
        group.spawn(Channel().receive)


WAITS = [value for name, value in sorted(vars().items()) if name.startswith("wait_in_")]


@pytest.mark.parametrize("wait", WAITS)
def test_a_wait_is_ended(wait, mode, clock):
    """It raises Cancelled, which the scope catches; nothing else of the tasklet is touched."""
    log = []

    def inside(scope):
        with scope:
            try:
                wait()
            except Cancelled:
                log.append("cancelled")
                raise
        log.append(scope.cancelled_caught)
        loomlet.schedule()
        return "continued"

    scope = CancelScope()
    task = loomlet.spawn(inside, scope)
    while task.state == "runnable":
        loomlet.schedule()
    assert (task.state, scope.cancel_called) == ("blocked", False)
    scope.cancel()
    assert (task.state, scope.cancel_called) == ("runnable", True)
    assert task.result() == "continued"
    assert log == ["cancelled", True]
    assert clock() == 0.0


@pytest.mark.parametrize("wait", WAITS)
def test_a_wait_is_not_begun(wait, mode, clock):
    """In a scope that is cancelled already it raises at once."""
    with CancelScope() as scope:
        scope.cancel()
        with pytest.raises(Cancelled):
            wait()
    assert clock() == 0.0


def test_the_queue_is_left():
    """A cancelled tasklet is in no queue any more; the others keep their places."""
    ch, scope, got = Channel(), CancelScope(), []

    def inside():
        with scope:
            ch.receive()

    tasks = [
        loomlet.spawn(lambda: got.append(("first", ch.receive()))),
        loomlet.spawn(inside),
        loomlet.spawn(lambda: got.append(("last", ch.receive()))),
    ]
    loomlet.schedule()
    assert ch.balance == -3
    scope.cancel()
    assert ch.balance == -2
    ch.send(1)
    ch.send(2)
    for task in tasks:
        task.join()
    assert got == [("first", 1), ("last", 2)]


def test_only_waits_inside_the_scope():
    """A tasklet outside waits on."""
    ch, scope = Channel(), CancelScope()

    def inside():
        with scope:
            ch.receive()

    outside = loomlet.spawn(ch.receive)
    task = loomlet.spawn(inside)
    loomlet.schedule()
    scope.cancel()
    task.join()
    assert outside.state == "blocked"
    ch.send("value")
    assert outside.result() == "value"


def test_a_paused_tasklet_meets_it_later():
    """A tasklet that is not in any queue is not woken; it is cancelled where it next waits."""
    scope, log = CancelScope(), []

    def inside():
        with scope:
            log.append("runs")
            loomlet.schedule()
            log.append("never")

    task = loomlet.spawn(inside)
    task.remove()
    scope.cancel()
    loomlet.schedule()
    assert (task.state, log) == ("paused", [])
    task.insert()
    task.join()
    assert log == ["runs"]
