"""time.sleep() in a tasklet is loomlet.sleep(), and is otherwise unchanged."""

import threading
import time
from time import sleep

import pytest
from helpers_original_errors import errors_of

import loomlet
from loomlet import patch


def test_others_run_meanwhile(mode, clock):
    """Three sleepers wake in the order of their times, not of their start."""
    woken = []

    def wait(seconds):
        sleep(seconds)
        woken.append((seconds, clock()))

    tasks = [loomlet.spawn(wait, seconds) for seconds in (3, 1.5, True)]
    for task in tasks:
        task.join()
    assert woken == [(True, 1.0), (1.5, 1.5), (3, 3.0)]


def test_it_is_soft(switches, clock):
    """A sleeper costs only its frames."""

    def wait(pause):
        for _ in range(20):
            sleep(pause)

    tasks = [loomlet.spawn(wait, pause) for pause in (1, 1.5)]
    for task in tasks:
        task.join()
    soft, hard = switches.take()
    assert soft > 0
    assert hard == 0


@pytest.mark.parametrize("value", [-1, -0.5, "1", None, float("nan"), float("inf"), 1e30, 1 << 70])
def test_errors_are_those_of_the_original(value):
    """Type and text, whatever is wrong."""
    stock, ours = errors_of(sleep, value)
    assert str(ours) == str(stock)


@pytest.mark.parametrize("call", [lambda: sleep(), lambda: sleep(1, 2), lambda: sleep(secs=1)])
def test_wrong_calls_are_those_of_the_original(call):
    """The number of arguments, and names."""
    stock, ours = errors_of(call, kind=TypeError)
    assert str(ours).removeprefix("time.") == str(stock).removeprefix("time.")


def test_objects_with_an_index_are_numbers(clock):
    """An integer of any kind."""

    class Two:
        def __index__(self):
            return 2

    loomlet.spawn(sleep, Two()).join()
    assert clock() == 2.0


def test_a_kill_ends_it():
    """At once."""
    task = loomlet.spawn(sleep, 1000)
    loomlet.schedule()
    task.kill()
    assert task.state == "done"


def test_a_timeout_ends_it(clock):
    """TimeoutError at the time of the scope."""

    def body():
        with loomlet.timeout(5):
            sleep(1000)

    with pytest.raises(TimeoutError):
        loomlet.spawn(body).result()
    assert clock() == 5.0


def test_the_function_looks_unchanged():
    """The same object, name, text and module."""
    before = time.sleep
    facts = (sleep.__name__, sleep.__doc__, sleep.__module__, repr(sleep))
    patch.uninstall()
    assert time.sleep is before
    assert facts == (sleep.__name__, sleep.__doc__, sleep.__module__, repr(sleep))


def test_a_thread_without_tasklets_sleeps_by_itself():
    """The thread gets no scheduler; the tasklets of this thread run meanwhile."""
    slept = []

    def run():
        start = time.monotonic()
        sleep(0.01)  # the clock of the system, which cannot be virtual here
        slept.append(time.monotonic() - start)

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        loomlet.schedule()
    thread.join()
    assert slept[0] >= 0.01
