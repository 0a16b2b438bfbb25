"""The pictures of the report, as SVG text: the founding documents' charts, drawn from the results.

Needs `matplotlib`, which comes with the extra `loomlet[bench]`; nothing else imports it. A system
has the same colour in every picture. The axes of the figures are logarithmic, since the systems lie
up to a hundredfold apart; whiskers go from minimum to maximum. Titles stand beside the pictures,
in the page, where they are never cut.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from loomlet.bench import format
from loomlet.bench.headlines import HEADLINES
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
    "cloudpickle": "#8c6d31",
    "dill": "#bd9e39",
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


@dataclass(frozen=True)
class Plot:
    """A line chart of the rows whose case fits `pattern`; the pattern's group is the x value.

    With `bars` only the size that most systems have is drawn.
    """

    title: str
    experiment: str
    pattern: str
    unit: str
    along: str
    bars: bool = False


PLOTS = (
    Plot(
        "Ring of 100 and one token: seconds against M", "ring", r"N=100 M=(\d+)", "s", "M, rounds"
    ),
    Plot(
        "Ring of N, one token, 100 rounds: seconds against N",
        "ring",
        r"N=(\d+) M=100",
        "s",
        "N, members",
    ),
    Plot(
        "Necklace of 100: seconds against M", "ring", r"necklace N=100 M=(\d+)", "s", "M, messages"
    ),
    Plot(
        "Necklace of N, 100 messages: seconds against N",
        "ring",
        r"necklace N=(\d+) M=100",
        "s",
        "N, members",
    ),
    Plot(
        "Ring of 100 with a line printed per hop: seconds against M",
        "ring",
        r"N=100 M=(\d+) printed",
        "s",
        "M, rounds",
    ),
    Plot("Bytes per blocked task", "memory", r"N=(\d+)", "B", "N, blocked at once", bars=True),
    Plot("Time to create one and block it", "memory", r"N=(\d+)", "ns", "N, blocked at once"),
)

UNIT_NAMES = {"s": "seconds", "ns": "nanoseconds", "B": "bytes", "%": "per cent", "/s": "a second"}


def draw(documents: Sequence[Document]) -> list[Chart]:
    """Every picture that the results have the figures for."""
    by_name = {document.experiment: document for document in documents}
    found: list[Chart] = []
    if "taskspeed" in by_name:
        found.append(_switch_table(by_name["taskspeed"]))
    for plot in PLOTS:
        document = by_name.get(plot.experiment)
        found += _plot(plot, document) if document else []
    found += _servers(by_name["http"]) if "http" in by_name else []
    drawn = {chart.experiment for chart in found}
    for document in documents:
        if document.experiment not in drawn:
            found += _cases(document)
    return found


def _switch_table(document: Document) -> Chart:
    rows = sorted(document.rows, key=lambda row: row.median)
    labels = [f"{row.system}: {row.case}" for row in rows]
    return _bars("The switch table", rows, labels, document.experiment)


def _servers(document: Document) -> list[Chart]:
    """Of each case the processor time of a request, and beside it how long answers take."""
    found: list[Chart] = []
    for case in [row.case for row in document.rows if row.case.endswith(" cpu")]:
        rows = [row for row in document.rows if row.case == case]
        title = f"{case.removesuffix(' cpu')}: processor time of the server for a request"
        if len(rows) > 1 and title not in [chart.title for chart in found]:
            rows.sort(key=lambda row: row.median)
            found.append(_bars(title, rows, [row.system for row in rows], document.experiment))
            if any(row.case == f"{case.removesuffix(' cpu')} p50" for row in document.rows):
                found.append(_delays(document, case.removesuffix(" cpu")))
    return [*found, *_kept(document), *_crowds(document)]


def _kept(document: Document) -> list[Chart]:
    """Memory of servers and of their connections, and how long they take to begin."""
    words = {
        ("start", "B"): "start: memory after the first answer",
        ("start", "ns"): "start: time until the first answer",
        ("idle", "B"): "memory of a connection that is kept",
        ("held", "B"): "memory of a connection whose request waits",
    }
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in document.rows:
        if (row.case.partition(" N=")[0], row.unit) in words:
            groups.setdefault((row.case, row.unit), []).append(row)
    found = []
    for (case, unit), rows in groups.items():
        name, _, count = case.partition(" N=")
        title = words[name, unit] + (f", of {count}" if count else "")
        rows.sort(key=lambda row: row.median)
        found.append(_bars(title, rows, [row.system for row in rows], document.experiment))
    return found


def _crowds(document: Document) -> list[Chart]:
    """What is answered when too many ask, beside the best, and the memory."""
    words = {"": "answered", "best": "best", "normal": "normal", "crowded": "under the load"}
    groups: dict[str, list[tuple[Row, str]]] = {}
    for row in document.rows:
        found = re.fullmatch(r"overload N=\d+ ?(|best|normal|crowded)", row.case)
        if found and row.unit in ("/s", "B"):
            entry = (row, f"{row.system}: {words[found[1]]}")
            groups.setdefault(row.unit, []).append(entry)
    titles = {"/s": "overload: requests answered in a second", "B": "overload: memory"}
    charts = []
    for unit, entries in groups.items():
        entries.sort(key=lambda entry: entry[0].median)
        rows, labels = [row for row, _ in entries], [label for _, label in entries]
        charts.append(_bars(titles[unit], rows, labels, document.experiment))
    return charts


def _delays(document: Document, case: str) -> Chart:
    """A line for each server, from the median to the 99th percentile."""
    middles = [row for row in document.rows if row.case == f"{case} p50"]
    lasts = {row.system: row for row in document.rows if row.case == f"{case} p99"}
    middles = [row for row in middles if row.system in lasts]
    middles.sort(key=lambda row: lasts[row.system].median)
    figure, axes = _figure(0.9 + 0.3 * len(middles))
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
    return _chart(title, document.experiment, figure, axes)


def _cases(document: Document) -> list[Chart]:
    """A picture for each case in which others than loomlet took part."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in document.rows:
        groups.setdefault((row.case, row.unit), []).append(row)
    for headline in HEADLINES:  # whose peer has another case
        if headline.experiment == document.experiment and headline.beside:
            beside = groups.pop((headline.beside, headline.unit), [])
            groups.setdefault((headline.case, headline.unit), []).extend(beside)
    found = []
    for (case, _), rows in groups.items():
        if len({row.system for row in rows}) > 1:
            rows.sort(key=lambda row: row.median)
            labels = [format.system(row) for row in rows]
            found.append(_bars(case, rows, labels, document.experiment))
    return found


def _plot(plot: Plot, document: Document) -> list[Chart]:
    """Lines where there are at least two sizes, bars for a single one, nothing for none."""
    points: dict[str, list[tuple[int, Row]]] = {}
    for row in document.rows:
        size = re.fullmatch(plot.pattern, row.case)
        if size and row.unit == plot.unit:
            points.setdefault(row.system, []).append((int(size[1]), row))
    sizes = Counter(size for line in points.values() for size, _ in line)
    if len(sizes) > 1 and not plot.bars:
        return [_lines(plot, points)]
    if not sizes:
        return []
    best = max(sizes, key=lambda size: (sizes[size], size))
    rows = [row for line in points.values() for size, row in line if size == best]
    rows.sort(key=lambda row: row.median)
    labels = [format.system(row) for row in rows]
    return [_bars(f"{plot.title} ({rows[0].case})", rows, labels, plot.experiment)]


def _lines(plot: Plot, points: Mapping[str, Sequence[tuple[int, Row]]]) -> Chart:
    figure, axes = _figure(4.6)
    for system in sorted(points, key=lambda name: -max(row.median for _, row in points[name])):
        line = sorted(points[system], key=lambda point: point[0])
        sizes = [size for size, _ in line]
        values = [row.median for _, row in line]
        below = [row.median - row.min for _, row in line]
        above = [row.max - row.median for _, row in line]
        label = format.system(line[-1][1])
        axes.errorbar(
            sizes,
            values,
            (below, above),
            label=label,
            color=COLOURS[system],
            linewidth=2.5 if system == "loomlet" else 1.3,
            marker="o",
            capsize=2,
        )
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel(plot.along)
    axes.set_ylabel(UNIT_NAMES[plot.unit])
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return _chart(plot.title, plot.experiment, figure, axes)


def _bars(title: str, rows: Sequence[Row], labels: Sequence[str], experiment: str) -> Chart:
    """Horizontal bars of rows sorted by median, with the figure at the end of each."""
    figure, axes = _figure(0.9 + 0.3 * len(rows))
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
    return _chart(title, experiment, figure, axes)


def _figure(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8.5, height), layout="constrained")
    return figure, figure.add_subplot()


def _chart(title: str, experiment: str, figure: Figure, axes: Axes) -> Chart:
    axes.spines[["top", "right"]].set_visible(False)
    picture = io.StringIO()
    figure.savefig(picture, format="svg", metadata={"Date": None})
    return Chart(title, picture.getvalue(), experiment)
