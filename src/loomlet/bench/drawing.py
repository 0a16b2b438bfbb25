"""What the pictures of the report have in common: colours, axes, bars, and figures made SVG text.

Needs `matplotlib`, which comes with the extra `loomlet[bench]`; `charts` and `thread_charts` draw
with it. A system has the same colour in every picture. Axes of figures that lie far apart are
logarithmic, and whiskers go from minimum to maximum. Titles stand beside the pictures, in the page,
where they are never cut.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from loomlet.bench import format
from loomlet.bench.model import Document, Row

matplotlib.rcParams["svg.fonttype"] = "none"
matplotlib.rcParams["svg.hashsalt"] = "loomlet"
matplotlib.rcParams["font.size"] = 10

COLOURS = {
    "loomlet": "#0b5cad",
    "go": "#6a51a3",
    "go-2": "#9e9ac8",
    "erlang": "#b5459c",
    "greenlet": "#009e73",
    "tealet": "#66c2a5",
    "gevent": "#1b7837",
    "asyncio": "#e69f00",
    "uvloop": "#b8860b",
    "generator": "#888888",
    "threads": "#555555",
    "no-handoff": "#999999",
    "process": "#bbbbbb",
    "no-priority": "#9ecae1",
    "prioritised": "#3182bd",
    "interval": "#777777",
    "futex": "#444444",
    "cloudpickle": "#8c6d31",
    "dill": "#bd9e39",
    "glibc": "#555555",
    "mimalloc": "#009e73",
    "jemalloc": "#e69f00",
    "tcmalloc": "#b5459c",
    "loomlet-fixed": "#6baed6",
    "loomlet-wsgi": "#2a7fc1",
    "loomlet-asgi": "#4a98d3",
    "loomlet-checked": "#08306b",
    "hypercorn": "#d95f02",
    "nginx": "#d62728",
    "nginx-cache": "#ff9896",
    "epoll": "#222222",
    "fastpysgi": "#8c564b",
    "bjoern": "#c49c94",
    "socketify": "#7f7f7f",
    "granian": "#e377c2",
    "granian-asgi": "#f7b6d2",
    "uvicorn": "#cfae45",
    "gunicorn-16": "#5a7d3a",
    "gunicorn-64": "#8fb36b",
    "node": "#3c873a",
    "http-server": "#77a876",
    "http.server": "#a6a6a6",
    "http.server-1.1": "#c7c7c7",
}


@dataclass(frozen=True)
class Chart:
    """A picture with its title, and the experiment that it belongs to."""

    title: str
    svg: str
    experiment: str


UNIT_NAMES = {"s": "seconds", "ns": "nanoseconds", "B": "bytes", "%": "per cent", "/s": "a second"}


def figure_of(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8.5, height), layout="constrained")
    return figure, figure.add_subplot()


def chart(title: str, experiment: str, figure: Figure, axes: Axes) -> Chart:
    axes.spines[["top", "right"]].set_visible(False)
    picture = io.StringIO()
    figure.savefig(picture, format="svg", metadata={"Date": None})
    return Chart(title, picture.getvalue(), experiment)


def bars(title: str, rows: Sequence[Row], labels: Sequence[str], experiment: str) -> Chart:
    """Horizontal bars of rows sorted by median, with the figure at the end of each."""
    figure, axes = figure_of(0.9 + 0.3 * len(rows))
    places = range(len(rows), 0, -1)
    colours = [COLOURS[row.system] for row in rows]
    axes.barh(places, [row.median for row in rows], color=colours, height=0.7)
    axes.set_yticks(list(places), list(labels))
    for place, row in zip(places, rows, strict=True):
        text = f" {format.amount(row.median, row.unit)}"
        axes.text(row.median, place, text, va="center", fontsize=8)
    least, most = rows[0].median, rows[-1].median
    wide = most > 30 * least > 0
    if wide:
        axes.set_xscale("log")
        axes.set_xlim(least / 3, most * 3)
    else:
        axes.set_xlim(right=most * 1.15)
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.set_xlabel(UNIT_NAMES[rows[0].unit] + (", logarithmic" if wide else ""))
    return chart(title, experiment, figure, axes)


def delays(document: Document, case: str) -> Chart:
    """A line for each server, from the median to the 99th percentile."""
    middles = [row for row in document.rows if row.case == f"{case} p50"]
    lasts = {row.system: row for row in document.rows if row.case == f"{case} p99"}
    middles = [row for row in middles if row.system in lasts]
    middles.sort(key=lambda row: lasts[row.system].median)
    figure, axes = figure_of(0.9 + 0.3 * len(middles))
    places = range(len(middles), 0, -1)
    for place, row in zip(places, middles, strict=True):
        last, colour = lasts[row.system], COLOURS[row.system]
        axes.plot([row.median, last.median], [place, place], color=colour, linewidth=4)
        axes.plot([row.median], [place], color=colour, marker="o", markersize=9)
        words = " - ".join(format.amount(each.median, each.unit) for each in (row, last))
        axes.text(last.median, place, f"  {words}", va="center", fontsize=8)
    axes.set_yticks(list(places), [row.system for row in middles])
    axes.set_xscale("log")
    most = max(row.median for row in lasts.values())
    axes.set_xlim(min(row.median for row in middles) / 2, most * 8)
    axes.set_xlabel("nanoseconds, logarithmic")
    title = f"{case}: how long an answer takes, median and 99th percentile"
    return chart(title, document.experiment, figure, axes)


FAR_APART = 30
"""From this ratio on an axis is logarithmic."""


def groups(
    title: str,
    experiment: str,
    found: Mapping[str, Mapping[str, Row]],
    colours: Mapping[str, str] = COLOURS,
) -> Chart:
    """Bars that stand in groups: the rows by the group's name, and by what the bar is called."""
    figure, axes = figure_of(4.2)
    names = list(dict.fromkeys(name for rows in found.values() for name in rows))
    width = 0.84 / len(names)
    for at, name in enumerate(names):
        have = [(place, rows[name]) for place, rows in enumerate(found.values()) if name in rows]
        places = [place - 0.42 + width * (at + 0.5) for place, _ in have]
        drawn = [row for _, row in have]
        _standing(axes, places, drawn, width=width * 0.92, name=name, colour=colours[name])
    axes.set_xticks(range(len(found)), list(found))
    rows = [row for each in found.values() for row in each.values()]
    least, most = min(row.median for row in rows), max(row.max for row in rows)
    wide = most > FAR_APART * least > 0
    if wide:
        axes.set_yscale("log")
        axes.set_ylim(least / 3, most * 3)
    else:
        axes.set_ylim(0, most * 1.2 or 1)
    unit = rows[0].unit
    axes.yaxis.set_major_formatter(lambda value, place: format.short(value, unit))
    axes.set_ylabel(UNIT_NAMES[unit] + (", logarithmic" if wide else ""))
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return chart(title, experiment, figure, axes)


def _standing(
    axes: Axes,
    places: Sequence[float],
    rows: Sequence[Row],
    *,
    width: float,
    name: str,
    colour: str,
) -> None:
    """The bars of one colour, with their whiskers and figures."""
    medians = [row.median for row in rows]
    whiskers = (
        [row.median - row.min for row in rows],
        [row.max - row.median for row in rows],
    )
    axes.bar(places, medians, width, label=name, color=colour)
    axes.errorbar(places, medians, whiskers, fmt="none", ecolor="#333333", capsize=2, linewidth=1)
    for place, row in zip(places, rows, strict=True):
        text = f" {format.short(row.median, row.unit)}"
        axes.text(place, row.max, text, ha="center", va="bottom", rotation=90, fontsize=7)
