"""f(*arguments) with a tuple is soft; other unpacking works, hard or soft."""

import pytest

import loomlet
from loomlet import Channel


def star_none(ch, nothing=()):
    return ch.receive(*nothing)


def star_tuple(ch):
    cases = ([ch],)
    return loomlet.select(*cases)[1]


@pytest.mark.parametrize("call", [star_none, star_tuple])
def test_a_tuple_is_unpacked_softly(call, switches):
    """A call with an unpacked tuple suspends without a C stack."""
    for n in range(20):
        ch = Channel()
        task = loomlet.spawn(call, ch)
        switches.take()
        loomlet.schedule()
        assert switches.take() == (1, 0)
        ch.send(n)
        assert task.result() == n


UNPACKED = {
    "list": lambda ch: loomlet.select(*[[ch]])[1],
    "generator": lambda ch: loomlet.select(*(c for c in [[ch]]))[1],
    "empty dict": lambda ch: ch.receive(**{}),
    "dict": lambda ch: loomlet.select([ch], **{"timeout": None})[1],
    "tuple and dict": lambda ch: loomlet.select(*([ch],), **{"timeout": None})[1],
    "positional and tuple": lambda ch: loomlet.select([ch], *(None,))[1],
}


@pytest.mark.parametrize("call", UNPACKED.values(), ids=UNPACKED)
def test_every_unpacking_gives_the_value(call, mode):
    """Whatever is unpacked into a blocking call, its result is right."""
    for n in range(20):
        ch = Channel()
        task = loomlet.spawn(call, ch)
        loomlet.schedule()
        ch.send(n)
        assert task.result() == n
