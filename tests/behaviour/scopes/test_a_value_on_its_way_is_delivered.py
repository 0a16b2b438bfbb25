"""An operation that was completed before the cancel keeps its result."""

import loomlet
from loomlet import Cancelled, CancelScope, Channel


def test_a_received_value(mode):
    """The value was handed over first: receive() returns it, the next operation is cancelled."""
    ch, scope, log = Channel(), CancelScope(), []

    def receiver():
        with scope:
            log.append(ch.receive())
            ch.receive()

    task = loomlet.spawn(receiver)
    loomlet.schedule()
    ch.send("value")
    scope.cancel()
    task.join()
    assert log == ["value"]
    assert scope.cancelled_caught


def test_a_sent_value(mode):
    """The value was taken first: send() returns, and the value is sent once."""
    ch, scope, log = Channel(), CancelScope(), []

    def sender():
        with scope:
            ch.send("value")
            log.append("sent")
            ch.send("another")

    task = loomlet.spawn(sender)
    loomlet.schedule()
    assert ch.receive() == "value"
    scope.cancel()
    task.join()
    assert log == ["sent"]
    assert ch.balance == 0


def test_a_value_that_was_not_taken_is_not_sent(mode):
    """The cancel came first: the value is never received."""
    ch, scope, log = Channel(), CancelScope(), []

    def sender():
        with scope:
            try:
                ch.send("value")
            except Cancelled:
                log.append("not sent")
                raise

    task = loomlet.spawn(sender)
    loomlet.schedule()
    scope.cancel()
    assert ch.try_receive() == (False, None)
    task.join()
    assert log == ["not sent"]


def test_the_result_of_a_select(mode):
    """A case that was chosen first is the result."""
    first, second, scope, log = Channel(), Channel(), CancelScope(), []

    def chooser():
        with scope:
            log.append(loomlet.select([first, second]))
            loomlet.schedule()

    task = loomlet.spawn(chooser)
    loomlet.schedule()
    second.send("value")
    scope.cancel()
    task.join()
    assert log == [(1, "value")]
    assert scope.cancelled_caught


def test_a_result(mode):
    """The end of the other tasklet was first: result() returns."""
    scope, log = CancelScope(), []
    other = loomlet.spawn(lambda: "done")

    def waiter():
        with scope:
            log.append(other.result())
            loomlet.schedule()

    other.remove()
    task = loomlet.spawn(waiter)
    loomlet.schedule()
    other.run()
    scope.cancel()
    task.join()
    assert log == ["done"]
