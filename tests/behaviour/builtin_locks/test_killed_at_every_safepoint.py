"""A tasklet that is killed where it was preempted leaves no lock behind, wherever that is."""

import threading

import pytest

import loomlet
from loomlet import _core, schedule, spawn

SAFEPOINTS = 60  # more than one round of the loop below has


class Held:
    """A lock, and how to see that it is free."""

    def __init__(self, make):
        self.lock = make()

    def free(self):
        if isinstance(self.lock, threading.Semaphore):
            return self.lock._value == 1
        return self.lock.acquire(blocking=False) and not self.lock.release()


KINDS = {
    "Lock": threading.Lock,
    "RLock": threading.RLock,
    "Condition": threading.Condition,
    "Semaphore": threading.Semaphore,
}


def work(held, rounds):
    for _ in range(rounds):
        with held.lock:
            pass


def kill_after(held, safepoints):
    """Lets `work` run for that many safepoints, then kills it; returns whether it was running."""

    def main():
        task = spawn(work, held, SAFEPOINTS)
        _core._slice_budget(safepoints)
        schedule()  # comes back when the slice is over
        _core._slice_budget(0)
        running = task.state == "runnable"
        task.kill()
        return running

    return loomlet.run(main, slice=None)


@pytest.mark.parametrize("kind", KINDS)
def test_the_lock_is_free(kind):
    """After 1, 2, 3 ... safepoints inside `with lock`, `with condition`, `with semaphore`."""
    seen = []

    def try_all():
        for safepoints in range(1, SAFEPOINTS):
            held = Held(KINDS[kind])
            running = kill_after(held, safepoints)
            seen.append((running, held.free()))

    thread = threading.Thread(target=try_all)
    thread.start()
    thread.join()
    assert any(running for running, free in seen)
    assert [free for running, free in seen] == [True] * (SAFEPOINTS - 1)
