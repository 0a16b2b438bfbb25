"""freeze: a suspended tasklet as bytes, beside what a pickled closure costs.

Rows of loomlet, each with its bytes, the time to freeze and the time to thaw:

    depth 1, 5, 20     a tasklet that waits for a channel below so many Python calls; its functions
                       can be imported, so they go by reference
    handler            a request handler half-way: a closure, a loop over an iterator, a try
    depth 1 by value   the first again, with functions that cannot be imported

and, for moving a tasklet to another OS thread without bytes:

    local resume       insert() and one switch there and back, in turns of many tasklets
    moved resume       the same after bind_thread(), on the other of two threads, in turns with it

The peers, cloudpickle and dill, save a bare closure under `closure`: a function with one variable,
which does not run. The reference implementation of Stackless takes 495 bytes for a small tasklet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loomlet.bench.measure import number
from loomlet.bench.model import BenchError, Cell, Experiment, Job, Row, Sample

NAME = "freeze"
SYSTEMS = ("loomlet", "cloudpickle", "dill")
UNITS = {"bytes": "B", "save": "ns", "load": "ns", "resume": "ns"}


def cells(quick: bool, wanted: Sequence[str]) -> list[Cell]:
    """One cell: each system measures all its rows in each of its processes."""
    if wanted:
        raise BenchError("freeze measures all its rows at once; leave --case out")
    jobs = [Job(NAME, system, "", {"repeats": 9 if quick else 25}) for system in SYSTEMS]
    return [Cell("", 3 if quick else 15, jobs)]


def samples(job: Job, output: Mapping[str, Any]) -> list[Sample]:
    """A sample per row; none where this Python cannot freeze."""
    rows = output.get("rows")
    if not isinstance(rows, dict) or not all(row.split()[-1] in UNITS for row in rows):
        raise BenchError(f"expected rows that end with one of {', '.join(UNITS)}, found {output!r}")
    return [Sample(job.system, row, UNITS[row.split()[-1]], number(rows, row)) for row in rows]


def rate(row: Row) -> str:
    """Calls in a second."""
    return f"{1e6 / row.median:,.0f} k/s" if row.unit == "ns" and row.median else ""


EXPERIMENT = Experiment(NAME, "a tasklet as bytes and back", SYSTEMS, cells, samples, rate)
