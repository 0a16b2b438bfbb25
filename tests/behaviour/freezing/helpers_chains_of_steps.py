"""Asynchronous generators that wait in the midst of a step, and awaited objects.

See helpers_chains.py; each function whose first parameter is `ch` is a chain, but for the helpers.
"""

from __future__ import annotations


async def sources(ch):
    while True:
        try:
            yield ch.receive()
        except KeyError as error:
            yield error.args, ch.receive()


class Awaited:
    """An object whose __await__ is that of a coroutine."""

    def __init__(self, coroutine):
        self.coroutine = coroutine

    def __await__(self):
        return self.coroutine.__await__()


def run_to_end(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it awaits nothing")


def send_to(step):
    """What the step gives, with the kind of its end."""
    try:
        return "awaits", step.send(None)
    except (StopIteration, StopAsyncIteration, KeyError) as end:
        return type(end).__name__, end.args


def awaited_steps(ch):
    async def use():
        source, found = sources(ch), []
        found.append(await source.__anext__())
        found.append(await source.asend(None))
        found.append(await source.athrow(KeyError("thrown")))
        await source.aclose()
        return found

    return run_to_end(use())


def a_generator_that_waits_when_it_is_closed(ch):
    async def closing(found):
        value = ch.receive()
        try:
            yield value
        finally:
            found.append(ch.receive())

    async def use():
        found = []
        source = closing(found)
        await source.__anext__()
        await source.aclose()
        return found

    return run_to_end(use())


def steps_by_hand(ch):
    source = sources(ch)
    found = [send_to(source.asend(None)), send_to(source.athrow(KeyError("thrown")))]
    return [*found, send_to(source.aclose()), send_to(source.asend(None))]


def a_bound_send(ch):
    async def one():
        yield ch.receive()

    step = one().__anext__()
    send = step.send
    try:
        send(None)
    except StopIteration as stop:
        return stop.value


def a_loop_that_is_left(ch):
    async def use():
        found, source = [], sources(ch)
        async for value in source:
            found.append(value)
            if value > 2:
                break
        await source.aclose()
        return found

    return run_to_end(use())


def a_generator_over_a_generator(ch):
    async def doubled():
        source = sources(ch)
        async for value in source:
            yield value + ch.receive()
            if value > 3:
                await source.aclose()

    async def use():
        return [value async for value in doubled()]

    return run_to_end(use())


def a_generator_that_fails(ch):
    async def failing():
        yield ch.receive()
        raise KeyError(ch.receive())

    async def use():
        found = []
        try:
            async for value in failing():
                found.append(value)
        except KeyError as error:
            found.append(error.args)
        return found

    return run_to_end(use())


def an_awaited_object(ch):
    async def answer():
        return ch.receive(), ch.receive()

    async def use():
        return await Awaited(answer()), ch.receive()

    return run_to_end(use())
