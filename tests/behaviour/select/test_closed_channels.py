"""select() with closed channels."""

import pytest

import loomlet
from loomlet import Channel


def test_a_closed_and_drained_channel_raises():
    """A receive case whose channel is closed and empty raises ChannelClosed with that channel."""
    ch = Channel()
    ch.close()
    with pytest.raises(loomlet.ChannelClosed) as info:
        loomlet.select([Channel(), ch])
    assert info.value.channel is ch


def test_a_send_to_a_closed_channel_raises():
    """A send case whose channel is closed raises ChannelClosed with that channel."""
    ch = Channel(1)
    ch.close()
    with pytest.raises(loomlet.ChannelClosed) as info:
        loomlet.select([Channel(), (ch, 1)])
    assert info.value.channel is ch


def test_buffered_values_of_a_closed_channel_come_first():
    """A closed channel that has values still is a ready case."""
    ch = Channel(1)
    ch.send("value")
    ch.close()
    assert loomlet.select([Channel(), ch]) == (1, "value")


def test_closing_wakes_a_waiting_select(mode):
    """close() of one channel ends the select with ChannelClosed; the other channels are left."""

    def body():
        with pytest.raises(loomlet.ChannelClosed) as info:
            loomlet.select([a, b])
        return info.value.channel

    a, b = Channel(), Channel()
    task = loomlet.spawn(body)
    loomlet.schedule()
    b.close()
    assert task.result() is b
    assert a.balance == 0


def test_closing_does_not_touch_a_waiting_send_case(mode):
    """A select that waits to send stays, as any waiting sender; its value is still delivered."""
    a, b = Channel(), Channel()
    task = loomlet.spawn(lambda: loomlet.select([(a, "value"), b]))
    loomlet.schedule()
    a.close()
    assert task.state == "blocked"
    assert a.receive() == "value"
    assert task.result() == (0, None)
