"""gilecho: a server beside threads that compute, in one process with one GIL.

A client in another process sends 64 bytes, waits for them to come back, and thinks for a
millisecond, or not at all. The cases, with N threads that compute:

    think N=1     the client thinks between two requests; N is 0, 1, 2
    full N=1      it does not: the server has something to do all the time; N is 1, 2
    calls N=1     no client: a blocking call of a function that does nothing, one after the other;
                  N is 0, 1
    send N=1      no client: values of a plain thread, one each millisecond, to a waiting tasklet;
                  N is 0, 1
    even N=2      no client: how much N threads compute together, of what one does alone

and their rows:

    (none)        /s  requests or calls in a second; for `even`, %
    p50, p99      ns  how long an answer, a call, a value took
    kept          %   how much the threads compute, of what they do while nobody asks

The systems: `loomlet` serves with tasklets, and `no-priority` does the same with a share of
nothing; `prioritised` are plain threads with `loomlet.gil.prioritise_io()`, `threads` are plain
threads without, and `interval` with a switch interval of a tenth of a millisecond. `futex` is a
yardstick for calls and values: two processes that wake each other, with as long a pause in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loomlet import _core
from loomlet.bench.model import Cell, Experiment, Job, Missing
from loomlet.bench.thread_cases import notes, parse, rate, samples

NAME = "gilecho"
SERVERS = ("loomlet", "no-priority", "prioritised", "threads", "interval")
SYSTEMS = (*SERVERS, "futex")
KINDS = ("think", "full", "calls", "send", "even")
CASES: Mapping[str, Sequence[str]] = {
    "think N=0": SERVERS[:4],
    "think N=1": SERVERS,
    "think N=2": SERVERS,
    "full N=1": SERVERS,
    "full N=2": ("loomlet", "prioritised", "threads"),
    "calls N=0": ("loomlet", "futex"),
    "calls N=1": ("loomlet", "no-priority"),
    "send N=0": ("loomlet", "futex"),
    "send N=1": ("loomlet", "no-priority"),
    "even N=2": ("prioritised", "threads"),
}
QUICK, FULL = 0.5, 0.6  # seconds
EXAMPLE = "'think N=1'"


def cells(quick: bool, wanted: Sequence[str]) -> list[Cell]:
    """A cell per kind and number; where there is no GIL none of them runs."""
    return [_cell(case, quick) for case in wanted or CASES]


def _cell(case: str, quick: bool) -> Cell:
    kind, count = parse(case, KINDS, EXAMPLE, computing="even")
    systems = CASES.get(case) or CASES[f"{kind} N={2 if kind == 'even' else 1}"]
    given = {"kind": kind, "computing": count, "seconds": QUICK if quick else FULL}
    jobs = [Job(NAME, system, case, {"mode": system, **given}) for system in systems]
    lacks = None if _core._has_gil() else Missing("loomlet", "there is no GIL to wait for")
    return Cell(case, 3 if quick else 7, jobs, lacks)


EXPERIMENT = Experiment(
    NAME,
    "a server beside threads that compute",
    SYSTEMS,
    cells,
    samples,
    rate,
    notes=notes,
)
