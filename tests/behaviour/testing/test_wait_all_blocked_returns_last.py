"""wait_all_blocked(): lets all others run until they wait."""

import pytest

import loomlet
from loomlet import CancelScope, Channel
from loomlet.testing import seeded, wait_all_blocked


@pytest.mark.parametrize("seed", range(10))
def test_every_other_tasklet_waits(seed):
    """However many switches they need, in whatever order, and at no cost of time."""
    ch, log = Channel(), []

    def work(n):
        for _ in range(n):
            loomlet.schedule()
        log.append(n)
        ch.receive()

    with seeded(seed):
        tasks = [loomlet.spawn(work, n) for n in (30, 2, 0)]
        wait_all_blocked()
        assert sorted(log) == [0, 2, 30]
        assert [task.state for task in tasks] == ["blocked"] * 3
    for task in tasks:
        task.kill()


def test_sleepers_count_as_blocked(clock):
    """The clock does not move for it."""
    task = loomlet.spawn(loomlet.sleep, 5)
    wait_all_blocked()
    assert (task.state, clock()) == ("blocked", 0.0)
    task.join()


def test_paused_tasklets_are_not_waited_for():
    """They would never move."""
    task = loomlet.spawn(loomlet.schedule)
    task.remove()
    wait_all_blocked()
    assert task.state == "paused"
    task.kill()


def test_alone_it_returns_at_once():
    """There is no tasklet to wait for."""
    wait_all_blocked()


def test_in_a_tasklet():
    """Any tasklet can wait for the others; the main tasklet counts as one of them."""
    ch, log = Channel(), []

    def watcher():
        wait_all_blocked()
        log.append("all wait")
        ch.send("continue")

    loomlet.spawn(watcher)
    assert ch.receive() == "continue"
    assert log == ["all wait"]


def test_it_can_be_cancelled():
    """It is a blocking operation like any other."""
    with CancelScope() as scope:
        task = loomlet.spawn(loomlet.schedule)
        scope.cancel()
        wait_all_blocked()
    assert scope.cancelled_caught
    task.join()
