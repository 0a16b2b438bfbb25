"""A timeout of join() and result() ends the wait, not the tasklet."""

import pytest

import loomlet
from loomlet import Channel


@pytest.mark.parametrize("how", ["join", "result"])
def test_time_is_over(how, mode, clock):
    """After the time TimeoutError is raised and the tasklet lives on."""
    ch = Channel()
    target = loomlet.spawn(ch.receive)
    with pytest.raises(TimeoutError):
        getattr(target, how)(timeout=2.5)
    assert clock() == 2.5
    assert target.state == "blocked"
    ch.send("late")
    assert target.result() == "late"


@pytest.mark.parametrize("how", ["join", "result"])
def test_in_time(how, mode, clock):
    """A tasklet that ends in time is waited for no longer than that."""
    target = loomlet.spawn(lambda: loomlet.sleep(1))
    assert getattr(target, how)(3) is None
    assert clock() == 1
    loomlet.sleep(10)
    assert clock() == 11


def test_its_own_timeout_error_is_not_ours(mode, clock):
    """A tasklet that failed with TimeoutError gives that very exception."""
    error = TimeoutError("its own")

    def fail():
        raise error

    with pytest.raises(TimeoutError) as info:
        loomlet.spawn(fail).join(timeout=5)
    assert info.value is error


def test_no_time_at_all(mode, clock):
    """timeout=0 does not wait for time to pass."""
    target = loomlet.spawn(Channel().receive)
    with pytest.raises(TimeoutError):
        target.join(timeout=0)
    assert clock() == 0
    assert target.state == "blocked"


def test_the_waiter_may_wait_again(mode, clock):
    """A deadline that has passed leaves nothing behind in the waiter or the target."""
    ch = Channel()
    target = loomlet.spawn(ch.receive)

    def wait():
        for _ in range(3):
            with pytest.raises(TimeoutError):
                target.join(timeout=1)
        return target.result(timeout=100)

    waiter = loomlet.spawn(wait)
    loomlet.sleep(50)
    ch.send("value")
    assert waiter.result() == "value"
    assert clock() == 50
