"""The pictures of the report, as SVG text: the founding documents' charts, drawn from the results.

Needs `matplotlib`, which comes with the extra `loomlet[bench]`. The pictures of the experiments on
threads, the GIL and the heap are in `thread_charts`; what all have in common is in `drawing`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loomlet.bench import format, thread_charts
from loomlet.bench.drawing import (
    COLOURS,
    UNIT_NAMES,
    Chart,
    bars,
    chart,
    delays,
    figure_of,
)
from loomlet.bench.headlines import HEADLINES
from loomlet.bench.model import Document, Row

__all__ = ["COLOURS", "Chart", "draw"]


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
    for document in documents:
        found += thread_charts.draw(document)
    drawn = {chart.experiment for chart in found}
    for document in documents:
        if document.experiment not in drawn:
            found += _cases(document)
    return found


def _switch_table(document: Document) -> Chart:
    rows = sorted(document.rows, key=lambda row: row.median)
    labels = [f"{row.system}: {row.case}" for row in rows]
    return bars("The switch table", rows, labels, document.experiment)


def _servers(document: Document) -> list[Chart]:
    """Of each case the processor time of a request, and beside it how long answers take."""
    found: list[Chart] = []
    for case in [row.case for row in document.rows if row.case.endswith(" cpu")]:
        rows = [row for row in document.rows if row.case == case]
        title = f"{case.removesuffix(' cpu')}: processor time of the server for a request"
        if len(rows) > 1 and title not in [chart.title for chart in found]:
            rows.sort(key=lambda row: row.median)
            found.append(bars(title, rows, [row.system for row in rows], document.experiment))
            if any(row.case == f"{case.removesuffix(' cpu')} p50" for row in document.rows):
                found.append(delays(document, case.removesuffix(" cpu")))
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
        found.append(bars(title, rows, [row.system for row in rows], document.experiment))
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
        charts.append(bars(titles[unit], rows, labels, document.experiment))
    return charts


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
            found.append(bars(case, rows, labels, document.experiment))
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
    return [bars(f"{plot.title} ({rows[0].case})", rows, labels, plot.experiment)]


def _lines(plot: Plot, points: Mapping[str, Sequence[tuple[int, Row]]]) -> Chart:
    figure, axes = figure_of(4.6)
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
    return chart(plot.title, plot.experiment, figure, axes)
