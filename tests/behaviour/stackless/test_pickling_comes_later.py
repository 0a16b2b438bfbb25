"""Pickling of tasklets and channels comes later: it is refused, never done by halves."""

import pickle
import sys

import pytest

import loomlet.compat.stackless as stackless


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_the_current_tasklet(protocol, raises):
    """Spec 3, tasklet.__reduce__: what runs can never be pickled."""
    with raises(RuntimeError, "You cannot __reduce__ the tasklet which is current."):
        stackless.getcurrent().__reduce_ex__(protocol)
    with raises(RuntimeError, "You cannot __reduce__ the tasklet which is current."):
        pickle.dumps(stackless.getcurrent(), protocol)


def test_the_current_tasklet_reduces(raises):
    """Spec 3, tasklet.__reduce__: the method of that name says the same."""
    with raises(RuntimeError, "You cannot __reduce__ the tasklet which is current."):
        stackless.getcurrent().__reduce__()


@pytest.mark.parametrize(
    "make",
    [stackless.tasklet, lambda: stackless.tasklet(print, ())],
    ids=["unbound tasklet", "bound tasklet"],
)
def test_a_tasklet(make):
    """Spec 3, tasklet.__reduce__: other tasklets are refused too, as yet."""
    with pytest.raises((TypeError, pickle.PicklingError, NotImplementedError)):
        pickle.dumps(make())


def test_a_channel():
    """Spec 4, channel.__reduce__: refused, as yet."""
    with pytest.raises((TypeError, pickle.PicklingError, NotImplementedError)):
        pickle.dumps(stackless.channel())


REFUSED = (TypeError, pickle.PicklingError, NotImplementedError, AttributeError)


def test_one_that_has_started(mode):
    """Spec 8, pickling tasklets: refused in every state; it goes on as before."""
    log, ch = [], stackless.channel()
    task = stackless.tasklet(lambda: log.append(ch.receive()))()
    with pytest.raises(REFUSED):
        pickle.dumps(task)
    stackless.run()
    with pytest.raises(REFUSED):
        pickle.dumps(task)
    ch.send("value")
    with pytest.raises(REFUSED):
        pickle.dumps(task)
    assert log == ["value"]


def test_a_channel_with_waiters(mode):
    """Spec 8, pickling channels: refused; whoever waits goes on waiting."""
    ch = stackless.channel()
    task = stackless.tasklet(ch.receive)()
    stackless.run()
    with pytest.raises(REFUSED):
        pickle.dumps(ch)
    assert ch.queue is task
    ch.send(None)


def execution():
    """What a running function is made of."""
    frame = sys._getframe()

    def inner():
        return frame

    yield from (frame, inner.__code__, inner.__closure__[0], sys, {}.keys(), (_ for _ in ()))


@pytest.mark.parametrize("thing", [*execution()], ids=lambda thing: type(thing).__name__)
def test_execution(thing):
    """Spec 8, pickling execution: as CPython has it."""
    with pytest.raises(REFUSED):
        pickle.dumps(thing)


def test_functions():
    """Spec 8, pickling functions: importing the module changes nothing about them."""
    assert pickle.loads(pickle.dumps(execution)) is execution
    with pytest.raises(REFUSED):
        pickle.dumps(lambda: None)
