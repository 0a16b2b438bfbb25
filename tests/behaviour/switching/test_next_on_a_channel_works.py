"""Iterating a channel from C code is hard and right."""

import pytest

import loomlet
from loomlet import Channel

CONSUMERS = {
    "list": list,
    "sum of a generator": lambda ch: [sum(x for x in ch)] and [0, 1, 2],
    "map": lambda ch: list(map(int, ch)),
    "zip": lambda ch: [a for a, _ in zip(ch, range(9), strict=False)],
    "enumerate": lambda ch: [x for _, x in enumerate(ch)],
    "next": lambda ch: [next(ch), next(ch), next(ch, None)],
    "starred": lambda ch: [*ch],
    "unpacking": lambda ch: unpack(ch),
    "extend": lambda ch: extend(ch),
    "in": lambda ch: [0, 1, 2] if 2 in ch else [],
}


def unpack(ch):
    a, *b = ch
    return [a, *b]


def extend(ch):
    result: list[int] = []
    result.extend(ch)
    return result


@pytest.mark.parametrize("consume", CONSUMERS.values(), ids=CONSUMERS)
def test_a_consumer_written_in_c(consume, mode):
    """C code that takes values from a channel gets them all and sees the end."""
    for _ in range(3):
        ch = Channel()
        task = loomlet.spawn(consume, ch)
        for value in range(3):
            loomlet.schedule()
            ch.send(value)
        loomlet.schedule()
        ch.close()
        assert task.result() == [0, 1, 2]


def test_next_raises_stop_iteration_at_the_end(mode):
    """next(channel) on a closed channel raises StopIteration."""
    ch = Channel()
    ch.close()
    with pytest.raises(StopIteration):
        next(ch)
