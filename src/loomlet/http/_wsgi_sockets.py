"""The connection of a WSGI request as a socket, for applications that speak WebSocket themselves.

PEP 3333 has no way to another protocol.  What Flask-Sock and Flask-SocketIO use (simple-websocket)
looks for the socket in the environ, where gunicorn puts it: "gunicorn.socket".  When such an
application has ended it raises StopIteration instead of answering.

So a request that asks for a WebSocket has a ClientSocket there.  The engine gives the connection
away when the application uses the socket for the first time; until then it may answer as usual.

Not over TLS, whose records the application would have to read.  Rejected: a socket for each
request, which costs a descriptor and a take-over that no other request needs.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Any

from loomlet import _core
from loomlet.http._takeovers import Takeover

__all__ = ["ClientSocket"]


class _TakenSocket(socket.socket):
    """A connection that was taken over; it counts as open until it is closed."""

    __slots__ = ("taken",)

    taken: object

    def close(self) -> None:
        super().close()
        self.taken = None


class _Connection(Takeover):
    """A connection that was taken over: it ends with its handler, or with the server."""

    __slots__ = ("_stream",)

    def __init__(self, core: Any, stream: _TakenSocket) -> None:
        self._stream = stream
        super().__init__(core)

    def leave(self) -> None:
        """The application reads the end of the connection, as if the client had gone."""
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RD)

    def drop(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)

    def end(self, error: BaseException | None) -> None:
        self._stream.close()
        self.release()


class ClientSocket:
    """Has the attributes of the client's socket; the first use takes the connection over."""

    __slots__ = ("_behind", "_connection", "_request", "_socket")

    def __init__(self, request: _core.HttpRequest) -> None:
        self._request = request
        self._socket: _TakenSocket | None = None
        self._connection: _Connection | None = None
        self._behind = b""

    @property
    def is_taken(self) -> bool:
        """Whether the application has used it."""
        return self._socket is not None

    def _take(self) -> _TakenSocket:
        if self._socket is None:
            with _core.nopreempt():  # a tasklet that is killed here would leave the descriptor open
                fd, self._behind, _, taken = self._request._take_over()
                self._socket = _TakenSocket(fileno=fd)
            self._socket.taken = taken
            self._socket.setblocking(True)
            self._connection = _Connection(self._request._server, self._socket)
        return self._socket

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        """As that of a socket; what came with the head is first."""
        sock = self._take()
        if self._behind:
            data, self._behind = self._behind[:size], self._behind[size:]
            return data
        return sock.recv(size, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # as deepcopy() looks for: no use
            raise AttributeError(name)
        return getattr(self._take(), name)

    def end(self) -> None:
        """The application has ended."""
        if self._connection is not None:
            self._connection.end(None)
