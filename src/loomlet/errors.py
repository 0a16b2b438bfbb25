"""Every exception that loomlet raises.

    BaseException
      SystemExit
        TaskletExit          ends one tasklet silently; kill() throws it
      Cancelled              a cancel scope ends the work inside it
    Exception
      LoomletError           what all of ours below have in common
        ChannelClosed        (ValueError)    send or receive on a closed channel
        DescriptorClosed     (OSError)       a stream or listener that is closed
        EndOfStream          (EOFError)      the peer ended before all that was asked for had come
        Deadlock             (RuntimeError)  every tasklet waits for ever
        TaskletError         (RuntimeError)  an operation that the tasklet's state forbids
          DeadTasklet          it has ended
          WrongThread          it belongs to another thread
          SwitchTrapped        nothing may switch here
        ScopeError           (RuntimeError)  a cancel scope or a group used out of order
        FreezeError          (TypeError)     something that cannot be saved
        ThawError            (ValueError)    bytes that cannot be restored here
          CodeChanged          a function is not the one that was frozen

    RuntimeWarning
      FreezeWarning          something was left out of what was frozen
      StallWarning           a tasklet held the core in one long call of C code

TimeoutError and ExceptionGroup are the builtins; what the system refuses is a plain OSError, as
everywhere in Python.  Each text says what was expected, what was found and what to do.  The native
core knows only codes; this module turns a code into an exception (`make`) and hands that function
down.  Any thread.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING, Any

from loomlet import _core

__all__ = [
    "Cancelled",
    "ChannelClosed",
    "CodeChanged",
    "DeadTasklet",
    "Deadlock",
    "DescriptorClosed",
    "EndOfStream",
    "FreezeError",
    "FreezeWarning",
    "LoomletError",
    "ScopeError",
    "StallWarning",
    "SwitchTrapped",
    "TaskletError",
    "TaskletExit",
    "ThawError",
    "WrongThread",
]


class TaskletExit(SystemExit):
    """Ends a tasklet without a word.  Thrown by kill(); catch it to clean up, then let it go.

    A SystemExit as in Stackless Python: `except Exception` does not catch it, and in the main
    tasklet it ends the program without a word too.
    """


class Cancelled(BaseException):
    """The cancel scope around this code was cancelled.

    Raised by every blocking operation inside the scope until it is left.  The
    scope itself catches it; other code lets it pass.
    """

    def __str__(self) -> str:
        return super().__str__() or "the cancel scope around this operation was cancelled"


class LoomletError(Exception):
    """The common parent; never raised itself."""


class ChannelClosed(LoomletError, ValueError):
    """A send on a closed channel, or a receive from one that is closed and empty.

    `channel` is that channel.
    """

    def __init__(self, message: str, channel: object = None) -> None:
        super().__init__(message)
        self.channel = channel


class DescriptorClosed(LoomletError, OSError):
    """A stream or listener that is closed, before an operation or while it waits.

    Its `errno` is EBADF, so code that knows sockets treats it as it should.
    """


class EndOfStream(LoomletError, EOFError):
    """The peer ended its side before all that was asked for had come.

    `partial` is what came.
    """

    def __init__(self, message: str, partial: bytes = b"") -> None:
        super().__init__(message)
        self.partial = partial


class Deadlock(LoomletError, RuntimeError):
    """Every tasklet waits for something that cannot happen any more.

    Raised in the main tasklet; the text lists each blocked tasklet, what it
    waits for, and where.
    """


class TaskletError(LoomletError, RuntimeError):
    """An operation that the state of a tasklet forbids."""


class DeadTasklet(TaskletError):
    """The tasklet has ended."""


class WrongThread(TaskletError):
    """The tasklet belongs to another OS thread."""


class SwitchTrapped(TaskletError):
    """A blocking operation inside a callback of the scheduler."""


class ScopeError(LoomletError, RuntimeError):
    """A cancel scope, timeout or group used twice, left out of order, or used when closed."""


class FreezeError(LoomletError, TypeError):
    """Something that cannot be saved: a place where a tasklet waits, or a value that it holds.

    The text names the function and line, the C callable in between, or the variable and its type.
    """


class ThawError(LoomletError, ValueError):
    """Bytes that cannot be restored: not ours, damaged, of another Python, or wrongly signed."""


class CodeChanged(ThawError):
    """A function of the frozen tasklet is not the same any more.

    `module` and `qualname` name it.
    """

    def __init__(self, message: str, module: str = "", qualname: str = "") -> None:
        super().__init__(message)
        self.module, self.qualname = module, qualname


class FreezeWarning(RuntimeWarning):
    """Something was left out of what was frozen: a context variable that has no name."""


class StallWarning(RuntimeWarning):
    """A tasklet held the core in one long call of C code.  See loomlet.on_stall."""


def _closed(about: object) -> BaseException:
    return ChannelClosed(
        f"expected an open channel, found {about!r}; nothing more can be sent or received, "
        "use `for` or catch ChannelClosed",
        about,
    )


def _descriptor_closed(about: object) -> BaseException:
    return DescriptorClosed(
        errno.EBADF,
        f"expected an open descriptor, found {about!r}; it was closed here, or by another tasklet "
        "while this one waited",
    )


def end_of_stream(stream: object, wanted: int, partial: bytes) -> EndOfStream:
    """What is raised when `wanted` bytes were to come from `stream`, and only `partial` came."""
    return EndOfStream(
        f"expected {wanted} bytes from {stream!r}, found {len(partial)} before its peer ended; "
        "they are the exception's `partial`",
        partial,
    )


def _ended(about: Any) -> BaseException:
    return end_of_stream(*about)


def _state(kind: type[TaskletError], expected: str, hint: str) -> _Maker:
    def build(about: object) -> BaseException:
        return kind(f"expected {expected}, found {about!r}; {hint}")

    return build


def _scope(expected: str, hint: str) -> _Maker:
    return lambda about: ScopeError(f"expected {expected}, found {about!r}; {hint}")


def _deadlock(about: object) -> BaseException:
    lines = [describe(t) for t in _core.tasklets() if t.state == "blocked"]
    text = "every tasklet waits for something that cannot happen any more:"
    return Deadlock("\n  ".join([text, *lines]))


# Why a tasklet cannot be frozen: enum s_obstacle of snapshot.h.
_NO_IMAGE_TEXTS = {
    1: "it is the one that runs; let another tasklet freeze it",
    2: "it has ended",
    3: "it is the main tasklet, which keeps the thread's own C stack",
    4: "it belongs to another thread; freeze it there",
}
_PREEMPTED, _TRACED = 5, 7


def _no_image(about: Any) -> BaseException:
    why, code, line, callee, opcode, tasklet = about
    if why in _NO_IMAGE_TEXTS:
        text = _NO_IMAGE_TEXTS[why]
    elif not _core.SOFT_SUPPORTED:
        text = "freezing needs 3.12"
    elif code is None:
        text = "C code on its stack holds it"
        text += "" if callee is None else f": it began in {callee!r}"
    elif why == _TRACED:
        tool = _tools() or "a tracer or debugger"
        text = f"{tool} traces {code.co_qualname} ({code.co_filename}:{line}); stop it first"
    elif why == _PREEMPTED:
        text = f"preempted at {code.co_filename}:{line}; let it reach a blocking call"
    else:
        between = repr(callee) if callee is not None else f"instruction {_opname(opcode)}"
        text = f"{code.co_qualname} ({code.co_filename}:{line}) waits for C: {between}"
        tools = _tools()
        text += f"; {tools} is on, which sends more calls through C" if tools else ""
    return FreezeError(f"cannot freeze {tasklet.name}: {text}")


def _tools() -> str:
    """Who has put instructions of their own into the code."""
    monitoring = getattr(sys, "monitoring", None)
    tools = map(monitoring.get_tool, range(6)) if monitoring else ()
    found = [repr(tool) for tool in tools if tool is not None]
    for function in (sys.gettrace(), sys.getprofile()):
        if function is not None:
            named = function if hasattr(function, "__qualname__") else type(function)
            found.append(f"{named.__module__}.{named.__qualname__}")
    return ", ".join(found)


def _opname(opcode: int) -> str:
    import opcode as opcodes

    return opcodes.opname[opcode] if opcode >= 0 else "unknown"


if TYPE_CHECKING:
    from collections.abc import Callable

    _Maker = Callable[[object], BaseException]

# By the names of sched/error_codes.h.
_makers: dict[str, _Maker] = {
    "KILLED": lambda about: TaskletExit(),
    "DEAD": _state(DeadTasklet, "a tasklet that can run", "it has ended; spawn a new one"),
    "THREAD": _state(
        WrongThread,
        "a tasklet of this thread",
        "use insert(), run(), throw() or a channel, which work across threads",
    ),
    "TRAPPED": _state(
        SwitchTrapped,
        "a place where tasklets may switch",
        "a callback of the scheduler must not block; spawn a tasklet that does",
    ),
    "BLOCKED": _state(
        TaskletError,
        "a tasklet that does not wait",
        "end its wait with throw() or kill(), or give it what it waits for",
    ),
    "CURRENT": _state(
        TaskletError, "another tasklet than the running one", "a tasklet cannot do this to itself"
    ),
    "CANCELLED": lambda about: Cancelled(),
    "CLOSED": _closed,
    "TIMEOUT": lambda about: TimeoutError("the time for this operation is over"),
    "MAIN": _state(TaskletError, "a spawned tasklet", "the main tasklet cannot be used so"),
    "NESTED": _state(
        TaskletError,
        "a thread that is not inside loomlet.run()",
        "run() cannot be nested; spawn() what should run beside the others",
    ),
    "DEADLOCK": _deadlock,
    "STUCK": _state(
        TaskletError,
        "a tasklet that is suspended in Python code only",
        "a C function on its stack holds it to this thread",
    ),
    "FREE": lambda about: RuntimeError(f"expected a held lock, found {about!r}; release it once"),
    "SCOPE_USED": _scope("a scope that was never entered", "make a new one for each `with`"),
    "SCOPE_ORDER": _scope(
        "the innermost scope of the running tasklet",
        "leave scopes in reverse order, in the tasklet that entered them; "
        "do not `yield` inside one",
    ),
    "SCOPE_LATE": lambda about: TimeoutError("the time for this block is over"),
    "GROUP_CLOSED": _scope(
        "an open group",
        "spawn inside its `with` block, before it is cancelled or a child has failed",
    ),
    "SNAPSHOT": lambda about: ThawError(f"the frozen state does not fit: {about}"),
    "NOT_FREEZABLE": _no_image,
    "DESCRIPTOR": _descriptor_closed,
    "ENDED": _ended,
    "NO_THREAD": lambda about: RuntimeError(
        "expected a thread for run_blocking(), the system gives no more; let fewer functions run "
        "at once: loomlet.blocking.configure(max_threads=...)"
    ),
    "EXITING": lambda about: RuntimeError(
        "expected a running interpreter, found one that ends; run_blocking() starts no function "
        "any more"
    ),
    "FORKED": lambda about: RuntimeError(
        "run_blocking() waited at os.fork(): its function runs in the parent only; call it again "
        "in the child"
    ),
}


_makers_by_code = {_core.ERROR_CODES[name]: maker for name, maker in _makers.items()}
_SYSTEM = _core.ERROR_CODES["SYSTEM"]


def make(code: int, about: object) -> BaseException:
    """A new exception for a code of the core; `about` is the object it concerns."""
    if code < _SYSTEM:
        return OSError(_SYSTEM - code, os.strerror(_SYSTEM - code))
    return _makers_by_code[code](about)


def describe(tasklet: _core.Tasklet) -> str:
    """One line: the tasklet's name, what it does or waits for, and where."""
    what = tasklet.waiting_in or tasklet.state
    target = tasklet.waiting_for
    on = "" if target is None else f" {_short(target)}"
    where = tasklet._where()
    place = f" at {where[0].co_filename}:{where[1]} in {where[0].co_qualname}" if where else ""
    return f"{tasklet.name}: {what}{on}{place}"


def _short(target: object) -> str:
    if isinstance(target, float):
        return f"until {target:.3f}"
    if isinstance(target, tuple):
        return ", ".join(repr(part) for part in target)
    return repr(target)
