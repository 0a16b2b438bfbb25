"""select() favours no case."""

import collections

import pytest

import loomlet
from loomlet import Channel

ROUNDS = 2000


@pytest.mark.parametrize("count", [2, 3, 7])
def test_every_ready_receive_is_chosen(count):
    """Of cases that are always ready each is chosen about as often as the others."""
    channels = [Channel(1) for _ in range(count)]
    chosen = collections.Counter()
    for _ in range(ROUNDS):
        for ch in channels:
            ch.try_send(0)
        chosen[loomlet.select(channels)[0]] += 1
    assert set(chosen) == set(range(count))
    assert min(chosen.values()) > ROUNDS / count / 2


def test_sends_and_receives_are_equal():
    """A send and a receive that are both ready are chosen equally."""
    full, empty = Channel(1), Channel(1)
    chosen = collections.Counter()
    for _ in range(ROUNDS):
        full.try_send(0)
        empty.try_receive()
        chosen[loomlet.select([full, (empty, 1)])[0]] += 1
    assert min(chosen[0], chosen[1]) > ROUNDS / 4


def test_a_busy_channel_does_not_starve_another(mode):
    """A consumer of two channels sees both although one always has a value."""
    busy, rare, got = Channel(10), Channel(), []

    def produce():
        while True:
            busy.send("busy")

    loomlet.spawn(produce)
    loomlet.spawn(rare.send, "rare")
    loomlet.schedule()
    for _ in range(200):
        got.append(loomlet.select([busy, rare])[1])
        if got[-1] == "rare":
            break
    assert "rare" in got
