"""bind() gives a tasklet its function, or function and arguments, or takes them away."""

import contextlib
import gc
import threading
from unittest import mock

import pytest

import loomlet
import loomlet.compat.stackless as stackless
from loomlet import _core


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


# ---- main bound anew ------------------------------------------------------------------------


@pytest.fixture
def reports(monkeypatch):
    """What ends threads, as threading reports it."""
    found = []
    monkeypatch.setattr(threading, "excepthook", lambda report: found.append(report.exc_value))
    return found


def run_in_thread(body):
    """With nothing of C between, also on 3.11, where `function(*args)` is."""
    thread = threading.Thread(target=body)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert thread not in threading.enumerate()


def test_main_gets_a_new_function(reports):
    """Spec 3, tasklet.bind: main runs it; what stood on its old stack is not run."""
    log = []

    def rebind(main):
        assert main.bind(lambda *given, **named: log.append((given, named)), (1,), {"b": 2}) is main
        log.append(("alive", main.alive, "paused", main.paused))

    def body():
        try:
            stackless.tasklet(rebind)(stackless.getcurrent())
            stackless.schedule_remove()
            log.append("the old stack ran on")
        except BaseException:
            log.append("a handler ran")
        finally:
            log.append("a finally block ran")

    run_in_thread(body)
    assert [type(error) for error in reports] == [SystemExit]
    assert log == [("alive", True, "paused", True), ((1,), {"b": 2})]


def test_the_thread_of_a_main_that_was_bound_anew_ends(reports):
    """Spec 3, tasklet.bind: its flow of control ends with the function, and threading knows it."""
    log = []

    def body():
        with contextlib.closing(mock.Mock(close=lambda: log.append("closed"))):
            stackless.tasklet(stackless.getmain().bind)(log.append, ("ran",))
            stackless.run()

    run_in_thread(body)
    assert log == ["ran"]
    assert [type(error) for error in reports] == [SystemExit]  # of which threading says nothing


def test_a_main_that_was_bound_anew_may_wait_and_fail(reports):
    """Spec 3, tasklet.bind: the new function is main: it waits, and its exception ends the
    thread."""
    log = []

    def anew(ch):
        log.append((ch.receive(), stackless.getcurrent() is stackless.getmain()))
        raise KeyError("anew")

    def body():
        ch = stackless.channel()

        def other(main):
            main.bind(anew, (ch,))
            main.run()
            ch.send(1)

        try:
            stackless.tasklet(other)(stackless.getmain())
            stackless.schedule_remove()
        except KeyError:
            log.append("the old stack handled it")

    run_in_thread(body)
    assert log == [(1, True)]
    assert [repr(error) for error in reports] == ["KeyError('anew')"]


def test_main_cannot_be_bound_always(thread, raises):
    """Spec 3, tasklet.bind: not the current one, a runnable or a blocked one, below C code, from
    another thread, or without a function."""

    def body():
        main, ch = stackless.getmain(), stackless.channel()
        with raises(RuntimeError, "can't (re)bind the current tasklet"):
            main.bind(print, ())

        def refused(text, *given):
            with raises(RuntimeError, text):
                main.bind(*given)

        stackless.tasklet(refused)("tasklet is scheduled", print, ())
        stackless.schedule()
        stackless.tasklet(refused)("tasklet is scheduled", print, ())
        stackless.tasklet(ch.send)(None)
        ch.receive()
        stackless.tasklet(refused)("can't unbind the main tasklet")
        stackless.run()
        stackless.tasklet(refused)("the tasklet was not bound to a function", None, ())
        stackless.run()
        stackless.tasklet(refused)("tasklet has C state on its stack", print, ())
        list(map(lambda _: stackless.run(), [0]))

    thread(body).result()
    with raises(RuntimeError, "can't (re)bind the current tasklet"):
        thread(stackless.getmain().bind, print, ()).result()


@pytest.mark.skipif(not _core._can_hand_over(), reason="handoff needs 3.12 or later")
def test_main_on_a_stack_of_ours_gets_a_new_function(soft):
    """Spec 3, tasklet.bind: what has called run() gets what the new function returns."""
    log = []

    def anew(*given, **named):
        stackless.schedule()
        return given, named

    def rebind(main):
        main.bind(anew, (1, 2), {"three": 3}).insert()

    def body():
        try:
            stackless.tasklet(rebind)(stackless.getmain())
            stackless.schedule_remove()
        finally:
            log.append("a finally block ran")

    for _ in range(2):
        assert loomlet.run(body, handoff=True) == ((1, 2), {"three": 3})
    assert log == []
