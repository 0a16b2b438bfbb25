"""Every wait of a builtin socket can be ended, and the socket stays usable."""

import os
import socket

import helpers_ending_waits
import pytest

import loomlet

WAITS = {
    "recv": lambda s: s.recv(1),
    "recv_into": lambda s: s.recv_into(bytearray(1)),
    "recvfrom": lambda s: s.recvfrom(1),
    "recvmsg": lambda s: s.recvmsg(1),
}


@pytest.fixture(params=WAITS)
def wait(request):
    """Each way to wait for data."""
    return WAITS[request.param]


def test_a_kill(mode, sockets, wait):
    """At once, and nothing is taken."""
    one, other = sockets
    task = loomlet.spawn(wait, one)
    loomlet.schedule()
    task.kill()
    assert task.state == "done"
    other.sendall(b"x")
    assert wait(one)


def test_a_throw(mode, sockets, wait, caught):
    """The exception comes out of the call."""
    one, other = sockets
    task = caught(wait, one)
    loomlet.schedule()
    task.throw(KeyError("x"))
    assert isinstance(task.result(), KeyError)
    other.sendall(b"x")
    assert wait(one)


def test_a_timeout_scope(mode, clock, sockets, wait):
    """TimeoutError at that time."""
    one, other = sockets
    helpers_ending_waits.time_out(clock, wait, one)
    other.sendall(b"x")
    assert wait(one)


def test_a_cancelled_scope(mode, sockets, wait):
    """Cancelled at the wait, and at the next call even if there is something by then."""
    one, other = sockets

    def again():
        os.write(other.fileno(), b"x")
        with pytest.raises(loomlet.Cancelled):
            wait(one)

    helpers_ending_waits.cancel(wait, one, again)
    assert wait(one)


@pytest.mark.parametrize("how", ["close", "detach"])
def test_a_close_by_another(mode, sockets, wait, caught, how):
    """OSError EBADF instead of hanging."""
    one, _ = sockets
    task = caught(wait, one)
    loomlet.schedule()
    fd = getattr(one, how)()
    if fd is not None:
        os.close(fd)
    error = task.result()
    assert isinstance(error, OSError)
    assert error.errno == 9


def test_a_close_of_a_listener(mode, caught):
    """The same for accept."""
    listener = socket.create_server(("127.0.0.1", 0))
    task = caught(listener.accept)
    loomlet.schedule()
    listener.close()
    assert task.result().errno in (9, 22)


def test_a_peer_that_ends(sockets):
    """b'' for the waiter."""
    one, other = sockets
    task = loomlet.spawn(one.recv, 1)
    loomlet.schedule()
    other.close()
    assert task.result() == b""


def test_a_reader_and_a_writer_of_one_socket(sockets):
    """Each direction is distinguished."""
    one, other = sockets
    reader = loomlet.spawn(one.recv, 5)
    writer = loomlet.spawn(one.sendall, bytes(5_000_000))
    loomlet.schedule()
    assert (reader.waiting_in, writer.waiting_in) == ("read", "write")
    other.sendall(b"hello")
    assert reader.result() == b"hello"
    left = 5_000_000
    while left:
        left -= len(other.recv(65536))
    writer.join()


def test_several_readers_of_one_socket(sockets):
    """First come, first served; each gets a turn."""
    one, other = sockets
    tasks = [loomlet.spawn(one.recv, 1) for _ in range(3)]
    loomlet.schedule()
    other.sendall(b"abc")
    assert [task.result() for task in tasks] == [b"a", b"b", b"c"]


def test_a_number_that_is_used_again(caught):
    """A wait on a closed socket does not see data for the next one with its number."""
    one, other = socket.socketpair()
    task = caught(one.recv, 1)
    loomlet.schedule()
    number = one.fileno()
    one.close()
    again, peer = socket.socketpair()
    with again, peer, other:
        assert number in (again.fileno(), peer.fileno())
        waiting = loomlet.spawn(again.recv, 5)
        loomlet.schedule()
        peer.sendall(b"hello")
        assert waiting.result() == b"hello"
        assert task.result().errno == 9
