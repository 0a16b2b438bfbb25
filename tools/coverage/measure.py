#!/usr/bin/env python3
"""Which lines of C and Python the tests reach, room by room, and whether coverage has dropped.

    make coverage            runs the tests and compares with tests/coverage.toml
    make coverage WRITE=1    runs the tests and writes that file
    .envs/coverage/bin/python tools/coverage/measure.py --no-run    reports on the last run again

The core is built with gcov's counters in an environment of its own, `.envs/coverage`; lines of
Python are counted by coverage.py (in_each_process.py says how).  Both count in every process of the
tests, and in the C tests of the rooms without Python.  The tests that are marked slow or stress are
left out, but for those that alone reach what they test.  Only what CPython 3.13 on this processor
compiles is measured.

The status is 1 when a room is below what the file says by more than the tolerance, or when the file
lacks a room or the reason why a function is never run.  Failing tests are shown, but only
`make test` judges them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import coverage
import report
from lines import ROOT, File, c_files, python_files

TESTS = ("tests/behaviour", "tests/snapshots", "tests/unit", "tests/versions")
TORTURED = ("tests/behaviour/channels", "tests/behaviour/switching", "tests/behaviour/tasklets")
GARBAGE = "tests/behaviour/garbage/test_stackless_leaves_nothing.py"
FORKS = "tests/behaviour/net/test_forked_processes_wait_apart.py"
CHILDREN = "tests/behaviour/patched/test_child_processes_are_cooperative.py"
DOCTOR = "tests/behaviour/patched/test_doctor_reports_blocking_code.py"
FREEZING = "tests/behaviour/freezing"
HANDOFF = "tests/behaviour/handoff"
TOOLS = "tests/behaviour/observing/test_tools_see_every_tasklet.py"
UNFIT = (
    "tests/behaviour/blocking/test_nothing_of_a_call_is_left.py::test_no_memory_is_left",
    f"{CHILDREN}::test_nothing_is_left[",
    f"{CHILDREN}::test_without_descriptors",
    f"{DOCTOR}::test_a_known_module",
    f"{FORKS}::test_without_a_descriptor_for_a_poller",
    f"{FREEZING}/test_nothing_is_left.py::test_objects_and_memory[traceback_in_flight]",
    f"{FREEZING}/test_under_tools.py::test_coverage_run",
    f"{GARBAGE}::test_nothing_is_left",
    f"{FREEZING}/test_functions_travel.py::test_nothing_is_kept_of_a_function_that_is_gone",
    f"{TOOLS}::test_coverage_misses_no_line",
    f"{HANDOFF}/test_ctrl_c.py::test_a_handler_runs_as_main[",
    f"{HANDOFF}/test_threads_that_are_tasklets.py::test_the_end_does_not_wait_for_a_daemon",
    f"{HANDOFF}/test_threads_that_are_tasklets.py::test_they_begin_where_they_are_started",
    "tests/behaviour/serving/test_what_is_loaded.py",
    "tests/behaviour/net/test_tls_ends.py::test_nothing_is_left",
    "tests/behaviour/patched_threads/test_threads_are_stopped_from_outside.py"
    "::test_ctypes_is_imported_later",
    "tests/behaviour/patched/test_sqlite_waits_are_cooperative.py"
    "::test_a_module_that_is_imported_later",
    "tests/behaviour/scopes/test_cancels_need_no_memory.py::test_every_allocation_in_turn[rest1]",
    "tests/behaviour/switching/test_a_tasklet_begins_in_a_function.py::test_references",
    "tests/behaviour/switching/test_generators_run_by_c_are_soft.py::test_every_end[soft-by_next",
    "tests/behaviour/switching/test_cold_hooks_are_soft.py::test_every_end[",
    "tests/unit/test_import_is_light.py",
    "tests/unit/test_docs.py::test_a_program_runs_and_prints_what_it_says[docs/reference/testing",
)
"""Tests that the measuring disturbs: they count objects, descriptors or modules, or measure; and
with any tool of sys.monitoring a thread that is a tasklet leaves its starter at another moment."""
SLOW = (
    "tests/behaviour/observing/test_rings_are_reported.py",
    TOOLS,
)
"""Slow tests that alone reach what they test."""
FOLDER = ROOT / "build" / "coverage"
CORE_TESTS = FOLDER / "core-tests"
LINES = FOLDER / "lines"
INSTALLED = Path(sysconfig.get_path("platlib"))
START = (
    "import sys; sys.path.append({0!r}); __import__('in_each_process'); sys.path.remove({0!r})\n"
)


def objects() -> Path:
    """Where the counted core was built."""
    tag = "cp{}{}".format(*sys.version_info[:2])
    (found,) = (ROOT / "build").glob(f"{tag}-*-counted")
    return found


def forget() -> None:
    """Removes the counters of earlier runs, and what was built of files that are gone."""
    for counters in objects().rglob("*.gcda"):
        counters.unlink()
    for notes in objects().rglob("*.gcno"):
        source = ROOT / str(notes).partition("_core.dir/")[2].removesuffix(".gcno")
        if not source.exists():
            notes.unlink()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)


def run_core_tests() -> None:
    """Builds and runs the C tests of the rooms without Python."""
    cmake = shutil.which("cmake", path=f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}")
    make = [cmake, "-S", ROOT / "tests" / "core", "-B", CORE_TESTS, "-DLOOMLET_COVERAGE=ON"]
    with (FOLDER / "core-tests.log").open("w") as log:
        for command in (make, [cmake, "--build", CORE_TESTS], [CORE_TESTS / "core_tests"]):
            done = subprocess.run(command, stdout=log, stderr=log, check=False)
            if done.returncode:
                print(f"the C tests failed: see {log.name}")
                return


def run_tests() -> None:
    """The Python tests, each of whose processes measures itself; some again in torture modes."""
    start = INSTALLED / "loomlet_coverage.pth"
    start.write_text(START.format(str(Path(__file__).parent)))
    try:
        unfit = [f"--deselect={test}" for test in UNFIT]
        pytest(*TESTS, *unfit)
        pytest(*SLOW, *unfit, marked="slow")
        pytest(*TORTURED, *unfit, LOOMLET_TORTURE="switch,move,alloc")
    finally:
        start.unlink()
    together = coverage.Coverage(data_file=str(LINES))
    together.combine([str(FOLDER)])
    together.save()


def pytest(*words: str, marked: str = "not slow and not stress", **variables: str) -> None:
    """One run."""
    options = ["-q", "-m", marked, "-o", "faulthandler_timeout=300", "-p", "no:cacheprovider"]
    env = {**os.environ, "LOOMLET_COVERAGE_DATA": str(LINES), **variables}
    command = [sys.executable, "-m", "pytest", *options, *words]
    subprocess.run(command, cwd=ROOT, env=env, check=False)


def measured() -> list[File]:
    """All files, with the lines that were reached."""
    counted = c_files([objects(), CORE_TESTS])
    return counted + python_files(LINES, INSTALLED)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write tests/coverage.toml")
    parser.add_argument("--no-run", action="store_true", help="take the counters of the last run")
    parser.add_argument("--lines", metavar="ROOM", help="also print what is not reached in a room")
    given = parser.parse_args()
    if not given.no_run:
        forget()
        run_core_tests()
        run_tests()
    files = measured()
    if given.lines:
        report.print_lines(files, given.lines)
    if given.write:
        report.write(files)
    return report.compare(files)


if __name__ == "__main__":
    sys.exit(main())
