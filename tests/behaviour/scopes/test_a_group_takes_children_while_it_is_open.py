"""group.spawn(): when it is allowed, and what it says when it is not."""

import contextvars
import os
import threading

import pytest

import loomlet
from loomlet import CancelScope, Channel, ScopeError, TaskGroup, _core


def end_of(thread):
    """Waits in this tasklet; the others run."""
    while thread.is_alive():
        loomlet.sleep(0.001)


def refused():
    return pytest.raises(ScopeError, match=r"is closed; spawn inside")


def test_before_the_block():
    """A group that was not entered takes no child."""
    with refused():
        TaskGroup().spawn(int)


def test_after_the_block():
    """Neither does one that was left."""
    with TaskGroup() as group:
        pass
    with refused():
        group.spawn(int)


def test_when_it_is_shutting_down():
    """After cancel() or a failure there are no new children."""
    ran = []
    with TaskGroup() as group:
        group.cancel()
        with refused():
            group.spawn(ran.append, 1)
    with pytest.raises(ExceptionGroup), TaskGroup() as group:
        with pytest.raises(ZeroDivisionError):
            group.spawn(lambda: 1 // 0).join()
        with refused():
            group.spawn(ran.append, 2)
    loomlet.schedule()
    assert ran == []


def test_in_a_cancelled_scope_children_are_born_cancelled():
    """The group itself is open still; the child meets the cancel at its first wait."""
    log = []

    def child():
        log.append("begins")
        loomlet.schedule()
        log.append("never")

    with CancelScope() as outer, TaskGroup() as group:
        outer.cancel()
        group.spawn(child)
    assert log == ["begins"]
    assert outer.cancelled_caught


def test_scopeerror_is_a_runtimeerror():
    """As asyncio's is."""
    assert issubclass(ScopeError, RuntimeError)
    assert issubclass(ScopeError, loomlet.LoomletError)


def test_only_callables_can_be_spawned():
    """The same errors as spawn()."""
    with TaskGroup() as group:
        for wrong in ((), (5,)):
            with pytest.raises(TypeError, match="expected a callable"):
                group.spawn(*wrong)


def test_a_group_takes_no_other_arguments():
    """None but the limit, and that by name."""
    for call in (lambda: TaskGroup(1), lambda: TaskGroup(a=1)):
        with pytest.raises(TypeError, match=r"positional argument|keyword argument"):
            call()


def test_a_child_is_an_ordinary_tasklet():
    """Name, result, join, contextvars: as spawn() makes it."""

    def work(a, *, b):
        return a, b

    with TaskGroup() as group:
        task = group.spawn(work, 1, b=2)
        assert isinstance(task, loomlet.Tasklet)
        assert work.__qualname__ in task.name
        assert task.result() == (1, 2)


def test_from_another_thread(mode):
    """Any thread may spawn; the child runs on the group's thread, which it wakes."""
    ch, log, here = Channel(), [], threading.get_ident()

    def child():
        log.append((threading.get_ident(), ch.receive()))

    def elsewhere():
        task = group.spawn(child)
        ch.send("value")
        task.join()

    with TaskGroup() as group:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        end_of(thread)
    assert log == [(here, "value")]


def test_from_a_thread_that_ends_at_once(mode):
    """The child runs nevertheless."""
    log, passed = [], []

    def elsewhere():
        var.set("of the thread")
        passed.append(group.spawn(lambda: log.append(var.get())))

    var = contextvars.ContextVar("var")
    with TaskGroup() as group:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert log == ["of the thread"]
    assert passed[0].state == "done"


def test_from_another_thread_into_a_group_that_has_ended():
    """The thread gets the error, nothing is lost."""
    with TaskGroup() as group:
        pass
    seen = []

    def elsewhere():
        try:
            group.spawn(print)
        except loomlet.ScopeError as error:
            seen.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert len(seen) == 1


def test_from_another_thread_without_memory():
    """The thread gets MemoryError, and the group does not wait for a child that never runs."""
    seen = []

    def spawn():
        for number in range(1, 100):
            _core._fail_allocation(number)
            try:
                group.spawn(seen.append, "ran")
            except MemoryError:
                seen.append("no memory")
            else:
                return
            finally:
                _core._fail_allocation(0)

    def elsewhere():
        os.read(begins[0], 1)
        try:
            spawn()
        finally:
            os.write(ends[1], b"x")

    begins, ends = os.pipe(), os.pipe()
    with TaskGroup() as group:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        os.write(begins[1], b"x")
        os.read(ends[0], 1)  # allocates nothing: the allocations of all threads are counted
        thread.join()
    for descriptor in begins + ends:
        os.close(descriptor)
    assert seen[-1] == "ran"
    assert seen.count("no memory") == len(seen) - 1 > 0


def test_a_failure_on_another_thread_ends_the_group():
    """It cancels the body here, and comes out here."""
    error = ValueError("a")

    def fail():
        raise error

    def elsewhere():
        with pytest.raises(ValueError):
            group.spawn(fail).join()

    with pytest.raises(ExceptionGroup) as info, TaskGroup() as group:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        Channel().receive()
    thread.join()
    assert info.value.exceptions == (error,)


def test_a_failure_here_ends_children_elsewhere():
    """The cancel reaches children that other threads have spawned."""
    started, log = Channel(), []

    def child():
        started.send("waits")
        try:
            Channel().receive()
        finally:
            log.append("ended")

    def elsewhere():
        with pytest.raises(loomlet.TaskletKilled):
            group.spawn(child).join()

    with pytest.raises(ExceptionGroup), TaskGroup() as group:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        started.receive()
        raise KeyError
    thread.join()
    assert log == ["ended"]
