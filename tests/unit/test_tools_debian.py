"""What the tools share, without network: apt's configuration, running programs, the cache."""

from __future__ import annotations

import os
import select
from pathlib import Path
from types import ModuleType

import pytest
from helpers_tools import tool


@pytest.fixture(scope="module")
def debian() -> ModuleType:
    """The module that the scripts import."""
    return tool("debian.py")


def make_ready(cache: Path, name: str) -> Path:
    """Put into the cache what a finished thing leaves there; its executable's path."""
    executable = cache / name / "bin" / name
    executable.parent.mkdir(parents=True)
    executable.touch(mode=0o755)
    (cache / name / ".ready").write_text(f"{executable}\n")
    return executable


def test_late_program_dies_with_its_children(
    tmp_path: Path, debian: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pipe ends only when every process that holds it is gone."""
    pipe, started = tmp_path / "pipe", tmp_path / "started"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    def left(_: object) -> float:
        if started.exists():
            raise debian.CannotGet("late")
        return 0.05

    monkeypatch.setattr(debian.Runner, "left", left)
    runner = debian.Runner("3.14", tmp_path / "log", 0.0)
    command = f"exec 3>'{pipe}'; sleep 600 & touch '{started}'; wait"
    with pytest.raises(debian.CannotGet, match="late"):
        runner.attempt(["sh", "-c", command])
    ended, _, _ = select.select([reader], [], [], 30)
    assert ended
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_cache_that_was_moved_is_not_trusted(tmp_path: Path, debian: ModuleType) -> None:
    executable = make_ready(tmp_path / "old", "3.14")
    assert debian.ready_path(tmp_path / "old" / "3.14") == executable
    (tmp_path / "old").rename(tmp_path / "new")
    assert debian.ready_path(tmp_path / "new" / "3.14") is None


def test_folder_without_executable_is_not_trusted(tmp_path: Path, debian: ModuleType) -> None:
    make_ready(tmp_path, "3.14").unlink()
    assert debian.ready_path(tmp_path / "3.14") is None


def test_mirrors_of_a_stanza_file(tmp_path: Path, debian: ModuleType) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / "a.sources").write_text(
        "# a comment\nTypes: deb\nURIs: http://tools.test/node\nSuites: any\nComponents: main\n\n"
        "Types: deb deb-src\nURIs: http://mirror.test/debian/\nSuites: bookworm\n"
        "# between\nComponents: main\nSigned-By: /keys/archive.gpg\n\n"
        "Types: deb\nURIs: http://mirror.test/debian-security\nSuites: bookworm\n"
        "Components: main\n \nEnabled: no\nTypes: deb\nURIs: http://off.test/debian\n"
        "Suites: bookworm\nComponents: main\n"
    )
    found = debian.machine_mirrors(tmp_path, "bookworm")
    assert found == [debian.Mirror("http://mirror.test/debian/", "/keys/archive.gpg")]


def test_embedded_key_is_kept_whole(tmp_path: Path, debian: ModuleType) -> None:
    key = "\n -----BEGIN-----\n .\n abc=\n -----END-----"
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / "a.sources").write_text(
        f"Types: deb\nURIs: http://a.test/debian\nSuites: x\nComponents: main\nSigned-By:{key}\n"
    )
    (mirror,) = debian.machine_mirrors(tmp_path, "")
    assert mirror.signed_by == key
    assert f"Signed-By: {key}\n" in debian.stanza(mirror, "deb", ["sid"], "Packages")


def test_mirrors_of_a_line_file_named_ones_first(tmp_path: Path, debian: ModuleType) -> None:
    (tmp_path / "sources.list").write_text(
        "deb http://dated.test/archive/2025 bookworm main contrib # why\n"
        "#deb http://off.test/debian bookworm main\n"
        "deb http://other.test/tools stable main\n"
        "deb [arch=amd64 signed-by=/keys/k.gpg] http://mirror.test/debian bookworm main\n"
        "deb http://mirror.test/debian-security bookworm main\n"
    )
    assert debian.machine_mirrors(tmp_path, "bookworm") == [
        debian.Mirror("http://mirror.test/debian", "/keys/k.gpg"),
        debian.Mirror("http://dated.test/archive/2025", ""),
    ]


def test_no_mirror_without_configuration(tmp_path: Path, debian: ModuleType) -> None:
    assert debian.machine_mirrors(tmp_path, "bookworm") == []
