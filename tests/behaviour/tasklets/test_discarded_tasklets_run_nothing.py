"""discard(): a suspended tasklet ends, and nothing of it runs any more."""

import contextlib
import gc
import weakref

import pytest

import loomlet
from loomlet import Channel, TaskGroup, _core, spawn


class Log(list):
    """Notes what runs."""

    def noted(self, wait):
        try:
            self.append("begin")
            wait()
            self.append("woken")
        except BaseException as error:
            self.append(type(error).__name__)
            raise
        finally:
            self.append("finally")


@pytest.mark.usefixtures("switches")
def test_no_finally_runs():
    log = Log()
    task = spawn(log.noted, Channel().receive)
    loomlet.schedule()
    task.discard()
    assert (log, task.state) == (["begin"], "done")


@pytest.mark.usefixtures("switches")
def test_its_objects_are_destroyed():
    class Thing:
        pass

    def hold(channel):
        thing = Thing()
        refs.append(weakref.ref(thing))
        channel.receive()

    refs = []
    task = spawn(hold, Channel())
    loomlet.schedule()
    task.discard()
    gc.collect()
    assert [ref() for ref in refs] == [None]


@pytest.mark.usefixtures("switches")
def test_generators_are_not_closed():
    """Nor the blocks of context managers that are generators."""
    log = Log()

    @contextlib.contextmanager
    def seat():
        try:
            yield
        finally:
            log.append("released")

    def numbers():
        try:
            yield 1
            yield 2
        finally:
            log.append("closed")

    def body(channel):
        each = numbers()
        next(each)
        with seat():
            channel.receive()

    task = spawn(body, Channel())
    loomlet.schedule()
    task.discard()
    del task
    gc.collect()
    assert log == []


@pytest.mark.usefixtures("switches")
def test_generators_of_others_are_closed():
    """One that somebody else refers to lives on, and ends as always."""
    log = Log()

    def numbers():
        try:
            yield 1
            yield 2
        finally:
            log.append("closed")

    def body(each, channel):
        next(each)
        channel.receive()

    each = numbers()
    task = spawn(body, each, Channel())
    loomlet.schedule()
    task.discard()
    assert (log, next(each)) == ([], 2)
    del each
    gc.collect()
    assert log == ["closed"]


@pytest.mark.usefixtures("switches")
def test_destructors_run_and_use_generators_as_always():
    log = Log()

    class Thing:
        def __del__(self):
            with closing():
                each = numbers()
                next(each)

    @contextlib.contextmanager
    def closing():
        yield
        log.append("left")

    def numbers():
        try:
            yield 1
        finally:
            log.append("closed")

    def body(thing, channel):
        channel.receive()

    task = spawn(body, Thing(), Channel())
    loomlet.schedule()
    task.discard()
    gc.collect()
    assert sorted(log) == ["closed", "left"]


def test_one_that_has_not_started():
    log = Log()
    task = spawn(log.noted, int)
    task.discard()
    loomlet.schedule()
    assert (log, task.state) == ([], "done")


def test_one_that_has_ended():
    task = spawn(int)
    task.join()
    task.discard()
    assert task.result() == 0


@pytest.mark.usefixtures("switches")
def test_it_is_killed_for_those_that_wait():
    task = spawn(Log().noted, Channel().receive)
    joiner = spawn(task.result)
    loomlet.schedule()
    task.discard()
    with pytest.raises(loomlet.TaskletKilled):
        joiner.result()


@pytest.mark.usefixtures("switches")
@pytest.mark.parametrize("state", ["paused", "runnable", "blocked", "asleep", "preempted"])
def test_wherever_it_is_suspended(state):
    log = Log()
    channel = Channel()

    def sleep():
        loomlet.sleep(60)

    waits = {
        "paused": _core._pause,
        "runnable": loomlet.schedule,
        "blocked": channel.receive,
        "asleep": sleep,
        "preempted": loomlet.schedule,
    }
    task = spawn(log.noted, waits[state])
    loomlet.schedule()
    if state == "preempted":
        loomlet.schedule()
    task.discard()
    assert task.state == "done"
    loomlet.schedule()
    assert log == ["begin"] if state != "preempted" else log[:1] == ["begin"]
    with pytest.raises(TimeoutError):
        channel.send(1, timeout=0)


@pytest.mark.usefixtures("switches")
def test_the_scopes_it_is_inside_of_are_left():
    """Its time limit does nothing any more."""

    def body(channel):
        with loomlet.timeout(0.001), loomlet.CancelScope():
            channel.receive()

    task = spawn(body, Channel())
    loomlet.schedule()
    task.discard()
    loomlet.sleep(0.01)  # longer than its time
    assert task.state == "done"


@pytest.mark.usefixtures("switches")
def test_children_of_its_groups_are_discarded():
    log = Log()

    def body(channel):
        with TaskGroup() as group:
            group.spawn(log.noted, channel.receive)
            with TaskGroup() as inner:
                inner.spawn(inside, channel)

    def inside(channel):
        with TaskGroup() as group:
            group.spawn(log.noted, channel.receive)

    channel = Channel()
    task = spawn(body, channel)
    for _ in range(4):
        loomlet.schedule()
    task.discard()
    loomlet.schedule()
    assert (log, task.state) == (["begin", "begin"], "done")
    assert [each for each in _core.tasklets() if not each.is_main] == []


@pytest.mark.usefixtures("switches")
def test_a_child_that_is_discarded_from_outside():
    """Its group learns that it was killed, as with kill()."""
    found = []

    def body(channel):
        with TaskGroup() as group:
            found.append(group.spawn(Log().noted, channel.receive))

    task = spawn(body, Channel())
    loomlet.schedule()
    loomlet.schedule()
    found[0].discard()
    with pytest.raises(ExceptionGroup) as caught:
        task.join()
    assert [type(error) for error in caught.value.exceptions] == [loomlet.TaskletKilled]


def test_the_running_one_is_refused():
    with pytest.raises(loomlet.TaskletError, match="running tasklet"):
        loomlet.current().discard()


def test_one_with_a_c_function_on_its_stack_is_refused():
    """Nothing has happened: it goes on."""
    channel = Channel()
    task = spawn(lambda: sorted([2, 1], key=lambda n: n + channel.receive()))
    loomlet.schedule()
    with pytest.raises(loomlet.TaskletError, match=r"end it with kill\(\)"):
        task.discard()
    channel.send(0)
    channel.send(0)
    assert task.result() == [1, 2]


@pytest.mark.usefixtures("switches")
def test_a_group_with_a_child_that_is_refused():
    """Nothing has happened to anybody."""
    channel = Channel()

    def body():
        with TaskGroup() as group:
            group.spawn(lambda: sorted([2, 1], key=lambda n: n + channel.receive()))
            one = group.spawn(channel.receive)
        return one.result()

    task = spawn(body)
    loomlet.schedule()
    loomlet.schedule()
    with pytest.raises(loomlet.TaskletError, match=r"end it with kill\(\)"):
        task.discard()
    for value in range(3):
        channel.send(value)
    assert task.result() == 1


@pytest.mark.usefixtures("switches")
def test_frozen_here_and_continued_there():
    """The use of it: what goes on elsewhere does not end here, too."""
    log = []

    def order(name):
        try:
            _core._pause()
            return f"{name} is confirmed"
        finally:
            log.append("released")

    task = spawn(order, "seat 7")
    loomlet.schedule()
    data = loomlet.freeze(task)
    task.discard()
    assert log == []
    again = loomlet.thaw(data)
    again.insert()
    assert again.result() == "seat 7 is confirmed"


@pytest.mark.usefixtures("switches")
def test_nothing_is_left():
    """Of many, each with a generator and a scope."""

    def body(channel):
        each = (n for n in range(3))
        next(each)
        with loomlet.CancelScope():
            channel.receive()

    def many():
        channel = Channel()
        tasks = [spawn(body, channel) for _ in range(1000)]
        loomlet.schedule()
        for task in tasks:
            task.discard()

    many()
    with loomlet.testing.assert_no_leaks():
        many()
