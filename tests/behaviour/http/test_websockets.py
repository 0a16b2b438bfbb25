"""WebSockets of plain handlers."""

import struct
import sys
import tracemalloc
import zlib

import pytest

import loomlet
from loomlet import aio
from loomlet.http import ClientGone

pytest.importorskip("wsproto")

import wsproto
from helpers_websockets import (
    ACCEPT,
    BINARY,
    CLOSE,
    KEY,
    MORE,
    PING,
    PONG,
    TEXT,
    Peer,
    close_frame,
    frame,
    handshake,
)
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    TextMessage,
)
from wsproto.events import Request as Handshake
from wsproto.extensions import PerMessageDeflate

COMPRESSED = 0x40
DEFLATE = b"Sec-WebSocket-Extensions: permessage-deflate\r\n"


def echo(request):
    websocket = request.websocket(["chat", "other"], max_size=1000)
    for message in websocket:
        websocket.send(message)


@pytest.fixture
def with_peer(site):
    """Runs a function with a client of a new server, and returns what it returns."""

    def run(handler, act, fields=b"", **options):
        def main():
            here = site(handler, **options)
            with here.connect() as stream, loomlet.timeout(20):
                return act(Peer(stream, fields=fields))

        return loomlet.run(main)

    return run


def test_messages_come_back(with_peer):
    def act(peer):
        assert ACCEPT in peer.head
        peer.send(frame(TEXT, "é".encode()), frame(BINARY, b"\0\1"), frame(TEXT))
        return [peer.receive() for _ in range(3)]

    assert with_peer(echo, act) == [(TEXT, "é".encode()), (BINARY, b"\0\1"), (TEXT, b"")]


def test_fragments_are_joined_and_pings_answered_in_between(with_peer):
    def act(peer):
        parts = "ü".encode()
        peer.send(frame(TEXT, parts[:1], end=False), frame(PING, b"p"), frame(MORE, parts[1:]))
        return peer.receive(), peer.receive()

    assert with_peer(echo, act) == ((PONG, b"p"), (TEXT, "ü".encode()))


def test_bytes_that_come_one_by_one(with_peer):
    def act(peer):
        for byte in frame(TEXT, b"slow") + frame(BINARY, b"x" * 200):
            peer.send(bytes([byte]))
            loomlet.sleep(0)
        return peer.receive(), peer.receive()

    assert with_peer(echo, act) == ((TEXT, b"slow"), (BINARY, b"x" * 200))


def test_frames_behind_the_handshake_in_one_packet(site):
    def main():
        here = site(echo)
        with here.connect() as stream, loomlet.timeout(20):
            stream.send_all(handshake() + frame(TEXT, b"early"))
            got = b""
            while not got.endswith(b"\r\n\r\n\x81\x05early"):
                got += stream.receive_some()

    loomlet.run(main)


def test_a_client_that_closes_ends_the_iteration(with_peer):
    seen = []

    def handler(request):
        websocket = request.websocket()
        seen.extend(websocket)
        seen.append((websocket.close_code, websocket.close_reason))

    def act(peer):
        peer.send(frame(TEXT, b"one"), close_frame(4001, b"enough"))
        return peer.receive(), b"".join(peer.stream)

    answer, rest = with_peer(handler, act)
    assert answer == (CLOSE, struct.pack("!H", 4001) + b"enough")
    assert (rest, seen) == (b"", ["one", (4001, "enough")])


def test_what_a_client_sends_behind_its_goodbye_is_dropped(with_peer):
    """It reads the answer to that all the same: the connection is not reset."""

    def act(peer):
        peer.send(close_frame(4001), frame(BINARY, bytes(300_000)))
        return peer.receive(), b"".join(peer.stream)

    handler = lambda request: list(request.websocket()) and None  # noqa: E731
    assert with_peer(handler, act) == ((CLOSE, struct.pack("!H", 4001)), b"")


@pytest.mark.parametrize("way", ["it ends", "it raises", "it closes"])
def test_the_end_of_the_handler_closes(with_peer, caplog, way):
    def handler(request):
        websocket = request.websocket()
        if way == "it raises":
            raise ZeroDivisionError
        if way == "it closes":
            with websocket:
                websocket.close(3000, "bye")

    code = with_peer(handler, Peer.end)
    assert code == {"it ends": 1000, "it raises": 1011, "it closes": 3000}[way]
    assert ("ZeroDivisionError" in caplog.text) == (way == "it raises")


def test_a_result_behind_a_websocket_is_a_mistake(with_peer, caplog):
    def handler(request):
        request.websocket()
        return "text"

    assert with_peer(handler, Peer.end) == 1011
    assert caplog.records[0].levelname == "ERROR"


def test_a_client_that_just_ends(with_peer):
    seen = loomlet.Channel(1)

    def handler(request):
        websocket = request.websocket()
        try:
            seen.send(list(websocket))
        except ClientGone as error:
            seen.send((str(error), websocket.close_code))

    def act(peer):
        peer.send(frame(TEXT, b"one"))
        peer.stream.close()
        return seen.receive()

    text, code = with_peer(handler, act)
    assert code == 1006 and "1006" in text


def test_a_handler_that_only_sends_notices_the_end(with_peer):
    seen = loomlet.Channel(1)

    def handler(request):
        websocket = request.websocket()
        try:
            while True:
                websocket.send("tick")
                loomlet.sleep(0)
        except ClientGone:
            seen.send(websocket.close_code)

    def act(peer):
        assert peer.receive() == (TEXT, b"tick")
        peer.send(frame(PING, b"?"))
        while peer.receive() != (PONG, b"?"):
            pass
        peer.send(close_frame())
        return seen.receive()

    assert with_peer(handler, act) == 1000


@pytest.mark.parametrize(
    "frames, code",
    [
        (frame(TEXT, b"x", masked=False), 1002),
        (frame(3), 1002),
        (frame(TEXT, b"x", reserved=COMPRESSED), 1002),
        (frame(TEXT, b"x", reserved=0x20), 1002),
        (frame(MORE, b"x"), 1002),
        (frame(TEXT, b"x", end=False) + frame(TEXT, b"x"), 1002),
        (frame(PING, b"x", end=False), 1002),
        (frame(PING, b"x" * 126), 1002),
        (frame(CLOSE, b"x"), 1002),
        (frame(CLOSE, b"\0\1"), 1002),
        (b"\x81\xfe\0\1\1\2\3\4x", 1002),
        (frame(TEXT, b"\xff"), 1007),
        (frame(TEXT, b"\xc3", end=False) + frame(MORE, b"x"), 1007),
        (frame(TEXT, b"\xc3"), 1007),
        (frame(CLOSE, b"\3\xe8\xff"), 1007),
        (frame(BINARY, b"x" * 1001), 1009),
        (frame(BINARY, b"x" * 600, end=False) + frame(MORE, b"x" * 401), 1009),
        (struct.pack("!BBQI", 0x82, 0xFF, 2**62, 0), 1009),
    ],
)
def test_mistakes_of_a_client(with_peer, frames, code):
    seen = loomlet.Channel(1)

    def handler(request):
        websocket = request.websocket(max_size=1000)
        try:
            list(websocket)
        except ClientGone:
            seen.send(websocket.close_code)

    def act(peer):
        peer.send(frames)
        return peer.end(), seen.receive()

    assert with_peer(handler, act) == (code, code)


@pytest.mark.parametrize(
    "size, answer",
    [(1000, (BINARY, bytes(1000))), (1001, (CLOSE, b"\x03\xf1the message is too big"))],
)
def test_the_limit_holds_for_what_was_compressed(with_peer, size, answer):
    def act(peer):
        deflate = zlib.compressobj(wbits=-15)
        data = deflate.compress(bytes(size)) + deflate.flush(zlib.Z_SYNC_FLUSH)
        peer.send(frame(BINARY, data[:-4], reserved=COMPRESSED))
        opcode, payload = peer.receive()
        if opcode == BINARY:
            payload = zlib.decompressobj(wbits=-15).decompress(payload + b"\0\0\xff\xff")
        return opcode, payload

    assert with_peer(echo, act, DEFLATE) == answer


@pytest.mark.parametrize("more, answer", [(0, (TEXT, b"16777216")), (1, (CLOSE, b"\x03\xf1"))])
def test_a_message_has_16_megabytes_at_most(with_peer, more, answer):
    def handler(request):
        websocket = request.websocket()
        for message in websocket:
            websocket.send(str(len(message)))

    def act(peer):
        for opcode, size in ((BINARY, 2**22), (MORE, 2**23), (0x80 | MORE, 2**22 + more)):
            peer.send(struct.pack("!BBQI", opcode, 0xFF, size, 0), bytes(size))
        return peer.receive()

    opcode, payload = with_peer(handler, act)
    assert (opcode, payload[: len(answer[1])]) == answer


def test_a_bomb_is_not_unpacked(with_peer):
    """A hundred megabytes in a hundred kilobytes."""

    def act(peer):
        deflate = zlib.compressobj(wbits=-15)
        data = b"".join(deflate.compress(bytes(2**20)) for _ in range(100)) + deflate.flush()
        bomb = frame(BINARY, data, reserved=COMPRESSED)
        tracemalloc.start()
        try:
            peer.send(bomb)
            return peer.end(), tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    code, peak = with_peer(lambda request: list(request.websocket()), act, DEFLATE)
    assert code == 1009
    assert peak < 60 * 2**20  # the limit is 16 MB


def test_many_tiny_fragments_take_no_more_than_their_bytes(with_peer):
    def act(peer):
        one = frame(MORE, b"x", end=False)
        tracemalloc.start()
        try:
            peer.send(frame(BINARY, b"", end=False))
            for _ in range(10):
                peer.send(one * 1000)
            peer.send(frame(PING))
            assert peer.receive() == (PONG, b"")
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    assert with_peer(lambda request: list(request.websocket()), act) < 400_000


class Library:
    """wsproto as a client, with compression."""

    def __init__(self, stream):
        self.stream = stream
        self.protocol = wsproto.WSConnection(wsproto.ConnectionType.CLIENT)
        self.send(Handshake(host="a", target="/", extensions=[PerMessageDeflate()]))
        assert isinstance(self.receive(), AcceptConnection)

    def send(self, *events):
        self.stream.send_all(b"".join(map(self.protocol.send, events)))

    def receive(self):
        while True:
            for event in self.protocol.events():
                return event
            self.protocol.receive_data(self.stream.receive_some())


def test_compressed_messages(site):
    def main():
        here = site(echo)
        with here.connect() as stream, loomlet.timeout(20):
            client = Library(stream)
            sent = ["a" * 900, "b" * 900 + "é", "a" * 900]
            for text in sent:
                client.send(
                    TextMessage(text[:400], message_finished=False),
                    Ping(b"in between"),
                    TextMessage(text[400:]),
                )
            got = [client.receive() for _ in range(6)]
            client.send(BytesMessage(b"x"))
            got.append(client.receive())
            client.send(CloseConnection(1000))
            assert isinstance(client.receive(), CloseConnection)
            return sent, [event.data for event in got if hasattr(event, "data")]

    sent, got = loomlet.run(main)
    assert got == [*sent, b"x"]


def test_a_compressed_stream_that_ends_and_begins_again(with_peer):
    """RFC 7692, 7.2.3.5: blocks that are the last of their stream."""

    def act(peer):
        got = []
        for _ in range(3):
            deflate = zlib.compressobj(wbits=-15)
            data = deflate.compress(b"Hello") + deflate.flush() + b"\0"
            peer.send(frame(TEXT, data, reserved=COMPRESSED))
            got.append(peer.receive()[0])
        return got

    assert with_peer(echo, act, DEFLATE) == [TEXT] * 3


# ---- the handshake ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "old, new, status, field",
    [
        (b"Upgrade: websocket\r\n", b"", b"426", b"Upgrade: websocket\r\n"),
        (b"Upgrade: websocket", b"Upgrade: h2c", b"426", b"Upgrade: websocket\r\n"),
        (b"Connection: Upgrade", b"Connection: close", b"426", b"Upgrade: websocket\r\n"),
        (b"Version: 13", b"Version: 12", b"426", b"Sec-WebSocket-Version: 13\r\n"),
        (b"Sec-WebSocket-Version: 13\r\n", b"", b"426", b"Sec-WebSocket-Version: 13\r\n"),
        (KEY, b"abc", b"400", b""),
        (KEY, b"YWJj", b"400", b""),
        (b"Sec-WebSocket-Key: " + KEY + b"\r\n", b"", b"400", b""),
        (b"GET", b"POST", b"400", b""),
        (b"HTTP/1.1", b"HTTP/1.0", b"426", b"Upgrade: websocket\r\n"),
        (b"Host: a", b"Host: a\r\nOrigin: https://evil.example", b"403", b""),
    ],
)
def test_a_handshake_that_is_refused(ask_once, old, new, status, field):
    def handler(request):
        request.websocket(origins=["https://good.example"])

    data = handshake(fields=b"X: close\r\n").replace(old, new)
    if b"Connection: Upgrade" in data:
        data = data.replace(b"Connection: Upgrade", b"Connection: Upgrade, close")
    answer = ask_once(handler, data)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert field in answer


@pytest.mark.parametrize("fields", [b"", b"Origin: https://good.example" + b"\r\n"])
def test_an_origin_that_may(with_peer, fields):
    def handler(request):
        request.websocket(origins=["https://good.example"]).send("welcome")

    assert with_peer(handler, Peer.receive, fields) == (TEXT, b"welcome")


@pytest.mark.parametrize(
    "offered, chosen", [(b"other, chat", b"chat"), (b"other", b"other"), (b"none", None)]
)
def test_the_protocol_that_is_agreed_on(with_peer, offered, chosen):
    fields = b"Sec-WebSocket-Protocol: " + offered + b"\r\n"
    head = with_peer(echo, lambda peer: peer.head, fields)
    line = [part for part in head.split(b"\r\n") if part.startswith(b"Sec-WebSocket-Protocol")]
    assert line == ([b"Sec-WebSocket-Protocol: " + chosen] if chosen else [])


@pytest.mark.parametrize(
    "offer",
    [
        b"permessage-deflate; client_max_window_bits=8",
        b'permessage-deflate; client_max_window_bits="10"',
        b"permessage-deflate; unknown",
        b"x-other",
    ],
)
def test_compression_that_cannot_be_agreed_on(with_peer, offer):
    fields = b"Sec-WebSocket-Extensions: " + offer + b"\r\n"
    assert b"deflate" not in with_peer(echo, lambda peer: peer.head, fields)


def test_without_the_library(ask_once, caplog, monkeypatch):
    monkeypatch.setitem(sys.modules, "loomlet.http._websockets", None)
    answer = ask_once(
        lambda request: request.websocket(), handshake(fields=b"Connection: close\r\n")
    )
    assert answer.startswith(b"HTTP/1.1 500")
    assert "WebSocket needs wsproto: pip install 'loomlet[websocket]'" in caplog.text


# ---- several tasklets, silence, the end of the server -------------------------------------------


def test_messages_of_several_tasklets_stay_whole(with_peer):
    def handler(request):
        websocket = request.websocket()
        with loomlet.TaskGroup() as group:
            for n in range(10):
                group.spawn(websocket.send, bytes([n]) * 200_000)

    def act(peer):
        return sorted(peer.receive()[1] for _ in range(10))

    assert with_peer(handler, act) == [bytes([n]) * 200_000 for n in range(10)]


def test_a_silent_client_is_asked(with_peer):
    def handler(request):
        return list(request.websocket(ping_interval=0.01, ping_timeout=10)) and None

    def act(peer):
        for _ in range(3):
            opcode, payload = peer.receive()
            peer.send(frame(PONG, payload))
            assert opcode == PING
        peer.send(close_frame())
        return peer.end()

    assert with_peer(handler, act) == 1000


def test_a_client_may_be_silent_for_ever(with_peer):
    def handler(request):
        websocket = request.websocket(ping_interval=None, ping_timeout=None)
        websocket.ping(b"by hand")
        return list(websocket) and None

    def act(peer):
        asked = peer.receive()
        peer.send(frame(PONG, b"by hand"), frame(PONG), close_frame())
        return asked, peer.end()

    assert with_peer(handler, act) == ((PING, b"by hand"), 1000)


def test_a_client_that_does_not_answer_is_gone(with_peer):
    seen = loomlet.Channel(1)

    def handler(request):
        try:
            list(request.websocket(ping_interval=0.01, ping_timeout=0.01))
        except ClientGone:
            seen.send("gone")

    def act(peer):
        return seen.receive(), peer.receive(), b"".join(peer.stream)

    assert with_peer(handler, act) == ("gone", (PING, b""), b"")


def test_a_slow_handler_slows_the_client_down(with_peer):
    go_on = loomlet.Event()

    def handler(request):
        websocket = request.websocket()
        go_on.wait()
        for message in websocket:
            websocket.send(str(len(message)))

    def act(peer):
        message = frame(BINARY, bytes(60_000))
        sent = 0
        with loomlet.move_on_after(0.5):  # until the buffers of the system are full
            while sent < 10_000:
                peer.send(message)
                sent += 1
        go_on.set()
        return sent

    assert with_peer(handler, act) < 10_000


def test_a_server_that_stops_says_goodbye(site):
    def main():
        here = site(lambda request: list(request.websocket()) and None)
        with here.connect() as stream, loomlet.timeout(20):
            peer = Peer(stream)
            assert here.server.counts()["taken"] == 1
            end = loomlet.spawn(here.server.stop)
            code = peer.end()
            end.join()
            return code, here.server.counts()["connections"]

    assert loomlet.run(main) == (1001, 0)


def test_a_handler_that_is_killed_leaves_nothing_open(site):
    running = []

    def handler(request):
        running.append(loomlet.current())
        list(request.websocket())

    def main():
        here = site(handler)
        with here.connect() as stream, loomlet.timeout(20):
            peer = Peer(stream)
            running[0].kill()
            code = peer.end()
            while here.server.counts()["taken"]:
                loomlet.sleep(0)
            return code

    assert loomlet.run(main) == 1011


def test_an_interrupted_send_ends_the_connection(with_peer):
    """Half a frame has gone out."""
    seen = loomlet.Channel(2)

    def handler(request):
        websocket = request.websocket()
        with loomlet.move_on_after(0.05):  # the client reads nothing
            websocket.send(bytes(16_000_000))
        try:
            websocket.send("more")
        except ClientGone:
            seen.send("gone")

    assert with_peer(handler, lambda peer: seen.receive()) == "gone"


def test_a_client_of_another_library(site):
    client = pytest.importorskip("websockets.asyncio.client")

    async def talk(port):
        async with client.connect(f"ws://127.0.0.1:{port}/", subprotocols=["chat"]) as websocket:
            await websocket.send("a" * 500)
            await websocket.send(b"bytes")
            await (await websocket.ping())
            return websocket.subprotocol, await websocket.recv(), await websocket.recv()

    def main():
        here = site(echo)
        with loomlet.timeout(20):
            return aio.await_(talk(here.server.address[1]))

    assert loomlet.run(main) == ("chat", "a" * 500, b"bytes")
