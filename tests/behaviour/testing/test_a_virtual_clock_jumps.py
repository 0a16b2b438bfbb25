"""virtual_clock(): time that passes only when nothing can run."""

import time

import pytest

import loomlet
from loomlet import Channel
from loomlet.testing import virtual_clock


def test_sleeping_takes_no_time():
    """A day is over at once, and is exactly a day."""
    begin = time.monotonic()
    with virtual_clock() as clock:
        loomlet.sleep(86_400)
        assert clock.now == 86_400.0
        assert loomlet.now() == 86_400.0
    assert time.monotonic() - begin < 86_400


def test_it_begins_at_the_given_time():
    """At 0, or at `start`."""
    with virtual_clock() as clock:
        assert clock.now == 0.0
    with virtual_clock(start=1000) as clock:
        loomlet.sleep(0.5)
        assert clock.now == 1000.5


def test_sleepers_wake_in_order():
    """Each at its own time, those of one time in the order in which they went to sleep."""
    log = []

    def sleeper(name, seconds):
        loomlet.sleep(seconds)
        log.append((name, loomlet.now()))

    with virtual_clock():
        tasks = [
            loomlet.spawn(sleeper, name, s) for name, s in zip("abcd", [3, 1, 3, 2], strict=True)
        ]
        for task in tasks:
            task.join()
    assert log == [("b", 1.0), ("d", 2.0), ("a", 3.0), ("c", 3.0)]


def test_it_stands_still_while_a_tasklet_runs():
    """A busy tasklet sees the same time again and again."""
    with virtual_clock() as clock:
        sleeper = loomlet.spawn(loomlet.sleep, 1)
        for _ in range(200):
            loomlet.schedule()
            assert clock.now == 0.0
        assert sleeper.state == "blocked"
        sleeper.join()
        assert clock.now == 1.0


def test_advance_lets_time_pass():
    """As a computation would; timers that become due fire at the next switch."""
    with virtual_clock() as clock:
        sleeper = loomlet.spawn(loomlet.sleep, 5)
        loomlet.schedule()
        clock.advance(4)
        assert clock.now == 4.0
        clock.advance(2)
        sleeper.join()
        assert clock.now == 6.0


def test_the_clock_from_before_comes_back():
    """The real one, or that of the block around."""
    real = loomlet.now()
    with virtual_clock(5):
        with virtual_clock(70):
            loomlet.sleep(1)
        assert loomlet.now() == 5.0
        with pytest.raises(KeyError), virtual_clock(90):
            raise KeyError
        assert loomlet.now() == 5.0
    assert loomlet.now() >= real > 0
    assert loomlet.now() != 5.0


def test_a_stuck_program_gets_deadlock():
    """Without a timer there is nothing to jump to: Deadlock, as with the real clock."""
    with virtual_clock(), pytest.raises(loomlet.Deadlock):
        Channel().receive()


@pytest.mark.parametrize("wrong", [-1, float("nan")])
def test_time_does_not_go_back(wrong):
    """Neither the start nor a step may be negative."""
    with pytest.raises(ValueError, match="0 or more seconds"):
        virtual_clock(wrong)
    with virtual_clock(10) as clock:
        with pytest.raises(ValueError, match="0 or more seconds"):
            clock.advance(wrong)
        assert clock.now == 10.0
