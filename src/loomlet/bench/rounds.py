"""Two rows compared in each round, in which their runs came one after the other.

A machine that is slow for seconds then slows both, so the ratios of the rounds vary less than the
figures do.  Their median is what counts, and the quartiles show how far it can be trusted.
"""

from __future__ import annotations

import statistics

from loomlet.bench.model import Document, Row

__all__ = ["between_systems", "in_words", "ratio_of_each"]


def ratio_of_each(over: Row, under: Row) -> list[float]:
    """`over` divided by `under` in each round; empty where the rounds of the two do not match."""
    if len(over.values) != len(under.values) or 0 in under.values:
        return []
    return [one / other for one, other in zip(over.values, under.values, strict=True)]


def in_words(what: str, over: Row | None, under: Row | None) -> list[str]:
    """A line with the median and the quartiles, if the two have at least two rounds."""
    found = ratio_of_each(over, under) if over and under else []
    if len(found) < 2:
        return []
    low, middle, high = statistics.quantiles(found, n=4)
    return [f"{what} {middle:.2f} ({low:.2f} to {high:.2f}), {len(found)} rounds"]


def between_systems(document: Document, over: str, under: str, unit: str) -> list[str]:
    """A line for each case in which both systems have a row of that unit."""
    return [
        line
        for row in document.rows
        if (row.system, row.unit) == (over, unit)
        for line in in_words(
            f"{row.case}: {over} / {under}", row, document.find(under, row.case, unit)
        )
    ]
