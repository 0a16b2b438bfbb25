"""Channels and select."""

from collections.abc import Iterator
from typing import Any, Self, assert_type

import loomlet
from loomlet import Channel, ChannelClosed, select


class Mailbox(Channel):
    """Channels can be subclassed; their methods keep the subclass."""

    def opened(self) -> Self:
        """The channel itself."""
        assert not self.closed
        return self


def making() -> None:
    """The ways to make a channel."""
    assert_type(Channel(), Channel)
    assert_type(Channel(3), Channel)
    assert_type(Channel(capacity=3, name="jobs"), Channel)
    assert_type(Mailbox(1).opened(), Mailbox)


def passing(channel: Channel) -> None:
    """Values go through untyped."""
    assert_type(channel.send(1), None)
    assert_type(channel.receive(), Any)
    assert_type(channel.try_send("x"), bool)
    assert_type(channel.try_receive(), tuple[bool, Any])
    there, value = channel.try_receive()
    assert_type(there, bool)
    assert_type(value, Any)


def asking(channel: Channel) -> None:
    """The attributes of a channel."""
    assert_type(len(channel), int)
    assert_type(bool(channel), bool)
    assert_type(channel.balance, int)
    assert_type(channel.capacity, int)
    assert_type(channel.closed, bool)
    assert_type(channel.name, str | None)
    assert_type(channel.preference, int)
    channel.preference = 1


def iterating(channel: Channel) -> None:
    """A channel is an iterator over its values."""
    for value in channel:
        assert_type(value, Any)
    assert_type(iter(channel), Iterator[Any])
    assert_type(next(channel), Any)
    first: Any = next(iter(channel), None)
    channel.send(first)


def ending(channel: Channel) -> object:
    """The error of a closed channel names it."""
    try:
        channel.close()
        channel.send(None)
    except ChannelClosed as error:
        return error.channel
    return None


def selecting(first: Channel, second: Channel) -> None:
    """Receiving from one and sending to another; with and without a timeout."""
    assert_type(select([first, second]), tuple[int, Any])
    assert_type(select([first, (second, 3)], timeout=0.5), tuple[int, Any])
    assert_type(loomlet.select((first,), timeout=None), tuple[int, Any])
    index, value = select([first])
    assert_type(index, int)
    assert_type(value, Any)
