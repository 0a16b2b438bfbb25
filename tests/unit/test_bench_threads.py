"""The experiments on threads: their cases, what they accept, and their programs at a small size."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from loomlet import _core
from loomlet.bench import giltest, measure, testserver
from loomlet.bench.model import BenchError, Experiment, Job
from loomlet.bench.programs import driver

PAIRS = [
    (kind, system)
    for kind, (systems, _) in giltest.KINDS.items()
    for system in giltest.here(systems)
]
needs_gil = pytest.mark.skipif(not _core._has_gil(), reason="without a GIL nobody has to wait")


def job(experiment: Experiment, case: str, system: str) -> Job:
    """A job of that case that takes a moment."""
    (cell,) = experiment.cells(True, [case])
    found = next(job for job in cell.jobs if job.system == system)
    return Job(found.experiment, system, case, {**found.parameters, "seconds": 0.1})


def rows(experiment: Experiment, case: str, system: str) -> dict[str, float]:
    """What a short run measures, by what its rows are called behind the case."""
    work = job(experiment, case, system)
    found = experiment.samples(work, measure.execute(work))
    return {each.case.removeprefix(case).strip(): each.value for each in found}


@pytest.mark.parametrize(("kind", "system"), PAIRS)
def test_each_system_hands_over_or_computes(kind: str, system: str) -> None:
    found = rows(giltest.EXPERIMENT, f"{kind} N=1", system)
    more = {"computing": set(), "echo": {"p50", "p99", "kept"}}.get(kind, {"kept"})
    assert set(found) == {"", *more}
    assert found[""] > 0


@pytest.mark.parametrize("case", ["lock N=0", "condition N=0", "echo N=0"])
def test_where_nobody_computes_nothing_is_kept(case: str) -> None:
    assert "kept" not in rows(giltest.EXPERIMENT, case, "threads")


@pytest.mark.parametrize("system", giltest.here(testserver.SYSTEMS))
def test_the_web_server_answers_all(system: str) -> None:
    assert set(rows(testserver.EXPERIMENT, "p=3 N=0", system)) == {"", "p50", "p99", "cpu"}
    assert set(rows(testserver.EXPERIMENT, "p=1 N=1", system)) == {"", "p50", "p99", "kept"}


@needs_gil
def test_the_web_servers_differ_by_primitives_and_by_priority() -> None:
    (cell,) = testserver.cells(True, ["p=1 N=1"])
    ways = {job.system: (job.parameters["ours"], job.parameters["mode"]) for job in cell.jobs}
    assert len(set(ways.values())) == len(testserver.SYSTEMS)
    assert ways["loomlet"] == (True, "prioritised")
    assert ways["threads"] == (False, "threads")


def test_without_a_gil_equal_systems_take_part_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "_has_gil", lambda: False)
    for experiment in (giltest.EXPERIMENT, testserver.EXPERIMENT):
        for cell in experiment.cells(True, []):
            assert [job.system for job in cell.jobs] == ["loomlet", "threads"]


@pytest.mark.parametrize(
    "case", ["", "lock", "lock N=x", "lock N=1 more", "queue N=1", "computing N=0"]
)
def test_a_case_of_giltest_that_makes_no_sense_is_refused(case: str) -> None:
    with pytest.raises(BenchError, match="expected a case like 'condition N=1'"):
        giltest.cells(True, [case])


@pytest.mark.parametrize("case", ["", "p=1", "p=0 N=0", "p=1 N=x", "p=1 N=1 more"])
def test_a_case_of_testserver_that_makes_no_sense_is_refused(case: str) -> None:
    with pytest.raises(BenchError, match="expected a case like 'p=10 N=1'"):
        testserver.cells(True, [case])


@pytest.mark.parametrize("output", [{}, {"done": 0}, {"done": 3, "p50": "fast"}])
def test_what_was_not_done_is_a_failure(output: Mapping[str, Any]) -> None:
    for experiment, case in ((giltest.EXPERIMENT, "echo N=1"), (testserver.EXPERIMENT, "p=1 N=1")):
        with pytest.raises(BenchError):
            experiment.samples(job(experiment, case, "threads"), output)


@pytest.mark.parametrize("ours", [False, True])
@pytest.mark.parametrize("kind", ["lock", "condition"])
def test_a_slot_hands_over_every_number(kind: str, ours: bool) -> None:
    program = driver.load("primitives")
    slot = program.SLOTS[kind](program.primitives(ours))
    numbers = [1, 2, 3, 4, 5, program.END]
    producer = threading.Thread(target=lambda: [slot.put(number) for number in numbers])
    producer.start()
    assert program.get_all(slot) == 5
    producer.join()


def test_a_number_that_is_missing_is_noticed() -> None:
    class Loses:
        numbers = iter([1, 3])

        def get(self) -> int:
            return next(self.numbers)

    with pytest.raises(SystemExit, match="expected the number 2, got 3"):
        driver.load("primitives").get_all(Loses())


def test_a_client_that_ends_without_a_result_fails() -> None:
    words = [sys.executable, "-c", "raise SystemExit(3)"]
    with pytest.raises(SystemExit, match="the client has ended with status 3"):
        driver.load("gil_echo").ask_elsewhere(words)


def test_a_client_that_gets_no_page_fails() -> None:
    import http.server

    class Refuses(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(503)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is logged."""

    program = driver.load("pool_server")
    with http.server.HTTPServer(("127.0.0.1", 0), Refuses) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with pytest.raises(SystemExit, match="expected a page of 20 lines"):
            program.ask_all(server.server_port, 2, 1)
        server.shutdown()
        thread.join()
