"""What a handler may return, and how it is sent."""

import io
import json

import pytest

import loomlet
from loomlet.http import HTTPError, Response, events

GET = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


@pytest.fixture
def ask(ask_once):
    """(status, fields, body out of its chunks) of a new server with that handler."""

    def once(handler, data=GET, **options):
        answer = ask_once(handler, data, **options)
        head, _, body = answer.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        fields = {n.lower(): v for n, _, v in (line.partition(": ") for line in lines)}
        if fields.get("transfer-encoding") == "chunked":
            body = unchunked(body)
        return int(status.split(" ")[1]), fields, body

    return once


def unchunked(body):
    data = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        data += rest[: int(size, 16)]
        body = rest[int(size, 16) + 2 :]
    return data


def test_a_response_says_more(ask):
    answer = Response({"a": 1}, 201, [("X-Y", "z")], "application/x")
    status, fields, body = ask(lambda request: answer)
    assert (status, fields["x-y"], fields["content-type"]) == (201, "z", "application/x")
    assert json.loads(body) == {"a": 1}


def test_a_type_among_the_headers_is_the_only_one(ask):
    answer = Response("a", headers=[("content-type", "text/css")])
    _, fields, _ = ask(lambda request: answer)
    assert fields["content-type"] == "text/css"


@pytest.mark.parametrize("parts", [["a", b"b"], [], ["x" * 200_000] * 3, [b"", b"a"]])
def test_an_iterator_is_sent_in_parts(ask, parts):
    def handler(request):
        yield from parts

    status, fields, body = ask(handler)
    assert (status, fields["transfer-encoding"]) == (200, "chunked")
    assert body == b"".join(p.encode() if isinstance(p, str) else p for p in parts)


def test_parts_arrive_as_they_are_made(site):
    """The client has the first one while the second is not there."""
    go_on = loomlet.Event()

    def handler(request):
        yield b"first"
        go_on.wait()
        yield b"second"

    def main():
        with site(handler).connect() as stream, loomlet.timeout(20):
            stream.send_all(GET)
            early = b""
            while b"first" not in early:
                early += stream.receive_some()
            go_on.set()
            return early, b"".join(stream)

    early, rest = loomlet.run(main)
    assert b"second" not in early
    assert rest == b"6\r\nsecond\r\n0\r\n\r\n"


def test_for_an_old_client_parts_end_with_the_connection(ask):
    _, fields, body = ask(lambda request: iter(["a", "b"]), b"GET / HTTP/1.0\r\nHost: a\r\n\r\n")
    assert (fields.get("transfer-encoding"), fields["connection"], body) == (None, "close", b"ab")


def test_events(ask):
    _, fields, body = ask(lambda request: events(iter(["one\ntwo", {"a": 1}, ""])))
    assert fields["content-type"] == "text/event-stream"
    assert body == b'data: one\ndata: two\n\ndata: {"a": 1}\n\ndata: \n\n'


def test_only_what_ends_a_line_of_an_event_does(ask):
    """Three ways to end one; a client puts them together again, with the last one."""
    _, _, body = ask(lambda request: events(["a\r\nb\rc\u2028d\n"]))
    assert body.decode() == "data: a\ndata: b\ndata: c\u2028d\ndata: \n\n"


def test_a_path_and_an_open_file(ask, tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(b"<p>" * 100_000)
    _, fields, body = ask(lambda request: path)
    assert (fields["content-type"], fields["content-length"]) == ("text/html", "300000")
    assert body == path.read_bytes()

    def half(request):
        file = path.open("rb")
        file.seek(150_000)
        return file

    assert ask(half)[2] == path.read_bytes()[150_000:]
    assert ask(lambda request: io.BytesIO(b"in memory"))[2] == b"in memory"


@pytest.mark.parametrize("status", [404, 418, 503])
def test_an_error_of_http_is_its_status(ask, caplog, status):
    def handler(request):
        raise HTTPError(status, "no such thing\n")

    assert ask(handler)[::2] == (status, b"no such thing\n")
    assert not caplog.records  # it is no failure


def test_without_memory_a_client_may_come_again(ask, caplog):
    def handler(request):
        raise MemoryError

    status, fields, _ = ask(handler)
    assert (status, fields["retry-after"]) == (503, "1")
    assert "MemoryError" in caplog.text


def raises_a_status(request):
    raise HTTPError(103)


@pytest.mark.parametrize(
    "handler",
    [
        lambda request: Response("text", 100),
        lambda request: Response(iter(["text"]), 103),
        raises_a_status,
    ],
)
def test_a_status_of_no_final_answer_is_500(ask, caplog, handler):
    """Behind it the client would go on waiting."""
    status, _, body = ask(handler)
    assert (status, body) == (500, b"Internal Server Error\n")
    assert "expected a status from 200 to 999, found 10" in caplog.text


def test_a_body_that_is_no_json(ask):
    data = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\n{a}"
    status, _, body = ask(lambda request: request.json(), data)
    assert (status, body.partition(b":")[0]) == (400, b"the body is no JSON")


def test_a_failure_in_the_midst_cuts_the_answer_off(ask_once, caplog):
    """The end of the chunks is missing, so no client takes a part for the whole."""

    def handler(request):
        yield b"a part"
        raise KeyError("then")

    answer = ask_once(handler, GET)
    assert b"a part" in answer
    assert not answer.endswith(b"0\r\n\r\n")
    assert "KeyError: 'then'" in caplog.text


@pytest.mark.parametrize(
    "fields",
    [[("A", "b\r\nC: d")], [("A b", "c")], [("", "c")], [("A", "\0")], [("A", "ж")], ["A: b"]],
)
def test_wrong_fields_are_500(ask, caplog, fields):
    status, found, _ = ask(lambda request: Response("text", headers=fields))
    assert (status, "c" in found) == (500, False)
    assert "Traceback" in caplog.text


def test_a_length_that_is_wrong_is_500(ask, caplog):
    status, _, _ = ask(lambda request: Response("text", headers=[("Content-Length", "5")]))
    assert status == 500
    assert "Content-Length is 5, the body has 4 bytes" in caplog.text


def test_a_handler_that_is_killed_closes_its_connection(site):
    tasks = []

    def handler(request):
        tasks.append(loomlet.current())
        loomlet.sleep(30)

    def main():
        with site(handler).connect() as stream, loomlet.timeout(20):
            stream.send_all(GET)
            while not tasks:
                loomlet.sleep(0.001)
            tasks[0].kill()
            return b"".join(stream)

    assert loomlet.run(main) == b""


def test_a_large_fixed_answer_is_not_copied_for_each_client(site):
    """Of clients that do not read."""
    body = b"x" * 10_000_000

    def main():
        here = site(lambda request: "", routes={"/large": body})
        streams = [here.connect() for _ in range(20)]
        with loomlet.timeout(30):
            for stream in streams:
                stream.send_all(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            answers = [len(b"".join(stream)) for stream in streams]
        for stream in streams:
            stream.close()
        return answers

    assert min(loomlet.run(main)) > len(body)
