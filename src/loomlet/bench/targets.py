"""The numbers that loomlet promises, and whether a result keeps them.

Each is a ratio of two rows of one result, or a single row. `must` is the promise, `aim` what we
would like; a ratio with `at_least` has to reach it, the others have to stay below.

A ratio is the median of the ratios of each round, in which the two ran one after the other:
a machine that is slow for seconds then slows both. Without the single rounds it is that of the
medians.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loomlet.bench.model import Document, Row

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Target:
    """One promise: the row `over` divided by the row `under`, or `over` alone."""

    what: str
    experiment: str
    over: Key
    under: Key | None
    must: float
    aim: float
    at_least: bool

    def reached(self, measured: float) -> bool:
        """Whether the promise is kept."""
        return measured >= self.must if self.at_least else measured <= self.must

    def bound(self, value: float) -> str:
        """The bound as it is printed."""
        return f"{'≥' if self.at_least else '≤'} {value:,.10g}"


@dataclass(frozen=True)
class Verdict:
    """What a result says about a promise; `measured` is None where a row is missing."""

    target: Target
    measured: float | None

    @property
    def word(self) -> str:
        """yes, no, or not measured."""
        if self.measured is None:
            return "not measured"
        return "yes" if self.target.reached(self.measured) else "no"


def _speed(what: str, over: Key, under: Key, must: float, aim: float) -> Target:
    return Target(what, "taskspeed", over, under, must, aim, at_least=over[0] != "loomlet")


def _ring(system: str, size: str, must: float, aim: float) -> Target:
    over, ours = (system, size, "s"), ("loomlet", size, "s")
    return Target(f"ring {size}: {system} / loomlet", "ring", over, ours, must, aim, at_least=True)


def _bytes(count: int) -> Target:
    what, over = f"bytes per blocked tasklet, N={count}", ("loomlet", f"N={count}", "B")
    return Target(what, "memory", over, None, 800, 560, at_least=False)


def _create(count: int) -> Target:
    what, case = f"create and block, N={count}: greenlet / loomlet", f"N={count}"
    over, ours = ("greenlet", case, "ns"), ("loomlet", case, "ns")
    return Target(what, "memory", over, ours, 5, 8, at_least=True)


def _third(what: str, unit: str, must: float) -> Target:
    first, third = ("loomlet", _AGAIN, unit), ("loomlet", f"{_AGAIN} round=3", unit)
    name = f"{what} in the third round / the first, {_AGAIN}"
    return Target(name, "memory", third, first, must, 1, at_least=False)


def _preempt(what: str, unit: str, must: float, aim: float, slice: str = "0.001") -> Target:
    over, name = ("loomlet", f"slice={slice} {what}", unit), f"{what}, slices of {slice} s, {unit}"
    return Target(name, "preempt", over, None, must, aim, at_least=False)


def _frozen(what: str, by: str, must: float, aim: float) -> Target:
    unit = "B" if what == "bytes" else "ns"
    over, closure = ("loomlet", f"{by} {what}", unit), ("cloudpickle", f"closure {what}", unit)
    name = f"{what} of a tasklet at {by} / of a closure by cloudpickle"
    return Target(name, "freeze", over, closure, must, aim, at_least=False)


def _net(system: str, case: str, must: float, aim: float) -> Target:
    over, ours = (system, case, "ns"), ("loomlet", case, "ns")
    return Target(f"{case}: {system} / loomlet", "net", over, ours, must, aim, at_least=True)


def _no_worse() -> Iterator[Target]:
    """The other cells: no peer in Python is much faster."""
    cases = [f"echo N={count} size={size}" for size in (64, 65_536) for count in (1, 64, 1000)]
    cases.remove(_ECHO)
    for case in (*cases, "connect N=16"):
        for system in ("asyncio", "uvloop", "gevent", "threads"):
            yield _net(system, case, 0.9, 1)
    for case in ("timers N=1000000 set", "timers N=1000000 cancel"):
        for system in ("asyncio", "uvloop", "gevent"):
            yield _net(system, case, 0.9, 1)
    for system in ("uvloop", "gevent"):
        yield _net(system, "timeout", 0.9, 1)
    for system in ("uvloop", "gevent", "threads"):
        yield _net(system, "blocking", 0.9, 1)
    for system in ("asyncio", "uvloop", "gevent", "threads"):
        yield _net(system, "dns N=200", 0.9, 1)
    yield _net("gevent", _REDIS, 0.9, 1)


def _handoff(case: str, unit: str, must: float, aim: float) -> Target:
    what = f"{case}, {unit}"
    return Target(what, "handoff", ("loomlet", case, unit), None, must, aim, at_least=False)


def _beside_threads(case: str, must: float, aim: float) -> Target:
    over, under = ("loomlet", case, "s"), ("threads", case, "s")
    return Target(f"{case}: loomlet / threads", "handoff", over, under, must, aim, at_least=False)


def _kept(case: str, unit: str, must: float, by: str = "no-handoff") -> Target:
    over, under = (by, case, unit), ("loomlet", case, unit)
    return Target(f"{case}: {by} / loomlet", "handoff", over, under, must, 1, at_least=True)


def _handoffs() -> Iterator[Target]:
    """C calls that wait hold nobody; slices are of 10 ms."""
    for how in ("call", "learned"):
        for call in ("usleep", "sqlite3", "pbkdf2"):
            yield _handoff(f"{how} {call} p99", "ns", 27_000_000, 15_000_000)
    for who in ("queue", "event", "main", "asyncio"):
        yield _handoff(f"beside {who}", "ns", 50_000_000, 25_000_000)
    yield _handoff("passing over", "ns", 30_000, 15_000)
    yield _handoff("passing back", "ns", 30_000, 15_000)
    yield _handoff("sleepers", "s", 1.5, 0.6)
    for case, must, aim in (("writers", 1.2, 0.8), ("django writes", 1.3, 1.0)):
        yield _beside_threads(case, must, aim)
        yield _handoff(f"{case} failed", "%", 0, 0)
    yield _kept("django reads", "s", 0.95)
    yield _kept("requests", "s", 0.95)
    yield _kept("requests psycopg", "s", 0.95)
    yield _handoff("hard", "ns", 10_000, 4_000)
    yield _handoff("computing taken", "/s", 1, 0)
    yield _kept("computing", "ns", 0.97)
    yield _kept("echo long", "ns", 0.9, by="process")
    yield _kept("echo short", "ns", 0.9, by="process")


_ECHO = "echo N=64 size=64"
_REDIS = "redis N=1000"
_AGAIN = "N=100000"
_NOOP = ("loomlet", "no-op C call", "ns")
_SOFT = ("loomlet", "frame switch soft", "ns")
_HOP = ("loomlet", "channel hop", "ns")
_STACKLESS = ("loomlet", "stackless hop", "ns")
_NEW = ("loomlet", "create and run", "ns")
_STACKLESS_NEW = ("loomlet", "stackless create and run", "ns")
_PARKED = ("loomlet", "parked N=10000", "B")
_CALL = ("loomlet", "call", "ns")
_ACROSS = ("loomlet", "call across chunks", "ns")
_MOVED = ("loomlet", "moved resume", "ns")
_LOCAL = ("loomlet", "local resume", "ns")

TARGETS: Sequence[Target] = (
    _speed("schedule() / no-op C call", _SOFT, _NOOP, 2.0, 1.4),
    _speed("greenlet switch / schedule()", ("greenlet", *_SOFT[1:]), _SOFT, 6, 10),
    _speed("asyncio sleep(0) / schedule()", ("asyncio", *_SOFT[1:]), _SOFT, 40, 60),
    _speed("channel hop / no-op C call", _HOP, _NOOP, 3.5, 2.6),
    _speed("stackless hop / channel hop", _STACKLESS, _HOP, 1.05, 1.0),
    _speed("stackless create and run / native", _STACKLESS_NEW, _NEW, 1.1, 1.0),
    *(
        _speed(
            f"{what}: asyncio / loomlet", ("asyncio", what, "ns"), ("loomlet", what, "ns"), 10, 20
        )
        for what in ("event", "semaphore", "condition")
    ),
    _speed("call across chunks / call", _ACROSS, _CALL, 1.5, 1.1),
    _ring("go", "N=100 M=10000", 2.5, 4),
    _ring("erlang", "N=100 M=10000", 3.5, 5),
    _ring("asyncio", "N=100 M=10000", 35, 80),
    _ring("go", "N=10000 M=100", 2.5, 4),
    _ring("go", "N=90000 M=100", 2.5, 4),
    _bytes(10_000),
    _bytes(100_000),
    _bytes(1_000_000),
    _create(10_000),
    _create(100_000),
    _create(1_000_000),
    _third("bytes", "B", 1.05),
    _third("time to create", "ns", 1.1),
    _preempt("request p50", "ns", 10_000, 5_000),
    _preempt("request p99", "ns", 100_000, 30_000),
    _preempt("uneven", "%", 10, 3),
    _preempt("wait", "ns", 20_000_000, 20_000_000, slice="0.01"),
    _preempt("wait p99", "ns", 11_000_000, 6_000_000, slice="0.005"),
    _frozen("bytes", "depth 1", 0.5, 0.3),
    _frozen("save", "depth 1", 0.5, 0.3),
    _frozen("load", "depth 1", 0.6, 0.3),
    _frozen("bytes", "depth 1 by value", 1.7, 1),
    _frozen("save", "depth 1 by value", 3, 1),
    _frozen("load", "depth 1 by value", 2, 1),
    _net("uvloop", _ECHO, 2, 3),
    _net("asyncio", _ECHO, 4, 6),
    _net("gevent", _ECHO, 3, 5),
    _net("threads", _ECHO, 3, 5),
    _net("go", _ECHO, 0.7, 1),
    _net("asyncio", "timeout", 8, 15),
    _net("asyncio", "blocking", 3, 5),
    _net("threads", _REDIS, 1.5, 3),
    Target("bytes per parked connection", "net", _PARKED, None, 3072, 1536, at_least=False),
    *_no_worse(),
    *_handoffs(),
    Target("resume after a move / local", "freeze", _MOVED, _LOCAL, 2, 1.1, at_least=False),
)


def judge(document: Document) -> Iterator[Verdict]:
    """The verdict on every promise about this result's experiment."""
    for target in TARGETS:
        if target.experiment == document.experiment:
            yield Verdict(target, _quotient(document, target))


def _quotient(document: Document, target: Target) -> float | None:
    over = document.find(*target.over)
    under = document.find(*target.under) if target.under else None
    if over is None or (target.under and under is None):
        return None
    return _paired(over, under) if under else over.median


def _paired(over: Row, under: Row) -> float:
    rounds = len(over.values)
    if rounds == 0 or len(under.values) != rounds or 0 in under.values:
        return over.median / under.median
    pairs = zip(over.values, under.values, strict=True)
    return statistics.median(one / other for one, other in pairs)


def ours(document: Document, row: Row) -> Row | None:
    """Our row that a row is compared with; the hard switch where there is no soft one."""
    found = document.find("loomlet", row.case, row.unit)
    if found is None and row.case == _SOFT[1]:
        return document.find("loomlet", "frame switch hard", row.unit)
    return found
