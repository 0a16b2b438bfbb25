"""The experiment on what exceptions leave: its cases, its rows, and that its program measures."""

from __future__ import annotations

import pytest

from loomlet.bench import exceptions, heap, measure
from loomlet.bench.model import BenchError, Document, Row
from loomlet.bench.targets import judge


@pytest.mark.parametrize("case", ["", "failed", "lost N=1000", "failed N=0", "search N=1500"])
def test_a_case_that_is_unknown_is_refused(case: str) -> None:
    with pytest.raises(BenchError, match="expected a"):
        exceptions.cells(True, [case])


@pytest.mark.parametrize("kind", exceptions.LEAVING)
def test_tasklets_end_and_leave_nothing(kind: str) -> None:
    (cell,) = exceptions.cells(True, [f"{kind} N=3000"])
    found = exceptions.samples(cell.jobs[0], measure.execute(cell.jobs[0]))
    assert [(each.case, each.unit) for each in found] == [(cell.case, "%"), (cell.case, "B")]
    assert found[0].value == 0


def test_a_search_finds_what_is_kept() -> None:
    (cell,) = exceptions.cells(True, ["search N=10000"])
    (found,) = exceptions.samples(cell.jobs[0], measure.execute(cell.jobs[0]))
    assert (found.unit, found.value > 0) == ("ns", True)


def test_what_is_left_is_counted() -> None:
    (cell,) = exceptions.cells(True, ["failed N=2000"])
    output = {"ended": 2000, "left": 20, "bytes": 4000}
    found = exceptions.samples(cell.jobs[0], output)
    assert [each.value for each in found] == [1, 2]
    with pytest.raises(BenchError, match="expected 2000 tasklets to end, found 1999"):
        exceptions.samples(cell.jobs[0], output | {"ended": 1999})


@pytest.mark.parametrize("change", [{"found": 0}, {"objects": 999}])
def test_a_search_that_finds_nothing_is_a_failure(change: dict[str, int]) -> None:
    (cell,) = exceptions.cells(True, ["search N=1000"])
    output = {"objects": 1000, "found": 1, "time": 5}
    assert exceptions.samples(cell.jobs[0], output)[0].value == 5
    with pytest.raises(BenchError, match="expected one exception among 1000 objects"):
        exceptions.samples(cell.jobs[0], output | change)


@pytest.mark.parametrize(("left", "word"), [(0.0, "yes"), (0.001, "no")])
def test_nothing_may_be_left(left: float, word: str) -> None:
    row = Row("loomlet", "failed N=100000", "%", left, left, left, 1)
    verdicts = {
        each.target.what: each.word for each in judge(Document("exceptions", "", {}, [row]))
    }
    assert verdicts["failed N=100000: left, %"] == word


def test_other_allocators_are_compared_with_glibc_in_each_round() -> None:
    rows = [
        Row(name, case, unit, value, value, value, 2, 1, (value, value))
        for case, unit in (("report", "s"), ("report peak", "B"))
        for name, value in (("glibc", 2.0), ("mimalloc", 3.0))
    ]
    assert heap.notes(Document("heap", "", {}, rows)) == [
        "report, time: mimalloc / glibc 1.50 (1.50 to 1.50), 2 rounds",
        "report, memory: mimalloc / glibc 1.50 (1.50 to 1.50), 2 rounds",
    ]
