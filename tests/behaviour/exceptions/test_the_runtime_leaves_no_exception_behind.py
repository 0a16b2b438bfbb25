"""Whatever becomes of its exceptions, a tasklet that has ended leaves none of them, no frame and no
traceback, and the collector is not needed for that."""

import gc
import sysconfig
import types

import pytest

import loomlet
from loomlet import Channel, ChannelClosed, TaskGroup, aio, run_blocking, spawn

MANY = 100


@pytest.fixture(autouse=True)
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def alive():
    """Exceptions, frames and tracebacks that the collector knows of."""
    kinds = (BaseException, types.FrameType, types.TracebackType)
    objects = gc.get_objects()
    return [sum(isinstance(one, kind) for one in objects) for kind in kinds]


def fail():
    local = [0] * 10
    raise ValueError(len(local))


def catch():
    try:
        fail()
    except ValueError:
        pass


def catch_and_wait():
    try:
        fail()
    except ValueError:
        loomlet.schedule()


def raise_again():
    try:
        fail()
    except ValueError as error:
        raise KeyError from error


def wait_inside(ch):
    try:
        fail()
    except ValueError:
        ch.receive()


def handle(function, *args):
    """Its own tasklet is in a variable of the frame that handles the failure: a cycle."""
    task = spawn(function, *args)
    try:
        task.result()
    except (ValueError, KeyError):
        pass


def caught():
    spawn(catch)
    spawn(catch_and_wait)


def delivered():
    handle(fail)
    handle(raise_again)


def delivered_in_tasklets():
    spawn(handle, fail)
    spawn(handle, raise_again)


def killed_inside():
    task = spawn(wait_inside, Channel())
    loomlet.schedule()
    task.kill()


def collected_inside():
    """The channel and its waiter refer to each other: only the collector finds them."""
    spawn(wait_inside, Channel())
    loomlet.schedule()
    gc.collect()


def thrown():
    task = spawn(wait_inside, Channel())
    loomlet.schedule()
    task.throw(KeyError("thrown"))
    try:
        task.join()
    except KeyError:
        pass


def in_group():
    try:
        with TaskGroup() as group:
            group.spawn(fail)
            group.spawn(raise_again)
    except* (ValueError, KeyError):
        pass


def started():
    try:
        with TaskGroup() as group:
            group.start(lambda task_status: fail())
    except* ValueError:
        pass


def gathered():
    try:
        loomlet.gather(fail, raise_again)
    except* (ValueError, KeyError):
        pass


def closed():
    def receive():
        try:
            ch.receive()
        except ChannelClosed:
            pass

    ch = Channel()
    spawn(receive)
    loomlet.schedule()
    ch.close()
    receive()
    loomlet.schedule()
    del receive  # the cycle of a function that calls itself by a cell


def timed_out():
    try:
        with loomlet.timeout(0):
            loomlet.sleep(1)
    except TimeoutError:
        pass


def awaited():
    async def task():
        fail()

    try:
        aio.await_(task())
    except ValueError:
        pass


def from_a_coroutine():
    async def task():
        try:
            await aio.to_tasklet(fail)
        except ValueError:
            pass

    aio.await_(task())


def in_a_thread():
    try:
        run_blocking(fail)
    except ValueError:
        pass


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(
    "way",
    [
        caught,
        delivered,
        delivered_in_tasklets,
        killed_inside,
        collected_inside,
        thrown,
        in_group,
        started,
        gathered,
        closed,
        timed_out,
        awaited,
        from_a_coroutine,
        in_a_thread,
    ],
)
def test_of_every_way(mode, way, failures):
    """A hundred times each."""

    def rounds(count):
        for _ in range(count):
            way()
            failures.clear()
        for _ in range(5):
            loomlet.schedule()

    if way is in_a_thread and sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("the worker frees what it has made, when it runs next")
    rounds(2)  # what is made once
    gc.collect()
    before = alive()
    rounds(MANY)
    assert alive() == before


@pytest.mark.slow
def test_of_a_hundred_thousand_tasklets(mode):
    """They raise, catch, raise again, and die suspended inside `except`."""
    before = alive()
    for _ in range(20_000):
        caught()
        delivered_in_tasklets()
        killed_inside()
    loomlet.schedule()
    loomlet.schedule()
    assert alive() == before
