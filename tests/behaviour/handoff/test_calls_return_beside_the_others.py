"""Calls that return at any moment, while others run: what both touch is whole.

Without a GIL the ends of such calls run beside the other tasklets; with one, between them.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import threading
import weakref

import pytest

import loomlet
from loomlet import Channel, TaskletExit, patch, schedule, sleep, spawn

usleep = ctypes.CDLL(None).usleep
SLICE = 0.0003
COUNT = 20
ROUNDS = 15


@pytest.fixture
def threads():
    """Threads are tasklets."""
    patch.install(threads=True)
    yield
    patch.uninstall()


def run(main):
    """Inside run(), with handoff and slices that are over before most calls are."""
    return loomlet.run(main, slice=SLICE, handoff=True)


def sit_often(n: int, rounds: int = ROUNDS) -> int:
    for at in range(rounds):
        usleep(500 + 37 * n + 11 * at)
    return n


def results(tasks) -> list[int]:
    return [task.result() for task in tasks]


def test_frames_are_read_while_calls_return():
    """Those of a tasklet that is back from its call and runs may be missing; none is wrong."""

    def main():
        tasks = [spawn(sit_often, n) for n in range(COUNT)]
        seen = set()
        while not all(task.state == "done" for task in tasks):
            for task in tasks:
                repr(task)
                seen.update(code.co_name for code, _ in task._stack())
                where = task._where()
                seen.add(where[0].co_name if where is not None else None)
            schedule()
        return seen, results(tasks)

    seen, done = run(main)
    assert done == list(range(COUNT))
    assert seen <= {"sit_often", None}


def test_frames_of_threads_are_read_while_calls_return(threads):
    """By sys._current_frames(), where threads are tasklets."""
    ended = []

    def main():
        threads = [
            threading.Thread(target=lambda n=n: ended.append(sit_often(n))) for n in range(COUNT)
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            assert all(frame.f_code is not None for frame in sys._current_frames().values())
            schedule()
        for thread in threads:
            thread.join()

    run(main)
    assert sorted(ended) == list(range(COUNT))


def test_a_collection_while_calls_return():
    """What only a sitter knows stays; what nobody knows goes."""

    class Node:
        pass

    def work(n: int) -> int:
        kept = [Node() for _ in range(10)]
        for _ in range(ROUNDS):
            lost = Node()
            lost.itself, refs = lost, [weakref.ref(node) for node in kept]
            usleep(500 + 37 * n)
            assert [ref() for ref in refs] == kept
        return n

    def main():
        tasks = [spawn(work, n) for n in range(COUNT)]
        while not all(task.state == "done" for task in tasks):
            gc.collect()
            schedule()
        return results(tasks)

    assert run(main) == list(range(COUNT))


def test_the_last_one_meets_while_all_others_wait():
    """Whoever finds nothing to run sees the call, or that it has returned: this is no deadlock."""

    def main():
        return results([spawn(sit_often, n, 1) for n in range(200)])

    def one_by_one():
        return [spawn(sit_often, n, 2).result() for n in range(100)]

    assert run(main) == list(range(200))
    assert run(one_by_one) == list(range(100))


def test_schedulers_of_two_threads_share_channels():
    """Each waits for the other's locks while calls of both are handed over."""
    there, back = Channel(), Channel()
    echoed = []

    def echo() -> None:
        for _ in range(ROUNDS):
            value = there.receive()
            usleep(600)
            back.send(value)

    def ask(n: int) -> list[int]:
        got = []
        for at in range(ROUNDS):
            there.send(n * ROUNDS + at)
            usleep(300)
            got.append(back.receive())
        return got

    def answer():
        run(lambda: results([spawn(echo) for _ in range(COUNT)]))

    other = threading.Thread(target=answer)
    other.start()
    for got in run(lambda: results([spawn(ask, n) for n in range(COUNT)])):
        echoed += got
    other.join()
    assert sorted(echoed) == list(range(COUNT * ROUNDS))


def test_objects_are_dropped_by_any_thread():
    """Each is finalized once, wherever the last reference to it goes."""
    made, dropped = [], []

    class Thing:
        def __init__(self, name: object) -> None:
            self.name = name
            made.append(name)

        def __del__(self) -> None:
            dropped.append(self.name)

    def work(n: int, given: Channel, taken: Channel) -> int:
        for at in range(ROUNDS):
            given.send(Thing((n, at)))
            usleep(500)
            taken.receive()
        return n

    def main():
        ring = [Channel(COUNT) for _ in range(COUNT)]
        tasks = [spawn(work, n, ring[n], ring[(n + 1) % COUNT]) for n in range(COUNT)]
        return results(tasks)

    assert run(main) == list(range(COUNT))
    gc.collect()
    assert len(made) == COUNT * ROUNDS
    assert sorted(dropped) == sorted(made)


@pytest.mark.filterwarnings("ignore:tasklets have survived every kill:RuntimeWarning")
def test_runs_end_while_calls_of_daemons_return(threads, monkeypatch):
    """Their thread-locals are given up by whoever comes first, and their calls meet later runs.

    Without a GIL the end may reach one behind its `with`, which nothing catches then, and again in
    the hook that is told of that.
    """
    monkeypatch.setattr(threading, "excepthook", lambda told: None)
    local = threading.local()
    returned = []

    def linger(n: int) -> None:
        local.value = n
        with contextlib.suppress(TaskletExit):
            usleep(1000 + 150 * n)
            returned.append(n)

    def main():
        for n in range(COUNT):
            threading.Thread(target=linger, args=(n,), daemon=True).start()
        sleep(0.002)

    for _ in range(ROUNDS):
        run(main)
    run(lambda: sleep(0.05))
    assert set(returned) <= set(range(COUNT))
