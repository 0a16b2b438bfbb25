"""The graph of waits: which tasklets can end the wait of another one.

Known are tasklets that are joined, children of a group, and holders of a lock; it cannot be known
which tasklet will send to a channel.  A wait ends only when all of its holders act, so a ring of
such waits ends only by a timeout or a kill.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from loomlet._debug.model import Task


class Edge(NamedTuple):
    """A tasklet waits for another one, in an operation on an object of a type."""

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
    """Tasklets that wait for each other in a ring, each ring beginning with its smallest id.

    One ring for each point where a search meets its own path; of rings that share tasklets one may
    be reported.
    """
    waits: dict[int, list[int]] = {}
    for edge in found:
        waits.setdefault(edge.waiter, []).append(edge.holder)
    seen: set[int] = set()
    rings_found = []
    for start in waits:
        if start not in seen:
            rings_found += _search(start, waits, seen)
    return rings_found


def _search(start: int, waits: dict[int, list[int]], seen: set[int]) -> list[list[int]]:
    """Depth first, without recursion: chains may be a hundred thousand long."""
    rings_found = []
    path, position, left = [start], {start: 0}, [list(waits[start])]
    seen.add(start)
    while path:
        if not left[-1]:
            del position[path.pop()]
            left.pop()
            continue
        at = left[-1].pop()
        if at in position:
            ring = path[position[at] :]
            low = ring.index(min(ring))
            rings_found.append(ring[low:] + ring[:low])
        elif at not in seen and at in waits:
            seen.add(at)
            position[at] = len(path)
            path.append(at)
            left.append(list(waits[at]))
    return rings_found
