"""What the tests of greenlets share."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def under_run(tmp_path: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Runs a program text by `python -m loomlet run`; returns the completed process."""

    def run(program: str) -> subprocess.CompletedProcess[str]:
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(program))
        command = [sys.executable, "-X", "faulthandler", "-m", "loomlet", "run", str(script)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    return run
