"""next(generator) and generator.send(value) are soft: the C code between is known."""

import sys

import pytest

import loomlet
from loomlet import Channel


def endless(ch):
    while True:
        yield ch.receive()


def returns(ch):
    return ch.receive()
    yield


async def coroutine(ch):
    return ch.receive()


def by_next(ch):
    generator = endless(ch)
    return next(generator)


def by_next_with_default(ch):
    generator = endless(ch)
    return next(generator, "default")


def by_send(ch):
    generator = endless(ch)
    return generator.send(None)


def by_bound_send(ch):
    send = endless(ch).send
    return send(None)


def by_loop(ch):
    for value in endless(ch):
        return value


def end_by_next(ch):
    generator = returns(ch)
    try:
        next(generator)
    except StopIteration as stop:
        return stop.value


def end_by_send(ch):
    generator = returns(ch)
    try:
        generator.send(None)
    except StopIteration as stop:
        return stop.value


def coroutine_by_send(ch):
    awaited = coroutine(ch)
    try:
        awaited.send(None)
    except StopIteration as stop:
        return stop.value


def one_in_another(ch):
    inner = endless(ch)
    outer = (next(inner) for _ in range(3))
    return next(outer)


def in_an_expression(ch):
    generator = endless(ch)
    return (1, [2, next(generator)])[1][1]


BODIES = [by_next, by_next_with_default, by_send, by_bound_send, by_loop, end_by_next,
          end_by_send, coroutine_by_send, one_in_another, in_an_expression]  # fmt: skip


@pytest.mark.parametrize("rounds", [1, 60])
@pytest.mark.parametrize("body", BODIES)
def test_the_switch_is_soft(body, rounds, ends, switches):
    """A blocking generator that C code runs is suspended without a C stack, cold and warm."""
    ends.stays_soft(body, rounds, switches)


@pytest.mark.parametrize("body", BODIES)
def test_every_end(body, ends, mode):
    """A value, an exception, and the end of the tasklet leave nothing behind."""
    names = ends.thrown(body)
    assert names[0] == body.__name__
    assert names[-1] in ("endless", "returns", "coroutine")
    ends.leave_nothing(body, endless, returns, coroutine, next)


def test_the_end_with_a_default(ends, mode):
    """A generator that returns after it blocked gives next() its default."""

    def body(ch):
        generator = returns(ch)
        return next(generator, "default")

    assert ends.value(body) == "default"


def test_a_bare_end(ends, mode):
    """A generator that returns None after it blocked raises StopIteration without a value."""

    def nothing(ch):
        ch.receive()
        return
        yield

    def body(ch):
        generator = nothing(ch)
        with pytest.raises(StopIteration) as caught:
            next(generator)
        return caught.value.args

    assert ends.value(body) == ()


def test_many_values(switches):
    """A generator continues after every next(), and what is sent arrives."""

    def echo(ch):
        got = []
        while len(got) < 4:
            got.append((yield ch.receive()))
        return got

    def body(ch):
        generator = echo(ch)
        values = [next(generator)]
        try:
            while True:
                values.append(generator.send(-values[-1]))
        except StopIteration as stop:
            return values, stop.value

    ch = Channel()
    task = loomlet.spawn(body, ch)
    for value in (1, 2, 3, 4):
        loomlet.schedule()
        ch.send(value)
    assert task.result() == ([1, 2, 3, 4], [-1, -2, -3, -4])
    assert switches.take()[1] == 0


def test_handled_exceptions_are_the_generators_own(mode):
    """A generator that blocks in a handler, below a handler of its caller."""

    def handling(ch):
        try:
            raise KeyError("generator")
        except KeyError:
            value = ch.receive()
            yield value, repr(sys.exc_info()[1])
        yield sys.exc_info()[1]

    def body(ch):
        generator = handling(ch)
        try:
            raise IndexError("caller")
        except IndexError:
            first = next(generator)
            return first, repr(sys.exc_info()[1]), repr(next(generator)), generator.gi_running

    ch = Channel()
    task = loomlet.spawn(body, ch)
    loomlet.schedule()
    ch.send(5)
    expected = ((5, "KeyError('generator')"), "IndexError('caller')", "IndexError('caller')", False)
    assert task.result() == expected


def test_a_temporary_generator(ends, mode):
    """next(generator()) has the only reference to the generator, and so has its end."""
    log = []

    def closing(ch):
        try:
            yield 1
        finally:
            log.append(ch.receive())

    assert ends.value(lambda ch: next(endless(ch))) == 5
    assert ends.value(lambda ch: next(closing(ch)) + 4) == 5
    assert log == [5]
