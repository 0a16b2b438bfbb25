"""What a program pays for `import loomlet` before it has done anything."""

from __future__ import annotations

import subprocess
import sys

HEAVY = (
    "asyncio",
    "cloudpickle",
    "importlib.abc",
    "importlib.resources",
    "pathlib",
    "pickle",
    "rich",
    "ssl",
    "subprocess",
    "tempfile",
)
PROGRAM = """
import sys
before = set(sys.modules)
import loomlet
print(*sorted(set(sys.modules) - before))
"""


def test_heavy_modules_are_imported_when_they_are_used() -> None:
    """They would be most of the time that the import takes, and of the objects that it leaves."""
    command = [sys.executable, "-I", "-c", PROGRAM]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "loomlet" in loaded
    assert not set(loaded) & set(HEAVY)
