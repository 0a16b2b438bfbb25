"""loomlet.observe.doctor(): each way to keep an exception alive, and the path that is shown.

A seed keeps one ValueError in its way and returns what must live on; the expected pattern is that
of the path, from what it hangs on to the exception.
"""

import asyncio
import collections
import concurrent.futures
import contextvars
import functools
import gc
import itertools
import logging
import queue
import re
import sys
import threading
import types

import pytest

import loomlet
from loomlet import Channel, spawn
from loomlet.observe import KeptException, doctor

SIZE = 100_000
seeds = {}
HOLDER = types.ModuleType("kept_by_this_module")


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    """A module of its own holds what the seeds keep, and the collector sleeps."""
    HOLDER.__dict__.clear()
    HOLDER.__name__ = "kept_by_this_module"
    HOLDER.number = next(number)
    monkeypatch.setitem(sys.modules, "kept_by_this_module", HOLDER)
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    if isinstance(task := HOLDER.__dict__.get("task"), loomlet.Tasklet):
        task.kill()
    HOLDER.__dict__.clear()
    gc.collect()


def seed(pattern, held_by="root"):
    def add(function):
        seeds[function.__name__] = function, pattern, held_by
        return function

    return add


number = itertools.count(1)
"""Of the test: without a GIL the interpreter keeps some objects of earlier ones for a while."""


def fail():
    local = bytes(SIZE)
    raise ValueError("seeded", HOLDER.number, len(local))


def seeded():
    """What the doctor finds of this test."""
    return [one for one in doctor() if one.message.startswith(f"seeded, {HOLDER.number}")]


def caught():
    try:
        fail()
    except ValueError as error:
        return error


class Thing:
    pass


class Slotted:
    __slots__ = ("error",)


ROOT = r"module kept_by_this_module"


@seed(rf"{ROOT}\.last -> ValueError")
def in_a_module():
    HOLDER.last = caught()


@seed(rf"{ROOT}\.history\[1\] -> ValueError")
def in_a_list():
    HOLDER.history = [None, caught()]


@seed(rf"{ROOT}\.by_name\['order'\]\[0\] -> ValueError")
def in_a_dict_of_tuples():
    HOLDER.by_name = {"order": (caught(),)}


@seed(rf"{ROOT}\.failed -> ValueError")
def in_a_set():
    HOLDER.failed = {caught()}


@seed(rf"{ROOT}\.app -> .*Thing\.error -> ValueError")
def in_an_attribute():
    HOLDER.app = Thing()
    HOLDER.app.error = caught()


@seed(rf"{ROOT}\.app -> .*Slotted\.error -> ValueError")
def in_a_slot():
    HOLDER.app = Slotted()
    HOLDER.app.error = caught()


@seed(rf"{ROOT}\.kind -> class Local\.error -> ValueError")
def in_a_class():
    HOLDER.kind = type("Local", (), {"error": caught()})


@seed(rf"{ROOT}\.call -> function .*inner.* -> ValueError")
def in_a_closure():
    error = caught()

    def inner():
        return error

    HOLDER.call = inner


@seed(rf"{ROOT}\.call -> function .*inner.*\.__defaults__\[0\] -> ValueError")
def in_a_default():
    def inner(error=caught()):  # noqa: B008
        return error

    HOLDER.call = inner


@seed(rf"{ROOT}\.call -> functools\.partial.* -> ValueError")
def in_a_partial():
    HOLDER.call = functools.partial(print, caught())


@seed(rf"{ROOT}\.cached -> functools\._lru_cache_wrapper.* -> ValueError")
def in_a_cache():
    HOLDER.cached = functools.lru_cache(lambda key: caught())
    HOLDER.cached(1)


@seed(rf"{ROOT}\.recent -> collections\.deque.* -> ValueError")
def in_a_deque():
    HOLDER.recent = collections.deque([caught()])


@seed(rf"{ROOT}\.jobs -> _?queue\.SimpleQueue.* -> ValueError|{ROOT}\.jobs -> .*Queue.*ValueError")
def in_a_queue():
    HOLDER.jobs = queue.Queue()
    HOLDER.jobs.put(caught())


@seed(rf"{ROOT}\.channel -> .*Channel.* -> ValueError")
def in_a_channel():
    HOLDER.channel = Channel(1)
    HOLDER.channel.send(caught())


@seed(rf"{ROOT}\.steps -> generator .*inner inside `except` -> ValueError")
def in_a_generator():
    def inner():
        try:
            fail()
        except ValueError:
            yield

    HOLDER.steps = inner()
    next(HOLDER.steps)


@seed(rf"{ROOT}\.steps -> generator .*inner variable kept -> ValueError")
def in_a_variable_of_a_generator():
    def inner():
        kept = caught()
        yield
        del kept

    HOLDER.steps = inner()
    next(HOLDER.steps)


class Pause:
    def __await__(self):
        yield


@seed(rf"{ROOT}\.steps -> coroutine .*inner inside `except` -> ValueError")
def in_a_coroutine():
    async def inner():
        try:
            fail()
        except ValueError:
            await Pause()

    HOLDER.steps = inner()
    HOLDER.steps.send(None)


@seed(rf"{ROOT}\.steps -> async_generator .*inner inside `except` -> ValueError")
def in_an_asynchronous_generator():
    async def inner():
        try:
            fail()
        except ValueError:
            await Pause()
            yield

    HOLDER.steps = inner()
    HOLDER.step = HOLDER.steps.__anext__()
    HOLDER.step.send(None)


@seed(r"tasklet waits inside `except` -> ValueError")
def in_a_tasklet():
    def inner():
        try:
            fail()
        except ValueError:
            Channel().receive()

    task = spawn(inner)
    task.name = "waits"
    HOLDER.task = task
    loomlet.schedule()


@seed(r"tasklet holds variable kept of .*inner \(.*\) -> ValueError")
def in_a_variable_of_a_tasklet():
    def inner():
        kept = caught()
        Channel().receive()
        del kept

    task = spawn(inner)
    task.name = "holds"
    HOLDER.task = task
    loomlet.schedule()


@seed(rf"{ROOT}\.task -> tasklet .*fail.*, whose failure it is -> ValueError")
def of_a_failed_tasklet():
    HOLDER.task = spawn(fail)
    before = loomlet.set_error_handler(lambda task, error: None)
    loomlet.schedule()
    loomlet.set_error_handler(before)


@seed(rf"{ROOT}\.future -> concurrent\.futures\._base\.Future\._exception -> ValueError")
def of_a_future():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        HOLDER.future = pool.submit(fail)


@seed(rf"{ROOT}\.task -> _asyncio\.Task\._exception -> ValueError")
def of_a_task_of_asyncio():
    async def main():
        async def inner():
            fail()

        HOLDER.task = asyncio.create_task(inner())
        await asyncio.wait([HOLDER.task])
        HOLDER.task.exception()

    asyncio.run(main())


@seed(rf"{ROOT}\.records\[0\] -> logging\.LogRecord\.exc_info\[1\] -> ValueError")
def in_a_log_record():
    class Handler(logging.Handler):
        def emit(self, record):
            HOLDER.records.append(record)

    HOLDER.records = []
    logger = logging.Logger("seed")
    logger.addHandler(Handler())
    try:
        fail()
    except ValueError:
        logger.exception("seeded")


@seed(rf"{ROOT}\.last -> KeyError\.__context__ -> ValueError")
def as_a_context():
    try:
        try:
            fail()
        except ValueError:
            raise KeyError  # noqa: B904 - the context is what is kept
    except KeyError as error:
        HOLDER.last = error


@seed(rf"{ROOT}\.last -> KeyError\.__(cause|context)__ -> ValueError")
def as_a_cause():
    HOLDER.last = KeyError()
    HOLDER.last.__cause__ = caught()


@seed(rf"{ROOT}\.last -> ExceptionGroup\.(exceptions|args).* -> ValueError")
def in_a_group():
    HOLDER.last = ExceptionGroup("both", [caught()])


@seed(r"module sys\.last_value -> ValueError")
def as_the_last_one_of_the_prompt():
    sys.last_value = caught()


@seed(r"data of a thread: .* -> ValueError")
def in_a_context_variable():
    HOLDER.variable = contextvars.ContextVar("seeded")
    HOLDER.variable.set(caught())


@seed(rf"data of a thread: .* -> ValueError|{ROOT}\.local -> .*local.* -> ValueError")
def in_a_thread_local():
    HOLDER.local = threading.local()
    HOLDER.local.error = caught()


@seed(r"thread holds it: .*inner \(.*\) variable kept -> ValueError")
def in_a_variable_of_a_thread():
    ready, go = threading.Event(), threading.Event()

    def inner():
        kept = caught()
        ready.set()
        go.wait()
        del kept

    thread = threading.Thread(target=inner, name="holds it")
    thread.start()
    ready.wait()
    return go, thread


@seed(
    r"ValueError\.__traceback__ -> traceback.* -> .*inner \(.*\) variable kept -> ValueError",
    "cycle",
)
def in_a_cycle():
    def inner():
        kept = caught()
        try:
            raise kept
        except ValueError as error:
            kept = error

    inner()


@seed(r"ValueError\.__traceback__ -> .*inner \(.*\) variable kept\[1\] -> ValueError", "cycle")
def in_a_cycle_of_exc_info():
    def inner():
        try:
            fail()
        except ValueError:
            kept = sys.exc_info()
            assert kept

    inner()


def planted(function):
    """What the doctor finds of a seed, which is pulled out again."""
    kept = function()
    found = seeded()
    sys.__dict__.pop("last_value", None)
    if isinstance(kept, tuple):
        kept[0].set()
        kept[1].join()
    return found


@pytest.mark.parametrize("name", seeds)
def test_every_seed(name):
    """Found, with the right path, and with the variables of its frames."""
    function, pattern, held_by = seeds[name]
    (found,) = contextvars.copy_context().run(planted, function)
    assert re.fullmatch(pattern, str(found)), str(found)
    assert found.held_by == held_by
    assert found.bytes > SIZE
    assert found.where.startswith("fail (")


def test_there_are_enough_seeds():
    assert len(seeds) >= 20


def test_what_is_shared_is_counted_for_none():
    """Only what an exception alone keeps alive counts."""
    shared = bytes(SIZE)

    def inner(shared):
        raise ValueError("seeded", HOLDER.number)

    try:
        inner(shared)
    except ValueError as error:
        HOLDER.last = error
    (found,) = seeded()
    assert isinstance(found, KeptException)
    assert found.bytes < SIZE


def test_what_is_shared_and_empty_is_counted_for_none():
    """Containers without anything in them lead nowhere; they are known all the same."""
    counts = []
    HOLDER.shared = [], {}, (), []

    def inner(variable):
        raise ValueError("seeded", HOLDER.number)

    for variable in (None, *HOLDER.shared, []):
        try:
            inner(variable)
        except ValueError as error:
            HOLDER.last = error
        del variable
        (found,) = seeded()
        counts.append(found.objects)
    assert counts == [counts[0]] * 5 + [counts[0] + 1]


def test_nothing_is_left_behind():
    """The doctor itself keeps nothing."""
    HOLDER.last = caught()
    doctor()
    references = sys.getrefcount(HOLDER.last)
    before = len(gc.get_objects())
    for _ in range(10):
        doctor()
    after = len(gc.get_objects())
    assert after < before + 10
    now = sys.getrefcount(HOLDER.last)
    assert now == references


def test_a_program_without_kept_exceptions():
    """None is found that is not there."""
    try:
        fail()
    except ValueError:
        pass
    assert seeded() == []
