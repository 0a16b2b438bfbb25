"""A tasklet that ends, or is ended, while it holds or wants a lock."""

import contextlib
import threading

import pytest

import loomlet
from loomlet import Channel, schedule, spawn

MAKE = pytest.mark.parametrize("make", [threading.Lock, threading.RLock])


def free(lock):
    return spawn(lambda: lock.acquire(blocking=False) and not lock.release()).result()


@pytest.mark.parametrize("how", ["returns", "fails", "is killed"])
@MAKE
def test_with_gives_the_lock_back(make, how, mode):
    """However its holder ends, the next one gets it."""
    lock, log, gate = make(), [], Channel()

    def hold():
        with lock:
            gate.receive()
            if how == "fails":
                raise KeyError

    def wait():
        with lock:
            log.append("got it")

    def watch():
        with contextlib.suppress(KeyError, loomlet.TaskletKilled):
            holder.join()

    holder, waiter = spawn(hold), spawn(wait)
    watcher = spawn(watch)
    schedule()
    if how == "is killed":
        holder.kill()
    else:
        gate.send(None)
    waiter.join()
    watcher.join()
    assert log == ["got it"]
    assert free(lock)


def test_a_lock_that_was_never_given_back(mode):
    """It stays held, so its waiters deadlock; any tasklet may release a Lock."""
    lock = threading.Lock()
    spawn(lock.acquire).join()
    waiter = spawn(lock.acquire)
    with pytest.raises(loomlet.Deadlock):
        waiter.join()
    lock.release()
    assert waiter.result() is True
    lock.release()
    assert free(lock)


def test_an_rlock_that_was_never_given_back(mode):
    """Its owner has ended, so no later tasklet can acquire or release it."""
    lock = threading.RLock()
    spawn(lock.acquire).join()
    with pytest.raises(RuntimeError, match="un-acquired"):
        lock.release()
    for _ in range(100):
        assert not free(lock)


@MAKE
def test_killed_while_it_waits(make, mode):
    """The first of two waiters is killed: the second gets the lock, which ends up free."""
    lock, log = make(), []

    def wait(name):
        with lock:
            log.append(name)

    with lock:
        first, second = spawn(wait, 1), spawn(wait, 2)
        schedule()
        first.kill()
        assert first.state == "done"
    second.join()
    assert log == [2]
    assert free(lock)


@MAKE
def test_the_end_of_run_ends_holder_and_waiters(make):
    """What was held by tasklets inside `with` is free after run(); so is what main held."""
    lock, mine, never = make(), make(), Channel()
    log = []

    def hold():
        with lock:
            never.receive()  # kept here: the collector ends who waits for what nobody can reach

    def wait():
        with lock:
            pass

    def main():
        for body in (hold, wait, wait):
            spawn(body)
        schedule()
        mine.acquire()

    def work():
        try:
            log.append(loomlet.run(main, slice=0.001))
        except BaseException as error:
            log.append(error)
        mine.release()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert log == [None]
    assert free(lock)
    assert free(mine)


@MAKE
def test_taken_before_run_and_given_back_inside(make):
    """A lock that the thread holds is its main tasklet's, before, in and after run()."""
    lock = make()

    def main():
        waiter = spawn(lambda: lock.acquire() and lock.release())
        schedule()
        lock.release()
        waiter.join()
        lock.acquire()

    def work():
        lock.acquire()
        loomlet.run(main, slice=0.001)
        lock.release()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert free(lock)
