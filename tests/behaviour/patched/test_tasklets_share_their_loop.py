"""Locals are the tasklet's under the patch; the event loop is the thread's all the same."""

import asyncio
import threading

import pytest

import loomlet
from loomlet import aio


@pytest.fixture(autouse=True)
def closed():
    """No loop is left."""
    yield
    aio.close()


async def running():
    await asyncio.sleep(0)
    return asyncio.get_running_loop()


def test_tasklets_of_a_thread(mode):
    """All calls of await_() are of one loop."""
    tasks = [loomlet.spawn(aio.await_, running()) for _ in range(3)]
    assert {task.result() for task in tasks} == {aio.await_(running())}


def test_a_lock_of_the_loop_is_shared(mode):
    """What asyncio binds to a loop can be used by all of them."""

    async def count(lock):
        async with lock:
            await asyncio.sleep(0.001)
            return asyncio.current_task() is not None

    lock = asyncio.Lock()
    tasks = [loomlet.spawn(aio.await_, count(lock)) for _ in range(3)]
    assert [task.result() for task in tasks] == [True] * 3


def test_threads_have_loops_of_their_own(mode):
    """The same as without the patch."""
    found = []
    thread = threading.Thread(target=lambda: found.append(aio.await_(running())))
    thread.start()
    thread.join()
    assert found[0] is not aio.await_(running())
