"""loomlet.Lock serves tasklets and OS threads alike, first come, first served."""

import sys
import threading

import pytest

import loomlet
from loomlet import Lock, _core, schedule, spawn


def test_one_at_a_time(mode):
    """Between `with` and its end no other tasklet is inside."""
    lock, inside, most = Lock(), [], []

    def work(name):
        for _ in range(3):
            with lock:
                inside.append(name)
                most.append(len(inside))
                schedule()
                inside.remove(name)

    for task in [spawn(work, name) for name in range(5)]:
        task.join()
    assert most == [1] * 15
    assert not lock.locked()


def test_first_come_first_served(mode):
    """release() hands the lock to the first waiter; no other tasklet overtakes it."""
    lock, order = Lock(), []

    def work(name):
        with lock:
            order.append(name)

    lock.acquire()
    tasks = [spawn(work, name) for name in range(10)]
    schedule()
    lock.release()
    assert lock.locked()
    for task in tasks:
        task.join()
    assert order == list(range(10))


def hard_switches():
    """The number of hard switches so far: all of them, and those caused by an instruction."""
    stats = _core.stats()
    return stats["hard"], stats["why_hard"].get("instruction", 0)


@pytest.mark.skipif(not _core.SOFT_SUPPORTED, reason="no soft switching here")
@pytest.mark.parametrize("rounds", [1, 60])
def test_a_waiting_with_block_is_soft(rounds):
    """`with lock` that has to wait keeps no C stack, cold or warm, and leaks nothing."""
    lock, before = Lock(), hard_switches()

    def work():
        for _ in range(rounds):
            with lock as got:
                assert got is True
                schedule()

    count = sys.getrefcount(lock)
    tasks = [spawn(work) for _ in range(3)]
    for task in tasks:
        task.join()
    del tasks, task
    hard, inside_instructions = (
        now - then for now, then in zip(hard_switches(), before, strict=True)
    )
    assert hard <= 2 * rounds * 3 + 9
    assert inside_instructions == 0
    assert sys.getrefcount(lock) == count


def test_an_exception_reaches_a_waiter(mode):
    """A waiter that is thrown into leaves the queue; the lock passes it by."""
    lock, log = Lock(), []

    def work():
        try:
            with lock:
                log.append("inside")
        except KeyError:
            log.append("thrown")

    lock.acquire()
    task = spawn(work)
    schedule()
    task.throw(KeyError())
    lock.release()
    assert log == ["thrown"]
    assert not lock.locked()


def test_acquire_without_waiting_and_with_a_limit():
    """acquire(False) and acquire(timeout=) return False when the lock is not available."""
    _core._virtual_clock(0.0)
    try:
        lock = Lock()
        assert lock.acquire() is True
        assert lock.acquire(False) is False
        assert lock.acquire(blocking=False) is False
        task = spawn(lock.acquire, timeout=5)
        assert task.result() is False
        assert loomlet.now() == 5
        lock.release()
        assert spawn(lock.acquire, True, 5).result() is True
    finally:
        _core._virtual_clock(None)


def test_wrong_use_is_an_error():
    """The errors of threading.Lock, and a text that says what to do."""
    lock = Lock()
    with pytest.raises(RuntimeError, match=r"cannot release <.*>: it is not held"):
        lock.release()
    with pytest.raises(ValueError):
        lock.acquire(False, 1)
    with pytest.raises(ValueError):
        lock.acquire(True, -2)
    with pytest.raises(TypeError):
        lock.acquire(1, 2, 3)
    with pytest.raises(TypeError):
        Lock(1)


def test_between_threads():
    """Two OS threads and tasklets count together without losing one."""
    lock, total = Lock(), [0]

    def add():
        for _ in range(500):
            with lock:
                value = total[0]
                schedule()
                total[0] = value + 1

    def thread():
        for task in [spawn(add) for _ in range(2)]:
            task.join()

    threads = [threading.Thread(target=thread) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert total == [2000]


def test_threads_that_end_keep_nothing_of_a_with():
    """What a thread keeps for its next `with` goes with it."""
    lock = Lock()

    def use():
        with lock, Lock():
            pass

    def run_threads(count):
        for _ in range(count):
            thread = threading.Thread(target=use)
            thread.start()
            thread.join()
        return sys.getallocatedblocks()

    before = run_threads(20)
    assert run_threads(200) - before < 200
