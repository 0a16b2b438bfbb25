"""Timeouts of what is built on builtin locks."""

import queue
import threading

import pytest

import loomlet
from loomlet import schedule, spawn


def wait_for_condition(seconds):
    condition = threading.Condition()
    with condition:
        return condition.wait(seconds), condition._is_owned()


def get(seconds):
    try:
        return queue.Queue().get(timeout=seconds)
    except queue.Empty:
        return "empty"


def put(seconds):
    full = queue.Queue(1)
    full.put(1)
    try:
        return full.put(2, timeout=seconds)
    except queue.Full:
        return "full"


def meet(seconds):
    try:
        return threading.Barrier(2).wait(seconds)
    except threading.BrokenBarrierError:
        return "broken"


WAITS = {
    "condition": (wait_for_condition, (False, True)),
    "event": (lambda seconds: threading.Event().wait(seconds), False),
    "semaphore": (lambda seconds: threading.Semaphore(0).acquire(timeout=seconds), False),
    "barrier": (meet, "broken"),
    "get": (get, "empty"),
    "put": (put, "full"),
}


@pytest.mark.parametrize("what", WAITS)
@pytest.mark.parametrize("where", ["tasklet", "main"])
def test_the_time_is_over(what, where, mode):
    """In a tasklet, beside another one, and in the main tasklet when there is no other."""
    wait, expected = WAITS[what]
    if where == "main":
        assert wait(0.01) == expected
        return
    tasks = [spawn(wait, 0.01), spawn(wait, 0.02)]
    assert [task.result() for task in tasks] == [expected] * 2


@pytest.mark.parametrize("what", ["condition", "event"])
@pytest.mark.parametrize("where", ["tasklet", "main"])
def test_on_the_schedulers_clock(what, where, clock, mode):
    """Primitives that pass their timeout on to a lock; the others also use time.monotonic()."""
    wait, expected = WAITS[what]
    outcome = spawn(wait, 5000).result() if where == "tasklet" else wait(5000)
    assert (outcome, loomlet.now()) == (expected, 5000)


def test_in_time(clock, mode):
    """A waiter that is notified in time continues at once."""
    event, line = threading.Event(), queue.Queue()
    waiting, getting = spawn(event.wait, 5), spawn(line.get, timeout=5)
    schedule()
    event.set()
    line.put("item")
    assert (waiting.result(), getting.result(), loomlet.now()) == (True, "item", 0)


def test_a_simple_queue_with_items(mode):
    """_queue.SimpleQueue waits in C, so a tasklet takes only items that are there."""
    line = queue.SimpleQueue()

    def produce():
        for n in range(5):
            line.put(n)
            schedule()

    def consume():
        got = []
        while len(got) < 5:
            try:
                got.append(line.get(block=False))
            except queue.Empty:
                schedule()
        return got

    spawn(produce)
    assert spawn(consume).result() == list(range(5))
