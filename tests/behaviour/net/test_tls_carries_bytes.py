"""A TLS stream delivers what the other end sends, in order and whole."""

import os
import ssl

import pytest
from helpers_echo_server import answer, serve

import loomlet
from loomlet import net

VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_an_echo_server_answers(mode, certificates, version):
    """connect() and listen() with `tls`, by either version."""
    context = certificates.client()
    context.minimum_version = context.maximum_version = version
    with net.listen(("127.0.0.1", 0), tls=certificates.server()) as listener:
        server = loomlet.spawn(serve, listener)
        for n in range(3):
            with net.connect(listener.local, tls=context) as stream:
                assert stream.version() == version.name.replace("v1_", "v1.")
                assert stream.cipher()[2] >= 128
                for i in range(20):
                    message = b"%d:%d" % (n, i)
                    stream.send_all(message)
                    assert stream.receive_exactly(len(message)) == message
        listener.close()
        assert server.result() == "closed"


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_big_transfers_both_ways_at_once(mode, tls_pair, version):
    """Two tasklets at each end; neither direction waits for the other."""
    one, other = tls_pair(version)
    data = [os.urandom(3_000_000), os.urandom(2_000_000)]
    senders = [loomlet.spawn(one.send_all, data[0]), loomlet.spawn(other.send_all, data[1])]
    reader = loomlet.spawn(other.receive_exactly, len(data[0]))
    assert one.receive_exactly(len(data[1])) == data[1]
    assert reader.result() == data[0]
    for task in senders:
        task.join()


def test_a_peer_that_sends_much_before_it_reads(mode, tls_pair):
    """The peer sends back all the while: a reader never waits for a writer."""
    one, other = tls_pair()
    size = 4_000_000
    loomlet.spawn(answer, other)
    loomlet.spawn(one.send_all, bytes(size))
    assert one.receive_exactly(size) == bytes(size)


def test_short_reads(mode, tls_pair):
    """As many bytes as are asked for, the rest next time; every way to receive."""
    one, other = tls_pair()
    other.send_all(b"abcdefghij")
    assert one.receive_some(3) == b"abc"
    assert one.receive_exactly(2) == b"de"
    buffer = bytearray(4)
    assert one.receive_into(memoryview(buffer)[1:]) == 3
    assert buffer == b"\0fgh"
    assert one.receive_some() == b"ij"
    assert one.receive_exactly(0) == b""
    with pytest.raises(ValueError, match="at least 1, found 0"):
        one.receive_some(0)
    with pytest.raises(ValueError, match="at least 0, found -1"):
        one.receive_exactly(-1)
    with pytest.raises(TypeError, match="expected a writable buffer"):
        one.receive_into(b"abc")
    with pytest.raises(ValueError, match="found an empty one"):
        one.receive_into(bytearray())


def test_what_can_be_sent(mode, tls_pair):
    """bytes, bytearray, memoryview of anything, and nothing at all."""
    one, other = tls_pair()
    for data in (b"ab", bytearray(b"cd"), memoryview(b"efgh").cast("H"), b"", b"i"):
        one.send_all(data)
    assert other.receive_exactly(9) == b"abcdefghi"


def test_several_senders_are_not_mixed(mode, tls_pair):
    """Each send_all in one piece, although the peer reads slowly."""
    one, other = tls_pair()
    size = 300_000
    for n in range(5):
        loomlet.spawn(one.send_all, bytes([n]) * size)
    for n in range(5):
        assert other.receive_exactly(size) == bytes([n]) * size


def test_several_readers_take_turns(mode, tls_pair):
    """First come, first served; the bytes of one receive_exactly go to one tasklet only."""
    one, other = tls_pair()
    readers = [loomlet.spawn(one.receive_exactly, 4) for _ in range(3)]
    readers.append(loomlet.spawn(one.receive_some))
    loomlet.schedule()
    for n in range(14):
        other.send_all(bytes([65 + n]))
        loomlet.schedule()
    assert [task.result() for task in readers[:3]] == [b"ABCD", b"EFGH", b"IJKL"]
    assert readers[3].result() + one.receive_some(1) == b"MN"


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_one_direction_can_end(mode, tls_pair, version):
    """Data that had arrived, read or not, are received after send_eof."""
    one, other = tls_pair(version)
    other.send_all(b"before")
    assert one.receive_some(1) == b"b"
    other.send_all(b"+" * 40_000)
    one.send_eof()
    assert other.receive_some() == b""
    assert one.receive_some(3) == b"efo"
    other.send_all(b"after")
    other.send_eof()
    assert b"".join(one) == b"re" + b"+" * 40_000 + b"after"
    assert other.receive_some() == b""


def test_sending_after_send_eof_is_an_error(mode, tls_pair):
    """As with any stream."""
    one, other = tls_pair()
    one.send_eof()
    one.send_eof()
    with pytest.raises(BrokenPipeError):
        one.send_all(b"x")
    other.send_all(b"still")
    assert one.receive_some() == b"still"


def test_over_any_stream(mode, certificates):
    """A TLSStream of a UNIX pair, after words without TLS (STARTTLS)."""
    one, other = net.pair()
    one.send_all(b"STARTTLS")
    assert other.receive_exactly(8) == b"STARTTLS"
    with (
        net.TLSStream(one, certificates.client(), server_hostname="localhost") as client,
        net.TLSStream(other, certificates.server(), server_side=True) as server,
    ):
        task = loomlet.spawn(server.receive_some)
        assert client.version() is None
        client.send_all(b"secret")
        assert task.result() == b"secret"
        assert (client.fileno(), client.local, client.peer) == (one.fileno(), "", "")
        assert repr(client) == f"<TLSStream over <Stream fd={one.fileno()}>>"
