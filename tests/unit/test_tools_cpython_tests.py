"""tools/cpython_tests: what is run, what is excused, and what counts as a failure."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest
from helpers_tools import run_tool, tool

OUTPUT = """\
test_a (test.test_x.Tests.test_a) ... FAIL
======================================================================
FAIL: test_a (test.test_x.Tests.test_a) (number=3)
----------------------------------------------------------------------
Traceback: of a
======================================================================
ERROR: test_b (test.test_x.Tests.test_b)
----------------------------------------------------------------------
Traceback: of b
"""


@pytest.fixture
def script() -> ModuleType:
    """The script as a module, for its functions."""
    return tool("cpython_tests/run.py")


def test_each_excuse_has_a_reason(script: ModuleType) -> None:
    """And names tests of a module that is run."""
    excuses = script.excuses()
    assert excuses
    for pattern, reason in excuses.items():
        assert len(reason) > 20
        assert any(pattern.startswith(f"test.{module.split('.')[0]}.") for module in script.MODULES)


def test_the_quick_modules_are_modules(script: ModuleType) -> None:
    assert set(script.QUICK) < set(script.MODULES)


def test_failures_are_found_and_shown(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """By their whole names, with subtests; those of plain Python are not shown."""
    assert script.FAILED.findall(OUTPUT) == ["test.test_x.Tests.test_a", "test.test_x.Tests.test_b"]
    assert not script.report_failures({"test.test_x.Tests.test_b"}, OUTPUT)
    shown = capsys.readouterr().out
    assert "of b" in shown
    assert "of a" not in shown
    assert script.report_failures(set(), OUTPUT)


def test_a_module_that_does_not_end_is_wrong(script: ModuleType) -> None:
    """Its processes are killed."""
    status, output = script.python(
        "-c", "import time; print('begun', flush=True); time.sleep(1000)", seconds=2
    )
    assert (status, output) == (None, "begun\n")


def test_an_interpreter_without_its_tests_runs_nothing(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says so, and is no failure."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr("sys.argv", ["run.py"])
    assert script.main() == 0
    assert capsys.readouterr().out.startswith("not run:")


def test_unknown_modules_are_refused() -> None:
    done = run_tool("cpython_tests/run.py", "test_nothing")
    assert done.returncode == 2
    assert "not in the list: test_nothing" in done.stderr
