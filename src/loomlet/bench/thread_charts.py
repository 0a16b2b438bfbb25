"""The pictures of `heap`, `gilecho`, `giltest` and `testserver`: bars in groups.

The founding documents draw requests, and numbers handed over, against how many threads compute
beside; so a group is a number of those threads and a bar is a system. How long answers take is
drawn as lines, from the median to the 99th percentile. Called by `charts`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from loomlet.bench.drawing import COLOURS, Chart, delays, groups
from loomlet.bench.model import Document, Row

ROUNDS = {"": "first round", " later": "later rounds"}
SHADES = {**COLOURS, "first round": "#0b5cad", "later rounds": "#9ecae1"}


@dataclass(frozen=True)
class Grouped:
    """A picture of the rows whose case fits `pattern`; the pattern's first group names the group.

    series: what a bar is called, by the pattern's second group; without it, the system.
    """

    title: str
    experiment: str
    pattern: str
    unit: str
    series: Mapping[str, str] = field(default_factory=dict)


_LISTS = "(report|many lists|one list)"
_CROWDS = r"rounds (N=\d+(?: deep| hard)?)( later)?"

PICTURES: Sequence[Grouped] = (
    Grouped("Time of a tasklet in a crowd, by rounds", "heap", _CROWDS, "ns", ROUNDS),
    Grouped("Memory of a tasklet that waits, by rounds", "heap", _CROWDS, "B", ROUNDS),
    Grouped("Lists that grow: processor time of all rounds", "heap", _LISTS, "s"),
    Grouped("Lists that grow: the most that was resident", "heap", f"{_LISTS} peak", "B"),
    Grouped("Lists that grow: what stays when all is freed", "heap", f"{_LISTS} left", "B"),
    Grouped(
        "Requests of a client that thinks, beside N threads that compute",
        "gilecho",
        r"think (N=\d)",
        "/s",
    ),
    Grouped(
        "What N threads that compute keep beside such a client",
        "gilecho",
        r"think (N=\d) kept",
        "%",
    ),
    Grouped(
        "Requests of a client that does not think, beside N threads that compute",
        "gilecho",
        r"full (N=\d)",
        "/s",
    ),
    Grouped("What the N threads keep then", "gilecho", r"full (N=\d) kept", "%"),
    Grouped(
        "A blocking call, and a value of a plain thread, beside a thread that computes",
        "gilecho",
        r"((?:calls|send) N=\d)",
        "/s",
    ),
    Grouped("What N threads compute together, of what one does", "gilecho", r"even (N=\d)", "%"),
    Grouped(
        "What N threads compute together, of what one does", "giltest", r"computing (N=\d)", "%"
    ),
    Grouped(
        "Numbers handed over by two locks, beside N threads that compute",
        "giltest",
        r"lock (N=\d)",
        "/s",
    ),
    Grouped("What the N threads keep beside the locks", "giltest", r"lock (N=\d) kept", "%"),
    Grouped(
        "Numbers handed over by a condition, beside N threads that compute",
        "giltest",
        r"condition (N=\d)",
        "/s",
    ),
    Grouped(
        "What the N threads keep beside the condition", "giltest", r"condition (N=\d) kept", "%"
    ),
    Grouped(
        "Requests of a client that thinks, beside N threads that compute",
        "giltest",
        r"echo (N=\d)",
        "/s",
    ),
    Grouped(
        "Requests of p clients at once, beside N threads that compute",
        "testserver",
        r"(p=\d+ N=\d)",
        "/s",
    ),
    Grouped("What the N threads keep", "testserver", r"(p=\d+ N=\d) kept", "%"),
    Grouped("Processor time of the server for a request", "testserver", r"(p=\d+ N=\d) cpu", "ns"),
)


def draw(document: Document) -> list[Chart]:
    """The pictures of this result, if it is of one of these experiments."""
    mine = [each for each in PICTURES if each.experiment == document.experiment]
    found = [picture for each in mine for picture in _grouped(each, document)]
    return found + (_delays(document) if mine else [])


def _grouped(picture: Grouped, document: Document) -> list[Chart]:
    rows: dict[str, dict[str, Row]] = {}
    for row in document.rows:
        fits = re.fullmatch(picture.pattern, row.case)
        if fits and row.unit == picture.unit:
            name = picture.series[fits[2] or ""] if picture.series else row.system
            rows.setdefault(fits[1], {})[name] = row
    return [groups(picture.title, picture.experiment, rows, SHADES)] if rows else []


def _delays(document: Document) -> list[Chart]:
    """Of each case in which answers were timed."""
    cases = [row.case.removesuffix(" p50") for row in document.rows if row.case.endswith(" p50")]
    return [delays(document, case) for case in dict.fromkeys(cases)]
