"""TaskGroup.start(): waits until the child calls task_status.started(value)."""

import pytest

import loomlet
from loomlet import TaskGroup, TaskletExit, schedule, timeout


def serve(log, *, task_status, word="ready"):
    schedule()
    log.append("starts")
    task_status.started(word)
    schedule()
    log.append("ends")


def test_the_value(mode):
    log = []
    with TaskGroup() as group:
        assert group.start(serve, log, word="up") == "up"
        assert log == ["starts"]
    assert log == ["starts", "ends"]


def test_an_error_before(mode):
    """Raised by start(), once; the group goes on."""

    def fail(*, task_status):
        raise ZeroDivisionError

    with TaskGroup() as group:
        with pytest.raises(ZeroDivisionError):
            group.start(fail)
        assert group.spawn(lambda: 3).result() == 3


def test_an_error_behind(mode):
    """A failure of the group."""

    def fail(*, task_status):
        task_status.started()
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as raised, TaskGroup() as group:
        assert group.start(fail) is None
    assert [type(error) for error in raised.value.exceptions] == [ZeroDivisionError]


def test_without_the_call(mode):
    def end(*, task_status):
        schedule()

    def killed(*, task_status):
        raise TaskletExit

    with TaskGroup() as group:
        with pytest.raises(RuntimeError, match="has ended without calling"):
            group.start(end)
        with pytest.raises(RuntimeError, match="was ended before"):
            group.start(killed)


def test_called_twice(mode):
    def twice(*, task_status):
        task_status.started(1)
        with pytest.raises(RuntimeError, match="was called before"):
            task_status.started(2)

    with TaskGroup() as group:
        assert group.start(twice) == 1


def test_the_wait_is_ended(mode):
    """So is the child."""
    log = []

    def slow(*, task_status):
        try:
            loomlet.sleep(3600)
        finally:
            log.append("ended")

    with TaskGroup() as group:
        with pytest.raises(TimeoutError), timeout(0.001):
            group.start(slow)
        assert log == ["ended"]
