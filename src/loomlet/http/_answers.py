"""Answers: what a handler returns becomes bytes on the connection.

bytes and text are answered as they are, a dict or a list as JSON, None as 204, a path or an open
file as its bytes, and an iterator in parts, each as soon as it is there.  A Response says status
and header fields as well.  One part at a time waits for the client, so a client that reads slowly
slows the handler down, and never fills the memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from io import IOBase
from pathlib import Path
from typing import Any

from loomlet.http._arguments import ASYNC_HANDLER
from loomlet.http._errors import HTTPError, of_client
from loomlet.http._requests import Request

__all__ = [
    "Fields",
    "Response",
    "as_json",
    "events",
    "finish",
    "plan",
    "respond",
    "send_file",
    "send_rest",
    "write",
]

Fields = Sequence[tuple[str, str]]

SLICE = 65536
"""Bytes that are given to the system at once."""

TEXT = [("Content-Type", "text/plain; charset=utf-8")]
BYTES = [("Content-Type", "application/octet-stream")]
JSON = [("Content-Type", "application/json")]


_dumps: list[Callable[[Any], str]] = []


def as_json(value: Any) -> bytes:
    """The text of a value; loads the module json for the first one."""
    if not _dumps:
        from json import dumps

        _dumps.append(dumps)
    return _dumps[0](value).encode()


class Response:
    """Response(body, status=200, headers=(), content_type=None): an answer with all that it says.

    `body` is what a handler may return without one: bytes, str, dict, list, None, a path, an open
    file or an iterator of bytes and str.  `headers`: pairs of (name, value).
    """

    __slots__ = ("body", "content_type", "headers", "status")

    def __init__(
        self,
        body: Any = None,
        status: int = 200,
        headers: Fields = (),
        content_type: str | None = None,
    ) -> None:
        if isinstance(headers, dict):
            raise TypeError(
                "expected headers as pairs (name, value), found a dict; use its items()"
            )
        self.body = body
        self.status = status
        self.headers = headers
        self.content_type = content_type


def events(messages: Iterable[Any]) -> Response:
    """An answer of server-sent events (text/event-stream): one for each message.

    A str is the data of an event as it is, in several lines if it has them; anything else is sent
    as JSON.
    """
    return Response(
        map(_event, messages), 200, [("Cache-Control", "no-store")], "text/event-stream"
    )


def _event(message: Any) -> str:
    text = message if isinstance(message, str) else as_json(message).decode()
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "".join(f"data: {line}\n" for line in lines) + "\n"


# ---- what goes out ----------------------------------------------------------------------------


def send_rest(request: Request, rest: Any) -> None:
    """Waits until the client has taken what it did not take at once."""
    view = memoryview(rest)
    if request._has_tls:
        _push_all(request, view)
        return
    for at in range(0, len(view), SLICE):
        of_client(request._send, view[at : at + SLICE])
        request._sent(0)


def _push_all(request: Request, view: memoryview) -> None:
    """The same by TLS, which takes bytes in pieces of its own size."""
    at = 0
    while True:
        piece = view[at : at + SLICE]
        taken = request._push(piece)
        at += len(piece) if taken < 0 else taken
        if taken >= 0:
            request._wait()
            request._sent(0)
        elif at >= len(view):
            return


def write(request: Request, data: bytes) -> None:
    """A part of a body that has begun."""
    if len(data) > SLICE:
        for at in range(0, len(data), SLICE):
            write(request, data[at : at + SLICE])
        return
    rest = request._write(data)
    if rest is not None:
        send_rest(request, rest)


def finish(request: Request) -> None:
    """The end of a body that has begun."""
    rest = request._finish()
    if rest is not None:
        send_rest(request, rest)
        request._done()


def answer_whole(request: Request, status: int, fields: Fields, body: bytes) -> None:
    """An answer whose body is known."""
    rest = request._answer(status, fields, body)
    if rest is not None:
        send_rest(request, rest)
        request._done()


def send_parts(request: Request, parts: Iterator[Any]) -> None:
    """Those of a body that has begun, as they come, and its end."""
    try:
        for part in parts:
            write(request, part.encode() if isinstance(part, str) else _checked_part(part))
    finally:
        close = getattr(parts, "close", None)
        if close is not None:
            close()
    finish(request)


def _checked_part(part: Any) -> Any:
    if not isinstance(part, bytes | bytearray | memoryview):
        raise TypeError(f"expected parts of bytes or str, found {part!r}")
    return part


def send_file(request: Request, status: int, fields: Fields, file: Any) -> None:
    """An answer with the bytes of an open file from where it stands, by sendfile; then it is
    closed."""
    with file:
        at = file.tell()
        end = os.fstat(file.fileno()).st_size
        request._begin(status, [*fields, ("Content-Length", str(max(end - at, 0)))])
        send_bytes_of_file(request, file.fileno(), at, end)


def send_bytes_of_file(request: Request, fd: int, at: int, end: int) -> None:
    """The body of an answer that has begun with its length."""
    write(request, b"")
    while request._has_tls and at < end and (data := os.pread(fd, min(SLICE, end - at), at)):
        write(request, data)
        at += len(data)
    while not request._has_tls and at < end and request.method != "HEAD":
        sent = of_client(request._send_file, fd, at, end - at)
        request._sent(sent)
        if sent == 0:
            break
        at += sent
    finish(request)


# ---- what a handler returns -------------------------------------------------------------------


def _send_path(request: Request, status: int, fields: list[tuple[str, str]], path: Any) -> None:
    send_file(request, status, fields, open(path, "rb"))  # noqa: SIM115 - it closes the file


def _type_of_path(path: Any) -> str:
    import mimetypes

    kind, encoding = mimetypes.guess_type(os.fspath(path))
    return kind if kind is not None and encoding is None else "application/octet-stream"


def _is_real_file(body: Any) -> bool:
    try:
        return isinstance(body, IOBase) and body.seekable() and body.fileno() >= 0
    except OSError:
        return False


Plan = tuple[Callable[..., None], list[tuple[str, str]], Any]


def _plan_whole(body: Any) -> Plan | None:
    """For a body that is known at once."""
    if isinstance(body, str):
        return answer_whole, TEXT, body.encode()
    if isinstance(body, bytes | bytearray | memoryview):
        return answer_whole, BYTES, bytes(body)
    if isinstance(body, dict | list):
        return answer_whole, JSON, as_json(body)
    return (answer_whole, [], b"") if body is None else None


def plan(body: Any) -> Plan:
    """How such a body is sent, with which fields, and in which form."""
    whole = _plan_whole(body)
    if whole is not None:
        return whole
    if isinstance(body, Path):
        return _send_path, [("Content-Type", _type_of_path(body))], body
    if _is_real_file(body):
        return send_file, BYTES, body
    if isinstance(body, Iterable) and not isinstance(body, tuple):
        return _stream, BYTES, iter(body)
    raise TypeError(
        "expected bytes, str, dict, list, None, a path, a file, an iterator or a Response from the "
        f"handler, found {_advice(body)}"
    )


def _advice(body: Any) -> str:
    """What such a body is, and what was probably meant."""
    if isinstance(body, tuple):
        return f"a tuple: return Response({', '.join(map(repr, body))}) for an answer with a status"
    if isinstance(body, HTTPError):
        return f"{body!r}: raise it"
    if isinstance(body, Coroutine):
        body.close()
        return f"a coroutine: {ASYNC_HANDLER}"
    return repr(body)


def _stream(request: Request, status: int, fields: Fields, parts: Iterator[Any]) -> None:
    request._begin(status, fields)
    send_parts(request, parts)


def respond(request: Request, result: Any) -> None:
    """Answers with what a handler has returned."""
    if not isinstance(result, Response):
        send, fields, body = plan(result)
        send(request, 204 if result is None else 200, fields, body)
        return
    send, fields, body = plan(result.body)
    if result.content_type is not None:
        fields = [("Content-Type", result.content_type)]
    elif any(name.lower() == "content-type" for name, _ in result.headers):
        fields = []
    send(request, result.status, [*fields, *result.headers], body)
