"""Only the locks of our interpreter know tasklets, but every lock of the process works."""

import importlib.util

import pytest

NAMES = ("_interpreters", "_xxsubinterpreters")

PROGRAM = """
    import textwrap, threading
    import loomlet
    from loomlet import _core

    INSIDE = '''
    import threading
    lock, rlock, condition = threading.Lock(), threading.RLock(), threading.Condition()
    with rlock, rlock:
        assert rlock._is_owned()
        assert not rlock.acquire(False) is False
        rlock.release()
    assert lock.acquire(False) and not lock.acquire(False) and not lock.acquire(True, 0.01)
    thread = threading.Thread(target=lambda: lock.acquire())
    thread.start()
    lock.release()
    thread.join()
    lock.release()

    def notify():
        with condition:
            condition.notify()

    with condition:
        thread = threading.Thread(target=notify)
        thread.start()
        condition.wait()
    thread.join()
    print("fine", flush=True)
    '''
    INSIDE = textwrap.dedent(INSIDE)

    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters

    def visit():
        if hasattr(interpreters, "exec"):
            other = interpreters.create()
            failed = interpreters.exec(other, INSIDE)
        else:
            other = interpreters.create(isolated=False)
            failed = interpreters.run_string(other, INSIDE)
        assert failed is None, failed
        interpreters.destroy(other)

    _core._own_stock_locks()
    lock = threading.Lock()
    lock.acquire()
    waiting = loomlet.spawn(lock.acquire)
    loomlet.schedule()
    visit()
    thread = threading.Thread(target=visit)
    thread.start()
    thread.join()
    print(waiting.state)
    lock.release()
    print(waiting.result())
    """


@pytest.mark.skipif(not any(map(importlib.util.find_spec, NAMES)), reason="no interpreters module")
def test_a_sub_interpreter(python):
    """Threads, locks and conditions work there, on a thread with tasklets and on one without."""
    done = python(PROGRAM)
    assert (done.stdout, done.stderr) == ("fine\nfine\nblocked\nTrue\n", "")


def test_a_second_thread_module(python):
    """A module that is imported anew has lock types of its own; they know tasklets too."""
    done = python(
        """
        import sys
        import loomlet
        from loomlet import _core
        _core._own_stock_locks()
        import _thread
        del sys.modules["_thread"]
        import _thread as second

        lock, rlock = second.allocate_lock(), second.RLock()

        def take():
            return lock.acquire(timeout=0.01), rlock.acquire(timeout=0.01)

        print(second.LockType is _thread.LockType)
        with lock, rlock, rlock:
            print(loomlet.spawn(take).result())
        print(loomlet.spawn(take).result())
        """
    )
    assert (done.stdout, done.stderr) == ("False\n(False, False)\n(True, True)\n", "")
