"""Stalls: a tasklet blocks its thread in one long call of C code.

Time slices interrupt Python code, never a C call.  So when a long C call returns, a callback gets
the tasklet, the line and the duration; the default callback issues a StallWarning, once for each
line, if another tasklet of the thread was ready to run.  Calls that release the GIL count as well,
`time.sleep` for one: the other tasklets of the thread waited just the same.  Only threads inside
loomlet.run() with slices are monitored.  The duration is measured from the moment when the tasklet
should have yielded, so it is up to two slices too short.

While such a call lasts, no Python code can report it.  The monitor thread does, on stderr after a
second, if other tasklets of the thread are waiting to run: see report_stalls().
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from types import CodeType
from typing import NamedTuple

from loomlet import _core
from loomlet.errors import StallWarning

__all__ = ["Stall", "on_stall", "report_stalls"]


class Stall(NamedTuple):
    """The tasklet that held its thread, the call in which it did, and for how many seconds."""

    tasklet: _core.Tasklet
    filename: str
    lineno: int
    function: str
    seconds: float


Callback = Callable[[Stall], object]


_warned: set[tuple[str, int]] = set()


def warn(stall: Stall) -> None:
    """The default callback: a StallWarning, once for each line."""
    line = (stall.filename, stall.lineno)
    if line in _warned:
        return
    _warned.add(line)
    message = (
        f"tasklet {stall.tasklet.name} held its thread for {stall.seconds:.2f} s in one call at "
        f"{stall.filename}:{stall.lineno} in {stall.function}; no other tasklet of the thread "
        "could run; make such calls with loomlet.run_blocking()"
    )
    warnings.warn_explicit(message, StallWarning, stall.filename, stall.lineno)


_callback: Callback = warn


def on_stall(callback: Callback | None, after: float = 0.5) -> Callback | None:
    """Sets the callback for calls that hold their thread for `after` seconds; returns the old one.

    callback(stall) runs in the tasklet that held its thread, after the call, and must not block; an
    exception of it is printed and dropped.  `stall` has `tasklet`, `filename`, `lineno`, `function`
    and `seconds`.  None restores the default, a StallWarning once for each line, if another tasklet
    was ready to run.  Applies to all threads.  TypeError for a callback that cannot be called,
    ValueError unless after > 0.
    """
    global _callback
    if callback is not None and not callable(callback):
        raise TypeError(f"expected a callable or None, found {callback!r}")
    if not after > 0:
        raise ValueError(f"expected a number of seconds > 0, found {after!r}")
    _core._set_stall_callback(_stalled, after)
    old, _callback = _callback, callback or warn
    return None if old is warn else old


def report_stalls(after: float | None) -> float | None:
    """Sets after how many seconds a stall is reported on stderr; returns the old number.

    Each stall is reported once, while it lasts, even when no Python code can run: the tasklet, how
    long it has held its thread, and its innermost functions with their lines.  Only if other
    tasklets of the thread are ready or due, and in threads inside loomlet.run() with slices.  None:
    no reports.  LOOMLET_STALL sets the number at import; the default is 1 second.  Applies to all
    threads.  TypeError for an argument that is not a number, ValueError unless after > 0.
    """
    if after is not None and not after > 0:
        raise ValueError(f"expected a number of seconds > 0 or None, found {after!r}")
    return _core._set_stall_report(after or 0) or None


def _wanted(text: str) -> float | None:
    """The value of LOOMLET_STALL: seconds, or 0 for no reports."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not seconds >= 0:
        raise ValueError(f"LOOMLET_STALL takes a number of seconds, or 0, found {text!r}")
    return seconds or None


def _stalled(
    tasklet: _core.Tasklet, code: CodeType, line: int, seconds: float, others_wait: bool
) -> None:
    if others_wait or _callback is not warn:
        _callback(Stall(tasklet, code.co_filename, line, code.co_qualname, seconds))


_core._set_stall_callback(_stalled, 0.5)
report_stalls(_wanted(os.environ.get("LOOMLET_STALL", "1")))
