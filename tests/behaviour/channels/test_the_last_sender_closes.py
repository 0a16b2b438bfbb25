"""Sender: the channel closes when the last of several senders is closed."""

import gc
import threading

import pytest

import loomlet
from loomlet import Channel, ChannelClosed, Sender, TaskGroup, spawn


def produce(out, first):
    with out:
        for n in range(first, first + 3):
            out.send(n)
            loomlet.schedule()


def test_the_loop_ends_when_all_have_ended(mode):
    channel, found = Channel(), []
    with TaskGroup() as group:
        with Sender(channel) as out:
            for first in (0, 10, 20):
                group.spawn(produce, out.clone(), first)
        found.extend(channel)
    assert sorted(found) == [0, 1, 2, 10, 11, 12, 20, 21, 22]
    assert channel.closed


def test_it_stays_open_as_long_as_one_is():
    channel = Channel(1)
    one = Sender(channel)
    other = one.clone()
    one.close()
    one.close()
    assert not channel.closed
    other.close()
    assert channel.closed


def test_a_closed_one_neither_sends_nor_clones():
    channel = Channel(1)
    one = Sender(channel)
    other = one.clone()
    other.close()
    for call in (lambda: other.send(1), other.clone):
        with pytest.raises(ChannelClosed, match="closed") as caught:
            call()
        assert caught.value.channel is channel
    one.send(2)
    assert channel.receive() == 2


def test_a_failure_closes_it_too(failures):
    channel = Channel()

    def fail(out):
        with out:
            raise KeyError("fail")

    task = spawn(fail, Sender(channel))
    assert list(channel) == []
    with pytest.raises(KeyError):
        task.join()
    failures.clear()


def test_one_that_is_forgotten():
    """It is closed with its object; a loop over the channel ends."""
    channel = Channel()

    def forget(out):
        out.send(1)

    spawn(forget, Sender(channel))
    assert list(channel) == [1]
    gc.collect()
    assert channel.closed


def test_a_limit_of_time():
    with pytest.raises(TimeoutError):
        Sender(Channel()).send(1, timeout=0)


def test_from_threads():
    channel = Channel(100)
    with Sender(channel) as out:
        threads = [threading.Thread(target=produce, args=(out.clone(), n)) for n in (0, 10, 20)]
        for thread in threads:
            thread.start()
    assert sorted(channel) == [0, 1, 2, 10, 11, 12, 20, 21, 22]
    for thread in threads:
        thread.join()


def test_repr():
    out = Sender(Channel(1))
    assert "loomlet.Sender to <loomlet.Channel" in repr(out)
    out.close()
    assert repr(out).endswith("closed>")
