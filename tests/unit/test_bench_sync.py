"""The experiment on plain threads: its cases, what it accepts, and its programs at a small size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from loomlet.bench import measure, sync
from loomlet.bench.model import BenchError, Document, Job, Row

CASES = [*sync.PROGRAMS, *sync.PAIRS, *sync.ALONE, "queue N=1"]


def job(case: str, system: str) -> Job:
    """A job of that case that takes a moment."""
    (cell,) = sync.cells(True, [case])
    found = next(job for job in cell.jobs if job.system == system)
    return Job(found.experiment, system, case, {**found.parameters, "seconds": 0.02})


@pytest.mark.parametrize("system", sync.SYSTEMS)
@pytest.mark.parametrize("case", CASES)
def test_each_system_does_something(case: str, system: str) -> None:
    work = job(case, system)
    (found,) = sync.samples(work, measure.execute(work))
    assert (found.case, found.unit) == (case, "/s")
    assert found.value > 0


def test_only_ours_uses_loomlet() -> None:
    assert [job("lock", system).parameters["ours"] for system in sync.SYSTEMS] == [True, False]


@pytest.mark.parametrize("case", ["", "mutex", "lock N=x", "lock N=1 more", "alone"])
def test_a_case_that_makes_no_sense_is_refused(case: str) -> None:
    with pytest.raises(BenchError, match="expected a case like"):
        sync.cells(True, [case])


@pytest.mark.parametrize("output", [{}, {"done": 0}, {"done": "many"}])
def test_what_was_not_done_is_a_failure(output: Mapping[str, Any]) -> None:
    with pytest.raises(BenchError):
        sync.samples(job("lock", "threads"), output)


def test_the_ratio_is_that_of_the_rounds() -> None:
    """A slow minute of the machine is in both of a round."""
    ours = Row("loomlet", "lock", "/s", 30, 20, 40, 3, values=(20, 40, 30))
    theirs = Row("threads", "lock", "/s", 15, 10, 20, 3, values=(10, 20, 10))
    document = Document("sync", "3.13", {}, [ours, theirs])
    assert sync.notes(document) == ["lock: loomlet / threads 2.00 (2.00 to 3.00), 3 rounds"]


def test_lock_and_condition_take_turns_and_are_compared_by_rounds() -> None:
    cells = [cell for cell in sync.cells(True, []) if "lock" in {job.case for job in cell.jobs}]
    (ran,) = [list(measure.turns(cell)) for cell in cells]
    assert {(job.case, job.system) for job in ran[:4]} == {
        (case, system) for case in ("lock", "condition") for system in sync.SYSTEMS
    }
    lock = Row("loomlet", "lock", "/s", 20, 10, 40, 3, values=(10, 20, 40))
    condition = Row("loomlet", "condition", "/s", 18, 9, 36, 3, values=(9, 18, 36))
    document = Document("sync", "3.13", {}, [lock, condition])
    assert sync.notes(document) == ["loomlet: condition / lock 0.90 (0.90 to 0.90), 3 rounds"]


def test_rounds_that_do_not_match_give_no_ratio() -> None:
    """A system that failed in the middle has fewer."""
    ours = Row("loomlet", "lock", "/s", 30, 20, 40, 2, values=(20, 40))
    theirs = Row("threads", "lock", "/s", 15, 10, 20, 3, values=(10, 20, 10))
    assert sync.notes(Document("sync", "3.13", {}, [ours, theirs])) == []
    assert sync.notes(Document("sync", "3.13", {}, [ours])) == []
