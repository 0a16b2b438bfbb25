"""Tasklets, generators and channels as records, and back.

The core reads a suspended tasklet into plain values (`_tasklet_record`) and builds one from them
(`_tasklet_fill`).  Here these records are made short: what is usual is left out, ends that say
nothing are cut.  Objects are made empty first and filled in a second step, so that a tasklet may
hold itself.  Tasklets are filled last of all, when the whole of the bytes has been read: one that
waits again may be served at once, and nobody may see half of it.  Those that waited for one
channel are filled in the order in which they waited.

A generator that runs inside a frozen tasklet has no state of its own: its frame is one of the
tasklet's.  It drags that tasklet along wherever it is met.
"""

from __future__ import annotations

import contextlib
import inspect
from contextvars import Context, ContextVar
from types import AsyncGeneratorType, CodeType, CoroutineType, FunctionType, GeneratorType
from typing import Any

from loomlet import _core
from loomlet.errors import CodeChanged, FreezeError, ThawError
from loomlet.snapshot import names
from loomlet.snapshot.functions import shared
from loomlet.snapshot.partners import check_wait, scopes_of, tie
from loomlet.snapshot.state import CURRENT, Loading, Saving

__all__ = [
    "GENERATORS",
    "ended_generator",
    "fill_channel",
    "fill_generator",
    "fill_tasklet",
    "finish",
    "own_attributes",
    "own_name",
    "pack_frame",
    "pack_wait",
    "record_of",
    "reduce_channel",
    "reduce_ended",
    "reduce_generator",
    "reduce_tasklet",
    "set_attributes",
    "set_unbound",
    "unpack_context",
    "unpack_frame",
    "unpack_wait",
]

KINDS = ("receive", "iterate", "send", "select", "sleep", "join", "group", "acquire")
"""What a tasklet can wait in; the place in this tuple stands in the bytes."""
GENERATORS = (GeneratorType, CoroutineType, AsyncGeneratorType)
ASYNCHRONOUS = 2
FRAME_STATE = 0xFF
"""Where a generator stands; the bits above mark what only async generators know."""
HOOKS_KNOWN = 1 << 8
"""One of these: the thread's hooks for asynchronous generators were called."""
WARM = 1000
"""Calls after which every version has specialised a call."""
STATE = 12
"""frames wait variables value error exception name func args kwnames attributes scopes"""
VALUE, ATTRIBUTES = 3, 10

_NOTHING = (None,) * STATE


def _cut(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without the Nones at the end."""
    for end in range(len(parts), 0, -1):
        if parts[end - 1] is not None:
            return parts[:end]
    return ()


def _grown(parts: object, size: int) -> tuple[Any, ...]:
    """What _cut() has cut is put back."""
    if type(parts) is not tuple or len(parts) > size:
        raise ThawError(f"expected a record of up to {size} parts")
    return parts + _NOTHING[len(parts) : size]


def pack_frame(saving: Saving, frame: tuple[Any, ...]) -> tuple[Any, ...]:
    """(function, ip, offset, mask, *values); before what is unusual a tuple stands for function."""
    owner, function, code, mapping, ip, offset, mask, values = frame
    same = function is not None and function.__code__ is code
    if same and owner is None and mapping is None:
        return (function, ip, offset, mask, *values)
    if not same and function is not None:
        saving.homes.setdefault(id(code), function.__globals__.get("__name__"))
    kept = None if same or function is None else code
    return ((owner, function, kept, mapping), ip, offset, mask, *values)


def unpack_frame(loading: Loading, packed: object) -> tuple[Any, ...]:
    """The record that the core made."""
    if type(packed) is not tuple or len(packed) < 4:
        raise ThawError("expected the record of a frame")
    head = packed[0]
    if type(head) is FunctionType and loading.changed is None:
        return (None, head, head.__code__, None, packed[1], packed[2], packed[3], packed[4:])
    owner, function, code, mapping = head if type(head) is tuple else (None, head, None, None)
    if loading.changed is not None and id(function) in loading.changed:
        raise _other_layout(function, *loading.changed[id(function)][1:])
    if function is None:
        meet_init_frame()
    elif code is None and isinstance(function, FunctionType):
        code = function.__code__
    return (owner, function, code, mapping, *packed[1:4], packed[4:])


class _Made:
    def __init__(self) -> None:
        self.known = _core._shim_learn()


def meet_init_frame() -> None:
    """Lets the core see the frame that the interpreter puts below an `__init__` that is warm."""
    for _ in range(WARM):
        if _Made().known:
            return


def _other_layout(function: Any, module: str, qualname: str) -> CodeChanged:
    return CodeChanged(
        f"{module}.{qualname}: a frozen frame of it cannot go on in {function!r}, "
        "whose code has another layout",
        module,
        qualname,
    )


def record_of(saving: Saving, tasklet: _core.Tasklet) -> tuple[Any, ...]:
    """The core's record, taken once for each freeze; FreezeError with the reason."""
    known = saving.records.get(id(tasklet))
    if known is not None:
        found: tuple[Any, ...] = known[1]
        return found
    record = _core._tasklet_record(tasklet)
    saving.records[id(tasklet)] = (tasklet, record)
    return record


def reduce_tasklet(saving: Saving, tasklet: _core.Tasklet) -> Any:
    """Empty, then its record."""
    if saving.shared is not None and id(tasklet) not in saving.records:
        return shared(saving, tasklet)
    new = (type(tasklet),)
    if tasklet.state == "done":
        return _reduce_unbound(tasklet) if hasattr(tasklet, "tempval") else reduce_ended(tasklet)
    record = record_of(saving, tasklet)
    func, given, kwnames, frames, exception, context, wait, value, error = record
    state = _cut((
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
    """A name that the program has given."""
    if isinstance(tasklet, _core.StacklessTasklet):
        return None
    name = tasklet.name
    return None if name.endswith(f"-{tasklet.id}") else name


def own_attributes(value: Any) -> Any:
    """Those of an instance of a subclass: a dict, or (dict or None, dict of slots); or None."""
    return object.__getstate__(value) or None


def set_attributes(value: Any, own: Any) -> None:
    """The other way round."""
    attributes, slots = own if type(own) is tuple else (own, None)
    if attributes:
        value.__dict__.update(attributes)
    for name, part in (slots or {}).items():
        setattr(value, name, part)


def reduce_ended(tasklet: _core.Tasklet) -> Any:
    """One without a result to be lost; FreezeError for others."""
    try:
        result = tasklet.result()
    except BaseException as error:
        raise FreezeError(f"tasklet {tasklet.name} has ended with {error!r}") from error
    if result is not None:
        raise FreezeError(f"tasklet {tasklet.name} has ended; its result would be lost")
    return _core._tasklet_empty, (type(tasklet),)


def _reduce_unbound(tasklet: Any) -> Any:
    """A dead one of the Stackless face, with what it would call, which is in its mail slot."""
    parts = [None] * STATE
    parts[VALUE], parts[ATTRIBUTES] = tasklet.tempval, own_attributes(tasklet)
    made = (_core._tasklet_empty, (type(tasklet),))
    state = _cut(tuple(parts))
    return (*made, state, None, None, fill_tasklet) if state else made


def set_unbound(tasklet: Any, tempval: Any) -> None:
    """The other way round."""
    if callable(tempval):
        tasklet.bind(tempval)
    else:
        tasklet.tempval = tempval


def fill_tasklet(tasklet: _core.Tasklet, state: tuple[Any, ...]) -> None:
    """The second step: kept until all has been read."""
    loading = CURRENT.get()
    if loading is None:
        raise ThawError("the second half of a frozen tasklet is for thaw()")
    loading.pending.append((tasklet, state))


def _fill(loading: Loading, tasklet: _core.Tasklet, state: Any, block: bool) -> Any:
    """Makes it paused or, with `block`, waiting; what it waits for, its value and its scopes."""
    if type(state) is tuple and len(state) == 2:
        (frames, wait), rest = state, None
    else:
        frames, wait, *rest = _grown(state, STATE)
    if frames is not None:
        frames = tuple([unpack_frame(loading, frame) for frame in frames])
    if wait is not None:
        wait = unpack_wait(wait)
    if rest is not None:
        return _fill_all(tasklet, frames, wait, rest, block)
    func = frames[0][1] if frames else None
    record = (func, None, None, frames, None, Context(), wait, None, None)
    _core._tasklet_fill(tasklet, record, block)
    return wait, None, ()


def _quick(tasklet: _core.Tasklet, frame: Any, wait: Any) -> bool:
    """The most frequent case without a detour: one plain frame that waits; False: it is another."""
    if type(frame) is not tuple or len(frame) < 4 or type(frame[0]) is not FunctionType:
        return False
    if type(wait) is not tuple or not wait or wait[0] not in _NAMES:
        return False
    function = frame[0]
    plain = (None, function, function.__code__, None, frame[1], frame[2], frame[3], frame[4:])
    waits = (_NAMES[wait[0]], *wait[1:])
    record = (function, None, None, (plain,), None, Context(), waits, None, None)
    _core._tasklet_fill(tasklet, record, True)
    return True


def _fill_all(tasklet: _core.Tasklet, frames: Any, wait: Any, rest: list[Any], block: bool) -> Any:
    variables, value, error, exception, name, func, args, kwnames, own, scopes = rest
    if frames is not None:
        func = func or (frames[0][1] if frames else None)
    if frames is None and args is None:
        set_unbound(tasklet, value)
    else:
        context = unpack_context(variables)
        record = (func, args, kwnames, frames, exception, context, wait, value, error)
        _core._tasklet_fill(tasklet, record, block and not scopes)
    if name is not None:
        tasklet.name = name
    if own is not None:
        set_attributes(tasklet, own)
    return wait, value, scopes or ()


def finish(loading: Loading) -> None:
    """Fills the tasklets, ties them to each other, and lets them wait again.

    Those that waited for a channel do so in the order of its queue.
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
        order = {id(tasklet): place for place, tasklet in enumerate(loading.waiters)}
        loading.pending.sort(key=lambda pair: order.get(id(pair[0]), len(order)))
    filled = [(task, *_fill(loading, task, state, False)) for task, state in loading.pending]
    tie(loading, {id(task): (task, scopes) for task, _, _, scopes in filled})
    for task, wait, value, _ in filled:
        _wait(task, wait, value)


def _wait(tasklet: _core.Tasklet, wait: Any, value: Any) -> None:
    if wait is not None:
        _core._tasklet_wait(tasklet, wait, value)


def pack_wait(saving: Saving, tasklet: _core.Tasklet, wait: tuple[Any, ...]) -> tuple[Any, ...]:
    """The kind as a number; FreezeError for waits that only make sense in this process."""
    check_wait(saving, tasklet, wait)
    return _cut((KINDS.index(wait[0]), *wait[1:]))


_NAMES = dict(enumerate(KINDS))


def unpack_wait(packed: object) -> tuple[Any, ...]:
    """What the core understands."""
    if type(packed) is not tuple or not packed or packed[0] not in _NAMES:
        raise ThawError("expected what a tasklet waits for")
    return (_NAMES[packed[0]], *packed[1:])


def pack_context(saving: Saving, context: Context) -> tuple[Any, ...] | None:
    """(module, name, value) of each variable that a module holds; the others are noted."""
    found: list[Any] = []
    for variable, value in context.items():
        name = names.context_variable(variable)
        if variable.name == DECIMAL and name is None:
            name = None if _is_default(value) else ("decimal", "setcontext")
        elif name is None:
            saving.dropped.append(variable.name)
        if name is not None:
            found += (*name, value)
    return tuple(found) or None


DECIMAL = "decimal_context"
"""A variable of the standard library that no module holds, but a function sets."""


def _is_default(value: Any) -> bool:
    from decimal import DefaultContext

    kept = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp", "traps")
    return all(getattr(value, part) == getattr(DefaultContext, part) for part in kept)


def unpack_context(packed: tuple[Any, ...] | None) -> Context:
    """A new context with those variables."""
    context = Context()
    for place in range(0, len(packed or ()), 3):
        module, name, value = packed[place : place + 3]  # type: ignore[index]
        found: Any = names.importable(module, name)
        context.run(found.set if isinstance(found, ContextVar) else found, value)
    return context


def _fitting(function: FunctionType | None, code: CodeType) -> FunctionType:
    """A function that makes generators of this code."""
    if function is not None and function.__code__ is code:
        return function
    closure = None if function is None else function.__closure__
    space = {} if function is None else function.__globals__
    return FunctionType(code, space, None, None, closure)


def reduce_generator(saving: Saving, generator: Any) -> Any:
    """Not begun, then its frame; one that runs in a suspended tasklet: with that tasklet."""
    record = _core._generator_record(generator)
    function, code, name, qualname, frame, exception, state = record
    if _kind(generator) != ASYNCHRONOUS:
        state &= FRAME_STATE
    runs = frame is None and _runs(generator)
    if frame is None and not runs:
        return ended_generator, (_kind(generator), name, qualname)
    tasklet = _tasklet_of(saving, generator) if runs else None
    function = _fitting(function, code)
    packed = None if frame is None else pack_frame(saving, frame)[1:]
    own_name = None if name == function.__name__ else name
    own_qualname = None if qualname == function.__qualname__ else qualname
    more = (state, packed, exception, own_name, own_qualname, tasklet)
    if runs and state <= FRAME_STATE and all(part is None for part in more[2:]):
        return _core._generator_empty, (function,)
    return _core._generator_empty, (function,), _cut(more), None, None, fill_generator


def _runs(generator: Any) -> bool:
    kind = _kind(generator)
    return bool(getattr(generator, ("gi_running", "cr_running", "ag_running")[kind])) or (
        kind == ASYNCHRONOUS and generator.ag_frame is not None
    )


def _tasklet_of(saving: Saving, generator: Any) -> _core.Tasklet | None:
    """The tasklet in which it runs; None when that is just being saved."""
    tasklet = _core._generator_tasklet(generator)
    if tasklet is None:
        raise FreezeError(f"{generator!r} runs, but in no tasklet that could be frozen along")
    known = id(tasklet) in saving.records
    record_of(saving, tasklet)
    return None if known else tasklet


def fill_generator(generator: Any, record: tuple[Any, ...]) -> None:
    """The second step of a generator; once, though a circle may ask twice."""
    loading = CURRENT.get() or Loading()
    if not loading.first(generator) or not _is_new(generator):
        return
    state, packed, exception, name, qualname, _ = _grown(record, 6)
    function, code, *usual = _core._generator_record(generator)[:4]
    frame = None if packed is None else unpack_frame(loading, (function, *packed))
    named = (name or usual[0], qualname or usual[1])
    _core._generator_fill(generator, (function, code, *named, frame, exception, state))


def _is_new(generator: Any) -> bool:
    prefix = ("gi", "cr", "ag")[_kind(generator)]
    begun = getattr(generator, f"{prefix}_suspended", False)
    return not begun and getattr(generator, f"{prefix}_frame") is not None


def _template() -> Any:
    yield


async def _coroutine() -> None:
    pass


async def _asynchronous() -> Any:
    yield


def _kind(generator: Any) -> int:
    if inspect.iscoroutine(generator):
        return 1
    return ASYNCHRONOUS if inspect.isasyncgen(generator) else 0


def ended_generator(kind: int, name: str, qualname: str) -> Any:
    """One that has nothing to do any more."""
    made: Any = (_template, _coroutine, _asynchronous)[kind]()
    if kind == ASYNCHRONOUS:
        with contextlib.suppress(StopIteration):
            made.aclose().send(None)
    else:
        made.close()
    made.__name__, made.__qualname__ = name, qualname
    return made


def reduce_channel(saving: Saving, channel: _core.Channel) -> Any:
    """One with a name by it; else a new one with the same settings and buffered values."""
    if saving.shared is not None:
        return shared(saving, channel)
    if type(channel) is _core.Channel and not saving.partners and _is_fresh(channel):
        return _core.Channel, (channel.capacity,) if channel.capacity else ()
    record = _core._channel_record(channel)
    capacity, name, values, senders, receivers = *record[:2], *record[6:]
    kind = type(channel)
    partners = (*senders, *receivers) if saving.partners else ()
    if name is not None and not channel.closed:
        state: tuple[Any, ...] = _cut((None, None, None, partners or None))
        return _with_state(kind, (capacity, name), state)
    own = own_attributes(channel)
    settings = None if record[2:6] == _usual(kind) else record[2:6]
    state = _cut((settings, values or None, own, partners or None))
    return _with_state(kind, (capacity,) if capacity else (), state)


def _is_fresh(channel: _core.Channel) -> bool:
    """Whether it is as Channel(capacity) makes it, but for those who wait."""
    if channel.name is not None or channel.closed or len(channel):
        return False
    return channel.preference == _PREFERENCE


def _with_state(make: Any, args: tuple[Any, ...], state: tuple[Any, ...]) -> Any:
    return (make, args, state, None, None, fill_channel) if state else (make, args)


_PREFERENCE = _core.Channel().preference


def _usual(kind: type[Any]) -> tuple[Any, ...]:
    """The settings of a new channel."""
    return _SETTINGS[issubclass(kind, _core.StacklessChannel)]


_SETTINGS = tuple(
    _core._channel_record(kind())[2:6] for kind in (_core.Channel, _core.StacklessChannel)
)


def fill_channel(channel: Any, state: tuple[Any, ...]) -> None:
    """The second step; remembers the order of those who wait."""
    settings, values, own, partners = _grown(state, 4)
    loading = CURRENT.get()
    if loading is not None and partners is not None:
        loading.waiters += partners
    if settings is not None or values:
        preference, closed, closing, every = settings or _usual(type(channel))
        _core._channel_fill(channel, preference, closed, closing, every, values or ())
    if own:
        set_attributes(channel, own)
