"""Records of logging know the tasklet (loomlet.patch).

The record factory that is there is wrapped: each record gets `tasklet`, the name of the tasklet
that has made it, for format strings.  Taken off, the factory is as it was; if somebody has wrapped
or replaced ours meanwhile, theirs stays, and ours, if it is still called, adds nothing any more.

A worker of a ThreadPoolExecutor logs every exception that ends it, at level CRITICAL.  That of a
kill is none to tell of: such records are dropped.
"""

from __future__ import annotations

import logging
from typing import Any

from loomlet import _core, errors

__all__ = ["add_tasklets", "remove_tasklets"]


class _Factory:
    """Makes a record by `inner`, and notes the tasklet in it while `on`."""

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
    """From now on.  Once is enough; any thread."""
    global _factory
    if _factory is None:
        _factory = _Factory(logging.getLogRecordFactory())
        logging.setLogRecordFactory(_factory)
        logging.getLogger("concurrent.futures").addFilter(_is_worth_telling)


def remove_tasklets() -> None:
    """No longer.  Any thread."""
    global _factory
    if _factory is None:
        return
    _factory.on = False
    if logging.getLogRecordFactory() is _factory:
        logging.setLogRecordFactory(_factory.inner)
    logging.getLogger("concurrent.futures").removeFilter(_is_worth_telling)
    _factory = None


def _is_worth_telling(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], errors.TaskletExit))
