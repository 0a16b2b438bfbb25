"""The few types that the rest of the bench uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

UNITS = ("ns", "s", "B", "%", "/s")


def is_ours(system: str) -> bool:
    """Whether it is loomlet, in one of its ways to serve if need be."""
    return system.partition("-")[0] == "loomlet"


class BenchError(Exception):
    """A benchmark cannot continue; the message says what is wrong and what to do."""


@dataclass(frozen=True)
class Job:
    """One process to run: a system doing one cell's work once.

    `scale` is above 1 where a slow system does a fraction of the work and its time is multiplied;
    `needs` is the memory in bytes that it will fill, and 0 where that does not matter.
    """

    experiment: str
    system: str
    case: str
    parameters: Mapping[str, Any]
    scale: int = 1
    needs: int = 0


@dataclass(frozen=True)
class Sample:
    """One measured value of one system in one case."""

    system: str
    case: str
    unit: str
    value: float
    scale: int = 1


@dataclass(frozen=True)
class Cell:
    """Jobs of different systems doing the same work; they take turns `runs` times.

    `lacks` names what this machine lacks for all of them: then none runs, and the result says so.
    """

    case: str
    runs: int
    jobs: Sequence[Job]
    lacks: Missing | None = None


@dataclass(frozen=True)
class Row:
    """The summary of all samples of a system in a case; `values` are they, round by round."""

    system: str
    case: str
    unit: str
    median: float
    min: float
    max: float
    runs: int
    scaled: int = 1
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class Missing:
    """A system that could not be measured, or could not in one case, and what to do about it."""

    system: str
    how: str
    case: str = ""


@dataclass(frozen=True)
class Column:
    """A figure that has a column of its own in the tables of an experiment with many of them.

    what: the word that ends the case of its rows, or nothing.  A value that is `marked_above` that
    gets a mark.  compared: the ratio to our own figure is that of this column; the first one in a
    table counts.  minor: a narrow terminal does without it.
    """

    heading: str
    what: str
    unit: str
    marked_above: float | None = None
    compared: bool = False
    minor: bool = False


@dataclass(frozen=True)
class Experiment:
    """What one experiment file offers.

    `cells(quick, wanted)` gives the work for all systems it knows, `wanted` being the cases asked
    for by hand (empty: the usual ones). `samples(job, output)` checks what a process printed and
    turns it into samples. `rate(row)` is a row's rate in words, for the printed table, and
    `printed(row)` whether the terminal shows the row at all; results and report hold every row.
    `label(row)` is the case as the tables name it. With `columns` the tables have a line for each
    system instead of one for each row, and `notes(document)` are the lines below them.
    """

    name: str
    summary: str
    systems: Sequence[str]
    cells: Callable[[bool, Sequence[str]], list[Cell]]
    samples: Callable[[Job, Mapping[str, Any]], list[Sample]]
    rate: Callable[[Row], str]
    printed: Callable[[Row], bool] = lambda row: True
    label: Callable[[Row], str] = lambda row: row.case
    columns: Sequence[Column] = ()
    notes: Callable[[Document], Sequence[str]] = lambda document: ()


@dataclass(frozen=True)
class Document:
    """The outcome of one experiment, as it is stored."""

    experiment: str
    python: str
    machine: Mapping[str, Any]
    rows: Sequence[Row]
    missing: Sequence[Missing] = field(default_factory=tuple)

    def find(self, system: str, case: str, unit: str) -> Row | None:
        """The row of that system, case and unit, if it was measured."""
        for row in self.rows:
            if (row.system, row.case, row.unit) == (system, case, unit):
                return row
        return None
