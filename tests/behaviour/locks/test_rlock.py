"""loomlet.sync.RLock: its holder may take it again, and nobody else may release it."""

import threading

import pytest

from loomlet import schedule, spawn
from loomlet.sync import BoundedSemaphore, Condition, Future, RLock


def test_its_holder_takes_it_again(mode):
    lock, log = RLock(), []

    def work(name):
        with lock:
            with lock:
                schedule()
                log.append(name)
            assert lock.locked()
            schedule()
            log.append(name)

    for task in [spawn(work, name) for name in "ab"]:
        task.join()
    assert log == ["a", "a", "b", "b"]
    assert not lock.locked()


def test_only_its_holder_releases_it(mode):
    lock = RLock()
    with pytest.raises(RuntimeError, match="not held"):
        lock.release()
    with lock, pytest.raises(RuntimeError, match="another tasklet holds it"):
        spawn(lock.release).result()
    assert not lock.locked()


def test_threads_and_tasklets():
    """A plain thread holds it as its main tasklet does."""
    lock, log = RLock(), []

    def other():
        log.append(lock.acquire(blocking=False))
        with lock, lock:
            log.append("thread")

    with lock:
        thread = threading.Thread(target=other)
        thread.start()
        task = spawn(lambda: log.append(lock.acquire(timeout=0.001)))
        task.join()
    thread.join()
    assert sorted(map(str, log)) == ["False", "False", "thread"]


def test_who_was_handed_it_and_raises_passes_it_on(mode):
    lock, log = RLock(), []

    def work(name):
        with lock, lock:
            log.append(name)

    lock.acquire()
    tasks = [spawn(work, name) for name in "ab"]
    schedule()
    lock.release()
    tasks[0].kill()
    tasks[1].join()
    assert log == ["b"]
    assert not lock.locked()


@pytest.mark.parametrize("seconds", [None, 0.001])
@pytest.mark.parametrize("lock", [None, RLock()])
def test_a_condition_gives_all_of_it_up(mode, seconds, lock):
    """And has it as often as before, notified or late."""
    condition = Condition(lock)

    def notify():
        with condition:
            condition.notify()

    with condition, condition, condition:
        task = spawn(notify) if seconds is None else None
        assert condition.wait(seconds) is (seconds is None)
    assert not condition.locked()
    with pytest.raises(RuntimeError, match="not held"):
        condition.release()
    if task is not None:
        task.join()


def test_a_wait_that_is_killed_has_it_as_often():
    condition, log = Condition(), []

    def wait():
        with condition, condition:
            try:
                condition.wait()
            finally:
                log.append(condition._depth)

    task = spawn(wait)
    schedule()
    task.kill()
    assert log == [2]
    assert not condition.locked()


def test_the_condition_of_the_standard_library_takes_it():
    lock, items = RLock(), []
    condition = threading.Condition(lock)

    def put():
        with condition:
            items.append(1)
            condition.notify()

    with condition, lock:
        thread = threading.Thread(target=put)
        thread.start()
        assert condition.wait_for(lambda: items, 60) == [1]
    thread.join()
    assert not lock.locked()


def test_a_bounded_semaphore():
    semaphore = BoundedSemaphore(2)
    with semaphore:
        assert semaphore.value == 1
    with pytest.raises(ValueError, match="max_value"):
        semaphore.release()
    assert semaphore.value == 2


@pytest.mark.parametrize("start", [spawn, lambda call: threading.Thread(target=call).start()])
def test_a_future(mode, start):
    future = Future()
    start(lambda: future.set_result(5))
    assert future.result(60) == 5
    failed = Future()
    start(lambda: failed.set_exception(KeyError("x")))
    with pytest.raises(KeyError):
        failed.result(60)
    with pytest.raises(TimeoutError):
        Future().result(0.001)
