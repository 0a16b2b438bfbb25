"""Channels in reference cycles are collected."""

import gc
import weakref

from loomlet import Channel


class Value:
    pass


def test_a_channel_that_holds_itself():
    """A channel whose buffer holds the channel is garbage when nothing else refers to it."""
    ch, value = Channel(2), Value()
    seen = weakref.ref(ch), weakref.ref(value)
    value.channel = ch
    ch.send(ch)
    ch.send(value)
    del ch, value
    assert [ref() is None for ref in seen] == [False, False]
    gc.collect()
    assert [ref() for ref in seen] == [None, None]


def test_two_channels_in_each_other():
    """Channels that hold each other are collected together."""
    a, b = Channel(1), Channel(1)
    seen = weakref.ref(a), weakref.ref(b)
    a.send(b)
    b.send(a)
    del a, b
    gc.collect()
    assert [ref() for ref in seen] == [None, None]


def test_a_deep_chain_is_freed():
    """A chain of channels, each in the buffer of the next, is freed without a deep C stack."""
    last = None
    for _ in range(100_000):
        ch = Channel(1)
        ch.send(last)
        last = ch
    seen = weakref.ref(last)
    del ch, last
    assert seen() is None
