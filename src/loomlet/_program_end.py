"""The end of a program that `loomlet run` has started: what the interpreter does, inside run().

When a program ends, the interpreter calls the functions of threading._register_atexit() (executors
shut down there), the latest first; calls the main thread ended; joins the threads that are not
daemons; and calls the functions of atexit.  Daemons are alive until then: pools, queues and
listeners of the standard library stop theirs in those functions, and hang, or lose what is queued,
if a thread is gone already.  So all of this happens before run() kills the tasklets, and what the
interpreter would do again later is done with.

Invariants: each function is called once.  Those of loomlet itself (`at_exit`, `at_shutdown`) are
called by the interpreter, after run().  An exception in the first three steps ends them and is
printed, like the interpreter does; the functions of atexit run all the same.

Who calls: the main tasklet, once, in whatever thread it runs (_run_cli).

Rejected: calling threading._shutdown(), which waits for threads of the system in C, where no other
tasklet could run, and in 3.13 looks at nothing else.
"""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace, TracebackType
from typing import Any

from loomlet.errors import Deadlock

__all__ = ["at_exit", "at_shutdown", "begun", "finish", "mark_main"]

Function = Callable[[], object]

_at_exit: list[Function] = []
_at_shutdown: list[tuple[Function, Any]] = []
_begun = False


def at_exit(function: Function) -> None:
    """Registers a function of loomlet with atexit; finish() leaves it to the interpreter."""
    atexit.register(function)
    _at_exit.append(function)


def at_shutdown(function: Function) -> None:
    """Registers a function of loomlet to be called before threads are joined; as at_exit()."""
    threading._register_atexit(function)  # type: ignore[attr-defined]
    _at_shutdown.append((function, threading._threading_atexits[-1]))  # type: ignore[attr-defined]


def begun() -> bool:
    """Whether finish() has been called: nobody else needs to wait for threads."""
    return _begun


def finish(*, interrupted: bool = False) -> None:
    """Ends the program; the caller's exception has been printed.

    `interrupted`: by Ctrl-C; then nothing waits for threads, except those of executors.  Raises
    Deadlock if threads wait for each other, after the functions of atexit have run.
    """
    global _begun
    _begun = True
    deadlock = None
    try:
        _call_hooks()
        _end_main_thread()
        if not interrupted:
            _join_threads()
    except Deadlock as error:
        deadlock = error
    except BaseException as error:
        _report(error)
    _end_main_thread()
    _call_exit_functions()
    if deadlock is not None:
        raise deadlock


def _call_hooks() -> None:
    """What concurrent.futures and others have registered, the latest first."""
    threading._SHUTTING_DOWN = True  # type: ignore[attr-defined]
    own = [hook for _, hook in _at_shutdown]
    hooks = threading._threading_atexits  # type: ignore[attr-defined]
    for hook in reversed(hooks):
        if hook not in own:
            hook()


def _join_threads() -> None:
    """Returns when every other thread of the program that is not a daemon has ended."""
    me = threading.current_thread()
    while others := [one for one in threading.enumerate() if one is not me and not one.daemon]:
        for thread in others:
            thread.join()


def _call_exit_functions() -> None:
    """Those of the program, each once; the interpreter calls ours."""
    for function in _at_exit:
        atexit.unregister(function)
    atexit._run_exitfuncs()
    for function in _at_exit:
        atexit.register(function)
    for function, _ in _at_shutdown:  # _shutdown() returns at once for a main thread that has ended
        atexit.register(function)


def _report(error: BaseException) -> None:
    """Prints it as an exception that nothing handles."""
    import traceback  # takes two megabytes, which other programs need not

    trace = _without_ours(error.__traceback__)
    words = "Exception ignored on threading shutdown"
    if sys.unraisablehook is not sys.__unraisablehook__:
        names: dict[str, Any] = {"exc_type": type(error), "exc_value": error, "object": None}
        sys.unraisablehook(SimpleNamespace(**names, exc_traceback=trace, err_msg=words))
    elif sys.stderr is not None:
        print(f"{words}:", file=sys.stderr)
        traceback.print_exception(type(error), error, trace)


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_globals is globals():
        trace = trace.tb_next
    return trace


# ---- the main thread ----------------------------------------------------------------


class _MainHandle:
    """What `threading` asks and joins of a main thread in 3.13 and later, in which tasklets run.

    The interpreter's own refuses to be joined by what runs in the same thread.  Any thread.
    """

    def __init__(self, ident: int | None) -> None:
        self.ident = ident
        self._done = False
        self._end = threading.Lock()
        self._end.acquire()

    def is_done(self) -> bool:
        """Whether finish() has got there, or this is the child of a fork in another thread."""
        return self._done or getattr(threading.main_thread(), _HANDLE, self) is not self

    def join(self, timeout: float | None = None) -> None:
        """Waits until then, for at most that many seconds."""
        if timeout is None:
            timeout = -1
        elif timeout < 0:
            timeout = 0
        if not self._done and self._end.acquire(timeout=timeout):
            self._end.release()

    def _set_done(self) -> None:
        if not self._done:
            self._done = True
            self._end.release()


_HANDLE = "_handle" if sys.version_info < (3, 14) else "_os_thread_handle"


def mark_main() -> None:
    """Lets threads that are tasklets join the main thread; before the program begins."""
    main = threading.main_thread()
    if hasattr(main, _HANDLE):
        setattr(main, _HANDLE, _MainHandle(main.ident))


def _end_main_thread() -> None:
    """It is not alive any more, and whoever joins it goes on."""
    main: Any = threading.main_thread()
    if hasattr(main, _HANDLE):
        getattr(main, _HANDLE)._set_done()
    elif (lock := main._tstate_lock) is not None:
        main._is_stopped, main._tstate_lock = True, None
        lock.release()
