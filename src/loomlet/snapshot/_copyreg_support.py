"""Ordinary pickles of running code: through `pickle`, `cloudpickle` and other users of copyreg.

Importing loomlet registers nothing with copyreg: its own types reduce themselves
(_stackless_pickle.py).  install() registers generators, coroutines, cells, code, tracebacks, views
and the other types that Python cannot pickle by itself.  Importing loomlet.compat.stackless calls
it, as Stackless did; nothing else in loomlet does, for a library may try pickle first and take its
failure as the sign that an object has to stay in this process.

Pickle calls no reducer for functions, and cloudpickle copies cells.  So functions, cells and other
parts that are directly in a snapshot are passed to pickle in a Box that reduces as freeze() would;
an object has one box for as long as the pickler keeps it, so shared objects stay shared.
Generators and their steps need none once they are registered: then one that is pickled by itself
stays the one that a frame holds.  Objects deeper inside the user's own containers are left to the
pickler.  Loaded tasklets are paused; the code of a frame is compared by its digest as in thaw().
Any thread.
"""

from __future__ import annotations

import copy
import copyreg
import sys
import weakref
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    FrameType,
    FunctionType,
    MethodDescriptorType,
    TracebackType,
)
from typing import Any

from loomlet import _core
from loomlet.snapshot import (
    _functions,
    _generator_step,
    _generators,
    _iterators,
    _pickler,
    _tracebacks,
)
from loomlet.snapshot._builders import named_in_bytes
from loomlet.snapshot._progress import Namespace, Saving

__all__ = ["Ordinary", "boxed", "install", "reduce", "unboxed"]

KEEP_FINALIZER, RESET_FINALIZER = 2, 4
"""The pickle flags of asynchronous generators."""
_NATIVE = (type, BuiltinFunctionType, _core.Tasklet, _core.Channel, _core.Lock, _core.StacklessBomb)
"""Types that every pickler can save."""
_UNNAMED = {kind.__name__: kind for kind in (*_generators.GENERATORS, *_generator_step.TYPES)}
"""Types that no pickler finds; a frame refers to their methods while it calls one."""
_registered: set[type] = set()
"""What no pickler treats in its own way, once copyreg knows it."""
_namespaces: weakref.WeakValueDictionary[int, Namespace] = weakref.WeakValueDictionary()
_boxes: weakref.WeakValueDictionary[int, Box] = weakref.WeakValueDictionary()


class Ordinary(Saving):
    """A Saving that knows of one object only."""

    __slots__ = ()
    freezes = False

    def namespace(self, values: dict[str, Any]) -> Namespace:
        """One namespace for all pickles; each function brings the globals that it uses."""
        found = _namespaces.get(id(values))
        if found is None or found.globals is not values:
            found = _namespaces[id(values)] = Namespace(values)
        found.saved.clear()
        return found


class Box:
    """Reduces to its value."""

    __slots__ = ("__weakref__", "value")

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduce(self.value)


def boxed(value: Any) -> Any:
    """The value, in its box if picklers need that; of a tuple, its items."""
    if type(value) is tuple:
        return tuple([boxed(item) for item in value])
    kind = type(value)
    plain = isinstance(value, _NATIVE) or _pickler.handler_of(kind) is None or kind in _registered
    if plain or (kind is FunctionType and value.__module__.startswith(_functions.PLAIN)):
        return value
    found = _boxes.get(id(value))
    if found is None or found.value is not value:
        found = _boxes[id(value)] = Box(value)
    return found


def unboxed(value: Any) -> Any:
    """The value without its box, for a state that has not been through a pickler."""
    if type(value) is tuple:
        return tuple([unboxed(item) for item in value])
    return value.value if isinstance(value, Box) else value


def reduce(value: Any) -> Any:
    """The reduction, for pickle, of an object that freeze() can save."""
    handler = _pickler.handler_of(type(value))
    reduced = NotImplemented if handler is None else handler(Ordinary(), value)
    if reduced is NotImplemented or isinstance(reduced, str):
        return value.__reduce_ex__(4) if reduced is NotImplemented else reduced
    if isinstance(value, AsyncGeneratorType):
        reduced = _finalized(value, *reduced)
    make, args, *rest = reduced
    if rest and rest[0] is not None:
        rest[0] = _state(rest[-1], rest[0])
    return (make, boxed(args), *rest)


def _state(setter: Any, state: Any) -> Any:
    if setter is _functions.fill_function:
        values, modules, attributes, own = state
        made = [
            {name: boxed(value) for name, value in part.items()} for part in (values, attributes)
        ]
        return made[0], modules, made[1], own
    if setter is _tracebacks.fill_frame:
        return {name: _mentioned(value) for name, value in state.items()}
    return boxed(state)


def _mentioned(value: Any) -> Any:
    """A variable; what copyreg knows stays the object that the pickler may know already."""
    return boxed(value) if type(value) is FunctionType else value


def _finalized(generator: Any, make: Any, args: Any, state: Any = (), *rest: Any) -> Any:
    """By the thread's pickle flags: with its finalizer, with that of the thread that loads it, or
    so that the hooks of that thread are called again."""
    flags, finalizer = _core._stackless_pickle_flags(), _core._generator_finalizer(generator)
    if not state:
        return make, args
    if flags & RESET_FINALIZER:
        return make, args, (state[0] & ~_generators.HOOKS_KNOWN, *state[1:]), *rest
    if finalizer is None:
        return make, args, state, *rest
    kept = finalizer if flags & KEEP_FINALIZER else None
    return make, args, (state, kept), *rest[:-1], fill_asynchronous


@named_in_bytes
def fill_asynchronous(generator: Any, parts: Any) -> None:
    """fill_generator(), and the finalizer that runs if it is dropped before its end."""
    state, finalizer = parts
    _generators.fill_generator(generator, state)
    found = sys.get_asyncgen_hooks().finalizer if finalizer is None else finalizer
    _core._generator_finalizer(generator, found)


def reduce_or_copy(value: Any) -> Any:
    """The reduction of a frame or traceback for pickle; copy.copy() asks for it too."""
    if sys._getframe(1).f_code is not copy.copy.__code__:
        return reduce(value)
    if isinstance(value, FrameType):
        return "itself"
    return TracebackType, (value.tb_next, value.tb_frame, value.tb_lasti, value.tb_lineno)


@named_in_bytes
def method_of(kind: str, name: str) -> Any:
    """That method of a type which runs code."""
    return getattr(_UNNAMED[kind], name)


def reduce_method(method: MethodDescriptorType) -> Any:
    """As pickle does it, but for those types."""
    kind = method.__objclass__
    if _UNNAMED.get(kind.__name__) is kind:
        return method_of, (kind.__name__, method.__name__)
    return method.__reduce__()


def install() -> None:
    """Registers with copyreg the types that freeze() can save and pickle cannot, and frames, which
    freeze() refuses.

    A copy of a traceback by copy.copy() keeps its frame, one of a frame is the frame.
    """
    kinds = [
        *_iterators.HANDLERS,
        *_generator_step.HANDLERS,
        *_generators.GENERATORS,
        *_pickler.PARTS,
    ]
    for kind in kinds:
        copyreg.pickle(kind, reduce)
    for kind in (TracebackType, FrameType):
        copyreg.pickle(kind, reduce_or_copy)
    copyreg.pickle(MethodDescriptorType, reduce_method)
    _registered.update(_generators.GENERATORS, _generator_step.HANDLERS)
