"""A collected tasklet that waits again for ever is ended by the next collection."""

import gc
import os
import warnings
import weakref

import pytest

import loomlet
from loomlet import Channel, _core


class Thing:
    pass


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield


def test_finally_that_waits(mode):
    """A finally block that waits for an impossible value is dropped by the next collection."""
    log, seen = [], []

    def body(ch, cycle):
        thing = Thing()
        seen.append(weakref.ref(thing))
        try:
            ch.receive()
        finally:
            log.append("finally")
            ch.receive()
            log.append("not reached")

    for _ in range(20):
        cycle = []
        cycle.append(loomlet.spawn(body, Channel(), cycle))
    loomlet.schedule()
    del cycle
    for _ in range(4):
        gc.collect()
        loomlet.schedule()
    assert log == ["finally"] * 20
    assert [ref() for ref in seen] == [None] * 20
    assert len(_core.tasklets()) == 1


def test_a_tasklet_that_refuses_to_end(mode):
    """A tasklet that catches every TaskletExit does not hang the collector."""
    log = []

    def body(ch, cycle):
        while len(log) < 10:
            try:
                ch.receive()
            except loomlet.TaskletExit:
                log.append("refused")

    cycle = []
    cycle.append(loomlet.spawn(body, Channel(), cycle))
    loomlet.schedule()
    del cycle
    for _ in range(15):
        gc.collect()
        loomlet.schedule()
    if "switch" in os.environ.get("LOOMLET_TORTURE", ""):
        assert 1 <= len(log) <= 10  # some of its waits are hard, those are asked again
    else:
        assert log == ["refused"] * (1 if mode == "soft" else 10)
    assert len(_core.tasklets()) == 1


def test_finally_that_gives_way(mode):
    """A finally block of a collected tasklet may let others run, and is finished in its turn."""
    log = []

    def body(ch, cycle):
        try:
            ch.receive()
        finally:
            loomlet.schedule()
            log.append("finished")

    for _ in range(20):
        cycle = []
        cycle.append(loomlet.spawn(body, Channel(), cycle))
    loomlet.schedule()
    del cycle
    gc.collect()
    loomlet.schedule()
    loomlet.schedule()
    assert log == ["finished"] * 20


def test_finally_that_sleeps(mode, clock):
    """A finally block may sleep: the timer keeps it alive."""
    log = []

    def body(ch, cycle):
        try:
            ch.receive()
        finally:
            loomlet.sleep(5)
            log.append("slept")

    cycle = []
    cycle.append(loomlet.spawn(body, Channel(), cycle))
    loomlet.schedule()
    del cycle
    gc.collect()
    gc.collect()
    loomlet.sleep(10)
    assert log == ["slept"]
