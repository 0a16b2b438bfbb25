"""Pickling of tasklets and channels, by every protocol and both picklers."""

import io
import os
import pickle
import sys

import pytest

import loomlet
import loomlet.compat.stackless as stackless
from loomlet import _core


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


def with_python(value, protocol):
    file = io.BytesIO()
    pickle._Pickler(file, protocol).dump(value)
    return file.getvalue()


@pytest.fixture(params=range(pickle.HIGHEST_PROTOCOL + 1))
def through(request):
    """There by one pickler and by the other, and back."""

    def both(value):
        return [pickle.loads(dumps(value, request.param)) for dumps in (pickle.dumps, with_python)]

    return both


started = pytest.mark.skipif(
    not _core.soft() or "switch" in os.environ.get("LOOMLET_TORTURE", ""),
    reason="one that has started is pickled without a C stack",
)
log = []


def test_an_unbound_one(through):
    """Spec 8, pickling tasklets: one without a function comes back so."""
    for copy in through(stackless.tasklet()):
        assert (copy.alive, type(copy)) == (False, stackless.tasklet)
        copy.bind(log.append)


def test_a_bound_one(through):
    """Spec 8, pickling tasklets: loaded paused; insert() runs it."""
    log.clear()
    for copy in through(stackless.tasklet(divmod, (17, 5))):
        assert (copy.alive, copy.paused, copy.scheduled) == (True, True, False)
        copy.insert()
        stackless.run()
        assert not copy.alive


def waits(ch):
    total = 0

    def add(n):
        nonlocal total
        total += n

    for _ in range(2):
        add(ch.receive())
    log.append(total)


@started
def test_one_that_is_blocked(through):
    """Spec 8, pickling tasklets: loaded paused; the original goes on waiting."""
    ch = stackless.channel()
    task = stackless.tasklet(waits)(ch)
    stackless.run()
    ch.send(1)
    for copy, inner in through((task, ch)):
        assert (copy.alive, copy.paused, copy.blocked) == (True, True, False)
        assert (inner is not ch, inner.balance) == (True, 0)
        copy.kill()
    assert (task.blocked, ch.queue) == (True, task)
    ch.send(5)
    assert log[-1] == 6


def pauses():
    log.append("before")
    stackless.schedule_remove()
    log.append("behind")


@started
def test_one_that_is_paused(through):
    """Spec 8, pickling tasklets: each copy runs what is left."""
    log.clear()
    task = stackless.tasklet(pauses)()
    stackless.run()
    for copy in through(task):
        assert copy.paused
        copy.insert()
        stackless.run()
    assert log == ["before", "behind", "behind"]
    task.kill()


def test_one_that_a_c_function_holds():
    """Spec 8, pickling tasklets: refused when it is pickled, not when it is run."""

    def holds(ch):
        return max([1, 2], key=lambda n: ch.receive())

    ch = stackless.channel()
    task = stackless.tasklet(holds)(ch)
    stackless.run()
    with pytest.raises(loomlet.FreezeError):
        pickle.dumps(task)
    ch.send(1)
    ch.send(2)
    assert not task.alive


def test_a_channel(through):
    """Spec 8, pickling channels: with its settings; the same one in two places stays one."""
    ch = stackless.channel()
    ch.preference, ch.schedule_all = 1, 1
    for one, other in through([ch, ch]):
        assert one is other
        assert one is not ch
        assert (type(one), one.preference, one.schedule_all) == (stackless.channel, 1, 1)


def test_a_closed_channel(through):
    """Spec 4, channel.__reduce__: closed stays closed."""
    ch = stackless.channel()
    ch.close()
    for copy in through(ch):
        assert (copy.closing, copy.closed) == (True, True)


def execution():
    """What a running function is made of."""

    def inner():
        return frame

    frame = 5
    yield from (inner.__code__, inner.__closure__[0], sys, {}.keys(), (_ for _ in ()))


THINGS = [*execution()]
REFUSED = (TypeError, pickle.PicklingError, NotImplementedError, AttributeError)


@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: type(thing).__name__)
def test_execution(thing):
    """Spec 8, pickling execution: as CPython has it, until loomlet.snapshot.install()."""
    with pytest.raises(REFUSED):
        pickle.dumps(thing)


def test_functions():
    """Spec 8, pickling functions: importing the module changes nothing about them."""
    assert pickle.loads(pickle.dumps(execution)) is execution
    with pytest.raises(REFUSED):
        pickle.dumps(lambda: None)
