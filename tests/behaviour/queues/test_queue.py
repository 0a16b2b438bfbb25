"""The queues of loomlet.sync hand each item to one receiver, in order, and lose none.

Tasklets and OS threads use the same object.
"""

import gc
import time
import weakref

import pytest
from helpers_workers import BOTH_KINDS

import loomlet
from loomlet import Deadlock, schedule, spawn
from loomlet.sync import (
    CustomQueue,
    Empty,
    Full,
    LifoQueue,
    PriorityQueue,
    Queue,
    ShutDown,
    SimpleQueue,
)
from loomlet.testing import explore, virtual_clock

FIFO = [Queue, CustomQueue]
BOUNDED = [*FIFO, LifoQueue, PriorityQueue]
ALL = [*BOUNDED, SimpleQueue]


@pytest.mark.parametrize(
    ("kind", "order"),
    [
        *((kind, [3, 1, 2]) for kind in (Queue, SimpleQueue, CustomQueue)),
        (LifoQueue, [2, 1, 3]),
        (PriorityQueue, [1, 2, 3]),
    ],
)
def test_order(kind, order):
    queue = kind()
    for item in (3, 1, 2):
        queue.put(item)
    assert (queue.qsize(), queue.empty(), queue.full()) == (3, False, False)
    assert [queue.get() for _ in range(3)] == order
    assert queue.empty()


@pytest.mark.parametrize("kind", ALL)
def test_a_long_ring_keeps_its_order(kind):
    """It grows while its first item lies anywhere."""
    queue, found = kind(), []
    for size in range(1, 60):
        for item in range(size):
            queue.put(item)
        found.append(sorted(queue.get() for _ in range(size)))
    assert found == [list(range(size)) for size in range(1, 60)]


@pytest.mark.parametrize("kind", BOUNDED)
def test_a_full_queue_lets_nothing_in(mode, kind):
    queue, log = kind(2), []

    def put(item):
        queue.put(item)
        log.append(item)

    tasks = [spawn(put, item) for item in range(4)]
    schedule()
    assert (log, queue.qsize(), queue.full()) == ([0, 1], 2, True)
    found = sorted(queue.get() for _ in range(4))
    for task in tasks:
        task.join()
    assert (found, log) == ([0, 1, 2, 3], [0, 1, 2, 3])


@pytest.mark.parametrize("kind", [Queue, LifoQueue, SimpleQueue])
def test_who_waits_first_gets_the_first_item(mode, kind):
    """Not even one that comes between the put() and its turn overtakes it."""
    queue, log = kind(), []

    def get(name):
        log.append((name, queue.get()))

    tasks = [spawn(get, name) for name in "abc"]
    schedule()
    for item in range(3):
        queue.put(item)
    with pytest.raises(Empty):
        queue.get(block=False)
    for task in tasks:
        task.join()
    assert log == [("a", 0), ("b", 1), ("c", 2)]


@pytest.mark.parametrize("kind", ALL)
def test_the_time_is_over(mode, kind):
    queue = kind()
    with virtual_clock():
        begin = loomlet.now()
        with pytest.raises(Empty):
            queue.get(timeout=3)
        assert loomlet.now() == begin + 3
    for get in (queue.get_nowait, lambda: queue.get(False), lambda: queue.get(timeout=0)):
        with pytest.raises(Empty):
            get()
    with pytest.raises(ValueError, match="timeout of 0 or more"):
        queue.get(timeout=-1)


@pytest.mark.parametrize("kind", BOUNDED)
def test_no_room_in_time(mode, kind):
    queue = kind(1)
    queue.put(1)
    with virtual_clock():
        begin = loomlet.now()
        with pytest.raises(Full):
            queue.put(2, timeout=3)
        assert loomlet.now() == begin + 3
    for put in (
        queue.put_nowait,
        lambda item: queue.put_nowait(item=item),
        lambda item: queue.put(item, False),
    ):
        with pytest.raises(Full):
            put(2)
    with pytest.raises(ValueError, match="timeout of 0 or more"):
        queue.put(2, timeout=-1)
    assert queue.get() == 1
    assert queue.unfinished_tasks == 1


@pytest.mark.parametrize("kind", [Queue, LifoQueue, SimpleQueue])
@pytest.mark.parametrize("others", [0, 1])
def test_an_item_that_is_not_taken_is_not_lost(mode, kind, others):
    """It was handed to a tasklet that is killed before it runs: the next one has it."""
    queue, log = kind(), []

    def get(name):
        log.append((name, queue.get()))

    tasks = [spawn(get, name) for name in range(1 + others)]
    schedule()
    queue.put("first")
    tasks[0].kill()
    queue.put("second")
    for task in tasks[1:]:
        task.join()
    left = [queue.get() for _ in range(queue.qsize())]
    assert log == [(1, "first")] * others
    assert sorted(left) == ["first", "second"][others:]
    assert left == (left if kind is LifoQueue else sorted(left))


@pytest.mark.parametrize("kind", BOUNDED)
def test_who_gives_up_puts_nothing(mode, kind):
    queue = kind(1)
    queue.put(1)
    waiting = [spawn(queue.put, item) for item in (2, 3)]
    schedule()
    waiting[0].kill()
    assert [queue.get(), queue.get()] == [1, 3]
    waiting[1].join()
    assert queue.empty()
    assert queue.unfinished_tasks == 2


@pytest.mark.parametrize("kind", BOUNDED)
def test_more_room_lets_those_in_that_wait(mode, kind):
    queue = kind(1)
    queue.put(0)
    waiting = [spawn(queue.put, item) for item in (1, 2)]
    schedule()
    queue.maxsize = 0
    assert sorted(queue.get() for _ in range(3)) == [0, 1, 2]
    for task in waiting:
        task.join()
    assert queue.maxsize == 0


@pytest.mark.parametrize("kind", BOUNDED)
def test_tasks(mode, kind):
    queue, log = kind(), []

    def work():
        while (item := queue.get()) is not None:
            log.append(item)
            schedule()
            queue.task_done()

    task = spawn(work)
    for item in range(4):
        queue.put(item)
    queue.join()
    assert sorted(log) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="more often than items were put"):
        queue.task_done()
    queue.join()
    task.kill()


@pytest.mark.parametrize("kind", BOUNDED)
def test_shutdown(mode, kind):
    """What is there is still given; those that wait for more, or for room, get ShutDown."""
    empty, full, log = kind(), kind(1), []

    def log_refusal(call, *args):
        try:
            call(*args)
        except ShutDown:
            log.append(call.__name__)

    tasks = [spawn(log_refusal, empty.get), spawn(log_refusal, full.put, 2)]
    full.put(1)
    schedule()
    for queue in (empty, full):
        queue.shutdown()
        assert queue.is_shutdown
    for task in tasks:
        task.join()
    assert sorted(log) == ["get", "put"]
    assert full.get() == 1
    for call in (full.get, lambda: full.put(3), empty.get_nowait):
        with pytest.raises(ShutDown):
            call()


@pytest.mark.parametrize("kind", BOUNDED)
def test_shutdown_at_once(mode, kind):
    """What is there is dropped and counts as done: who waits for the last task goes on."""
    queue = kind()
    for item in range(3):
        queue.put(item)
    queue.get()
    joining = spawn(queue.join)
    schedule()
    queue.shutdown(immediate=True)
    assert queue.empty()
    assert joining.state == "blocked"
    queue.task_done()
    joining.join()


def work_through(queue, producers, consumers, spawn_one):
    """Each item is taken once."""
    found, many = [], 300

    def produce(first):
        for item in range(first, first + many):
            queue.put(item)

    def consume():
        while (item := queue.get()) >= 0:
            found.append(item)
            queue.task_done()

    ends = [spawn_one(consume) for _ in range(consumers)]
    begun = [spawn_one(produce, many * at) for at in range(producers)]
    for end in begun:
        end()
    queue.join()
    for _ in ends:
        queue.put(-1)
    for end in ends:
        end()
    assert sorted(found) == list(range(many * producers))


@pytest.mark.parametrize("kind", FIFO)
@pytest.mark.parametrize("most", [0, 3])
@pytest.mark.parametrize("spawn_one", BOTH_KINDS.values(), ids=BOTH_KINDS)
def test_many_at_once(kind, most, spawn_one):
    """Threads, tasklets, and both."""
    work_through(kind(most), 3, 3, spawn_one)


@pytest.mark.parametrize("kind", BOUNDED)
def test_any_order_of_turns(kind):
    """No run order loses an item or leaves somebody waiting."""

    def test():
        queue, items = kind(1), []
        getting = [spawn(lambda: items.append(queue.get())) for _ in range(3)]
        putting = [spawn(queue.put, item) for item in range(3)]
        schedule()
        getting[2].kill()
        queue.maxsize = 0
        for task in [*getting[:2], *putting]:
            task.join()
        items += [queue.get() for _ in range(queue.qsize())]
        assert sorted(items) == [0, 1, 2]

    explore(test, seeds=range(40))


@pytest.mark.parametrize("kind", ALL)
def test_nobody_is_left_to_put(kind):
    with pytest.raises(Deadlock, match="in test_nobody_is_left_to_put"):
        kind().get()


@pytest.mark.parametrize("kind", [Queue, SimpleQueue])
def test_garbage(kind):
    """A queue in itself, and one that somebody waits for whom nothing can wake."""

    class Marked:
        pass

    queue, mark = kind(), Marked()
    queue.put(queue)
    queue.put(mark)
    gone = weakref.ref(mark)
    del queue, mark
    gc.collect()
    assert gone() is None


def test_what_is_dropped_may_use_the_queue():
    queue, log = Queue(), []

    class Item:
        def __del__(self):
            log.append(queue.qsize())

    for _ in range(3):
        queue.put(Item())
    queue.shutdown(immediate=True)
    assert log == [2, 1, 0]


def test_own_hooks_need_a_custom_queue():
    with pytest.raises(TypeError, match=r"subclass of loomlet\.sync\.CustomQueue"):

        class Wrong(Queue):
            def _put(self, item):
                raise AssertionError


def test_a_queue_without_doubles():
    """What a subclass of queue.Queue does, a CustomQueue can do."""

    class Unique(CustomQueue):
        def _init(self, maxsize):
            self.queue = {}

        def _put(self, item):
            self.queue[item] = None

        def _get(self):
            item = next(iter(self.queue))
            del self.queue[item]
            return item

    queue = Unique()
    for item in "abab":
        queue.put(item)
    assert [queue.get(), queue.get()] == ["a", "b"]
    assert queue.empty()


def test_a_hook_that_fails_changes_nothing():
    class Failing(CustomQueue):
        fails = False

        def _put(self, item):
            if self.fails:
                raise OSError("no")
            super()._put(item)

    queue = Failing(1)
    queue.fails = True
    with pytest.raises(OSError, match="no"):
        queue.put(1)
    queue.fails = False
    queue.put(2, block=False)
    assert (queue.get(), queue.unfinished_tasks) == (2, 1)


def test_items_of_an_order_may_be_compared_by_any_code():
    """Its tasklet may wait while it compares; the queue is locked meanwhile."""

    class Slow:
        def __init__(self, value):
            self.value = value

        def __lt__(self, other):
            time.sleep(0)
            schedule()
            return self.value < other.value

    queue = PriorityQueue()
    tasks = [spawn(queue.put, Slow(value)) for value in (3, 1, 2)]
    for task in tasks:
        task.join()
    assert [queue.get().value for _ in range(3)] == [1, 2, 3]


def test_killed_after_its_item_found_room():
    """put() raises, and the item is in the queue."""
    queue, log = Queue(1), []

    def put():
        try:
            queue.put("second")
        finally:
            log.append(queue.qsize())

    queue.put("first")
    task = spawn(put)
    schedule()
    assert queue.get() == "first"
    task.kill()
    assert log == [1]
    assert queue.get_nowait() == "second"
    with pytest.raises(Empty):
        queue.get_nowait()
