"""What tasklets leave of their exceptions, and how long a search for those that are kept takes.

Four kinds of tasklets handle an exception, a thousand at a time: `caught` waits inside `except` and
goes on, `failed` ends with it, `chained` with another one that was raised from it, `killed` is
killed inside `except`. The collector sleeps: what is left is what only it could free.
"""

from __future__ import annotations

import contextlib
import gc
import types
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import loomlet
from loomlet import Channel, schedule, spawn
from loomlet.errors import TaskletKilled
from loomlet.observe import doctor

TOGETHER = 1_000
SEARCHES = 5
KINDS = (BaseException, types.FrameType, types.TracebackType)


def fail() -> None:
    """Raises, with something in its frame."""
    local = [0] * 10
    raise ValueError(len(local))


def caught(gate: Channel) -> None:
    """Waits while it handles one."""
    try:
        fail()
    except ValueError:
        gate.receive()


def failed(gate: Channel) -> None:
    """Ends with one."""
    gate.receive()
    fail()


def chained(gate: Channel) -> None:
    """Ends with another one."""
    gate.receive()
    try:
        fail()
    except ValueError as error:
        raise KeyError from error


CALLS: dict[str, Callable[[Channel], None]] = {
    "caught": caught,
    "failed": failed,
    "chained": chained,
    "killed": caught,
}


def run_some(kind: str) -> int:
    """So many tasklets of that kind, from their beginning to their end; how many have ended."""
    gate, ended = Channel(), 0
    tasklets = [spawn(CALLS[kind], gate) for _ in range(TOGETHER)]
    schedule()
    for tasklet in tasklets:
        if kind == "killed":
            tasklet.kill()
        else:
            gate.send(None)
        with contextlib.suppress(ValueError, KeyError, TaskletKilled):
            tasklet.join()
        ended += tasklet.state == "done"
    return ended


def alive() -> int:
    """Exceptions, frames and tracebacks that the collector knows."""
    return sum(isinstance(one, KINDS) for one in gc.get_objects())


def resident() -> int:
    """Bytes of this process that are in memory."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    (size,) = (line.split()[1] for line in lines if line.startswith("Rss:"))
    return int(size) * 1024


def leave(kind: str, count: int) -> dict[str, Any]:
    """What they leave.  A tenth of the work comes before, so that all pools have their size, and a
    turn after: what the last handler had is dropped when others run."""
    gc.disable()
    for _ in range(max(1, count // TOGETHER // 10)):
        run_some(kind)
    schedule()
    gc.collect()
    before, size = alive(), resident()
    ended = sum(run_some(kind) for _ in range(count // TOGETHER))
    schedule()
    left, grown = alive() - before, resident() - size
    return {"ended": ended, "left": max(0, left), "bytes": max(0, grown)}


class Order:
    """Two objects of a program."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.lines = [number, str(number)]


def search(count: int) -> dict[str, Any]:
    """The median of some searches beside so many objects, and what they found."""
    orders = {number: Order(number) for number in range(count // 2)}
    kept: list[ValueError] = []
    try:
        fail()
    except ValueError as error:
        kept.append(error)
    times, found = [], []
    for _ in range(SEARCHES):
        started = perf_counter_ns()
        found.append(len(doctor()))
        times.append(perf_counter_ns() - started)
    known = {"objects": len(gc.get_objects()), "orders": len(orders), "kept": len(kept)}
    return {**known, "time": sorted(times)[SEARCHES // 2], "found": min(found)}


def measure(kind: str, count: int) -> dict[str, Any]:
    """One case."""
    found: dict[str, Any]
    found = search(count) if kind == "search" else loomlet.run(leave, kind, count, slice=None)
    return found
