"""A plain OS thread uses channels like any tasklet; it sleeps while it waits."""

import threading

import pytest

import loomlet
from loomlet import Channel


def in_thread(func, *args):
    """Starts a thread that calls func; returns it and the list that gets its result."""
    result = []
    thread = threading.Thread(target=lambda: result.append(func(*args)))
    thread.start()
    return thread, result


def test_a_thread_receives(mode):
    """A thread that waits in receive() gets what a tasklet of another thread sends."""
    ch = Channel()
    thread, result = in_thread(ch.receive)
    ch.send("value")
    thread.join()
    assert result == ["value"]


def test_a_thread_sends(mode):
    """A thread's send() wakes a tasklet that waits in another thread."""
    ch = Channel()
    task = loomlet.spawn(ch.receive)
    loomlet.schedule()
    thread, result = in_thread(ch.send, "value")
    assert task.result() == "value"
    thread.join()
    assert result == [None]


def test_a_thread_loops_over_a_channel(mode):
    """Iteration in a thread ends when another thread closes the channel."""
    ch = Channel()
    thread, result = in_thread(lambda: [value for value in ch])
    for n in range(100):
        ch.send(n)
    ch.close()
    thread.join()
    assert result == [list(range(100))]


def test_a_thread_selects(mode):
    """select() in a thread is woken from another one, and leaves the other channels."""
    a, b = Channel(), Channel()
    thread, result = in_thread(loomlet.select, [a, b])
    b.send("value")
    thread.join()
    assert result == [(1, "value")]
    assert a.try_send(1) is False


def test_a_thread_gets_the_error_of_a_closed_channel(mode):
    """close() wakes a receiver in another thread with ChannelClosed."""

    def receive():
        with pytest.raises(loomlet.ChannelClosed):
            ch.receive()
        return "closed"

    ch = Channel()
    thread, result = in_thread(receive)
    while ch.balance == 0:
        loomlet.sleep(0.001)  # until the thread really waits
    ch.close()
    thread.join()
    assert result == ["closed"]


def test_a_thread_joins_a_tasklet(mode):
    """join() and result() work from another thread."""
    ch = Channel()
    task = loomlet.spawn(ch.receive)
    thread, result = in_thread(task.result)
    loomlet.schedule()
    ch.send("value")
    while thread.is_alive():
        loomlet.sleep(0.001)  # lets our scheduler run until the thread has seen it
    thread.join()
    assert result == ["value"]


def test_the_lock_of_the_interpreter_is_free_meanwhile(mode):
    """While a thread waits in loomlet, other threads run Python code."""
    ch, counted = Channel(), []

    def count():
        counted.extend(range(100_000))
        ch.send("done")

    thread, _ = in_thread(count)
    assert ch.receive() == "done"
    assert len(counted) == 100_000
    thread.join()


def test_each_thread_has_its_own_main_tasklet(mode):
    """current() in a thread is that thread's main tasklet."""
    thread, result = in_thread(lambda: (loomlet.current(), loomlet.current().is_main))
    thread.join()
    [(main, is_main)] = result
    assert is_main
    assert main is not loomlet.current()
