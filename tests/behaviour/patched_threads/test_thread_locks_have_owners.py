"""threading and queue between threads that are tasklets: the documented behaviour holds."""

import queue
import threading
import time

import pytest

import loomlet


def start(*bodies):
    """Starts a Thread for each."""
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    return threads


def join(threads):
    """Waits for all."""
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("kind", [threading.RLock, threading._PyRLock], ids=["C", "Python"])
def test_an_rlock_belongs_to_one_thread(kind):
    """Its owner enters again; another one waits, and cannot release it."""
    lock, order = kind(), []

    def first():
        with lock, lock:
            order.append("first")
            time.sleep(0.001)  # the others try meanwhile
            order.append("first ends")

    def second():
        assert not lock.acquire(blocking=False)
        with pytest.raises(RuntimeError, match="cannot release un-acquired lock"):
            lock.release()
        with lock:
            order.append("second")

    loomlet.run(lambda: join(start(first, second)))
    assert order == ["first", "first ends", "second"]


def test_a_condition_wants_its_lock():
    """wait() and notify() without the lock raise; wait_for() returns the predicate's value."""
    condition, values = threading.Condition(), []

    def wait():
        with condition:
            assert condition.wait_for(lambda: values, timeout=60)
            values.append("seen")

    def misuse():
        with pytest.raises(RuntimeError, match="cannot notify on un-acquired lock"):
            condition.notify()
        with pytest.raises(RuntimeError, match="cannot wait on un-acquired lock"):
            condition.wait()

    def main():
        threads = start(wait, misuse)
        with condition:
            assert not condition.wait(0.001)
            values.append("set")
            condition.notify_all()
        join(threads)

    loomlet.run(main)
    assert values == ["set", "seen"]


def test_an_event():
    """All waiters continue; wait() returns whether it was set in time."""
    event, seen = threading.Event(), []

    def wait():
        seen.append(event.wait(60))

    def main():
        threads = start(wait, wait)
        assert event.wait(0.001) is False
        event.set()
        join(threads)

    loomlet.run(main)
    assert seen == [True, True]


def test_a_barrier():
    """No thread passes before all have arrived; each gets its own number; the action runs once."""
    ran, numbers = [], []
    barrier = threading.Barrier(3, action=lambda: ran.append(len(numbers)))

    def body():
        for _ in range(2):
            numbers.append(barrier.wait(60))

    loomlet.run(lambda: join(start(body, body, body)))
    assert sorted(numbers) == [0, 0, 1, 1, 2, 2]
    assert len(ran) == 2
    broken = []

    def late():
        with pytest.raises(threading.BrokenBarrierError):
            barrier.wait(0.001)
        broken.append(barrier.broken)

    loomlet.run(lambda: join(start(late)))
    assert broken == [True]


def test_semaphores():
    """No more than so many are inside; a bounded one is not released too often."""
    semaphore, inside, most = threading.BoundedSemaphore(2), [], []

    def body():
        with semaphore:
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.001)  # the others come
            inside.pop()

    loomlet.run(lambda: join(start(*[body] * 10)))
    assert max(most) == 2
    with pytest.raises(ValueError, match="released too many times"):
        semaphore.release()


@pytest.mark.parametrize("kind", [queue.Queue, queue.LifoQueue, queue.PriorityQueue])
def test_queues_between_producers_and_consumers(kind):
    """All items come through a queue of one place; join() waits for task_done()."""
    items, got = kind(maxsize=1), []

    def produce():
        for n in range(50):
            items.put(n)

    def consume():
        while (item := items.get()) >= 0:
            got.append(item)
            items.task_done()

    def main():
        consumers, producers = start(consume, consume), start(produce, produce)
        join(producers)
        items.join()
        items.put(-1)
        items.put(-1)
        join(consumers)

    loomlet.run(main)
    assert sorted(got) == sorted([*range(50)] * 2)
