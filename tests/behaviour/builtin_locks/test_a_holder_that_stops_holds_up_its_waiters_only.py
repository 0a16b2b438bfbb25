"""A lock whose holder waits, is paused or preempted holds up only the waiters for that lock."""

import threading

import pytest

import loomlet
from loomlet import Channel, schedule, spawn


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
@pytest.mark.parametrize("how", ["blocked", "sleeping", "ready", "inside C"])
def test_the_other_tasklets_keep_running(make, how, clock, mode):
    """The holder stops in each way; one tasklet waits for the lock, another one works."""
    lock, gate, log = make(), Channel(), []
    stops = {
        "blocked": gate.receive,
        "sleeping": lambda: loomlet.sleep(1),
        "ready": schedule,
        "inside C": lambda: sorted([1], key=lambda _: gate.receive()),
    }

    def hold():
        with lock:
            stops[how]()
            log.append("held")

    def wait():
        with lock:
            log.append("got it")

    def work():
        for _ in range(3):
            log.append("work")
            schedule()
        gate.try_send(None)

    tasks = [spawn(f) for f in (hold, wait, work)]
    for task in tasks:
        task.join()
    assert [entry for entry in log if entry != "work"] == ["held", "got it"]
    assert log.count("work") == 3
    assert log.index("work") < log.index("got it")


def test_a_paused_holder(mode):
    """A holder that was removed from the run queue keeps its lock until it continues."""
    lock, log = threading.Lock(), []

    def hold():
        with lock:
            schedule()
        log.append("left")

    def wait():
        with lock:
            log.append("got it")

    holder, waiter = spawn(hold), spawn(wait)
    schedule()
    holder.remove()
    schedule()
    assert (log, waiter.state, waiter.waiting_in, waiter.waiting_for) == (
        [], "blocked", "acquire", lock)  # fmt: skip
    holder.insert()
    waiter.join()
    assert sorted(log) == ["got it", "left"]
