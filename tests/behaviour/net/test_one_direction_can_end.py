"""send_eof ends one direction; the other continues."""

import pytest

import loomlet


def test_the_peer_sees_the_end_and_can_still_answer(mode, streams):
    """A request that ends with the end of the stream gets its answer."""
    one, other = streams

    def answer():
        request = b"".join(other)
        other.send_all(request.upper())
        other.send_eof()

    loomlet.spawn(answer)
    one.send_all(b"request")
    one.send_eof()
    assert one.receive_exactly(7) == b"REQUEST"
    assert one.receive_some() == b""


def test_the_end_stays_the_end(mode, streams):
    """Reading again at the end gives the end again, at once."""
    one, other = streams
    one.send_all(b"last")
    one.send_eof()
    assert list(other) == [b"last"]
    assert [other.receive_some() for _ in range(3)] == [b"", b"", b""]
    assert list(other) == []


def test_the_end_after_a_short_read_is_seen(mode, streams):
    """Data and end of stream that arrive together are both reported, though one poll found both."""
    one, other = streams

    def read():
        return [other.receive_some(100), other.receive_some(100), other.receive_some(100)]

    task = loomlet.spawn(read)
    loomlet.schedule()
    one.send_all(b"data")
    one.send_eof()
    assert task.result() == [b"data", b"", b""]


def test_the_end_that_comes_between_two_reads_is_seen(mode, streams):
    """An end of stream that arrived while no tasklet read is remembered."""
    one, other = streams
    got = []

    def read():
        got.append(other.receive_some(100))
        loomlet.sleep(0.01)
        got.append(other.receive_some(100))

    task = loomlet.spawn(read)
    loomlet.schedule()
    one.send_all(b"data")
    loomlet.schedule()
    one.send_eof()
    task.join()
    assert got == [b"data", b""]


def test_nothing_can_be_sent_after_the_end(mode, streams):
    """Sending after send_eof is the system's error."""
    one, _ = streams
    one.send_eof()
    with pytest.raises(BrokenPipeError):
        one.send_all(b"more")
