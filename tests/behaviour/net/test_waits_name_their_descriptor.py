"""A tasklet shows what it waits for, and cannot be frozen there."""

import pytest

import loomlet
from loomlet import _waits


@pytest.mark.parametrize(
    "wait, word",
    [
        (lambda one: one.receive_some(), "read"),
        (lambda one: one.receive_exactly(4), "read"),
        (lambda one: one.wait_readable(), "read"),
    ],
)
def test_it_names_the_stream(mode, pair, wait, word):
    """waiting_in, waiting_for, and the line in a report."""
    one, _ = pair
    task = loomlet.spawn(wait, one)
    loomlet.schedule()
    assert (task.state, task.waiting_in, task.waiting_for) == ("blocked", word, one)
    assert f": read <Stream fd={one.fileno()}> at " in _waits.describe(task)
    task.kill()
    assert task.waiting_for is None


def test_a_listener_is_named(mode, listener):
    """accept, by the listener."""
    task = loomlet.spawn(listener.accept)
    loomlet.schedule()
    assert (task.waiting_in, task.waiting_for) == ("accept", listener)
    task.kill()


def test_it_is_not_frozen(switches, pair):
    """A descriptor belongs to this process; the text says so."""
    one, other = pair
    task = loomlet.spawn(lambda: one.receive_some())
    loomlet.schedule()
    with pytest.raises(loomlet.FreezeError, match="it waits for <Stream fd="):
        loomlet.freeze(task)
    assert loomlet.why_not_freezable(task) is not None
    other.send_all(b"still waits")
    assert task.result() == b"still waits"


def test_a_stream_is_not_frozen(switches, pair):
    """Nor is one that a tasklet only holds."""
    channel = loomlet.Channel()

    def body(stream):
        channel.receive()
        return stream

    task = loomlet.spawn(body, pair[0])
    loomlet.schedule()
    with pytest.raises(loomlet.FreezeError, match="Stream"):
        loomlet.freeze(task)
    task.kill()
