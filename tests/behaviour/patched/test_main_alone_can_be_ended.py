"""A time limit also ends the waits of a main tasklet without other tasklets."""

import queue
import select
import socket
import subprocess
import threading
import time

import pytest

import loomlet


def receive():
    one, other = socket.socketpair()
    with one, other:
        one.recv(1)


def wait_in_select():
    one, other = socket.socketpair()
    with one, other:
        select.select([one], [], [])


def run_a_child():
    with subprocess.Popen(["sleep", "1000"]) as child:
        try:
            child.wait()
        finally:
            child.kill()
            with loomlet.CancelScope(shield=True):
                child.wait()


def take_twice():
    lock = threading.Lock()
    with lock:
        lock.acquire()


WAITS = {
    "sleep": lambda: time.sleep(1000),
    "recv": receive,
    "select": wait_in_select,
    "child": run_a_child,
    "lock": take_twice,
    "event": lambda: threading.Event().wait(),
    "queue": lambda: queue.Queue().get(),
    "simple queue": lambda: queue.SimpleQueue().get(),
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_by_a_time_limit(wait):
    """In the main tasklet of a thread without run()."""
    with pytest.raises(TimeoutError), loomlet.timeout(0.01):
        wait()


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_inside_run(wait):
    """As the main function of run()."""

    def main():
        with pytest.raises(TimeoutError), loomlet.timeout(0.01):
            wait()

    loomlet.run(main)


def test_by_a_cancel_from_a_thread():
    """Another thread cancels the scope."""
    with loomlet.CancelScope() as scope:
        thread = threading.Timer(0.01, scope.cancel)
        thread.start()
        receive()
    thread.join()
    assert scope.cancelled_caught
