"""Signals interrupt no operation; their handlers run while all wait."""

import os
import signal
import threading
import time

import pytest

import loomlet


@pytest.fixture
def alarms():
    """Counts SIGALRM, which comes every millisecond."""
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    yield seen
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_a_wait_continues_after_a_handler(mode, streams, alarms):
    """Handlers run while the thread sleeps in the poller; waiting tasklets are not disturbed."""
    one, other = streams
    task = loomlet.spawn(one.receive_some)
    while len(alarms) < 20:
        loomlet.sleep(0.01)
    assert task.state == "blocked"
    other.send_all(b"at last")
    assert task.result() == b"at last"


def test_large_transfers_continue(mode, streams, alarms):
    """Whatever is interrupted, every byte arrives."""
    one, other = streams
    message = bytes(range(256)) * 20_000
    loomlet.spawn(one.send_all, message)
    assert other.receive_exactly(len(message)) == message


def test_a_handler_runs_without_any_timer(mode, streams):
    """Nothing but the signal can end that sleep."""
    one, other = streams
    before = signal.signal(signal.SIGUSR1, lambda *_: other.send_all(b"from the handler"))

    def kick():
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGUSR1)

    thread = threading.Thread(target=kick)
    thread.start()
    try:
        assert loomlet.spawn(one.receive_some).result() == b"from the handler"
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)


def test_ctrl_c_reaches_the_main_tasklet(python):
    """While all tasklets wait for descriptors."""
    done = python(
        """
        import os, signal, threading, time
        import loomlet
        from loomlet import net

        def main():
            one, other = net.pair()
            loomlet.spawn(one.receive_some)
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                other.receive_some()
            except KeyboardInterrupt:
                print("interrupted")
            one.close(), other.close()

        loomlet.run(main)
        """
    )
    assert done.stdout == "interrupted\n"
