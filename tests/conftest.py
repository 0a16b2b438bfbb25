"""What all tests share: the header of the report, marks by folder, and checks for leftovers.

LOOMLET_TORTURE=switch,move,alloc runs the same tests in the torture modes; the header of the report
says which ones are on, and whether switching is soft.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

import loomlet
from loomlet import _core, _waits

pytest.register_assert_rewrite("helpers_descriptors")

HERE = Path(__file__).resolve().parent
FAILED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in tests/stress is marked so."""
    for item in items:
        if item.path.is_relative_to(HERE / "stress"):
            item.add_marker("stress")


def pytest_collection_finish() -> None:
    """The tests themselves are a million objects, which a collection in a test need not visit."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def nothing_to_collect() -> None:
    """Nor need they visit what earlier files have imported and cached."""
    gc.collect()
    gc.freeze()


def pytest_configure() -> None:
    """Programs of tests get Ctrl-C even when the run was started in the background, ignoring it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    """One line: the interpreter, how it switches, and which torture is on."""
    free = "" if getattr(sys, "_is_gil_enabled", lambda: True)() else ", without the GIL"
    soft = "soft" if _core.soft() else "hard"
    torture = os.environ.get("LOOMLET_TORTURE") or "none"
    return f"loomlet: {_core.__file__}{free}, {soft} switching, torture: {torture}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Notes a failure: its traceback keeps tasklets alive, which is not another failure."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


def others() -> dict[int, loomlet.Tasklet]:
    """The tasklets of this thread by id, but for the main one and for garbage."""
    if len(_core.tasklets()) > 1:
        gc.collect()
    return {tasklet.id: tasklet for tasklet in _core.tasklets() if not tasklet.is_main}


@pytest.fixture(autouse=True)
def no_tasklet_is_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test after which its tasklets still wait, and ends them for the tests to come."""
    before = others().keys()
    yield
    left = [tasklet for key, tasklet in others().items() if key not in before]
    shown = "".join(f"\n  {_waits.describe(tasklet)}" for tasklet in left)
    for tasklet in left:
        with contextlib.suppress(loomlet.LoomletError):
            tasklet.kill()
    if shown and not request.node.stash.get(FAILED, False):
        pytest.fail(f"left behind:{shown}", pytrace=False)
