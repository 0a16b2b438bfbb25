"""A thread that wakes another one releases the GIL first: at its next safepoint, or when it blocks
or ends, whichever comes first. No wake is lost on the way."""

import os
import threading
from collections import deque

import pytest

import loomlet
from loomlet import Channel, _core
from loomlet.sync import Event, Lock

ROUNDS = 2000
PAIRS = 50
MANY = 500


def receiving(channel, got):
    """A thread that receives all values of the channel in a tasklet."""

    def receive():
        for value in channel:
            got.append(value)

    thread = threading.Thread(target=loomlet.run, args=(receive,))
    thread.start()
    return thread


def waits(channel):
    """Whether a tasklet waits for a value."""
    return channel.balance < 0


def play(rounds):
    """Two new threads answer each other."""
    ask, answer = Lock(), Lock()
    ask.acquire()
    answer.acquire()

    def reply():
        for _ in range(rounds):
            ask.acquire()
            answer.release()

    def put():
        for _ in range(rounds):
            ask.release()
            answer.acquire()

    threads = [threading.Thread(target=reply), threading.Thread(target=put)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_pair_of_threads_releases_the_gil_first():
    """Each of them sleeps soon after it has woken the other one, so it need not keep the GIL.

    On a busy machine it may be so late that it keeps the GIL after all; not all pairs are.
    """
    before = _core._gil_wakes()
    for _ in range(PAIRS if _core._has_gil() else 1):
        play(ROUNDS)
        if _core._gil_wakes() > before:
            break
    assert (_core._gil_wakes() > before) == _core._has_gil()


def test_a_thread_that_computes_on_wakes_the_other():
    """The value arrives although the sender neither blocks nor ends."""
    channel, got = Channel(), []
    thread = receiving(channel, got)
    for number in range(20):
        while not waits(channel):
            pass
        channel.send(number)
        while len(got) <= number:
            pass
    channel.close()
    thread.join()
    assert got == list(range(20))


def test_a_call_that_has_no_safepoint_wakes_when_it_is_over():
    """All is sent by one call of C code."""
    channel, got = Channel(MANY), []
    thread = receiving(channel, got)
    while not waits(channel):
        pass
    deque(map(channel.send, range(MANY)), maxlen=0)
    while len(got) < MANY:
        pass
    channel.close()
    thread.join()
    assert got == list(range(MANY))


def test_many_threads_are_woken_by_one_call():
    """One of the wakes may be postponed; the others come at once."""
    event, woken = Event(), []

    def wait():
        event.wait()
        woken.append(threading.get_ident())

    threads = [threading.Thread(target=wait) for _ in range(10)]
    for thread in threads:
        thread.start()
    event.set()
    while len(woken) < len(threads):
        pass
    for thread in threads:
        thread.join()
    assert len(set(woken)) == len(threads)


def test_a_thread_that_ends_wakes_the_other():
    """Its last call sends."""
    got = []
    for _ in range(50):
        channel = Channel()
        thread = receiving(channel, got)
        while not waits(channel):
            pass
        sender = threading.Thread(target=channel.send, args=(1,))
        sender.start()
        sender.join()
        channel.close()
        thread.join()
    assert got == [1] * 50


def test_the_thread_that_blocks_in_the_same_call_wakes_the_other():
    """A tasklet that sends and then waits leaves the GIL where its thread sleeps."""
    there, back, got = Channel(), Channel(), []

    def reply():
        for value in there:
            back.send(value)

    thread = threading.Thread(target=loomlet.run, args=(reply,))
    thread.start()

    def ask():
        for number in range(ROUNDS):
            there.send(number)
            got.append(back.receive())
        there.close()

    loomlet.run(ask)
    thread.join()
    assert got == list(range(ROUNDS))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_child_of_a_fork_goes_on(python):
    """The wake is its parent's."""
    done = python("""
import os, threading
import loomlet
from loomlet import Channel

channel, got = Channel(), []

def receive():
    for value in channel:
        got.append(value)

thread = threading.Thread(target=loomlet.run, args=(receive,))
thread.start()
for number in range(20):
    while channel.balance >= 0:
        pass
    children = [channel.send(number), os.fork()][1:]
    if children == [0]:
        threads = [threading.Thread(target=int) for _ in range(3)]
        [each.start() for each in threads] + [each.join() for each in threads]
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 7
channel.close()
thread.join()
print(got == list(range(20)))
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


@pytest.mark.parametrize("end", ["", "sys.exit()", "raise SystemExit(0)"])
def test_the_end_of_the_interpreter_waits_for_nobody(python, end):
    """Daemon threads wake each other at that moment."""
    done = python(f"""
import sys, threading
import loomlet
from loomlet.sync import Lock

def play(mine, others):
    while True:
        mine.acquire()
        others.release()

for _ in range(3):
    first, second = Lock(), Lock()
    second.acquire()
    for pair in ((first, second), (second, first)):
        threading.Thread(target=play, args=pair, daemon=True).start()
loomlet.sleep(0.01)
{end}
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
