"""WebSockets for plain handlers: blocking calls, which block their tasklet and nobody else.

def echo(request):
    for message in request.websocket():
        ...

The connection is taken over when the handshake is answered.  From then on a Link serves it
(_websocket_links.py); the object that the handler gets is a face of it.  When the handler has ended
the WebSocket is closed, whatever the handler did (_handlers.py).

Threads.  The tasklets of the server's thread; several may send.

Rejected: a callback for each message, as in browsers: a loop says the same, and keeps its state in
local variables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from types import TracebackType

from loomlet import _core
from loomlet.http._errors import ClientGone
from loomlet.http._takeovers import take_stream
from loomlet.http._websocket_frames import Payload
from loomlet.http._websocket_handshake import check_handshake, switching
from loomlet.http._websocket_links import Link, Mailbox, Message, Times

__all__ = ["WebSocket", "accept"]


class WebSocket:
    """What request.websocket() returns: messages both ways.

    Iterating gives what the client sends, each message as str or bytes, until it is closed;
    ClientGone if the client just ends.  `subprotocol`: which one was agreed on, or None.
    """

    __slots__ = ("_link", "_mailbox", "subprotocol")

    def __init__(self, link: Link, mailbox: Mailbox, subprotocol: str | None) -> None:
        self._link = link
        self._mailbox = mailbox
        self.subprotocol = subprotocol

    def __iter__(self) -> Iterator[Message]:
        while (message := self.receive()) is not None:
            yield message

    def __next__(self) -> Message:
        message = self.receive()
        if message is None:
            raise StopIteration
        return message

    def receive(self) -> Message | None:
        """The next message, waits for it; None when it is closed.  ClientGone likewise."""
        message = self._mailbox.take()
        link = self._link
        if message is None and link.code and not link.clean and not link.closing:
            raise ClientGone(f"the WebSocket has ended: {link.code} {link.reason}".rstrip())
        return message

    def send(self, message: Message) -> None:
        """Sends a message of text or of bytes; waits while the client does not take it."""
        self._link.send(message)

    def ping(self, payload: bytes = b"") -> None:
        """Sends a ping; does not wait for the answer."""
        self._link.ping(payload)

    def close(self, code: int = 1000, reason: str = "") -> None:
        """Closes it, and waits until the client agrees, at most ten seconds."""
        self._link.close(code, reason)

    @property
    def close_code(self) -> int | None:
        """Why it has ended: what the client said, 1005 if that was nothing, 1006 if it has just
        gone, 1002, 1007, 1009 if it made a mistake; None while it is open."""
        return self._link.code or None

    @property
    def close_reason(self) -> str:
        """The text to that."""
        return self._link.reason

    def __enter__(self) -> WebSocket:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._link.end(error)


def accept(
    request: _core.HttpRequest,
    subprotocols: Sequence[str],
    max_size: int,
    origins: Collection[str] | None,
    times: Times,
) -> WebSocket:
    """Answers the handshake of a request and takes its connection over.

    HTTPError if it is none, or not allowed.
    """
    asked = check_handshake(request, origins)
    subprotocol = asked.choose(subprotocols)
    payload = Payload(asked.extensions, max_size)
    head = switching(asked, subprotocol, payload.answer)
    server = request._server
    stream, behind = take_stream(request)
    mailbox = Mailbox()
    link = Link(server, stream, behind, payload=payload, mailbox=mailbox, times=times)
    request._state = link
    link.begin(head)
    return WebSocket(link, mailbox, subprotocol)
