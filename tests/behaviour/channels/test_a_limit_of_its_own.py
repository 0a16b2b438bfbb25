"""send(timeout=) and receive(timeout=): TimeoutError, and no value has passed."""

import pytest

import loomlet
from loomlet import Cancelled, CancelScope, Channel, schedule, spawn
from loomlet.testing import virtual_clock


@pytest.mark.parametrize("seconds", [0, -1, 2.5])
def test_the_time_is_over(mode, seconds):
    channel = Channel()
    with virtual_clock():
        begin = loomlet.now()
        with pytest.raises(TimeoutError):
            channel.receive(timeout=seconds)
        with pytest.raises(TimeoutError):
            channel.send("value", timeout=seconds)
        assert loomlet.now() == begin + 2 * max(0, seconds)
    assert channel.balance == 0
    assert channel.try_receive() == (False, None)


def test_in_time(mode):
    channel = Channel()
    task = spawn(channel.receive, 60)
    schedule()
    channel.send("value", 0)
    assert task.result() == "value"
    task = spawn(channel.send, "other", timeout=None)
    assert channel.receive(timeout=60) == "other"
    task.join()


def test_a_buffer(mode):
    channel = Channel(1)
    channel.send(1, timeout=0)
    with pytest.raises(TimeoutError):
        channel.send(2, timeout=0)
    assert channel.receive(timeout=0) == 1


def test_a_cancelled_scope(mode):
    with CancelScope() as scope:
        scope.cancel()
        with pytest.raises(Cancelled):
            Channel(1).send(1, timeout=0)
    assert not scope.cancelled_caught


def test_wrong_arguments():
    channel = Channel()
    for call in (
        lambda: channel.send(),
        lambda: channel.send(1, 2, 3),
        lambda: channel.receive(1, 2),
        lambda: channel.receive(limit=3),
        lambda: channel.receive("soon"),
    ):
        with pytest.raises(TypeError):
            call()
