"""spawn_threadsafe(): work for another thread's scheduler, from anywhere."""

import _thread
import contextvars
import os
import signal
import sys
import threading

import pytest

import loomlet
from loomlet import Channel, spawn_threadsafe

HERE = threading.get_ident()


@pytest.fixture(autouse=True)
def has_scheduler():
    loomlet.current()


def in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    return thread


def end_of(thread):
    """Waits in this tasklet; the others run."""
    while thread.is_alive():
        loomlet.sleep(0.001)


@pytest.mark.skipif(HERE != threading.main_thread().ident, reason="tests run in another thread")
def test_the_thread_is_found_by_its_ident():
    """The tests below rely on it."""
    assert threading.get_ident() == HERE


def test_it_runs_on_that_thread(mode):
    """With arguments and the caller's context; it may block, and the caller may join it."""
    var = contextvars.ContextVar("var")
    ch, results = Channel(), []

    def work(a, *, b):
        return a, b, var.get(), ch.receive(), threading.get_ident()

    def elsewhere():
        var.set("of the thread")
        task = spawn_threadsafe(HERE, work, 1, b=2)
        ch.send("value")
        results.append(task.result())

    def main():
        end_of(in_thread(elsewhere))

    loomlet.run(main)
    assert results == [(1, 2, "of the thread", "value", HERE)]


def test_it_wakes_a_thread_that_sleeps(mode):
    """The main tasklet waits, and nothing else is there."""
    ch = Channel()

    def main():
        thread = in_thread(lambda: spawn_threadsafe(HERE, ch.send, "woken"))
        got = ch.receive()
        thread.join()
        return got

    assert loomlet.run(main) == "woken"


def test_a_thread_that_never_uses_loomlet(mode):
    """It gets no scheduler by the call."""
    ch, seen = Channel(), []

    def elsewhere():
        spawn_threadsafe(HERE, ch.send, "from a plain thread")
        seen.append(loomlet._core._threads())

    def main():
        _thread.start_new_thread(elsewhere, ())
        return ch.receive()

    before = loomlet._core._threads()
    assert loomlet.run(main) == "from a plain thread"
    assert seen in ([], [before])


@pytest.mark.skipif(HERE != threading.main_thread().ident, reason="signals need the main thread")
@pytest.mark.parametrize("how", ["while all wait", "while one computes"])
def test_from_a_signal_handler(mode, how):
    """What the handler starts may block, as no handler may."""
    ch = Channel()
    before = signal.signal(
        signal.SIGUSR2, lambda number, frame: spawn_threadsafe(HERE, ch.send, number)
    )

    def main():
        timer = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGUSR2))
        timer.start()
        if how == "while one computes":
            while timer.is_alive():
                loomlet.schedule()
        got = ch.receive()
        timer.join()
        return got

    try:
        assert loomlet.run(main) == signal.SIGUSR2
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_on_the_own_thread_it_is_spawn(mode):
    """In order with the others."""
    log = []
    loomlet.spawn(log.append, 1)
    spawn_threadsafe(HERE, log.append, 2)
    loomlet.spawn(log.append, 3)
    loomlet.schedule()
    assert log == [1, 2, 3]


def test_a_thread_without_a_scheduler_is_refused():
    """The text says what to do."""
    stop = threading.Event()
    thread = in_thread(stop.wait)
    for ident in (thread.ident, 1):
        with pytest.raises(loomlet.WrongThread, match=r"call loomlet\.current\(\) in that thread"):
            spawn_threadsafe(ident, print)
    stop.set()
    thread.join()


def test_a_thread_that_has_ended_is_refused():
    """Nothing is lost in silence."""
    thread = in_thread(loomlet.current)
    thread.join()
    with pytest.raises(loomlet.WrongThread):
        spawn_threadsafe(thread.ident, print)


@pytest.mark.parametrize(
    "wrong", [(), (HERE,), (HERE, 1), ("main", print), (-1, print), (0, print, 1, 2)]
)
def test_wrong_arguments(wrong):
    """They are errors of the call."""
    with pytest.raises((TypeError, OverflowError, loomlet.WrongThread)):
        spawn_threadsafe(*wrong)


def test_it_begins_with_its_spawners_trace_function(mode):
    """As any spawned tasklet."""
    seen, tasks = [], []

    def work():
        return threading.get_ident()

    def trace(frame, event, arg):
        seen.append((frame.f_code.co_name, threading.get_ident()))

    def elsewhere():
        loomlet.current()
        sys.settrace(trace)
        tasks.append(spawn_threadsafe(HERE, work))
        sys.settrace(None)

    def main():
        end_of(in_thread(elsewhere))
        return tasks[0].result()

    assert loomlet.run(main) == HERE
    assert ("work", HERE) in seen


def test_many_threads_at_once(mode):
    """Each call runs once."""
    log = []

    def elsewhere():
        for n in range(200):
            spawn_threadsafe(HERE, log.append, n)

    def main():
        threads = [in_thread(elsewhere) for _ in range(4)]
        for thread in threads:
            end_of(thread)
        with loomlet.timeout(60):
            while len(log) < 800:
                loomlet.sleep(0.001)

    loomlet.run(main)
    assert sorted(log) == sorted([*range(200)] * 4)
