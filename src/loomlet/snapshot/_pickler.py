"""The pickler and unpickler of frozen bytes: protocol 5 with a vocabulary of our own.

The most frequent builders need no name in the bytes.  They are in the memo before anything is
saved, and a prologue puts them there before anything is loaded; each use costs two bytes and no
lookup.  Builders that are used less often have a number, which costs some bytes at its first use
and no time where it is not used.  So the orders of VOCABULARY and RARER are part of the format: an
addition at the end needs a new version of the envelope.  The prologue takes its builders as
protocol 5 takes its buffers, from outside of the bytes; this was the fastest of the ways that were
tried (persistent ids, extension codes, the memo of another unpickler).  The pickler is the C one
with `reducer_override`, which is called for every object except plain builtin ones.

`cloudpickle.Pickler` was rejected as the base: it is several times slower, and it gives each
closure cells of its own.  Its reducers for single types are used, except two that save something
else: of open files the text, of memoryviews the bytes.
"""

from __future__ import annotations

import _pickle
import io
from collections.abc import Callable
from contextvars import Context, ContextVar
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import Any

from cloudpickle import cloudpickle

from loomlet import _core
from loomlet._conditions import Condition
from loomlet.errors import FreezeError
from loomlet.snapshot import (
    _channels,
    _classes,
    _functions,
    _generator_step,
    _generators,
    _importable,
    _iterators,
    _library_objects,
    _linked,
    _queues,
    _tasklets,
    _tracebacks,
)
from loomlet.snapshot._progress import NUMBERED, NUMBERS, Namespace, Saving

__all__ = ["HANDLERS", "dump", "load"]

Handler = Callable[[Saving, Any], Any]

VOCABULARY: tuple[Callable[..., Any], ...] = (
    _functions.function_by_name,
    _core._tasklet_empty,
    _core.Tasklet,
    _tasklets.fill_tasklet,
    _core.Channel,
    _functions.word,
)
RARER: tuple[Any, ...] = (
    iter,
    getattr,
    _functions.same_object,
    _core._generator_empty,
    _channels.fill_channel,
    _generators.fill_generator,
    _functions.new_cell,
    _functions.fill_cell,
    _functions.function_by_value,
    _functions.fill_function,
    _functions.code_by_value,
    _functions.code_by_name,
    _functions.new_namespace,
    _tracebacks.new_exception,
    _tracebacks.fill_exception,
    _tracebacks.new_traceback,
    _linked.fill_scope,
    _classes.fill_class,
)
NUMBERED.extend(RARER)
NUMBERS.update({word: number for number, word in enumerate(RARER)})
PROLOGUE = b"\x80\x05" + b"\x97\x940" * len(VOCABULARY)
"""NEXT_BUFFER MEMOIZE POP for each."""
FRAME = b"\x95"
"""The opcode that announces the length of the next part to readers of files; it is cut off."""
FRAME_SIZE = 9


def _drop_frame(data: bytes) -> bytes:
    return data[2 + FRAME_SIZE :] if data[2:3] == FRAME else data[2:]


def _template() -> Any:
    made = _pickle.Pickler(io.BytesIO(), 5)
    made.memo = {id(word): (index, word) for index, word in enumerate(VOCABULARY)}
    return made


_TEMPLATE = _template()


def _context(saving: Saving, context: Context) -> Any:
    return _tasklets.unpack_context, (_tasklets.pack_context(saving, context),)


def _variable(saving: Saving, variable: ContextVar[Any]) -> Any:
    name = _importable.context_variable(variable)
    if name is None:
        raise FreezeError(f"no module holds the context variable {variable.name!r}")
    return _importable.importable, name


def _bomb(saving: Saving, bomb: _core.StacklessBomb) -> Any:
    return _core.StacklessBomb, (bomb.type, bomb.value, bomb.traceback)


def _from_cloudpickle() -> dict[type, Handler]:
    def adapted(reduce: Callable[[Any], Any]) -> Handler:
        return lambda saving, value: reduce(value)

    left_out = {io.TextIOWrapper, memoryview}
    table = cloudpickle.Pickler._dispatch_table
    return {kind: adapted(reduce) for kind, reduce in table.items() if kind not in left_out}


HANDLERS: dict[type, Handler] = {
    **_from_cloudpickle(),
    **_iterators.HANDLERS,
    **_library_objects.HANDLERS,
    **_generator_step.HANDLERS,
    FunctionType: _functions.reduce_function,
    CellType: _functions.reduce_cell,
    CodeType: _functions.reduce_code,
    BuiltinFunctionType: _functions.reduce_builtin,
    MethodType: _functions.reduce_method,
    ModuleType: _functions.reduce_module,
    Namespace: _functions.reduce_namespace,
    type: _classes.reduce_class,
    **dict.fromkeys(_generators.GENERATORS, _generators.reduce_generator),
    TracebackType: _tracebacks.reduce_traceback,
    FrameType: _tracebacks.reduce_frame,
    Context: _context,
    ContextVar: _variable,
    _core.Tasklet: _tasklets.reduce_tasklet,
    _core.StacklessTasklet: _tasklets.reduce_tasklet,
    _core.Channel: _channels.reduce_channel,
    _core.StacklessChannel: _channels.reduce_channel,
    _core.Lock: _linked.reduce_lock,
    _core.RLock: _linked.reduce_lock,
    _core.Event: _linked.reduce_event,
    _core.Semaphore: _linked.reduce_semaphore,
    Condition: _linked.reduce_condition,
    type(_core.Lock.__exit__): _linked.reduce_with_method,
    _core.CancelScope: _linked.reduce_scope,
    _core.timeout: _linked.reduce_scope,
    _core.StacklessBomb: _bomb,
}
PARTS = (CellType, CodeType, ModuleType, TracebackType, Context, ContextVar)
"""Parts of running code that pickle does not support, besides generators and iterators."""
BASES: tuple[tuple[type, Handler], ...] = (
    (BaseException, _tracebacks.reduce_exception),
    (type, _classes.reduce_class),
    (_core.Tasklet, _tasklets.reduce_tasklet),
    (_core.Channel, _channels.reduce_channel),
    (_core.CancelScope, _linked.reduce_scope),
    (_core.Lock, _linked.reduce_lock),
    (_core.Event, _linked.reduce_event),
    (_core.Semaphore, _linked.reduce_semaphore),
    (Condition, _linked.reduce_condition),
    (_core.Queue, _queues.reduce_queue),
    (ModuleType, _functions.reduce_module),
)


def handler_of(kind: type) -> Handler | None:
    """The reducer of objects of that type; None: pickle saves them."""
    found = HANDLERS.get(kind) or _library_objects.LATE.get((kind.__module__, kind.__name__))
    if found is None:
        found = next((handler for base, handler in BASES if issubclass(kind, base)), None)
    return found


class _Pickler(_pickle.Pickler):
    saving: Saving

    def reducer_override(self, value: Any) -> Any:
        handler = HANDLERS.get(type(value)) or handler_of(type(value))
        return NotImplemented if handler is None else handler(self.saving, value)


def dump(value: Any, saving: Saving) -> bytes:
    """A value as bytes; the errors are those of pickle."""
    file = io.BytesIO()
    pickler = _Pickler(file, 5)
    pickler.memo = _TEMPLATE.memo
    pickler.saving = saving
    pickler.dump(value)
    return _drop_frame(file.getvalue())


def load(data: bytes) -> Any:
    """The value; its tasklets are still empty: _tasklets.finish() fills them."""
    return _pickle.loads(PROLOGUE + data, buffers=VOCABULARY)
