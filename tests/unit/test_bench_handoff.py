"""The experiment on handoff: its cases, what it accepts, and its programs at a small size."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from typing import Any

import pytest

from loomlet import _core
from loomlet.bench import handoff, measure, peers
from loomlet.bench.model import BenchError, Job, Missing

SMALL = {"seconds": 0.05, "rounds": 1000}
NUMBERS = {"sleepers": 20, "hard": 50, "turns threads": 50, "turns main": 50}
OTHERS = [
    ("beside queue", "no-handoff"),
    ("sleepers", "threads"),
    ("hard", "no-handoff"),
    ("django writes", "threads"),
    ("writers", "no-handoff"),
    ("echo long", "process"),
]
PAIRS = [*((kind, "loomlet") for kind in handoff.KINDS), *OTHERS]
DJANGO = [f"django {page} N=2" for page in ("writes", "reads")]


def small(kind: str, system: str) -> Job:
    """A job of that kind that takes a moment."""
    count = NUMBERS.get(kind, 3)
    (cell,) = handoff.cells(True, [f"{kind} N={count}"])
    if cell.lacks:
        pytest.skip(f"{cell.lacks.system}: {cell.lacks.how}")
    job = next(job for job in cell.jobs if job.system == system)
    known = {key: value for key, value in SMALL.items() if key in job.parameters}
    return Job(job.experiment, system, job.case, {**job.parameters, **known})


@pytest.mark.parametrize(("kind", "system"), PAIRS)
def test_each_program_does_all_of_its_work(kind: str, system: str) -> None:
    work = small(kind, system)
    found = handoff.samples(work, measure.execute(work))
    assert all(each.case.startswith(work.case) and each.value >= 0 for each in found)
    assert not [each for each in found if each.unit == "%" and each.value]


def test_threads_sleep_without_loomlet_in_their_process() -> None:
    command, _ = peers.SYSTEMS["threads"].command(small("sleepers", "threads"))
    done = subprocess.run(
        [command[0], "-X", "importtime", *command[1:]], capture_output=True, text=True, check=True
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "ctypes" in imported
    assert not [name for name in imported if name.startswith("loomlet")]


@pytest.mark.parametrize("case", handoff.KINDS)
def test_each_kind_takes_a_number(case: str) -> None:
    assert handoff.parse(case) == (case, None)
    assert handoff.parse(f"{case} N=7") == (case, 7)
    (cell,) = handoff.cells(False, [f"{case} N=4"])
    assert {job.parameters["count"] for job in cell.jobs} == {4}


@pytest.mark.parametrize("case", ["", "call", "call usleep N=0", "call  usleep", "hard N=x"])
def test_a_case_that_makes_no_sense_is_refused(case: str) -> None:
    with pytest.raises(BenchError, match="expected a case like"):
        handoff.cells(True, [case])


def test_without_handoff_it_is_said_once_that_nothing_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_core, "_can_hand_over", lambda: False)
    cells = handoff.cells(True, [])
    found = measure.measure(handoff.EXPERIMENT, cells, ["loomlet", "threads"], Silent())
    assert (found.rows, found.missing) == ([], (Missing("loomlet", handoff.CANNOT),))


class Silent:
    """A watcher that shows nothing."""

    def begin(self, experiment: str, jobs: int) -> None:
        """Nothing."""

    def job(self, job: Job) -> None:
        """Nothing."""

    def done(self) -> None:
        """Nothing."""


def test_a_library_that_is_not_there_is_named_in_its_cells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_core, "_can_hand_over", lambda: True)
    monkeypatch.setattr(peers.util, "find_spec", lambda name: None)
    writes, reads, hard = handoff.cells(True, [*DJANGO, "hard"])
    assert [cell.lacks for cell in (writes, reads)] == [
        Missing("django", "pip install django", case) for case in DJANGO
    ]
    assert hard.lacks is None


def test_calls_that_stop_all_are_few() -> None:
    (cell,) = handoff.cells(False, ["call usleep"])
    counts = {job.system: job.parameters["count"] for job in cell.jobs}
    assert counts == {"loomlet": 200, "no-handoff": handoff.FEW}


def job(kind: str, count: int, system: str = "loomlet") -> Job:
    """Of that many calls, connections or whatever the kind counts."""
    (cell,) = handoff.cells(True, [f"{kind} N={count}"])
    return next(each for each in cell.jobs if each.system == system)


def test_the_longest_waits_become_their_percentiles() -> None:
    waits = list(range(200, 0, -1))
    found = handoff.samples(job("call usleep", 200), {"waits": waits})
    assert [(each.case, each.unit, each.value) for each in found] == [
        ("call usleep N=200 p99", "ns", 199),
        ("call usleep N=200 p50", "ns", 100.5),
    ]
    found = handoff.samples(job("beside main", 3), {"waits": [3, 9, 5]})
    assert [(each.case, each.value) for each in found] == [
        ("beside main N=3", 9),
        ("beside main N=3 p50", 5),
    ]


def test_what_failed_is_told_in_per_cent() -> None:
    found = handoff.samples(job("writers", 5), {"seconds": 2.5, "asked": 20, "right": 19})
    assert [(each.case, each.unit, each.value) for each in found] == [
        ("writers N=5", "s", 2.5),
        ("writers N=5 failed", "%", 5),
    ]


@pytest.mark.parametrize(
    ("kind", "output"),
    [
        ("call usleep", {"waits": [1, 2]}),
        ("call usleep", {}),
        ("echo long", {"served": 2, "requests": 5, "seconds": 1}),
        ("sleepers", {"count": 2, "seconds": 1}),
        ("hard", {"threads": 1, "each": 80}),
        ("computing", {"own": 1, "each": 80, "taken": 0}),
        ("writers", {"seconds": 1, "asked": 20}),
        ("passing", {"over": 1}),
        ("turns main", {}),
    ],
)
def test_work_that_was_not_done_is_a_failure(kind: str, output: Mapping[str, Any]) -> None:
    with pytest.raises(BenchError, match="expected"):
        handoff.samples(job(kind, 3), output)


def test_a_hard_switch_without_handoff_needs_no_other_thread() -> None:
    found = handoff.samples(job("hard", 3, "no-handoff"), {"threads": 1, "each": 80})
    assert [each.value for each in found] == [80]


def test_a_program_that_hangs_is_ended() -> None:
    """Here one that only takes longer than it may."""
    whole = small("sleepers", "loomlet")
    work = Job("handoff", "loomlet", "", {**whole.parameters, "count": 100_000, "limit": 0.01})
    with pytest.raises(BenchError, match="took longer than its own limit"):
        measure.execute(work)
