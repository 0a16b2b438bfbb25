"""Recursion through C functions goes about as deep in a tasklet as in the main tasklet."""

import contextlib
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import loomlet

# 3.11 counts calls of both languages with one counter, up to the recursion limit.
LIMIT = 5000 if sys.version_info < (3, 12) else 50_000

PROGRAM = f"""
import functools, json, sys, loomlet

@functools.lru_cache(None)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

def deepest():
    for n in range(100, 20_000, 100):
        fibonacci.cache_clear()
        try:
            fibonacci(n)
        except RecursionError:
            return n - 100
    return n

def main():
    return deepest(), loomlet.spawn(deepest).result()

sys.setrecursionlimit({LIMIT})
print(json.dumps([deepest(), *loomlet.run(main)]))
"""


@functools.cache
def depths():
    """Without loomlet's run(), in its main tasklet, in another tasklet."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""), reason="C frames are larger under ASan"
)
def test_through_a_cached_function():
    """At least four fifths of what main reaches, in the same process."""
    alone, main, tasklet = depths()
    assert main >= 0.9 * alone
    assert tasklet >= 0.8 * main


class Formats:
    def __format__(self, spec):
        return f"{self!s:>10}"

    def __str__(self):
        return f"{self:>10}"


def by_sorting(n=0):
    return sorted([n], key=lambda _: by_sorting(n + 1))


def by_reducing(n=0):
    return functools.reduce(lambda *_: by_reducing(n + 1), [1, 2])


def by_dumping(n=0):
    return json.dumps(object(), default=lambda _: by_dumping(n + 1))


def by_evaluating():
    return eval("by_evaluating()")


def with_the_parser_at_the_bottom():
    sources = ["(" * 100_000, "-" * 100_000 + "1", "not " * 5900 + "1", "f(" * 90]

    def deeper(n=0):
        try:
            return sorted([n], key=lambda _: deeper(n + 1))
        except RecursionError:
            while sources:
                with contextlib.suppress(RecursionError, MemoryError, SyntaxError):
                    compile(sources.pop(), "<deep>", "eval")
            raise

    return deeper()


HUNGRY = [by_sorting, by_reducing, by_dumping, by_evaluating, with_the_parser_at_the_bottom]


@pytest.fixture
def no_python_limit():
    """The C stack is what ends the recursion."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000_000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.parametrize("body", [*HUNGRY, lambda: str(Formats())])
def test_what_takes_most_of_the_stack_ends_by_an_exception(body, no_python_limit, mode):
    """Where the interpreter's own stack might overflow; the parser raises MemoryError."""

    def caught():
        with pytest.raises((RecursionError, MemoryError)):
            body()
        loomlet.schedule()
        return "goes on"

    assert [task.result() for task in [loomlet.spawn(caught) for _ in range(2)]] == ["goes on"] * 2


def memory():
    """What this process has in memory, in bytes."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("Rss:"))


def test_room_that_is_not_used_takes_no_memory():
    """A tasklet that waits below C code has the pages that it has touched, not its whole stack."""
    count, each = 200, 256 << 10  # a stack has room for many times as much
    ch = loomlet.Channel()

    def wait():
        sorted([1], key=lambda _: ch.receive())

    before = memory()
    tasks = [loomlet.spawn(wait) for _ in range(count)]
    loomlet.schedule()
    taken = memory() - before
    for task in tasks:
        ch.send(None)
        task.join()
    assert taken < count * each
