"""net: servers that send back what they get, time limits, and timers.

    echo N=64 size=64      ns per request: N connections, each sends a message of that many bytes,
                           waits until it has come back, and sends again
    connect N=16           ns per connection: made, asked once, closed; N at a time
    parked N=10000         bytes of the server per open connection, its waiting tasklet included
    timeout                ns per time limit of five seconds around nothing
    timers N=… set         ns to set a timer, so many of which are pending then
    timers N=… cancel      ns to cancel each of them
    blocking               ns for a function that does nothing on another thread, and its result
    dns N=200              ns to look up each of N names at once, all of them names of this machine
    redis N=1000           ns per request of redis-py, unmodified: N clients ask a redis server

The server has one core and the client the other, where there are two. The client is one and the
same for all: a Go program that waits by epoll, without goroutines, and makes one read and one write
for a request, as little as a client can. That is about what our server and Go's cost too, so their
lead is underestimated. Without Go a client in Python is used, which is slower than
our server. It checks what comes back; a connection that was never answered is a failure.

Servers are written as each system's own documents have it: streams for asyncio, StreamServer for
gevent, a thread for each connection. Timers are what time limits are made of: nested `timeout`
scopes, call_later, gevent.Timeout, AfterFunc. For redis each client is a tasklet under
loomlet.patch or a greenlet under gevent's monkey patch, on one thread; of threads there are fifty.
The server has the other core.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loomlet.bench.measure import number
from loomlet.bench.model import BenchError, Cell, Experiment, Job, Missing, Row, Sample
from loomlet.bench.peers import lacks_redis

NAME = "net"
SYSTEMS = ("loomlet", "asyncio", "uvloop", "gevent", "threads", "go")
WITHOUT = {
    "parked": ("threads",),
    "timeout": ("threads",),
    "timers": ("threads",),
    "blocking": ("go",),
    "dns": ("go",),
    "redis": ("asyncio", "uvloop", "go"),
}
SINGLE = {"timeout": 200_000, "blocking": 20_000}
KINDS = ("echo", "connect", "parked", "timers", "dns", "redis", *SINGLE)
THREADS = 50


@dataclass(frozen=True)
class Load:
    """The workload: how many connections or timers, and the size of messages."""

    kind: str
    count: int
    size: int = 64

    @property
    def case(self) -> str:
        """Its name in the results."""
        words = [self.kind] if self.kind in SINGLE else [self.kind, f"N={self.count}"]
        return " ".join(words + [f"size={self.size}"] * (self.kind == "echo"))


USUAL = (
    *(Load("echo", count, size) for size in (64, 65_536) for count in (1, 64, 1000)),
    Load("connect", 16),
    Load("parked", 10_000),
    Load("timeout", SINGLE["timeout"]),
    Load("timers", 1_000_000),
    Load("blocking", SINGLE["blocking"]),
    Load("dns", 200),
    Load("redis", 1000),
)
QUICK = (*(USUAL[at] for at in (0, 1, 4, 6, 7, 8, 10, 11, 12)), Load("timers", 100_000))


def parse(case: str) -> Load:
    """The work of that name, of any size; raises BenchError for other words."""
    found = re.fullmatch(r"(\w+)(?: N=([1-9]\d*))?(?: size=([1-9]\d*))?", case)
    kind, count, size = found.groups() if found else ("", None, None)
    whole = size is None or int(size) % 8 == 0
    if kind not in KINDS or (count is None) != (kind in SINGLE) or not whole:
        raise BenchError(f"expected a case like 'echo N=64 size=64' (eights), found {case!r}")
    return Load(kind, int(count or SINGLE[kind]), int(size or 64))


def cells(quick: bool, wanted: Sequence[str]) -> list[Cell]:
    """A cell per work, for the systems that can do it."""
    chosen = [parse(case) for case in wanted] or (QUICK if quick else USUAL)
    return [_cell(load, quick) for load in chosen]


def _cell(load: Load, quick: bool) -> Cell:
    systems = [name for name in SYSTEMS if name not in WITHOUT.get(load.kind, ())]
    jobs = [_job(load, name, 0.4 if quick else 2.0) for name in systems]
    why = lacks_redis() if load.kind == "redis" else ""
    lacks = Missing("redis", why, load.case) if why else None
    return Cell(load.case, 1 if quick else 3, jobs, lacks)


def _job(load: Load, system: str, seconds: float) -> Job:
    few = load.kind == "redis" and system == "threads"
    count = min(load.count, THREADS) if few else load.count
    parameters = {"kind": load.kind, "count": count, "size": load.size, "seconds": seconds}
    return Job(NAME, system, load.case, parameters)


def samples(job: Job, output: Mapping[str, Any]) -> list[Sample]:
    """Nanoseconds of one request, connection, limit, timer, call or name; bytes if parked."""
    kind, count = job.parameters["kind"], job.parameters["count"]
    done = output.get(
        {"parked": "parked", **dict.fromkeys(("echo", "connect", "redis"), "served")}.get(
            kind, "count"
        )
    )
    if done != count:
        raise BenchError(f"expected all of {count} to be served, found {output!r}")
    if kind == "parked":
        return [Sample(job.system, job.case, "B", number(output, "bytes"))]
    if kind in (*SINGLE, "dns"):
        return [Sample(job.system, job.case, "ns", number(output, "each"))]
    if kind == "timers":
        return [
            Sample(job.system, f"{job.case} {word}", "ns", number(output, word))
            for word in ("set", "cancel")
        ]
    requests = number(output, "requests")
    if not requests:
        raise BenchError("no request was answered in time; let nothing else run, or give it longer")
    each = number(output, "seconds") * 1e9 / requests
    return [Sample(job.system, job.case, "ns", each)]


def rate(row: Row) -> str:
    """Requests, connections, limits, timers, calls or names in a second."""
    return f"{1e9 / row.median:,.0f} /s" if row.unit == "ns" and row.median else ""


EXPERIMENT = Experiment(
    NAME, "servers, connections, timers, blocking calls, redis", SYSTEMS, cells, samples, rate
)
