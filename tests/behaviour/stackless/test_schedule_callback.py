"""The schedule callback sees each switch before it happens."""

import sys

import pytest

import loomlet.compat.stackless as stackless


@pytest.fixture
def seen():
    """(prev, next) of each switch."""
    pairs = []
    stackless.set_schedule_callback(lambda prev, following: pairs.append((prev, following)))
    yield pairs
    stackless.set_schedule_callback(None)


def test_it_is_called_for_each_switch(seen, mode):
    """Spec 2, set_schedule_callback: which stops and which continues, in order."""
    main = stackless.getcurrent()
    a, b = (stackless.tasklet(stackless.schedule)() for _ in range(2))
    for _ in range(2):
        stackless.schedule()
    assert seen == [(main, a), (a, b), (b, main), (main, a), (a, b), (b, main)]


def test_an_end_is_a_switch_to_the_successor(seen, mode):
    """Spec 2, set_schedule_callback: the dying tasklet stops, the next one continues."""
    main = stackless.getcurrent()
    a, b = (stackless.tasklet(lambda: None)() for _ in range(2))
    stackless.run()
    assert seen == [(main, a), (a, b), (b, main)]


def test_switches_by_channels(seen, mode):
    """Spec 2, set_schedule_callback: blocking and handing over are switches as well."""
    main, ch = stackless.getcurrent(), stackless.channel()
    task = stackless.tasklet(ch.receive)()
    stackless.run()
    ch.send(1)
    assert seen == [(main, task), (task, main), (main, task), (task, main)]


def test_no_switch_no_call(seen):
    """Spec 2, set_schedule_callback: schedule() alone and an empty run() do not switch."""
    stackless.schedule()
    stackless.run()
    stackless.getcurrent().run()
    assert seen == []


def test_it_returns_the_old_one():
    """Spec 2, set_schedule_callback: get_schedule_callback() returns the current one."""

    def callback(prev, following):
        pass

    assert stackless.get_schedule_callback() is None
    assert stackless.set_schedule_callback(callback) is None
    assert stackless.get_schedule_callback() is callback
    assert stackless.set_schedule_callback(None) is callback
    assert stackless.get_schedule_callback() is None


def test_get_schedule_callback_in_another_thread(thread):
    """Spec 2, get_schedule_callback: one for all threads."""

    def callback(prev, following):
        pass

    stackless.set_schedule_callback(callback)
    found = thread(stackless.get_schedule_callback).result()
    stackless.set_schedule_callback(None)
    assert found is callback


@pytest.mark.parametrize("wrong", [1, "text", ()])
def test_it_must_be_callable(wrong, raises):
    """Spec 2, set_schedule_callback: anything else is refused; the old one stays."""
    with raises(TypeError, "schedule callback must be callable"):
        stackless.set_schedule_callback(wrong)
    assert stackless.get_schedule_callback() is None


def test_its_exceptions_are_ignored(monkeypatch, mode):
    """Spec 2, set_schedule_callback: they are reported as unraisable; the switch happens."""
    errors, log = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda info: errors.append(info.exc_type))

    def callback(prev, following):
        raise KeyError

    task = stackless.tasklet(log.append)("ran")
    stackless.set_schedule_callback(callback)
    stackless.run()
    stackless.set_schedule_callback(None)
    assert log == ["ran"]
    assert errors == [KeyError, KeyError]
    assert not task.alive


@pytest.mark.parametrize("how", [stackless.schedule, stackless.schedule_remove, stackless.run])
def test_it_must_not_switch(how, mode):
    """Spec 2, set_schedule_callback: a switch inside it is a RuntimeError there."""
    errors, log = [], []

    def callback(prev, following):
        try:
            how()
        except RuntimeError as error:
            errors.append(type(error))

    stackless.set_schedule_callback(callback)
    for name in "ab":
        stackless.tasklet(log.append)(name)
    stackless.schedule()
    stackless.set_schedule_callback(None)
    assert log == ["a", "b"]
    assert errors
    assert set(errors) == {RuntimeError}


def test_a_new_main_tasklet(seen, thread):
    """Spec 2, set_schedule_callback: of a thread that begins; there is no previous one."""
    main = thread(stackless.getmain).result()
    assert seen == [(None, main)]
