"""Home has nothing to run: whoever is back from C goes on with the scheduler where it is.

The calls are ended from a thread of the system, after a moment: that the scheduler has been taken,
and home sleeps, is seen by nobody.  Where it had not come to that the call is made again.
"""

from __future__ import annotations

import _thread
import os
import time

import pytest
from helpers_c_calls import Gate, run, sit, teach

import loomlet
from loomlet import Channel, _core, net

LONG = 3600
MOMENT = 0.02


def pick_ups():
    """How often a sitter has picked up the scheduler."""
    return _core._handoff_count()[2]


def open_soon(gate, *, then=lambda: None):
    """A thread opens the gate after a moment, and does something else at once."""

    def wait_and_open():
        time.sleep(MOMENT)
        gate.open()
        then()

    _thread.start_new_thread(wait_and_open, ())


def again_and_again(body, gate, *, then=lambda: None, wanted=5):
    """Calls the body, which sits, until the scheduler was picked up so often."""
    beside = loomlet.spawn(loomlet.sleep, LONG)  # without a timer nothing could ever run
    first = pick_ups()
    while pick_ups() < first + wanted:
        open_soon(gate, then=then)
        yield loomlet.spawn(body, gate).result()
    beside.kill()


def ends(gate):
    """Nothing follows the call."""
    return gate.wait()


def operates(gate):
    """An operation of loomlet follows."""
    channel = Channel(1)
    gate.wait()
    channel.send("sent")
    return channel.receive()


def counts(gate):
    """Safepoints follow."""
    gate.wait()
    return sum(1 for _ in range(1000))


def below_c_code(gate):
    """It sits below C code, and comes back there."""
    return sorted([2, 1], key=lambda value: (gate.wait(), value)[1] if value == 2 else value)


RESULTS = {ends: 1, operates: "sent", counts: 1000, below_c_code: [1, 2]}


@pytest.mark.parametrize("body", RESULTS)
def test_the_tasklet_goes_on(body):
    """However it comes to the meeting."""

    def main():
        with Gate() as gate:
            teach(body, gate)
            for found in again_and_again(body, gate):
                assert found == RESULTS[body]

    run(main)


def test_what_is_thrown_into_it_is_raised_there():
    """By a tasklet that runs before the call returns."""

    def body(gate):
        try:
            gate.wait()
            while True:
                pass
        except KeyError as error:
            return error.args[0]

    def main():
        with Gate() as gate:
            teach(sit, gate)
            for number in range(20):
                task = loomlet.spawn(body, gate)
                loomlet.sleep(MOMENT)
                open_soon(gate)
                task.throw(KeyError(number))
                assert task.result() == number

    run(main)


def test_no_event_of_a_descriptor_is_lost():
    """Which comes when the call returns, while home sleeps in the poller or leaves it."""

    def main():
        here, there = net.pair()
        with Gate() as gate, here:
            teach(sit, gate)
            got = []

            def read():
                while chunk := here.receive_some(1):
                    got.append(chunk)

            def write():
                os.write(there.fileno(), b"x")

            reader = loomlet.spawn(read)
            sent = len(list(again_and_again(counts, gate, then=write, wanted=30)))
            there.close()
            reader.result()
            assert len(got) == sent

    run(main)


def test_a_message_of_another_thread_arrives():
    """It wakes home, which does not have the scheduler, or is read where that is."""

    def main():
        channel = Channel()

        def body(gate):
            gate.wait()
            return channel.receive()

        with Gate() as gate:
            teach(sit, gate)
            sent = iter(range(1000))
            found = again_and_again(body, gate, then=lambda: channel.send(next(sent)), wanted=10)
            for number, got in enumerate(found):
                assert got == number

    run(main)


def test_it_waits_for_a_descriptor_first(python):
    """Home sleeps without a poller when one is opened elsewhere, and must be woken all the same."""
    done = python(f"""
        import sys
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        import os, _thread, time, loomlet
        from helpers_c_calls import Gate, run, sit, teach
        from loomlet import _core, net

        def body(gate):
            picked = _core._handoff_count()[2]
            gate.wait()
            picked = _core._handoff_count()[2] - picked
            here, there = net.pair()
            write = lambda: (time.sleep(0.02), os.write(there.fileno(), b"x"))
            _thread.start_new_thread(write, ())
            with here, there:
                assert here.receive_some(1) == b"x"
            return picked

        def main():
            with Gate() as gate:
                teach(sit, gate)
                beside = loomlet.spawn(loomlet.sleep, 3600)
                _thread.start_new_thread(lambda: (time.sleep(0.05), gate.open()), ())
                print(loomlet.spawn(body, gate).result())
                beside.kill()

        run(main)
    """)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("0", "1")


@pytest.mark.busy_fork
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_is_forked_there():
    """Home sleeps in the parent, and does not exist in the child."""

    def body(gate):
        gate.wait()
        child = os.fork()
        if child == 0:
            loomlet.sleep(0.001)
            os._exit(7)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def main():
        with Gate() as gate:
            teach(sit, gate)
            for status in again_and_again(body, gate):
                assert status == 7

    run(main)
