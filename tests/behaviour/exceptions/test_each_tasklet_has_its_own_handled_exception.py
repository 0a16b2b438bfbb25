"""sys.exc_info(), bare raise and __context__ belong to one tasklet."""

import sys

import pytest

import loomlet
from loomlet import Channel


def handle(error, turns):
    """Handles an exception and gives way while doing so."""
    seen = [sys.exc_info()[1]]
    try:
        raise error
    except Exception:
        for _ in range(turns):
            loomlet.schedule()
            seen.append(sys.exc_info()[1])
    loomlet.schedule()
    seen.append(sys.exc_info()[1])
    return seen


def test_exc_info_of_tasklets_that_handle_exceptions(mode):
    """Each tasklet sees the exception that it handles itself, and none before and after."""
    errors = [ValueError(n) for n in range(5)]
    tasks = [loomlet.spawn(handle, error, n + 1) for n, error in enumerate(errors)]
    for n, (task, error) in enumerate(zip(tasks, errors, strict=True)):
        assert task.result() == [None, *[error] * (n + 1), None]


def test_a_new_tasklet_handles_nothing(mode):
    """A tasklet spawned inside an except block starts with no handled exception."""

    def body():
        before = sys.exc_info()[1]
        try:
            raise KeyError
        except KeyError as error:
            return before, error.__context__

    try:
        raise ValueError
    except ValueError:
        assert loomlet.spawn(body).result() == (None, None)


def test_the_main_tasklet_keeps_its_own(mode):
    """A switch inside an except block of the main tasklet does not lose its exception."""
    try:
        raise ValueError
    except ValueError as error:
        loomlet.spawn(handle, KeyError(), 3).join()
        assert sys.exc_info()[1] is error


def test_bare_raise_after_a_switch(mode):
    """A bare raise re-raises the tasklet's exception, whatever others handled meanwhile."""

    def reraise(error):
        try:
            raise error
        except Exception:
            loomlet.schedule()
            raise

    def catch(task):
        with pytest.raises(ValueError) as info:
            task.join()
        return info.value

    errors = [ValueError(n) for n in range(5)]
    tasks = [loomlet.spawn(reraise, error) for error in errors]
    assert [task.result() for task in [loomlet.spawn(catch, t) for t in tasks]] == errors


def test_bare_raise_without_an_exception(mode):
    """A bare raise in a tasklet that handles nothing fails though its spawner handles something."""

    def body():
        with pytest.raises(RuntimeError, match="No active exception"):
            raise  # noqa: PLE0704
        return "right"

    try:
        raise ValueError
    except ValueError:
        assert loomlet.spawn(body).result() == "right"


def test_context_is_what_the_tasklet_handled(mode):
    """__context__ of a new exception is the one handled in the same tasklet, or None."""

    def chain(error, ch):
        try:
            raise error
        except Exception:
            ch.receive()
            try:
                raise KeyError
            except KeyError as inner:
                return inner.__context__

    ch, errors = Channel(), [ValueError(n) for n in range(3)]
    tasks = [loomlet.spawn(chain, error, ch) for error in errors]
    loomlet.schedule()
    for _ in errors:
        ch.send(None)
    assert [task.result() for task in tasks] == errors


def test_an_exception_thrown_into_an_except_block(mode):
    """throw() into a tasklet that handles an exception chains to that one."""
    handled = ValueError()

    def body(ch):
        try:
            raise handled
        except ValueError:
            try:
                ch.receive()
            except KeyError as error:
                return error.__context__, sys.exc_info()[1]

    task = loomlet.spawn(body, Channel())
    loomlet.schedule()
    thrown = KeyError()
    task.throw(thrown)
    assert task.result() == (handled, thrown)


def test_generators_keep_theirs(mode):
    """A generator suspended in an except block brings its exception back with it."""

    def generator(ch):
        try:
            raise ValueError
        except ValueError as error:
            ch.receive()
            yield sys.exc_info()[1] is error

    def body(ch):
        found = [value for value in generator(ch)]
        return found, sys.exc_info()[1]

    ch = Channel()
    tasks = [loomlet.spawn(body, ch) for _ in range(3)]
    loomlet.schedule()
    for _ in tasks:
        ch.send(None)
    assert [task.result() for task in tasks] == [([True], None)] * 3
