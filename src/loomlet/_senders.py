"""Sender: one of several that send to a channel, which closes when the last of them has.

A channel does not know how many tasklets mean to send; who closes it must know that they all have
ended.  Here each has an object of its own, as in trio, and the last one that is closed closes the
channel.  One that is forgotten is closed when it is destroyed: nobody could send by it any more.
The open ones are a set of tokens that all clones share: two that close at once, in two threads,
both find it empty, and closing twice does no harm.
"""

from __future__ import annotations

from types import TracebackType
from typing import Generic, TypeVar

from loomlet import _core
from loomlet.errors import ChannelClosed

__all__ = ["Sender"]

T = TypeVar("T")


class Sender(Generic[T]):
    """Sender(channel): sends to the channel, and closes it when it and its clones are closed.

    Give each tasklet that sends a clone(), and close yours when all have theirs.  Any thread.
    """

    __slots__ = ("__weakref__", "_channel", "_open", "_token")

    def __init__(self, channel: _core.Channel[T]) -> None:
        self._channel = channel
        self._token = object()
        self._open: set[object] = {self._token}

    def send(self, value: T, *, timeout: float | None = None) -> None:
        """As Channel.send(); ChannelClosed if this sender is closed."""
        self._check()
        self._channel.send(value, timeout=timeout)

    def clone(self) -> Sender[T]:
        """Another sender to the same channel.  ChannelClosed if this one is closed."""
        self._check()
        other = Sender(self._channel)
        other._open = self._open
        self._open.add(other._token)
        return other

    def close(self) -> None:
        """This one sends no more; the last one closes the channel.  May be repeated."""
        self._open.discard(self._token)
        if not self._open:
            self._channel.close()

    __del__ = close

    def _check(self) -> None:
        if self._token not in self._open:
            raise ChannelClosed(f"{self!r}: send before close(), clone before, too", self._channel)

    def __enter__(self) -> Sender[T]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "" if self._token in self._open else " closed"
        return f"<loomlet.Sender to {self._channel!r}{state}>"
