"""The experiment on HTTP: what wrk prints, its cases and figures, and every server once."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loomlet.bench import (
    columns,
    format,
    http,
    http_rooms,
    measure,
    peers,
    servers,
    targets,
    wrk,
)
from loomlet.bench.model import BenchError, Document, Job, Missing, Row

PAGE = """\
Running 2s test @ http://localhost:8000/plain
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   812.32us  197.50us   9.03ms   83.31%
    Req/Sec    70.01k     1.90k   80.00k    69.00%
  Latency Distribution
     50%  812.00us
     75%    0.90ms
     90%    1.05ms
     99%    1.33ms
  141000 requests in 2.00s, 17.90MB read
Requests/sec:  70449.89
Transfer/sec:      8.95MB
"""
ERRORS = "  Socket errors: connect 1, read 2, write 3, timeout 4\n"
REFUSED = "  Non-2xx or 3xx responses: 5\n"
OUTPUT = {"answers": PAGE, "user": 0.705, "system": 1.41, "client": 96.5, "others": 2.0}
TOLD = {
    **{"requests": 400, "refused": 100, "failed": 0, "seconds": 2.0, "p50": 1, "p99": 2},
    **{
        "deviation": 3.0,
        "slowest": 4,
        "probes": {"/-/status": [9, 5], "/static/small.html": [9, 6]},
    },
}


def pairs() -> list[Any]:
    """Each server with each path once; a database takes seconds to be made."""
    found: dict[tuple[str, str, bool], Any] = {}
    for kind, room in http.ROOMS.items():
        marks = [pytest.mark.slow] if room.service == "postgresql" else []
        path = "/plain" if room.client == "echo" else room.path
        for name in room.systems:
            key = (name, path, "secure" in (room.more or {}))
            found.setdefault(key, pytest.param(kind, name, marks=marks))
    return list(found.values())


PAIRS = pairs()
needs_wrk = pytest.mark.skipif(not shutil.which("wrk"), reason=servers.lacks_wrk())


@pytest.fixture(autouse=True, scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> object:
    """Programs are compiled into a folder of the test, once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOMLET_BENCH_DIR", str(tmp_path_factory.mktemp("bench")))
        yield


# ---- wrk --------------------------------------------------------------------------------------


def test_the_page_of_wrk_becomes_numbers() -> None:
    found = wrk.parse(PAGE)
    assert (found.requests, found.seconds, found.failed) == (141_000, 2.0, 0)
    times = (found.p50, found.p99, found.deviation, found.slowest)
    assert times == pytest.approx((812_000, 1_330_000, 197_500, 9_030_000))


def test_errors_and_refused_requests_are_added_up() -> None:
    assert wrk.parse(PAGE + ERRORS).failed == 10
    assert wrk.parse(PAGE + ERRORS + REFUSED).failed == 15


@pytest.mark.parametrize(("shown", "nanoseconds"), [("1.50s", 1.5e9), ("2.00m", 120e9)])
def test_long_times_have_other_units(shown: str, nanoseconds: float) -> None:
    assert wrk.parse(PAGE.replace("1.33ms", shown)).p99 == nanoseconds


@pytest.mark.parametrize("text", ["", "unable to connect", PAGE.replace("50%", "51%")])
def test_another_page_is_a_failure(text: str) -> None:
    with pytest.raises(BenchError, match="expected what wrk prints"):
        wrk.parse(text)


def test_a_run_without_answers_is_a_failure() -> None:
    with pytest.raises(BenchError, match="no request was answered"):
        wrk.parse(PAGE.replace("141000 requests", "0 requests"))


# ---- the catalogue ----------------------------------------------------------------------------


def test_every_system_can_be_started_and_is_in_a_room() -> None:
    asked = {name for room in http.ROOMS.values() for name in room.systems}
    assert asked == set(http.SYSTEMS) == set(servers.ALL)
    assert asked <= set(peers.SYSTEMS)


def test_the_quick_run_is_a_part_of_the_full_one() -> None:
    quick, full = ([cell.case for cell in http.cells(each, [])] for each in (True, False))
    assert set(quick) < set(full)
    assert len(full) == len(set(full))


@pytest.mark.parametrize("case", ["plain N=3", "file N=1000", "waiting N=7", "start"])
def test_any_number_of_connections_can_be_asked_for(case: str) -> None:
    (cell,) = http.cells(True, [case])
    kind, count = http.parse(case)
    assert (cell.case, {job.parameters["connections"] for job in cell.jobs}) == (case, {count})
    assert kind in case


@pytest.mark.parametrize("case", ["", "plain", "plain N=0", "jump N=5", "start N=5", "plain N=x"])
def test_a_case_that_makes_no_sense_is_refused(case: str) -> None:
    with pytest.raises(BenchError, match="expected a case like"):
        http.cells(True, [case])


def test_what_is_missing_for_all_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_rooms, "lacks_wrk", lambda: "get it")
    cells = http.cells(True, ["plain N=1", "file N=2", "handshakes N=1", "fortunes N=1"])
    assert {cell.lacks for cell in cells} == {Missing("wrk", "get it")}
    assert http.cells(True, ["start"])[0].lacks is None


def test_without_a_compiler_no_service_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_rooms, "lacks_wrk", lambda: "")
    monkeypatch.setattr(servers, "_c_version", lambda: None)
    plain, waiting, streams = http.cells(True, ["plain N=1", "waiting N=1", "streams N=1"])
    how = servers.lacks_compiler()
    assert (plain.lacks, waiting.lacks) == (None, Missing("delay", how, "waiting N=1"))
    assert streams.lacks == Missing("http_client", how)


def test_what_one_room_lacks_is_named_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_rooms, "lacks_wrk", lambda: "")
    monkeypatch.setattr(http_rooms, "lacks_openssl", lambda: "get it")
    monkeypatch.setattr(servers, "_postgresql", lambda: "")
    tls, stored = http.cells(True, ["tls N=1", "fortunes N=1"])
    assert tls.lacks == Missing("openssl", "get it")
    assert stored.lacks is not None
    assert (stored.lacks.system, stored.lacks.case) == ("postgresql", "fortunes N=1")


def test_few_take_part_at_the_numbers_that_are_not_the_usual_ones() -> None:
    usual, rare, asked = http.cells(False, ["json N=64", "json N=8", "json N=9"])
    assert {job.system for job in rare.jobs} == set(http_rooms.NGINX) & set(http.DYNAMIC)
    assert len(usual.jobs) == len(asked.jobs) == len(http.DYNAMIC) - 1


def test_the_application_is_that_of_the_path() -> None:
    for kind, wsgi, asgi in (
        ("plain", "http_applications:wsgi", "http_applications:asgi"),
        ("waiting", "http_applications:wsgi", "http_applications:asgi"),
        ("db", "http_flask:app", "http_fastapi:app"),
    ):
        for system in ("loomlet-wsgi", "gunicorn-16"):
            assert wsgi in servers.ALL[system].words(job(f"{kind} N=64", system))
        assert asgi in servers.ALL["uvicorn"].words(job(f"{kind} N=64", "uvicorn"))


def test_what_our_client_prints_becomes_numbers() -> None:
    found = wrk.decode(json.dumps(TOLD))
    assert (found.requests, found.refused, found.failed, found.seconds) == (400, 100, 0, 2.0)
    assert (found.p50, found.p99, found.deviation, found.slowest) == (1, 2, 3, 4)
    assert found.probes == {"/-/status": 5, "/static/small.html": 6}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"p50": None}, "expected what the client prints"),
        ({"requests": 0}, "no request was answered"),
        ({"probes": {"/-/status": [0, 0]}}, "no request for /-/status was answered"),
    ],
)
def test_what_our_client_cannot_have_printed_is_a_failure(change: dict[str, Any], why: str) -> None:
    with pytest.raises(BenchError, match=why):
        wrk.decode(json.dumps({**TOLD, **change}))
    with pytest.raises(BenchError, match="expected what the client prints"):
        wrk.decode("send: Broken pipe")


# ---- figures ----------------------------------------------------------------------------------


def job(case: str, system: str) -> Job:
    """The quick one of that system."""
    (cell,) = http.cells(True, [case])
    return next(each for each in cell.jobs if each.system == system)


def test_a_run_has_a_row_for_each_figure() -> None:
    found = {
        (each.case, each.unit): each.value for each in http.samples(job("plain N=64", "go"), OUTPUT)
    }
    assert found == pytest.approx(
        {
            ("plain N=64", "/s"): 70_500,
            ("plain N=64 cpu", "ns"): 15_000,
            ("plain N=64 user", "ns"): 5_000,
            ("plain N=64 system", "ns"): 10_000,
            ("plain N=64 p50", "ns"): 812_000,
            ("plain N=64 p99", "ns"): 1_330_000,
            ("plain N=64 stdev", "ns"): 197_500,
            ("plain N=64 slowest", "ns"): 9_030_000,
            ("plain N=64 client", "%"): 96.5,
            ("plain N=64 others", "%"): 2.0,
            ("plain N=64 failed", "%"): 0,
        }
    )


@pytest.mark.parametrize("key", ["answers", "user", "client"])
def test_a_figure_that_is_not_there_is_a_failure(key: str) -> None:
    output = {name: value for name, value in OUTPUT.items() if name != key}
    with pytest.raises(BenchError, match="expected"):
        http.samples(job("plain N=64", "go"), output)


def told(requests: int, seconds: float) -> str:
    return json.dumps({**TOLD, "requests": requests, "seconds": seconds})


TURN = {**OUTPUT, "answers": json.dumps(TOLD), "best": [told(450, 2.0), told(550, 2.0)]}
CROWD = {"turns": [TURN, TURN], "normal": 1_000_000, "crowded": 1_200_000}


def test_too_many_requests_have_figures_of_their_own() -> None:
    work = job("overload N=10", "loomlet")
    found = {(each.case, each.unit): each.value for each in http.samples(work, CROWD)}
    name = "overload N=10"
    assert found[name, "/s"] / found[f"{name} best", "/s"] == 0.8
    assert found[f"{name} refused", "%"] == 20
    assert (found[f"{name} status", "ns"], found[f"{name} static", "ns"]) == (5, 6)
    document = Document(http.NAME, "", {"cores": 2}, measure.summarise(http.samples(work, CROWD)))
    (board,) = columns.boards(document, http.EXPERIMENT)
    assert {"req/s", "best", "status", "static", "normal", "crowded"} <= set(board.headings)
    verdicts = {each.target.what: each.word for each in targets.judge(document)}
    assert verdicts["overload N=10 of loomlet: answered / best"] == "yes"
    assert verdicts["overload N=10 of loomlet: memory / normal"] == "yes"


def test_what_is_answered_is_compared_with_the_best_of_the_same_turn() -> None:
    """A machine that was slow in one of three turns has slowed both."""
    slow = {**TURN, "answers": told(200, 2.0), "best": [told(250, 2.0)] * 2}
    poor = {**TURN, "best": [told(4000, 2.0)] * 2}
    output = {**CROWD, "turns": [TURN, slow, poor]}
    rows = measure.summarise(http.samples(job("overload N=10", "loomlet"), output))
    document = Document(http.NAME, "", {"cores": 2}, rows)
    judged = {each.target.what: each.measured for each in targets.judge(document)}
    assert judged["overload N=10 of loomlet: answered / best"] == 0.8


@pytest.mark.parametrize("turns", [None, [], 3])
def test_an_overload_without_turns_is_a_failure(turns: object) -> None:
    with pytest.raises(BenchError, match="expected a list of turns"):
        http.samples(job("overload N=10", "loomlet"), {**CROWD, "turns": turns})


def test_a_connection_that_is_kept_has_a_size() -> None:
    (found,) = http.samples(job("idle N=10000", "loomlet"), {"bytes": 300.0})
    assert (found.case, found.unit, found.value) == ("idle N=10000", "B", 300)


def result(**of: Mapping[str, Any]) -> Document:
    """A result of those outputs, by system, with `_` for `-`."""
    found = [
        sample
        for name, output in of.items()
        for sample in http.samples(job("file N=8", name.replace("_", "-")), output)
    ]
    return Document(http.NAME, "", {"cores": 2}, measure.summarise(found))


def test_figures_of_a_server_stand_side_by_side() -> None:
    document = result(loomlet=OUTPUT, nginx={**OUTPUT, "user": 1.41, "system": 2.82, "client": 9})
    (board,) = columns.boards(document, http.EXPERIMENT)
    assert (board.case, list(board.lines)) == ("file N=8", ["loomlet", "nginx"])
    lines = {
        name: dict(zip(board.headings, words, strict=True)) for name, words in board.lines.items()
    }
    assert lines["loomlet"]["client"] == "96*"
    assert lines["nginx"]["client"] == "9"
    assert (lines["nginx"]["cpu"], lines["nginx"][columns.RATIO]) == ("30 µs", "2.00")
    assert "memory" not in board.headings
    assert len(http.notes(document)) == 2
    assert len(http.notes(replace(document, machine={"cores": 1}))) == 3


def test_a_narrow_terminal_does_without_some_columns() -> None:
    terminal = pytest.importorskip("loomlet.bench.terminal", reason="needs loomlet[bench]")
    for width, shown in ((terminal.WIDE, True), (100, False)):
        (table,) = terminal.tables(result(loomlet=OUTPUT), http.EXPERIMENT, width)
        headings = [column.header for column in table.columns]
        assert ("user" in headings, "cpu" in headings) == (shown, True)


def test_the_page_has_a_table_for_each_case() -> None:
    report = pytest.importorskip("loomlet.bench.report", reason="needs loomlet[bench]")
    page = report.page([result(loomlet=OUTPUT, nginx=OUTPUT)])
    assert "<th>file N=8</th>" in page
    assert "<td>96*</td>" in page
    assert "file N=8 cpu: nginx / loomlet" in page


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (117_110.4, "/s", "117,110"),
        (96.5, "%", "96"),
        (0.012, "%", "0.012"),
        (0, "%", "0"),
        (35, "ns", "35 ns"),
        (999_600, "ns", "1 ms"),
        (1_540_000_000, "ns", "1.54 s"),
        (0.25, "s", "250 ms"),
        (15.5 * 2**20, "B", "15.5 MB"),
    ],
)
def test_tables_of_many_columns_have_short_figures(value: float, unit: str, shown: str) -> None:
    assert format.short(value, unit) == shown


def test_of_two_settings_the_better_one_counts() -> None:
    better = {**OUTPUT, "system": 0.705}
    for first, second in ((OUTPUT, better), (better, OUTPUT)):
        document = result(loomlet=OUTPUT, nginx=first, nginx_cache=second)
        found = {each.target.what: each.measured for each in targets.judge(document)}
        assert found["file N=8 cpu: nginx / loomlet"] == pytest.approx(10 / 15)
        assert found["file N=8 p99: loomlet / nginx"] == 1
    document = result(loomlet=OUTPUT, nginx_cache=better)
    found = {each.target.what: each.measured for each in targets.judge(document)}
    assert found["file N=8 cpu: nginx / loomlet"] == pytest.approx(10 / 15)


def test_a_zero_in_the_middle_is_no_ratio() -> None:
    row = Row("loomlet", "plain N=8 cpu", "ns", 0, 0, 0, 1)
    document = Document(http.NAME, "", {}, [row, replace(row, system="nginx", median=1, max=1)])
    found = {each.target.what: each.measured for each in targets.judge(document)}
    assert found["plain N=8 cpu: nginx / loomlet"] is None


def test_pictures_are_drawn_of_every_system() -> None:
    charts = pytest.importorskip("loomlet.bench.charts", reason="needs loomlet[bench]")
    assert set(http.SYSTEMS) <= set(charts.COLOURS)
    drawn = charts.draw([result(loomlet=OUTPUT, nginx=OUTPUT)])
    assert [each.title.partition(":")[0] for each in drawn] == ["file N=8"] * 2
    assert all("nginx" in each.svg for each in drawn)


def test_pictures_are_drawn_of_memory_and_of_too_many_requests() -> None:
    charts = pytest.importorskip("loomlet.bench.charts", reason="needs loomlet[bench]")
    rows = [
        Row(name, case, unit, 10, 10, 10, 1)
        for name in ("loomlet", "uvicorn")
        for case, unit in (
            *(("start", "B"), ("start", "ns"), ("idle N=100", "B"), ("held N=100", "B")),
            *(("overload N=10", "/s"), ("overload N=10 best", "/s")),
            *(("overload N=10 normal", "B"), ("overload N=10 crowded", "B")),
        )
    ]
    titles = [each.title for each in charts.draw([Document(http.NAME, "", {}, rows)])]
    assert len(titles) == len(set(titles)) == 6
    assert "memory of a connection that is kept, of 100" in titles
    assert "overload: requests answered in a second" in titles


# ---- servers ----------------------------------------------------------------------------------


def present(kind: str, system: str) -> Job:
    """A job of that system, or a skip that names what is missing."""
    server, room = peers.SYSTEMS[system], http.ROOMS[kind]
    if server.version() is None:
        pytest.skip(f"{system} is missing: {server.install}")
    if room.service and (why := servers.SERVICES[room.service].lacks()):
        pytest.skip(f"no {room.service}: {why}")
    if room.service == "postgresql" and system == "uvicorn":
        for name in ("fastapi", "asyncpg"):
            pytest.importorskip(name, reason=f"needs pip install {name}")
    if (room.more or {}).get("secure") and (why := servers.lacks_openssl()):
        pytest.skip(f"no certificate: {why}")
    if room.client in ("rate", "streams", "echo", "overload") and (why := servers.lacks_compiler()):
        pytest.skip(f"no client: {why}")
    return job(f"{kind} N=1", system)


def started(kind: str, system: str) -> Job:
    """A job that only starts the server, and asks it once for what the room asks for."""
    whole = present(kind, system)
    return replace(whole, parameters={**whole.parameters, "connections": 0})


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "system"), PAIRS)
def test_every_server_gives_the_right_answer(kind: str, system: str) -> None:
    work = started(kind, system)
    size, time = http.samples(work, measure.execute(work))
    assert (size.unit, size.value > 50_000) == ("B", True)
    assert (time.unit, time.value > 0) == ("ns", True)


@pytest.mark.slow
@needs_wrk
@pytest.mark.parametrize("system", ["loomlet", "epoll", "http.server-1.1"])
def test_a_short_run_has_all_figures(system: str) -> None:
    kind = "plain" if system in http.DYNAMIC else "file"
    if peers.SYSTEMS[system].version() is None:
        pytest.skip(f"{system} is missing: {peers.SYSTEMS[system].install}")
    work = job(f"{kind} N=3", system)
    found = {each.case: each.value for each in http.samples(work, measure.execute(work))}
    assert found[f"{kind} N=3"] > 0
    assert found[f"{kind} N=3 cpu"] > 0
    assert found[f"{kind} N=3 failed"] == 0


@pytest.mark.slow
@needs_wrk
@pytest.mark.parametrize("system", ["loomlet", "loomlet-wsgi"])
def test_requests_are_answered_beside_one_that_computes(system: str) -> None:
    work = job("beside N=3", system)
    found = {each.case: each.value for each in http.samples(work, measure.execute(work))}
    assert found["beside N=3"] > 0
    assert found["beside N=3 failed"] == 0


@pytest.mark.slow
@needs_wrk
@pytest.mark.skipif(bool(servers.lacks_compiler()), reason="no compiler for the service")
def test_a_handler_that_waits_is_answered_by_the_service() -> None:
    work = job("waiting N=3", "loomlet-wsgi")
    found = {each.case: each.value for each in http.samples(work, measure.execute(work))}
    assert found["waiting N=3 p50"] >= 2e6
    assert found["waiting N=3 failed"] == 0


SHORT = [
    ("arriving", "loomlet-wsgi", {"number": 50}, ""),
    ("streams", "loomlet", {"number": 3}, "h2"),
    ("streams", "hypercorn", {"number": 3}, "h2"),
    ("websocket", "loomlet-asgi", {"connections": 2}, "wsproto"),
    ("websocket", "uvicorn", {"connections": 2}, "websockets"),
    ("overload", "loomlet", {"number": 3, "connections": 30}, ""),
    ("overload", "loomlet-wsgi", {"number": 3, "connections": 30}, ""),
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "system", "change", "needed"), SHORT)
def test_our_client_asks_as_wrk_cannot(
    kind: str, system: str, change: dict[str, Any], needed: str
) -> None:
    if needed:
        pytest.importorskip(needed, reason=f"needs pip install {needed}")
    whole = present(kind, system)
    work = replace(whole, parameters={**whole.parameters, "seconds": 0.3, **change})
    found = {each.case: each.value for each in http.samples(work, measure.execute(work))}
    assert found[work.case] > 0
    assert found[f"{work.case} failed"] == 0
    if kind == "overload":
        assert found[f"{work.case} crowded"] >= found[f"{work.case} normal"] > 0
        assert found[f"{work.case} status"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "system"), [("idle", "loomlet"), ("held", "loomlet")])
def test_connections_are_kept_and_counted(kind: str, system: str) -> None:
    whole = present(kind, system)
    work = replace(whole, parameters={**whole.parameters, "connections": 300})
    (found,) = http.samples(work, measure.execute(work))
    assert found.unit == "B"


@pytest.mark.slow
@needs_wrk
@pytest.mark.parametrize("kind", ["tls", "handshakes"])
def test_requests_are_answered_over_tls(kind: str) -> None:
    work = present(kind, "loomlet")
    found = {each.case: each.value for each in http.samples(work, measure.execute(work))}
    assert found[work.case] > 0
    assert found[f"{work.case} failed"] == 0


@needs_wrk
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["db", "queries", "fortunes"])
def test_a_database_is_asked(kind: str) -> None:
    work = present(kind, "loomlet-wsgi")
    found = {each.case: each.value for each in http.samples(work, measure.execute(work))}
    assert found[work.case] > 0
    assert found[f"{work.case} failed"] == 0


def served_by(program: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Mapping[str, Any]]:
    """What starts a server that is this line of Python."""
    fake = servers.Server("fake", "", lambda: "1", lambda job: [sys.executable, "-c", program])
    monkeypatch.setattr(measure, "SYSTEMS", {"fake": fake})
    work = job("plain N=1", "epoll")
    work = replace(work, system="fake", parameters={**work.parameters, "connections": 0})
    return lambda: measure.execute(work)


def test_a_server_that_ends_is_a_named_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    run = served_by("raise SystemExit('no luck today')", monkeypatch)
    with pytest.raises(BenchError, match="the server has ended: no luck today"):
        run()


RUDE = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'Hello, World!')
http.server.HTTPServer(("127.0.0.1", int("{port}")), Handler).serve_forever()
"""


def test_a_server_that_does_not_stop_in_good_order_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = served_by(RUDE, monkeypatch)
    assert run()["resident"] > 0
    fake = replace(measure.SYSTEMS["fake"], stops=True)  # type: ignore[type-var]
    monkeypatch.setattr(measure, "SYSTEMS", {"fake": fake})
    with pytest.raises(BenchError, match="the server has stopped with status -15"):
        run()


WRONG = """
import http.server, os, pathlib
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'something else')
pathlib.Path({pid!r}).write_text(str(os.getpid()))
http.server.HTTPServer(("127.0.0.1", int("{{port}}")), Handler).serve_forever()
"""


def test_a_wrong_answer_is_a_failure_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = served_by(WRONG.format(pid=str(tmp_path / "pid")), monkeypatch)
    with pytest.raises(BenchError, match="expected the answer 'Hello, World!', found 200"):
        run()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_command_that_does_not_exist_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = servers.Server("fake", "", lambda: "1", lambda job: ["/nowhere/server"])
    monkeypatch.setattr(measure, "SYSTEMS", {"fake": fake})
    with pytest.raises(BenchError, match="cannot be started"):
        measure.execute(replace(job("plain N=1", "epoll"), system="fake"))
