"""Conditions and similar primitives between tasklets and OS threads, in both directions."""

import threading

import pytest

import loomlet
from loomlet import schedule, spawn

MAKE = pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
PATIENCE = 20


class Cell:
    """A value that one side waits for and the other one sets."""

    def __init__(self, make):
        self.condition, self.value = threading.Condition(make()), None

    def wait(self):
        with self.condition:
            assert self.condition.wait_for(lambda: self.value is not None, PATIENCE)
            return self.value

    def set(self, value):
        with self.condition:
            self.value = value
            self.condition.notify_all()


@MAKE
def test_a_thread_notifies_tasklets(make, mode):
    """All waiters, of this thread and of another one."""
    cell = Cell(make)
    tasks = [spawn(cell.wait) for _ in range(3)]
    there = []

    def elsewhere():
        there.extend(
            loomlet.run(lambda: [t.result() for t in [spawn(cell.wait), spawn(cell.wait)]])
        )

    threads = [threading.Thread(target=elsewhere), threading.Thread(target=cell.set, args=(7,))]
    schedule()
    for thread in threads:
        thread.start()
    assert [task.result() for task in tasks] == [7, 7, 7]
    for thread in threads:
        thread.join()
    assert there == [7, 7]


@MAKE
def test_a_tasklet_notifies_threads(make, mode):
    """Threads without tasklets wait as usual."""
    cell, got = Cell(make), []
    threads = [threading.Thread(target=lambda: got.append(cell.wait())) for _ in range(3)]
    for thread in threads:
        thread.start()
    spawn(cell.set, 7).join()
    for thread in threads:
        thread.join()
    assert got == [7, 7, 7]


def test_a_barrier_of_both():
    """Tasklets and threads meet at one barrier."""
    barrier = threading.Barrier(4)
    threads = [threading.Thread(target=barrier.wait, args=(PATIENCE,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    tasks = [spawn(barrier.wait, PATIENCE) for _ in range(2)]
    assert len({task.result() for task in tasks}) == 2
    for thread in threads:
        thread.join()


def test_only_the_owner_may_wait_or_notify(mode):
    """An RLock that another tasklet of the thread holds is not held by the caller."""
    condition = threading.Condition()

    def notify():
        with pytest.raises(RuntimeError, match="un-acquired"):
            condition.notify()
        with pytest.raises(RuntimeError, match="un-acquired"):
            condition.wait()
        return condition._is_owned()

    with condition:
        assert spawn(notify).result() is False
        assert condition._is_owned()


def test_a_lock_freed_under_a_thread_that_has_just_got_it(python):
    """Any thread may release a Lock; if it is handed to a thread that no longer waits, the
    handover is not lost."""
    done = python(
        """
        import sys, threading, time
        import loomlet
        from loomlet import _core
        _core._patch_builtin_locks()

        def main():
            lock, entered = threading.Lock(), threading.Event()
            lock.acquire()

            def take():
                entered.set()
                lock.acquire()

            thread = threading.Thread(target=take)
            thread.start()
            entered.wait()
            time.sleep(0.05)  # it goes to sleep inside the lock; if not, nothing fails
            tasks = [loomlet.spawn(lock.acquire) for _ in range(4)]
            loomlet.schedule()
            sys.setswitchinterval(0.5)
            for _ in range(4):
                try:
                    lock.release()
                except RuntimeError:  # it was free at this moment
                    pass
                end = time.perf_counter() + 0.01
                while time.perf_counter() < end:
                    pass  # with the GIL, so the thread can take the lock, but not say so
            sys.setswitchinterval(0.005)
            free = 0
            while thread.is_alive() or any(task.state == "blocked" for task in tasks):
                loomlet.sleep(0.01)  # the thread comes to say so
                free = 0 if lock.locked() else free + 1
                if free == 500:
                    print("free, and still waited for")
                    break
                if not free:
                    lock.release()

        loomlet.run(main)
        print("done")
        """
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_a_thread_takes_an_rlock_again_that_a_tasklet_holds():
    """With the count that it had, as at the end of Condition.wait()."""
    lock, released, held = threading.RLock(), threading.Event(), threading.Event()
    log = []

    def wait():
        with lock, lock:
            state = lock._release_save()
            released.set()
            held.wait(PATIENCE)
            lock._acquire_restore(state)
            log.append("restored")

    def hold():
        with lock:
            held.set()
            loomlet.sleep(0.05)  # nothing tells that the thread waits
            log.append("released")

    thread = threading.Thread(target=wait)
    thread.start()
    released.wait(PATIENCE)
    task = spawn(hold)
    task.join()
    thread.join()
    assert lock.acquire(blocking=False)
    lock.release()
    assert log == ["released", "restored"]
