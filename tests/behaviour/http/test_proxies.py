"""What proxies say of their clients counts if they are trusted, and only then."""

import logging
import socket

import pytest

import loomlet
from loomlet import aio
from loomlet.http import Server

FORWARDED = [
    ("127.0.0.1", "192.0.2.1", "192.0.2.1"),
    ("127.0.0.1", "192.0.2.1, 198.51.100.2", "198.51.100.2"),  # the first one may be a lie
    ("127.0.0.0/8, 198.51.100.0/24", "192.0.2.1, 198.51.100.2", "192.0.2.1"),
    ("127.0.0.1, 192.0.2.1", "192.0.2.1", "192.0.2.1"),  # nobody is left to trust it
    ("*", "192.0.2.1, 198.51.100.2", "192.0.2.1"),
    ("*", "[2001:db8::1]:443", "2001:db8::1"),
    ("*", "192.0.2.1:99", "192.0.2.1"),
    ("*", "::ffff:192.0.2.1", "192.0.2.1"),
    ("*", "192.0.2.1, unknown, 198.51.100.2", "198.51.100.2"),
    ("*", "unknown", "127.0.0.1"),
    ("*", "", "127.0.0.1"),
    ("10.0.0.0/8", "192.0.2.1", "127.0.0.1"),
    ("::1, /a/path, unix:", "192.0.2.1", "127.0.0.1"),
    ("", "192.0.2.1", "127.0.0.1"),
]


def request(*fields):
    lines = [b"GET /x HTTP/1.1", b"Host: a", b"Connection: close", *fields]
    return b"\r\n".join([*lines, b"", b""])


def say(asked):
    return f"{asked.client[0]} {asked.scheme}"


@pytest.mark.parametrize(("trusted", "forwarded", "client"), FORWARDED)
def test_the_client_of_a_plain_handler(ask_once, trusted, forwarded, client):
    data = request(b"X-Forwarded-For: " + forwarded.encode())
    answer = ask_once(say, data, proxies=trusted)
    assert answer.endswith(f"\r\n\r\n{client} http".encode())


def test_several_fields_are_one_list(ask_once):
    data = request(b"X-Forwarded-For: 192.0.2.1", b"x-forwarded-for: 198.51.100.2")
    answer = ask_once(say, data, proxies="127.0.0.1")
    assert answer.endswith(b"\r\n\r\n198.51.100.2 http")


@pytest.mark.parametrize(
    ("trusted", "fields", "scheme"),
    [
        ("*", [b"X-Forwarded-Proto: https"], "https"),
        ("*", [b"X-Forwarded-Proto: WSS"], "https"),
        ("*", [b"X-Forwarded-Proto: gopher"], "http"),
        ("*", [b"X-Forwarded-Proto: https", b"X-Forwarded-Proto: http"], "http"),
        ("10.0.0.1", [b"X-Forwarded-Proto: https"], "http"),
    ],
)
def test_the_scheme(ask_once, trusted, fields, scheme):
    answer = ask_once(say, request(*fields), proxies=trusted)
    assert answer.endswith(f"\r\n\r\n127.0.0.1 {scheme}".encode())


FIELDS = [b"X-Forwarded-For: 192.0.2.1", b"X-Forwarded-Proto: https"]


@pytest.mark.parametrize(
    ("trusted", "said"), [("*", b"192.0.2.1 https"), ("10.0.0.1", b"127.0.0.1 http")]
)
def test_an_application_of_wsgi(ask_once, trusted, said):
    def application(environ, start_response):
        start_response("200 OK", [])
        return [f"{environ['REMOTE_ADDR']} {environ['wsgi.url_scheme']}".encode()]

    answer = ask_once(None, request(*FIELDS), application=application, proxies=trusted)
    assert answer.endswith(b"\r\n\r\n" + said)


def ask_of_asgi(site, data, application):
    """What is answered, as far as it comes at once."""

    def main():
        here = site(application=application, interface="asgi", proxies="*")
        try:
            with here.connect() as stream, loomlet.timeout(20):
                stream.send_all(data)
                return stream.receive_some()
        finally:
            aio.close()

    return loomlet.run(main)


async def asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        raise NotImplementedError
    body = f"{scope['client']} {scope['scheme']}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def test_an_application_of_asgi(site):
    answer = ask_of_asgi(site, request(*FIELDS), asgi)
    assert answer.endswith(b"\r\n\r\n('192.0.2.1', 0) https")


def test_a_websocket_of_asgi(site):
    helpers = pytest.importorskip("wsproto") and pytest.importorskip("helpers_websockets")
    seen = []

    async def application(scope, receive, send):
        if scope["type"] == "lifespan":
            raise NotImplementedError
        seen.append((scope["type"], scope["client"], scope["scheme"]))
        await receive()
        await send({"type": "websocket.close"})

    ask_of_asgi(site, helpers.handshake(fields=b"\r\n".join([*FIELDS, b""])), application)
    assert seen == [("websocket", ("192.0.2.1", 0), "wss")]


def test_requests_of_http_2(with_client):
    pytest.importorskip("h2")

    def act(client):
        fields = [("x-forwarded-for", "192.0.2.1"), ("x-forwarded-proto", "https")]
        stream = client.ask("/", fields=fields)
        client.wait(stream)
        return client.body[stream]

    assert with_client(say, act, proxies="127.0.0.1") == b"192.0.2.1 https"
    assert with_client(say, act, proxies="10.0.0.1") == b"127.0.0.1 http"


def test_the_access_log(site, caplog):
    """It says the client, of requests that routes answer too."""
    caplog.set_level(logging.INFO, "loomlet.http.access")
    options = {"access_log": "%(h)s %(U)s", "routes": {"/x": b"fixed"}}

    def main():
        here = site(say, proxies="127.0.0.1", **options)
        here.ask(request(b"X-Forwarded-For: 192.0.2.1", b"X-Forwarded-For: 198.51.100.2"))
        here.ask(request(b"X-Forwarded-For: 192.0.2.1").replace(b"/x", b"/y"))
        site(say, **options).ask(request(b"X-Forwarded-For: 192.0.2.1"))
        while len(caplog.messages) < 3:
            loomlet.sleep(0.001)  # the log is written by a tasklet of its own

    loomlet.run(main)
    assert sorted(caplog.messages) == ["127.0.0.1 /x", "192.0.2.1 /y", "198.51.100.2 /x"]


@pytest.mark.parametrize("trusted", ["unix:", "PATH", "unix:PATH", "*"])
def test_a_local_socket(tmp_path, trusted):
    """Its peers have no address: the socket is named."""
    path = str(tmp_path / "socket")

    def ask():
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            client.sendall(request(*FIELDS))
            return b"".join(iter(lambda: client.recv(1000), b""))

    def main():
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(path)
        listening.listen()
        with Server(say, sock=listening, proxies=trusted.replace("PATH", path)):
            return loomlet.run_blocking(ask)

    assert loomlet.run(main).endswith(b"\r\n\r\n192.0.2.1 https")


def test_names_that_are_none():
    words = "expected an address, a network .*, found 'proxy.example' among the trusted proxies"
    with pytest.raises(ValueError, match=words):
        Server(say, port=0, proxies="127.0.0.1, proxy.example")
