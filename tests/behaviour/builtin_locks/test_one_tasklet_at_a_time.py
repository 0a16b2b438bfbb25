"""Lock and RLock are held by one tasklet, although all tasklets share the OS thread."""

import threading

import pytest

from loomlet import Channel, schedule, spawn

OLD = {"Lock": threading.Lock(), "RLock": threading.RLock()}


def enter_by_with(lock):
    with lock:
        yield


def enter_by_acquire(lock):
    assert lock.acquire() is True
    yield
    lock.release()


def enter_by_old_names(lock):
    getattr(lock, "acquire_lock", lock.acquire)()
    yield
    getattr(lock, "release_lock", lock.release)()


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock, lambda: OLD["Lock"],
                                  lambda: OLD["RLock"]], ids=["Lock", "RLock", "old Lock",
                                                              "old RLock"])  # fmt: skip
@pytest.mark.parametrize("enter", [enter_by_with, enter_by_acquire, enter_by_old_names])
def test_no_other_tasklet_is_inside(make, enter, mode):
    """Between acquire and release no other tasklet gets in, first come, first served."""
    lock, log = make(), []

    def work(name):
        for _ in enter(lock):
            log.append((name, "in"))
            schedule()
            schedule()
            log.append((name, "out"))

    tasks = [spawn(work, name) for name in range(4)]
    for task in tasks:
        task.join()
    assert log == [(name, what) for name in range(4) for what in ("in", "out")]
    assert lock.acquire(blocking=False)
    lock.release()


def test_an_rlock_is_entered_again_by_its_tasklet_only():
    """It counts per tasklet; others, the main tasklet included, find it held."""
    lock, log, gate = threading.RLock(), [], Channel()

    def work():
        log.append(lock.acquire(blocking=False))
        with lock, lock:
            gate.receive()

    def look():
        log.append((lock._is_owned(), lock._recursion_count(), lock.acquire(blocking=False)))

    with lock:
        task = spawn(work)
        schedule()
    schedule()
    spawn(look).join()
    assert not lock._is_owned()
    gate.send(None)
    task.join()
    assert log == [False, (False, 0, False)]
    spawn(look).join()
    assert log[-1] == (False, 0, True)


def test_bound_methods_that_were_stored_before_are_affected(python):
    """So are conditions and queues made before: they have stored acquire and release."""
    done = python(
        """
        import queue, threading
        condition, lines, lock = threading.Condition(), queue.Queue(1), threading.RLock()
        acquire, release = lock.acquire, lock.release
        import loomlet
        from loomlet import _core
        _core._patch_builtin_locks()
        inside = []

        def work(name):
            acquire()
            inside.append(name)
            loomlet.schedule()
            inside.append(name)
            release()
            with condition:
                condition.notify_all()
            lines.put(name)

        def main():
            for name in range(3):
                loomlet.spawn(work, name)
            with condition:
                condition.wait()
            print([lines.get() for _ in range(3)], inside)

        loomlet.run(main)
        """
    )
    assert (done.stdout, done.stderr) == ("[0, 1, 2] [0, 0, 1, 1, 2, 2]\n", "")


def test_a_lock_taken_before_the_patch_stays_owned(python):
    """An RLock that the thread holds is its main tasklet's."""
    done = python(
        """
        import threading
        lock = threading.RLock()
        lock.acquire()
        lock.acquire()
        import loomlet
        from loomlet import _core
        _core._patch_builtin_locks()

        def other():
            return lock.acquire(timeout=0.01)

        def main():
            print(loomlet.spawn(other).result(), lock._is_owned())
            lock.release()
            print(loomlet.spawn(other).result())
            lock.release()
            print(loomlet.spawn(other).result())

        loomlet.run(main)
        """
    )
    assert (done.stdout, done.stderr) == ("False True\nFalse\nTrue\n", "")
