"""The dozen comparisons that a newcomer looks at first.

The terminal of `bench demo` draws them as bars while the experiments end, and the report begins
with them.  Each is our row beside the best other one in the same case: of the systems in Python,
and of Go, Erlang, nginx and node where they take part.  A ratio above 1 says how many times as much
the other one takes; less is better everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from loomlet.bench import freeze, memory, net, preempt, ring, taskspeed
from loomlet.bench.model import Cell, Document, Experiment, Row, is_ours

COMPILED = ("go", "go-2", "erlang", "nginx", "nginx-cache", "node", "http-server")
NO_PEERS = ("generator", "epoll")
"""Yardsticks: a generator has no scheduler, and the loop over epoll serves nothing."""


@dataclass(frozen=True)
class Headline:
    """What is compared, in words, and the row that says it; the peer's row if it is another one."""

    words: str
    experiment: str
    case: str
    unit: str
    beside: str = ""


@dataclass(frozen=True)
class Comparison:
    """Our figure, the best of the other systems in Python, and of the compiled ones."""

    headline: Headline
    ours: Row
    peer: Row | None
    compiled: Row | None

    @property
    def ratio(self) -> float | None:
        """How many times our figure the peer's is."""
        return self.peer.median / self.ours.median if self.peer and self.ours.median else None

    def bars(self) -> Iterator[tuple[Row, float, str]]:
        """Ours and the best other one: the row, its part of the longest bar, and for the other one
        how many times ours it is."""
        rows = [row for row in (self.ours, self.peer or self.compiled) if row is not None]
        longest = max(row.median for row in rows) or 1
        for row in rows:
            shown = row is not self.ours and self.ours.median
            times = f"{row.median / self.ours.median:,.1f} x" if shown else ""
            yield row, row.median / longest, times


HEADLINES = (
    Headline("one switch between two tasklets", "taskspeed", "frame switch soft", "ns"),
    Headline("one message over a channel", "taskspeed", "channel hop", "ns"),
    Headline("a token 10 000 times round a ring of 100", "ring", "N=100 M=10000", "s"),
    Headline("100 times round a ring of 10 000", "ring", "N=10000 M=100", "s"),
    Headline("memory of one that waits, of 100 000", "memory", "N=100000", "B"),
    Headline("to make it and let it wait", "memory", "N=100000", "ns"),
    Headline("wait beside three that only compute, p99", "preempt", "slice=0.001 wait p99", "ns"),
    Headline("a function with one call, as bytes", "freeze", "depth 1 save", "ns", "closure save"),
    Headline("an echo, 64 connections at once", "net", "echo N=64 size=64", "ns"),
    Headline("a connection, made, asked, closed", "net", "connect N=16", "ns"),
    Headline("memory of an open connection, of 10 000", "net", "parked N=10000", "B"),
    Headline("a time limit around nothing", "net", "timeout", "ns"),
    Headline("a request of 1000 clients to redis", "net", "redis N=1000", "ns"),
    Headline("to answer 64 web clients, for each request", "http", "plain N=64 cpu", "ns"),
    Headline("to send 8 of them a page of 6.9 KB", "http", "file N=8 cpu", "ns"),
)

# What the demo measures; the other cases of the experiments show in none of these. Web servers
# take a minute for themselves: they are compared in the report, if they have been measured.
_CASES = {
    "ring": ("N=100 M=10000", "N=10000 M=100"),
    "memory": ("N=100000",),
    "preempt": ("slice=0.001",),
    "net": ("echo N=64 size=64", "connect N=16", "parked N=10000", "timeout", "redis N=1000"),
}
DEMO: Sequence[Experiment] = tuple(
    each.EXPERIMENT for each in (taskspeed, ring, memory, preempt, freeze, net)
)


def cells(experiment: Experiment) -> list[Cell]:
    """The work of the demo: the cases above, each system once, those of a few ms more often."""
    found = experiment.cells(True, _CASES.get(experiment.name, ()))
    return [replace(cell, runs=min(cell.runs, 2)) for cell in found]


def compare(document: Document) -> Iterator[Comparison]:
    """Those comparisons for which the result has our row."""
    for headline in HEADLINES:
        if headline.experiment != document.experiment:
            continue
        mine = document.find("loomlet", headline.case, headline.unit)
        if mine is not None:
            peers = [row for row in document.rows if _is_peer(row, headline)]
            python = [row for row in peers if row.system not in COMPILED]
            compiled = [row for row in peers if row.system in COMPILED]
            yield Comparison(headline, mine, _best(python), _best(compiled))


def _is_peer(row: Row, headline: Headline) -> bool:
    case = headline.beside or headline.case
    is_peer = row.system not in NO_PEERS and not is_ours(row.system)
    return is_peer and (row.case, row.unit) == (case, headline.unit)


def _best(rows: Sequence[Row]) -> Row | None:
    return min(rows, key=lambda row: row.median, default=None)
