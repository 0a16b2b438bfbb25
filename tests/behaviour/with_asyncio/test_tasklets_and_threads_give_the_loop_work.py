"""call_soon() wakes a loop that waits; threads use call_soon_threadsafe()."""

import asyncio
import threading
import time

import pytest

import loomlet
from loomlet import aio


async def begin(kind):
    """Makes something in the loop."""
    return kind()


def parked():
    """The loop, which waits for nothing."""
    loop = aio.get_loop()
    loomlet.sleep(0.001)
    return loop


def test_a_callback(mode):
    """Called in the loop's tasklet, with the loop running there."""
    channel = loomlet.Channel(1)
    loop = parked()
    loop.call_soon(lambda: channel.try_send(asyncio.get_running_loop()))
    assert channel.receive() is loop


def test_a_timer_that_comes_before_those_that_there_are(mode, clock):
    """The loop looks again how long it may wait."""
    channel = loomlet.Channel(2)
    loop = parked()
    loop.call_later(10, channel.try_send, "late")
    loomlet.sleep(1)
    loop.call_later(1, channel.try_send, "early")
    assert [(channel.receive(), clock()) for _ in range(2)] == [("early", 2.001), ("late", 10.001)]


def test_a_future(mode):
    """A tasklet sets the result for which a coroutine waits."""
    future = aio.await_(begin(asyncio.Future))
    task = loomlet.spawn(aio.await_, future)
    parked()
    future.set_result("result")
    assert task.result() == "result"


def test_a_queue_between_coroutines_is_fed_by_tasklets(mode):
    """Through await_(), with its back pressure."""

    async def consume(queue):
        return [await queue.get() for _ in range(200)]

    queue = aio.await_(begin(lambda: asyncio.Queue(3)))

    def feed(start):
        for n in range(start, start + 50):
            aio.await_(queue.put(n))

    feeders = [loomlet.spawn(feed, start) for start in range(0, 200, 50)]
    assert sorted(aio.await_(consume(queue))) == list(range(200))
    for feeder in feeders:
        feeder.join()


def test_another_thread(mode):
    """By call_soon_threadsafe() and run_coroutine_threadsafe()."""

    async def double(x):
        await asyncio.sleep(0.001)
        return x * 2

    loop = parked()
    found = []

    def far():
        time.sleep(0.01)  # until the loop waits
        found.append(asyncio.run_coroutine_threadsafe(double(4), loop).result(10))
        loop.call_soon_threadsafe(channel.try_send, "called")

    channel = loomlet.Channel(1)
    thread = threading.Thread(target=far)
    thread.start()
    assert channel.receive() == "called"
    thread.join()
    assert found == [8]


def test_an_executor(mode):
    """run_in_executor() and to_thread(); tasklets run meanwhile."""
    turns = []

    def turn():
        while len(turns) < 1000 and not over:
            turns.append(True)
            loomlet.sleep(0.0005)

    async def main():
        loop = asyncio.get_running_loop()
        await asyncio.to_thread(time.sleep, 0.01)  # a thread that takes its time
        return await loop.run_in_executor(None, threading.get_ident)

    over = []
    task = loomlet.spawn(turn)
    assert aio.await_(main()) != threading.get_ident()
    over.append(True)
    task.join()
    assert turns


def test_debug_mode_knows_the_thread(mode):
    """Tasklets of the thread are no strangers; other threads get an error, as from asyncio."""
    loop = parked()
    loop.set_debug(True)
    errors = []

    def far():
        with pytest.raises(RuntimeError, match="Non-thread-safe operation") as caught:
            loop.call_soon(print)
        errors.append(caught.value)

    thread = threading.Thread(target=far)
    thread.start()
    thread.join()
    assert errors
    assert aio.await_(asyncio.sleep(0, "well")) == "well"
