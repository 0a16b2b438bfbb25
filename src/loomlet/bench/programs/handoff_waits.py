"""How long others wait beside C calls of about 0.3 s, each with the GIL released.

`call …`: so many calls, one after the other, beside 100 tickers, tasklets that sleep for a
millisecond at a time. Each call is made by a tasklet with a function of its own, so that nothing is
known about it. `learned …`: the same with one function, of which a call has been handed over.
`call nothing`: beside a sleep of the runtime's, so what is left are the waits of a busy machine.

`beside …`: a learned `usleep` beside ten workers, each with a `queue.Queue` or two `Event`s that
another tasklet serves every millisecond; beside main, which sleeps; or beside an event loop of
`loomlet.aio`.

The clock of each waiting one runs from one of its steps to the next, so it also shows what a turn
of everybody costs. Nothing of the standard library is patched.
"""

from __future__ import annotations

import asyncio
import ctypes
import hashlib
import queue
import sqlite3
import threading
from collections.abc import Callable
from time import perf_counter_ns
from types import FunctionType
from typing import Any

import loomlet
from loomlet import aio, sleep, spawn

SLICE = 0.01
TICKERS = 100
WORKERS = 10
PAUSE = 0.001
SETTLE = 0.02  # until all have taken a step after the call
QUERY = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < ?) SELECT max(x)"

libc = ctypes.CDLL(None)


class Watch:
    """The longest wait of anybody since `worst` was set to 0."""

    def __init__(self) -> None:
        self.worst = 0
        self.over = False

    def step(self, last: int) -> int:
        """A waiting one has come to its next step; `last` is when it took the one before."""
        now = perf_counter_ns()
        self.worst = max(self.worst, now - last)
        return now


def nothing(seconds: float) -> Callable[[], object]:
    """No C call, but a sleep that is known to loomlet."""
    return lambda: sleep(seconds)


def usleep(seconds: float) -> Callable[[], object]:
    """A sleep in the C library."""
    return lambda: libc.usleep(int(seconds * 1e6))


def sqlite(seconds: float) -> Callable[[], object]:
    """A query that takes about that long."""
    database = sqlite3.connect(":memory:")

    def count(rows: int) -> None:
        database.execute(f"{QUERY} FROM c", (rows,)).fetchone()

    rows = fitting(count, 300_000, seconds)
    return lambda: database.execute(f"{QUERY} FROM c", (rows,)).fetchone()


def pbkdf2(seconds: float) -> Callable[[], object]:
    """A key derivation that takes about that long."""

    def derive(rounds: int) -> None:
        hashlib.pbkdf2_hmac("sha256", b"password", b"salt", rounds)

    rounds = fitting(derive, 100_000, seconds)
    return lambda: hashlib.pbkdf2_hmac("sha256", b"password", b"salt", rounds)


def fitting(call: Callable[[int], None], size: int, seconds: float) -> int:
    """The argument with which the call takes so long, if that grows as the argument does."""
    took = []
    for _ in range(3):
        started = perf_counter_ns()
        call(size)
        took.append(perf_counter_ns() - started)
    return int(size * seconds * 1e9 / min(took))


CALLS = {"nothing": nothing, "usleep": usleep, "sqlite3": sqlite, "pbkdf2": pbkdf2}


def unknown(call: Callable[[], object], number: int) -> Callable[[], object]:
    """The same function with code of its own."""
    assert isinstance(call, FunctionType)
    code = call.__code__.replace(co_firstlineno=number + 1)
    found: Callable[[], object] = FunctionType(code, call.__globals__, closure=call.__closure__)
    return found


def tick(watch: Watch) -> None:
    """A ticker."""
    last = perf_counter_ns()
    while not watch.over:
        sleep(PAUSE)
        last = watch.step(last)


def call_beside(watch: Watch, calls: list[Callable[[], object]]) -> list[int]:
    """The longest wait during each of the calls."""
    found = []
    for call in calls:
        watch.worst = 0
        spawn(call).join()
        sleep(SETTLE)
        found.append(watch.worst)
    watch.over = True
    return found


def beside_tickers(call: Callable[[], object], count: int, learned: bool) -> list[int]:
    """Each call in a tasklet; one more before them where it shall be known."""
    watch = Watch()
    tickers = [spawn(tick, watch) for _ in range(TICKERS)]
    sleep(SETTLE)
    calls = [call] * (count + 1) if learned else [unknown(call, n) for n in range(count)]
    found = call_beside(watch, calls)
    for ticker in tickers:
        ticker.join()
    return found[-count:]


def beside_queues(watch: Watch) -> list[Callable[[], None]]:
    """Workers that get from queues, and one that puts."""
    queues: list[queue.Queue[bool]] = [queue.Queue() for _ in range(WORKERS)]

    def work(mine: queue.Queue[bool]) -> None:
        last = perf_counter_ns()
        while mine.get():
            last = watch.step(last)

    def feed() -> None:
        while not watch.over:
            for each in queues:
                each.put(True)
            sleep(PAUSE)
        for each in queues:
            each.put(False)

    return [feed, *(lambda mine=mine: work(mine) for mine in queues)]


def beside_events(watch: Watch) -> list[Callable[[], None]]:
    """Workers that wait for events, and one that sets them."""
    events = [threading.Event() for _ in range(WORKERS)]

    def work(mine: threading.Event) -> None:
        last = perf_counter_ns()
        while not watch.over:
            mine.wait()
            mine.clear()
            last = watch.step(last)

    def feed() -> None:
        while not watch.over:
            for each in events:
                each.set()
            sleep(PAUSE)
        for each in events:
            each.set()

    return [feed, *(lambda mine=mine: work(mine) for mine in events)]


async def loop(watch: Watch) -> None:
    """A coroutine that sleeps for a millisecond at a time."""
    last = perf_counter_ns()
    while not watch.over:
        await asyncio.sleep(PAUSE)
        last = watch.step(last)


def beside_others(kind: str, seconds: float, count: int) -> list[int]:
    """The learned call beside waiting ones of that kind."""
    watch = Watch()
    call = usleep(seconds)
    workers = {"queue": beside_queues, "event": beside_events}
    tasklets = [spawn(work) for work in workers[kind](watch)] if kind in workers else []
    calls = spawn(call_beside, watch, [call] * (count + 1))
    if kind == "asyncio":
        aio.await_(loop(watch))
    elif kind == "main":
        tick(watch)
    for tasklet in tasklets:
        tasklet.join()
    found: list[int] = calls.result()
    return found[1:]


def measure(kind: str, count: int, mode: str, seconds: float) -> dict[str, Any]:
    """Nanoseconds of the longest wait during each call; kinds as `call usleep`, `beside main`."""
    how, what = kind.split()
    if how == "beside":
        main: tuple[Any, ...] = (beside_others, what, seconds, count)
    else:
        main = (beside_tickers, CALLS[what](seconds), count, how == "learned")
    return {"waits": loomlet.run(*main, slice=SLICE, handoff=mode == "on")}
