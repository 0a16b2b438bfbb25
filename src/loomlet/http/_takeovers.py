"""Connections that are no longer HTTP/1: what serves one, and how it ends with the server.

A request may take its connection over (a WebSocket, HTTP/2).  The engine forgets the connection
then, so the server keeps what serves it: such connections count as open, they are notified when the
server stops, and closed when it is closed.

Invariants.
1. A connection counts as open from the moment in which the engine forgets it, until both its stream
   is closed and whoever serves it has released it.  Both refer to an object that the engine makes
   in the same step (`taken`); the connection counts until the last reference has gone.  So there is
   no moment at which it does not count, and a tasklet that is killed between two lines leaves
   nothing behind.
2. Whoever ends a connection calls release(), in every way in which it can end.

Threads.  The server's own, as everything here.

Rejected: leaving them to the engine, which would have to know when a WebSocket is idle.  Counting
those that are being served: a connection that is not served yet would count as ended, and the
server would stop or take another one in its place.
"""

from __future__ import annotations

from typing import Any

from loomlet import _core
from loomlet._scopes import move_on_after

__all__ = ["Takeover", "drain", "end_with", "take_stream"]

MOST_DROPPED = 2**26
"""Bytes: a client that sends a message which is too large has to read why."""


class Takeover:
    """Base of what serves a connection, `_stream`, that it has taken over from a server, `core`.

    The stream is set before this class is initialized: if the server is closed already, it is
    dropped at once.
    """

    __slots__ = ("_taken", "core")

    _stream: Any

    def __init__(self, core: Any) -> None:
        self.core = core
        self._taken: object = None
        if core is None:
            return
        self._taken = getattr(self._stream, "taken", None) or core._begin_taken()
        if not core._hold(self):
            self.drop()

    def release(self) -> None:
        """It has ended."""
        if self.core is not None:
            self.core._release(self)
        self._taken = None

    def leave(self) -> None:
        """The server stops: tells the client, and ends as soon as it can; does not wait."""
        raise NotImplementedError

    def drop(self) -> None:
        """Ends it at once."""
        raise NotImplementedError

    def end(self, error: BaseException | None) -> None:
        """The handler of its request has ended, with an exception or without; may wait."""
        raise NotImplementedError


def take_stream(request: _core.HttpRequest) -> tuple[Any, bytes]:
    """The connection of a request: its stream, and what has come behind the head."""
    from loomlet.http._taken_streams import TakenStream

    with _core.nopreempt():  # a tasklet that is killed here would leave the descriptor open
        fd, behind, tls, taken = request._take_over()
        stream = TakenStream(fd)
    stream.taken = taken
    if tls is None:
        return stream, behind
    from loomlet.http._tls_streams import TlsStream

    return TlsStream(stream, tls), behind


def drain(stream: Any, seconds: float) -> None:
    """Before a stream is closed: drops what the client still sends, until it ends as well.

    Closing at once would make the system throw away what the client has not read yet.
    """
    send_eof = getattr(stream, "send_eof", None)
    if send_eof is not None:
        send_eof()
    dropped = 0
    with move_on_after(seconds):
        while dropped < MOST_DROPPED and (data := stream.receive_some()):
            dropped += len(data)


def end_with(request: _core.HttpRequest, error: BaseException | None) -> bool:
    """The handler has ended: whether its request had taken the connection over; then that ends."""
    state = request._state
    if not isinstance(state, Takeover):
        return False
    state.end(error)
    return True
