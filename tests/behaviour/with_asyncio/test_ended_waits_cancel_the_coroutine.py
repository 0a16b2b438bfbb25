"""An exception that ends await_() cancels the coroutine and waits for its end."""

import asyncio
import contextlib

import pytest

import loomlet
from loomlet import aio

WHOLE = ["begun", "cancelled", "ended"]


async def nothing():
    """Shows that the loop is still usable."""
    return "nothing"


def test_kill(mode, steps):
    """TaskletExit propagates when the coroutine has ended."""
    order = []

    def body():
        try:
            aio.await_(steps.wait())
        finally:
            order.extend(steps.seen)

    task = loomlet.spawn(body)
    steps.started()
    task.kill()
    with pytest.raises(loomlet.TaskletKilled):
        task.result()
    assert order == WHOLE
    assert aio.await_(nothing()) == "nothing"


def test_throw(mode, steps, caught):
    """The exception that was thrown is raised, not CancelledError."""
    task = caught(aio.await_, steps.wait())
    steps.started()
    task.throw(LookupError("enough"))
    assert repr(task.result()) == "LookupError('enough')"
    assert steps.seen == WHOLE


def test_a_cancelled_scope(mode, steps):
    """Cancelled, which the scope catches; the wait for the coroutine's end is not cut short."""
    scope = loomlet.CancelScope()

    def body():
        with scope:
            aio.await_(steps.wait())
        return list(steps.seen)

    task = loomlet.spawn(body)
    steps.started()
    scope.cancel()
    assert task.result() == WHOLE
    assert scope.cancelled_caught


def test_a_scope_that_is_cancelled_already(mode, steps):
    """The coroutine does not begin, and Python does not warn that it was never awaited."""
    with loomlet.CancelScope() as scope:
        scope.cancel()
        aio.await_(steps.wait())
    assert scope.cancelled_caught
    assert steps.seen == []
    assert aio.await_(nothing()) == "nothing"


def test_a_timeout(mode, clock, steps):
    """TimeoutError at that time."""
    with pytest.raises(TimeoutError), loomlet.timeout(5):
        aio.await_(steps.wait())
    assert clock() == 5.0
    assert steps.seen == WHOLE


def test_asyncios_timeout_inside(mode, clock):
    """TimeoutError comes out of the coroutine; a longer one around it sees nothing."""

    async def limited():
        async with asyncio.timeout(3):
            await asyncio.sleep(10)

    with loomlet.timeout(5), pytest.raises(TimeoutError):
        aio.await_(limited())
    assert clock() == 3.0


def test_a_failure_on_the_way_out_is_raised_instead(mode, caught):
    """As from a `finally`: with the exception that came as its context."""
    begun = []

    async def stubborn():
        try:
            begun.append(True)
            await asyncio.sleep(100)
        finally:
            raise ValueError("while ending")

    task = caught(aio.await_, stubborn())
    while not begun:
        loomlet.schedule()
    task.throw(LookupError("enough"))
    assert repr(task.result()) == "ValueError('while ending')"


def test_a_coroutine_that_swallows_the_cancel(mode, caught):
    """What it returns is dropped: the tasklet was ended."""
    begun = []

    async def stubborn():
        try:
            begun.append(True)
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            return "nevertheless"

    task = caught(aio.await_, stubborn())
    while not begun:
        loomlet.schedule()
    task.throw(LookupError("enough"))
    assert repr(task.result()) == "LookupError('enough')"


@pytest.mark.parametrize("late", [False, True], ids=["just_before", "in_spite_of_it"])
def test_a_result_is_not_lost_to_a_cancelled_scope(mode, late):
    """await_() returns what the coroutine has returned; the next operation raises."""
    scope, kept = loomlet.CancelScope(), []

    async def acquire():
        scope.cancel()
        if late:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(100)
        return "connection"

    def body():
        with scope:
            kept.append(aio.await_(acquire()))
            kept.append(aio.await_(nothing()))

    loomlet.spawn(body).result()
    assert kept == ["connection"]
    assert scope.cancelled_caught


def test_a_second_kill_does_not_wait(mode):
    """The task is left to the loop, where it ends by itself."""
    seen, go_on = [], asyncio.Event()

    async def slow():
        try:
            seen.append("begun")
            await asyncio.sleep(100)
        finally:
            seen.append("ending")
            await go_on.wait()
            seen.append("ended")

    async def let_go():
        go_on.set()
        await asyncio.sleep(0.001)

    task = loomlet.spawn(aio.await_, slow())
    while not seen:
        loomlet.schedule()
    task.kill()
    while seen[-1] != "ending":
        loomlet.schedule()
    assert task.state == "blocked"
    task.kill()
    assert task.state == "done"
    aio.await_(let_go())
    assert seen == ["begun", "ending", "ended"]


def test_a_task_that_others_wait_for_is_cancelled_with_the_wait(mode, caught):
    """As by `await task`; asyncio.shield() keeps it."""

    async def make():
        return [asyncio.create_task(asyncio.sleep(100)) for _ in range(2)]

    async def guard(task):
        await asyncio.shield(task)

    one, other = aio.await_(make())
    waits = [caught(aio.await_, one), caught(aio.await_, guard(other))]
    while any(wait.state != "blocked" for wait in waits):
        loomlet.schedule()
    aio.await_(nothing())  # the loop begins in order, so both are awaited now
    for wait in waits:
        wait.throw(LookupError())
        assert isinstance(wait.result(), LookupError)
    assert one.cancelled()
    assert not other.done()


def test_killed_at_each_stage(mode):
    """After every number of turns, from before the beginning to after the end."""

    async def short(seen):
        try:
            for _ in range(3):
                await asyncio.sleep(0)
        finally:
            seen.append(True)

    for turns in range(12):
        seen = []
        task = loomlet.spawn(aio.await_, short(seen))
        for _ in range(turns):
            loomlet.schedule()
        ended = task.state == "done"
        task.kill()
        with contextlib.nullcontext() if ended else pytest.raises(loomlet.TaskletKilled):
            task.result()
        assert aio.await_(nothing()) == "nothing"
        assert asyncio.all_tasks(aio.get_loop()) == set()
