"""Neither a loop that is always busy nor a tasklet that is keeps the other from running."""

import asyncio

import pytest

import loomlet
from loomlet import aio


async def busy(stop):
    """A coroutine that always has something to do."""
    turns = 0
    while not stop:
        await asyncio.sleep(0)
        turns += 1
    return turns


@pytest.mark.parametrize("slice", [None, 0.001])
def test_a_busy_loop_lets_tasklets_run(slice):
    """One iteration of the loop, one turn of the others."""
    stop = []

    def body():
        task = loomlet.spawn(aio.await_, busy(stop))
        for _ in range(100):
            loomlet.schedule()
        stop.append(True)
        return task.result()

    assert 10 < loomlet.run(body, slice=slice) < 200


def test_busy_tasklets_let_the_loop_run():
    """Which also asks for its descriptors then."""
    stop = []

    async def talk():
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for n in range(20):
            writer.write(b"%02d" % n)
            assert await reader.readexactly(2) == b"%02d" % n
        writer.close()
        await writer.wait_closed()
        server.close()
        await server.wait_closed()

    async def echo(reader, writer):
        while data := await reader.read(100):
            writer.write(data)
        writer.close()
        await writer.wait_closed()

    def spin():
        while not stop:
            loomlet.schedule()

    def body():
        for _ in range(3):
            loomlet.spawn(spin)
        aio.await_(talk())
        stop.append(True)

    loomlet.run(body)


def test_a_coroutine_that_computes_is_interrupted():
    """Like any tasklet that computes."""
    stop = []

    async def spin():
        rounds = 0
        while not stop:
            rounds += 1
        return rounds

    def body():
        task = loomlet.spawn(aio.await_, spin())
        loomlet.sleep(0.02)
        stop.append(True)
        return task.result()

    assert loomlet.run(body, slice=0.001) > 0


def test_a_tasklet_that_computes_does_not_stop_the_loop():
    """Timers of the loop fire."""
    stop = []

    async def later():
        for _ in range(3):
            await asyncio.sleep(0.001)
        stop.append(True)

    def spin():
        while not stop:
            pass

    def body():
        task = loomlet.spawn(spin)
        aio.await_(later())
        task.join()

    loomlet.run(body, slice=0.001)


def test_a_blocking_call_in_a_coroutine_holds_up_the_loop_only(mode):
    """Tasklets continue; other coroutines wait, as with any blocking call in asyncio."""
    order = []

    async def blocks():
        loomlet.sleep(0.01)
        order.append("blocking")

    async def quick():
        order.append("quick")

    async def main():
        await asyncio.gather(blocks(), quick())

    def tasklet():
        order.append("tasklet")

    loomlet.spawn(tasklet)
    aio.await_(main())
    assert order == ["tasklet", "blocking", "quick"]


def test_a_blocking_call_in_a_coroutine_has_its_time_limit(mode, clock):
    """A scope that is left before the next await is all right."""

    async def main():
        with pytest.raises(TimeoutError), loomlet.timeout(2):
            loomlet.Channel().receive()
        await asyncio.sleep(1)
        return clock()

    assert aio.await_(main()) == 3.0


def test_a_scope_that_is_open_over_an_await_ends_no_loop(mode):
    """A mistake: it is the loop's tasklet that is inside.  The loop continues."""

    async def wrong():
        with loomlet.timeout(0.001):
            await asyncio.sleep(0.02)

    async def right():
        await asyncio.sleep(0.03)
        return "right"

    tasks = [loomlet.spawn(aio.await_, coroutine) for coroutine in (wrong(), right())]
    assert tasks[1].result() == "right"
    tasks[0].join()  # the limit has had no effect, or there is an error; do not rely on it


def test_a_kill_that_a_coroutine_meets_ends_its_task_only(mode):
    """result() of a tasklet that was killed raises TaskletKilled where it is called."""
    task = loomlet.spawn(loomlet.sleep, 100)
    task.kill()

    async def main():
        task.result()

    with pytest.raises(loomlet.TaskletKilled):
        aio.await_(main())
    assert aio.await_(asyncio.sleep(0, "on")) == "on"


def test_virtual_time_is_the_loops_too(mode, clock):
    """Timers of both sides fire in their order, without real waiting."""
    order = []

    async def nap(seconds):
        await asyncio.sleep(seconds)
        order.append(clock())

    def doze(seconds):
        loomlet.sleep(seconds)
        order.append(clock())

    tasks = [loomlet.spawn(aio.await_, nap(n)) for n in (1000, 3000)]
    tasks += [loomlet.spawn(doze, n) for n in (2000, 4000)]
    for task in tasks:
        task.join()
    assert order == [1000.0, 2000.0, 3000.0, 4000.0]
