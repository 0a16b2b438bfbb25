"""Who waits for whom: the tasklets that can end the wait of another one.

Known are the tasklets that are joined, the children of a group, and those that hold a lock; who
might send to a channel nobody knows.  Each wait needs all of its holders, so a ring of such waits
ends only by a timeout or by force.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from loomlet._debug.model import Task


class Edge(NamedTuple):
    """A tasklet waits for another one, by an operation on a type of object."""

    waiter: int
    holder: int
    what: str
    type: str


def edges(tasks: Iterable[Task]) -> list[Edge]:
    """One for each holder that a blocked tasklet waits for."""
    return [
        Edge(task.id, target.holder, task.waiting_in, target.type)
        for task in tasks
        for target in task.targets
        if target.holder
    ]


def rings(found: Iterable[Edge]) -> list[list[int]]:
    """Tasklets that wait for each other in a ring, each ring from its smallest id on.

    One ring for each place where a search comes back to its own way; rings that share tasklets may
    be told by one of them.
    """
    waits: dict[int, list[int]] = {}
    for edge in found:
        waits.setdefault(edge.waiter, []).append(edge.holder)
    seen: set[int] = set()
    told = []
    for start in waits:
        if start not in seen:
            told += _search(start, waits, seen)
    return told


def _search(start: int, waits: dict[int, list[int]], seen: set[int]) -> list[list[int]]:
    """Depth first, without recursion: chains may be a hundred thousand long."""
    told = []
    way, place, left = [start], {start: 0}, [list(waits[start])]
    seen.add(start)
    while way:
        if not left[-1]:
            del place[way.pop()]
            left.pop()
            continue
        at = left[-1].pop()
        if at in place:
            ring = way[place[at] :]
            low = ring.index(min(ring))
            told.append(ring[low:] + ring[:low])
        elif at not in seen and at in waits:
            seen.add(at)
            place[at] = len(way)
            way.append(at)
            left.append(list(waits[at]))
    return told
