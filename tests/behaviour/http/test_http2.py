"""HTTP/2, by clients that know before that the server speaks it."""

import json
import logging
import os

import pytest

import loomlet
from loomlet import aio, net
from loomlet.http import ClientGone, HTTPError, Response

pytest.importorskip("h2")

from h2.errors import ErrorCodes
from h2.exceptions import StreamClosedError
from h2.settings import SettingCodes
from helpers_http2 import Client


def hello(request):
    return "hello"


# ---- requests and answers -----------------------------------------------------------------------


def test_what_a_request_says(with_client):
    def handler(request):
        return {
            "line": [request.method, request.path, request.raw_path, request.query, request.target],
            "host": request.host,
            "version": request.version,
            "client": request.client[0],
            "cookie": request.header("Cookie"),
            "body": request.text(),
        }

    def act(client):
        fields = [("cookie", "a=1"), ("cookie", "b=2")]
        number = client.ask("/%C3%A9%20b?c=d", "POST", fields=fields, end=False)
        client.send(number, b"hello")
        client.wait(number)
        return json.loads(client.body[number])

    said = with_client(handler, act)
    line = ["POST", "/é b", "/%C3%A9%20b", "c=d", "/%C3%A9%20b?c=d"]
    assert said.pop("line") == line
    assert said == {
        "host": "a",
        "version": "2",
        "client": "127.0.0.1",
        "cookie": "a=1; b=2",
        "body": "hello",
    }


@pytest.mark.parametrize(
    "result, status, kind, body",
    [
        ("é", "200", "text/plain; charset=utf-8", "é".encode()),
        (b"\0", "200", "application/octet-stream", b"\0"),
        ({"a": 1}, "200", "application/json", b'{"a": 1}'),
        (None, "204", None, b""),
        (["a"], "200", "application/json", b'["a"]'),
        (Response("x", 404, [("X-A", "1"), ("Connection", "close")]), "404", None, b"x"),
        (Response(iter(["a", b"b"]), content_type="text/x"), "200", "text/x", b"ab"),
    ],
)
def test_what_a_handler_returns(with_client, result, status, kind, body):
    def act(client):
        number = client.ask()
        client.wait(number)
        return client.status[number], client.fields[number], client.body[number]

    found, fields, data = with_client(lambda request: result, act)
    assert (found, data) == (status, body)
    assert kind is None or fields["content-type"] == kind
    assert "date" in fields and "connection" not in fields
    assert status != "404" or fields["x-a"] == "1"


def test_head_has_the_fields_and_no_body(with_client):
    def act(client):
        number = client.ask(method="HEAD")
        client.wait(number)
        return client.fields[number]["content-length"], client.body[number]

    assert with_client(hello, act) == ("5", b"")


def test_a_handler_that_raises(with_client, caplog):
    def handler(request):
        if request.path == "/error":
            raise HTTPError(418, "teapot", [("X-A", "1")])
        if request.path == "/begun":
            return failing()
        if request.path == "/field":
            return Response("", headers=[("a", "b\r\nc")])
        if request.path == "/interim":
            return Response("", 103)
        raise ZeroDivisionError

    def failing():
        yield "a"
        raise ZeroDivisionError

    def act(client):
        paths = ("/error", "/", "/field", "/interim")
        found = [client.get(path) for path in paths]
        number = client.ask("/begun")
        client.wait(number)
        return *found, client.end[number]

    error, *others, begun = with_client(handler, act)
    assert error == ("418", b"teapot")
    assert others == [("500", b"Internal Server Error\n")] * 3
    assert begun == ErrorCodes.INTERNAL_ERROR
    assert caplog.text.count("ZeroDivisionError: ") >= 2


def test_streams_are_answered_as_they_are_ready(with_client):
    go_on = loomlet.Event()

    def handler(request):
        if request.path == "/slow":
            go_on.wait()
        return request.path

    def act(client):
        slow = client.ask("/slow")
        others = [client.ask(f"/{n}") for n in range(20)]
        client.wait(*others)
        assert slow not in client.end
        go_on.set()
        client.wait(slow)
        return [client.body[n] for n in [slow, *others]]

    assert with_client(handler, act) == [b"/slow", *[b"/%d" % n for n in range(20)]]


def test_a_body_that_is_larger_than_the_windows(with_client):
    size = 3_000_000

    def handler(request):
        return str(sum(len(part) for part in request))

    def act(client):
        number = client.ask(method="POST", end=False)
        client.send(number, bytes(size))
        client.wait(number)
        return client.body[number]

    assert with_client(handler, act) == b"%d" % size


def test_bodies_that_nobody_reads_do_not_stop_the_others(with_client):
    """What was sent for them is forgotten with them."""

    def handler(request):
        return request.read() if request.path == "/read" else "not read"

    def act(client):
        for _ in range(30):
            number = client.ask(method="POST", end=False)
            client.send(number, bytes(60_000), end=False)
            client.wait(number)
        number = client.ask("/read", method="POST", end=False)
        client.send(number, bytes(200_000))
        client.wait(number)
        return len(client.body[number])

    assert with_client(handler, act) == 200_000


@pytest.mark.parametrize("way", ["whole", "parts", "file"])
def test_a_large_answer(with_client, tmp_path, way):
    data = os.urandom(3_000_000)
    path = tmp_path / "large"
    path.write_bytes(data)

    def handler(request):
        if way == "file":
            return path
        return data if way == "whole" else (data[at : at + 999] for at in range(0, 3_000_000, 999))

    def act(client):
        return client.get()

    client = {"window": 65535, "settings": {SettingCodes.INITIAL_WINDOW_SIZE: 20_000}}
    assert with_client(handler, act, client) == ("200", data)


def test_a_client_that_opens_its_window_byte_by_byte(with_client):
    def act(client):
        number = client.ask()
        while number not in client.end:
            client.read()
        return client.body[number]

    client = {"settings": {SettingCodes.INITIAL_WINDOW_SIZE: 1}}
    assert with_client(lambda request: "x" * 300, act, client) == b"x" * 300


def test_a_client_that_does_not_read_stops_the_handlers(with_client):
    """No more is made for it than what the system and the connection hold."""
    made = []

    def handler(request):
        for _ in range(20):
            made.append(1)
            yield bytes(100_000)

    def act(client):
        numbers = [client.ask() for _ in range(20)]
        count = -1
        while count != len(made):  # until nothing happens any more
            count = len(made)
            loomlet.sleep(0.05)
        before = count
        client.wait(*numbers)
        return before, {len(client.body[n]) for n in numbers}

    settings = {SettingCodes.INITIAL_WINDOW_SIZE: 2**24}
    client = {"window": 2**30, "settings": settings}
    before, sizes = with_client(handler, act, client)
    assert before < 300
    assert sizes == {2_000_000}


def test_a_client_that_waits_for_100(with_client):
    def act(client):
        fields = [("expect", "100-continue")]
        number = client.ask(method="POST", fields=fields, end=False)
        while not client.informed:
            client.read()
        client.send(number, b"data")
        client.wait(number)
        return client.informed, client.body[number]

    assert with_client(lambda request: request.read(), act) == (["100"], b"data")


@pytest.mark.parametrize("size, is_reset", [(50_000, False), (100_000, True)])
def test_a_body_that_comes_behind_the_answer(with_client, size, is_reset):
    """A little of it is dropped; much is not wanted, and the client is told."""

    def act(client):
        fields = [("content-length", str(size))]
        number = client.ask(method="PUT", fields=fields, end=False)
        client.wait(number)
        client.get()  # a reset would have come before this answer
        try:
            client.send(number, bytes(size))
        except StreamClosedError:
            return True, client.get()
        return False, client.get()

    assert with_client(hello, act) == (is_reset, ("200", b"hello"))


def test_a_client_that_resets_a_stream(with_client):
    seen = loomlet.Channel(2)

    def handler(request):
        if request.path == "/body":
            try:
                request.read()
            except ClientGone:
                seen.send("body")
                raise
        if request.path == "/answer":
            return endless()
        return "other"

    def endless():
        try:
            while True:
                yield bytes(1000)
        finally:
            seen.send("answer")

    def act(client):
        numbers = client.ask("/body", "POST", end=False), client.ask("/answer")
        while not client.body[numbers[1]]:
            client.read()
        for number in numbers:
            client.h2.reset_stream(number)
        client.flush()
        return {seen.receive(), seen.receive()}, client.get()

    assert with_client(handler, act) == ({"body", "answer"}, ("200", b"other"))


def test_a_client_that_vanishes(site):
    seen = loomlet.Channel(1)

    def handler(request):
        try:
            request.read()
        except ClientGone:
            seen.send("gone")

    def main():
        here = site(handler)
        with here.connect() as stream, loomlet.timeout(20):
            Client(stream).ask(method="POST", end=False)
            while not here.server.counts()["taken"]:
                loomlet.sleep(0)
        with loomlet.timeout(20):
            told = seen.receive()
            while here.server.counts()["connections"]:
                loomlet.sleep(0.001)
            return told

    assert loomlet.run(main) == "gone"


def test_a_client_of_another_library(site):
    httpx = pytest.importorskip("httpx")

    async def talk(url):
        async with httpx.AsyncClient(http1=False, http2=True) as client:
            answer = await client.post(url, content=b"x" * 100_000)
            return answer.http_version, answer.text

    def main():
        here = site(lambda request: str(len(request.read())))
        with loomlet.timeout(20):
            return aio.await_(talk("http:" + "//{}:{}/".format(*here.server.address)))

    assert loomlet.run(main) == ("HTTP/2", "100000")


# ---- the server ---------------------------------------------------------------------------------


def test_a_server_that_stops_answers_what_has_begun(site):
    begun, go_on = loomlet.Event(), loomlet.Event()

    def handler(request):
        begun.set()
        go_on.wait()
        return "done"

    def main():
        here = site(handler)
        with here.connect() as stream, loomlet.timeout(20):
            client = Client(stream)
            client.ask()
            begun.wait()
            end = loomlet.spawn(here.server.stop)
            while client.goaway is None:
                client.read()
            go_on.set()
            raw = b"".join(stream)  # h2 takes nothing behind GOAWAY
            end.join()
            return client.goaway, raw, here.server.counts()["connections"]

    code, raw, left = loomlet.run(main)
    assert (code, left) == (ErrorCodes.NO_ERROR, 0)
    assert b"done" in raw


def test_a_server_that_is_closed_leaves_nothing(site):
    def main():
        here = site(lambda request: loomlet.sleep(0.05))
        with here.connect() as stream, loomlet.timeout(20):
            client = Client(stream)
            client.ask()
            while not here.server.counts()["taken"]:
                loomlet.sleep(0)
            here.server.close()
            while here.server.counts()["taken"]:
                loomlet.sleep(0)
            return b"".join(stream) is not None

    assert loomlet.run(main)


@pytest.mark.parametrize("way", ["not wanted", "not installed"])
def test_without_it_the_preface_is_refused(ask_once, monkeypatch, way):
    if way == "not installed":
        monkeypatch.setattr("loomlet.http._serving.find_spec", lambda name: None)
    options = {"http2": False} if way == "not wanted" else {}
    answer = ask_once(hello, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", **options)
    assert answer.startswith(b"HTTP/1.1 505")


def test_who_asks_for_it_learns_what_is_missing(site, monkeypatch):
    monkeypatch.setattr("loomlet.http._serving.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install 'loomlet\\[http2\\]'"):
        loomlet.run(lambda: site(hello, http2=True))


def test_it_is_served_on_anything_that_sends_and_receives(site):
    from loomlet.http._http2 import serve_http2

    class Pipe:
        def __init__(self, stream):
            self.receive_some = stream.receive_some
            self.send_all = stream.send_all
            self.close = stream.close

    def main():
        here = site(hello)
        ours, theirs = net.pair()
        with ours, theirs, loomlet.timeout(20):
            task = loomlet.spawn(serve_http2, here.server, Pipe(theirs))
            answer = Client(ours).get()
            ours.close()
            task.join()
            return answer

    assert loomlet.run(main) == ("200", b"hello")


def test_a_preface_that_comes_byte_by_byte(site):
    def main():
        here = site(hello)
        with here.connect() as stream, loomlet.timeout(20):
            send_all = stream.send_all

            class Slow:
                receive_some = stream.receive_some

                def send_all(self, data):
                    for byte in data:
                        send_all(bytes([byte]))
                        loomlet.sleep(0)

            return Client(Slow()).get()

    assert loomlet.run(main) == ("200", b"hello")


def test_behind_requests_of_http_1(site):
    """Nobody does that, but it does no harm."""

    def main():
        here = site(hello, routes={"/fixed": "fixed"})
        first = b"GET /fixed HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"
        with here.connect() as stream, loomlet.timeout(20):
            stream.send_all(first + b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
            got = b""
            while b"hello" not in got or not got.endswith(b"\0\0\0\4\1\0\0\0\0"):
                got += stream.receive_some()
            return got.count(b"HTTP/1.1 200 OK")

    assert loomlet.run(main) == 2


def test_http_1_and_2_on_one_server(site):
    def main():
        here = site(hello)
        with here.connect() as stream, loomlet.timeout(20):
            second = Client(stream).get()
            first = here.ask(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            return first[-5:], second

    assert loomlet.run(main) == (b"hello", ("200", b"hello"))


def test_mistakes_of_clients_are_no_errors_of_the_server(with_client, caplog):
    caplog.set_level(logging.INFO)

    def act(client):
        client.stream.send_all(b"\0\0\1\0\0\0\0\0\0x")  # DATA of no stream
        return client.wait_for_goaway()

    assert with_client(hello, act) == ErrorCodes.PROTOCOL_ERROR
    assert {record.levelname for record in caplog.records} == {"INFO"}
