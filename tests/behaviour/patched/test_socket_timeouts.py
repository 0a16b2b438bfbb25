"""A socket's own timeout keeps its meaning, and its value stays as the user set it."""

import os
import socket

import pytest

import loomlet

WAITS = {
    "recv": lambda s: s.recv(1),
    "recv_into": lambda s: s.recv_into(bytearray(1)),
    "recvfrom": lambda s: s.recvfrom(1),
    "recvfrom_into": lambda s: s.recvfrom_into(bytearray(1)),
    "recvmsg": lambda s: s.recvmsg(1),
    "recvmsg_into": lambda s: s.recvmsg_into([bytearray(1)]),
    "sendall": lambda s: s.sendall(bytes(10_000_000)),
    "makefile": lambda s: s.makefile("rb").read(1),
}


@pytest.fixture(params=WAITS)
def wait(request):
    """Each way to wait."""
    return WAITS[request.param]


def test_it_ends_the_wait(mode, clock, sockets, wait):
    """TimeoutError('timed out') at that time; others ran; the socket stays usable."""
    one, other = sockets
    one.settimeout(5)
    task = loomlet.spawn(wait, one)
    with pytest.raises(TimeoutError, match=r"^timed out$"):
        task.result()
    assert clock() == 5.0
    other.sendall(b"later")
    assert one.recv(5) == b"later"
    assert one.gettimeout() == 5


def test_accept_and_its_timeout(mode, clock):
    """The same for a listener."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(2.5)
        with pytest.raises(TimeoutError, match=r"^timed out$"):
            loomlet.spawn(listener.accept).result()
        assert clock() == 2.5
        with socket.create_connection(listener.getsockname()):
            other, _ = listener.accept()
            other.close()


def test_a_time_for_all_of_sendall(clock, sockets, caught):
    """Data that the peer takes meanwhile do not restart the timeout."""
    one, other = sockets
    one.settimeout(1)
    task = caught(one.sendall, bytes(50_000_000))
    loomlet.schedule()
    while task.state != "done":
        other.recv(1000)
        loomlet.sleep(0.3)
    assert repr(task.result()) == "TimeoutError('timed out')"
    assert clock() < 2


def test_a_socket_that_does_not_wait(sockets, wait):
    """BlockingIOError, or nothing for a file, without a switch."""
    one, _ = sockets
    one.setblocking(False)

    def body():
        try:
            return wait(one)
        except BlockingIOError as error:
            return error

    beside = loomlet.spawn(lambda: None)
    result = body()
    assert result is None or isinstance(result, BlockingIOError)
    assert beside.state == "runnable"
    assert one.gettimeout() == 0
    assert not one.getblocking()


def test_a_descriptor_that_the_user_made_non_blocking(sockets):
    """Without a timeout CPython then raises BlockingIOError, and so does loomlet."""
    one, _ = sockets
    os.set_blocking(one.fileno(), False)
    beside = loomlet.spawn(lambda: None)
    for call in (WAITS["recv"], WAITS["recvmsg"]):
        with pytest.raises(BlockingIOError):
            call(one)
    assert beside.state == "runnable"


@pytest.mark.parametrize("timeout", [None, 0.0, 7.5])
def test_nothing_of_it_is_seen_from_outside(sockets, timeout):
    """While a tasklet waits, timeout and mode are as the user set them."""
    one, _ = sockets
    one.settimeout(timeout)
    task = loomlet.spawn(lambda: one.recv(1) if timeout != 0 else None)
    loomlet.schedule()
    assert one.gettimeout() == timeout
    assert one.getblocking() == (timeout != 0)
    assert os.get_blocking(one.fileno()) == (timeout is None)
    task.kill()


def test_a_connection_without_an_answer(clock):
    """connect raises TimeoutError, connect_ex returns the number that CPython returns."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        full = [socket.socket() for _ in range(4)]
        for one in full:
            one.setblocking(False)
            one.connect_ex(listener.getsockname())

        def attempt(method):
            with socket.socket() as one:
                one.settimeout(3)
                return getattr(one, method)(listener.getsockname())

        with pytest.raises(TimeoutError, match=r"^timed out$"):
            loomlet.spawn(attempt, "connect").result()
        assert clock() == 3.0
        assert loomlet.spawn(attempt, "connect_ex").result() == 11
        for one in full:
            one.close()
