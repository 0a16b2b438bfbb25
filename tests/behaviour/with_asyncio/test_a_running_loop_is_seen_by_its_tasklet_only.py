"""asyncio.get_running_loop() and what goes with it belong to the tasklet in which the loop runs."""

import asyncio
import sys

import pytest

import loomlet
from loomlet import _core, aio


def what_is_seen():
    """The traces that a running loop leaves in the thread."""
    return (
        asyncio._get_running_loop(),
        sys.get_asyncgen_hooks(),
        sys.get_coroutine_origin_tracking_depth(),
    )


NOTHING = (None, (None, None), 0)


def test_in_a_coroutine_it_runs(mode):
    """Also when there was a wait before."""

    async def main():
        before = asyncio.get_running_loop()
        await asyncio.sleep(0.001)
        assert asyncio.current_task() is not None
        return before, asyncio.get_running_loop()

    assert aio.await_(main()) == (aio.get_loop(),) * 2


def test_while_it_waits_no_other_tasklet_sees_it(mode):
    """In debug mode neither, which has one trace more."""
    aio.get_loop().set_debug(True)
    task = loomlet.spawn(aio.await_, asyncio.sleep(0.001))
    seen = set()
    while task.state != "done":
        seen.add(what_is_seen())
        loomlet.schedule()
    assert seen == {NOTHING}
    with pytest.raises(RuntimeError, match="no running event loop"):
        asyncio.get_running_loop()


def test_while_a_coroutine_blocks_no_other_tasklet_sees_it(mode):
    """A blocking call holds up the loop, as any; its state comes back with it."""
    channel = loomlet.Channel()
    seen = []

    def other():
        seen.append(what_is_seen())
        with pytest.raises(RuntimeError):
            asyncio.current_task()
        channel.send("value")
        seen.append(what_is_seen())

    async def main():
        before = asyncio.current_task(), what_is_seen()
        loomlet.spawn(other)
        value = channel.receive()
        assert (asyncio.current_task(), what_is_seen()) == before
        await asyncio.sleep(0)
        assert (asyncio.current_task(), what_is_seen()) == before
        return value

    assert aio.await_(main()) == "value"
    assert seen == [NOTHING] * 2


def test_while_a_coroutine_is_interrupted_no_other_tasklet_sees_it():
    """By a time slice, anywhere in its own code."""
    seen, rounds = set(), []

    def other():
        while len(rounds) < 5:
            seen.add(what_is_seen())
            rounds.append(True)
            loomlet.schedule()

    async def main():
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        while len(rounds) < 5:
            assert asyncio.get_running_loop() is loop
            assert asyncio.current_task() is task

    def body():
        loomlet.spawn(other)
        aio.await_(main())

    loomlet.run(body, slice=0.001)
    assert seen == {NOTHING}


def test_await_in_a_coroutine_is_refused(mode):
    """It would wait for the loop that it holds up."""

    async def inner():
        return 1

    async def main():
        coroutine = inner()
        with pytest.raises(loomlet.TaskletError, match="use `await` there"):
            aio.await_(coroutine)
        return await coroutine

    assert aio.await_(main()) == 1


def test_await_below_another_loop(mode):
    """As in the cell of a notebook: it runs in the loop of this thread, the other one stands."""
    seen = []

    async def inner():
        await asyncio.sleep(0)
        seen.append(asyncio.get_running_loop())
        return 1

    def plain():
        return aio.await_(inner()) + aio.await_(inner())

    async def main():
        outer = asyncio.get_running_loop()
        assert plain() == 2
        assert asyncio.get_running_loop() is outer
        await asyncio.sleep(0)
        return plain()

    assert asyncio.run(main()) == 2
    assert set(seen) == {aio.get_loop()}


def test_what_belongs_to_another_loop_cannot_be_awaited(mode):
    """It says so instead of waiting for ever."""

    async def main():
        with pytest.raises(RuntimeError, match="attached to a different loop"):
            aio.await_(asyncio.get_running_loop().create_future())

    asyncio.run(main())


def test_an_exception_comes_out_below_another_loop(mode):
    async def fail():
        await asyncio.sleep(0)
        raise KeyError("fail")

    async def main():
        with pytest.raises(KeyError, match="fail"):
            aio.await_(fail())
        with pytest.raises(TimeoutError), loomlet.timeout(0.01):
            aio.await_(asyncio.sleep(60))

    asyncio.run(main())


def test_close_in_a_coroutine_is_refused(mode):
    """The loop cannot end inside itself."""

    async def main():
        with pytest.raises(loomlet.TaskletError, match="cannot be called in a coroutine"):
            aio.close()

    aio.await_(main())


@pytest.mark.parametrize("kind", ["stock", "aio"])
def test_asyncio_run_in_a_tasklet(mode, kind, run_private):
    """A loop of its own for that call, whatever the thread's loop does meanwhile."""
    run = asyncio.run if kind == "stock" else run_private
    channel = loomlet.Channel()

    async def generate():
        for n in range(3):
            await asyncio.sleep(0)
            yield n

    async def private():
        assert asyncio.get_running_loop() is not loop
        task = asyncio.current_task()
        channel.send(1)
        found = [n async for n in generate()]
        assert asyncio.current_task() is task
        return found

    async def blocks():
        nonlocal loop
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        other = loomlet.spawn(lambda: run(private()))
        channel.receive()
        found = [n async for n in generate()]
        assert asyncio.current_task() is task
        return found, other

    loop = None
    found, other = aio.await_(blocks())
    assert found == other.result() == [0, 1, 2]


def test_asyncio_run_in_a_coroutine_is_refused(mode):
    """By asyncio itself."""

    async def main():
        coroutine = asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="running event loop"):
            asyncio.run(coroutine)
        await coroutine

    aio.await_(main())


def test_private_loops_run_beside_each_other(mode, run_private):
    """Each waits as a tasklet; their generators are finalized by the loop that they are of."""
    ended = []

    async def generate(n):
        try:
            while True:
                await asyncio.sleep(0.001)
                yield n
        finally:
            await asyncio.sleep(0)
            ended.append((n, asyncio.get_running_loop()))

    async def main(n):
        generator = generate(n)
        for _ in range(3):
            assert await anext(generator) == n
        held.append(generator)
        return asyncio.get_running_loop()

    held = []
    tasks = [loomlet.spawn(lambda n=n: run_private(main(n))) for n in range(5)]
    loops = [task.result() for task in tasks]
    assert len(set(loops)) == 5
    assert sorted(ended, key=lambda pair: pair[0]) == list(enumerate(loops))


def test_a_private_loop_can_be_ended(mode, run_private, steps):
    """By a timeout around it: its tasks are cancelled and may wait while they end."""
    with pytest.raises(TimeoutError), loomlet.timeout(0.01):
        run_private(steps.wait())
    assert steps.seen == ["begun", "cancelled", "ended"]


def test_a_private_loop_can_be_killed(mode, run_private, steps):
    """The same by kill()."""
    task = loomlet.spawn(lambda: run_private(steps.wait()))
    steps.started()
    task.kill()
    with pytest.raises(loomlet.TaskletKilled):
        task.result()
    assert steps.seen == ["begun", "cancelled", "ended"]


def test_other_tasklets_stay_soft(switches):
    """Only the tasklet of the loop is switched hard."""
    channel = loomlet.Channel()
    aio.await_(asyncio.sleep(0))

    def pass_on():
        for value in channel:
            if value is None:
                return

    task = loomlet.spawn(pass_on)
    sender = loomlet.spawn(lambda: [channel.send(n) for n in [*range(50), None]])
    loomlet.schedule()
    switches.take()
    task.join()
    sender.join()
    assert switches.take()[1] <= 2


def test_a_loop_without_memory_is_an_error():
    """It does not run then."""
    _core._fail_allocation(1)
    with pytest.raises(MemoryError):
        asyncio._set_running_loop(object())
    assert _core._fail_allocation(0) == 0
    assert what_is_seen() == NOTHING
    assert asyncio.run(asyncio.sleep(0, 1)) == 1


WITHOUT_AIO = """
    import sys
    seen = []

    async def main():
        loomlet.schedule()
        return asyncio._get_running_loop() is not None

    def other():
        seen.append(asyncio._get_running_loop())

    def start():
        loomlet.spawn(other)
        return asyncio.run(main())

    print(loomlet.run(start), seen, "loomlet.aio" in sys.modules)
"""


@pytest.mark.parametrize("first", ["import asyncio, loomlet", "import loomlet, asyncio"])
def test_in_programs_that_do_not_import_aio(python, first):
    """Whichever of the two was imported first."""
    done = python(f"    {first}{WITHOUT_AIO}")
    assert (done.stdout, done.stderr) == ("True [None] False\n", "")
