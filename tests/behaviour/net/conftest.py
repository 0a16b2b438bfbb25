"""What the tests of networking share: real sockets on this machine, none of which is left open."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from typing import Any

import helpers_descriptors
import pytest
from helpers_certificates import Certificates

import loomlet
from loomlet import _core, net

Pair = tuple[net.Stream, net.Stream]
TLSPair = tuple[net.TLSStream, net.TLSStream]


@pytest.fixture(autouse=True)
def no_descriptor_is_left() -> Iterator[None]:
    """Fails a test after which a descriptor is open that was not before."""
    with helpers_descriptors.none_is_left():
        yield
        for tasklet in _core.tasklets()[1:]:
            tasklet.kill()


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Two streams connected by a UNIX socket."""
    one, other = net.pair()
    with one, other:
        yield one, other


def tcp_pair() -> Pair:
    """Two streams connected by TCP."""
    with net.listen(("127.0.0.1", 0)) as listener:
        one = net.connect(listener.local)
        return one, listener.accept()


@pytest.fixture
def tcp() -> Iterator[Pair]:
    """Two streams connected by TCP, the connecting one first."""
    one, other = tcp_pair()
    with one, other:
        yield one, other


@pytest.fixture(params=["tcp", "unix"])
def streams(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Two connected streams, of each kind."""
    one, other = tcp_pair() if request.param == "tcp" else net.pair()
    with one, other:
        yield one, other


@pytest.fixture(params=["tcp", "unix"])
def listener(request: pytest.FixtureRequest, tmp_path: os.PathLike[str]) -> Iterator[net.Listener]:
    """A listener of each kind; connect to its `local`."""
    address = ("127.0.0.1", 0) if request.param == "tcp" else os.path.join(tmp_path, "socket")
    with net.listen(address) as listener:
        yield listener


@pytest.fixture
def fill() -> Callable[[net.Stream], int]:
    """Sends until the system takes no more; how many bytes.

    TCP frees a part of the buffer when an acknowledgement comes, up to 40 ms later, though the peer
    has read nothing.  So the buffer is then made smaller than what is in it.
    """

    def send(stream: net.Stream) -> int:
        count = 0
        while True:
            task = loomlet.spawn(stream.send_all, bytes(4096))
            loomlet.schedule()
            if task.state != "done":
                task.kill()
                break
            count += 4096
        with socket.socket(fileno=os.dup(stream.fileno())) as sock:
            size = sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size // 8)  # the system doubles it
        return count

    return send


@pytest.fixture
def tls_pair(certificates: Certificates) -> Iterator[Callable[..., TLSPair]]:
    """Makes two streams connected by TLS over TCP, client first, after their handshake."""
    made: list[net.TLSStream] = []

    def make(version: Any = None) -> TLSPair:
        context = certificates.client()
        if version is not None:
            context.minimum_version = context.maximum_version = version
        with net.listen(("127.0.0.1", 0), tls=certificates.server()) as listener:
            task = loomlet.spawn(net.connect, listener.local, tls=context)
            server = listener.accept()
        server.send_all(b"!")
        assert task.result().receive_exactly(1) == b"!"  # and session tickets before it
        made.extend((task.result(), server))
        return made[-2], made[-1]

    yield make
    for stream in made:
        stream.close()
