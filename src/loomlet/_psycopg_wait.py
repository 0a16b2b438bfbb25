"""psycopg waits for its server in our C code, where other tasklets run (loomlet.patch).

An operation of psycopg is a generator that yields what it waits for: that its descriptor can be
read, written, or either.  One function drives those of a connection, `psycopg.waiting.wait`, which
psycopg chooses when it is imported: its own C code, which blocks the thread, or one of several in
Python.  It is called through its module each time.  So the name is bound to a function of ours,
when `psycopg.waiting` is loaded or now: `_core._drive` does the work, and a query costs one call
that waits, softly, with one system call for it.

The function that psycopg has chosen is called where no other tasklet could run, as in a plain
thread; psycopg's `wait_poll` where a time limit is given, which few calls do.  Opening a
connection, `wait_conn`, goes through `selectors`, which is patched.

A program that sets PSYCOPG_WAIT_FUNC has chosen for itself, and nothing is replaced.

Rejected: PSYCOPG_WAIT_FUNC set by us (it allows only functions of psycopg, of which the best for us
creates a `poll` object for each query, and child processes inherit it).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from typing import Any

from loomlet import _after_import, _core

__all__ = ["install", "uninstall"]

MODULE = "psycopg.waiting"
CHOICE = "PSYCOPG_WAIT_FUNC"

_Wait = Callable[..., Any]
_ours: list[tuple[_Wait, _Wait]] = []  # our function and psycopg's; empty: it is not loaded


def install() -> None:
    """From now on psycopg lets other tasklets run.  Any thread."""
    if CHOICE not in os.environ:
        _after_import.call(MODULE, _replace)


def uninstall() -> None:
    """psycopg waits as it did.  Calls that wait are not affected.  Any thread."""
    _after_import.forget(MODULE)
    module: Any = sys.modules.get(MODULE)
    if _ours:
        ours, chosen = _ours.pop()
        if module is not None and module.wait is ours:
            module.wait = chosen


def _replace(module: Any) -> None:
    chosen = module.wait
    module.wait = _cooperative(module, chosen)
    _ours[:] = [(module.wait, chosen)]


def _cooperative(module: Any, chosen: _Wait) -> _Wait:
    """The function that takes the place of the one that psycopg has chosen."""
    polling: _Wait = getattr(module, "wait_poll", module.wait_selector)
    drive, driven = _core._drive, _core.DrivenGenerator

    def wait(
        gen: Any, fileno: int, interval: float | None = 0.0, timeout: float | None = None
    ) -> Any:
        """As psycopg's function of this name."""
        if timeout is not None or interval is None:
            more = () if timeout is None else (timeout,)
            return polling(gen, fileno, interval, *more)
        found = drive(gen, fileno, interval)
        while type(found) is driven:
            if found.late:
                _check_open(module, fileno)
            wanted, found = found.wanted, found.go_on()
            if found is NotImplemented:
                return chosen(_begun(gen, wanted), fileno, interval)
        return found if found is not NotImplemented else chosen(gen, fileno, interval)

    return wait


def _check_open(module: Any, fileno: int) -> None:
    """Nobody hears of a close in libpq: the number is looked at."""
    try:
        os.fstat(fileno)
    except OSError as error:
        raise module.e.OperationalError("connection socket closed") from error


def _begun(gen: Any, wanted: Any) -> Generator[Any, Any, Any]:
    """A generator that has begun, and wants that, as a new one."""
    while True:
        ready = yield wanted
        try:
            wanted = gen.send(ready)
        except StopIteration as end:
            return end.value
