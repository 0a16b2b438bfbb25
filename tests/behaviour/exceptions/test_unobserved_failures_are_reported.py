"""An exception that ends a tasklet is never lost: a joiner or the error handler gets it."""

import gc
import sys
import weakref

import pytest

import loomlet
from loomlet import Channel


def fail(error):
    raise error


def test_at_once(failures, mode):
    """The handler is called when the tasklet dies, not when it is collected."""
    error, log = ValueError("mine"), []
    task = loomlet.spawn(fail, error)
    loomlet.spawn(lambda: log.append(len(failures)))
    loomlet.schedule()
    assert failures == [(task, error)]
    assert log == [1]
    failures.clear()


def test_as_the_dying_tasklet(mode):
    """The handler runs as the tasklet that failed."""
    seen = []
    old = loomlet.set_error_handler(lambda t, e: seen.append((t, loomlet.current(), t.state)))
    task = loomlet.spawn(fail, ValueError())
    loomlet.schedule()
    loomlet.set_error_handler(old)
    assert seen == [(task, task, "running")]


def test_not_when_another_tasklet_joins(failures, mode):
    """A failure that a joiner gets is not reported."""
    task = loomlet.spawn(fail, ValueError())
    with pytest.raises(ValueError):
        task.join()
    assert failures == []


def test_also_when_another_tasklet_joins_later(failures, mode):
    """Joining after the report still raises the exception."""
    error = ValueError()
    task = loomlet.spawn(fail, error)
    loomlet.schedule()
    assert failures.pop() == (task, error)
    with pytest.raises(ValueError):
        task.join()


@pytest.mark.parametrize("silent", [loomlet.TaskletExit, loomlet.Cancelled])
def test_exits_are_silent(silent, failures, mode):
    """TaskletExit and Cancelled end a tasklet without a word."""
    task = loomlet.spawn(fail, silent())
    loomlet.schedule()
    assert failures == []
    with pytest.raises(loomlet.TaskletKilled) as info:
        task.join()
    assert type(info.value.__cause__) is silent


def test_the_default_prints_on_stderr(python):
    """Without a handler, name and traceback are printed on stderr and the program continues."""
    done = python(
        """
        import loomlet

        def fail():
            raise ValueError("mine")

        task = loomlet.spawn(fail)
        task.name = "my worker"
        loomlet.schedule()
        print("still runs")
        """
    )
    assert (done.returncode, done.stdout) == (0, "still runs\n")
    lines = done.stderr.splitlines()
    assert "my worker" in lines[0]
    assert lines[1] == "Traceback (most recent call last):"
    assert "in fail" in lines[2]
    assert lines[-1] == "ValueError: mine"


def test_none_restores_the_default(python):
    """set_error_handler returns the handler before it; None stands for the default."""
    done = python(
        """
        import loomlet

        def first(task, error): print("first", repr(error))

        print(loomlet.set_error_handler(first))
        print(loomlet.set_error_handler(first) is first)
        loomlet.spawn(lambda: 1 / 0)
        loomlet.schedule()
        print(loomlet.set_error_handler(None) is first)
        loomlet.spawn(lambda: 1 / 0)
        loomlet.schedule()
        """
    )
    assert done.stdout.splitlines() == [
        "None",
        "True",
        "first ZeroDivisionError('division by zero')",
        "True",
    ]
    assert done.stderr.count("Traceback") == 1


def test_a_handler_that_fails(monkeypatch, mode):
    """An exception of the handler is unraisable; the scheduler continues."""
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", lambda info: unraisable.append(info.exc_value))
    loomlet.set_error_handler(lambda task, error: fail(KeyError("handler")))
    loomlet.spawn(fail, ValueError())
    loomlet.schedule()
    assert [type(error) for error in unraisable] == [KeyError]
    assert loomlet.spawn(lambda: "still runs").result() == "still runs"


@pytest.mark.parametrize(
    "block",
    [
        loomlet.schedule,
        lambda: loomlet.sleep(1),
        lambda: Channel().receive(),
        lambda: Channel().send(1),
        lambda: loomlet.select([Channel()]),
        lambda: loomlet.spawn(lambda: None).join(),
        lambda: loomlet.spawn(lambda: None).run(),
    ],
)
def test_a_handler_must_not_block(block, monkeypatch, mode):
    """A handler that would wait gets SwitchTrapped, which says what to do instead."""
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", lambda info: unraisable.append(info.exc_value))
    loomlet.set_error_handler(lambda task, error: block())
    loomlet.spawn(fail, ValueError())
    loomlet.schedule()
    [error] = unraisable
    assert isinstance(error, loomlet.SwitchTrapped)
    assert "must not block inside a scheduler callback" in str(error)
    assert "spawn a tasklet" in str(error)


def test_a_handler_may_spawn_and_send(mode):
    """A handler may do anything that does not wait."""
    ch, reported = Channel(1), []
    loomlet.set_error_handler(lambda t, e: (ch.send(e), loomlet.spawn(reported.append, e)))
    error = ValueError()
    loomlet.spawn(fail, error)
    loomlet.schedule()
    assert ch.receive() is error
    loomlet.schedule()
    assert reported == [error]


def test_an_exception_does_not_outlive_its_tasklet(failures, mode):
    """A failed tasklet is freed with its exception and frames by reference counting alone."""

    class Value:
        pass

    def body():
        value = Value()
        seen.append(weakref.ref(value))
        loomlet.schedule()
        raise ValueError

    seen = []
    gc.disable()
    try:
        task = loomlet.spawn(body)
        loomlet.schedule()
        loomlet.schedule()
        failures.clear()
        assert seen[0]() is not None
        del task
        assert seen[0]() is None
    finally:
        gc.enable()
