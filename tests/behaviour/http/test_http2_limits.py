"""What a client of HTTP/2 may do, and how much of it."""

import logging

import pytest

import loomlet
from loomlet.http import Limits

pytest.importorskip("h2")

from h2.errors import ErrorCodes
from h2.settings import SettingCodes
from helpers_http2 import Client
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    SettingsFrame,
    WindowUpdateFrame,
)


def hello(request):
    return "hello"


# ---- limits -------------------------------------------------------------------------------------


def test_streams_beyond_the_limit_are_refused(with_client):
    """Also while the handlers of those that the client has reset go on."""
    go_on = loomlet.Event()
    begun = []

    def handler(request):
        begun.append(1)
        go_on.wait()
        return "done"

    def act(client):
        client.h2.remote_settings[SettingCodes.MAX_CONCURRENT_STREAMS] = 1000
        client.h2.remote_settings.acknowledge()
        numbers = [client.ask() for _ in range(100)]
        while len(begun) < 100:
            loomlet.sleep(0)
        for number in numbers[:50]:
            client.h2.reset_stream(number)
        more = [client.ask() for _ in range(10)]
        client.wait(*more)
        refused = {client.end[number] for number in more}
        go_on.set()
        client.wait(*numbers[50:])
        return refused, client.get()[0]

    assert with_client(handler, act) == ({ErrorCodes.REFUSED_STREAM}, "200")


def test_requests_beyond_the_concurrency_of_the_server_wait_or_are_refused(with_client):
    go_on = loomlet.Event()
    running, most = [], []

    def handler(request):
        running.append(1)
        most.append(len(running))
        go_on.wait()
        running.pop()
        return "done"

    def act(client):
        numbers = [client.ask() for _ in range(6)]
        while not client.status:
            client.read()
        fixed = client.get("/fixed")
        go_on.set()
        client.wait(*numbers)
        return fixed[0], sorted(client.status[number] for number in numbers)

    limits = Limits(concurrency=2, queue=3)
    routes = {"/fixed": "fixed"}
    found = with_client(handler, act, limits=limits, routes=routes)
    assert found == ("200", ["200"] * 5 + ["503"])
    assert max(most) == 2


@pytest.mark.parametrize("path", ["x", "*x", "/a b", "/#", "http:/x"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_is_no_path(with_client, path, method):
    """Also when its body has come together with it; the connection goes on."""

    def act(client):
        number = client.ask(path, method, end=method == "GET")
        if method == "POST":
            client.h2.send_data(number, b"body", end_stream=True)
        client.wait(number)
        return client.status.get(number), client.get()

    status, other = with_client(hello, act)
    assert (status, other) == ("400", ("200", b"hello"))


@pytest.mark.parametrize("says", [True, False])
def test_a_body_beyond_the_limit(with_client, says):
    def act(client):
        fields = [("content-length", "2000")] if says else []
        number = client.ask(method="POST", fields=fields, end=False)
        if not says:
            client.send(number, bytes(2000), end=False)
        client.wait(number)
        return client.status[number]

    limits = Limits(request_body=1000)
    assert with_client(lambda request: request.read(), act, limits=limits) == "413"


def test_two_lengths_are_no_length(with_client, caplog):
    """It is the client's mistake: nothing is wrong with the server."""

    def act(client):
        fields = [("content-length", "5")] * 2
        number = client.ask(method="POST", fields=fields, end=False)
        client.send(number, b"12345")
        client.wait(number)
        return client.status[number], client.get()

    assert with_client(lambda request: "done", act) == ("400", ("200", b"done"))
    assert "ERROR" not in [record.levelname for record in caplog.records]


def test_a_failure_that_cannot_be_told_keeps_no_permit(with_client):
    """The stream is reset, and the next request has its turn."""
    left = [2]

    def refuse(record):
        if record.levelname == "ERROR" and left[0] > 0:
            left[0] -= 1
            raise MemoryError
        return True

    def handler(request):
        if request.path == "/wrong":
            raise ValueError("wrong")
        return "done"

    def act(client):
        wrong, _ = client.get("/wrong")
        return wrong, client.get()

    log = logging.getLogger("loomlet.http")
    log.addFilter(refuse)
    seen = []
    loomlet.set_error_handler(lambda tasklet, error: seen.append(type(error)))
    try:
        found = with_client(handler, act, limits=Limits(concurrency=1, queue_seconds=1))
    finally:
        log.removeFilter(refuse)
    assert found == (None, ("200", b"done"))
    assert seen == [MemoryError]


def test_connections_that_begin_together_share_the_limit(site, monkeypatch):
    """Also when the first one is interrupted while it makes what they share."""
    from loomlet.http import _http2_routes

    real = _http2_routes.Routes

    def make_slowly(routes):
        loomlet.sleep(0.02)
        return real(routes)

    monkeypatch.setattr(_http2_routes, "Routes", make_slowly)
    running, most = [], []

    def handler(request):
        running.append(1)
        most.append(len(running))
        loomlet.sleep(0.02)
        running.pop()
        return "done"

    def ask(here):
        with here.connect() as stream:
            return Client(stream).get()

    def main():
        here = site(handler, limits=Limits(concurrency=1))
        with loomlet.timeout(20):
            return loomlet.map(ask, [here] * 3)

    assert loomlet.run(main) == [("200", b"done")] * 3
    assert max(most) == 1


def test_a_request_that_takes_too_long(with_client, caplog):
    ended = []

    def handler(request):
        try:
            loomlet.Channel().receive()
        finally:
            ended.append(1)

    limits = Limits(request=1, slow=None)
    status, _ = with_client(handler, lambda client: client.get(), limits=limits)
    assert (status, ended) == ("504", [1])
    assert "is killed in" in caplog.text


def test_an_idle_connection_is_closed(with_client):
    limits = Limits(keep_alive=1)
    assert with_client(hello, Client.wait_for_goaway, limits=limits) == ErrorCodes.NO_ERROR


def resets(client):
    for _ in range(300):
        number = client.ask()
        client.h2.reset_stream(number)
        yield b""


def frames(make):
    """The same frame again and again."""

    def flood(client):
        one = make()
        data = one if isinstance(one, bytes) else one.serialize()
        for _ in range(60):
            yield data * 20

    return flood


def continuations(size, count):
    def flood(client):
        yield HeadersFrame(1, data=b"\x82\x84\x86").serialize()
        for _ in range(count):
            yield ContinuationFrame(1, data=bytes(size)).serialize()

    return flood


def empty_data(client):
    number = client.ask(method="POST", end=False)
    for _ in range(60):
        yield DataFrame(number).serialize() * 20


def large_fields(client):
    client.ask(fields=[(f"x-{n}", "x" * 1000) for n in range(100)])
    yield b""


def unpacking_fields(client):
    """A few bytes that become many: one field of the table, again and again."""
    number = client.ask(fields=[("x-a", "x" * 3000)])
    client.wait(number)
    client.ask(fields=[("x-a", "x" * 3000)] * 100)
    yield b""


def large_frame(client):
    yield b"\xff\xff\xff\x00\x00\x00\x00\x00\x01"


CALM, PROTOCOL = ErrorCodes.ENHANCE_YOUR_CALM, ErrorCodes.PROTOCOL_ERROR


@pytest.mark.parametrize(
    "flood, code",
    [
        (resets, CALM),
        (frames(PingFrame), CALM),
        (frames(SettingsFrame), CALM),
        (frames(lambda: PriorityFrame(1, depends_on=3)), CALM),
        (frames(lambda: b"\0\0\0\x42\0\0\0\0\0"), CALM),
        (empty_data, CALM),
        (continuations(16_000, 10), CALM),
        (continuations(10, 100), PROTOCOL),
        (large_fields, CALM),
        (unpacking_fields, CALM),
        (large_frame, ErrorCodes.FRAME_SIZE_ERROR),
        (frames(lambda: DataFrame(1, data=b"x")), PROTOCOL),
        (frames(lambda: WindowUpdateFrame(0, window_increment=2**31 - 1)), None),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_floods_and_mistakes_end_the_connection(with_client, flood, code):
    def act(client):
        try:
            for data in flood(client):
                client.flush()
                client.stream.send_all(data)
        except OSError:
            pass  # it was closed meanwhile
        return client.wait_for_goaway()

    found = with_client(hello, act)
    assert found == (ErrorCodes.FLOW_CONTROL_ERROR if code is None else code)


def test_a_client_whose_windows_stay_closed_is_given_up(with_client, monkeypatch):
    """It asks for much and lets nothing go: its handlers end, and the connection goes on."""
    monkeypatch.setattr("loomlet.http._http2.SENDING", 0.2)
    made = []

    def handler(request):
        for _ in range(100):
            made.append(1)
            yield bytes(100_000)

    def act(client):
        numbers = [client.ask() for _ in range(50)]
        client.wait(*numbers)
        return {client.end[number] for number in numbers}, client.get("/fixed", "HEAD")[0]

    client = {"settings": {SettingCodes.INITIAL_WINDOW_SIZE: 0}}
    found = with_client(handler, act, client, routes={"/fixed": "fixed"})
    assert found == ({ErrorCodes.CANCEL}, "200")
    assert len(made) == 50


def test_what_has_to_be_answered_does_not_fill_the_memory(site):
    """The client sends pings and reads nothing: the server reads nothing more then."""

    def main():
        here = site(hello)
        with here.connect() as stream, loomlet.timeout(20):
            client = Client(stream)
            client.read()
            [connection] = here.server._core._held()
            for _ in range(40):
                stream.send_all(PingFrame(0, opaque_data=b"x" * 8).serialize() * 20)
                loomlet.sleep(0)
            return len(connection._out)

    assert loomlet.run(main) < 300_000
