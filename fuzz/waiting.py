"""Functions that wait; in a module of their own, so that they are pickled by name."""

from __future__ import annotations

import loomlet
from loomlet import CancelScope, Channel, timeout
from loomlet.compat import stackless


class Special(stackless.tasklet):
    """A tasklet with attributes."""


def in_a_timeout(channel: Channel, seconds: float) -> None:
    """Waits inside two scopes."""
    with CancelScope(shield=True), timeout(seconds):
        channel.receive()


def selects(channel: Channel, seconds: float) -> None:
    """Waits for one of two channels."""
    loomlet.select([channel, (Channel(), 1)], timeout=seconds)


def sleeps(channel: Channel, seconds: float) -> None:
    """Handles an exception meanwhile."""
    try:
        raise AttributeError(channel)
    except AttributeError:
        loomlet.sleep(seconds)


def sends(channel: Channel, value: float) -> None:
    """Waits for a receiver."""
    channel.send(value)
