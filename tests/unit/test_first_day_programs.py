"""The programs of the first day: they print what trio's print, and are not longer."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("crawler", "worker_pool", "ticker")
PRINTED = {
    "crawler": "/ 2 links\n/a 2 links\n/b 1 links\n/c 1 links\n/slow too slow\n",
    "worker_pool": (
        "[1, ValueError(\"invalid literal for int() with base 10: 'two'\"), 3]\n"
        "invalid literal for int() with base 10: 'two'\n"
    ),
}


def ours(name: str) -> Path:
    """Our program of that name."""
    return ROOT / "examples" / "first_day" / f"{name}.py"


def theirs(name: str) -> Path:
    """The same for trio."""
    return Path(__file__).resolve().parent / "peers" / f"helpers_trio_{name}.py"


def printed(path: Path) -> str:
    """What the program prints; nothing on stderr."""
    command = [sys.executable, "-W", "error", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def lines(path: Path) -> int:
    """Lines that are not empty, without the docstring."""
    text = path.read_text().split('"""')[2]
    return sum(bool(line.strip()) for line in text.splitlines())


def check(name: str, text: str) -> None:
    """What `ticker` prints on the way depends on time."""
    if name in PRINTED:
        assert text == PRINTED[name]
    else:
        *ticks, last = text.splitlines()
        assert last == "in all 10"
        assert all(line.startswith("so far ") for line in ticks)


@pytest.mark.parametrize("name", NAMES)
def test_our_program(name: str) -> None:
    """It prints that."""
    check(name, printed(ours(name)))


@pytest.mark.parametrize("name", NAMES)
def test_the_same_for_trio(name: str) -> None:
    """It prints the same."""
    if importlib.util.find_spec("trio") is None:
        pytest.skip("trio: pip install trio")
    check(name, printed(theirs(name)))


@pytest.mark.parametrize("name", NAMES)
def test_ours_is_not_longer(name: str) -> None:
    """Lines of code, without async and await in them."""
    assert lines(ours(name)) <= lines(theirs(name))
