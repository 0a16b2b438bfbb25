"""A cancel from further out ends the children, then propagates as Cancelled."""

import pytest

import loomlet
from loomlet import CancelScope, Channel, TaskGroup, timeout


def child(log):
    try:
        Channel().receive()
    finally:
        log.append("ended")


def test_while_the_body_waits(mode):
    """The children have ended when the outer scope catches."""
    outer, log = CancelScope(), []

    def worker():
        with outer:
            try:
                with TaskGroup() as group:
                    group.spawn(child, log)
                    group.spawn(child, log)
                    Channel().receive()
            finally:
                log.append("group left")
            log.append("never")

    task = loomlet.spawn(worker)
    loomlet.schedule()
    loomlet.schedule()
    outer.cancel()
    task.join()
    assert log == ["ended", "ended", "group left"]
    assert outer.cancelled_caught


def test_while_the_group_waits(mode, clock):
    """A timeout around a group that waits raises TimeoutError when all have ended."""
    log = []

    def worker():
        with timeout(5), TaskGroup() as group:
            group.spawn(child, log)
            group.spawn(child, log)

    with pytest.raises(TimeoutError):
        loomlet.spawn(worker).result()
    assert log == ["ended", "ended"]
    assert clock() == 5.0


def test_children_that_clean_up_are_waited_for(mode, clock):
    """However long they take: no child outlives its group."""
    log = []

    def slow():
        try:
            loomlet.sleep(100)
        finally:
            with CancelScope(shield=True):
                loomlet.sleep(3)
            log.append(clock())

    def worker():
        with timeout(5), TaskGroup() as group:
            group.spawn(slow)
            loomlet.sleep(1)

    with pytest.raises(TimeoutError):
        loomlet.spawn(worker).result()
    assert log == [8.0]


def test_a_body_that_ends_in_a_cancelled_scope():
    """Waiting for children is a blocking operation: it raises as every other."""
    log = []
    with CancelScope() as outer:
        with TaskGroup() as group:
            group.spawn(child, log)
            outer.cancel()
        log.append("never")
    assert outer.cancelled_caught
    assert log == ["ended"]


def test_without_children_nothing_waits():
    """A group that has nothing to wait for ends like any block."""
    log = []
    with CancelScope() as outer:
        with TaskGroup():
            outer.cancel()
        log.append("behind the group")
    assert log == ["behind the group"]
    assert not outer.cancelled_caught


def test_both_are_cancelled():
    """The group leaves the Cancelled to the outer scope, as scopes do."""
    with CancelScope() as outer, TaskGroup() as group:
        group.cancel()
        outer.cancel()
        loomlet.schedule()
    assert (outer.cancelled_caught, group.cancelled_caught) == (True, False)


def test_a_scope_inside_a_child(mode, clock):
    """A timeout of the child's own is not touched by the group's, and the other way round."""
    log = []

    def patient():
        with pytest.raises(TimeoutError), timeout(2):
            loomlet.sleep(100)
        log.append(clock())
        with timeout(50):
            loomlet.sleep(100)
        log.append("never")

    with pytest.raises(TimeoutError), timeout(5), TaskGroup() as group:
        group.spawn(patient)
    assert log == [2.0]
    assert clock() == 5.0
