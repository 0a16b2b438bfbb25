"""GIL priority for threads that come back from I/O, before threads that compute.

A thread that wants the GIL waits five milliseconds before it asks the thread that computes to drop
it.  So beside a thread that computes, a server's thread needs five milliseconds for an answer that
takes some microseconds.  Loomlet's own threads that wait for sockets, timers, messages and
blocking calls do not wait like that: they ask at once.  prioritise_io() lets plain threads do the
same when they come back from `socket`, `select` and `ssl`, and sets for how much of the time.

Theory.  Where no thread computes, none is asked.  The threads that compute keep the rest of the
time: once the share is used up, a thread that comes back waits until some of it is available again.
The core explains how (cpython/gil.c, patch/io_hooks.c).

Without a GIL there is nothing to ask for, and the functions here do nothing.

Rejected: sys.setswitchinterval(), which makes threads that compute interrupt each other as often,
and still costs a fifth of a millisecond for each answer.
"""

from __future__ import annotations

import importlib
import sys
import threading
from dataclasses import dataclass
from types import ModuleType
from typing import Literal

from loomlet import _core

__all__ = ["GilStatus", "prioritise_io", "restore", "status"]

SHARE = 0.5
MODULES = ("_socket", "select", "_ssl")
MILLIONTHS = 1_000_000

Reach = Literal["module", "built in", "no"]
"""How plain threads in a module are reached: through the module, through the interpreter that it is
part of, or not at all."""

_hooked: dict[str, tuple[ModuleType | None, Reach]] = {}  # under _lock
_lock = threading.Lock()


@dataclass(frozen=True)
class GilStatus:
    """What status() returns.

    `has_gil`: whether one thread at a time runs Python here; everything below is empty otherwise.
    `share`: the part of the time for which threads that come back from I/O may go first.
    `modules`: the modules whose calls let plain threads do that too, and how they are reached.
    `asked`: how often a thread that computes has been asked to drop the GIL at once.
    `deferred`: how often the request was put off, because the share was used up or because the
    thread that held the GIL had just come back from I/O itself.
    `spent`: how many seconds of the share threads have spent.
    """

    has_gil: bool
    share: float
    modules: dict[str, Reach]
    asked: int
    deferred: int
    spent: float


def prioritise_io(share: float = SHARE) -> None:
    """Plain threads that come back from the standard library's I/O go before threads that compute.

    For the whole process, until restore(): threads in calls of `socket` and `select`, and of `ssl`
    if that was imported before.  Loomlet's own threads go first in any case.  A second call sets
    the share anew, and reaches modules that were imported meanwhile.  Does nothing without a GIL.
    Any thread.

    `share`: for which part of the time all of them may do so, from 0 to 1.  With 0 nobody does,
    loomlet's own threads neither.  Raises ValueError for other numbers, TypeError for
    anything that is not a number.
    """
    if isinstance(share, bool) or not isinstance(share, int | float):
        raise TypeError(f"expected share as a number from 0 to 1, found {share!r}")
    if not 0 <= share <= 1:
        raise ValueError(
            f"expected a share of the time from 0 to 1, such as 0.5 for half of it, found {share!r}"
        )
    with _lock:
        _core._gil_share(round(share * MILLIONTHS))
        for name in MODULES:
            if name != "_ssl" or name in sys.modules:
                _hook(name)


def restore() -> None:
    """Undoes prioritise_io(): plain threads wait for the GIL as the interpreter has it.

    Loomlet's own threads go first again for half of the time.  Any number of prioritise_io() is
    undone by one call.  Any thread.
    """
    with _lock:
        for module, _ in _hooked.values():
            _core._gil_hooks(module, False)
        _hooked.clear()
        _core._gil_share(round(SHARE * MILLIONTHS))


def status() -> GilStatus:
    """What is set now, and what has been done since the process began.  Any thread."""
    millionths, asked, deferred, spent = _core._gil_status()
    with _lock:
        modules = {name: reach for name, (_, reach) in _hooked.items()}
    return GilStatus(
        _core._has_gil(), millionths / MILLIONTHS, modules, asked, deferred, spent / 1e9
    )


def _hook(name: str) -> None:
    built_in = name in sys.builtin_module_names
    module = None if built_in else importlib.import_module(name)
    words = _core._gil_hooks(module, True)
    if _core._has_gil():
        _hooked[name] = module, ("built in" if built_in else "module") if words else "no"
