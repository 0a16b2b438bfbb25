"""Where nobody waits for the GIL, coming back is free, also right after somebody was asked."""

import select
import socket
import threading

import pytest

from loomlet import _core, gil

TRIPS = 300
MOST = 200  # waits of which one must have found the other thread computing
PAUSE = 0.003  # seconds, in which the other thread gets the GIL


def ask_one_that_computes():
    """Until it was asked; it has ended afterwards."""
    stop = threading.Event()

    def compute():
        while not stop.is_set():
            sum(range(100))

    thread = threading.Thread(target=compute)
    thread.start()
    before = gil.status().asked
    for _ in range(MOST):
        select.select([], [], [], PAUSE)
        if gil.status().asked > before:
            break
    asked = gil.status().asked
    stop.set()
    thread.join()
    assert asked > before


@pytest.mark.skipif(not _core._has_gil(), reason="there is no GIL to ask for")
def test_a_thread_that_is_alone_spends_nothing():
    """For some time after a request, coming back to a free GIL is paid for: by whom it holds up."""
    gil.prioritise_io(0.5)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ask_one_that_computes()
        ours.sendall(b"x")  # pays for the request
        before = gil.status().spent
        for _ in range(TRIPS):
            ours.sendall(b"x")
            assert theirs.recv(10)
        assert gil.status().spent == before
