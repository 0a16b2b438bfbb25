"""Blocked tasklets that nothing can reach are collected, and their finally blocks run once."""

import gc
import sys
import warnings
import weakref

import pytest

import loomlet
from loomlet import Channel, _core


class Thing:
    """Something for a tasklet to hold."""


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield


def receive(ch):
    ch.receive()


def send(ch):
    ch.send(ch)


def iterate(ch):
    for _ in ch:
        pass


def select(ch):
    loomlet.select([ch, (Channel(), ch)])


def nested(ch):
    def inner(depth):
        return inner(depth - 1) if depth else ch.receive()

    inner(20)


def generator(ch):
    for _ in (ch.receive() for _ in range(3)):
        pass


def below_c_code(ch):
    # What the C code itself holds (key function, list) is not part of the cycle.
    reachable[loomlet.current().id] = ch
    sorted([1], key=receive_below_c_code)


reachable: weakref.WeakValueDictionary[int, Channel] = weakref.WeakValueDictionary()


def receive_below_c_code(_):
    reachable[loomlet.current().id].receive()


def join_a_blocked_one(ch):
    loomlet.spawn(ch.receive).join()


def in_an_except_block(ch):
    try:
        raise ValueError(ch)
    except ValueError:
        ch.receive()


WAYS = [
    receive, send, iterate, select, nested, below_c_code, join_a_blocked_one, in_an_except_block,
]  # fmt: skip


def make(way, log, count):
    """Blocks `count` tasklets, each in a cycle: tasklet, frame, list, tasklet."""

    def body(ch, cycle, thing):
        try:
            way(ch)
        finally:
            log.append(len(cycle))

    seen = []
    for _ in range(count):
        cycle, thing = [], Thing()
        seen.append(weakref.ref(thing))
        cycle.append(loomlet.spawn(body, Channel(), cycle, thing))
    loomlet.schedule()
    loomlet.schedule()
    return seen


def collect():
    for _ in range(4):
        gc.collect()
        loomlet.schedule()


@pytest.mark.parametrize("way", WAYS)
def test_whatever_they_wait_for(way, mode):
    """However it waits, a tasklet in a cycle is found; what it held is freed."""
    if way is iterate and not _core.SOFT_SUPPORTED:
        pytest.skip("3.11 does not expose the stack depth of a waiting loop: such a cycle stays")
    log = []
    gc.disable()  # else a collection may come before the first look
    try:
        seen = make(way, log, 10)
        assert len(log) == 0
    finally:
        gc.enable()
    collect()
    assert log == [1] * 10
    assert [ref() for ref in seen] == [None] * 10
    assert len(_core.tasklets()) == 1


def test_a_loop_over_a_generator(switches):
    """A generator that waits is found with its tasklet, where no C code holds it."""
    log = []
    seen = make(generator, log, 10)
    collect()
    assert log == [1] * 10
    assert [ref() for ref in seen] == [None] * 10


def test_a_hundred_thousand(mode):
    """100 000 tasklets blocked in cycles are all collected, each finally exactly once."""
    if mode == "hard":
        pytest.skip("each keeps a C stack; tests/stress has the many")
    count, done = 100_000, [0]

    def body(ch, cycle):
        try:
            ch.receive()
        finally:
            done[0] += 1

    for _ in range(count):
        cycle = []
        cycle.append(loomlet.spawn(body, Channel(), cycle))
    loomlet.schedule()
    del cycle
    collect()
    assert done == [count]
    assert len(_core.tasklets()) == 1


def test_rounds_leave_nothing(mode):
    """The same work again and again needs no more objects and no more memory blocks."""
    sizes = []
    for _ in range(5):
        log = []
        make(receive, log, 2_000 if mode == "hard" else 20_000)
        collect()
        collect()
        done = len(log)
        del log
        sizes.append((len(gc.get_objects()), sys.getallocatedblocks(), done))
    assert len({done for _, _, done in sizes}) == 1
    assert sizes[-1][0] <= sizes[1][0] + 10
    assert sizes[-1][1] <= sizes[1][1] + 100


def test_a_reachable_tasklet_is_left_alone(mode):
    """A tasklet whose channel is referenced is not garbage, however often we collect."""
    ch = Channel()
    task = loomlet.spawn(ch.receive)
    loomlet.schedule()
    seen = weakref.ref(task)
    del task
    collect()
    assert seen() is not None
    ch.send("value")
    loomlet.schedule()
    assert seen() is None


def test_a_sleeping_one_is_left_alone(mode, clock):
    """A tasklet that sleeps or has a deadline wakes by itself: it is no garbage."""
    log = []

    def sleeper():
        loomlet.sleep(5)
        log.append("slept")

    def chooser():
        with pytest.raises(TimeoutError):
            loomlet.select([Channel()], timeout=6)
        log.append("timed out")

    loomlet.spawn(sleeper)
    loomlet.spawn(chooser)
    loomlet.schedule()
    collect()
    loomlet.sleep(10)
    assert log == ["slept", "timed out"]


def test_two_that_wait_for_each_other(mode):
    """Tasklets blocked on each other's channels are collected together."""
    log = []

    def body(mine, other, name):
        try:
            mine.receive()
            other.send(None)
        finally:
            log.append(name)

    a, b = Channel(), Channel()
    loomlet.spawn(body, a, b, "a")
    loomlet.spawn(body, b, a, "b")
    loomlet.schedule()
    del a, b
    collect()
    assert sorted(log) == ["a", "b"]


def test_finally_may_use_the_channel(mode):
    """The finally block of a collected tasklet can use all it holds."""
    out = Channel(1)

    def body(ch, cycle):
        try:
            ch.receive()
        finally:
            assert ch.balance == 0
            out.send((ch.closed, cycle[0] is loomlet.current()))

    cycle = []
    cycle.append(loomlet.spawn(body, Channel(), cycle))
    loomlet.schedule()
    del cycle
    collect()
    assert out.try_receive() == (True, (False, True))


def test_a_tasklet_that_resurrects_itself(mode):
    """A collected tasklet that hands itself out lives on as a normal one."""
    saved = []

    def body(ch, cycle):
        try:
            ch.receive()
        except loomlet.TaskletExit:
            saved.append(ch)
            return "saved " + ch.receive()

    cycle = []
    cycle.append(loomlet.spawn(body, Channel(), cycle))
    loomlet.schedule()
    del cycle
    collect()
    [ch] = saved
    assert ch.balance == -1
    [task] = _core.tasklets()[1:]
    ch.send("itself")
    assert task.result() == "saved itself"
