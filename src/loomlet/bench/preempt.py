"""preempt: how code that never yields is interrupted, beside threads.

Three spinners that only compute, and then one beside a tasklet that yields all the time, at slices
of ten milliseconds, five, one, and a tenth. The rows of each:

    turn          how long a spinner runs, the median; the slice, ideally
    uneven        by how many per cent the luckiest or unluckiest spinner's share is off a third
    wait          the longest that the yielding one waited for its turn beside a spinner
    wait p99      and the 99th percentile
    request p50   from the moment that the end of a slice is wanted to the switch, the median
    request p99   and the 99th percentile

Threads are asked for the same by sys.setswitchinterval() and show no requests. gevent, asyncio and
greenlet cannot take part: a loop freezes them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from loomlet.bench.measure import number
from loomlet.bench.model import BenchError, Cell, Experiment, Job, Row, Sample

NAME = "preempt"
SYSTEMS = ("loomlet", "threads")
SLICES = ("0.01", "0.005", "0.001", "0.0001")
WHATS = {
    "turn": "ns",
    "uneven": "%",
    "wait": "ns",
    "wait p99": "ns",
    "request p50": "ns",
    "request p99": "ns",
}


def parse(case: str) -> float:
    """The slice of that case, in seconds; raises BenchError for other words."""
    found = re.fullmatch(r"slice=(\d+(?:\.\d+)?)", case)
    if not found or float(found[1]) <= 0:
        raise BenchError(f"expected a case like 'slice=0.001', found {case!r}")
    return float(found[1])


def cells(quick: bool, wanted: Sequence[str]) -> list[Cell]:
    """A cell per slice."""
    chosen = list(wanted) or [f"slice={each}" for each in SLICES]
    return [_cell(case, quick) for case in chosen]


def _cell(case: str, quick: bool) -> Cell:
    parameters = {"slice": parse(case), "seconds": 0.5 if quick else 2.0}
    return Cell(case, 3, [Job(NAME, system, case, parameters) for system in SYSTEMS])


def samples(job: Job, output: Mapping[str, Any]) -> list[Sample]:
    """One per row; a spinner that never ran is a failure."""
    if output.get("spinners") != 3:
        raise BenchError(f"expected turns of 3 spinners, found {output!r}")
    return [
        Sample(job.system, f"{job.case} {what}", unit, number(output, what))
        for what, unit in WHATS.items()
        if what in output
    ]


def rate(row: Row) -> str:
    """Turns in a second."""
    return f"{1e9 / row.median:,.0f} /s" if row.case.endswith(" turn") and row.median else ""


EXPERIMENT = Experiment(
    NAME, "code that never yields: turns, fairness, waits", SYSTEMS, cells, samples, rate
)
