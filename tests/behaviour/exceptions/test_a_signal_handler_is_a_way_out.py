"""While a signal has a handler in Python, waiting for it is no deadlock."""

import signal
import threading

import pytest

import loomlet
from loomlet import Channel

FROM_OUTSIDE = """
    import os, signal, subprocess
    import loomlet
    from loomlet import Channel


    def main():
        stop = Channel(1)
        signal.signal(signal.SIGTERM, lambda number, frame: stop.try_send(number))
        helper = subprocess.Popen(["sh", "-c", f"sleep 0.3; kill -TERM {os.getpid()}"])
        print("stopped by", WAIT)
        helper.wait()


    loomlet.run(main)
"""
WAITS = ["stop.receive()", "loomlet.spawn(stop.receive).result()", "loomlet.select([stop])[1]"]


@pytest.mark.parametrize("wait", WAITS)
def test_a_signal_from_outside_ends_the_wait(python, wait):
    """The documented pattern: the handler sends to the channel that the program waits for."""
    done = python(FROM_OUTSIDE.replace("WAIT", wait))
    assert (done.stdout, done.stderr) == ("stopped by 15\n", "")


def test_a_timer_of_the_system_ends_the_wait(mode, alarm):
    """setitimer() is a signal like any other."""
    ch = Channel(1)
    alarm(lambda number, frame: ch.try_send("alarm"))
    assert ch.receive() == "alarm"


def test_an_exception_of_the_handler_reaches_main(mode, alarm):
    """It is raised where the main tasklet waits."""

    def handler(number, frame):
        raise KeyError("alarm")

    alarm(handler)
    with pytest.raises(KeyError, match="alarm"):
        Channel().receive()


def test_a_thread_waits_for_a_handler_of_the_main_thread(alarm):
    """The handler may wake tasklets of any thread."""
    ch, seen = Channel(1), []
    thread = threading.Thread(target=lambda: seen.append(ch.receive()))
    alarm(lambda number, frame: ch.try_send("alarm"))
    thread.start()
    thread.join()
    assert seen == ["alarm"]


@pytest.mark.parametrize("handler", [signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler])
def test_a_handler_that_wakes_nobody_does_not_count(mode, alarm, handler):
    """The system's own, and the one that raises KeyboardInterrupt."""
    signal.signal(signal.SIGALRM, handler)
    with pytest.raises(loomlet.Deadlock):
        Channel().receive()
