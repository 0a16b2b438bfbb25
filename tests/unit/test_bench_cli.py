"""The command line: it runs a small cell, writes the JSON and the page, and explains itself."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
from pathlib import Path

import pytest

from loomlet.__main__ import main
from loomlet.bench import cli, document, peers
from loomlet.bench.model import Document, Row
from loomlet.bench.peers import SYSTEMS

EXTRA = all(importlib.util.find_spec(name) for name in cli.EXTRA)
needs_extra = pytest.mark.skipif(not EXTRA, reason="needs pip install loomlet[bench]")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The bench keeps its files in the test's folder."""
    monkeypatch.setenv("LOOMLET_BENCH_DIR", str(tmp_path / "kept"))
    return tmp_path


def pictures(page: Path) -> dict[str, str]:
    """The pictures of a page by their titles, as SVG text."""
    found = re.findall(
        r'<img alt="([^"]+)" src="data:image/svg\+xml;base64,([^"]+)"', page.read_text()
    )
    return {title: base64.b64decode(data).decode() for title, data in found}


@needs_extra
def test_a_small_ring_is_measured_printed_and_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "ring.json"
    command = ["bench", "ring", "--quick", "--runs", "2", "--systems", "loomlet,asyncio"]
    assert main([*command, "--case", "N=5 M=20", "--targets", "--json", str(path)]) == 0
    data = json.loads(path.read_text())
    assert (data["experiment"], data["missing"]) == ("ring", [])
    assert [(row["system"], row["case"], row["unit"], row["runs"]) for row in data["rows"]] == [
        ("loomlet", "N=5 M=20", "s", 2),
        ("asyncio", "N=5 M=20", "s", 2),
    ]
    assert document.decode(data) == document.latest({"ring": None})[0]
    printed = capsys.readouterr().out
    assert "N=5 M=20" in printed
    assert "more were not measured" in printed


@needs_extra
def test_a_missing_peer_is_named_in_the_result_and_on_the_screen(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = peers.Python("uvloop", "on_asyncio", "no_such_module", install="pip install uvloop")
    monkeypatch.setattr("loomlet.bench.measure.SYSTEMS", {**SYSTEMS, "uvloop": absent})
    path = folder / "memory.json"
    command = ["bench", "memory", "--quick", "--case", "N=10", "--systems", "asyncio,uvloop"]
    assert main([*command, "--json", str(path)]) == 0
    assert json.loads(path.read_text())["missing"] == [
        {"system": "uvloop", "how": "pip install uvloop"}
    ]
    assert "pip install uvloop" in capsys.readouterr().out


@needs_extra
def test_a_result_is_written_although_ours_failed(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = peers.Python("loomlet", "no_such_program", "loomlet")
    monkeypatch.setattr("loomlet.bench.measure.SYSTEMS", {**SYSTEMS, "loomlet": broken})
    path = folder / "memory.json"
    command = ["bench", "memory", "--quick", "--case", "N=10", "--systems", "loomlet,asyncio"]
    assert main([*command, "--json", str(path)]) == 1
    assert {row["system"] for row in json.loads(path.read_text())["rows"]} == {"asyncio"}
    assert "loomlet itself was not measured in memory (N=10)" in capsys.readouterr().err


@needs_extra
def test_the_report_holds_the_charts_and_every_number(folder: Path) -> None:
    sizes = ["N=100 M=1000", "N=100 M=2000", "N=1000 M=100", "N=2000 M=100"]
    ring = [
        Row(name, case, "s", at + 1.5, at + 1.25, at + 2.0, 3)
        for name in ("loomlet", "go")
        for at, case in enumerate(sizes)
    ]
    speed = [Row("greenlet", "frame switch soft", "ns", 657.3, 600.0, 700.0, 3)]
    size = [Row("loomlet", "N=100000", "B", 706.0, 705.0, 707.0, 3)]
    document.keep(Document("ring", "CPython 3.13.0", {"cpu": "a <cpu>"}, ring))
    document.keep(Document("taskspeed", "CPython 3.13.0", {"cpu": "a <cpu>"}, speed))
    document.keep(Document("memory", "CPython 3.13.0", {"cpu": "a <cpu>"}, size))
    page = folder / "pages" / "report.html"
    assert main(["bench", "report", str(page)]) == 0
    found = pictures(page)
    assert "go" in found["Ring of 100 and one token: seconds against M"]
    assert "N, members" in found["Ring of N, one token, 100 rounds: seconds against N"]
    assert "greenlet: frame switch soft" in found["The switch table"]
    assert "706 B" in found["Bytes per blocked task (N=100000)"]
    text = page.read_text()
    assert "657.3 ns" in text
    assert "1.250 - 2.000 s" in text.replace("&#x27;", "'")
    assert "a &lt;cpu&gt;" in text
    assert not re.findall(r'(?:src|href)="(?!data:)', text)


@needs_extra
def test_a_report_can_be_made_from_named_results(folder: Path) -> None:
    rows = [Row("loomlet", "channel hop", "ns", 119.0, 110.0, 120.0, 3)]
    document.save(Document("taskspeed", "CPython 3.12.1", {}, rows), folder / "old.json")
    page = folder / "old.html"
    assert main(["bench", "report", str(page), str(folder / "old.json")]) == 0
    assert "CPython 3.12.1" in page.read_text()


@needs_extra
def test_a_report_without_results_says_what_to_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "report", str(folder / "report.html")]) == 1
    assert "no results yet: run python -m loomlet bench all --quick" in capsys.readouterr().err


def test_without_the_extra_one_line_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "EXTRA", ("no_such_module",))
    assert main(["bench", "taskspeed", "--quick"]) == 1
    expected = "loomlet bench: needs no_such_module: pip install loomlet[bench]\n"
    assert capsys.readouterr().err == expected


def test_only_a_report_needs_what_draws_pictures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """matplotlib is large, and has no wheel for some versions."""
    pytest.importorskip("rich")
    monkeypatch.setattr(cli, "EXTRA", ("rich", "no_such_module"))
    assert main(["bench", "ring", "--case", "N=one"]) == 1
    assert "expected a case like" in capsys.readouterr().err
    assert main(["bench", "report", "unused.html"]) == 1
    assert "needs no_such_module: pip install loomlet[bench]" in capsys.readouterr().err


def test_the_list_names_experiments_systems_and_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = peers.Python("tealet", "on_tealet", "no_such_module", install="pip install tealet")
    monkeypatch.setattr(cli, "SYSTEMS", {**SYSTEMS, "tealet": absent})
    monkeypatch.setattr(cli, "EXTRA", ("no_such_module",))
    assert main(["bench", "list"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^taskspeed +\w", printed, re.MULTILINE)
    assert re.search(r"^  tealet +missing: pip install tealet$", printed, re.MULTILINE)
    assert re.search(r"^  asyncio +3\.", printed, re.MULTILINE)


@needs_extra
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ring", "--case", "N=one"], "expected a case like"),
        (["ring", "--systems", "loomlet,gopher"], "no system gopher; there are loomlet"),
        (["ring", "--systems", "greenlet"], "ring knows only loomlet"),
        (["taskspeed", "--case", "channel hop"], "leave --case out"),
    ],
)
def test_a_wrong_command_is_explained(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *words]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [[], ["bench"], ["bench", "nothing"], ["bench", "ring", "--runs", "0"]]
)
def test_a_command_line_that_is_not_understood_ends_with_status_2(words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2


def test_help_names_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["bench", "--help"])
    assert caught.value.code == 0
    printed = capsys.readouterr().out
    for name in ("taskspeed", "ring", "memory", "preempt", "net", "all", "demo", "list", "report"):
        assert re.search(rf"^ +{name}\b", printed, re.MULTILINE)


def test_stopping_from_the_keyboard_leaves_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(names: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "need_extra", stop)
    assert main(["bench", "all"]) == 130
    assert capsys.readouterr().err == "loomlet bench: stopped\n"
