"""Coroutines driven from Python block like any other frame."""

import types

import pytest

import loomlet
from loomlet import Channel


@types.coroutine
def drive(coroutine):
    return (yield from coroutine)


@types.coroutine
def pause(value):
    yield value


async def innermost(ch):
    value = ch.receive()
    await pause(value)
    return value


async def middle(ch):
    return [await innermost(ch), await innermost(ch)]


async def outermost(ch):
    return await middle(ch)


def body(ch, results):
    async def keep():
        results.append(await outermost(ch))

    return [paused for paused in drive(keep())]


@pytest.mark.parametrize("rounds", [1, 60])
def test_an_await_chain_blocks_softly(rounds, switches):
    """A blocking call below several awaits suspends without a C stack."""
    for _ in range(rounds):
        ch, results = Channel(), []
        task = loomlet.spawn(body, ch, results)
        switches.take()
        for value in (1, 2):
            loomlet.schedule()
            ch.send(value)
        assert task.result() == [1, 2]
        assert results == [[1, 2]]
        assert switches.take() == (2, 0)


def test_a_coroutine_driven_by_send_works(mode):
    """coroutine.send() is C code between: the coroutine blocks all the same."""

    def by_hand(ch):
        coroutine = outermost(ch)
        try:
            while True:
                coroutine.send(None)
        except StopIteration as stop:
            return stop.value

    ch = Channel()
    task = loomlet.spawn(by_hand, ch)
    for value in (1, 2):
        loomlet.schedule()
        ch.send(value)
    assert task.result() == [1, 2]


def test_async_for_and_async_with_work(mode):
    """Asynchronous iteration and context managers may block inside."""

    class Guard:
        async def __aenter__(self):
            return ch.receive()

        async def __aexit__(self, *error):
            got.append(ch.receive())

    async def numbers():
        for _ in range(2):
            yield ch.receive()

    async def main():
        async with Guard() as first:
            got.append(first)
            async for number in numbers():
                got.append(number)

    ch, got = Channel(), []
    task = loomlet.spawn(lambda: [paused for paused in drive(main())])
    for value in range(4):
        loomlet.schedule()
        ch.send(value)
    task.join()
    assert got == [0, 1, 2, 3]
