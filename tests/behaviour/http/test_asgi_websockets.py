"""WebSockets of ASGI applications."""

import asyncio
import contextlib
import struct

import pytest

import loomlet
from loomlet import aio

pytest.importorskip("wsproto")

from helpers_websockets import (
    BINARY,
    CLOSE,
    PING,
    PONG,
    TEXT,
    Peer,
    close_frame,
    frame,
    handshake,
)

CLOSING = b"Connection: close\r\n"


@pytest.fixture
def with_application(site):
    """Runs a function with a server of a new application, and returns what it returns."""

    def run(application, act, **options):
        def main():
            here = site(application=application, interface="asgi", **options)
            try:
                with loomlet.timeout(20):
                    return act(here)
            finally:
                here.server.stop(1)
                aio.close()

        return loomlet.run(main)

    return run


def websocket(function):
    """An application that has no lifespan."""

    async def application(scope, receive, send):
        if scope["type"] == "lifespan":
            raise NotImplementedError
        await function(scope, receive, send)

    return application


@websocket
async def echo(scope, receive, send):
    assert (await receive())["type"] == "websocket.connect"
    await send({"type": "websocket.accept", "subprotocol": "chat", "headers": [(b"x-a", b"1")]})
    while (message := await receive())["type"] == "websocket.receive":
        await send({**message, "type": "websocket.send"})


def test_messages_come_back(with_application):
    def act(here):
        with here.connect() as stream:
            peer = Peer(stream)
            assert b"\r\nx-a: 1" in peer.head and b"Protocol: chat" in peer.head
            peer.send(frame(TEXT, "é".encode()), frame(PING), frame(BINARY, b"\0"))
            got = [peer.receive() for _ in range(3)]
            peer.send(close_frame(1001))
            return sorted(got), peer.receive(), b"".join(stream)

    got, end, rest = with_application(echo, act)
    assert got == [(TEXT, "é".encode()), (BINARY, b"\0"), (PONG, b"")]
    assert (end, rest) == ((CLOSE, b"\x03\xe9"), b"")


def test_the_scope(with_application):
    seen = {}

    @websocket
    async def application(scope, receive, send):
        seen.update(scope)
        await receive()
        await send({"type": "websocket.close"})

    fields = CLOSING + b"Sec-WebSocket-Protocol: a, b\r\nSec-WebSocket-Protocol: c\r\n"
    with_application(application, lambda here: here.ask(handshake(b"/a%20b?c", fields)))
    assert "method" not in seen
    assert {
        "type": "websocket",
        "scheme": "ws",
        "http_version": "1.1",
        "path": "/a b",
        "raw_path": b"/a%20b",
        "query_string": b"c",
        "subprotocols": ["a", "b", "c"],
        "extensions": {"websocket.http.response": {}},
    }.items() <= seen.items()
    assert (b"sec-websocket-version", b"13") in seen["headers"]
    assert seen["client"][0] == "127.0.0.1"


@pytest.mark.parametrize(
    "messages, status, body",
    [
        ([{"type": "websocket.close"}], b"403", b"Forbidden\n"),
        (
            [
                {"type": "websocket.http.response.start", "status": 401, "headers": [(b"a", b"b")]},
                {"type": "websocket.http.response.body", "body": b"no, ", "more_body": True},
                {"type": "websocket.http.response.body", "body": b"never"},
            ],
            b"401",
            b"never",
        ),
        (
            [
                {"type": "websocket.http.response.start", "status": 101, "headers": []},
                {"type": "websocket.http.response.body", "body": b"none"},
            ],
            b"500",
            b"Internal Server Error\n",
        ),
        ([], b"500", b"Internal Server Error\n"),
        ([{"type": "websocket.send", "text": "x"}], b"500", b"Internal Server Error\n"),
        ([{"type": "websocket.accept", "headers": [(b"a", b"b\r\nc")]}], b"500", b"Error\n"),
    ],
)
def test_what_an_application_answers_instead(with_application, messages, status, body):
    @websocket
    async def application(scope, receive, send):
        await receive()
        for message in messages:
            await send(message)

    answer = with_application(application, lambda here: here.ask(handshake(fields=CLOSING)))
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert body in answer
    assert (b"a: b\r\n" in answer) == (status == b"401")


def test_after_a_refusal_there_is_nothing_but_the_end(with_application):
    seen = []

    @websocket
    async def application(scope, receive, send):
        await receive()
        await send({"type": "websocket.close"})
        seen.append(await receive())
        with pytest.raises(RuntimeError):
            await send({"type": "websocket.accept"})

    with_application(application, lambda here: here.ask(handshake(fields=CLOSING)))
    assert seen == [{"type": "websocket.disconnect", "code": 1006, "reason": ""}]


@pytest.mark.parametrize("way", ["returns", "raises", "closes"])
def test_the_end_of_the_application_closes(with_application, caplog, way):
    seen = []

    @websocket
    async def application(scope, receive, send):
        await receive()
        await send({"type": "websocket.accept"})
        if way == "raises":
            raise ZeroDivisionError
        if way == "closes":
            await send({"type": "websocket.close", "code": 4000, "reason": "bye"})
            seen.append((await receive())["code"])

    def act(here):
        with here.connect() as stream:
            return Peer(stream).end()

    code = with_application(application, act)
    assert code == {"returns": 1000, "raises": 1011, "closes": 4000}[way]
    assert seen == ([4000] if way == "closes" else [])
    assert ("ZeroDivisionError" in caplog.text) == (way == "raises")


@pytest.mark.parametrize(
    "data, code, reason",
    [
        (close_frame(4001, b"enough"), 4001, "enough"),
        (frame(CLOSE), 1005, ""),
        (b"", 1006, ""),
        (frame(TEXT, b"\xff"), 1007, "the data is not valid"),
    ],
)
def test_how_it_has_ended(with_application, data, code, reason):
    seen = loomlet.Channel(2)

    @websocket
    async def application(scope, receive, send):
        await receive()
        await send({"type": "websocket.accept"})
        seen.try_send(await receive())
        try:
            await send({"type": "websocket.send", "text": "late"})
        except OSError as error:
            seen.try_send(error)

    def act(here):
        with here.connect() as stream:
            Peer(stream).send(data)
            stream.send_eof()
            return seen.receive(), seen.receive()

    message, error = with_application(application, act)
    assert message == {"type": "websocket.disconnect", "code": code, "reason": reason}
    assert isinstance(error, OSError)


def test_a_client_that_goes_before_it_is_accepted(with_application):
    seen = loomlet.Channel(2)
    begun = loomlet.Event()

    @websocket
    async def application(scope, receive, send):
        await receive()
        begun.set()
        seen.try_send(await receive())
        try:
            await send({"type": "websocket.accept"})
        except OSError:
            seen.try_send("OSError")

    def act(here):
        with here.connect() as stream:
            stream.send_all(handshake())
            begun.wait()
        return seen.receive(), seen.receive()

    message, error = with_application(application, act)
    assert (message["type"], message["code"]) == ("websocket.disconnect", 1006)
    assert error == "OSError"


def test_a_receive_that_is_cancelled_loses_nothing(with_application):
    @websocket
    async def application(scope, receive, send):
        await receive()
        await send({"type": "websocket.accept"})
        for _ in range(3):
            task = asyncio.ensure_future(receive())
            await asyncio.sleep(0)
            task.cancel()
        await send({"type": "websocket.send", "text": "now"})
        message = await receive()
        await send({"type": "websocket.send", "text": message["text"]})

    def act(here):
        with here.connect() as stream:
            peer = Peer(stream)
            assert peer.receive() == (TEXT, b"now")
            peer.send(frame(TEXT, b"one"))
            return peer.receive()

    assert with_application(application, act) == (TEXT, b"one")


def test_it_receives_and_sends_at_the_same_time(with_application):
    @websocket
    async def application(scope, receive, send):
        await receive()
        await send({"type": "websocket.accept"})

        async def tick():
            while True:
                await send({"type": "websocket.send", "bytes": bytes(100_000)})

        task = asyncio.ensure_future(tick())
        message = await receive()
        task.cancel()
        assert message["text"] == "stop"
        await asyncio.gather(task, return_exceptions=True)

    def act(here):
        with here.connect() as stream:
            peer = Peer(stream)
            for _ in range(5):
                assert peer.receive() == (BINARY, bytes(100_000))
            peer.send(frame(TEXT, b"stop"))
            with contextlib.suppress(EOFError):  # it was cancelled in the midst of a frame
                assert peer.end() == 1000
            while here.server.counts()["taken"]:
                loomlet.sleep(0)

    with_application(application, act)


def test_messages_to_a_client_that_reads_slowly_stay_whole_and_in_order(with_application):
    """Most of them have to wait; those of several tasks are not mixed."""
    count = 30

    @websocket
    async def application(scope, receive, send):
        await receive()
        await send({"type": "websocket.accept"})

        async def send_all(first):
            for i in range(first, first + count):
                await send({"type": "websocket.send", "bytes": bytes([i]) * 300_000})
                await send({"type": "websocket.send", "text": str(i)})

        await asyncio.gather(send_all(0), send_all(100))
        await receive()

    def act(here):
        with here.connect() as stream:
            peer = Peer(stream)
            loomlet.sleep(0.05)
            got = [peer.receive() for _ in range(4 * count)]
        large = [payload[0] for _, payload in got if len(payload) > 3]
        small = [int(payload) for _, payload in got if len(payload) <= 3]
        assert all(payload == payload[:1] * 300_000 for _, payload in got if len(payload) > 3)
        for numbers in (large, small):
            assert [i for i in numbers if i < 100] == list(range(count))
            assert [i for i in numbers if i >= 100] == list(range(100, 100 + count))

    with_application(application, act)


def test_many_receives_that_are_cancelled_leave_nothing_behind(with_application):
    cycles = []

    @websocket
    async def application(scope, receive, send):
        await receive()
        await send({"type": "websocket.accept"})
        cycles.append(receive.__self__)
        for _ in range(100):
            task = asyncio.ensure_future(receive())
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        cycles.append(len(cycles[0]._receivers))

    def act(here):
        with here.connect() as stream:
            Peer(stream).end()

    with_application(application, act)
    assert cycles[1] == 0


def test_two_tasks_that_receive(with_application):
    """Each message goes to one of them; one that is cancelled takes none along."""

    @websocket
    async def application(scope, receive, send):
        await receive()
        await send({"type": "websocket.accept"})
        first, second, third = (asyncio.ensure_future(receive()) for _ in range(3))
        await asyncio.sleep(0)
        second.cancel()
        await send({"type": "websocket.send", "text": "now"})
        got = [(await task)["text"] for task in (first, third)]
        await send({"type": "websocket.send", "text": " ".join(sorted(got))})

    def act(here):
        with here.connect() as stream:
            peer = Peer(stream)
            assert peer.receive() == (TEXT, b"now")
            peer.send(frame(TEXT, b"a"), frame(TEXT, b"b"))
            return peer.receive()

    assert with_application(application, act) == (TEXT, b"a b")


def test_a_client_that_does_not_read_holds_up_nobody(with_application):
    """Nor does what is cancelled in the end leave anything open."""

    @websocket
    async def application(scope, receive, send):
        await receive()
        await send({"type": "websocket.accept"})
        size = 50_000_000 if scope["path"] == "/large" else 1
        await send({"type": "websocket.send", "bytes": bytes(size)})

    def act(here):
        with here.connect() as slow, here.connect() as quick:
            Peer(slow, b"/large")
            got = Peer(quick).receive()
            here.server.close()
            aio.close()
            return got, here.server.counts()["taken"]

    assert with_application(application, act) == ((BINARY, b"\0"), 0)


def test_applications_of_starlette(with_application):
    starlette = pytest.importorskip("starlette")
    from starlette.applications import Starlette
    from starlette.routing import WebSocketRoute

    async def talk(socket):
        await socket.accept(subprotocol="chat")
        async for text in socket.iter_text():
            await socket.send_json({"text": text, "name": socket.path_params["name"]})

    application = Starlette(routes=[WebSocketRoute("/{name}", talk)])

    def act(here):
        with here.connect() as stream:
            peer = Peer(stream, b"/ann")
            peer.send(frame(TEXT, b"hello"))
            answer = peer.receive()
            peer.send(close_frame())
            assert peer.receive() == (CLOSE, struct.pack("!H", 1000))
            return answer

    assert starlette
    answer = with_application(application, act)
    assert answer == (TEXT, b'{"text":"hello","name":"ann"}')


def test_without_the_library_it_is_an_ordinary_request(with_application, caplog, monkeypatch):
    monkeypatch.setattr("loomlet.http._asgi.find_spec", lambda name: None)
    seen = []

    @websocket
    async def application(scope, receive, send):
        seen.append(scope["type"])
        await send({"type": "http.response.start", "status": 404})
        await send({"type": "http.response.body"})

    with_application(application, lambda here: here.ask(handshake(fields=CLOSING)))
    assert seen == ["http"]
    assert "WebSocket needs wsproto" in caplog.text
