"""Puts the drop-ins in the place of the names of `threading` and `queue`, and takes them back.

A name is replaced in its own module and in every module that has imported it, whatever it is called
there (`from threading import Lock as Mutex`): one look at the names of all modules.  What a program
keeps elsewhere stays what it is: class attributes, default arguments, objects that exist already.
They go on working, with tasklets too, because the builtin locks know tasklets (loomlet.patch).

What lies below `threading` is not replaced: `_thread`, and so the locks of imports and of the
interpreter.  `queue.PriorityQueue` neither: its class is written in Python, and takes its lock and
its conditions from `threading`.

Uninstalling looks at all modules again, because some may have imported a drop-in meanwhile.
Objects that were made keep their class.

Any thread; under a lock, so that two do not mix.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from loomlet import _core
from loomlet.sync._drop_ins import DROP_INS

__all__ = ["replace", "restore"]

_STANDARD: dict[Any, Any] = {
    ours: getattr(module, name)
    for module, names in DROP_INS.items()
    for name, ours in names.items()
}
_BELOW = ("_thread", "_queue", "threading", "queue", "loomlet")
_guard = _core.Lock()


def replace() -> None:
    """From now on the names mean the drop-ins.  A second call finds the modules that are new."""
    with _guard:
        for module, names in DROP_INS.items():
            vars(module).update(names)
        _replace_all({id(standard): ours for ours, standard in _STANDARD.items()})


def restore() -> None:
    """The names mean what they meant.  Looks at no module if none is replaced."""
    with _guard:
        taken = [_restore_own(module, names) for module, names in DROP_INS.items()]
        if any(taken):
            _replace_all({id(ours): standard for ours, standard in _STANDARD.items()})


def _restore_own(module: ModuleType, names: Mapping[str, Any]) -> bool:
    """In `threading` or `queue`: whether one of its names was replaced."""
    own = vars(module)
    replaced = {name: _STANDARD[ours] for name, ours in names.items() if own[name] is ours}
    own.update(replaced)
    return bool(replaced)


def _replace_all(known: Mapping[int, Any]) -> None:
    """In the modules of the program."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _BELOW or not isinstance(module, ModuleType):
            continue
        own = vars(module)
        for word, value in list(own.items()):
            if id(value) in known:
                own[word] = known[id(value)]
