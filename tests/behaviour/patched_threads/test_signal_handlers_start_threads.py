"""Handlers of signals run in main as in a thread that waits: they may start threads, and wait."""

import functools
import os
import queue
import select
import signal
import socket
import subprocess
import threading
import time

import pytest

import loomlet
from loomlet import _core


class Waits:
    """Ways in which main waits for something that `end` brings about."""

    def __init__(self):
        self.near, self.far = socket.socketpair()
        self.source, self.sink = os.pipe()
        self.queue, self.simple = queue.Queue(), queue.SimpleQueue()
        self.event, self.lock = threading.Event(), threading.Lock()
        self.lock.acquire()
        self.child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        self.tasklet = None

    def end(self):
        self.far.send(b"x")
        os.write(self.sink, b"x")
        self.queue.put(None)
        self.simple.put(None)
        self.event.set()
        self.lock.release()
        self.child.stdin.close()

    def close(self):
        for each in (self.near, self.far, self.child.stdin):
            each.close()
        self.child.wait()
        os.close(self.source)
        os.close(self.sink)


WAITS = {
    "recv": lambda on: on.near.recv(1),
    "select": lambda on: select.select([on.near], [], []),
    "read": lambda on: os.read(on.source, 1),
    "queue": lambda on: on.queue.get(),
    "simple queue": lambda on: on.simple.get(),
    "event": lambda on: on.event.wait(),
    "timed event": lambda on: on.event.wait(1000),
    "lock": lambda on: on.lock.acquire(),
    "child": lambda on: on.child.wait(),
    "join": lambda on: loomlet.spawn(on.near.recv, 1).join(),
}


@pytest.fixture(params=[False, True], ids=["at home", "handoff"])
def run(request):
    """With handoff main waits softly where it can."""
    if request.param and not _core._can_hand_over():
        pytest.skip("handoff needs 3.12 or later")
    return functools.partial(loomlet.run, handoff=request.param)


@pytest.fixture
def on():
    waits = Waits()
    yield waits
    waits.close()


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "beside another"])
@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_a_thread_of_a_handler_ends_the_wait_of_main(wait, alone, on, alarm, run):
    """The thread waits, too, before it does so: nothing but main's wait was in its way."""
    events = []

    def work():
        time.sleep(0.001)
        events.append("thread")
        on.end()

    def main():
        if not alone:
            threading.Thread(target=time.sleep, args=[1000], daemon=True).start()
        alarm(lambda number, frame: threading.Thread(target=work).start())
        wait(on)
        events.append("main")

    run(main)
    assert events == ["thread", "main"]


def test_a_sleep_is_as_long_as_it_was_to_be(alarm, run):
    """Main sleeps the rest after the handler; the thread has run meanwhile."""
    events = []

    def main():
        alarm(lambda number, frame: threading.Thread(target=events.append, args=["thread"]).start())
        until = time.monotonic() + 0.2
        time.sleep(0.2)
        events.append(time.monotonic() >= until)

    run(main)
    assert events == ["thread", True]


def test_a_handler_is_main_and_may_wait(on, alarm, run):
    """It has main's ident, holds main's locks, and sees the frame that waits."""
    seen = []
    mine = threading.RLock()

    def handler(number, frame):
        with mine:
            time.sleep(0.001)
            seen.append(threading.current_thread() is threading.main_thread())
        seen.append(threading.get_ident() == threading.main_thread().ident)
        while frame.f_code.co_name != "main":
            frame = frame.f_back
        seen.append(frame.f_locals["here"])
        on.end()

    def main():
        here = "here"
        loomlet.spawn(time.sleep, 1000)
        alarm(handler)
        with mine:
            on.near.recv(1)
        return here

    assert run(main) == "here"
    assert seen == [True, True, "here"]


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_an_exception_of_a_handler_leaves_the_wait(wait, on, alarm, run):
    """As in a thread: an alarm is a time limit."""

    class Late(Exception):
        pass

    def handler(number, frame):
        raise Late

    def main():
        alarm(handler)
        with pytest.raises(Late):
            wait(on)
        on.end()
        for each in threading.enumerate()[1:]:
            each.join()

    run(main)


def test_many_signals_disturb_nothing(on, alarm, run):
    """Each ends the wait for a moment; what is sent meanwhile arrives whole and in order."""
    count = 0

    def handler(number, frame):
        nonlocal count
        count += 1

    def main():
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)

        def feed():
            for number in range(100):
                time.sleep(0.001)
                on.queue.put(number)
                on.far.send(bytes([number]))

        threading.Thread(target=feed).start()
        got = [on.queue.get() for _ in range(100)]
        while count < 20:
            time.sleep(0.01)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return got, b"".join(on.near.recv(1) for _ in range(100))

    assert run(main) == (list(range(100)), bytes(range(100)))


@pytest.mark.parametrize("wait", ["join", "queue", "event", "lock", "read"])
def test_what_main_waits_for_comes_while_the_handler_waits(wait, on, alarm, run):
    """Then main need not wait again, and goes on behind its own call."""

    def handler(number, frame):
        on.end()
        time.sleep(0.01)

    def main():
        alarm(handler)
        threading.Thread(target=time.sleep, args=[0.1]).start()
        WAITS[wait](on)
        return wait

    assert run(main) == wait
