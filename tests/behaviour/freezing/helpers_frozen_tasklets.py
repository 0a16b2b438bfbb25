"""Tasklets that hold something while they wait; used by the tests of this folder."""

from __future__ import annotations

import loomlet


def keep(value, channel):
    """Holds a value in a variable and returns it with what it received."""
    got = channel.receive()
    return value, got


def waiting(function, *args):
    """A tasklet that has run to its first wait."""
    task = loomlet.spawn(function, *args)
    loomlet.schedule()
    return task


def resumed(task, value=None):
    """Gives a thawed tasklet the value that it waits for; its result."""
    task.waiting_for.send(value)
    return task.result()


def through(*tasklets, **options):
    """Those tasklets, frozen once each has run to its wait, and thawed; the originals are
    discarded."""
    loomlet.schedule()
    data = loomlet.freeze(list(tasklets), **options)
    for task in tasklets:
        task.discard()
    return loomlet.thaw(data)


def hold(value):
    """Holds a value in a variable, across a switch."""
    loomlet.schedule()
    return value


def held(value):
    """What has become of a value that a tasklet holds."""
    (again,) = through(loomlet.spawn(hold, value))
    found = again.insert().result()
    assert found is not value
    return found
