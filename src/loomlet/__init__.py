"""Loomlet: light tasklets, channels and a scheduler on unmodified CPython.

The names below are the public interface; docs/reference explains them.
"""

from typing import TYPE_CHECKING

from loomlet import _greenlet_import as _greenlet_import
from loomlet._conditions import Barrier, Condition
from loomlet._core import (
    Channel,
    Event,
    Lock,
    Semaphore,
    Tasklet,
    checkpoint,
    current,
    nopreempt,
    now,
    schedule,
    select,
    sleep,
    spawn,
    spawn_threadsafe,
)
from loomlet._debug.stalls import Stall, on_stall
from loomlet._old_names import install as _install_old_names
from loomlet._pinned import pinned
from loomlet._public import show_in as _show_in
from loomlet._runtime import run, set_error_handler
from loomlet._scopes import CancelScope, TaskGroup, TaskStatus, fail_after, move_on_after, timeout
from loomlet._senders import Sender
from loomlet._tickers import Ticker, after, ticker
from loomlet._together import gather, map, race
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
    from loomlet import aio as aio
    from loomlet import compat as compat
    from loomlet import gil as gil
    from loomlet import http as http
    from loomlet import net as net
    from loomlet import observe as observe
    from loomlet import patch as patch
    from loomlet import snapshot as snapshot
    from loomlet import sync as sync
    from loomlet import testing as testing
    from loomlet.snapshot import clone, freeze, thaw, why_not_freezable

    __version__: str
else:
    from loomlet._lazy_names import find as __getattr__  # noqa: F401
    from loomlet._lazy_names import list_names as __dir__  # noqa: F401

__all__ = [
    "Barrier",
    "CancelScope",
    "Cancelled",
    "Channel",
    "ChannelClosed",
    "CodeChanged",
    "Condition",
    "DeadTasklet",
    "Deadlock",
    "Event",
    "FreezeError",
    "FreezeWarning",
    "Lock",
    "LoomletError",
    "ScopeError",
    "Semaphore",
    "Sender",
    "Stall",
    "StallWarning",
    "SwitchTrapped",
    "TaskGroup",
    "TaskStatus",
    "Tasklet",
    "TaskletError",
    "TaskletExit",
    "TaskletKilled",
    "ThawError",
    "Ticker",
    "WrongThread",
    "after",
    "checkpoint",
    "clone",
    "current",
    "fail_after",
    "freeze",
    "gather",
    "map",
    "move_on_after",
    "nopreempt",
    "now",
    "on_stall",
    "pinned",
    "race",
    "run",
    "run_blocking",
    "schedule",
    "select",
    "set_error_handler",
    "sleep",
    "spawn",
    "spawn_threadsafe",
    "thaw",
    "ticker",
    "timeout",
    "why_not_freezable",
]

_show_in(
    "loomlet", Barrier, Condition, Sender, Stall, TaskGroup, TaskStatus, Ticker, after, gather, map
)
_show_in("loomlet", move_on_after, on_stall, pinned, race, run, set_error_handler, ticker)
_install_old_names()
