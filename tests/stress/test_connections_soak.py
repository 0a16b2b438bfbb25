"""A seeded random program of all kinds of connections, for LOOMLET_STRESS_SECONDS (default 10).

Streams of loomlet.net and patched builtin sockets, each as client and as server of the other, over
TCP, UNIX sockets and TLS, in two threads, disturbed at any moment.  Messages that are not
interrupted come back byte for byte; at the end no descriptor, tasklet or object is left.
"""

import os
import shutil
import socket
import ssl
import time

import pytest
from helpers_certificates import Certificates
from helpers_connection_soak import Soak, open_descriptors, run_in_two_threads

import loomlet
from loomlet import net, patch

SECONDS = float(os.environ.get("LOOMLET_STRESS_SECONDS", "10"))


class BuiltinStream:
    """A builtin socket with the calls of a stream."""

    def __init__(self, sock):
        self.sock = sock
        self.send_all, self.receive_into = sock.sendall, sock.recv_into
        self.close, self.detach = sock.close, sock.detach

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.sock.close()

    def __iter__(self):
        return iter(self.receive_some, b"")

    def receive_some(self):
        return self.sock.recv(65536)

    def receive_exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.sock.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def send_eof(self):
        self.sock.shutdown(socket.SHUT_WR)


class BuiltinListener:
    """A builtin socket that listens, with TLS or without; closed by shutdown(), in any thread."""

    def __init__(self, context=None):
        self.sock = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.local, self.context = self.sock.getsockname(), context

    def __iter__(self):
        while True:
            try:
                yield BuiltinStream(self.sock.accept()[0])
            except OSError:
                return

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


class AllKinds(Soak):
    """A soak whose `places` are (address, context of TLS or None) of all servers."""

    endings = (OSError, EOFError, ValueError)  # as the ssl module has it for what was closed

    def __init__(self, seed, listeners, places, context):
        super().__init__(seed, listeners, [])
        self.places, self.context = places, context

    def answer(self, stream):
        if isinstance(stream, BuiltinStream):
            self.answer_builtin(stream)
        else:
            super().answer(stream)

    def answer_builtin(self, stream):
        with stream:
            try:
                if stream.sock.getsockname() in self.secret:
                    stream = BuiltinStream(self.context.wrap_socket(stream.sock, server_side=True))
                with stream:
                    self.random.choice([self.answer_some, self.answer_into])(stream)
            except self.endings:
                pass
        self.count["answered by builtin sockets"] += 1

    @property
    def secret(self):
        return [listener.local for listener in self.listeners if getattr(listener, "context", None)]

    def connect(self):
        address, context = self.random.choice(self.places)
        with loomlet.timeout(5):
            if self.random.random() < 0.5:
                self.count["streams"] += 1
                return net.connect(address, tls=context)
            self.count["builtin sockets"] += 1
            return BuiltinStream(self.connect_builtin(address, context))

    def connect_builtin(self, address, context):
        sock = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        try:
            sock.connect(address)
            return context.wrap_socket(sock, server_hostname="localhost") if context else sock
        except BaseException:
            sock.close()
            raise

    def part(self, stream):
        if not isinstance(getattr(stream, "sock", stream), (net.TLSStream, ssl.SSLSocket)):
            super().part(stream)


def rounds(seconds):
    """One after the other until the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield


def soak(seed, seconds, folder, certificates):
    client, server = certificates.client(), certificates.server()
    tcp = ("127.0.0.1", 0)
    shared = [net.listen(tcp), net.listen(str(folder / f"{seed}")), net.listen(tcp, tls=server)]
    own = [[BuiltinListener(), BuiltinListener(server)] for _ in range(2)]
    places = [(listener.local, None) for listener in shared[:2]] + [(shared[2].local, client)]
    places += [(each.local, client if each.context else None) for pair in own for each in pair]
    parts = [AllKinds(seed * 10 + n, [*shared, *own[n]], places, server) for n in range(2)]

    def close(part):
        for listener in part.listeners:
            listener.close()

    return run_in_two_threads(parts, lambda: rounds(seconds), close)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl command on this machine, which makes the certificates")
    return Certificates(tmp_path_factory.mktemp("certificates"), openssl)


@pytest.fixture
def patched():
    """The standard library is patched, and no tasklet may fail unobserved."""
    failed = []
    before = loomlet.set_error_handler(lambda tasklet, error: failed.append((tasklet, error)))
    patch.install()
    yield
    patch.uninstall()
    loomlet.set_error_handler(before)
    assert failed == []


def test_nothing_is_lost_and_nothing_is_left(mode, tmp_path, memory, patched, certificates):
    """Every message that was not interrupted came back; no descriptor or object is left."""
    seed = int(os.environ.get("LOOMLET_SEED", "1"))
    soak(0, 1, tmp_path, certificates)
    before, (objects, _) = open_descriptors(), memory()
    count = soak(seed, SECONDS, tmp_path, certificates)
    print(dict(count), "seed", seed)
    assert count["echoed"] > 100
    assert count["streams"] > 0 < count["builtin sockets"]
    assert open_descriptors() == before
    assert memory()[0] < objects + 300
