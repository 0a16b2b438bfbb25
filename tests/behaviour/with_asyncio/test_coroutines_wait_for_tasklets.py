"""to_tasklet() and result(): a coroutine waits for plain functions."""

import asyncio

import pytest

import loomlet
from loomlet import aio
from loomlet.testing import assert_no_leaks


def test_the_result_of_a_function(mode):
    """Which may wait, in channels and in await_()."""

    async def double(x):
        return x * 2

    def plain(x, *, more):
        loomlet.sleep(0.001)
        return aio.await_(double(x)) + more

    async def main():
        return await aio.to_tasklet(plain, 4, more=1)

    assert aio.await_(main()) == 9


def test_many_at_once(mode):
    """gather() and TaskGroup run them beside each other."""
    channel = loomlet.Channel()

    async def main():
        receivers = [aio.to_tasklet(channel.receive) for _ in range(100)]
        senders = [aio.to_tasklet(channel.send, n) for n in range(100)]
        return await asyncio.gather(*receivers, *senders)

    assert sorted(aio.await_(main())[:100]) == list(range(100))


def test_an_exception_is_raised(mode):
    """The same object; nothing else reports it (the fixture looks)."""
    error = LookupError()

    def fail():
        raise error

    async def main():
        with pytest.raises(LookupError) as caught:
            await aio.to_tasklet(fail)
        return caught.value

    assert aio.await_(main()) is error


def test_stop_iteration_becomes_a_runtime_error(mode):
    """As from any coroutine; the future in between would refuse it."""

    async def main():
        await aio.to_tasklet(next, iter([]))

    with pytest.raises(RuntimeError, match="StopIteration"):
        aio.await_(main())


def test_a_tasklet_that_was_killed_is_cancelled(mode):
    """TaskletExit would end the whole loop in asyncio's eyes."""
    task = loomlet.spawn(loomlet.sleep, 100)

    async def main():
        asyncio.get_running_loop().call_soon(task.kill)
        await aio.result(task)

    with pytest.raises(asyncio.CancelledError):
        aio.await_(main())
    with pytest.raises(asyncio.CancelledError):
        aio.await_(aio.result(task))


def test_the_result_of_an_ended_tasklet(mode):
    """At once, and as often as one likes."""
    task = loomlet.spawn(int, "7")
    assert task.result() == 7
    assert [aio.await_(aio.result(task)) for _ in range(3)] == [7] * 3


def test_cancelling_kills_the_tasklet_and_waits(mode):
    """Its `finally` has run when the coroutine continues."""
    seen = []

    def body():
        try:
            seen.append("begun")
            loomlet.sleep(100)
        finally:
            loomlet.sleep(0.001)
            seen.append("ended")

    async def main():
        try:
            async with asyncio.timeout(0.01):
                await aio.to_tasklet(body)
        except TimeoutError:
            return list(seen)

    assert aio.await_(main()) == ["begun", "ended"]


def test_a_tasklet_that_fails_while_it_is_killed(mode):
    """Its exception is raised instead of CancelledError."""

    def body():
        try:
            loomlet.sleep(100)
        finally:
            raise ValueError("while ending")

    async def main():
        task = asyncio.create_task(aio.to_tasklet(body))
        await asyncio.sleep(0.001)
        task.cancel()
        await task

    with pytest.raises(ValueError, match="while ending"):
        aio.await_(main())


def test_a_second_cancel_does_not_wait(mode):
    """The tasklet is left alone."""
    go_on = loomlet.Channel()

    def body():
        try:
            loomlet.sleep(100)
        finally:
            go_on.receive()

    async def main():
        task = asyncio.create_task(aio.to_tasklet(body))
        for _ in range(2):
            await asyncio.sleep(0.001)
            task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert aio.await_(main()) is True
    go_on.send(None)


def test_shield_leaves_the_tasklet_alone(mode):
    """As it leaves a task alone."""
    go_on = loomlet.Channel()
    task = loomlet.spawn(go_on.receive)

    async def main():
        waiting = asyncio.ensure_future(aio.result(task))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await asyncio.shield(waiting)
        assert task.state == "blocked"
        go_on.send("value")
        return await waiting

    assert aio.await_(main()) == "value"


def test_cancelled_through_both_worlds(mode):
    """A tasklet waits for a coroutine that waits for a tasklet that waits for a coroutine."""
    seen = []

    async def inner():
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(0)
            seen.append("coroutine")

    def plain():
        try:
            aio.await_(inner())
        finally:
            seen.append("tasklet")

    with pytest.raises(TimeoutError), loomlet.timeout(0.01):
        aio.await_(aio.to_tasklet(plain))
    assert seen == ["coroutine", "tasklet"]


def test_a_loop_that_blocks_its_thread_is_refused():
    """No tasklet would run while it waits."""

    async def main():
        await aio.to_tasklet(int)

    with pytest.raises(loomlet.TaskletError, match=r"is not a loomlet\.aio\.EventLoop"):
        asyncio.run(main())


def test_nothing_grows_with_tasklets(mode):
    """Neither results nor cancels leave anything."""

    async def one():
        await aio.to_tasklet(int)
        task = asyncio.create_task(aio.to_tasklet(loomlet.sleep, 100))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    def some(count):
        for _ in range(count):
            aio.await_(one())

    some(20)
    with assert_no_leaks():
        some(250)
