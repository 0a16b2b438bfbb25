"""Frames of WebSockets, however they come: the usual ones, and the others between them.

Two readers share what a client sends: one in the core, and wsproto. What a server makes of any
bytes, in any pieces, has to be what wsproto alone makes of them.
"""

import random
import struct

import pytest

import loomlet
from loomlet import _core
from loomlet.http import ClientGone

pytest.importorskip("wsproto")

from helpers_websockets import (
    BINARY,
    CLOSE,
    MORE,
    PING,
    PONG,
    TEXT,
    Peer,
    close_frame,
    frame,
    handshake,
)

from loomlet.http._websocket_frames import (
    BytesMessage,
    CloseConnection,
    Payload,
    Ping,
    TextMessage,
    new_frames,
)
from loomlet.http._websocket_links import Mailbox

MOST = 1000
LENGTHS = [0, 1, 125, 126, 127, 65535, 65536, 70000]


class Seen:
    """What handlers have received, and how that ended."""

    def __init__(self, most):
        self.most = most
        self.ended = loomlet.Channel(1)

    def __call__(self, request):
        websocket = request.websocket(max_size=self.most)
        messages = []
        try:
            messages.extend(websocket)
        except ClientGone:
            pass
        self.ended.send((messages, websocket.close_code))


def talk(here, pieces):
    """What a server sends to a client of these pieces."""
    with here.connect() as stream, loomlet.timeout(20):
        peer = Peer(stream)
        answers = []
        for piece in pieces:
            peer.send(piece)
            loomlet.sleep(0)
        try:
            while not answers or answers[-1][0] != CLOSE:
                answers.append(peer.receive())
        except EOFError:
            pass
        return [
            (opcode, payload[:2] if opcode == CLOSE else payload) for opcode, payload in answers
        ]


def by_wsproto(data, most):
    """(messages, code), and what is answered, by that library alone."""
    frames = new_frames(Payload([], most))
    frames.receive_data(data)
    messages, answers, parts = [], [], []
    for event in frames.events():
        if isinstance(event, TextMessage | BytesMessage):
            parts.append(event.data)
            if event.message_finished:
                messages.append(type(event.data)().join(parts))
                parts = []
        elif isinstance(event, Ping):
            answers.append((PONG, bytes(event.payload)))
        elif isinstance(event, CloseConnection):
            answers.append((CLOSE, struct.pack("!H", event.code)))
            return (messages, event.code), answers
    raise AssertionError("it has not ended")


def in_pieces(data, *ends):
    at = 0
    for end in (*ends, len(data)):
        yield data[at:end]
        at = end


# ---- a message, however it comes ----------------------------------------------------------------


def test_messages_that_come_in_two_pieces(site):
    data = frame(TEXT, "aé€😀".encode()) + frame(PING, b"?") + frame(BINARY, bytes(range(130)))
    data += frame(TEXT, b"\xc3", end=False) + frame(PING, b"!") + frame(MORE, b"\xa9")
    data += frame(TEXT) + close_frame(4000)
    expected, answers = by_wsproto(data, MOST)
    assert expected == (["aé€😀", bytes(range(130)), "é", ""], 4000)

    def main():
        seen = Seen(MOST)
        here = site(seen)
        for at in range(1, len(data)):
            assert talk(here, in_pieces(data, at)) == answers, at
            assert seen.ended.receive() == expected, at

    loomlet.run(main)


def test_messages_that_come_behind_the_handshake(site):
    data = frame(TEXT, b"one") + frame(TEXT, b"two", end=False) + frame(MORE, b"!") + close_frame()

    def main():
        seen = Seen(MOST)
        here = site(seen)
        for at in range(len(data)):
            with here.connect() as stream, loomlet.timeout(20):
                stream.send_all(handshake() + data[:at])
                loomlet.sleep(0)
                stream.send_all(data[at:])
                assert b"".join(stream).endswith(b"\x88\x02\x03\xe8")
            assert seen.ended.receive() == (["one", "two!"], 1000)

    loomlet.run(main)


def test_many_messages_in_one_piece(site):
    def echo(request):
        websocket = request.websocket()
        for message in websocket:
            websocket.send(message)

    def main():
        here = site(echo)
        with here.connect() as stream, loomlet.timeout(20):
            peer = Peer(stream)
            loomlet.spawn(peer.send, b"".join(frame(TEXT, b"%d" % i) for i in range(5000)))
            assert [peer.receive() for _ in range(5000)] == [(TEXT, b"%d" % i) for i in range(5000)]

    loomlet.run(main)


@pytest.mark.parametrize("size", LENGTHS)
@pytest.mark.parametrize("piece", [1000, 65536, 10**6])
def test_lengths(site, size, piece):
    def echo(request):
        websocket = request.websocket()
        for message in websocket:
            websocket.send(message)

    def main():
        here = site(echo)
        payload = random.Random(size).randbytes(size)
        text = "é".encode() * (size // 2)
        data = frame(BINARY, payload) + frame(TEXT, text)
        with here.connect() as stream, loomlet.timeout(20):
            peer = Peer(stream)
            for part in in_pieces(data, *range(piece, len(data), piece)):
                peer.send(part)
                loomlet.sleep(0)
            assert [peer.receive(), peer.receive()] == [(BINARY, payload), (TEXT, text)]

    loomlet.run(main)


def test_masks_and_places_in_memory():
    numbers = random.Random(1)
    for size in range(70):
        frames = _core.WebSocketFrames(MOST)
        payload, mask = numbers.randbytes(size), numbers.randbytes(4)
        text = "".join(numbers.choices("aé€😀", k=size))
        data = frame(BINARY, payload, mask=mask) + frame(TEXT, text.encode(), mask=mask)
        assert frames.feed(data) == [payload, text]
        for at in range(8):
            assert frames.feed(memoryview(bytes(at) + data)[at:]) == [payload, text]


def test_what_is_kept_and_what_is_handed_on():
    frames = _core.WebSocketFrames(MOST)
    ping, part = frame(PING, b"?"), frame(TEXT, b"a", end=False)
    assert frames.feed(frame(TEXT, b"one") + ping[:3]) == ["one"]
    assert frames.feed(ping[3:]) == [bytearray(ping)]
    assert frames.feed(ping + frame(BINARY, b"1")[:6]) == [bytearray(ping)]
    assert frames.feed(frame(BINARY, b"1")[6:] + part) == [b"1", bytearray(part)]
    assert frames.feed(frame(TEXT, b"x")) == [bytearray(frame(TEXT, b"x"))]  # that is a mistake
    assert frames.feed(b"anything") == [bytearray(b"anything")]
    assert frames.feed(b"") == []


# ---- what is no message --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data, code",
    [
        (frame(TEXT, b"a", end=False) + frame(BINARY, b"b") + frame(MORE, b"c"), 1002),
        (frame(TEXT, b"whole") + frame(MORE, b"c"), 1002),
        (frame(BINARY, bytes(MOST + 1)), 1009),
        (frame(TEXT, b"ok") + frame(TEXT, b"a\xff") + frame(TEXT, b"no more"), 1007),
        (frame(TEXT, b"\xed\xa0\x80"), 1007),
        (frame(TEXT, "😀".encode()[:3]), 1007),
        (frame(BINARY, b"a") + frame(BINARY, b"b", masked=False), 1002),
        # Nothing more comes in these, and it is clear all the same.
        (b"\x83\x81", 1002),
        (b"\x81\x01", 1002),
        (frame(PING, bytes(126))[:2], 1002),
        (struct.pack("!BBH", 0x81, 0xFE, 125), 1002),
        (struct.pack("!BBH", 0x81, 0xFE, MOST + 1), 1009),
        (frame(TEXT, b"a\xff" + bytes(500))[:10], 1007),
        (frame(TEXT, b"a" * 600 + b"\xc3(" + bytes(100))[:620], 1007),
    ],
)
def test_mistakes_are_found_as_early(site, data, code):
    def main():
        seen = Seen(MOST)
        here = site(seen)
        for pieces in ([data], [data[i : i + 1] for i in range(len(data))]):
            assert talk(here, pieces)[-1] == (CLOSE, struct.pack("!H", code))
            messages, found = seen.ended.receive()
            assert found == code
            assert messages in ([], ["whole"], ["ok"], [b"a"])

    loomlet.run(main)


def test_messages_behind_a_goodbye_are_dropped(site):
    def main():
        seen = Seen(MOST)
        data = frame(TEXT, b"one") + close_frame(4001) + frame(TEXT, b"two") + frame(PING)
        for pieces in ([data], in_pieces(data, 9, 20)):
            assert talk(site(seen), pieces) == [(CLOSE, struct.pack("!H", 4001))]
            assert seen.ended.receive() == (["one"], 4001)

    loomlet.run(main)


# ---- any frames, in any pieces ------------------------------------------------------------------


def some_frames(numbers):
    """Mostly right ones; a message in one frame or in several, with control frames in between."""

    def mask():
        return numbers.randbytes(4)

    def ping():
        return frame(
            numbers.choice([PING, PONG]), numbers.randbytes(numbers.randrange(9)), mask=mask()
        )

    size = numbers.choice([0, 1, 7, 60, 125, 126, 300, MOST, MOST + 1])
    is_text = numbers.random() < 0.5
    payload = numbers.randbytes(size)
    if is_text and numbers.random() < 0.95:
        payload = "".join(numbers.choices("aé€😀", k=size // 4)).encode()
    opcode = TEXT if is_text else BINARY
    kind = numbers.random()
    if kind < 0.6:
        yield frame(opcode, payload, mask=mask())
    elif kind < 0.9:
        ends = sorted(numbers.choices(range(len(payload) + 1), k=numbers.randrange(1, 4)))
        parts = list(in_pieces(payload, *ends))
        for i, part in enumerate(parts):
            end = i == len(parts) - 1
            yield frame(MORE if i else opcode, part, end=end, mask=mask())
            if numbers.random() < 0.3:
                yield ping()
    elif kind < 0.99:
        yield ping()
    else:
        first = numbers.randrange(256)
        yield frame(first & 15, payload[:20], end=first > 127, reserved=first & 0x70)


def cut_up(numbers, data):
    """At random, or between every two bytes."""
    way = numbers.randrange(3)
    if way == 0:
        return [data]
    most = 30 if way == 1 else 3000
    ends, at = [], 0
    while (at := at + numbers.randrange(1, most)) < len(data):
        ends.append(at)
    return list(in_pieces(data, *ends))


@pytest.mark.parametrize("seed", range(12))
def test_any_frames_give_what_wsproto_makes_of_them(site, seed):
    numbers = random.Random(seed)

    def main():
        seen = Seen(MOST)
        here = site(seen)
        for _ in range(20):
            many = [part for _ in range(numbers.randrange(1, 30)) for part in some_frames(numbers)]
            data = b"".join(many) + close_frame(4000)
            expected, answers = by_wsproto(data, MOST)
            assert talk(here, cut_up(numbers, data)) == answers
            assert seen.ended.receive() == expected

    loomlet.run(main)


# ---- sending ------------------------------------------------------------------------------------


def test_what_can_be_sent(site):
    def handler(request):
        websocket = request.websocket()
        for message in ("é", b"b", bytearray(b"c"), memoryview(b"a-b-c")[::2], ""):
            websocket.send(message)
        with pytest.raises(TypeError, match="expected str or bytes, found 1"):
            websocket.send(1)
        with pytest.raises(UnicodeEncodeError):
            websocket.send("\ud800")
        websocket.send("end")

    def main():
        answers = talk(site(handler), [])
        assert answers == [
            *((TEXT, "é".encode()), (BINARY, b"b"), (BINARY, b"c"), (BINARY, b"abc"), (TEXT, b"")),
            *((TEXT, b"end"), (CLOSE, b"\x03\xe8")),
        ]

    loomlet.run(main)


def test_a_cancelled_scope_ends_a_handler_that_only_sends(site):
    """Although no message has to wait."""
    ended = loomlet.Channel(1)

    def handler(request):
        websocket = request.websocket()
        with loomlet.CancelScope() as scope:
            scope.cancel()
            while True:
                websocket.send("tick")
        ended.send(scope.cancelled_caught)

    def main():
        with site(handler).connect() as stream, loomlet.timeout(20):
            Peer(stream)
            assert ended.receive()

    loomlet.run(main)


@pytest.mark.parametrize("size, most", [(1, 16), (4096, 16), (30_000, 3), (100_000, 1)])
def test_the_reader_waits_while_too_much_was_not_taken(size, most):
    """16 messages, or 64 KB."""
    put = []

    def fill(box):
        for i in range(100):
            box.put(bytes(size))
            put.append(i)

    def main():
        box = Mailbox()
        filling = loomlet.spawn(fill, box)
        for taken in range(50):
            while filling.state not in ("blocked", "done"):
                loomlet.sleep(0)
            assert len(put) == most + taken
            assert box.take() == bytes(size)
        box.end()
        filling.join()
        assert len([*iter(box.take, None)]) == most - 1  # the next one comes too late

    loomlet.run(main, slice=None)


def test_who_waits_for_messages_gets_all_of_them():
    """Each by one of several tasklets, also those that came before the end."""

    def main():
        box = Mailbox()
        got = []
        with loomlet.TaskGroup() as group:
            for _ in range(3):
                group.spawn(lambda: got.extend(iter(box.take, None)))
            for i in range(100):
                box.put(str(i))
                if i % 7 == 0:
                    loomlet.sleep(0)
            box.end()
        assert sorted(got, key=int) == [str(i) for i in range(100)]
        assert box.take() is None

    loomlet.run(main)
