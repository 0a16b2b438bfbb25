"""The graph of waits: which tasklets can end the wait of another one.

Known are tasklets that are joined, children of a group, and holders of a lock; it cannot be known
which tasklet will send to a channel.  A wait ends only when all of its holders act, so a ring of
such waits ends only by a timeout or a kill.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from loomlet import _waits
from loomlet._debug.model import Task


class Edge(NamedTuple):
    """A tasklet waits for another one, in an operation on an object of a type."""

    waiter: int
    holder: int
    what: str
    type: str


def edges(tasks: Iterable[Task], mains: Mapping[int, int] | None = None) -> list[Edge]:
    """One for each holder that a blocked tasklet waits for.

    `mains`: the ids of main tasklets by the idents of their threads, which hold locks for them.
    """
    found = []
    for task in tasks:
        for target in task.targets:
            holder = target.holder or (mains or {}).get(target.thread, 0)
            if holder:
                found.append(Edge(task.id, holder, task.waiting_in, target.type))
    return found


def rings(found: Iterable[Edge]) -> list[list[int]]:
    """Tasklets that wait for each other in a ring: see loomlet._waits."""
    waits: dict[int, list[int]] = {}
    for edge in found:
        waits.setdefault(edge.waiter, []).append(edge.holder)
    return _waits.rings(waits)
