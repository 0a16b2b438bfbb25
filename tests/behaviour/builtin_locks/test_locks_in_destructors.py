"""__del__ and callbacks of weak references take locks, also in the middle of a collection."""

import gc
import threading
import weakref

import pytest

import loomlet
from loomlet import schedule, spawn

MAKE = pytest.mark.parametrize("make", [threading.Lock, threading.RLock])


class Node:
    """Garbage, once it refers to itself."""

    def __init__(self, finish=None):
        self.me = self
        self.finish = finish

    def __del__(self):
        if self.finish:
            self.finish()


@MAKE
@pytest.mark.parametrize("how", ["destructor", "callback"])
def test_during_a_collection(make, how, mode):
    """The collector stands still until the holder has given the lock back."""
    lock, log = make(), []

    def finish(_=None):
        with lock:
            log.append("finished")

    def hold():
        with lock:
            schedule()
            schedule()
            log.append("held")

    def collect():
        node = Node(finish if how == "destructor" else None)
        watcher = weakref.ref(node, finish) if how == "callback" else None
        del node
        gc.collect()
        log.append("collected")
        return watcher

    tasks = [spawn(hold), spawn(collect)]
    for task in tasks:
        task.join()
    assert log == ["held", "finished", "collected"]


@MAKE
def test_where_the_last_reference_goes(make, mode):
    """A destructor that waits in one tasklet does not disturb another one that uses the object's
    class."""
    lock, log = make(), []

    def drop(name):
        node = Node(lambda: (lock.acquire(), log.append(name), schedule(), lock.release()))
        node.me = None
        del node

    with lock:
        tasks = [spawn(drop, name) for name in range(3)]
        schedule()
        assert log == []
    for task in tasks:
        task.join()
    assert log == [0, 1, 2]


def test_preempted_everywhere():
    """With a slice of one safepoint and a collection after every few objects, nothing is lost."""
    rlock, count = threading.RLock(), [0]

    def finish():
        with rlock:  # a collection may begin while its own tasklet holds it
            count[0] += 1

    def work():
        for _ in range(50):
            Node(finish)
            with rlock:
                schedule()

    def main():
        loomlet._core._slice_budget(1)
        for task in [spawn(work) for _ in range(3)]:
            task.join()

    before = gc.get_threshold()
    gc.set_threshold(5)
    thread = threading.Thread(target=loomlet.run, args=(main,), kwargs={"slice": None})
    thread.start()
    thread.join()
    gc.set_threshold(*before)
    gc.collect()
    assert count == [150]
    assert rlock.acquire(blocking=False)
