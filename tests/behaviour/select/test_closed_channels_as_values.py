"""select(closed=value): a closed channel gives that value instead of an error."""

import pytest

from loomlet import Channel, ChannelClosed, schedule, select, spawn


def test_closed_before(mode):
    open_, closed = Channel(), Channel()
    closed.close()
    assert select([open_, closed], closed="end") == (1, "end")
    assert select([(closed, 3)], closed=None) == (0, None)
    with pytest.raises(ChannelClosed):
        select([closed])


def test_closed_meanwhile(mode):
    first, second = Channel(), Channel()
    task = spawn(select, [first, second], closed="end")
    schedule()
    second.close()
    assert task.result() == (1, "end")
    assert first.balance == 0


def test_what_is_there_comes_first(mode):
    channel = Channel(2)
    channel.send(1)
    channel.close()
    assert select([channel], closed="end") == (0, 1)
    assert select([channel], closed="end") == (0, "end")


def test_none_never_happens(mode):
    channel = Channel(1)
    channel.send("value")
    assert select([None, channel, None]) == (1, "value")
    with pytest.raises(TimeoutError):
        select([None, channel], timeout=0.001)
    with pytest.raises(TimeoutError):
        select([None], timeout=0.001)
    task = spawn(select, [None, channel])
    schedule()
    assert task.waiting_for == (channel,)
    channel.send("later")
    assert task.result() == (1, "later")


def test_all_none_for_ever():
    with pytest.raises(ValueError, match="all cases are None"):
        select([None, None])
    with pytest.raises(ValueError, match="at least one case"):
        select([])
