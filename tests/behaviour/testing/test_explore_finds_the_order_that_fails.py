"""explore(test): many run orders, and the number of the one that fails."""

import re

import pytest

import loomlet
from loomlet.testing import explore


def racy():
    """Loses an update if two tasklets read before either writes: a bug of some orders."""
    total = 0

    def add():
        nonlocal total
        seen = total
        loomlet.schedule()
        total = seen + 1

    first = loomlet.spawn(add)
    first.join()
    tasks = [loomlet.spawn(add), loomlet.spawn(loomlet.schedule)]
    for task in tasks:
        task.join()
    late = loomlet.spawn(add)
    loomlet.spawn(add)
    late.join()
    loomlet.schedule()
    assert total == 4, "an update was lost"


def test_a_bug_of_the_order_is_found_and_named():
    """The failure is raised as it is; its note says which seed fails, and that one fails again."""
    with pytest.raises(AssertionError, match="an update was lost") as info:
        explore(racy)
    (note,) = info.value.__notes__
    seed = int(re.search(r"seeds=\[(\d+)\]", note)[1])
    for _ in range(3):
        with pytest.raises(AssertionError, match="an update was lost"):
            explore(racy, seeds=[seed])


def test_a_program_without_such_a_bug_passes():
    """Each seed ran once, in a run() and on a clock of its own."""
    times = []

    def fine():
        times.append(loomlet.now())
        loomlet.sleep(10)
        loomlet.spawn(loomlet.sleep, 100)

    explore(fine, range(20))
    assert times == [0.0] * 20


def test_nothing_is_carried_over():
    """Tasklets that one run leaves are ended before the next."""
    alive = []

    def leaves_some():
        alive.append(len(loomlet._core.tasklets()))
        loomlet.spawn(loomlet.Channel().receive)
        loomlet.schedule()

    explore(leaves_some, range(5))
    assert alive == [1] * 5


def test_no_seeds_are_no_test():
    """An empty range is refused, not passed."""
    with pytest.raises(ValueError, match="nothing was tested"):
        explore(lambda: None, [])


def test_inside_run_it_is_refused():
    """Each seed is a run(), and those do not nest."""
    with pytest.raises(loomlet.TaskletError, match="cannot be nested"):
        loomlet.run(explore, lambda: None)
