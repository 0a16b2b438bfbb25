"""A test that leaves tasklets behind gets one error, and harms no other test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
SUITE = """
import loomlet

CHANNEL = loomlet.Channel()

def test_clean():
    loomlet.spawn(CHANNEL.receive)
    loomlet.schedule()
    CHANNEL.send(1)
    loomlet.schedule()

def test_forgets_one():
    loomlet.spawn(CHANNEL.receive).name = "forgotten"
    loomlet.schedule()

def test_after_it():
    assert len(loomlet._core.tasklets()) == 1

def test_garbage_does_not_count():
    cycle = [loomlet.Channel()]
    cycle.append(loomlet.spawn(cycle[0].receive))
    loomlet.schedule()

def test_fails_anyway():
    loomlet.spawn(CHANNEL.receive)
    assert False
"""


def run_pytest(folder: Path, suite: str, **changed: str) -> str:
    """Run a suite with tests/conftest.py and nothing else; what pytest prints."""
    (folder / "test_suite.py").write_text(suite)
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "-p", "conftest", "-W", "ignore"]
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTEST_ADDOPTS", "LOOMLET_TORTURE")}
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", "--rootdir", folder, folder],
        cwd=folder,
        env={**kept, "PYTHONPATH": path, **changed},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stdout + done.stderr


def test_leftovers_are_reported(tmp_path: Path) -> None:
    """One error, with the tasklet's name and its wait; a failed test gets no second error."""
    shown = run_pytest(tmp_path, SUITE)
    assert "1 failed, 4 passed, 1 error" in shown.splitlines()[-1], shown
    assert "forgotten: receive <loomlet.Channel" in shown
    assert "ERROR test_suite.py::test_forgets_one" in shown
    assert "FAILED test_suite.py::test_fails_anyway" in shown


def test_the_header_names_the_torture(tmp_path: Path) -> None:
    """LOOMLET_TORTURE is shown with the interpreter and the kind of switching."""
    assert "switching, torture: none" in run_pytest(tmp_path, SUITE)
    changed = {"LOOMLET_TORTURE": "switch,move"}
    assert "switching, torture: switch,move" in run_pytest(tmp_path, SUITE, **changed)
