"""setup(), or calling the tasklet, gives the arguments and schedules it."""

import pytest

import loomlet.compat.stackless as stackless


@pytest.fixture(params=["setup", "__call__"])
def setup(request):
    """Calls a tasklet in one of both ways."""
    return lambda task, *args, **kwargs: getattr(task, request.param)(*args, **kwargs)


def test_it_schedules(setup, mode):
    """Spec 3, tasklet.setup: the call stands at the tail of the queue; returns the tasklet."""
    log = []
    a, b = (stackless.tasklet(lambda *args, **kw: log.append((args, kw))) for _ in range(2))
    assert setup(a, 1, 2, key=3) is a
    assert setup(b) is b
    assert stackless.getcurrent().prev is b
    stackless.run()
    assert log == [((1, 2), {"key": 3}), ((), {})]


def test_setup_of_a_living_tasklet(setup, raises, mode):
    """Spec 3, tasklet.setup: paused, scheduled or running, it has its call already."""
    log = []
    task = stackless.tasklet(log.append, (1,))
    with raises(RuntimeError, "tasklet is alive"):
        setup(task, 2)
    task.insert()
    with raises(RuntimeError, "tasklet is alive"):
        setup(task, 2)
    with raises(RuntimeError, "tasklet is alive"):
        setup(stackless.getcurrent())
    stackless.run()
    assert log == [1]


def test_without_a_function(setup, raises):
    """Spec 3, tasklet.setup: an unbound tasklet has nothing to call."""
    with raises(RuntimeError, "the tasklet was not bound to a function"):
        setup(stackless.tasklet())


def test_after_its_end(setup, raises, mode):
    """Spec 3, tasklet.setup: the function is used up."""
    task = stackless.tasklet(lambda: None)()
    stackless.run()
    with raises(RuntimeError, "the tasklet was not bound to a function"):
        setup(task)


def test_it_goes_to_its_own_thread(setup, thread):
    """Spec 3, tasklet.setup: the queue is that of the tasklet's thread, not of the caller's."""
    log = []
    task = stackless.tasklet(log.append)
    thread(setup, task, "ran").result()
    assert log == []
    assert task.scheduled
    stackless.run()
    assert log == ["ran"]
