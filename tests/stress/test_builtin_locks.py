"""Time slices of a millisecond over everything that is built on builtin locks.

Tasklets of several threads use `logging`, `queue.Queue`, conditions and counters under a Lock
and an RLock, and are interrupted anywhere.  Nothing is lost and nothing hangs.
LOOMLET_STRESS_SECONDS sets for how long (default 10).
"""

import collections
import faulthandler
import io
import logging
import os
import queue
import random
import threading
import time

import pytest

import loomlet
from loomlet import spawn

SECONDS = float(os.environ.get("LOOMLET_STRESS_SECONDS", "10"))
SLICE = 0.001
PER_KIND = 4
HANG = SECONDS + 120  # then a traceback of every thread is printed and the process ends


class Shared:
    """What all tasklets of all threads work on, and what each has counted for itself."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.until = time.monotonic() + SECONDS / 2
        self.lock, self.rlock = threading.Lock(), threading.RLock()
        self.condition, self.tokens = threading.Condition(), 0
        self.queue = queue.Queue(5)
        self.stream = io.StringIO()
        self.logger = logging.Logger("stress")
        self.logger.addHandler(logging.StreamHandler(self.stream))
        self.under_lock = self.under_rlock = 0
        self.count = [collections.Counter() for _ in range(64)]
        self.numbers = iter(range(64))

    def goes_on(self):
        return time.monotonic() < self.until

    def mine(self):
        """A counter that no other tasklet touches."""
        return self.count[next(self.numbers)]

    def total(self, what):
        return sum(count[what] for count in self.count)


def add_under_lock(shared, mine):
    while shared.goes_on():
        with shared.lock:
            before = shared.under_lock
            for _ in range(shared.random.randrange(200)):
                pass
            shared.under_lock = before + 1
        mine["lock"] += 1


def add_under_rlock(shared, mine):
    def deeper(depth):
        with shared.rlock:
            if depth:
                return deeper(depth - 1)
            before = shared.under_rlock
            for _ in range(shared.random.randrange(200)):
                pass
            shared.under_rlock = before + 1

    while shared.goes_on():
        deeper(shared.random.randrange(4))
        mine["rlock"] += 1


def put(shared, mine):
    while shared.goes_on():
        shared.queue.put(1)
        mine["put"] += 1
    shared.queue.put(None)


def get(shared, mine):
    while (item := shared.queue.get()) is not None:
        mine["got"] += item


def log(shared, mine):
    while shared.goes_on():
        shared.logger.warning("line %s of %s", mine["logged"], id(mine))
        mine["logged"] += 1
        if shared.random.random() < 0.01:
            time.sleep(0)


def give(shared, mine):
    while shared.goes_on():
        with shared.condition:
            shared.tokens += 1
            mine["given"] += 1
            shared.condition.notify()


def take(shared, mine):
    while shared.goes_on():
        with shared.condition:
            if shared.condition.wait_for(lambda: shared.tokens, timeout=0.05):
                shared.tokens -= 1
                mine["taken"] += 1


KINDS = (add_under_lock, add_under_rlock, put, get, log, give, take)


def hammer(shared, jobs):
    """The main tasklet of one thread."""
    tasks = [spawn(kind, shared, mine) for kind, mine in jobs]
    for task in tasks:
        task.result()


def check(shared):
    assert shared.under_lock == shared.total("lock") > 0
    assert shared.under_rlock == shared.total("rlock") > 0
    assert shared.total("got") == shared.total("put") > 0
    assert shared.total("taken") + shared.tokens == shared.total("given") > 0
    assert shared.total("taken") > 0
    lines = collections.Counter(shared.stream.getvalue().splitlines())
    expected = {
        f"line {n} of {id(count)}" for count in shared.count for n in range(count["logged"])
    }
    assert set(lines) == expected
    assert set(lines.values()) <= {1}
    for lock in (shared.lock, shared.rlock, shared.condition):
        assert lock.acquire(timeout=1)
        lock.release()


@pytest.mark.parametrize("threads", [1, 3])
def test_nothing_is_lost(threads):
    """The tasklets of one thread; then those of two threads and a plain thread together."""
    faulthandler.dump_traceback_later(HANG, exit=True)
    shared = Shared(threads)
    jobs = [[] for _ in range(threads)]
    for n in range(PER_KIND):
        for kind in KINDS:
            jobs[n % threads].append((kind, shared.mine()))
    failed = []

    def with_slices(mine):
        try:
            loomlet.run(hammer, shared, mine, slice=SLICE)
        except BaseException as error:
            failed.append(error)

    def as_plain_threads(mine):
        plain = [threading.Thread(target=kind, args=(shared, count)) for kind, count in mine]
        for thread in plain:
            thread.start()
        for thread in plain:
            thread.join()

    others = [threading.Thread(target=with_slices, args=(jobs[n],)) for n in range(1, threads - 1)]
    if threads > 1:
        others.append(threading.Thread(target=as_plain_threads, args=(jobs[-1],)))
    for thread in others:
        thread.start()
    with_slices(jobs[0])
    for thread in others:
        thread.join()
    faulthandler.cancel_dump_traceback_later()
    assert failed == []
    check(shared)
