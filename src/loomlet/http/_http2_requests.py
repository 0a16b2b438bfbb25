"""Requests of HTTP/2: to those who answer they are like those of HTTP/1.

Handlers, WSGI and ASGI ask a request for a small set of operations (_answers.py, _wsgi.py,
_asgi.py); an EngineRequest has them from the native engine, and this one from its stream.  What
waits there waits here, and what never waits there never waits here: _answer(), _write() and
_finish() send what the windows of the client and the buffer of the connection let through, and give
back the rest, for _send(), which waits.

Invariants.  A request is in connection.requests until it is over: it was answered to its end, or
aborted.  A client that has reset its stream is `_gone`; its request is over only when its handler
has seen that, so what still runs for clients that have left is counted.

Threads.  Tasklets of the server's thread; what touches the connection is in its hands, and no
tasklet is interrupted there (_http2.py).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

from loomlet import _core
from loomlet.http._errors import ClientGone, HTTPError
from loomlet.http._requests import Request
from loomlet.http._wsgi import WsgiFace

__all__ = ["Http2Request", "Http2WsgiRequest", "head_of"]

Fields = list[tuple[bytes, bytes]]

SLICE = 65536
BODY_WAIT = 20.0
"""Seconds that a client has for the next part of a body."""

UNKNOWN = -1
TARGET = re.compile(rb"[!\"$-~\x80-\xff]+")
NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+")
VALUE = re.compile(rb"[^\0-\x08\x0a-\x1f\x7f]*")
NO_PATH = re.compile(r"%(?![0-9A-Fa-f]{2})|%00")
OF_CONNECTIONS = {
    *(b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade")
}
"""Fields that HTTP/2 does not have."""


# ---- heads --------------------------------------------------------------------------------------


def head_of(fields: Iterable[tuple[bytes, bytes]]) -> tuple[dict[bytes, bytes], Fields]:
    """The pseudo fields of a request, and its fields as HTTP/1 would have them."""
    pseudo: dict[bytes, bytes] = {}
    rest: Fields = []
    cookies: list[bytes] = []
    for name, value in fields:
        if name.startswith(b":"):
            pseudo[bytes(name)] = bytes(value)
        elif name == b"cookie":
            cookies.append(bytes(value))
        else:
            rest.append((bytes(name), bytes(value)))
    if cookies:
        rest.append((b"cookie", b"; ".join(cookies)))
    hosts = [value for name, value in rest if name == b"host"]
    if not hosts and b":authority" in pseudo:
        rest.insert(0, (b"host", pseudo[b":authority"]))
    path = pseudo.get(b":path", b"")
    if not TARGET.fullmatch(path) or len(hosts) > 1 or (path[:1] != b"/" and path != b"*"):
        raise HTTPError(400)
    try:
        _length(rest)
    except ValueError:
        raise HTTPError(400) from None
    return pseudo, rest


def _as_bytes(text: str | bytes) -> bytes:
    if isinstance(text, str):
        return text.encode("latin-1")
    return bytes(text)


def _field(pair: Any) -> tuple[bytes, bytes]:
    name, value = pair
    small = _as_bytes(name).lower()
    content = _as_bytes(value).strip(b" \t")
    if not NAME.fullmatch(small) or not VALUE.fullmatch(content):
        raise ValueError(f"no header field: {pair!r}")
    return small, content


def _status(status: int | str) -> int:
    """200 of 200, and of "200 OK"."""
    text = str(status)
    if not re.fullmatch(r"[2-9]\d\d( .*)?", text):
        raise ValueError(f"expected a status from 200 to 999, found {status!r}")
    return int(text[:3])


def _length(fields: Fields) -> int:
    lengths = [value for name, value in fields if name == b"content-length"]
    if not lengths:
        return UNKNOWN
    if len(lengths) > 1 or not lengths[0].isdigit():
        raise ValueError(f"no Content-Length: {lengths!r}")
    return int(lengths[0])


# ---- requests -----------------------------------------------------------------------------------


class Http2Request(Request):
    """A stream of a client: what it asks, and the answer.  Its connection is an Http2Connection."""

    method: str
    target: str
    raw_path: str
    query: str
    host: str
    version = "2"
    _begun: bool
    _left: int
    _tasklet: Any
    _upgrades = False
    _has_tls = False  # its connection may have it, below the frames

    # The flags of each request, until they are set.
    body_ended = False
    left_by_client = False
    over = False
    has_permit = False  # of those that may be with the application
    was_reset = False  # by us
    told_to_go_on = False
    told = 0  # of a request that takes long, as in the engine
    status = 0  # of the answer, when it has begun
    written = 0  # bytes of its body

    def __init__(
        self,
        connection: Any,
        stream_id: int,
        pseudo: dict[bytes, bytes],
        fields: Fields,
    ) -> None:
        self.stream_id = stream_id
        self.news = _core.Event()  # a part of the body has come, or its end
        self.body = bytearray()
        self.unread = 0  # bytes that the client was not yet allowed to send again
        self.began = _core.now()
        self._connection = connection
        self._most_body: int = connection.limits.request_body
        self._bytes = fields
        self._read = 0
        self._waiting_for: Callable[[Any], object] | None = None
        self._start: tuple[Any, Any] | None = None
        self._has_body = True
        self._state: Any = None
        self._tasklet: Any = None
        self._begun = False
        self._left = UNKNOWN
        self.method = pseudo[b":method"].decode("latin-1")
        self.target = pseudo[b":path"].decode("latin-1")
        self.raw_path, _, self.query = self.target.partition("?")
        self.host = next((v for n, v in fields if n == b"host"), b"").decode("latin-1")

    # ---- what it says ---------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The path, decoded."""
        if NO_PATH.search(self.raw_path):
            return self.raw_path
        return unquote_to_bytes(self.raw_path.encode("latin-1")).decode("utf-8", "replace")

    @property
    def headers(self) -> list[tuple[str, str]]:
        """All header fields: a list of (name, value)."""
        return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in self._bytes]

    def _fields(self) -> Fields:
        return list(self._bytes)

    @property
    def client(self) -> tuple[str, int] | None:
        """The (address, port) of its connection."""
        client: tuple[str, int] | None = self._connection.client
        return client

    @property
    def scheme(self) -> str:
        """That of its connection."""
        return str(self._connection.scheme)

    @property
    def _server(self) -> Any:
        return self._connection.core

    @property
    def _gone(self) -> bool:
        return self.over or self.left_by_client or bool(self._connection.is_lost)

    def _environ(self, common: dict[str, Any], /) -> dict[str, Any]:
        path = self.raw_path
        if not NO_PATH.search(path):
            path = unquote_to_bytes(path.encode("latin-1")).decode("latin-1")
        environ = {
            **common,
            "SERVER_PROTOCOL": "HTTP/2",
            "REQUEST_METHOD": self.method,
            "QUERY_STRING": self.query,
            "PATH_INFO": path,
            "REMOTE_ADDR": self.client[0] if self.client else "",
            "wsgi.input": self,
        }
        for name, value in self.headers:
            if "_" in name:
                continue
            key = name.upper().replace("-", "_")
            key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
            environ[key] = f"{environ[key]},{value}" if key in environ else value
        return environ

    def _scope(self, common: dict[str, Any], /) -> dict[str, Any]:
        return {
            **common,
            "http_version": "2",
            "method": self.method,
            "path": self.path,
            "raw_path": self.raw_path.encode("latin-1"),
            "query_string": self.query.encode("latin-1"),
            "headers": self._fields(),
            "client": self.client,
        }

    def _when_gone(self, function: Callable[[Any], object], /) -> None:
        if not self.over:
            self._waiting_for = function

    def note_gone(self) -> None:
        """The client has reset the stream, or ended; called once, does not wait."""
        self.left_by_client = True
        self.news.set()
        function, self._waiting_for = self._waiting_for, None
        if function is not None:
            _core.spawn(function, self)

    # ---- the body -------------------------------------------------------------------------------

    @property
    def expects_continue(self) -> bool:
        """Whether the client waits to be told to send the body."""
        return (b"expect", b"100-continue") in self._bytes and not self._begun

    @property
    def too_large(self) -> bool:
        """Whether the client has said so itself."""
        return _length(self._bytes) > self._most_body

    def sends_little(self, most: int) -> bool:
        """Whether its whole body, of so many bytes at most, comes without being asked for."""
        waits = (b"expect", b"100-continue") in self._bytes and not self.told_to_go_on
        return not waits and UNKNOWN < _length(self._bytes) <= most

    @property
    def _body_over(self) -> bool:
        return self.body_ended and not self.body

    def _next(self) -> bytes | int | None:
        """What has come of the body; b"" at its end, None: nothing; a status: it is too large."""
        if self.over:
            raise ConnectionError("the request has ended: there is no client any more")
        data: bytes = self._connection.take_body(self)
        self._read += len(data)
        if self._read > self._most_body:
            return 413
        if data or self.body_ended:
            return data
        if self.left_by_client:
            raise ClientGone("the client has ended in the midst of the body")
        return None

    def _part(self) -> bytes:
        while True:
            self.news.clear()
            found = self._next()
            if isinstance(found, bytes):
                return found
            if found is not None:
                raise HTTPError(found)
            self._connection.ask_for_body(self)
            if not self.news.wait(BODY_WAIT):
                raise ClientGone("the client was too slow in the midst of the body")

    # ---- the answer -----------------------------------------------------------------------------

    def _check(self) -> None:
        if self._gone:
            raise ConnectionError("the request has ended: there is no client any more")

    def _head(self, status: int | str, fields: Iterable[Any], size: int) -> tuple[int, Fields]:
        """What is sent for that; `size` is that of the body if the fields do not say it."""
        self._check()
        if self._begun:
            raise RuntimeError("the request is answered already")
        number = _status(status)
        head = [field for pair in fields if (field := _field(pair))[0] not in OF_CONNECTIONS]
        self._has_body = self.method != "HEAD" and number not in (204, 304)
        length = _length(head)
        if length == UNKNOWN and size != UNKNOWN and number not in (204, 304):
            head.append((b"content-length", str(size).encode()))
        self._left = length if length != UNKNOWN else size
        if self._has_body and size not in (UNKNOWN, self._left):
            raise ValueError(f"Content-Length is {self._left}, the body has {size} bytes")
        return number, head

    def _send_head(self, number: int, head: Fields, end: bool) -> None:
        self._begun = True
        self.status = number
        self._connection.send_head(self, number, head, end)

    def _answer(
        self, status: int | str, fields: Iterable[tuple[str, str]], body: bytes, /
    ) -> bytes | memoryview | None:
        data = _as_bytes(body)
        number, head = self._head(status, fields, len(data))
        ends = not data or not self._has_body
        self._send_head(number, head, ends)
        sent = len(data) if ends else self._connection.put(self, memoryview(data), end=True)
        if sent < len(data):
            return memoryview(data)[sent:]
        self._end()
        return None

    def _start_response(
        self, status: str, headers: list[tuple[str, str]], exc_info: Any = None
    ) -> Callable[[bytes], None]:
        if self._start is not None and exc_info is None:
            raise AssertionError("start_response() was called before")
        if self._begun and exc_info is not None:
            raise exc_info[1].with_traceback(exc_info[2])
        self._start = (status, headers)
        return self  # type: ignore[return-value]

    def _started(self) -> tuple[Any, Any]:
        if self._start is None:
            raise AssertionError("start_response() was not called")
        return self._start

    def _respond(self, parts: Any, /) -> Any:
        if type(parts) is not list or len(parts) != 1 or self._begun:
            return NotImplemented
        return self._answer(*self._started(), parts[0])

    def _respond_part(self, data: bytes, /) -> Any:
        self._begin()
        return NotImplemented

    def _begin(self, *args: Any) -> None:
        status, fields = args or self._started()
        number, head = self._head(status, fields, UNKNOWN)
        self._send_head(number, head, end=False)

    def _write(self, data: bytes, /) -> bytes | memoryview | None:
        self._check()
        view = memoryview(data)
        if not self._begun:
            raise RuntimeError("the answer has not begun")
        if not self._has_body or not view:
            return None
        if self._left != UNKNOWN and len(view) > self._left:
            raise ValueError("the body is longer than its Content-Length")
        if self._left != UNKNOWN:
            self._left -= len(view)
        sent = self._connection.put(self, view)
        return view[sent:] if sent < len(view) else None

    def _send(self, data: bytes | memoryview, /) -> None:
        self._check()
        if self._has_body:
            self._connection.send_all(self, memoryview(data))

    def _send_file(self, fd: int, offset: int, count: int, /) -> int:
        data = os.pread(fd, min(count, SLICE), offset)
        self._send(data)
        return len(data)

    def _sent(self, count: int, /) -> None:
        if self._left > 0:
            self._left -= count

    # ---- the end --------------------------------------------------------------------------------

    def _finish(self) -> None:
        self._check()
        if not self._begun:
            raise RuntimeError("the answer has not begun")
        if self._left > 0 and self._has_body:
            self._abort()  # the client learns so that something is missing
        else:
            self._done()

    def _done(self) -> None:
        if not self._begun:
            self._abort()
        elif not self.over:
            self._connection.end_answer(self)
            self._end()

    def _abort(self) -> None:
        if not self.over:
            self._connection.reset(self)
            self._end()

    def _end(self) -> None:
        with _core.nopreempt():  # its handler and who ends it because it is late may come together
            if self.over:
                return
            self.over = True
        self._waiting_for = None
        self._connection.forget(self)


Http2Request.__name__ = Request.__name__  # as errors call it


class Http2WsgiRequest(WsgiFace, Http2Request):
    """One that is its own wsgi.input."""
