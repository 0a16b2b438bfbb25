"""await_() returns what `await` would, and raises what it would."""

import asyncio
import gc
import weakref

import pytest

import loomlet
from loomlet import aio
from loomlet.testing import assert_no_leaks


async def double(x):
    await asyncio.sleep(0)
    return x * 2


async def fail(error):
    await asyncio.sleep(0)
    raise error


def test_the_result_of_a_coroutine(mode):
    """From the main tasklet and from another one."""
    assert aio.await_(double(4)) == 8
    assert loomlet.spawn(lambda: aio.await_(double(5))).result() == 10


def test_an_exception_is_raised_with_its_traceback(mode):
    """The same object; the frames of the coroutine are shown."""
    error = LookupError("not here")
    with pytest.raises(LookupError) as caught:
        aio.await_(fail(error))
    assert caught.value is error
    assert caught.traceback[-1].name == "fail"


def test_a_coroutine_that_never_waits():
    """It runs in the loop all the same."""

    async def at_once():
        return asyncio.get_running_loop()

    assert aio.await_(at_once()) is aio.get_loop()


def test_any_awaitable():
    """Futures, tasks, and objects with __await__."""

    class Twice:
        def __await__(self):
            yield from asyncio.sleep(0).__await__()
            return 2

    async def make():
        return asyncio.create_task(double(1)), asyncio.get_running_loop().create_future()

    task, future = aio.await_(make())
    future.set_result(3)
    assert [aio.await_(each) for each in (task, Twice(), future)] == [2, 2, 3]


def test_what_cannot_be_awaited_is_refused():
    """A function that was not called is the usual mistake."""
    with pytest.raises(TypeError, match="expected an awaitable, found <function double"):
        aio.await_(double)


def test_a_coroutine_that_another_task_cancels(mode):
    """CancelledError, as for who awaits a task."""

    async def cancel(task):
        task.cancel()

    async def make():
        return asyncio.create_task(asyncio.sleep(100))

    task = aio.await_(make())
    loomlet.spawn(lambda: aio.await_(cancel(task)))
    with pytest.raises(asyncio.CancelledError):
        aio.await_(task)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_system_exit_is_raised_in_the_waiting_tasklet(mode, kind):
    """The loop continues, and nothing else reports it."""
    error = kind("enough")
    with pytest.raises(kind) as caught:
        aio.await_(fail(error))
    assert caught.value is error
    assert aio.await_(double(1)) == 2


def test_system_exit_of_an_independent_task_reaches_main(mode):
    """That task has no waiter: the main tasklet gets it, as from any tasklet that fails so."""

    async def begin():
        return asyncio.create_task(fail(SystemExit(3)))

    task = aio.await_(begin())
    with pytest.raises(SystemExit):
        loomlet.sleep(10)
    assert aio.await_(double(1)) == 2
    assert isinstance(task.exception(), SystemExit)


def test_thousands_wait_at_once(mode):
    """Each gets its own result."""

    async def later(n):
        await asyncio.sleep(0.001 * (n % 7))
        return n

    tasks = [loomlet.spawn(aio.await_, later(n)) for n in range(3000)]
    assert [task.result() for task in tasks] == list(range(3000))


def test_a_task_factory_is_used(mode):
    """An eager one too, where there is one: the coroutine still runs in the loop."""
    factory = getattr(asyncio, "eager_task_factory", None)
    if factory is None:
        pytest.skip("asyncio.eager_task_factory came with 3.12")

    async def where():
        return asyncio.get_running_loop(), asyncio.current_task().get_coro().__name__

    aio.get_loop().set_task_factory(factory)
    assert aio.await_(where()) == (aio.get_loop(), "where")


def test_a_task_that_cannot_be_made_is_an_error(mode):
    """What the factory raises is raised here."""

    def factory(loop, coroutine, **options):
        raise LookupError("no task today")

    aio.get_loop().set_task_factory(factory)
    with pytest.raises(LookupError, match="no task today"):
        aio.await_(double(1))
    aio.get_loop().set_task_factory(None)
    assert aio.await_(double(1)) == 2


def test_nothing_is_held_afterwards():
    """Neither result nor exception makes a cycle."""

    class Value:
        pass

    class Failure(Exception):
        pass

    async def give(value):
        await asyncio.sleep(0)
        return value

    async def fail_afresh():
        await asyncio.sleep(0)
        raise Failure

    def failing():
        try:
            aio.await_(fail_afresh())
        except Failure as error:
            return weakref.ref(error)

    aio.await_(double(1))
    gc.collect()
    gc.disable()
    try:
        value = Value()
        gone = [weakref.ref(aio.await_(give(value))), failing()]
        del value
        aio.await_(double(1))
        assert [ref() for ref in gone] == [None, None]
    finally:
        gc.enable()


def test_nothing_grows():
    """A thousand calls, half of which fail, leave nothing."""

    def some(count):
        for _ in range(count):
            aio.await_(double(1))
            with pytest.raises(LookupError):
                aio.await_(fail(LookupError()))

    some(50)
    with assert_no_leaks():
        some(500)
