"""Every form of a blocking call releases its operands: nothing leaks per call."""

import gc
import itertools
import sys

import pytest

import loomlet
from loomlet import Channel

ROUNDS = 200


class Thing:
    def __init__(self):
        self.channel = Channel()

    def keywords(self, *args, **kwargs):
        return loomlet.schedule()


def star(o):
    loomlet.select(*([o.channel], 0))


def star_list(o):
    loomlet.select(*[[o.channel], 0])


def star_generator(o):
    loomlet.select(*(x for x in ([o.channel], 0)))


def keyword(o):
    loomlet.select([o.channel], timeout=0)


def star_dict(o):
    loomlet.select([o.channel], **{"timeout": 0})


def star_both(o):
    loomlet.select(*([o.channel],), **{"timeout": 0})


def send_and_receive(o):
    loomlet.spawn(o.channel.send, o)
    assert o.channel.receive() is o


def blocked_send(o):
    loomlet.spawn(o.channel.receive)
    o.channel.send(o)


def blocked_select(o):
    loomlet.spawn(o.channel.send, o)
    loomlet.select([o.channel, (Channel(), o)])


def blocked_select_with_keyword(o):
    loomlet.spawn(o.channel.send, o)
    loomlet.select([o.channel], timeout=None)


def blocked_star(o):
    loomlet.spawn(o.channel.send, o)
    loomlet.select(*([o.channel], None))


def blocked_star_list(o):
    loomlet.spawn(o.channel.send, o)
    loomlet.select(*[[o.channel], None])


def blocked_star_dict(o):
    loomlet.spawn(o.channel.send, o)
    loomlet.select(*[[o.channel]], **{"timeout": None})


def many_arguments(o):
    o.keywords(o, o, o, o, o, o, o, o, o, o, o, o, a=o, b=o, c=o, d=o, e=o, f=o, g=o)


def operands_below(o):
    return [o, o, (o, {"o": o, "s": loomlet.schedule()}), [o] + [loomlet.schedule()]]


def iteration(o):
    ch = Channel(2)
    ch.send(o)
    ch.send(o)
    loomlet.spawn(ch.close)
    for _ in ch:
        pass


def generator(o):
    for _ in ((o, loomlet.schedule()) for _ in range(2)):
        pass


def exception(o):
    me = loomlet.current()
    loomlet.spawn(lambda: me.throw(KeyError(o)))
    try:
        o.channel.send([o, o])
    except KeyError:
        pass


def exception_in_an_expression(o):
    me = loomlet.current()
    loomlet.spawn(lambda: me.throw(KeyError(o)))
    try:
        [o, (o, o), {o: o.channel.receive()}]
    except KeyError:
        pass


def killed(o):
    task = loomlet.spawn(lambda: (o, [o, o.channel.receive(), o]))
    loomlet.schedule()
    task.kill()


def joined(o):
    assert loomlet.spawn(lambda: o).result(timeout=None) is o
    loomlet.spawn(lambda a, *, b: loomlet.schedule(), o, b=o).join()


def switched(o):
    me = loomlet.current()
    loomlet.spawn(lambda: me.insert()).switch()
    loomlet.spawn(lambda x: x, o).run()


def hard(o):
    sorted([o], key=lambda x: (x, loomlet.schedule())[1] or 0)


SHAPES = [value for name, value in sorted(globals().items())
          if callable(value) and getattr(value, "__module__", "") == __name__
          and name not in ("Thing",)]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_call_in_a_loop(shape, mode):
    """After many rounds of a call the object has its references back, and memory is flat."""
    o = Thing()

    def body(rounds):
        for _ in range(rounds):
            try:
                shape(o)
            except TimeoutError:
                pass

    def measure(rounds):
        loomlet.spawn(body, rounds).join()
        loomlet.schedule()
        gc.collect()
        return sys.getrefcount(o), sys.getallocatedblocks()

    for _ in range(3):
        measure(2 * ROUNDS)  # the interpreter's caches are filled
    references, blocks = zip(*(measure(2 * ROUNDS) for _ in range(4)), strict=True)
    assert len(set(references)) == 1
    grown = [after - before for before, after in itertools.pairwise(blocks)]
    assert min(grown) < ROUNDS / 4, grown  # a leak grows each time, a cache once
