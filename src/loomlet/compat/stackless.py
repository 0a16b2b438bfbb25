"""The module `stackless` of Stackless Python, on loomlet's core.

All names of its documented interface, and the undocumented hooks that its users know.  Tasklets and
channels are the native ones under other rules (order, ends, close): docs/reference/stackless.md has
the table, each function its docstring.  From the first import on, the main tasklet of every thread
follows the rules of Stackless, except inside `loomlet.run()`, and `TaskletExit` is a builtin; it is
the same class in both APIs.

The names that Stackless calls deprecated (`stackless.current` and others) are properties of the
module, which therefore has a class of its own.  Threads: see the functions.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from loomlet import _core, snapshot
from loomlet.compat import _function_pickler
from loomlet.compat import _stackless_wrap as _wrap
from loomlet.errors import TaskletExit

__all__ = [  # noqa: RUF022 - the reference's order
    "atomic",
    "channel",
    "enable_softswitch",
    "get_channel_callback",
    "get_schedule_callback",
    "get_thread_info",
    "getcurrent",
    "getcurrentid",
    "getdebug",
    "getmain",
    "getruncount",
    "getthreads",
    "getuncollectables",
    "pickle_with_tracing_state",
    "run",
    "schedule",
    "schedule_remove",
    "set_channel_callback",
    "set_error_handler",
    "set_schedule_callback",
    "switch_trap",
    "tasklet",
    "stackless",
]

atomic = _core.StacklessAtomic
bomb = _core.StacklessBomb
cframe = _core.StacklessCFrame
channel = _core.StacklessChannel
cstack = _core.StacklessCStack
tasklet = _core.StacklessTasklet

enable_softswitch = _core._stackless_enable_softswitch
get_channel_callback = _core._stackless_get_channel_callback
get_schedule_callback = _core._stackless_get_schedule_callback
get_thread_info = _core._stackless_get_thread_info
getcurrent = _core._stackless_getcurrent
getcurrentid = _core._stackless_getcurrentid
getdebug = _core._stackless_getdebug
getmain = _core._stackless_getmain
getruncount = _core._stackless_getruncount
getthreads = _core._stackless_getthreads
getuncollectables = _core._stackless_getuncollectables
pickle_flags = _core._stackless_pickle_flags
pickle_flags_default = _core._stackless_pickle_flags_default
run = _core._stackless_run
schedule = _core._stackless_schedule
schedule_remove = _core._stackless_schedule_remove
set_channel_callback = _core._stackless_set_channel_callback
set_error_handler = _core._stackless_set_error_handler
set_schedule_callback = _core._stackless_set_schedule_callback
switch_trap = _core._stackless_switch_trap

# For tests of the reference.
_gc_track = _core._stackless__gc_track
_gc_untrack = _core._stackless__gc_untrack
_test_nostacklesscall = _core._stackless__test_nostacklesscall
test_cframe_nr = _core._stackless_test_cframe_nr
test_outside = _core._stackless_test_outside

PICKLEFLAGS_PRESERVE_TRACING_STATE = 1
PICKLEFLAGS_PRESERVE_AG_FINALIZER = 2
PICKLEFLAGS_RESET_AG_FINALIZER = 4
PICKLEFLAGS_PICKLE_CONTEXT = 8


def _pickle_moduledict(pickler: Any, values: Any) -> tuple[Any, ...] | None:
    """How a pickler saves the dict of a module that can be imported, given either: by the module's
    name, a tuple as `__reduce__()` returns it.  None for any other object."""
    own = vars(values) if isinstance(values, ModuleType) else values
    name = own.get("__name__") if type(own) is dict else None
    module = sys.modules.get(name) if isinstance(name, str) else None
    known = module is not None and getattr(module, "__dict__", None) is own
    return (getattr, (module, "__dict__")) if known else None


class _Module(ModuleType):
    """The deprecated spellings, evaluated at each use as in Stackless Python."""

    @property
    def current(self) -> tasklet:
        """getcurrent()"""
        return getcurrent()

    @property
    def main(self) -> tasklet:
        """getmain()"""
        return getmain()

    @property
    def runcount(self) -> int:
        """getruncount()"""
        return getruncount()

    @property
    def threads(self) -> list[int]:
        """getthreads()"""
        return getthreads()

    @property
    def debug(self) -> bool:
        """getdebug()"""
        return getdebug()

    @property
    def uncollectables(self) -> list[tasklet]:
        """getuncollectables()"""
        return getuncollectables()

    @property
    def pickle_with_tracing_state(self) -> bool:
        """Whether trace and profile functions are pickled; set for this thread and new ones."""
        return bool(pickle_flags() & PICKLEFLAGS_PRESERVE_TRACING_STATE)

    @pickle_with_tracing_state.setter
    def pickle_with_tracing_state(self, wanted: bool) -> None:
        for change in (pickle_flags, pickle_flags_default):
            change(int(bool(wanted)), PICKLEFLAGS_PRESERVE_TRACING_STATE)

    def __reduce__(self) -> tuple[Any, ...]:
        return importlib.import_module, (self.__name__,)


if TYPE_CHECKING:
    current: tasklet
    main: tasklet
    runcount: int
    threads: list[int]
    debug: bool
    uncollectables: list[tasklet]
    pickle_with_tracing_state: bool

stackless = sys.modules[__name__]


def _install() -> None:
    stackless.__class__ = _Module
    builtins.TaskletExit = TaskletExit  # type: ignore[attr-defined]
    sys.modules.setdefault("_stackless", stackless)
    sys.modules[f"{__name__}._wrap"] = _wrap
    _core._stackless_install()
    snapshot.install()
    _function_pickler.install()


_install()
