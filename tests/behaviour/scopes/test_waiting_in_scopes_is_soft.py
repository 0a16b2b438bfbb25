"""Scopes and groups add no C frame between a tasklet and what it waits for."""

import loomlet
from loomlet import CancelScope, Channel, TaskGroup, timeout


def receive_inside(make, ch):
    with make() as scope:
        assert scope.cancel_called is False
        return ch.receive()


def test_a_wait_inside_a_scope(switches, clock):
    """The block of a `with` is part of the function: waiting there is soft."""
    for make in (CancelScope, lambda: timeout(5), TaskGroup):
        ch = Channel()
        task = loomlet.spawn(receive_inside, make, ch)
        loomlet.schedule()
        assert task.state == "blocked"
        ch.send(make)
        assert task.result() is make
    assert switches.take() == (3, 0)


def test_waiting_for_children(switches):
    """A tasklet that waits at the end of a group's block keeps no C stack."""

    def worker(ch):
        with TaskGroup() as group:
            group.spawn(receive_inside, CancelScope, ch)

    ch = Channel()
    task = loomlet.spawn(worker, ch)
    loomlet.schedule()
    loomlet.schedule()
    assert task.state == "blocked"
    assert switches.take() == (2, 0)
    ch.send(1)
    task.join()


def test_a_thousand_groups_wait(switches):
    """Many at once, one inside the other."""

    def nest(depth, ch):
        if depth == 0:
            return ch.receive()
        with TaskGroup() as group:
            group.spawn(nest, depth - 1, ch)

    ch = Channel()
    task = loomlet.spawn(nest, 1000, ch)
    while task.state == "runnable" or not ch.balance:
        loomlet.schedule()
    assert switches.take()[1] == 0
    ch.send(1)
    task.join()
