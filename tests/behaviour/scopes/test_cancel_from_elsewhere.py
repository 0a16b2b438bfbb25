"""Another tasklet, another thread, a callback or code inside the scope may cancel it."""

import os
import threading

import pytest

import loomlet
from loomlet import CancelScope, Channel, TaskGroup, _core


def test_from_another_thread_while_it_waits(mode):
    """The thread inside wakes up and is cancelled."""
    scope, ready, log = CancelScope(), threading.Event(), []

    def elsewhere():
        ready.wait(60)
        scope.cancel()

    def worker():
        with scope:
            ready.set()
            Channel().receive()
            log.append("never")

    thread = threading.Thread(target=elsewhere)
    thread.start()
    loomlet.spawn(worker).join()
    thread.join()
    assert scope.cancelled_caught
    assert log == []


def test_from_another_thread_while_it_runs():
    """A busy tasklet meets it at a later operation."""
    with CancelScope() as scope:
        thread = threading.Thread(target=scope.cancel)
        thread.start()
        thread.join()
        while True:
            loomlet.schedule()
    assert scope.cancelled_caught


def test_from_another_thread_when_the_block_is_over():
    """It comes too late and cancels nothing: not even what the tasklet waits for now."""
    ch = Channel()

    def worker():
        with scope:
            pass
        thread = threading.Thread(target=scope.cancel)
        thread.start()
        thread.join()
        loomlet.schedule()
        return ch.receive()

    scope = CancelScope()
    task = loomlet.spawn(worker)
    loomlet.schedule()
    loomlet.schedule()
    loomlet.schedule()
    ch.send("value")
    assert task.result() == "value"
    assert scope.cancel_called


def test_a_message_that_is_read_after_the_block():
    """The request is on its way when the block ends: the next wait is not affected."""
    ch, log = Channel(), []

    def worker():
        with CancelScope() as scope:
            thread = threading.Thread(target=scope.cancel)
            thread.start()
            thread.join()  # the message is in the inbox, and no switch has happened since
        log.append(scope.cancel_called)
        return ch.receive()

    task = loomlet.spawn(worker)
    loomlet.schedule()
    for _ in range(3):
        loomlet.schedule()
    ch.send("value")
    assert task.result() == "value"
    assert log == [True]


def test_threads_that_cancel_and_a_thread_that_leaves():
    """Scopes left at the moment they are cancelled, thousands of times: none is lost or leaks."""
    scopes = Channel(1)

    def canceller():
        for scope in scopes:
            scope.cancel()

    threads = [threading.Thread(target=canceller) for _ in range(2)]
    for thread in threads:
        thread.start()
    caught = 0
    for n in range(2000):
        with CancelScope() as scope:
            scopes.send(scope)
            for _ in range(n % 3):
                loomlet.schedule()
        caught += scope.cancelled_caught
        loomlet.schedule()
        assert not loomlet.current()._cancelled
    with CancelScope() as last:
        scopes.send(last)
        Channel().receive()
    assert last.cancelled_caught
    scopes.close()
    for thread in threads:
        thread.join()


def test_from_a_callback_of_the_scheduler(clock, mode):
    """A timer's callback may cancel."""
    scope = CancelScope()
    timer = _core.Timer(scope.cancel)
    timer.arm(3.0)

    def worker():
        with scope:
            Channel().receive()

    loomlet.spawn(worker).join()
    assert scope.cancelled_caught
    assert clock() == 3.0


def test_a_child_cancels_a_scope_around_its_group():
    """A tasklet that cancels a scope around itself is cancelled too."""
    log = []

    def child():
        outer.cancel()
        log.append("continues")
        loomlet.schedule()
        log.append("never")

    with CancelScope() as outer, TaskGroup() as group:
        group.spawn(child)
        group.spawn(Channel().receive)
    assert outer.cancelled_caught
    assert log == ["continues"]


def test_from_a_destructor(mode):
    """A destructor may cancel while another cancel is being delivered."""

    class Bomb:
        def __del__(self):
            second.cancel()

    first, second, log = CancelScope(), CancelScope(), []

    def sender(scope, make):
        with scope:
            Channel().send(make())
        log.append(scope.cancelled_caught)

    tasks = [loomlet.spawn(sender, first, Bomb), loomlet.spawn(sender, second, int)]
    loomlet.schedule()
    first.cancel()
    for task in tasks:
        task.join()
    assert log == [True, True]


def test_a_moved_tasklet_keeps_its_scopes():
    """A tasklet that was moved to another thread is cancelled there."""
    move = getattr(_core.Tasklet, "bind_thread", None)
    if move is None or not _core.soft() or "switch" in os.environ.get("LOOMLET_TORTURE", ""):
        pytest.skip("tasklets cannot be moved here")
    scope, ch, thread_ids = CancelScope(), Channel(), []

    def worker():
        with scope:
            _core._pause()
            thread_ids.append(threading.get_ident())
            ch.send("moved")
            Channel().receive()

    def other():
        loomlet.sleep(0)
        ready.set()
        assert go.wait(60)
        task.insert()
        task.join()

    ready, go = threading.Event(), threading.Event()
    task = loomlet.spawn(worker)
    loomlet.schedule()
    thread = threading.Thread(target=other)
    thread.start()
    assert ready.wait(60)
    task.bind_thread(thread.ident)
    go.set()
    assert ch.receive() == "moved"
    scope.cancel()
    thread.join()
    assert thread_ids == [thread.ident]
    assert scope.cancelled_caught
