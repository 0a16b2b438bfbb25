"""A tasklet that is killed anywhere inside an operation leaves no lock taken and no record torn."""

import ssl
import threading

import pytest

import loomlet
from loomlet import _core, net, schedule, spawn

SAFEPOINTS = 150  # more than the longest operation below has


def in_a_thread(body):
    """Runs `body` in an OS thread, which has its own counted slices; returns its result."""
    found = []
    thread = threading.Thread(target=lambda: found.append(loomlet.run(body, slice=None)))
    thread.start()
    thread.join()
    return found[0]


def streams(contexts):
    one, other = net.pair()
    client = net.TLSStream(one, contexts[0], server_hostname="localhost")
    return client, net.TLSStream(other, contexts[1], server_side=True)


def killed_after(safepoints, work, *args):
    """Whether `work` was interrupted, not waiting, when it was killed."""
    task = spawn(work, *args)
    _core._slice_budget(safepoints)
    schedule()  # comes back when the slice is over
    _core._slice_budget(0)
    running = task.state == "runnable"  # it neither waits nor has ended
    task.kill()
    return running


def locks(stream):
    names = [
        name for name in stream.__slots__ if isinstance(getattr(stream, name, 0), loomlet.Lock)
    ]
    assert len(names) == 6
    return [name for name in names if getattr(stream, name).locked()]


def receive_until(stream, mark):
    seen = b""
    while mark not in seen:
        seen += stream.receive_some()


def try_all(contexts, work, prepare):
    """Kills after 1, 2, 3 ... safepoints; returns how often a send then said "close it"."""

    def body():
        broken, running = 0, True
        for safepoints in range(1, SAFEPOINTS):
            one, other = streams(contexts)
            with one, other, loomlet.timeout(60):
                prepare(one, other)
                running = killed_after(safepoints, work, one)
                assert locks(one) == []
                try:
                    one.send_all(b"END")
                except ssl.SSLError as error:
                    assert "close it" in str(error)
                    broken += 1
                else:
                    receive_until(other, b"END")
                    other.send_all(b"END")
                    receive_until(one, b"END")
        assert not running
        return broken

    return in_a_thread(body)


def shake(one, other):
    spawn(other.handshake)


def read(one):
    one.receive_exactly(30_000)


def write(one):
    one.send_all(bytes(30_000))


def shake_and_speak(one, other):
    spawn(other.handshake)
    one.handshake()
    other.send_all(bytes(30_000))


def shake_only(one, other):
    spawn(other.handshake)
    one.handshake()


@pytest.fixture
def contexts(certificates):
    return certificates.client(), certificates.server()


def test_a_reader(contexts):
    """The next one continues."""
    assert try_all(contexts, read, shake_and_speak) == 0


def test_a_writer(contexts):
    """The next one continues, or gets an error; most can continue."""
    assert try_all(contexts, write, shake_only) < 10


def test_a_handshake(contexts):
    """The next one continues with it, or gets an error."""
    assert try_all(contexts, net.TLSStream.handshake, shake) < 10
