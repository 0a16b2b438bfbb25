"""The first failure cancels everything else in the group; then all are raised together."""

import pytest

import loomlet
from loomlet import Cancelled, Channel, TaskGroup


def fail(error, seconds=0):
    loomlet.sleep(seconds)
    raise error


def test_the_others_and_the_body_are_cancelled(mode, clock):
    """Whatever they wait for; the failure comes out in an ExceptionGroup."""
    log, error = [], ValueError("a")

    def other(name):
        try:
            loomlet.sleep(100)
        except Cancelled:
            log.append(name)
            raise

    def worker():
        with TaskGroup() as group:
            group.spawn(other, "first")
            group.spawn(fail, error, 1)
            group.spawn(other, "second")
            other("body")

    with pytest.raises(ExceptionGroup, match="unhandled errors in a TaskGroup") as info:
        loomlet.spawn(worker).result()
    assert info.value.exceptions == (error,)
    assert sorted(log) == ["body", "first", "second"]
    assert clock() == 1.0


def test_while_the_group_waits(mode, clock):
    """The same when the body has ended already."""
    error, log = ValueError("a"), []

    def other():
        try:
            loomlet.sleep(100)
        finally:
            log.append("ended")

    with pytest.raises(ExceptionGroup) as info, TaskGroup() as group:
        group.spawn(other)
        group.spawn(fail, error, 1)
    assert info.value.exceptions == (error,)
    assert info.value.__suppress_context__
    assert log == ["ended"]


def test_all_failures_are_raised(mode, clock):
    """Including those of the clean-up: children in the order of failing, the body last."""
    first, second, third, last = (ValueError(n) for n in range(4))

    def clean_up(error, seconds):
        try:
            loomlet.sleep(100)
        finally:
            with loomlet.CancelScope(shield=True):
                loomlet.sleep(seconds)
            raise error

    with pytest.raises(ExceptionGroup) as info, TaskGroup() as group:
        group.spawn(clean_up, third, 2)
        group.spawn(clean_up, second, 1)
        group.spawn(fail, first, 1)
        try:
            loomlet.sleep(100)
        finally:
            raise last
    assert info.value.exceptions == (first, second, third, last)


def test_the_body_fails(mode):
    """The children are cancelled and waited for; the body's failure is in a group as well."""
    error, log = KeyError("x"), []

    def child():
        try:
            Channel().receive()
        finally:
            log.append("ended")

    with pytest.raises(ExceptionGroup) as info, TaskGroup() as group:
        group.spawn(child)
        loomlet.schedule()
        raise error
    assert info.value.exceptions == (error,)
    assert log == ["ended"]


def test_a_child_that_has_not_started_runs_to_its_first_wait():
    """It is not dropped: it begins, and meets the cancel where it waits."""
    log = []

    def child():
        log.append("begins")
        loomlet.schedule()
        log.append("never")

    with pytest.raises(ExceptionGroup), TaskGroup() as group:
        group.spawn(child)
        raise KeyError
    assert log == ["begins"]


def test_a_failure_that_the_body_met_by_joining_is_raised_once(mode):
    """The child's exception and the body's are the same object: one entry."""
    error = ValueError("a")
    with pytest.raises(ExceptionGroup) as info, TaskGroup() as group:
        group.spawn(fail, error).join()
    assert info.value.exceptions == (error,)


def test_a_failure_that_the_body_caught_is_still_a_failure():
    """Joining a child and catching its exception does not take it from the group."""
    error = ValueError("a")
    with pytest.raises(ExceptionGroup) as info, TaskGroup() as group:
        with pytest.raises((ValueError, Cancelled)):
            group.spawn(fail, error).join()
    assert info.value.exceptions == (error,)


def test_a_base_exception_in_the_group():
    """With a BaseException among them it is a BaseExceptionGroup."""

    class Odd(BaseException):
        pass

    odd, error = Odd(), ValueError("a")
    with pytest.raises(BaseExceptionGroup) as info, TaskGroup() as group:
        group.spawn(fail, error)
        group.spawn(fail, odd)
    assert type(info.value) is BaseExceptionGroup
    assert info.value.exceptions == (error, odd)


def test_groups_in_groups():
    """The failure of an inner group is one failure of the outer one: exceptions nest."""
    error, log = ValueError("a"), []

    def branch():
        with TaskGroup() as inner:
            inner.spawn(fail, error)

    def other():
        try:
            Channel().receive()
        finally:
            log.append("ended")

    with pytest.raises(ExceptionGroup) as info, TaskGroup() as outer:
        outer.spawn(branch)
        outer.spawn(other)
    (inner,) = info.value.exceptions
    assert inner.exceptions == (error,)
    assert log == ["ended"]


def test_a_failure_ends_grandchildren(mode):
    """The cancel reaches through groups that children have open."""
    log = []

    def leaf():
        try:
            Channel().receive()
        finally:
            log.append("leaf")

    def branch():
        with TaskGroup() as group:
            group.spawn(leaf)
            group.spawn(leaf)

    with pytest.raises(ExceptionGroup), TaskGroup() as group:
        group.spawn(branch)
        loomlet.schedule()
        loomlet.schedule()
        raise ValueError
    assert log == ["leaf", "leaf"]


def test_the_error_handler_is_not_called(failures):
    """A group raises its children's failures itself; nothing is reported twice."""
    with pytest.raises(ExceptionGroup), TaskGroup() as group:
        group.spawn(fail, ValueError("a"))
    assert failures == []


def test_a_failure_is_stronger_than_a_timeout(clock):
    """With a failure and a time that is over, the failure comes out; no failure is swallowed."""

    def child():
        try:
            loomlet.sleep(100)
        finally:
            raise ValueError("in the clean-up")

    with pytest.raises(ExceptionGroup), loomlet.timeout(5) as scope, TaskGroup() as group:
        group.spawn(child)
    assert scope.cancel_called
    assert not scope.cancelled_caught
