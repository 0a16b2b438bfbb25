"""Queues, locks and futures for tasklets and threads; the GIL, the heap, kept exceptions."""

from typing import assert_type

from loomlet import gil, heap
from loomlet.observe import KeptException, doctor
from loomlet.sync import (
    Barrier,
    BoundedSemaphore,
    Condition,
    CustomQueue,
    Empty,
    Event,
    Full,
    Future,
    LifoQueue,
    Lock,
    PriorityQueue,
    Queue,
    RLock,
    RWLock,
    Semaphore,
    ShutDown,
    SimpleQueue,
)


class Unique(CustomQueue[str]):
    def _put(self, item: str) -> None:
        if item not in self.queue:
            super()._put(item)


def queues() -> None:
    queue: Queue[int] = Queue(10)
    queue.put(1, timeout=0.5)
    assert_type(queue.get(block=False), int)
    assert_type(queue.full(), bool)
    for other in (LifoQueue[int](), PriorityQueue[int](2), SimpleQueue[int]()):
        try:
            assert_type(other.get_nowait(), int)
        except (Empty, Full, ShutDown):
            other.put_nowait(2)
    names = Unique()
    names.put("a")
    assert_type(names.get(), str)
    queue.maxsize = 0
    queue.task_done()
    queue.join()
    queue.shutdown(immediate=True)


def locks() -> None:
    lock, both = RLock(), RWLock()
    with lock, Lock(), Condition(lock) as held, BoundedSemaphore(2), Semaphore():
        assert_type(held, bool)
    with both.reading:
        assert_type(both.writing.acquire(timeout=0.1), bool)
    Event().set()
    assert_type(Barrier(1).wait(), int)
    future: Future[int] = Future()
    future.set_result(1)
    assert_type(future.result(), int)


def process() -> None:
    gil.prioritise_io(share=0.3)
    status: gil.GilStatus = gil.status()
    assert_type(status.asked, int)
    gil.restore()
    stats: heap.Stats = heap.stats()
    assert_type(stats["stacks"], int)
    heap.trim()
    kept: list[KeptException] = doctor()
    assert_type([one.message for one in kept], list[str])
