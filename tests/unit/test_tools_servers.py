"""tools/servers without network: servers that are known, installed, or not available."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from helpers_tools import TOOLS, run_tool, tool


def call(cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script with this cache folder and no program on PATH."""
    changed = {"LOOMLET_SERVERS": str(cache), "PATH": str(cache / "nothing")}
    return run_tool("servers", *arguments, **changed)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script as a module, for its functions."""
    return tool("servers")


def test_the_script_is_executable() -> None:
    assert os.access(TOOLS / "servers", os.X_OK)


def test_help_lists_every_name(tmp_path: Path) -> None:
    done = call(tmp_path, "--help")
    assert done.returncode == 0
    for word in ("redis", "postgresql", "mariadb", "nginx", "LOOMLET_SERVERS"):
        assert word in done.stdout


def test_an_unpacked_one_is_taken(tmp_path: Path, script: ModuleType) -> None:
    """From the cache, where the machine has none of its own."""
    for name, (_, pattern) in script.PACKAGES.items():
        if any(Path("/usr").glob(pattern)):
            expected = Path("/usr")
        else:
            expected = tmp_path / name / "usr"
            expected.mkdir(parents=True)
            (tmp_path / name / ".ready").write_text(f"{expected}\n")
        done = call(tmp_path, name)
        assert (done.stdout, done.returncode) == (f"{name} {expected}\n", 0)


def test_a_missing_server_is_reported(tmp_path: Path, script: ModuleType) -> None:
    lacking = [
        name
        for name, (_, pattern) in script.PACKAGES.items()
        if not any(Path("/usr").glob(pattern))
    ]
    if not lacking:
        pytest.skip("this machine has every server installed")
    done = call(tmp_path, lacking[0])
    assert done.returncode == 1
    assert f"{lacking[0]}: not available: no apt" in done.stderr
    assert not (tmp_path / lacking[0]).exists()
