"""A generator that was running in a collected tasklet is closed by it, without a complaint."""

import gc
import sys
import warnings

import pytest

import loomlet
from loomlet import Channel


@pytest.fixture
def unraisable(monkeypatch):
    """What could not be raised while the collector ran."""
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda info: seen.append(info.exc_value))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield seen


def generate(ch, log):
    try:
        for _ in range(3):
            yield ch.receive()
    finally:
        log.append("closed")


def loop(generator, cycle):
    for _ in generator:
        pass


def test_older_than_the_tasklet(unraisable, switches):
    """The collector comes to the generator first; only the tasklet closes it."""
    log = []
    for _ in range(10):
        cycle, generator = [], generate(Channel(), log)
        cycle.append(loomlet.spawn(loop, generator, cycle))
    del cycle, generator
    loomlet.schedule()
    gc.collect()
    loomlet.schedule()
    assert log == ["closed"] * 10
    assert unraisable == []


def test_a_generator_that_continues_is_closed_later(unraisable, mode):
    """A generator that continued after collections had seen it is closed when it is forgotten."""
    log, ch = [], Channel()

    def take_one(generator):
        for value in generator:
            return value

    generator = generate(ch, log)
    task = loomlet.spawn(take_one, generator)
    loomlet.schedule()
    gc.collect()
    ch.send("value")
    assert task.result() == "value"
    del task
    generator = [generator]
    generator.append(generator)
    del generator
    assert log == []
    gc.collect()
    assert log == ["closed"]
    assert unraisable == []
