"""Runs one measured program in this process and prints what it measured as one line of JSON.

    python -P driver.py EXPERIMENT PROGRAM PARAMETERS

EXPERIMENT is `taskspeed`, `ring`, `memory`, `preempt`, `freeze`, `net`, `handoff`, `heap`,
`gilecho`, `giltest`, `testserver` or `sync`, PROGRAM the name of a file beside this one
(`on_asyncio`), PARAMETERS a JSON object whose keys are the arguments of the run_* function below.

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
    serve_echo(listener, flavour)                     -> never; it sends back what comes
    timeouts(count, flavour)                          -> ns for each time limit
    timers(count, flavour)                            -> ns to set and to cancel each timer
    blocking(count, flavour)                          -> ns for each call on another thread
    look_up(count, rounds, flavour)                   -> ns for each of so many names at once
    inside(call)                                      -> what the call returns, made in a task
    cooperate()                                       -> nothing; patches the standard library
    at_once(calls)                                    -> nothing; calls each, all at once

`flavour` chooses between variants of one program (the event loop under asyncio).

Rejected: `tracemalloc` or `sys.getsizeof` for memory. Neither sees the frame chunks, C stacks and
kernel pages that make up most of what a blocked task costs; resident pages do.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter_ns, process_time_ns
from types import ModuleType
from typing import Any, NoReturn

CALLS = 100
ROUNDS = 20


def resident() -> int:
    """Bytes of this process that are in memory now: counted, where statm gives an estimate."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    (size,) = (line.split()[1] for line in lines if line.startswith("Rss:"))
    return int(size) * 1024


class Meter:
    """What a memory program calls at the three moments of a round; collects the figures.

    Bytes are always counted from the first `begin()`, so that a later round which gives nothing
    back shows as a fatter one.
    """

    def __init__(self, count: int, clock: Callable[[], int] = perf_counter_ns) -> None:
        self.count = count
        self.clock = clock
        self.base: int | None = None
        self.started = 0
        self.woken = 0
        self.rounds: list[dict[str, float]] = []

    def begin(self) -> None:
        """A round starts now: nothing of it has been created."""
        gc.collect()
        if self.base is None:
            self.base = resident()
        self.started = self.clock()

    def blocked(self, count: int) -> None:
        """All of the round's tasks wait; `count` is how many the program found waiting."""
        create = self.clock() - self.started
        if count != self.count or self.base is None:
            raise SystemExit(f"expected {self.count} blocked tasks, found {count}")
        size = (resident() - self.base) / count
        self.rounds.append({"bytes": size, "create": create / count})
        self.woken = self.clock()

    def finished(self, count: int) -> None:
        """The round's tasks have been woken and are over; `count` is how many ended."""
        finish = self.clock() - self.woken
        if count != self.count:
            raise SystemExit(f"expected {self.count} finished tasks, found {count}")
        self.rounds[-1]["finish"] = finish / count


class Turns:
    """Which task ran when, and how long a yielding call waited, for `seconds` after `begin()`."""

    def __init__(self, seconds: float) -> None:
        self.length = int(seconds * 1e9)
        self.turns: list[tuple[int, int]] = []
        self.waits: list[int] = []
        self.end = 0

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
        """Yields till the end; notes how long each time took."""
        before = perf_counter_ns()
        while before < self.end:
            give_up()
            now = perf_counter_ns()
            self.waits.append(now - before)
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


def last_hundredth(ordered: list[int]) -> int:
    """The 99th percentile."""
    return ordered[len(ordered) * 99 // 100]


def run_preempt(program: ModuleType, slice: float, seconds: float, flavour: str) -> dict[str, Any]:
    """Three spinners side by side, then one beside a call that yields."""
    turns = Turns(seconds)
    turns.begin()
    delays = sorted(program.preempt(slice, [partial(turns.spin, n) for n in range(3)], flavour))
    found = turns.figures()
    if delays:
        found["request p50"] = delays[len(delays) // 2]
        found["request p99"] = last_hundredth(delays)
    turns.begin()
    program.preempt(slice, [partial(turns.spin, 0), partial(turns.wait, program.give_up)], flavour)
    waits = sorted(turns.waits)
    return {**found, "wait": waits[-1], "wait p99": last_hundredth(waits)}


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


def run_net(
    program: ModuleType, kind: str, count: int, flavour: str, **known: Any
) -> dict[str, Any]:
    """Work without a server, a server with a load client, or clients of a server."""
    if kind in ("timeout", "blocking"):
        call = program.timeouts if kind == "timeout" else program.blocking
        return {"count": count, "each": call(count, flavour)}
    if kind == "dns":
        return {"count": count, "each": program.look_up(count, ROUNDS, flavour)}
    if kind == "timers":
        before, after = program.timers(count, flavour)
        return {"count": count, "set": before, "cancel": after}
    if kind == "redis":
        asking = load("asking_redis")
        numbers = (count, known["server"], known["seconds"])
        found: dict[str, Any] = asking.measure(program, start_elsewhere, *numbers)
        return found
    return serve(program, kind, count, flavour, known)


def serve(
    program: ModuleType, kind: str, count: int, flavour: str, known: dict[str, Any]
) -> dict[str, Any]:
    """The server runs here and is asked by a client, which ends this process."""
    import resource
    import socket

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # also of the client
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # handed down to connections
    numbers = (count, known["size"], known["seconds"], listener.getsockname()[1])
    words = [*known["client"], kind, *map(str, numbers)]
    start_client(words, count if kind == "parked" else 0)
    program.serve_echo(listener, flavour)
    raise SystemExit("the server has ended")


def start_elsewhere(words: list[str], **environment: str) -> Any:
    """Starts a program on the second core and goes to the first."""
    import subprocess

    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[1:2] or cores)
    known = os.environ | environment
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=known)
    os.sched_setaffinity(0, cores[:1])
    return child


def start_client(words: list[str], parked: int) -> None:
    """Starts it elsewhere; what it prints ends this process."""
    import threading

    base = resident()
    client = start_elsewhere(words)

    def finish() -> None:
        assert client.stdout is not None
        line = client.stdout.readline()
        if parked and line:
            size = (resident() - base) / parked
            line = json.dumps({"parked": int(line), "bytes": size})
        client.kill()
        print(line, flush=True)
        os._exit(0 if line else 1)

    threading.Thread(target=finish, daemon=True).start()


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


def run_handoff(
    program: ModuleType, room: str, limit: float, flavour: str, **known: Any
) -> dict[str, Any]:
    """What the file of that name measures; one that hangs is ended by SIGALRM.

    Not by faulthandler, which reads the frames of threads while they run and may crash.
    """
    signal.setitimer(signal.ITIMER_REAL, limit)
    found: dict[str, Any] = load(room).measure(**known)
    return found


def run_heap(
    program: ModuleType, kind: str, count: int, rounds: int, *, flavour: str, library: str = ""
) -> dict[str, Any]:
    """Crowds of tasklets, or lists that grow: in a tasklet, if the program has one."""
    if library and library not in Path("/proc/self/maps").read_text(encoding="utf-8"):
        raise SystemExit(f"{library} was not loaded")
    report = load("heap_report")
    if kind in report.KINDS:
        inside = getattr(program, "inside", None)
        work = partial(report.measure, kind, rounds)
        found: dict[str, Any] = inside(work) if inside else work()
        return found
    meter = Meter(count, process_time_ns)
    load("heap_rounds").run(kind, count, rounds, meter)
    gc.collect()
    return {"rounds": meter.rounds, "left": max(0, resident() - (meter.base or 0)) / count}


def end_with(found: dict[str, Any]) -> NoReturn:
    """Prints the result and ends the process, with the threads that compute."""
    print(json.dumps(found), flush=True)
    os._exit(0)


def run_gilecho(program: ModuleType, flavour: str, **known: Any) -> NoReturn:
    """One case beside threads that compute."""
    end_with(load("gil_echo").measure(**known))


def run_giltest(program: ModuleType, flavour: str, **known: Any) -> NoReturn:
    """Threads that compute, hand over, or answer."""
    end_with(load("primitives").measure(load("gil_echo"), **known))


def run_testserver(program: ModuleType, flavour: str, ours: bool, **known: Any) -> NoReturn:
    """A web server of threads."""
    names = load("primitives").primitives(ours)
    end_with(load("pool_server").measure(load("gil_echo"), names, **known))


def run_sync(program: ModuleType, flavour: str, **known: Any) -> NoReturn:
    """One case of plain threads."""
    end_with(load("sync_pairs").measure(**known))


def run_exceptions(program: ModuleType, kind: str, count: int, flavour: str) -> dict[str, Any]:
    """What they leave, or a search."""
    found: dict[str, Any] = load("exceptions_left").measure(kind, count)
    return found


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
        "net": run_net,
        "handoff": run_handoff,
        "heap": run_heap,
        "gilecho": run_gilecho,
        "giltest": run_giltest,
        "testserver": run_testserver,
        "sync": run_sync,
        "exceptions": run_exceptions,
    }
    print(json.dumps(runners[experiment](load(program), **json.loads(parameters))))


if __name__ == "__main__":
    main(sys.argv[1:])
