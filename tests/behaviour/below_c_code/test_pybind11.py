"""Below C code of pybind11 a wait works, and a time slice interrupts nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from types import ModuleType

import pytest

import loomlet
from loomlet.compat.greenlet import getcurrent, greenlet
from loomlet.doctor import findings

KINDS = ("call", "call_released", "call_acquired")


def finding(module: ModuleType) -> dict[str, str]:
    """An environment in which programs can import the module too."""
    folder = os.path.dirname(str(module.__file__))
    path = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


def compute(rounds: int) -> int:
    """Passes many safepoints."""
    return sum(1 for _ in range(rounds))


@pytest.mark.parametrize("kind", KINDS)
def test_slices_alone_do_no_harm(kind, with_pybind11) -> None:
    """Four tasklets in callbacks that compute much longer than a slice."""
    call = getattr(with_pybind11, kind)

    def main() -> None:
        tasklets = [loomlet.spawn(call, lambda n: compute(20000) and n, 5) for _ in range(4)]
        assert [each.result() for each in tasklets] == [10] * 4

    loomlet.run(main, slice=0.001)


@pytest.mark.parametrize("kind", KINDS)
def test_waits_work(kind, with_pybind11) -> None:
    """A hundred tasklets wait in callbacks at once and end in another order than they began."""
    call = getattr(with_pybind11, kind)

    def wait(n: int) -> int:
        loomlet.sleep(0.0001 * ((n * 7) % 5))
        return compute(200) and n

    def main() -> None:
        tasklets = [loomlet.spawn(call, wait, 4 + n % 3) for n in range(100)]
        assert [each.result() for each in tasklets] == [sum(range(4 + n % 3)) for n in range(100)]

    loomlet.run(main, slice=0.001)


def test_waits_of_nested_calls(with_pybind11) -> None:
    """A callback calls another function of the library, and waits inside of that too."""

    def wait(n: int) -> int:
        loomlet.schedule()
        return n

    def nest(depth: int) -> int:
        return with_pybind11.call(lambda n: wait(n) + (nest(depth - 1) if depth else 0), 3)

    def main() -> None:
        tasklets = [loomlet.spawn(nest, 3) for _ in range(10)]
        assert [each.result() for each in tasklets] == [nest(3)] * 10

    loomlet.run(main, slice=0.001)


def test_the_main_tasklet_waits_too(with_pybind11) -> None:
    """It is on the thread's own C stack."""

    def wait(n: int) -> int:
        loomlet.sleep(0.0002)
        return n

    def main() -> None:
        other = loomlet.spawn(with_pybind11.call, wait, 7)
        assert with_pybind11.call(wait, 5) == 10
        assert other.result() == 21

    loomlet.run(main)


def test_what_is_converted_lives_until_the_call_returns(with_pybind11) -> None:
    """Temporary objects belong to the call that made them, whatever other tasklets call."""

    def wait(n: int) -> str:
        loomlet.schedule()
        return "-"

    def main() -> None:
        texts = [f"text {n} " * 20 for n in range(30)]
        tasklets = [loomlet.spawn(with_pybind11.call_converted, wait, each) for each in texts]
        assert [each.result() for each in tasklets] == [f"{each}-{each}" for each in texts]

    loomlet.run(main)


def test_a_kill_unwinds_the_call(with_pybind11) -> None:
    """An exception that ends a wait leaves the C++ code as any other does."""
    ended: list[int] = []

    def wait(n: int) -> int:
        try:
            loomlet.sleep(60)
        finally:
            ended.append(n)
        return n

    def main() -> None:
        tasklets = [loomlet.spawn(with_pybind11.call, wait, 1) for _ in range(5)]
        loomlet.schedule()
        for tasklet in tasklets[::2] + tasklets[1::2]:
            tasklet.kill()
        loomlet.schedule()

    loomlet.run(main)
    assert ended == [0] * 5


def test_greenlets_that_call_it(with_pybind11) -> None:
    """Each greenlet has a C stack of its own."""

    def to_parent(n: int) -> int:
        getcurrent().parent.switch()
        return n

    children = [greenlet(with_pybind11.call) for _ in range(3)]
    for child in children:
        child.switch(to_parent, 2)
    for child in children:
        child.switch()
    assert [child.switch() for child in children] == [1, 1, 1]


def test_a_slice_does_not_interrupt_below_it(with_pybind11) -> None:
    """Nothing else runs while the callback computes; after the call it does."""
    seen: list[str] = []

    def hot(n: int) -> int:
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            pass
        seen.append("hot")
        return n

    def other() -> None:
        seen.append("other")

    def main() -> None:
        first = loomlet.spawn(with_pybind11.call, hot, 3)
        loomlet.spawn(other)
        first.join()

    loomlet.run(main, slice=0.001)
    assert seen == ["hot", "hot", "hot", "other"]


@pytest.mark.slow
def test_the_report_of_a_stall_names_the_library(with_pybind11) -> None:
    """With the hot loop's line."""
    program = """if True:
        import time, loomlet, with_pybind11
        def hot(n):
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                pass
            return n
        def main():
            first = loomlet.spawn(with_pybind11.call, hot, 1)
            loomlet.spawn(int)
            first.join()
        loomlet.run(main)
    """
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**finding(with_pybind11), "LOOMLET_STALL": "0.5"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "has held its thread" in done.stderr
    assert " in hot" in done.stderr
    library = re.escape(os.path.basename(with_pybind11.__file__))
    assert re.search(rf"not interrupted below {library}, which needs", done.stderr), done.stderr


def test_threads_under_loomlet_run(tmp_path, with_pybind11) -> None:
    """A program with threads that knows nothing of loomlet."""
    script = tmp_path / "program.py"
    script.write_text(
        """if True:
        import threading, time, with_pybind11
        def work(n):
            time.sleep(0.001)
            return sum(1 for _ in range(20000)) and n
        found = []
        def call():
            found.append(with_pybind11.call(work, 5))
        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(found)
    """
    )
    command = [sys.executable, "-m", "loomlet", "run", str(script)]
    done = subprocess.run(
        command,
        env=finding(with_pybind11),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout == f"{[10] * 8}\n", done.stderr


def test_the_doctor_names_such_modules(with_pybind11) -> None:
    """With advice; that alone is nothing to complain about."""
    done = subprocess.run(
        [sys.executable, "-m", "loomlet", "doctor", "with_pybind11", "json"],
        env=finding(with_pybind11),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    names = done.stdout.partition("Modules made by pybind11:")[2].split("\n\n")[0]
    assert names == f"\n  with_pybind11  {findings.PYBIND11}"
