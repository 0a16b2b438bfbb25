"""close() makes a channel refuse actions that would block."""

import pytest

import loomlet.compat.stackless as stackless

TEXT = "Send/receive operation on a closed channel"


def test_closing_and_closed(mode):
    """Spec 4, channel.closing, closed: closed means closing without waiters; both read-only."""
    ch = stackless.channel()
    assert (ch.closing, ch.closed) == (False, False)
    stackless.tasklet(ch.send)("value")
    stackless.run()
    assert ch.close() is None
    assert (ch.closing, ch.closed) == (True, False)
    assert ch.receive() == "value"
    assert (ch.closing, ch.closed) == (True, True)
    stackless.run()
    for name in ("closing", "closed"):
        with pytest.raises(AttributeError):
            setattr(ch, name, False)


def test_waiting_on_a_closed_channel(raises):
    """Spec 4, channel.close, open: sending and receiving are ValueErrors."""
    ch = stackless.channel()
    ch.close()
    with raises(ValueError, TEXT):
        ch.send(1)
    with raises(ValueError, TEXT):
        ch.receive()
    with raises(ValueError, TEXT):
        ch.send_exception(KeyError)
    assert ch.balance == 0


def test_operations_that_need_not_wait_succeed(mode):
    """Spec 4, channel.close, open: a closing channel is drained, of receivers too."""
    ch, log = stackless.channel(), []
    for _ in range(2):
        stackless.tasklet(lambda: log.append(ch.receive()))()
    stackless.run()
    ch.close()
    ch.send(1)
    assert (ch.closing, ch.closed) == (True, False)
    ch.send(2)
    assert log == [1, 2]
    assert ch.closed


def test_open_makes_it_usable_again(mode):
    """Spec 4, channel.close, open: open() takes close() back."""
    ch = stackless.channel()
    ch.close()
    assert ch.open() is None
    assert (ch.closing, ch.closed) == (False, False)
    stackless.tasklet(ch.send)("value")
    assert ch.receive() == "value"
    stackless.run()


def test_receivers_that_wait_stay(mode):
    """Spec 4, channel.close, open: close() wakes no waiter."""
    ch = stackless.channel()
    task = stackless.tasklet(ch.receive)()
    stackless.run()
    ch.close()
    stackless.run()
    assert task.blocked
    ch.send(None)
    assert not task.alive
