"""The locks of multiprocessing, which are written in C, let other tasklets run while they wait."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from helpers_ending_waits import cancel, end_each_way, time_out

import loomlet
from loomlet import patch
from loomlet.testing import assert_no_leaks

CONTEXT = multiprocessing.get_context("fork")
POOL = """
import multiprocessing, sys
def square(x):
    return x * x
if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(sum(pool.map(square, range(50))))
"""
WARNINGS = "ignore"  # of a fork beside the monitor thread


@pytest.fixture
def lock():
    """A free lock."""
    return CONTEXT.Lock()


@pytest.fixture
def rlock():
    """A free lock that its owner may take again."""
    return CONTEXT.RLock()


@pytest.fixture
def empty():
    """A semaphore that is not available."""
    return CONTEXT.Semaphore(0)


def test_a_tasklet_waits_for_another(mode, lock):
    """It shows what it waits for."""
    lock.acquire()
    task = loomlet.spawn(lock.acquire)
    loomlet.schedule()
    assert (task.waiting_in, task.waiting_for) == ("acquire", lock._semlock)
    lock.release()
    assert task.result() is True


def test_by_a_with_statement(lock, rlock):
    """The holder waits inside."""
    order = []

    def body(name, which):
        with which:
            order.append(name)
            loomlet.schedule()
            order.append(name)

    for which in (lock, rlock):
        for task in [loomlet.spawn(body, name, which) for name in "abc"]:
            task.join()
    assert "".join(order) == "aabbcc" * 2


def test_first_come_first_served(empty):
    """Also before one that comes when it has just been released."""
    order = []

    def body(name):
        empty.acquire()
        order.append(name)
        empty.release()

    tasks = [loomlet.spawn(body, number) for number in range(50)]
    loomlet.schedule()
    empty.release()
    tasks.append(loomlet.spawn(body, 50))
    body(51)
    for task in tasks:
        task.join()
    assert sorted(order) == list(range(52))
    assert order[:50] == list(range(50))


def test_several_units_wake_several_waiters(empty):
    """Each release lets one in."""
    tasks = [loomlet.spawn(empty.acquire) for _ in range(5)]
    loomlet.schedule()
    for _ in range(3):
        empty.release()
    assert [task.result() for task in tasks[:3]] == [True] * 3
    assert [task.state for task in tasks[3:]] == ["blocked"] * 2


def test_timeouts(lock):
    """False when the time is over; below zero is zero; a lock that comes in time is taken."""
    lock.acquire()
    assert loomlet.spawn(lock.acquire, True, 0.001).result() is False
    assert loomlet.spawn(lock.acquire, timeout=0.001).result() is False
    for call in (
        lambda: lock.acquire(False),
        lambda: lock.acquire(block=False),
        lambda: lock.acquire(True, 0),
        lambda: lock.acquire(True, -1),
        lambda: lock.acquire(False, 5),
    ):
        task = loomlet.spawn(call)
        loomlet.schedule()
        assert task.state == "done"
        assert task.result() is False
    task = loomlet.spawn(lock.acquire, True, 60)
    loomlet.schedule()
    lock.release()
    assert task.result() is True


WRONG = {
    "a text": lambda one: one.acquire(True, "1"),
    "too many": lambda one: one.acquire(True, 1, 2),
    "an unknown name": lambda one: one.acquire(other=1),
    "too often": lambda one: one.release(),
    "to release": lambda one: one.release(1),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("kind", ["Lock", "RLock", "BoundedSemaphore"])
def test_errors_are_those_of_the_original(kind, call):
    """Type and text, in a thread and in a tasklet."""
    one = getattr(CONTEXT, kind)()
    with pytest.raises((TypeError, AssertionError, ValueError)) as ours:
        loomlet.spawn(call, one).result()
    texts = []

    def stock():
        try:
            call(one)
        except Exception as error:
            texts.append((type(error), str(error)))

    thread = threading.Thread(target=stock)
    thread.start()
    thread.join()
    assert texts == [(ours.type, str(ours.value))]


def test_an_rlock_belongs_to_a_tasklet(rlock):
    """Only its owner takes it again, and only its owner releases it; main is one like others."""
    gate = loomlet.Channel()

    def hold():
        rlock.acquire()
        assert rlock.acquire()
        assert rlock._semlock._is_mine()
        assert rlock._semlock._count() == 2
        gate.receive()
        rlock.release()
        assert rlock._semlock._is_mine()
        rlock.release()
        assert not rlock._semlock._is_mine()

    def fail():
        assert not rlock._semlock._is_mine()
        assert not rlock.acquire(False)
        with pytest.raises(AssertionError, match="not owned by thread"):
            rlock.release()

    for _ in range(2):
        task = loomlet.spawn(hold)
        loomlet.schedule()
        fail()
        loomlet.spawn(fail).result()
        gate.send(None)
        task.result()
    with rlock:
        other = loomlet.spawn(hold)
        loomlet.spawn(fail).result()
        assert other.state == "blocked"
        with rlock:
            pass
        loomlet.spawn(fail).result()
    gate.send(None)
    other.result()


def test_a_wait_can_be_ended(mode, lock, caught):
    """By a kill, a throw or a timeout; the lock is not lost."""
    lock.acquire()
    end_each_way(caught, lock.acquire)
    cancel(lambda one: one.acquire(), lock, lambda: None)
    task = loomlet.spawn(lock.acquire)
    loomlet.schedule()
    lock.release()
    assert task.result() is True


def test_a_time_limit(clock, lock):
    """Is that of the scheduler's clock."""
    lock.acquire()
    time_out(clock, lambda one: one.acquire(), lock)


def test_a_waiter_that_is_ended_in_time_leaves_the_lock(lock):
    """One that was woken and is killed before it runs loses nothing."""
    lock.acquire()
    tasks = [loomlet.spawn(lock.acquire) for _ in range(3)]
    loomlet.schedule()
    lock.release()
    tasks[0].kill()
    assert tasks[1].result() is True
    tasks[2].kill()
    assert not lock.acquire(False)
    lock.release()


def test_in_a_cancelled_scope_a_free_lock_is_taken(lock):
    """So clean-up works; where it had to wait it raises Cancelled."""

    def body():
        with loomlet.CancelScope() as scope:
            scope.cancel()
            with lock:
                pass
            lock.acquire()
            lock.acquire()
        return scope.cancelled_caught

    assert loomlet.spawn(body).result() is True


def test_a_thread_wakes_a_tasklet(lock):
    """And a tasklet a thread."""
    lock.acquire()
    task = loomlet.spawn(lock.acquire)
    loomlet.schedule()
    thread = threading.Thread(target=lock.release)
    thread.start()
    assert task.result() is True
    thread.join()
    thread = threading.Thread(target=lock.acquire)
    thread.start()
    loomlet.spawn(lock.release).join()
    thread.join()


def test_threads_and_tasklets_exclude_each_other(lock):
    """Any of them."""
    inside, rounds = [], []

    def body():
        for _ in range(50):
            with lock:
                inside.append(1)
                time.sleep(0)  # the others take turns
                assert len(inside) == 1
                inside.pop()
                rounds.append(1)

    def some():
        tasks = [loomlet.spawn(body) for _ in range(3)]
        for task in tasks:
            task.join()

    threads = [threading.Thread(target=target) for target in (body, body, some)]
    for thread in threads:
        thread.start()
    some()
    for thread in threads:
        thread.join()
    assert len(rounds) == 8 * 50


def test_another_process_releases(python):
    """Which is noticed though nobody here says so, and others run meanwhile."""
    done = python(
        """
        import multiprocessing, os, time
        import loomlet
        from loomlet import patch
        patch.install()
        def main():
            context = multiprocessing.get_context("fork")
            first, second = context.Semaphore(0), context.Semaphore(0)
            child = os.fork()
            if not child:
                first.acquire()
                second.release()
                os._exit(0)
            task = loomlet.spawn(second.acquire)
            loomlet.schedule()
            first.release()
            assert task.result() is True
            assert os.waitpid(child, 0) == (child, 0)
        loomlet.run(main)
        print("good")
    """,
        PYTHONWARNINGS=WARNINGS,
    )
    assert (done.stderr, done.stdout) == ("", "good\n")


def test_both_processes_continue_after_a_fork(python):
    """Tasklets that waited when the process forked wait in both."""
    done = python(
        """
        import multiprocessing, os
        import loomlet
        from loomlet import patch
        patch.install()
        def main():
            context = multiprocessing.get_context("fork")
            units = context.Semaphore(0)
            tasks = [loomlet.spawn(units.acquire) for _ in range(3)]
            loomlet.schedule()
            child = os.fork()
            for task in tasks:
                units.release()
            for task in tasks:
                assert task.result() is True
            if not child:
                os._exit(0)
            assert os.waitpid(child, 0) == (child, 0)
        loomlet.run(main)
        print("good")
    """,
        PYTHONWARNINGS=WARNINGS,
    )
    assert (done.stderr, done.stdout) == ("", "good\n")


def test_main_serves_signals_while_it_waits(lock):
    """Handlers run, and what they raise ends the wait; otherwise it goes on."""
    seen = []

    def handler(number, frame):
        seen.append(number)
        if len(seen) == 2:
            raise KeyError(number)

    def interrupt():
        os.kill(os.getpid(), signal.SIGUSR1)
        while not seen:
            time.sleep(0.001)  # until the handler has run
        os.kill(os.getpid(), signal.SIGUSR1)

    lock.acquire()
    other = loomlet.spawn(lock.acquire)
    loomlet.schedule()
    before = signal.signal(signal.SIGUSR1, handler)
    thread = threading.Thread(target=interrupt)
    try:
        thread.start()
        with pytest.raises(KeyError):
            lock.acquire()
        thread.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(seen) == 2
    lock.release()
    assert other.result() is True


def test_conditions_and_events():
    """Which are made of them."""
    condition, event = CONTEXT.Condition(), CONTEXT.Event()

    def wait():
        with condition:
            assert condition.wait(60)
        return event.wait(60)

    tasks = [loomlet.spawn(wait) for _ in range(3)]
    loomlet.schedule()
    with condition:
        condition.notify_all()
    assert not event.wait(0.001)
    event.set()
    assert [task.result() for task in tasks] == [True] * 3


def test_barriers(python):
    """Which keep a file open for their process."""
    done = python("""
        import multiprocessing
        import loomlet
        from loomlet import patch
        patch.install()
        def main():
            barrier = multiprocessing.get_context("fork").Barrier(3)
            tasks = [loomlet.spawn(barrier.wait, 60) for _ in range(3)]
            print(sorted(task.result() for task in tasks))
        loomlet.run(main)
    """)
    assert (done.stderr, done.stdout) == ("", "[0, 1, 2]\n")


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_a_pool_of_a_program_of_threads(tmp_path, start):
    """Under `python -m loomlet run`, from its first task to its end."""
    script = tmp_path / "pool.py"
    script.write_text(POOL)
    command = [sys.executable, "-m", "loomlet", "run", str(script), start]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "40425\n"), done.stderr


def test_two_tasklets_read_a_queue():
    """One is in get(); the other's time is over while it waits for its turn."""
    items = CONTEXT.Queue()
    first = loomlet.spawn(items.get)
    second = loomlet.spawn(items.get, True, 0.001)
    with pytest.raises(Exception) as late:
        second.result()
    assert type(late.value).__name__ == "Empty"
    third = loomlet.spawn(items.get, timeout=60)
    loomlet.schedule()
    for number in range(2):
        items.put(number)
    assert (first.result(), third.result()) == (0, 1)
    items.close()
    items.join_thread()


def test_a_full_queue():
    """put() waits for room that another tasklet makes."""
    items = CONTEXT.Queue(1)
    items.put(0)
    task = loomlet.spawn(items.put, 1, True, 60)
    loomlet.schedule()
    assert task.state == "blocked"
    assert [items.get(), items.get()] == [0, 1]
    task.result()
    items.close()
    items.join_thread()


def test_waiting_tasklets_continue_after_uninstall(lock, rlock):
    """In the middle of a call; and an owner stays one."""

    def own():
        with rlock:
            loomlet.schedule()
            assert rlock._semlock._is_mine()

    lock.acquire()
    task, owner = loomlet.spawn(lock.acquire), loomlet.spawn(own)
    loomlet.schedule()
    patch.uninstall()
    lock.release()
    assert task.result() is True
    owner.result()
    assert rlock.acquire(False)


def test_nothing_is_left(lock, caught):
    """After hundreds of waits, ended in each way."""

    def rounds():
        for _ in range(200):
            lock.acquire()
            killed, task = caught(lock.acquire), loomlet.spawn(lock.acquire)
            late = loomlet.spawn(lock.acquire, True, 0.00001)
            loomlet.schedule()
            killed.kill()
            assert late.result() is False
            lock.release()
            assert task.result() is True
            lock.release()

    rounds()
    with assert_no_leaks():
        rounds()
