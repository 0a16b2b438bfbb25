"""A seeded random program of blocking functions: given up, failing, nested, in three threads.

Threads of the pool come and go all the time, the limit changes, and each call that is not given up
has its own outcome; at the end the pool is empty.
"""

import collections
import contextlib
import random
import threading
import time

import loomlet
from loomlet import blocking, run_blocking

CALLERS = 20


def compute(value, pause):
    """Sleeps for a random time, mostly zero."""
    if pause:
        time.sleep(pause)
    return value


def fail(value):
    raise LookupError(value)


class Soak:
    """One thread's part: the callers, and the tasklet that disturbs them."""

    def __init__(self, seed, rounds):
        self.random = random.Random(seed)
        self.rounds = rounds
        self.count = collections.Counter()
        self.callers = []

    def call(self, value):
        way = self.random.randrange(4)
        if way == 0:
            assert run_blocking(compute, value, pause=0) == value
        elif way == 1:
            assert run_blocking(run_blocking, compute, value, 0) == value
        elif way == 2:
            try:
                run_blocking(fail, value)
            except LookupError as error:
                assert error.args == (value,)
        else:
            with contextlib.suppress(TimeoutError), loomlet.timeout(self.random.random() / 2000):
                assert run_blocking(compute, value, self.random.random() / 2000) == value
        self.count["called"] += 1

    def caller(self):
        for value in range(self.rounds):
            self.call((id(self), value))
        self.count["ended"] += 1

    def disturb(self, group):
        """Kills callers at random and replaces them."""
        for _ in range(self.rounds):
            loomlet.sleep(self.random.random() / 1000)
            place = self.random.randrange(CALLERS)
            if self.callers[place].state == "blocked":
                self.callers[place].kill()
                self.callers[place] = group.spawn(self.caller)

    def main(self):
        with loomlet.TaskGroup() as group:
            self.callers = [group.spawn(self.caller) for _ in range(CALLERS)]
            group.spawn(self.disturb, group)


def test_functions_and_their_waiting_callers(seed, mode, scaled):
    """No call gets another one's outcome, none is lost, no thread is left."""
    rounds = scaled(60)
    blocking.configure(idle_seconds=0.005)
    parts = [Soak(seed * 10 + n, rounds) for n in range(3)]
    threads = [threading.Thread(target=loomlet.run, args=(part.main,)) for part in parts[1:]]
    for thread in threads:
        thread.start()
    try:
        with loomlet.TaskGroup() as group:
            group.spawn(change_limits, random.Random(seed), threads)
            parts[0].main()
    finally:
        for thread in threads:
            thread.join()
        blocking.configure(max_threads=1000, idle_seconds=0)
    for part in parts:
        assert part.count["ended"] == CALLERS
        assert part.count["called"] >= CALLERS * rounds
    while blocking.threads().all:
        time.sleep(0.001)  # for the last ones to end
    blocking.configure(idle_seconds=10)


def change_limits(chance, threads):
    """Changes limits while the other threads have work."""
    while any(thread.is_alive() for thread in threads):
        blocking.configure(max_threads=chance.choice([3, 10, 1000]))
        loomlet.sleep(chance.random() / 100)
    blocking.configure(max_threads=1000)
