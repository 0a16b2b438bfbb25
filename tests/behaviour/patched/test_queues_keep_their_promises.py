"""What the documentation of `queue` promises holds between tasklets, and beside threads."""

import queue
import threading

import pytest

import loomlet
from loomlet import _core
from loomlet.testing import assert_no_leaks

CLASSES = [queue.Queue, queue.LifoQueue, queue.PriorityQueue]


@pytest.fixture(params=CLASSES)
def kind(request):
    """Each class with a limit."""
    return request.param


def test_the_order_is_that_of_the_class():
    """First in first out, last in first out, lowest first; also by a getter beside the putter."""
    expected = {queue.Queue: [2, 3, 1], queue.LifoQueue: [1, 3, 2], queue.PriorityQueue: [1, 2, 3]}
    for kind, order in expected.items():
        items = kind()
        task = loomlet.spawn(lambda items=items: [items.put(number) for number in (2, 3, 1)])
        task.join()
        assert loomlet.spawn(lambda items=items: [items.get() for _ in range(3)]).result() == order


def test_get_waits_until_something_is_put(mode, kind):
    """And lets others run."""
    items = kind()
    task = loomlet.spawn(items.get)
    loomlet.schedule()
    assert task.state == "blocked"
    items.put(5)
    assert task.result() == 5


def test_put_waits_until_there_is_room(mode, kind):
    """maxsize is the upper limit; a maxsize below one means no limit."""
    items = kind(2)
    task = loomlet.spawn(lambda: [items.put(number) for number in range(3)])
    loomlet.schedule()
    assert task.state == "blocked"
    assert items.full()
    assert items.qsize() == 2
    items.get()
    task.join()
    for limit in (0, -1):
        endless = kind(limit)
        for number in range(1000):
            endless.put(number)
        assert not endless.full()


def test_timeouts(kind, caught, busy):
    """Empty and Full when the time is over; a negative one is an error."""
    items = kind(1)
    before = busy[0]
    late = 0.01  # queue measures it by the system's clock, which cannot be virtual
    assert isinstance(caught(items.get, True, late).result(), queue.Empty)
    items.put(1)
    assert isinstance(caught(items.put, 2, True, late).result(), queue.Full)
    assert busy[0] > before + 1
    for call in (lambda: items.put(2, timeout=-1), lambda: kind().get(timeout=-1)):
        assert isinstance(caught(call).result(), ValueError)


def test_without_waiting(kind, caught):
    """The _nowait forms, and block=False."""
    items = kind(1)
    for call in (items.get_nowait, lambda: items.get(False)):
        assert isinstance(caught(call).result(), queue.Empty)
    items.put_nowait(1)
    for call in (lambda: items.put_nowait(2), lambda: items.put(2, block=False)):
        assert isinstance(caught(call).result(), queue.Full)


def test_join_waits_until_all_is_done(mode, kind, caught):
    """task_done() for each item; one too many is an error."""
    items = kind()
    done = []

    def work():
        while True:
            done.append(items.get())
            loomlet.schedule()
            items.task_done()

    workers = [loomlet.spawn(work) for _ in range(3)]
    for number in range(20):
        items.put(number)
    items.join()
    assert sorted(done) == list(range(20))
    assert isinstance(caught(items.task_done).result(), ValueError)
    for worker in workers:
        worker.kill()


def test_threads_and_tasklets_share_a_queue(kind):
    """A limit of one, so that all sides wait for each other; nothing is lost or doubled."""
    items, got = kind(1), []

    def give(first):
        for number in range(first, first + 50):
            items.put(number)

    def take():
        for _ in range(50):
            got.append(items.get())

    threads = [threading.Thread(target=give, args=(0,)), threading.Thread(target=take)]
    for thread in threads:
        thread.start()
    for task in [loomlet.spawn(give, 50), loomlet.spawn(take)]:
        task.join()
    for thread in threads:
        thread.join()
    assert sorted(got) == list(range(100))


def test_a_queue_that_is_shut_down(kind, caught):
    """Waiters get ShutDown; queued items can still be taken unless immediate=True."""
    if not hasattr(kind, "shutdown"):
        pytest.skip("shutdown() came with Python 3.13")
    items, full = kind(), kind(1)
    full.put(1)
    waiting = [caught(items.get), caught(full.put, 2)]
    loomlet.schedule()
    items.shutdown()
    full.shutdown()
    assert [type(task.result()) for task in waiting] == [queue.ShutDown] * 2
    assert loomlet.spawn(full.get).result() == 1
    assert isinstance(caught(full.get).result(), queue.ShutDown)


def test_a_wait_can_be_ended(mode, clock, kind, caught):
    """By a kill, a throw or a timeout; the queue stays usable."""
    items = kind()

    def within():
        with loomlet.timeout(5):
            items.get()

    killed, thrown, scoped = caught(items.get), caught(items.get), caught(within)
    loomlet.schedule()
    killed.kill()
    thrown.throw(KeyError("x"))
    assert isinstance(thrown.result(), KeyError)
    assert isinstance(scoped.result(), TimeoutError)
    items.put(1)
    assert loomlet.spawn(items.get).result() == 1
    assert len(_core.tasklets()) == 1


def test_nothing_is_left(kind):
    """After many that wait at both ends."""

    def rounds():
        items = kind(1)
        tasks = [loomlet.spawn(items.put, number) for number in range(50)]
        tasks += [loomlet.spawn(items.get) for _ in range(50)]
        for task in tasks:
            task.join()

    rounds()
    with assert_no_leaks():
        rounds()
