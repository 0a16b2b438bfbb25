"""Runs a type checker."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest


def call(folder: Path, module: str, *words: str, needs: str | None = None) -> str:
    """What a checker prints in that folder; skips without it."""
    for name in (module, needs or module):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: make build PYTHON=3.13")
    done = subprocess.run(
        [sys.executable, "-m", module, *words],
        cwd=folder,
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout
