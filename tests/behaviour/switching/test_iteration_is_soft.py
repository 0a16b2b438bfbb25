"""for x in channel suspends without a C stack, wherever the loop stands."""

import pytest

import loomlet
from loomlet import Channel


def loop(ch):
    got = []
    for value in ch:
        got.append(value)
    return got


def list_comprehension(ch):
    return [value for value in ch]


def filtered(ch):
    return list(range(0)) + [value for value in ch if value is not None]


def set_comprehension(ch):
    return sorted({value for value in ch})


def dict_comprehension(ch):
    return list({value: None for value in ch})


def inside_an_expression(ch):
    return (0, "operands below", [value for value in ch])[2]


def over_a_buffer(ch):
    buffered = Channel(3)
    for value in (7, 8, 9):
        buffered.send(value)
    assert [buffered.receive() for _ in range(3)] == [7, 8, 9]
    return [value for value in ch]


@pytest.mark.parametrize("rounds", [1, 60])
@pytest.mark.parametrize(
    "func",
    [loop, list_comprehension, filtered, set_comprehension, dict_comprehension,
     inside_an_expression, over_a_buffer],
)  # fmt: skip
def test_a_loop_over_a_channel(func, rounds, switches):
    """A loop waits softly for every value and for the end, cold and warm."""
    for _ in range(rounds):
        ch = Channel()
        task = loomlet.spawn(func, ch)
        switches.take()
        for value in range(5):
            loomlet.schedule()
            ch.send(value)
        loomlet.schedule()
        assert switches.take() == (6, 0)
        ch.close()
        assert task.result() == [0, 1, 2, 3, 4]


def test_a_loop_in_a_loop(switches):
    """An inner loop over another channel is soft as well, and both end."""

    def nested(outer):
        return [[value for value in inner] for inner in outer]

    outer, inner = Channel(), Channel()
    task = loomlet.spawn(nested, outer)
    loomlet.schedule()
    outer.send(inner)
    loomlet.schedule()
    inner.send(1)
    loomlet.schedule()
    inner.close()
    loomlet.schedule()
    outer.close()
    assert task.result() == [[1]]
    assert switches.take()[1] == 0
