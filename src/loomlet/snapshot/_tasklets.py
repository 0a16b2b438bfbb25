"""Snapshots of tasklets, and tasklets from snapshots.

The core reads a suspended tasklet into plain values (`_tasklet_snapshot`) and builds a tasklet from
them (`_tasklet_fill`).  This module makes these snapshots compact (_compact.py, _frames.py).
Tasklets are created empty and filled in a second step, so that a tasklet may refer to itself.  They
are filled last of all, when all of the bytes have been read: a tasklet that waits again may be
woken at once, and must be complete by then.  Tasklets that waited for one channel are filled in the
order in which they waited.
"""

from __future__ import annotations

from contextvars import Context, ContextVar
from types import FunctionType
from typing import Any

from loomlet import _core
from loomlet.errors import FreezeError, ThawError
from loomlet.snapshot import _importable
from loomlet.snapshot._builders import named_in_bytes
from loomlet.snapshot._compact import cut, grown, own_attributes, set_attributes
from loomlet.snapshot._frames import pack_frame, unpack_frame
from loomlet.snapshot._functions import shared
from loomlet.snapshot._linked import check_wait, scopes_of, tie
from loomlet.snapshot._progress import CURRENT, Loading, Saving

__all__ = [
    "fill_tasklet",
    "finish",
    "own_name",
    "pack_context",
    "pack_wait",
    "reduce_ended",
    "reduce_tasklet",
    "set_unbound",
    "snapshot_of",
    "unpack_context",
    "unpack_wait",
]

KINDS = ("receive", "iterate", "send", "select", "sleep", "join", "group", "acquire", "wait")
"""The operations in which a tasklet can wait; their index in this tuple stands in the bytes."""
STATE = 12
"""frames wait variables value error exception name func args kwnames attributes scopes"""
VALUE, ATTRIBUTES = 3, 10


def snapshot_of(saving: Saving, tasklet: _core.Tasklet) -> tuple[Any, ...]:
    """The core's snapshot, taken once for each freeze; FreezeError with the reason."""
    known = saving.snapshots.get(id(tasklet))
    if known is not None:
        found: tuple[Any, ...] = known[1]
        return found
    snapshot = _core._tasklet_snapshot(tasklet)
    saving.snapshots[id(tasklet)] = (tasklet, snapshot)
    return snapshot


def reduce_tasklet(saving: Saving, tasklet: _core.Tasklet) -> Any:
    """Empty, then its snapshot."""
    if saving.shared is not None and id(tasklet) not in saving.snapshots:
        return shared(saving, tasklet)
    new = (type(tasklet),)
    if tasklet.state == "done":
        return _reduce_unbound(tasklet) if hasattr(tasklet, "tempval") else reduce_ended(tasklet)
    snapshot = snapshot_of(saving, tasklet)
    func, given, kwnames, frames, exception, context, wait, value, error = snapshot
    state = cut((
        None if frames is None else tuple([pack_frame(saving, frame) for frame in frames]),
        None if wait is None else pack_wait(saving, tasklet, wait),
        None if context is None else pack_context(saving, context),
        value,
        error,
        exception,
        own_name(tasklet),
        None if frames is not None and frames[0][1] is func else func,
        given,
        kwnames,
        None if type(tasklet) is _core.Tasklet else own_attributes(tasklet),
        scopes_of(saving, tasklet),
    ))  # fmt: skip
    return _core._tasklet_empty, new, state, None, None, fill_tasklet


def own_name(tasklet: _core.Tasklet) -> str | None:
    """The name that the program has set, or None."""
    if isinstance(tasklet, _core.StacklessTasklet):
        return None
    name = tasklet.name
    return None if name.endswith(f"-{tasklet.id}") else name


def reduce_ended(tasklet: _core.Tasklet) -> Any:
    """An ended tasklet without a result; FreezeError for others, whose result would be lost."""
    try:
        result = tasklet.result()
    except BaseException as error:
        raise FreezeError(f"tasklet {tasklet.name} has ended with {error!r}") from error
    if result is not None:
        raise FreezeError(f"tasklet {tasklet.name} has ended; its result would be lost")
    return _core._tasklet_empty, (type(tasklet),)


def _reduce_unbound(tasklet: Any) -> Any:
    """A dead Stackless tasklet, with the function that it is bound to, which is its tempval."""
    parts = [None] * STATE
    parts[VALUE], parts[ATTRIBUTES] = tasklet.tempval, own_attributes(tasklet)
    made = (_core._tasklet_empty, (type(tasklet),))
    state = cut(tuple(parts))
    return (*made, state, None, None, fill_tasklet) if state else made


def set_unbound(tasklet: Any, tempval: Any) -> None:
    """Restores the tempval of such a tasklet."""
    if callable(tempval):
        tasklet.bind(tempval)
    else:
        tasklet.tempval = tempval


@named_in_bytes
def fill_tasklet(tasklet: _core.Tasklet, state: tuple[Any, ...]) -> None:
    """The second step, postponed until all bytes have been read."""
    loading = CURRENT.get()
    if loading is None:
        raise ThawError("a frozen tasklet can be loaded by thaw() only")
    loading.pending.append((tasklet, state))


def _fill(loading: Loading, tasklet: _core.Tasklet, state: Any, block: bool) -> Any:
    """Makes it paused or, with `block`, waiting; returns its wait, its value and its scopes."""
    if type(state) is tuple and len(state) == 2:
        (frames, wait), rest = state, None
    else:
        frames, wait, *rest = grown(state, STATE)
    if frames is not None:
        frames = tuple([unpack_frame(loading, frame) for frame in frames])
    if wait is not None:
        wait = unpack_wait(wait)
    if rest is not None:
        return _fill_all(tasklet, frames, wait, rest, block)
    func = frames[0][1] if frames else None
    snapshot = (func, None, None, frames, None, Context(), wait, None, None)
    _core._tasklet_fill(tasklet, snapshot, block)
    return wait, None, ()


def _quick(tasklet: _core.Tasklet, frame: Any, wait: Any) -> bool:
    """The most frequent case, one plain frame that waits; False: it is another case."""
    if type(frame) is not tuple or len(frame) < 4 or type(frame[0]) is not FunctionType:
        return False
    if type(wait) is not tuple or not wait or wait[0] not in _NAMES:
        return False
    function = frame[0]
    plain = (None, function, function.__code__, None, frame[1], frame[2], frame[3], frame[4:])
    waits = (_NAMES[wait[0]], *wait[1:])
    snapshot = (function, None, None, (plain,), None, Context(), waits, None, None)
    _core._tasklet_fill(tasklet, snapshot, True)
    return True


def _fill_all(tasklet: _core.Tasklet, frames: Any, wait: Any, rest: list[Any], block: bool) -> Any:
    variables, value, error, exception, name, func, args, kwnames, own, scopes = rest
    if frames is not None:
        func = func or (frames[0][1] if frames else None)
    if frames is None and args is None:
        set_unbound(tasklet, value)
    else:
        context = unpack_context(variables)
        snapshot = (func, args, kwnames, frames, exception, context, wait, value, error)
        _core._tasklet_fill(tasklet, snapshot, block and not scopes)
    if name is not None:
        tasklet.name = name
    if own is not None:
        set_attributes(tasklet, own)
    return wait, value, scopes or ()


def finish(loading: Loading) -> None:
    """Fills the tasklets, restores the links between them, and lets them wait again.

    Tasklets that waited for one channel are queued in their old order.
    """
    if len(loading.pending) == 1:
        tasklet, state = loading.pending[0]
        if type(state) is tuple and len(state) == 2 and loading.changed is None:
            frames, wait = state
            if type(frames) is tuple and len(frames) == 1 and _quick(tasklet, frames[0], wait):
                return
        wait, value, scopes = _fill(loading, tasklet, state, True)
        if scopes:
            tie(loading, {id(tasklet): (tasklet, scopes)})
            _wait(tasklet, wait, value)
        return
    if loading.waiters:
        order = {id(tasklet): index for index, tasklet in enumerate(loading.waiters)}
        loading.pending.sort(key=lambda pair: order.get(id(pair[0]), len(order)))
    filled = [(task, *_fill(loading, task, state, False)) for task, state in loading.pending]
    tie(loading, {id(task): (task, scopes) for task, _, _, scopes in filled})
    for task, wait, value, _ in filled:
        _wait(task, wait, value)


def _wait(tasklet: _core.Tasklet, wait: Any, value: Any) -> None:
    if wait is not None:
        _core._tasklet_wait(tasklet, wait, value)


def pack_wait(saving: Saving, tasklet: _core.Tasklet, wait: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operation as a number; FreezeError for waits that make sense in this process only."""
    check_wait(saving, tasklet, wait)
    return cut((KINDS.index(wait[0]), *wait[1:]))


_NAMES = dict(enumerate(KINDS))


def unpack_wait(packed: object) -> tuple[Any, ...]:
    """The wait as the core takes it."""
    if type(packed) is not tuple or not packed or packed[0] not in _NAMES:
        raise ThawError("expected the wait of a tasklet")
    return (_NAMES[packed[0]], *packed[1:])


def pack_context(saving: Saving, context: Context) -> tuple[Any, ...] | None:
    """(module, name, value) of each variable that a module holds; the others are remembered."""
    found: list[Any] = []
    for variable, value in context.items():
        if variable.name == DECIMAL and _is_of_decimal(value):
            name = None if _is_default(value) else ("decimal", "setcontext")
        elif (name := _importable.context_variable(variable)) is None:
            saving.dropped.append(variable.name)
        if name is not None:
            found += (*name, value)
    return tuple(found) or None


DECIMAL = "decimal_context"
"""A variable of the standard library that no module holds, but that a function sets."""


def _is_of_decimal(value: Any) -> bool:
    from decimal import Context

    return isinstance(value, Context)


def _is_default(value: Any) -> bool:
    from decimal import DefaultContext

    kept = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp", "traps")
    return all(getattr(value, part) == getattr(DefaultContext, part) for part in kept)


@named_in_bytes
def unpack_context(packed: tuple[Any, ...] | None) -> Context:
    """A new context with those variables."""
    context = Context()
    for start in range(0, len(packed or ()), 3):
        module, name, value = packed[start : start + 3]  # type: ignore[index]
        found: Any = _importable.importable(module, name)
        context.run(found.set if isinstance(found, ContextVar) else found, value)
    return context
