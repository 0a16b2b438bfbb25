"""Applications of ASGI."""

import asyncio
import functools
import json

import pytest

import loomlet
from loomlet.http import Limits, Server

CLOSE = b"GET /a%20b?c=d HTTP/1.1\r\nHost: h:1\r\nX-Y: 1\r\nConnection: close\r\n\r\n"


def post(body, head=b""):
    return b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n%s" % (
        head,
        len(body),
        body,
    )


async def answer(send, body=b"", status=200, headers=()):
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def http_only(function):
    """An application without lifespan."""

    async def application(scope, receive, send):
        if scope["type"] != "http":
            raise NotImplementedError(scope["type"])
        await function(scope, receive, send)

    return application


@pytest.fixture
def ask(ask_once):
    """(status, fields, body) of a new server with that application."""

    def once(application, data=CLOSE, wrap=http_only, **options):
        got = ask_once(None, data, application=wrap(application), **options)
        head, _, body = got.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        fields = {n.lower(): v for n, _, v in (line.partition(": ") for line in lines)}
        return int(status.split(" ")[1]), fields, body

    return once


def test_the_scope(ask):
    async def application(scope, receive, send):
        shown = {
            key: [[k.decode(), v.decode()] for k, v in value] if key == "headers" else value
            for key, value in scope.items()
            if key not in ("raw_path", "query_string", "state", "client", "server")
        }
        shown["raw"] = [scope["raw_path"].decode(), scope["query_string"].decode()]
        shown["client"] = scope["client"][0]
        await answer(send, json.dumps(shown).encode())

    _, _, body = ask(application)
    scope = json.loads(body)
    assert scope["asgi"]["version"] == "3.0"
    assert (scope["method"], scope["path"], scope["http_version"]) == ("GET", "/a b", "1.1")
    assert scope["raw"] == ["/a%20b", "c=d"]
    assert scope["headers"] == [["host", "h:1"], ["x-y", "1"], ["connection", "close"]]
    assert scope["client"] == "127.0.0.1"
    assert (scope["scheme"], scope["root_path"]) == ("http", "")


def test_a_body_comes_in_parts(site):
    async def application(scope, receive, send):
        parts = []
        while True:
            message = await receive()
            parts.append(message["body"])
            if not message["more_body"]:
                break
        await answer(send, repr(parts).encode())

    def main():
        here = site(application=http_only(application))
        with here.connect() as stream, loomlet.timeout(20):
            data = post(b"0123456789")
            stream.send_all(data[:-5])
            loomlet.sleep(0.02)  # the first part shall come alone
            stream.send_all(data[-5:])
            return b"".join(stream).partition(b"\r\n\r\n")[2]

    assert eval(loomlet.run(main)) == [b"01234", b"56789"]


def test_without_a_body(ask):
    async def application(scope, receive, send):
        await answer(send, repr(await receive()).encode())

    expected = {"type": "http.request", "body": b"", "more_body": False}
    assert eval(ask(application)[2]) == expected


def test_headers_that_take_the_body_out_of_its_message(ask):
    """The answer is what the message had when it was sent."""

    async def application(scope, receive, send):
        def headers():
            message.clear()
            yield b"A", b"b"

        message = {"type": "http.response.body", "body": b"".join([b"bo", b"dy"])}
        await send({"type": "http.response.start", "status": 200, "headers": headers()})
        await send(message)

    status, fields, body = ask(application)
    assert (status, fields["a"], body) == (200, "b", b"body")


def test_an_answer_in_parts(ask):
    async def application(scope, receive, send):
        await send({"type": "http.response.start", "status": 201, "headers": [(b"x-y", b"z")]})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        await asyncio.sleep(0.001)
        await send({"type": "http.response.body", "body": b"bc", "more_body": True})
        await send({"type": "http.response.body"})

    status, fields, body = ask(application)
    assert (status, fields["x-y"], body) == (201, "z", b"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n")


def test_a_large_answer_to_a_client_that_reads_slowly(site):
    """It waits, and the loop does not."""
    size = 3_000_000

    async def application(scope, receive, send):
        await answer(send, b"x" * size if scope["path"] == "/large" else b"small")

    def main():
        here = site(application=http_only(application))
        with here.connect() as slow, loomlet.timeout(30):
            slow.send_all(CLOSE.replace(b"/a%20b", b"/large"))
            loomlet.sleep(0.01)
            small = here.ask(CLOSE)
            return small, len(b"".join(slow))

    small, large = loomlet.run(main)
    assert small.endswith(b"small")
    assert large > size


def test_the_client_goes_away(site):
    """receive() says so, and send() raises what is an OSError."""
    seen = []

    async def application(scope, receive, send):
        await receive()
        seen.append((await receive())["type"])
        try:
            for _ in range(100):
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": b"x" * 10**6})
        except OSError:
            seen.append("OSError")

    def main():
        here = site(application=http_only(application))
        stream = here.connect()
        with loomlet.timeout(20):
            stream.send_all(CLOSE)
            loomlet.sleep(0.01)
            stream.close()
            while not seen:
                loomlet.sleep(0.001)
            loomlet.sleep(0.05)
            return here.server.counts()["busy"]

    assert loomlet.run(main) == 0
    assert seen[0] == "http.disconnect"


@pytest.mark.parametrize("begun", [False, True])
def test_an_application_that_returns_when_the_client_has_gone(site, caplog, begun):
    """As Django and Quart do: it is not their mistake."""
    ended = []

    async def application(scope, receive, send):
        if begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"x", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
        ended.append(True)

    def main():
        here = site(application=http_only(application))
        stream = here.connect()
        with loomlet.timeout(20):
            stream.send_all(CLOSE)
            while not here.server.counts()["busy"]:
                loomlet.sleep(0.001)
            stream.close()
            while not ended or here.server.counts()["busy"]:
                loomlet.sleep(0.001)

    with caplog.at_level("INFO", "loomlet.http"):
        loomlet.run(main)
    (record,) = caplog.records
    assert record.levelname == "INFO"
    assert "the client has gone: the ASGI application has returned" in record.getMessage()


def test_after_the_answer_receive_says_that_it_is_over(ask):
    seen = []

    async def application(scope, receive, send):
        await receive()
        waiting = asyncio.ensure_future(receive())
        await asyncio.sleep(0)
        await answer(send, b"done")
        seen.append((await waiting)["type"])
        seen.append((await receive())["type"])

    assert ask(application)[2] == b"done"
    assert seen == ["http.disconnect"] * 2


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"type": "http.response.body", "body": b"x"}],
        [{"type": "http.response.start", "status": 20, "headers": []}] * 2,
        [{"type": "unknown"}],
        [
            {"type": "http.response.start", "status": 103, "headers": []},
            {"type": "http.response.body", "body": b"x"},
        ],
        [
            {"type": "http.response.start", "status": 101, "headers": []},
            {"type": "http.response.body", "body": b"x", "more_body": True},
        ],
        [
            {"type": "http.response.start", "status": 200, "headers": [(b"a", b"b\r\nc: d")]},
            {"type": "http.response.body", "body": b"x"},
        ],
        [{"type": "http.response.start", "status": 200, "headers": []}],
    ],
)
def test_wrong_messages_are_500(ask, caplog, messages):
    async def application(scope, receive, send):
        for message in messages:
            await send(message)

    status, fields, _ = ask(application)
    assert (status, "c" in fields) == (500, False)
    raised = "returned without a whole answer" not in caplog.text
    assert ("Traceback" in caplog.text) == raised


def test_a_coroutine_that_raises(ask, caplog):
    async def application(scope, receive, send):
        await asyncio.sleep(0)
        raise KeyError("in the application")

    assert ask(application)[0] == 500
    assert "KeyError: 'in the application'" in caplog.text


def test_a_file_is_sent_by_its_path(ask, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"0123456789" * 50_000)

    async def application(scope, receive, send):
        assert "http.response.pathsend" in scope["extensions"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.pathsend", "path": str(path)})

    status, fields, body = ask(application)
    assert (status, fields["content-length"]) == (200, "500000")
    assert body == path.read_bytes()


def test_many_requests_wait_at_the_same_time(site):
    async def application(scope, receive, send):
        await asyncio.sleep(0.05)
        await answer(send, scope["path"].encode())

    def main():
        here = site(application=http_only(application))
        with loomlet.timeout(30):
            paths = [b"/%d" % n for n in range(200)]
            return loomlet.map(lambda p: here.ask(CLOSE.replace(b"/a%20b", p)), paths), paths

    answers, paths = loomlet.run(main)
    assert [a.partition(b"\r\n\r\n")[2] for a in answers] == paths


def test_a_coroutine_that_computes_holds_no_plain_handler(site):
    """It holds the other coroutines only."""
    stop = []

    async def application(scope, receive, send):
        while not stop:
            pass
        await answer(send, b"computed")

    def main():
        here = site(application=http_only(application), routes={"/plain": lambda r: "plain"})
        with loomlet.timeout(20):
            computing = loomlet.spawn(here.ask, CLOSE)
            loomlet.sleep(0.05)  # it computes
            plain = here.ask(CLOSE.replace(b"/a%20b", b"/plain"))
            stop.append(True)
            return plain, computing.result()

    plain, computed = loomlet.run(main)
    assert plain.endswith(b"plain")
    assert computed.endswith(b"computed")


def test_a_limit_of_requests_holds_for_coroutines(site):
    running, most = [], []

    async def application(scope, receive, send):
        running.append(1)
        most.append(len(running))
        await asyncio.sleep(0.005)
        running.pop()
        await answer(send)

    def main():
        here = site(application=http_only(application), limits=Limits(concurrency=3))
        with loomlet.timeout(20):
            return loomlet.map(lambda _: here.ask(CLOSE)[9:12], range(12))

    assert loomlet.run(main) == [b"200"] * 12
    assert max(most) == 3


# ---- lifespan ---------------------------------------------------------------------------------


def test_the_lifespan(site):
    """Startup before the first request, shutdown at the end, and a state between them."""
    events = []

    async def application(scope, receive, send):
        if scope["type"] == "http":
            await answer(send, str(scope["state"]).encode())
            return
        while True:
            message = await receive()
            events.append(message["type"])
            scope["state"]["begun"] = 1
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return

    def main():
        here = site(application=application)
        events.append("begun")
        got = here.ask(CLOSE)
        here.server.stop()
        return got

    assert loomlet.run(main).endswith(b"{'begun': 1}")
    assert events == ["lifespan.startup", "begun", "lifespan.shutdown"]


def test_an_application_that_refuses_to_begin():
    async def application(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    def main():
        server = Server(application=application, port=0)
        try:
            server.start()
        finally:
            server.close()

    with pytest.raises(RuntimeError, match="no database"):
        loomlet.run(main)


def test_send_may_be_a_task_or_be_gathered(ask):
    async def application(scope, receive, send):
        await asyncio.create_task(send({"type": "http.response.start", "status": 200}))
        await asyncio.gather(send({"type": "http.response.body", "body": b"by a task"}))

    assert ask(application)[::2] == (200, b"by a task")


def test_what_send_returns_ends_as_a_coroutine_does(ask):
    async def application(scope, receive, send):
        started = send({"type": "http.response.start", "status": 200})
        with pytest.raises(StopIteration):
            started.send(None)
        with pytest.raises(KeyError):
            started.throw(KeyError("k"))
        started.close()
        assert await started is None
        await send({"type": "http.response.body", "body": b"x"})

    assert ask(application)[::2] == (200, b"x")


class Mapping(dict):
    """A message that is no plain dict."""


@pytest.mark.parametrize("body", [b"abc", bytearray(b"abc"), memoryview(b"abc")])
@pytest.mark.parametrize("kind", [dict, Mapping])
@pytest.mark.parametrize("more", [False, 0])
def test_messages_of_other_types(ask, kind, body, more):
    async def application(scope, receive, send):
        headers = ((name, value) for name, value in [(b"a", b"b")])
        await send(kind(type="http.response.start", status=200, headers=headers))
        await send(kind(type="http.response.body", body=body, more_body=more))

    status, fields, text = ask(application)
    assert (status, fields["a"], text) == (200, "b", b"abc")


def test_an_application_that_only_returns_something_to_await(ask):
    async def really(scope, receive, send):
        assert asyncio.current_task() is not None
        await answer(send, b"at last")

    assert ask(really, wrap=functools.partial, interface="asgi")[2] == b"at last"


def test_an_application_that_cannot_be_called_so(ask, caplog):
    async def application(scope):
        """Of the second version of ASGI."""

    assert ask(application, wrap=lambda same: same)[0] == 500
    assert "TypeError" in caplog.text


@pytest.mark.parametrize("what", ["requests", "notes"])
def test_a_tasklet_that_cannot_begin_holds_up_nobody(site, monkeypatch, what):
    """As without memory for its first frame: the next one gets what it should have taken."""
    from loomlet.http import _access_log, _asgi

    module, name = (_asgi, "asgi") if what == "requests" else (_access_log, "access_log")
    real = getattr(module, name)
    refused, taken = [], []

    def make(*args):
        function = real(*args)

        def call(batch):
            if not refused:
                refused.append(batch)
                raise MemoryError
            taken.extend(batch)
            function(batch)

        return call

    monkeypatch.setattr(module, name, make)

    @http_only
    async def application(scope, receive, send):
        await answer(send, b"done")

    def main():
        loomlet.set_error_handler(lambda tasklet, error: None)
        here = site(application=application, access_log="%(s)s")
        with here.connect() as first, loomlet.timeout(20):
            first.send_all(CLOSE)
            while not refused:
                loomlet.sleep(0.001)
            statuses = here.ask(CLOSE)[9:12], b"".join(first)[9:12]
            while len(taken) < 2:
                loomlet.sleep(0)
            return statuses

    assert loomlet.run(main) == (b"200", b"200")
    assert len(taken) == 2
