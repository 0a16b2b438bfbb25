"""Generators that yield what they wait for are driven in tasklets, as psycopg's are."""

import os
import socket

import pytest

import loomlet
from loomlet import _core

READ, WRITE, EITHER = 1, 2, 3
LONG = 60.0  # an interval that no test waits for


@pytest.fixture
def ends():
    one, other = socket.socketpair()
    with one, other:
        one.setblocking(False)
        yield one, other


def drive(generator, descriptor, interval=LONG):
    """As for psycopg: what the generator returns, and how often it was late."""
    late = 0
    found = _core._drive(generator, descriptor, interval)
    while type(found) is _core.DrivenGenerator:
        late += found.late
        found = found.go_on()
    return found, late


def receive(sock, count):
    """So many messages; a wait for each."""
    got = []
    while len(got) < count:
        assert (yield READ) == READ
        got.append(sock.recv(100))
    return got


def beside(*functions):
    """All at once; their results."""

    def main():
        with loomlet.TaskGroup() as group:
            tasks = [group.spawn(function) for function in functions]
        return [task.result() for task in tasks]

    return loomlet.run(main)


def test_each_wait_lets_others_run(ends):
    """The sender runs between them."""
    one, other = ends

    def send():
        for text in (b"a", b"b", b"c"):
            loomlet.sleep(0.001)
            other.sendall(text)

    (found, _), _ = beside(lambda: drive(receive(one, 3), one.fileno()), send)
    assert b"".join(found) == b"abc"


def test_every_wait_is_soft(ends, switches):
    """However many there are."""
    one, other = ends

    def send():
        for _ in range(5):
            loomlet.sleep(0.001)
            other.sendall(b"a")

    tasks = [loomlet.spawn(drive, receive(one, 5), one.fileno()), loomlet.spawn(send)]
    switches.take()
    for task in tasks:
        task.join()
    soft, hard = switches.take()
    assert soft > 5
    assert hard == 0


def test_what_can_be_written_does_not_wait(ends):
    """It is sent what is ready, as often as it asks."""
    one, other = ends

    def write():
        before = yield EITHER
        other.send(b"x")
        return before, (yield EITHER), (yield WRITE)

    (found, _), _ = beside(lambda: drive(write(), one.fileno()), int)
    assert found == (WRITE, EITHER, WRITE)


def test_a_writer_waits_for_room(ends):
    """Until the other end has read."""
    one, other = ends
    sent = []

    def write():
        for _ in range(100):
            assert (yield WRITE) == WRITE
            with pytest.raises(BlockingIOError):
                while True:
                    sent.append(one.send(bytes(65536)))
            if len(sent) > 40:
                return "sent"
        return "never full"

    def read():
        got = 0
        while len(sent) <= 40:
            got += len(other.recv(1 << 20))
        return got

    (found, _), got = beside(lambda: drive(write(), one.fileno()), read)
    assert found == "sent"
    assert got > 0


def test_the_interval_is_over(ends):
    """It is sent 0, each time."""
    one, _ = ends

    def wait():
        return [(yield READ), (yield READ)]

    (found, late), _ = beside(lambda: drive(wait(), one.fileno(), 0.001), int)
    assert found == [0, 0]
    assert late == 2


def test_what_it_raises_comes_out(ends):
    """Before the first wait, and after one."""
    one, other = ends

    def fail(waits):
        for _ in range(waits):
            yield READ
        raise LookupError(waits)

    def expect(waits):
        with pytest.raises(LookupError, match=str(waits)):
            drive(fail(waits), one.fileno())

    other.send(b"x")
    beside(lambda: expect(0), lambda: expect(1), lambda: expect(2))


@pytest.mark.parametrize("wanted", [0, 4, -1, "1", 1 << 70])
def test_what_it_yields_is_checked(ends, wanted):
    """Only three values can be waited for."""

    def wait():
        yield wanted

    def expect():
        with pytest.raises((ValueError, TypeError, OverflowError)):
            drive(wait(), ends[0].fileno())

    beside(expect, int)


def test_a_wait_can_be_ended(ends):
    """The generator ends, too, and the descriptor is free for another wait."""
    one, other = ends
    ended = []

    def wait():
        try:
            yield READ
        finally:
            ended.append(True)

    def late():
        with pytest.raises(TimeoutError), loomlet.timeout(0.01):
            drive(wait(), one.fileno())

    beside(late, int)
    assert ended == [True]
    other.send(b"x")
    assert beside(lambda: drive(receive(one, 1), one.fileno()), int)[0] == ([b"x"], 0)


def test_a_closed_number_is_late(ends):
    """Its caller looks what has become of it."""
    one, _ = ends
    seen = []

    def wait():
        yield READ

    def drive_once():
        found = _core._drive(wait(), one.fileno(), LONG)
        seen.append(found.late)

    def close():
        loomlet.sleep(0.01)
        os.close(one.detach())

    beside(drive_once, close)
    assert seen == [True]


def test_alone_the_caller_does_it(ends):
    """The generator has not begun then."""

    def wait():
        raise AssertionError
        yield READ

    assert _core._drive(wait(), ends[0].fileno(), LONG) is NotImplemented
