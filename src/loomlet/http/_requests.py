"""Requests, as a handler gets them.

Request is what all of them have in common: it asks for what the connection knows (method, headers,
_next(), _answer(), ...).  An EngineRequest has that from the native engine, of HTTP/1; a request of
HTTP/2 has it from its stream (_http2_requests.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from loomlet import _core
from loomlet.http._errors import ClientGone, HTTPError, of_client

if TYPE_CHECKING:
    from loomlet.http._websockets import WebSocket

    Base = _core.HttpRequest
else:
    Base = object

__all__ = ["NO_WSPROTO", "EngineRequest", "Request"]

NO_WSPROTO = "WebSocket needs wsproto: pip install 'loomlet[websocket]'"


class Request(Base):
    """A request of a client: its head is here, its body is read when it is asked for."""

    __slots__ = ()

    def header(self, name: str, default: str | None = None) -> str | None:
        """The value of the first header field of that name, in any case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), default)

    @property
    def scheme(self) -> str:
        """ "https" or "http": what the client speaks."""
        return "https" if self._has_tls else "http"

    @property
    def arguments(self) -> list[tuple[str, str]]:
        """The names and values of the query."""
        from urllib.parse import parse_qsl

        return parse_qsl(self.query, keep_blank_values=True)

    def __iter__(self) -> Iterator[bytes]:
        """The body in parts, as they arrive."""
        while part := self._part():
            yield part

    def read(self) -> bytes:
        """The whole body; waits for it."""
        return b"".join(self)

    def text(self, encoding: str = "utf-8") -> str:
        """The whole body as text."""
        return self.read().decode(encoding)

    def json(self) -> Any:
        """The whole body as JSON.  HTTPError 400 if it is none."""
        import json

        try:
            return json.loads(self.read())
        except ValueError as error:
            raise HTTPError(400, f"the body is no JSON: {error}\n") from None

    def websocket(
        self,
        subprotocols: Sequence[str] = (),
        max_size: int = 16 * 2**20,
        origins: Collection[str] | None = None,
        *,
        ping_interval: float | None = 20.0,
        ping_timeout: float | None = 20.0,
    ) -> WebSocket:
        """Accepts a WebSocket, which is closed when the handler has ended.

        HTTPError if the client asks for none.  `subprotocols`: what this end can speak, the best
        one first.  `max_size`: bytes of a message, decompressed; beyond, it is closed with 1009.
        `origins`: the pages that may open it, such as "https://example.org"; None: all.  Browsers
        send the cookies of this server along, whichever page opens a WebSocket, so one that trusts
        cookies has to say its origins.  Requests without an Origin come from no page and may.
        `ping_interval`: seconds of silence after which the client is asked, `ping_timeout`: those
        that it has to answer; None: no limit.
        """
        try:
            from loomlet.http._websockets import accept
        except ModuleNotFoundError as error:
            raise ImportError(NO_WSPROTO) from error
        from loomlet.http._websocket_links import Times

        times = Times(ping_interval, ping_timeout)
        return accept(self, subprotocols, max_size, origins, times)

    def _part(self) -> bytes:
        """The next bytes of the body, b"" at its end."""
        while True:
            found = self._next()
            if isinstance(found, bytes):
                return found
            if found is not None:
                raise HTTPError(found)
            if not self._feed(of_client(self._receive)):
                raise ClientGone("the client has ended, or was too slow, in the midst of the body")


class EngineRequest(Request, _core.HttpRequest):
    """A request of HTTP/1."""

    __slots__ = ()


EngineRequest.__name__ = Request.__name__  # as errors call it
