"""Runs one measured program in this process and prints what it measured as one line of JSON.

    python -P driver.py EXPERIMENT PROGRAM PARAMETERS

EXPERIMENT is `taskspeed`, `ring`, `memory`, `preempt` or `freeze`, PROGRAM the name of a file
beside this one (`on_asyncio`), PARAMETERS a JSON object whose keys are the arguments of the run_*
function below.

It is started as a script, with `-P` so that this folder is not importable, and knows nothing of
the package around it: a process that measures a peer holds the peer and the standard library only.

A program offers any of these functions:

    taskspeed(switches, repeats, flavour)             -> list of {case: nanoseconds}
    ring(nodes, rounds, necklace, printed, flavour)   -> (seconds, hops counted by the members)
    memory(count, rounds, context, flavour, meter)    -> nothing; it calls the meter
    preempt(slice, calls, flavour)                    -> ns that each request waited; beside it
                                                         give_up(), which lets others run
    freeze(flavour)                                   -> (case, save, load, forget) for each case;
                                                         beside it moves(), which times threads

`flavour` chooses between variants of one program (the event loop under asyncio).

Rejected: `tracemalloc` or `sys.getsizeof` for memory. Neither sees the frame chunks, C stacks and
kernel pages that make up most of what a blocked task costs; resident pages do.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from types import ModuleType
from typing import Any

PAGE = os.sysconf("SC_PAGE_SIZE")
CALLS = 100


def resident() -> int:
    """Bytes of this process that are in memory now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE


class Meter:
    """What a memory program calls at the three moments of a round; collects the figures.

    Bytes are always counted from the first `begin()`, so that a later round which gives nothing
    back shows as a fatter one.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.base: int | None = None
        self.started = 0
        self.woken = 0
        self.rounds: list[dict[str, float]] = []

    def begin(self) -> None:
        """A round starts now: nothing of it has been created."""
        gc.collect()
        if self.base is None:
            self.base = resident()
        self.started = perf_counter_ns()

    def blocked(self, count: int) -> None:
        """All of the round's tasks wait; `count` is how many the program found waiting."""
        create = perf_counter_ns() - self.started
        if count != self.count or self.base is None:
            raise SystemExit(f"expected {self.count} blocked tasks, found {count}")
        size = (resident() - self.base) / count
        self.rounds.append({"bytes": size, "create": create / count})
        self.woken = perf_counter_ns()

    def finished(self, count: int) -> None:
        """The round's tasks have been woken and are over; `count` is how many ended."""
        finish = perf_counter_ns() - self.woken
        if count != self.count:
            raise SystemExit(f"expected {self.count} finished tasks, found {count}")
        self.rounds[-1]["finish"] = finish / count


class Turns:
    """Who had the core, and how long a yielding call waited, from `begin()` on for `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.length = int(seconds * 1e9)
        self.turns: list[tuple[int, int]] = []
        self.end = self.longest = 0

    def begin(self) -> None:
        """The clock starts."""
        self.turns = [(-1, perf_counter_ns())]
        self.end = self.turns[0][1] + self.length

    def spin(self, mine: int) -> None:
        """Computes till the end; notes each moment at which it finds that others ran."""
        turns, end = self.turns, self.end
        while (now := perf_counter_ns()) < end:
            if turns[-1][0] != mine:
                turns.append((mine, now))

    def wait(self, give_up: Callable[[], None]) -> None:
        """Yields till the end; notes the longest time that this took."""
        before = perf_counter_ns()
        while before < self.end:
            give_up()
            now = perf_counter_ns()
            self.longest = max(self.longest, now - before)
            before = now

    def figures(self) -> dict[str, float]:
        """The median turn, who took part, and the share that is furthest off the even one."""
        ends = [*(start for _, start in self.turns[2:]), self.end]
        turns = zip(self.turns[1:], ends, strict=True)
        lengths = [(who, end - start) for (who, start), end in turns]
        shares: dict[int, int] = {}
        for who, length in lengths:
            shares[who] = shares.get(who, 0) + length
        even = sum(shares.values()) / len(shares)
        uneven = 100 * max(abs(share - even) for share in shares.values()) / even
        turn = sorted(length for _, length in lengths)[len(lengths) // 2]
        return {"spinners": len(shares), "turn": turn, "uneven": uneven}


def run_preempt(program: ModuleType, slice: float, seconds: float, flavour: str) -> dict[str, Any]:
    """Three spinners side by side, then one beside a call that yields."""
    turns = Turns(seconds)
    turns.begin()
    delays = sorted(program.preempt(slice, [partial(turns.spin, n) for n in range(3)], flavour))
    found = turns.figures()
    if delays:
        found["request p50"] = delays[len(delays) // 2]
        found["request p99"] = delays[len(delays) * 99 // 100]
    turns.begin()
    program.preempt(slice, [partial(turns.spin, 0), partial(turns.wait, program.give_up)], flavour)
    return {**found, "wait": turns.longest}


def per_call(call: Callable[[], Any], forget: Callable[[list[Any]], None], repeats: int) -> float:
    """Nanoseconds per call, the median of so many short runs; results are forgotten untimed."""
    found = []
    for _ in range(repeats + 1):
        kept: list[Any] = []
        gc.collect()
        gc.disable()
        started = perf_counter_ns()
        for _ in range(CALLS):
            kept.append(call())
        found.append((perf_counter_ns() - started) / CALLS)
        gc.enable()
        forget(kept)
    return sorted(found[1:])[repeats // 2]


def run_freeze(program: ModuleType, repeats: int, flavour: str) -> dict[str, Any]:
    """Save and load each of the program's cases."""
    rows: dict[str, float] = {}
    for case, save, load, forget in program.freeze(flavour):
        data = save()
        rows[f"{case} bytes"] = len(data)
        rows[f"{case} save"] = per_call(save, list[Any].clear, repeats)
        rows[f"{case} load"] = per_call(partial(load, data), forget, repeats)
    if rows and hasattr(program, "moves"):
        rows |= program.moves(repeats)
    return {"rows": rows}


def run_taskspeed(program: ModuleType, repeats: int, **parameters: Any) -> dict[str, Any]:
    """Time the program's switches; the first repeat warms the interpreter up and is dropped."""
    return {"repeats": program.taskspeed(repeats=repeats + 1, **parameters)[1:]}


def run_ring(program: ModuleType, **parameters: Any) -> dict[str, Any]:
    """Pass the message round; give the seconds of the message phase and the hops counted."""
    seconds, hops = program.ring(**parameters)
    return {"seconds": seconds, "hops": hops}


def run_memory(program: ModuleType, count: int, **parameters: Any) -> dict[str, Any]:
    """Block `count` tasks and let them end, several times over, in this one process."""
    meter = Meter(count)
    program.memory(count=count, meter=meter, **parameters)
    return {"rounds": meter.rounds}


def load(name: str) -> ModuleType:
    """The program of that name, loaded from its file."""
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"loomlet_bench_{name}", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"no program {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(arguments: list[str]) -> None:
    """Run what the command line names and print the result as the last line of the output."""
    experiment, program, parameters = arguments
    runners: dict[str, Callable[..., dict[str, Any]]]
    runners = {
        "taskspeed": run_taskspeed,
        "ring": run_ring,
        "memory": run_memory,
        "preempt": run_preempt,
        "freeze": run_freeze,
    }
    print(json.dumps(runners[experiment](load(program), **json.loads(parameters))))


if __name__ == "__main__":
    main(sys.argv[1:])
