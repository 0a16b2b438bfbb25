"""Every exception that loomlet raises.

    BaseException
      SystemExit
        TaskletExit          ends one tasklet silently; kill() throws it
      Cancelled              a cancel scope ends the work inside it
    Exception
      LoomletError           the common base class of those below
        ChannelClosed        (ValueError)    send or receive on a closed channel
        DescriptorClosed     (OSError)       a stream or listener that is closed
        EndOfStream          (EOFError)      the peer ended before all requested data arrived
        Deadlock             (RuntimeError)  every tasklet waits for ever
        TaskletError         (RuntimeError)  an operation that the tasklet's state forbids
          DeadTasklet          the tasklet has ended
          TaskletKilled        the tasklet that was waited for was killed or cancelled
          WrongThread          the tasklet belongs to another thread
          SwitchTrapped        the tasklet must not block here
        ScopeError           (RuntimeError)  a cancel scope or a group used out of order
        FreezeError          (TypeError)     something that cannot be saved
        ThawError            (ValueError)    bytes that cannot be restored here
          CodeChanged          a function is not the one that was frozen

    RuntimeWarning
      FreezeWarning          something was left out of what was frozen
      StallWarning           a tasklet blocked its thread in one long call of C code

TimeoutError and ExceptionGroup are the builtins; an error of the operating system is a plain
OSError, as everywhere in Python.  Each text says what is wrong and what to do; for a wrong
argument, what was expected and what was found.  The native core knows only codes
(src/core/sched/error_codes.h); `make` turns a code into an exception.  Any thread.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING, Any

from loomlet import _core, _waits

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
    "TaskletKilled",
    "ThawError",
    "WrongThread",
]


class TaskletExit(SystemExit):
    """Ends a tasklet silently.  Raised by kill(); clean up in `finally` and let it propagate.

    A SystemExit as in Stackless Python: `except Exception` does not catch it, and in the main
    tasklet it ends the program silently too.  It ends no other tasklet: join() and result() raise
    TaskletKilled.  `reason` says who threw it and where; None: the tasklet raised it itself.
    """

    _killer: Any = None  # set by the core: a text, or (name, code, where in it)
    _from_outside = False  # of the victim's group

    @property
    def reason(self) -> str | None:
        """How the tasklet was killed: by which other one, at which line; else None."""
        return _core._text_of_killer(self._killer)

    def __reduce__(self) -> tuple[Any, ...]:
        found: tuple[Any, ...] = super().__reduce__()  # type: ignore[assignment]
        if len(found) < 3:
            return found
        return (*found[:2], {**found[2], "_killer": self.reason})


class Cancelled(BaseException):
    """The cancel scope around this code was cancelled.

    Raised by every blocking operation inside the scope until the scope is left.  The scope itself
    catches it; other code lets it propagate.  The text says which scope it is; a note (`__notes__`)
    says where clean-up was skipped because it would have had to wait.
    """

    def __str__(self) -> str:
        return super().__str__() or "the cancel scope around this operation was cancelled"


class LoomletError(Exception):
    """The common base class; never raised itself."""


class ChannelClosed(LoomletError, ValueError):
    """A send on a closed channel, or a receive from a closed and empty one.

    `channel` is that channel.
    """

    def __init__(self, message: str, channel: Any = None) -> None:
        super().__init__(message)
        self.channel = channel


class DescriptorClosed(LoomletError, OSError):
    """A stream or listener was closed, before the operation or while it waited.

    Its `errno` is EBADF, so code written for sockets handles it.
    """


class EndOfStream(LoomletError, EOFError):
    """The peer ended its side before all requested data arrived.

    `partial` is what arrived.
    """

    def __init__(self, message: str, partial: bytes = b"") -> None:
        super().__init__(message)
        self.partial = partial


class Deadlock(LoomletError, RuntimeError):
    """Every tasklet waits for something that cannot happen any more.

    Raised in the main tasklet; the text lists each blocked tasklet, what it waits for, who holds
    that, and where, then the rings of tasklets that wait for each other.  Equal waits are counted.
    It leaves a TaskGroup as it is, in no ExceptionGroup.
    """


class TaskletError(LoomletError, RuntimeError):
    """An operation that the state of the tasklet forbids."""


class DeadTasklet(TaskletError):
    """The tasklet has ended."""


class TaskletKilled(TaskletError):
    """The tasklet that join() or result() waited for was killed or cancelled: it has no result.

    `tasklet` is its name; `reason` says how it ended and, if kill() was called, by which tasklet
    and line.  Also raised by a TaskGroup one of whose children was killed from outside of it.
    Caused by the exception that ended the tasklet.
    """

    # No __init__: the core makes it where no Python code may run.

    @property
    def tasklet(self) -> str | None:
        """The name of the tasklet that was killed."""
        return self.args[0] if len(self.args) == 2 else None

    @property
    def reason(self) -> str | None:
        """How it ended; None: it raised TaskletExit itself."""
        return self.args[1] if len(self.args) == 2 else None

    def __str__(self) -> str:
        if len(self.args) != 2:
            return super().__str__()
        reason = self.reason or "ended by a TaskletExit that it raised itself"
        return f"tasklet {self.tasklet} was {reason}; it has no result"


def killed(name: str, exit: BaseException) -> TaskletKilled:
    """What a tasklet that `exit` has ended is for others."""
    error = TaskletKilled(name, getattr(exit, "reason", None))
    error.__cause__ = exit
    return error


class WrongThread(TaskletError):
    """The tasklet belongs to another OS thread."""


class SwitchTrapped(TaskletError):
    """A blocking operation inside a scheduler callback."""


class ScopeError(LoomletError, RuntimeError):
    """A cancel scope, timeout or group used twice, left out of order, or used when closed."""


class FreezeError(LoomletError, TypeError):
    """A tasklet cannot be saved, because of where it waits or of a value that it holds.

    The text names the function and line, the C callable in between, or the variable and its type.
    """


class ThawError(LoomletError, ValueError):
    """Bytes that cannot be restored: damaged, from another Python, wrongly signed, or not ours."""


class CodeChanged(ThawError):
    """A function of the frozen tasklet has changed since.

    `module` and `qualname` name it.
    """

    def __init__(self, message: str, module: str = "", qualname: str = "") -> None:
        super().__init__(message)
        self.module, self.qualname = module, qualname


class FreezeWarning(RuntimeWarning):
    """freeze() left something out: a context variable that no module holds."""


class StallWarning(RuntimeWarning):
    """A tasklet blocked its thread in one long call of C code.  See loomlet.on_stall."""


def _closed(about: object) -> BaseException:
    """`about` is the channel, or the error of another tasklet for the same close()."""
    if isinstance(about, ChannelClosed):
        return ChannelClosed(str(about), about.channel)
    text = f"{about!r} is closed; receive with `for`, which ends then, or catch ChannelClosed"
    return ChannelClosed(text, about)


def _descriptor_closed(about: object) -> BaseException:
    return DescriptorClosed(
        errno.EBADF,
        f"{about!r} was closed, before this operation or by another tasklet while it waited",
    )


def end_of_stream(stream: object, wanted: int, partial: bytes) -> EndOfStream:
    """The error for `wanted` bytes from `stream` of which only `partial` arrived."""
    return EndOfStream(
        f"the peer of {stream!r} ended after {len(partial)} of {wanted} bytes; "
        "the exception's `partial` holds them",
        partial,
    )


def _ended(about: Any) -> BaseException:
    return end_of_stream(*about)


def _late(scope: Any) -> BaseException:
    opened = scope._opened
    return TimeoutError("the block timed out" + (f": {opened}" if opened else ""))


def _state(kind: type[LoomletError], problem: str) -> _Maker:
    """`problem` is a predicate about the object, then what to do."""
    return lambda about: kind(f"{about!r} {problem}")


def _deadlock(about: object) -> BaseException:
    blocked = [tasklet for tasklet in _core.tasklets() if tasklet.state == "blocked"]
    text = "every tasklet waits for something that cannot happen any more:"
    return Deadlock("\n  ".join([text, *_waits.describe_all(blocked)]))


# Why a tasklet cannot be frozen: enum s_obstacle of snapshot.h.
_OBSTACLES = {
    1: "it is running; let another tasklet freeze it",
    2: "it has ended",
    3: "it is the main tasklet, which keeps the thread's own C stack",
    4: "it belongs to another thread; freeze it there",
}
_PREEMPTED, _TRACED = 5, 7


def _not_freezable(about: Any) -> BaseException:
    why, code, line, callee, opcode, tasklet = about
    if why in _OBSTACLES:
        text = _OBSTACLES[why]
    elif not _core.SOFT_SUPPORTED:
        text = "freezing needs CPython 3.12 or newer"
    elif code is None:
        text = "C code is on its stack"
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
        text += f"; {tools} is active, which routes more calls through C" if tools else ""
    return FreezeError(f"cannot freeze {tasklet.name}: {text}")


def _tools() -> str:
    """The tools that have instrumented the code."""
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


def _greenlets(about: Any) -> BaseException:
    tasklet, other = about
    return TaskletError(
        f"{tasklet!r} cannot use greenlets of tasklet {other}: the extension module greenlet works "
        'in one tasklet of a thread; call loomlet.compat.install("greenlet") before anything '
        "imports greenlet, then it works in all"
    )


class QueueShutDown(Exception):
    """queue.ShutDown, where the standard library has none."""


def _of_queue(name: str, text: str) -> BaseException:
    import queue

    made: BaseException = getattr(queue, name, QueueShutDown)(text)
    return made


# By the names of sched/error_codes.h.
_makers: dict[str, _Maker] = {
    "KILLED": lambda about: TaskletExit(),
    "DEAD": _state(DeadTasklet, "has ended and cannot run again; spawn a new tasklet"),
    "THREAD": _state(
        WrongThread,
        "belongs to another thread; use insert(), run(), throw() or a channel, which work across "
        "threads",
    ),
    "GREENLETS": _greenlets,
    "AWAY": _state(
        TaskletError,
        "cannot be pinned here: C code that it is inside of runs in another thread; enter pinned() "
        "around the call of that code",
    ),
    "TOO_DEEP": _state(
        TaskletError,
        "is inside pinned() 255 times already; leave a block before it enters another one",
    ),
    "NOT_PINNED": _state(
        TaskletError, "is not inside pinned(); leave the block in the tasklet that entered it"
    ),
    "TRAPPED": _state(
        SwitchTrapped,
        "must not block inside a scheduler callback; spawn a tasklet that does",
    ),
    "BLOCKED": _state(
        TaskletError,
        "is blocked; end its wait with throw() or kill(), or give it what it waits for",
    ),
    "CURRENT": _state(
        TaskletError, "is the running tasklet, which cannot do this to itself; use another tasklet"
    ),
    "CANCELLED": lambda about: Cancelled(),
    "CLOSED": _closed,
    "TIMEOUT": lambda about: TimeoutError("the operation timed out"),
    "MAIN": _state(TaskletError, "is the main tasklet; this operation needs a spawned one"),
    "NESTED": _state(
        TaskletError,
        "is already inside loomlet.run(), which cannot be nested; spawn() what should run beside "
        "the others, and start a program that calls run() itself with plain `python`",
    ),
    "DEADLOCK": _deadlock,
    "STUCK": _state(
        TaskletError,
        "has a C function on its stack and cannot leave its thread; move it while it is suspended "
        "in Python code only",
    ),
    "KEPT": _state(
        TaskletError,
        "has a C function on its stack, whose state cannot be dropped; end it with kill()",
    ),
    "FOREIGN": lambda about: RuntimeError(
        f"cannot release {about!r}: another tasklet holds it; release it where it was taken"
    ),
    "NO_ITEM": lambda about: _of_queue("Empty", f"{about!r} has no item"),
    "NO_ROOM": lambda about: _of_queue("Full", f"{about!r} has no room for another item"),
    "SHUT": lambda about: _of_queue("ShutDown", f"{about!r} was shut down"),
    "NO_TASK": lambda about: ValueError(
        f"task_done() of {about!r} was called more often than items were put"
    ),
    "FREE": lambda about: RuntimeError(f"cannot release {about!r}: it is not held"),
    "NOT_HELD": lambda about: RuntimeError(
        f"cannot use {about!r}: the tasklet does not hold its lock; call it in `with condition:`"
    ),
    "FULL": lambda about: ValueError(
        f"cannot release {about!r}: it would have more permits than its max_value"
    ),
    "SCOPE_USED": _state(ScopeError, "was entered before; make a new one for each `with`"),
    "SCOPE_ORDER": _state(
        ScopeError,
        "is not the innermost scope of the running tasklet; leave scopes in reverse order, in the "
        "tasklet that entered them, and do not `yield` inside one",
    ),
    "SCOPE_LATE": _late,
    "GROUP_CLOSED": _state(
        ScopeError,
        "is closed; spawn inside its `with` block, before it is cancelled or a child has failed",
    ),
    "SNAPSHOT": lambda about: ThawError(f"the snapshot does not fit: {about}"),
    "NOT_FREEZABLE": _not_freezable,
    "DESCRIPTOR": _descriptor_closed,
    "ENDED": _ended,
    "NO_THREAD": lambda about: RuntimeError(
        "cannot start run_blocking(): the system gives no more threads; limit how many functions "
        "run at once with loomlet.blocking.configure(max_threads=...)"
    ),
    "EXITING": lambda about: RuntimeError(
        "cannot start run_blocking(): the interpreter is shutting down"
    ),
    "NO_SCHEDULER": lambda about: WrongThread(
        f"{about!r} is not the id of a living thread that has used loomlet; call "
        "loomlet.current() in that thread first, and take threading.get_ident() there"
    ),
    "FORKED": lambda about: RuntimeError(
        "run_blocking() was waiting during os.fork(): its function runs in the parent only; call "
        "it again in the child"
    ),
}


_makers_by_code = {_core.ERROR_CODES[name]: maker for name, maker in _makers.items()}
_SYSTEM = _core.ERROR_CODES["SYSTEM"]


def make(code: int, about: object) -> BaseException:
    """A new exception for a code of the core; `about` is the object that it concerns."""
    if code < _SYSTEM:
        return OSError(_SYSTEM - code, os.strerror(_SYSTEM - code))
    return _makers_by_code[code](about)
