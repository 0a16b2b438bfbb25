"""Loomlet: light tasklets, channels and a scheduler on unmodified CPython.

The names below are the public interface; docs/reference explains them.
"""

from typing import TYPE_CHECKING

from loomlet import _greenlet_import as _greenlet_import
from loomlet._core import (
    Channel,
    Lock,
    Tasklet,
    current,
    nopreempt,
    now,
    schedule,
    select,
    sleep,
    spawn,
    spawn_threadsafe,
)
from loomlet._debug.stalls import on_stall
from loomlet._old_names import install as _install_old_names
from loomlet._pinned import pinned
from loomlet._public import show_in as _show_in
from loomlet._runtime import run, set_error_handler
from loomlet._scopes import CancelScope, TaskGroup, timeout
from loomlet.blocking import run_blocking
from loomlet.errors import (
    Cancelled,
    ChannelClosed,
    CodeChanged,
    Deadlock,
    DeadTasklet,
    FreezeError,
    FreezeWarning,
    LoomletError,
    ScopeError,
    StallWarning,
    SwitchTrapped,
    TaskletError,
    TaskletExit,
    TaskletKilled,
    ThawError,
    WrongThread,
)

if TYPE_CHECKING:
    from loomlet.snapshot import clone, freeze, thaw, why_not_freezable
else:
    from loomlet._lazy_snapshot import find as __getattr__  # noqa: F401

__all__ = [
    "CancelScope",
    "Cancelled",
    "Channel",
    "ChannelClosed",
    "CodeChanged",
    "DeadTasklet",
    "Deadlock",
    "FreezeError",
    "FreezeWarning",
    "Lock",
    "LoomletError",
    "ScopeError",
    "StallWarning",
    "SwitchTrapped",
    "TaskGroup",
    "Tasklet",
    "TaskletError",
    "TaskletExit",
    "TaskletKilled",
    "ThawError",
    "WrongThread",
    "clone",
    "current",
    "freeze",
    "nopreempt",
    "now",
    "on_stall",
    "pinned",
    "run",
    "run_blocking",
    "schedule",
    "select",
    "set_error_handler",
    "sleep",
    "spawn",
    "spawn_threadsafe",
    "thaw",
    "timeout",
    "why_not_freezable",
]

_show_in("loomlet", TaskGroup, on_stall, pinned, run, set_error_handler)
_install_old_names()
