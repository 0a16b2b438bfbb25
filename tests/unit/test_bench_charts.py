"""The pictures: each experiment has some, and each system a colour."""

from __future__ import annotations

import pytest

from loomlet.bench import gilecho, giltest, heap, testserver
from loomlet.bench.catalogue import EXPERIMENTS
from loomlet.bench.model import Document, Experiment, Row

charts = pytest.importorskip("loomlet.bench.charts", reason="needs loomlet[bench]")
thread_charts = pytest.importorskip("loomlet.bench.thread_charts", reason="needs loomlet[bench]")


def titles(experiment: Experiment, rows: list[Row]) -> list[str]:
    return [each.title for each in charts.draw([Document(experiment.name, "", {}, rows)])]


def row(system: str, case: str, unit: str, value: float = 10.0) -> Row:
    return Row(system, case, unit, value, value / 2, value * 2, 3)


def test_every_system_has_a_colour() -> None:
    for experiment in EXPERIMENTS.values():
        assert set(experiment.systems) <= set(charts.COLOURS)


@pytest.mark.parametrize("experiment", [gilecho.EXPERIMENT, giltest.EXPERIMENT])
def test_threads_that_compute_have_pictures_by_their_number(experiment: Experiment) -> None:
    kind = "think" if experiment.name == "gilecho" else "echo"
    rows = [
        row(system, f"{kind} N={count}{what}", unit, value)
        for system, value in (("loomlet", 800), ("threads", 8))
        for count in (0, 1)
        for what, unit in (("", "/s"), (" p50", "ns"), (" p99", "ns"))
    ]
    found = titles(experiment, rows)
    assert found == [
        "Requests of a client that thinks, beside N threads that compute",
        f"{kind} N=0: how long an answer takes, median and 99th percentile",
        f"{kind} N=1: how long an answer takes, median and 99th percentile",
    ]
    (picture, *_) = charts.draw([Document(experiment.name, "", {}, rows)])
    assert all(word in picture.svg for word in ("N=0", "N=1", "loomlet", "threads", "logarithmic"))


def test_the_web_server_is_drawn_by_clients_and_threads() -> None:
    rows = [row(system, case, "/s") for case in testserver.CASES for system in testserver.SYSTEMS]
    (picture,) = charts.draw([Document(testserver.NAME, "", {}, rows)])
    assert all(case in picture.svg for case in testserver.CASES)
    assert "logarithmic" not in picture.svg


def test_the_first_round_of_a_crowd_stands_beside_the_later_ones() -> None:
    cases = ("rounds N=10 deep", "rounds N=10 deep later")
    rows = [row("loomlet", case, unit) for case in cases for unit in ("ns", "B")]
    found = charts.draw([Document(heap.NAME, "", {}, rows)])
    assert [each.title for each in found] == [
        "Time of a tasklet in a crowd, by rounds",
        "Memory of a tasklet that waits, by rounds",
    ]
    assert all("later rounds" in each.svg and "N=10 deep" in each.svg for each in found)


def test_allocators_are_drawn_side_by_side() -> None:
    rows = [
        row(system, f"{case}{what}", unit)
        for system in heap.SYSTEMS
        for case in heap.ENTRIES
        for what, unit in (("", "s"), (" peak", "B"), (" left", "B"))
    ]
    found = titles(heap.EXPERIMENT, rows)
    assert len(found) == 3
    assert all(title.startswith("Lists that grow: ") for title in found)


def test_every_picture_has_rows_in_a_full_run() -> None:
    """A pattern that fits no case would draw nothing, and nobody would see it."""
    for picture in thread_charts.PICTURES:
        experiment = EXPERIMENTS[picture.experiment]
        asked = [cell.case for cell in experiment.cells(False, [])]
        ends = ("", " kept", " cpu", " peak", " left", " later")
        rows = [row("loomlet", f"{case}{end}", picture.unit) for case in asked for end in ends]
        assert picture.title in titles(experiment, rows)


def test_nothing_is_drawn_of_what_was_not_measured() -> None:
    assert titles(testserver.EXPERIMENT, []) == []


def test_a_figure_of_nothing_can_be_drawn() -> None:
    rows = [Row(system, "lock N=1 kept", "%", 0.0, 0.0, 0.0, 3) for system in giltest.OURS]
    assert titles(giltest.EXPERIMENT, rows) == ["What the N threads keep beside the locks"]
