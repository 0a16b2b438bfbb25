"""A TLS stream works with other implementations: openssl itself, and Python's own SSLSocket."""

import contextlib
import os
import socket
import ssl
import subprocess
import threading

import pytest

import loomlet
from loomlet import net


@pytest.fixture
def openssl(certificates):
    """Starts an `openssl` command whose input and output are streams."""
    started = []

    def start(*arguments):
        command = [certificates.openssl, *map(str, arguments)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, **pipes)
        streams = [net.Stream(os.dup(pipe.fileno())) for pipe in (process.stdin, process.stdout)]
        process.stdin.close()
        process.stdout.close()
        started.append((process, streams))
        return streams

    yield start
    for process, streams in started:
        for stream in streams:
            stream.close()
        process.kill()
        process.wait()


VERSIONS = ["-tls1_2", "-tls1_3"]


@pytest.mark.parametrize("version", VERSIONS)
def test_s_client(mode, certificates, openssl, version):
    """Our server: bytes both ways, and new keys (-tls1_3) or a renegotiation that is refused."""
    with net.listen(("127.0.0.1", 0), tls=certificates.server()) as listener:
        host, port = listener.local
        authority = ("-CAfile", certificates.path("authority.pem"), "-verify_return_error")
        to, out = openssl("s_client", "-connect", f"{host}:{port}", version, *authority, "-quiet")
        with listener.accept() as stream:
            to.send_all(b"from s_client\n")
            assert stream.receive_exactly(14) == b"from s_client\n"
            stream.send_all(b"from us\n" * 1000)
            assert out.receive_exactly(8000) == b"from us\n" * 1000
            stream.send_eof()
            assert out.receive_some() == b""
            with contextlib.suppress(ConnectionResetError):
                assert stream.receive_some() == b""


def test_s_client_renews_keys(mode, certificates, openssl):
    """A KeyUpdate that asks for another one: "K" on a line, without -quiet."""
    with net.listen(("127.0.0.1", 0), tls=certificates.server()) as listener:
        host, port = listener.local
        to, out = openssl("s_client", "-connect", f"{host}:{port}", "-tls1_3")
        with listener.accept() as stream:
            reader = loomlet.spawn(stream.receive_exactly, 15)
            to.send_all(b"before\n")
            loomlet.sleep(0.05)  # openssl looks for commands at the beginning of a read
            to.send_all(b"K\n")
            loomlet.sleep(0.05)
            to.send_all(b"and then\n")
            assert reader.result() in (b"before\nand then", b"before\nK\nand t")
            stream.send_all(b"under new keys\n")
            seen = b""
            while b"under new keys\n" not in seen:
                seen += out.receive_some()


@pytest.mark.parametrize("version", VERSIONS)
def test_s_server(mode, certificates, openssl, version):
    """Our client: -rev sends each line back in reverse."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    files = ("-cert", certificates.path("server.pem"), "-key", certificates.path("server.key"))
    _, out = openssl("s_server", "-accept", f"127.0.0.1:{port}", *files, version, "-rev")
    seen = b""
    while b"ACCEPT" not in seen:
        seen += out.receive_some()
    with net.connect(("127.0.0.1", port), tls=certificates.client()) as stream:
        assert stream.version() == version.replace("-tls1_", "TLSv1.")
        for line in (b"abc", b"x" * 5000 + b"y"):
            stream.send_all(line + b"\n")
            assert stream.receive_exactly(len(line) + 1) == line[::-1] + b"\n"


def blocking_server(certificates, listener, size):
    """Sends back what comes, by Python's blocking sockets in a thread of its own."""
    sock, _ = listener.accept()
    with certificates.server().wrap_socket(sock, server_side=True) as peer:
        left = size
        while left:
            data = peer.recv(10_000)
            peer.sendall(data)
            left -= len(data)
        peer.unwrap().close()


def test_a_blocking_server_of_python(mode, certificates):
    """In an OS thread; it ends cleanly."""
    size = 1_000_000
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=blocking_server, args=(certificates, listener, size))
        thread.start()
        with net.connect(listener.getsockname(), tls=certificates.client()) as stream:
            data = os.urandom(size)
            loomlet.spawn(stream.send_all, data)
            assert stream.receive_exactly(size) == data
            assert stream.receive_some() == b""
            stream.send_eof()
            thread.join()


def blocking_client(certificates, address, found):
    context = certificates.client()
    with context.wrap_socket(
        socket.create_connection(address), server_hostname="localhost"
    ) as sock:
        sock.sendall(b"hello")
        found.append(sock.recv(5))
        with contextlib.suppress(ssl.SSLError):
            sock.unwrap().close()


def test_a_blocking_client_of_python(mode, certificates):
    """In an OS thread; a clean end for us."""
    found = []
    with net.listen(("127.0.0.1", 0), tls=certificates.server()) as listener:
        address = listener.local
        thread = threading.Thread(target=blocking_client, args=(certificates, address, found))
        thread.start()
        with listener.accept() as stream:
            assert stream.receive_exactly(5) == b"hello"
            stream.send_all(b"world")
            assert stream.receive_some() == b""
        thread.join()
    assert found == [b"world"]
