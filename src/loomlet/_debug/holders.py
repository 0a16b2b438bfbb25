"""What to call the objects on the way to an exception: steps of a path, for people.

A step is how one object refers to the next: an attribute, a key, an index, a variable of a frame.
Objects that only implement another one (the dict of a module or an object, the cell of a variable)
are left out.  Nothing here runs code of the objects: attributes are looked up without descriptors,
and no `repr()` but that of builtin keys is called.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import (
    AsyncGeneratorType,
    CellType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)
from typing import Any

from loomlet import _core

__all__ = ["name", "steps", "variable"]

_LONGEST = 40
_NAMED = (int, str, bytes, float, bool, type(None))
_SUSPENDED = (GeneratorType, CoroutineType, AsyncGeneratorType)
_EXCEPTION_PARTS = ("__context__", "__cause__", "__traceback__", "exceptions", "args")


def steps(path: list[Any]) -> Iterator[str]:
    """The path from its first object to its last one, a text for each object that counts."""
    text = name(path[0])
    at = 0
    while at + 1 < len(path):
        holder, to = path[at], at + 1
        if _is_inner(holder, path[to]) and to + 1 < len(path):
            to += 1
        step = _step(holder, path[at + 1 : to + 1])
        if _ends_step(path[to]) or isinstance(holder, BaseException):
            yield text + step
            text = name(path[to])
        else:
            text += step
        at = to
    yield text


def _ends_step(value: object) -> bool:
    """Whether an object is worth a text of its own: not a container or a part of one."""
    return not isinstance(value, (dict, list, tuple, set, frozenset, CellType))


def _is_inner(holder: object, value: object) -> bool:
    """Whether `value` only implements its holder."""
    if isinstance(value, CellType):
        return isinstance(holder, FrameType)
    if isinstance(holder, type):
        return isinstance(value, dict)
    return isinstance(value, dict) and _own_dict(holder) is value


def _own_dict(holder: object) -> object:
    try:
        return object.__getattribute__(holder, "__dict__")
    except (AttributeError, TypeError):
        return None


def _step(holder: Any, way: list[Any]) -> str:
    """How `holder` refers to the last object of `way`, perhaps by way of the first one."""
    value = way[-1]
    if len(way) == 2 and isinstance(way[0], dict):
        step = _attribute(_key_of(way[0], value))
    elif isinstance(holder, FrameType):
        step = variable(holder, way[0])
    elif isinstance(holder, dict):
        step = _key(_key_of(holder, value))
    elif isinstance(holder, (list, tuple)):
        step = next((f"[{i}]" for i, one in enumerate(holder) if one is value), "")
    elif isinstance(holder, _SUSPENDED):
        step = _of_suspended(holder, value)
    else:
        step = "" if isinstance(holder, CellType) else _slot(holder, value)
    return step


def _attribute(key: object) -> str:
    return f".{key}" if isinstance(key, str) and key.isidentifier() else _key(key)


def _key(key: object) -> str:
    text = repr(key) if type(key) in _NAMED else f"<{type(key).__name__}>"
    return f"[{text[:_LONGEST]}]"


def _key_of(holder: dict[Any, Any], value: object) -> object:
    return next((key for key, one in dict.items(holder) if one is value), "?")


def variable(frame: FrameType, value: object) -> str:
    """Which variable of a frame it is, or nothing."""
    number = _core._frame_variable(frame, value)
    code = frame.f_code
    names = (*code.co_varnames, *(n for n in code.co_cellvars if n not in code.co_varnames))
    names += code.co_freevars
    return f" variable {names[number]}" if 0 <= number < len(names) else ""


def _of_suspended(holder: Any, value: object) -> str:
    """A generator refers to the variables of its frame, and to what it handles."""
    frame = inspect.getattr_static(type(holder), _frame_name(holder)).__get__(holder)
    found = variable(frame, value) if frame is not None else ""
    if found or not isinstance(value, BaseException):
        return found
    return " inside `except`"


def _frame_name(holder: object) -> str:
    if isinstance(holder, GeneratorType):
        return "gi_frame"
    return "cr_frame" if isinstance(holder, CoroutineType) else "ag_frame"


def _slot(holder: Any, value: object) -> str:
    """An attribute that is not in a dict: of a builtin type or in `__slots__`."""
    if isinstance(holder, BaseException):
        return next((f".{p}" for p in _EXCEPTION_PARTS if getattr(holder, p, None) is value), "")
    if isinstance(holder, _core.Tasklet):
        return _of_tasklet(holder, value)
    own = _own_dict(holder)
    if isinstance(own, dict):
        for key, one in own.items():
            if one is value:
                return _attribute(key)
    for kind in type(holder).__mro__:
        for key, member in vars(kind).items():
            if inspect.ismemberdescriptor(member) or inspect.isgetsetdescriptor(member):
                try:
                    found = member.__get__(holder)
                except Exception:  # a descriptor of C says that there is nothing
                    continue
                if found is value:
                    return f".{key}"
    return ""


def _of_tasklet(tasklet: _core.Tasklet, value: object) -> str:
    if tasklet.state == "done":
        return ", whose failure it is" if isinstance(value, BaseException) else ""
    frame = _core._frame_of(tasklet)
    while frame is not None:
        if found := variable(frame, value):
            return f"{found} of {name(frame)}"
        frame = frame.f_back
    return " inside `except`" if isinstance(value, BaseException) else ""


def name(value: Any) -> str:
    """A short text for an object."""
    kind = type(value)
    if isinstance(value, ModuleType):
        text = str(ModuleType.__getattribute__(value, "__name__"))
    elif isinstance(value, FrameType):
        text = f"{value.f_code.co_qualname} ({_file(value)}:{value.f_lineno})"
    elif isinstance(value, _SUSPENDED):
        text = f"{kind.__name__} {value.__qualname__}"
    elif isinstance(value, FunctionType | MethodType):
        text = f"function {value.__qualname__}"
    elif isinstance(value, type):
        text = f"class {value.__qualname__}"
    elif isinstance(value, _core.Tasklet):
        text = f"tasklet {value.name}"
    else:
        text = f"{kind.__module__}.{kind.__name__}".removeprefix("builtins.")
    return text


def _file(frame: FrameType) -> str:
    return frame.f_code.co_filename.rpartition("/")[2]
