"""Objects of the standard library that pickle refuses, and that can be had again all the same.

Some belong to the process and are found there by name: its environment, its standard streams.  Some
hold nothing but what they were made of, and are made again: a free lock, a match, a cached
function, a weak reference.  What holds a lock, such as an Event or a Queue, is saved with it, so
long as the lock is free and nobody waits.

Others would come back as something else and are refused by name: the folder of a
TemporaryDirectory is gone when its bytes are thawed.
"""

from __future__ import annotations

import _thread
import functools
import os
import random
import re
import sys
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from loomlet.errors import FreezeError
from loomlet.snapshot._builders import named_in_bytes
from loomlet.snapshot._functions import shared
from loomlet.snapshot._progress import Saving

__all__ = ["HANDLERS", "LATE", "match_again"]

Handler = Callable[[Saving, Any], Any]

STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")
HOW = ("search", "match", "fullmatch")


def _lock(saving: Saving, lock: Any) -> Any:
    if saving.shared is not None:
        return shared(saving, lock)
    if lock.locked():
        raise FreezeError(f"{lock!r} is held, and nobody could release it where it is thawed")
    return _thread.allocate_lock, ()


def _rlock(saving: Saving, lock: Any) -> Any:
    if saving.shared is not None:
        return shared(saving, lock)
    if lock._is_owned() or not lock.acquire(False):
        raise FreezeError(f"{lock!r} is held, and nobody could release it where it is thawed")
    lock.release()
    return _thread.RLock, ()


def _match(saving: Saving, match: re.Match[Any]) -> Any:
    for how in HOW:
        args = (match.re, match.string, match.pos, match.endpos, how)
        if _same_match(match, match_again(*args)):
            return match_again, args
    args = (match.re, match.string, match.start(), match.endpos, "match")
    if _same_match(match, match_again(*args)):
        return match_again, args
    raise FreezeError(f"{match!r} is not found again in its string; keep its groups instead")


def _same_match(one: re.Match[Any], other: re.Match[Any] | None) -> bool:
    return other is not None and one.regs == other.regs and one.lastindex == other.lastindex


@named_in_bytes
def match_again(
    pattern: re.Pattern[Any], string: Any, start: int, end: int, how: str
) -> re.Match[Any] | None:
    """What the method of that name finds."""
    if how not in HOW:
        raise ValueError(f"expected one of {HOW}, found {how!r}")
    found: re.Match[Any] | None = getattr(pattern, how)(string, start, end)
    return found


def _cached(saving: Saving, function: Any) -> Any:
    """By name if that leads to it; else the function in a cache that is empty."""
    found = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is function and function.__module__ != "__main__":
        return NotImplemented
    if saving.shared is not None:
        return shared(saving, function)
    parameters = function.cache_parameters()
    return cached_again, (function.__wrapped__, parameters["maxsize"], parameters["typed"])


@named_in_bytes
def cached_again(function: Callable[..., Any], size: int | None, typed: bool) -> Any:
    """The function with a cache of that kind."""
    return functools.lru_cache(size, typed)(function)


def _reference(saving: Saving, reference: weakref.ref[Any]) -> Any:
    if reference.__callback__ is not None:
        raise FreezeError(f"{reference!r} has a callback; keep the object instead")
    return reference_again, (reference(),)


@named_in_bytes
def reference_again(target: Any) -> Any:
    """A weak reference to it, or one that is dead."""
    return weakref.ref(_Gone() if target is None else target)


class _Gone:
    """What a dead reference referred to."""


def _system_random(saving: Saving, generator: random.SystemRandom) -> Any:
    return type(generator), ()


def _environment(saving: Saving, environment: Any) -> Any:
    for name in ("environ", "environb"):
        if environment is getattr(os, name, None):
            return getattr, (os, name)
    return NotImplemented


def _stream(saving: Saving, stream: Any) -> Any:
    for name in STREAMS:
        if stream is getattr(sys, name, None):
            return getattr, (sys, name)
    return NotImplemented


def _temporary(saving: Saving, folder: Any) -> Any:
    raise FreezeError(f"{folder!r} is deleted with its process; keep a path to a folder that stays")


HANDLERS: dict[type, Handler] = {
    type(_thread.allocate_lock()): _lock,
    _thread.RLock: _rlock,
    re.Match: _match,
    functools._lru_cache_wrapper: _cached,
    weakref.ReferenceType: _reference,
    random.SystemRandom: _system_random,
    type(os.environ): _environment,
    type(sys.__stdout__): _stream,
}

LATE: Mapping[tuple[str, str], Handler] = {("tempfile", "TemporaryDirectory"): _temporary}
"""Types of modules that need not be loaded, by module and name."""
