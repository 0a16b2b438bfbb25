"""run(), the error handler, and the warning about collected tasklets.

run() makes the calling thread's own code the main tasklet of the thread, and cleans up after
it.  The error handler belongs to the process: it is called at once, as the dying tasklet, for every
failure that no tasklet joins.  Importing this module passes the callbacks to the native core.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import warnings
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn, ParamSpec, TypeVar

from loomlet import (
    _core,
    _program_end,
    _pseudo_threads,
    _selftest,
    _sequence,
    _waits,
    _yappi_contexts,
    errors,
)
from loomlet._debug import server

__all__ = ["run", "set_error_handler"]

P = ParamSpec("P")
T = TypeVar("T")
Handler = Callable[[_core.Tasklet, BaseException], object]


SHORTEST_SLICE = 0.0001


def run(
    main: Callable[..., T],
    *args: Any,
    slice: float | None = 0.01,
    strict: bool = False,
    handoff: bool | None = None,
) -> T:
    """Runs main(*args) as the main tasklet of the calling thread; returns its result.

    An exception of `main` is raised here.  When `main` has ended, the remaining tasklets are killed
    and their `finally` blocks run before run() returns.  If `main` has returned, run() first joins
    the threads that are tasklets (loomlet.patch) and not daemons.  A nested run() raises
    TaskletError.  A RuntimeWarning names the tasklets that had not begun when `main` returned, and
    those that survive being killed; others say that cProfile or VizTracer cannot tell tasklets
    apart.

    `slice`: a tasklet that has run Python code for that many seconds while another one is ready
    goes to the tail of the run queue, wherever it is; None: tasklets switch only where they block
    or yield.  See nopreempt().  A slice is at least 0.0001 s, else ValueError.

    `strict`: if `main` has returned, but tasklets have failed that nothing joined, run() raises
    their exceptions in an ExceptionGroup.

    `handoff`: while a tasklet is inside a C call that has released the GIL for longer than a slice,
    the others, main too, go on in another thread.  CPython 3.12 and later, else RuntimeError;
    ValueError without slices.  None: if LOOMLET_HANDOFF=1 is set; and with the GIL if the patch is
    installed (loomlet.patch, `loomlet run`), unless LOOMLET_HANDOFF=0 is set.
    """
    result, late = run_whatever_is_late(main, *args, slice=slice, strict=strict, handoff=handoff)
    if late:
        words = (
            f"run() has ended before these tasklets began: {late}; join() them, or use TaskGroup"
        )
        warnings.warn(words, RuntimeWarning, stacklevel=2)
    return result


def run_whatever_is_late(
    main: Callable[..., T],
    *args: Any,
    slice: float | None = 0.01,
    strict: bool = False,
    handoff: bool | None = None,
) -> tuple[T, str]:
    """run() without the warning: its result, and the text of tasklets that had not begun."""
    _check_main(main)
    _check_slice(slice)
    handoff = _check_handoff(handoff, slice)
    server.at_run()
    _yappi_contexts.keep()
    _core._run_begin()
    _core._profiled()
    failures = _watch_failures() if strict else None
    try:
        if handoff:
            _begin_handoff()
            result, late = _core._run_main(_run_anywhere, main, args, slice)
        else:
            result, late = _run_inside(main, args, slice)
    finally:
        _core._run_end()  # if it has not begun
        _core._let_go_of_failures()
        if failures is not None:
            _watchers.remove(failures)
    _warn_of_survivors()
    _warn_of_profilers()
    if failures is not None:
        _raise_unjoined(failures)
    return result, late


def _run_inside(
    main: Callable[..., T], args: tuple[Any, ...], slice: float | None
) -> tuple[T, str]:
    """Runs main(*args) and ends the others: the result, and the text of those that had not begun.

    With handoff this too is on a stack of ours: what sits in the thread that has called run() does
    not keep the others from their end.
    """
    try:
        _core._slices(slice)
        result = main(*args)
        _pseudo_threads.wait()
        return result, _list_with_origin(_core._never_ran())
    except errors.TaskletExit as error:
        if error.reason is None:
            raise
        raise errors.killed(_core.current().name, error) from error
    finally:
        try:
            _core._slices(None)
            _core._handoff(False)
        finally:  # a signal handler may have raised there
            _core._run_end()


def _run_anywhere(
    main: Callable[..., T], args: tuple[Any, ...], slice: float | None
) -> tuple[T, str]:
    """The same where run() may not exist: in the child of a fork that was made elsewhere."""
    error = None
    try:
        return _run_inside(main, args, slice)
    except BaseException as raised:
        error = raised
        raise
    finally:
        if _core._is_run_lost():
            _end_process(_report_end(error))


def _report_end(error: BaseException | None) -> int:
    """The exit status of a program that ends so; says on stderr why, as the interpreter does."""
    code = error.code if isinstance(error, SystemExit) else error
    if code is None or isinstance(code, int):
        return code or 0
    if isinstance(code, BaseException):
        sys.excepthook(type(code), code, code.__traceback__)
    else:
        print(code, file=sys.stderr)
    return 1


def _end_process(status: int) -> NoReturn:
    """Ends the process where the thread that has called run() does not exist."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    finally:
        os._exit(status)


def _check_main(main: object) -> None:
    if not callable(main):
        kind = type(main).__name__
        if isinstance(main, Coroutine):
            main.close()
            use = "run(aio.await_, coroutine) of loomlet.aio"
        else:
            use = "run(main), not run(main())"
        raise TypeError(f"run(main, *args) expected a function, found {kind}; use {use}")
    if _core._is_coroutine_function(main):
        raise TypeError(
            "run(main, *args) expected a plain function, found the coroutine function "
            f"{getattr(main, '__qualname__', main)}, whose body would not run; use "
            "run(aio.await_, coroutine) of loomlet.aio"
        )


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


_own_locals = threading.local()
"""Other threads that carry a scheduler share the locals of its own, which must exist then."""


def _begin_handoff() -> None:
    vars(_own_locals)
    _core._keep_identity()
    _core._handoff(True)


def _check_handoff(handoff: bool | None, slice: float | None) -> bool:
    if handoff is None:
        asked = os.environ.get("LOOMLET_HANDOFF", "")
        wanted = asked == "1" or (asked != "0" and _core._patch(None) and _core._has_gil())
        return wanted and slice is not None and _core._can_hand_over()
    if not isinstance(handoff, bool):
        raise TypeError(f"expected handoff to be True, False or None, found {handoff!r}")
    if handoff and slice is None:
        raise ValueError("handoff needs slices, found slice=None")
    if handoff and not _core._can_hand_over():
        raise RuntimeError(
            "handoff needs CPython 3.12 or later; leave it out, and use "
            "run_blocking() for calls that wait"
        )
    return handoff


NAMED = 5
"""So many tasklets are named in a warning."""


def _origin(tasklet: _core.Tasklet) -> str:
    spawned = tasklet._spawned_at()
    if spawned is None:
        return ""
    code, line = spawned
    return f"spawned at {code.co_filename}:{line} in {code.co_qualname}"


def _list_with_origin(tasklets: list[_core.Tasklet]) -> str:
    """Their names and where they were spawned; an empty text for none."""
    named = [f"{tasklet.name} ({_origin(tasklet)})" for tasklet in tasklets[:NAMED]]
    named = [text.removesuffix(" ()") for text in named]
    more = len(tasklets) - len(named)
    return ", ".join(named) + (f", and {more} more" if more else "")


PROFILED = {
    1: "cProfile was on while tasklets took turns. It takes what runs meanwhile for calls of the "
    "tasklet that waits, so its times are not true; profile what does not wait, or use a sampling "
    "profiler",
    2: "VizTracer was on while tasklets took turns. It keeps one stack of calls for all of them, "
    "so it mixes them up, or stops; trace a program of threads with `python -m loomlet run "
    "--os-threads`, or use a sampling profiler",
}


def _warn_of_profilers() -> None:
    found = _core._profiled()
    for bit, words in PROFILED.items():
        if found & bit:
            warnings.warn(words, RuntimeWarning, stacklevel=4)


def _warn_of_survivors() -> None:
    left = _core._survivors()
    if left:
        found = ", ".join(_waits.describe(tasklet) for tasklet in left[:NAMED])
        words = f"tasklets have survived every kill at the end of run(): {found}"
        warnings.warn(words, RuntimeWarning, stacklevel=4)


def _warn_at_exit() -> None:
    """At the exit of the interpreter: tasklets that were spawned in a program without run()."""
    late = _list_with_origin(_core._never_ran())
    if late:
        words = f"the program has ended before these tasklets began: {late}; use run(main)"
        warnings.warn(words, RuntimeWarning, stacklevel=1)


class _Failures(list[tuple[_core.Tasklet, BaseException, str]]):
    """What went to the error handler in one thread: tasklet, exception, where it was spawned."""

    def __init__(self, main: _core.Tasklet) -> None:
        self.main = main


_watchers: list[_Failures] = []


def _watch_failures() -> _Failures:
    failures = _Failures(_core.current())
    _watchers.append(failures)
    return failures


UNJOINED = "tasklets have failed that nothing joined"


def _raise_unjoined(failures: _Failures) -> None:
    unjoined = {id(error): error for tasklet, error, _ in failures if not tasklet._observed}
    for tasklet, error, origin in failures:
        if id(error) in unjoined:
            error.add_note(f"loomlet: this ended tasklet {tasklet.name}, {origin}".rstrip(", "))
    if unjoined:
        raise BaseExceptionGroup(UNJOINED, list(unjoined.values()))


def report(tasklet: _core.Tasklet, exception: BaseException) -> None:
    """The default error handler: the tasklet's name and the traceback on stderr."""
    if sys.stderr is None:
        return
    origin = _origin(tasklet)
    who = f"{tasklet.name}, {origin}," if origin else tasklet.name
    print(f"loomlet: tasklet {who} ended with an exception:", file=sys.stderr)
    sys.__excepthook__(type(exception), exception, exception.__traceback__)


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
    for failures in _watchers:
        if failures.main is _core._stackless_getmain():
            failures.append((tasklet, exception, _origin(tasklet)))
    _handler(tasklet, exception)


def _abandoned(tasklet: _core.Tasklet) -> None:
    if tasklet.state == "runnable":
        late = _list_with_origin([tasklet])
        words = f"its thread has ended before tasklet {late} began; use run(main)"
        warnings.warn(words, RuntimeWarning, stacklevel=1, source=tasklet)
        return
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


def _most_threads(wanted: str) -> int:
    """The number in LOOMLET_THREADS."""
    if not wanted.isdecimal() or not 0 < int(wanted) < 1 << 31:
        raise ValueError(f"LOOMLET_THREADS takes a number of threads, at least 1, found {wanted!r}")
    return int(wanted)


def _install() -> None:
    _core._limit_threads(_most_threads(os.environ.get("LOOMLET_THREADS", "10000")))
    _core._torture(_torture_bits(os.environ.get("LOOMLET_TORTURE", "")))
    exits = (errors.TaskletExit, errors.Cancelled)
    _core._set_hooks(errors.make, _failed, _abandoned, exits, errors.TaskletKilled)
    _core._stackless_send_sequence(_sequence.send_sequence)
    _core._watch_extensions()
    gc.callbacks.append(_core._after_collection)
    package = os.path.dirname(__file__) + os.sep
    _core._uninterruptible(package, package + "bench" + os.sep)
    os.register_at_fork(after_in_child=_core._after_fork)
    _program_end.at_exit(_core._stop_threads)
    _program_end.at_exit(_core._gil_ends)
    _program_end.at_exit(_warn_at_exit)
    _program_end.at_shutdown(_core._interpreter_ends)
    _program_end.at_shutdown(_pseudo_threads.wait)


_install()
_selftest.check()
_core._forget_tasklets()
