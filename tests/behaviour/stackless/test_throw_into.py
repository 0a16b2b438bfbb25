"""throw() raises an exception in a tasklet, at once or when its turn comes."""

import sys

import pytest

import loomlet.compat.stackless as stackless


class Mine(Exception):
    """The exception that the tests throw."""


def catch(log, wait, *args):
    try:
        wait(*args)
    except Mine as error:
        log.append(error)


def test_a_class(mode):
    """Spec 3, tasklet.throw: instantiated in the target, as raise does; returns None."""
    log = []
    task = stackless.tasklet(catch)(log, stackless.schedule)
    stackless.schedule()
    assert task.throw(Mine) is None
    assert [type(error) for error in log] == [Mine]
    assert log[0].args == ()


@pytest.mark.parametrize(
    ("value", "args"), [("text", ("text",)), ((1, 2), (1, 2)), (None, ()), (3, (3,))]
)
def test_a_class_and_a_value(value, args, mode):
    """Spec 3, tasklet.throw: the value is the argument, or a tuple of them."""
    log = []
    task = stackless.tasklet(catch)(log, stackless.schedule)
    stackless.schedule()
    task.throw(Mine, value)
    assert log[0].args == args


def test_an_instance(mode):
    """Spec 3, tasklet.throw: the very object arrives, also as the value of its class."""
    log, error = [], Mine()
    for args in ((error,), (Mine, error), (error, None)):
        task = stackless.tasklet(catch)(log, stackless.schedule)
        stackless.schedule()
        task.throw(*args)
    assert log == [error, error, error]


def test_with_a_traceback(mode):
    """Spec 3, tasklet.throw: the given traceback lies inside the new one."""

    def origin():
        raise Mine

    log = []
    try:
        origin()
    except Mine:
        kind, value, traceback = sys.exc_info()
    task = stackless.tasklet(catch)(log, stackless.schedule)
    stackless.schedule()
    task.throw(kind, value, traceback)
    names, traceback = [], log[0].__traceback__
    while traceback is not None:
        names.append(traceback.tb_frame.f_code.co_name)
        traceback = traceback.tb_next
    assert "origin" in names


def test_parameters_have_names(mode):
    """Spec 3, tasklet.throw: exc, val, tb and pending."""
    log = []
    task = stackless.tasklet(catch)(log, stackless.schedule)
    stackless.schedule()
    task.throw(exc=Mine, val="text", tb=None, pending=False)
    assert log[0].args == ("text",)


def test_a_blocked_one_leaves_its_channel(mode):
    """Spec 3, tasklet.throw: it waits no longer."""
    ch, log = stackless.channel(), []
    task = stackless.tasklet(catch)(log, ch.receive)
    stackless.run()
    task.throw(Mine)
    assert len(log) == 1
    assert ch.balance == 0
    assert not task.alive


def test_a_paused_one(mode):
    """Spec 3, tasklet.throw: it runs at once."""
    log = []
    task = stackless.tasklet(catch)(log, stackless.schedule_remove)
    stackless.run()
    assert task.paused
    task.throw(Mine)
    assert len(log) == 1


def test_a_scheduled_one_keeps_its_place(mode):
    """Spec 3, tasklet.throw: the ones between it and the caller run before the caller continues."""
    log = []
    task = stackless.tasklet(catch)(log, stackless.schedule)
    stackless.schedule()
    stackless.tasklet(log.append)("between")
    task.throw(Mine)
    log.append("main")
    assert [type(log[0]), *log[1:]] == [Mine, "between", "main"]


def test_the_caller_stays_runnable(mode):
    """Spec 3, tasklet.throw: it continues when its turn comes."""
    main, seen = stackless.getcurrent(), []

    def body():
        try:
            stackless.schedule()
        except Mine:
            seen.append((main.scheduled, main.paused))

    task = stackless.tasklet(body)()
    stackless.schedule()
    task.throw(Mine)
    assert seen == [(True, False)]


def test_pending(mode):
    """Spec 3, tasklet.throw: the caller continues; the target raises when its turn comes."""
    ch, log = stackless.channel(), []
    task = stackless.tasklet(catch)(log, ch.receive)
    stackless.run()
    stackless.tasklet(log.append)("queued")
    assert task.throw(Mine, pending=True) is None
    assert log == []
    assert task.scheduled
    assert not task.blocked
    assert stackless.getcurrent().prev is task
    stackless.run()
    assert log[0] == "queued"
    assert type(log[1]) is Mine


def test_at_oneself(mode):
    """Spec 3, tasklet.throw: it is raised here, at once."""
    with pytest.raises(Mine):
        stackless.getcurrent().throw(Mine)
    log = []
    stackless.tasklet(lambda: catch(log, stackless.getcurrent().throw, Mine))()
    stackless.run()
    assert len(log) == 1


def test_a_tasklet_that_has_not_started(mode):
    """Spec 3, tasklet.throw: its function does not run; the exception is that of the tasklet."""
    log = []
    task = stackless.tasklet(log.append)("ran")
    with pytest.raises(Mine):
        task.throw(Mine)
    assert log == []
    assert not task.alive


def test_a_dead_one(raises):
    """Spec 3, tasklet.throw: an error, but for TaskletExit."""
    task = stackless.tasklet(print)
    with raises(RuntimeError, "You cannot throw to a dead tasklet"):
        task.throw(Mine)
    with raises(RuntimeError, "You cannot throw to a dead tasklet"):
        task.throw(Mine, pending=True)
    assert task.throw(TaskletExit) is None
    assert task.throw(TaskletExit, pending=True) is None


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((3,), "exceptions must be classes, or instances, not int"),
        (("text",), "exceptions must be classes, or instances, not str"),
        ((Mine(), 1), "instance exception may not have a separate value"),
        ((Mine, None, 3), "third argument must be a traceback object"),
    ],
)
def test_an_argument_that_cannot_be_raised(args, text, raises, mode):
    """Spec 3, tasklet.throw: a TypeError of the caller; the target does not notice."""
    ch = stackless.channel()
    task = stackless.tasklet(ch.receive)()
    stackless.run()
    with raises(TypeError, text):
        task.throw(*args)
    assert task.blocked
    ch.send(None)


def test_of_another_thread(thread):
    """Spec 3, tasklet.throw: it becomes runnable there, and raises there."""
    ch, log = stackless.channel(), []
    task = stackless.tasklet(catch)(log, ch.receive)
    stackless.run()
    assert thread(task.throw, Mine).result() is None
    assert log == []
    stackless.run()
    assert len(log) == 1


def test_after_the_end_of_its_thread(thread, raises):
    """Spec 3, tasklet.throw: no thread is left to raise it."""
    task = thread(lambda: stackless.tasklet(print, ())).result()
    with raises(RuntimeError, "tasklet has no thread"):
        task.throw(Mine)
    assert task.throw(TaskletExit) is None


def test_pending_at_oneself(mode):
    """Spec 3, tasklet.throw: it is raised here, at once, pending or not."""
    with pytest.raises(Mine):
        stackless.getcurrent().throw(Mine, pending=True)


def test_a_tasklet_that_throws_at_its_end(mode):
    """Spec 3, tasklet.throw: uncaught it ends the target, and goes where its errors go."""
    log = []

    def watch():
        task = stackless.tasklet(stackless.schedule)()
        stackless.tasklet(task.throw)(Mine)
        try:
            stackless.run()
        except Mine:
            log.append("innermost run")

    stackless.tasklet(watch)()
    stackless.run()
    assert log == ["innermost run"]
