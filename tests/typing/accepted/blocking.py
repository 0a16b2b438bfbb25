"""run_blocking(), the threads behind it, and the patched standard library."""

import time
from typing import assert_type

from loomlet import blocking, patch, run_blocking


def calling() -> None:
    """The arguments and the result are the function's."""
    assert_type(run_blocking(time.sleep, 0.1), None)
    assert_type(run_blocking(sorted, [3, 1], reverse=True), list[int])
    assert_type(run_blocking(lambda: "x"), str)


def limits() -> None:
    """configure() gives the limits that were."""
    old = blocking.configure(max_threads=3, idle_seconds=0.5, exit_seconds=None)
    assert_type(old, blocking.Limits)
    assert_type(old.max_threads, int)
    assert_type(old.idle_seconds, float)
    assert_type(old.exit_seconds, float)
    blocking.configure(**old._asdict())
    count = blocking.threads()
    assert_type(count, blocking.Threads)
    assert_type(count.all, int)
    assert_type(count.idle, int)


def patching() -> None:
    """The standard library for tasklets."""
    patch.install()
    patch.install(threads=True)
    assert_type(patch.installed(), bool)
    patch.uninstall()
