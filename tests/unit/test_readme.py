"""The README is right: its programs run, its links lead to files, its commands exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_runs_and_prints_what_it_says(program: str) -> None:
    """Each `print(...)  # text` prints that text; nothing is written to stderr."""
    if program.startswith("# Python 3.12") and sys.version_info < (3, 12):
        pytest.skip("needs Python 3.12")
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == re.findall(r"^print\(.*\)  # (.*)$", program, re.MULTILINE)


def test_there_are_programs() -> None:
    """The pattern above finds them."""
    assert len(PROGRAMS) == README.count("```python") > 0


def test_links_lead_to_files() -> None:
    """Every relative link is a file of the project."""
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    for link in links:
        assert (ROOT / link).is_file(), link


def test_quick_start_is_two_commands() -> None:
    """Exactly `make demo` and `make test`, and the Makefile knows them."""
    section = README.split("## Quick start")[1].split("\n## ")[0]
    commands = re.findall(r"^```\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert [block.splitlines() for block in commands] == [["make demo", "make test"]]
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`?make (\w+)`?", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
