"""The jobs of the experiments, and the output that they accept."""

from __future__ import annotations

import pytest

from loomlet.bench import heap, http, memory, net, preempt, ring, taskspeed
from loomlet.bench.catalogue import EXPERIMENTS
from loomlet.bench.model import BenchError, Job, Missing, Row
from loomlet.bench.peers import PROGRAMS, SYSTEMS


def test_every_experiment_knows_only_known_systems_and_begins_with_ours() -> None:
    for experiment in EXPERIMENTS.values():
        assert set(experiment.systems) <= set(SYSTEMS)
        assert experiment.systems[0] == "loomlet"
        for quick in (False, True):
            for cell in experiment.cells(quick, []):
                assert {job.system for job in cell.jobs} <= set(experiment.systems)


def test_every_system_has_a_program_for_each_of_its_experiments() -> None:
    for experiment in EXPERIMENTS.values():
        for name in experiment.systems if experiment.name != http.NAME else ():
            program = getattr(SYSTEMS[name], "program", None)
            suffix = ".go" if name.startswith("go") else ".erl"
            file = f"{program}.py" if program else f"{experiment.name}{suffix}"
            assert (PROGRAMS / file).is_file()


def test_the_full_ring_covers_the_published_charts() -> None:
    cases = {cell.case for cell in ring.cells(False, [])}
    for tenth in range(10_000, 100_000, 10_000):
        assert {f"N=100 M={tenth}", f"N={tenth} M=100", f"necklace N=100 M={tenth}"} <= cases
    assert any(case.endswith("printed") for case in cases)


@pytest.mark.parametrize("case", ["N=7 M=9", "necklace N=7 M=9", "necklace N=7 M=9 printed"])
def test_a_ring_of_any_size_can_be_asked_for(case: str) -> None:
    assert ring.parse(case).case == case
    (cell,) = ring.cells(True, [case])
    assert cell.case == case
    assert cell.jobs[0].parameters["nodes"] == 7


@pytest.mark.parametrize("case", ["", "N=1 M=9", "N=7", "N=7 M=0", "bracelet N=7 M=9"])
def test_a_ring_that_makes_no_sense_is_refused(case: str) -> None:
    with pytest.raises(BenchError, match="expected a case like"):
        ring.parse(case)


@pytest.mark.parametrize("quick", [True, False])
def test_scaled_rounds_times_their_scale_are_all_rounds(quick: bool) -> None:
    for cell in ring.cells(quick, []):
        shape = ring.parse(cell.case)
        for job in cell.jobs:
            assert job.parameters["rounds"] * job.scale == shape.rounds
            assert job.scale == 1 or job.system in ring.SLOW


def test_seconds_of_a_scaled_ring_are_multiplied_and_flagged() -> None:
    job = Job("ring", "asyncio", "N=10 M=100", {"nodes": 10, "rounds": 20}, scale=5)
    (sample,) = ring.samples(job, {"seconds": 0.5, "hops": 200})
    assert (sample.value, sample.unit, sample.scale) == (2.5, "s", 5)


@pytest.mark.parametrize("hops", [199, 201, 0, None])
def test_a_ring_with_a_wrong_hop_count_is_a_failure(hops: int | None) -> None:
    job = Job("ring", "go", "N=10 M=20", {"nodes": 10, "rounds": 20})
    with pytest.raises(BenchError, match=f"expected 200 hops, counted {hops}"):
        ring.samples(job, {"seconds": 0.5, "hops": hops})


def test_each_round_of_memory_has_its_rows() -> None:
    job = Job("memory", "go", "N=10", {"count": 10, "rounds": 2})
    rounds = [{"bytes": 1, "create": 2, "finish": 3}, {"bytes": 4, "create": 5, "finish": 6}]
    found = [(each.case, each.unit, each.value) for each in memory.samples(job, {"rounds": rounds})]
    assert found == [
        ("N=10", "B", 1),
        ("N=10", "ns", 2),
        ("finish N=10", "ns", 3),
        ("N=10 round=2", "B", 4),
        ("N=10 round=2", "ns", 5),
        ("finish N=10 round=2", "ns", 6),
    ]


def test_a_round_of_memory_that_is_not_there_is_a_failure() -> None:
    job = Job("memory", "go", "N=10", {"count": 10, "rounds": 2})
    with pytest.raises(BenchError, match="expected 2 rounds"):
        memory.samples(job, {"rounds": [{"bytes": 1, "create": 2, "finish": 3}]})


def test_memory_says_how_much_it_will_need() -> None:
    for cell in memory.cells(False, ["N=1000"]):
        assert all(job.needs >= 1000 * 500 for job in cell.jobs)


def test_taskspeed_keeps_every_repeat_under_its_case() -> None:
    job = Job("taskspeed", "loomlet", "", {})
    rows = {"no-op C call": 10, "channel hop": 30}
    found = taskspeed.samples(job, {"repeats": [rows, rows]})
    assert [each.case for each in found] == ["no-op C call"] * 2 + ["channel hop"] * 2


def test_taskspeed_refuses_rows_it_does_not_know() -> None:
    with pytest.raises(BenchError, match="expected rows"):
        taskspeed.samples(Job("taskspeed", "go", "", {}), {"repeats": [{"jump": 3}]})


def test_preempt_has_a_row_for_each_figure_that_a_system_has() -> None:
    job = Job("preempt", "threads", "slice=0.001", {})
    found = preempt.samples(job, {"spinners": 3, "turn": 1e6, "uneven": 2.5, "wait": 3})
    assert [(each.case, each.unit) for each in found] == [
        ("slice=0.001 turn", "ns"),
        ("slice=0.001 uneven", "%"),
        ("slice=0.001 wait", "ns"),
    ]


def test_a_spinner_that_never_ran_is_a_failure() -> None:
    with pytest.raises(BenchError, match="expected turns of 3 spinners"):
        preempt.samples(Job("preempt", "loomlet", "slice=1", {}), {"spinners": 2, "turn": 1})


@pytest.mark.parametrize("case", ["", "slice=0", "slice=-1", "slice=x", "0.001"])
def test_a_slice_that_makes_no_sense_is_refused(case: str) -> None:
    with pytest.raises(BenchError, match="expected a case like"):
        preempt.cells(True, [case])


@pytest.mark.parametrize("case", ["echo N=5 size=8", "connect N=3", "parked N=7", "timers N=9"])
def test_servers_and_timers_of_any_size_can_be_asked_for(case: str) -> None:
    (cell,) = net.cells(False, [case])
    assert cell.case == case
    assert ("threads" in {job.system for job in cell.jobs}) == case.startswith(("echo", "connect"))


@pytest.mark.parametrize(
    "case", ["", "echo", "echo N=0", "echo N=5 size=9", "timeout N=5", "connect", "jump N=5", "dns"]
)
def test_a_server_that_makes_no_sense_is_refused(case: str) -> None:
    with pytest.raises(BenchError, match="expected a case like"):
        net.cells(True, [case])


def test_threads_ask_redis_in_a_crowd_of_fifty() -> None:
    (cell,) = net.cells(False, ["redis N=1000"])
    counts = {job.system: job.parameters["count"] for job in cell.jobs}
    assert counts == {"loomlet": 1000, "gevent": 1000, "threads": 50}


def test_without_redis_its_case_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(net, "lacks_redis", lambda: "get it")
    redis, calls = net.cells(True, ["redis N=5", "blocking"])
    assert redis.lacks == Missing("redis", "get it", "redis N=5")
    assert calls.lacks is None


def test_a_connection_that_was_not_served_is_a_failure() -> None:
    (cell,) = net.cells(True, ["echo N=5 size=64"])
    output = {"seconds": 2.0, "requests": 1000, "served": 4}
    with pytest.raises(BenchError, match="expected all of 5 to be served"):
        net.samples(cell.jobs[0], output)
    (sample,) = net.samples(cell.jobs[0], {**output, "served": 5})
    assert (sample.value, sample.unit) == (2e6, "ns")


def test_rates_are_words_for_the_reader() -> None:
    assert taskspeed.rate(Row("go", "channel hop", "ns", 100, 100, 100, 1)) == "10.00 M/s"
    assert ring.rate(Row("go", "N=100 M=10000", "s", 0.5, 0.5, 0.5, 1)) == "2.00 M/s"
    assert net.rate(Row("go", "connect N=2", "ns", 1e5, 1e5, 1e5, 1)) == "10,000 /s"
    assert net.rate(Row("go", "parked N=2", "B", 1e5, 1e5, 1e5, 1)) == ""
    assert memory.rate(Row("go", "N=10", "ns", 1000, 1000, 1000, 1)) == "1,000 k/s"


@pytest.mark.parametrize("case", ["", "rounds", "rounds N=0", "rounds N=5 soft", "reports", "N=5"])
def test_a_crowd_or_a_program_that_is_unknown_is_refused(case: str) -> None:
    with pytest.raises(BenchError, match="expected a case like"):
        heap.cells(True, [case])


def test_only_loomlet_has_crowds_and_all_have_programs() -> None:
    for cell in heap.cells(False, []):
        systems = ("loomlet",) if cell.case.startswith("rounds") else heap.SYSTEMS
        assert tuple(job.system for job in cell.jobs) == systems


def test_later_rounds_count_by_their_median_time_and_their_largest_size() -> None:
    (cell,) = heap.cells(True, ["rounds N=7 hard"])
    size = iter([5, 9, *[4] * 8])
    rounds = [{"bytes": next(size), "create": n, "finish": 2} for n in range(heap.ROUNDS)]
    found = heap.samples(cell.jobs[0], {"rounds": rounds, "left": 3})
    assert {(each.case.removeprefix(cell.case), each.unit): each.value for each in found} == {
        ("", "ns"): 2,
        (" later", "ns"): 7,
        ("", "B"): 5,
        (" later", "B"): 9,
        (" left", "B"): 3,
    }


@pytest.mark.parametrize("rounds", [None, [], [{"bytes": 1, "create": 1, "finish": 1}]])
def test_a_round_of_a_crowd_that_is_not_there_is_a_failure(rounds: object) -> None:
    (cell,) = heap.cells(True, ["rounds N=7"])
    with pytest.raises(BenchError, match="expected 10 rounds"):
        heap.samples(cell.jobs[0], {"rounds": rounds, "left": 3})


def test_lists_that_lack_entries_are_a_failure() -> None:
    (cell,) = heap.cells(True, ["report"])
    output = {"seconds": [3.0, 1.0, 2.0], "entries": 900_000, "peak": 5, "left": 4}
    found = heap.samples(cell.jobs[1], output)
    assert {each.case: each.value for each in found} == {
        "report": 6,
        "report later": 1.5,
        "report first": 3,
        "report peak": 5,
        "report left": 4,
    }
    with pytest.raises(BenchError, match="expected 900000 entries, counted 899999"):
        heap.samples(cell.jobs[1], output | {"entries": 899_999})
