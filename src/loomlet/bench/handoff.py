"""handoff: C calls that wait, and what goes on beside them.

Slices are of ten milliseconds, and each row is measured with handoff (`loomlet`) and mostly without
(`no-handoff`), beside plain `threads` or another `process` where one of them does the same.

    call usleep               ns  the longest wait of 100 tickers during a C call of 0.3 s that
    call sqlite3                  nothing is known about: `p50` and `p99` of N calls
    call pbkdf2
    call nothing              ns  the same beside a sleep of loomlet's: what the machine adds
    learned usleep, …         ns  the same when a call of that function has been handed over
    beside queue, event       ns  the longest wait of ten workers during learned calls of 0.3 s
    beside main, asyncio          the same of main, and of an event loop
    passing over              ns  from the call of another thread to the first step there
    passing back              ns  from the end of the C call to the next line of its tasklet
    sleepers                  s   N tasklets, each in one C sleep of 0.1 s
    writers                   s   four threads, each N transactions in one file of SQLite
    django writes, reads      s   ten clients, each N requests of a site on SQLite
    requests                  s   ten threads, each N requests by the library of that name
    requests psycopg          s   the same, and a query of PostgreSQL after each
    … failed                  %   of these transactions or requests
    hard                      ns  a switch between tasklets that keep stacks in two threads
    turns threads, main       ns  a turn of two threads over queues, one of them main or not
    computing                 ns  a round of an own loop beside two threads that only compute
    computing taken           /s  handoffs that were in vain there
    echo long, short          ns  a request of N connections, while pbkdf2 runs in calls of 0.3 s
                                  or 0.015 s, in a tasklet or in another process

Each file in `programs/` explains at its head how it measures. The moment at which another
thread is called is known to the core alone, which notes it and counts: `_core._handoff_count()`.
All else is seen from outside. A case is any of these words, with `N=…` behind it for another
number.
"""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loomlet import _core
from loomlet.bench.measure import number
from loomlet.bench.model import BenchError, Cell, Experiment, Job, Missing, Row, Sample
from loomlet.bench.peers import DATABASE, POSTGRESQL, lacks

NAME = "handoff"
SYSTEMS = ("loomlet", "no-handoff", "threads", "process")
MODES = {"loomlet": "on", "no-handoff": "off", "threads": "threads", "process": "process"}
CANNOT = "handoff needs CPython 3.12 or later"
BOTH = SYSTEMS[:2]
PROGRAMS = SYSTEMS[:3]
LIMIT = 300
CALL = 0.3
FEW = 5  # calls that are not handed over: each stops all for its whole length


@dataclass(frozen=True)
class Work:
    """A kind of work: the file that does it, for whom, how much in full and quick, how often in
    full, what it needs, and what else the program is given."""

    room: str
    systems: Sequence[str]
    count: int
    quick: int
    runs: int = 3
    needs: tuple[str, ...] = ()
    known: Mapping[str, Any] | None = None


_CALL = Work("handoff_waits", BOTH, 200, 20, 1, known={"seconds": CALL})
_BESIDE = Work("handoff_waits", BOTH, 20, 5, known={"seconds": CALL})
_SWITCH = Work("handoff_switches", BOTH, 300, 100, known={"seconds": 3.0})
_PROGRAM = Work("handoff_programs", PROGRAMS, 60, 60)
_VARIES = replace(_PROGRAM, runs=15)  # by a tenth and more from run to run, however long each is
_ECHO = Work(  # varies, too
    "handoff_echo", ("loomlet", "process"), 64, 64, 7, known={"seconds": 3.0, "client": []}
)

KINDS: Mapping[str, Work] = {
    **{f"call {what}": _CALL for what in ("usleep", "sqlite3", "pbkdf2")},
    "call nothing": replace(_CALL, systems=BOTH[:1]),
    **{f"learned {what}": _CALL for what in ("usleep", "sqlite3", "pbkdf2")},
    **{f"beside {what}": _BESIDE for what in ("queue", "event", "main", "asyncio")},
    "passing": replace(_SWITCH, systems=BOTH[:1]),
    "sleepers": replace(_SWITCH, systems=("loomlet", "threads"), count=1000, quick=1000),
    "writers": replace(_PROGRAM, runs=5),
    "django writes": replace(_PROGRAM, count=20, quick=10, needs=("django",)),
    "django reads": replace(_VARIES, count=40, quick=10, needs=("django",)),
    "requests": replace(_VARIES, count=100, quick=50, needs=("requests",)),
    "requests psycopg": replace(
        _VARIES,
        count=100,
        quick=50,
        needs=("requests", "psycopg", POSTGRESQL),
        known={"database": os.environ.get(DATABASE, "")},
    ),
    "hard": replace(_SWITCH, count=20_000, quick=5_000),
    "turns threads": replace(_PROGRAM, count=10_000, quick=2_000),
    "turns main": replace(_PROGRAM, count=10_000, quick=2_000),
    "computing": replace(_SWITCH, count=2, quick=2, runs=61, known={"seconds": 1.0}),  # as _VARIES
    "echo long": replace(_ECHO, known={**(_ECHO.known or {}), "rounds": 1_200_000}),
    "echo short": replace(
        _ECHO, systems=(*BOTH, "process"), known={**(_ECHO.known or {}), "rounds": 60_000}
    ),
}


def parse(case: str) -> tuple[str, int | None]:
    """The kind of work, and the number that was asked for; BenchError for other words."""
    found = re.fullmatch(r"([a-z0-9 ]+?)(?: N=([1-9]\d*))?", case)
    if not found or found[1] not in KINDS:
        raise BenchError(f"expected a case like 'call usleep N=20', found {case!r}")
    return found[1], int(found[2]) if found[2] else None


def cells(quick: bool, wanted: Sequence[str]) -> list[Cell]:
    """A cell per work; where there is no handoff none of them runs."""
    return [_cell(case, quick) for case in wanted or KINDS]


def _cell(case: str, quick: bool) -> Cell:
    kind, count = parse(case)
    work = KINDS[kind]
    count = count or (work.quick if quick else work.count)
    jobs = [_job(case, kind, system, count, quick) for system in work.systems]
    return Cell(case, 1 if quick else work.runs, jobs, _lack(case, work))


def _lack(case: str, work: Work) -> Missing | None:
    if not _core._can_hand_over():
        return Missing("loomlet", CANNOT)
    for needed in work.needs:
        if why := lacks(needed):
            return Missing(needed, why, case)
    return None


def _job(case: str, kind: str, system: str, count: int, quick: bool) -> Job:
    work = KINDS[kind]
    if work.room == "handoff_waits" and system != "loomlet":
        count = min(count, FEW)
    known = dict(work.known or {})
    if quick and work.room in ("handoff_switches", "handoff_echo"):
        known["seconds"] = 1.0
    given = {"room": work.room, "limit": LIMIT, "kind": kind, "mode": MODES[system]}
    return Job(NAME, system, case, {**given, "count": count, **known})


def samples(job: Job, output: Mapping[str, Any]) -> list[Sample]:
    """The figures of the kind's program, once it has been checked that all was done."""
    room, count = job.parameters["room"], job.parameters["count"]

    def sample(what: str, unit: str, value: float) -> Sample:
        return Sample(job.system, f"{job.case} {what}".strip(), unit, value)

    if room == "handoff_waits":
        waits = sorted(_all_done(output.get("waits"), count))
        if job.parameters["kind"].startswith("beside"):
            return [sample("", "ns", waits[-1]), sample("p50", "ns", statistics.median(waits))]
        last = waits[len(waits) * 99 // 100]
        return [sample("p99", "ns", last), sample("p50", "ns", statistics.median(waits))]
    if room == "handoff_echo":
        _expect(output, "served", count)
        each = number(output, "seconds") * 1e9 / number(output, "requests")
        return [sample("", "ns", each)]
    if "asked" in output:
        asked, right = number(output, "asked"), number(output, "right")
        failed = sample("failed", "%", 100 * (asked - right) / asked)
        return [sample("", "s", number(output, "seconds")), failed]
    return [sample(*each) for each in _figures(job, output)]


def _figures(job: Job, output: Mapping[str, Any]) -> list[tuple[str, str, float]]:
    """Of what needs no sum."""
    kind, on = job.parameters["kind"], job.system == "loomlet"
    if kind == "passing":
        return [(what, "ns", number(output, what)) for what in ("over", "back")]
    if kind == "sleepers":
        _expect(output, "count", job.parameters["count"])
        return [("", "s", number(output, "seconds"))]
    if kind == "hard":
        _expect(output, "threads", 2 if on else 1)
    each = [("", "ns", number(output, "each"))]
    if kind == "computing":
        _expect(output, "own", 2)
        return [*each, ("taken", "/s", number(output, "taken"))]
    return each


def _expect(output: Mapping[str, Any], key: str, value: int) -> None:
    if output.get(key) != value:
        raise BenchError(f"expected {value} for {key!r}, found {output!r}")


def _all_done(waits: Any, count: int) -> list[float]:
    if not isinstance(waits, list) or len(waits) != count:
        raise BenchError(f"expected the waits of {count} calls, found {waits!r}")
    return waits


def rate(row: Row) -> str:
    """Requests in a second, of the servers."""
    return f"{1e9 / row.median:,.0f} /s" if row.case.startswith("echo") and row.median else ""


EXPERIMENT = Experiment(
    NAME, "C calls that wait, and who goes on beside them", SYSTEMS, cells, samples, rate
)
