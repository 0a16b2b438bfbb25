"""Each allocation fails in turn: MemoryError, and every queue is as before."""

import contextlib
import gc
import os
import sys
import threading

import pytest

import loomlet
import loomlet.compat.stackless as stackless
from loomlet import CancelScope, Channel, Lock, TaskGroup, _core, schedule, select, spawn, timeout


def ping():
    ch = Channel()
    task = spawn(ch.receive)
    schedule()
    ch.send(1)
    return task.result()


def buffered():
    ch = Channel(4)
    for n in range(4):
        ch.send(n)
    return [ch.receive(), ch.receive(), ch.receive(), ch.receive()]


def choose():
    a, b = Channel(), Channel()
    task = spawn(lambda: select([a, (b, 2)], timeout=1000))
    schedule()
    a.send(3)
    return task.result()


def wait_for_a_lock():
    lock = Lock()
    lock.acquire()
    task = spawn(lock.acquire, timeout=1000)
    schedule()
    lock.release()
    return task.result()


def hard():
    ch = Channel()
    task = spawn(lambda: sorted([1], key=lambda _: ch.receive()))
    schedule()
    ch.send(1)
    return task.result()


def nap():
    task = spawn(loomlet.sleep, 1e-6)
    return task.result()


def grouped():
    with TaskGroup() as group:
        tasks = [group.spawn(int, n) for n in ("1", "2")]
    return [task.result() for task in tasks]


def failing_group():
    def fails():
        raise KeyError

    try:
        with TaskGroup() as group:
            group.spawn(fails)
            group.spawn(Channel().receive)
    except ExceptionGroup as failed:
        if failed.subgroup(MemoryError):
            raise
        return repr(failed)


def timed():
    with timeout(1000), CancelScope(shield=True) as scope:
        task = spawn(loomlet.sleep, 1e-6)
        task.join()
        scope.cancel()
    return scope.cancelled_caught


def late():
    try:
        with timeout(1e-6):
            Channel().receive()
    except TimeoutError:
        return "late"


def joined_in_time():
    task = spawn(loomlet.sleep, 1e-6)
    task.join(timeout=1000)
    return task.state


def traced():
    seen = []

    def look():
        sys.settrace(lambda *about: seen.append(about[1]))
        schedule()
        sys.settrace(None)

    spawn(look).join()
    return bool(seen)


def stopped():
    fired = []
    timer = _core.Timer(lambda: fired.append(1))
    timer.arm(loomlet.now() + 1000)
    timer.cancel()
    return fired


def looked_at():
    task = spawn(Channel().receive)
    schedule()
    found = len(_core.tasklets()), task.waiting_in, len(_core.stats())
    task.kill()
    return found


def thawed():
    if not _core.soft() or "switch" in os.environ.get("LOOMLET_TORTURE", ""):
        return None

    def waits():
        return select([Channel(), Channel()], timeout=1000)

    task = spawn(waits)
    schedule()
    if task.state == "done":
        return task.result()
    copy = loomlet.thaw(loomlet.freeze(task))
    found = task.state, copy.state
    copy.kill()
    return found


def by_stackless_rules():
    channel, got = stackless.channel(), []
    stackless.tasklet(lambda: got.append(channel.receive()))()
    stackless.tasklet(channel.send)(5)
    stackless.run(1 << 20)
    return got


def from_another_thread():
    ch = Channel()
    task = spawn(ch.receive)
    schedule()

    def other():
        with contextlib.suppress(MemoryError, loomlet.ChannelClosed, loomlet.Deadlock):
            loomlet.run(ch.send, "sent")
        ch.close()

    thread = threading.Thread(target=other)
    try:
        thread.start()  # its wait for the start may fail when the thread runs already
        return task.result()
    except loomlet.ChannelClosed:
        raise MemoryError from None
    except RuntimeError as error:  # Event.wait() gives back a lock that it had no memory to take
        assert isinstance(error.__context__, MemoryError)
        raise MemoryError from None
    finally:
        ch.close()
        if thread.is_alive():
            thread.join()


WORK = [ping, buffered, choose, wait_for_a_lock, hard, nap, grouped, failing_group, timed, late]
WORK += [joined_in_time, traced, stopped, looked_at, thawed, by_stackless_rules]
WORK += [from_another_thread]


def attempt(work, fail_at):
    """The outcome of `work` with the core's allocation `fail_at` failing; whether one did."""
    _core._fail_allocation(fail_at)
    try:
        outcome = work()
    except (MemoryError, loomlet.Deadlock):  # the partner may have died of it
        outcome = MemoryError
    except ExceptionGroup as several:
        assert several.subgroup(MemoryError)
        outcome = MemoryError
    return outcome, _core._fail_allocation(0) == 0


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("work", WORK)
def test_each_allocation_in_turn(work, mode, failures):
    """MemoryError or the right result; afterwards everything works and no tasklet is left."""
    expected, fail_at, failed = work(), 0, True
    while failed:
        fail_at += 1
        outcome, failed = attempt(work, fail_at)
        assert outcome is MemoryError or outcome == expected
        for task in _core.tasklets()[1:]:
            task.kill()
        gc.collect()
        schedule()
        assert len(_core.tasklets()) == 1
        assert work() == expected
    assert outcome == expected
    failures.clear()
