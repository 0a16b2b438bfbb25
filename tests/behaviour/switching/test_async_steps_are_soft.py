"""The steps of asynchronous generators are soft, awaited or by send(), and end as they must."""

import pytest

from loomlet import Channel


async def numbers(ch, *more):
    yield ch.receive()


async def fails_later(ch):
    yield 0
    ch.receive()
    raise KeyError("failed")


async def ignores_exit(ch):
    try:
        yield 0
    except GeneratorExit:
        yield ch.receive()


async def waits_at_the_end(ch):
    try:
        yield 0
    finally:
        ch.receive()


class Awaited:
    def __init__(self, coroutine):
        self.coroutine = coroutine

    def __await__(self):
        return self.coroutine.__await__()


def end_of(coroutine):
    """What a coroutine returns that awaits nothing in the end."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value


def a_loop(ch):
    async def use():
        async for number in numbers(ch):
            return number

    coroutine = use()
    return end_of(coroutine)


def a_comprehension(ch):
    async def use():
        (received,) = [number async for number in numbers(ch)]
        return received

    coroutine = use()
    return end_of(coroutine)


def an_awaited_step(ch):
    async def use():
        return await numbers(ch).__anext__()

    coroutine = use()
    return end_of(coroutine)


def a_send(ch):
    step = numbers(ch).asend(None)
    return end_of(step)


def a_bound_send(ch):
    step = numbers(ch).asend(None)
    send = step.send
    try:
        send(None)
    except StopIteration as stop:
        return stop.value


def an_awaited_object(ch):
    async def receive():
        return ch.receive()

    async def use():
        return await Awaited(receive())

    coroutine = use()
    return end_of(coroutine)


def a_nested_loop(ch):
    async def same():
        async for number in numbers(ch):
            yield number

    async def use():
        (received,) = [number async for number in same()]
        return received

    coroutine = use()
    return end_of(coroutine)


SOFT = [
    a_loop,
    a_comprehension,
    an_awaited_step,
    a_send,
    a_bound_send,
    an_awaited_object,
    a_nested_loop,
]


@pytest.mark.parametrize("body", SOFT)
def test_it_keeps_no_stack(body, ends, switches):
    """Cold and warm."""
    ends.stays_soft(body, 20, switches)


@pytest.mark.parametrize("body", SOFT)
def test_the_value_is_right(body, ends, mode):
    """In each way of switching."""
    for _ in range(5):
        assert ends.value(body) == 5


@pytest.mark.parametrize("body", SOFT)
def test_it_leaves_nothing(body, ends, mode):
    """Resumed, thrown into, killed or forgotten."""
    assert ends.thrown(body)[0] == body.__name__
    ends.leave_nothing(body, numbers, Awaited, Channel, soft=True)


def by_hand(first, method, *args):
    """A body that makes the second step of a generator by hand: its outcome."""

    def body(ch):
        source = first(ch)
        end_of(source.asend(None))
        step = getattr(source, method)(*args)
        try:
            return "awaits", step.send(None), source.ag_running
        except BaseException as error:
            again = source.asend(None)
            try:
                again.send(None)
            except (StopAsyncIteration, RuntimeError) as end:
                return repr(error), repr(end), source.ag_running

    return body


@pytest.mark.parametrize(
    ("first", "step", "outcome"),
    [
        (fails_later, ("asend", None), "KeyError('failed')"),
        (waits_at_the_end, ("asend", None), "StopAsyncIteration()"),
        (waits_at_the_end, ("aclose",), "StopIteration()"),
        (waits_at_the_end, ("athrow", KeyError("thrown")), "KeyError('thrown')"),
        (waits_at_the_end, ("athrow", GeneratorExit()), "GeneratorExit()"),
        (ignores_exit, ("aclose",), "RuntimeError('async generator ignored GeneratorExit')"),
        (ignores_exit, ("athrow", GeneratorExit()), "StopIteration(5)"),
    ],
)
def test_it_ends_as_it_must(first, step, outcome, ends, mode):
    """With what the step raises, and in the state in which the generator is left."""
    found = ends.value(by_hand(first, *step))
    assert found == (outcome, "StopAsyncIteration()", False)


def test_what_it_awaits_goes_through(ends, mode):
    """A generator that awaits something that yields: send() returns that."""

    class Pause:
        def __await__(self):
            yield "paused"

    async def pausing(ch):
        ch.receive()
        await Pause()
        yield "yielded"

    def body(ch):
        step = pausing(ch).asend(None)
        return step.send(None), end_of(step)

    assert ends.value(body) == ("paused", "yielded")
