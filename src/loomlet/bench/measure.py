"""Runs jobs: the systems of a cell take turns, and what they print becomes samples and rows.

What fails is taken out of its cell and named in the result, a peer or loomlet itself; nothing ends
the benchmark but its end. Only the caller's thread is used: two measurements never run at once.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from loomlet.bench import machine
from loomlet.bench.model import (
    BenchError,
    Cell,
    Document,
    Experiment,
    Job,
    Missing,
    Row,
    Sample,
    is_ours,
)
from loomlet.bench.peers import SYSTEMS

LIMIT_SECONDS = 900
MEMORY_SHARE = 0.7


class Watcher(Protocol):
    """Is notified of what is being measured; the progress bar is one."""

    def begin(self, experiment: str, jobs: int) -> None:
        """An experiment of so many processes starts."""

    def job(self, job: Job) -> None:
        """This process starts now."""

    def done(self) -> None:
        """A process is over, or has been left out."""


@dataclass
class _Outcome:
    """What has been gathered so far."""

    samples: list[Sample] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)

    def leave_out(self, job: Job, why: str) -> None:
        """Note that the job's system is not measured in the job's case."""
        entry = Missing(job.system, why, job.case or job.experiment)
        if entry not in self.missing:
            self.missing.append(entry)


def measure(
    experiment: Experiment, cells: Sequence[Cell], chosen: Sequence[str], watch: Watcher
) -> Document:
    """Run the cells on those chosen systems that are installed.

    `chosen` holds names from the experiment's `systems`.
    """
    versions = {name: SYSTEMS[name].version() for name in chosen}
    present = {name: version for name, version in versions.items() if version is not None}
    outcome = _Outcome()
    outcome.missing = [
        Missing(name, SYSTEMS[name].install) for name in chosen if name not in present
    ]
    cells = [_restrict(cell, present) for cell in cells]
    watch.begin(experiment.name, sum(cell.runs * len(cell.jobs) for cell in cells))
    for cell in cells:
        _run_cell(experiment, cell, outcome, watch)
    rows = summarise(outcome.samples)
    about = machine.describe(present)
    return Document(experiment.name, machine.python(), about, rows, tuple(outcome.missing))


def _restrict(cell: Cell, present: Iterable[str]) -> Cell:
    jobs = tuple(job for job in cell.jobs if job.system in present)
    return replace(cell, jobs=jobs)


def _run_cell(experiment: Experiment, cell: Cell, outcome: _Outcome, watch: Watcher) -> None:
    failed: set[str] = set()
    if cell.lacks and cell.lacks not in outcome.missing:
        outcome.missing.append(cell.lacks)
    for job in turns(cell):
        watch.job(job)
        if job.system not in failed and not cell.lacks:
            try:
                outcome.samples += experiment.samples(job, execute(job))
            except BenchError as error:
                failed.add(job.system)
                outcome.leave_out(job, str(error))
            except ArithmeticError as error:  # figures that nobody expected
                failed.add(job.system)
                outcome.leave_out(job, f"its figures make no sense: {error}")
        watch.done()


def own_failures(document: Document) -> list[Missing]:
    """Where loomlet itself failed; what this interpreter cannot do at all has no case."""
    return [entry for entry in document.missing if is_ours(entry.system) and entry.case]


def turns(cell: Cell) -> Iterator[Job]:
    """The cell's jobs in the order they run: in turn, each time beginning with another one.

    As soon as each was first once, they run in the other direction, and so on; so none of a pair
    runs before the other one more often.
    """
    count = max(1, len(cell.jobs))
    for run in range(cell.runs):
        shift, backwards = run % count, run // count % 2
        order = [*cell.jobs[shift:], *cell.jobs[:shift]]
        yield from reversed(order) if backwards else order


def execute(job: Job) -> dict[str, Any]:
    """Run the job's process and give the JSON object on the last line of its output."""
    free = machine.free_memory() * MEMORY_SHARE
    if job.needs > free:
        raise BenchError(
            f"needs about {job.needs >> 20} MB of memory, {int(free) >> 20} MB to spare"
        )
    command, extra = SYSTEMS[job.system].command(job)
    try:
        done = subprocess.run(
            command,
            env=os.environ | extra,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BenchError(f"took more than {LIMIT_SECONDS} seconds") from None
    if done.returncode == -signal.SIGALRM:
        raise BenchError("took longer than its own limit")
    if done.returncode:
        reason = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no message"]
        raise BenchError(f"ended with status {done.returncode}: {reason[0]}")
    return _last_object(done.stdout)


def _last_object(text: str) -> dict[str, Any]:
    line = (text.strip().splitlines() or [""])[-1]
    try:
        result = json.loads(line)
    except ValueError:
        result = None
    if not isinstance(result, dict):
        raise BenchError(f"expected a line of JSON from the program, found {line[:80]!r}")
    return result


def summarise(samples: Sequence[Sample]) -> list[Row]:
    """One row per system, case and unit, in the order in which they first appeared by case."""
    groups: dict[tuple[str, str, str], list[Sample]] = {}
    for sample in samples:
        groups.setdefault((sample.case, sample.unit, sample.system), []).append(sample)
    order = list(dict.fromkeys((case, unit) for case, unit, _ in groups))
    keys = sorted(groups, key=lambda key: (order.index(key[:2]), not is_ours(key[2])))
    return [_row(groups[key]) for key in keys]


def _row(samples: Sequence[Sample]) -> Row:
    first = samples[0]
    values = [sample.value for sample in samples]
    middle = statistics.median(values)
    return Row(
        first.system,
        first.case,
        first.unit,
        middle,
        min(values),
        max(values),
        len(values),
        first.scale,
        tuple(values),
    )


def number(output: Mapping[str, Any], key: str) -> float:
    """The number, not below zero, that a program printed under that key, or BenchError."""
    value = output.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        raise BenchError(f"expected a number not below zero for {key!r}, found {value!r}")
    return float(value)
