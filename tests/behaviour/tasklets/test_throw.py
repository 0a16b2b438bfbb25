"""throw() raises any exception in another tasklet, at once."""

import pytest

import loomlet
from loomlet import Channel


class Mine(Exception):
    pass


def waiting(ch):
    try:
        return ch.receive()
    except Mine as error:
        return error


def test_an_instance_arrives_as_it_is(mode):
    """The very exception object is raised in the tasklet."""
    error = Mine("text")
    task = loomlet.spawn(waiting, Channel())
    loomlet.schedule()
    assert task.throw(error) is None
    assert task.state == "done"
    assert task.result() is error


def test_a_class_is_called(mode):
    """A class is instantiated without arguments, as raise does."""
    task = loomlet.spawn(waiting, Channel())
    loomlet.schedule()
    task.throw(Mine)
    assert type(task.result()) is Mine


@pytest.mark.parametrize("wrong", [None, 3, "text", int, object()])
def test_an_argument_that_is_not_an_exception_is_refused(wrong, mode):
    """Anything else is a TypeError in the caller; the tasklet does not notice."""
    ch = Channel()
    task = loomlet.spawn(waiting, ch)
    loomlet.schedule()
    with pytest.raises(TypeError, match="expected an exception class or instance"):
        task.throw(wrong)
    assert task.state == "blocked"
    ch.send(1)
    assert task.result() == 1


def test_a_class_that_cannot_be_made(mode):
    """An exception class whose call fails raises that failure in the caller."""

    class Hard(Exception):
        def __init__(self, needed):
            pass

    task = loomlet.spawn(waiting, Channel())
    loomlet.schedule()
    with pytest.raises(TypeError, match="needed"):
        task.throw(Hard)
    assert task.state == "blocked"


def test_a_tasklet_that_has_not_started_ends_with_it(failures, mode):
    """A tasklet thrown into before its start never runs; it failed with the exception."""
    log, error = [], Mine()
    task = loomlet.spawn(log.append, "ran")
    task.throw(error)
    assert log == []
    with pytest.raises(Mine):
        task.join()
    assert failures.pop() == (task, error)


def test_at_itself(mode):
    """A tasklet that throws at itself raises there."""

    def body():
        with pytest.raises(Mine):
            loomlet.current().throw(Mine)
        return "continued"

    assert loomlet.spawn(body).result() == "continued"


def test_throwing_into_an_ended_tasklet_is_an_error(mode):
    """Throwing at a dead tasklet raises DeadTasklet: which one, the problem, what to do."""
    task = loomlet.spawn(lambda: None)
    task.join()
    with pytest.raises(loomlet.DeadTasklet) as info:
        task.throw(Mine)
    text = str(info.value)
    assert text.startswith(repr(task))
    assert "has ended" in text
    assert "spawn a new tasklet" in text


def test_a_paused_one_runs_at_once(mode):
    """A paused tasklet that is thrown into runs at once and is no longer paused."""

    def body():
        try:
            loomlet.schedule()
        except Mine:
            return "caught"

    task = loomlet.spawn(body)
    loomlet.schedule()
    task.remove().throw(Mine)
    assert task.result() == "caught"


def test_thrown_twice_before_it_ran(mode):
    """A tasklet that blocks again after the first exception gets the second one too."""
    caught = []

    def body(ch):
        for _ in range(2):
            try:
                ch.receive()
            except Mine as error:
                caught.append(error.args)

    task = loomlet.spawn(body, Channel())
    loomlet.schedule()
    task.throw(Mine(1))
    task.throw(Mine(2))
    assert caught == [(1,), (2,)]
    assert task.state == "done"


def test_the_exception_reaches_the_innermost_handler(mode):
    """The handler around the blocking call is chosen, not one further out or beside it."""
    log = []

    def body(ch):
        try:
            try:
                pass
            except Mine:
                log.append("beside")
            for _ in range(1):
                try:
                    ch.receive()
                except Mine:
                    log.append("innermost")
                    raise KeyError from None
                finally:
                    log.append("finally")
        except KeyError:
            log.append("outer")
        return "end"

    task = loomlet.spawn(body, Channel())
    loomlet.schedule()
    task.throw(Mine)
    assert task.result() == "end"
    assert log == ["innermost", "finally", "outer"]


def test_the_failure_is_reported_when_no_tasklet_joins(failures, mode):
    """An exception that is not caught ends the tasklet and goes to the error handler."""
    error = Mine()
    task = loomlet.spawn(waiting, Channel())
    loomlet.schedule()
    task.throw(KeyError())
    other = loomlet.spawn(lambda: loomlet.schedule())
    loomlet.schedule()
    other.throw(error)
    assert [type(failure) for _, failure in failures] == [KeyError, Mine]
    failures.clear()
