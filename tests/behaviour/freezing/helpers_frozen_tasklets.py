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
