"""Only the locks of our interpreter know tasklets, but every lock of the process works."""

import textwrap

from helpers_subinterpreters import VISIT, needs_interpreters

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

    _core._patch_builtin_locks()
    lock = threading.Lock()
    lock.acquire()
    waiting = loomlet.spawn(lock.acquire)
    loomlet.schedule()
    visit(INSIDE)
    thread = threading.Thread(target=visit, args=(INSIDE,))
    thread.start()
    thread.join()
    print(waiting.state)
    lock.release()
    print(waiting.result())
    """


@needs_interpreters
def test_a_sub_interpreter(python):
    """Threads, locks and conditions work there, on a thread with tasklets and on one without."""
    done = python(VISIT + textwrap.dedent(PROGRAM))
    assert (done.stdout, done.stderr) == ("fine\nfine\nblocked\nTrue\n", "")


def test_a_second_thread_module(python):
    """A module that is imported anew has lock types of its own; they know tasklets too."""
    done = python(
        """
        import sys
        import loomlet
        from loomlet import _core
        _core._patch_builtin_locks()
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
