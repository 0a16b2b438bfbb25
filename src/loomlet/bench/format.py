"""Numbers in words, the same in the printed tables, the pictures and the page."""

from __future__ import annotations

from loomlet.bench.model import Document, Row
from loomlet.bench.targets import ours


def amount(value: float, unit: str) -> str:
    """A value in the size of its unit that reads best."""
    if unit == "B":
        return f"{value:,.0f} B"
    if unit == "%":
        return f"{value:,.1f} %"
    if unit == "/s":
        return f"{value:,.1f} /s"
    if unit == "s":
        return f"{value:,.3f} s"
    if value >= 1_000_000:
        return f"{value / 1_000_000:,.2f} ms"
    return f"{value:,.1f} ns" if value < 1_000 else f"{value / 1_000:,.2f} µs"


def short(value: float, unit: str) -> str:
    """The same in three digits, for tables with many columns; rates keep all of theirs."""
    if unit in ("/s", "%"):
        return f"{value:,.0f}" if unit == "/s" or value >= 10 or not value else f"{value:.2g}"
    names = SIZES if unit == "B" else TIMES
    step = 1024.0 if unit == "B" else 1000.0
    value *= 1e9 if unit == "s" else 1
    for name in names[:-1]:
        if value < step - 0.5:
            return f"{value:.3g} {name}"
        value /= step
    return f"{value:,.3g} {names[-1]}"


TIMES = ("ns", "µs", "ms", "s")
SIZES = ("B", "KB", "MB", "GB")


def spread(row: Row) -> str:
    """Minimum and maximum, the unit said once; nothing for a single run."""
    if row.runs == 1:
        return ""
    least, most = amount(row.min, row.unit), amount(row.max, row.unit)
    number, unit = least.split()
    return f"{number} - {most}" if most.endswith(f" {unit}") else f"{least} - {most}"


def ratio(document: Document, row: Row) -> str:
    """How many times our own figure it is; empty without such a figure."""
    mine = ours(document, row)
    return f"{row.median / mine.median:,.2f}" if mine and mine.median else ""


def system(row: Row) -> str:
    """The system's name, and the part of the work that it did where that was not all."""
    return row.system if row.scaled == 1 else f"{row.system} (1/{row.scaled})"


SCALED = "(1/10): a tenth of the rounds was run and its time multiplied by ten."


def setting(document: Document) -> str:
    """Interpreter and machine in one line."""
    about = document.machine
    gigabytes = about.get("memory", 0) / 2**30
    place = f"{about.get('cpu')}, {about.get('cores')} cores, {gigabytes:.0f} GB, {about.get('os')}"
    return f"{document.python} on {place}"
