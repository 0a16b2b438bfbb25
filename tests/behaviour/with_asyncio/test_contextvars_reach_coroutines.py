"""Context variables: a coroutine sees those of who calls it, on either side."""

import asyncio
import contextvars

import loomlet
from loomlet import aio

who = contextvars.ContextVar("who", default="unset")


async def look():
    await asyncio.sleep(0)
    return who.get()


async def change():
    who.set("coroutine")
    await asyncio.sleep(0)
    return who.get()


def test_a_coroutine_sees_the_tasklets(mode):
    """Each its own caller's, also of many at once."""

    def body(name):
        who.set(name)
        return aio.await_(look())

    tasks = [loomlet.spawn(body, n) for n in range(20)]
    assert [task.result() for task in tasks] == list(range(20))
    assert aio.await_(look()) == "unset"


def test_a_value_set_by_a_coroutine_stays_with_it(mode):
    """It has a copy, like a task."""
    assert aio.await_(change()) == "coroutine"
    assert who.get() == "unset"


def test_a_tasklet_sees_the_coroutines(mode):
    """And what the tasklet calls in turn."""

    async def main():
        who.set("main")
        return await aio.to_tasklet(lambda: (who.get(), aio.await_(look())))

    assert aio.await_(main()) == ("main", "main")


def test_the_loop_does_not_keep_its_first_callers(mode):
    """The loop was started by a tasklet that had set variables; callbacks do not see them."""
    seen = []

    def first():
        who.set("first")
        aio.await_(look())

    def second():
        aio.get_loop().call_soon(lambda: seen.append(who.get()))
        loomlet.sleep(0.001)

    for body in (first, second):
        loomlet.spawn(body).join()
    assert seen == ["unset"]
    assert aio.await_(look()) == "unset"
