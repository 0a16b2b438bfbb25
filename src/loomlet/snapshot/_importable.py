"""Names by which another process can import an object, and importing it there.

A path is what follows the module's name: `Shape.area.fget`, `retry.__wrapped__`.  So functions
inside a property or a decorator are found too.  A name is valid only if it leads to the very
object, in a module that another process can import; `__main__`, modules without a spec, and those
given to cloudpickle.register_pickle_by_value are excluded.  Paths are cached by the identity of the
object, and followed again each time.  Any thread.
"""

from __future__ import annotations

import contextlib
import contextvars
import importlib
import sys
import weakref
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from cloudpickle import cloudpickle

from loomlet.errors import ThawError
from loomlet.snapshot import _code as codes
from loomlet.snapshot._builders import named_in_bytes

__all__ = [
    "context_variable",
    "follow",
    "function",
    "importable",
    "nested_code",
    "other_process",
]

NOT_SHARED = {"__main__", "__mp_main__", "builtins.__main__"}
UNWRAP = ("__wrapped__", "__func__", "fget", "fset", "fdel", "func")
UNWRAP_DEPTH = 3

Name = tuple[str, str]
_found: dict[int, tuple[weakref.ref[FunctionType], CodeType, Name, bytes]] = {}
_by_value: set[str] = cloudpickle._PICKLE_BY_VALUE_MODULES
_missing = object()


def other_process(name: str | None) -> ModuleType | None:
    """The module of that name if another process can import it, else None."""
    if name is None or name in NOT_SHARED:
        return None
    module = sys.modules.get(name)
    if module is None or getattr(module, "__spec__", None) is None:
        return None
    if _by_value and cloudpickle._is_registered_pickle_by_value(module):
        return None
    return module


def follow(start: object, path: str) -> object:
    """The object at the end of the path; AttributeError if there is none."""
    for part in path.split("."):
        start = getattr(start, part)
    return start


@named_in_bytes
def importable(module: str, path: str) -> object:
    """The object of that name in this process; ThawError if there is none."""
    try:
        return follow(sys.modules.get(module) or importlib.import_module(module), path)
    except (ImportError, AttributeError, ValueError) as error:
        raise ThawError(f"{module}.{path} is not in this process: {error}") from error


def _leads_to(name: Name, wanted: object) -> bool:
    module = other_process(name[0])
    if module is None:
        return False
    found = module.__dict__.get(name[1], _missing)
    if found is wanted:
        return True
    try:
        return follow(module, name[1]) is wanted
    except AttributeError:
        return False


def function(wanted: FunctionType) -> tuple[str, str, bytes] | None:
    """(module, path, digest of its code) of an importable function, else None."""
    key, code = id(wanted), wanted.__code__
    known = _found.get(key)
    if known is not None and known[0]() is wanted and known[1] is code:
        name, digest = known[2], known[3]
        if _leads_to(name, wanted):
            return name[0], name[1], digest
    found = _search(wanted)
    if found is None:
        return None
    digest = codes.digest(code)
    _found[key] = (weakref.ref(wanted, lambda gone: _forget(key, gone)), code, found, digest)
    return found[0], found[1], digest


def _forget(key: int, gone: weakref.ref[FunctionType]) -> None:
    known = _found.get(key)
    if known is not None and known[0] is gone:
        _found.pop(key, None)


def _search(wanted: FunctionType) -> Name | None:
    module = other_process(wanted.__module__)
    if module is None:
        return None
    qualname = wanted.__qualname__
    if "<locals>" in qualname:
        return None
    if "<lambda>" in qualname:
        names = [name for name, value in list(module.__dict__.items()) if value is wanted]
        return (wanted.__module__, names[0]) if names else None
    try:
        start = follow(module, qualname)
    except AttributeError:
        return None
    suffix = next((path for path, found in _unwrapped(start) if found is wanted), None)
    return None if suffix is None else (wanted.__module__, qualname + suffix)


def _unwrapped(start: object, depth: int = UNWRAP_DEPTH) -> Iterator[tuple[str, object]]:
    """An object and the objects that it wraps, each with its path."""
    yield "", start
    if depth == 0 or isinstance(start, (type, ModuleType)):
        return
    for name in UNWRAP:
        inner = getattr(start, name, None)
        if inner is not None:
            for path, found in _unwrapped(inner, depth - 1):
                yield f".{name}{path}", found


NestedName = tuple[str, str, str, int, bytes]
_nested: dict[int, tuple[weakref.ref[CodeType], weakref.ref[CodeType], NestedName]] = {}


def nested_code(module: str | None, wanted: CodeType) -> NestedName | None:
    """(module, path, qualname, index, digest) of code compiled inside an importable function."""
    known = _nested.get(id(wanted))
    if known is not None and known[0]() is wanted:
        name = known[2]
        if name[0] == module and _code_at(name[0], name[1]) is known[1]():
            return name
    importable_module = other_process(module)
    outer, inside, _ = wanted.co_qualname.partition(".<locals>.")
    return _search_code(importable_module, outer, wanted) if importable_module and inside else None


def _code_at(module: str, path: str) -> object:
    start = other_process(module)
    found = None if start is None else start.__dict__.get(path, _missing)
    if found is _missing:
        with contextlib.suppress(AttributeError):
            found = follow(start, path)
    return getattr(found, "__code__", _missing)


def _search_code(module: ModuleType, outer: str, wanted: CodeType) -> NestedName | None:
    try:
        start = follow(module, outer)
    except AttributeError:
        return None
    for path, found in _unwrapped(start):
        code = found.__code__ if isinstance(found, FunctionType) else None
        index = None if code is None else codes.nested_index(code, wanted)
        if code is not None and index is not None:
            name = (module.__name__, outer + path, wanted.co_qualname, index, codes.digest(wanted))
            return _remember(wanted, code, name)
    return None


def _remember(wanted: CodeType, outer: CodeType, name: NestedName) -> NestedName:
    key = id(wanted)
    seen = weakref.ref(wanted, lambda gone: _forget_code(key, gone))
    _nested[key] = (seen, weakref.ref(outer), name)
    return name


def _forget_code(key: int, gone: weakref.ref[CodeType]) -> None:
    known = _nested.get(key)
    if known is not None and known[0] is gone:
        _nested.pop(key, None)


_variables: dict[int, tuple[contextvars.ContextVar[Any], Name]] = {}


def context_variable(wanted: contextvars.ContextVar[Any]) -> Name | None:
    """(module, name) of a context variable that a module holds, else None."""
    known = _variables.get(id(wanted))
    if known is not None and _leads_to(known[1], wanted):
        return known[1]
    for module in list(sys.modules):
        space = other_process(module)
        for name, value in list(getattr(space, "__dict__", {}).items()):
            if value is wanted:
                _variables[id(wanted)] = (wanted, (module, name))
                return module, name
    return None
