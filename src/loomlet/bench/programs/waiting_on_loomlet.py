"""The waits without a value on loomlet: what one costs that another tasklet ends."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from loomlet import Condition, Event, Semaphore, spawn


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


def by_semaphore(count: int, mine: Semaphore, other: Semaphore) -> None:
    """Takes a permit of its own, gives one of the other."""
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


def waits(count: int) -> dict[str, float]:
    """The rows of the switch table for them."""
    first = Event()
    first.set()
    condition = Condition()
    return {
        "event": timed(count, by_event, first, Event()),
        "semaphore": timed(count, by_semaphore, Semaphore(1), Semaphore(0)),
        "condition": timed(count, by_condition, [condition] * 2, [condition]),
    }
