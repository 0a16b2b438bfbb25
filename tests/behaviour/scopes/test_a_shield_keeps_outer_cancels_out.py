"""CancelScope(shield=True): a cancel from further out does not reach its block."""

import loomlet
from loomlet import CancelScope, Channel, TaskGroup


def test_the_block_continues(mode):
    """A shielded block waits on, and the cancel takes effect right behind it."""
    ch, outer, log = Channel(), CancelScope(), []

    def worker():
        with outer:
            with CancelScope(shield=True):
                log.append(ch.receive())
                log.append(ch.receive())
            log.append("computes")
            ch.receive()

    task = loomlet.spawn(worker)
    loomlet.schedule()
    outer.cancel()
    ch.send(1)
    ch.send(2)
    task.join()
    assert log == [1, 2, "computes"]
    assert outer.cancelled_caught


def test_its_own_cancel_is_not_kept_out():
    """The shield is for others: the scope itself can be cancelled."""
    with CancelScope(shield=True) as scope:
        scope.cancel()
        loomlet.schedule()
    assert scope.cancelled_caught


def test_it_can_be_raised_and_lowered(mode):
    """Setting `shield` takes effect at once, also on a tasklet that waits."""
    ch, outer, inner, log = Channel(), CancelScope(), CancelScope(shield=True), []

    def worker():
        with outer, inner:
            log.append(ch.receive())
            ch.receive()
            log.append("never")

    task = loomlet.spawn(worker)
    loomlet.schedule()
    outer.cancel()
    ch.send("behind the shield")
    loomlet.schedule()
    assert task.state == "blocked"
    inner.shield = False
    assert task.state == "runnable"
    task.join()
    assert log == ["behind the shield"]
    assert outer.cancelled_caught


def test_it_can_be_raised_in_a_cancelled_scope():
    """From then on operations work, until it is lowered."""
    log = []
    with CancelScope() as outer, CancelScope() as inner:
        outer.cancel()
        inner.shield = True
        loomlet.schedule()
        log.append("shielded")
        inner.shield = False
        loomlet.schedule()
        log.append("never")
    assert log == ["shielded"]


def test_children_inside_it_are_shielded_too(mode):
    """A shield around a group keeps its children."""
    ch, outer, log = Channel(), CancelScope(), []

    def worker():
        with outer:
            with CancelScope(shield=True), TaskGroup() as group:
                group.spawn(lambda: log.append(ch.receive()))
            loomlet.schedule()
            log.append("never")

    task = loomlet.spawn(worker)
    loomlet.schedule()
    loomlet.schedule()
    outer.cancel()
    ch.send("value")
    task.join()
    assert log == ["value"]
    assert outer.cancelled_caught
