"""Every TLS wait can be ended; reads leave a usable stream, sends raise an error if they do not."""

import ssl

import pytest

import loomlet
from loomlet import net

WAITS = {
    "receive_some": lambda stream: stream.receive_some(),
    "receive_exactly": lambda stream: stream.receive_exactly(5),
    "receive_into": lambda stream: stream.receive_into(bytearray(5)),
    "iteration": lambda stream: first(stream),
}
MUCH = bytes(30_000_000)


def first(iterable):
    for found in iterable:
        return found


@pytest.fixture(params=WAITS)
def wait(request):
    """Each way to wait for data."""
    return WAITS[request.param]


@pytest.fixture
def halves(certificates):
    """A client and a server over a pair of streams, before their handshake."""
    one, other = net.pair()
    with (
        net.TLSStream(one, certificates.client(), server_hostname="localhost") as client,
        net.TLSStream(other, certificates.server(), server_side=True) as server,
    ):
        yield client, server


def test_a_timeout_ends_a_read(mode, tls_pair, wait):
    """Over and over; the next read gets what came since."""
    one, other = tls_pair()
    for n in range(5):
        with pytest.raises(TimeoutError), loomlet.timeout(0.001):
            wait(one)
        other.send_all(b"later%d" % n)
        assert one.receive_exactly(6) == b"later%d" % n


def test_a_timeout_in_the_midst_of_a_record(mode, tls_pair, wait):
    """Half of it has come: the rest is waited for next time."""
    one, other = tls_pair()
    with other._engine:
        other.ssl_object.write(b"x" * 100)
    record = other._outgoing.read()
    other._under.send_all(record[:50])
    with pytest.raises(TimeoutError), loomlet.timeout(0.001):
        wait(one)
    other._under.send_all(record[50:])
    assert one.receive_exactly(100) == b"x" * 100


def test_a_cancelled_scope_takes_nothing(mode, tls_pair, wait):
    """Data that are there stay there for the next reader."""
    one, other = tls_pair()
    other.send_all(b"data")
    with loomlet.CancelScope() as scope:
        scope.cancel()
        wait(one)
    assert scope.cancelled_caught
    assert one.receive_some() == b"data"


def test_kill_and_throw_end_a_read(mode, tls_pair, wait, caught):
    """The next one waits in its place."""
    one, other = tls_pair()
    tasks = [caught(wait, one) for _ in range(3)]
    loomlet.schedule()
    tasks[0].kill()
    tasks[1].throw(LookupError("enough"))
    assert repr(tasks[1].result()) == "LookupError('enough')"
    tasks[2].kill()
    reader = loomlet.spawn(one.receive_some)
    loomlet.schedule()
    other.send_all(b"data")
    assert reader.result() == b"data"


@pytest.mark.parametrize("moments", range(12))
def test_killed_as_data_come(mode, tls_pair, moments):
    """At any moment between the event and the end of the call: nothing is torn."""
    one, other = tls_pair()
    killed = loomlet.spawn(one.receive_some)
    loomlet.schedule()
    other.send_all(b"first")
    for _ in range(moments):
        loomlet.schedule()
    killed.kill()
    other.send_all(b"second")
    found = one.receive_some()
    assert found in (b"first", b"second", b"firstsecond")


def test_a_timeout_ends_a_handshake(mode, halves):
    """On either side; it continues next time."""
    client, server = halves
    for stream in halves:
        with pytest.raises(TimeoutError), loomlet.timeout(0.001):
            stream.handshake()
        with pytest.raises(TimeoutError), loomlet.timeout(0.001):
            stream.receive_some()
    task = loomlet.spawn(server.receive_some)
    client.send_all(b"hello")
    assert task.result() == b"hello"


def test_connect_is_ended(mode, certificates):
    """By a time limit while the peer says nothing; its socket is closed, the fixture counts."""
    with net.listen(("127.0.0.1", 0)) as listener:
        with pytest.raises(TimeoutError), loomlet.timeout(0.01):
            net.connect(listener.local, tls=certificates.client())
        with listener.accept() as peer:
            assert len(b"".join(peer)) > 0


def test_two_tasklets_that_begin_at_once(mode, halves):
    """One performs the handshake; the other waits, and continues if the first is ended."""
    client, server = halves
    reader, sender = loomlet.spawn(client.receive_some), loomlet.spawn(client.send_all, b"a")
    loomlet.schedule()
    reader.kill()
    assert server.receive_some() == b"a"
    sender.join()


def test_a_timeout_ends_a_write(mode, tls_pair):
    """Sending is over then, and says so; reading continues."""
    one, other = tls_pair()
    with pytest.raises(TimeoutError), loomlet.timeout(0.01):
        one.send_all(MUCH)
    for _ in range(2):
        with pytest.raises(ssl.SSLError, match="interrupted in the middle"):
            one.send_all(b"x")
    with pytest.raises(ssl.SSLError, match="close the stream"):
        one.send_eof()
    other.send_all(b"data")
    assert one.receive_some() == b"data"


def test_writers_queued_after_an_ended_one(mode, tls_pair, caught):
    """They get an error; none waits for ever."""
    one, _ = tls_pair()
    writers = [caught(one.send_all, MUCH) for _ in range(3)]
    loomlet.sleep(0.01)  # until the peer takes no more
    writers[0].kill()
    assert {type(task.result()) for task in writers[1:]} == {ssl.SSLError}


def test_accept_is_ended(mode, certificates):
    """A listener without callers."""
    with net.listen(("127.0.0.1", 0), tls=certificates.server()) as listener:
        with pytest.raises(TimeoutError), loomlet.timeout(0.001):
            listener.accept()


def test_waiting_is_soft(switches, tls_pair, wait):
    """A tasklet that waits to read keeps no C stack."""
    one, _ = tls_pair()
    task = loomlet.spawn(wait, one)
    switches.take()
    loomlet.schedule()
    assert switches.take() == (1, 0)
    task.kill()


def test_writing_is_soft(switches, tls_pair):
    """A tasklet that waits to write keeps none either."""
    one, _ = tls_pair()
    task = loomlet.spawn(one.send_all, MUCH)
    switches.take()
    loomlet.schedule()
    assert switches.take() == (1, 0)
    task.kill()


def test_accepting_is_soft(switches, certificates):
    """accept() and the loop over a listener."""
    with net.listen(("127.0.0.1", 0), tls=certificates.server()) as listener:
        tasks = [loomlet.spawn(listener.accept), loomlet.spawn(first, listener)]
        switches.take()
        loomlet.schedule()
        assert switches.take() == (2, 0)
        for task in tasks:
            task.kill()


def test_it_is_not_frozen(switches, tls_pair):
    """Neither a tasklet that waits for a stream nor one that holds it."""
    one, _ = tls_pair()
    channel = loomlet.Channel()

    def hold(stream):
        channel.receive()
        return stream

    for task, text in (
        (loomlet.spawn(one.receive_some), "a descriptor of this process"),
        (loomlet.spawn(hold, one), "SSL|Stream|MemoryBIO"),
    ):
        loomlet.schedule()
        with pytest.raises(loomlet.FreezeError, match=text):
            loomlet.freeze(task)
        task.kill()
