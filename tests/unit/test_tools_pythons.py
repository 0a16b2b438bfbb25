"""tools/pythons without network: its arguments, its cache, its reading of apt's configuration.

Each call runs the script as a person would, in a process of its own, with an empty cache folder
and a PATH on which no program is found, so that nothing can be downloaded by accident.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from helpers_tools import TOOLS, run_tool, tool

FETCHED = ("3.13t", "3.14", "3.15")


def call(cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script with this cache folder, no pyenv, and no program on PATH."""
    nothing = str(cache / "nothing")
    changed = {"LOOMLET_PYTHONS": str(cache), "PATH": nothing, "PYENV_ROOT": nothing}
    return run_tool("pythons", *arguments, **changed)


def make_ready(cache: Path, name: str) -> Path:
    """Put into the cache what a finished interpreter leaves there; its executable's path."""
    executable = cache / name / "bin" / f"python{name}"
    executable.parent.mkdir(parents=True)
    executable.touch(mode=0o755)
    (cache / name / ".ready").write_text(f"{executable}\n")
    return executable


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script as a module, for its functions."""
    return tool("pythons")


def test_script_is_executable() -> None:
    assert os.access(TOOLS / "pythons", os.X_OK)


def test_help_lists_names_cache_and_options(tmp_path: Path) -> None:
    done = call(tmp_path, "--help")
    assert done.returncode == 0
    shown = "".join(done.stdout.split())
    for word in (*FETCHED, "--list", "--seconds", "LOOMLET_PYTHONS", str(tmp_path)):
        assert word in shown


def test_list_shows_available_and_missing_versions(tmp_path: Path) -> None:
    executable = make_ready(tmp_path, "3.14")
    done = call(tmp_path, "--list")
    assert done.returncode == 0
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert lines["3.14"] == str(executable)
    assert lines["3.13t"].startswith("not here")
    assert set(lines) >= set(FETCHED)


def test_list_changes_nothing(tmp_path: Path) -> None:
    call(tmp_path, "--list")
    assert list(tmp_path.iterdir()) == []


def test_unknown_name_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    done = call(tmp_path, "3.14", "2.7")
    assert done.returncode == 2
    assert "unknown interpreter 2.7" in done.stderr
    assert "3.13t" in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name at least one interpreter"),
        (("3.14", "--seconds", "0"), "--seconds must be above zero"),
        (("3.14", "--seconds", "nan"), "--seconds must be above zero"),
        (("3.14", "--seconds", "soon"), "invalid float value"),
        (("--fast",), "unrecognized arguments"),
    ],
)
def test_wrong_arguments(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    done = call(tmp_path, *arguments)
    assert done.returncode == 2
    assert words in done.stderr


def test_ready_interpreters_are_printed_once_and_in_order(tmp_path: Path) -> None:
    later, first = make_ready(tmp_path, "3.14"), make_ready(tmp_path, "3.13t")
    done = call(tmp_path, "3.13t", "3.14", "3.13t")
    assert done.returncode == 0
    assert done.stdout == f"3.13t {first}\n3.14 {later}\n"


def test_an_unavailable_one_does_not_stop_the_others(tmp_path: Path) -> None:
    executable = make_ready(tmp_path, "3.14")
    done = call(tmp_path, "3.15", "3.12", "3.14")
    assert done.returncode == 1
    assert done.stdout == f"3.14 {executable}\n"
    assert "3.15: not available: no apt" in done.stderr
    assert "3.12: not available: neither pyenv nor PATH" in done.stderr
    assert not (tmp_path / "3.15").exists()


def test_the_time_limit_is_reported(tmp_path: Path) -> None:
    executable = make_ready(tmp_path, "3.14")
    done = call(tmp_path, "--seconds", "1e-9", "3.15", "3.14")
    assert done.returncode == 1
    assert "3.15: not available: the time limit is reached" in done.stderr
    assert done.stdout == f"3.14 {executable}\n"


def test_paths_point_to_the_unpacked_folder(tmp_path: Path, script: ModuleType) -> None:
    library, headers = tmp_path / "usr/lib/python3.14", tmp_path / "usr/include"
    real = headers / "x86_64-linux-gnu" / "python3.14"
    for folder in (library, headers / "python3.14", real):
        folder.mkdir(parents=True)
    (library / "_sysconfigdata_x.py").write_text("{'INCLUDEPY': '/usr/include/python3.14'}")
    (headers / "python3.14" / "pyconfig.h").write_text("forward")
    (real / "pyconfig.h").write_text("real")
    (library / "sitecustomize.py").symlink_to(tmp_path / "elsewhere")
    script.point_paths(tmp_path, "3.14")
    expected = f"{{'INCLUDEPY': '{tmp_path}/usr/include/python3.14'}}"
    assert (library / "_sysconfigdata_x.py").read_text() == expected
    assert (headers / "python3.14" / "pyconfig.h").read_text() == "real"
    assert not (library / "sitecustomize.py").is_symlink()
