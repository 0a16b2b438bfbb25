"""A debugger stops at every breakpoint of every tasklet, and coverage misses no line.

debugpy is what editors use; it follows the program by sys.monitoring, or by sys.settrace.
"""

import importlib.util
import json
import os
import subprocess
import sys

import helpers_debug_adapter as adapter
import pytest

pytestmark = pytest.mark.slow  # a debugger takes seconds to begin

DEBUGPY = importlib.util.find_spec("debugpy") is not None
COVERAGE = importlib.util.find_spec("coverage") is not None
C_TRACER = COVERAGE and importlib.util.find_spec("coverage.tracer") is not None
needs_debugpy = pytest.mark.skipif(
    not DEBUGPY, reason="debugpy is not installed: breakpoints in tasklets are NOT tried"
)
needs_coverage = pytest.mark.skipif(
    not C_TRACER, reason="coverage has no C tracer here: the lines of tasklets are NOT tried"
)

LISTEN = ["-m", "debugpy", "--listen", "127.0.0.1:{port}", "--wait-for-client"]
WAYS = ["monitoring", "settrace"] if sys.version_info >= (3, 12) else ["settrace"]
MANY = 4

IN_TASKLETS = """\
import loomlet

def work(n):
    loomlet.sleep(0.01)
    first = n
    loomlet.schedule()
    second = first
    return second

def main():
    tasks = [loomlet.spawn(work, n) for n in range(4)]
    assert [task.result() for task in tasks] == [0, 1, 2, 3]

loomlet.run(main)
"""
IN_THREADS = """\
import threading, time

def work(n):
    time.sleep(0.01)
    first = n
    time.sleep(0.001)
    second = first
    return second

threads = [threading.Thread(target=work, args=[n]) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def seen(found):
    """Which tasklets stopped at each line."""
    assert {stop["function"] for stop in found} == {"work"}
    return sorted((stop["line"], int(stop["n"])) for stop in found)


def every(*lines):
    return [(line, n) for line in lines for n in range(MANY)]


@needs_debugpy
@pytest.mark.parametrize("way", WAYS)
def test_breakpoints_in_tasklets(script, way):
    """Behind a wait, in each of four."""
    program = script(IN_TASKLETS)
    use = "YES" if way == "monitoring" else "NO"
    command = [*LISTEN, str(program)]
    found = adapter.stops(program, command, [5, 7], PYDEVD_USE_SYS_MONITORING=use)
    assert seen(found) == every(5, 7)


@needs_debugpy
@pytest.mark.parametrize("way", WAYS)
def test_breakpoints_in_threads_that_are_tasklets(script, way):
    """The debugger begins, then `loomlet run`."""
    program = script(IN_THREADS)
    use = "YES" if way == "monitoring" else "NO"
    command = [*LISTEN, "-m", "loomlet", "run", str(program)]
    found = adapter.stops(program, command, [5, 7], PYDEVD_USE_SYS_MONITORING=use)
    assert seen(found) == every(5, 7)


@needs_debugpy
def test_a_program_that_waits_for_a_debugger(script):
    """Inside `loomlet run` the debugger's own threads stay threads."""
    listen = (
        "import os, debugpy\n"
        "debugpy.listen(('127.0.0.1', int(os.environ['PORT'])))\n"
        "debugpy.wait_for_client()\n"
    )
    program = script(listen + IN_THREADS)
    command = ["-c", "import os, sys; os.environ['PORT'] = sys.argv.pop(1)\n"]
    command[1] += "import loomlet.__main__ as begin\nsys.exit(begin.main())"
    found = adapter.stops(program, [*command, "{port}", "run", str(program)], [8, 10])
    assert seen(found) == every(8, 10)


BESIDE = """\
import loomlet

def taker(ch, n):
    total = 0
    for i in range(n):
        if i % 2:
            total += ch.receive()
        else:
            total -= 1
    after = total
    return after
"""
AROUND = """\
import threading
import time

import beside
import loomlet

def giver(ch, n):
    for i in range(n):
        if i == 1:
            time.sleep(0.001)
        ch.send(i)
        loomlet.schedule()
    after = n
    return after

def threaded(n):
    time.sleep(0.001)
    after = n
    return after

def body():
    ch = loomlet.Channel()
    tasks = [loomlet.spawn(beside.taker, ch, 6) for _ in range(3)]
    tasks += [loomlet.spawn(giver, ch, 3) for _ in range(3)]
    thread = threading.Thread(target=threaded, args=[1])
    thread.start()
    thread.join()
    for task in tasks:
        task.join()
    after = len(tasks)
    return after

"""


def run_under_coverage(folder, *words, core="ctrace"):
    """The lines that coverage found missing, by file."""
    env = {**os.environ, "COVERAGE_CORE": core, "COVERAGE_FILE": str(folder / "data")}
    coverage = [sys.executable, "-m", "coverage"]
    options = {"cwd": folder, "env": env, "capture_output": True, "text": True, "timeout": 120}
    rc = f"--rcfile={os.devnull}"
    begun = [*coverage, "run", rc, "--branch", *words]
    done = subprocess.run(begun, check=False, **options)
    assert done.returncode == 0, done.stderr
    report = [*coverage, "json", rc, "-o", "-", "--include=around.py,beside.py"]
    done = subprocess.run(report, check=False, **options)
    assert done.returncode == 0, done.stderr
    files = json.loads(done.stdout)["files"]
    missing = {name: files[name]["missing_lines"] for name in files}
    branches = {name: files[name]["missing_branches"] for name in files}
    return missing, branches


NOTHING = {"around.py": [], "beside.py": []}


@needs_coverage
@pytest.mark.parametrize("how", ["run()", "loomlet run", "loomlet run --os-threads"])
def test_coverage_misses_no_line(script, tmp_path, how):
    """Tasklets in two files take turns with main and with a thread; each line runs."""
    script(BESIDE, "beside.py")
    end = "loomlet.run(body)\n" if how == "run()" else "body()\n"
    script(AROUND + end, "around.py")
    words = ["around.py"] if how == "run()" else ["-m", *how.split(), "around.py"]
    assert run_under_coverage(tmp_path, *words) == (NOTHING, NOTHING)
