"""A thread that went first spends nothing of the share while it waits for a lock.

Nothing here depends on how fast the machine is: what was spent is compared with what the thread's
own processor clock says, and with what is paid for each request for the GIL.
"""

import select
import threading
import time

import pytest

from loomlet import _core, gil

TRIPS = 20
PAUSE = 0.001  # seconds, in which the other thread gets the GIL
ASKING = 0.00001  # seconds of the share that one request costs
ROUNDS = 30_000  # for which the other thread computes while the first one waits


class Computing:
    """A thread that computes; it releases a lock for which another one waits some time later."""

    def __init__(self) -> None:
        self.lock, self.waits, self.ended = threading.Lock(), 0, False
        self.lock.acquire()
        self.thread = threading.Thread(target=self.compute)
        self.thread.start()

    def compute(self) -> None:
        released = 0
        while not self.ended:
            if self.waits > released:
                for _ in range(ROUNDS):
                    pass
                released += 1
                self.lock.release()

    def wait(self, trips: int) -> None:
        """Comes back from select() while the thread computes, and waits for the lock, so often."""
        for _ in range(trips):
            select.select([], [], [], PAUSE)
            self.waits += 1
            self.lock.acquire()


@pytest.mark.skipif(not _core._has_gil(), reason="there is no GIL to ask for")
def test_a_lock_that_is_held_by_another_thread():
    """Servers have many threads that wait for each other; all of them together have one share.

    A thread that has asked pays at its next I/O, and the first time also for what it did before all
    this.  So it has asked once, and the processor's clock begins one trip before the count.
    """
    gil.prioritise_io(1)
    other = Computing()
    try:
        first = gil.status().asked
        while gil.status().asked == first:
            other.wait(1)
        began = time.thread_time()
        other.wait(1)
        before = gil.status()
        other.wait(TRIPS)
        after = gil.status()
        worked = time.thread_time() - began
    finally:
        other.ended = True
        other.thread.join()
    asked = after.asked - before.asked
    assert asked > 0
    assert after.spent - before.spent <= worked + asked * ASKING
