"""A wait for a function can be ended at once; the function continues, its outcome is dropped."""

import weakref

import pytest

import loomlet
from loomlet import blocking, run_blocking


class Value:
    """An object whose end is noticed."""


def test_a_kill_ends_the_wait(mode, gate, begun, until):
    """`finally` runs while the function still does."""
    value = Value()
    dead = weakref.ref(value)
    task = begun(value)
    del value
    task.kill()
    assert (task.state, gate.inside) == ("done", 1)
    del task  # whose exception has a traceback
    gate.open()
    until(lambda: dead() is None)
    assert gate.left == 1


def test_a_timeout_ends_the_wait(mode, gate, until):
    """At its time."""

    def body():
        with loomlet.timeout(0.1):  # long enough for a thread to begin
            run_blocking(gate.wait)

    task = loomlet.spawn(body)
    with pytest.raises(TimeoutError):
        task.result()
    gate.open()
    until(lambda: gate.left == 1)


def test_a_timeout_ends_the_main_tasklets_wait(gate):
    """The main tasklet's wait ends at that time, too."""
    with pytest.raises(TimeoutError), loomlet.timeout(0.01):
        run_blocking(gate.wait)


def test_a_cancel_ends_the_wait(mode, gate, until):
    """The scope catches it."""
    scope = loomlet.CancelScope()

    def body():
        with scope:
            run_blocking(gate.wait)

    task = loomlet.spawn(body)
    loomlet.schedule()
    until(lambda: gate.inside)
    scope.cancel()
    task.join()
    assert scope.cancelled_caught


def test_a_throw_ends_the_wait(mode, gate, until):
    """With that exception."""

    def body():
        with pytest.raises(LookupError, match="enough"):
            run_blocking(gate.wait)
        return "continued"

    task = loomlet.spawn(body)
    loomlet.schedule()
    until(lambda: gate.inside)
    task.throw(LookupError("enough"))
    assert task.result() == "continued"


def test_an_exception_without_a_waiting_caller_is_dropped(gate, begun, until, failures, capfd):
    """No error handler, nothing on stderr."""
    error = Value()
    dead = weakref.ref(error)
    task = begun(error, function=gate.fail)
    del error
    task.kill()
    del task
    gate.open()
    until(lambda: dead() is None)
    assert failures == []
    assert capfd.readouterr().err == ""


def test_a_queued_function_that_is_given_up_is_not_called(gate, begun, until):
    """Beyond the limit it waits for a thread: given up, it is skipped, its arguments released."""
    blocking.configure(max_threads=1)
    called, value = [], Value()
    dead = weakref.ref(value)
    first = begun()
    second = loomlet.spawn(run_blocking, called.append, value)
    third = loomlet.spawn(run_blocking, called.append, "third")
    del value
    loomlet.schedule()
    second.kill()
    gate.open()
    first.result()
    third.result()
    assert called == ["third"]
    del second
    until(lambda: dead() is None)
    blocking.configure(max_threads=1000)


def test_calls_race_with_timeouts(mode, until):
    """Either the result or TimeoutError, and never the outcome of another call."""

    def body(n):
        try:
            with loomlet.timeout(n % 7 * 20e-6):
                return run_blocking(int, n)
        except TimeoutError:
            return n

    tasks = [loomlet.spawn(body, n) for n in range(1000)]
    assert [task.result() for task in tasks] == list(range(1000))


def test_calls_race_with_kills():
    """A kill at any moment ends the tasklet and disturbs no other one."""
    for _ in range(50):
        tasks = [loomlet.spawn(run_blocking, int, n) for n in range(20)]
        loomlet.schedule()
        for task in tasks[::2]:
            task.kill()
        assert [task.result() for task in tasks[1::2]] == list(range(1, 20, 2))
