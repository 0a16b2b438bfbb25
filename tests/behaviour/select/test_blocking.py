"""select() waits until one of its cases is possible."""

import pytest

import loomlet
from loomlet import Channel


@pytest.mark.parametrize("chosen", range(3))
def test_the_first_sender_wins(chosen, mode):
    """A waiting select takes the channel that gets a value first, and leaves the others."""
    channels = [Channel() for _ in range(3)]
    task = loomlet.spawn(lambda: loomlet.select(channels))
    loomlet.schedule()
    assert [ch.balance for ch in channels] == [-1, -1, -1]
    channels[chosen].send("value")
    assert [ch.balance for ch in channels] == [0, 0, 0]
    assert task.result() == (chosen, "value")


@pytest.mark.parametrize("chosen", range(3))
def test_the_first_receiver_wins(chosen, mode):
    """A waiting select takes the send case whose channel gets a receiver first."""
    channels = [Channel() for _ in range(3)]
    task = loomlet.spawn(lambda: loomlet.select([(ch, n) for n, ch in enumerate(channels)]))
    loomlet.schedule()
    assert [ch.balance for ch in channels] == [1, 1, 1]
    assert channels[chosen].receive() == chosen
    assert [ch.balance for ch in channels] == [0, 0, 0]
    assert task.result() == (chosen, None)


def test_two_selects_meet(mode):
    """A select that sends and a select that receives find each other."""
    a, b = Channel(), Channel()
    receiver = loomlet.spawn(lambda: loomlet.select([a, b]))
    sender = loomlet.spawn(lambda: loomlet.select([(b, "value"), (Channel(), 1)]))
    assert receiver.result() == (1, "value")
    assert sender.result() == (0, None)


def test_a_select_never_meets_itself(mode):
    """Sending and receiving on one channel in the same select waits for another tasklet."""
    ch = Channel()
    task = loomlet.spawn(lambda: loomlet.select([ch, (ch, "mine")]))
    loomlet.schedule()
    assert task.state == "blocked"
    assert ch.receive() == "mine"
    assert task.result() == (1, None)
    task = loomlet.spawn(lambda: loomlet.select([ch, (ch, "mine")]))
    loomlet.schedule()
    ch.send("yours")
    assert task.result() == (0, "yours")


def test_its_turn_in_the_queue(mode):
    """A select keeps its turn among the other waiters of a channel."""
    ch, log = Channel(), []

    def receive(n):
        log.append((n, ch.receive()))

    def choose(n):
        log.append((n, loomlet.select([ch, Channel()])[1]))

    for n in range(6):
        loomlet.spawn(choose if n % 2 else receive, n)
    loomlet.schedule()
    for n in range(6):
        ch.send(n)
    loomlet.schedule()
    assert log == [(n, n) for n in range(6)]


def test_the_same_channel_twice(mode):
    """A channel may stand in several cases; one of them is performed."""
    ch = Channel()
    task = loomlet.spawn(lambda: loomlet.select([ch, ch, ch]))
    loomlet.schedule()
    ch.send("value")
    index, value = task.result()
    assert index in (0, 1, 2)
    assert value == "value"
    assert ch.balance == 0


@pytest.mark.parametrize("count", [1, 16, 17, 1000])
def test_many_cases(count, mode):
    """A select may have any number of cases."""
    channels = [Channel() for _ in range(count)]
    task = loomlet.spawn(lambda: loomlet.select(channels))
    loomlet.schedule()
    channels[-1].send("last")
    assert task.result() == (count - 1, "last")
    assert sum(ch.balance for ch in channels) == 0


def test_many_selects_on_the_same_channels(mode):
    """Every select gets one value and every value goes to one select."""
    channels = [Channel() for _ in range(5)]
    tasks = [loomlet.spawn(lambda: loomlet.select(channels)) for _ in range(100)]
    loomlet.schedule()
    for n in range(100):
        channels[n % 5].send(n)
    assert sorted(task.result()[1] for task in tasks) == list(range(100))
    assert [ch.balance for ch in channels] == [0] * 5


def test_the_caller_may_change_the_list(mode):
    """The cases are read when select() is called; changing the list later is harmless."""
    ch = Channel()
    cases = [ch, (Channel(), object())]
    task = loomlet.spawn(loomlet.select, cases)
    loomlet.schedule()
    cases.clear()
    ch.send("value")
    assert task.result() == (0, "value")
