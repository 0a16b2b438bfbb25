"""A select that is killed, thrown into or forgotten leaves all its channels."""

import gc
import sys
import warnings

import pytest

import loomlet
from loomlet import Channel


@pytest.mark.parametrize("end", [lambda t: t.kill(), lambda t: t.throw(KeyError("thrown"))])
def test_it_leaves_every_channel(end, mode, failures):
    """After kill() or throw() none of the channels has a wait node of it."""
    channels = [Channel() for _ in range(20)]
    task = loomlet.spawn(lambda: loomlet.select([*channels, (channels[0], 1)], timeout=9))
    loomlet.schedule()
    assert channels[0].balance == 0
    assert channels[1].balance == -1
    end(task)
    assert task.state == "done"
    assert [ch.balance for ch in channels] == [0] * 20
    failures.clear()


def test_the_exception_can_be_handled(mode):
    """A tasklet may catch what was thrown and select again."""

    def body():
        try:
            return loomlet.select([a])
        except KeyError:
            return loomlet.select([b])

    a, b = Channel(), Channel()
    task = loomlet.spawn(body)
    loomlet.schedule()
    task.throw(KeyError())
    assert (a.balance, b.balance) == (0, -1)
    b.send("value")
    assert task.result() == (0, "value")


def test_values_of_send_cases_are_released(mode):
    """The values that a select did not send keep no reference."""

    class Value:
        pass

    value = Value()
    before = sys.getrefcount(value)
    channels = [Channel() for _ in range(3)]
    for _ in range(20):
        task = loomlet.spawn(lambda: loomlet.select([(ch, value) for ch in channels]))
        loomlet.schedule()
        channels[1].receive()
        task.join()
        task = loomlet.spawn(lambda: loomlet.select([(ch, value) for ch in channels]))
        loomlet.schedule()
        task.kill()
    del task
    assert sys.getrefcount(value) == before


def test_forgotten_ones_are_collected(mode):
    """Tasklets that wait in a select on lost channels are collected; finally runs."""
    log = []

    def body(n, channels):
        try:
            loomlet.select([*channels, (channels[0], n)])
        finally:
            log.append(n)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        for n in range(50):
            loomlet.spawn(body, n, [Channel() for _ in range(3)])
        loomlet.schedule()
        gc.collect()
        loomlet.schedule()
    assert sorted(log) == list(range(50))


def test_a_channel_that_goes_first(mode):
    """A select keeps its channels alive; the caller may forget them."""
    ch = Channel()
    task = loomlet.spawn(lambda: loomlet.select([Channel(), ch]))
    loomlet.schedule()
    gc.collect()
    ch.send("value")
    assert task.result() == (1, "value")
