"""`with timeout(seconds)` ends a block that takes too long."""

import pytest

import loomlet
from loomlet import Cancelled, CancelScope, Channel, timeout


def test_a_block_that_takes_too_long(mode, clock):
    """It raises the builtin TimeoutError, caused by the Cancelled, when the time is over."""

    def late():
        with pytest.raises(TimeoutError, match="the block timed out") as info:
            with timeout(5) as scope:
                loomlet.sleep(100)
        assert scope.cancelled_caught
        return info.value

    error = loomlet.spawn(late).result()
    assert clock() == 5.0
    assert type(error) is TimeoutError
    assert type(error.__cause__) is Cancelled


def test_a_block_that_is_fast_enough(clock):
    """Nothing is raised, and nothing comes later."""
    with timeout(5) as scope:
        loomlet.sleep(4)
    loomlet.sleep(100)
    assert not scope.cancel_called


def test_none_is_no_limit(clock):
    """timeout(None) and an infinite one let the block take its time."""
    for seconds in (None, float("inf")):
        with timeout(seconds) as scope:
            loomlet.sleep(1e6)
            assert scope.deadline is None
    assert clock() == 2e6


@pytest.mark.parametrize("seconds", [0, -1, 0.0])
def test_no_time_at_all(seconds, clock):
    """The block begins, and is over where it would first wait."""
    log = []
    with pytest.raises(TimeoutError), timeout(seconds):
        log.append("begins")
        loomlet.schedule()
        log.append("never")
    assert log == ["begins"]
    assert clock() == 0.0


def test_a_block_that_never_waits_is_never_late(clock):
    """A block that ends by itself raises nothing, though the time is over."""
    with timeout(0) as scope:
        pass
    assert scope.cancel_called
    assert not scope.cancelled_caught


def test_the_time_begins_with_the_block(clock):
    """A timeout made early does not run before it is entered."""
    scope = timeout(5)
    assert scope.deadline is None
    loomlet.sleep(10)
    with scope:
        assert scope.deadline == 15.0
        loomlet.sleep(4)


def test_an_exception_of_the_block_passes(clock):
    """Whatever else the block raises is not touched."""
    with pytest.raises(KeyError), timeout(5):
        raise KeyError


def test_an_exception_in_place_of_cancelled_passes(clock):
    """Code that turns Cancelled into something else is taken at its word."""
    with pytest.raises(KeyError), timeout(5):
        try:
            loomlet.sleep(100)
        except Cancelled:
            raise KeyError from None


def test_cancel_is_not_lateness(clock):
    """A timeout that is cancelled ends its block silently, as any scope does."""
    with timeout(5) as scope:
        scope.cancel()
        loomlet.sleep(100)
    assert scope.cancelled_caught
    assert clock() == 0.0


def test_cancel_first_and_late_afterwards(clock):
    """A block that was cancelled in time does not become late while it cleans up."""
    with timeout(5) as scope:
        scope.cancel()
        try:
            loomlet.sleep(100)
        finally:
            with CancelScope(shield=True):
                loomlet.sleep(10)
    assert scope.cancelled_caught
    assert clock() == 10.0


def test_each_wait_of_the_block_counts(mode, clock):
    """The time is for the whole block, not for each operation in it."""
    ch, got = Channel(), []

    def slowly():
        for n in range(10):
            loomlet.sleep(2)
            ch.send(n)

    sender = loomlet.spawn(slowly)

    def receiver():
        with timeout(5):
            while True:
                got.append(ch.receive())

    with pytest.raises(TimeoutError):
        loomlet.spawn(receiver).result()
    sender.kill()
    assert got == [0, 1]
    assert clock() == 5.0


def test_an_operations_own_timeout_is_another(clock):
    """The TimeoutError of select() inside a timeout is not caused by the block's end."""
    with pytest.raises(TimeoutError, match="the operation timed out"), timeout(5) as scope:
        loomlet.select([Channel()], timeout=1)
    assert not scope.cancel_called
    assert clock() == 1.0


class Whole(int):
    """An int of another type."""


@pytest.mark.parametrize(
    ("seconds", "found"),
    [(3, 3), (3.0, 3), (2.5, 2.5), (True, 1), (Whole(3), 3), (0, 0), (-1, 0), (-(10**30), 0)],
)
def test_seconds_of_any_type(clock, seconds, found):
    """Seconds may be an int, a float, or a subclass of int; a negative number counts as zero."""
    with pytest.raises(TimeoutError), timeout(seconds):
        loomlet.sleep(4)
    assert clock() == found


@pytest.mark.parametrize("seconds", [9 * 10**9, 9 * 10**9 + 1, 2**63, 10**30, 1e300])
def test_more_seconds_than_a_clock_counts(clock, seconds):
    """The longest limits are cut to centuries."""
    with timeout(seconds) as scope:
        loomlet.sleep(4)
        assert scope.deadline >= 4.6e9


def test_more_seconds_than_a_float_holds():
    """Such a limit is refused when the timeout is made."""
    with pytest.raises(OverflowError, match="too large"):
        timeout(10**400)


def test_wrong_arguments():
    """Something that is no number of seconds is refused when the timeout is made."""
    for wrong in ("5", [], float("nan")):
        with pytest.raises((TypeError, ValueError), match="expected seconds"):
            timeout(wrong)
    for call in (lambda: timeout(), lambda: timeout(1, 2), lambda: timeout(wait=1)):
        with pytest.raises(TypeError):
            call()
    assert timeout(seconds=3).deadline is None
    with pytest.raises(TypeError):
        CancelScope(1, True, 3)
