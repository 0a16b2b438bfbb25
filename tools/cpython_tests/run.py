#!/usr/bin/env python3
"""CPython's own tests of what loomlet replaces, under `python -m loomlet run -m test`.

    make cpython-tests                      all modules of the list, some ten minutes
    make cpython-tests MODULES=test_queue   only these
    PYTHON tools/cpython_tests/run.py --quick      the short ones: what .ci/run runs

The tests are those of the interpreter that runs this, which must have loomlet and the package
`test`; without that package nothing is run, and it says so.  The list was made for CPython 3.13.

`excused.txt` names the tests that are not run, each with its reason; a line there that matches no
test is an error.  A test that fails is run once more under plain Python: when it fails there too,
the machine is the reason, and it is not counted.  `--excused` runs only the excused ones, to find
those that pass by now.

The status is 1 when a test fails that does not fail under plain Python, when a module does not end
in its time, or for a wrong line in excused.txt.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

# In seconds: how long they may take, some ten times what they take on an idle machine.
MODULES = {
    "test_functools": 60,
    "test_io": 180,
    "test_multiprocessing_fork.test_manager": 180,
    "test_multiprocessing_fork.test_misc": 120,
    "test_multiprocessing_fork.test_processes": 300,
    "test_multiprocessing_fork.test_threads": 180,
    "test_poll": 60,
    "test_queue": 120,
    "test_select": 60,
    "test_selectors": 180,
    "test_socket": 600,
    "test_sqlite3": 60,
    "test_thread": 60,
    "test_threading": 240,
}
QUICK = [
    "test_functools",
    "test_io",
    "test_poll",
    "test_queue",
    "test_select",
    "test_selectors",
    "test_sqlite3",
    "test_thread",
]
FAILED = re.compile(r"^(?:FAIL|ERROR): \S+ \(([\w.]+)\)", re.MULTILINE)
RESULT = re.compile(r"^Total tests: (.*)$", re.MULTILINE)
HERE = Path(__file__).resolve().parent

Excuses = dict[str, str]


def excuses() -> Excuses:
    """The patterns of tests that are not run, with their reasons."""
    lines = (HERE / "excused.txt").read_text().splitlines()
    patterns = [line for line in lines if line and line[0] not in " #"]
    reasons = [line.strip() for line in lines if line.startswith(" ")]
    return dict(zip(patterns, reasons, strict=True))


def python(*words: str, seconds: float) -> tuple[int | None, str]:
    """Runs the interpreter in an empty folder: its status, None when it took too long; output."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output = process.communicate(timeout=seconds)[0]
            return process.returncode, output
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            return None, process.communicate()[0]


def cases(module: str) -> list[str]:
    """The names of its tests."""
    output = python("-m", "test", "--list-cases", f"test.{module}", seconds=60)[1]
    return [line for line in output.splitlines() if line.startswith("test.")]


def failures_under_plain_python(module: str, failed: set[str], seconds: float) -> set[str]:
    """Those of the failed tests that fail there too."""
    matches = [word for name in sorted(failed) for word in ("-m", name)]
    output = python("-m", "test", "-v", *matches, f"test.{module}", seconds=seconds)[1]
    return failed & set(FAILED.findall(output))


def run(module: str, words: list[str], seconds: float) -> bool:
    """Runs a module; shows what is wrong; whether all is well."""
    line = ["-m", "loomlet", "run", "-m", "test", "-v", *words, f"test.{module}"]
    status, output = python(*line, seconds=seconds)
    counted = RESULT.findall(output)
    print(f"{module}: {counted[-1] if counted else 'no result'}", flush=True)
    if status is None:
        print(f"  not over after {seconds} s; the end of its output:")
        print("\n".join(f"    {each}" for each in output.splitlines()[-20:]))
        return False
    failed = set(FAILED.findall(output))
    if failed:
        plain = failures_under_plain_python(module, failed, seconds)
        print("".join(f"  {name} fails under plain Python too\n" for name in sorted(plain)), end="")
        failed -= plain
        return report_failures(failed, output)
    if status != 0:
        print("\n".join(f"    {each}" for each in output.splitlines()[-40:]))
    return status == 0


def report_failures(failed: set[str], output: str) -> bool:
    """Shows the tests that failed by us; whether there are none."""
    for block in output.split("=" * 70):
        named = FAILED.findall(block)
        if named and named[0] in failed:
            print("\n".join(f"    {each}" for each in block.strip().splitlines()))
    return not failed


def check(modules: list[str], *, excused_only: bool) -> list[str]:
    """Runs these modules; what is wrong."""
    wrong = []
    excused = excuses()
    used: set[str] = set()
    for module in modules:
        names = cases(module)
        mine = [each for each in excused if fnmatch.filter(names, each)]
        used.update(mine)
        words = [word for each in mine for word in ("-m" if excused_only else "-i", each)]
        if (mine or not excused_only) and not run(module, words, MODULES[module]):
            wrong.append(module)
    unused = [each for each in excused if each not in used]
    if set(modules) == set(MODULES) and unused:
        print("excuses for tests that do not exist:", *unused)
        wrong.append("excused.txt")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="CPython's own tests under loomlet run.")
    parser.add_argument("--quick", action="store_true", help="only the short modules")
    parser.add_argument("--excused", action="store_true", help="only the excused tests")
    parser.add_argument("modules", nargs="*", metavar="module", help=f"of {', '.join(MODULES)}")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may ignore it
    if unknown := set(options.modules) - set(MODULES):
        parser.error(f"not in the list: {' '.join(sorted(unknown))}")
    if importlib.util.find_spec("test") is None or importlib.util.find_spec("test.test_io") is None:
        print(f"not run: {sys.executable} has no package `test`")
        return 0
    modules = QUICK if options.quick else options.modules or list(MODULES)
    wrong = check(modules, excused_only=options.excused)
    print(f"wrong: {' '.join(wrong)}" if wrong else "all is well")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
