"""No scope, tasklet or exception outlives its use, and no cycle is left for the collector."""

import gc

import pytest

import loomlet
from loomlet import CancelScope, Channel, TaskGroup, _core, timeout
from loomlet.testing import assert_no_leaks


def fail():
    raise ValueError


def use_scopes():
    with CancelScope() as scope:
        scope.cancel()
        loomlet.schedule()


def use_timeouts():
    with pytest.raises(TimeoutError), timeout(0):
        loomlet.schedule()
    with timeout(5):
        loomlet.schedule()


def use_groups():
    with TaskGroup() as group:
        for _ in range(10):
            group.spawn(loomlet.schedule)


def use_failing_groups():
    try:
        with TaskGroup() as group:
            group.spawn(fail)
            Channel().receive()
    except* ValueError:
        pass


def use_killed_groups():
    def worker():
        with TaskGroup() as group:
            group.spawn(Channel().receive)

    task = loomlet.spawn(worker)
    loomlet.schedule()
    loomlet.schedule()
    task.kill()
    while task.state != "done":
        loomlet.schedule()


def use_interrupted_groups():
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), TaskGroup() as group:
        group.spawn(Channel().receive)
        loomlet.spawn(interrupt)


def use_abandoned_groups():
    def worker():
        with timeout(None), TaskGroup() as group:
            group.spawn(Channel().receive)

    loomlet.spawn(worker)
    loomlet.schedule()
    loomlet.schedule()


USES = [use_scopes, use_timeouts, use_groups, use_failing_groups, use_killed_groups]


@pytest.mark.parametrize("use", USES)
def test_nothing_is_left(use, mode):
    """Five hundred times the same work: not one block of memory more for each time."""
    for _ in range(100):
        use()
    with assert_no_leaks(blocks=40):
        for _ in range(500):
            use()


@pytest.mark.parametrize(
    "use", [use_scopes, use_groups, use_failing_groups, use_interrupted_groups]
)
def test_reference_counting_frees_it(use, mode):
    """Scopes, groups, children and their failures die without the collector."""
    use()
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(20):
            use()
        assert len(gc.get_objects()) <= before
    finally:
        gc.enable()


def count(kind):
    return sum(isinstance(thing, kind) for thing in gc.get_objects())


@pytest.mark.skipif(not _core.soft(), reason="a kept C stack hides what it refers to")
def test_a_group_that_cannot_be_woken_is_collected():
    """Children that wait for ever and are unreachable are ended, then their group."""
    gc.collect()
    before = count(CancelScope)
    use_abandoned_groups()
    assert count(CancelScope) == before + 2
    with pytest.warns(ResourceWarning, match="collected while blocked"):
        for _ in range(5):
            gc.collect()
            loomlet.schedule()
    assert len(_core.tasklets()) == 1
    gc.collect()
    assert count(CancelScope) == before


def test_a_deadline_keeps_its_tasklet_alive(clock):
    """A tasklet with a timeout is not garbage, though the channel it waits for is unreachable."""
    log = []

    def worker():
        try:
            with timeout(5):
                Channel().receive()
        except TimeoutError:
            log.append("late")

    loomlet.spawn(worker)
    loomlet.schedule()
    gc.collect()
    loomlet.sleep(10)
    assert log == ["late"]
