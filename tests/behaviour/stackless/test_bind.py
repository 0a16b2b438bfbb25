"""bind() gives a tasklet its function, or function and arguments, or takes them away."""

import gc

import pytest

import loomlet.compat.stackless as stackless


def wait(log):
    try:
        stackless.schedule_remove()
    finally:
        log.append("finally")


def test_the_function_alone():
    """Spec 3, tasklet.bind: it is kept, the tasklet is still dead; returns the tasklet."""
    task = stackless.tasklet()
    assert task.bind(len) is task
    assert not task.alive
    assert task.tempval is len


def test_with_arguments(mode):
    """Spec 3, tasklet.bind: makes it alive and paused, not scheduled."""
    log = []
    task = stackless.tasklet()
    assert task.bind(log.extend, ([1, 2],)) is task
    assert task.paused
    assert stackless.getruncount() == 1
    task.insert()
    stackless.run()
    assert log == [1, 2]


def test_with_keywords(mode):
    """Spec 3, tasklet.bind: keywords alone are enough; all parameters have names."""
    log = []
    stackless.tasklet().bind(lambda **kw: log.append(kw), kwargs={"a": 1}).insert()
    stackless.tasklet().bind(func=lambda *a, **kw: log.append((a, kw)), args=(2,)).insert()
    stackless.run()
    assert log == [{"a": 1}, ((2,), {})]


def test_none_keeps_the_function(mode):
    """Spec 3, tasklet.bind: arguments for the function of an earlier bind."""
    log = []
    stackless.tasklet(log.append).bind(None, (1,)).insert()
    stackless.run()
    assert log == [1]


@pytest.mark.parametrize("args", [(), (None,), (None, None, None)])
def test_nothing_unbinds(args):
    """Spec 3, tasklet.bind: a paused tasklet is dead afterwards, and does not run."""
    log = []
    task = stackless.tasklet(log.append, (1,))
    assert task.bind(*args) is task
    assert not task.alive
    assert task.tempval is None
    stackless.run()
    assert log == []


def test_unbinding_a_started_one_runs_no_finally(soft):
    """Spec 3, tasklet.bind: its frames are dropped as they are."""
    log = []
    task = stackless.tasklet(wait)(log)
    stackless.run()
    task.bind(None)
    gc.collect()
    assert not task.alive
    assert log == []


def test_binding_a_started_one(soft):
    """Spec 3, tasklet.bind: a paused tasklet without C state takes a new call."""
    log = []
    task = stackless.tasklet(wait)([])
    stackless.run()
    task.bind(log.append, ("new",)).insert()
    stackless.run()
    assert log == ["new"]


def test_a_wrong_function(raises):
    """Spec 3, tasklet.bind: a callable or None; nothing changes."""
    task = stackless.tasklet(len)
    with raises(TypeError, "tasklet function must be a callable or None"):
        task.bind("text")
    assert task.tempval is len


def test_the_current_tasklet(raises, mode):
    """Spec 3, tasklet.bind: what runs cannot be bound."""
    with raises(RuntimeError, "can't (re)bind the current tasklet"):
        stackless.getcurrent().bind(print)
    texts = []

    def body():
        try:
            stackless.getcurrent().bind()
        except RuntimeError as error:
            texts.append(str(error))

    stackless.tasklet(body)()
    stackless.run()
    assert texts == ["can't (re)bind the current tasklet"]


def test_a_scheduled_tasklet(raises):
    """Spec 3, tasklet.bind: it has to be removed first; blocked counts as scheduled."""
    task = stackless.tasklet(len)([])
    with raises(RuntimeError, "tasklet is scheduled"):
        task.bind(print)
    stackless.run()
    ch = stackless.channel()
    task = stackless.tasklet(ch.receive)()
    stackless.run()
    with raises(RuntimeError, "tasklet is scheduled"):
        task.bind(print)
    ch.send(None)


def test_one_with_c_state(raises):
    """Spec 3, tasklet.bind: its C stack cannot be dropped."""
    task = stackless.tasklet(stackless._test_nostacklesscall)(stackless.schedule_remove)
    stackless.run()
    with raises(RuntimeError, "tasklet has C state on its stack"):
        task.bind(print)
    task.kill()


def test_the_main_tasklet(mode):
    """Spec 3, tasklet.bind: cannot be unbound, even while it is paused."""
    main, texts = stackless.getmain(), []

    def body():
        try:
            main.bind(None)
        except RuntimeError as error:
            texts.append(str(error))

    stackless.tasklet(body)().switch()
    assert texts == ["can't unbind the main tasklet"]


def test_arguments_without_a_function(raises):
    """Spec 3, tasklet.bind: there must have been one before."""
    with raises(RuntimeError, "the tasklet was not bound to a function"):
        stackless.tasklet().bind(None, ())


def test_after_the_end_of_its_thread(thread, raises):
    """Spec 3, tasklet.bind: a tasklet without a thread cannot get a call."""
    task = thread(stackless.tasklet).result()
    with raises(RuntimeError, "tasklet has no thread"):
        task.bind(print, ())
