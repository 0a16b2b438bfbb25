"""Queues of loomlet.sync: with their items; waiting tasklets only with_partners.

As for channels, a new queue is filled in a second step, which also remembers the order in which
tasklets waited.  The number of tasks that are not done stays the same: a task that was taken by a
worker which is not frozen along stays open, and a join() ends only if the program calls task_done()
for it.

A CustomQueue keeps its items in its own attributes, under a lock, which must be free.  It is made
without a call of its __init__.
"""

from __future__ import annotations

from typing import Any

from loomlet import _core
from loomlet.errors import ThawError
from loomlet.snapshot._builders import named_in_bytes
from loomlet.snapshot._compact import cut, grown, own_attributes, set_attributes
from loomlet.snapshot._functions import shared
from loomlet.snapshot._progress import CURRENT, Saving

__all__ = ["fill_queue", "new_queue", "reduce_queue"]


def reduce_queue(saving: Saving, queue: _core.Queue[Any]) -> Any:
    """A new one of the same class, then its items and tasks."""
    if saving.shared is not None:
        return shared(saving, queue)
    items, tasks, shut, last_first, most, *waiters = _core._queue_snapshot(queue)
    partners = tuple(one for part in waiters for one in part) if saving.partners else ()
    own = own_attributes(queue)
    state = cut((items or None, tasks or None, shut or None, own, partners or None))
    made = (type(queue), *((most, last_first) if most or last_first else ()))
    return (new_queue, made, state, None, None, fill_queue) if state else (new_queue, made)


@named_in_bytes
def new_queue(kind: Any, most: int = 0, last_first: int = 0) -> Any:
    """An empty one."""
    if not (isinstance(kind, type) and issubclass(kind, _core.Queue)):
        raise ThawError(f"expected a class of queues, found {kind!r}")
    return _core.Queue.__new__(kind, most, bool(last_first))


@named_in_bytes
def fill_queue(queue: _core.Queue[Any], state: tuple[Any, ...]) -> None:
    """The second step; remembers the order of waiting tasklets."""
    items, tasks, shut, own, partners = grown(state, 5)
    loading = CURRENT.get()
    if loading is not None and partners is not None:
        loading.waiters += partners
    _core._queue_fill(queue, items or (), tasks or 0, bool(shut))
    if own:
        set_attributes(queue, own)
