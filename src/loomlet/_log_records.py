"""Adds the tasklet name to log records (loomlet.patch).

The current record factory is wrapped: each record gets the attribute `tasklet`, the name of the
tasklet that made it, for format strings.  Removing restores the old factory.  If other code has
wrapped or replaced ours in the meantime, its factory stays, and ours, if still called, adds
nothing.

A worker of a ThreadPoolExecutor logs every exception that ends it, at level CRITICAL.  Log records
caused by kill() are dropped.
"""

from __future__ import annotations

import logging
from typing import Any

from loomlet import _core, errors

__all__ = ["add_tasklets", "remove_tasklets"]


class _Factory:
    """Makes a record with `inner`, and adds the tasklet name while `on`."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.on = True

    def __call__(self, *args: Any, **names: Any) -> logging.LogRecord:
        record: logging.LogRecord = self.inner(*args, **names)
        if self.on:
            record.tasklet = _core._tasklet_name()
        return record


_factory: _Factory | None = None


def add_tasklets() -> None:
    """From now on records name their tasklet.  A second call does nothing; any thread."""
    global _factory
    if _factory is None:
        _factory = _Factory(logging.getLogRecordFactory())
        logging.setLogRecordFactory(_factory)
        logging.getLogger("concurrent.futures").addFilter(_was_not_killed)


def remove_tasklets() -> None:
    """From now on records do not.  Any thread."""
    global _factory
    if _factory is None:
        return
    _factory.on = False
    if logging.getLogRecordFactory() is _factory:
        logging.setLogRecordFactory(_factory.inner)
    logging.getLogger("concurrent.futures").removeFilter(_was_not_killed)
    _factory = None


def _was_not_killed(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], errors.TaskletExit))
