"""queue.SimpleQueue, which is written in C, lets other tasklets run while it is empty."""

import gc
import importlib
import queue
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers_ending_waits import end_each_way

import loomlet
from loomlet import patch
from loomlet.testing import assert_no_leaks


@pytest.fixture
def items():
    """An empty queue."""
    return queue.SimpleQueue()


@pytest.fixture(params=["put", "put_nowait"])
def put(request):
    """Each way to put something."""
    return lambda items, item: getattr(items, request.param)(item)


def test_a_getter_waits(mode, items, put):
    """Until something is put; it shows what it waits for."""
    task = loomlet.spawn(items.get)
    loomlet.schedule()
    assert (task.waiting_in, task.waiting_for) == ("get", items)
    put(items, "x")
    assert task.result() == "x"


def test_available_items_are_got_at_once(items):
    """In the order in which it was put."""
    for number in range(3):
        items.put(number)
    task = loomlet.spawn(lambda: [items.get(), items.get(True), items.get(timeout=5)])
    loomlet.schedule()
    assert task.state == "done"
    assert task.result() == [0, 1, 2]
    assert items.empty()
    assert items.qsize() == 0


def test_first_come_first_served(items):
    """Each getter gets one."""
    tasks = [loomlet.spawn(items.get) for _ in range(100)]
    loomlet.schedule()
    for number in range(100):
        items.put(number)
    assert [task.result() for task in tasks] == list(range(100))


def test_timeouts(clock, items):
    """Empty when the time is over; zero does not wait; an item that arrives in time is returned."""

    def late(seconds):
        with pytest.raises(queue.Empty):
            items.get(timeout=seconds)
        return clock()

    assert loomlet.spawn(late, 5).result() == 5.0
    assert loomlet.spawn(late, 0).result() == 5.0
    task = loomlet.spawn(items.get, True, 10)
    loomlet.spawn(lambda: (loomlet.sleep(1), items.put("x")))
    assert task.result() == "x"
    assert clock() == 6.0


def test_a_call_that_must_not_wait_does_not(items, caught):
    """Empty at once."""
    for call in (items.get_nowait, lambda: items.get(False), lambda: items.get(block=False)):
        task = caught(call)
        loomlet.schedule()
        assert task.state == "done"
        assert isinstance(task.result(), queue.Empty)


WRONG = {
    "below zero": lambda q: q.get(timeout=-1),
    "a text": lambda q: q.get(True, "1"),
    "too many": lambda q: q.get(True, 1, 2),
    "an unknown name": lambda q: q.get(other=1),
    "nothing to put": lambda q: q.put(),
    "too large": lambda q: q.get(timeout=1e30),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG.keys())
def test_errors_are_those_of_the_original(items, call):
    """Type and text."""
    patch.uninstall()
    with pytest.raises(Exception) as stock:
        call(items)
    patch.install()
    with pytest.raises(stock.type) as ours:
        loomlet.spawn(call, items).result()
    assert str(ours.value) == str(stock.value)


def test_a_wait_can_be_ended(mode, clock, items, caught):
    """By a kill, a throw or a timeout; an item put afterwards goes to the next getter."""
    end_each_way(caught, items.get, seconds=5)
    items.put("x")
    assert loomlet.spawn(items.get).result() == "x"


def test_a_getter_that_is_ended_in_time_leaves_the_item(items):
    """A getter that was woken and is killed before it runs loses nothing."""
    tasks = [loomlet.spawn(items.get) for _ in range(3)]
    loomlet.schedule()
    items.put("x")
    tasks[0].kill()
    assert tasks[1].result() == "x"
    tasks[2].kill()


def test_threads_and_tasklets_share_a_queue(items):
    """Every item put is taken exactly once, by any thread."""
    got = []

    def take(count):
        for _ in range(count):
            got.append(items.get())

    def give(first):
        for number in range(first, first + 100):
            items.put(number)
            time.sleep(0)  # the others take turns

    threads = [threading.Thread(target=take, args=(100,)) for _ in range(2)]
    threads += [threading.Thread(target=give, args=(first,)) for first in (0, 100)]
    for thread in threads:
        thread.start()
    tasks = [loomlet.spawn(take, 100) for _ in range(2)]
    tasks += [loomlet.spawn(give, first) for first in (200, 300)]
    for task in tasks:
        task.join()
    for thread in threads:
        thread.join()
    assert sorted(got) == list(range(400))


def test_a_thread_wakes_a_tasklet(items):
    """Whose thread sleeps meanwhile."""
    task = loomlet.spawn(items.get)
    loomlet.schedule()
    thread = threading.Thread(target=items.put, args=("x",))
    thread.start()
    assert task.result() == "x"
    thread.join()


def test_finalizers_may_put(items):
    """put() is called inside get(), inside a collection, and by weak references."""

    class Last:
        def __del__(self):
            items.put("finalizer")

    class Cycle:
        def __init__(self):
            self.me = self
            self.last = Last()

    task = loomlet.spawn(lambda: [items.get() for _ in range(3)])
    loomlet.schedule()
    one = Last()
    watched = Cycle()
    reference = weakref.ref(watched, lambda _: items.put("reference"))
    del one, watched
    gc.collect()
    assert sorted(task.result()) == ["finalizer", "finalizer", "reference"]
    del reference


def test_an_executor_takes_its_work_from_one(busy):
    """Tasklets give work to threads, and wait for it, while others run."""
    with ThreadPoolExecutor(2) as pool:

        def body(number):
            return pool.submit(pow, number, 2).result()

        tasks = [loomlet.spawn(body, number) for number in range(50)]
        assert [task.result() for task in tasks] == [number**2 for number in range(50)]


def test_waiting_tasklets_continue_after_uninstall(items):
    """In the middle of a call."""
    task = loomlet.spawn(items.get)
    loomlet.schedule()
    patch.uninstall()
    items.put("x")
    assert task.result() == "x"


def test_a_getter_without_a_possible_putter_is_a_deadlock(python):
    """It shows it, as for a channel."""
    done = python("""
        import queue
        import loomlet
        from loomlet import patch
        patch.install()
        def main():
            try:
                loomlet.spawn(queue.SimpleQueue().get).join()
            except loomlet.Deadlock as error:
                print("get" in str(error))
        loomlet.run(main)
    """)
    assert (done.stderr, done.stdout) == ("", "True\n")


def test_both_processes_continue_after_a_fork(python):
    """Each process has a queue of its own."""
    done = python(
        """
        import os, queue
        import loomlet
        from loomlet import patch
        patch.install()
        items = queue.SimpleQueue()
        def main():
            task = loomlet.spawn(items.get)
            loomlet.schedule()
            child = os.fork()
            items.put(child)
            assert task.result() == child
            if not child:
                os._exit(0)
            assert os.waitpid(child, 0) == (child, 0)
        loomlet.run(main)
        print("good")
    """,
        PYTHONWARNINGS="ignore",  # of a fork beside the monitor thread
    )
    assert (done.stderr, done.stdout) == ("", "good\n")


def test_a_derived_class_is_one_too():
    """It inherits the cooperative methods."""

    class Mine(queue.SimpleQueue):
        pass

    items = Mine()
    task = loomlet.spawn(items.get)
    loomlet.schedule()
    items.put(1)
    assert task.result() == 1


def test_nothing_is_left(items, caught):
    """After hundreds of waits, ended in each way."""

    def rounds():
        for _ in range(300):
            killed, task = caught(items.get), loomlet.spawn(items.get)
            late = caught(queue.SimpleQueue().get, True, 0.00001)
            loomlet.schedule()
            killed.kill()
            items.put("x")
            assert task.result() == "x"
            assert isinstance(late.result(), queue.Empty)

    rounds()
    with assert_no_leaks():
        rounds()


def test_queues_of_a_second_copy_of_the_module_wait_too(monkeypatch):
    """Its queues have the same methods, but an exception Empty of their own."""
    monkeypatch.delitem(sys.modules, "_queue")
    copy = importlib.import_module("_queue")
    assert copy.Empty is not queue.Empty
    items = copy.SimpleQueue()
    task = loomlet.spawn(items.get)
    loomlet.schedule()
    assert task.waiting_in == "get"
    items.put("x")
    assert task.result() == "x"
    with pytest.raises(copy.Empty):
        items.get(timeout=0.001)
    with pytest.raises(copy.Empty):
        items.get(block=False)
