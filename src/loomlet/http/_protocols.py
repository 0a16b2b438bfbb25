"""The protocol interface: a class whose methods are called with what a connection brings.

It is that of PyParallel: a server is a transport, and a class is registered for it.  Each
connection has an object of the class and a tasklet, which calls data_received() with what has come,
again when that has returned: in order, and never twice at once for one connection.  What it returns
is sent. A method may block; that holds up its own connection only.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from loomlet import _core, net

__all__ = ["Transport", "TransportServer", "register", "server"]


class Transport:
    """A connection, as its protocol sees it."""

    __slots__ = ("_stream",)

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    @property
    def peer(self) -> Any:
        """The address of the other end."""
        return self._stream.peer

    def write(self, data: bytes) -> None:
        """Sends all of it; waits while the client does not read."""
        self._stream.send_all(data)

    def sendfile(self, before: bytes | None, path: str, after: bytes | None = None) -> None:
        """Sends `before`, the bytes of a file, and `after`.  OSError if the file cannot be opened;
        then nothing has been sent."""
        with open(path, "rb") as file:
            if before:
                self._stream.send_all(before)
            self._stream.send_file(file, 0, os.fstat(file.fileno()).st_size)
        if after:
            self._stream.send_all(after)

    def close(self) -> None:
        """Ends the connection when the present call has returned."""
        self._stream.close()


class TransportServer:
    """A place that listens, for register(); `address` is where."""

    def __init__(self, listener: net.Listener) -> None:
        self._listener = listener
        self.address: Any = listener.local

    def close(self) -> None:
        """Accepts nothing more; connections are cut off."""
        self._listener.close()


def server(address: tuple[str, int]) -> TransportServer:
    """Listens at (host, port), 0 for any free one; nothing is accepted before register()."""
    return TransportServer(net.listen(address))


def register(*, transport: TransportServer, protocol: Callable[[], Any]) -> _core.Tasklet[None]:
    """From now on connections of the server are served by objects that protocol() makes.

    Such an object has data_received(transport, data), whose result, bytes or None, is sent, and may
    have connection_made(transport) and connection_lost(transport, error), with None if the client
    has ended properly.  Returns the tasklet that accepts; it ends when the server is closed.
    """

    def serve(stream: net.Stream) -> None:
        _serve(stream, protocol())

    return _core.spawn(net.serve, serve, transport._listener)


def _serve(stream: net.Stream, protocol: Any) -> None:
    transport = Transport(stream)
    lost: BaseException | None = None
    try:
        _call(protocol, "connection_made", transport)
        for data in stream:
            answer = protocol.data_received(transport, data)
            if answer:
                stream.send_all(answer)
            if stream.closed:
                break
    except BaseException as error:
        lost = error
        raise
    finally:
        _call(protocol, "connection_lost", transport, lost)


def _call(protocol: Any, name: str, *arguments: Any) -> None:
    method = getattr(protocol, name, None)
    if method is not None:
        method(*arguments)
