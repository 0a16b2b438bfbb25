"""__init__, properties and __getitem__ written in Python are plain frames once they are warm."""

import pytest

import loomlet
from loomlet import Channel

WARM = 100


class Box:
    def __init__(self, ch):
        self.channel = ch
        self.first = ch.receive()

    @property
    def second(self):
        return self.channel.receive()

    def __getitem__(self, index):
        return self.channel.receive() + index


def made(box, ch):
    return Box(ch).first


def read(box, ch):
    return box.second


def indexed(box, ch):
    return box[0]


def filled(count):
    ch = Channel(count)
    for _ in range(count):
        ch.send(0)
    return ch


@pytest.mark.parametrize("body", [made, read, indexed])
def test_a_warm_hook_blocks_softly(body, switches):
    """A hook that the interpreter has inlined, or runs through C, suspends without a C stack."""
    ch = filled(WARM + 1)
    box = Box(ch)
    for _ in range(WARM):
        body(box, ch)
    for value in range(5):
        task = loomlet.spawn(body, box, ch)
        switches.take()
        loomlet.schedule()
        last = switches.take()
        ch.send(value)
        assert task.result() == value
    assert last == (1, 0)


@pytest.mark.parametrize("body", [made, read, indexed])
def test_a_cold_hook_blocks(body, mode):
    """The same hook in its first call gives the same result, through C."""
    ch = filled(1)
    box = Box(ch)
    task = loomlet.spawn(body, box, ch)
    loomlet.schedule()
    ch.send(5)
    assert task.result() == 5
