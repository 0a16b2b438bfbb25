"""tools/coverage: what it makes of counters, and that tests/coverage.toml names what there is."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
HELD = tomllib.loads((ROOT / "tests" / "coverage.toml").read_text())


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The modules `lines` and `report`; coverage.py itself is not needed."""
    pytest.importorskip("coverage")
    monkeypatch.syspath_prepend(ROOT / "tools" / "coverage")
    import lines
    import report

    yield lines, report
    for name in ("lines", "report"):
        del sys.modules[name]


def named() -> list[tuple[str, str]]:
    """(file, function) of everything that the file excuses."""
    tables = [HELD["elsewhere"], *HELD["unreached"].values()]
    return [(path, name) for table in tables for path in table for name in table[path]]


def test_what_is_named_exists() -> None:
    """A function that was renamed or has gone is renamed or taken out here, too."""
    gone = []
    for path, name in named():
        file = ROOT / "src" / path
        if not file.exists() or name.rpartition(".")[2].strip("*") not in file.read_text():
            gone.append(f"{path}: {name}")
    assert gone == []


def test_each_room_has_a_number() -> None:
    """A new folder of sources is measured, and the number of one that is gone is taken out."""
    core = {path.parent for path in (ROOT / "src" / "core").rglob("*.c")}
    package = {path.parent for path in (ROOT / "src" / "loomlet").rglob("*.py")}
    rooms = {str(path.relative_to(ROOT / "src")) for path in core | package}
    bench = {room for room in rooms if room.startswith("loomlet/bench")}
    assert sorted(HELD["rooms"]) == sorted(rooms - bench)


def counted(lines: Any, path: str, *reached: tuple[str, bool]) -> Any:
    """A file whose lines are in these functions."""
    found = [lines.Line(n, function, ran) for n, (function, ran) in enumerate(reached, 1)]
    return lines.File(path, tuple(found))


def test_a_room_is_the_sum_of_its_files(tool: Any) -> None:
    """Rounded down, so that 100 means all."""
    lines, report = tool
    files = [
        counted(lines, "core/base/a.c", ("f", True), ("f", False)),
        counted(lines, "core/base/b.c", ("g", True)),
    ]
    assert report.rooms(files) == {"core/base": (3, 2)}
    assert report.percent(3, 2) == 66.6
    assert (report.percent(2000, 1999), report.percent(5, 5)) == (99.9, 100.0)


@pytest.mark.parametrize(("reached", "status"), [(95, 0), (94, 1)])
def test_a_room_that_falls_is_an_error(
    tool: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], reached: int, status: int
) -> None:
    """By more than half a point."""
    lines, report = tool
    report.FILE = tmp_path / "coverage.toml"
    report.FILE.write_text('[rooms]\n"core/base" = 95.4\n')
    file = counted(lines, "core/base/a.c", *(("f", n < reached) for n in range(100)))
    assert report.compare([file]) == status
    said = capsys.readouterr().err
    assert ("core/base was 95.4 %, is 94.0 %" in said) is bool(status)


def test_a_function_that_never_runs_has_a_reason(
    tool: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Given in the file; one of another version does not count at all."""
    lines, report = tool
    file = counted(lines, "core/base/a.c", ("f", True), ("g", False), ("h", False))
    report.FILE = tmp_path / "coverage.toml"
    report.FILE.write_text(
        '[elsewhere]\n"core/base/a.c" = ["h"]\n[rooms]\n"core/base" = 50.0\n[unreached.why]\n'
    )
    assert report.compare([file]) == 1
    assert "core/base/a.c: g is never run" in capsys.readouterr().err
    with report.FILE.open("a") as out:
        out.write('"core/base/a.c" = ["g"]\n')
    assert report.compare([file]) == 0


def test_writing_keeps_what_is_written_by_hand(tool: Any, tmp_path: Path) -> None:
    """The numbers are those of the run."""
    lines, report = tool
    report.FILE = tmp_path / "coverage.toml"
    report.FILE.write_text("# by hand\n" + report.MARK + '[rooms]\n"gone" = 1.0\n')
    report.SOURCE = tmp_path
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "a.c").write_text("one;\nreturn NULL;\n")
    report.write([counted(lines, "core/a.c", ("f", True), ("f", False))])
    text = report.FILE.read_text()
    assert text.startswith("# by hand\n")
    assert tomllib.loads(text)["rooms"] == {"core": 50.0}


def test_lines_of_python_belong_to_the_innermost_function(tool: Any, tmp_path: Path) -> None:
    """Its head is run by what is around it."""
    lines, _ = tool
    file = tmp_path / "a.py"
    file.write_text("class A:\n    def f(self):\n        def g():\n            pass\n        g()\n")
    assert dict(lines.functions_of(file)) == {3: "A.f", 4: "A.f.g", 5: "A.f"}


AS_PYTEST_IMPORTS = """
import os
import sys
from importlib.machinery import PathFinder
os.environ["LOOMLET_COVERAGE_PROCESS"] = str(os.getpid())
import in_each_process

begun = []
in_each_process.measure = begun.append
in_each_process.leave_well = lambda *_: None
in_each_process.AtImport()


class First:
    find = PathFinder.find_spec

    def find_spec(self, name, path=None, target=None):
        return self.find(name, path)


sys.meta_path.insert(0, First())
import loomlet
print(begun, loomlet.run(lambda: "runs"))
"""


def test_a_process_is_measured_whatever_finder_comes_first() -> None:
    """That of pytest imports loomlet itself, because loomlet has a plugin."""
    variables = {"LOOMLET_COVERAGE_DATA": "here", "PYTHONPATH": str(ROOT / "tools" / "coverage")}
    command = [sys.executable, "-c", AS_PYTEST_IMPORTS]
    done = subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    assert done.stdout == "['here'] runs\n", done.stderr
