"""try_send() and try_receive() never wait."""

import pytest

import loomlet
from loomlet import Channel


def test_without_a_partner():
    """Without a partner, try_send() is False and try_receive() is (False, None)."""
    ch = Channel()
    assert ch.try_send(1) is False
    assert ch.try_receive() == (False, None)
    assert ch.balance == 0


def test_with_a_waiting_partner(mode):
    """A waiting partner is served; it becomes runnable and the caller continues."""
    ch = Channel()
    receiver = loomlet.spawn(ch.receive)
    loomlet.schedule()
    assert ch.try_send("value") is True
    assert receiver.state == "runnable"
    assert receiver.result() == "value"
    sender = loomlet.spawn(ch.send, None)
    loomlet.schedule()
    assert ch.try_receive() == (True, None)
    assert sender.state == "runnable"


def test_with_a_buffer():
    """They use the buffer as send() and receive() do."""
    ch = Channel(2)
    assert [ch.try_send(n) for n in range(3)] == [True, True, False]
    assert [ch.try_receive() for _ in range(3)] == [(True, 0), (True, 1), (False, None)]


def test_with_a_full_buffer_and_a_waiting_sender(mode):
    """try_receive() lets a waiting sender's value into the buffer."""
    ch = Channel(1)
    for n in range(2):
        loomlet.spawn(ch.send, n)
    loomlet.schedule()
    assert [ch.try_receive() for _ in range(3)] == [(True, 0), (True, 1), (False, None)]


def test_on_a_closed_channel():
    """They raise ChannelClosed where send() and receive() would, and drain the buffer before."""
    ch = Channel(2)
    ch.send(1)
    ch.close()
    with pytest.raises(loomlet.ChannelClosed):
        ch.try_send(2)
    assert ch.try_receive() == (True, 1)
    with pytest.raises(loomlet.ChannelClosed):
        ch.try_receive()
