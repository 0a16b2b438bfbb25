"""HTTPS: the same by TLS."""

import socket
import ssl
from pathlib import Path

import pytest

import loomlet
from loomlet import net
from loomlet.http import Limits

CLOSE = b"GET %s HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n"


def body_of(answer):
    return answer.partition(b"\r\n\r\n")[2]


@pytest.fixture
def secure(site, certificates):
    """Makes a server, and a function that connects a client to it."""

    def make(handler=None, **options):
        here = site(handler, tls=certificates.server(), **options)
        client = certificates.client()
        return here, lambda: net.connect(
            here.server.address, tls=client, server_hostname="localhost"
        )

    return make


def run(main):
    def limited():
        with loomlet.timeout(30):
            return main()

    return loomlet.run(limited)


def test_requests_and_answers(secure):
    def main():
        _, connect = secure(lambda request: request.read() or request.path)
        with connect() as stream:
            stream.send_all(CLOSE.replace(b"Connection: close\r\n", b"") % b"/first")
            first = stream.receive_some()
            data = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"
            stream.send_all(data)
            loomlet.sleep(0.01)  # the body shall come in a record of its own
            stream.send_all(b"hello")
            return body_of(first), body_of(b"".join(stream))

    assert run(main) == (b"/first", b"hello")


@pytest.mark.parametrize("size", [100_000, 3_000_000])
def test_large_bodies(secure, size):
    """Both ways; the client reads while it sends."""

    def main():
        _, connect = secure(lambda request: request.read())
        data = bytes(range(256)) * (size // 256)
        head = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
        with connect() as stream:
            sending = loomlet.spawn(stream.send_all, head % len(data) + data)
            got = body_of(b"".join(stream))
            sending.join()
            return got == data

    assert run(main)


def test_pipelined_requests(secure):
    def main():
        _, connect = secure(lambda request: request.path, routes={"/fixed": "fixed"})
        paths = (b"/a", b"/fixed", b"/b")
        with connect() as stream:
            asked = [CLOSE.replace(b"Connection: close\r\n", b"") % path for path in paths]
            stream.send_all(b"".join(asked) + CLOSE % b"/last")
            return [part.partition(b"\r\n\r\n")[2] for part in b"".join(stream).split(b"HTTP/1.1 ")]

    assert run(main) == [b"", b"/a", b"fixed", b"/b", b"/last"]


@pytest.mark.parametrize("size", [100, 50_000, 2_000_000])
def test_files(secure, tmp_path, size):
    (tmp_path / "file").write_bytes(bytes(range(250)) * (size // 250))
    (tmp_path / "file").write_bytes(b"x" * size)

    def main():
        path = tmp_path / "file"
        _, connect = secure(lambda request: path, routes={"/s/": Path(tmp_path)})
        with connect() as stream:
            stream.send_all(CLOSE % b"/s/file")
            static = body_of(b"".join(stream))
        with connect() as stream:
            stream.send_all(CLOSE % b"/by-handler")
            return static, body_of(b"".join(stream))

    static, handled = run(main)
    assert static == handled == b"x" * size


def test_an_iterator(secure):
    def main():
        _, connect = secure(lambda request: iter(["a" * 70_000, "b"]))
        with connect() as stream:
            stream.send_all(CLOSE % b"/")
            return body_of(b"".join(stream))

    chunks = run(main)
    assert chunks.endswith(b"\r\n1\r\nb\r\n0\r\n\r\n")
    assert chunks.count(b"a") >= 70_000


def test_the_scheme_is_known(secure):
    def application(environ, start_response):
        start_response("200 OK", [])
        return [environ["wsgi.url_scheme"].encode()]

    def main():
        _, connect = secure(application=application)
        with connect() as stream:
            stream.send_all(CLOSE % b"/")
            return body_of(b"".join(stream))

    assert run(main) == b"https"


@pytest.mark.parametrize("scheme", [b"http", b"https"])
def test_a_target_with_a_scheme(secure, scheme):
    """https is refused by a server without TLS alone (test_rules_of_http.py)."""

    def main():
        _, connect = secure(lambda request: f"{request.host} {request.target} {request.path}")
        with connect() as stream:
            stream.send_all(CLOSE % (scheme + b"://other:1/a?b"))
            return body_of(b"".join(stream))

    assert run(main) == b"other:1 %s://other:1/a?b /a" % scheme


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"\x16\x03\x01\xff", b""])
def test_a_client_without_tls(secure, data):
    """It is closed, and the server goes on."""

    def main():
        here, connect = secure(lambda request: "done", limits=Limits(head=1))
        with net.connect(here.server.address) as stream:
            if data:
                stream.send_all(data)
            b"".join(stream)  # it ends: at once, or when the handshake has taken too long
        with connect() as stream:
            stream.send_all(CLOSE % b"/")
            return body_of(b"".join(stream))

    assert run(main) == b"done"


def test_a_client_that_must_show_a_certificate(site, certificates):
    """mTLS: one without a certificate gets no answer."""

    def ask(here, context):
        raw = socket.create_connection(here.server.address, timeout=20)
        with context.wrap_socket(raw, server_hostname="localhost") as client:
            client.sendall(CLOSE % b"/")
            return body_of(b"".join(iter(lambda: client.recv(9999), b"")))

    def main():
        context = certificates.server()
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(certificates.path("authority.pem"))
        here = site(lambda request: "done", tls=context)
        plain, shown = certificates.client(), certificates.client()
        shown.load_cert_chain(certificates.path("client.pem"), certificates.path("client.key"))
        with pytest.raises(OSError):
            loomlet.run_blocking(ask, here, plain)
        return loomlet.run_blocking(ask, here, shown)

    assert run(main) == b"done"


def test_a_client_that_closes_properly_is_told_the_same(secure):
    """The end is a close_notify, so nothing can have been cut off."""

    def main():
        _, connect = secure(lambda request: "done")
        with connect() as stream:
            stream.send_all(CLOSE % b"/")
            return list(stream)  # raises for an end without it

    assert body_of(b"".join(run(main))) == b"done"
