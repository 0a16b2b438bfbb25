"""A connection with TLS that was taken over from the engine, as a stream.

The engine's TLS object goes on where it was; what it reads from and writes to are two buffers in
memory.  Any tasklet of the thread may send while another one receives: what is taken out of a
buffer is sent before more is taken, by a lock.
"""

from __future__ import annotations

import contextlib
import ssl

from loomlet import _core, net
from loomlet._scopes import timeout

__all__ = ["TlsStream"]


class TlsStream:
    """A stream in clear over `stream`, by the three parts of its TLS."""

    __slots__ = ("_incoming", "_object", "_order", "_outgoing", "_stream")

    def __init__(
        self, stream: net.Stream, tls: tuple[ssl.SSLObject, ssl.MemoryBIO, ssl.MemoryBIO]
    ) -> None:
        self._stream = stream
        self._object, self._incoming, self._outgoing = tls
        self._order = _core.Lock()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._stream.closed

    @property
    def taken(self) -> object:
        """What makes the connection count as open, until it is closed."""
        return getattr(self._stream, "taken", None)

    @property
    def peer(self) -> object:
        """The address of the other end."""
        return self._stream.peer

    def receive_some(self, most: int = 65536, /) -> bytes:
        """Waits for bytes; b"" at the end."""
        while True:
            try:
                return self._object.read(most)
            except ssl.SSLWantReadError:
                self._flush()
                data = self._stream.receive_some()
                if data:
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""

    def _receive_within(self, seconds: float | None, /) -> bytes | None:
        """As receive_some(), but None when nothing comes for so long."""
        try:
            with timeout(seconds):
                return self.receive_some()
        except TimeoutError:
            return None

    def _try_send(self, data: bytes, /) -> int:
        """Nothing: what was encrypted has to be sent, so it may have to wait."""
        return 0

    def send_all(self, data: bytes | memoryview, /) -> None:
        """Sends all of it; waits while the client does not read."""
        if len(data) > 0:
            self._object.write(data)
            self._flush()

    def send_eof(self) -> None:
        """The client learns that nothing more comes."""
        with contextlib.suppress(ssl.SSLError):
            self._object.unwrap()
        self._flush()
        self._stream.send_eof()

    def close(self) -> None:
        """Ends the connection."""
        self._stream.close()

    def _flush(self) -> None:
        with self._order:
            while data := self._outgoing.read():
                self._stream.send_all(data)
