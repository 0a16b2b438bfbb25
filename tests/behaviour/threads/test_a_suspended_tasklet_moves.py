"""A paused tasklet that no C frame holds can continue in another thread."""

import gc
import os
import threading
import time

import pytest

import loomlet
from loomlet import _core, current

HARD = not _core.soft() or "switch" in os.environ.get("LOOMLET_TORTURE", "")
soft_only = pytest.mark.skipif(HARD, reason="no soft switching here, or torture makes it hard")


class Server(threading.Thread):
    """A thread that runs its tasklets and sends on those that want to move."""

    def __init__(self, start):
        super().__init__(daemon=True)
        self.start_here = start
        self.box, self.stop, self.sent = [], False, 0
        self.other = None

    def run(self):
        self.id = threading.get_ident()
        current()
        self.ready.wait()
        self.start_here()
        while not self.stop:
            loomlet.schedule()
            box, self.box = self.box, []
            for task in box:
                task.bind_thread(self.other.id)
                task.insert()
                self.sent += 1
            if not box:
                loomlet.sleep(0.0005)  # a quiet thread leaves the processor to the others


def hop(server, depth=3):
    """Pauses here, continues in the other thread; through some Python frames."""
    if depth:
        return hop(server, depth - 1)
    server.box.append(current())
    _core._pause()
    return threading.get_ident()


def travel(first, rounds, done):
    """Alternates between the threads; checks where it is after each move."""
    here, seen = first, []
    try:
        for _ in range(rounds):
            assert hop(here) == here.other.id
            here = here.other
            seen.append(here)
    finally:
        done.append(len(seen))


def journeys(tasks, rounds, collect=False):
    """`tasks` tasklets move `rounds` times each between two threads."""
    done = []
    a = Server(lambda: [loomlet.spawn(travel, a, rounds, done) for _ in range(tasks)])
    b = Server(lambda: None)
    a.other, b.other = b, a
    a.ready = b.ready = threading.Barrier(2)
    for thread in (a, b):
        thread.start()
    while len(done) < tasks and a.is_alive() and b.is_alive():
        begin = time.perf_counter()
        if collect:
            gc.collect()
        spent = time.perf_counter() - begin
        loomlet.sleep(
            max(0.001, spent)
        )  # a collection stops all threads; they continue for as long
    a.stop = b.stop = True
    a.join(), b.join()
    return done, a.sent + b.sent


@soft_only
def test_it_continues_there():
    """Twenty tasklets move fifty times each; each finds itself where it should be."""
    done, moves = journeys(20, 50)
    assert done == [50] * 20
    assert moves == 1000


@soft_only
def test_while_another_thread_collects():
    """Collections beside the moves lose nothing."""
    done, moves = journeys(10, 200, collect=True)
    assert done == [200] * 10
    assert moves == 2000


def test_one_held_by_c_code_stays():
    """A C function on its stack binds a tasklet to its thread; the error says so."""
    task = loomlet.spawn(lambda: sorted([1], key=lambda _: _core._pause()))
    loomlet.schedule()
    assert task.state == "paused"
    with pytest.raises(loomlet.TaskletError, match="has a C function on its stack"):
        task.bind_thread(threading.get_ident())
    task.kill()


def test_a_thread_without_tasklets_is_refused():
    """There must be a scheduler over there."""
    task = loomlet.spawn(_core._pause)
    task.remove()
    with pytest.raises(loomlet.WrongThread):
        task.bind_thread(1)
    task.kill()
