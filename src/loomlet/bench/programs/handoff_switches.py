"""What handoff costs: passing the scheduler on and back, many at once, hard switches, and beside
threads that only compute.

`passing`: a tasklet is in `clock_nanosleep`, which ends at a given moment, beside one that sleeps
for 0.1 ms at a time. *Over* is from the moment at which the monitor thread has called a carrier,
which only the core knows (`_handoff_count`), to the first step of the other tasklet. *Back* is from
the given moment to the next line of the tasklet, less the same for a thread of the system that
makes the same call by turns with the tasklet: its delay is the kernel's and the interpreter's.

`sleepers`: so many tasklets, each in one `usleep` of 0.1 s, after one such call has taught it; or
so many threads.

`hard`: one switch of a ping-pong over two channels between main and a tasklet, both below
`sorted()`. Main is kept in its own thread, and with handoff the other one in another thread.

`computing`: two tasklets that count beside so many threads of the system that only compute: what a
round of the loop takes, and how often the scheduler was taken in vain in a second.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import threading
from collections.abc import Callable
from statistics import median
from time import monotonic_ns, perf_counter, perf_counter_ns
from typing import Any

SLICE = 0.01
MONOTONIC, ABSOLUTE, TIMERSLACK = 1, 1, 29
NAP = 25_000_000
SLEEP = 100_000  # µs

libc = ctypes.CDLL(None)


class Time(ctypes.Structure):
    """`struct timespec`."""

    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def nap(length: int) -> int:
    """Sleeps in C to a moment so many ns ahead; by how many it was missed."""
    libc.prctl(TIMERSLACK, 1, 0, 0, 0)
    end = monotonic_ns() + length
    at = ctypes.byref(Time(end // 10**9, end % 10**9))
    libc.clock_nanosleep(MONOTONIC, ABSOLUTE, at, None)
    return monotonic_ns() - end


def pass_on(count: int) -> dict[str, Any]:
    """Medians of so many handoffs, in ns."""
    from loomlet import _core, sleep, spawn

    over: list[int] = []
    back: list[int] = []
    plain: list[int] = []
    before: list[int] = []  # how often it had been taken when the call began

    def tick() -> None:
        while len(back) < count:
            sleep(0.0001)
            now = monotonic_ns()
            takes, called, _ = _core._handoff_count()
            if before and takes > before[0]:
                before.clear()
                over.append(now - called)

    def sit() -> None:
        while len(back) < count:
            thread = as_thread(lambda: plain.append(nap(NAP)))
            sleep(1.5 * NAP / 1e9)
            thread.join()
            before[:] = [_core._handoff_count()[0]]
            late = nap(NAP)
            if not before:
                back.append(late)

    ticker = spawn(tick)
    spawn(sit).join()
    ticker.join()
    return {"count": len(back), "over": median(over), "back": max(0, median(back) - median(plain))}


def sleep_all(count: int, start: Callable[..., Any]) -> dict[str, Any]:
    """Seconds until all have slept."""
    ended: list[int] = []

    def one() -> None:
        libc.usleep(SLEEP)
        ended.append(1)

    start(one).join()
    ended.clear()
    started = perf_counter()
    for each in [start(one) for _ in range(count)]:
        each.join()
    return {"seconds": perf_counter() - started, "count": len(ended)}


def as_thread(call: Callable[[], object]) -> threading.Thread:
    """A thread that runs it."""
    thread = threading.Thread(target=call)
    thread.start()
    return thread


class Gate:
    """A read by the C library that lasts until another tasklet writes."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        self.buffer = ctypes.create_string_buffer(1)

    def wait(self) -> None:
        """In C, until it is opened."""
        libc.read(self.reader, self.buffer, 1)

    def open(self) -> None:
        """Lets it return."""
        os.write(self.writer, b"x")


def below(call: Callable[[], object]) -> None:
    """Calls it below C code, so that it keeps a stack when it waits."""

    def key(value: int) -> int:
        call()
        return value

    sorted([0], key=key)


def switch_hard(count: int, away: bool) -> dict[str, Any]:
    """Nanoseconds per switch; the other tasklet is sent away by a call that only a handoff ends."""
    from loomlet import Channel, spawn

    out, back, ready = Channel(), Channel(), Channel()
    gate = Gate()
    threads: set[int] = set()
    taken: list[int] = []

    def visit(play: Callable[[], None] | None) -> None:
        if away:
            gate.wait()
        if play:
            below(play)

    def lesson(play: Callable[[], None] | None) -> Any:
        tasklet = spawn(visit, play)
        if away:
            spawn(gate.open)
        return tasklet

    def theirs() -> None:
        threads.add(libc.gettid())
        ready.send(None)
        for _ in range(count):
            back.send(out.receive())

    def ours() -> None:
        lesson(None).join()
        other = lesson(theirs)
        ready.receive()
        threads.add(libc.gettid())
        started = perf_counter_ns()
        for _ in range(count):
            out.send(None)
            back.receive()
        taken.append(perf_counter_ns() - started)
        other.join()

    below(ours)
    return {"each": taken[0] / count / 2, "threads": len(threads)}


def compute_beside(count: int, seconds: float) -> dict[str, Any]:
    """Two own loops beside so many threads."""
    from loomlet import _core, spawn

    over: list[bool] = []
    loops: list[int] = []

    def plain() -> None:
        while not over:
            pass

    def own(end: float) -> None:
        rounds, clock = 0, perf_counter
        while clock() < end:
            rounds += 1
        loops.append(rounds)

    for _ in range(count):
        _thread.start_new_thread(plain, ())
    before = _core._handoff_count()[0]
    end = perf_counter() + seconds
    for each in [spawn(own, end) for _ in range(2)]:
        each.join()
    over.append(True)
    taken = (_core._handoff_count()[0] - before) / seconds
    return {"own": len(loops), "each": seconds * 1e9 / sum(loops), "taken": taken}


def measure(kind: str, count: int, mode: str, seconds: float) -> dict[str, Any]:
    """What the kind's function says, inside run(), or beside threads alone."""
    if mode == "threads":
        return sleep_all(count, as_thread)
    import loomlet

    works: dict[str, tuple[Any, ...]] = {
        "passing": (pass_on, count),
        "sleepers": (sleep_all, count, loomlet.spawn),
        "hard": (switch_hard, count, mode == "on"),
        "computing": (compute_beside, count, seconds),
    }
    found: dict[str, Any] = loomlet.run(*works[kind], slice=SLICE, handoff=mode == "on")
    return found
