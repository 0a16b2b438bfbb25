"""get_thread_info() returns the main tasklet, the current one and the run count of a thread."""

import threading

import pytest

import loomlet.compat.stackless as stackless

SERIALS, WATCHDOGS = 1 << 30, 1 << 31


@pytest.mark.parametrize("args", [(), (-1,)])
def test_of_this_thread(args):
    """Spec 2, get_thread_info: nothing or -1 is the calling thread."""
    main = stackless.getcurrent()
    assert stackless.get_thread_info(*args) == (main, main, 1)


def test_by_number(mode):
    """Spec 2, get_thread_info: the calling thread's own ident, from inside a tasklet."""
    seen = []
    task = stackless.tasklet(
        lambda: seen.append(stackless.get_thread_info(threading.get_ident()))
    )()
    stackless.schedule()
    assert seen == [(stackless.getmain(), task, 2)]


def test_of_another_thread(thread):
    """Spec 2, get_thread_info: any thread can be looked at."""
    start, end, seen = threading.Event(), threading.Event(), []

    def body():
        seen.append(stackless.getmain())
        task = stackless.tasklet(print)()
        start.set()
        end.wait(60)
        task.remove()

    other = thread(body)
    assert start.wait(60)
    info = stackless.get_thread_info(other.id)
    end.set()
    assert info == (seen[0], seen[0], 2)


def test_of_a_thread_without_tasklets(thread):
    """Spec 2, get_thread_info: a thread that never used stackless has neither."""
    start, end = threading.Event(), threading.Event()

    def body():
        start.set()
        end.wait(60)

    other = thread(body)
    assert start.wait(60)
    info = stackless.get_thread_info(other.id)
    end.set()
    assert info == (None, None, 0)


def test_of_no_thread(raises):
    """Spec 2, get_thread_info: an id of no thread is an error."""
    with raises(RuntimeError, "Thread id not found"):
        stackless.get_thread_info(1)


def test_serials():
    """Spec 2, get_thread_info: bit 30 adds two serial numbers and the initial C stack."""
    info = stackless.get_thread_info(-1, SERIALS)
    assert info[:3] == stackless.get_thread_info()
    serial, last_jump, initial = info[3:]
    assert isinstance(serial, int)
    assert isinstance(last_jump, int)
    assert type(initial) is stackless.cstack


def test_the_serial_of_the_last_jump(mode):
    """Spec 2, get_thread_info: as before when the same C stack runs again."""

    def serial():
        return stackless.get_thread_info(-1, SERIALS)[4]

    def look():
        before = serial()
        stackless.schedule_remove()
        assert serial() == before
        sorted([1], key=lambda value: stackless.schedule_remove() or value)
        assert serial() == before
        seen.append(True)

    before, seen = serial(), []
    tasks = [stackless.tasklet(look)() for _ in range(2)]
    for _ in range(3):
        assert serial() == before
        stackless.run()
        for task in tasks:
            if task.alive:
                task.insert()
    assert seen == [True, True]
    assert serial() == before


def test_watchdogs(mode):
    """Spec 2, get_thread_info: bit 31 adds the watchdogs; the first place is the interrupt's."""
    main, seen = stackless.getcurrent(), []

    def look():
        seen.append(stackless.get_thread_info(-1, WATCHDOGS)[3])

    def nested():
        stackless.tasklet(look)()
        stackless.run()

    inner = stackless.tasklet(nested)()
    stackless.run()
    assert seen == [[None, main, inner]]


def test_watchdogs_of_a_new_thread(thread):
    """Spec 2, get_thread_info: None where run() was never called."""

    def look():
        stackless.getmain()
        return stackless.get_thread_info(-1, WATCHDOGS)[3]

    assert thread(look).result() is None


def test_watchdogs_that_have_returned(thread):
    """Spec 2, get_thread_info: from the first run() on there is a list."""

    def look():
        stackless.run()
        return stackless.get_thread_info(-1, WATCHDOGS)[3]

    assert thread(look).result() == [None]


def test_the_interrupt_watchdog():
    """Spec 2, get_thread_info: the first place is of the run() that has a timeout."""
    main, seen = stackless.getcurrent(), []
    stackless.tasklet(lambda: seen.append(stackless.get_thread_info(-1, WATCHDOGS)[3]))()
    stackless.run(100_000)
    assert seen == [[main, main]]


def test_both():
    """Spec 2, get_thread_info: both bits give all seven."""
    assert len(stackless.get_thread_info(-1, SERIALS | WATCHDOGS)) == 7
