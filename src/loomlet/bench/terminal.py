"""What the bench shows in the terminal: progress while it runs, then bars (demo) or tables.

Needs `rich`, which comes with the extra `loomlet[bench]`; nothing else in the bench imports it.
"""

from __future__ import annotations

from types import TracebackType

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from loomlet.bench import columns, format
from loomlet.bench.headlines import Comparison
from loomlet.bench.model import Document, Experiment, Job, Missing, Row, is_ours
from loomlet.bench.targets import Verdict

WIDTH = 110
WIDE = 124
"""Columns of the screen from which on a table shows all that it has."""


class Bar:
    """A watcher (`measure.Watcher`) that draws a bar per experiment; a context manager."""

    def __init__(self, console: Console) -> None:
        columns = (
            TextColumn("{task.fields[experiment]:<10}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
        )
        self._progress = Progress(*columns, console=console)
        self._task: TaskID | None = None

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def begin(self, experiment: str, jobs: int) -> None:
        """A new bar."""
        self._task = self._progress.add_task("", total=jobs, experiment=experiment)

    def job(self, job: Job) -> None:
        """Say what runs."""
        if self._task is not None:
            self._progress.update(self._task, description=f"{job.system} {job.case}")

    def done(self) -> None:
        """One more process is over; the last one clears the words beside the bar."""
        if self._task is None:
            return
        self._progress.advance(self._task)
        if self._progress.finished:
            self._progress.update(self._task, description="")


def console() -> Console:
    """The terminal; where the output goes to a file or pipe, wide enough for the tables."""
    screen = Console()
    return screen if screen.is_terminal else Console(width=WIDE)


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=box.SIMPLE, padding=(0, 1, 0, 0))


def tables(document: Document, experiment: Experiment, width: int) -> list[Table]:
    """One for the whole result, or, where the experiment names columns, one for each case."""
    if not experiment.columns:
        return [_rows(document, experiment)]
    left_out = {each.heading for each in experiment.columns if each.minor and width < WIDE}
    boards = columns.boards(document, experiment)
    return [_board(each, f"{experiment.name}: {each.case}", left_out) for each in boards]


def _board(board: columns.Board, title: str, left_out: set[str]) -> Table:
    """A figure and its unit stand without a space, which would be a place to break the line."""
    table = _table(title)
    table.add_column("system", no_wrap=True)
    shown = [at for at, heading in enumerate(board.headings) if heading not in left_out]
    for at in shown:
        table.add_column(board.headings[at], justify="right", no_wrap=True)
    for system, words in board.lines.items():
        narrow = [words[at].replace(" ", "") for at in shown]
        table.add_row(system, *narrow, style="bold" if is_ours(system) else "")
    return table


def _rows(document: Document, experiment: Experiment) -> Table:
    """The rows that the terminal shows; `x ours` is how many times our own figure each is."""
    table = _table(f"{experiment.name}: {experiment.summary}")
    for heading in ("case", "system"):
        table.add_column(heading, no_wrap=True)
    for heading in ("median", "min - max", "runs", "x ours", "rate"):
        table.add_column(heading, justify="right")
    before: Row | None = None
    for row in filter(experiment.printed, document.rows):
        first = before is None or (before.case, before.unit) != (row.case, row.unit)
        if first and before is not None:
            table.add_section()
        before = row
        table.add_row(
            experiment.label(row) if first else "",
            format.system(row),
            format.amount(row.median, row.unit),
            format.spread(row),
            str(row.runs),
            format.ratio(document, row),
            experiment.rate(row),
            style="bold" if row.system == "loomlet" else "",
        )
    return table


BAR = 30
"""Cells of the longest bar."""


def bars(found: list[Comparison], width: int) -> Table:
    """Two lines for each comparison, ours and the best peer's; less is better."""
    words = 41 if width >= WIDTH else 29
    room = max(6, min(BAR, width - words - 35))
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
    table.add_column(width=words)
    table.add_column(width=11, no_wrap=True)
    table.add_column(justify="right", width=10, no_wrap=True)
    table.add_column(width=room, no_wrap=True)
    table.add_column(justify="right", width=8, no_wrap=True)
    for each in found:
        lines = []
        for row, part, times in each.bars():
            style = "bold green" if row is each.ours else "dim"
            bar = "█" * max(1, round(room * part))
            value = format.amount(row.median, row.unit)
            lines.append((row.system, value, f"[{style}]{bar}[/]", times))
        table.add_row(each.headline.words, *map("\n".join, zip(*lines, strict=True)))
    return table


def verdicts(found: list[Verdict]) -> Table:
    """The promises, what was measured, and whether they were kept."""
    table = _table("numbers to reach")
    table.add_column("what")
    for heading in ("must", "aim", "measured", "reached"):
        table.add_column(heading, justify="right")
    colours = {"yes": "green", "no": "red"}
    for verdict in found:
        if verdict.measured is None:
            continue
        target, measured = verdict.target, f"{verdict.measured:,.2f}"
        word = f"[{colours[verdict.word]}]{verdict.word}[/]"
        bounds = target.bound(target.must), target.bound(target.aim)
        table.add_row(target.what, *bounds, measured, word)
    left = len(found) - table.row_count
    table.caption = f"{left} more were not measured" if left else None
    return table


def missing(entries: list[Missing]) -> Table:
    """What was not measured, and what to do about it."""
    table = _table("not measured")
    for heading in ("system", "case", "how to get it, or why not"):
        table.add_column(heading)
    for entry in entries:
        table.add_row(entry.system, entry.case or "all", entry.how)
    return table
