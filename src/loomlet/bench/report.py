"""The report: one HTML page that needs nothing else.

First what a newcomer looks at: a sentence, and a bar for each of a dozen
comparisons.  Then a picture for every experiment, the promises, and every number.  Pictures are
embedded as SVG; the page loads no script, font or style from anywhere.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from loomlet.bench import charts, columns, format
from loomlet.bench.catalogue import EXPERIMENTS
from loomlet.bench.headlines import Comparison, compare
from loomlet.bench.model import Document, Experiment, is_ours
from loomlet.bench.targets import judge

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
img { max-width: 100%; display: block; margin: 1.5rem 0; }
table { border-collapse: collapse; font-size: 13px; margin: 1rem 0; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #ddd; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
tr.ours { font-weight: 600; } .yes { color: #17692b; } .no { color: #b3261e; }
.lead { font-size: 18px; } .bars td { border: 0; padding: .1rem .5rem; white-space: nowrap; }
.bars td:first-child { padding-top: .55rem; } .bars td.wide { width: 26rem; }
.bar { height: .95rem; border-radius: 2px; min-width: 2px; background: #b9b9b9; }
.bar.ours { background: #0b5cad; } h3 { margin: 2rem 0 0; font-size: 16px; }
.setting, .missing { color: #555; }
"""


def write(documents: Sequence[Document], path: Path) -> None:
    """Write the page for these results; missing folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(documents), encoding="utf-8")


def page(documents: Sequence[Document]) -> str:
    """The page as text."""
    found = [each for document in documents for each in compare(document)]
    body = ["<h1>Loomlet beside its peers</h1>", f'<p class="lead">{escape(_lead(found))}</p>']
    body += [_bars(found), *_settings(documents)]
    pictures = charts.draw(documents)
    for document in documents:
        experiment = EXPERIMENTS[document.experiment]
        body.append(f"<h2>{escape(experiment.summary[:1].upper() + experiment.summary[1:])}</h2>")
        body += [_picture(each) for each in pictures if each.experiment == document.experiment]
    body += ["<h2>Numbers to reach</h2>", _verdicts(documents), "<h2>Every number</h2>"]
    for document in documents:
        body += _section(document)
    head = f'<meta charset="utf-8"><title>loomlet bench</title><style>{STYLE}</style>'
    return (
        f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'
    )


def _lead(found: Sequence[Comparison]) -> str:
    """The sentence at the top: what loomlet is, and how it did."""
    ratios = sorted(each.ratio for each in found if each.ratio is not None)
    words = "Plain Python functions as light tasklets that talk over channels."
    if not ratios:
        return words
    ahead = sum(ratio > 1 for ratio in ratios)
    middle = ratios[len(ratios) // 2]
    return (
        f"{words} In {ahead} of {len(ratios)} comparisons loomlet needs less time or memory than "
        f"the best other system in Python; the median is {middle:,.1f} times less."
    )


def _bars(found: Sequence[Comparison]) -> str:
    """Two lines for each comparison; a longer bar is worse."""
    lines = []
    for each in found:
        for row, part, times in each.bars():
            mine = row is each.ours
            width = f"width:{100 * part:.1f}%"
            lines.append(
                f"<tr><td>{escape(each.headline.words) if mine else ''}</td>"
                f"<td>{escape(row.system)}</td><td>{format.amount(row.median, row.unit)}</td>"
                f'<td class="wide"><div class="bar{" ours" if mine else ""}" style="{width}">'
                f"</div></td><td>{times}</td></tr>"
            )
    return (
        f'<table class="bars">{"".join(lines)}</table><p class="setting">A longer bar is worse.</p>'
    )


def _settings(documents: Sequence[Document]) -> Iterable[str]:
    for line in dict.fromkeys(format.setting(document) for document in documents):
        yield f'<p class="setting">{escape(line)}</p>'
    versions: dict[str, str] = {}
    for document in documents:
        versions |= document.machine.get("versions", {})
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    yield f'<p class="setting">{escape(named)}</p>'
    yield (
        "<p>Medians. In each experiment the systems took turns, each sample in a process of its "
        "own. Ratios count: absolute times belong to one machine and one hour. "
        f"{format.SCALED}</p>"
    )


def _picture(chart: charts.Chart) -> str:
    data = base64.b64encode(chart.svg.encode()).decode()
    title = escape(chart.title)
    return f'<h3>{title}</h3><img alt="{title}" src="data:image/svg+xml;base64,{data}">'


def _section(document: Document) -> Iterable[str]:
    experiment = EXPERIMENTS[document.experiment]
    yield f"<h3>{escape(experiment.name)}</h3><p>{escape(experiment.summary)}.</p>"
    tables = _boards if experiment.columns else _rows
    yield from tables(document, experiment)
    for line in experiment.notes(document):
        yield f'<p class="setting">{escape(line)}</p>'
    for entry in document.missing:
        words = (
            f"{entry.system}{f' ({entry.case})' if entry.case else ''} not measured: {entry.how}"
        )
        yield f'<p class="missing">{escape(words)}</p>'


def _rows(document: Document, experiment: Experiment) -> Iterable[str]:
    """A line for each row."""
    headings = ("case", "system", "median", "min - max", "runs", "x loomlet", "rate")
    lines = [_line(headings, "th")]
    for row in document.rows:
        cells = (
            experiment.label(row),
            format.system(row),
            format.amount(row.median, row.unit),
            format.spread(row),
            str(row.runs),
            format.ratio(document, row),
            experiment.rate(row),
        )
        lines.append(_line(cells, "td", "ours" if row.system == "loomlet" else ""))
    yield f"<table>{''.join(lines)}</table>"


def _boards(document: Document, experiment: Experiment) -> Iterable[str]:
    """A table for each case."""
    for board in columns.boards(document, experiment):
        lines = [_line((board.case, "", *board.headings), "th")]
        for system, words in board.lines.items():
            lines.append(_line(("", system, *words), "td", "ours" if is_ours(system) else ""))
        yield f"<table>{''.join(lines)}</table>"


def _verdicts(documents: Sequence[Document]) -> str:
    lines = [_line(("what", "reached", "measured", "must", "aim"), "th")]
    for document in documents:
        for verdict in judge(document):
            if verdict.measured is None:
                continue
            target, measured = verdict.target, f"{verdict.measured:,.2f}"
            bounds = target.bound(target.must), target.bound(target.aim)
            lines.append(_line((target.what, verdict.word, measured, *bounds), "td", verdict.word))
    return f"<table>{''.join(lines)}</table>"


def _line(cells: Iterable[str], tag: str, kind: str = "") -> str:
    inner = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
    return f'<tr class="{kind}">{inner}</tr>' if kind else f"<tr>{inner}</tr>"
