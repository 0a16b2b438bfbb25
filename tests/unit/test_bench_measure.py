"""Systems take turns, samples become rows, and what cannot be measured is named."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from loomlet.bench import measure
from loomlet.bench.model import BenchError, Cell, Experiment, Job, Missing, Row, Sample


@dataclass(frozen=True)
class Fake:
    """A system whose program is a line of Python."""

    name: str
    line: str
    present: bool = True
    install: str = "ask the test"

    def version(self) -> str | None:
        return "1.0" if self.present else None

    def command(self, job: Job) -> tuple[list[str], dict[str, str]]:
        return [sys.executable, "-c", self.line], {"PROGRAM": self.name}


@dataclass
class Watch:
    """Remembers the order of the jobs."""

    systems: list[str] = field(default_factory=list)
    announced: int = 0
    ended: int = 0

    def begin(self, experiment: str, jobs: int) -> None:
        self.announced += jobs

    def job(self, job: Job) -> None:
        self.systems.append(job.system)

    def done(self) -> None:
        self.ended += 1


def samples(job: Job, output: Mapping[str, Any]) -> list[Sample]:
    return [Sample(job.system, job.case, "ns", measure.number(output, "value"))]


def experiment(*systems: str) -> Experiment:
    return Experiment("fake", "", systems, lambda quick, wanted: [], samples, lambda row: "")


def run(monkeypatch: pytest.MonkeyPatch, runs: int, *fakes: Fake) -> tuple[Any, Watch]:
    """Measure one cell on these systems."""
    monkeypatch.setattr(measure, "SYSTEMS", {fake.name: fake for fake in fakes})
    names = [fake.name for fake in fakes]
    cell = Cell("case", runs, [Job("fake", name, "case", {}) for name in names])
    watch = Watch()
    return measure.measure(experiment(*names), [cell], names, watch), watch


def printing(text: str) -> str:
    return f"print('talk'); print({text!r})"


def test_systems_take_turns_and_the_order_rotates(monkeypatch: pytest.MonkeyPatch) -> None:
    good = printing('{"value": 3}')
    document, watch = run(monkeypatch, 3, Fake("loomlet", good), Fake("b", good), Fake("c", good))
    assert watch.systems == ["loomlet", "b", "c", "b", "c", "loomlet", "c", "loomlet", "b"]
    assert watch.announced == watch.ended == 9
    assert [(row.system, row.runs) for row in document.rows] == [("loomlet", 3), ("b", 3), ("c", 3)]


def test_of_two_systems_neither_runs_first_more_often() -> None:
    jobs = [Job("ring", name, "N=1", {}) for name in ("a", "b", "c")]
    names = [job.system for job in measure.turns(Cell("N=1", 6, jobs))]
    rounds = ["".join(names[at : at + 3]) for at in range(0, 18, 3)]
    assert rounds == ["abc", "bca", "cab", "cba", "acb", "bac"]
    assert sum(each.index("a") < each.index("b") for each in rounds) == 3


def test_a_row_holds_median_minimum_maximum_runs_and_values() -> None:
    values = (7.0, 1.0, 4.0, 100.0, 2.0)
    rows = measure.summarise([Sample("go", "N=1 M=1", "s", value, 10) for value in values])
    assert rows == [Row("go", "N=1 M=1", "s", 4.0, 1.0, 100.0, 5, 10, values)]


def test_units_of_one_case_are_kept_apart() -> None:
    rows = measure.summarise(
        [
            Sample("go", "N=1", "B", 10),
            Sample("loomlet", "N=1", "ns", 5),
            Sample("go", "N=1", "ns", 6),
        ]
    )
    assert [(row.system, row.unit, row.median) for row in rows] == [
        ("go", "B", 10),
        ("loomlet", "ns", 5),
        ("go", "ns", 6),
    ]


def test_a_peer_that_is_not_installed_is_named_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = printing('{"value": 3}')
    absent = Fake("go", good, present=False, install="apt install golang-go")
    document, watch = run(monkeypatch, 1, Fake("loomlet", good), absent)
    assert document.missing == (Missing("go", "apt install golang-go"),)
    assert watch.systems == ["loomlet"]
    assert document.machine["versions"] == {"loomlet": "1.0"}


def test_a_peer_that_fails_is_named_once_and_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = printing('{"value": 3}'), "import sys; sys.exit('no such queue')"
    document, watch = run(monkeypatch, 3, Fake("loomlet", good), Fake("go", bad))
    assert document.missing == (Missing("go", "ended with status 1: no such queue", "case"),)
    assert watch.ended == watch.announced == 6
    assert {row.system for row in document.rows} == {"loomlet"}


def test_a_cell_that_lacks_something_is_named_and_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "SYSTEMS", {"loomlet": Fake("loomlet", "1 / 0")})
    watch, lacks = Watch(), Missing("server", "get it", "case")
    cell = Cell("case", 2, [Job("fake", "loomlet", "case", {})], lacks)
    document = measure.measure(experiment("loomlet"), [cell], ["loomlet"], watch)
    assert (document.rows, document.missing) == ([], (lacks,))
    assert watch.announced == watch.ended == 2


def test_a_failure_of_loomlet_itself_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    peer = Fake("go", printing('{"value": 3}'))
    document, _ = run(monkeypatch, 1, Fake("loomlet", "raise SystemExit(3)"), peer)
    assert measure.own_failures(document) == [
        Missing("loomlet", "ended with status 3: no message", "case")
    ]
    assert [row.system for row in document.rows] == ["go"]


@pytest.mark.parametrize("line", ["pass", "print('[1]')", "print('{\"value\": -1}')"])
def test_output_that_is_no_result_is_a_failure(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    document, _ = run(monkeypatch, 1, Fake("loomlet", line))
    assert "expected" in document.missing[0].how


def test_a_job_that_does_not_fit_the_memory_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "SYSTEMS", {"go": Fake("go", "raise SystemExit('started')")})
    with pytest.raises(BenchError, match="needs about 4194304 MB of memory"):
        measure.execute(Job("memory", "go", "N=1", {}, needs=1 << 42))


def test_a_program_gets_the_environment_of_its_system(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "import os, json; print(json.dumps({'name': os.environ['PROGRAM']}))"
    monkeypatch.setattr(measure, "SYSTEMS", {"go-2": Fake("go-2", line)})
    assert measure.execute(Job("ring", "go-2", "", {})) == {"name": "go-2"}
