"""What the tests of the patched standard library share: it is patched, and nothing stays open."""

from __future__ import annotations

import contextlib
import http.server
import socket
import threading
from collections.abc import Callable, Iterator

import helpers_descriptors
import pytest

import loomlet
from loomlet import _core, patch

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture(autouse=True)
def patched() -> Iterator[None]:
    """Patched for the time of a test, after which no descriptor is open that was not before."""
    patch.install()
    with helpers_descriptors.none_is_left():
        yield
        for tasklet in _core.tasklets()[1:]:
            with contextlib.suppress(loomlet.LoomletError):
                tasklet.kill()
        patch.uninstall()


def tcp_pair() -> Pair:
    """Two builtin sockets connected by TCP."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = socket.create_connection(listener.getsockname())
        return one, listener.accept()[0]


@pytest.fixture(params=["tcp", "unix"])
def sockets(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Two connected builtin sockets, of each kind."""
    one, other = tcp_pair() if request.param == "tcp" else socket.socketpair()
    with one, other:
        yield one, other


@pytest.fixture
def busy() -> Iterator[list[int]]:
    """A tasklet that is always ready; the list's number is how often it ran."""
    count = [0]

    def spin() -> None:
        while True:
            count[0] += 1
            loomlet.schedule()

    task = loomlet.spawn(spin)
    yield count
    task.kill()


@pytest.fixture
def talk() -> Callable[[socket.socket, socket.socket], loomlet.Tasklet]:
    """Fifty messages to a tasklet at the other end, which answers each; gives that tasklet."""

    def run(one: socket.socket, other: socket.socket) -> loomlet.Tasklet:
        def echo() -> None:
            while data := other.recv(100):
                other.sendall(data.upper())

        task = loomlet.spawn(echo)
        for n in range(50):
            one.sendall(b"hello %d" % n)
            assert one.recv(100) == b"HELLO %d" % n
        return task

    return run


class Answer(http.server.BaseHTTPRequestHandler):
    """Answers with the path, and reads what is posted."""

    protocol_version = "HTTP/1.1"

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.answer(self.path.encode())

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers["Content-Length"]))[::-1])

    def log_message(self, *args: object) -> None:
        """Nothing."""


class Server(http.server.ThreadingHTTPServer):
    """With a backlog for many at once."""

    request_queue_size = 512
    daemon_threads = False


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    """Of a server that runs in OS threads without tasklets."""
    server = Server(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.server_address
    task = loomlet.spawn(server.shutdown)
    task.join()
    thread.join()
    server.server_close()


@pytest.fixture
def answer() -> type[http.server.BaseHTTPRequestHandler]:
    """What the server at `address` answers with."""
    return Answer
