"""Targets are judged from the rows, and never from missing rows."""

from __future__ import annotations

import pytest

from loomlet.bench.catalogue import EXPERIMENTS
from loomlet.bench.model import Document, Row
from loomlet.bench.targets import TARGETS, judge, ours


def speed(**medians: float) -> Document:
    """A switch table of single runs; `noop`, `soft` and `hard` are ours."""
    names = {
        "noop": ("loomlet", "no-op C call"),
        "soft": ("loomlet", "frame switch soft"),
        "hard": ("loomlet", "frame switch hard"),
        "hop": ("loomlet", "channel hop"),
        "stackless": ("loomlet", "stackless hop"),
        "new": ("loomlet", "create and run"),
        "stackless_new": ("loomlet", "stackless create and run"),
        "greenlet": ("greenlet", "frame switch soft"),
    }
    rows = [Row(*names[key], "ns", value, value, value, 1) for key, value in medians.items()]
    return Document("taskspeed", "", {}, rows)


def verdict(document: Document, what: str) -> tuple[float | None, str]:
    found = next(each for each in judge(document) if each.target.what == what)
    return found.measured, found.word


@pytest.mark.parametrize(("soft", "word"), [(100.0, "yes"), (101.0, "no")])
def test_a_quotient_to_stay_below_is_judged(soft: float, word: str) -> None:
    document = speed(noop=50.0, soft=soft)
    assert verdict(document, "schedule() / no-op C call") == (soft / 50, word)


@pytest.mark.parametrize(("stackless", "word"), [(105.0, "yes"), (106.0, "no")])
def test_a_stackless_hop_is_judged_by_a_native_one(stackless: float, word: str) -> None:
    document = speed(hop=100.0, stackless=stackless)
    assert verdict(document, "stackless hop / channel hop") == (stackless / 100, word)


@pytest.mark.parametrize(("new", "word"), [(110.0, "yes"), (111.0, "no")])
def test_a_stackless_tasklet_is_judged_by_a_native_one(new: float, word: str) -> None:
    document = speed(new=100.0, stackless_new=new)
    assert verdict(document, "stackless create and run / native") == (new / 100, word)


@pytest.mark.parametrize(("greenlet", "word"), [(600.0, "yes"), (599.0, "no")])
def test_a_quotient_to_reach_is_judged(greenlet: float, word: str) -> None:
    document = speed(soft=100.0, greenlet=greenlet)
    assert verdict(document, "greenlet switch / schedule()") == (greenlet / 100, word)


@pytest.mark.parametrize(
    ("what", "theirs", "word"),
    [("lock", 20.0, "yes"), ("queue", 19.0, "no"), ("alone queue", 4.0, "yes")],
)
def test_locks_and_queues_are_judged_by_those_of_asyncio(
    what: str, theirs: float, word: str
) -> None:
    rows = [Row("loomlet", what, "ns", 1.0, 1.0, 1.0, 1)]
    rows.append(Row("asyncio", what, "ns", theirs, theirs, theirs, 1))
    document = Document("taskspeed", "", {}, rows)
    assert verdict(document, f"{what}: asyncio / loomlet") == (theirs, word)


def test_a_quotient_is_that_of_the_rounds() -> None:
    """A machine that was slow in two of three rounds has slowed both sides."""
    soft = Row("loomlet", "frame switch soft", "ns", 20.0, 10.0, 22.0, 3, 1, (10.0, 20.0, 22.0))
    noop = Row("loomlet", "no-op C call", "ns", 5.0, 5.0, 10.0, 3, 1, (5.0, 10.0, 5.0))
    document = Document("taskspeed", "", {}, [soft, noop])
    assert verdict(document, "schedule() / no-op C call") == (2.0, "yes")


def test_what_was_not_measured_is_called_that() -> None:
    assert verdict(speed(soft=1.0), "greenlet switch / schedule()") == (None, "not measured")


def test_bytes_are_judged_by_themselves() -> None:
    row = Row("loomlet", "N=100000", "B", 801.0, 801.0, 801.0, 1)
    document = Document("memory", "", {}, [row])
    assert verdict(document, "bytes per blocked tasklet, N=100000") == (801.0, "no")


def test_without_a_soft_switch_peers_are_compared_with_the_hard_one() -> None:
    document = speed(hard=100.0, greenlet=650.0)
    assert ours(document, document.rows[1]) == document.rows[0]


def test_every_target_names_rows_that_a_full_run_measures() -> None:
    asked = {
        name: {job.case for cell in found.cells(False, []) for job in cell.jobs}
        for name, found in EXPERIMENTS.items()
    }
    for target in TARGETS:
        keys = [key for pair in target.variants() for key in pair if key]
        for system, case, _ in keys:
            assert system in EXPERIMENTS[target.experiment].systems
            if target.experiment != "taskspeed":
                plain = case.split(" round=")[0].removeprefix("finish ")
                assert any(plain.startswith(each) for each in asked[target.experiment])
