"""Threads: each has a loop of its own, begun when it is needed."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import loomlet
from loomlet import aio


async def where(barrier=None):
    """The loop; several threads meet here."""
    await asyncio.sleep(0.001)
    if barrier is not None:
        barrier.wait(10)
    return asyncio.get_running_loop()


def test_each_its_own():
    """At the same time."""
    barrier = threading.Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(loomlet.run, aio.await_, where(barrier)) for _ in range(4)]
        loops = {each.result() for each in found}
    assert len(loops) == 4
    assert aio.get_loop() not in loops


def test_a_thread_that_is_used_again_has_the_same():
    """As long as it lives, if it is not inside run()."""
    with ThreadPoolExecutor(1) as pool:
        loops = {pool.submit(aio.await_, where()).result() for _ in range(5)}
    assert len(loops) == 1


def test_they_work_at_once():
    """Tasklets of each thread with coroutines of its loop."""

    async def pause(n):
        await asyncio.sleep(0.0001 * (n % 3))
        return n

    def work():
        tasks = [loomlet.spawn(aio.await_, pause(n)) for n in range(200)]
        return sum(task.result() for task in tasks)

    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(loomlet.run, work) for _ in range(8)]
        assert [each.result() for each in found] == [sum(range(200))] * 8


def test_coroutines_of_two_threads_talk_through_channels():
    """A coroutine waits for a tasklet that waits for the other thread."""
    there, back = loomlet.Channel(), loomlet.Channel()

    async def ask():
        for n in range(50):
            await aio.to_tasklet(there.send, n)
            assert await aio.to_tasklet(back.receive) == n + 1

    async def answer():
        for _ in range(50):
            await aio.to_tasklet(back.send, await aio.to_tasklet(there.receive) + 1)

    thread = threading.Thread(target=loomlet.run, args=(aio.await_, answer()))
    thread.start()
    aio.await_(ask())
    thread.join()


def test_a_coroutine_waits_for_a_tasklet_of_another_thread():
    """And kills it when it is cancelled."""
    tasklets, ended = [], []
    ready = threading.Event()

    def body():
        try:
            loomlet.sleep(1000)
        finally:
            ended.append(True)

    def far():
        tasklets.append(loomlet.spawn(body))
        loomlet.schedule()
        ready.set()
        try:
            tasklets[0].join()
        except loomlet.TaskletExit:
            return

    async def main():
        async with asyncio.timeout(0.01):
            await aio.result(tasklets[0])

    thread = threading.Thread(target=loomlet.run, args=(far,))
    thread.start()
    ready.wait()
    try:
        aio.await_(main())
    except TimeoutError:
        assert ended == [True]
    thread.join()
    assert ended == [True]
