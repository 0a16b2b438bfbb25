"""memory: what a blocked tasklet takes, and what it costs to make one and to let it end.

A process blocks N tasks in a receive on one shared channel (greenlet, tealet, generator: in a
switch away), wakes them all, lets them end, and does the same again, three times over. For each
round the rows are

    N=…                     B    resident bytes per blocked task, its own object included
    N=…                     ns   to create it and run it up to where it blocks
    finish N=…              ns   to wake it and run it to its end

`round=2` and `round=3` after the size mark the later rounds in the same process: their bytes count
from before the first round, so that what was not given back shows. `context` marks a run in which
a context variable had been set before the tasks were made.

Peers that fill gigabytes are left out, and named, where the machine has no room for them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loomlet.bench.measure import number
from loomlet.bench.model import BenchError, Cell, Experiment, Job, Row, Sample

NAME = "memory"
SYSTEMS = (
    "loomlet",
    "greenlet",
    "tealet",
    "gevent",
    "asyncio",
    "uvloop",
    "generator",
    "go",
    "erlang",
)
WITH_CONTEXT = ("loomlet", "greenlet", "gevent", "asyncio")
MILLION = 1_000_000
QUICK_MILLION = ("loomlet", "asyncio", "generator", "go", "erlang")
ROUNDS = 3

# Bytes to expect per task at most, to find out beforehand whether a run fits the machine.
EXPECTED = {
    "loomlet": 1_500,
    "greenlet": 6_500,
    "tealet": 6_800,
    "gevent": 8_800,
    "asyncio": 1_500,
    "uvloop": 1_500,
    "generator": 600,
    "go": 3_200,
    "erlang": 4_000,
}


@dataclass(frozen=True)
class Size:
    """How many tasks, and whether a context variable is set before they are made."""

    count: int
    context: bool = False

    @property
    def case(self) -> str:
        """Its name in the results, for the first round."""
        return f"N={self.count}" + (" context" if self.context else "")


def parse(case: str) -> Size:
    """The size of that name, any count; raises BenchError for other words."""
    found = re.fullmatch(r"N=(\d+)( context)?", case)
    if not found or int(found[1]) < 1:
        raise BenchError(f"expected a case like 'N=1000' or 'N=1000 context', found {case!r}")
    return Size(int(found[1]), bool(found[2]))


def cells(quick: bool, wanted: Sequence[str]) -> list[Cell]:
    """A cell per size, for the systems that have it."""
    chosen = [parse(case) for case in wanted] or _sizes(quick)
    return [_cell(size, quick) for size in chosen]


def _sizes(quick: bool) -> list[Size]:
    if quick:
        return [Size(100_000), Size(100_000, context=True), Size(MILLION)]
    counts = [Size(10_000), Size(100_000), Size(MILLION)]
    return [*counts, Size(100_000, context=True)]


def _cell(size: Size, quick: bool) -> Cell:
    """With --quick, each system runs once, and the peers do one round of the work."""
    jobs = [
        _job(system, size, 1 if quick and system != "loomlet" else ROUNDS)
        for system in _systems(size, quick)
    ]
    return Cell(size.case, 1 if quick else 3, jobs)


def _systems(size: Size, quick: bool) -> Sequence[str]:
    if size.context:
        return ("loomlet",) if quick else WITH_CONTEXT
    return QUICK_MILLION if quick and size.count >= MILLION else SYSTEMS


def _job(system: str, size: Size, rounds: int) -> Job:
    parameters = {"count": size.count, "rounds": rounds, "context": size.context}
    return Job(NAME, system, size.case, parameters, needs=EXPECTED[system] * size.count)


def samples(job: Job, output: Mapping[str, Any]) -> list[Sample]:
    """Bytes, time to create and time to finish, for every round."""
    rounds = output.get("rounds")
    if not isinstance(rounds, list) or len(rounds) != job.parameters["rounds"]:
        raise BenchError(f"expected {job.parameters['rounds']} rounds, found {rounds!r}")
    found = []
    for index, each in enumerate(rounds, 1):
        case = job.case if index == 1 else f"{job.case} round={index}"
        found.append(Sample(job.system, case, "B", number(each, "bytes")))
        found.append(Sample(job.system, case, "ns", number(each, "create")))
        found.append(Sample(job.system, f"finish {case}", "ns", number(each, "finish")))
    return found


def rate(row: Row) -> str:
    """Tasks in a second, or megabytes for a million of them (MB/M)."""
    if row.unit == "B":
        return f"{row.median:,.0f} MB/M"
    return f"{1e6 / row.median:,.0f} k/s"


def printed(row: Row) -> bool:
    """The first rounds only: the later ones would treble the table to say the same."""
    return "round=" not in row.case


def label(row: Row) -> str:
    """The case, and which of its figures this is."""
    if row.case.startswith("finish"):
        return row.case
    return f"{'size' if row.unit == 'B' else 'create'} {row.case}"


EXPERIMENT = Experiment(
    NAME,
    "bytes per blocked tasklet, and the time to create one",
    SYSTEMS,
    cells,
    samples,
    rate,
    printed,
    label,
)
