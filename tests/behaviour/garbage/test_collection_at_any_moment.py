"""The collector may run at every moment of a tasklet's life."""

import gc
import warnings

import pytest

import loomlet
from loomlet import Channel


@pytest.fixture
def eager():
    """A collection after nearly every allocation."""
    before = gc.get_threshold()
    gc.set_threshold(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
    gc.set_threshold(*before)


def nest(depth, ch):
    local = [depth, {}]
    value = ch.receive() if depth == 0 else nest(depth - 1, ch)
    return value + len(local)


def generate(ch):
    for _ in range(3):
        yield [ch.receive()]


def body(ch):
    total = nest(10, ch)
    total += sum(value for [value] in generate(ch))
    for value in ch:
        total += value
    return sorted([total], key=lambda v: ([loomlet.schedule()], v)[1])


def test_collections_while_tasklets_work(eager, mode):
    """With a collection at nearly every allocation all results are right."""
    for _ in range(5):
        ch = Channel()
        task = loomlet.spawn(body, ch)
        for _ in range(5):
            loomlet.schedule()
            ch.send(10)
        loomlet.schedule()
        ch.close()
        assert task.result() == [10 + 22 + 30 + 10]


def test_collections_inside_tasklets(mode):
    """Every tasklet may call gc.collect() between and during its waits."""

    def collecting(ch, cycle):
        gc.collect()
        value = ch.receive()
        gc.collect()
        loomlet.schedule()
        gc.collect()
        return value

    ch = Channel()
    tasks = [loomlet.spawn(collecting, ch, []) for _ in range(10)]
    loomlet.schedule()
    for n in range(10):
        ch.send(n)
    assert sorted(task.result() for task in tasks) == list(range(10))


def test_a_finalizer_that_blocks(mode):
    """__del__ may block: the tasklet in which the object dies waits."""
    ch, log = Channel(), []

    class Blocks:
        def __del__(self):
            log.append(ch.receive())

    def body():
        thing = Blocks()
        del thing
        log.append("after")

    task = loomlet.spawn(body)
    loomlet.schedule()
    assert task.state == "blocked"
    ch.send("value")
    task.join()
    assert log == ["value", "after"]


def test_garbage_made_by_one_and_collected_by_another(mode):
    """A tasklet may be collected while any other tasklet runs the collector."""
    log = []

    def victim(ch, cycle):
        try:
            ch.receive()
        finally:
            log.append(loomlet.current())

    def collector():
        gc.collect()
        return "collected"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        cycle = []
        cycle.append(loomlet.spawn(victim, Channel(), cycle))
        loomlet.schedule()
        del cycle
        task = loomlet.spawn(collector)
        assert task.result() == "collected"
        loomlet.schedule()
    assert len(log) == 1
    assert log[0] is not task


def test_weak_references_to_tasklets(mode):
    """A weak reference to a tasklet lives as long as the tasklet, with its callback."""
    import weakref

    ch, called = Channel(), []
    task = loomlet.spawn(ch.receive)
    seen = weakref.ref(task, lambda ref: called.append("gone"))
    loomlet.schedule()
    assert seen() is task
    ch.send(None)
    loomlet.schedule()
    assert called == []
    del task
    assert seen() is None
    assert called == ["gone"]
