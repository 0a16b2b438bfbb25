"""close(): what was sent before is delivered, nothing is sent after."""

import pytest

import loomlet
from loomlet import Channel


def test_waiting_receivers_get_channel_closed(mode):
    """A receiver that waits when the channel is closed gets ChannelClosed with the channel."""

    def receiver():
        with pytest.raises(loomlet.ChannelClosed) as info:
            ch.receive()
        return info.value.channel

    ch = Channel()
    tasks = [loomlet.spawn(receiver) for _ in range(3)]
    loomlet.schedule()
    assert ch.close() is None
    assert [task.result() for task in tasks] == [ch] * 3


def test_new_sends_raise(mode):
    """send() on a closed channel raises ChannelClosed, a ValueError that says what to do."""
    ch = Channel(3)
    ch.close()
    with pytest.raises(
        ValueError, match="closed balance=0 len=0> is closed; receive with `for`"
    ) as info:
        ch.send(1)
    assert isinstance(info.value, loomlet.ChannelClosed)
    assert isinstance(info.value, loomlet.LoomletError)
    assert repr(ch) in str(info.value)
    assert "closed" in str(info.value)
    assert info.value.channel is ch
    assert len(ch) == 0


def test_new_receives_raise_when_it_is_drained(mode):
    """receive() gives what is buffered, then raises."""
    ch = Channel(2)
    ch.send(1)
    ch.close()
    assert ch.receive() == 1
    with pytest.raises(loomlet.ChannelClosed):
        ch.receive()


def test_waiting_senders_are_still_delivered(mode):
    """A sender that waits when the channel is closed can still be received from."""
    for capacity in (0, 2):
        ch = Channel(capacity)
        senders = [loomlet.spawn(ch.send, n) for n in range(5)]
        loomlet.schedule()
        ch.close()
        assert ch.balance == 5 - capacity
        assert [value for value in ch] == [0, 1, 2, 3, 4]
        for sender in senders:
            assert sender.result() is None


def test_closing_again_changes_nothing():
    """close() of a closed channel is allowed."""
    ch = Channel()
    assert ch.closed is False
    ch.close()
    ch.close()
    assert ch.closed is True


def test_receivers_of_a_closed_channel_continue_in_order(mode):
    """The receivers woken by close() run in the order of their waiting, after the closer."""
    ch, log = Channel(), []

    def receiver(n):
        with pytest.raises(loomlet.ChannelClosed):
            ch.receive()
        log.append(n)

    for n in range(3):
        loomlet.spawn(receiver, n)
    loomlet.schedule()
    ch.close()
    log.append("closer")
    loomlet.schedule()
    assert log == ["closer", 0, 1, 2]


class Counted(Channel):
    """Counts how often it is shown, which counts its waiters each time."""

    shown = 0

    def __repr__(self):
        Counted.shown += 1
        return super().__repr__()


def test_the_waiting_receivers_are_counted_once(monkeypatch):
    """The text of the error is written once for all of them; each gets an error of its own."""
    monkeypatch.setattr(Counted, "shown", 0)
    ch, errors = Counted(), []

    def receiver():
        with pytest.raises(loomlet.ChannelClosed) as info:
            ch.receive()
        errors.append(info.value)

    tasks = [loomlet.spawn(receiver) for _ in range(1000)]
    loomlet.schedule()
    ch.close()
    for task in tasks:
        task.join()
    assert Counted.shown == 1
    assert len({id(error) for error in errors}) == 1000
    assert {(str(error), error.channel) for error in errors} == {(str(errors[0]), ch)}
    assert "closed" in str(errors[0])
