"""PyThreadState_SetAsyncExc() by ctypes raises in threads that are tasklets, and in others."""

import threading
import time

import pytest

import loomlet

ctypes = pytest.importorskip("ctypes")


class Stop(Exception):
    """What stops a thread."""


def raise_in(ident, exception=Stop):
    """How many threads of that ident there are."""
    given = ctypes.py_object(exception) if exception is not None else None
    return ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), given)


def stopped_in(body):
    """The exception that a thread got in its body, after it had begun that and was stopped."""
    begun, caught = threading.Event(), []

    def target():
        begun.set()
        try:
            body()
        except Stop as error:
            caught.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    begun.wait()
    assert raise_in(thread.ident) == 1
    thread.join()
    return caught


def compute():
    while True:
        pass


@pytest.mark.parametrize("wait", [lambda: time.sleep(3600), threading.Lock().acquire, compute])
def test_a_thread_is_stopped(wait):
    """Where it waits or computes; the exception is made of the class."""
    if wait is not compute and not isinstance(wait, type(compute)):
        wait()  # the lock is taken
    caught = loomlet.run(lambda: stopped_in(wait), slice=0.001)
    assert [type(error) for error in caught] == [Stop]


def test_an_instance_is_raised_as_it_is():
    """The interpreter's own function takes classes only."""
    error = Stop("now")

    def main():
        thread = threading.Thread(target=caught_by, args=[lambda: time.sleep(3600), caught])
        thread.start()
        loomlet.schedule()  # it sleeps
        assert raise_in(thread.ident, error) == 1
        thread.join()

    caught = []
    loomlet.run(main)
    assert caught == [error]


def caught_by(body, caught):
    """Calls it and keeps the exception that stops it."""
    try:
        body()
    except Stop as error:
        caught.append(error)


def test_a_thread_stops_itself():
    """At its next safepoint."""

    def body():
        assert raise_in(threading.get_ident()) == 1
        compute()

    def main():
        thread = threading.Thread(target=caught_by, args=[body, caught])
        thread.start()
        thread.join()

    caught = []
    loomlet.run(main, slice=0.001)
    assert [type(error) for error in caught] == [Stop]


def test_a_thread_stops_main():
    """Main gets it, not the thread that runs."""

    def main():
        go = threading.Event()
        mine = threading.get_ident()
        thread = threading.Thread(target=lambda: go.wait() and counts.append(raise_in(mine)))
        thread.start()
        go.set()
        with pytest.raises(Stop):
            time.sleep(3600)
        thread.join()

    counts = []
    loomlet.run(main)
    assert counts == [1]


def test_who_is_not_found():
    """A thread that has ended, a number that no thread has."""

    def main():
        thread = threading.Thread(target=time.sleep, args=[0])
        thread.start()
        thread.join()
        assert raise_in(thread.ident) == 0
        assert raise_in(2**31 + 1) == 0

    loomlet.run(main)


def test_nothing_to_raise():
    """None takes back what the interpreter has not raised yet; here that is nothing."""

    def main():
        done = threading.Event()
        thread = threading.Thread(target=done.wait)
        thread.start()
        assert raise_in(thread.ident, None) == 1
        with pytest.raises(TypeError, match="expected an exception class or instance, found int"):
            raise_in(thread.ident, 5)
        done.set()
        thread.join()

    loomlet.run(main)


def test_threads_of_the_system_are_stopped_as_ever():
    """Outside run(), the interpreter's function does it."""
    caught, go = [], []

    def body():
        while not go:
            pass  # until the exception comes, which raise_in() has set before `go`
        compute()

    thread = threading.Thread(target=caught_by, args=[body, caught])
    thread.start()
    assert raise_in(thread.ident) == 1
    go.append(True)
    thread.join()
    assert [type(error) for error in caught] == [Stop]


def test_ctypes_is_imported_later(python):
    """The usual order: install() before anything of the program."""
    done = python(
        """
        import sys
        import threading, time
        import loomlet
        from loomlet import patch

        def wait():
            try:
                time.sleep(3600)
            except KeyError:
                print("stopped")

        def main():
            thread = threading.Thread(target=wait)
            thread.start()
            loomlet.schedule()
            assert "ctypes" not in sys.modules
            import ctypes
            loader = ctypes.__spec__.loader
            print(type(loader).__name__, loader is ctypes.__loader__)
            raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
            print(raise_in.__name__)
            raise_in.argtypes = (ctypes.c_ulong, ctypes.py_object)
            print(raise_in(thread.ident, KeyError))
            thread.join()

        patch.install(threads=True)
        loomlet.run(main)
        """
    )
    lines = ["SourceFileLoader True", "PyThreadState_SetAsyncExc", "1", "stopped"]
    assert (done.stdout.splitlines(), done.stderr) == (lines, "")
