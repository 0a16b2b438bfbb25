"""The system transfers data in pieces; each call defines what it does with them."""

import pytest

import loomlet
from loomlet import net


def test_receive_some_returns_the_data_at_hand(mode, streams):
    """It does not wait for more, and gives at most as much as asked for."""
    one, other = streams
    one.send_all(b"abcdef")
    assert other.receive_some(4) == b"abcd"
    assert other.receive_some(4) == b"ef"


def test_a_rest_is_not_forgotten(mode, streams):
    """A reader that takes a piece and waits again gets the next piece, whenever it came."""
    one, other = streams

    def read():
        return [other.receive_some(3) for _ in range(4)]

    task = loomlet.spawn(read)
    loomlet.schedule()
    one.send_all(b"abcdef")
    loomlet.schedule()
    one.send_all(b"ghijkl")
    assert b"".join(task.result()) == b"abcdefghijkl"


def test_receive_exactly_waits_for_all(mode, streams):
    """Pieces that come one by one are put together."""
    one, other = streams
    task = loomlet.spawn(other.receive_exactly, 26)
    for letter in b"abcdefghijklmnopqrstuvwxyz":
        assert task.state != "done"
        loomlet.schedule()
        one.send_all(bytes([letter]))
    one.send_all(b"more")
    assert task.result() == b"abcdefghijklmnopqrstuvwxyz"
    assert other.receive_some() == b"more"


def test_receive_exactly_reports_what_came_instead(mode, streams):
    """When the peer ends before: EndOfStream, with the beginning."""
    one, other = streams
    task = loomlet.spawn(other.receive_exactly, 10)
    loomlet.schedule()
    one.send_all(b"abc")
    one.send_eof()
    with pytest.raises(
        net.EndOfStream, match=r"the peer of <.*> ended after 3 of 10 bytes"
    ) as caught:
        task.result()
    assert caught.value.partial == b"abc"
    assert isinstance(caught.value, EOFError)


def test_receive_into_fills_a_buffer(mode, streams):
    """As much as there is, at its beginning; the buffer cannot shrink meanwhile."""
    one, other = streams
    buffer = bytearray(8)
    task = loomlet.spawn(other.receive_into, buffer)
    loomlet.schedule()
    with pytest.raises(BufferError):
        buffer.clear()
    one.send_all(b"abc")
    assert task.result() == 3
    assert buffer == b"abc\0\0\0\0\0"
    buffer.clear()


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview])
def test_a_large_message_arrives_whole(mode, streams, make):
    """Larger than any buffer of the system, sent in one call, received in pieces."""
    one, other = streams
    message = bytes(range(256)) * 8192
    task = loomlet.spawn(one.send_all, make(message))
    got = b""
    while len(got) < len(message):
        got += other.receive_some()
    assert task.result() is None
    assert got == message


def test_little_and_much_in_turn(mode, streams):
    """Each receive gives what came, of its own memory, whatever came before."""
    one, other = streams
    sizes = [1, 65536, 16384, 16383, 70000, 5, 65535, 40000, 1, 1, 65536]
    messages = [bytes([n]) * size for n, size in enumerate(sizes, 1)]

    def read(size):
        kept = []
        while sum(map(len, kept)) < size:
            kept.append(other.receive_some())
        assert all(0 < len(piece) <= 65536 for piece in kept)
        return kept

    kept = []
    for message in messages:
        task = loomlet.spawn(read, len(message))
        loomlet.schedule()
        one.send_all(message)
        kept += task.result()
    one.send_eof()
    assert other.receive_some() == b""
    assert b"".join(kept) == b"".join(messages)


def test_a_strided_view_is_sent_in_order(mode, streams):
    """Memory that is not contiguous is joined first."""
    one, other = streams
    one.send_all(memoryview(b"a-b-c-d-")[::2])
    assert other.receive_exactly(4) == b"abcd"


def test_nothing_can_be_sent(mode, streams):
    """An empty message is not sent, and reading zero bytes returns b""."""
    one, other = streams
    one.send_all(b"")
    assert other.receive_exactly(0) == b""
    one.send_all(b"x")
    assert other.receive_some() == b"x"


def test_two_that_send_are_not_mixed(mode, streams):
    """Each send_all goes out in one piece, in the order in which they were begun."""
    one, other = streams
    messages = [bytes([letter]) * 1_000_000 for letter in b"abc"]
    for message in messages:
        loomlet.spawn(one.send_all, message)
    assert other.receive_exactly(3_000_000) == b"".join(messages)


@pytest.mark.parametrize(
    "call", ["receive_some(0)", "receive_some(-1)", "receive_exactly(-1)", "receive_some('x')"]
)
def test_sizes_are_checked(call, pair):
    """An invalid size is an error at once."""
    with pytest.raises((ValueError, TypeError)):
        eval(f"stream.{call}", {"stream": pair[0]})


@pytest.mark.parametrize("data", ["text", 5, None])
def test_only_bytes_are_sent(data, pair):
    """Text must be encoded by the program."""
    with pytest.raises(TypeError):
        pair[0].send_all(data)


def test_only_what_can_be_written_is_filled(pair):
    """bytes are immutable; with an empty buffer the end would look like a read of nothing."""
    with pytest.raises(BufferError):
        pair[0].receive_into(b"abc")
    with pytest.raises(ValueError, match="found an empty one"):
        pair[0].receive_into(bytearray())
