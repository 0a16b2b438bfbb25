"""Locks, conditions, queues and futures for tasklets and OS threads alike.

Same names, interface and results as in `threading`, `queue` and `concurrent.futures`, so a program
may import them from here instead.  Each object may be used by tasklets of any thread and by plain
threads at the same time: a tasklet that waits lets the others of its thread run, and a plain thread
sleeps.  Waiters are served first come, first served, and each is handed what it waits for, so none
is woken in vain.  Deadlocks are found as for channels.
"""

from loomlet._conditions import Barrier, Condition
from loomlet._core import Event, Lock, RWLock, Semaphore
from loomlet._public import show_in as _show_in
from loomlet.sync._futures import Future
from loomlet.sync._locks import BoundedSemaphore, RLock
from loomlet.sync._queues import (
    CustomQueue,
    Empty,
    Full,
    LifoQueue,
    PriorityQueue,
    Queue,
    ShutDown,
    SimpleQueue,
)

__all__ = [
    "Barrier",
    "BoundedSemaphore",
    "Condition",
    "CustomQueue",
    "Empty",
    "Event",
    "Full",
    "Future",
    "LifoQueue",
    "Lock",
    "PriorityQueue",
    "Queue",
    "RLock",
    "RWLock",
    "Semaphore",
    "ShutDown",
    "SimpleQueue",
]

_show_in(
    *("loomlet.sync", BoundedSemaphore, CustomQueue, Future, LifoQueue, PriorityQueue, Queue),
    *(RLock, SimpleQueue),
)
