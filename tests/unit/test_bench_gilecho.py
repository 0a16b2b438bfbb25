"""The experiment on the GIL: its cases, what it accepts, and its programs at a small size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from loomlet import _core
from loomlet.bench import gilecho, measure
from loomlet.bench.model import BenchError, Job

PAIRS = [
    (case, system)
    for case, systems in gilecho.CASES.items()
    for system in systems
    if system == "futex" or case[-1] == "1" or case == "even N=2"
]


def job(case: str, system: str) -> Job:
    """A job of that case that takes a moment."""
    (cell,) = gilecho.cells(True, [case])
    found = next(job for job in cell.jobs if job.system == system)
    return Job(found.experiment, system, case, {**found.parameters, "seconds": 0.1})


@pytest.mark.skipif(not _core._has_gil(), reason="there is no GIL to wait for")
@pytest.mark.parametrize(("case", "system"), PAIRS)
def test_each_system_does_something(case: str, system: str) -> None:
    work = job(case, system)
    found = gilecho.samples(work, measure.execute(work))
    names = {each.case.removeprefix(work.case).strip() for each in found}
    times = {"p50", "p99"} if case != "even N=2" else set()
    kept = {"kept"} if case[-1] == "1" else set()
    assert names == {"", *times, *kept}
    assert all(each.value >= 0 for each in found)


@pytest.mark.skipif(not _core._has_gil(), reason="there is no GIL to wait for")
def test_where_nobody_computes_nothing_is_kept() -> None:
    work = job("think N=0", "threads")
    found = gilecho.samples(work, measure.execute(work))
    assert [each for each in found if each.unit == "%"] == []


@pytest.mark.parametrize(
    "case", ["", "think", "think N=x", "think N=1 more", "run N=1", "even N=0"]
)
def test_a_case_that_makes_no_sense_is_refused(case: str) -> None:
    with pytest.raises(BenchError, match="expected a case like"):
        gilecho.cells(True, [case])


def test_without_a_gil_it_is_said_that_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "_has_gil", lambda: False)
    lacks = [cell.lacks for cell in gilecho.cells(True, [])]
    assert all(lack is not None and "no GIL" in lack.how for lack in lacks)


@pytest.mark.parametrize("output", [{}, {"done": 0}, {"done": 3, "p50": "fast"}])
def test_what_was_not_done_is_a_failure(output: Mapping[str, Any]) -> None:
    with pytest.raises(BenchError):
        gilecho.samples(job("think N=1", "threads"), output)
