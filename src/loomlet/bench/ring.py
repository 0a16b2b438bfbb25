"""ring: Joe Armstrong's ring, and the necklace.

N members in a ring pass one token on, until it has come round M times: N times M hops, each a
receive, a send and a switch. In the necklace the ring is cut open: M messages are put in at one
end, as many under way as the channels hold, and taken out at the other, after N members
each; again N times M hops. A case may also print a line per hop (to the null device, through the
buffering that the language's print has).

The time is that of the messages alone: all members have been made and wait before the clock starts.
Every program counts the hops in its members, and a count other than N times M is a failure.

Slow systems do a fraction of the M rounds; their time is multiplied and their row says by how much.
Channels have no room (Go, gevent, loomlet) or as little as there is (asyncio: a queue of one item);
an Erlang mailbox has no bound.

The Python members loop over `repeat`, whose remaining length gives the number of hops they made.
Rejected: counting the hops on the token or in a variable. That makes a new integer per hop in
Python, a fifth of the time of ours, and costs nothing in the compiled systems.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loomlet.bench.measure import number
from loomlet.bench.model import BenchError, Cell, Experiment, Job, Row, Sample

NAME = "ring"
SYSTEMS = ("loomlet", "go", "go-2", "erlang", "uvloop", "asyncio", "gevent")
SLOW = ("uvloop", "asyncio", "gevent")
SCALES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
TENTHS = tuple(range(10_000, 100_000, 10_000))


@dataclass(frozen=True)
class Shape:
    """A ring or necklace of a size."""

    nodes: int
    rounds: int
    necklace: bool = False
    printed: bool = False

    @property
    def case(self) -> str:
        """Its name in the results."""
        words = f"N={self.nodes} M={self.rounds}"
        return ("necklace " if self.necklace else "") + words + (" printed" if self.printed else "")


def parse(case: str) -> Shape:
    """The shape of that name, of any size; raises BenchError for other words."""
    found = re.fullmatch(r"(necklace )?N=(\d+) M=(\d+)( printed)?", case)
    if not found or int(found[2]) < 2 or int(found[3]) < 1:
        raise BenchError(f"expected a case like 'necklace N=100 M=1000 printed', found {case!r}")
    return Shape(int(found[2]), int(found[3]), bool(found[1]), bool(found[4]))


def shapes(quick: bool) -> list[Shape]:
    """The usual sizes: those of the published charts, or a few of them."""
    if quick:
        sizes = [(100, 5_000), (100, 10_000), (5_000, 100), (10_000, 100)]
        plain = [Shape(*size) for size in sizes]
        return [*plain, Shape(100, 10_000, necklace=True), Shape(100, 1_000, printed=True)]
    sizes = [(100, rounds) for rounds in TENTHS] + [(nodes, 100) for nodes in TENTHS]
    kinds = [Shape(*size, necklace=necklace) for necklace in (False, True) for size in sizes]
    loud = [(100, 1_000), (100, 5_000), (100, 10_000), (10_000, 100)]
    return kinds + [Shape(*size, printed=True) for size in loud]


def cells(quick: bool, wanted: Sequence[str]) -> list[Cell]:
    """A cell per size, for all systems."""
    chosen = [parse(case) for case in wanted] or shapes(quick)
    return [Cell(shape.case, 3, [_job(name, shape, quick) for name in SYSTEMS]) for shape in chosen]


def _job(system: str, shape: Shape, quick: bool) -> Job:
    scale = _scale(shape, 50_000 if quick else 500_000) if system in SLOW else 1
    parameters = {
        "nodes": shape.nodes,
        "rounds": shape.rounds // scale,
        "necklace": shape.necklace,
        "printed": shape.printed,
    }
    return Job(NAME, system, shape.case, parameters, scale)


def _scale(shape: Shape, most: int) -> int:
    """The least divisor of the rounds that brings the hops down to `most`, or the largest."""
    divisors = [scale for scale in SCALES if shape.rounds % scale == 0]
    enough = [scale for scale in divisors if shape.nodes * shape.rounds // scale <= most]
    return enough[0] if enough else divisors[-1]


def samples(job: Job, output: Mapping[str, Any]) -> list[Sample]:
    """The seconds, scaled up to all rounds, once the hops have been checked."""
    expected = job.parameters["nodes"] * job.parameters["rounds"]
    if output.get("hops") != expected:
        raise BenchError(f"expected {expected} hops, counted {output.get('hops')}")
    seconds = number(output, "seconds") * job.scale
    return [Sample(job.system, job.case, "s", seconds, job.scale)]


def rate(row: Row) -> str:
    """Hops in a second."""
    shape = parse(row.case)
    return f"{shape.nodes * shape.rounds / row.median / 1e6:,.2f} M/s"


EXPERIMENT = Experiment(
    NAME, "a message round a ring of N tasklets, M times, in seconds", SYSTEMS, cells, samples, rate
)
