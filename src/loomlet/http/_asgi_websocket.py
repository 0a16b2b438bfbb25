"""WebSockets of ASGI applications: the scope "websocket", in a task of the loop.

Until the application accepts, the request is an HTTP request: it can be refused with a status, or
with a whole answer (the extension websocket.http.response).  Then a Link serves the connection as
for plain handlers; a tasklet reads.  What the client takes at once is sent in the loop; a tasklet
sends what is left, so the loop never waits for a client.

receive() looks whether there is something, and else waits for a future that the reader sets; it
looks again when the reader knows of the future, and whether the end had come before it looks.  What
was not taken stays where it is, so a receive() that is cancelled loses nothing.  A send() that is
cancelled ends the connection, unless it had not begun: half a frame has gone.

The end.  When the application returns the WebSocket is closed with 1000, when it raises with 1011.
It is told of the end once by receive(), whoever has caused it; a send() then raises ClientGone,
which is an OSError as ASGI wants it.

Threads.  The loop's, which is that of the server.

Rejected: a queue of asyncio (its operations have several steps, and the tasklet that reads may
interrupt a coroutine in the midst of one).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from loomlet import aio
from loomlet.http._errors import ClientGone
from loomlet.http._requests import Request
from loomlet.http._takeovers import take_stream
from loomlet.http._websocket_frames import Payload
from loomlet.http._websocket_handshake import Asked, check_handshake, switching
from loomlet.http._websocket_links import CODES, Link, Mailbox, Times

__all__ = ["run_websocket"]

Message = dict[str, Any]

MAX_SIZE = 16 * 2**20
TIMES = Times(20.0, 20.0)
DENIAL = "websocket.http.response."
LOST = 1006
FORBIDDEN = [("Content-Type", "text/plain; charset=utf-8")]


class _WebSocketCycle:
    """One WebSocket: its receive() and send()."""

    def __init__(self, request: Request, asked: Asked, cycle: Callable[[Request], Any]) -> None:
        self.link: Link | None = None
        self.refused = False
        self._request = request
        self._asked = asked
        self._cycle = cycle
        self._denial: Any = None
        self._connected = False
        self._closed_with = 0
        self._receivers: deque[asyncio.Future[None]] = deque()
        self._mailbox = Mailbox(self._tell)
        request._when_gone(lambda _: self._tell())

    # ---- receive() ----------------------------------------------------------------------------

    async def receive(self) -> Message:
        """What has come, or that it has ended."""
        if not self._connected:
            self._connected = True
            return {"type": "websocket.connect"}
        mailbox = self._mailbox
        while not mailbox.messages:
            receiver: asyncio.Future[None] = asyncio.Future()
            self._receivers.append(receiver)
            try:
                ended = mailbox.ended or (self.link is None and self._ended())
                if not mailbox.messages:  # the reader may have put one there meanwhile, and ended
                    if ended:
                        return self._disconnect()
                    await receiver
            finally:
                if self._receivers:
                    self._forget(receiver)
        message = mailbox.messages.popleft()
        if mailbox.is_full:
            mailbox.taken()
        kind = "text" if isinstance(message, str) else "bytes"
        return {"type": "websocket.receive", kind: message}

    def _forget(self, receiver: asyncio.Future[None]) -> None:
        with contextlib.suppress(ValueError):
            self._receivers.remove(receiver)

    def _ended(self) -> bool:
        """Before it was accepted."""
        return self.refused or self._request._gone

    def _tell(self) -> None:
        """There is something new.  In any tasklet, so others may run in between."""
        receivers = self._receivers
        while receivers:
            try:
                receivers.popleft().set_result(None)
            except (IndexError, asyncio.InvalidStateError, RuntimeError):
                continue  # another tasklet was first; the task was cancelled; the loop has ended

    def _disconnect(self) -> Message:
        link = self.link
        code = (link.code if link is not None else 0) or self._closed_with or LOST
        reason = link.reason if link is not None else ""
        return {"type": "websocket.disconnect", "code": code, "reason": reason}

    # ---- send() -------------------------------------------------------------------------------

    async def send(self, message: Message) -> None:
        """What the application says."""
        kind = message["type"]
        if kind == "websocket.send" and self.link is not None:
            data = message.get("bytes")
            if data is None:
                data = message["text"]
            if not self.link.try_send(data):
                await aio.to_tasklet(self.link.send, data)
            elif self.link.owed:
                await aio.to_tasklet(self.link.finish)
        elif kind.startswith(DENIAL) and self.link is None:
            await self._deny(message)
        elif self.refused:
            raise RuntimeError(f"unexpected ASGI message {kind!r}: the WebSocket was refused")
        elif self.link is None:
            await self._send_before(kind, message)
        else:
            await self._send_on(self.link, kind, message)

    async def _send_before(self, kind: str, message: Message) -> None:
        """Before it is accepted."""
        if kind == "websocket.accept":
            await self._accept(message)
        elif kind == "websocket.close":
            self._refuse()
            self._request._answer(403, FORBIDDEN, b"Forbidden\n")
        else:
            raise RuntimeError(f"unexpected ASGI message {kind!r}: the WebSocket is not accepted")

    async def _send_on(self, link: Link, kind: str, message: Message) -> None:
        """While it is open, or after."""
        if kind == "websocket.close":
            code, reason = message.get("code") or 1000, message.get("reason") or ""
            if code not in CODES:
                raise ValueError(f"expected 1000 to 1014 or 3000 to 4999, found {code!r}")
            if self._closed_with:
                raise RuntimeError("websocket.close was sent before")
            self._closed_with = code
            await aio.to_tasklet(link.close, code, reason)
        else:
            raise RuntimeError(f"unexpected ASGI message {kind!r}")

    async def _accept(self, message: Message) -> None:
        payload = Payload(self._asked.extensions, MAX_SIZE)
        subprotocol = message.get("subprotocol")
        fields = message.get("headers") or ()
        head = switching(self._asked, subprotocol, payload.answer, fields)
        if self._request._gone:
            raise ClientGone("the client has gone")
        box = self._mailbox
        core = self._request._server
        stream, behind = take_stream(self._request)
        self.link = Link(core, stream, behind, payload=payload, mailbox=box, times=TIMES)
        await aio.to_tasklet(self.link.begin, head)

    async def _deny(self, message: Message) -> None:
        """An answer of HTTP instead."""
        if self._denial is None:
            self._refuse()
            self._denial = self._cycle(self._request)
        await self._denial.send(
            {**message, "type": f"http.{message['type'][len('websocket.http.') :]}"}
        )

    def _refuse(self) -> None:
        self.refused = True
        self._tell()

    # ---- the end ------------------------------------------------------------------------------

    async def end(self) -> None:
        """The application has returned."""
        if self.link is not None:
            await aio.to_tasklet(self.link.close)
        elif not self.refused or (self._denial is not None and not self._denial.finished):
            raise RuntimeError("the ASGI application has neither accepted nor refused")

    def abort(self) -> None:
        """The task was cancelled."""
        if self.link is not None:
            self.link.drop()
        else:
            self._request._abort()


def _scope(request: Request, common: Message, asked: Asked) -> Message:
    scope = request._scope(common)
    del scope["method"]
    scope["type"] = "websocket"
    scope["scheme"] = "wss" if scope["scheme"] == "https" else "ws"
    scope["subprotocols"] = asked.subprotocols
    scope["state"] = dict(common["state"])
    scope["extensions"] = {"websocket.http.response": {}}
    return scope


Application = Callable[..., Awaitable[None]]


async def run_websocket(
    application: Application,
    request: Request,
    common: Message,
    cycle_of_http: Callable[[Request], Any],
) -> None:
    """A request that asks for a WebSocket, with all that follows.

    What the application raises is raised.  `cycle_of_http`: makes what answers as HTTP.
    """
    asked = check_handshake(request)
    cycle = _WebSocketCycle(request, asked, cycle_of_http)
    try:
        await application(_scope(request, common, asked), cycle.receive, cycle.send)
        await cycle.end()
    except Exception:
        if cycle.link is not None:
            await aio.to_tasklet(cycle.link.close, 1011)
        raise
    except BaseException:
        cycle.abort()
        raise
