"""Every wait for a descriptor can be ended, and the stream stays usable."""

import socket

import helpers_ending_waits
import pytest

import loomlet
from loomlet import net

WAITS = {
    "receive_some": lambda stream: stream.receive_some(),
    "receive_exactly": lambda stream: stream.receive_exactly(5),
    "receive_into": lambda stream: stream.receive_into(bytearray(5)),
    "wait_readable": lambda stream: stream.wait_readable(),
    "iteration": lambda stream: next(iter(stream)),
}


@pytest.fixture(params=WAITS)
def wait(request):
    """Each way to wait for data."""
    return WAITS[request.param]


def test_a_timeout_ends_it(mode, clock, pair, wait):
    """TimeoutError at that time; the next read gets what came since."""
    one, other = pair
    helpers_ending_waits.time_out(clock, wait, one)
    other.send_all(b"later")
    assert one.receive_some() == b"later"


def test_a_cancelled_scope_ends_it(mode, pair, wait):
    """Cancelled at the wait, and before the next one begins: nothing is taken then."""
    one, other = pair

    def again():
        with pytest.raises(loomlet.Cancelled):
            one.receive_some()

    helpers_ending_waits.cancel(wait, one, again)
    other.send_all(b"later")
    assert one.receive_some() == b"later"


def test_a_cancelled_scope_takes_nothing(mode, pair):
    """Data that are there stay there for the next reader."""
    one, other = pair
    other.send_all(b"data")
    with loomlet.CancelScope() as scope:
        scope.cancel()
        one.receive_some()
    assert scope.cancelled_caught
    assert one.receive_some() == b"data"


def test_kill_ends_it(mode, pair, wait):
    """The tasklet ends, its `finally` runs, and the next one waits in its place."""
    one, other = pair
    ended = []

    def body():
        try:
            wait(one)
        finally:
            ended.append(True)

    task = loomlet.spawn(body)
    loomlet.schedule()
    task.kill()
    assert ended == [True]
    next_one = loomlet.spawn(one.receive_some)
    loomlet.schedule()
    other.send_all(b"data")
    assert next_one.result() == b"data"


def test_throw_ends_it(mode, pair, wait, caught):
    """The exception is raised at the wait."""
    task = caught(wait, pair[0])
    loomlet.schedule()
    task.throw(LookupError("enough"))
    assert repr(task.result()) == "LookupError('enough')"


def test_one_of_several_leaves_the_queue(mode, pair):
    """The others keep their order."""
    one, other = pair
    tasks = [loomlet.spawn(one.receive_exactly, 1) for _ in range(4)]
    loomlet.schedule()
    tasks[1].kill()
    other.send_all(b"abc")
    assert [tasks[n].result() for n in (0, 2, 3)] == [b"a", b"b", b"c"]


def test_a_sender_is_ended(mode, clock, streams, fill):
    """A peer that takes nothing cannot hold up the sender for ever."""
    one, _ = streams
    fill(one)
    with pytest.raises(TimeoutError), loomlet.timeout(1):
        one.send_all(bytes(100_000))


def test_accept_and_connect_are_ended(mode, listener):
    """A listener without callers."""
    with pytest.raises(TimeoutError), loomlet.timeout(0.01):
        listener.accept()
    with net.connect(listener.local) as one, listener.accept() as other:
        one.send_all(b"x")
        assert other.receive_some() == b"x"


def test_a_connect_that_is_ended_leaves_nothing(mode):
    """Its socket is closed (the fixture counts them).  A full accept queue never answers."""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        held = []
        with pytest.raises(TimeoutError), loomlet.timeout(0.2):
            while True:
                held.append(net.connect(deaf.getsockname()))
        for stream in held:
            stream.close()
