"""Every program that is on this machine does its work: hops and blocked tasks are counted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from loomlet import _core
from loomlet.bench import freeze, heap, measure, memory, net, peers, preempt, ring, taskspeed
from loomlet.bench.model import BenchError, Job
from loomlet.bench.peers import PROGRAMS, SYSTEMS
from loomlet.bench.programs import driver

OURS = {
    "__init__.py",
    "exceptions_left.py",
    "frozen.py",
    "gil_echo.py",
    "handoff_echo.py",
    "handoff_switches.py",
    "handoff_waits.py",
    "heap_rounds.py",
    "http_loomlet.py",
    "on_loomlet.py",
    "primitives.py",
    "sync_pairs.py",
    "waiting_on_loomlet.py",
}


@pytest.fixture(autouse=True, scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> object:
    """Programs are compiled into a folder of the test, once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOMLET_BENCH_DIR", str(tmp_path_factory.mktemp("bench")))
        yield


def job(jobs: list[Job], system: str) -> Job:
    """The job of that system, or a skip where it is not installed."""
    if SYSTEMS[system].version() is None:
        pytest.skip(f"{system} is missing: {SYSTEMS[system].install}")
    return next(job for job in jobs if job.system == system)


@pytest.mark.parametrize("system", ring.SYSTEMS)
@pytest.mark.parametrize("case", ["N=9 M=31", "necklace N=9 M=31", "N=9 M=31 printed"])
def test_a_ring_makes_as_many_hops_as_it_should(system: str, case: str) -> None:
    (cell,) = ring.cells(True, [case])
    work = job(list(cell.jobs), system)
    output = measure.execute(work)
    assert output["hops"] == 9 * 31
    assert ring.samples(work, output)[0].case == case


@pytest.mark.parametrize("system", memory.SYSTEMS)
def test_blocked_tasks_take_memory_and_end(system: str) -> None:
    (cell,) = memory.cells(False, ["N=20000"])
    work = job(list(cell.jobs), system)
    found = memory.samples(work, measure.execute(work))
    assert len(found) == 3 * memory.ROUNDS
    assert next(each for each in found if each.unit == "B").value > 50


@pytest.mark.parametrize("system", memory.WITH_CONTEXT)
def test_memory_can_be_measured_with_a_context_variable_set(system: str) -> None:
    (cell,) = memory.cells(False, ["N=20000 context"])
    work = job(list(cell.jobs), system)
    assert memory.samples(work, measure.execute(work))[0].case == "N=20000 context"


WAITING = ("loomlet", "asyncio", "uvloop")
LOCKS = {*taskspeed.WAITS, *taskspeed.ALONE}


@pytest.mark.parametrize("system", taskspeed.SYSTEMS)
def test_the_switch_table_has_its_rows(system: str) -> None:
    (cell,) = taskspeed.cells(True, [])
    whole = job(list(cell.jobs), system)
    small = Job(whole.experiment, system, "", {"switches": 500, "repeats": 2})
    found = taskspeed.samples(small, measure.execute(small))
    cases = {each.case for each in found}
    assert len(found) == 2 * len(cases)
    assert cases >= ({"channel hop"} if system in ("loomlet", "asyncio", "gevent") else set())
    assert cases.isdisjoint(LOCKS) if system not in WAITING else cases >= LOCKS
    assert "frame switch soft" in cases or system == "loomlet"
    if system == "loomlet":
        assert set(taskspeed.CASES) - cases <= {"frame switch soft"}


@pytest.mark.parametrize("system", preempt.SYSTEMS)
def test_spinners_take_turns(system: str) -> None:
    (cell,) = preempt.cells(True, ["slice=0.001"])
    work = job(list(cell.jobs), system)
    cases = {each.case for each in preempt.samples(work, measure.execute(work))}
    rows = set(preempt.WHATS) if system == "loomlet" else {"turn", "uneven", "wait", "wait p99"}
    assert cases == {f"slice=0.001 {row}" for row in rows}


@pytest.mark.parametrize("system", freeze.SYSTEMS)
def test_tasklets_and_closures_become_bytes(system: str) -> None:
    """Without soft switching there is nothing to freeze, and that is no failure."""
    (cell,) = freeze.cells(True, [])
    whole = job(list(cell.jobs), system)
    found = freeze.samples(
        whole, measure.execute(Job(whole.experiment, system, "", {"repeats": 1}))
    )
    cases = {each.case: each.value for each in found}
    if system != "loomlet":
        assert set(cases) == {"closure bytes", "closure save", "closure load"}
    elif _core.SOFT_SUPPORTED:
        assert cases["depth 1 bytes"] < cases["depth 5 bytes"] < cases["depth 20 bytes"]
        assert cases["depth 1 by value bytes"] > cases["depth 1 bytes"]
        assert {"local resume", "moved resume"} <= set(cases)
    else:
        assert not cases


def small(case: str, system: str) -> Job:
    """A job of the experiment on networking that takes a moment."""
    (cell,) = net.cells(True, [case])
    whole = job(list(cell.jobs), system)
    few = {"count": 500} if case in net.SINGLE else {}
    return Job(net.NAME, system, case, {**whole.parameters, **few, "seconds": 0.05})


@pytest.mark.parametrize("case", ["echo N=3 size=64", "echo N=3 size=80000", "connect N=2"])
@pytest.mark.parametrize("system", net.SYSTEMS)
def test_a_server_answers_every_connection(system: str, case: str) -> None:
    work = small(case, system)
    output = measure.execute(work)
    assert output["served"] == work.parameters["count"]
    (found,) = net.samples(work, output)
    assert found.case == case
    assert found.value > 100


@pytest.mark.parametrize("system", net.SYSTEMS)
def test_parked_connections_take_memory(system: str) -> None:
    if system in net.WITHOUT["parked"]:
        pytest.skip(f"{system} takes no part: a thread for each")
    work = small("parked N=1500", system)  # fewer are lost in what the interpreter gives back
    (found,) = net.samples(work, measure.execute(work))
    assert (found.unit, found.value > 50) == ("B", True)


@pytest.mark.parametrize("system", net.SYSTEMS)
def test_time_limits_and_timers_are_counted(system: str) -> None:
    if system in net.WITHOUT["timeout"]:
        pytest.skip(f"{system} takes no part: no time limits")
    found = [
        sample
        for work in (small("timeout", system), small("timers N=300", system))
        for sample in net.samples(work, measure.execute(work))
    ]
    assert [each.case for each in found] == ["timeout", "timers N=300 set", "timers N=300 cancel"]
    assert all(each.value > 1 for each in found)


@pytest.mark.parametrize("case", ["blocking", "dns N=20"])
@pytest.mark.parametrize("system", net.SYSTEMS)
def test_calls_and_names_are_done_elsewhere(system: str, case: str) -> None:
    if system in net.WITHOUT[case.split(maxsplit=1)[0]]:
        pytest.skip(f"{system} takes no part")
    work = small(case, system)
    (found,) = net.samples(work, measure.execute(work))
    assert (found.case, found.unit, found.value > 100) == (case, "ns", True)


@pytest.mark.parametrize("system", net.SYSTEMS)
def test_clients_of_redis_are_answered(system: str) -> None:
    if system in net.WITHOUT["redis"]:
        pytest.skip(f"{system} takes no part: redis-py would hold up all others")
    if why := peers.lacks_redis():
        pytest.skip(f"no redis: {why}")
    work = small("redis N=60", system)
    output = measure.execute(work)
    assert output["served"] == (50 if system == "threads" else 60)
    assert output["requests"] > 0


@pytest.mark.parametrize("case", ["echo N=3 size=64", "echo N=3 size=80000", "connect N=2"])
def test_without_go_a_client_in_python_asks(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers.Go, "version", lambda self: None)
    assert peers.load_client()[-1].endswith("client.py")
    work = small(case, "loomlet")
    assert net.samples(work, measure.execute(work))[0].value > 100


def test_without_go_connections_are_parked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers.Go, "version", lambda self: None)
    work = small("parked N=20", "loomlet")
    assert measure.execute(work)["parked"] == 20


def test_a_meter_refuses_a_count_that_is_off() -> None:
    meter = driver.Meter(3)
    meter.begin()
    with pytest.raises(SystemExit, match="expected 3 blocked tasks, found 2"):
        meter.blocked(2)
    meter.blocked(3)
    with pytest.raises(SystemExit, match="expected 3 finished tasks, found 4"):
        meter.finished(4)


def test_the_timed_callee_cannot_slip_over_the_end_of_a_chunk() -> None:
    """Its frame must be no smaller than the step from one depth to the next."""
    program = driver.load("on_loomlet")
    sizes = [
        code.co_nlocals + code.co_stacksize
        for code in (program.descend.__code__, program.callee.__code__)
    ]
    assert sizes[0] <= sizes[1]


def test_peers_are_measured_without_loomlet_in_their_process() -> None:
    for path in PROGRAMS.glob("*.py"):
        if path.name not in OURS:
            lines = path.read_text(encoding="utf-8").splitlines()
            assert not [
                line
                for line in lines
                if line.lstrip().startswith(("import loomlet", "from loomlet"))
            ]


def test_a_program_that_does_not_compile_is_a_named_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_of_go = job([Job("ring", "go", "N=2 M=1", {"nodes": 2})], "go")
    (tmp_path / "ring.go").write_text("package main\nfunc main() { missing() }\n")
    monkeypatch.setattr("loomlet.bench.peers.PROGRAMS", tmp_path)
    with pytest.raises(BenchError, match=r"building ring\.go failed"):
        measure.execute(job_of_go)


@pytest.mark.parametrize("case", ["rounds N=3000", "rounds N=1000 deep", "rounds N=300 hard"])
def test_crowds_come_and_go(case: str) -> None:
    (cell,) = heap.cells(True, [case])
    found = heap.samples(cell.jobs[0], measure.execute(cell.jobs[0]))
    assert [(each.case.removeprefix(case), each.unit) for each in found][:2] == [
        ("", "ns"),
        (" later", "ns"),
    ]
    assert all(each.value > 0 for each in found[:4])


@pytest.mark.parametrize("system", heap.SYSTEMS)
def test_lists_grow_with_every_allocator(system: str) -> None:
    for case in heap.ENTRIES:
        (cell,) = heap.cells(True, [case])
        whole = job(list(cell.jobs), system)
        work = replace(whole, parameters={**whole.parameters, "rounds": 2})
        assert len(heap.samples(work, measure.execute(work))) == 5


def test_an_allocator_that_is_not_there_is_no_other_one() -> None:
    """The loader only warns of a library that it cannot preload."""
    (cell,) = heap.cells(True, ["report"])
    work = cell.jobs[1]
    work = replace(work, parameters={**work.parameters, "library": "libnowhere.so.1"})
    known = json.dumps({**work.parameters, "flavour": ""})
    done = subprocess.run(
        [sys.executable, "-P", str(PROGRAMS / "driver.py"), "heap", "heap_report", known],
        env=os.environ | {"LD_PRELOAD": "libnowhere.so.1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "libnowhere.so.1 was not loaded" in done.stderr
