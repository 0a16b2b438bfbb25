"""Applications of WSGI."""

import json
import sys
import wsgiref.validate

import pytest
from helpers_websockets import TEXT, frame, handshake

import loomlet
from loomlet import net


def ask(ask_once, application, data, **options):
    """The head in lines, and the body, out of its chunks."""
    answer = ask_once(None, data, application=application, **options)
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    if "Transfer-Encoding: chunked" in lines:
        body = b"".join(unchunked(body))
    return lines, body


def unchunked(body):
    while body:
        size, _, rest = body.partition(b"\r\n")
        count = int(size, 16)
        assert rest[count : count + 2] == b"\r\n"
        yield rest[:count]
        body = rest[count + 2 :]


GET = (
    b"GET /a%20b/%C3%A9?c=d HTTP/1.1\r\nHost: h:1\r\nX-Y: 1\r\nX-Y: 2\r\nX_Y: 3\r\n"
    b"Connection: close\r\n\r\n"
)


def test_the_environ(ask_once):
    def application(environ, start_response):
        start_response("200 OK", [("Content-Type", "application/json")])
        shown = {key: value for key, value in environ.items() if isinstance(value, str)}
        return [json.dumps(shown).encode()]

    _, body = ask(ask_once, application, GET)
    environ = json.loads(body)
    assert environ["PATH_INFO"].encode("latin-1").decode() == "/a b/é"
    assert environ["QUERY_STRING"] == "c=d"
    assert environ["HTTP_X_Y"] == "1,2"
    assert environ["HTTP_HOST"] == "h:1"
    assert environ["REQUEST_METHOD"] == "GET"
    assert environ["SERVER_PROTOCOL"] == "HTTP/1.1"


def test_it_keeps_the_rules(ask_once):
    """Those of PEP 3333, as far as wsgiref verifies them."""

    def application(environ, start_response):
        body = environ["wsgi.input"].read(5)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [body]

    data = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
    head, body = ask(ask_once, wsgiref.validate.validator(application), data)
    assert (head[0], body) == ("HTTP/1.1 200 OK", b"hello")


@pytest.mark.parametrize("parts", [[], [b"a"], [b"a", b"bc"], [b"", b"a", b""]])
@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_the_parts_of_a_body(ask_once, parts, kind):
    def application(environ, start_response):
        start_response("200 Fine", [])
        return kind(parts)

    head, body = ask(ask_once, application, GET)
    assert head[0] == "HTTP/1.1 200 Fine"
    assert body == b"".join(parts)


def test_what_is_written_comes_first(ask_once):
    def application(environ, start_response):
        write = start_response("200 OK", [])
        write(b"written ")
        return [b"returned"]

    assert ask(ask_once, application, GET)[1] == b"written returned"


def test_an_error_page_instead(ask_once):
    """Before anything was sent, start_response() may be called again with exc_info."""

    def application(environ, start_response):
        start_response("200 OK", [])
        try:
            raise KeyError("x")
        except KeyError:
            start_response("503 Later", [("X-Why", "key")], exc_info=sys.exc_info())
        return [b"sorry"]

    head, body = ask(ask_once, application, GET)
    assert (head[0], body) == ("HTTP/1.1 503 Later", b"sorry")
    assert "X-Why: key" in head


@pytest.mark.parametrize(
    "start",
    [
        lambda respond: None,
        lambda respond: respond("OK", []),
        lambda respond: respond("100 Continue", []),
        lambda respond: respond("101 Switching Protocols", [("Upgrade", "other")]),
        lambda respond: respond("200 OK", [("A: b", "c")]),
        lambda respond: respond("200 OK", [("A", "b\r\nC: d")]),
        lambda respond: respond("200 OK\r\nA: b", []),
        lambda respond: [respond("200 OK", []), respond("200 OK", [])],
    ],
)
@pytest.mark.parametrize("kind", [list, iter])
def test_wrong_heads_are_500(ask_once, caplog, start, kind):
    def application(environ, start_response):
        start(start_response)
        return kind([b"body"])

    head, body = ask(ask_once, application, GET)
    assert (head[0], body) == ("HTTP/1.1 500 Internal Server Error", b"Internal Server Error\n")
    assert "Traceback" in caplog.text


def test_heads_that_are_made_while_others_answer(site):
    """Fields that no list holds yet run code of the application: nothing of two answers is mixed,
    also when they turn out wrong."""

    def fields_of(path):
        yield "X-Path", path
        loomlet.sleep(0)
        yield "X-Path-Again", path
        if path == "/wrong":
            yield Slow()

    def application(environ, start_response):
        start_response("200 OK", fields_of(environ["PATH_INFO"]))
        return [environ["PATH_INFO"].encode()]

    def main():
        here = site(application=application)
        paths = [f"/{n}" if n % 3 else "/wrong" for n in range(20)]
        return list(zip(paths, loomlet.map(here.ask, map(get, paths)), strict=True))

    for path, answer in loomlet.run(main):
        if path == "/wrong":
            assert answer.startswith(b"HTTP/1.1 500 ")
            continue
        head, body = answer.decode().split("\r\n\r\n")
        assert head.startswith("HTTP/1.1 200 OK\r\n")
        assert head.count("HTTP/") == 1
        assert f"X-Path: {path}\r\nX-Path-Again: {path}\r\n" in head
        assert body == path


@pytest.mark.parametrize("kind", [list, iter])
def test_a_head_that_replaces_itself_while_it_is_made(ask_once, kind):
    """The answer is the one that has begun; so it is if its parts are taken away, too."""

    def application(environ, start_response):
        parts = [b"".join([b"bo", b"dy"])]

        def fields():
            start_response(" ".join(["503", "Later"]), [], (OSError, OSError(), None))
            parts.clear()
            yield "A", "b"

        start_response(" ".join(["200", "Now"]), fields())
        return parts if kind is list else iter(parts)

    head, body = ask(ask_once, application, GET)
    assert (head[0], body) == ("HTTP/1.1 200 Now", b"body")
    assert "A: b" in head


class Slow:
    """Its text takes a while."""

    def __repr__(self):
        loomlet.sleep(0)
        return "slow"


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()


@pytest.mark.parametrize("parts", [[b"abc"], [b"a", b"bc"], [b"", b"abc", b""]])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_parts_as_long_as_the_head_says(site, parts, method):
    """The body is whole with the part that ends it; the application goes on, and is closed."""
    done = []

    class Body:
        def __iter__(self):
            yield from parts
            loomlet.sleep(0)
            done.append("end")

        def close(self):
            loomlet.sleep(0)
            done.append("closed")

    def application(environ, start_response):
        start_response("200 OK", [("Content-Length", "3")])
        return Body()

    def main():
        here = site(application=application)
        again = f"{method} / HTTP/1.1\r\nHost: a\r\n\r\n".encode()
        answers = here.ask(again * 2 + get("/"))
        while len(done) < 6:
            loomlet.sleep(0.001)  # until the application has ended
        return answers

    bodies = [part.partition(b"\r\n\r\n")[2] for part in loomlet.run(main).split(b"HTTP/1.1 ")[1:]]
    assert bodies == [b"abc" if method == "GET" else b""] * 2 + [b"abc"]
    assert sorted(done) == ["closed"] * 3 + ["end"] * 3


@pytest.mark.parametrize("parts", [[b"abc", b"d"], [b"ab", b"cd"], [b"abcd"]])
def test_parts_longer_than_the_head_says(ask_once, caplog, parts):
    """No more is sent than was said, and the mistake is logged."""

    def application(environ, start_response):
        start_response("200 OK", [("Content-Length", "3")])
        return iter(parts)

    _, body = ask(ask_once, application, GET)
    assert body in (b"abc", b"ab", b"")
    assert "the body is longer than its Content-Length" in caplog.text


def test_a_body_that_is_closed(ask_once):
    closed = []

    class Parts:
        def __iter__(self):
            yield b"a"
            raise OSError("in the midst")

        def close(self):
            closed.append(True)

    def application(environ, start_response):
        start_response("200 OK", [("Content-Length", "5")])
        return Parts()

    _, body = ask(ask_once, application, GET)
    assert (body, closed) == (b"a", [True])


@pytest.mark.parametrize("said", [True, False])
def test_a_file_wrapper(ask_once, tmp_path, said):
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 4000)

    def application(environ, start_response):
        fields = [("Content-Length", "1024000")] if said else []
        start_response("200 OK", fields)
        return environ["wsgi.file_wrapper"](path.open("rb"))

    assert ask(ask_once, application, GET)[1] == path.read_bytes()


def test_reading_by_lines(ask_once):
    def application(environ, start_response):
        start_response("200 OK", [])
        read = environ["wsgi.input"]
        return [read.readline(), b"|", b"+".join(read), read.read()]

    data = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\nConnection: close\r\n\r\na\nb\nc\nd"
    assert ask(ask_once, application, data)[1] == b"a\n|b\n+c\n+d"


def test_who_has_asked(ask_once):
    def application(environ, start_response):
        start_response("200 OK", [])
        return [environ["REMOTE_ADDR"].encode()]

    assert ask(ask_once, application, GET)[1] == b"127.0.0.1"


def test_an_application_may_take_the_socket_of_a_websocket(ask_once, caplog):
    """It speaks for itself, and raises StopIteration instead of answering."""
    rest = frame(TEXT, b"early")

    def application(environ, start_response):
        sock = environ["gunicorn.socket"]
        sock.sendall(b"taken " + sock.recv(6) + sock.recv(100))
        raise StopIteration

    answer = ask_once(None, handshake() + rest, application=application)
    assert answer == b"taken " + rest
    assert caplog.text == ""


def test_an_application_that_leaves_the_socket_alone(site):
    """It answers as usual, and the connection goes on."""

    def application(environ, start_response):
        assert not hasattr(environ.get("gunicorn.socket"), "__deepcopy__")
        start_response("200 OK", [("Content-Length", "2")])
        return [b"ok" if "gunicorn.socket" in environ else b"no"]

    get = b"GET / HTTP/1.1\r\nHost: a\r\n%bConnection: close\r\n\r\n"
    with_other = get.replace(b"close", b"Upgrade, close") % b"Upgrade: other\r\n"

    def main():
        here = site(application=application)
        return here.ask(handshake() + get % b""), here.ask(with_other)

    kept, other = loomlet.run(main)
    assert kept.count(b"200 OK") == 2
    assert (kept.count(b"ok"), kept[-2:]) == (1, b"no")
    assert other.endswith(b"no")


def test_a_failure_after_the_socket_was_taken(site, caplog):
    """It is logged; the connection is closed and counts no longer."""

    def application(environ, start_response):
        environ["gunicorn.socket"].sendall(b"taken")
        raise KeyError("behind it")

    def main():
        here = site(application=application)
        return here.ask(handshake()), here.server.counts()["connections"]

    assert loomlet.run(main) == (b"taken", 0)
    assert "KeyError: 'behind it'" in caplog.text


def test_stop_iteration_without_the_socket_is_a_failure(ask_once, caplog):
    def application(environ, start_response):
        raise StopIteration

    assert b" 500 " in ask_once(
        None, handshake(b"/", b"Connection: close\r\n"), application=application
    )
    assert "StopIteration" in caplog.text


def test_no_socket_over_tls(site, certificates):
    """Its records are the server's."""

    def application(environ, start_response):
        start_response("200 OK", [("Content-Length", "0"), ("Connection", "close")])
        return [b""] if "gunicorn.socket" not in environ else 1

    def main():
        here = site(application=application, tls=certificates.server())
        with loomlet.timeout(20):
            stream = net.connect(
                here.server.address, tls=certificates.client(), server_hostname="localhost"
            )
            with stream:
                stream.send_all(handshake())
                return stream.receive_some()

    assert loomlet.run(main).startswith(b"HTTP/1.1 200 OK")
