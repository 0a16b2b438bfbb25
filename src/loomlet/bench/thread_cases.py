"""What `gilecho`, `giltest`, `testserver` and `sync` have in common: cases, rows and columns.

A case is a kind of work, and how many threads compute beside it: `lock N=1`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from loomlet.bench import rounds
from loomlet.bench.measure import number
from loomlet.bench.model import BenchError, Column, Document, Job, Row, Sample

FIGURES = {"done": "/s", "p50": "ns", "p99": "ns", "cpu": "ns", "kept": "%"}
"""What a program may print, and the units of these figures."""

TIMES = (Column("p50", "p50", "ns"), Column("p99", "p99", "ns"))
KEPT = Column("kept %", "kept", "%")


def parse(
    case: str, kinds: Collection[str], example: str, *, computing: str = "", alone: bool = False
) -> tuple[str, int]:
    """The kind of work, and how many threads compute; BenchError for other words.

    computing: the kind that is about the threads that compute, and needs one.  alone: a case may
    be only a kind; then none computes.
    """
    found = re.fullmatch(r"([a-z ]+?)(?: N=(\d))?", case)
    if not found or found[1] not in kinds or not (found[2] or alone):
        raise BenchError(f"expected a case like {example}, found {case!r}")
    if found[1] == computing and found[2] == "0":
        raise BenchError(f"expected a case like {example}, in which a thread computes")
    return found[1], int(found[2] or 0)


def samples(job: Job, output: Mapping[str, Any]) -> list[Sample]:
    """A row for each figure; a program that has done nothing is a failure.

    What threads compute together is per cent of what one does.
    """
    if number(output, "done") <= 0:
        raise BenchError(f"expected something to be done, found {output!r}")
    units = {**FIGURES, "done": "%"} if job.parameters.get("kind") == "even" else FIGURES
    return [
        Sample(job.system, _case(job.case, figure), unit, number(output, figure))
        for figure, unit in units.items()
        if figure in output
    ]


def _case(case: str, figure: str) -> str:
    return case if figure == "done" else f"{case} {figure}"


def rate(row: Row) -> str:
    """Nothing: what is a rate is a row."""
    return ""


def notes(document: Document) -> list[str]:
    """Our rate divided by that of plain threads, in each round."""
    return rounds.between_systems(document, "loomlet", "threads", "/s")
