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

from collections.abc import Sequence
from typing import Any

from loomlet.bench import rounds, thread_cases
from loomlet.bench.model import Cell, Document, Experiment, Job
from loomlet.bench.thread_cases import parse, rate, samples

NAME = "sync"
SYSTEMS = ("loomlet", "threads")
PAIRS = ("lock", "semaphore", "condition", "event", "queue", "simplequeue", "stream")
ALONE = ("alone lock", "alone queue", "alone simplequeue")
PROGRAMS = ("pool", "pool map", "jobs")
KINDS = (*PAIRS, *ALONE, *PROGRAMS)
EXAMPLE = "'lock' or 'lock N=1'"
RUNS, QUICK = 30, 5
SECONDS = 0.2


def cells(quick: bool, wanted: Sequence[str]) -> list[Cell]:
    """A cell for each primitive and number of threads that compute.

    Lock and condition, which are compared with each other, share one: all of their runs take turns.
    """
    beside = [f"{kind} N={count}" for count in (1, 2) for kind in PAIRS]
    together: dict[str, list[str]] = {}
    for case in wanted or (*PROGRAMS, *PAIRS, *ALONE, *beside):
        together.setdefault(case.replace("condition", "lock"), []).append(case)
    return [_cell(cases, quick) for cases in together.values()]


def _cell(cases: Sequence[str], quick: bool) -> Cell:
    jobs = [Job(NAME, system, case, _given(case, system)) for case in cases for system in SYSTEMS]
    return Cell(", ".join(cases), QUICK if quick else RUNS, jobs)


def _given(case: str, system: str) -> dict[str, Any]:
    kind, computing = parse(case, KINDS, EXAMPLE, alone=True)
    ours = system == "loomlet"
    return {"kind": kind, "computing": computing, "seconds": SECONDS, "ours": ours}


def notes(document: Document) -> list[str]:
    """Ours divided by standard, and our condition by our lock, in each round."""
    condition, lock = (document.find("loomlet", case, "/s") for case in ("condition", "lock"))
    found = rounds.in_words("loomlet: condition / lock", condition, lock)
    return [*thread_cases.notes(document), *found]


EXPERIMENT = Experiment(
    NAME,
    "plain threads with install(sync=True), and without",
    SYSTEMS,
    cells,
    samples,
    rate,
    notes=notes,
)
