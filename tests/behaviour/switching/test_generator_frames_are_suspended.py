"""A generator that blocks inside a for loop is suspended with its caller, softly."""

import pytest

import loomlet
from loomlet import Channel


def values(ch, count):
    for _ in range(count):
        yield ch.receive()
    return "end"


def delegated(ch, count):
    yield "first"
    ended = yield from values(ch, count)
    yield ended


def loop(ch):
    got = []
    for value in values(ch, 3):
        got.append(value)
    return got


def loop_of_yield_from(ch):
    return [value for value in delegated(ch, 3)]


def generator_expression(ch):
    got = []
    for value in (ch.receive() for _ in range(3)):
        got.append(value)
    return got


def pipeline(ch):
    doubled = (2 * value for value in values(ch, 3))
    got = []
    for value in doubled:
        got.append(value // 2)
    return got


BODIES = {
    loop: [0, 1, 2],
    loop_of_yield_from: ["first", 0, 1, 2, "end"],
    generator_expression: [0, 1, 2],
    pipeline: [0, 1, 2],
}


@pytest.mark.parametrize("rounds", [1, 60])
@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_a_loop_over_a_blocking_generator(body, rounds, switches):
    """A generator blocks softly in a loop over it, cold and warm."""
    for _ in range(rounds):
        ch = Channel()
        task = loomlet.spawn(body, ch)
        switches.take()
        for value in range(3):
            loomlet.schedule()
            ch.send(value)
        assert task.result() == BODIES[body]
        assert switches.take() == (3, 0)


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_an_exception_thrown_into_a_blocking_generator(body, mode):
    """An exception thrown at the tasklet comes up through the generator, which is then finished."""

    def guarded(ch):
        try:
            return body(ch)
        except KeyError as error:
            return error.args

    ch = Channel()
    task = loomlet.spawn(guarded, ch)
    loomlet.schedule()
    ch.send(0)
    loomlet.schedule()
    task.throw(KeyError("thrown"))
    assert task.result() == ("thrown",)


def test_a_generator_that_handles_the_exception_continues(mode):
    """A generator that catches what was thrown at its tasklet can yield again."""

    def resilient(ch):
        for _ in range(2):
            try:
                yield ch.receive()
            except KeyError:
                yield "caught"

    ch = Channel()
    task = loomlet.spawn(lambda: [value for value in resilient(ch)])
    loomlet.schedule()
    task.throw(KeyError())
    loomlet.schedule()
    ch.send("value")
    assert task.result() == ["caught", "value"]


def test_a_generator_running_in_a_suspended_tasklet_is_running(mode):
    """While its tasklet is suspended a generator counts as running for all other tasklets."""
    ch = Channel()
    generator = values(ch, 2)
    task = loomlet.spawn(lambda: [value for value in generator])
    loomlet.schedule()
    assert generator.gi_running
    with pytest.raises(ValueError, match="already executing"):
        next(generator)
    ch.send(1)
    loomlet.schedule()
    ch.send(2)
    assert task.result() == [1, 2]


def test_a_generator_advanced_by_different_tasklets(mode):
    """A generator between two values may continue in another tasklet."""
    ch = Channel()
    generator = values(ch, 3)

    def take_one():
        for value in generator:
            return value

    got = []
    for n in range(3):
        task = loomlet.spawn(take_one)
        loomlet.schedule()
        ch.send(n)
        got.append(task.result())
    assert got == [0, 1, 2]
