"""A handler gets a request and returns the answer."""

import json

import pytest

import loomlet

CLOSE = b"Connection: close\r\n"


def get(path=b"/", fields=CLOSE, method=b"GET", version=b"1.1"):
    return b"%s %s HTTP/%s\r\nHost: a\r\n%s\r\n" % (method, path, version, fields)


def split(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *fields = head.decode().split("\r\n")
    return (
        status,
        {name.lower(): value for name, _, value in (f.partition(": ") for f in fields)},
        body,
    )


def test_errors_name_a_request_as_programs_do(ask_once):
    def handler(request):
        with pytest.raises(AttributeError, match="'Request' object has no attribute 'args'"):
            request.args  # noqa: B018
        return "right"

    assert split(ask_once(handler, get()))[2] == b"right"


@pytest.mark.parametrize(
    ("result", "status", "kind", "body"),
    [
        ("täxt", "200 OK", "text/plain; charset=utf-8", "täxt".encode()),
        (b"bytes", "200 OK", "application/octet-stream", b"bytes"),
        ({"a": [1]}, "200 OK", "application/json", b'{"a": [1]}'),
        (None, "204 No Content", None, b""),
    ],
)
def test_what_a_handler_returns(ask_once, result, status, kind, body):
    line, fields, got = split(ask_once(lambda request: result, get()))
    assert (line, got) == (f"HTTP/1.1 {status}", body)
    assert fields.get("content-type") == kind
    assert fields.get("content-length") == (None if result is None else str(len(body)))
    assert fields["connection"] == "close"


def test_what_a_request_says(ask_once):
    def handler(request):
        said = request.method, request.raw_path, request.query, request.host, request.version
        return [*said, request.header("x-y"), request.arguments, request.path]

    *_, body = split(ask_once(handler, get(b"/a%20b?c=d%20e&f", b"X-Y: z\r\n" + CLOSE)))
    first = ["GET", "/a%20b", "c=d%20e&f", "a", "1.1", "z"]
    assert json.loads(body) == [*first, [["c", "d e"], ["f", ""]], "/a b"]


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 11\r\n%s\r\nhello world",
        b"Transfer-Encoding: chunked\r\n%s\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\nX: y\r\n\r\n",
    ],
)
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_body(site, framing, step):
    data = b"POST / HTTP/1.1\r\nHost: a\r\n" + framing % CLOSE
    pieces = [data[at : at + step] for at in range(0, len(data), step)]
    answer = loomlet.run(lambda: site(lambda request: request.read()).ask(None, pieces))
    assert split(answer)[2] == b"hello world"


def test_requests_of_one_connection_are_answered_in_order(ask_once):
    """They are sent at once; the first ones take longer."""

    def handler(request):
        loomlet.sleep(0.02 - 0.005 * int(request.path[1:]))
        return request.path

    data = b"".join(get(b"/%d" % n, b"") for n in range(4)) + get(b"/4")
    answer = ask_once(handler, data, routes={"/2": "fixed"})
    bodies = [part.split(b"\r\n\r\n")[1] for part in answer.split(b"HTTP/1.1 ")[1:]]
    assert bodies == [b"/0", b"/1", b"fixed", b"/3", b"/4"]


def test_a_handler_that_raises(ask_once, caplog):
    def handler(request):
        raise KeyError("in the handler")

    status, _, body = split(ask_once(handler, get()))
    assert (status, body) == ("HTTP/1.1 500 Internal Server Error", b"Internal Server Error\n")
    assert "GET /: KeyError: 'in the handler'" in caplog.text
    assert "Traceback" in caplog.text


def test_a_handler_that_returns_something_else(ask_once, caplog):
    assert split(ask_once(lambda request: object(), get()))[0].startswith("HTTP/1.1 500")
    assert "expected bytes, str, dict" in caplog.text


def test_head_has_the_fields_and_no_body(ask_once):
    status, fields, body = split(ask_once(lambda request: "text", get(method=b"HEAD")))
    assert (status, fields["content-length"], body) == ("HTTP/1.1 200 OK", "4", b"")


@pytest.mark.parametrize("keep", [b"", b"Connection: keep-alive\r\n"])
def test_clients_of_the_old_version(site, keep):
    def main():
        with site(lambda request: "text").connect() as stream, loomlet.timeout(20):
            stream.send_all(get(fields=keep, version=b"1.0"))
            answer = stream.receive_some()
            if keep:
                stream.send_all(get(version=b"1.0"))
            return answer, b"".join(stream)

    first, rest = loomlet.run(main)
    assert split(first)[1]["connection"] == ("keep-alive" if keep else "close")
    assert rest.startswith(b"HTTP/1.1 200") == bool(keep)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 200 + b"\r\n", 431),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
    ],
)
def test_what_is_refused(ask_once, data, status):
    """With its status, and the connection is closed; what follows is never read."""
    calls = []
    answer = ask_once(calls.append, data + get())
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert answer.count(b"HTTP/1.1") == 1
    assert calls == []


def test_a_large_answer_to_a_client_that_reads_slowly(site):
    size = 5_000_000

    def main():
        with site(lambda request: b"x" * size).connect() as stream, loomlet.timeout(60):
            stream.send_all(get(fields=b""))
            loomlet.sleep(0.05)
            got = 0
            for part in stream:
                got += len(part)
                if got >= size:
                    stream.send_all(get())
                    return got, len(b"".join(stream))

    first, second = loomlet.run(main)
    assert first > size
    assert second > size


def test_one_slow_request_holds_up_nobody(site):
    def handler(request):
        if request.path == "/slow":
            loomlet.sleep(30)
        return "quick"

    def main():
        here = site(handler)
        with here.connect() as slow, loomlet.timeout(20):
            slow.send_all(get(b"/slow"))
            loomlet.sleep(0.01)
            return here.ask(get(b"/quick"))

    assert split(loomlet.run(main))[2] == b"quick"


def test_clients_that_vanish(site):
    """In the head, in the body, before the answer: the server goes on."""

    def handler(request):
        loomlet.sleep(0.01)
        return request.read() or "empty"

    def main():
        here = site(handler)
        for data in (
            b"",
            b"GE",
            get(fields=b"")[:-2],
            get(fields=b""),
            get(fields=b"Content-Length: 9\r\n"),
        ):
            stream = here.connect()
            stream.send_all(data) if data else None
            loomlet.sleep(0.002)
            stream.close()
        loomlet.sleep(0.1)
        return here.ask(get())

    assert split(loomlet.run(main))[2] == b"empty"


@pytest.mark.parametrize(
    ("body", "answers"),
    [
        (b"Content-Length: 5\r\n\r\nhello", 2),
        (b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 2),
        (b"Content-Length: 50\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n", 1),
    ],
)
def test_a_body_that_nobody_reads(ask_once, body, answers):
    """It is skipped where it has come, else the connection closes: it is never the next request."""
    seen = []

    def handler(request):
        seen.append(request.path)
        return "text"

    data = (
        b"POST /first HTTP/1.1\r\nHost: a\r\n" + body + (get(b"/second") if answers == 2 else b"")
    )
    answer = ask_once(handler, data)
    assert answer.count(b"HTTP/1.1 200") == answers
    assert seen == ["/first", "/second"][:answers]


def test_a_client_that_waits_for_100(site):
    def main():
        here = site(lambda request: request.read())
        with here.connect() as stream, loomlet.timeout(20):
            fields = b"Content-Length: 5\r\nExpect: 100-continue\r\n" + CLOSE
            stream.send_all(get(fields=fields, method=b"POST"))
            first = stream.receive_some()
            stream.send_all(b"hello")
            return first, b"".join(stream)

    first, rest = loomlet.run(main)
    assert first == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert split(rest)[2] == b"hello"
