"""Queues of loomlet.sync in a frozen tasklet, held and waited for: with their items."""

import threading

import pytest
from helpers_frozen_tasklets import held, through

import loomlet
from loomlet import spawn
from loomlet.sync import (
    BoundedSemaphore,
    CustomQueue,
    Empty,
    LifoQueue,
    PriorityQueue,
    Queue,
    ShutDown,
    SimpleQueue,
)

pytestmark = pytest.mark.usefixtures("switches")


class Named(Queue):
    """A subclass with an attribute."""


class Unique(CustomQueue):
    """A queue that keeps its items in its own way."""

    def __init__(self, name):
        super().__init__(3)
        self.name = name

    def _put(self, item):
        if item not in self.queue:
            super()._put(item)


def drained(queue):
    return [queue.get_nowait() for _ in range(queue.qsize())]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(Queue, [2, 3, 1]), (LifoQueue, [1, 3, 2]), (PriorityQueue, [1, 2, 3])],
)
def test_a_queue_with_items_and_tasks(kind, expected):
    queue = kind(7)
    for item in (0, 2, 3, 1):
        queue.put(item)
        if item == 0:
            queue.get()
            queue.task_done()
    again = held(queue)
    assert (type(again), again.maxsize, again.unfinished_tasks) == (kind, 7, 3)
    assert drained(again) == expected
    assert queue.qsize() == 3


def test_a_simple_queue():
    queue = SimpleQueue()
    queue.put("one")
    again = held(queue)
    assert (type(again), again.get(), again.empty()) == (SimpleQueue, "one", True)


def test_a_queue_that_was_shut_down():
    queue = Queue()
    queue.put("last")
    queue.shutdown()
    again = held(queue)
    assert again.get() == "last"
    with pytest.raises(ShutDown):
        again.get()


def test_attributes_of_a_subclass():
    queue = Named(2)
    queue.name = "jobs"
    queue.put(1)
    again = held(queue)
    assert (type(again), again.name, again.get(), again.maxsize) == (Named, "jobs", 1, 2)


def test_a_queue_that_keeps_items_in_its_own_way():
    queue = Unique("jobs")
    for item in "aba":
        queue.put(item)
    again = held(queue)
    assert (again.name, drained(again)) == ("jobs", ["a", "b"])
    again.put("c")
    assert again.get(timeout=1) == "c"


def test_items_that_are_shared_with_the_frames():
    def work(queue, item):
        loomlet.schedule()
        return queue.get() is item

    queue, item = Queue(), []
    queue.put(item)
    (again,) = through(spawn(work, queue, item))
    assert again.insert().result() is True


def test_waiting_for_an_item():
    def get(queue):
        return queue.get(timeout=60)

    def put(queue):
        loomlet.schedule()
        queue.put("item")

    queue = Queue()
    gets, puts = through(spawn(get, queue), spawn(put, queue))
    assert gets.state == "blocked"
    puts.insert()
    assert gets.result() == "item"


def test_waiting_for_an_item_with_a_limit_that_passes():
    def get(queue):
        try:
            return queue.get(timeout=0.01)
        except Empty:
            return "none came"

    (again,) = through(spawn(get, Queue()))
    assert again.result() == "none came"


def test_waiting_until_there_is_room():
    def put(queue):
        for item in range(3):
            queue.put(item)
        return "all put"

    def get(queue):
        loomlet.schedule()
        return [queue.get() for _ in range(3)]

    queue = Queue(1)
    puts, gets = through(spawn(put, queue), spawn(get, queue))
    assert puts.state == "blocked"
    gets.insert()
    assert (gets.result(), puts.result()) == ([0, 1, 2], "all put")


def test_waiting_until_all_tasks_are_done():
    def boss(queue):
        queue.put("job")
        queue.join()
        return queue.unfinished_tasks

    def worker(queue):
        loomlet.schedule()
        queue.get()
        queue.task_done()

    queue = Queue()
    joins, works = through(spawn(boss, queue), spawn(worker, queue))
    assert joins.state == "blocked"
    works.insert()
    assert joins.result() == 0


def test_those_that_wait_come_along_as_partners_in_their_order():
    def work(queue, results):
        results.append((queue.get(), loomlet.current().name))

    def boss(queue, results):
        loomlet.schedule()
        for item in range(3):
            queue.put(item)
        while len(results) < 3:
            loomlet.schedule()
        return results

    queue, results = Queue(), []
    workers = [spawn(work, queue, results) for _ in range(3)]
    for number, task in enumerate(workers):
        task.name = f"worker {number}"
    boss_of_them = spawn(boss, queue, results)
    (again,) = through(boss_of_them, with_partners=True)
    for task in workers:
        task.discard()
    assert again.insert().result() == [(n, f"worker {n}") for n in range(3)]


def test_without_partners_those_that_wait_stay():
    queue, seen = Queue(), []
    stays = spawn(lambda: seen.append(queue.get()))
    again = held(queue)
    again.put(1)
    assert (again.qsize(), stays.state, seen) == (1, "blocked", [])
    queue.put(2)
    stays.join()
    assert seen == [2]


def test_a_plain_thread_that_waits_stays_behind():
    queue, seen = Queue(), []
    thread = threading.Thread(target=lambda: seen.append(queue.get()))
    thread.start()
    again = held(queue)
    again.put(1)
    assert again.qsize() == 1
    queue.put(2)
    thread.join()
    assert seen == [2]


def test_a_clone_shares_the_queue():
    def work(queue):
        return queue.get()

    queue = Queue()
    task = spawn(work, queue)
    loomlet.schedule()
    copy = loomlet.clone(task)
    queue.put(1)
    queue.put(2)
    assert (task.result(), copy.result()) == (1, 2)


def test_a_bounded_semaphore():
    semaphore = BoundedSemaphore(2)
    semaphore.acquire()
    again = held(semaphore)
    again.release()
    assert (type(again), again.value) == (BoundedSemaphore, 2)
    with pytest.raises(ValueError, match="permits"):
        again.release()


def test_waiting_for_a_permit_of_a_bounded_semaphore():
    def wait(semaphore):
        with semaphore:
            return "passed"

    def give(semaphore):
        loomlet.schedule()
        semaphore.release()

    semaphore = BoundedSemaphore(1)
    semaphore.acquire()
    waits, gives = through(spawn(wait, semaphore), spawn(give, semaphore))
    gives.insert()
    assert waits.result() == "passed"
