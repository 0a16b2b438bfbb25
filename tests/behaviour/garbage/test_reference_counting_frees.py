"""Without a cycle everything goes at once, by reference counting: no collection is needed."""

import gc
import warnings
import weakref

import pytest

import loomlet
from loomlet import Channel


class Thing:
    pass


@pytest.fixture(autouse=True)
def no_collector():
    gc.collect()
    gc.disable()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
    gc.enable()


def body(thing, ch):
    local = [thing]
    ch.receive()
    return local


def spawned(func=body, *args):
    """A tasklet that holds a Thing, and weak references to both."""
    thing = Thing()
    seen = weakref.ref(thing)
    task = loomlet.spawn(func, thing, *args)
    return task, weakref.ref(task), seen


def test_a_finished_tasklet(mode):
    """A tasklet that has ended goes with its last reference, its frames before."""
    ch = Channel()
    task, seen_task, seen = spawned(body, ch)
    loomlet.schedule()
    ch.send(None)
    task.result().clear()
    assert seen() is None
    del task
    assert seen_task() is None


def test_a_killed_tasklet(mode):
    """A killed tasklet has nothing left but the exception."""
    task, seen_task, seen = spawned(body, Channel())
    loomlet.schedule()
    task.kill()
    assert task.state == "done"
    del task
    assert (seen(), seen_task()) == (None, None)


def test_a_tasklet_that_never_ran(mode):
    """A tasklet that is dropped before its start releases its arguments."""
    task, seen_task, seen = spawned(body, Channel())
    task.remove()
    del task
    assert (seen(), seen_task()) == (None, None)


def test_a_running_one_is_owned_by_the_queue(mode):
    """A tasklet that nothing refers to runs to its end, then it is gone."""
    task, seen_task, seen = spawned(lambda thing: loomlet.schedule())
    del task
    assert seen_task() is not None
    loomlet.schedule()
    assert seen() is not None
    loomlet.schedule()
    assert (seen(), seen_task()) == (None, None)


def test_a_blocked_one_goes_with_its_channel(mode):
    """When the channel is forgotten that a tasklet waits for, the tasklet ends; finally runs."""
    log = []

    def waits(thing, holder):
        try:
            holder.pop().receive()
        finally:
            log.append("finally")

    task, seen_task, seen = spawned(waits, [Channel()])
    loomlet.schedule()
    assert task.state == "blocked"
    del task
    loomlet.schedule()
    gc.collect()
    assert log == ["finally"]
    assert (seen(), seen_task()) == (None, None)


def test_a_paused_one(mode):
    """A paused tasklet that is dropped ends at once; finally runs."""
    log = []

    def waits(thing):
        try:
            loomlet.schedule()
        finally:
            log.append("finally")

    task, seen_task, seen = spawned(waits)
    loomlet.schedule()
    task.remove()
    del task
    loomlet.schedule()
    assert log == ["finally"]
    assert (seen(), seen_task()) == (None, None)


def test_a_failed_one(failures, mode):
    """A tasklet that failed goes with the exception and its traceback."""

    def fails(thing):
        loomlet.schedule()
        raise ValueError

    task, seen_task, seen = spawned(fails)
    loomlet.schedule()
    loomlet.schedule()
    failures.clear()
    assert seen() is not None  # the traceback shows the frame
    del task
    assert (seen(), seen_task()) == (None, None)


def test_deep_frames(mode):
    """Frames over several chunks are freed with everything in them."""

    def deep(thing, depth=300):
        return deep(thing, depth - 1) if depth else Channel().receive()

    task, seen_task, seen = spawned(deep)
    loomlet.schedule()
    task.kill()
    del task
    assert (seen(), seen_task()) == (None, None)


def test_generators_of_a_dropped_tasklet(mode):
    """Generators that a tasklet was running are closed with it."""
    log = []

    def generate(thing, ch):
        try:
            yield ch.receive()
        finally:
            log.append("generator")

    def loop(thing, ch):
        for _ in generate(thing, ch):
            pass

    task, seen_task, seen = spawned(loop, Channel())
    loomlet.schedule()
    task.kill()
    del task
    assert log == ["generator"]
    assert (seen(), seen_task()) == (None, None)


def test_ten_thousand_of_every_kind(mode):
    """Tasklets made and dropped in every state leave no object behind."""
    count = 200 if mode == "hard" else 2_000

    def work():
        ch, tasks = Channel(), []
        for n in range(count):
            tasks.append(loomlet.spawn(body, n, ch))  # blocked, then served
            tasks.append(loomlet.spawn(body, n, Channel()))  # blocked, then killed
            tasks.append(loomlet.spawn(body, n, ch).remove())  # never started
            tasks.append(loomlet.spawn(loomlet.schedule))  # ends by itself
            loomlet.spawn(len, "four")  # nothing references it
        loomlet.schedule()
        for task in tasks:
            if task.state == "blocked":
                ch.send(None) if task.waiting_for is ch else task.kill()
        loomlet.schedule()
        loomlet.schedule()

    work()
    work()
    gc.collect()
    before = len(gc.get_objects())
    work()
    assert len(gc.get_objects()) <= before + 5
