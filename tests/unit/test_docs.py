"""The documents are right: their programs run and print what they say, their links lead to files.

Each ```python block of docs/ stands alone: it is run in an interpreter of its own, warnings are
errors.  A `print(...)  # text` prints that text; the texts come in the order of the page.  A block
that begins with `# Python 3.12 and later` is left out on older ones, one of Flask where that is
missing.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SAID = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)
SINCE = re.compile(r"# Python 3\.(\d+) and later$", re.MULTILINE)


def programs() -> list[object]:
    """Each block of each page, named by page and line."""
    found = []
    for page in PAGES:
        text = page.read_text()
        for block in BLOCK.finditer(text):
            line = text.count("\n", 0, block.start()) + 2
            found.append(pytest.param(block[1], id=f"{page.relative_to(ROOT)}:{line}"))
    return found


@pytest.mark.parametrize("program", programs())
def test_a_program_runs_and_prints_what_it_says(program: str) -> None:
    """Nothing more, nothing on stderr, exit status 0."""
    since = SINCE.match(program)
    if since and sys.version_info[:2] < (3, int(since[1])):
        pytest.skip(f"needs Python 3.{since[1]}")
    if "from flask import" in program:
        pytest.importorskip("flask")
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == SAID.findall(program)


def test_every_block_is_found() -> None:
    """No block is missed because its fence is written in another way."""
    fences = sum(page.read_text().count("```py") for page in PAGES)
    assert len(programs()) == fences > 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    """Every relative link is a file or folder of the project."""
    for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / link).exists(), link
