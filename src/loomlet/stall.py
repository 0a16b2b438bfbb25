"""Stalls: a tasklet that holds the core of its thread in one long call of C code.

Time slices interrupt Python code, never a call of C.  Such a call is named instead: when it has
returned, the tasklet in which it happened, the line and the duration are given to a callback, by
default a StallWarning for each line that is met the first time.  Calls that release the GIL count
as well, `time.sleep` for one: the other tasklets of the thread waited just the same.  Only threads
inside loomlet.run() with slices are watched; the duration is told from the moment when the tasklet
should have yielded, so it is up to two slices short.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import CodeType
from typing import NamedTuple

from loomlet import _core
from loomlet.errors import StallWarning

__all__ = ["Stall", "on_stall"]


class Stall(NamedTuple):
    """Which tasklet held the core, in which call, and for how many seconds."""

    tasklet: _core.Tasklet
    filename: str
    lineno: int
    function: str
    seconds: float


Callback = Callable[[Stall], object]


_warned: set[tuple[str, int]] = set()


def warn(stall: Stall) -> None:
    """The default callback: a StallWarning, once for each line."""
    place = (stall.filename, stall.lineno)
    if place in _warned:
        return
    _warned.add(place)
    message = (
        f"tasklet {stall.tasklet.name} held the core for {stall.seconds:.2f} s in one call at "
        f"{stall.filename}:{stall.lineno} in {stall.function}; no other tasklet of the thread "
        "could run; give such calls to a thread"
    )
    warnings.warn_explicit(message, StallWarning, stall.filename, stall.lineno)


_callback: Callback = warn


def on_stall(callback: Callback | None, after: float = 0.5) -> Callback | None:
    """Sets what is called for a call that held the core for `after` seconds; returns the old one.

    callback(stall) runs in the tasklet that held the core, behind the call, and must not block; an
    exception of it is printed and dropped.  `stall` has `tasklet`, `filename`, `lineno`, `function`
    and `seconds`.  None restores the default, a StallWarning once for each line.  Concerns every
    thread.  TypeError for a callback that cannot be called, ValueError unless after > 0.
    """
    global _callback
    if callback is not None and not callable(callback):
        raise TypeError(f"expected a callable or None, found {callback!r}")
    if not after > 0:
        raise ValueError(f"expected a number of seconds > 0, found {after!r}")
    _core._set_stall(_stalled, after)
    old, _callback = _callback, callback or warn
    return None if old is warn else old


def _stalled(tasklet: _core.Tasklet, code: CodeType, line: int, seconds: float) -> None:
    _callback(Stall(tasklet, code.co_filename, line, code.co_qualname, seconds))


_core._set_stall(_stalled, 0.5)
