"""Locks, events and queues on loomlet: what a wait costs that another tasklet ends, and what they
cost where nobody has to wait."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from loomlet import Condition, Event, Lock, Semaphore, spawn
from loomlet.sync import Queue


def timed(count: int, side: Callable[..., None], *things: Any) -> float:
    """Nanoseconds per wait of two tasklets that take turns, each `count` times."""
    tasklets = [spawn(side, count, *things), spawn(side, count, *reversed(things))]
    started = perf_counter_ns()
    for tasklet in tasklets:
        tasklet.join()
    return (perf_counter_ns() - started) / (2 * count)


def by_event(count: int, mine: Event, other: Event) -> None:
    """Waits for its event, clears it, sets the other one."""
    for _ in range(count):
        mine.wait()
        mine.clear()
        other.set()


def by_permit(count: int, mine: Lock | Semaphore, other: Lock | Semaphore) -> None:
    """Takes its own lock or permit, gives the other one back."""
    for _ in range(count):
        mine.acquire()
        other.release()


def by_condition(count: int, mine: list[Condition], other: list[Condition]) -> None:
    """Waits until it is its turn, and says that it is the other one's."""
    condition, *_ = mine
    for _ in range(count):
        with condition:
            while len(mine) == 1:
                condition.wait()
            other.append(mine.pop())
            condition.notify()


def by_queue(count: int, mine: Queue[int], other: Queue[int]) -> None:
    """Gets from its queue, puts into the other one."""
    for _ in range(count):
        other.put(mine.get())


def putting(count: int, queue: Queue[int]) -> None:
    """Fills the queue, which the other tasklet empties."""
    for number in range(count):
        queue.put(number)


def streaming(count: int) -> float:
    """Nanoseconds per item that goes through a queue with room for one."""
    queue = Queue[int](1)
    filler = spawn(putting, count, queue)
    started = perf_counter_ns()
    for _ in range(count):
        queue.get()
    filler.join()
    return (perf_counter_ns() - started) / count


def alone_lock(count: int) -> float:
    """Nanoseconds to take and give back a lock that nobody else wants."""
    lock = Lock()
    started = perf_counter_ns()
    for _ in range(count):
        with lock:
            pass
    return (perf_counter_ns() - started) / count


def alone_queue(count: int) -> float:
    """Nanoseconds to put an item and get it back."""
    queue = Queue[int](1)
    started = perf_counter_ns()
    for number in range(count):
        queue.put(number)
        queue.get()
    return (perf_counter_ns() - started) / count


def held() -> Lock:
    """A lock that is not free."""
    lock = Lock()
    lock.acquire()
    return lock


def waits(count: int) -> dict[str, float]:
    """The rows of the switch table for them."""
    first, filled = Event(), Queue[int](1)
    first.set()
    filled.put(0)
    condition = Condition()
    return {
        "lock": timed(count, by_permit, Lock(), held()),
        "event": timed(count, by_event, first, Event()),
        "semaphore": timed(count, by_permit, Semaphore(1), Semaphore(0)),
        "condition": timed(count, by_condition, [condition] * 2, [condition]),
        "queue": timed(count, by_queue, filled, Queue[int](1)),
        "queue stream": streaming(count),
        "alone lock": alone_lock(count),
        "alone queue": alone_queue(count),
    }
