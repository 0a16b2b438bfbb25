"""Inside a switch trap a wait for a lock holds up the thread, and ends like any other."""

import threading

import pytest

import loomlet
import loomlet.compat.stackless as stackless

LOCKS = [threading.Lock, threading.RLock]
MOMENT = 0.05


@pytest.fixture
def trap():
    """No tasklet of the thread may be switched to another one, although there is one."""
    task = loomlet.spawn(loomlet.sleep, 1000)
    loomlet.schedule()
    stackless.switch_trap(1)
    yield
    stackless.switch_trap(-1)
    task.kill()


@pytest.fixture(params=LOCKS, ids=["Lock", "RLock"])
def held(request):
    """hold(seconds): a lock that another thread holds for so long; None: until the test is over."""
    threads, over = [], threading.Event()

    def hold(seconds=None):
        lock, is_held = request.param(), threading.Event()

        def holder():
            with lock:
                is_held.set()
                over.wait(seconds)

        threads.append(threading.Thread(target=holder))
        threads[0].start()
        is_held.wait()
        return lock

    yield hold
    over.set()
    for thread in threads:
        thread.join()


def test_another_thread_releases_it(held, trap):
    """The caller then holds it and can release it."""
    lock = held(MOMENT)
    assert lock.acquire() is True
    if hasattr(lock, "locked"):
        assert lock.locked()
    lock.release()
    assert lock.acquire(blocking=False) is True
    lock.release()


def test_it_is_ours_as_often_as_it_was_taken(trap):
    """An RLock counts, and another thread gets it only after the last release."""
    lock = threading.RLock()
    with lock, lock:
        pass
    taken = []
    thread = threading.Thread(target=lambda: taken.append(lock.acquire(blocking=False)))
    thread.start()
    thread.join()
    assert taken == [True]


def test_the_time_is_over(held, trap):
    """False, as always."""
    assert held().acquire(timeout=MOMENT) is False


def test_it_is_never_released(held, trap):
    """After a second without a release it is an error instead of a program that hangs."""
    with pytest.raises(loomlet.SwitchTrapped):
        held().acquire()


def test_a_tasklet_of_this_thread_holds_it(trap):
    """That is an error at once: it cannot run."""
    lock = threading.RLock()
    stackless.switch_trap(-1)
    task = loomlet.spawn(lambda: (lock.acquire(), loomlet.schedule(), lock.release()))
    loomlet.schedule()
    stackless.switch_trap(1)
    with pytest.raises(loomlet.SwitchTrapped):
        lock.acquire()
    stackless.switch_trap(-1)
    task.join()
    stackless.switch_trap(1)
