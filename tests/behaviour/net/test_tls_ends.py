"""How a TLS stream ends: by a close notification, cut off, reset, closed."""

import socket
import ssl
import struct

import pytest

import loomlet
from loomlet import net, testing

WRONG = "BAD_RECORD_MAC|RECORD_LAYER_FAILURE"  # by the version of OpenSSL


def cut(stream):
    """The connection ends without a close notification."""
    stream._under.close()


def reset(stream):
    """The system resets the connection."""
    sock = socket.socket(fileno=stream._under.detach())
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def test_close_notifies_the_peer(mode, tls_pair):
    """A clean end is b"", again and again, and ends an iteration."""
    one, other = tls_pair()
    one.send_all(b"last words")
    one.close()
    assert list(other) == [b"last words"]
    assert other.receive_some() == b""
    assert other.receive_into(bytearray(1)) == 0
    with pytest.raises(net.EndOfStream, match=r"the peer of <TLSStream.* ended after . of 3"):
        other.receive_exactly(3)


def test_receive_exactly_keeps_what_came(mode, tls_pair):
    """EndOfStream has it."""
    one, other = tls_pair()
    one.send_all(b"ab")
    one.close()
    with pytest.raises(net.EndOfStream) as caught:
        other.receive_exactly(3)
    assert caught.value.partial == b"ab"


def test_an_end_without_notice_is_an_error(mode, tls_pair):
    """What came before is received; then each read raises SSLEOFError, an iteration too."""
    one, other = tls_pair()
    one.send_all(b"last words")
    cut(one)
    assert other.receive_some() == b"last words"
    for _ in range(2):
        with pytest.raises(ssl.SSLEOFError):
            other.receive_some()
    with pytest.raises(ssl.SSLEOFError):
        list(other)
    with pytest.raises(ssl.SSLEOFError):
        other.receive_exactly(1)


def test_an_end_in_the_middle_of_a_record(mode, tls_pair):
    """Nothing of that record is received."""
    one, other = tls_pair()
    with one._engine:
        one.ssl_object.write(b"x" * 100)
    one._under.send_all(one._outgoing.read()[:50])
    cut(one)
    with pytest.raises(ssl.SSLEOFError):
        other.receive_some()


def test_an_end_during_the_handshake(mode, certificates):
    """Of either side."""
    one, other = net.pair()
    with net.TLSStream(other, certificates.server(), server_side=True) as stream:
        one.close()
        with pytest.raises(ssl.SSLEOFError):
            stream.handshake()


def test_a_record_that_was_changed(mode, tls_pair):
    """Is found out; the stream is of no use then, and says so each time."""
    one, other = tls_pair()
    with one._engine:
        one.ssl_object.write(b"x" * 100)
    record = bytearray(one._outgoing.read())
    record[50] ^= 1
    one._under.send_all(record)
    for _ in range(2):
        with pytest.raises(ssl.SSLError, match=WRONG):
            other.receive_some()
    with pytest.raises(ssl.SSLError, match=WRONG):
        other.send_all(b"x")
    with pytest.raises(ssl.SSLError, match=WRONG):
        one.receive_some()


def test_a_peer_that_resets(mode, tls_pair, caught):
    """Both the reader and the writer get an error."""
    one, other = tls_pair()
    task = caught(other.receive_some)
    loomlet.schedule()
    reset(one)
    assert isinstance(task.result(), ConnectionResetError)
    with pytest.raises(OSError, match=r".") as writing:
        for _ in range(20):
            other.send_all(bytes(100_000))
    assert isinstance(writing.value, BrokenPipeError | ConnectionResetError)


def test_close_wakes_waiting_tasklets(mode, tls_pair, caught):
    """Readers, a writer, an iteration."""
    one, _ = tls_pair()
    tasks = [caught(one.receive_some) for _ in range(3)]
    writers = [caught(one.send_all, bytes(30_000_000)) for _ in range(2)]
    loop = loomlet.spawn(list, one)
    loomlet.sleep(0.01)  # until the peer takes no more
    assert {task.state for task in (*tasks, *writers, loop)} == {"blocked"}
    one.close()
    found = {type(task.result()) for task in (*tasks, *writers)}
    assert found == {net.DescriptorClosed}
    assert loop.result() == []


def test_a_closed_stream_stays_closed(mode, tls_pair):
    """Every operation says so; closing again does nothing."""
    one, _ = tls_pair()
    one.close()
    one.close()
    assert one.closed
    for call in (one.receive_some, one.send_eof, one.fileno):
        with pytest.raises(net.DescriptorClosed):
            call()
    with pytest.raises(net.DescriptorClosed):
        one.send_all(b"x")
    assert list(one) == []


def test_a_listener_is_closed(mode, certificates, caught):
    """accept() raises, a loop ends."""
    with net.listen(("127.0.0.1", 0), tls=certificates.server()) as listener:
        assert listener.fileno() > 0
        assert "TLSListener over <Listener" in repr(listener)
        loop = loomlet.spawn(list, listener)
        task = caught(listener.accept)
        loomlet.schedule()
        listener.close()
        assert listener.closed
        assert loop.result() == []
        assert isinstance(task.result(), net.DescriptorClosed)


def test_close_never_waits(mode, tls_pair):
    """A peer that takes nothing delays no other tasklet, nor does a scope that was cancelled."""
    one, other = tls_pair()
    with pytest.raises(TimeoutError), loomlet.timeout(0.01):
        one.send_all(bytes(30_000_000))
    with loomlet.CancelScope() as scope:
        scope.cancel()
        one.close()
        other.close()
    assert (one.closed, other.closed) == (True, True)


def test_close_notifies_the_peer_in_a_cancelled_scope(mode, tls_pair):
    """What ends by a time limit ends cleanly for the peer."""
    one, other = tls_pair()
    with pytest.raises(TimeoutError), loomlet.timeout(0.001), one:
        one.receive_some()
    assert other.receive_some() == b""


def test_it_warns_when_it_is_dropped(tls_pair, certificates):
    """As its stream does."""
    one, other = net.pair()
    with other, pytest.warns(ResourceWarning, match="unclosed <Stream"):
        stream = net.TLSStream(one, certificates.client(), server_hostname="localhost")
        del one, stream


def test_nothing_is_left(certificates):
    """No objects, no tasklets, no memory; whatever became of the connection."""
    contexts = certificates.client(), certificates.server()

    def talk(end):
        with net.listen(("127.0.0.1", 0), tls=contexts[1]) as listener:
            task = loomlet.spawn(net.connect, listener.local, tls=contexts[0])
            with listener.accept() as one:
                one.send_all(b"hello")
                with task.result() as other:
                    other.receive_exactly(5)
                    end(other)
                    with pytest.raises((ssl.SSLError, ConnectionError)):
                        one.receive_exactly(1)

    def many(count):
        for n in range(count):
            talk((cut, reset)[n % 2])

    many(20)
    with testing.assert_no_leaks(blocks=200):
        many(60)
