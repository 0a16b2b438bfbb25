"""Values pass through a channel without leaving a reference behind."""

import sys
import weakref

import pytest

import loomlet
from loomlet import Channel


class Value:
    pass


def many(ch, value, count):
    for _ in range(count):
        ch.send(value)


@pytest.mark.parametrize("capacity", [0, 1, 5])
@pytest.mark.parametrize("preference", [-1, 0, 1])
def test_send_and_receive(capacity, preference, mode):
    """After any number of messages a value has the references that it had before."""
    value, ch = Value(), Channel(capacity)
    ch.preference = preference
    before = sys.getrefcount(value)
    task = loomlet.spawn(many, ch, value, 100)
    for _ in range(100):
        assert ch.receive() is value
    task.join()
    del task
    assert sys.getrefcount(value) == before


def test_try_operations(mode):
    """try_send() and try_receive() leak nothing, whether they succeed or not."""
    value, ch = Value(), Channel(1)
    before = sys.getrefcount(value)
    for _ in range(50):
        ch.try_send(value)
        ch.try_send(value)
        ch.try_receive()
        ch.try_receive()
    assert sys.getrefcount(value) == before


def test_iteration(mode):
    """A loop over a channel leaks nothing."""
    value, ch = Value(), Channel()
    before = sys.getrefcount(value)

    def loop():
        for _ in ch:
            pass

    task = loomlet.spawn(loop)
    for _ in range(50):
        ch.send(value)
    ch.close()
    task.join()
    del task
    assert sys.getrefcount(value) == before


def test_a_killed_sender_takes_its_value_along(mode):
    """The value of a sender that never meets a receiver is released."""
    value, ch = Value(), Channel()
    seen = weakref.ref(value)
    task = loomlet.spawn(lambda: ch.send(Value()))
    loomlet.schedule()
    task.kill()
    task = loomlet.spawn(ch.send, value)
    del value
    loomlet.schedule()
    assert seen() is not None
    task.kill()
    assert seen() is None


def test_a_buffer_is_released_with_its_channel():
    """Values that were never received are released with the channel."""
    ch = Channel(10)
    seen = []
    for _ in range(10):
        value = Value()
        seen.append(weakref.ref(value))
        ch.send(value)
    del value
    ch.receive()
    assert [ref() is None for ref in seen] == [True] + [False] * 9
    del ch
    assert [ref() for ref in seen] == [None] * 10


def test_failed_sends(mode):
    """A send that raises keeps no reference to its value."""
    value, ch = Value(), Channel()
    ch.close()
    before = sys.getrefcount(value)
    for _ in range(20):
        with pytest.raises(loomlet.ChannelClosed):
            ch.send(value)
        with pytest.raises(loomlet.ChannelClosed):
            loomlet.select([(ch, value)])
    assert sys.getrefcount(value) == before


def test_the_channel_itself(mode):
    """Waiting and being woken leaves the channel's reference count as it was."""
    ch = Channel()
    before = sys.getrefcount(ch)
    for _ in range(20):
        task = loomlet.spawn(lambda: ch.receive())
        loomlet.schedule()
        ch.send(1)
        task.join()
        task = loomlet.spawn(lambda: loomlet.select([ch, (ch, 1)]))
        loomlet.schedule()
        task.kill()
    del task
    assert sys.getrefcount(ch) == before
