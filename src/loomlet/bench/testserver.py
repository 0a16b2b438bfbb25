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
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from loomlet.bench.gilecho import WHATS, rate
from loomlet.bench.giltest import MODES, here
from loomlet.bench.measure import number
from loomlet.bench.model import BenchError, Cell, Column, Experiment, Job, Sample

NAME = "testserver"
SYSTEMS = ("loomlet", "no-priority", "prioritised", "threads", "interval")
OURS = SYSTEMS[:2]
CASES = ("p=1 N=0", "p=10 N=0", "p=1 N=1", "p=10 N=1", "p=10 N=2")
ROWS = {"cpu": "ns", **WHATS}


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
    known = {"parallel": parallel, "computing": count, "seconds": 0.5 if quick else 2}
    jobs = [
        Job(NAME, each, case, {**known, "mode": MODES.get(each, each), "ours": each in OURS})
        for each in here(SYSTEMS)
    ]
    return Cell(case, 3 if quick else 7, jobs)


def samples(job: Job, output: Mapping[str, Any]) -> list[Sample]:
    """The rows; a server that has answered nobody is a failure."""
    if number(output, "done") <= 0:
        raise BenchError(f"expected requests to be answered, found {output!r}")
    found = {"": ("/s", "done"), **{what: (unit, what) for what, unit in ROWS.items()}}
    return [
        Sample(job.system, f"{job.case} {what}".rstrip(), unit, number(output, key))
        for what, (unit, key) in found.items()
        if key in output
    ]


COLUMNS = (
    Column("requests /s", "", "/s", compared=True),
    Column("p50", "p50", "ns"),
    Column("p99", "p99", "ns"),
    Column("cpu", "cpu", "ns"),
    Column("kept %", "kept", "%"),
)

EXPERIMENT = Experiment(
    NAME,
    "a web server of threads, with stock primitives and with ours",
    SYSTEMS,
    cells,
    samples,
    rate,
    columns=COLUMNS,
)
