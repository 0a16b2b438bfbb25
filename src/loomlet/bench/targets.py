"""The numbers that loomlet promises, and whether a result keeps them.

Each is a ratio of two rows of one result, or a single row. `must` is the promise, `aim` what we
would like; a ratio with `at_least` has to reach it, the others have to stay below.

A ratio is the median of the ratios of each round, in which the two ran one after the other:
a machine that is slow for seconds then slows both. Without the single rounds it is that of the
medians.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loomlet import _core
from loomlet.bench import exceptions, rounds, taskspeed
from loomlet.bench.model import Document, Row, is_ours

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Target:
    """One promise: the row `over` divided by the row `under`, or `over` alone.

    others: systems that may stand for the peer in it; the one that makes it hardest counts.
    """

    what: str
    experiment: str
    over: Key
    under: Key | None
    must: float
    aim: float
    at_least: bool
    others: Sequence[str] = ()

    def variants(self) -> Iterator[tuple[Key, Key | None]]:
        """The two rows, and again with each of the others in place of the peer."""
        yield self.over, self.under
        for name in self.others:
            if is_ours(self.over[0]) and self.under:
                yield self.over, (name, *self.under[1:])
            else:
                yield (name, *self.over[1:]), self.under

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


def _ratio(
    experiment: str,
    case: str,
    unit: str,
    systems: tuple[str, str],
    bounds: tuple[float, float],
    *,
    at_least: bool,
    what: str = "",
    others: Sequence[str] = (),
) -> Target:
    """Two systems in the same case; `what` is said instead of the case."""
    over, under = ((system, case, unit) for system in systems)
    text = f"{what or case}: {' / '.join(systems)}"
    return Target(text, experiment, over, under, *bounds, at_least, others)


def _speed(what: str, over: Key, under: Key, must: float, aim: float) -> Target:
    return Target(what, "taskspeed", over, under, must, aim, at_least=over[0] != "loomlet")


def _waits() -> Iterator[Target]:
    """Locks and queues between tasklets of one thread.  Where nobody waits asyncio switches no task
    and a C call or two are the floor, so less can be gained."""
    bounds = {"condition": (10, 20)} | dict.fromkeys(taskspeed.ALONE, (4, 6))
    for what in (*taskspeed.WAITS, *taskspeed.ALONE):
        must, aim = bounds.get(what, (20, 40))
        over, under = ("asyncio", what, "ns"), ("loomlet", what, "ns")
        yield _speed(f"{what}: asyncio / loomlet", over, under, must, aim)


def _ring(system: str, size: str, must: float, aim: float) -> Target:
    what = f"ring {size}"
    return _ratio("ring", size, "s", (system, "loomlet"), (must, aim), at_least=True, what=what)


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
    return _ratio("net", case, "ns", (system, "loomlet"), (must, aim), at_least=True)


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


def _later_rounds() -> Iterator[Target]:
    """All rounds of a crowd of tasklets are as fast and as lean as the first."""
    for case in ("rounds N=1000000", "rounds N=100000 deep", "rounds N=30000 hard"):
        for what, unit, must in (("time", "ns", 1.1), ("bytes", "B", 1.05)):
            later, first = ("loomlet", f"{case} later", unit), ("loomlet", case, unit)
            name = f"{case}: {what} of later rounds / the first"
            yield Target(name, "heap", later, first, must, 1, at_least=False)


def _handoff(case: str, unit: str, must: float, aim: float) -> Target:
    what = f"{case}, {unit}"
    return Target(what, "handoff", ("loomlet", case, unit), None, must, aim, at_least=False)


def _beside_threads(case: str, must: float, aim: float) -> Target:
    return _ratio("handoff", case, "s", ("loomlet", "threads"), (must, aim), at_least=False)


def _kept(case: str, unit: str, must: float, by: str = "no-handoff") -> Target:
    return _ratio("handoff", case, unit, (by, "loomlet"), (must, 1), at_least=True)


def _gil(case: str, unit: str, must: float, aim: float, system: str = "loomlet") -> Target:
    over, least = (system, case, unit), unit == "%"
    return Target(f"{case}: {system}, {unit}", "gilecho", over, None, must, aim, at_least=least)


def _gils() -> Iterator[Target]:
    """Answers beside threads that compute are quick, and these keep their share."""
    two = 100_000 if sys.version_info >= (3, 13) else 500_000
    for system in ("loomlet", "prioritised"):
        yield _ratio("gilecho", "think N=1", "/s", (system, "threads"), (3, 6), at_least=True)
        yield _gil("think N=1 p50", "ns", 100_000, 50_000, system)
        yield _gil("think N=2 p50", "ns", two, 50_000, system)
        yield _gil("think N=1 kept", "%", 80, 90, system)
        yield _gil("full N=1 kept", "%", 50, 60, system)
    for kind in ("calls", "send"):
        case = f"{kind} N=0 p50"
        yield _ratio("gilecho", case, "ns", ("loomlet", "futex"), (1.5, 1), at_least=False)
        yield _gil(f"{kind} N=1 p50", "ns", 200_000, 100_000)
    yield _ratio("gilecho", "even N=2", "%", ("prioritised", "threads"), (0.98, 1), at_least=True)


def _founding_server() -> Iterator[Target]:
    """The web server of threads is no slower with our primitives, and faster beside a thread that
    computes; without a GIL it does not wait for that one, and is no slower."""
    beside = (1.3, 2) if _core._has_gil() else (1.0, 1.2)
    for case, (must, aim) in (("p=1 N=0", (1.0, 1.2)), ("p=10 N=1", beside)):
        yield _ratio("testserver", case, "/s", ("loomlet", "threads"), (must, aim), at_least=True)


def _exceptions() -> Iterator[Target]:
    """Tasklets leave nothing of their exceptions, and those that are kept are found soon.  One
    arena more of Python's allocator is 10 B for each."""
    for kind in exceptions.LEAVING:
        case = f"{kind} N=100000"
        for what, unit, must, aim in (("left", "%", 0, 0), ("grown", "B", 16, 0)):
            over = ("loomlet", case, unit)
            yield Target(f"{case}: {what}, {unit}", exceptions.NAME, over, None, must, aim, False)
    over = ("loomlet", exceptions.SEARCH, "ns")
    yield Target(
        f"{exceptions.SEARCH}, ns", exceptions.NAME, over, None, 100e6, 50e6, at_least=False
    )


def _syncs() -> Iterator[Target]:
    """Plain threads gain by install(sync=True), and lose nowhere."""
    bounds = {"pool": (1.3, 2.0), "pool map": (1.3, 2.0), "jobs": (2.0, 4.0), "stream": (5.0, 10.0)}
    if _core._has_gil():
        bounds |= {"lock": (0.98, 1.2), "simplequeue": (0.98, 1.2), "condition": (1.3, 2.0)}
        bounds |= dict.fromkeys(("semaphore", "event", "queue"), (1.6, 2.5))
    else:
        pairs = ("lock", "simplequeue", "condition", "semaphore", "event", "queue")
        bounds |= dict.fromkeys(pairs, (3.0, 5.0))
        bounds |= {f"{case} N={n}": (1.0, 1.0) for case in ("lock", "queue") for n in (1, 2)}
    for case, (must, aim) in bounds.items():
        yield _ratio("sync", case, "/s", ("loomlet", "threads"), (must, aim), at_least=True)
    over, under = ("loomlet", "condition", "/s"), ("loomlet", "lock", "/s")
    yield Target("loomlet: condition / lock", "sync", over, under, 0.9, 1, at_least=True)


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


_MANY = (8, 64, 512)
OURS = "loomlet"
_PLAIN = ("loomlet", "loomlet-wsgi")


def _cheaper(
    case: str,
    peer: str,
    must: float,
    aim: float,
    ours: str = "loomlet",
    *,
    others: Sequence[str] = (),
) -> Target:
    """The server's processor time for a request, theirs / ours."""
    case = f"{case} cpu"
    return _ratio("http", case, "ns", (peer, ours), (must, aim), at_least=True, others=others)


def _faster(
    case: str,
    peer: str,
    must: float,
    aim: float,
    ours: str = "loomlet",
    *,
    others: Sequence[str] = (),
) -> Target:
    """Requests in a second, ours / theirs."""
    what, bounds = f"{case} requests", (must, aim)
    return _ratio("http", case, "/s", (ours, peer), bounds, at_least=True, what=what, others=others)


def _steady(
    case: str, peer: str, figure: str, must: float, aim: float, *, others: Sequence[str] = ()
) -> Target:
    """Jitter, ours / theirs."""
    case = f"{case} {figure}"
    return _ratio("http", case, "ns", ("loomlet", peer), (must, aim), at_least=False, others=others)


def _crowd(case: str) -> Iterator[Target]:
    """Jitter of many connections, by itself."""
    p50, p99, slowest = (("loomlet", f"{case} {word}", "ns") for word in ("p50", "p99", "slowest"))
    yield Target(f"{case}: p99 / p50", "http", p99, p50, 3, 2, at_least=False)
    yield Target(f"{case} slowest, ns", "http", slowest, None, 50e6, 50e6, at_least=False)


def _dynamic() -> Iterator[Target]:
    for count in _MANY:
        case = f"plain N={count}"
        yield _cheaper(case, "nginx", 0.95, 1.0, "loomlet-fixed")
        for ours in _PLAIN:
            yield _cheaper(case, "nginx", 0.70, 0.85, ours)
            yield _cheaper(case, "fastpysgi", 1.0, 1.15, ours)
            yield _faster(case, "bjoern", 1.15, 1.3, ours)
            yield _faster(case, "granian", 1.3, 1.5, ours)
        yield _cheaper(case, "nginx", 0.45, 0.6, "loomlet-asgi")
        yield _faster(case, "granian-asgi", 2, 2, "loomlet-asgi")
        yield _faster(case, "uvicorn", 3, 3, "loomlet-asgi")
        yield _cheaper(f"json N={count}", "nginx", 0.5, 0.6)
    threads = ("gunicorn-64",)
    for case in ("waiting N=64", "arriving N=1000", "arriving N=4000"):
        yield _cheaper(case, "uvicorn", 1.5, 2.5, "loomlet-wsgi")
        yield _cheaper(case, "gunicorn-16", 4, 8, "loomlet-wsgi", others=threads)
    yield _cheaper("fortunes N=64", "uvicorn", 1.0, 1.3, "loomlet-wsgi")
    yield _cheaper("fortunes N=64", "gunicorn-16", 1.5, 2, "loomlet-wsgi", others=threads)


def _protocols() -> Iterator[Target]:
    yield _cheaper("tls N=64", "nginx", 0.6, 0.8)
    yield _cheaper("handshakes N=64", "nginx", 0.7, 0.9)
    for ours in ("loomlet", "loomlet-asgi"):
        yield _faster("streams N=100", "hypercorn", 1.5, 2, ours)
        yield _faster("websocket N=64", "uvicorn", 1.5, 3, ours)


def _crowds() -> Iterator[Target]:
    """Memory of many connections, and too many requests."""
    for case, must, aim in (("idle N=10000", 1024, 512), ("held N=10000", 3072, 1536)):
        over = ("loomlet", case, "B")
        yield Target(f"{case}, bytes for each", "http", over, None, must, aim, at_least=False)
    case = "overload N=10"
    for ours in _PLAIN:
        answered, best = (ours, case, "/s"), (ours, f"{case} best", "/s")
        what = f"{case} of {ours}: answered / best"
        yield Target(what, "http", answered, best, 0.8, 1, at_least=True)
        crowded, normal = (ours, f"{case} crowded", "B"), (ours, f"{case} normal", "B")
        what = f"{case} of {ours}: memory / normal"
        yield Target(what, "http", crowded, normal, 1.5, 1.2, at_least=False)


def _quick_beside() -> Iterator[Target]:
    """Nobody waits for a request that computes for ever; slices are of 5 ms."""
    for case, systems in (
        ("beside N=8", _PLAIN),
        ("beside file N=8", (*_PLAIN, "loomlet-asgi")),
        ("beside status N=8", ("loomlet-wsgi", "loomlet-asgi")),
    ):
        for ours in systems:
            over, what = (ours, f"{case} p99", "ns"), f"{case} p99 of {ours}, ns"
            yield Target(what, "http", over, None, 15e6, 8e6, at_least=False)


def _files() -> Iterator[Target]:
    cached = ("nginx-cache",)
    for count in _MANY[:2]:
        case = f"file N={count}"
        yield _cheaper(case, "nginx", 1.05, 1.2, others=cached)
        yield _faster(case, "http-server", 15, 15)
        yield _faster(case, "http.server-1.1", 25, 25, others=("http.server",))
        yield _cheaper(f"large N={count}", "nginx", 0.95, 1.0, others=cached)
        yield _cheaper(f"folder N={count}", "nginx", 0.8, 1.0, others=cached)
    for kind, others in (("file", cached), ("plain", ())):
        yield _steady(f"{kind} N=8", "nginx", "p99", 2, 1.2, others=others)
        yield _steady(f"{kind} N=8", "nginx", "stdev", 1.5, 1.2, others=others)
        yield from _crowd(f"{kind} N=512")
    for ours in _PLAIN:
        size, time = (ours, "start", "B"), (ours, "start", "ns")
        yield Target(f"bytes of {ours}, idle", "http", size, None, 25 << 20, 18 << 20, False)
        yield Target(f"ns until {ours} answers", "http", time, None, 200e6, 120e6, False)


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
    *_waits(),
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
    *_later_rounds(),
    *_gils(),
    *_founding_server(),
    *_syncs(),
    *_exceptions(),
    *_dynamic(),
    *_files(),
    *_protocols(),
    *_crowds(),
    *_quick_beside(),
    Target("resume after a move / local", "freeze", _MOVED, _LOCAL, 2, 1.1, at_least=False),
)


def judge(document: Document) -> Iterator[Verdict]:
    """The verdict on every promise about this result's experiment."""
    for target in TARGETS:
        if target.experiment == document.experiment:
            yield Verdict(target, _quotient(document, target))


def _quotient(document: Document, target: Target) -> float | None:
    found = [_single(document, *keys) for keys in target.variants()]
    known = [each for each in found if each is not None]
    if not known:
        return None
    return min(known) if target.at_least else max(known)


def _single(document: Document, one: Key, other: Key | None) -> float | None:
    over = document.find(*one)
    under = document.find(*other) if other else None
    if over is None or (other and under is None):
        return None
    return _paired(over, under) if under else over.median


def _paired(over: Row, under: Row) -> float | None:
    if found := rounds.ratio_of_each(over, under):
        return statistics.median(found)
    return over.median / under.median if under.median else None


def ours(document: Document, row: Row) -> Row | None:
    """Our row that a row is compared with; the hard switch where there is no soft one, and the
    application for WSGI where no handler takes part."""
    found = document.find("loomlet", row.case, row.unit)
    if found is None and row.case == _SOFT[1]:
        return document.find("loomlet", "frame switch hard", row.unit)
    return found or document.find("loomlet-wsgi", row.case, row.unit)
