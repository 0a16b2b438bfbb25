"""Generators, coroutines and asynchronous generators at any point of their work.

They are created unstarted and filled in a second step, so that a generator may refer to itself.  A
generator that runs inside a frozen tasklet has no state of its own: its frame is one of the
tasklet's, and wherever the generator is saved, that tasklet is saved too.
"""

from __future__ import annotations

import contextlib
import inspect
from types import AsyncGeneratorType, CodeType, CoroutineType, FunctionType, GeneratorType
from typing import Any

from loomlet import _core
from loomlet.errors import FreezeError
from loomlet.snapshot._builders import named_in_bytes
from loomlet.snapshot._compact import cut, grown
from loomlet.snapshot._frames import pack_frame, unpack_frame
from loomlet.snapshot._progress import CURRENT, Loading, Saving
from loomlet.snapshot._tasklets import snapshot_of

__all__ = ["GENERATORS", "HOOKS_KNOWN", "ended_generator", "fill_generator", "reduce_generator"]

GENERATORS = (GeneratorType, CoroutineType, AsyncGeneratorType)
COROUTINE, ASYNCHRONOUS = 1, 2
FRAME_STATE = 0xFF
"""The state of a generator; the bits above are flags of async generators."""
HOOKS_KNOWN = 1 << 8
"""One of these flags: the thread's hooks for asynchronous generators were called."""


def _fitting(function: FunctionType | None, code: CodeType) -> FunctionType:
    """A function that makes generators of this code."""
    if function is not None and function.__code__ is code:
        return function
    closure = None if function is None else function.__closure__
    space = {} if function is None else function.__globals__
    return FunctionType(code, space, None, None, closure)


def reduce_generator(saving: Saving, generator: Any) -> Any:
    """Unstarted, then its frame; if it runs in a suspended tasklet, with that tasklet."""
    snapshot = _core._generator_snapshot(generator)
    function, code, name, qualname, frame, exception, state = snapshot
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
    origin = generator.cr_origin if _kind(generator) == COROUTINE else None
    more = (state, packed, exception, own_name, own_qualname, tasklet, origin)
    if runs and state <= FRAME_STATE and all(part is None for part in more[2:]):
        return _core._generator_empty, (function,)
    return _core._generator_empty, (function,), cut(more), None, None, fill_generator


def _runs(generator: Any) -> bool:
    kind = _kind(generator)
    return bool(getattr(generator, ("gi_running", "cr_running", "ag_running")[kind])) or (
        kind == ASYNCHRONOUS and generator.ag_frame is not None
    )


def _tasklet_of(saving: Saving, generator: Any) -> _core.Tasklet | None:
    """The tasklet in which it runs; None if that is already being saved."""
    tasklet = _core._generator_tasklet(generator)
    if tasklet is None:
        raise FreezeError(f"{generator!r} is running outside of a tasklet that can be frozen")
    known = id(tasklet) in saving.snapshots
    snapshot_of(saving, tasklet)
    return None if known else tasklet


@named_in_bytes
def fill_generator(generator: Any, snapshot: tuple[Any, ...]) -> None:
    """The second step of a generator; done once, though a cycle may ask twice."""
    loading = CURRENT.get() or Loading()
    if not loading.first(generator) or not _is_new(generator):
        return
    state, packed, exception, name, qualname, _, origin = grown(snapshot, 7)
    function, code, *usual = _core._generator_snapshot(generator)[:4]
    frame = None if packed is None else unpack_frame(loading, (function, *packed))
    named = (name or usual[0], qualname or usual[1])
    _core._generator_fill(generator, (function, code, *named, frame, exception, state))
    if origin is not None:
        _core._generator_origin(generator, origin)


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
        return COROUTINE
    return ASYNCHRONOUS if inspect.isasyncgen(generator) else 0


@named_in_bytes
def ended_generator(kind: int, name: str, qualname: str) -> Any:
    """A generator that has ended."""
    made: Any = (_template, _coroutine, _asynchronous)[kind]()
    if kind == ASYNCHRONOUS:
        with contextlib.suppress(StopIteration):
            made.aclose().send(None)
    else:
        made.close()
    made.__name__, made.__qualname__ = name, qualname
    return made
