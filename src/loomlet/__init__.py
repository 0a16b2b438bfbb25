"""Loomlet: light tasklets, channels and a scheduler on unmodified CPython.

The names below are all that programs import; docs/reference explains them.
"""

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
)
from loomlet.errors import (
    Cancelled,
    ChannelClosed,
    Deadlock,
    DeadTasklet,
    LoomletError,
    ScopeError,
    StallWarning,
    SwitchTrapped,
    TaskletError,
    TaskletExit,
    WrongThread,
)
from loomlet.runtime import run, set_error_handler
from loomlet.scopes import CancelScope, TaskGroup, timeout
from loomlet.stall import on_stall

__all__ = [
    "CancelScope",
    "Cancelled",
    "Channel",
    "ChannelClosed",
    "DeadTasklet",
    "Deadlock",
    "Lock",
    "LoomletError",
    "ScopeError",
    "StallWarning",
    "SwitchTrapped",
    "TaskGroup",
    "Tasklet",
    "TaskletError",
    "TaskletExit",
    "WrongThread",
    "current",
    "nopreempt",
    "now",
    "on_stall",
    "run",
    "schedule",
    "select",
    "set_error_handler",
    "sleep",
    "spawn",
    "timeout",
]
