"""assert_no_leaks(): tasklets, objects and memory that a block leaves behind."""

import sys

import pytest

import loomlet
from loomlet import Channel
from loomlet.testing import assert_no_leaks


class Thing:
    def __init__(self):
        self.me = self


def test_a_clean_block_passes():
    """Garbage in cycles is collected before it is counted."""

    def work():
        for _ in range(300):
            Thing()
            loomlet.spawn(Thing).join()

    work()
    with assert_no_leaks():
        work()


def test_a_tasklet_that_still_waits():
    """Its line names the tasklet and what it waits for."""
    task = None
    with pytest.raises(AssertionError, match=r"1 tasklets.*\n.*receive"), assert_no_leaks():
        task = loomlet.spawn(Channel().receive)
        loomlet.schedule()
    task.kill()


def test_one_object_is_enough():
    """The count is exact, and fewer objects of another type do not make up for it."""
    kept, dropped = [], [[[]] for _ in range(10)]
    with pytest.raises(AssertionError, match="1 objects were left behind: 1 Thing"):
        with assert_no_leaks():
            dropped.clear()
            kept.append(Thing())


def test_objects():
    """The text counts them by type."""
    kept = []
    with pytest.raises(AssertionError, match=r"objects were left behind: .*100 Thing"):
        with assert_no_leaks():
            kept += [Thing() for _ in range(100)]


def test_what_coverage_keeps_is_not_counted():
    """It makes some objects for each function that runs for the first time."""
    names = {"__module__": "coverage.sysmon", "__slots__": ("me",)}
    kept, info = [], type("CodeInfo", (), names)
    with assert_no_leaks():
        kept += [info() for _ in range(100)]


@pytest.mark.skipif(sys.getallocatedblocks() == 0, reason="the allocator does not count")
def test_memory_that_the_collector_does_not_know():
    """Strings are no objects to the collector, but they are blocks of memory."""
    kept = []
    with pytest.raises(AssertionError, match="blocks of memory were left behind"):
        with assert_no_leaks():
            kept += [f"{n} is kept" for n in range(1000)]


def test_an_allowance_can_be_given():
    """As many as are expected."""
    kept = []
    with assert_no_leaks(objects=120, blocks=2000):
        kept += [Thing() for _ in range(100)]


def test_a_failing_block_is_not_checked():
    """Its own exception must not be hidden."""
    with pytest.raises(KeyError), assert_no_leaks():
        kept = [Thing() for _ in range(100)]
        raise KeyError(len(kept))
