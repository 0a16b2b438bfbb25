"""loomlet.net: streams, listeners and TLS."""

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any, assert_type

from loomlet import net


def connecting(context: ssl.SSLContext) -> None:
    """With tls it is another kind of stream."""
    assert_type(net.connect(("127.0.0.1", 80)), net.Stream)
    assert_type(net.connect(Path("/run/socket")), net.Stream)
    assert_type(net.connect("/run/socket", tls=None), net.Stream)
    assert_type(net.connect(("host", 443), tls=True), net.TLSStream)
    assert_type(net.connect(("host", 443), tls=context, server_hostname="x"), net.TLSStream)
    assert_type(net.pair(), tuple[net.Stream, net.Stream])
    assert_type(net.Stream(3), net.Stream)
    assert_type(net.resolve("host", 80, family=socket.AF_INET), list[Any])


def listening(context: ssl.SSLContext) -> None:
    """A listener gives streams of its kind."""
    with net.listen(("", 0), backlog=8, reuse_port=True) as plain:
        assert_type(plain, net.Listener)
        assert_type(plain.accept(), net.Stream)
        assert_type(plain.local, Any)
        for stream in plain:
            assert_type(stream, net.Stream)
    with net.listen(("", 0), tls=context) as secured:
        assert_type(secured, net.TLSListener)
        assert_type(secured.accept(), net.TLSStream)
        assert_type(iter(secured), Iterator[net.TLSStream])


def receiving(stream: net.Stream | net.TLSStream) -> None:
    """Both kinds receive the same way."""
    assert_type(stream.receive_some(), bytes)
    assert_type(stream.receive_some(4096), bytes)
    assert_type(stream.receive_exactly(3), bytes)
    assert_type(stream.receive_into(bytearray(8)), int)
    for data in stream:
        assert_type(data, bytes)


def sending(stream: net.Stream | net.TLSStream) -> None:
    """Anything with a buffer can be sent."""
    stream.send_all(b"x")
    stream.send_all(bytearray(b"x"))
    stream.send_all(memoryview(b"x"))
    stream.send_eof()


def files(stream: net.Stream, file: socket.socket) -> None:
    """By number, or by what has one."""
    with Path("data").open("rb") as opened:
        assert_type(stream.send_file(opened), int)
        assert_type(stream.send_file(opened.fileno(), offset=4, count=None), int)
        assert_type(stream.send_file(file, 0, 100), int)


def ending(stream: net.Stream) -> None:
    """A stream is a context manager and knows its descriptor."""
    with stream as same:
        assert_type(same, net.Stream)
        assert_type(stream.closed, bool)
        assert_type(stream.fileno(), int)
        assert_type(stream.local, Any)
        assert_type(stream.peer, Any)
        stream.wait_readable()
        stream.wait_writable()
    assert_type(stream.detach(), int)
    stream.close()


def secured(stream: net.TLSStream) -> None:
    """The further attributes of TLS."""
    stream.handshake()
    assert_type(stream.version(), str | None)
    assert_type(stream.cipher(), tuple[str, str, int] | None)
    assert_type(stream.selected_alpn_protocol(), str | None)
    assert_type(stream.peer_certificate(), Any)
    assert_type(stream.ssl_object, ssl.SSLObject)
    with net.TLSStream(net.Stream(3), ssl.create_default_context(), server_hostname="x") as made:
        assert_type(made, net.TLSStream)
    with net.TLSListener(net.Listener(3), ssl.create_default_context()) as listener:
        assert_type(listener, net.TLSListener)


def errors(stream: net.Stream) -> bytes:
    """What came before the end is in the error."""
    try:
        return stream.receive_exactly(8)
    except net.EndOfStream as error:
        assert_type(error.partial, bytes)
        ended: EOFError = error
        print(ended)
    except net.DescriptorClosed as error:
        closed: OSError = error
        print(closed)
    return b""
