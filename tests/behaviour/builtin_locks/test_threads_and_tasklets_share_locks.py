"""One lock between OS threads, with and without tasklets, and the tasklets of a thread."""

import queue
import threading
import time

import pytest

import loomlet
from loomlet import _core, schedule, spawn

MAKE = pytest.mark.parametrize("make", [threading.Lock, threading.RLock])


def in_thread(function, *args):
    """Starts a thread and returns its join(), which gives the result."""
    results = []

    def run():
        results.append(function(*args))

    thread = threading.Thread(target=run)
    thread.start()

    def join():
        thread.join()
        return results[0]

    return join


@MAKE
def test_a_release_from_another_thread_wakes(make):
    """The waiter's thread runs its other tasklets meanwhile."""
    lock, held, go, log = make(), threading.Event(), threading.Event(), []

    def hold():
        with lock:
            held.set()
            return go.wait(20)

    def wait():
        with lock:
            log.append("got it")

    def work():
        for _ in range(5):
            schedule()
        log.append("worked")
        go.set()

    join = in_thread(hold)
    held.wait()
    tasks = [spawn(wait), spawn(work)]
    for task in tasks:
        task.join()
    assert log == ["worked", "got it"]
    assert join() is True


@MAKE
def test_a_thread_without_tasklets_is_woken(make):
    """It waits inside the lock, as CPython does, and gets it from a tasklet."""
    lock, entered = make(), threading.Event()

    def wait():
        entered.set()
        with lock:
            return "got it"

    def hold():
        with lock:
            join = in_thread(wait)
            entered.wait()
            loomlet.sleep(0.01)  # let it go to sleep in there; if it does not, nothing fails
            return join

    assert spawn(hold).result()() == "got it"


@MAKE
def test_threads_are_not_starved(make):
    """Tasklets that hand a lock to each other let a waiting thread have its turn."""
    lock, stop = make(), []

    def hand_over():
        while not stop:
            with lock:
                schedule()

    def wait():
        with lock:
            stop.append(True)

    tasks = [spawn(hand_over) for _ in range(3)]
    schedule()
    join = in_thread(wait)
    for task in tasks:
        task.join()
    join()
    assert stop == [True]


@MAKE
def test_a_thread_that_gives_up_passes_its_turn_on(make):
    """It times out just when the lock becomes free: a tasklet gets the lock."""
    lock, entered = make(), threading.Event()

    def short():
        entered.set()
        return lock.acquire(timeout=0.001) and lock.release() is None

    for _ in range(30):
        entered.clear()
        with lock:
            join = in_thread(short)
            entered.wait()
            task = spawn(lambda lock=lock: lock.acquire() and lock.release())
            loomlet.sleep(0.001)  # both are about to happen
        task.join()
        join()
        assert spawn(lock.acquire, blocking=False).result()
        assert not lock._is_owned() if make is threading.RLock else True
        lock = make()


@MAKE
def test_several_schedulers(make):
    """Tasklets of several threads and plain threads count together and lose nothing."""
    lock, count = make(), [0]

    def add():
        for _ in range(50):
            with lock:
                before = count[0]
                loomlet.schedule()
                count[0] = before + 1

    def with_tasklets():
        loomlet.run(lambda: [task.join() for task in [spawn(add) for _ in range(4)]])

    joins = [in_thread(with_tasklets) for _ in range(3)] + [in_thread(add) for _ in range(2)]
    for task in [spawn(add) for _ in range(4)]:
        task.join()
    for join in joins:
        join()
    assert count == [(3 * 4 + 2 + 4) * 50]


def test_a_queue_between_threads():
    """A tasklet gets what a thread puts, and the other way round."""
    there, back = queue.Queue(3), queue.Queue(3)

    def echo():
        while (item := there.get()) is not None:
            back.put(item)

    join = in_thread(echo)
    put = spawn(lambda: [there.put(n) for n in range(50)])
    assert [spawn(back.get).result() for _ in range(50)] == list(range(50))
    put.join()
    there.put(None)
    join()


def test_joining_a_thread_lets_others_run():
    """Thread.join() in a tasklet waits for the thread, not the tasklets beside it."""
    go, log = threading.Event(), []
    thread = threading.Thread(target=go.wait, args=(20,))
    thread.start()

    def join():
        thread.join(0.001)
        log.append(thread.is_alive())
        thread.join()
        log.append(thread.is_alive())

    def work():
        loomlet.sleep(0.01)  # later than the join that times out
        log.append("worked")
        go.set()

    tasks = [spawn(join), spawn(work)]
    for task in tasks:
        task.join()
    assert log == [True, "worked", False]


def test_a_pool_of_threads():
    """concurrent.futures: a tasklet waits for a future, the others continue."""
    from concurrent.futures import ThreadPoolExecutor

    go, log = threading.Event(), []
    with ThreadPoolExecutor(2) as pool:
        waiting = spawn(lambda: pool.submit(go.wait, 20).result())
        schedule()
        log.append(waiting.state)
        go.set()
        assert waiting.result() is True
        assert list(pool.map(abs, [-1, -2, -3])) == [1, 2, 3]
    assert log == ["blocked"]


def test_a_thread_that_is_blocked_for_long_does_not_count_as_deadlock():
    """A thread outside loomlet may still release the lock."""
    lock = threading.Lock()
    lock.acquire()

    def later():
        time.sleep(0.4)  # longer than one sleep of an idle scheduler
        lock.release()

    join = in_thread(later)
    with lock:
        assert _core.current().is_main
    join()


def test_a_thread_is_joined_under_a_virtual_clock(python):
    """It runs although the clock of its joiner jumps all the time."""
    done = python(
        """
        import gc, threading
        from loomlet import _core

        def work():
            for _ in range(10):
                gc.collect()
                sum(range(10_000))

        _core._patch_builtin_locks()
        _core._virtual_clock(0.0)
        for _ in range(3):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
