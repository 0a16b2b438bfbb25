"""Descriptors and timers beside tasklets that compute: what comes waits for no second slice, nor
for many short runs."""

import pytest

import loomlet
from loomlet import net, spawn

SLICE = 0.005


def take_turns(log, name):
    """Computes, and logs each time that another one has run before it."""
    while len(log) < 8:
        if log[-1] != name:
            log.append(name)


@pytest.mark.parametrize("how", ["descriptor", "timer"])
def test_it_goes_before_the_one_that_is_interrupted(how):
    """While the first of two computes something becomes ready: it runs before that goes on."""
    log = []

    def main():
        here, there = net.pair()

        def answer():
            if how == "timer":
                loomlet.sleep(SLICE / 5)
            else:
                here.receive_some()
            log.append("answer")

        def compute():
            log.append("first")
            there.send_all(b"x")
            take_turns(log, "first")

        answering = spawn(answer)
        loomlet.schedule()
        tasks = [answering, spawn(compute), spawn(take_turns, log, "second")]
        for task in tasks:
            task.join()
        here.close()
        there.close()

    loomlet.run(main, slice=SLICE)
    assert log[:4] == ["first", "second", "answer", "first"]


def test_a_descriptor_waits_for_few_of_those_that_run_for_long():
    """Two tasklets run for a millisecond at a time, without end: after some they are not picked
    sixty times before descriptors are looked at."""
    runs, sent, waits = [0], [], []

    def compute(there):
        while len(waits) < 20:
            if len(sent) == len(waits):
                sent.append(runs[0])
                there.send_all(b"x")
            until = loomlet.now() + 0.001
            while loomlet.now() < until:
                pass
            runs[0] += 1
            loomlet.schedule()

    def main():
        here, there = net.pair()
        with here, there, loomlet.TaskGroup() as group:
            for _ in range(2):
                group.spawn(compute, there)
            for _ in range(20):
                here.receive_some()
                waits.append(runs[0] - sent[-1])

    loomlet.run(main, slice=None)
    assert max(waits[10:]) < 10
