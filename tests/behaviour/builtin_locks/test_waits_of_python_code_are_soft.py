"""A tasklet that waits for a lock of threading keeps no C stack, where Python code waits."""

import _thread
import contextlib
import queue
import threading

import pytest

import loomlet
from loomlet import schedule, spawn

WAYS = {
    "plain": lambda lock: lock.acquire(),
    "positional": lambda lock: lock.acquire(True, 1000),
    "blocking=": lambda lock: lock.acquire(blocking=True),
    "timeout=": lambda lock: lock.acquire(timeout=1000),
    "both": lambda lock: lock.acquire(True, timeout=1000),
    "by the type": lambda lock: type(lock).acquire(lock),
    "__enter__": lambda lock: lock.__enter__(),
}
MAKE = pytest.mark.parametrize("make", [threading.Lock, threading.RLock])


def acquires(acquire):
    """A function that takes the lock so, and releases it."""

    def work(lock):
        assert acquire(lock) is True
        lock.release()

    return work


def enters(lock):
    with lock:
        pass


def pass_on(work, lock, switches):
    """Three tasklets wait for a held lock and get it in turn: how many soft and hard switches."""

    def hold():
        lock.acquire()
        tasks = [spawn(work, lock) for _ in range(3)]
        schedule()
        lock.release()
        for task in tasks:
            task.join()

    holder = spawn(hold)
    schedule()
    switches.take()
    holder.join()
    return switches.take()


@MAKE
@pytest.mark.parametrize("acquire", WAYS.values(), ids=WAYS)
def test_acquire_is_soft(make, acquire, switches):
    """Each form of the call."""
    soft, hard = pass_on(acquires(acquire), make(), switches)
    assert soft > 3
    assert hard <= 1  # of main, which joins


@MAKE
def test_with_is_soft(make, switches):
    """On each version."""
    soft, hard = pass_on(enters, make(), switches)
    assert soft > 3
    assert hard <= 1


@MAKE
def test_the_methods_of_with_are_those_of_the_type(make):
    """To all code but a `with` statement: bound, unbound and called."""
    lock = make()
    kinds = {type(vars(object)["__dir__"].__get__(lock)), type("".join)}
    assert type(lock.__enter__) in kinds
    assert lock.__exit__.__self__ is lock
    assert lock.__enter__.__name__ == type(lock).__enter__.__name__ == "__enter__"
    assert lock.__enter__() is True
    assert type(lock).__exit__(lock, None, None, None) is None
    with pytest.raises(TypeError):
        type(lock).__enter__(1)
    with contextlib.ExitStack() as stack:
        assert stack.enter_context(lock) is True
        assert not lock.acquire(False) or make is threading.RLock


def test_the_old_name_too(switches):
    """acquire_lock() is the same method."""
    lock = _thread.allocate_lock()
    lock.acquire()
    waiter = spawn(lambda: lock.acquire_lock())
    spawn(lock.release)
    switches.take()
    assert waiter.result() is True
    assert switches.take()[1] <= 1


def test_queues_and_events(switches):
    """What threading and queue are made of."""
    line, event = queue.Queue(1), threading.Event()

    def put():
        for number in range(20):
            line.put(number)
        event.set()

    def get():
        return [line.get() for _ in range(20)]

    getter, waiter = spawn(get), spawn(lambda: event.wait(1000))
    spawn(put)
    switches.take()
    assert getter.result() == list(range(20))
    assert waiter.result() is True
    soft, hard = switches.take()
    assert soft > 20
    assert hard <= 2  # of main, which joins


def test_a_time_limit(clock, switches):
    """The call returns False, and the next release finds no waiter."""
    lock = threading.Lock()
    lock.acquire()
    task = spawn(lambda: lock.acquire(timeout=3))
    assert task.result() is False
    assert loomlet.now() == 3
    lock.release()
    assert lock.acquire(timeout=0)


WRONG = [
    (lambda lock: lock.acquire(timeout=-2), ValueError),
    (lambda lock: lock.acquire(False, timeout=1), ValueError),
    (lambda lock: lock.acquire(True, 1, 1), TypeError),
    (lambda lock: lock.acquire(wrong=1), TypeError),
    (lambda lock: lock.acquire(True, blocking=True), TypeError),
    (lambda lock: lock.acquire(timeout="x"), TypeError),
    (lambda lock: lock.acquire(timeout=1e30), OverflowError),
    (lambda lock: type(lock).acquire(), TypeError),
    (lambda lock: type(lock).acquire(1), TypeError),
]


@MAKE
@pytest.mark.parametrize(("call", "error"), WRONG)
def test_wrong_arguments_are_the_original_s_errors(make, call, error, caught):
    """And the lock stays free."""
    lock = make()
    assert isinstance(caught(call, lock).result(), error)
    assert spawn(lambda: lock.acquire(timeout=0)).result() is True


def test_threads_that_replace_the_methods_at_once(python):
    """Each begins its first slices: the original is kept, and threads without tasklets call it."""
    done = python(
        """
        import threading
        from loomlet import _core

        together, lock = threading.Barrier(8), threading.Lock()

        def begin():
            together.wait()
            _core._patch_builtin_locks()
            for _ in range(100):
                assert lock.acquire()
                lock.release()

        threads = [threading.Thread(target=begin) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print("all")
        """
    )
    assert (done.returncode, done.stdout) == (0, "all\n"), done.stderr
