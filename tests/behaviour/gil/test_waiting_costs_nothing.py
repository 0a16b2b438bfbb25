"""A thread that went first spends nothing of the share while it waits for a lock."""

import select
import threading

import pytest

from loomlet import _core, gil

WARM = 5  # for the first time a thread may pay for what it did before
TRIPS = 20
PAUSE = 0.003  # seconds, in which the other thread gets the GIL
HELD = 0.01  # seconds: twice what one turn may cost
TURN = 0.005  # seconds that one turn may cost at most


def wait_in_turn(lock, trips):
    """Comes back from select() while the other thread computes, and waits for the lock."""
    for _ in range(trips):
        select.select([], [], [], PAUSE)
        assert not lock.acquire(timeout=HELD)


@pytest.mark.skipif(not _core._has_gil(), reason="there is no GIL to ask for")
def test_a_lock_that_is_held_by_another_thread(computing):
    """Servers have many threads that wait for each other; all of them together have one share."""
    gil.prioritise_io(1)
    lock = threading.Lock()
    lock.acquire()
    wait_in_turn(lock, WARM)
    before = gil.status()
    wait_in_turn(lock, TRIPS)
    after = gil.status()
    assert after.asked > before.asked
    assert after.spent - before.spent < (after.asked - before.asked) * TURN / 2
