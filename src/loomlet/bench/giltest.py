"""giltest: threads that compute, and threads that hand over to each other beside them.

The cases, with N threads that compute, all in one process:

    computing N=2     what N threads compute together, of what one does alone; N is 2, 4
    lock N=1          a thread hands numbers over to another one, by two locks; N is 0, 1, 2
    condition N=1     the same by one condition
    echo N=1          an echo server of threads; the client, in another process, thinks for a
                      millisecond between two requests

and their rows:

    (none)        /s  numbers handed over, or requests, in a second; for `computing`, %
    p50, p99      ns  how long an answer took
    kept          %   how much the threads compute, of what they do before the others begin

The systems are threads of the operating system under all names: `threads` with the standard
library's primitives, `interval` the same with a switch interval of a tenth of a millisecond;
`loomlet` with the primitives of `loomlet.sync`, after `loomlet.gil.prioritise_io()`, and
`no-priority` with the same primitives and a share of nothing.

Two threads that hand over to each other may by luck keep the GIL between them, until one of them
has to wait for it once; then each number waits for the switch interval. So each run is short, there
are many, and the median counts; `echo` is steadier, because its client thinks. How a server of
tasklets does in the same test is shown by `gilecho`, with which this shares its programs.

Without a GIL the systems that differ by their priority or interval only are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loomlet import _core
from loomlet.bench.model import Cell, Column, Experiment, Job
from loomlet.bench.thread_cases import KEPT, TIMES, notes, parse, rate, samples

NAME = "giltest"
EXAMPLE = "'condition N=1'"
SYSTEMS = ("loomlet", "no-priority", "threads", "interval")
WITHOUT_GIL = ("loomlet", "threads")
OURS = SYSTEMS[:2]
MODES = {"loomlet": "prioritised"}
"""How the program `gil_echo` calls what the system does about the GIL, where the names differ."""

KINDS: Mapping[str, tuple[Sequence[str], Sequence[int]]] = {
    "computing": (("loomlet", "threads", "interval"), (2, 4)),
    "lock": (SYSTEMS, (0, 1, 2)),
    "condition": (SYSTEMS, (0, 1, 2)),
    "echo": (("loomlet", "threads", "interval"), (0, 1, 2)),
}
PROGRAMS = {"computing": "even", "echo": "think"}
"""The kinds that the program `gil_echo` has, by its own names."""


def cells(quick: bool, wanted: Sequence[str]) -> list[Cell]:
    """A cell per kind and number."""
    usual = [f"{kind} N={count}" for kind, (_, counts) in KINDS.items() for count in counts]
    return [_cell(case, quick) for case in wanted or usual]


def _cell(case: str, quick: bool) -> Cell:
    kind, count = parse(case, KINDS, EXAMPLE, computing="computing")
    known = {"kind": PROGRAMS.get(kind, kind), "computing": count, "seconds": 0.3 if quick else 1}
    jobs = [Job(NAME, each, case, {**known, **_ways(each)}) for each in here(KINDS[kind][0])]
    return Cell(case, 3 if quick else 9, jobs)


def here(systems: Sequence[str]) -> list[str]:
    """Those of the systems that differ on this interpreter."""
    return [each for each in systems if _core._has_gil() or each in WITHOUT_GIL]


def _ways(system: str) -> dict[str, Any]:
    return {"mode": MODES.get(system, system), "ours": system in OURS}


COLUMNS = (
    Column("a second", "", "/s", compared=True),
    Column("together %", "", "%", compared=True),
    *TIMES,
    KEPT,
)

EXPERIMENT = Experiment(
    NAME,
    "threads that compute, beside threads that hand over",
    SYSTEMS,
    cells,
    samples,
    rate,
    columns=COLUMNS,
    notes=notes,
)
