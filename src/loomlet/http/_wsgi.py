"""WSGI (PEP 3333): unmodified applications, each request in a tasklet of its own."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from loomlet.http._answers import finish, send_bytes_of_file, send_rest, write
from loomlet.http._handlers import Answer, fail
from loomlet.http._requests import EngineRequest, Request
from loomlet.http._websocket_handshake import asks_for_websocket

__all__ = [
    "Application",
    "FileWrapper",
    "WsgiFace",
    "WsgiRequest",
    "common_environ",
    "wsgi",
    "wsgi_upgrade",
]

Application = Callable[..., Iterable[bytes]]

USUAL = {"REQUEST_METHOD": "GET", "SERVER_PROTOCOL": "HTTP/1.1", "QUERY_STRING": ""}
"""What the engine puts into an environ only if it is otherwise."""

OF_A_REQUEST = ("PATH_INFO", "REMOTE_ADDR", "wsgi.input")
"""What each environ gets another value for; with room for them a copy need not grow."""


class _Body(io.RawIOBase):
    """What the client sends, as it comes."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._rest or self._request._part()
        count = min(len(data), len(buffer))
        buffer[:count] = data[:count]
        self._rest = data[count:]
        return count


class WsgiFace(Request):
    """A request that is its own wsgi.input."""

    __slots__ = ()

    @property
    def _reader(self) -> io.BufferedReader:
        if self._state is None:
            self._state = io.BufferedReader(_Body(self))
        reader: io.BufferedReader = self._state
        return reader

    def read(self, size: int = -1, /) -> bytes:
        """Waits for so many bytes, or for all."""
        return self._reader.read(size)

    def readline(self, size: int = -1, /) -> bytes:
        """A line with its end."""
        return self._reader.readline(size)

    def readlines(self, hint: int = -1, /) -> list[bytes]:
        """All lines."""
        return self._reader.readlines(hint)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._reader)

    def __call__(self, data: bytes) -> None:
        """write() of WSGI: start_response() returns the request itself."""
        if not self._begun:
            self._begin()
        write(self, data)


class WsgiRequest(WsgiFace, EngineRequest):
    """One of HTTP/1."""

    __slots__ = ()


class FileWrapper:
    """wsgi.file_wrapper: an open file as a body; a real one is sent by sendfile."""

    def __init__(self, file: Any, block_size: int = 65536) -> None:
        self.file = file
        self.block_size = block_size

    def __iter__(self) -> Iterator[bytes]:
        while block := self.file.read(self.block_size):
            yield block

    def close(self) -> None:
        """Closes the file, if it can be closed."""
        _close(self.file)


def wsgi(application: Application, common: dict[str, Any]) -> Answer:
    """What answers a request by that application; runs in its tasklet.

    `common`: what the environ of each request has besides.
    """

    def answer(request: WsgiRequest) -> None:
        try:
            parts = application(request._environ(common), request._start_response)
            rest = request._respond(parts)
            if rest is NotImplemented:
                _send(request, parts)
            else:
                _end_with(request, rest)
        except Exception as error:
            fail(request, error)
        except BaseException:
            request._abort()
            raise

    return answer


def wsgi_upgrade(application: Application, common: dict[str, Any]) -> Answer:
    """The same for a request that asks for another protocol."""
    answer_request = wsgi(application, common)

    def answer(request: WsgiRequest) -> None:
        if request._has_tls or not asks_for_websocket(request):
            answer_request(request)
        else:
            _answer_or_give_socket(application, common, request)

    return answer


def _answer_or_give_socket(
    application: Application, common: dict[str, Any], request: WsgiRequest
) -> None:
    """The application may take the connection, and raises StopIteration at its end then."""
    from loomlet.http._wsgi_sockets import ClientSocket

    sock = ClientSocket(request)
    environ = request._environ(common)
    environ["gunicorn.socket"] = sock
    try:
        parts = application(environ, request._start_response)
        if sock.is_taken:
            _close(parts)
        else:
            _send(request, parts)
    except Exception as error:
        if not (sock.is_taken and isinstance(error, StopIteration)):
            fail(request, error)
    except BaseException:
        request._abort()
        raise
    finally:
        sock.end()


def _send(request: WsgiRequest, parts: Iterable[bytes]) -> None:
    try:
        if isinstance(parts, FileWrapper) and _send_file(request, parts.file):
            return
        is_iterator = hasattr(parts, "__next__")  # asked first: it is the usual one, and quick
        if not is_iterator and isinstance(parts, Sequence) and not request._begun:
            _end_with(request, request._respond([b"".join(parts)]))
        else:
            _send_parts(request, parts)
    finally:
        _close(parts)


def _send_parts(request: WsgiRequest, parts: Iterable[bytes]) -> None:
    """As they come.  The answer ends with the first one if that is all that Content-Length says."""
    is_over = False
    for part in parts:
        if not part:
            continue
        if is_over:
            raise ValueError("the body is longer than its Content-Length")
        rest = NotImplemented if request._begun else request._respond_part(part)
        if rest is NotImplemented:
            write(request, part)
        else:
            _end_with(request, rest)
            is_over = True
    if not request._begun:
        request._begin()
    if not is_over:
        finish(request)


def _end_with(request: WsgiRequest, rest: Any) -> None:
    """`rest`: what the client has not taken yet of a whole answer."""
    if rest is not None:
        send_rest(request, rest)
        request._done()


def _close(parts: Any) -> None:
    close = getattr(parts, "close", None)
    if close is not None:
        close()


def _send_file(request: WsgiRequest, file: Any) -> bool:
    """Whether it was sent as a file: if it is one, and the application has said how long it is."""
    try:
        fd, at = file.fileno(), file.tell()
    except (AttributeError, OSError):
        return False
    request._begin()
    if request._left < 0:
        return False
    send_bytes_of_file(request, fd, at, at + request._left)
    return True


def common_environ(address: Any, **more: Any) -> dict[str, Any]:
    """What all requests of a server have in common."""
    host, port = address[:2] if isinstance(address, tuple) else (str(address), "")
    return {
        **USUAL,
        **dict.fromkeys(OF_A_REQUEST),
        "SCRIPT_NAME": "",
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "SERVER_SOFTWARE": "loomlet",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.errors": sys.stderr,
        "wsgi.file_wrapper": FileWrapper,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,
        **more,
    }
