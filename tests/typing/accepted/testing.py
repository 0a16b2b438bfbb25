"""loomlet.testing and loomlet.observe."""

import os
from typing import assert_type

from loomlet import observe, testing


def clocks() -> None:
    """Time that jumps."""
    with testing.virtual_clock(start=1.5) as clock:
        assert_type(clock, testing.VirtualClock)
        assert_type(clock.now, float)
        clock.advance(3)


def orders() -> None:
    """Orders that repeat; none of these swallows an exception."""
    with testing.seeded(7):
        testing.wait_all_blocked()
    testing.explore(clocks)
    testing.explore(lambda: None, seeds=[1, 2])
    sequencer = testing.Sequencer()
    with sequencer(0):
        pass


def leaks() -> int:
    """A checker sees that this returns."""
    with testing.assert_no_leaks(objects=1, blocks=200):
        return 1


def looking() -> None:
    """A dump is plain values."""
    found = observe.dump(os.getpid())
    assert_type(found, observe.Dump)
    for thread in found.threads:
        assert_type(thread, observe.Thread)
        assert_type(thread.longest, observe.Hold | None)
        assert_type(thread.sitters, list[observe.Sitter])
    for task in found.tasks():
        assert_type(task, observe.Task)
        assert_type(task.targets, tuple[observe.Target, ...])
        assert_type(task.stack, tuple[observe.Frame, ...])
        assert_type(task.deadline, float | None)


def serving() -> None:
    """The debug socket, and when a stall is reported."""
    assert_type(observe.serve(), str)
    observe.withdraw()
    assert_type(observe.report_stalls(0.5), float | None)
    observe.report_stalls(None)
    error: OSError = observe.DumpError("x")
    raise error
