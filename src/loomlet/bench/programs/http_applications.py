"""The applications that the servers of the experiment on HTTP run: one for WSGI, one for ASGI.

    /plain      a few bytes
    /json       an object, encoded for each request
    /computing  nothing: it computes for ever
    /working    a few bytes, after a millisecond of computing
    /waiting    what a service has sent back, which takes it two milliseconds
    /holding    nothing: it waits for ever; /held, how many do (ASGI only)
    /echo       what comes by WebSocket (ASGI only)

The service is asked on connections that are kept: a request takes one that is free, or makes one.
It listens at the port that LOOMLET_BENCH_SERVICE names. The first line of a request is a number and
the service sends back the same: an answer that belongs to another request is an error.

Nothing here knows which server runs it. The asynchronous one is as good as it can be by hand:
streams of asyncio, and no library between.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Awaitable, Callable, Iterable
from itertools import count
from typing import Any, NoReturn

PLAIN, JSON = "text/plain", "application/json"
GREETING = b"Hello, World!"
SERVICE = int(os.environ.get("LOOMLET_BENCH_SERVICE", "0"))

WORK = 20_000  # rounds of a loop

_held: set[asyncio.Event] = set()
_free: list[socket.socket] = []
_free_streams: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
_numbers = count(10_000_000)


def _message() -> bytes:
    return b"%d\n" % next(_numbers)


def _wait() -> bytes:
    """Asks the service and blocks."""
    try:
        sock = _free.pop()
    except IndexError:
        sock = socket.create_connection(("127.0.0.1", SERVICE))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    asked = _message()
    sock.sendall(asked)
    if sock.recv(64) != asked:
        raise RuntimeError("the service has sent something else")
    _free.append(sock)
    return b"done"


async def _await() -> bytes:
    """The same without blocking the loop."""
    if _free_streams:
        reader, writer = _free_streams.pop()
    else:
        reader, writer = await asyncio.open_connection("127.0.0.1", SERVICE)
    asked = _message()
    writer.write(asked)
    if await reader.read(64) != asked:
        raise RuntimeError("the service has sent something else")
    _free_streams.append((reader, writer))
    return b"done"


def _made(path: str) -> tuple[str, bytes]:
    """Type and body of an answer that waits for nothing."""
    if path == "/json":
        return JSON, json.dumps({"message": "Hello, World!"}).encode()
    return PLAIN, GREETING


def _compute() -> NoReturn:
    number = 0
    while True:
        number = (number * 7 + 1) % 1_000_003


def _work() -> bytes:
    for _ in range(WORK):
        pass
    return GREETING


def wsgi(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """The application for WSGI."""
    path = environ["PATH_INFO"]
    if path == "/computing":
        _compute()
    blocking = {"/waiting": _wait, "/working": _work}.get(path)
    kind, body = (PLAIN, blocking()) if blocking else _made(path)
    start_response("200 OK", [("Content-Type", kind), ("Content-Length", str(len(body)))])
    return [body]


Message = dict[str, Any]


async def asgi(
    scope: Message,
    receive: Callable[[], Awaitable[Message]],
    send: Callable[[Message], Awaitable[None]],
) -> None:
    """The application for ASGI."""
    if scope["type"] != "http":
        await (_live if scope["type"] == "lifespan" else _echo)(receive, send)
        return
    path = scope["path"]
    own = _COROUTINES.get(path)
    kind, body = (PLAIN, await own()) if own else _made(path)
    headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _live(
    receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """Says yes to the beginning and to the end."""
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return


async def _compute_there() -> bytes:
    """Holds the other coroutines of the loop."""
    _compute()


async def _work_there() -> bytes:
    return _work()


async def _hold() -> bytes:
    event = asyncio.Event()
    _held.add(event)
    await event.wait()
    return b""


async def _count_held() -> bytes:
    return b"%d" % len(_held)


_COROUTINES: dict[str, Callable[[], Awaitable[bytes]]] = {
    "/waiting": _await,
    "/computing": _compute_there,
    "/working": _work_there,
    "/holding": _hold,
    "/held": _count_held,
}


async def _echo(
    receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """Messages go back as they come."""
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "bytes": message["bytes"]})
