"""testserver: a web server of threads under load, with stock primitives and with ours.

One thread accepts, ten others answer, and a queue lies between them; each request counts under a
lock. The server is that of `http.server`. The client is another process: P threads, each of which
makes a connection, asks, waits for the whole answer, and begins again. The cases, with N threads
that compute beside the server, in its process:

    p=1 N=0        P is 1, 10; N is 0, 1, 2

and their rows:

    (none)        /s  requests in a second
    p50, p99      ns  how long an answer took, the connection included
    cpu           ns  processor time of the server for a request; where nobody computes
    kept          %   how much the threads compute, of what they do before anybody asks

The systems are the same program, with threads of the operating system:

    system        queue and lock           threads that come back from I/O
    loomlet       loomlet.sync             loomlet.gil.prioritise_io()
    no-priority   loomlet.sync             wait, as those of the interpreter
    prioritised   queue and threading      loomlet.gil.prioritise_io()
    threads       queue and threading      wait
    interval      queue and threading      wait; the switch interval is a tenth of a millisecond

Without a GIL those that differ by their priority or interval only are left out.

Two runs of the same server differ by a tenth, whether they take 0.15 or 0.6 s, and ours from the
stock one by less. So runs are short and many, and the systems take turns. Below the table stands
the ratio of the two in each round: the median, and the quartiles.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from loomlet.bench.giltest import MODES, here
from loomlet.bench.model import BenchError, Cell, Column, Experiment, Job
from loomlet.bench.thread_cases import KEPT, TIMES, notes, rate, samples

NAME = "testserver"
SYSTEMS = ("loomlet", "threads", "no-priority", "prioritised", "interval")
OURS = ("loomlet", "no-priority")
ALONE, BESIDE = 0.2, 0.5
"""How many seconds a run takes, without and with threads that compute."""
QUICK, RUNS = 5, (75, 21)
CASES = ("p=1 N=0", "p=10 N=0", "p=1 N=1", "p=10 N=1", "p=10 N=2")


def parse(case: str) -> tuple[int, int]:
    """How many ask, and how many threads compute; BenchError for other words."""
    found = re.fullmatch(r"p=(\d+) N=(\d)", case)
    if not found or int(found[1]) < 1:
        raise BenchError(f"expected a case like 'p=10 N=1', found {case!r}")
    return int(found[1]), int(found[2])


def cells(quick: bool, wanted: Sequence[str]) -> list[Cell]:
    """A cell per pair of numbers."""
    return [_cell(case, quick) for case in wanted or CASES]


def _cell(case: str, quick: bool) -> Cell:
    parallel, count = parse(case)
    seconds = BESIDE if count else ALONE
    known = {"parallel": parallel, "computing": count, "seconds": seconds}
    jobs = [
        Job(NAME, each, case, {**known, "mode": MODES.get(each, each), "ours": each in OURS})
        for each in here(SYSTEMS)
    ]
    return Cell(case, QUICK if quick else RUNS[count > 0], jobs)


COLUMNS = (
    Column("requests /s", "", "/s", compared=True),
    *TIMES,
    Column("cpu", "cpu", "ns"),
    KEPT,
)

EXPERIMENT = Experiment(
    NAME,
    "a web server of threads, with stock primitives and with ours",
    SYSTEMS,
    cells,
    samples,
    rate,
    columns=COLUMNS,
    notes=notes,
)
