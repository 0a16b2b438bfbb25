"""Rows side by side, for an experiment that measures many things of a system in a case.

A result keeps one row per figure, and the figure's name ends the row's case: `plain N=64 p99`. The
tables of most experiments have a line for each row. Where an experiment names `columns`, they have
a table for each case instead, a line for each system, and the figures next to each other. A column
that has no figure in a case is left out there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from loomlet.bench import format
from loomlet.bench.model import Column, Document, Experiment, Row
from loomlet.bench.targets import ours

__all__ = ["RATIO", "Board", "boards"]

RATIO = "x ours"


@dataclass(frozen=True)
class Board:
    """A table: its case, its headings, and for each system the words below them."""

    case: str
    headings: Sequence[str]
    lines: Mapping[str, Sequence[str]]


def boards(document: Document, experiment: Experiment) -> Iterator[Board]:
    """A table for each case."""
    found: dict[str, dict[str, dict[Column, Row]]] = {}
    for row in document.rows:
        case, column = _place(row, experiment.columns)
        if column:
            found.setdefault(case, {}).setdefault(row.system, {})[column] = row
    for case, systems in found.items():
        used = [
            each for each in experiment.columns if any(each in line for line in systems.values())
        ]
        lines = {name: _line(document, line, used) for name, line in systems.items()}
        yield Board(case, [each.heading for each in used] + [RATIO], lines)


def _place(row: Row, columns: Sequence[Column]) -> tuple[str, Column | None]:
    """The case without the figure's name, and the column; the names first, then those without."""
    for column in sorted(columns, key=lambda each: not each.what):
        case = row.case.removesuffix(f" {column.what}") if column.what else row.case
        if column.unit == row.unit and (case != row.case or not column.what):
            return case, column
    return row.case, None


def _line(document: Document, line: Mapping[Column, Row], used: Sequence[Column]) -> list[str]:
    words = [_text(each, line[each]) if each in line else "" for each in used]
    compared = next((line[each] for each in used if each.compared and each in line), None)
    mine = ours(document, compared) if compared else None
    known = compared and mine and mine.median
    return [*words, f"{compared.median / mine.median:,.2f}" if known and compared and mine else ""]


def _text(column: Column, row: Row) -> str:
    mark = "*" if column.marked_above is not None and row.median > column.marked_above else ""
    return f"{format.short(row.median, row.unit)}{mark}"
