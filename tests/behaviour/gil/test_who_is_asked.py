"""A thread that computes is asked to drop the GIL when another comes back from a wait."""

import socket
import threading

import pytest

import loomlet
from loomlet import _core, gil, net

with_gil = pytest.mark.skipif(not _core._has_gil(), reason="there is no GIL to ask for")
MOST = 50_000  # round trips after which one must have come back while another thread computed


def echo_in_thread(side):
    """A plain thread that answers on a socket until the other side closes."""

    def answer():
        while data := side.recv(100):
            side.sendall(data)
        side.close()

    thread = threading.Thread(target=answer)
    thread.start()
    return thread


def trips_until(condition, trip):
    """Whether the condition held after one of the round trips."""
    for _ in range(MOST):
        trip()
        if condition():
            return True
    return False


def asked_more_than(before):
    """A condition: somebody was asked since."""
    return lambda: gil.status().asked > before


@with_gil
def test_a_tasklet_that_waited_for_a_socket_asks(computing):
    """The reactor asks by itself, without any setting."""
    before = gil.status().asked
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stream = net.connect(listener.getsockname())
        thread = echo_in_thread(listener.accept()[0])

    def trip():
        stream.send_all(b"x")
        assert stream.receive_some() == b"x"

    assert trips_until(asked_more_than(before), trip)
    stream.close()
    thread.join()


@with_gil
def test_a_tasklet_that_slept_asks(computing):
    """A timer is one of the things that a scheduler waits for."""
    before = gil.status().asked
    assert trips_until(asked_more_than(before), lambda: loomlet.sleep(0.0001))


@with_gil
def test_the_pool_for_blocking_calls_asks(computing):
    """A worker asks for its call, and the scheduler for the result."""
    before = gil.status().asked
    assert trips_until(asked_more_than(before), lambda: loomlet.run_blocking(int))


@with_gil
def test_a_message_of_a_plain_thread_asks(computing):
    """The scheduler that it wakes does."""
    before = gil.status().asked
    questions, answers = loomlet.Channel(), loomlet.Channel()

    def answer_all():
        for number in questions:
            answers.send(number)

    thread = threading.Thread(target=answer_all)
    thread.start()

    def trip():
        questions.send(1)
        assert answers.receive() == 1

    assert trips_until(asked_more_than(before), trip)
    questions.close()
    thread.join()


@with_gil
def test_plain_threads_ask_once_they_are_prioritised(computing):
    """Through the standard sockets, which say how they are reached."""
    gil.prioritise_io()
    assert gil.status().modules["_socket"] in ("module", "built in")
    before = gil.status().asked
    ours, theirs = socket.socketpair()
    thread = echo_in_thread(theirs)

    def trip():
        ours.sendall(b"x")
        assert ours.recv(100) == b"x"

    assert trips_until(asked_more_than(before), trip)
    ours.close()
    thread.join()


@with_gil
def test_nobody_is_asked_with_a_share_of_nothing(computing):
    """Loomlet's own threads do not ask then either."""
    gil.prioritise_io(0)
    before = gil.status().asked
    for _ in range(50):
        loomlet.run_blocking(int)
        loomlet.sleep(0.0001)
    assert gil.status().asked == before


@with_gil
def test_nobody_is_asked_when_no_thread_computes():
    """Alone, a thread that comes back finds the GIL free."""
    gil.prioritise_io()
    before = gil.status().asked
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for _ in range(200):
            ours.sendall(b"x")
            assert theirs.recv(10) == b"x"
            loomlet.sleep(0.0001)
    assert gil.status().asked == before


@with_gil
def test_a_used_up_share_defers(computing):
    """With a millionth of the time, asking soon has to wait."""
    gil.prioritise_io(0.000001)
    before = gil.status().deferred
    deferred = trips_until(
        lambda: gil.status().deferred > before, lambda: loomlet.run_blocking(int)
    )
    assert deferred


@with_gil
def test_a_thread_that_gives_many_jobs_is_not_asked_for_each(python):
    """A job wakes an idle worker; whoever gives the jobs is about to wait, or has more of them.

    Of such partners one is asked in four milliseconds, whatever the machine does meanwhile. If one
    were asked for each worker that wakes it would be ten times as often.
    """
    done = python("""
import time
from loomlet import gil, patch
patch.install(sync=True)
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(4) as pool:
    assert sum(pool.map(abs, range(1000))) == 499500
    before, began = gil.status().asked, time.monotonic()
    for _ in range(20):
        assert sum(pool.map(abs, range(1000))) == 499500
    asked, pauses = gil.status().asked - before, (time.monotonic() - began) / 0.004
print(asked < 50 + 5 * pauses or (asked, pauses))
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
