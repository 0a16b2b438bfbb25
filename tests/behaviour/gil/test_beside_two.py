"""Two threads compute while others come back from waits."""

import socket
import threading

import pytest

import loomlet
from loomlet import _core, gil

pytestmark = pytest.mark.skipif(not _core._has_gil(), reason="there is no GIL to ask for")
MOST = 3000  # round trips after which both threads must have gone on


@pytest.fixture
def rounds():
    """What each of two computing threads has counted up to now."""
    stop = threading.Event()
    counts = [0, 0]

    def compute(mine):
        while not stop.is_set():
            for _ in range(100):
                pass
            counts[mine] += 1

    threads = [threading.Thread(target=compute, args=(mine,)) for mine in (0, 1)]
    for thread in threads:
        thread.start()
    yield counts
    stop.set()
    for thread in threads:
        thread.join()


def trips_until_both_go_on(rounds, trip):
    """Whether each of the threads computed again, after a round trip in which somebody asked."""
    asked, before = gil.status().asked, list(rounds)
    for _ in range(MOST):
        trip()
        gone_on = all(now > was for now, was in zip(rounds, before, strict=True))
        if gone_on and gil.status().asked > asked:
            return True
    return False


def test_both_go_on_beside_plain_threads(rounds):
    """The one that was interrupted does not always go on in place of the other."""
    gil.prioritise_io()
    ours, theirs = socket.socketpair()

    def answer():
        with theirs:
            while data := theirs.recv(100):
                theirs.sendall(data)

    thread = threading.Thread(target=answer)
    thread.start()

    def trip():
        ours.sendall(b"x")
        assert ours.recv(100) == b"x"

    with ours:
        for _ in range(3):
            assert trips_until_both_go_on(rounds, trip)
    thread.join()


def test_both_go_on_beside_tasklets(rounds):
    """The same where loomlet's own threads ask: for blocking calls, and for timers."""
    for wait in (lambda: loomlet.run_blocking(int), lambda: loomlet.sleep(0.0001)):
        for _ in range(3):
            assert trips_until_both_go_on(rounds, wait)


def test_many_threads_ask_at_once(rounds):
    """Each gets its turn, also when more threads wait than there are processors."""
    gil.prioritise_io(1)

    def trips():
        ours, theirs = socket.socketpair()
        with ours, theirs:
            for _ in range(100):
                ours.sendall(b"x")
                assert theirs.recv(1) == b"x"

    threads = [threading.Thread(target=trips) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert trips_until_both_go_on(rounds, lambda: loomlet.sleep(0.0001))
