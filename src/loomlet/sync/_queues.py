"""Queues: those of `queue`, for tasklets and OS threads.

Queue, LifoQueue and SimpleQueue are native: put() hands the item to a get() that waits for it.
An order that Python code decides is up to CustomQueue, whose items are kept by four methods under a
lock; PriorityQueue is one.  So these methods may run any code, wait and fail: a failure of `_put`
or `_get` leaves the queue as it was.

Any thread.
"""

from __future__ import annotations

import heapq
import queue
from collections import deque
from queue import Empty, Full
from typing import Any, Self, TypeVar

from loomlet import _core
from loomlet._conditions import Condition
from loomlet._own_methods import with_own_methods
from loomlet.errors import QueueShutDown

__all__ = [
    "CustomQueue",
    "Empty",
    "Full",
    "LifoQueue",
    "PriorityQueue",
    "Queue",
    "ShutDown",
    "SimpleQueue",
]

T = TypeVar("T")

ShutDown: type[Exception] = getattr(queue, "ShutDown", QueueShutDown)
"""What put() and get() raise after shutdown()."""

HOOKS = ("_init", "_qsize", "_put", "_get")


@with_own_methods
class Queue(_core.Queue[T]):
    """Queue(maxsize=0): items in the order in which they were put.

    `maxsize`: how many it may have; no bound if 0 or less.
    """

    __slots__ = ()
    _custom = False  # its items are kept by HOOKS

    def __new__(cls, maxsize: int = 0) -> Self:
        """An empty one."""
        return super().__new__(cls, maxsize)

    def __init_subclass__(cls) -> None:
        own = [name for name in HOOKS if name in vars(cls)]
        if own and not cls._custom:
            raise TypeError(
                f"{cls.__name__} keeps its items by its own {', '.join(own)}, which a "
                "loomlet.sync.Queue never calls; make it a subclass of loomlet.sync.CustomQueue"
            )


@with_own_methods
class LifoQueue(Queue[T]):
    """LifoQueue(maxsize=0): the item that was put last is the next one."""

    __slots__ = ()

    def __new__(cls, maxsize: int = 0) -> Self:
        """An empty one."""
        return _core.Queue.__new__(cls, maxsize, True)


@with_own_methods
class SimpleQueue(_core.Queue[T]):
    """SimpleQueue(): items in the order in which they were put, without a bound."""

    __slots__ = ()

    def __new__(cls) -> Self:
        """An empty one."""
        return super().__new__(cls)


class CustomQueue(Queue[T]):
    """CustomQueue(maxsize=0): a queue whose subclass says how items are kept.

    `_init(maxsize)`, `_qsize()`, `_put(item)` and `_get()` are called with `mutex` held, as those
    of queue.Queue; by default they keep a deque, `queue`.
    """

    __slots__ = (
        *("__dict__", "_is_shut", "_tasks", "all_tasks_done", "maxsize", "mutex"),
        *("not_empty", "not_full", "queue"),
    )
    _custom = True

    def __new__(cls, *_args: Any, **_named: Any) -> Self:
        """An empty one, whatever a subclass's __init__ takes."""
        return _core.Queue.__new__(cls)

    def __init__(self, maxsize: int = 0) -> None:
        self.maxsize = maxsize
        self._tasks = 0
        self._is_shut = False
        self.mutex = _core.Lock()
        self.not_empty = Condition(self.mutex)
        self.not_full = Condition(self.mutex)
        self.all_tasks_done = Condition(self.mutex)
        self._init(maxsize)

    # ---- what a subclass may replace ----------------------------------------------------------

    def _init(self, maxsize: int) -> None:
        self.queue: Any = deque()

    def _qsize(self) -> int:
        return len(self.queue)

    def _put(self, item: T) -> None:
        self.queue.append(item)

    def _get(self) -> T:
        item: T = self.queue.popleft()
        return item

    # ---- the interface --------------------------------------------------------------------------

    def put(self, item: T, block: bool = True, timeout: float | None = None) -> None:
        """Adds an item; if the queue is full, waits for room.  queue.Full, ShutDown."""
        _check_timeout(block, timeout)
        with self.mutex:
            ready = self.not_full.wait_for(self._has_room, timeout if block else 0)
            if self._is_shut:
                raise ShutDown(f"{self!r} was shut down")
            if not ready:
                raise Full(f"{self!r} has no room for another item")
            self._put(item)
            self._tasks += 1
            self.not_empty.notify()

    def get(self, block: bool = True, timeout: float | None = None) -> T:
        """Takes an item; waits for one.  queue.Empty, ShutDown."""
        _check_timeout(block, timeout)
        with self.mutex:
            ready = self.not_empty.wait_for(self._has_item, timeout if block else 0)
            if not self._qsize():
                raise self._nothing(ready)
            item = self._get()
            self.not_full.notify()
            return item

    def put_nowait(self, item: T) -> None:
        """put(item, block=False)."""
        self.put(item, block=False)

    def get_nowait(self) -> T:
        """get(block=False)."""
        return self.get(block=False)

    def qsize(self) -> int:
        """How many items it has."""
        with self.mutex:
            return self._qsize()

    def empty(self) -> bool:
        """Whether it has no item."""
        return not self.qsize()

    def full(self) -> bool:
        """Whether it has `maxsize` items."""
        with self.mutex:
            return 0 < self.maxsize <= self._qsize()

    def task_done(self) -> None:
        """What was to be done with one item is done."""
        with self.mutex:
            if self._tasks <= 0:
                raise ValueError(
                    f"task_done() of {self!r} was called more often than items were put"
                )
            self._finish(1)

    def join(self) -> None:
        """Waits until task_done() was called for each item that was put."""
        with self.mutex:
            self.all_tasks_done.wait_for(lambda: not self._tasks)

    def shutdown(self, immediate: bool = False) -> None:
        """From now on put() raises ShutDown, and so does get() once the queue is empty."""
        with self.mutex:
            self._is_shut = True
            dropped = [self._get() for _ in range(self._qsize())] if immediate else []
            self._finish(len(dropped))
            self.not_empty.notify_all()
            self.not_full.notify_all()

    @property
    def unfinished_tasks(self) -> int:
        """How many items were put for which task_done() was not called."""
        return self._tasks

    @property
    def is_shutdown(self) -> bool:
        """Whether shutdown() was called."""
        return self._is_shut

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__qualname__} at {id(self):#x}>"

    # ---- waiting --------------------------------------------------------------------------------

    def _has_room(self) -> bool:
        return self._is_shut or not 0 < self.maxsize <= self._qsize()

    def _has_item(self) -> bool:
        return self._is_shut or self._qsize() > 0

    def _nothing(self, ready: object) -> Exception:
        if ready:
            return ShutDown(f"{self!r} was shut down")
        return Empty(f"{self!r} has no item")

    def _finish(self, count: int) -> None:
        self._tasks = max(0, self._tasks - count)
        if not self._tasks:
            self.all_tasks_done.notify_all()


def _check_timeout(block: bool, timeout: float | None) -> None:
    if block and timeout is not None and timeout < 0:
        raise ValueError(f"expected a timeout of 0 or more seconds, found {timeout!r}")


class PriorityQueue(CustomQueue[T]):
    """PriorityQueue(maxsize=0): the least item is the next one, often a pair (priority, data)."""

    __slots__ = ()

    def _init(self, maxsize: int) -> None:
        self.queue = []

    def _put(self, item: T) -> None:
        heapq.heappush(self.queue, item)

    def _get(self) -> T:
        item: T = heapq.heappop(self.queue)
        return item
