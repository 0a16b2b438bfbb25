"""connect, listen, pair: creating streams and listeners.

The socket module creates and connects the sockets, which is rare compared with using them; then a
stream takes them over.  TCP sends at once (TCP_NODELAY), as in Go and asyncio: a program that
writes small pieces should join them, not wait 40 ms for each.  Accepted connections inherit this
option from their listener.

TLS, and the ssl module with it, is loaded on first use.

A UNIX socket whose listener has a full queue refuses with EAGAIN, and there is no event when the
queue has room: connecting is tried again, after a longer pause each time.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from loomlet import _core
from loomlet.net._addresses import Address, candidates
from loomlet.net._streams import Listener, Stream

if TYPE_CHECKING:
    import ssl

    from loomlet.net._tls import TLSListener, TLSStream

__all__ = ["connect", "listen", "pair"]

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.1


@overload
def connect(address: Address, *, tls: None = None) -> Stream: ...
@overload
def connect(
    address: Address, *, tls: ssl.SSLContext | Literal[True], server_hostname: str | None = None
) -> TLSStream: ...
def connect(
    address: Address,
    *,
    tls: ssl.SSLContext | Literal[True] | None = None,
    server_hostname: str | None = None,
) -> Stream | TLSStream:
    """A stream to (host, port), or to the path of a UNIX socket.

    If a name stands for several addresses they are tried in turn; the last failure, an OSError, is
    raised.

    With `tls`, a context or True for ssl.create_default_context(), the result is a TLSStream after
    its handshake; the peer must be `server_hostname`, by default the host.  Raises ssl.SSLError.
    """
    if tls is None:
        return _first(candidates(address), _connect_to)
    if server_hostname is None and isinstance(address, tuple):
        server_hostname = address[0]
    return _start_tls(_first(candidates(address), _connect_to), tls, server_hostname)


@overload
def listen(
    address: Address, backlog: int = 1024, *, reuse_port: bool = False, tls: None = None
) -> Listener: ...
@overload
def listen(
    address: Address, backlog: int = 1024, *, reuse_port: bool = False, tls: ssl.SSLContext
) -> TLSListener: ...
def listen(
    address: Address,
    backlog: int = 1024,
    *,
    reuse_port: bool = False,
    tls: ssl.SSLContext | None = None,
) -> Listener | TLSListener:
    """A listener at (host, port), '' for every interface and 0 for any port, or at a path.

    `backlog`: how many connections the system queues.  `reuse_port`: several listeners may share
    the port, each gets some of the connections.  The file of a UNIX socket remains after close().
    With `tls`, the context of a server, its streams are TLSStreams.
    """
    options = (socket.SO_REUSEADDR, socket.SO_REUSEPORT) if reuse_port else (socket.SO_REUSEADDR,)

    def bind(family: int, target: Any) -> Listener:
        with _socket(family) as sock:
            for option in options if family != socket.AF_UNIX else ():
                sock.setsockopt(socket.SOL_SOCKET, option, 1)
            sock.bind(target)
            sock.listen(backlog)
            return Listener(sock.detach())

    if tls is None:
        return _first(candidates(address, passive=True), bind)
    from loomlet.net._tls import TLSListener

    return TLSListener(_first(candidates(address, passive=True), bind), tls)


def pair() -> tuple[Stream, Stream]:
    """Two streams connected with each other, by UNIX sockets."""
    one, other = socket.socketpair()
    return Stream(one.detach()), Stream(other.detach())


def _socket(family: int) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setblocking(False)
    if family != socket.AF_UNIX:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def _first(found: list[tuple[int, Any]], make: Callable[[int, Any], T]) -> T:
    """make(family, target) for the first candidate for which it succeeds."""
    *others, last = found
    for family, target in others:
        try:
            return make(family, target)
        except OSError:
            continue
    return make(*last)


def _connect_to(family: int, target: Any) -> Stream:
    with _socket(family) as sock:
        code = sock.connect_ex(target)
        pause = FIRST_PAUSE
        while code == errno.EAGAIN and family == socket.AF_UNIX:
            _core.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
            code = sock.connect_ex(target)
        if code not in (0, errno.EINPROGRESS):
            raise OSError(code, os.strerror(code))
        stream = Stream(sock.detach())
    if code == errno.EINPROGRESS:
        _wait_connected(stream)
    return stream


def _wait_connected(stream: Stream) -> None:
    try:
        stream._connected()
    except BaseException:
        stream.close()
        raise


def _start_tls(
    stream: Stream, tls: ssl.SSLContext | Literal[True], server_hostname: str | None
) -> TLSStream:
    try:
        import ssl

        from loomlet.net._tls import TLSStream

        context = ssl.create_default_context() if tls is True else tls
        secured = TLSStream(stream, context, server_hostname=server_hostname)
        secured.handshake()
    except BaseException:
        stream.close()
        raise
    return secured
