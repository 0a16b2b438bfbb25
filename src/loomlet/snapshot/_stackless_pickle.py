"""Tasklets and channels in ordinary pickles: the tuples of Stackless, in both APIs.

`__reduce__()` gives (type, (), state), and `__setstate__()` takes the state:

* tasklet: (flags, tempval, nesting level, frames outermost first, type, value and traceback of the
  exception that it handles, owner); nine parts if a dict of unusual attributes follows;
* channel: (balance, flags, waiting tasklets); four parts if such a dict follows.

The flags are those of Stackless Python: bits 0 and 1 of a tasklet are 1 for a sender and -1 for a
receiver, and so on (FLAGS); a channel has closing, two bits of preference, schedule_all, and here
closed.  A pending exception is a bomb in tempval, of a native tasklet a Pending.  The owner is
the innermost running generator or coroutine, or None; it saves the exception that it handles.
Loading ignores this part, because each frame knows its own generator.  A frame is a Frame, which
can be pickled, not a frame object; a call that has not started is a Call.

A Stackless tasklet that C code holds is pickled without what it would need to go on: its frames are
Lost, and once loaded it raises RuntimeError where it runs, as in Stackless.

A loaded tasklet is paused.  Tasklets that a channel brings along wait for it again, in their order.
One whose own variables bring the channel along is still empty when that is filled: a native one is
paused; a Stackless one, and those behind it, waits as soon as it is complete.  A wait does not name
its channel, so that it alone brings none along.  It is kept as long as the tasklet's innermost
Frame, to which the unpickler refers until the end.

Main tasklets and plain threads that wait are not saved.  The thread's pickle flags are those of
Stackless and apply to its Stackless tasklets only, except those of asynchronous generators.
"""

from __future__ import annotations

import contextvars
from types import FunctionType, TracebackType
from typing import Any
from weakref import ReferenceType, WeakKeyDictionary, ref

from loomlet import _core
from loomlet.errors import FreezeError, ThawError
from loomlet.snapshot import _copyreg_support, _importable, _linked, _tasklets, _tracebacks
from loomlet.snapshot._builders import named_in_bytes
from loomlet.snapshot._compact import own_attributes, set_attributes
from loomlet.snapshot._copyreg_support import Ordinary, boxed, unboxed
from loomlet.snapshot._frames import pack_frame, unpack_frame
from loomlet.snapshot._progress import Loading

__all__ = ["Call", "Frame", "reduce", "set_state"]

FLAGS = ("atomic", "ignore_nesting", "autoschedule", "block_trap", "is_zombie", "pending_irq")
"""From bit 2 on; read and set by these names, as far as a tasklet has them."""
FIRST_FLAG = 2
BLOCKED = {"send": 0b01, "receive": 0b11, "iterate": 0b11}
TRACING, CONTEXT = 1, 8
"""Pickle flags; two more are those of asynchronous generators."""
TASKLET, CHANNEL = 8, 3


@named_in_bytes
class Frame:
    """A suspended frame; the innermost one also holds the wait, and the value that it sends."""

    __slots__ = ("__weakref__", "snapshot", "value", "wait")

    def __init__(self, snapshot: Any = (), wait: Any = None) -> None:
        self.snapshot = snapshot
        self.wait = wait
        self.value: Any = None

    def __reduce__(self) -> Any:
        return type(self), (), (boxed(self.snapshot), boxed(self.wait))

    def __setstate__(self, state: Any) -> None:
        self.snapshot, self.wait = state


@named_in_bytes
class Call(Frame):
    """Instead of frames: function, arguments and keyword names of a call that has not started."""

    __slots__ = ()


@named_in_bytes
class Lost(Frame):
    """A frame that C code held: why, and what a traceback shows of it."""

    __slots__ = ()


@named_in_bytes
def run_lost(entries: tuple[Any, ...], reason: str) -> None:
    """What a tasklet runs whose frames, outermost first, were lost."""
    error = RuntimeError(f"cannot execute invalid frame with {entries[-1][1]!r}: {reason}")
    raise error.with_traceback(_tracebacks.new_traceback(*entries))


@named_in_bytes
class Pending:
    """Instead of a value: the exception that a native tasklet raises when it resumes."""

    __slots__ = ("error",)

    def __init__(self, error: Any = None) -> None:
        self.error = error

    def __reduce__(self) -> Any:
        return type(self), (boxed(self.error),)


_waiting: WeakKeyDictionary[_core.Tasklet, ReferenceType[Frame]] = WeakKeyDictionary()
"""The innermost frames of tasklets that their channel may bring along."""
_expected: WeakKeyDictionary[_core.Tasklet, tuple[Any, list[ReferenceType[_core.Tasklet]]]] = (
    WeakKeyDictionary()
)
"""Empty tasklets; with the channel that each is to wait for, and those that wait behind it."""


def reduce(value: Any) -> Any:
    """`value.__reduce__()` of all types for which the core calls this package."""
    if isinstance(value, _core.Tasklet):
        return _reduce_tasklet(value)
    return (
        _reduce_channel(value)
        if isinstance(value, _core.Channel)
        else _copyreg_support.reduce(value)
    )


def set_state(value: Any, state: Any) -> None:
    """`value.__setstate__(state)`; ThawError for a state that `__reduce__()` does not make."""
    try:
        if isinstance(value, _core.Tasklet):
            _set_tasklet(value, *_parts(state, TASKLET))
        else:
            _set_channel(value, *_parts(state, CHANNEL))
    except (ThawError, MemoryError):
        raise
    except Exception as error:
        raise ThawError(f"this is not the state of {type(value).__name__}: {error}") from error


def _parts(state: Any, size: int) -> tuple[Any, ...]:
    """The state, with its dict of unusual attributes."""
    if type(state) is tuple and len(state) in (size, size + 1):
        found = state if len(state) > size else (*state, {})
        if type(found[-1]) is dict:
            return found
    raise ThawError(f"expected a state of {size} parts or one more, found {state!r:.100}")


# ---- tasklets


def _reduce_tasklet(tasklet: _core.Tasklet) -> Any:
    if isinstance(tasklet, _core.StacklessTasklet):
        ended = not tasklet.alive
        made: Any = (type(tasklet), ())
    else:
        ended = tasklet.state == "done"
        made = (_core._tasklet_empty, (type(tasklet),))
        if ended:
            return _tasklets.reduce_ended(tasklet)
    return *made, _ended_state(tasklet) if ended else _tasklet_state(tasklet)


def _ended_state(tasklet: Any) -> tuple[Any, ...]:
    exception = (None, None, None, None)
    state: Any = (_flags(tasklet, None), _mail(tasklet.tempval), 0, [], *exception)
    own = _own(tasklet)
    return state if own is None else (*state, {"attributes": own})


def _lost_state(saving: Ordinary, tasklet: Any, reason: str) -> tuple[Any, ...]:
    entries, frame = [], tasklet.frame
    while frame is not None:
        entries.append(_tracebacks.entry_of(frame, frame.f_lasti, frame.f_lineno))
        frame = frame.f_back
    lost = [Lost((reason, *entry)) for entry in reversed(entries)]
    wait = (tasklet.waiting_in, tasklet._channel, None) if tasklet.blocked else None
    lost[-1].wait = _pack_wait(saving, tasklet, wait)
    unusual = _unusual(saving, tasklet, None)
    exception = (None, None, None, None)
    state = (_flags(tasklet, wait), _mail(tasklet.tempval), tasklet.nesting_level, lost, *exception)
    return (*state, unusual) if unusual else state


def _is_held(tasklet: Any) -> bool:
    """Whether a C stack is all that it lacks to be pickled in full."""
    stackless = isinstance(tasklet, _core.StacklessTasklet)
    return bool(stackless and tasklet.nesting_level > 0 and _core.SOFT_SUPPORTED)


def _tasklet_state(tasklet: _core.Tasklet) -> tuple[Any, ...]:
    saving = Ordinary()
    try:
        snapshot = _tasklets.snapshot_of(saving, tasklet)
    except FreezeError as refusal:
        if not _is_held(tasklet):
            raise
        return _lost_state(saving, tasklet, str(refusal))
    func, given, kwnames, frames, handled, context, wait, value, error = snapshot
    packed = _pack_wait(saving, tasklet, wait)
    made: list[Frame] = [Call((func, given, kwnames))]
    if frames is not None:
        made = [Frame(pack_frame(saving, frame)) for frame in frames]
    made[-1].wait = packed
    unusual = _unusual(saving, tasklet, context)
    if error is not None:
        value = _bomb(error) if isinstance(tasklet, _core.StacklessTasklet) else Pending(error)
    if frames is not None and frames[0][1] is not func:
        unusual["func"] = boxed(func)
    trace = None if handled is None else handled.__traceback__
    kind = None if handled is None else type(handled)
    exception = (kind, boxed(handled), boxed(trace), boxed(_innermost_owner(frames)))
    state = (_flags(tasklet, wait), _mail(value), 0, made, *exception)
    return (*state, unusual) if unusual else state


def _innermost_owner(frames: Any) -> Any:
    owners = [frame[0] for frame in frames or () if frame[0] is not None]
    return owners[-1] if owners else None


def _pack_wait(saving: Ordinary, tasklet: Any, wait: Any) -> Any:
    if wait is None:
        return None
    packed = _tasklets.pack_wait(saving, tasklet, wait)
    return (packed[0], None, *packed[2:]) if wait[0] in BLOCKED else packed


def _bomb(error: BaseException) -> _core.StacklessBomb:
    return _core.StacklessBomb(type(error), error, error.__traceback__)


def _mail(value: Any) -> Any:
    """The value itself if any pickler saves it as freeze() does, else boxed."""
    found = _importable.function(value) if type(value) is FunctionType else None
    plain = found is not None and found[:2] == (value.__module__, value.__qualname__)
    return value if plain else boxed(value)


def _flags(tasklet: Any, wait: Any) -> int:
    found = 0 if wait is None else BLOCKED.get(wait[0], 0)
    for bit, name in enumerate(FLAGS, FIRST_FLAG):
        found |= bool(getattr(tasklet, name, False)) << bit
    return found


def _unusual(saving: Ordinary, tasklet: Any, context: Any) -> dict[str, Any]:
    stackless = isinstance(tasklet, _core.StacklessTasklet)
    flags = _core._stackless_pickle_flags()
    found: dict[str, Any] = {
        "name": _tasklets.own_name(tasklet),
        "scopes": _linked.scopes_of(saving, tasklet),
        "attributes": _own(tasklet),
    }
    if context is not None and (flags & CONTEXT or not stackless):
        found["context"] = _tasklets.pack_context(saving, context) or ()
    if stackless and flags & TRACING:
        tracing = (tasklet.trace_function, tasklet.profile_function)
        found["tracing"] = None if tracing == (None, None) else boxed(tracing)
    saving.warn_of_dropped()
    return {name: part for name, part in found.items() if part not in (None, ())}


def _own(value: Any) -> Any:
    """own_attributes(), boxed for any pickler."""
    state = own_attributes(value)
    parts = state if type(state) is tuple else (state,)
    made = [part and {name: boxed(item) for name, item in part.items()} for part in parts]
    return (tuple(made) if type(state) is tuple else made[0]) or None


def _set_own(value: Any, own: Any) -> None:
    parts = own if type(own) is tuple else (own,)
    made = [part and {name: unboxed(item) for name, item in part.items()} for part in parts]
    set_attributes(value, tuple(made) if type(own) is tuple else made[0])


def _set_tasklet(tasklet: Any, *state: Any) -> None:
    flags, tempval, _, frames, _, handled, trace, _, unusual = state
    if type(frames) is not list or not all(isinstance(frame, Frame) for frame in frames):
        raise ThawError("expected a list of frames, as made by __reduce__()")
    tempval, handled, trace = unboxed((tempval, handled, trace))
    if isinstance(trace, TracebackType) and handled.__traceback__ is None:
        handled = handled.with_traceback(trace)
    if frames:
        snapshot = _core_snapshot(tasklet, tempval, frames, handled, unusual)
        _core._tasklet_fill(tasklet, snapshot, False)
        _waiting[tasklet] = ref(frames[-1])
    else:
        _tasklets.set_unbound(tasklet, tempval)
    _set_rest(tasklet, flags, unusual)
    if tasklet in _expected:
        channel, behind = _expected.pop(tasklet)
        later = [reference() for reference in behind]
        _wait_again(channel, [tasklet, *(one for one in later if one is not None)])


def _core_snapshot(
    tasklet: Any, tempval: Any, frames: Any, handled: Any, unusual: Any
) -> tuple[Any, ...]:
    """The snapshot that the core takes."""
    error, value = (tempval.error, None) if isinstance(tempval, Pending) else (None, tempval)
    context = _context(tasklet, unusual)
    if type(frames[0]) is Lost:
        lost = tuple([frame.snapshot[1:] for frame in frames]), frames[-1].snapshot[0]
        frames[-1].value = value
        return run_lost, lost, None, None, None, context, None, value, error
    if type(frames[0]) is Call:
        return *unboxed(frames[0].snapshot), None, None, context, None, value, error
    loading = Loading()
    unpacked = tuple([unpack_frame(loading, unboxed(frame.snapshot)) for frame in frames])
    func = unboxed(unusual.get("func")) or unpacked[0][1]
    packed = frames[-1].wait
    wait = None if packed is None else _tasklets.unpack_wait(packed)
    frames[-1].value = value
    if wait is not None and not isinstance(tasklet, _core.StacklessTasklet):
        value = None
    return func, None, None, unpacked, handled, context, wait, value, error


def _context(tasklet: Any, unusual: dict[str, Any]) -> contextvars.Context:
    if "context" in unusual or not isinstance(tasklet, _core.StacklessTasklet):
        return _tasklets.unpack_context(unusual.get("context"))
    return contextvars.copy_context()


def _set_rest(tasklet: Any, flags: int, unusual: dict[str, Any]) -> None:
    if "attributes" in unusual:
        _set_own(tasklet, unusual["attributes"])
    if "name" in unusual:
        tasklet.name = unusual["name"]
    if "scopes" in unusual:
        _linked.tie(Loading(), {id(tasklet): (tasklet, unusual["scopes"])})
    if isinstance(tasklet, _core.StacklessTasklet):
        given = {name: bool(flags >> bit & 1) for bit, name in enumerate(FLAGS, FIRST_FLAG)}
        tasklet.set_atomic(given["atomic"])
        tasklet.set_ignore_nesting(given["ignore_nesting"])
        tasklet.block_trap = given["block_trap"]
        if "tracing" in unusual:
            tasklet.trace_function, tasklet.profile_function = unboxed(unusual["tracing"])


# ---- channels


def _reduce_channel(channel: _core.Channel) -> Any:
    snapshot = _core._channel_snapshot(channel)
    capacity, name, preference, closed, closing, every, values, senders, receivers = snapshot
    kind = type(channel)
    if name is not None and not closed:
        return kind, (capacity, name)
    flags = closing | (preference & 3) << 1 | every << 3 | closed << 4
    state = (len(senders) - len(receivers), flags, [*senders, *receivers])
    unusual = {"values": boxed(values), "attributes": _own(channel)}
    unusual = {name: part for name, part in unusual.items() if part not in (None, ())}
    return kind, (capacity,) if capacity else (), (*state, unusual) if unusual else state


def _set_channel(channel: Any, balance: int, flags: int, waiting: Any, unusual: Any) -> None:
    if type(waiting) is not list or not all(isinstance(one, _core.Tasklet) for one in waiting):
        raise ThawError("expected a list of tasklets, as __reduce__() gives it")
    preference = (flags >> 1 & 3) - (flags >> 1 & 2) * 2
    values = unboxed(unusual.get("values", ()))
    closing, every, closed = (bool(flags >> bit & 1) for bit in (0, 3, 4))
    _core._channel_fill(channel, preference, closed, closing, every, values)
    if "attributes" in unusual:
        _set_own(channel, unusual["attributes"])
    _wait_again(channel, waiting)


def _is_empty(tasklet: Any) -> bool:
    return isinstance(tasklet, _core.StacklessTasklet) and not tasklet.alive


def _wait_again(channel: Any, waiting: list[Any]) -> None:
    """In this order, up to the first that is empty: the others wait when that is complete."""
    for at, tasklet in enumerate(waiting):
        if _is_empty(tasklet):
            _expected[tasklet] = (channel, [ref(later) for later in waiting[at + 1 :]])
            return
        frame = _waiting.get(tasklet)
        innermost = None if frame is None else frame()
        if innermost is not None and innermost.wait and tasklet.state == "paused":
            del _waiting[tasklet]
            kind, on, *rest = _tasklets.unpack_wait(innermost.wait)
            wait = (kind, channel if on is None else on, *rest)
            _core._tasklet_wait(tasklet, wait, innermost.value)
