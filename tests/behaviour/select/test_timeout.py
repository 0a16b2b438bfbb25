"""select(timeout=...) gives up when the time is over."""

import pytest

import loomlet
from loomlet import Channel


def test_time_is_over(mode, clock):
    """After the time TimeoutError is raised and no place is left in any channel."""
    a, b = Channel(), Channel()
    with pytest.raises(TimeoutError):
        loomlet.select([a, (b, 1)], timeout=2.5)
    assert clock() == 2.5
    assert (a.balance, b.balance) == (0, 0)


def test_in_time(mode, clock):
    """A case that becomes ready in time is done, and the deadline is forgotten."""
    ch = Channel()

    def later():
        loomlet.sleep(1)
        ch.send("value")

    loomlet.spawn(later)
    assert loomlet.select([ch], timeout=5) == (0, "value")
    assert clock() == 1
    loomlet.sleep(100)
    assert clock() == 101


@pytest.mark.parametrize("timeout", [0, 0.0, -1])
def test_zero_polls(timeout, mode, clock):
    """timeout=0 does what is ready and waits for nothing."""
    ch = Channel(1)
    with pytest.raises(TimeoutError):
        loomlet.select([ch], timeout=timeout)
    ch.send("value")
    assert loomlet.select([ch], timeout=timeout) == (0, "value")
    assert clock() == 0


def test_positional(mode, clock):
    """The timeout may be given by position; None waits for ever."""
    ch = Channel(1)
    with pytest.raises(TimeoutError):
        loomlet.select([ch], 3)
    ch.send("value")
    assert loomlet.select([ch], None) == (0, "value")


@pytest.mark.parametrize("wrong", ["1", [], object()])
def test_a_wrong_timeout(wrong):
    """A timeout is a number of seconds or None."""
    with pytest.raises(TypeError, match="expected seconds"):
        loomlet.select([Channel()], timeout=wrong)


def test_not_a_number():
    """NaN is not a valid time."""
    with pytest.raises(ValueError, match="NaN"):
        loomlet.select([Channel()], timeout=float("nan"))


def test_for_ever_is_allowed(mode, clock):
    """An infinite or huge timeout waits as long as it takes."""
    ch = Channel()
    for timeout in (float("inf"), 1e300, 10**18):
        task = loomlet.spawn(lambda t=timeout: loomlet.select([ch], timeout=t))
        loomlet.schedule()
        assert task.state == "blocked"
        ch.send("value")
        assert task.result() == (0, "value")


def test_many_deadlines(mode, clock):
    """Deadlines of many selects end each at its own time, in order."""
    log = []

    def body(n):
        with pytest.raises(TimeoutError):
            loomlet.select([Channel(), Channel()], timeout=n)
        log.append((n, clock()))

    order = [n * 7 % 50 + 1 for n in range(50)]
    tasks = [loomlet.spawn(body, n) for n in order]
    for task in tasks:
        task.join()
    assert log == [(n, n) for n in sorted(order)]
