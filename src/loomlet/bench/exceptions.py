"""exceptions: what tasklets leave of their exceptions, and how long the doctor searches.

Rows of loomlet; the program is `programs/exceptions_left.py`:

    caught, failed, chained, killed N=100000
                        %   of so many tasklets, that left an exception, a frame or a traceback
                            which only the collector could free
                        B   by which the process has grown, for each
    search N=1000000    ns  one `loomlet.observe.doctor()` in a process with so many objects

That the doctor finds what is kept, with the path to who keeps it, has no figure but a test for each
way to keep one (tests/behaviour/observing).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from loomlet.bench.measure import number
from loomlet.bench.model import BenchError, Cell, Experiment, Job, Row, Sample

NAME = "exceptions"
SYSTEMS = ("loomlet",)
LEAVING = ("caught", "failed", "chained", "killed")
SEARCH = "search N=1000000"
STEP = 1_000
"""Tasklets are made by so many."""


def parse(case: str) -> dict[str, Any]:
    """The parameters of that case; raises BenchError for other words."""
    found = re.fullmatch(r"(\w+) N=(\d+)", case)
    if not found or found[1] not in (*LEAVING, "search") or int(found[2]) % STEP:
        raise BenchError(
            f"expected a case like 'failed N=100000' or {SEARCH!r}, in thousands, found {case!r}"
        )
    if not int(found[2]):
        raise BenchError(f"expected a number above 0, found {case!r}")
    return {"kind": found[1], "count": int(found[2])}


def cells(quick: bool, wanted: Sequence[str]) -> list[Cell]:
    """A cell for each kind of tasklet, and one for the search."""
    cases = wanted or (*(f"{kind} N=100000" for kind in LEAVING), SEARCH)
    return [
        Cell(case, 1 if quick else 5, [Job(NAME, "loomlet", case, parse(case))]) for case in cases
    ]


def samples(job: Job, output: Mapping[str, Any]) -> list[Sample]:
    """What was left, or how long it took; that all have ended, and one was found, is checked."""
    count = job.parameters["count"]
    if job.parameters["kind"] == "search":
        if number(output, "found") < 1 or number(output, "objects") < count:
            raise BenchError(f"expected one exception among {count} objects, found {output!r}")
        return [Sample(job.system, job.case, "ns", number(output, "time"))]
    if number(output, "ended") != count:
        raise BenchError(f"expected {count} tasklets to end, found {output.get('ended')!r}")
    left = 100 * number(output, "left") / count
    grown = number(output, "bytes") / count
    return [
        Sample(job.system, job.case, "%", left),
        Sample(job.system, job.case, "B", grown),
    ]


def rate(row: Row) -> str:
    """None: what is left has no rate."""
    return ""


EXPERIMENT = Experiment(
    NAME,
    "what exceptions of tasklets leave, and the doctor's search",
    SYSTEMS,
    cells,
    samples,
    rate,
)
