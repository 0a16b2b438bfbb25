"""run(), the error handler, and the warning about collected tasklets.

run() makes the calling thread's flow of control the main tasklet of the thread, and cleans up after
it.  The error handler belongs to the process: it is called at once, as the dying tasklet, for every
failure that no tasklet joins.  Importing this module passes the callbacks to the native core.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from loomlet import _core, _pseudo_threads, _selftest, _sequence, errors
from loomlet._debug import server

__all__ = ["run", "set_error_handler"]

P = ParamSpec("P")
T = TypeVar("T")
Handler = Callable[[_core.Tasklet, BaseException], object]


SHORTEST_SLICE = 0.0001


def run(main: Callable[..., T], *args: Any, slice: float | None = 0.01) -> T:
    """Runs main(*args) as the main tasklet of the calling thread; returns its result.

    An exception of `main` is raised here.  When `main` has ended, the remaining tasklets are killed
    and their `finally` blocks run before run() returns.  If `main` has returned, run() first joins
    the threads that are tasklets (loomlet.patch) and not daemons.  A nested run() raises
    TaskletError.

    `slice`: a tasklet that has run Python code for that many seconds while another one is ready
    goes to the tail of the run queue, wherever it is; None: tasklets switch only where they block
    or yield.  See nopreempt().  A slice is at least 0.0001 s, else ValueError.
    """
    _check_slice(slice)
    server.at_run()
    _core._run_begin()
    try:
        _core._slices(slice)
        result = main(*args)
        _pseudo_threads.wait()
        return result
    finally:
        _core._slices(None)
        _core._run_end()


def _check_slice(slice: float | None) -> None:
    if slice is None:
        return
    if isinstance(slice, bool) or not isinstance(slice, (int, float)):
        raise TypeError(f"expected a slice in seconds or None, found {slice!r}")
    if not SHORTEST_SLICE <= slice < float("inf"):
        raise ValueError(
            f"expected a slice of at least {SHORTEST_SLICE} seconds, found {slice!r}; None turns "
            "slices off"
        )


def report(tasklet: _core.Tasklet, exception: BaseException) -> None:
    """The default error handler: the tasklet's name and the traceback on stderr."""
    if sys.stderr is None:
        return
    print(f"loomlet: tasklet {tasklet.name} ended with an exception:", file=sys.stderr)
    traceback.print_exception(exception, file=sys.stderr)


_handler: Handler = report


def set_error_handler(handler: Handler | None) -> Handler | None:
    """Sets the handler of failures that no tasklet joins; returns the old handler.

    handler(tasklet, exception) runs as the dying tasklet and must not block.  None restores the
    default, which prints on stderr.
    """
    global _handler
    old, _handler = _handler, handler or report
    return None if old is report else old


def _failed(tasklet: _core.Tasklet, exception: BaseException) -> None:
    _handler(tasklet, exception)


def _abandoned(tasklet: _core.Tasklet) -> None:
    where = tasklet._where()
    name, line = "?", "?"
    if where:
        name, line = where[0].co_qualname, f"{where[0].co_filename}:{where[1]}"
    warnings.warn(
        f"tasklet {tasklet.name} was collected while blocked in {name}:{line.rpartition(':')[2]}"
        f" ({line}); nothing could wake it any more",
        ResourceWarning,
        stacklevel=1,
        source=tasklet,
    )


_TORTURE = {"switch": 1, "move": 2, "alloc": 4}


def _torture_bits(wanted: str) -> int:
    """The core's bits for LOOMLET_TORTURE=switch,move,alloc."""
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    unknown = [name for name in names if name not in _TORTURE]
    if unknown:
        raise ValueError(f"LOOMLET_TORTURE takes {', '.join(_TORTURE)}, found {', '.join(unknown)}")
    return sum(_TORTURE[name] for name in set(names))


def _install() -> None:
    _core._torture(_torture_bits(os.environ.get("LOOMLET_TORTURE", "")))
    _core._set_hooks(errors.make, _failed, _abandoned, (errors.TaskletExit, errors.Cancelled))
    _core._stackless_send_sequence(_sequence.send_sequence)
    package = os.path.dirname(__file__) + os.sep
    _core._uninterruptible(package, package + "bench" + os.sep)
    os.register_at_fork(
        before=_core._slices_before_fork,
        after_in_parent=_core._slices_after_fork_in_parent,
        after_in_child=_core._after_fork,
    )
    atexit.register(_core._stop_monitor)
    threading._register_atexit(_core._interpreter_ends)  # type: ignore[attr-defined]


_install()
_selftest.check()
