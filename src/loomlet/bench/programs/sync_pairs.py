"""Plain threads and the names of `threading` and `queue`, which may be those of loomlet.

A pair is two threads that answer each other until the time is over; each turn is checked where it
can be. Threads that compute, and the other one of a pair, are daemons: they end with the process.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

Turn = Callable[[], Any]
WORKERS = 4
BOUND = 100
BATCH = 1000


def compute() -> None:
    """For ever."""
    while True:
        for _ in range(200):
            pass


def daemon(target: Turn) -> None:
    """Starts that in a thread."""
    threading.Thread(target=target, daemon=True).start()


def ever(turn: Turn) -> Turn:
    """One turn after the other, for ever."""

    def work() -> None:
        while True:
            turn()

    return work


def by_permits(kind: Callable[[], Any]) -> tuple[Turn, Turn]:
    """Two locks or semaphores without a permit: each thread gives one to the other."""
    mine, its = kind(), kind()
    mine.acquire()
    its.acquire()

    def ask() -> None:
        its.release()
        mine.acquire()

    def answer() -> None:
        its.acquire()
        mine.release()

    return ask, answer


def by_condition() -> tuple[Turn, Turn]:
    """A slot that one fills and the other one empties."""
    changed, slot = threading.Condition(), list[int]()

    def fill() -> None:
        with changed:
            while slot:
                changed.wait()
            slot.append(1)
            changed.notify()

    def empty() -> None:
        with changed:
            while not slot:
                changed.wait()
            slot.pop()
            changed.notify()

    return fill, empty


def by_event() -> tuple[Turn, Turn]:
    """Two events, each cleared by the one that waited for it."""
    mine, its = threading.Event(), threading.Event()

    def ask() -> None:
        its.set()
        mine.wait()
        mine.clear()

    def answer() -> None:
        its.wait()
        its.clear()
        mine.set()

    return ask, answer


def by_queue(kind: Callable[[], Any]) -> tuple[Turn, Turn]:
    """Two queues."""
    mine, its = kind(), kind()

    def ask() -> None:
        its.put(7)
        if mine.get() != 7:
            raise SystemExit("an item is not the one that was put")

    def answer() -> None:
        mine.put(its.get())

    return ask, answer


def by_stream() -> tuple[Turn, Turn]:
    """A bounded queue."""
    items: Any = queue.Queue(BOUND)
    return items.get, lambda: items.put(1)


PAIRS: dict[str, Callable[[], tuple[Turn, Turn]]] = {
    "lock": lambda: by_permits(threading.Lock),
    "semaphore": lambda: by_permits(threading.Semaphore),
    "condition": by_condition,
    "event": by_event,
    "queue": lambda: by_queue(queue.Queue),
    "simplequeue": lambda: by_queue(queue.SimpleQueue),
    "stream": by_stream,
}


def repeat(turn: Turn, seconds: float) -> dict[str, float]:
    """How many turns there were in a second."""
    done, began = 0, time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds:
        turn()
        done += 1
    return {"done": done / passed}


def alone(kind: str) -> Turn:
    """A thousand times, so that the loop and the clock count little."""
    one: Any = threading.Lock() if kind == "alone lock" else None
    items: Any = queue.Queue() if kind == "alone queue" else queue.SimpleQueue()

    def with_lock() -> None:
        for _ in range(BATCH):
            one.acquire()
            one.release()

    def with_queue() -> None:
        for _ in range(BATCH):
            items.put(1)
            items.get()

    return with_queue if one is None else with_lock


def in_batches(turn: Turn, seconds: float) -> dict[str, float]:
    """Each turn does BATCH."""
    return {"done": repeat(turn, seconds)["done"] * BATCH}


def in_pool(kind: str, seconds: float) -> dict[str, float]:
    """By an executor that knows nothing of loomlet."""
    with ThreadPoolExecutor(WORKERS) as pool:
        if kind == "pool":
            return repeat(lambda: pool.submit(int).result(), seconds)

        def map_all() -> None:
            if sum(pool.map(abs, range(BATCH))) != sum(range(BATCH)):
                raise SystemExit("a result is missing")

        return in_batches(map_all, seconds)


def with_jobs(seconds: float) -> dict[str, float]:
    """Workers around two queues."""
    jobs: queue.Queue[int | None] = queue.Queue(BOUND)
    results: queue.Queue[int] = queue.Queue()

    def work() -> None:
        while (job := jobs.get()) is not None:
            results.put(job + 1)
            jobs.task_done()

    workers = [threading.Thread(target=work) for _ in range(WORKERS)]
    for each in workers:
        each.start()

    def run() -> None:
        for job in range(BATCH):
            jobs.put(job)
        jobs.join()
        if sum(results.get() for _ in range(BATCH)) != sum(range(BATCH + 1)):
            raise SystemExit("a result is missing")

    found = in_batches(run, seconds)
    for _ in workers:
        jobs.put(None)
    for each in workers:
        each.join()
    return found


def measure(*, kind: str, computing: int, seconds: float, ours: bool) -> dict[str, float]:
    """One case; `ours`: with the primitives of loomlet."""
    if ours:
        from loomlet import patch

        patch.install(sync=True)
    for _ in range(computing):
        daemon(compute)
    if kind in PAIRS:
        turn, others = PAIRS[kind]()
        daemon(ever(others))
        return repeat(turn, seconds)
    if kind.startswith("alone"):
        return in_batches(alone(kind), seconds)
    return with_jobs(seconds) if kind == "jobs" else in_pool(kind, seconds)
