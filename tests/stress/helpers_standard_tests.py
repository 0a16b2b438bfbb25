"""Runs a module of CPython's own tests with install(sync=True), in a process of its own.

    python helpers_standard_tests.py MODULE [LEFT_OUT ...]

Every test of `test.MODULE` is run but those whose name ends in `.Class.method` or `.method` of
LEFT_OUT; programs that a test starts with `-c` begin with the same call.  The last line says how
many tests were run; the exit status is 0 if all of them passed.
"""

from __future__ import annotations

import importlib
import queue
import sys
import textwrap
import unittest
from collections.abc import Callable, Iterator
from typing import Any

from loomlet import patch

FIRST = "from loomlet import patch; patch.install(sync=True)\n"


def with_ours(start: Callable[..., Any]) -> Callable[..., Any]:
    """assert_python_ok() of a program that begins with FIRST."""

    def started(*args: Any, **named: Any) -> Any:
        words = list(args)
        at = words.index("-c") + 1 if "-c" in words else len(words)
        words[at : at + 1] = [FIRST + textwrap.dedent(each) for each in words[at : at + 1]]
        return start(*words, **named)

    return started


def each_test(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    """The single tests."""
    for one in suite:
        yield from each_test(one) if isinstance(one, unittest.TestSuite) else [one]


def of_our_queues(module: Any) -> None:
    """The tests of queues take theirs from a fresh module; these take the drop-ins."""
    for kind in ("QueueTest", "LifoQueueTest", "PriorityQueueTest", "FailingQueueTest"):
        bases = (getattr(module, kind), unittest.TestCase)
        setattr(module, f"Our{kind}", type(f"Our{kind}", bases, {"queue": queue}))


def main(name: str, *left_out: str) -> int:
    patch.install(sync=True)
    module: Any = importlib.import_module(f"test.{name}")
    for start in ("assert_python_ok", "assert_python_failure"):
        if hasattr(module, start):
            setattr(module, start, with_ours(getattr(module, start)))
    if name == "test_queue":
        of_our_queues(module)
    found = unittest.defaultTestLoader.loadTestsFromModule(module)
    ends = tuple(f".{word}" for word in left_out)
    chosen = unittest.TestSuite(one for one in each_test(found) if not one.id().endswith(ends))
    result = unittest.TextTestRunner(stream=sys.stderr).run(chosen)
    print(result.testsRun)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
