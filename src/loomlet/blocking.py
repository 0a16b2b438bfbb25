"""run_blocking(), and the pool of threads on which it calls functions.

The work is done natively (src/core/io/blocking.h).  This module sets the limits of the pool and
ends it with the interpreter.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

from loomlet import _core, _program_end
from loomlet._core import run_blocking

__all__ = ["Limits", "Threads", "configure", "run_blocking", "threads"]


class Limits(NamedTuple):
    """What configure() sets."""

    max_threads: int
    idle_seconds: float
    exit_seconds: float


class Threads(NamedTuple):
    """How many threads the pool has, and how many of them are idle."""

    all: int
    idle: int


def configure(
    *,
    max_threads: int | None = None,
    idle_seconds: float | None = None,
    exit_seconds: float | None = None,
) -> Limits:
    """Sets the limits of the pool, which belongs to the process; returns what they were.

    max_threads: how many functions run at once, others are queued (1000).  idle_seconds: how long
    an idle thread is kept (10).  exit_seconds: how long the interpreter waits at exit for functions
    that still run (300).  None leaves a limit as it is.  Raises ValueError for less than 1 thread.
    Any thread.
    """
    if max_threads is not None and max_threads < 1:
        raise ValueError(f"expected at least 1 thread, found {max_threads!r}")
    return Limits(*_core._pool_limits(max_threads, idle_seconds, exit_seconds))


def threads() -> Threads:
    """The threads that the pool has now."""
    return Threads(*_core._pool_threads())


def _end() -> None:
    left = _core._pool_close()
    if left:
        warnings.warn(
            f"the interpreter exits while {left} threads of run_blocking() are still running",
            RuntimeWarning,
            stacklevel=1,
        )


_program_end.at_exit(_end)
