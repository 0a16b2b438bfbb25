"""Programs whose tasklets older versions have frozen or pickled, and what the tests do with them.

A program starts its tasklets, and later uses what was thawed or unpickled.  The programs are in the
modules old_*.py.  The bytes name these modules, their functions and classes, and a digest of the
code; so whatever stands in the bytes never changes again, docstring included, and new programs are
added at the end.  Only what starts or uses a program (`start_*`, `use_*`, `kept_*`, `look_at_*`)
may change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import loomlet
from loomlet import Channel, _core

KEY = b"the key of the kept snapshots"
LONG = 1e9
"""Seconds; no deadline of this length passes between a thaw and the end of a test."""


class Program(NamedTuple):
    """How bytes are made, what is done with the copy, and what the copy has to give."""

    start: Callable[[], Any]
    use: Callable[[Any], Any]
    expected: Any
    options: Mapping[str, Any] = MappingProxyType({})
    """Keyword arguments of freeze(), or the further `styles` of a pickle."""


FROZEN: dict[str, Program] = {}
"""By name: what goes through freeze() and thaw()."""
PICKLED: dict[str, Program] = {}
"""By name: what goes through pickle."""


def holds(value, ch):
    got = ch.receive()
    return value, got


def receives(ch):
    return ch.receive()


def blocked(function: Callable[..., Any], *args: Any) -> Any:
    """A tasklet that has run to its first wait, and its children to theirs."""
    task = loomlet.spawn(function, *args)
    for _ in range(3):
        loomlet.schedule()
    return task


def give(task: Any, *values: Any) -> Any:
    """Sends values, one after the other, to the channel that the tasklet waits for."""
    for value in values:
        task.waiting_for.send(value)
        loomlet.schedule()
    return task


def start_holding(value: Any) -> Any:
    """A tasklet with a value in a local variable."""
    return blocked(holds, value, Channel())


def held_by(task: Any) -> Any:
    """The copy of that value."""
    return give(task, None).result()[0]


def end_all() -> None:
    """Kills every tasklet but the calling one."""
    for task in _core.tasklets():
        if task is not loomlet.current() and task.state != "done":
            task.kill()
