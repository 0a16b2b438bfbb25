"""Methods, and coroutines.

See helpers_chains.py; each function whose first parameter is `ch` is a chain, but for the helpers.
"""

from __future__ import annotations

import types
from dataclasses import dataclass


class Base:
    """Methods of every kind."""

    kind = "base"

    def __init__(self, name):
        self.name = name

    def greet(self, ch):
        return f"{self.name}:{ch.receive()}"

    @classmethod
    def of_class(cls, ch):
        return cls.kind, ch.receive()

    @staticmethod
    def of_none(ch):
        return ch.receive()


class Derived(Base):
    """Calls what it overrides."""

    kind = "derived"

    def greet(self, ch):
        before = ch.receive()
        return [before, super().greet(ch), ch.receive()]

    @classmethod
    def of_class(cls, ch):
        return super().of_class(ch), ch.receive()


def methods(ch):
    it = Base("b")
    return it.greet(ch), Base.greet(it, ch), it.of_class(ch), it.of_none(ch)


def super_calls(ch):
    it = Derived("d")
    return it.greet(ch), Derived.of_class(ch), it.name


class Waits:
    """Waits while it is made."""

    def __init__(self, ch):
        self.first = ch.receive()
        self.second = ch.receive()


def in_an_init(ch):
    made = Waits(ch)
    return made.first, made.second, ch.receive()


@dataclass
class Point:
    """Plain data."""

    x: int
    y: list


def dataclasses_in_variables(ch):
    point = Point(ch.receive(), [1])
    other = point
    point.y.append(ch.receive())
    return point, other is point, other.y


async def answer(ch):
    return ch.receive()


async def twofold(ch):
    return await answer(ch), await answer(ch)


async def plain_steps(log):
    log.append("began")
    await pause()
    log.append("continued")
    return len(log)


class pause:
    """Suspends a coroutine once."""

    def __await__(self):
        yield "paused"


def coroutine_beside(ch):
    log = []
    work = plain_steps(log)
    first = work.send(None)
    ch.receive()
    try:
        work.send(None)
    except StopIteration as end:
        return first, end.value, log, ch.receive()


def fresh_coroutine(ch):
    work = plain_steps([])
    ch.receive()
    first = work.send(None)
    ch.receive()
    work.close()
    return first


async def counted(log):
    try:
        for n in range(3):
            await pause()
            yield n
    finally:
        log.append("closed")


async def collect(log):
    found = []
    async for n in counted(log):
        found.append(n)
        await pause()
    return found


def asynchronous_generator_beside(ch):
    log = []
    source = counted(log)
    step = source.__anext__()
    first = step.send(None)
    try:
        step.send(None)
    except StopIteration as end:
        got = end.value
    del step
    ch.receive()
    step = source.__anext__()
    again = step.send(None)
    del step
    return first, got, again, ch.receive()


@types.coroutine
def drive(coroutine):
    """Runs a coroutine in Python frames."""
    return (yield from coroutine)


def await_chain(ch):
    async def keep(found):
        found.append(await twofold(ch))
        found.append(await answer(ch))

    found = []
    for _ in drive(keep(found)):
        pass
    return found


async def doubling(ch):
    for _ in range(2):
        yield 2 * ch.receive()


def asynchronous_loop(ch):
    async def keep(found):
        async with Guard(found):
            async for value in doubling(ch):
                found.append((value, ch.receive()))

    found = []
    for _ in drive(keep(found)):
        pass
    return found


class Guard:
    """An asynchronous context manager that does not wait."""

    def __init__(self, log):
        self.log = log

    async def __aenter__(self):
        self.log.append("in")

    async def __aexit__(self, *error):
        self.log.append("out")


def asynchronous_comprehension(ch):
    async def source():
        for n in range(2):
            yield n

    async def keep(found):
        found += [(n, ch.receive()) async for n in source()]

    found = []
    for _ in drive(keep(found)):
        pass
    return found
