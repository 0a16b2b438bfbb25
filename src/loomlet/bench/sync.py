"""sync: programs of plain threads with the names of `threading` and `queue`, ours and standard.

Two threads that answer each other, by the primitive in the case:

    lock, semaphore, condition, event, queue, simplequeue
    stream           one puts into a bounded queue, the other one gets

`N=1` and `N=2` behind it: beside so many threads that compute. Without another thread:

    alone lock       acquire() and release()
    alone queue      put() and get(); so too `alone simplequeue`

Programs of the standard library:

    pool             a ThreadPoolExecutor of four: submit(...).result(), one after the other
    pool map         the same: map() of a function that does nothing
    jobs             four workers get jobs from a bounded queue, put results into another one, and
                     say that a job is done; the main thread joins the queue

All rows are how often that was done in a second. A process does one case for a moment; the systems
take turns 30 times. The program is the same in all: it imports `threading` and `queue`. `loomlet`
calls `patch.install(sync=True)` first, `threads` does not know loomlet.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from loomlet.bench.measure import number
from loomlet.bench.model import BenchError, Cell, Document, Experiment, Job, Row, Sample

NAME = "sync"
SYSTEMS = ("loomlet", "threads")
PAIRS = ("lock", "semaphore", "condition", "event", "queue", "simplequeue", "stream")
ALONE = ("alone lock", "alone queue", "alone simplequeue")
PROGRAMS = ("pool", "pool map", "jobs")
RUNS, QUICK = 30, 5
SECONDS = 0.2


def parse(case: str) -> tuple[str, int]:
    """The kind of work, and how many threads compute; BenchError for other words."""
    found = re.fullmatch(r"([a-z ]+?)(?: N=(\d))?", case)
    if not found or found[1] not in (*PAIRS, *ALONE, *PROGRAMS):
        raise BenchError(f"expected a case like 'lock' or 'lock N=1', found {case!r}")
    return found[1], int(found[2] or 0)


def cells(quick: bool, wanted: Sequence[str]) -> list[Cell]:
    """A cell for each primitive and number of threads that compute."""
    beside = [f"{kind} N={count}" for count in (1, 2) for kind in PAIRS]
    return [_cell(case, quick) for case in wanted or (*PROGRAMS, *PAIRS, *ALONE, *beside)]


def _cell(case: str, quick: bool) -> Cell:
    kind, computing = parse(case)
    known = {"kind": kind, "computing": computing, "seconds": SECONDS}
    jobs = [Job(NAME, each, case, {**known, "ours": each == "loomlet"}) for each in SYSTEMS]
    return Cell(case, QUICK if quick else RUNS, jobs)


def samples(job: Job, output: Mapping[str, Any]) -> list[Sample]:
    """How often in a second; that all was done is checked by the program."""
    done, seconds = number(output, "done"), number(output, "seconds")
    if not done or not seconds:
        raise BenchError(f"expected something to be done, found {output!r}")
    return [Sample(job.system, job.case, "/s", done / seconds)]


def notes(document: Document) -> list[str]:
    """Ours divided by standard in each round: the median and the quartiles."""
    found = []
    for row in document.rows:
        other = document.find("threads", row.case, row.unit)
        if row.system == "loomlet" and other and len(other.values) == len(row.values) > 1:
            ratios = [one / two for one, two in zip(row.values, other.values, strict=True)]
            low, middle, high = statistics.quantiles(ratios, n=4)
            words = f"{middle:.2f} ({low:.2f} to {high:.2f})"
            found.append(f"{row.case}: loomlet / threads {words}, {len(ratios)} rounds")
    return found


def rate(row: Row) -> str:
    """Nothing: the rows are rates."""
    return ""


EXPERIMENT = Experiment(
    NAME,
    "plain threads with install(sync=True), and without",
    SYSTEMS,
    cells,
    samples,
    rate,
    notes=notes,
)
