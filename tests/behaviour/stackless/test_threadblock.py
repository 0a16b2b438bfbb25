"""With threadblock run() waits for other threads instead of returning."""

import threading

import pytest

import loomlet.compat.stackless as stackless


class Served(Exception):
    """Ends the run() of a thread that would wait for more."""


def serve(log, start):
    """Waits for other threads until a tasklet raises Served."""
    start()
    with pytest.raises(Served):
        stackless.run(threadblock=True)
    log.append("run has ended")


def test_alone_it_returns(python):
    """Spec 6, threadblock: with no other thread there is nothing to wait for."""
    done = python("""
        import loomlet.compat.stackless as stackless
        stackless.tasklet(print)("ran")
        print(stackless.run(threadblock=True))
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\nNone\n", "")


def test_it_sleeps_until_a_tasklet_is_unblocked(thread):
    """Spec 6, threadblock: a send from another thread wakes it."""
    ch, log = stackless.channel(), []

    def body():
        log.append((ch.receive(), threading.get_ident()))
        log.append((ch.receive(), threading.get_ident()))
        raise Served

    other = thread(serve, log, lambda: stackless.tasklet(body)())
    for value in "ab":
        while ch.balance == 0:
            threading.Event().wait(0.001)  # the tasklet is about to block
        ch.send(value)
    other.result()
    assert log == [("a", other.id), ("b", other.id), "run has ended"]


def test_it_sleeps_until_a_tasklet_is_inserted(thread):
    """Spec 6, threadblock: an insert from another thread wakes it too."""
    log, made, ready = [], [], threading.Event()

    def body():
        log.append(threading.get_ident())
        raise Served

    def prepare():
        made.append(stackless.tasklet(body, ()))
        ready.set()

    other = thread(serve, log, prepare)
    assert ready.wait(60)
    made[0].insert()
    other.result()
    assert log == [other.id, "run has ended"]
