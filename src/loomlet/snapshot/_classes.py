"""Classes that no other process can import: saved by cloudpickle, with rules of our own.

cloudpickle gives each class an id, so that bytes thawed one after the other refer to one class; but
it fills that class again each time, even the existing original.  Here a class is filled once: the
original, and what was thawed of it before, are not changed, and instances keep their class.

A class whose methods use variables of the enclosing function is different: its cells belong to the
frame that is thawed with it.  Such a class is created anew for each thaw, like any other data.
`__class__`, which methods with super() use, is not such a variable.  cloudpickle loses the
qualified name; it is restored here.  Any thread.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import weakref
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from cloudpickle import cloudpickle

from loomlet.snapshot import _generator_step, _importable
from loomlet.snapshot._builders import named_in_bytes
from loomlet.snapshot._functions import shared
from loomlet.snapshot._progress import Saving

__all__ = ["fill_class", "reduce_class"]

IMMUTABLE = 1 << 8
"""The flag of types of C code."""
CLASS_ID = 4
"""The index of the id in the arguments of cloudpickle's builders."""
OWN_CELLS = {"__class__", "__classdict__"}
"""Cells that belong to a class itself."""
_WRAPPERS: dict[type, tuple[str, ...]] = {
    classmethod: ("__func__",),
    staticmethod: ("__func__",),
    property: ("fget", "fset", "fdel"),
    functools.cached_property: ("func",),
}
_STACKLESS = "_stackless"
"""The module that the Stackless types name; it exists once they are imported."""
_complete: weakref.WeakSet[type] = weakref.WeakSet()


def reduce_class(saving: Saving, kind: type) -> Any:
    """By name if it can be imported, else by value."""
    if saving.shared is not None:
        return shared(saving, kind)
    if kind.__module__ == _STACKLESS:
        return _importable.importable, ("loomlet.compat.stackless", kind.__name__)
    if kind in _generator_step.TYPES:
        return _generator_step.step_type, (kind.__name__,)
    module = _importable.other_process(kind.__module__)
    if module is not None and module.__dict__.get(kind.__qualname__) is kind:
        return NotImplemented
    if kind.__flags__ & IMMUTABLE and kind.__module__ != "builtins":
        return _elsewhere(kind)
    reduced = cloudpickle._class_reduce(kind)
    return reduced if reduced is NotImplemented or len(reduced) < 3 else _ours(kind, reduced)


def _elsewhere(kind: type) -> Any:
    """A type of C code that is not found under its own name."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__dict__", {}).get(kind.__name__) is kind and _importable.other_process(
            name
        ):
            return _importable.importable, (name, kind.__name__)
    return cloudpickle._class_reduce(kind)


def _ours(kind: type, reduced: tuple[Any, ...]) -> Any:
    make, args, state = reduced[:3]
    if make is cloudpickle._make_skeleton_class and _has_cells(kind):
        args = (*args[:CLASS_ID], None, *args[CLASS_ID + 1 :])
    else:
        _complete.add(kind)
    return make, args, (state, kind.__qualname__), None, None, fill_class


def _has_cells(kind: type) -> bool:
    seen: set[int] = set()
    parts = [value for name, value in vars(kind).items() if name != "__annotate_func__"]
    return any(_uses_cells(value, kind.__qualname__, seen) for value in parts)


def _uses_cells(value: object, owner: str, seen: set[int]) -> bool:
    """Whether a function of the class body, wrapped or not, uses variables of a frame.

    Functions written by a decorator, such as those of data classes, do not count.
    """
    if id(value) in seen:
        return False
    seen.add(id(value))
    if not isinstance(value, FunctionType):
        parts = _WRAPPERS.get(type(value), ())
        return any(_uses_cells(getattr(value, part), owner, seen) for part in parts)
    code = value.__code__
    if code.co_qualname.startswith(f"{owner}."):
        return bool(set(code.co_freevars) - OWN_CELLS)
    return any(_uses_cells(found, owner, seen) for found in _held(value))


def _held(function: FunctionType) -> Iterator[object]:
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):
            yield cell.cell_contents


@named_in_bytes
def fill_class(kind: type, state: Any) -> None:
    """The second step, once for each class."""
    if kind in _complete:
        return
    _complete.add(kind)
    inner, qualname = state
    cloudpickle._class_setstate(kind, inner)
    kind.__qualname__ = qualname
